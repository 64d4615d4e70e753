/*
 * heap-numbers.h - what "heap?debug=1" says about all of the heap
 *
 * At its end a Go program writes its runtime.MemStats, a line for each: "# HeapInuse = 4194304".
 * libsonde does the same.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef DAEMON_HEAP_NUMBERS_H
#define DAEMON_HEAP_NUMBERS_H

#include "base/str.h"

#include <stdbool.h>
#include <stdint.h>

struct heap_numbers {
	uint64_t heap_inuse, heap_alloc;
	uint64_t total_alloc, mallocs, frees, num_gc; /* only grow while a process lives */
};

/* False if HeapInuse is not there; what else is not is 0. */
bool heap_numbers_parse(struct str text, struct heap_numbers *out);

/* Whether these are of another process than those before, with the same address. */
bool heap_numbers_restarted(const struct heap_numbers *before, const struct heap_numbers *now);

#endif /* DAEMON_HEAP_NUMBERS_H */
