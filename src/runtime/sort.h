/*
 * sort.h - arrays in order
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef RUNTIME_SORT_H
#define RUNTIME_SORT_H

#include <stdbool.h>
#include <stddef.h>

enum { SONDE__SORT_MAX = 128 }; /* bytes of an element */

/*
 * Sorts 'n' elements of 'size' bytes so that before(a, b) holds for no b that stands in front of a.
 * Takes no memory, does not recurse, and knows no bad case; equal ones may change places.
 */
void sonde__sort(void *at, size_t n, size_t size, bool (*before)(const void *a, const void *b));

#endif /* RUNTIME_SORT_H */
