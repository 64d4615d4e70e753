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

/*
 * The same for profiles that come one after the other, and need not stay in memory:
 *
 *	m = merge_new(first);
 *	merge_add(m, first);
 *	merge_add(m, another);
 *	profile = merge_end(m);
 *
 * merge_add() consumes 'src', unless it returns false: that has not the same types in the same
 * units as the first, so profile_combine() must look at all of them.  Threads can each merge
 * neighbours; merge_join() then adds 'other', on the same terms.  The result is the same as if one
 * thread had taken all in order.
 */
struct merger;

struct merger *merge_new(const struct profile *first);
bool merge_add(struct merger *m, struct profile *src);
bool merge_join(struct merger *m, struct merger *other);
struct profile *merge_end(struct merger *m);

/* Gives every sample the string label 'key', in place of any it has. */
void profile_set_label(struct profile *p, const char *key, const char *value);

/*
 * A profile like 'p', whose samples lack the label 'key'; those that are then the same are merged.
 * It shares the strings of 'p', but nothing else.
 */
struct profile *profile_without_label(const struct profile *p, const char *key);

#endif /* PROFILE_MERGE_H */
