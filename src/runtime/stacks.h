/*
 * stacks.h - every different stack once
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef RUNTIME_STACKS_H
#define RUNTIME_STACKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sonde__stack {
	uint64_t hash;
	uint32_t n;
	uint32_t leaf_is_pc; /* pcs[0] is an instruction, not a return address (CPU samples) */
	uint64_t pcs[];
};

/*
 * The number of a stack, from 1 on, the same for equal ones; 0 when the table is full, which is
 * counted.  Stacks are never forgotten: the table is bounded (64 MB) and grows in steps.  A stack
 * that is known is found without a lock.  Not called from handlers (those go through rings).
 */
uint32_t sonde__stack_intern(const uint64_t *pcs, size_t n, bool leaf_is_pc);
const struct sonde__stack *sonde__stack(uint32_t id);
size_t sonde__stack_count(void);

/* For fork(): nobody is adding a stack while the process is copied. */
void sonde__stacks_lock(void);
void sonde__stacks_unlock(void);

#endif /* RUNTIME_STACKS_H */
