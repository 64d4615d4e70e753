/*
 * sort.c - arrays in order: heap sort
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "runtime/sort.h"

#include <string.h>

struct array {
	char *at;
	size_t size;
	bool (*before)(const void *a, const void *b);
};

static char *element(const struct array *a, size_t i)
{
	return a->at + i * a->size;
}

static void swap(const struct array *a, size_t i, size_t k)
{
	char kept[SONDE__SORT_MAX];

	memcpy(kept, element(a, i), a->size);
	memcpy(element(a, i), element(a, k), a->size);
	memcpy(element(a, k), kept, a->size);
}

/* The last one in order among a root and its children comes to the root. */
static void sift(const struct array *a, size_t root, size_t n)
{
	while (2 * root + 1 < n) {
		size_t child = 2 * root + 1;

		if (child + 1 < n && a->before(element(a, child), element(a, child + 1)))
			child++;
		if (!a->before(element(a, root), element(a, child)))
			return;
		swap(a, root, child);
		root = child;
	}
}

void sonde__sort(void *at, size_t n, size_t size, bool (*before)(const void *a, const void *b))
{
	struct array a = { at, size, before };

	if (size > SONDE__SORT_MAX)
		return;
	for (size_t i = n / 2; i-- > 0;)
		sift(&a, i, n);
	for (size_t end = n; end > 1; end--) {
		swap(&a, 0, end - 1);
		sift(&a, 0, end - 1);
	}
}
