/*
 * own.h - a view gets a copy of what it is about to change
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef VIEW_OWN_H
#define VIEW_OWN_H

#include <stdbool.h>

struct profile;

/*
 * Each gives the view 'v' arrays of its own where it still shares its origin's.  A profile that
 * is not a view owns everything already.
 */
void own_samples(struct profile *v);
void own_values(struct profile *v);
void own_locations(struct profile *v); /* locations; lines stay shared, their ranges may shrink */
void own_functions(struct profile *v);

/* Gives the view stacks as they are read, if those are not simply what its origin has. */
void own_stacks(struct profile *v);

/*
 * keep_samples() removes the samples for which keep() is false, in one pass.  Those that stay, and
 * their values, stay where they are: see profile.rows.
 */
void keep_samples(struct profile *v, bool (*keep)(struct profile *v, unsigned long i, void *ctx),
		  void *ctx);

#endif /* VIEW_OWN_H */
