/*
 * units.h - measurements: what "bytes" and "nanoseconds" mean, and how numbers are printed
 *
 * The rules are the reference's, to the byte.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef BASE_UNITS_H
#define BASE_UNITS_H

#include "base/str.h"

#include <stdint.h>

struct out;

/* What to print in: a unit's name, or "auto" or "minimum" for the most natural one. */
struct unit_target {
	struct str unit;
	bool minutes; /* "auto" may also choose minutes, days, weeks and years, as it once did */
};

#define UNIT_AUTO ((struct unit_target){ STR("auto"), false })

/*
 * unit_scale() converts 'value' and stores the unit it then has in '*unit' (empty if it is not
 * worth printing; borrowed from 'to' or a literal).  Unknown units leave the value as it is.
 */
double unit_scale(int64_t value, struct str from, struct unit_target to, struct str *unit);

/* "1.50MB", "10s", "0": two decimals, ".00" cut, no unit behind zero. */
void unit_print(struct out *o, int64_t value, struct str from, struct unit_target to);

/* Whether two units measure the same thing. */
bool unit_compatible(struct str a, struct str b);

/* The share of 'value' in 'total', six characters or more: "  100%", "12.50%", "0.017%". */
struct percentage {
	char text[32];
};
struct percentage percentage(int64_t value, int64_t total);
/* The same without the blanks in front. */
const char *percentage_trimmed(const struct percentage *p);

/* A double cut to an integer as the reference's machine does it: out of range is the minimum. */
int64_t f64_to_i64(double v);

static inline int64_t abs_i64(int64_t v)
{
	return v < 0 ? (int64_t)(0 - (uint64_t)v) : v;
}

#endif /* BASE_UNITS_H */
