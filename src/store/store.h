/*
 * store.h - a place that keeps dumps: a directory, or the Secrets of a Kubernetes namespace
 *
 * What both have in common is all that dumps.h needs: chunks (a name and bytes), and one record per
 * prefix (a name, and keys with short texts), which can be changed only by who has seen what it was
 * before.  The names are those of the first document: the record "main-landscaper-heap", chunks
 * "main-landscaper-heap-0" and so on, whose bytes are under "keyBytes".
 *
 * Every call leaves its object either as it was or as it should be; a failure of put() or remove()
 * may have done some of the objects and not others.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef STORE_STORE_H
#define STORE_STORE_H

#include "base/str.h"

#include <stddef.h>

struct arena;
struct err;

enum { STORE_PREFIX_MAX = 63 }; /* what the value of a label in Kubernetes may have */

struct store_chunk {
	struct str name;
	struct str bytes;
};

struct store_pair {
	struct str key, value;
};

/* What is in the record of a prefix; 'version' is the store's own, "" for one that is not there. */
struct store_record {
	struct store_pair *pairs;
	size_t npairs;
	struct str version;
};

struct store {
	const struct store_calls *calls;
	const char *where;     /* for messages: "dir:/var/lib/dumps", "kube:default" */
	struct notify *notify; /* hears how far a dump is; or NULL */
};

/* 0 or a negative errno; -ENOENT: there is no such thing; -ESTALE: the record is another by now. */
struct store_calls {
	/* Stores all of them, over others of the same names; 'prefix' is whose they are. */
	int (*put)(struct store *s, struct str prefix, const struct store_chunk *chunks, size_t n,
		   struct err *err);
	/* Gives 'n' chunks second names: 'to' in place of 'chunks', whose bytes are at hand. */
	int (*copy)(struct store *s, struct str prefix, const struct store_chunk *chunks,
		    const struct str *to, size_t n, struct err *err);
	/* The bytes of some chunks, in 'a'; -ENOENT, and which one it is, if one is not there. */
	int (*get)(struct store *s, const struct str *names, size_t n, struct arena *a,
		   struct str *bytes, struct err *err);
	/* Removes chunks; that one is not there is no failure. */
	int (*remove)(struct store *s, const struct str *names, size_t n, struct err *err);
	/* The names of all chunks of 'prefix', in any order.  Names with a dot are leftovers. */
	int (*list)(struct store *s, struct str prefix, struct arena *a, struct str **names,
		    size_t *n, struct err *err);
	/* All prefixes that have a record. */
	int (*prefixes)(struct store *s, struct arena *a, struct str **prefixes, size_t *n,
			struct err *err);
	/* A record that is not there is empty, with version "". */
	int (*read)(struct store *s, struct str prefix, struct arena *a, struct store_record *out,
		    struct err *err);
	/* Replaces the record that had this version, and gives it its new one; else -ESTALE. */
	int (*write)(struct store *s, struct str prefix, struct store_record *record,
		     struct arena *a, struct err *err);
	int (*drop)(struct store *s, struct str prefix, struct str version, struct err *err);
	void (*close)(struct store *s);
};

/* "main-landscaper-heap", in 'a'. */
struct str store_record_name(struct arena *a, struct str prefix);

/* store-dir.c: the directory must exist. */
int store_open_dir(const char *path, struct store **out, struct err *err);

static inline void store_closep(struct store **s)
{
	if (*s)
		(*s)->calls->close(*s);
}

#endif /* STORE_STORE_H */
