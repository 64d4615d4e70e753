/*
 * tag-table.h - what values the labels have, and what each is worth
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef REPORT_TAG_TABLE_H
#define REPORT_TAG_TABLE_H

#include "base/str.h"

#include <stddef.h>
#include <stdint.h>

struct report;

struct tag_value {
	struct str text;
	int64_t weight;
	/* Of numbers that look the same: from which to which, and their unit; else 'unit.p' is
	 * NULL. */
	int64_t least, most;
	struct str unit;
};

struct tag_key {
	struct str name;
	int64_t total;
	struct tag_value *values; /* heaviest first */
	size_t n;
};

struct tag_table {
	struct tag_key *keys; /* by name; everything in the report's arena */
	size_t n;
};

void tag_table_init(struct tag_table *t, struct report *r);

#endif /* REPORT_TAG_TABLE_H */
