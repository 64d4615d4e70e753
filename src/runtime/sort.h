/*
 * sort.h - arrays in order, without memory, recursion or a bad case: heap sort
 *
 * All in the header, so that the compiler knows how large an element is and what is compared.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef RUNTIME_SORT_H
#define RUNTIME_SORT_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

enum { SONDE__SORT_MAX = 128 }; /* bytes of an element */

typedef bool sonde__sort_before(const void *a, const void *b);

static inline void sonde__sort_swap(char *a, char *b, size_t size)
{
	char kept[SONDE__SORT_MAX];

	memcpy(kept, a, size);
	memcpy(a, b, size);
	memcpy(b, kept, size);
}

/* The last in order of a root and what is below it comes to the root. */
static inline void sonde__sort_sift(char *at, size_t root, size_t n, size_t size,
				    sonde__sort_before *before)
{
	for (size_t child = 2 * root + 1; child < n; child = 2 * root + 1) {
		if (child + 1 < n && before(at + child * size, at + (child + 1) * size))
			child++;
		if (!before(at + root * size, at + child * size))
			return;
		sonde__sort_swap(at + root * size, at + child * size, size);
		root = child;
	}
}

/* Afterwards before(b, a) is true of no b behind an a; equal ones may have changed places. */
static inline void sonde__sort(void *at, size_t n, size_t size, sonde__sort_before *before)
{
	for (size_t i = n / 2; i-- > 0;)
		sonde__sort_sift(at, i, n, size, before);
	for (size_t end = n; end > 1; end--) {
		sonde__sort_swap(at, (char *)at + (end - 1) * size, size);
		sonde__sort_sift(at, 0, end - 1, size, before);
	}
}

#endif /* RUNTIME_SORT_H */
