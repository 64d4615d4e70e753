/*
 * arena.c - memory that is freed all at once, with a ceiling
 *
 * Blocks double from 16 KiB to 16 MiB, so that a small profile stays small.  A request that
 * would fill a good part of a block gets a mapping of its own: the kernel zeroes it page by page
 * as it is touched, and a table that is only partly filled costs only what is filled.  Large
 * blocks are filled from end to end, with one fault per 2 MiB instead of per page.
 *
 * Some blocks of released arenas are kept for the next one: when a hundred profiles are read one
 * after the other, clearing what was used is cheaper than getting new pages from the kernel.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/arena.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/mman.h>

enum {
	FIRST_BLOCK = 16 << 10,
	LAST_BLOCK = 16 << 20,
	HUGE_BLOCK = 4 << 20,
	ALIGN = 16,
	PAGE = 4096
};

enum { SPARE_FROM = 1 << 20, MOST_SPARE = 64 << 20 };

struct arena_block {
	struct arena_block *next;
	size_t size, used; /* both include this header */
	bool alone;        /* holds one large request */
};

static struct {
	pthread_mutex_t lock;
	struct arena_block *blocks;
	size_t size, most;
} spare = { .lock = PTHREAD_MUTEX_INITIALIZER, .most = MOST_SPARE };

static size_t header_size(void)
{
	return (sizeof(struct arena_block) + ALIGN - 1) & ~(size_t)(ALIGN - 1);
}

static bool keep_spare(struct arena_block *b)
{
	bool kept = false;

	if (b->alone || b->size < SPARE_FROM)
		return false;
	pthread_mutex_lock(&spare.lock);
	if (spare.size + b->size <= spare.most) {
		b->next = spare.blocks;
		spare.blocks = b;
		spare.size += b->size;
		kept = true;
	}
	pthread_mutex_unlock(&spare.lock);
	return kept;
}

static struct arena_block *take_spare(size_t size)
{
	struct arena_block *b = NULL;

	pthread_mutex_lock(&spare.lock);
	for (struct arena_block **at = &spare.blocks; *at; at = &(*at)->next) {
		if ((*at)->size == size) {
			b = *at;
			*at = b->next;
			spare.size -= size;
			break;
		}
	}
	pthread_mutex_unlock(&spare.lock);
	if (b)
		memset(b, 0, b->used);
	return b;
}

void arena_keep_none(void)
{
	pthread_mutex_lock(&spare.lock);
	spare.most = 0;
	while (spare.blocks) {
		struct arena_block *b = spare.blocks;

		spare.blocks = b->next;
		spare.size -= b->size;
		munmap(b, b->size);
	}
	pthread_mutex_unlock(&spare.lock);
}

void arena_init(struct arena *a, size_t budget)
{
	*a = (struct arena){ .budget = budget };
}

void arena_release(struct arena *a)
{
	struct arena_block *b = a->blocks;

	while (b) {
		struct arena_block *next = b->next;

		if (!keep_spare(b))
			munmap(b, b->size);
		b = next;
	}
	arena_init(a, a->budget);
}

static struct arena_block *map_block(size_t size, bool sparse)
{
	struct arena_block *b = mmap(NULL, size, PROT_READ | PROT_WRITE,
				     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (b == MAP_FAILED)
		return NULL;
	if (size >= HUGE_BLOCK && !sparse)
		(void)madvise(b, size, MADV_HUGEPAGE);
	return b;
}

static struct arena_block *new_block(struct arena *a, size_t size, bool alone, bool sparse)
{
	struct arena_block *b = NULL;

