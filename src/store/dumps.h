/*
 * dumps.h - dumps that are never lost
 *
 * A dump is a gzipped profile cut into chunks.  A new one gets chunks with names of its own; when
 * all are there, one change of the record makes it the newest; only then are the chunks copied to
 * the plain names that people use by hand ("main-landscaper-heap-0"), and those of dumps that are
 * too many removed.  So at any moment the record names complete dumps only, whatever happened to
 * the program that was writing.  What such a program left behind is removed by the next.
 *
 * Who writes holds a lock in the record: a name, a time, and for how long it is meant.  A writer
 * says five minutes, and begins them anew while it works, so that one that was killed keeps others
 * waiting no longer than that; a lock that does not say holds for an hour.  One that is too old, or
 * makes no sense, is given up.  Names of chunks contain who wrote them, so that even a writer who
 * has lost its lock without knowing can mix nothing: its change of the record is refused.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef STORE_DUMPS_H
#define STORE_DUMPS_H

#include "store/record.h"

struct out;

enum {
	DUMPS_CHUNK = 512000,
	DUMPS_CHUNK_MAX = 1 << 20,
	DUMPS_KEEP = 5,
	DUMPS_KEEP_MAX = 1000, /* more are not read back */
	DUMPS_LOCK_S = 300,
	DUMPS_LOCK_MAX_S = 3600,
};

/* How to write; 0 means the default. */
struct dumps_writer {
	struct str owner;     /* no other writer has the same: letters and digits, at most 16 */
	size_t chunk_bytes;   /* DUMPS_CHUNK, at most DUMPS_CHUNK_MAX */
	unsigned keep;        /* how many dumps there may be: DUMPS_KEEP, at most DUMPS_KEEP_MAX */
	unsigned lock_s;      /* how long a lock holds: DUMPS_LOCK_S, at most DUMPS_LOCK_MAX_S */
	int64_t (*now)(void); /* seconds after 1970; NULL: the clock */
};

/*
 * Stores a dump as the newest of 'prefix'.  'about' says whose it is (heap_inuse, heap_alloc, pod,
 * run); the rest of it is found out.  -EBUSY: another writer holds the lock; -ESTALE: one has taken
 * it over meanwhile.  On failure the former dumps are as they were.
 *
 * When there are more than 'keep', the oldest goes that is not the last of its run, else the oldest
 * but the one with the largest heap: a small dump after a restart does not drive out the evidence.
 */
int dumps_put(struct store *s, struct str prefix, const struct dumps_writer *w,
	      const struct dump *about, struct str bytes, struct err *err);

/*
 * Writes the bytes of a dump to 'to', which must be a sink in memory, and what is known of it to
 * '*which' (may be NULL).  'generation' 0 is the newest.  They are complete and have the checksum
 * they should have, or it is a failure that names the chunk: -ENOENT, -EBADMSG.
 */
int dumps_get(struct store *s, struct str prefix, uint64_t generation, struct arena *a,
	      struct out *to, struct dump *which, struct err *err);

/* Removes one dump, or all of a prefix (0) with its record. */
int dumps_remove(struct store *s, struct str prefix, const struct dumps_writer *w,
		 uint64_t generation, struct err *err);

/* Whether 'prefix' can be the start of names: as Kubernetes has it, and not too long. */
bool dumps_prefix_ok(struct str prefix);

#endif /* STORE_DUMPS_H */
