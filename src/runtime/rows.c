/*
 * rows.c - rows that are counted in, each found again by its key
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "runtime/rows.h"

enum { LOOKUP_MAX = 16 << 20 };

static bool has_page(struct sonde__rows *t, size_t at)
{
	char *page;

	if (at >= t->most)
		return false;
	if (atomic_load_explicit(&t->page[at], memory_order_relaxed))
		return true;
	page = sonde__map(t->per_page * t->size);
	atomic_store_explicit(&t->page[at], page, memory_order_release);
	return page != NULL;
}

static uint32_t add(struct sonde__rows *t, uint64_t hash, void (*make)(void *row, const void *key),
		    const void *key)
{
	uint32_t number = atomic_load_explicit(&t->count, memory_order_relaxed) + 1;

	if (!has_page(t, (number - 1) / t->per_page) ||
	    !sonde__lookup_reserve(&t->lookup, LOOKUP_MAX))
		return 0;
	make(sonde__row_at(t, number), key);
	atomic_store_explicit(&t->count, number, memory_order_release);
	sonde__lookup_add(&t->lookup, hash, number);
	return number;
}

uint32_t sonde__row_find(struct sonde__rows *t, uint64_t hash,
			 bool (*same)(uint32_t number, const void *key),
			 void (*make)(void *row, const void *key), const void *key)
{
	uint32_t number = sonde__lookup_find(&t->lookup, hash, same, key);

	if (number)
		return number;
	sonde__lock(&t->lock);
	number = sonde__lookup_find(&t->lookup, hash, same, key);
	if (!number)
		number = add(t, hash, make, key);
	sonde__unlock(&t->lock);
	return number;
}
