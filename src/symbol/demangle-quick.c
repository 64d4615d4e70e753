/*
 * demangle-quick.c - the C++ names that are nearly all of them, demangled without their arguments
 *
 * Of a name such as _ZNSt3mapIN1a3keyESt6vectorIiSaIiEEE6insertE... only a few identifiers are
 * shown, so the rest is not taken apart, only stepped over.  It is still read by the grammar, as
 * far as that is known here, since a name that is not well-formed has no readable form; this
 * includes counting what a substitution (S0_) may refer to.  All that is rare is left to others:
 * expressions, lambdas, local names, function types, parameters of templates.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "symbol/demangle-quick.h"

#include "base/out.h"

#include <stdint.h>

enum {
	DEPTH_MAX = 64,
	SEQUENCE_MAX = 1 << 20, /* of a substitution's number */
};

struct reader {
	const char *p, *end;
	uint32_t nsubs; /* what can be referred to */
	int depth;
};

static bool skip_type(struct reader *r);

/* The next byte, or 0 at the end. */
static char peek(const struct reader *r)
{
	return r->p < r->end ? *r->p : '\0';
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool is_upper(char c)
{
	return c >= 'A' && c <= 'Z';
}

static bool is_qualifier(char c)
{
	return c == 'r' || c == 'V' || c == 'K';
}

/* A length, and so many bytes.  False if a tag of an ABI follows: that is part of the name. */
static bool read_identifier(struct reader *r, struct str *id)
{
	size_t n = 0;

	while (is_digit(peek(r)) && n <= SIZE_MAX / 16)
		n = n * 10 + (size_t)(*r->p++ - '0');
	if (n == 0 || n > (size_t)(r->end - r->p))
		return false;
	*id = (struct str){ r->p, n };
	r->p += n;
	return peek(r) != 'B';
}

/* Base 36, one less than what it means; none at all is the first.  Behind the S. */
static bool skip_sequence(struct reader *r)
{
	uint32_t id = 0;

	if (peek(r) != '_') {
		for (; is_digit(peek(r)) || is_upper(peek(r)); r->p++) {
			char c = *r->p;

			id = id * 36 + (uint32_t)(is_digit(c) ? c - '0' : c - 'A' + 10);
			if (id > SEQUENCE_MAX)
				return false;
		}
		id++;
	}
	return peek(r) == '_' && r->p++ && id < r->nsubs;
}

/* "b1E", "in5E", "N1a1bE2E": behind the L. */
static bool skip_literal(struct reader *r)
{
	if (!skip_type(r))
		return false;
	if (peek(r) == 'n')
		r->p++;
	if (!is_digit(peek(r)))
		return false;
	while (is_digit(peek(r)))
		r->p++;
	return peek(r) == 'E' && r->p++;
}

static bool skip_arguments(struct reader *r);

static bool skip_argument(struct reader *r)
{
	switch (peek(r)) {
	case 'L':
		r->p++;
		return skip_literal(r);
	case 'J':
		if (r->end - r->p > 1 && r->p[1] == 'E') {
			r->p += 2;
			return true;
		}
		return skip_arguments(r);
	default:
		return skip_type(r);
	}
}

/* At the I, or J, that they begin with. */
static bool skip_arguments(struct reader *r)
{
	bool ok = r->depth < DEPTH_MAX;

	r->p++;
	r->depth++;
	do
		ok = ok && skip_argument(r);
	while (ok && peek(r) != 'E');
	r->depth--;
	return ok && r->p++;
}

/* Arguments of the template that was just read, if there are some. */
static bool skip_any_arguments(struct reader *r)
{
	if (peek(r) != 'I')
		return true;
	r->nsubs++;
	return skip_arguments(r);
}

/* ------------------------------------------------------------------ what is shown */

static bool is_word(char c)
{
	return is_digit(c) || is_upper(c) || (c >= 'a' && c <= 'z') || c == '_';
}

/* Someone's idea of a namespace without a name: _GLOBAL__N_1 */
static bool is_anonymous(struct str id)
{
	return id.n >= 10 && memcmp(id.p, "_GLOBAL_", 8) == 0 &&
	       (id.p[8] == '.' || id.p[8] == '_' || id.p[8] == '$') && id.p[9] == 'N';
}

/* False: what follows could be taken for something else. */
static bool put_identifier(struct str id, struct out *o)
{
	if (is_anonymous(id)) {
		out_text(o, "(anonymous namespace)");
		return true;
	}
	for (size_t i = 0; i < id.n; i++) {
		if (!is_word(id.p[i]))
			return false;
	}
	out_str(o, id);
	return !str_ends(id, STR("operator"));
}

/* C1, D0 and the like: the class once more. */
static bool put_structor(struct reader *r, struct str class, struct out *o)
{
	bool destroys = *r->p++ == 'D';
	char kind = peek(r);

	if (class.n == 0 || is_anonymous(class) || kind < (destroys ? '0' : '1') || kind > '5' ||
	    (destroys && kind == '3'))
		return false;
	r->p++;
	if (destroys)
		out_char(o, '~');
	out_str(o, class);
	return peek(r) != 'B';
}

/* Those whose text has nothing that looks like a bracket of a template. */
static bool put_operator(struct reader *r, struct out *o)
{
	static const char names[][2][4] = {
		{ "cl", "()" }, { "ix", "[]" }, { "aS", "=" },  { "eq", "==" }, { "ne", "!=" },
		{ "pl", "+" },  { "mi", "-" },  { "ml", "*" },  { "de", "*" },  { "nt", "!" },
		{ "pp", "++" }, { "mm", "--" }, { "pL", "+=" }, { "mI", "-=" },
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (r->end - r->p > 2 && memcmp(r->p, names[i][0], 2) == 0) {
			r->p += 2;
			out_text(o, "operator");
			out_text(o, names[i][1]);
			return peek(r) != 'B';
		}
	}
	return false;
}

/* ------------------------------------------------------------------ names */

/* The first part of a nested name may refer to something.  At the S. */
static bool read_start(struct reader *r, struct out *o)
{
	char c;

	r->p++;
	c = peek(r);
	if (c == 't') {
		r->p++;
		if (o)
			out_text(o, "std");
		return true;
	}
	if (o)
		return false;
	if (c && strchr("absiod", c)) {
		r->p++;
		return peek(r) != 'B';
	}
	return skip_sequence(r);
}

/* A part of a nested name that is no argument.  'last' is the identifier before, and then this. */
static bool read_part(struct reader *r, struct str *last, struct out *o)
{
	char c = peek(r);

	if (is_digit(c))
		return read_identifier(r, last) && (!o || put_identifier(*last, o));
	if (!o)
		return false;
	if (c == 'C' || c == 'D')
		return put_structor(r, *last, o);
	return put_operator(r, o);
}

static bool read_any_part(struct reader *r, struct str *last, struct out *o)
{
	if (peek(r) == 'S')
		return read_start(r, o);
	return peek(r) == 'I' ? skip_arguments(r) : read_part(r, last, o);
}

/* At the N.  The name is appended to 'o', or stepped over where that is NULL. */
static bool read_nested(struct reader *r, struct out *o)
{
	struct str last = { NULL, 0 };
	size_t parts = 0;
	char before = 'I'; /* what the part before begins with: no arguments at the start */

	for (r->p++; is_qualifier(peek(r)); r->p++)
		continue;
	for (; peek(r) != 'E'; parts++) {
		char c = peek(r);

		if ((c == 'I' && before == 'I') || (c == 'S' && parts > 0))
			return false;
		if (o && parts > 0 && c != 'I')
			out_text(o, "::");
		if (!read_any_part(r, &last, o))
			return false;
		r->nsubs += c != 'S' && peek(r) != 'E';
		before = c;
	}
	r->p++;
	return parts > 0 && before != 'S';
}

/* ------------------------------------------------------------------ types */

/* At the S. */
static bool skip_substituted(struct reader *r)
{
	struct str id;
	char c;

	r->p++;
	c = peek(r);
	if (c == 't') {
		r->p++;
		if (!read_identifier(r, &id) || !skip_any_arguments(r))
			return false;
		r->nsubs++;
		return true;
	}
	if (c && strchr("absiod", c))
		r->p++;
	else if (!skip_sequence(r))
		return false;
	if (peek(r) != 'I')
		return peek(r) != 'B';
	if (!skip_arguments(r))
		return false;
	r->nsubs++;
	return true;
}

/* What is behind the sign of a pointer, reference or qualifier, and that itself. */
static bool skip_derived(struct reader *r)
{
	if (is_qualifier(peek(r))) {
		while (is_qualifier(peek(r)))
			r->p++;
	} else {
		r->p++;
	}
	if (!skip_type(r))
		return false;
	r->nsubs++;
	return true;
}

static bool skip_named(struct reader *r)
{
	struct str id;

	if (peek(r) == 'N' ? !read_nested(r, NULL)
			   : !read_identifier(r, &id) || !skip_any_arguments(r))
		return false;
	r->nsubs++;
	return true;
}

static bool skip_deeper(struct reader *r, char c)
{
	if (c == 'S')
		return skip_substituted(r);
	if (is_qualifier(c) || c == 'P' || c == 'R' || c == 'O')
		return skip_derived(r);
	return (is_digit(c) || c == 'N') && skip_named(r);
}

static bool skip_type(struct reader *r)
{
	char c = peek(r);
	bool ok;

	if (c >= 'a' && c <= 'z' && !strchr("kpqru", c)) {
		r->p++;
		return true;
	}
	if (r->depth >= DEPTH_MAX)
		return false;
	r->depth++;
	ok = skip_deeper(r, c);
	r->depth--;
	return ok;
}

/* ------------------------------------------------------------------ all */

bool demangle_quickly(struct str name, struct out *o)
{
	struct reader r = { .p = name.p + 2, .end = name.p + name.n };
	struct str id;

	if (!str_starts(name, STR("_Z")) || memchr(name.p, '\0', name.n))
		return false;
	if (peek(&r) == 'N')
		return read_nested(&r, o);
	if (str_starts(str_skip(name, 2), STR("St"))) {
		out_text(o, "std::");
		r.p += 2;
	}
	return read_identifier(&r, &id) && put_identifier(id, o) && skip_any_arguments(&r);
}
