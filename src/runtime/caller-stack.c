/*
 * caller-stack.c - the stack of the host, seen from a hook
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "runtime/caller-stack.h"

#include "runtime/runtime.h"
#include "runtime/stacks.h"
#include "runtime/thread.h"
#include "runtime/unwind.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>

enum { HIDDEN = 16 };

static struct {
	_Atomic(const char *) start, end;
} hidden[HIDDEN];
static atomic_uint hidden_count;

void sonde__caller_hide(const void *start, size_t bytes)
{
	unsigned n = atomic_fetch_add_explicit(&hidden_count, 1, memory_order_relaxed);

	if (n >= HIDDEN)
		return;
	atomic_store_explicit(&hidden[n].end, (const char *)start + bytes, memory_order_relaxed);
	atomic_store_explicit(&hidden[n].start, start, memory_order_release);
}

/* Return addresses: one behind the function's end belongs to it, its first one does not. */
static bool is_hidden(uint64_t pc)
{
	for (size_t i = 0; i < HIDDEN; i++) {
		uint64_t start =
			(uintptr_t)atomic_load_explicit(&hidden[i].start, memory_order_acquire);

		if (!start)
			return false;
		if (pc > start && pc <= (uintptr_t)hidden[i].end)
			return true;
	}
	return false;
}

/* From our own frames on; those are left out. */
static __attribute__((noinline)) size_t walk_all(const void *caller, uint64_t *pcs)
{
	size_t n = sonde__unwind(pcs, SONDE__OWN_FRAMES + SONDE__DEPTH, 0), skip = 0;

	while (skip < n && skip < SONDE__OWN_FRAMES && pcs[skip] != (uintptr_t)caller)
		skip++;
	if (skip == n || pcs[skip] != (uintptr_t)caller) {
		pcs[0] = (uintptr_t)caller;
		return 1;
	}
	memmove(pcs, pcs + skip, (n - skip) * sizeof(*pcs));
	return n - skip;
}

uint32_t sonde__caller_stack(const void *caller)
{
	uint64_t pcs[SONDE__OWN_FRAMES + SONDE__DEPTH];
	size_t n, skip = 0;

	sonde__self(); /* with the bounds of its stack, the unwinder need not ask for each page */
	n = sonde__unwind_caller(caller, pcs, SONDE__DEPTH);
	if (n == 0)
		n = walk_all(caller, pcs);
	while (skip + 1 < n && is_hidden(pcs[skip]))
		skip++;
	return sonde__stack_intern(pcs + skip, n - skip, false);
}
