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

struct edge;
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
	uint32_t n;    /* entries */
	int64_t *sums; /* private: per entry, of the own values up to it */
};

/* Where the lists of an entry are; all zero in the beginning. */
struct call_room {
	struct call *calls; /* private, as is the rest */
	const struct edge **edges;
	size_t cap;
};

/*
 * For a report with a parameter (peek) only functions that match it have an entry; -ENOENT and the
 * reference's message if none does.
 */
int call_table_init(struct call_table *t, struct report *r, struct err *err);
void call_table_release(struct call_table *t);

/* How many callers and callees entry 'i' has. */
size_t call_table_calls(const struct call_table *t, uint32_t i);

/*
 * Makes entry 'i', whose lists live in 'room' until that is used again.  Threads may, each with a
 * room of its own, after call_table_share().
 */
void call_table_entry(const struct call_table *t, uint32_t i, struct call_room *room,
		      struct call_entry *e);
void call_room_release(struct call_room *room);
void call_table_share(struct call_table *t);

#endif /* REPORT_CALL_TABLE_H */
