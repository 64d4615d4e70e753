/*
 * call-table.h - every function with its callers and callees
 *
 * Entries are made one at a time: all of them together would hold every edge twice.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef REPORT_CALL_TABLE_H
#define REPORT_CALL_TABLE_H

#include "report/legend.h"

#include <stdint.h>

struct err;
struct graph;
struct report;

struct call {
	struct str name;
	int64_t weight;
	int64_t of; /* the entry's cumulative value, of which the weight is a part */
	bool inlined;
};

struct call_entry {
	struct str name;
	int64_t flat, cum, sum;
	const struct call *callers, *callees; /* heaviest first */
	uint32_t ncallers, ncallees;
};

struct call_table {
	struct report *r;
	struct graph *g;
	struct legend legend;
	uint32_t next;        /* private: place in the graph's order */
	int64_t sum;          /* private */
	struct call *scratch; /* private: the lists of the current entry */
	size_t cap;
};

/*
 * For a report with a parameter (peek) only functions that match it have an entry; -ENOENT and the
 * reference's message if none does.
 */
int call_table_init(struct call_table *t, struct report *r, struct err *err);
/* The next entry, until there is none.  Its lists live until the call after. */
bool call_table_next(struct call_table *t, struct call_entry *e);

/* How many callers and callees all entries have together. */
size_t call_table_calls(const struct call_table *t);
void call_table_release(struct call_table *t);

#endif /* REPORT_CALL_TABLE_H */
