/*
 * rows.h - rows that are counted in, each found again by its key
 *
 * They lie in pages and never move, so that anybody may count in one without a lock.  Nothing is
 * ever removed.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef RUNTIME_ROWS_H
#define RUNTIME_ROWS_H

#include "runtime/lookup.h"
#include "runtime/os.h"

struct sonde__rows {
	const size_t size;           /* bytes of a row */
	const uint32_t per_page;     /* rows */
	const uint32_t most;         /* pages */
	_Atomic(char *) *const page; /* so many, NULL at first */
	atomic_uint count;           /* of rows; their numbers are 1 to it */
	struct sonde__lookup lookup;
	struct sonde__lock lock; /* of who adds */
};

/* The row with that number, which there is. */
static inline void *sonde__row_at(const struct sonde__rows *t, uint32_t number)
{
	return atomic_load_explicit(&t->page[(number - 1) / t->per_page], memory_order_acquire) +
	       (number - 1) % t->per_page * t->size;
}

static inline uint32_t sonde__rows_count(const struct sonde__rows *t)
{
	return atomic_load_explicit(&t->count, memory_order_acquire);
}

/*
 * The number of the row for which 'same' says yes, or of a new one, which is zeroed and which
 * 'make' turns into one for the key; 0: there is no room.
 */
uint32_t sonde__row_find(struct sonde__rows *t, uint64_t hash,
			 bool (*same)(uint32_t number, const void *key),
			 void (*make)(void *row, const void *key), const void *key);

#endif /* RUNTIME_ROWS_H */
