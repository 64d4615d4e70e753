/*
 * top.h - functions ranked by value
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef REPORT_TOP_H
#define REPORT_TOP_H

#include "report/legend.h"

#include <stdint.h>

struct graph;
struct report;

enum inline_mark { NOT_INLINED, PARTLY_INLINED, INLINED };

struct top_row {
	struct str name;
	enum inline_mark mark;
	int64_t flat, cum;
	int64_t sum; /* of all flat values up to this row */
};

struct top {
	struct graph *g; /* the names are its */
	struct legend legend;
	struct top_row *rows; /* in the report's arena */
	uint32_t n;
};

/* Release with top_release() before the report. */
void top_init(struct top *t, struct report *r);
void top_release(struct top *t);

/* "", " (partial-inline)" or " (inline)". */
const char *inline_mark_text(enum inline_mark mark);

#endif /* REPORT_TOP_H */
