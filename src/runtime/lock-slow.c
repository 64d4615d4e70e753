/*
 * lock-slow.c - mutexes and rwlocks, while somebody wants to know who waits for them
 *
 * The "try" form comes first.  Only if that says that the lock is busy there is something to
 * measure; every other answer of it is also that of the call itself: the lock, the lock of an owner
 * that died, one more level of a recursive mutex, no more levels, a mutex that is lost.  An owner
 * that locks a mutex of the checking kind again is busy for "try", and then told by the call
 * itself.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "runtime/lock-slow.h"

#include "runtime/measure.h"
#include "runtime/os.h"

#include <errno.h>

#define CALLER __builtin_return_address(0)
#define MEASURED(end, kind, lock, call, caller)                                                    \
	SONDE__MEASURED(sonde__lock_begin, end, kind, lock, call, caller)

/* What a wait for a mutex came to. */
static void end_mutex(const struct sonde__measure *w, int result, const void *caller)
{
	bool got = result == 0 || result == EOWNERDEAD;

	sonde__lock_end(w, got ? SONDE__WAIT_ALONE : SONDE__WAIT_FAILED, got || result == ETIMEDOUT,
			caller);
}

enum { CALL = -1 }; /* not the answer: nobody has to wait, but the call has to be made */

#if defined(__GLIBC__)

enum { ROBUST = 16, TID_MASK = 0x3fffffff }; /* in its kind, and in its word */

static bool is_robust(const pthread_mutex_t *m)
{
	return m->__data.__kind & ROBUST;
}

static int look_at_robust(const pthread_mutex_t *m)
{
	int owner = __atomic_load_n(&m->__data.__lock, __ATOMIC_RELAXED) & TID_MASK;

	return owner == 0 || owner == sonde__tid() ? CALL : EBUSY;
}

/* A recursive mutex that is locked more than once stays locked.  It is ours, so we may look. */
static bool stays_locked(const pthread_mutex_t *m)
{
	return (m->__data.__kind & 3) == PTHREAD_MUTEX_RECURSIVE && m->__data.__count > 1;
}

#else

static bool is_robust(const pthread_mutex_t *m)
{
	return false;
}

static int look_at_robust(const pthread_mutex_t *m)
{
	return CALL;
}

static bool stays_locked(const pthread_mutex_t *m)
{
	return false;
}

#endif

/* The answer there is without waiting, CALL, or EBUSY if this is going to be a wait. */
static inline int try_mutex(pthread_mutex_t *m)
{
	if (!sonde__measures_locks())
		return CALL;
	if (__builtin_expect(is_robust(m), 0))
		return look_at_robust(m);
	return sonde__next_lock.mutex_trylock(m);
}

/* Apart, because the way to here is to cost nothing. */
static __attribute__((noinline)) int wait_mutex(pthread_mutex_t *m, const void *caller)
{
	return MEASURED(end_mutex, SONDE__WAIT_MUTEX, m, sonde__next_lock.mutex_lock(m), caller);
}

int sonde__slow_mutex_lock(pthread_mutex_t *m)
{
	int result = try_mutex(m);

	if (__builtin_expect(result == 0, 1))
		return 0;
	if (result == EBUSY)
		return wait_mutex(m, CALLER);
	return result == CALL ? sonde__next_lock.mutex_lock(m) : result;
}

int sonde__slow_mutex_timedlock(pthread_mutex_t *m, const struct timespec *until)
{
	int result = try_mutex(m);

	if (result == CALL)
		return sonde__next_lock.mutex_timedlock(m, until);
	if (result != EBUSY)
		return result;
	return MEASURED(end_mutex, SONDE__WAIT_MUTEX, m, sonde__next_lock.mutex_timedlock(m, until),
			CALLER);
}

/* The clock is looked at before the lock. */
int sonde__slow_mutex_clocklock(pthread_mutex_t *m, clockid_t clock, const struct timespec *until)
{
	int result = CALL;

	if (clock == CLOCK_REALTIME || clock == CLOCK_MONOTONIC)
		result = try_mutex(m);
	if (result == CALL)
		return sonde__next_lock.mutex_clocklock(m, clock, until);
	if (result != EBUSY)
		return result;
	return MEASURED(end_mutex, SONDE__WAIT_MUTEX, m,
			sonde__next_lock.mutex_clocklock(m, clock, until), CALLER);
}

int sonde__slow_mutex_unlock(pthread_mutex_t *m)
{
	struct sonde__charge c;
	int result;

	sonde__next_lock_find();
	if (stays_locked(m))
		return sonde__next_lock.mutex_unlock(m);
	c = sonde__unlock_begin(m, false);
	result = sonde__next_lock.mutex_unlock(m);
	if (result == 0)
		sonde__unlock_end(&c, CALLER);
	return result;
}

static void end_rwlock(const struct sonde__measure *w, int result, const void *caller)
{
	enum sonde__wait_end end =
		w->kind == SONDE__WAIT_READ ? SONDE__WAIT_SHARED : SONDE__WAIT_ALONE;

	sonde__lock_end(w, result == 0 ? end : SONDE__WAIT_FAILED,
			result == 0 || result == ETIMEDOUT, caller);
}

static __attribute__((noinline)) int wait_read(pthread_rwlock_t *l, const void *caller)
{
	return MEASURED(end_rwlock, SONDE__WAIT_READ, l, sonde__next_lock.rwlock_rdlock(l), caller);
}

