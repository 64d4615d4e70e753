/*
 * merge.h - several profiles become one, and one becomes tidy
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PROFILE_MERGE_H
#define PROFILE_MERGE_H

#include <stdbool.h>
#include <stddef.h>

struct err;
struct profile;

/*
 * profile_combine() brings 'n' profiles to common units and merges them: samples with the same
 * stack and labels are added up, samples that are all zero go, tables keep only what is used, and
 * ids count from 1 in order of first use.  The reference does this to a single profile as well.
 *
 * It consumes the profiles (frees them or makes them part of the result), also on failure, which
 * is -EINVAL and the reference's message when they measure different things.
 *
 * A single profile is tidied in place: it costs no second copy of its stacks.
 */
int profile_combine(struct profile **srcs, size_t n, struct profile **out, struct err *err);

/* Gives every sample the string label 'key', in place of any it has. */
void profile_set_label(struct profile *p, const char *key, const char *value);

#endif /* PROFILE_MERGE_H */
