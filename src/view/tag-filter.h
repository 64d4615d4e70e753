/*
 * tag-filter.h - choose samples by their labels
 *
 * A filter is "[key=]what", where 'what' is a range of numbers ("1kb:10kb", "32mb:", ":5", "7ms")
 * or a list of regular expressions with commas between them.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef VIEW_TAG_FILTER_H
#define VIEW_TAG_FILTER_H

#include "base/str.h"

#include <stdbool.h>

struct err;
struct label_units;
struct notify;
struct profile;
struct sample;
struct tag_filter;

/*
 * tag_filter_new() reads 'text'; an empty one gives '*out' NULL.  'name' is the option's, for
 * messages.  Failure: -EINVAL and the reference's message.  'units' must outlive the filter.
 */
int tag_filter_new(struct tag_filter **out, const char *name, struct str text,
		   const struct label_units *units, struct notify *notify, struct err *err);
void tag_filter_free(struct tag_filter *f);

static inline void tag_filter_freep(struct tag_filter **f)
{
	tag_filter_free(*f);
}

bool tag_filter_match(const struct tag_filter *f, const struct profile *p, const struct sample *s);

#endif /* VIEW_TAG_FILTER_H */
