/*
 * hooks-lock.c - mutexes and rwlocks, as the host calls them
 *
 * While nobody wants to know, a look at a byte and a jump.  It has no frame of its own, so that the
 * host is the caller also of the slow way (lock-slow.c).  An unlock always takes the short way, but
 * while somebody waits for some lock, and was seen to.
 *
 * "try" forms never wait, and are not here.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "runtime/bypass.h"
#include "runtime/lock-slow.h"
#include "runtime/next-lock.h"

#if !defined(__clang__)
#pragma GCC optimize("omit-frame-pointer")
#endif

/* Not in two pieces of what is fetched at once. */
#define HOOK             __attribute__((visibility("default"), aligned(32)))
#define rarely(question) __builtin_expect(question, 0)

HOOK int pthread_mutex_lock(pthread_mutex_t *m)
{
	if (rarely(sonde__looks_at_locks()))
		return sonde__slow_mutex_lock(m);
	return sonde__next_lock.mutex_lock(m);
}

HOOK int pthread_mutex_timedlock(pthread_mutex_t *m, const struct timespec *until)
{
	if (rarely(sonde__looks_at_locks()))
		return sonde__slow_mutex_timedlock(m, until);
	return sonde__next_lock.mutex_timedlock(m, until);
}

HOOK int pthread_mutex_clocklock(pthread_mutex_t *m, clockid_t clock, const struct timespec *until)
{
	if (rarely(sonde__looks_at_locks()))
		return sonde__slow_mutex_clocklock(m, clock, until);
	return sonde__next_lock.mutex_clocklock(m, clock, until);
}

HOOK int pthread_mutex_unlock(pthread_mutex_t *m)
{
	if (rarely(sonde__has_waiting()))
		return sonde__slow_mutex_unlock(m);
	return sonde__next_lock.mutex_unlock(m);
}

HOOK int pthread_rwlock_rdlock(pthread_rwlock_t *l)
{
	if (rarely(sonde__looks_at_locks()))
		return sonde__slow_rdlock(l);
	return sonde__next_lock.rwlock_rdlock(l);
}

HOOK int pthread_rwlock_wrlock(pthread_rwlock_t *l)
{
	if (rarely(sonde__looks_at_locks()))
		return sonde__slow_wrlock(l);
	return sonde__next_lock.rwlock_wrlock(l);
}

HOOK int pthread_rwlock_timedrdlock(pthread_rwlock_t *l, const struct timespec *until)
{
	if (rarely(sonde__looks_at_locks()))
		return sonde__slow_timedrdlock(l, until);
	return sonde__next_lock.rwlock_timedrdlock(l, until);
}

HOOK int pthread_rwlock_timedwrlock(pthread_rwlock_t *l, const struct timespec *until)
{
	if (rarely(sonde__looks_at_locks()))
		return sonde__slow_timedwrlock(l, until);
	return sonde__next_lock.rwlock_timedwrlock(l, until);
}

HOOK int pthread_rwlock_clockrdlock(pthread_rwlock_t *l, clockid_t clock,
				    const struct timespec *until)
{
	if (rarely(sonde__looks_at_locks()))
		return sonde__slow_clockrdlock(l, clock, until);
	return sonde__next_lock.rwlock_clockrdlock(l, clock, until);
}

HOOK int pthread_rwlock_clockwrlock(pthread_rwlock_t *l, clockid_t clock,
				    const struct timespec *until)
{
	if (rarely(sonde__looks_at_locks()))
		return sonde__slow_clockwrlock(l, clock, until);
	return sonde__next_lock.rwlock_clockwrlock(l, clock, until);
}

HOOK int pthread_rwlock_unlock(pthread_rwlock_t *l)
{
	if (rarely(sonde__has_waiting()))
		return sonde__slow_rwlock_unlock(l);
	return sonde__next_lock.rwlock_unlock(l);
}

HOOK int mtx_lock(mtx_t *m)
{
	if (rarely(sonde__looks_at_locks()))
		return sonde__slow_mtx_lock(m);
	return sonde__next_lock.mtx_lock(m);
}

HOOK int mtx_timedlock(mtx_t *restrict m, const struct timespec *restrict until)
{
	if (rarely(sonde__looks_at_locks()))
		return sonde__slow_mtx_timedlock(m, until);
	return sonde__next_lock.mtx_timedlock(m, until);
}

HOOK int mtx_unlock(mtx_t *m)
{
	if (rarely(sonde__has_waiting()))
		return sonde__slow_mtx_unlock(m);
	return sonde__next_lock.mtx_unlock(m);
}

/* Those that are called a million times a second. */
OURS(pthread_mutex_lock);
OURS(pthread_mutex_unlock);
OURS(pthread_rwlock_rdlock);
OURS(pthread_rwlock_wrlock);
OURS(pthread_rwlock_unlock);
OURS(mtx_lock);
OURS(mtx_unlock);

const struct sonde__hooked sonde__hooked_locks[] = {
	HOOKED(pthread_mutex_lock, sonde__next_lock.mutex_lock),
	HOOKED(pthread_mutex_unlock, sonde__next_lock.mutex_unlock),
	HOOKED(pthread_rwlock_rdlock, sonde__next_lock.rwlock_rdlock),
	HOOKED(pthread_rwlock_wrlock, sonde__next_lock.rwlock_wrlock),
	HOOKED(pthread_rwlock_unlock, sonde__next_lock.rwlock_unlock),
	HOOKED(mtx_lock, sonde__next_lock.mtx_lock),
	HOOKED(mtx_unlock, sonde__next_lock.mtx_unlock),
	{ .name = NULL },
};
