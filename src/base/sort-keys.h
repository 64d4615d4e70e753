/*
 * sort-keys.h - put things in the order of a number, for the most part
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef BASE_SORT_KEYS_H
#define BASE_SORT_KEYS_H

#include <stddef.h>
#include <stdint.h>

/* A key, and what it belongs to. */
struct sort_key {
	uint64_t key, thing;
};

/*
 * Puts keys in ascending order, those that are the same in the order they had.  The result is in
 * 'list' or in 'room', which has as many places; the other one is of no use then.  Takes time in
 * proportion to 'n' and to how many bits the largest keys have.
 */
struct sort_key *sort_keys(struct sort_key *list, size_t n, struct sort_key *room);

/* The same for numbers that belong to nothing. */
uint64_t *sort_numbers(uint64_t *list, size_t n, uint64_t *room);

/*
 * sort_by_key() does what qsort() does, for a 'by' that looks at one number first, the key.  It is
 * called only for things with the same key: where there are few of them, this takes time in
 * proportion to 'n' and to how many bits of the keys differ.
 */
void sort_by_key(void *list, size_t n, size_t size, uint64_t (*key)(const void *thing),
		 int (*by)(const void *a, const void *b));

#endif /* BASE_SORT_KEYS_H */
