/*
 * trace.h - what threads do over some time: lock waits, told by the hooks
 *
 * While somebody takes a trace, a hook that made a thread wait says so:
 *
 *	if (sonde__trace_is_on())
 *		sonde__trace_wait(SONDE__WAIT_MUTEX, mutex, began, sonde__now(), caller);
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
 * This thread waited for 'object' from 'begin' to 'end', both by sonde__now(); its stack begins at
 * 'caller', where the host called the hook.  For hooks, after the wait; no lock, but that of stacks
 * that are new.  Not handler-safe.  What finds no room is counted, and the trace says so.
 */
void sonde__trace_wait(enum sonde__wait kind, const void *object, uint64_t begin, uint64_t end,
		       const void *caller);

/*
 * For the agent: when to look at the threads again (UINT64_MAX: there is no trace), and that look.
 */
uint64_t sonde__trace_next(void);
void sonde__trace_poll(void);

/*
 * trace-threads.c, for trace.c: what threads were seen doing.
 */
struct sonde__buf;
bool sonde__trace_watch(void); /* from now on; false: no memory */
void sonde__trace_look(void);  /* a last time */
/* As JSON: events, each with a comma behind it.  'zero' is the time they count from. */
void sonde__trace_write(struct sonde__buf *b, uint64_t zero);
uint64_t sonde__trace_period(void); /* ns, the longest there was between two looks */
uint64_t sonde__trace_slices_lost(void);
void sonde__trace_unwatch(void);
void sonde__trace_unwatched(void); /* the same, but memory stays where it is */
/* trace.c: an event as far as all have it in common, without its end; a text in quotes. */
void sonde__trace_event_head(struct sonde__buf *b, const char *name, int pid, int tid,
			     uint64_t begin, uint64_t end);
void sonde__trace_text(struct sonde__buf *b, const char *text);
enum { SONDE__TRACE_THREADS = 1, SONDE__TRACE_WAITS }; /* groups of tracks: "processes" */

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
