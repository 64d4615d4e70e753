/*
 * measure.c - one wait: when it began, and who is told when it is over
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "runtime/measure.h"

#include "runtime/contention.h"
#include "runtime/os.h"

/* What this thread is in the table of waiters for, the last of them. */
static __thread struct {
	const void *lock;
	uint64_t start;
} mine __attribute__((tls_model("initial-exec")));

struct sonde__measure sonde__wait_begin(enum sonde__wait kind, const void *object)
{
	return (struct sonde__measure){ .kind = kind, .object = object, .start = sonde__now() };
}

struct sonde__measure sonde__lock_begin(enum sonde__wait kind, const void *lock)
{
	struct sonde__measure m = sonde__wait_begin(kind, lock);

	if (!sonde__contention_rate_now(SONDE__MUTEX))
		return m;
	m.entered = sonde__waiters_enter(lock, m.start);
	if (m.entered) {
		m.outer = mine.lock;
		m.outer_start = mine.start;
		mine.lock = lock;
		mine.start = m.start;
	}
	return m;
}

static void leave(const struct sonde__measure *m, uint64_t now, enum sonde__wait_end end)
{
	mine.lock = m->outer;
	mine.start = m->outer_start;
	if (!sonde__contention_rate_now(SONDE__MUTEX)) /* nothing of it is worth remembering */
		end = SONDE__WAIT_ALONE;
	sonde__waiters_leave(m->object, m->start, now, end);
}

void sonde__lock_abandon(void)
{
	const void *lock = mine.lock;

	mine.lock = NULL;
	if (lock)
		sonde__waiters_leave(lock, mine.start, sonde__now(), SONDE__WAIT_FAILED);
}

static void tell(const struct sonde__measure *m, uint64_t now, const void *caller)
{
	sonde__contention_record(SONDE__BLOCK, now - m->start, 1, caller);
	if (sonde__trace_is_on()) {
		sonde__tls.inside++;
		sonde__trace_wait(m->kind, m->object, m->start, now, caller);
		sonde__tls.inside--;
	}
}

void sonde__wait_end(const struct sonde__measure *m, bool count, const void *caller)
{
	if (count)
		tell(m, sonde__now(), caller);
}

void sonde__lock_end(const struct sonde__measure *m, enum sonde__wait_end end, bool count,
		     const void *caller)
{
	uint64_t now = sonde__now();

	if (m->entered)
		leave(m, now, end);
	if (count)
		tell(m, now, caller);
}

struct sonde__charge sonde__unlock_begin(const void *lock, bool all)
{
	struct sonde__charge c = { 0 };

	if (sonde__tls.inside == 0 && sonde__waiters_maybe(lock))
		c.ns = sonde__waiters_take(lock, sonde__now(), all, &c.waits);
	return c;
}

void sonde__unlock_end(const struct sonde__charge *c, const void *caller)
{
	if (c->ns || c->waits)
		sonde__contention_record(SONDE__MUTEX, c->ns, c->waits, caller);
}
