/*
 * brackets.h - which bracket of a function's name belongs to which
 *
 * In the name of a C++ or Rust function, < may open a list of template arguments, be the operator
 * "less than" of an expression, or a part of "operator<<" or of an arrow.  Everything that cuts
 * names needs to know, so it is found out once, from left to right, in linear time.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef SYMBOL_BRACKETS_H
#define SYMBOL_BRACKETS_H

#include "base/str.h"

#include <stdbool.h>
#include <stdint.h>

#define NO_BRACKET UINT32_MAX

struct brackets {
	struct str s;
	uint32_t *match; /* per byte: the other bracket, or NO_BRACKET if this byte is none */
};

/*
 * brackets_init() reads 's', which must be shorter than 4 GiB and outlive 'b'.  False if brackets
 * are left over: nobody knows where such a name begins and ends.  To be released in any case.
 */
bool brackets_init(struct brackets *b, struct str s);
void brackets_release(struct brackets *b);

static inline bool is_bracket(const struct brackets *b, size_t i)
{
	return i < b->s.n && b->match[i] != NO_BRACKET;
}

/* Whether a pair of brackets opens at 'i'. */
static inline bool opens(const struct brackets *b, size_t i)
{
	return is_bracket(b, i) && b->match[i] > i;
}

/* The offset behind what is at 'i': a character, or a pair of brackets and what is in between. */
static inline size_t step(const struct brackets *b, size_t i)
{
	return opens(b, i) ? (size_t)b->match[i] + 1 : i + 1;
}

/* Whether 'c' can be part of an identifier. */
static inline bool is_name_char(char c)
{
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
	       c == '_' || c == '$' || (unsigned char)c >= 0x80;
}

/* Whether the keyword "operator" is at 'i'. */
bool is_operator_at(struct str s, size_t i);

/* Whether 'what' is at 'i'. */
static inline bool is_at(struct str s, size_t i, struct str what)
{
	return i < s.n && s.p[i] == what.p[0] && str_starts(str_skip(s, i), what);
}

static inline struct str str_range(struct str s, size_t from, size_t to)
{
	return (struct str){ s.p + from, to - from };
}

#endif /* SYMBOL_BRACKETS_H */
