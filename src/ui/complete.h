/*
 * complete.h - what a half-typed line of the shell could become
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef UI_COMPLETE_H
#define UI_COMPLETE_H

#include "base/str.h"

#include <stddef.h>

struct profile;

/* The ways to go on: each of 'words' could replace line[start..]. */
struct completions {
	size_t start;
	char **words; /* sorted, all different */
	size_t n, cap;
};

/*
 * complete() fills in 'c' for the text before the cursor: commands, options, their values,
 * sample types, names of functions of 'p', names of files after '>'.
 *
 * Where a regular expression is expected, a function's name is given as one that matches
 * it: "main\.\(\*T\)\.Get" has its brackets and stars escaped, but not its dots, and '.'
 * in place of white space, which would end the word.
 */
void complete(const struct profile *p, struct str line, struct completions *c);
void completions_release(struct completions *c);

/* How many bytes at the beginning all words have in common. */
size_t completions_common(const struct completions *c);

#endif /* UI_COMPLETE_H */
