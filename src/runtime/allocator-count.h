/*
 * allocator-count.h - what the host's allocator says of itself
 *
 * Waits for the allocator's locks, so it is for the thread aside (aside.h).  docs/MEMSTATS.md tells
 * where each number comes from, and how exact it is.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef RUNTIME_ALLOCATOR_COUNT_H
#define RUNTIME_ALLOCATOR_COUNT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SONDE__SIZES = 61 }; /* as many as Go 1.19 has */

struct sonde__size_count {
	uint64_t size, mallocs, frees;
};

struct sonde__allocator_count {
	bool knows_heap;     /* 'sys', 'idle' */
	bool knows_alloc;    /* 'alloc' */
	bool knows_calls;    /* 'total', 'mallocs', 'frees', 'sizes' */
	bool knows_released; /* 'released' */
	uint64_t alloc;      /* bytes that the host has */
	uint64_t sys;        /* address space of the heap */
	uint64_t idle;       /* ... that nothing lives in */
	uint64_t released;   /* ... and that has no memory */
	uint64_t metadata;   /* bytes of its own tables, not in 'sys' */
	uint64_t total;      /* bytes allocated, ever */
	uint64_t mallocs, frees;
	struct sonde__size_count sizes[SONDE__SIZES];
	size_t nsizes;
};

/* What it does not know stays 0. */
void sonde__allocator_count(struct sonde__allocator_count *c);

#endif /* RUNTIME_ALLOCATOR_COUNT_H */
