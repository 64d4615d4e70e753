/*
 * caller-stack.h - the stack of the host, seen from a hook
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef RUNTIME_CALLER_STACK_H
#define RUNTIME_CALLER_STACK_H

#include <stddef.h>
#include <stdint.h>

/*
 * The number of the stack (stacks.h) from where the host called us: 'caller' is the address its
 * call returns to.  Just that place if the unwinder does not come so far; 0 if there is no room.
 * Not handler-safe.
 */
uint32_t sonde__caller_stack(const void *caller);

/* Frames of the C++ library between the host and our hook, from 'start' on: not shown. */
void sonde__caller_hide(const void *start, size_t bytes);

#endif /* RUNTIME_CALLER_STACK_H */
