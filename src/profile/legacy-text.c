/*
 * legacy-text.c - what the readers of text formats have in common
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "profile/legacy-text.h"

#include "base/err.h"
#include "base/gotext.h"
#include "base/xalloc.h"
#include "profile/build.h"

#include <errno.h>
#include <stdlib.h>

/* bufio.MaxScanTokenSize: the line with its "\n" must fit. */
#define LINE_ROOM ((size_t)64 << 10)

struct lines lines_of(struct str text)
{
	return (struct lines){ .line = STR(""), .rest = text };
}

static void take_line(struct lines *l, size_t n, size_t skip)
{
	l->line = (struct str){ l->rest.p, n };
	if (n && l->line.p[n - 1] == '\r')
		l->line.n--;
	l->rest = str_skip(l->rest, n + skip);
}

bool lines_next(struct lines *l)
{
	size_t room = l->rest.n < LINE_ROOM ? l->rest.n : LINE_ROOM;
	const char *end = room ? memchr(l->rest.p, '\n', room) : NULL;

	l->line = STR("");
	if (end) {
		take_line(l, (size_t)(end - l->rest.p), 1);
		return true;
	}
	if (room == LINE_ROOM && !l->too_long) {
		/* The scanner has failed, but hands out what it holds if it is asked again. */
		l->too_long = true;
		l->rest.n = LINE_ROOM;
		return false;
	}
	if (room == 0)
		return false;
	take_line(l, room, 0);
	return true;
}

int lines_error(const struct lines *l, struct err *err)
{
	return l->too_long ? err_set(err, -EMSGSIZE, "bufio.Scanner: token too long") : 0;
}

struct str text_trim(struct str s)
{
	s = str_trim(s);
	if (s.n && ((s.p[0] | s.p[s.n - 1]) & 0x80))
		return go_trim(s);
	return s;
}

bool text_is_comment(struct str line)
{
	line = text_trim(line);
	return line.n == 0 || line.p[0] == '#';
}

bool text_is_digit(char c)
{
	return c >= '0' && c <= '9';
}

bool text_is_hex(char c)
{
	return text_is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

bool text_is_space(char c)
{
	return c == ' ' || c == '\t' || c == '\n' || c == '\f' || c == '\r';
}

static bool is_word(char c)
{
	return !text_is_space(c);
}

static bool is_blank(char c)
{
	return c == ' ';
}

static bool eat_run(struct str *s, bool (*is)(char c), struct str *run)
{
	size_t n = 0;

	while (n < s->n && is(s->p[n]))
		n++;
	if (run)
		*run = (struct str){ s->p, n };
	*s = str_skip(*s, n);
	return n > 0;
}

bool text_eat(struct str *s, const char *literal)
{
	struct str l = str_of(literal);

	if (!str_starts(*s, l))
		return false;
	*s = str_skip(*s, l.n);
	return true;
}

bool text_digits(struct str *s, struct str *word)
{
	return eat_run(s, text_is_digit, word);
}

bool text_hex(struct str *s, struct str *word)
{
	return eat_run(s, text_is_hex, word);
}

bool text_spaces(struct str *s)
{
	return eat_run(s, text_is_space, NULL);
}

bool text_word(struct str *s, struct str *word)
{
	return eat_run(s, is_word, word);
}

bool text_blanks(struct str *s)
{
	eat_run(s, is_blank, NULL);
	return true;
}

bool text_next_digit(struct str *s)
{
	while (s->n && !text_is_digit(s->p[0]))
		*s = str_skip(*s, 1);
	return s->n > 0;
}

int text_bad_line(struct err *err, const char *what, struct str line)
{
	struct err why;

	if (!err)
		return -EBADMSG;
	why = *err;
	if (line.n > 2000)
		line.n = 2000; /* so that the reason still fits */
	return err_set(err, -EBADMSG, "%s %.*s: %.1800s", what, STR_ARG(line), why.msg);
}

int text_unrecognized(struct err *err)
{
	return err_set(err, -ENOTSUP, "unrecognized profile format");
}

int text_malformed(struct err *err)
{
	return err_set(err, -EBADMSG, "malformed profile format");
}

void addresses_release(struct addresses *a)
{
	free(a->at);
	free(a->locations);
}

void addresses_add(struct addresses *a, uint64_t address)
{
	size_t cap = a->cap;

	vec_push(a->at, a->n, a->cap, address);
	if (a->cap != cap)
		a->locations = mem_grow(a->locations, a->cap, sizeof(*a->locations));
}

/* Of the characters in a list of addresses: the digit's value plus one, or SEPARATOR. */
enum { SEPARATOR = 17 };

static const unsigned char address_chars[256] = {
	['0'] = 1,  ['1'] = 2,  ['2'] = 3,  ['3'] = 4,  ['4'] = 5,         ['5'] = 6,
	['6'] = 7,  ['7'] = 8,  ['8'] = 9,  ['9'] = 10, ['a'] = 11,        ['b'] = 12,
	['c'] = 13, ['d'] = 14, ['e'] = 15, ['f'] = 16, [' '] = SEPARATOR, ['x'] = SEPARATOR,
};

struct str addresses_text(struct str *s)
{
	struct str text = { s->p, 0 };

	while (text.n < s->n && address_chars[(unsigned char)s->p[text.n]])
		text.n++;
	*s = str_skip(*s, text.n);
	return text;
}

/* The value of a digit; SEPARATOR - 1 or more for what is none. */
static unsigned hex_value(char c)
{
	return address_chars[(unsigned char)c] - 1u;
}

int addresses_read(struct addresses *a, struct str text, struct err *err)
{
	const char *end = text.p + text.n;

	for (const char *p = text.p; end - p >= 3;) {
		const char *start = p;
		uint64_t v = 0, overflow = 0;

		if (p[0] != '0' || p[1] != 'x' || hex_value(p[2]) > 15) {
			p++;
			continue;
		}
		for (p += 2; p < end && hex_value(*p) <= 15; p++) {
			overflow |= v >> 60;
			v = v << 4 | hex_value(*p);
		}
		if (overflow)
			return err_set(err, -EBADMSG, "failed to parse as hex 64-bit number: %.*s",
				       (int)(p - start), start);
		addresses_add(a, v);
	}
	return 0;
}

void addresses_sample(struct addresses *a, size_t exact, struct builder *b, const int64_t *values)
{
	for (size_t i = 0; i < a->n; i++)
		a->locations[i] = builder_location(b, a->at[i] - (i >= exact));
	builder_sample(b, a->locations, a->n, values);
	a->n = 0;
}