int sonde__slow_rdlock(pthread_rwlock_t *l)
{
	int result;

	if (!sonde__measures_locks())
		return sonde__next_lock.rwlock_rdlock(l);
	result = sonde__next_lock.rwlock_tryrdlock(l);
	if (__builtin_expect(result != EBUSY, 1))
		return result;
	return wait_read(l, CALLER);
}

static __attribute__((noinline)) int wait_write(pthread_rwlock_t *l, const void *caller)
{
	return MEASURED(end_rwlock, SONDE__WAIT_WRITE, l, sonde__next_lock.rwlock_wrlock(l),
			caller);
}

int sonde__slow_wrlock(pthread_rwlock_t *l)
{
	int result;

	if (!sonde__measures_locks())
		return sonde__next_lock.rwlock_wrlock(l);
	result = sonde__next_lock.rwlock_trywrlock(l);
	if (__builtin_expect(result != EBUSY, 1))
		return result;
	return wait_write(l, CALLER);
}

/* A clock or time that makes no sense is told of even if the lock is free: then nothing is tried.
 */
static int try_until(enum sonde__wait kind, pthread_rwlock_t *l, clockid_t clock,
		     const struct timespec *until)
{
	if ((clock != CLOCK_REALTIME && clock != CLOCK_MONOTONIC) || until->tv_nsec < 0 ||
	    until->tv_nsec >= 1000000000)
		return EBUSY;
	return kind == SONDE__WAIT_READ ? sonde__next_lock.rwlock_tryrdlock(l)
					: sonde__next_lock.rwlock_trywrlock(l);
}

int sonde__slow_timedrdlock(pthread_rwlock_t *l, const struct timespec *until)
{
	int result;

	if (!sonde__measures_locks())
		return sonde__next_lock.rwlock_timedrdlock(l, until);
	result = try_until(SONDE__WAIT_READ, l, CLOCK_REALTIME, until);
	if (result != EBUSY)
		return result;
	return MEASURED(end_rwlock, SONDE__WAIT_READ, l,
			sonde__next_lock.rwlock_timedrdlock(l, until), CALLER);
}

int sonde__slow_timedwrlock(pthread_rwlock_t *l, const struct timespec *until)
{
	int result;

	if (!sonde__measures_locks())
		return sonde__next_lock.rwlock_timedwrlock(l, until);
	result = try_until(SONDE__WAIT_WRITE, l, CLOCK_REALTIME, until);
	if (result != EBUSY)
		return result;
	return MEASURED(end_rwlock, SONDE__WAIT_WRITE, l,
			sonde__next_lock.rwlock_timedwrlock(l, until), CALLER);
}

int sonde__slow_clockrdlock(pthread_rwlock_t *l, clockid_t clock, const struct timespec *until)
{
	int result;

	if (!sonde__measures_locks())
		return sonde__next_lock.rwlock_clockrdlock(l, clock, until);
	result = try_until(SONDE__WAIT_READ, l, clock, until);
	if (result != EBUSY)
		return result;
	return MEASURED(end_rwlock, SONDE__WAIT_READ, l,
			sonde__next_lock.rwlock_clockrdlock(l, clock, until), CALLER);
}

int sonde__slow_clockwrlock(pthread_rwlock_t *l, clockid_t clock, const struct timespec *until)
{
	int result;

	if (!sonde__measures_locks())
		return sonde__next_lock.rwlock_clockwrlock(l, clock, until);
	result = try_until(SONDE__WAIT_WRITE, l, clock, until);
	if (result != EBUSY)
		return result;
	return MEASURED(end_rwlock, SONDE__WAIT_WRITE, l,
			sonde__next_lock.rwlock_clockwrlock(l, clock, until), CALLER);
}

int sonde__slow_rwlock_unlock(pthread_rwlock_t *l)
{
	struct sonde__charge c;
	int result;

	sonde__next_lock_find();
	c = sonde__unlock_begin(l, true);
	result = sonde__next_lock.rwlock_unlock(l);
	if (result == 0)
		sonde__unlock_end(&c, CALLER);
	return result;
}

/* C11's are pthread's, called from within the C library, and answer in other words. */

static void end_mtx(const struct sonde__measure *w, int result, const void *caller)
{
	sonde__lock_end(w, result == thrd_success ? SONDE__WAIT_ALONE : SONDE__WAIT_FAILED,
			result == thrd_success || result == thrd_timedout, caller);
}

int sonde__slow_mtx_lock(mtx_t *m)
{
	int result;

	if (!sonde__measures_locks())
		return sonde__next_lock.mtx_lock(m);
	result = sonde__next_lock.mtx_trylock(m);
	if (result != thrd_busy)
		return result;
	return MEASURED(end_mtx, SONDE__WAIT_MUTEX, m, sonde__next_lock.mtx_lock(m), CALLER);
}

int sonde__slow_mtx_timedlock(mtx_t *m, const struct timespec *until)
{
	int result;

	if (!sonde__measures_locks())
		return sonde__next_lock.mtx_timedlock(m, until);
	result = sonde__next_lock.mtx_trylock(m);
	if (result != thrd_busy)
		return result;
	return MEASURED(end_mtx, SONDE__WAIT_MUTEX, m, sonde__next_lock.mtx_timedlock(m, until),
			CALLER);
}

int sonde__slow_mtx_unlock(mtx_t *m)
{
	struct sonde__charge c;
	int result;

	sonde__next_lock_find();
	if (stays_locked((const pthread_mutex_t *)(const void *)m))
		return sonde__next_lock.mtx_unlock(m);
	c = sonde__unlock_begin(m, false);
	result = sonde__next_lock.mtx_unlock(m);
	if (result == thrd_success)
		sonde__unlock_end(&c, CALLER);
	return result;
}
