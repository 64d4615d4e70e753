/*
 * stacks.c - every different stack once
 *
 * Stacks lie one after the other in chunks; a directory of pages leads from numbers to them.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "runtime/stacks.h"

#include "runtime/lookup.h"
#include "runtime/os.h"
#include "runtime/runtime.h"

#include <string.h>

enum {
	CHUNK = 256 * 1024,
	CHUNKS = 192,    /* 48 MB of stacks */
	PER_PAGE = 4096, /* numbers */
	PAGES = 256,     /* a million stacks, 8 MB */
	LOOKUP_MAX = 16 << 20,
};

static _Atomic(const struct sonde__stack **) pages[PAGES];
static atomic_uint count;
static struct sonde__lookup lookup;
static struct sonde__lock lock;

/* Under the lock. */
static struct sonde__room room = { .chunk = CHUNK, .most = CHUNKS };

struct key {
	const uint64_t *pcs;
	size_t n;
	uint64_t hash;
	bool leaf_is_pc;
};

const struct sonde__stack *sonde__stack(uint32_t id)
{
	const struct sonde__stack **page;

	if (id == 0 || id > (uint32_t)PAGES * PER_PAGE)
		return NULL;
	page = atomic_load_explicit(&pages[(id - 1) / PER_PAGE], memory_order_acquire);
	return page ? page[(id - 1) % PER_PAGE] : NULL;
}

size_t sonde__stack_count(void)
{
	return atomic_load_explicit(&count, memory_order_acquire);
}

static uint64_t hash_of(const uint64_t *pcs, size_t n, bool leaf_is_pc)
{
	uint64_t h = n * 2 + leaf_is_pc;

	for (size_t i = 0; i < n; i++) {
		h = (h ^ pcs[i]) * 0x9e3779b97f4a7c15u;
		h ^= h >> 32;
	}
	return h * 0xd6e8feb86659fd93u;
}

static bool is_same(uint32_t id, const void *key)
{
	const struct key *k = key;
	const struct sonde__stack *s = sonde__stack(id);

	return s && s->hash == k->hash && s->n == k->n && s->leaf_is_pc == k->leaf_is_pc &&
	       memcmp(s->pcs, k->pcs, k->n * sizeof(*k->pcs)) == 0;
}

static const struct sonde__stack **page_for(uint32_t id)
{
	size_t at = (id - 1) / PER_PAGE;
	const struct sonde__stack **page;

	if (at >= PAGES)
		return NULL;
	page = atomic_load_explicit(&pages[at], memory_order_relaxed);
	if (!page) {
		page = sonde__map(PER_PAGE * sizeof(*page));
		atomic_store_explicit(&pages[at], page, memory_order_release);
	}
	return page;
}

static uint32_t add(const struct key *k)
{
	uint32_t id = atomic_load_explicit(&count, memory_order_relaxed) + 1;
	const struct sonde__stack **page = page_for(id);
	struct sonde__stack *s = NULL;

	if (page && sonde__lookup_reserve(&lookup, LOOKUP_MAX))
		s = sonde__room_take(&room, sizeof(*s) + k->n * sizeof(*k->pcs));
	if (!s)
		return 0;
	s->hash = k->hash;
	s->n = (uint32_t)k->n;
	s->leaf_is_pc = k->leaf_is_pc;
	memcpy(s->pcs, k->pcs, k->n * sizeof(*k->pcs));
	page[(id - 1) % PER_PAGE] = s;
	atomic_store_explicit(&count, id, memory_order_release);
	sonde__lookup_add(&lookup, k->hash, id);
	return id;
}

uint32_t sonde__stack_intern(const uint64_t *pcs, size_t n, bool leaf_is_pc)
{
	size_t cut = n < SONDE__DEPTH ? n : SONDE__DEPTH;
	struct key k = { pcs, cut, hash_of(pcs, cut, leaf_is_pc), leaf_is_pc };
	uint32_t id = sonde__lookup_find(&lookup, k.hash, is_same, &k);

	if (id)
		return id;
	sonde__lock(&lock);
	id = sonde__lookup_find(&lookup, k.hash, is_same, &k);
	if (!id)
		id = add(&k);
	sonde__unlock(&lock);
	if (!id)
		atomic_fetch_add_explicit(&sonde__stats.stacks_lost, 1, memory_order_relaxed);
	return id;
}

void sonde__stacks_lock(void)
{
	sonde__lock(&lock);
}

void sonde__stacks_unlock(void)
{
	sonde__unlock(&lock);
}
