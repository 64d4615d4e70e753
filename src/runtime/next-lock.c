/*
 * next-lock.c - the C library's waiting functions behind our hooks
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "runtime/next-lock.h"

#include "runtime/next.h"

#include <stdint.h>
#include <string.h>

struct sonde__next_lock sonde__next_lock;
struct sonde__lock_flags sonde__lock_flags = { SONDE__LOCKS_UNKNOWN, SONDE__LOCKS_UNKNOWN, 1 };

/* Other functions have one version, or the same code for all. */
#if defined(__x86_64__)
#define COND_VERSION "GLIBC_2.3.2"
#else
#define COND_VERSION NULL
#endif

static const struct {
	const char *name, *version;
} names[] = {
	{ "pthread_mutex_lock", NULL },
	{ "pthread_mutex_trylock", NULL },
	{ "pthread_mutex_unlock", NULL },
	{ "pthread_mutex_timedlock", NULL },
	{ "pthread_mutex_clocklock", NULL },
	{ "pthread_rwlock_rdlock", NULL },
	{ "pthread_rwlock_wrlock", NULL },
	{ "pthread_rwlock_tryrdlock", NULL },
	{ "pthread_rwlock_trywrlock", NULL },
	{ "pthread_rwlock_timedrdlock", NULL },
	{ "pthread_rwlock_timedwrlock", NULL },
	{ "pthread_rwlock_clockrdlock", NULL },
	{ "pthread_rwlock_clockwrlock", NULL },
	{ "pthread_rwlock_unlock", NULL },
	{ "pthread_cond_wait", COND_VERSION },
	{ "pthread_cond_timedwait", COND_VERSION },
	{ "pthread_cond_clockwait", NULL },
	{ "sem_wait", NULL },
	{ "sem_trywait", NULL },
	{ "sem_timedwait", NULL },
	{ "sem_clockwait", NULL },
	{ "pthread_barrier_wait", NULL },
	{ "pthread_join", NULL },
	{ "pthread_tryjoin_np", NULL },
	{ "pthread_timedjoin_np", NULL },
	{ "pthread_clockjoin_np", NULL },
	{ "pthread_once", NULL },
	{ "mtx_lock", NULL },
	{ "mtx_trylock", NULL },
	{ "mtx_timedlock", NULL },
	{ "mtx_unlock", NULL },
	{ "cnd_wait", NULL },
	{ "cnd_timedwait", NULL },
	{ "thrd_join", NULL },
	{ "call_once", NULL },
};
_Static_assert(sizeof(names) / sizeof(names[0]) == sizeof(sonde__next_lock) / sizeof(void *),
	       "one name for each");

/* Whoever comes at the same time finds the same; the flags tell that all is there. */
void sonde__next_lock_find(void)
{
	static atomic_bool found;
	struct sonde__next_lock next;
	unsigned char unknown = SONDE__LOCKS_UNKNOWN;

	if (atomic_load_explicit(&found, memory_order_acquire))
		return;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		void *f = names[i].version ? sonde__next_version(names[i].name, names[i].version)
					   : sonde__next_symbol(names[i].name);

		memcpy((char *)&next + i * sizeof(f), &f, sizeof(f));
	}
	sonde__next_lock = next;
	if (atomic_exchange(&found, true))
		return;
	atomic_fetch_sub(&sonde__lock_flags.waiting, 1);
	atomic_compare_exchange_strong(&sonde__lock_flags.locks, &unknown, 0);
	unknown = SONDE__LOCKS_UNKNOWN;
	atomic_compare_exchange_strong(&sonde__lock_flags.others, &unknown, 0);
}

const void *sonde__next_lock_behind(const void *pointer)
{
	uintptr_t at = (uintptr_t)pointer - (uintptr_t)&sonde__next_lock;
	const void *f;

	if (at >= sizeof(sonde__next_lock) || at % sizeof(f) != 0)
		return NULL;
	memcpy(&f, (const char *)&sonde__next_lock + at, sizeof(f));
	return f;
}

void sonde__lock_flags_set(bool locks, bool others)
{
	sonde__next_lock_find();
	atomic_store_explicit(&sonde__lock_flags.locks, locks, memory_order_release);
	atomic_store_explicit(&sonde__lock_flags.others, others, memory_order_release);
}
