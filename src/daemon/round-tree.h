/*
 * round-tree.h - the folder that rounds of profiles are collected in
 *
 *	ROOT/2020-10-01-22:08:40/kube-apiserver-heap-2020-10-01-22:08:40.pprof
 *
 * One collector at a time works in a tree.  Files appear whole; what one that was killed has left
 * half-written is removed by the next.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef DAEMON_ROUND_TREE_H
#define DAEMON_ROUND_TREE_H

#include "base/str.h"
#include "source/rounds.h"

#include <stdbool.h>
#include <stdint.h>

struct err;

struct tree {
	const char *root;
	bool plain_names, local_time;
	int lock; /* private */
};

/* Makes the folder if need be, and locks it.  -EBUSY: another collector works there. */
int tree_open(struct tree *t, struct err *err);
void tree_close(struct tree *t);

/* How a round that begins then is called. */
void tree_stamp(const struct tree *t, int64_t seconds, char stamp[STAMP_BYTES]);

/* When the newest round that is there began; 0: there is none. */
int64_t tree_newest(const struct tree *t);

/* Writes one profile of a round. */
int tree_write(const struct tree *t, const char *stamp, struct str component, struct str kind,
	       struct str bytes, struct err *err);

/* What may stay; 0: no limit. */
struct tree_limits {
	uint64_t rounds, bytes;
	int64_t age_s;
};

/*
 * Removes the oldest rounds until the limits hold; the newest always stays.  Rounds that are said
 * to be after 'now' are of a clock that was wrong, and go first.  Only folders with the names of
 * rounds are touched, and in them only profiles.  Returns how many went, or a negative errno.
 */
int tree_trim(const struct tree *t, const struct tree_limits *limits, int64_t now, struct err *err);

#endif /* DAEMON_ROUND_TREE_H */
