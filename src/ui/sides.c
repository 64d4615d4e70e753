/*
 * sides.c - profiles to be compared become one, whose samples tell which they are of
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "ui/sides.h"

#include "base/cleanup.h"
#include "base/xalloc.h"
#include "profile/merge.h"
#include "profile/profile.h"
#include "profile/scale.h"
#include "report/compare.h"

static void mark(struct profile *p, size_t i, bool numbered, bool base)
{
	AUTO(freep) char *number = mem_printf("%zu", i + 1);

	if (numbered)
		profile_set_label(p, "sonde::profile", number);
	if (base) {
		profile_set_label(p, "pprof::base", "true");
		profile_scale(p, -1);
	}
}

int sides_combine(struct profile **all, size_t n, size_t first_new, struct compare_sides *sides,
		  struct profile **out, struct err *err)
{
	*sides = (struct compare_sides){ .n = n };
	for (size_t i = 0; i < n; i++) {
		bool base = i < first_new;

		sides->profiles[i] =
			(struct compare_side){ base, all[i]->duration_nanos, all[i]->period };
		mark(all[i], i, n > 2, base);
	}
	return profile_combine(all, n, out, err);
}
