/*
 * next-lock.h - the C library's waiting functions behind our hooks
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef RUNTIME_NEXT_LOCK_H
#define RUNTIME_NEXT_LOCK_H

#include "runtime/shortcut.h"

#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <threads.h>
#include <time.h>

/* In the order of the names in next-lock.c. */
struct sonde__next_lock {
	int (*mutex_lock)(pthread_mutex_t *);
	int (*mutex_trylock)(pthread_mutex_t *);
	int (*mutex_unlock)(pthread_mutex_t *);
	int (*mutex_timedlock)(pthread_mutex_t *, const struct timespec *);
	int (*mutex_clocklock)(pthread_mutex_t *, clockid_t, const struct timespec *);
	int (*rwlock_rdlock)(pthread_rwlock_t *);
	int (*rwlock_wrlock)(pthread_rwlock_t *);
	int (*rwlock_tryrdlock)(pthread_rwlock_t *);
	int (*rwlock_trywrlock)(pthread_rwlock_t *);
	int (*rwlock_timedrdlock)(pthread_rwlock_t *, const struct timespec *);
	int (*rwlock_timedwrlock)(pthread_rwlock_t *, const struct timespec *);
	int (*rwlock_clockrdlock)(pthread_rwlock_t *, clockid_t, const struct timespec *);
	int (*rwlock_clockwrlock)(pthread_rwlock_t *, clockid_t, const struct timespec *);
	int (*rwlock_unlock)(pthread_rwlock_t *);
	int (*cond_wait)(pthread_cond_t *, pthread_mutex_t *);
	int (*cond_timedwait)(pthread_cond_t *, pthread_mutex_t *, const struct timespec *);
	int (*cond_clockwait)(pthread_cond_t *, pthread_mutex_t *, clockid_t,
			      const struct timespec *);
	int (*sem_wait)(sem_t *);
	int (*sem_trywait)(sem_t *);
	int (*sem_timedwait)(sem_t *, const struct timespec *);
	int (*sem_clockwait)(sem_t *, clockid_t, const struct timespec *);
	int (*barrier_wait)(pthread_barrier_t *);
	int (*join)(pthread_t, void **);
	int (*tryjoin_np)(pthread_t, void **);
	int (*timedjoin_np)(pthread_t, void **, const struct timespec *);
	int (*clockjoin_np)(pthread_t, void **, clockid_t, const struct timespec *);
	int (*once)(pthread_once_t *, void (*)(void));
	int (*mtx_lock)(mtx_t *);
	int (*mtx_trylock)(mtx_t *);
	int (*mtx_timedlock)(mtx_t *, const struct timespec *);
	int (*mtx_unlock)(mtx_t *);
	int (*cnd_wait)(cnd_t *, mtx_t *);
	int (*cnd_timedwait)(cnd_t *, mtx_t *, const struct timespec *);
	int (*thrd_join)(thrd_t, int *);
	void (*call_once)(once_flag *, void (*)(void));
};
extern struct sonde__next_lock sonde__next_lock __attribute__((visibility("hidden")));

/*
 * What hooks look at first: not 0 if the slow way is to be taken.  That is also so until the
 * functions behind are known, so one look answers both.  'locks' is for mutexes and rwlocks,
 * 'others' for all else; 'waiting' for those that unlock: how many locks have, or had, waiters
 * whose time is still to be charged.  It changes while locks are fought for, so has a cache line of
 * its own.
 */
struct sonde__lock_flags {
	_Alignas(64) atomic_uchar locks;
	atomic_uchar others;
	_Alignas(64) atomic_uint waiting;
};
extern struct sonde__lock_flags sonde__lock_flags __attribute__((visibility("hidden")));

static inline bool sonde__looks_at_locks(void)
{
	return !sonde__is_zero(&sonde__lock_flags.locks);
}

static inline bool sonde__looks_at_others(void)
{
	return !sonde__is_zero(&sonde__lock_flags.others);
}

static inline bool sonde__has_waiting(void)
{
	return !sonde__is_none(&sonde__lock_flags.waiting);
}

enum { SONDE__LOCKS_UNKNOWN = 2 }; /* in a flag: the functions behind are not known yet */

/* Finds the functions behind, unless it has been done. */
void sonde__next_lock_find(void);
/* Which one a pointer of sonde__next_lock has, if it has been found; NULL if it is none of them. */
const void *sonde__next_lock_behind(const void *pointer);
/* What is to be looked at from now on; waits for nobody. */
void sonde__lock_flags_set(bool locks, bool others);

#endif /* RUNTIME_NEXT_LOCK_H */
