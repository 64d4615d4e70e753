/*
 * aside.h - a second thread, for what may have to wait for the host
 *
 * Whoever asks an allocator how much it has waits for its locks.  A thread of the host that hangs
 * while it holds one - in a handler for crashes, say - must not take the agent with it, because the
 * agent is who can show that.  So this happens in a thread of its own, which the agent waits for,
 * but not for ever.  The thread is there from the first use on; it is called "sonde-aside".
 *
 * For the agent only, but for the start.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef RUNTIME_ASIDE_H
#define RUNTIME_ASIDE_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Starts the thread before it is needed, from a thread of the host with all signals blocked: the C
 * library allocates for it, and a thread that allocates gets an arena of its own.
 */
void sonde__aside_start(void);
/* Waits until it is known as one of ours, so that it is not listed as a thread of the host. */
void sonde__aside_await(void);

/*
 * Has 'work' done, and waits up to 'ns' for it.  False if it takes longer: it goes on then, and
 * what it writes to may be read when sonde__aside_is_idle().  Also false, and nothing is done,
 * while the work before is not complete, or if there is no thread to be had.
 */
bool sonde__aside_run(void (*work)(void), uint64_t ns);
bool sonde__aside_is_idle(void);

/* Ends the thread; one that hangs is left alone. */
void sonde__aside_stop(void);
/* In the child of fork(): there is no such thread. */
void sonde__aside_forget(void);

#endif /* RUNTIME_ASIDE_H */
