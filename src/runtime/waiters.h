/*
 * waiters.h - who waits for which lock, for those who hold it
 *
 * A lock of the host has no room for anything of ours.  So there is one table of fixed size, by
 * address, of the locks that are waited for right now: it sums up how long all waiters together
 * have waited since the lock was last given back.  Who gives it back takes the sum, and is charged
 * with it.
 *
 * Only addresses are kept: nothing here touches a lock, which may be gone as soon as it is free;
 * nor a stack, which may be gone when its thread was cancelled.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef RUNTIME_WAITERS_H
#define RUNTIME_WAITERS_H

#include <stdbool.h>
#include <stdint.h>

/* How a wait can end. */
enum sonde__wait_end {
	SONDE__WAIT_FAILED, /* without the lock, which somebody else still has */
	SONDE__WAIT_SHARED, /* with it, maybe together with others */
	SONDE__WAIT_ALONE   /* with it, and nobody else has it */
};

/*
 * This thread begins to wait at 'now', and ends.  False: there is no room, and nothing to end; it
 * is counted.  All of these raise sonde__tls.inside while they hold a lock of their own.
 */
bool sonde__waiters_enter(const void *lock, uint64_t now);
void sonde__waiters_leave(const void *lock, uint64_t start, uint64_t now, enum sonde__wait_end end);

/*
 * The lock is about to be given back at 'now': how long all its waiters have waited together, to be
 * charged to whoever does that; 0: nobody did.  '*ended' is for how many waits this is the end: one
 * of them, or 'all'.  Each is counted once; so there may be none, if one that was woken up finds
 * the lock taken again, and waits on.
 */
uint64_t sonde__waiters_take(const void *lock, uint64_t now, bool all, uint32_t *ended);

/* Whether it can be worth to ask; a hint, without a lock. */
bool sonde__waiters_maybe(const void *lock);

/* Forgets those who gave up: nobody is going to be charged any more. */
void sonde__waiters_sweep(void);

/* For a child of fork(), in which nobody waits. */
void sonde__waiters_forget(void);

#endif /* RUNTIME_WAITERS_H */
