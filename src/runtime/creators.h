/*
 * creators.h - where threads are started
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef RUNTIME_CREATORS_H
#define RUNTIME_CREATORS_H

#include <stddef.h>
#include <stdint.h>

/* pthread_create() was called with this stack, and there is a thread.  Any thread, no lock. */
void sonde__creator_count(uint32_t stack);

/* In a child of fork(): its parent has started them. */
void sonde__creators_forget(void);

/* Calls 'each' for every stack that threads were started from: 'n' so far.  Stack 0: no room. */
void sonde__creators(void (*each)(uint32_t stack, uint64_t n, void *context), void *context);

#endif /* RUNTIME_CREATORS_H */