	if (size > a->budget - a->used)
		return NULL;
	if (!alone && size >= SPARE_FROM)
		b = take_spare(size);
	if (!b)
		b = map_block(size, sparse);
	if (!b)
		return NULL;
	a->used += size;
	b->size = size;
	b->used = header_size();
	b->alone = alone;
	return b;
}

/* A block for one large request goes behind the current one, which still has room. */
static void *alloc_alone(struct arena *a, size_t size, bool sparse)
{
	struct arena_block *b =
		new_block(a, (size + header_size() + PAGE - 1) & ~(size_t)(PAGE - 1), true, sparse);

	if (!b)
		return NULL;
	if (a->blocks) {
		b->next = a->blocks->next;
		a->blocks->next = b;
	} else {
		a->blocks = b;
	}
	b->used = b->size;
	return (char *)b + header_size();
}

void *arena_alloc_sparse(struct arena *a, size_t n, size_t size)
{
	size_t bytes;

	if (__builtin_mul_overflow(n, size, &bytes) || bytes > a->budget)
		return NULL;
	return alloc_alone(a, bytes, true);
}

static struct arena_block *add_block(struct arena *a, size_t size)
{
	struct arena_block *b = new_block(a, size, false, false);

	if (b) {
		b->next = a->blocks;
		a->blocks = b;
	}
	return b;
}

void arena_expect(struct arena *a, size_t bytes)
{
	size_t size = HUGE_BLOCK;

	while (size < bytes && size < LAST_BLOCK)
		size *= 2;
	if (bytes >= HUGE_BLOCK)
		(void)add_block(a, size);
}

void *arena_alloc(struct arena *a, size_t n, size_t size)
{
	struct arena_block *b = a->blocks;
	size_t bytes, grow;
	void *mem;

	if (__builtin_mul_overflow(n, size, &bytes) || bytes > a->budget)
		return NULL;
	bytes = bytes ? (bytes + ALIGN - 1) & ~(size_t)(ALIGN - 1) : ALIGN;
	if (bytes > LAST_BLOCK / 4)
		return alloc_alone(a, bytes, false);
	if (!b || bytes > b->size - b->used) {
		grow = b && b->size <= LAST_BLOCK / 2 ? b->size * 2 : b ? LAST_BLOCK : FIRST_BLOCK;
		while (grow < bytes + 64)
			grow *= 2;
		b = add_block(a, grow);
		if (!b)
			return NULL;
	}
	mem = (char *)b + b->used;
	b->used += bytes;
	return mem;
}

/* Where the arena remembers the block that holds nothing but 'mem', or NULL. */
static struct arena_block **find_alone(struct arena *a, void *mem)
{
	struct arena_block **at = &a->blocks;

	while (*at && !((*at)->alone && (char *)*at + header_size() == (char *)mem))
		at = &(*at)->next;
	return *at ? at : NULL;
}

static void *grow_alone(struct arena *a, struct arena_block **at, size_t bytes)
{
	size_t old = (*at)->size, size = (bytes + header_size() + PAGE - 1) & ~(size_t)(PAGE - 1);
	struct arena_block *b;

	if (size <= old)
		return (char *)*at + header_size();
	if (size - old > a->budget - a->used)
		return NULL;
	b = mremap(*at, old, size, MREMAP_MAYMOVE);
	if (b == MAP_FAILED)
		return NULL;
	a->used += size - old;
	b->size = b->used = size;
	*at = b;
	return (char *)b + header_size();
}

void *arena_grow(struct arena *a, void *mem, size_t n, size_t more, size_t size)
{
	struct arena_block **at = find_alone(a, mem);
	size_t bytes;
	void *moved;

	if (__builtin_mul_overflow(more, size, &bytes) || bytes > a->budget)
		return NULL;
	if (at)
		return grow_alone(a, at, bytes);
	moved = arena_alloc(a, more, size);
	if (moved && n)
		memcpy(moved, mem, n * size);
	return moved;
}

void arena_forget(void *from, const void *to)
{
	char *begin = (char *)from + (-(uintptr_t)from & (PAGE - 1));
	size_t size = (size_t)((const char *)to - begin) & ~(size_t)(PAGE - 1);

	if ((const char *)to > begin && size)
		(void)madvise(begin, size, MADV_DONTNEED);
}

struct str arena_str(struct arena *a, struct str s)
{
	char *p = arena_alloc(a, s.n + 1, 1);

	if (p && s.n)
		memcpy(p, s.p, s.n);
	return (struct str){ p, s.n };
}
