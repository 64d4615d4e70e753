/*
 * legend.h - the lines above a report
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef REPORT_LEGEND_H
#define REPORT_LEGEND_H

#include "base/str.h"

#include <stdbool.h>
#include <stddef.h>

struct graph;
struct report;

struct legend {
	struct str *lines; /* in the report's arena */
	size_t n, cap;
};

/* What the profile is: file, build id, comments, type, time, duration. */
void legend_profile(struct legend *l, struct report *r);

/* Which options leave something out; nothing if none does. */
void legend_filters(struct legend *l, struct report *r);

/*
 * What the graph shows of it.  'full' puts the lines of legend_profile() first even where compact
 * labels are wanted, names the dropped edges and adds the help line of a picture.
 */
void legend_graph(struct legend *l, struct report *r, const struct graph *g, bool full);

#endif /* REPORT_LEGEND_H */
