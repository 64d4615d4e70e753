/*
 * regex.h - regular expressions with Go's syntax and Go's answers
 *
 * People bring patterns that they wrote for the reference tool.  So a pattern is read as Go's
 * regexp package (RE2 syntax) reads it, refused with the same words, and finds the same text:
 * leftmost, and of several matches there the one that the pattern's alternatives and
 * operators prefer.  PCRE2 does the searching; what it knows beyond Go (look-around,
 * back-references, ...) is not available.
 *
 * A pattern may come from a profile, that is, from a stranger: neither reading it nor
 * searching with it takes unbounded time or memory.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef BASE_REGEX_H
#define BASE_REGEX_H

#include "base/str.h"

#include <stdbool.h>
#include <stddef.h>

struct err;
struct regex;

/*
 * regex_compile() reads 'pattern', which is copied.  On success it returns 0 and stores in
 * '*out' a regex that the caller frees with regex_free().  Otherwise it returns -EINVAL, leaves
 * '*out' alone and puts Go's sentence into 'err' (which may be NULL):
 *
 *	error parsing regexp: missing closing ): `(`
 *
 * A pattern that says nothing but a plain text, possibly tied to the start or the end of the
 * subject, costs next to nothing; any other some 20 microseconds.
 */
int regex_compile(struct str pattern, struct regex **out, struct err *err);
void regex_free(struct regex *re);

static inline void regex_freep(struct regex **re)
{
	regex_free(*re);
}

/*
 * regex_match() tells if any part of 'subject' matches.  Bytes of the subject that are not
 * UTF-8 count as U+FFFD, one each.  Any number of threads may use one regex at a time.
 */
bool regex_match(const struct regex *re, struct str subject);

/*
 * regex_find() looks for the first match that starts at byte 'from' or later and stores its
 * extent, [*start, *end).  '^', '\A' and '\b' see the bytes before 'from'.  A 'from' inside a
 * character means the next one.  (Where a group is repeated that can match nothing, as in
 * "(\b|x)+", the end may differ from Go's.)
 */
bool regex_find(const struct regex *re, struct str subject, size_t from, size_t *start,
		size_t *end);

/* The pattern as it was given to regex_compile(); lives as long as the regex. */
struct str regex_pattern(const struct regex *re);

#endif /* BASE_REGEX_H */
