/*
 * web-listing.h - source code with the value of every line, and the code made from it
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef REPORT_WEB_LISTING_H
#define REPORT_WEB_LISTING_H

#include "base/arena.h"
#include "base/str.h"
#include "report/web-code.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;
struct report;
struct source_text;

/* A call that was inlined on the way to an instruction. */
struct web_call {
	struct str file;
	int64_t line;
	struct str text; /* of that line, if it was found */
};

struct web_row {
	const struct web_inst *inst;
	const struct web_call *calls; /* the caller first */
	size_t ncalls;
	bool starts_block; /* it does not follow the row before */
};

struct web_line {
	int64_t number;
	struct str text;
	int64_t flat, cum;
	const struct web_row *rows;
	size_t nrows;
};

/* Lines of one function that are close to each other. */
struct web_routine {
	struct str name, file;
	int64_t flat, cum;
	struct web_line *lines;
	size_t nlines;
};

struct web_listing {
	struct arena arena;           /* routines, lines, rows and calls */
	struct web_routine *routines; /* by file and line */
	size_t n, cap;
	struct web_code code; /* private, as are 'source' and 'most' */
	struct source_text *source;
	size_t most;
};

/*
 * web_listing_init() lists the functions that match the report's parameter; see web_code_init(). It
 * reads the lines of the first 'most' routines only; others have none.  Release with
 * web_listing_release(), whatever it returns.
 */
int web_listing_init(struct web_listing *w, struct report *r, size_t most, struct err *err);
void web_listing_release(struct web_listing *w);

#endif /* REPORT_WEB_LISTING_H */
