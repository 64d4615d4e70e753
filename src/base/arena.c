/*
 * arena.c - memory that is freed all at once, with a ceiling
 *
 * Blocks double from 16 KiB to 16 MiB, so that a small profile stays small.  A request that
 * would fill a good part of a block gets a mapping of its own: the kernel zeroes it page by page
 * as it is touched, and a table that is only partly filled costs only what is filled.  Large
 * blocks are filled from end to end, with one fault per 2 MiB instead of per page.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/arena.h"

#include <sys/mman.h>

enum { FIRST_BLOCK = 16 << 10, LAST_BLOCK = 16 << 20, HUGE_BLOCK = 4 << 20, ALIGN = 16 };

struct arena_block {
	struct arena_block *next;
	size_t size, used; /* both include this header */
};

void arena_init(struct arena *a, size_t budget)
{
	*a = (struct arena){ .budget = budget };
}

void arena_release(struct arena *a)
{
	struct arena_block *b = a->blocks;

	while (b) {
		struct arena_block *next = b->next;

		munmap(b, b->size);
		b = next;
	}
	arena_init(a, a->budget);
}

static struct arena_block *new_block(struct arena *a, size_t size, bool sparse)
{
	struct arena_block *b;

	if (size > a->budget - a->used)
		return NULL;
	b = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
		 -1, 0);
	if (b == MAP_FAILED)
		return NULL;
	a->used += size;
	if (size >= HUGE_BLOCK && !sparse)
		(void)madvise(b, size, MADV_HUGEPAGE);
	b->size = size;
	b->used = (sizeof(*b) + ALIGN - 1) & ~(size_t)(ALIGN - 1);
	return b;
}

/* A block for one large request goes behind the current one, which still has room. */
static void *alloc_alone(struct arena *a, size_t size, bool sparse)
{
	size_t header = (sizeof(struct arena_block) + ALIGN - 1) & ~(size_t)(ALIGN - 1);
	struct arena_block *b = new_block(a, (size + header + 4095) & ~(size_t)4095, sparse);

	if (!b)
		return NULL;
	if (a->blocks) {
		b->next = a->blocks->next;
		a->blocks->next = b;
	} else {
		a->blocks = b;
	}
	b->used = b->size;
	return (char *)b + header;
}

void *arena_alloc_sparse(struct arena *a, size_t n, size_t size)
{
	size_t bytes;

	if (__builtin_mul_overflow(n, size, &bytes) || bytes > a->budget)
		return NULL;
	return alloc_alone(a, bytes, true);
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
		b = new_block(a, grow, false);
		if (!b)
			return NULL;
		b->next = a->blocks;
		a->blocks = b;
	}
	mem = (char *)b + b->used;
	b->used += bytes;
	return mem;
}

struct str arena_str(struct arena *a, struct str s)
{
	char *p = arena_alloc(a, s.n + 1, 1);

	if (p && s.n)
		memcpy(p, s.p, s.n);
	return (struct str){ p, s.n };
}
