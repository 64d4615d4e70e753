/*
 * readable-fold.c - what is inside of libraries, as people write it
 *
 * std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> > is std::string.
 * Left out are namespaces and numbers that exist to tell versions of a library apart, arguments of
 * the standard library that are what they would be anyway, and the long names of what has a short
 * one.  All happens while the name is copied from left to right; an argument is looked at
 * when it ends, in the copy, where what is inside of it has been folded already.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/cleanup.h"
#include "base/out.h"
#include "base/xalloc.h"
#include "symbol/brackets.h"
#include "symbol/readable-steps.h"

#define NOWHERE SIZE_MAX

/* An open bracket of the name, and what the copy was when it opened. */
struct level {
	size_t path;    /* start of the qualified name before the bracket */
	size_t name;    /* start of its last part */
	size_t inside;  /* behind the bracket */
	size_t arg;     /* start of the argument that is being copied */
	size_t usual;   /* from here on arguments are the usual ones, or NOWHERE */
	bool arguments; /* the bracket is a < that opens template arguments */
	bool std;       /* ... of something in std:: */
};

struct folder {
	const struct brackets *b;
	struct out *o;
	size_t path, name; /* where the qualified name and the last part of it began, or NOWHERE */
	struct level *levels;
	size_t n, cap;
};

static struct str copied(const struct folder *f, size_t from)
{
	return str_skip(out_view(f->o), from);
}

/* ------------------------------------------------------------------ namespaces */

/* Whether 's' is 'prefix' and then digits. */
static bool is_numbered(struct str s, struct str prefix)
{
	size_t i = prefix.n;

	if (!str_starts(s, prefix) || s.n == prefix.n)
		return false;
	while (i < s.n && s.p[i] >= '0' && s.p[i] <= '9')
		i++;
	return i == s.n;
}

static bool is_in_list(struct str s, const char *const *list)
{
	while (*list && !str_is(s, *list))
		list++;
	return *list;
}

/* Whether namespace 'id' inside of 'scope' ("std::") only tells versions apart. */
static bool is_inline_namespace(struct str scope, struct str id)
{
	static const char *const internals[] = { "__1",     "__2",        "__cxx11", "__cxx1998",
						 "__debug", "__parallel", "__ndk1",  "__Cr",
						 "_V2",     "__fs",       NULL };

	if (scope.n == 0)
		return str_is(id, "__gnu_cxx");
	if (str_starts(scope, STR("std::")))
		return is_in_list(id, internals);
	if (str_is(scope, "fmt::"))
		return is_numbered(id, STR("v"));
	if (str_is(scope, "absl::"))
		return is_numbered(id, STR("lts_")) || is_numbered(id, STR("debian"));
	return str_is(scope, "nlohmann::") && str_starts(id, STR("json_abi_v"));
}

/* Copies the identifier at 'i' unless it is a namespace to be left out.  Returns what is next. */
static size_t copy_identifier(struct folder *f, size_t i)
{
	struct str s = f->b->s, id, scope = { 0 };
	size_t end = i;

	while (end < s.n && is_name_char(s.p[end]))
		end++;
	id = str_range(s, i, end);
	if (f->path != NOWHERE)
		scope = copied(f, f->path);
	if (is_at(s, end, STR("::")) && is_inline_namespace(scope, id))
		return end + 2;
	f->name = f->o->n;
	if (f->path == NOWHERE)
		f->path = f->o->n;
	out_str(f->o, id);
	return end;
}

/* The end of "[c1f1a4ba060b9bfa]" at 'i', with which Rust tells crates apart; 'i' if it is not. */
static size_t skip_crate_id(struct str s, size_t i)
{
	size_t end = i + 1;

	while (end < s.n &&
	       ((s.p[end] >= '0' && s.p[end] <= '9') || (s.p[end] >= 'a' && s.p[end] <= 'f')))
		end++;
	return end > i + 8 && end <= i + 17 && end < s.n && s.p[end] == ']' ? end + 1 : i;
}

/* ------------------------------------------------------------------ arguments */

static bool is_usual(struct str arg)
{
	static const char *const usual[] = { "allocator<",    "char_traits<",
					     "less<",         "hash<",
					     "equal_to<",     "default_delete<",
					     "regex_traits<", NULL };

	if (!str_starts(arg, STR("std::")) || !str_ends(arg, STR(">")))
		return false;
	arg = str_skip(arg, 5);
	for (const char *const *u = usual; *u; u++) {
		if (str_starts(arg, str_of(*u)))
			return true;
	}
	return false;
}

