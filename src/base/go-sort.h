/*
 * go-sort.h - the order in which Go's sort.Slice leaves equal elements
 *
 * sort.Slice is not stable, but what it does is fixed: a quicksort that defeats patterns, with
 * pivots that depend on nothing but the length and the comparisons.  The reference tool cuts off
 * lists after sorting them by a value that many have in common, so who is left depends on it.
 * For all other sorting there is qsort.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef BASE_GO_SORT_H
#define BASE_GO_SORT_H

#include <stdbool.h>
#include <stddef.h>

enum { GO_SORT_MAX_SIZE = 128 }; /* bytes of the largest element */

/* Sort n elements of 'size' bytes each, as sort.Slice of Go 1.19 does. */
void go_sort(void *items, size_t n, size_t size, bool (*less)(const void *a, const void *b));

#endif
