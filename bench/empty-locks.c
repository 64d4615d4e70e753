/*
 * empty-locks.c - locks that pass calls on and do nothing else: the least a hook costs
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <dlfcn.h>
#include <pthread.h>

static int (*next_lock)(pthread_mutex_t *);
static int (*next_unlock)(pthread_mutex_t *);
static int (*next_rdlock)(pthread_rwlock_t *);
static int (*next_wrlock)(pthread_rwlock_t *);
static int (*next_rwunlock)(pthread_rwlock_t *);

__attribute__((constructor)) static void resolve(void)
{
	*(void **)&next_lock = dlsym(RTLD_NEXT, "pthread_mutex_lock");
	*(void **)&next_unlock = dlsym(RTLD_NEXT, "pthread_mutex_unlock");
	*(void **)&next_rdlock = dlsym(RTLD_NEXT, "pthread_rwlock_rdlock");
	*(void **)&next_wrlock = dlsym(RTLD_NEXT, "pthread_rwlock_wrlock");
	*(void **)&next_rwunlock = dlsym(RTLD_NEXT, "pthread_rwlock_unlock");
}

int pthread_mutex_lock(pthread_mutex_t *m)
{
	return next_lock(m);
}

int pthread_mutex_unlock(pthread_mutex_t *m)
{
	return next_unlock(m);
}

int pthread_rwlock_rdlock(pthread_rwlock_t *l)
{
	return next_rdlock(l);
}

int pthread_rwlock_wrlock(pthread_rwlock_t *l)
{
	return next_wrlock(l);
}

int pthread_rwlock_unlock(pthread_rwlock_t *l)
{
	return next_rwunlock(l);
}
