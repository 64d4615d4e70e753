/*
 * heap.h - which stacks allocated how much, and what of it still lives
 *
 * Allocations are sampled with probability 1 - exp(-size/rate), as Go does; what is counted per
 * (stack, size) is what was sampled, and is scaled when it is read, before anything is summed up.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef RUNTIME_HEAP_H
#define RUNTIME_HEAP_H

#include "runtime/thread.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The slow half of the hooks: an allocation of 'size' bytes at 'p' is to be sampled. */
void sonde__heap_sample(void *p, size_t size);

/* Whether 'p' may have been sampled: one load from a small filter.  No false "no". */
bool sonde__heap_may_know(const void *p);
/* Forgets 'p', if it was sampled: it is about to be freed. */
void sonde__heap_forget(void *p);

/* Called by every allocating hook after the allocation. */
static inline void sonde__heap_allocated(void *p, size_t size)
{
	sonde__tls.until_sample -= (int64_t)size;
	if (__builtin_expect(sonde__tls.until_sample < 0, 0))
		sonde__heap_sample(p, size);
}

/* One sample per 'rate' bytes on average; 1: all; 0: none.  Returns the rate before. */
uint64_t sonde__heap_set_rate(uint64_t rate);
uint64_t sonde__heap_rate(void);

/* Raw counts of one (stack, size). */
struct sonde__heap_row {
	uint32_t stack;
	uint64_t size;
	uint64_t allocs, frees; /* objects sampled, and of those freed */
	uint64_t rate;          /* with which they were sampled */
};

/*
 * sonde__heap_snapshot() copies all rows, for the agent to scale and write, without stopping the
 * host; returns how many, in memory to be given to sonde__unmap() ('*mapped' bytes).  NULL and 0 if
 * there are none.
 */
struct sonde__heap_row *sonde__heap_snapshot(size_t *n, size_t *mapped);

/* gc=1: gives back what allocators keep in caches (malloc_trim, mallctl, ... as there are). */
void sonde__heap_reclaim(void);

/* "glibc", "jemalloc", ... or NULL: calls of the host do not reach our hooks, so say so. */
const char *sonde__heap_allocator(void);

#endif /* RUNTIME_HEAP_H */
