/*
 * readable-dotted.c - names of Go and Java functions, from one level to the next
 *
 *	github.com/a/b/pkg.(*Type[...]).Method.func1.2
 *	com.example.app.Outer$Inner.method(int)
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/cleanup.h"
#include "base/out.h"
#include "base/xalloc.h"
#include "symbol/brackets.h"
#include "symbol/readable-steps.h"

/* Whether it is a name at all, and not a file, or the text that some interpreter made up. */
static bool read_name(struct brackets *b, struct str s)
{
	if (s.n == 0 || s.p[0] == '.' || s.p[0] == '[' || s.p[0] == '<' || !brackets_init(b, s))
		return false;
	for (size_t i = 0; i < s.n; i = step(b, i)) {
		if (s.p[i] == ' ' || s.p[i] == ':' || s.p[i] == '@' || s.p[i] == '"')
			return false;
		if (is_at(s, i, STR(".so")) && (i + 3 == s.n || s.p[i + 3] == '.'))
			return false;
	}
	return !str_starts(s, STR("type..")) && !str_starts(s, STR("_GLOBAL_"));
}

/* ------------------------------------------------------------------ level 1 */

/* Java's parameters and what is behind them; the mark of an agent for compiled code. */
bool dotted_signature(struct str s, struct out *o)
{
	AUTO(brackets_release) struct brackets b = { 0 };

	if (!read_name(&b, s))
		return false;
	for (size_t i = 0; i < s.n; i = step(&b, i)) {
		bool follows = i > 0 && (is_name_char(s.p[i - 1]) || s.p[i - 1] == '>');

		if (opens(&b, i) && s.p[i] == '(' && follows)
			break;
		if (is_at(s, i, STR("_[")) && i + 4 == s.n)
			break;
		out_str(o, str_range(s, i, step(&b, i)));
	}
	return true;
}

/* ------------------------------------------------------------------ level 2 */

/* Whether "v2." is at 'i': the version of a Go module, which is no name without what is before. */
static bool is_version_at(struct str s, size_t i)
{
	size_t end = i + 1;

	while (end < s.n && s.p[end] >= '0' && s.p[end] <= '9')
		end++;
	return is_at(s, i, STR("v")) && end > i + 1 && is_at(s, end, STR("."));
}

/* Behind the import path: "github.com/a/b/pkg.F" from "pkg" on. */
static size_t path_end(const struct brackets *b)
{
	size_t at = 0;

	for (size_t i = 0; i < b->s.n && !opens(b, i); i++) {
		if (b->s.p[i] == '/' && !is_version_at(b->s, i + 1))
			at = i + 1;
	}
	return at;
}

/* Writes brackets and what is in them, with type arguments cut, also those of (*T[int]). */
static void put_cut(const struct brackets *b, size_t at, size_t end, struct out *o)
{
	for (size_t i = at; i < end; i++) {
		bool arguments = opens(b, i) && b->s.p[i] == '[' && i > 0 &&
				 is_name_char(b->s.p[i - 1]) && b->match[i] > i + 1;

		if (!arguments) {
			out_char(o, b->s.p[i]);
			continue;
		}
		out_text(o, "[…]");
		i = b->match[i];
	}
}

/* Java numbers the classes of its lambdas: Outer$$Lambda$14/0x0000000800c03000.apply */
static bool put_java_lambda(struct str s, struct out *o)
{
	static const struct str mark = { "$$Lambda", 8 };
	ptrdiff_t at = str_find(s, mark), dot;

	if (at < 0)
		return false;
	out_str(o, str_range(s, 0, (size_t)at + mark.n));
	dot = str_rfind_char(s, '.');
	if (dot > at)
		out_str(o, str_skip(s, (size_t)dot));
	return true;
}

bool dotted_arguments(struct str s, struct out *o)
{
	AUTO(brackets_release) struct brackets b = { 0 };

	if (!read_name(&b, s))
		return false;
	if (!put_java_lambda(s, o))
		put_cut(&b, path_end(&b), s.n, o);
	return true;
}

/* ------------------------------------------------------------------ levels 3 and 4 */

static bool is_number(struct str s)
{
	size_t i = 0;

	while (i < s.n && s.p[i] >= '0' && s.p[i] <= '9')
		i++;
	return i == s.n;
}

static bool is_constructor(struct str s)
{
	return str_is(s, "<init>") || str_is(s, "<clinit>");
}

/* Says nothing without what is before it: Go's closures and wrappers, Java's constructors. */
static bool depends(struct str s)
{
	static const char *const kinds[] = { "func", "gowrap", "deferwrap", NULL };

	if (is_number(s) || is_constructor(s))
		return true;
	for (const char *const *k = kinds; *k; k++) {
		if (str_starts(s, str_of(*k)) && is_number(str_skip(s, strlen(*k))))
			return s.n > strlen(*k);
	}
	return false;
}

struct dots {
	size_t *at; /* where the parts between dots begin */
	size_t n, cap;
};

/* The start of the function's part, with those that depend on it; '*scope': of the part before. */
static size_t function_start(const struct brackets *b, size_t *scope)
{
	struct dots d = { 0 };
	size_t end = b->s.n, k;

	vec_push(d.at, d.n, d.cap, 0);
	for (size_t i = 0; i < b->s.n; i = step(b, i)) {
		if (b->s.p[i] == '.')
			vec_push(d.at, d.n, d.cap, i + 1);
	}
	k = d.n - 1;
	while (k > 0 && depends(str_range(b->s, d.at[k], end))) {
		end = d.at[k] - 1;
		k--;
	}
	end = d.at[k];
	/* The part before a constructor is the class. */
	*scope = k > 0 && !is_constructor(str_skip(b->s, d.at[d.n - 1])) ? d.at[k - 1] : end;
	free(d.at);
	return end;
}

static void put_bare(const struct brackets *b, size_t at, struct out *o)
{
	for (size_t i = at; i < b->s.n; i++) {
		if (opens(b, i) && b->s.p[i] == '[' && i > at)
			i = b->match[i];
		else
			out_char(o, b->s.p[i]);
	}
}

bool dotted_class(struct str s, struct out *o)
{
	AUTO(brackets_release) struct brackets b = { 0 };
	size_t scope;

	if (!read_name(&b, s))
		return false;
	function_start(&b, &scope);
	put_bare(&b, scope, o);
	return true;
}

bool dotted_function(struct str s, struct out *o)
{
	AUTO(brackets_release) struct brackets b = { 0 };
	size_t scope;

	if (!read_name(&b, s))
		return false;
	put_bare(&b, function_start(&b, &scope), o);
	return true;
}
