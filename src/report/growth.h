/*
 * growth.h - what grows over a series of heap profiles, and whether that is more than chance
 *
 * Two things make numbers of a heap profile move when nothing leaks: a program's use of memory goes
 * up and down, and a profile is a sample.  For the first, a line is drawn through the sizes of a
 * stack, and its slope compared with how far the sizes are from it.  For the second, objects that
 * came are compared with objects that went: as often one as the other where nothing leaks.  A leak
 * must be beyond both, by far, since many stacks are looked at; it must matter (0.4 % of the heap a
 * round); and it must still go on, which a cache that has filled does not.
 *
 * Looked at are stacks, the functions that allocate, and the whole heap; of those the most special
 * one is named.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef REPORT_GROWTH_H
#define REPORT_GROWTH_H

#include "base/str.h"

#include <stddef.h>
#include <stdint.h>

struct err;
struct growth;
struct profile;

struct growth *growth_new(void);
void growth_free(struct growth *g);

/*
 * Adds a profile, taken at 'time' (ns after 1970); they may come in any order.  Nothing of it is
 * needed afterwards.  -EINVAL: it has no inuse_space, or whatever else the first one had.
 */
int growth_add(struct growth *g, const struct profile *p, int64_t time, struct err *err);

enum growth_verdict {
	GROWTH_NONE,
	GROWTH_MAYBE, /* it grows, but more profiles are needed to be sure */
	GROWTH_LEAK,
};

enum growth_level { GROWTH_STACK, GROWTH_FUNCTION, GROWTH_HEAP };

struct growth_row {
	enum growth_verdict verdict;
	enum growth_level level;
	const struct str *frames; /* of a stack, the allocating one first; of a function, itself */
	size_t nframes;
	double slope;     /* bytes per second */
	double low, high; /* between these with 95 % confidence */
	double chance;    /* that something of the kind happens where nothing grows */
	int64_t since;    /* when it began, ns after 1970: the first profile that it holds for */
	int64_t bytes;    /* that live, in the last profile */
	int64_t objects;  /* likewise; 0: the profiles do not tell */
	int64_t grown;    /* bytes since then */
};

struct growth_result {
	size_t profiles;         /* that count: those since the program last started */
	size_t restarts;         /* before them */
	int64_t first, last;     /* their times */
	int64_t before, after;   /* bytes of the whole heap */
	double slope;            /* of the whole heap */
	struct growth_row *rows; /* leaks first, the fastest first */
	size_t n;
};

/* Lives as long as 'g'.  -EINVAL: there are fewer than three profiles, or all are of one time. */
int growth_find(struct growth *g, struct growth_result *out, struct err *err);

#endif /* REPORT_GROWTH_H */
