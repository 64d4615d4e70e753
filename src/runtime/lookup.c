/*
 * lookup.c - numbers found by hash: the half of a table that finds rows and stacks again
 *
 * Linear probing over words of (upper half of the hash, number); at most half of them are used.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "runtime/lookup.h"

#include "runtime/os.h"

enum { FIRST_SLOTS = 1024 };

struct sonde__slots {
	atomic_size_t mask; /* 0: this memory is not used any more */
	atomic_ullong at[];
};

/* Where a word belongs; it knows only the upper half of its hash. */
static size_t home_of(uint64_t hash)
{
	return (size_t)(hash >> 32);
}

static size_t bytes_of(size_t slots)
{
	return sizeof(struct sonde__slots) + slots * sizeof(atomic_ullong);
}

uint32_t sonde__lookup_find(struct sonde__lookup *l, uint64_t hash,
			    bool (*same)(uint32_t number, const void *key), const void *key)
{
	struct sonde__slots *s = atomic_load_explicit(&l->slots, memory_order_acquire);
	size_t mask = s ? atomic_load_explicit(&s->mask, memory_order_relaxed) : 0;

	if (mask == 0)
		return 0;
	for (size_t i = home_of(hash) & mask;; i = (i + 1) & mask) {
		uint64_t word = atomic_load_explicit(&s->at[i], memory_order_acquire);

		/* Memory given back while we are here is all zeros: this ends. */
		if (word == 0)
			return 0;
		if (word >> 32 == hash >> 32 && same((uint32_t)word, key))
			return (uint32_t)word;
	}
}

static void put(struct sonde__slots *s, size_t mask, size_t home, uint64_t word)
{
	size_t i = home & mask;

	while (atomic_load_explicit(&s->at[i], memory_order_relaxed) != 0)
		i = (i + 1) & mask;
	atomic_store_explicit(&s->at[i], word, memory_order_release);
}

static bool grow(struct sonde__lookup *l, struct sonde__slots *old, size_t slots, size_t max_bytes)
{
	struct sonde__slots *s;
	size_t had;

	if (bytes_of(slots) > max_bytes)
		return false;
	s = sonde__map(bytes_of(slots));
	if (!s)
		return false;
	atomic_store_explicit(&s->mask, slots - 1, memory_order_relaxed);
	had = old ? old->mask + 1 : 0;
	for (size_t i = 0; i < had; i++)
		if (old->at[i] != 0)
			put(s, slots - 1, home_of(old->at[i]), old->at[i]);
	atomic_store_explicit(&l->slots, s, memory_order_release);
	if (old)
		sonde__discard(old, bytes_of(had));
	return true;
}

bool sonde__lookup_reserve(struct sonde__lookup *l, size_t max_bytes)
{
	struct sonde__slots *s = atomic_load_explicit(&l->slots, memory_order_relaxed);

	if (s && (l->used + 1) * 2 <= s->mask + 1)
		return true;
	return grow(l, s, s ? (s->mask + 1) * 2 : FIRST_SLOTS, max_bytes) ||
	       (s && l->used + 1 < s->mask / 8 * 7);
}

void sonde__lookup_add(struct sonde__lookup *l, uint64_t hash, uint32_t number)
{
	struct sonde__slots *s = atomic_load_explicit(&l->slots, memory_order_relaxed);
	uint64_t word = hash >> 32 << 32 | number;

	put(s, s->mask, home_of(word), word);
	l->used++;
}
