/*
 * measure.h - one wait: when it began, and who is told when it is over
 *
 * For lock-slow.c and wait-slow.c.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef RUNTIME_MEASURE_H
#define RUNTIME_MEASURE_H

#include "runtime/next-lock.h"
#include "runtime/thread.h"
#include "runtime/trace.h"
#include "runtime/waiters.h"

#include <stdbool.h>
#include <stdint.h>

struct sonde__measure {
	enum sonde__wait kind;
	const void *object;
	uint64_t start;
	bool entered;      /* into the table of waiters */
	const void *outer; /* what this thread waits for, too: a signal came in between */
	uint64_t outer_start;
};

/* Whether waits are to be measured in this thread, now.  Also finds the functions behind. */
static inline bool sonde__measures(const atomic_uchar *flag)
{
	unsigned char value = atomic_load_explicit(flag, memory_order_acquire);

	if (__builtin_expect(value == SONDE__LOCKS_UNKNOWN, 0)) {
		sonde__next_lock_find();
		value = atomic_load_explicit(flag, memory_order_acquire);
	}
	return value == 1 && sonde__tls.inside == 0;
}

static inline bool sonde__measures_locks(void)
{
	return sonde__measures(&sonde__lock_flags.locks);
}

static inline bool sonde__measures_others(void)
{
	return sonde__measures(&sonde__lock_flags.others);
}

/* The wait begins; for a lock, those who hold it will be charged. */
struct sonde__measure sonde__wait_begin(enum sonde__wait kind, const void *object);
struct sonde__measure sonde__lock_begin(enum sonde__wait kind, const void *lock);

/* It is over; 'count': it was one.  No cancellation point, errno stays. */
void sonde__wait_end(const struct sonde__measure *m, bool count, const void *caller);
void sonde__lock_end(const struct sonde__measure *m, enum sonde__wait_end end, bool count,
		     const void *caller);

/*
 * The result of 'call', whose wait is measured: begin(kind, object) comes before it, and
 * end(measure, result, caller) after it.
 */
#define SONDE__MEASURED(begin, end, kind, object, call, caller)                                    \
	({                                                                                         \
		struct sonde__measure measure_ = begin(kind, object);                              \
		int result_ = (call);                                                              \
		end(&measure_, result_, caller);                                                   \
		result_;                                                                           \
	})

/* The thread ends; in the middle of a wait, if it was cancelled there, or its handler jumped. */
void sonde__lock_abandon(void);

/*
 * A lock is about to be given back, and has been.  In between the host's lock is free, and must not
 * be touched any more; whoever gives it back is charged with what others waited for it.
 */
struct sonde__charge {
	uint64_t ns;
	uint32_t waits;
};
struct sonde__charge sonde__unlock_begin(const void *lock, bool all);
void sonde__unlock_end(const struct sonde__charge *c, const void *caller);

#endif /* RUNTIME_MEASURE_H */
