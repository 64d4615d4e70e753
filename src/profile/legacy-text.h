/*
 * legacy-text.h - what the readers of text formats have in common
 *
 * The reference describes its formats with regular expressions.  Here they are read by hand:
 * the text_*() functions eat from the front of a struct str what a piece of an expression
 * would match.  White space is ' ', \t, \n, \f and \r, as "\s" is in RE2.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PROFILE_LEGACY_TEXT_H
#define PROFILE_LEGACY_TEXT_H

#include "base/str.h"

#include <stdbool.h>
#include <stdint.h>

struct builder;
struct err;

/*
 * The lines of a text, as Go's bufio.Scanner gives them: without "\n" or "\r\n", and shorter
 * than 64 KiB.  At a longer line lines_next() returns false, and lines_error() an error.
 * 'line' is empty when lines_next() has returned false.
 */
struct lines {
	struct str line;
	struct str rest; /* private */
	bool too_long;   /* private */
};

struct lines lines_of(struct str text);
bool lines_next(struct lines *l);
/* 0, or -EMSGSIZE and the reference's message. */
int lines_error(const struct lines *l, struct err *err);

/* strings.TrimSpace, fast. */
struct str text_trim(struct str s);
/* Nothing but white space, or a comment that begins with '#'. */
bool text_is_comment(struct str line);

bool text_is_digit(char c);
bool text_is_hex(char c); /* either case */
bool text_is_space(char c);

/* Each eats what it is named after, and tells if there was any; 'word' may be NULL. */
bool text_eat(struct str *s, const char *literal);
bool text_digits(struct str *s, struct str *word);
bool text_hex(struct str *s, struct str *word);
bool text_spaces(struct str *s);
bool text_word(struct str *s, struct str *word); /* no white space */
/* Any number of blanks; always true, for use between the others. */
bool text_blanks(struct str *s);

/*
 * Cuts everything before the next digit off 's'; false if there is none.  Where the search
 * for "\d+..." has failed at one run of digits, it goes on behind that run: it would fail at
 * every other place in it.
 */
bool text_next_digit(struct str *s);

/* What the reference does with "failed to parse ...": puts "<what> <line>: " before it. */
int text_bad_line(struct err *err, const char *what, struct str line);
/* "unrecognized profile format", -ENOTSUP; "malformed profile format", -EBADMSG. */
int text_unrecognized(struct err *err);
int text_malformed(struct err *err);

/* A stack as it is read: addresses, leaf first. */
struct addresses {
	uint64_t *at;
	uint32_t *locations; /* private */
	size_t n, cap;
};

void addresses_release(struct addresses *a);
void addresses_add(struct addresses *a, uint64_t address);
/* Eats characters that can be part of a list of addresses: [ x0-9a-f]*. */
struct str addresses_text(struct str *s);
/* Adds all numbers of the form 0x[0-9a-f]+ in 'text'.  -EBADMSG for one above 64 bits. */
int addresses_read(struct addresses *a, struct str text, struct err *err);
/*
 * Appends a sample with the stack 'a', which is empty afterwards.  All but the first 'exact'
 * addresses point behind a call, and are moved back by one to point into it.
 */
void addresses_sample(struct addresses *a, size_t exact, struct builder *b, const int64_t *values);

/*
 * What was counted, from what was sampled at one sample per 'rate' bytes: a block of S bytes
 * is sampled with probability 1-exp(-S/rate).
 */
void legacy_unsample(int64_t *count, int64_t *size, int64_t rate);

#endif /* PROFILE_LEGACY_TEXT_H */
