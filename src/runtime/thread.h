/*
 * thread.h - what the runtime keeps per thread
 *
 * Thread-local variables are of the initial-exec model and few: static TLS is scarce for libraries
 * that are loaded late.  Everything else is in a struct sonde__thread from mapped memory, made when
 * a thread starts under our pthread_create() hook, or when it first gets into a slow path, and
 * reused when the thread has ended.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef RUNTIME_THREAD_H
#define RUNTIME_THREAD_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

struct sonde__ring; /* cpu.c: samples on their way to the agent */

struct sonde__thread {
	struct sonde__thread *next;      /* all that were ever made; never freed */
	atomic_int tid;                  /* 0: free for another thread */
	uintptr_t stack_low, stack_high; /* 0: not known */
	uint64_t random;                 /* state of its generator, never 0 */
	char name[16];
	/* cpu.c */
	timer_t timer;
	bool has_timer;
	struct sonde__ring *ring;
};

struct sonde__tls {
	int64_t until_sample;       /* bytes until the next allocation is sampled */
	struct sonde__thread *self; /* NULL: not made yet */
	int inside;                 /* the runtime itself is at work: its calls are not counted */
};
extern __thread struct sonde__tls sonde__tls __attribute__((tls_model("initial-exec")));

/* This thread's, made if need be; NULL when there is no memory.  Not handler-safe. */
struct sonde__thread *sonde__self(void);

/* All threads, also those that ended (tid 0).  Any thread, no lock. */
struct sonde__thread *sonde__threads(void);

/* Registers threads that were started before we were (/proc/self/task).  The agent calls it. */
void sonde__threads_scan(void);

/* A random number; 'state' must not be 0 at first.  Handler-safe. */
static inline uint64_t sonde__random(uint64_t *state)
{
	uint64_t x = *state;

	x ^= x << 13;
	x ^= x >> 7;
	x ^= x << 17;
	*state = x;
	return x * 0x2545f4914f6cdd1du;
}

#endif /* RUNTIME_THREAD_H */
