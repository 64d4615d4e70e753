/*
 * series.h - profiles of programs over time: a tree that sonded has collected, or stored dumps
 *
 * What there is, is found by names; what is in it is read in the background, one profile at a time,
 * of which only a few numbers stay.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef UI_SERIES_H
#define UI_SERIES_H

#include "base/str.h"
#include "report/growth.h"

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;
struct profile;
struct source_options;
struct store;

/* One profile. */
struct moment {
	int64_t seconds;     /* when, after 1970 */
	char *path;          /* its file; NULL: it is a dump */
	uint64_t generation; /* of a dump */
	enum { MOMENT_UNREAD, MOMENT_READ, MOMENT_BROKEN } state;
	bool seen;        /* the last time somebody looked what there is */
	int64_t value;    /* its total */
	int64_t duration; /* ns; 0: unknown */
};

/* All of one kind of one program, the oldest first. */
struct series_line {
	char *component, *kind;
	struct moment *at;
	size_t n, cap;
	char *type, *unit; /* of the values; NULL until one has been read */

	struct growth *growth; /* of heap profiles, else NULL */
	bool stale;            /* 'result' lacks profiles that have been read since */
	bool judged;           /* there is a result */
	struct growth_result result;
	char why[256]; /* there is none */
};

struct series {
	const char *where;
	const struct source_options *so;
	struct store *store; /* NULL: a folder */
	pthread_mutex_t storing;
	pthread_mutex_t lock; /* of all that follows */
	pthread_cond_t wanted;
	struct series_line **lines;
	size_t n, cap;
	size_t unread;
	int64_t looked_ms;
};

/* Whether a source is a folder or a store, and not a profile. */
bool series_is(const struct source_options *so);

/* Opens it, and begins to read; both must live as long as the program. */
int series_new(const struct source_options *so, struct series **out, struct err *err);

/* Looks what there is by now, but not more often than every few seconds. */
void series_look(struct series *s);

/* 'lock' must be held.  NULL if there is no such line. */
struct series_line *series_find(struct series *s, struct str component, struct str kind);

/*
 * The profiles of a line from one time to another, both included.  series_paths() gives names that
 * load() can read, at most 'most' of them, for the caller to free with series_paths_free(); dumps
 * are files in memory until then.
 */
struct series_paths {
	char **at;
	size_t n;
	bool dumps;
};
int series_paths(struct series *s, struct str component, struct str kind, int64_t from, int64_t to,
		 size_t most, struct series_paths *out, struct err *err);
void series_paths_free(struct series_paths *p);

#endif /* UI_SERIES_H */
