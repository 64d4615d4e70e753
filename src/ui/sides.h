/*
 * sides.h - profiles to be compared become one, whose samples tell which they are of
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef UI_SIDES_H
#define UI_SIDES_H

#include <stddef.h>

struct compare_sides;
struct err;
struct profile;

/*
 * sides_combine() merges 'n' profiles, of which those before 'first_new' are the old ones, for
 * compare_init().  It consumes them, also on failure.
 */
int sides_combine(struct profile **all, size_t n, size_t first_new, struct compare_sides *sides,
		  struct profile **out, struct err *err);

#endif /* UI_SIDES_H */
