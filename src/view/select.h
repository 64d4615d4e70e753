/*
 * select.h - which of its numbers a sample counts for
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef VIEW_SELECT_H
#define VIEW_SELECT_H

#include "base/wrap.h"
#include "profile/profile.h"

#include <stdbool.h>

struct config;
struct err;

struct selection {
	uint32_t index; /* of the sample type */
	bool mean;      /* divide by the first sample type */
};

/* From sample_index and mean of 'cfg'.  -EINVAL and the reference's message otherwise. */
int selection_init(struct selection *s, const struct profile *p, const struct config *cfg,
		   struct err *err);

static inline int64_t selected_value(const struct selection *s, const struct profile *p, size_t i)
{
	return sample_values(p, i)[s->index];
}

/* 0 without a mean. */
static inline int64_t selected_divisor(const struct selection *s, const struct profile *p, size_t i)
{
	return s->mean ? sample_values(p, i)[0] : 0;
}

/* What one sample is worth by itself: its value, or its mean. */
static inline int64_t selected_mean(const struct selection *s, const struct profile *p, size_t i)
{
	int64_t d = selected_divisor(s, p, i);

	return d ? wrap_div(selected_value(s, p, i), d) : selected_value(s, p, i);
}

/* Whether samples of a base can be told apart from those compared with it: -diff_base. */
bool selection_has_base(const struct profile *p);

/*
 * The sum of all absolute values, by which percentages are computed; of the base's samples only, if
 * the profile is a comparison with a base that has any.
 */
int64_t selection_total(const struct selection *s, const struct profile *p);

#endif /* VIEW_SELECT_H */
