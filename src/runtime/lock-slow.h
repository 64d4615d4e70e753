/*
 * lock-slow.h - calls that may wait, or end a wait, while somebody wants to know
 *
 * Each does all that its hook has to.  Hooks jump here, so the caller is the host.
 *
 * What a call does and returns is what the C library's function does and returns: it is called in
 * every case but one, in which its "try" form has just taken the lock.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef RUNTIME_LOCK_SLOW_H
#define RUNTIME_LOCK_SLOW_H

#include <pthread.h>
#include <semaphore.h>
#include <threads.h>
#include <time.h>

int sonde__slow_mutex_lock(pthread_mutex_t *m);
int sonde__slow_mutex_timedlock(pthread_mutex_t *m, const struct timespec *until);
int sonde__slow_mutex_clocklock(pthread_mutex_t *m, clockid_t clock, const struct timespec *until);
int sonde__slow_mutex_unlock(pthread_mutex_t *m);

int sonde__slow_rdlock(pthread_rwlock_t *l);
int sonde__slow_wrlock(pthread_rwlock_t *l);
int sonde__slow_timedrdlock(pthread_rwlock_t *l, const struct timespec *until);
int sonde__slow_timedwrlock(pthread_rwlock_t *l, const struct timespec *until);
int sonde__slow_clockrdlock(pthread_rwlock_t *l, clockid_t clock, const struct timespec *until);
int sonde__slow_clockwrlock(pthread_rwlock_t *l, clockid_t clock, const struct timespec *until);
int sonde__slow_rwlock_unlock(pthread_rwlock_t *l);

int sonde__slow_mtx_lock(mtx_t *m);
int sonde__slow_mtx_timedlock(mtx_t *m, const struct timespec *until);
int sonde__slow_mtx_unlock(mtx_t *m);

int sonde__slow_cond_wait(pthread_cond_t *c, pthread_mutex_t *m);
int sonde__slow_cond_timedwait(pthread_cond_t *c, pthread_mutex_t *m, const struct timespec *until);
int sonde__slow_cond_clockwait(pthread_cond_t *c, pthread_mutex_t *m, clockid_t clock,
			       const struct timespec *until);
int sonde__slow_cnd_wait(cnd_t *c, mtx_t *m);
int sonde__slow_cnd_timedwait(cnd_t *c, mtx_t *m, const struct timespec *until);

int sonde__slow_sem_wait(sem_t *s);
int sonde__slow_sem_timedwait(sem_t *s, const struct timespec *until);
int sonde__slow_sem_clockwait(sem_t *s, clockid_t clock, const struct timespec *until);
int sonde__slow_barrier_wait(pthread_barrier_t *b);
int sonde__slow_join(pthread_t t, void **result);
int sonde__slow_timedjoin(pthread_t t, void **result, const struct timespec *until);
int sonde__slow_clockjoin(pthread_t t, void **result, clockid_t clock,
			  const struct timespec *until);
int sonde__slow_thrd_join(thrd_t t, int *result);
int sonde__slow_once(pthread_once_t *control, void (*routine)(void));
void sonde__slow_call_once(once_flag *flag, void (*routine)(void));

#endif /* RUNTIME_LOCK_SLOW_H */
