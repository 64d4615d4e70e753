/*
 * label-units.h - the units of numeric labels
 *
 * A numeric label has a unit of its own, or none; a report wants one unit per key.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef VIEW_LABEL_UNITS_H
#define VIEW_LABEL_UNITS_H

#include "base/str.h"

#include <stdint.h>

struct notify;
struct profile;

struct label_units {
	const struct profile *p;
	uint32_t *unit; /* per string: the unit of the key with that name, or NONE */
	size_t n;
};

/*
 * label_units_init() takes for each key the first unit in the profile, and warns about others.
 * Release with label_units_release().
 */
void label_units_init(struct label_units *u, const struct profile *p, struct notify *notify);
void label_units_release(struct label_units *u);

/* The unit of 'key': the profile's, or one guessed from the name (the name itself, if need be). */
struct str label_unit(const struct label_units *u, uint32_t key);

#endif /* VIEW_LABEL_UNITS_H */
