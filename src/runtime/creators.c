/*
 * creators.c - where threads are started
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "runtime/creators.h"

#include <stdatomic.h>

enum { SLOTS = 2048 }; /* a power of two; programs have a handful of such places */

static struct {
	atomic_uint stack; /* 0: free */
	atomic_ullong n;
} slots[SLOTS];
static atomic_ullong without;

void sonde__creator_count(uint32_t stack)
{
	uint32_t at = stack * 0x9e3779b1u >> 16;

	for (unsigned i = 0; stack && i < SLOTS; i++, at++) {
		atomic_uint *s = &slots[at % SLOTS].stack;
		unsigned found = atomic_load(s);

		if (found == 0 && atomic_compare_exchange_strong(s, &found, stack))
			found = stack;
		if (found == stack) {
			atomic_fetch_add(&slots[at % SLOTS].n, 1);
			return;
		}
	}
	atomic_fetch_add(&without, 1);
}

void sonde__creators_forget(void)
{
	atomic_store(&without, 0);
	for (unsigned i = 0; i < SLOTS; i++)
		atomic_store(&slots[i].n, 0);
}

void sonde__creators(void (*each)(uint32_t, uint64_t, void *), void *context)
{
	uint64_t n = atomic_load(&without);

	if (n)
		each(0, n, context);
	for (unsigned i = 0; i < SLOTS; i++) {
		uint32_t stack = atomic_load(&slots[i].stack);

		n = atomic_load(&slots[i].n);
		if (stack && n)
			each(stack, n, context);
	}
}
