/*
 * hooks-wait.c - conditions, semaphores, barriers, ends of threads, as the host waits for them
 *
 * Made as hooks-lock.c is; the slow way is in wait-slow.c.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "runtime/lock-slow.h"
#include "runtime/next-lock.h"

#if !defined(__clang__)
#pragma GCC optimize("omit-frame-pointer")
#endif

#define HOOK             __attribute__((visibility("default")))
#define rarely(question) __builtin_expect(question, 0)

HOOK int pthread_cond_wait(pthread_cond_t *c, pthread_mutex_t *m)
{
	if (rarely(sonde__looks_at_others() || sonde__has_waiting()))
		return sonde__slow_cond_wait(c, m);
	return sonde__next_lock.cond_wait(c, m);
}

HOOK int pthread_cond_timedwait(pthread_cond_t *c, pthread_mutex_t *m, const struct timespec *until)
{
	if (rarely(sonde__looks_at_others() || sonde__has_waiting()))
		return sonde__slow_cond_timedwait(c, m, until);
	return sonde__next_lock.cond_timedwait(c, m, until);
}

HOOK int pthread_cond_clockwait(pthread_cond_t *c, pthread_mutex_t *m, clockid_t clock,
				const struct timespec *until)
{
	if (rarely(sonde__looks_at_others() || sonde__has_waiting()))
		return sonde__slow_cond_clockwait(c, m, clock, until);
	return sonde__next_lock.cond_clockwait(c, m, clock, until);
}

HOOK int cnd_wait(cnd_t *c, mtx_t *m)
{
	if (rarely(sonde__looks_at_others() || sonde__has_waiting()))
		return sonde__slow_cnd_wait(c, m);
	return sonde__next_lock.cnd_wait(c, m);
}

HOOK int cnd_timedwait(cnd_t *restrict c, mtx_t *restrict m, const struct timespec *restrict until)
{
	if (rarely(sonde__looks_at_others() || sonde__has_waiting()))
		return sonde__slow_cnd_timedwait(c, m, until);
	return sonde__next_lock.cnd_timedwait(c, m, until);
}

HOOK int sem_wait(sem_t *s)
{
	if (rarely(sonde__looks_at_others()))
		return sonde__slow_sem_wait(s);
	return sonde__next_lock.sem_wait(s);
}

HOOK int sem_timedwait(sem_t *restrict s, const struct timespec *restrict until)
{
	if (rarely(sonde__looks_at_others()))
		return sonde__slow_sem_timedwait(s, until);
	return sonde__next_lock.sem_timedwait(s, until);
}

HOOK int sem_clockwait(sem_t *restrict s, clockid_t clock, const struct timespec *restrict until)
{
	if (rarely(sonde__looks_at_others()))
		return sonde__slow_sem_clockwait(s, clock, until);
	return sonde__next_lock.sem_clockwait(s, clock, until);
}

HOOK int pthread_barrier_wait(pthread_barrier_t *b)
{
	if (rarely(sonde__looks_at_others()))
		return sonde__slow_barrier_wait(b);
	return sonde__next_lock.barrier_wait(b);
}

HOOK int pthread_join(pthread_t t, void **result)
{
	if (rarely(sonde__looks_at_others()))
		return sonde__slow_join(t, result);
	return sonde__next_lock.join(t, result);
}

HOOK int pthread_timedjoin_np(pthread_t t, void **result, const struct timespec *until)
{
	if (rarely(sonde__looks_at_others()))
		return sonde__slow_timedjoin(t, result, until);
	return sonde__next_lock.timedjoin_np(t, result, until);
}

HOOK int pthread_clockjoin_np(pthread_t t, void **result, clockid_t clock,
			      const struct timespec *until)
{
	if (rarely(sonde__looks_at_others()))
		return sonde__slow_clockjoin(t, result, clock, until);
	return sonde__next_lock.clockjoin_np(t, result, clock, until);
}

HOOK int thrd_join(thrd_t t, int *result)
{
	if (rarely(sonde__looks_at_others()))
		return sonde__slow_thrd_join(t, result);
	return sonde__next_lock.thrd_join(t, result);
}

HOOK int pthread_once(pthread_once_t *control, void (*routine)(void))
{
	if (rarely(sonde__looks_at_others()))
		return sonde__slow_once(control, routine);
	return sonde__next_lock.once(control, routine);
}

HOOK void call_once(once_flag *flag, void (*routine)(void))
{
	if (rarely(sonde__looks_at_others()))
		sonde__slow_call_once(flag, routine);
	else
		sonde__next_lock.call_once(flag, routine);
}
