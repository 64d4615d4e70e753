/*
 * listing.h - source code with the value of every line
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef REPORT_LISTING_H
#define REPORT_LISTING_H

#include "base/str.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;
struct report;

struct listing_line {
	int64_t number;
	struct str text;
	int64_t flat, cum;
};

/* One function in one file. */
struct listing_routine {
	struct str function;
	bool has_file;
	struct str file;
	int64_t flat, cum;
	const char *error; /* why there are no lines, or NULL */
	struct listing_line *lines;
	size_t nlines;
};

struct listing {
	struct listing_routine *routines; /* by function, then by file; in the report's arena */
	size_t n;
	void *source; /* private: the files' text */
};

/*
 * listing_init() lists the functions that match the report's parameter.  -ENOENT and the
 * reference's message if there is none.  Source is looked for under the report's source_path, or
 * the current folder.
 */
int listing_init(struct listing *l, struct report *r, struct err *err);
void listing_release(struct listing *l);

#endif /* REPORT_LISTING_H */
