/*
 * next.h - the allocator behind our hooks
 *
 * Found by the first call that needs it.  Until then calls are served from a small arena, because
 * looking for symbols may itself allocate; what comes from there is never given to an allocator.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef RUNTIME_NEXT_H
#define RUNTIME_NEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sonde__next {
	void *(*malloc)(size_t size);
	void *(*calloc)(size_t n, size_t size);
	void *(*realloc)(void *p, size_t size);
	void (*free)(void *p);
	void *(*memalign)(size_t alignment, size_t size);
	int (*posix_memalign)(void **p, size_t alignment, size_t size);
	void *(*aligned_alloc)(size_t alignment, size_t size);
	void *(*valloc)(size_t size);
	void *(*pvalloc)(size_t size);
};
/* In one line of the cache, as far as most calls go. */
extern struct sonde__next sonde__next __attribute__((visibility("hidden"), aligned(64)));

/* What one of these pointers has, if that is for good; NULL if not, or if it is none of them. */
const void *sonde__next_behind(const void *pointer);

enum { SONDE__ARENA = 64 * 1024 };
extern char sonde__arena[SONDE__ARENA] __attribute__((visibility("hidden")));

/* How many bytes may be copied from 'p' on, if it came from the arena; else 0. */
static inline size_t sonde__arena_left(const void *p)
{
	uintptr_t at = (uintptr_t)p - (uintptr_t)sonde__arena;

	return at < SONDE__ARENA ? SONDE__ARENA - at : 0;
}

/* Whether anything ever came from there. */
bool sonde__arena_was_used(void);

/* The definition of 'name' behind ours, or NULL; errno stays. */
void *sonde__next_symbol(const char *name);
/* That of it with this version; where there is none such, the one that programs get. */
void *sonde__next_version(const char *name, const char *version);

#endif /* RUNTIME_NEXT_H */
