/*
 * readable-steps.h - from one level of readable.h to the next; private to symbol/readable*.c
 *
 * Each step appends to 'o' what its level makes of 's', the name at the level before.  False: the
 * name is not understood, and what has been appended is to be thrown away.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef SYMBOL_READABLE_STEPS_H
#define SYMBOL_READABLE_STEPS_H

#include "base/str.h"

#include <stdbool.h>

struct out;

/* C, C++ and Rust.  scoped_fold() comes first: what is inside of libraries. */
bool scoped_fold(struct str s, struct out *o);
bool scoped_signature(struct str s, struct out *o); /* level 1 */
bool scoped_arguments(struct str s, struct out *o); /* 2 */
bool scoped_class(struct str s, struct out *o);     /* 3 */
bool scoped_function(struct str s, struct out *o);  /* 4 */

/* Go, Java and others with dots. */
bool dotted_signature(struct str s, struct out *o);
bool dotted_arguments(struct str s, struct out *o);
bool dotted_class(struct str s, struct out *o);
bool dotted_function(struct str s, struct out *o);

#endif /* SYMBOL_READABLE_STEPS_H */
