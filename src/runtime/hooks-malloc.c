/*
 * hooks-malloc.c - malloc() and its family, as the host calls them
 *
 * The short way is a subtraction and a jump, for free() a look at the filter and a jump, on or off.
 * It has no frame of its own, so that the host is the caller also of the slow way (malloc-slow.c, a
 * file of its own because it has frames), and no branch is taken on it but the jump.
 *
 * realloc() is the end of one object and the beginning of another, also where it stays in place.
 * malloc_usable_size() is not here: nothing would be done.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "runtime/bypass.h"
#include "runtime/heap.h"
#include "runtime/live.h"
#include "runtime/malloc-slow.h"
#include "runtime/next.h"

#include <errno.h>

#if !defined(__clang__)
#pragma GCC optimize("omit-frame-pointer")
#endif

/* At the start of a cache line, as what is fetched in two pieces is late. */
#define HOOK             __attribute__((visibility("default"), aligned(64)))
#define rarely(question) __builtin_expect(question, 0)

void *malloc(size_t size);
void *calloc(size_t n, size_t size);
void *realloc(void *p, size_t size);
void *reallocarray(void *p, size_t n, size_t size);
void free(void *p);
void cfree(void *p);
void *memalign(size_t alignment, size_t size);
int posix_memalign(void **p, size_t alignment, size_t size);
void *aligned_alloc(size_t alignment, size_t size);
void *valloc(size_t size);
void *pvalloc(size_t size);

HOOK void *malloc(size_t size)
{
	if (!sonde__heap_passes(size))
		return sonde__slow_malloc(size);
	return sonde__next.malloc(size);
}

HOOK void *calloc(size_t n, size_t size)
{
	size_t bytes;

	if (rarely(__builtin_mul_overflow(n, size, &bytes)) || !sonde__heap_passes(bytes))
		return sonde__slow_calloc(n, size);
	return sonde__next.calloc(n, size);
}

HOOK void *realloc(void *p, size_t size)
{
	if (!sonde__heap_passes(size))
		return sonde__slow_realloc(p, size, false);
	if (rarely(sonde__live_maybe(p)))
		return sonde__slow_realloc(p, size, true);
	return sonde__next.realloc(p, size);
}

HOOK void free(void *p)
{
	if (rarely(sonde__live_maybe(p))) {
		sonde__slow_free(p);
		return;
	}
	sonde__next.free(p);
}

HOOK void cfree(void *p)
{
	free(p);
}

/* The C library's calls realloc(), which would be ours, so there is nothing to pass on to. */
HOOK void *reallocarray(void *p, size_t n, size_t size)
{
	size_t bytes;

	if (__builtin_mul_overflow(n, size, &bytes)) {
		errno = ENOMEM;
		return NULL;
	}
	return realloc(p, bytes);
}

HOOK void *memalign(size_t alignment, size_t size)
{
	if (!sonde__heap_passes(size))
		return sonde__slow_memalign(alignment, size);
	return sonde__next.memalign(alignment, size);
}

HOOK void *aligned_alloc(size_t alignment, size_t size)
{
	if (!sonde__heap_passes(size))
		return sonde__slow_aligned_alloc(alignment, size);
	return sonde__next.aligned_alloc(alignment, size);
}

HOOK int posix_memalign(void **p, size_t alignment, size_t size)
{
	if (!sonde__heap_passes(size))
		return sonde__slow_posix_memalign(p, alignment, size);
	return sonde__next.posix_memalign(p, alignment, size);
}

HOOK void *valloc(size_t size)
{
	if (!sonde__heap_passes(size))
		return sonde__slow_valloc(size);
	return sonde__next.valloc(size);
}

HOOK void *pvalloc(size_t size)
{
	if (!sonde__heap_passes(size))
		return sonde__slow_pvalloc(size);
	return sonde__next.pvalloc(size);
}

/* cfree() and reallocarray() go on to another one of ours. */
OURS(malloc);
OURS(calloc);
OURS(realloc);
OURS(free);
OURS(memalign);
OURS(posix_memalign);
OURS(aligned_alloc);
OURS(valloc);
OURS(pvalloc);

const struct sonde__hooked sonde__hooked_malloc[] = {
	HOOKED(malloc, sonde__next.malloc),
	HOOKED(calloc, sonde__next.calloc),
	HOOKED(realloc, sonde__next.realloc),
	HOOKED(free, sonde__next.free),
	HOOKED(memalign, sonde__next.memalign),
	HOOKED(posix_memalign, sonde__next.posix_memalign),
	HOOKED(aligned_alloc, sonde__next.aligned_alloc),
	HOOKED(valloc, sonde__next.valloc),
	HOOKED(pvalloc, sonde__next.pvalloc),
	{ .name = NULL },
};