static void end_argument(struct folder *f, struct level *l)
{
	struct str arg = copied(f, l->arg);
	bool first = l->arg == l->inside;

	if (!l->std || first || !is_usual(str_trim(arg)))
		l->usual = NOWHERE;
	else if (l->usual == NOWHERE)
		l->usual = l->arg - 1; /* with the comma */
}

/* What comes before "string" in the short name of a basic_string of 'type'. */
static const char *alias_prefix(struct str type, bool text)
{
	if (str_is(type, "char"))
		return "";
	if (str_is(type, "wchar_t"))
		return "w";
	if (text && str_is(type, "char8_t"))
		return "u8";
	if (text && str_is(type, "char16_t"))
		return "u16";
	return text && str_is(type, "char32_t") ? "u32" : NULL;
}

/* Replaces "basic_string<char" at the end of the copy by "string".  False: it is no such thing. */
static bool put_alias(struct folder *f, const struct level *l)
{
	static const char *const known[] = {
		"string",        "string_view", "ios",       "istream",      "ostream",
		"iostream",      "streambuf",   "stringbuf", "stringstream", "istringstream",
		"ostringstream", "filebuf",     "fstream",   "ifstream",     "ofstream",
		"regex",         NULL,
	};
	struct str name = str_range(out_view(f->o), l->name, l->inside - 1);
	const char *prefix;
	char alias[32];

	if (!str_starts(name, STR("basic_")) || !is_in_list(str_skip(name, 6), known))
		return false;
	name = str_skip(name, 6);
	prefix = alias_prefix(copied(f, l->inside),
			      str_is(name, "string") || str_is(name, "string_view"));
	if (!prefix)
		return false;
	memcpy(alias, name.p, name.n);
	f->o->n = l->name;
	out_text(f->o, prefix);
	out_bytes(f->o, alias, name.n);
	return true;
}

static void open_level(struct folder *f, size_t i)
{
	struct level l = { f->path, f->name, f->o->n + 1, f->o->n + 1, NOWHERE, false, false };

	l.arguments = f->b->s.p[i] == '<';
	l.std = l.arguments && f->path != NOWHERE && str_starts(copied(f, f->path), STR("std::"));
	out_char(f->o, f->b->s.p[i]);
	vec_push(f->levels, f->n, f->cap, l);
	f->path = NOWHERE;
}

static void close_level(struct folder *f, struct level *l, size_t i)
{
	if (l->arguments) {
		end_argument(f, l);
		if (l->usual != NOWHERE)
			f->o->n = l->usual;
		/* "> >" was written before C++11 could read ">>". */
		if (f->o->n > l->inside + 1 && str_ends(out_view(f->o), STR("> ")))
			f->o->n--;
	}
	if (!l->std || !put_alias(f, l))
		out_char(f->o, f->b->s.p[i]);
	f->path = l->path;
	f->name = l->name;
	f->n--;
}

/* ------------------------------------------------------------------ all of it */

static size_t copy_sign(struct folder *f, size_t i)
{
	struct str s = f->b->s;
	struct level *l = f->n ? &f->levels[f->n - 1] : NULL;

	if (is_at(s, i, STR("::"))) {
		out_text(f->o, "::");
		return i + 2;
	}
	if (s.p[i] == '[' && skip_crate_id(s, i) > i && f->path != NOWHERE)
		return skip_crate_id(s, i);
	if (is_bracket(f->b, i)) {
		if (opens(f->b, i))
			open_level(f, i);
		else if (l)
			close_level(f, l, i);
		return i + 1;
	}
	if (s.p[i] == ',' && l && l->arguments) {
		end_argument(f, l);
		l->arg = f->o->n + 1;
	}
	out_char(f->o, s.p[i]);
	if (s.p[i] != '~')
		f->path = NOWHERE;
	return i + 1;
}

/* Whether there is anything to do: most names have nothing of this. */
static bool is_worth_it(struct str s)
{
	return str_find(s, STR("]::")) >= 0 || str_find(s, STR("std::")) >= 0 ||
	       str_find(s, STR("__gnu_cxx::")) >= 0 || str_find(s, STR("> >")) >= 0 ||
	       str_find(s, STR("fmt::v")) >= 0 || str_find(s, STR("absl::")) >= 0 ||
	       str_find(s, STR("nlohmann::")) >= 0;
}

bool scoped_fold(struct str s, struct out *o)
{
	AUTO(brackets_release) struct brackets b = { 0 };
	struct folder f = { .b = &b, .o = o, .path = NOWHERE, .name = NOWHERE };
	size_t i = 0;

	if (!is_worth_it(s) || !brackets_init(&b, s))
		return false;
	while (i < s.n)
		i = is_name_char(s.p[i]) ? copy_identifier(&f, i) : copy_sign(&f, i);
	free(f.levels);
	return true;
}
