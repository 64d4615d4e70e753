/*
 * page-live.h - the page of a program that runs
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef WEB_PAGE_LIVE_H
#define WEB_PAGE_LIVE_H

#include "base/str.h"

#include <stddef.h>
#include <stdint.h>

struct out;

/* A profile that can be taken. */
struct page_kind {
	struct str name;
	uint64_t count;
	struct str off; /* why it is empty, or "" */
};

enum page_taken_state { PAGE_TAKING, PAGE_TAKEN, PAGE_FAILED, PAGE_CANCELLED };

/* One that was. */
struct page_taken {
	unsigned id;
	const char *kind;
	int seconds;        /* 0: at once */
	int64_t started;    /* ns after 1970 */
	int64_t elapsed_ms; /* while it is being taken */
	enum page_taken_state state;
	size_t samples;
	const char *why; /* it failed */
};

struct page_live {
	struct str url;     /* of the program's own list */
	struct str program; /* its command line, or "" */
	struct str runtime; /* "Go 1.19", or "" */
	struct str problem; /* why there are no profiles, or "" */
	const struct page_kind *kinds;
	size_t nkinds;
	const struct page_taken *taken; /* the newest first */
	size_t ntaken;
};

void page_live(const struct page_live *l, struct out *o);

/* What was taken, as JSON. */
void page_taken_json(const struct page_live *l, struct out *o);

#endif /* WEB_PAGE_LIVE_H */
