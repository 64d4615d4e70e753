/*
 * go-sort.c - the order in which Go's sort.Slice leaves equal elements
 *
 * Ranges are [a, b), as there.  Every comparison and every swap is where Go has it: any other
 * place would leave equal elements in another order.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/go-sort.h"

#include <stdint.h>
#include <string.h>

enum {
	FEW = 12,            /* inserted one by one */
	MANY = 50,           /* enough for nine candidates of a pivot, and for mending */
	MOST_EXCHANGES = 12, /* among these candidates, if all are in falling order */
	MOST_MENDED = 5,     /* neighbours out of order in what is nearly sorted */
};

enum hint { UNKNOWN, RISING, FALLING };

struct sorting {
	char *items;
	size_t size;
	bool (*less)(const void *a, const void *b);
};

static bool less(const struct sorting *s, size_t i, size_t j)
{
	return s->less(s->items + i * s->size, s->items + j * s->size);
}

static void swap(const struct sorting *s, size_t i, size_t j)
{
	char kept[GO_SORT_MAX_SIZE];
	char *x = s->items + i * s->size, *y = s->items + j * s->size;

	memcpy(kept, x, s->size);
	memmove(x, y, s->size);
	memcpy(y, kept, s->size);
}

static void insert_all(const struct sorting *s, size_t a, size_t b)
{
	for (size_t i = a + 1; i < b; i++)
		for (size_t j = i; j > a && less(s, j, j - 1); j--)
			swap(s, j, j - 1);
}

/* ------------------------------------------------------------------ when pivots were bad */

static void sift_down(const struct sorting *s, size_t root, size_t n, size_t first)
{
	for (;;) {
		size_t child = 2 * root + 1;

		if (child >= n)
			return;
		if (child + 1 < n && less(s, first + child, first + child + 1))
			child++;
		if (!less(s, first + root, first + child))
			return;
		swap(s, first + root, first + child);
		root = child;
	}
}

static void heap_sort(const struct sorting *s, size_t a, size_t b)
{
	size_t n = b - a;

	for (size_t i = (n - 1) / 2 + 1; i-- > 0;)
		sift_down(s, i, n, a);
	for (size_t i = n; i-- > 0;) {
		swap(s, a, a + i);
		sift_down(s, 0, i, a);
	}
}

static unsigned bits(size_t n)
{
	return n ? 64 - (unsigned)__builtin_clzll(n) : 0;
}

/* Three swaps that look random and are the same for every length. */
static void break_patterns(const struct sorting *s, size_t a, size_t b)
{
	size_t n = b - a, middle = a + n / 4 * 2;
	uint64_t random = n;
	uint64_t mask = ((uint64_t)1 << bits(n)) - 1;

	for (size_t i = middle - 1; i <= middle + 1; i++) {
		size_t other;

		random ^= random << 13;
		random ^= random >> 17;
		random ^= random << 5;
		other = random & mask;
		swap(s, i, a + (other >= n ? other - n : other));
	}
}

/* ------------------------------------------------------------------ pivots */

static void put_in_order(const struct sorting *s, size_t *i, size_t *j, unsigned *exchanges)
{
	size_t kept = *i;

	if (!less(s, *j, *i))
		return;
	*i = *j;
	*j = kept;
	++*exchanges;
}

static size_t median(const struct sorting *s, size_t i, size_t j, size_t k, unsigned *exchanges)
{
	put_in_order(s, &i, &j, exchanges);
	put_in_order(s, &j, &k, exchanges);
	put_in_order(s, &i, &j, exchanges);
	return j;
}

static size_t choose_pivot(const struct sorting *s, size_t a, size_t b, enum hint *hint)
{
	size_t quarter = (b - a) / 4;
	size_t i = a + quarter, j = a + quarter * 2, k = a + quarter * 3;
	unsigned exchanges = 0;

	if (b - a >= MANY) {
		i = median(s, i - 1, i, i + 1, &exchanges);
		j = median(s, j - 1, j, j + 1, &exchanges);
		k = median(s, k - 1, k, k + 1, &exchanges);
	}
	j = median(s, i, j, k, &exchanges);
	*hint = exchanges == 0 ? RISING : exchanges == MOST_EXCHANGES ? FALLING : UNKNOWN;
	return j;
}

static void reverse(const struct sorting *s, size_t a, size_t b)
{
	for (size_t i = a, j = b - 1; i < j; i++, j--)
		swap(s, i, j);
}

/* ------------------------------------------------------------------ dividing */

/* Below and not below the pivot, which comes to the place returned. */
static size_t divide(const struct sorting *s, size_t a, size_t b, size_t pivot, bool *was_divided)
{
	size_t i = a + 1, j = b - 1;

	swap(s, a, pivot);
	*was_divided = true;
	for (;;) {
		while (i <= j && less(s, i, a))
			i++;
		while (i <= j && !less(s, j, a))
			j--;
		if (i > j)
			break;
		*was_divided = false;
		swap(s, i, j);
		i++;
		j--;
	}
	swap(s, j, a);
	return j;
}

/* Not above and above the pivot; the first of those above. */
static size_t divide_equal(const struct sorting *s, size_t a, size_t b, size_t pivot)
{
	size_t i = a + 1, j = b - 1;

	swap(s, a, pivot);
	for (;;) {
		while (i <= j && !less(s, a, i))
			i++;
		while (i <= j && less(s, a, j))
			j--;
		if (i > j)
			return i;
		swap(s, i, j);
		i++;
		j--;
	}
}

/* Mend what is nearly sorted; false: it was not. */
static bool mend(const struct sorting *s, size_t a, size_t b)
{
	size_t i = a + 1;

	for (int n = 0; n < MOST_MENDED; n++) {
		while (i < b && !less(s, i, i - 1))
			i++;
		if (i == b)
			return true;
		if (b - a < MANY)
			return false;
		swap(s, i, i - 1);
		for (size_t j = i - 1; i - a >= 2 && j >= 1 && less(s, j, j - 1); j--)
			swap(s, j, j - 1);
		for (size_t j = i + 1; b - i >= 2 && j < b && less(s, j, j - 1); j++)
			swap(s, j, j - 1);
	}
	return false;
}

/* ------------------------------------------------------------------ together */

static void sort(const struct sorting *s, size_t a, size_t b, unsigned chances)
{
	bool balanced = true, divided = true;

	while (b - a > FEW) {
		size_t n = b - a, pivot, middle;
		enum hint hint;

		if (chances == 0) {
			heap_sort(s, a, b);
			return;
		}
		if (!balanced) {
			break_patterns(s, a, b);
			chances--;
		}
		pivot = choose_pivot(s, a, b, &hint);
		if (hint == FALLING) {
			reverse(s, a, b);
			pivot = b - 1 - (pivot - a);
			hint = RISING;
		}
		if (balanced && divided && hint == RISING && mend(s, a, b))
			return;
		if (a > 0 && !less(s, a - 1, pivot)) {
			a = divide_equal(s, a, b, pivot);
			continue;
		}
		middle = divide(s, a, b, pivot, &divided);
		balanced = (middle - a < b - middle ? middle - a : b - middle) >= n / 8;
		if (middle - a < b - middle) {
			sort(s, a, middle, chances);
			a = middle + 1;
		} else {
			sort(s, middle + 1, b, chances);
			b = middle;
		}
	}
	insert_all(s, a, b);
}

void go_sort(void *items, size_t n, size_t size, bool (*less_than)(const void *a, const void *b))
{
	sort(&(struct sorting){ .items = items, .size = size, .less = less_than }, 0, n, bits(n));
}
