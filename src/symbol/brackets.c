/*
 * brackets.c - which bracket of a function's name belongs to which
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "symbol/brackets.h"

#include "base/xalloc.h"

#include <stdlib.h>

bool is_operator_at(struct str s, size_t i)
{
	static const struct str word = { "operator", 8 };

	return is_at(s, i, word) && (i == 0 || !is_name_char(s.p[i - 1])) &&
	       (i + word.n == s.n || !is_name_char(s.p[i + word.n]));
}

/* "operator<<int>" is what some demanglers make of "operator< <int>". */
static bool is_shift(struct str s)
{
	return s.n == 2 || (s.n > 2 && strchr("(<= ", s.p[2]));
}

/* How long the symbol of an operator is, at the start of 's'; 0 if it is a word. */
static size_t symbol_length(struct str s)
{
	static const char *const symbols[] = { "<=>", "<<=", ">>=", "->*", "()",     "[]",
					       "->",  "<=",  ">=",  ">>",  " new[]", " delete[]" };

	for (size_t i = 0; i < sizeof(symbols) / sizeof(symbols[0]); i++) {
		if (str_starts(s, str_of(symbols[i])))
			return strlen(symbols[i]);
	}
	if (str_starts(s, STR("<<")) && is_shift(s))
		return 2;
	return s.n && (s.p[0] == '<' || s.p[0] == '>') ? 1 : 0;
}

static bool closes(char open, char close)
{
	return (open == '(' && close == ')') || (open == '[' && close == ']') ||
	       (open == '{' && close == '}') || (open == '<' && close == '>');
}

/* While brackets are open, 'match' of each leads to the one it is in. */
struct reader {
	struct brackets *b;
	uint32_t top; /* the innermost open bracket */
};

static void open_at(struct reader *r, size_t i)
{
	/* "(a)<(b)": arguments follow a name, never a parenthesis. */
	if (r->b->s.p[i] == '<' && i > 0 && r->b->s.p[i - 1] == ')' && is_bracket(r->b, i - 1))
		return;
	r->b->match[i] = r->top;
	r->top = (uint32_t)i;
}

/* The innermost bracket was none. */
static void forget(struct reader *r)
{
	uint32_t outer = r->b->match[r->top];

	r->b->match[r->top] = NO_BRACKET;
	r->top = outer;
}

static bool close_at(struct reader *r, size_t i)
{
	const char *p = r->b->s.p;
	uint32_t open;

	if (p[i] == '>' && i > 0 && p[i - 1] == '-')
		return true;
	if (p[i] == '>' && r->top != NO_BRACKET && p[r->top] != '<')
		return true;
	while (p[i] != '>' && r->top != NO_BRACKET && p[r->top] == '<')
		forget(r);
	if (r->top == NO_BRACKET || !closes(p[r->top], p[i]))
		return false;
	open = r->top;
	r->top = r->b->match[open];
	r->b->match[open] = (uint32_t)i;
	r->b->match[i] = open;
	return true;
}

bool brackets_init(struct brackets *b, struct str s)
{
	struct reader r = { b, NO_BRACKET };

	*b = (struct brackets){ s, mem_new(s.n, sizeof(*b->match)) };
	memset(b->match, 0xff, s.n * sizeof(*b->match));
	for (size_t i = 0; i < s.n; i++) {
		char c = s.p[i];

		if (c == 'o' && is_operator_at(s, i)) {
			i += 8 + symbol_length(str_skip(s, i + 8)) - 1;
			continue;
		}
		if (c == '(' || c == '[' || c == '{' || c == '<')
			open_at(&r, i);
		else if ((c == ')' || c == ']' || c == '}' || c == '>') && !close_at(&r, i))
			return false;
	}
	return r.top == NO_BRACKET;
}

void brackets_release(struct brackets *b)
{
	free(b->match);
	*b = (struct brackets){ 0 };
}
