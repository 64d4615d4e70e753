/*
 * record.h - what is written about the dumps of a prefix
 *
 * The keys of the first document, with the number of data secrets, which its own program never
 * wrote; and length, checksum and generation of the dump, which it never had.  Older dumps are
 * lines under one more key.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef STORE_RECORD_H
#define STORE_RECORD_H

#include "store/store.h"

#include <stdbool.h>
#include <stdint.h>

/* One dump.  Strings live in the arena it was read into. */
struct dump {
	uint64_t generation; /* from 1 on; 0: by another program, which did not count */
	uint64_t heap_inuse, heap_alloc;
	uint64_t length;
	size_t chunks;
	int64_t stored;    /* seconds after 1970 */
	struct str pod;    /* whose heap it is */
	struct str run;    /* which life of it: another after a restart */
	struct str sha256; /* 64 digits, or "" */
	struct str names;  /* of its chunks, but for the number at the end */
	bool counted;      /* 'chunks' was written: otherwise all there are */
};

struct record {
	struct str prefix;
	struct dump newest; /* no names: there is none */
	struct dump *older; /* newest first */
	size_t nolder;
	uint64_t copied; /* the generation whose chunks also have the plain names */
	struct str lock_owner, lock_time; /* none: nobody is at work */
	uint64_t lock_s;                  /* how long it holds from then on; 0: nobody said */
	struct str version;
};

/* What a stranger wrote is refused only where it cannot be a dump; -EINVAL names the key. */
int record_read(struct store *s, struct str prefix, struct arena *a, struct record *out,
		struct err *err);
/* Writes it, if it is still at its version, and brings that up to date; -ESTALE. */
int record_write(struct store *s, struct arena *a, struct record *r, struct err *err);

/* RFC 3339 in UTC, and back; false if it is not a date. */
struct str date_text(struct arena *a, int64_t seconds);
bool date_parse(struct str s, int64_t *seconds);

#endif /* STORE_RECORD_H */
