/*
 * sort-keys.h - put things in the order of a number, for the most part
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef BASE_SORT_KEYS_H
#define BASE_SORT_KEYS_H

#include <stddef.h>
#include <stdint.h>

/*
 * sort_by_key() does what qsort() does, for a 'by' that looks at one number first, the key.  It is
 * called only for things with the same key: where there are few of them, this takes time in
 * proportion to 'n' and to how many bits of the keys differ.
 */
void sort_by_key(void *list, size_t n, size_t size, uint64_t (*key)(const void *thing),
		 int (*by)(const void *a, const void *b));

#endif /* BASE_SORT_KEYS_H */
