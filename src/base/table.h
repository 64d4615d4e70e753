/*
 * table.h - hash index: from a key the caller knows to a small number
 *
 * The table stores numbers (indices into an array of the caller's) and the upper half of
 * their hashes; the keys stay with the caller, who compares them.  Open addressing, never
 * more than two thirds full.
 *
 *	uint64_t h = hash_of(key);
 *	struct probe at = table_probe(&t, h);
 *	while (table_next(&t, &at))
 *		if (equal(items[at.value], key))
 *			return at.value;
 *	table_put(&t, &at, nitems);	(a new one)
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef BASE_TABLE_H
#define BASE_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct table_slot {
	uint32_t tag;
	uint32_t value; /* plus one: 0 is an empty slot */
};

struct table {
	struct table_slot *slots;
	size_t mask, used;
};

struct probe {
	uint64_t hash;
	size_t i;
	uint32_t value; /* of the candidate that table_next() found */
};

/* An empty table with room for about 'expected' entries.  Ends the program when out of memory. */
void table_init(struct table *t, size_t expected);
/* A table of its own with the same entries. */
void table_copy(struct table *t, const struct table *from);
void table_release(struct table *t);
/* Takes all entries out. */
void table_clear(struct table *t);

static inline struct probe table_probe(const struct table *t, uint64_t hash)
{
	return (struct probe){ .hash = hash, .i = (hash & t->mask) - 1 };
}

/* Says that table_probe() for 'hash' will come soon. */
static inline void table_prefetch(const struct table *t, uint64_t hash)
{
	__builtin_prefetch(&t->slots[hash & t->mask], 1);
}

/* What table_next() will most likely find first for 'hash'; any entry, or 0, if nothing. */
static inline uint32_t table_guess(const struct table *t, uint64_t hash)
{
	uint32_t value = t->slots[hash & t->mask].value;

	return value ? value - 1 : 0;
}

/* The next entry whose hash agrees; false at the first empty slot, where 'at' then stands. */
static inline bool table_next(const struct table *t, struct probe *at)
{
	for (;;) {
		at->i = (at->i + 1) & t->mask;
		struct table_slot s = t->slots[at->i];

		if (s.value == 0)
			return false;
		if (s.tag == (uint32_t)(at->hash >> 32)) {
			at->value = s.value - 1;
			return true;
		}
	}
}

/* Stores 'value' where table_next() stopped. */
static inline void table_put(struct table *t, const struct probe *at, uint32_t value)
{
	t->slots[at->i] = (struct table_slot){ (uint32_t)(at->hash >> 32), value + 1 };
	t->used++;
}

/* Puts 'value' in the place of the entry that table_next() found. */
static inline void table_replace(struct table *t, const struct probe *at, uint32_t value)
{
	t->slots[at->i].value = value + 1;
}

/*
 * table_reserve() makes room for one more; call it before table_probe().  'rehash' gives the
 * hash of an entry, since the table keeps only half of it.
 */
#define table_reserve(t, rehash, ctx)                                                              \
	do {                                                                                       \
		if ((t)->used * 3 > (t)->mask * 2)                                                 \
			table_rebuild((t), (rehash), (ctx));                                       \
	} while (0)

void table_rebuild(struct table *t, uint64_t (*rehash)(uint32_t value, const void *ctx),
		   const void *ctx);

#endif /* BASE_TABLE_H */
