/*
 * stack-bounds.h - where stacks are that we did not see being made
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef RUNTIME_STACK_BOUNDS_H
#define RUNTIME_STACK_BOUNDS_H

#include <stdbool.h>
#include <stdint.h>

/* Writable memory from 'low' to 'high'. */
struct sonde__range {
	uintptr_t low, high;
};

/* Reads /proc/self/maps again.  The agent calls it when threads were found. */
void sonde__ranges_refresh(void);
/* The range around 'address' as of the last reading.  Handler-safe. */
bool sonde__range_around(uintptr_t address, struct sonde__range *r);
/* The stack of the first thread; all of what it may grow to. */
bool sonde__main_stack(struct sonde__range *r);

#endif /* RUNTIME_STACK_BOUNDS_H */
