/*
 * malloc-slow.c - allocations that may be sampled, and ends of those that may have been
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "runtime/malloc-slow.h"

#include "runtime/heap.h"
#include "runtime/live.h"
#include "runtime/next.h"

#include <string.h>

#define CALLER __builtin_return_address(0)

/* Every slow way: the allocation, then the decision. */
static void *decide(void *p, size_t size, const void *caller)
{
	uint64_t rate = sonde__heap_decide(size);

	if (rate && p)
		sonde__heap_record(p, size, rate, caller);
	return p;
}

void *sonde__slow_malloc(size_t size)
{
	return decide(sonde__next.malloc(size), size, CALLER);
}

void *sonde__slow_calloc(size_t n, size_t size)
{
	size_t bytes;

	if (__builtin_mul_overflow(n, size, &bytes))
		return sonde__next.calloc(n, size);
	return decide(sonde__next.calloc(n, size), bytes, CALLER);
}

/* Most are beside one that was sampled: as little as possible is done for them. */
void sonde__slow_free(void *p)
{
	if (__builtin_expect(sonde__live_knows(p), 0))
		sonde__heap_forget(p);
	else if (__builtin_expect(sonde__arena_left(p) != 0, 0))
		return;
	sonde__next.free(p);
}

static void *leave_arena(void *p, size_t size, size_t left)
{
	void *q = sonde__next.malloc(size);

	if (q)
		memcpy(q, p, size < left ? size : left);
	return q;
}

void *sonde__slow_realloc(void *p, size_t size, bool counted)
{
	uint64_t rate = counted ? 0 : sonde__heap_decide(size), taken;
	size_t left = sonde__arena_left(p);
	void *q;

	if (left)
		return leave_arena(p, size, left);
	taken = sonde__live_maybe(p) && sonde__live_knows(p) ? sonde__heap_take(p) : 0;
	q = sonde__next.realloc(p, size);
	if (!q && size) {
		sonde__heap_put_back(p, taken);
		return NULL;
	}
	sonde__heap_ended(taken);
	if (rate && q)
		sonde__heap_record(q, size, rate, CALLER);
	return q;
}

void *sonde__slow_memalign(size_t alignment, size_t size)
{
	return decide(sonde__next.memalign(alignment, size), size, CALLER);
}

void *sonde__slow_aligned_alloc(size_t alignment, size_t size)
{
	return decide(sonde__next.aligned_alloc(alignment, size), size, CALLER);
}

int sonde__slow_posix_memalign(void **p, size_t alignment, size_t size)
{
	int e = sonde__next.posix_memalign(p, alignment, size);

	decide(e ? NULL : *p, size, CALLER);
	return e;
}

void *sonde__slow_valloc(size_t size)
{
	return decide(sonde__next.valloc(size), size, CALLER);
}

void *sonde__slow_pvalloc(size_t size)
{
	return decide(sonde__next.pvalloc(size), size, CALLER);
}
