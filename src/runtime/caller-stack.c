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

#include <stddef.h>

enum { OWN_FRAMES = 16 }; /* at most so many of ours above the host's */

uint32_t sonde__caller_stack(const void *caller)
{
	uint64_t pcs[OWN_FRAMES + SONDE__DEPTH];
	size_t n, skip = 0;

	sonde__self(); /* with the bounds of its stack, the unwinder need not ask for each page */
	n = sonde__unwind(pcs, OWN_FRAMES + SONDE__DEPTH, 0);
	while (skip < n && skip < OWN_FRAMES && pcs[skip] != (uintptr_t)caller)
		skip++;
	if (skip == n || pcs[skip] != (uintptr_t)caller) {
		pcs[0] = (uintptr_t)caller;
		n = 1;
		skip = 0;
	}
	return sonde__stack_intern(pcs + skip, n - skip, false);
}
