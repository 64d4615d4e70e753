/*
 * memory-limit.h - how much memory this process may have, and how near it is to that
 *
 * Cheap enough for once a second: two or three small files, no memory of its own.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef RUNTIME_MEMORY_LIMIT_H
#define RUNTIME_MEMORY_LIMIT_H

#include <stdbool.h>
#include <stdint.h>

struct sonde__memory_use {
	uint64_t anon; /* memory that is present and no file's */
	/* The limit it is nearest to: of its cgroup or one above, RLIMIT_AS, RLIMIT_DATA. */
	const char *what; /* NULL: there is none */
	bool kills;       /* who goes beyond it is killed, and not only refused */
	uint64_t limit, used;
};

/* Looks; for limits only every ten seconds.  False if /proc cannot be read. */
bool sonde__memory_use(struct sonde__memory_use *u, uint64_t now);

/* Whether it is near its limit, or would be there in some seconds; 'before': a second ago. */
bool sonde__memory_is_near(const struct sonde__memory_use *u,
			   const struct sonde__memory_use *before);

/* So many percent of it, cut off. */
uint64_t sonde__percent(uint64_t of, uint64_t n);
/*
 * Whether a heap is worth a dump: more than 'above', and 'growth' percent more than at the last one
 * (0: there was none).
 */
bool sonde__heap_is_above(uint64_t inuse, uint64_t above, uint64_t last, uint64_t growth);

/* "10" bytes and the like; UINT64_MAX for "max" and everything else. */
uint64_t sonde__limit_parse(const char *text);
/*
 * Where the memory cgroup of a process is, by /proc/self/cgroup: below the folder of version 1 or
 * 2, starting with '/'.  False: in none.
 */
bool sonde__cgroup_parse(const char *text, char *path, uint64_t cap, bool *v1);

#endif /* RUNTIME_MEMORY_LIMIT_H */
