/*
 * scale.h - values in other units, and by other factors
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PROFILE_SCALE_H
#define PROFILE_SCALE_H

#include <stddef.h>

struct err;
struct profile;

/* Multiplies every value and rounds; drops samples of which no rescaled value is left. */
void profile_scale(struct profile *p, double ratio);

/* Scales 'p' so that the total of each sample type is that of 'base'. */
int profile_normalize(struct profile *p, const struct profile *base, struct err *err);

/*
 * scale_to_common_units() brings the sample types and periods of all profiles to the finest unit
 * that any of them has.  -EINVAL and the reference's message if they measure different things.
 */
int scale_to_common_units(struct profile **ps, size_t n, struct err *err);

/*
 * check_same_types() refuses what scale_to_common_units() lets pass: a plural s more or less.
 */
int check_same_types(const struct profile *a, const struct profile *b, struct err *err);

#endif /* PROFILE_SCALE_H */
