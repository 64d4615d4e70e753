/*
 * shorten.c - function names without what everybody knows
 *
 * Each rule is a regular expression in the reference; here they are small recognizers, since names
 * are many and the expressions are few.  They find what the expressions find: in particular the
 * reference's dot does not match a newline.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "render/shorten.h"

#include "base/xalloc.h"

static bool is_word(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '_';
}

static bool is_lower(char c)
{
	return c >= 'a' && c <= 'z';
}

static bool is_upper(char c)
{
	return c >= 'A' && c <= 'Z';
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static char at(struct str s, size_t i)
{
	return i < s.n ? s.p[i] : '\0';
}

static struct str up_to_newline(struct str s)
{
	const char *end = s.n ? memchr(s.p, '\n', s.n) : NULL;

	return end ? (struct str){ s.p, (size_t)(end - s.p) } : s;
}

/* ------------------------------------------------------------------ a Go module's "/v2" */

/* The length of "/vN" with N from 2 on, before a dot or slash; 0 if there is none at 'i'. */
static size_t version_at(struct str s, size_t i)
{
	size_t end = i + 2;

	if (at(s, i) != '/' || at(s, i + 1) != 'v' || !is_digit(at(s, end)) || at(s, end) == '0')
		return 0;
	while (is_digit(at(s, end)))
		end++;
	if (end == i + 3 && at(s, i + 2) == '1')
		return 0;
	return at(s, end) == '.' || at(s, end) == '/' ? end - i : 0;
}

static struct str without_version(struct arena *a, struct str s)
{
	if (s.n && memchr(s.p, '\n', s.n))
		return s;
	for (size_t i = 0; i < s.n; i++) {
		size_t n = version_at(s, i);
		char *joined;

		if (n == 0)
			continue;
		joined = xarena(a, s.n - n + 1, 1);
		memcpy(joined, s.p, i);
		memcpy(joined + i, s.p + i + n, s.n - i - n);
		return (struct str){ joined, s.n - n };
	}
	return s;
}

/* ------------------------------------------------------------------ Go, Java, C++ */

/* What follows the last of one or more path elements. */
static bool match_go(struct str s, struct str *out)
{
	size_t element = 0, end = 0;

	for (size_t i = 0; i < s.n; i++) {
		char c = s.p[i];

		if (c == '/' && i > element) {
			end = i + 1;
			element = end;
		} else if (!is_word(c) && c != '-' && c != '.') {
			break;
		}
	}
	/* An element that nothing follows is part of what remains, not of the path. */
	if (end == s.n || at(s, end) == '\n') {
		size_t before = end ? end - 1 : 0;

		while (before > 0 && s.p[before - 1] != '/')
			before--;
		end = before;
	}
	if (end == 0)
		return false;
	*out = up_to_newline(str_skip(s, end));
	return true;
}

static bool is_java_part(char c)
{
	return is_word(c) || c == '$';
}

/* "Class.method" at 'i', up to '(' or the end; returns where it ends, or 0. */
static size_t java_method_at(struct str s, size_t i)
{
	if (!is_upper(at(s, i)))
		return 0;
	while (is_java_part(at(s, i)))
		i++;
	if (at(s, i) != '.')
		return 0;
	i++;
	if (str_starts(str_skip(s, i), STR("<init>"))) {
		i += 6;
	} else {
		if (!is_lower(at(s, i)))
			return 0;
		while (is_java_part(at(s, i)))
			i++;
	}
	return i == s.n || at(s, i) == '(' ? i : 0;
}

static bool match_java(struct str s, struct str *out)
{
	size_t i = 0;

	while (is_lower(at(s, i))) {
		size_t end = i;

		while (is_word(at(s, end)))
			end++;
		if (at(s, end) != '.')
			return false;
		i = end + 1;
	}
	size_t end = java_method_at(s, i);

	if (end == 0)
		return false;
	*out = (struct str){ s.p + i, end - i };
	return true;
}

/* The end of an identifier at 'i', or 'i'. */
static size_t identifier(struct str s, size_t i)
{
	if (at(s, i) != '_' && !is_lower(at(s, i)) && !is_upper(at(s, i)))
		return i;
	while (is_word(at(s, i)))
		i++;
	return i;
}

static bool is_scope(struct str s, size_t i)
{
	return at(s, i) == ':' && at(s, i + 1) == ':';
}

/* "Class::method" at 'i', with template arguments; returns where it ends, or 0. */
static size_t cpp_method_at(struct str s, size_t i)
{
	size_t name, end;
	struct str rest;
	ptrdiff_t close;

	while (at(s, i) == '_')
		i++;
	if (!is_upper(at(s, i)))
		return 0;
	i = identifier(s, i);
	if (!is_scope(s, i))
		return 0;
	name = i + 2 + (at(s, i + 2) == '~');
	end = identifier(s, name);
	if (end == name)
		return 0;
	if (at(s, end) != '<')
		return end;
	rest = up_to_newline(str_skip(s, end));
	close = str_rfind_char(rest, '>');
	return close > 0 ? end + (size_t)close + 1 : end;
}

/* As many namespaces go as leave a class and a method: the expression is greedy. */
static bool match_cpp(struct str s, struct str *out)
{
	size_t i = 0, start = 0, stop = 0;

	for (;;) {
		size_t end = identifier(s, i);

		if (end == i || !is_scope(s, end))
			break;
		i = end + 2;
		end = cpp_method_at(s, i);
		if (end) {
			start = i;
			stop = end;
		}
	}
	if (stop == 0)
		return false;
	*out = (struct str){ s.p + start, stop - start };
	return true;
}

struct str shorten_name(struct arena *a, struct str name)
{
	static const struct str anonymous = { "(anonymous namespace)::", 23 };
	struct str out;

	if (str_starts(name, anonymous))
		name = str_skip(name, anonymous.n);
	name = without_version(a, name);
	if (match_go(name, &out) || match_java(name, &out) || match_cpp(name, &out))
		return out;
	return name;
}
