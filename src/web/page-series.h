/*
 * page-series.h - the page of profiles over time
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef WEB_PAGE_SERIES_H
#define WEB_PAGE_SERIES_H

#include "base/str.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct growth_result;
struct out;

struct page_point {
	int64_t seconds; /* after 1970 */
	bool read;       /* the rest is known */
	int64_t value, duration;
};

/* One kind of profile of the program that is shown. */
struct page_line {
	const char *kind;
	const char *type, *unit; /* of values; NULL: nothing has been read yet */
	const struct page_point *points;
	size_t npoints;
	const struct growth_result *growth; /* of a heap, or NULL */
	const char *why;                    /* there is none */
};

struct page_series {
	const char *where;
	const char *const *components;
	size_t ncomponents, current;
	struct str leaks;              /* the command that tells what grows in the current one */
	const struct page_line *lines; /* of that */
	size_t nlines;
	size_t unread;
};

void page_series(const struct page_series *s, struct out *o);

/* What its script draws, as JSON. */
void page_series_json(const struct page_series *s, struct out *o);

/* The address of a part of a line: "./of/NAME/"; 'span' is "1600000000-1600003600". */
void page_span_link(struct out *o, const char *component, const char *kind, const char *span);

#endif /* WEB_PAGE_SERIES_H */
