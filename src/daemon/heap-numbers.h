/*
 * heap-numbers.h - what a heap profile says about all of the heap
 *
 * At its end a Go program writes its runtime.MemStats, a line for each: "# HeapInuse = 4194304".
 * libsonde does the same.  In a profile.pb.gz there are only stacks, and what is in use of each.
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

/*
 * The same from a profile in any format we read, packed or not: where it has no such lines, both
 * are what its stacks have in use.  False if it is not a heap profile.
 */
bool heap_numbers_of(struct str profile, struct heap_numbers *out);

/* Whether these are of another process than those before, with the same address. */
bool heap_numbers_restarted(const struct heap_numbers *before, const struct heap_numbers *now);

#endif /* DAEMON_HEAP_NUMBERS_H */
