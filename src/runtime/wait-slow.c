/*
 * wait-slow.c - conditions, semaphores, barriers, ends of threads: waits that blame nobody
 *
 * Some of these calls are cancellation points: then the thread leaves in the middle of them, for
 * good, and its wait is not counted.  Nothing of ours is held meanwhile.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "runtime/lock-slow.h"
#include "runtime/measure.h"

#include <errno.h>

#define CALLER __builtin_return_address(0)
#define MEASURED(end, kind, object, call)                                                          \
	SONDE__MEASURED(sonde__wait_begin, end, kind, object, call, CALLER)

/* What a wait came to: one that failed at once is none. */
static void end_wait(const struct sonde__measure *w, int result, const void *caller)
{
	sonde__wait_end(w, result == 0 || result == EOWNERDEAD || result == ETIMEDOUT, caller);
}

static void end_c11(const struct sonde__measure *w, int result, const void *caller)
{
	sonde__wait_end(w, result == thrd_success || result == thrd_timedout, caller);
}

/* Interrupted ones are counted, too: they did wait. */
static void end_sem(const struct sonde__measure *w, int result, const void *caller)
{
	sonde__wait_end(w, result == 0 || errno == EINTR || errno == ETIMEDOUT, caller);
}

/*
 * Waiting for a condition gives the mutex back.  The stack is taken at once: who knows when we are
 * back.
 */
static void give_back(const void *mutex, const void *caller)
{
	struct sonde__charge c;

	if (!sonde__has_waiting())
		return;
	c = sonde__unlock_begin(mutex, false);
	sonde__unlock_end(&c, caller);
}

int sonde__slow_cond_wait(pthread_cond_t *c, pthread_mutex_t *m)
{
	bool measured = sonde__measures_others();

	give_back(m, CALLER);
	if (!measured)
		return sonde__next_lock.cond_wait(c, m);
	return MEASURED(end_wait, SONDE__WAIT_COND, c, sonde__next_lock.cond_wait(c, m));
}

int sonde__slow_cond_timedwait(pthread_cond_t *c, pthread_mutex_t *m, const struct timespec *until)
{
	bool measured = sonde__measures_others();

	give_back(m, CALLER);
	if (!measured)
		return sonde__next_lock.cond_timedwait(c, m, until);
	return MEASURED(end_wait, SONDE__WAIT_COND, c,
			sonde__next_lock.cond_timedwait(c, m, until));
}

int sonde__slow_cond_clockwait(pthread_cond_t *c, pthread_mutex_t *m, clockid_t clock,
			       const struct timespec *until)
{
	bool measured = sonde__measures_others();

	give_back(m, CALLER);
	if (!measured)
		return sonde__next_lock.cond_clockwait(c, m, clock, until);
	return MEASURED(end_wait, SONDE__WAIT_COND, c,
			sonde__next_lock.cond_clockwait(c, m, clock, until));
}

int sonde__slow_cnd_wait(cnd_t *c, mtx_t *m)
{
	bool measured = sonde__measures_others();

	give_back(m, CALLER);
	if (!measured)
		return sonde__next_lock.cnd_wait(c, m);
	return MEASURED(end_c11, SONDE__WAIT_COND, c, sonde__next_lock.cnd_wait(c, m));
}

int sonde__slow_cnd_timedwait(cnd_t *c, mtx_t *m, const struct timespec *until)
{
	bool measured = sonde__measures_others();

	give_back(m, CALLER);
	if (!measured)
		return sonde__next_lock.cnd_timedwait(c, m, until);
	return MEASURED(end_c11, SONDE__WAIT_COND, c, sonde__next_lock.cnd_timedwait(c, m, until));
}

/* A semaphore that is free, without waiting; but it is a cancellation point even then. */
static bool take_free(sem_t *s)
{
	int saved = errno;
	bool got;

	pthread_testcancel();
	got = sonde__next_lock.sem_trywait(s) == 0;
	errno = saved;
	return got;
}

int sonde__slow_sem_wait(sem_t *s)
{
	if (!sonde__measures_others())
		return sonde__next_lock.sem_wait(s);
	if (take_free(s))
		return 0;
	return MEASURED(end_sem, SONDE__WAIT_SEM, s, sonde__next_lock.sem_wait(s));
}

