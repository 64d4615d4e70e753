/*
 * regex-syntax.h - the inside of regex.c: from a Go pattern to a PCRE2 pattern
 *
 * regex-syntax.c reads, regex-build.c writes, and regex-class.c knows the sets of characters.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef BASE_REGEX_SYNTAX_H
#define BASE_REGEX_SYNTAX_H

#include "base/out.h"
#include "base/str.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;

/* What Go says of a pattern that is too large, and so do we where PCRE2's limit is lower. */
#define REGEX_TOO_LARGE "regexp/syntax: internal error"
#define REGEX_TOO_DEEP  "expression nests too deeply"

enum { REGEX_MAX_REPEAT = 1000 };

/*
 * A pattern in translation.  'pcre' is for PCRE2 with UTF, MULTILINE and ALT_CIRCUMFLEX and
 * LF as newline.  If 'plain' is set, the pattern asks for the text in 'literal' and nothing
 * else, at the start of the subject, at its end, anywhere, or both (the whole).
 */
struct regex_text {
	struct out pcre;
	struct out literal;
	bool plain, at_start, at_end;
	bool empty_branch; /* one of several alternatives can match nothing */
};

/*
 * regex_translate() fills in 't', which the caller releases with regex_text_release() in any
 * case.  Failure: -EINVAL and Go's sentence.
 */
int regex_translate(struct str pattern, struct regex_text *t, struct err *err);
void regex_text_release(struct regex_text *t);

/* -EINVAL and Go's sentence about 'what' being wrong with 'expr'. */
int regex_error(struct err *err, const char *what, struct str expr);

/*
 * A character class in translation: a union of ranges, named sets and properties.  'fold' is
 * whether the class will stand where PCRE2 ignores case, and then folds the ranges itself.
 */
struct regex_class {
	struct out items; /* goes between [ and ] */
	struct out rest;  /* "|[^...]" for each negated set that brackets cannot express */
	bool fold;
};

#define RUNE_MAX 0x10ffffu

static inline bool rune_is_surrogate(uint32_t rune)
{
	return rune >= 0xd800 && rune < 0xe000;
}

/* Appends 'rune' as PCRE2 reads it, inside or outside of brackets. */
void regex_quote_rune(struct out *o, uint32_t rune);

void regex_class_init(struct regex_class *c, bool fold);
void regex_class_release(struct regex_class *c);
void regex_class_range(struct regex_class *c, uint32_t lo, uint32_t hi);
/* Adds the set with a POSIX name ("alnum") or a Perl letter ("w"); false if there is none. */
bool regex_class_ascii(struct regex_class *c, struct str name, bool negated);
/* Adds a Unicode category or script by Go's name ("Lu", "Greek", "Any"); false if unknown. */
bool regex_class_property(struct regex_class *c, struct str name, bool negated);
/* Writes one PCRE2 item that matches a character in the class, or not in it. */
void regex_class_write(const struct regex_class *c, bool negated, struct out *o);

/* Flags that a pattern can set. */
enum regex_flag {
	REGEX_FOLD = 1 << 0,       /* (?i) */
	REGEX_DOT_NL = 1 << 1,     /* (?s) */
	REGEX_MULTI_LINE = 1 << 2, /* (?m) */
	REGEX_NON_GREEDY = 1 << 3, /* (?U) */
};

struct regex_repeat {
	char op;      /* one of * + ? { */
	int min, max; /* of {; max -1: none */
};

/*
 * The writer.  Expressions are given to it in the order in which they are read.  'flags' are
 * those in force, and the reader's to change; at the end of a group they are what they were
 * before it.  The first limit that is exceeded sticks in 'why'.
 */
struct regex_build {
	struct regex_text *t;
	unsigned flags;
	unsigned written;           /* private: flags that PCRE2 has been told */
	struct regex_frame *frames; /* private: the pattern itself and its open groups */
	size_t nframes, frames_cap; /* private */
	bool too_deep;              /* private: more groups than PCRE2 should get */
	const char *why;
};

void regex_build_init(struct regex_build *b, struct regex_text *t);
void regex_build_release(struct regex_build *b);
/* The pattern is at its end.  False if groups are still open. */
bool regex_build_finish(struct regex_build *b);

void regex_put_literal(struct regex_build *b, uint32_t rune);
void regex_put_class(struct regex_build *b, const struct regex_class *c, bool negated);
void regex_put_dot(struct regex_build *b);
void regex_put_begin_text(struct regex_build *b);
void regex_put_end_text(struct regex_build *b);
/* Any other assertion, as PCRE2 writes it. */
void regex_put_assertion(struct regex_build *b, const char *z);
void regex_put_bar(struct regex_build *b);

void regex_open_group(struct regex_build *b, bool captures);
/* False if there is none open. */
bool regex_close_group(struct regex_build *b);

/* Is there an expression that a repetition operator could apply to? */
bool regex_can_repeat(const struct regex_build *b);
/* Repeats it.  False if it is copied too often, all counts multiplied. */
bool regex_put_repeat(struct regex_build *b, const struct regex_repeat *r, bool lazy);

#endif /* BASE_REGEX_SYNTAX_H */
