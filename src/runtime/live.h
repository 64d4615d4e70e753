/*
 * live.h - which sampled allocations still live
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef RUNTIME_LIVE_H
#define RUNTIME_LIVE_H

#include "runtime/shortcut.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Every free() of the host asks this filter: 0 at its place if no known address falls on it.  A
 * wrong "maybe" costs as much as some hundred answers, because no processor expects it.  So places
 * are narrow, 1 KiB of address space, and come again after 4 GiB only.  They are bytes, because
 * it takes three instructions more to look at a bit, which is a hundredth of malloc() and free();
 * bits would leave more of the nearest cache to the host, which matters less.
 */
enum { SONDE__FILTER_SHIFT = 10, SONDE__FILTER = 1 << (32 - SONDE__FILTER_SHIFT) };
extern atomic_uchar sonde__filter[SONDE__FILTER] __attribute__((visibility("hidden")));

static inline uint32_t sonde__filter_place(const void *p)
{
	return (uint32_t)(uintptr_t)p >> SONDE__FILTER_SHIFT;
}

/* Whether 'p' may be known; no false "no". */
static inline bool sonde__live_maybe(const void *p)
{
	return !sonde__is_zero(&sonde__filter[sonde__filter_place(p)]);
}

/* All free()s and realloc()s of 'p' take the slow path from now on. */
void sonde__filter_add(const void *p);

/* What sonde__live_insert() will look at may come from far away. */
void sonde__live_expect(const void *p);
/*
 * Remembers 'mark' (not 0) of 'p'; '*missed' is the mark of an allocation at the same place whose
 * end was not seen, or 0.  False when there is no room.
 */
bool sonde__live_insert(const void *p, uint64_t mark, uint64_t *missed);
/*
 * Whether 'p' is known, which most of those are not that the filter lets through; without a lock,
 * so that of two threads that ask at once both may hear yes, and one of them gets the mark.
 */
bool sonde__live_knows(const void *p);
/* Forgets 'p'; its mark, or 0 if it is not known. */
uint64_t sonde__live_remove(const void *p);
size_t sonde__live_count(void);
/*
 * Calls 'each' with the marks of all there are, without a lock: what comes or goes meanwhile may be
 * among them or not.
 */
void sonde__live_walk(void (*each)(uint64_t mark, void *ctx), void *ctx);

/* For fork(): nobody changes anything while the process is copied. */
void sonde__live_lock(void);
void sonde__live_unlock(void);

#endif /* RUNTIME_LIVE_H */
