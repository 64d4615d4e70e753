/*
 * local.h - give a profile's addresses the names that binaries of this machine have for them
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef SYMBOL_LOCAL_H
#define SYMBOL_LOCAL_H

#include <stdbool.h>

struct err;
struct profile;
struct symbolize_options;

/*
 * symbolize_locally() names the locations of every mapping that has no names yet or, with
 * 'force', of any.  'fast' looks at symbol tables only, which know neither files nor lines.
 * Returns 0, or -EOVERFLOW where the profile has no room for more lines.
 */
int symbolize_locally(struct profile *p, const struct symbolize_options *o, bool fast, bool force,
		      struct err *err);

#endif /* SYMBOL_LOCAL_H */