static bool is_time(const struct timespec *t)
{
	return t->tv_nsec >= 0 && t->tv_nsec < 1000000000;
}

int sonde__slow_sem_timedwait(sem_t *s, const struct timespec *until)
{
	if (!sonde__measures_others())
		return sonde__next_lock.sem_timedwait(s, until);
	if (is_time(until) && take_free(s))
		return 0;
	return MEASURED(end_sem, SONDE__WAIT_SEM, s, sonde__next_lock.sem_timedwait(s, until));
}

int sonde__slow_sem_clockwait(sem_t *s, clockid_t clock, const struct timespec *until)
{
	if (!sonde__measures_others())
		return sonde__next_lock.sem_clockwait(s, clock, until);
	if ((clock == CLOCK_REALTIME || clock == CLOCK_MONOTONIC) && is_time(until) && take_free(s))
		return 0;
	return MEASURED(end_sem, SONDE__WAIT_SEM, s,
			sonde__next_lock.sem_clockwait(s, clock, until));
}

/* The one that comes last does not wait. */
int sonde__slow_barrier_wait(pthread_barrier_t *b)
{
	if (!sonde__measures_others())
		return sonde__next_lock.barrier_wait(b);
	return MEASURED(end_wait, SONDE__WAIT_BARRIER, b, sonde__next_lock.barrier_wait(b));
}

/* A thread that has ended is not waited for.  There is no address: the thread's number has to do.
 */

int sonde__slow_join(pthread_t t, void **result)
{
	int failed;

	if (!sonde__measures_others())
		return sonde__next_lock.join(t, result);
	failed = sonde__next_lock.tryjoin_np(t, result);
	if (failed != EBUSY)
		return failed;
	return MEASURED(end_wait, SONDE__WAIT_JOIN, (const void *)t,
			sonde__next_lock.join(t, result));
}

int sonde__slow_timedjoin(pthread_t t, void **result, const struct timespec *until)
{
	int failed;

	if (!sonde__measures_others())
		return sonde__next_lock.timedjoin_np(t, result, until);
	failed = sonde__next_lock.tryjoin_np(t, result);
	if (failed != EBUSY)
		return failed;
	return MEASURED(end_wait, SONDE__WAIT_JOIN, (const void *)t,
			sonde__next_lock.timedjoin_np(t, result, until));
}

int sonde__slow_clockjoin(pthread_t t, void **result, clockid_t clock, const struct timespec *until)
{
	int failed;

	if (!sonde__measures_others() || (clock != CLOCK_REALTIME && clock != CLOCK_MONOTONIC))
		return sonde__next_lock.clockjoin_np(t, result, clock, until);
	failed = sonde__next_lock.tryjoin_np(t, result);
	if (failed != EBUSY)
		return failed;
	return MEASURED(end_wait, SONDE__WAIT_JOIN, (const void *)t,
			sonde__next_lock.clockjoin_np(t, result, clock, until));
}

/* There is no way to ask whether it has ended: what it returned would be lost. */
int sonde__slow_thrd_join(thrd_t t, int *result)
{
	if (!sonde__measures_others())
		return sonde__next_lock.thrd_join(t, result);
	return MEASURED(end_c11, SONDE__WAIT_JOIN, (const void *)t,
			sonde__next_lock.thrd_join(t, result));
}

/* Only if another thread is at it there is a wait; else this one does it, or it is done. */
static bool is_under_way(const int *control)
{
#if defined(__GLIBC__)
	return (__atomic_load_n(control, __ATOMIC_RELAXED) & 3) == 1;
#else
	return false;
#endif
}

int sonde__slow_once(pthread_once_t *control, void (*routine)(void))
{
	if (!sonde__measures_others() || !is_under_way(control))
		return sonde__next_lock.once(control, routine);
	return MEASURED(end_wait, SONDE__WAIT_ONCE, control,
			sonde__next_lock.once(control, routine));
}

void sonde__slow_call_once(once_flag *flag, void (*routine)(void))
{
	struct sonde__measure w;

	if (!sonde__measures_others() || !is_under_way((const int *)(const void *)flag)) {
		sonde__next_lock.call_once(flag, routine);
		return;
	}
	w = sonde__wait_begin(SONDE__WAIT_ONCE, flag);
	sonde__next_lock.call_once(flag, routine);
	sonde__wait_end(&w, true, CALLER);
}
