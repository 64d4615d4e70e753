/*
 * match.h - a regular expression asked many times about the same strings
 *
 * A profile names each function, file and mapping once, and a filter asks about them for every
 * location.  A matcher asks the expression once per string and remembers the answer.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef VIEW_MATCH_H
#define VIEW_MATCH_H

#include "base/str.h"

#include <stdbool.h>
#include <stdint.h>

struct err;
struct location;
struct profile;
struct regex;

struct matcher {
	const struct profile *p;
	struct regex *re; /* NULL: no expression, nothing matches */
	uint8_t *known;   /* per string: 0 not asked yet, 1 no, 2 yes */
	size_t nknown;
};

/*
 * matcher_init() compiles 'pattern'; an empty one leaves m->re NULL.  On failure -EINVAL with
 * "parsing <what> regexp: ...", and nothing to release.
 */
int matcher_init(struct matcher *m, const struct profile *p, struct str pattern, const char *what,
		 struct err *err);
void matcher_release(struct matcher *m);

/* Whether string number 's' of the profile matches. */
bool matcher_string(struct matcher *m, uint32_t s);
/* Whether the name, the name in the view's origin, or the file of function 'f' does. */
bool matcher_function(struct matcher *m, uint32_t f);
/* Whether the file of the location's mapping does. */
bool matcher_mapping(struct matcher *m, const struct location *l);
/* Whether any of its functions or its mapping does. */
bool matcher_location(struct matcher *m, const struct location *l);

#endif /* VIEW_MATCH_H */
