/*
 * sort-keys.c - put things in the order of a number, for the most part
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/sort-keys.h"

#include "base/xalloc.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { DIGIT_BITS = 11, DIGITS = 1 << DIGIT_BITS, KEY_BITS = 64 };

static inline size_t digit(uint64_t key, unsigned shift)
{
	return key >> shift & (DIGITS - 1);
}

/*
 * Moves all to 'to' in the order of a digit; false, and nothing happens, if they all share it. Each
 * has so many words, and the first is its key.  The compiler makes one of it for each such number.
 */
static inline bool sort_by_digit(const uint64_t *list, size_t n, size_t words, unsigned shift,
				 uint64_t *to)
{
	size_t at[DIGITS] = { 0 }, sum = 0;

	for (size_t i = 0; i < n; i++)
		at[digit(list[i * words], shift)]++;
	if (at[digit(list[0], shift)] == n)
		return false;
	for (size_t d = 0; d < DIGITS; d++) {
		sum += at[d];
		at[d] = sum - at[d];
	}
	for (size_t i = 0; i < n; i++) {
		uint64_t *place = to + words * at[digit(list[i * words], shift)]++;

		for (size_t k = 0; k < words; k++)
			place[k] = list[i * words + k];
	}
	return true;
}

static inline uint64_t *sort_words(uint64_t *list, size_t n, size_t words, uint64_t *room)
{
	uint64_t used = 0;

	for (size_t i = 0; i < n; i++)
		used |= list[i * words];
	for (unsigned shift = 0; shift < KEY_BITS; shift += DIGIT_BITS) {
		if (digit(used, shift) && sort_by_digit(list, n, words, shift, room)) {
			uint64_t *was = list;

			list = room;
			room = was;
		}
	}
	return list;
}

struct sort_key *sort_keys(struct sort_key *list, size_t n, struct sort_key *room)
{
	_Static_assert(sizeof(*list) == 2 * sizeof(uint64_t), "a key and a thing, and no gap");
	return (void *)sort_words(&list->key, n, 2, &room->key);
}

uint64_t *sort_numbers(uint64_t *list, size_t n, uint64_t *room)
{
	return sort_words(list, n, 1, room);
}

void sort_by_key(void *list, size_t n, size_t size, uint64_t (*key)(const void *thing),
		 int (*by)(const void *a, const void *b))
{
	struct sort_key *keys, *sorted;
	char *was;

	if (n < 2)
		return;
	keys = mem_new(2 * n, sizeof(*keys));
	was = memcpy(mem_new(n, size), list, n * size);
	for (size_t i = 0; i < n; i++)
		keys[i] = (struct sort_key){ key(was + i * size), i };
	sorted = sort_keys(keys, n, keys + n);
	for (size_t i = 0; i < n; i++)
		memcpy((char *)list + i * size, was + sorted[i].thing * size, size);
	for (size_t i = 0, end; i < n; i = end) {
		for (end = i + 1; end < n && sorted[end].key == sorted[i].key;)
			end++;
		if (end - i > 1)
			qsort((char *)list + i * size, end - i, size, by);
	}
	free(keys);
	free(was);
}
