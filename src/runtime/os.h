/*
 * os.h - what the runtime takes from the system: memory, time, files, locks
 *
 * None of it calls malloc() or stdio.  Everything may be called from hooks; what may also be called
 * from a signal handler says so.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef RUNTIME_OS_H
#define RUNTIME_OS_H

#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Zeroed pages, counted in sonde__stats.own_bytes; NULL when the system has none. */
void *sonde__map(size_t bytes);
void sonde__unmap(void *p, size_t bytes);
/*
 * Gives the memory back, but not the addresses: who still reads there reads zeros.  There is no way
 * back; nor any more of own_bytes.
 */
void sonde__discard(void *p, size_t bytes);

/* Room that is never given back, taken piece by piece from chunks; the caller has a lock. */
struct sonde__room {
	size_t chunk, most; /* bytes of a chunk, and how many there may be */
	char *at;           /* private, as are the others */
	size_t used, chunks;
};
/* NULL when it is used up, or there is no memory. */
void *sonde__room_take(struct sonde__room *r, size_t bytes);

/* Handler-safe. */
uint64_t sonde__now(void);        /* CLOCK_MONOTONIC, ns */
uint64_t sonde__now_about(void);  /* the same, up to 10 ms ago, for a fifth of the time */
uint64_t sonde__thread_cpu(void); /* CPU time of this thread, ns */
int sonde__tid(void);             /* asks the kernel */

uint64_t sonde__wall(void); /* CLOCK_REALTIME, ns */

/* How many threads the process has, ours included; 0 if that cannot be known. */
unsigned sonde__thread_count(void);

/*
 * A lock that a thread holds for a few instructions only.  sonde__trylock() is handler-safe; the
 * others are not.  fork() in another thread may leave it locked in the child: fork.c takes all.
 */
struct sonde__lock {
	atomic_uint state;
};
void sonde__lock(struct sonde__lock *l);
bool sonde__trylock(struct sonde__lock *l);
void sonde__unlock(struct sonde__lock *l);

/* Waits up to 'ns' while the word is 'value'; may return earlier. */
void sonde__futex_wait(atomic_uint *at, unsigned value, uint64_t ns);
/* Sets it, and wakes everybody who waits. */
void sonde__futex_set(atomic_uint *at, unsigned value);

/* The whole of a (small) file into mapped memory; NULL on failure.  Free with sonde__unmap(). */
char *sonde__slurp(const char *path, size_t max, size_t *size, size_t *mapped);

/*
 * snprintf() for %s %.*s %d %u %zu %lu %llu %x %llx %p %c %%, widths and leading zeros; always
 * terminated; returns what there would be to write; handler-safe.
 */
size_t sonde__format(char *to, size_t cap, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
size_t sonde__vformat(char *to, size_t cap, const char *fmt, va_list args)
	__attribute__((format(printf, 3, 0)));

/* A system call; what the kernel answered (negative errno), errno untouched.  Handler-safe. */
long sonde__syscall(long number, long a, long b, long c, long d, long e, long f);

#endif /* RUNTIME_OS_H */
