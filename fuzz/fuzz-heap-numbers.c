/*
 * fuzz-heap-numbers.c - what a stranger answers when asked for the size of its heap
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "daemon/heap-numbers.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct heap_numbers n;

	if (!heap_numbers_parse((struct str){ (const char *)data, size }, &n) && n.heap_inuse)
		abort();
	if (heap_numbers_restarted(&n, &n))
		abort();
	return 0;
}
