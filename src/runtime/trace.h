/*
 * trace.h - what threads do over some time: lock waits, told by the hooks
 *
 * While somebody takes a trace, a hook that made a thread wait says so:
 *
 *	if (sonde__trace_is_on())
 *		sonde__trace_wait(SONDE__WAIT_MUTEX, mutex, began, sonde__now());
 *
 * Otherwise a trace costs the load of one word, on paths that wait anyway.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef RUNTIME_TRACE_H
#define RUNTIME_TRACE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What a thread can wait for. */
enum sonde__wait {
	SONDE__WAIT_MUTEX,
	SONDE__WAIT_READ,  /* a rwlock, to read */
	SONDE__WAIT_WRITE, /* a rwlock, to write */
	SONDE__WAIT_SPIN,
	SONDE__WAIT_COND,
	SONDE__WAIT_SEM,
	SONDE__WAIT_BARRIER,
	SONDE__WAIT_JOIN,
	SONDE__WAIT_ONCE,
	SONDE__WAITS
};

/* One wait that is over. */
struct sonde__trace_event {
	_Atomic(uint64_t) begin, end; /* sonde__now() */
	_Atomic(uint64_t) object;     /* its address */
	atomic_int tid;
	atomic_uint stack; /* stacks.h; 0: not known */
	atomic_uint kind;
	atomic_uint run; /* the trace it belongs to: the rest is there */
};

extern atomic_uint sonde__trace_run; /* private: number of the trace, 0: there is none */

/* Whether anybody wants to know. */
static inline bool sonde__trace_is_on(void)
{
	return atomic_load_explicit(&sonde__trace_run, memory_order_relaxed) != 0;
}

/*
 * This thread waited for 'object' from 'begin' to 'end', both by sonde__now().  Takes the stack of
 * the caller.  For hooks, after the wait; no lock, but that of stacks that are new.  Not
 * handler-safe.  What finds no room is counted, and the trace says so.
 */
void sonde__trace_wait(enum sonde__wait kind, const void *object, uint64_t begin, uint64_t end);

/*
 * trace-events.c, for trace.c: begins to record, ends, and gives what was recorded, which stays
 * until sonde__trace_forget().  False: there is no memory.
 */
bool sonde__trace_record(void);
void sonde__trace_end(void);
/* The event with that number, from 0 on; NULL: there is no such, or it is not complete. */
const struct sonde__trace_event *sonde__trace_event(size_t i);
size_t sonde__trace_events(void);
uint64_t sonde__trace_lost(void);
void sonde__trace_forget(void);

#endif /* RUNTIME_TRACE_H */
