/*
 * memstats.h - how much memory the host has, in the words of Go's runtime.MemStats
 *
 * docs/MEMSTATS.md tells what each field means here, for each allocator.  These hold always:
 *
 *	alloc = heap_alloc <= heap_inuse		heap_objects = mallocs - frees
 *	heap_sys = heap_idle + heap_inuse		heap_released <= heap_idle
 *	sys = the sum of all *_sys			total_alloc never gets smaller
 *
 * For the agent only.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef RUNTIME_MEMSTATS_H
#define RUNTIME_MEMSTATS_H

#include "runtime/allocator-count.h"
#include "runtime/buf.h"
#include "runtime/process-memory.h"

#include <stddef.h>
#include <stdint.h>

enum { SONDE__PAUSES = 256 };

struct sonde__memstats {
	uint64_t alloc, total_alloc, sys, lookups, mallocs, frees;
	uint64_t heap_alloc, heap_sys, heap_idle, heap_inuse, heap_released, heap_objects;
	uint64_t stack_inuse, stack_sys, mspan_inuse, mspan_sys, mcache_inuse, mcache_sys;
	uint64_t buck_hash_sys, gc_sys, other_sys;
	uint64_t next_gc, last_gc; /* the second in ns of the wall clock */
	uint64_t pause_total_ns;
	const uint64_t *pause_ns, *pause_end; /* SONDE__PAUSES each */
	uint64_t num_gc, num_forced_gc;
	uint64_t gc_cpu_ppb; /* GCCPUFraction, in parts of 1e9 */
	struct sonde__size_count by_size[SONDE__SIZES];
	size_t nby_size;
	/* What Go does not have. */
	const char *allocator;
	uint64_t age; /* of what the allocator said; ns */
	struct sonde__process_memory process;
};

void sonde__memstats(struct sonde__memstats *s);

/* gc=1: has allocators give back what they keep, and takes note of that. */
void sonde__memstats_collect(void);

/* Of the child of fork(): what was about to be counted is not. */
void sonde__memstats_forget(void);

/* A number of parts of 1e9 as Go writes such a float64: 0, 0.25, 5e-09. */
void sonde__write_fraction(uint64_t ppb, char to[24]);

/* The lines at the end of heap profiles as text, as Go writes them; the JSON object. */
void sonde__memstats_text(struct sonde__buf *b, const struct sonde__memstats *s);
void sonde__memstats_json(struct sonde__buf *b, const struct sonde__memstats *s);

#endif /* RUNTIME_MEMSTATS_H */
