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
#include <stddef.h>
#include <stdint.h>

struct sonde__tls;
struct sonde__ring; /* cpu.c: samples on their way to the agent */

enum {
	SONDE__UNBORN = -1, /* in place of a tid: taken for a thread that is about to start */
};

struct sonde__thread {
	struct sonde__thread *next;      /* all that were ever made; never freed */
	struct sonde__thread *next_free; /* private */
	atomic_int tid;                  /* 0: free for another thread */
	uint32_t number;                 /* sonde__thread_at() */
	bool loose;                      /* private: nobody will tell when it ends */
	bool reserved;                   /* private: taken before its thread was started */
	uint64_t order;                  /* private: how many had been reserved by then; 0: none */
	int goodbyes;                    /* rounds of destructors it has been through */
	uintptr_t stack_low, stack_high; /* 0: not known */
	size_t stack_size;               /* that it was asked to start with */
	uint64_t random;                 /* state of its generator, never 0 */
	void *(*start)(void *);          /* its first function; NULL: not known */
	void *arg;
	uint32_t labels;  /* of the thread that started it; labels.h */
	uint32_t creator; /* the stack that started it; stacks.h; 0: not known */
	_Atomic(const struct sonde__tls *) tls; /* its own, while it lives; NULL: not known */
	/* cpu.c, cpu-timer.c */
	atomic_uint armed;    /* the profile it takes part in; 0: none */
	atomic_bool missed;   /* a tick came while that was being changed */
	int fd;               /* of its perf event; -1: it has a timer instead */
	int timer;            /* the kernel's number */
	bool restless;        /* it mostly runs for a moment only, as far as is known */
	uint64_t runs, ran;   /* how often, and for how long, when that was last looked at */
	uint64_t base;        /* its CPU time when it was armed; ns */
	uint64_t stratum;     /* how many periods since then have had their tick */
	uint64_t next_tick;   /* CPU time of the next one */
	uint64_t seen;        /* CPU time when it was last looked at */
	uint64_t tick_random; /* state of a generator for the handler alone */
	atomic_ullong cycles; /* spent in the handler */
	_Atomic(struct sonde__ring *) ring;
};

struct sonde__tls {
	uint64_t until;             /* bytes to be allocated until hooks go the slow way; heap.h */
	struct sonde__thread *self; /* NULL: not made yet */
	int inside;                 /* the runtime itself is at work: its calls are not counted */
	int ended;                  /* the last destructors run: there is no 'self' any more */
	uint32_t labels;            /* labels.h */
};
extern __thread struct sonde__tls sonde__tls __attribute__((tls_model("initial-exec")));

/*
 * Gets ready to follow threads: from here on pthread_create() takes note of them.  The agent calls
 * it when it starts; a second call does nothing.
 */
void sonde__threads_start(void);
/* Whether it was called, and in this process: a child of fork() starts anew. */
bool sonde__threads_on(void);

/*
 * This thread's, made if need be; NULL when there is no memory, or when the thread is about to end.
 * Not handler-safe.
 */
struct sonde__thread *sonde__self(void);

/* All threads, also those that ended (tid 0).  Any thread, no lock. */
struct sonde__thread *sonde__threads(void);
/* The one with that number, or NULL; handler-safe. */
struct sonde__thread *sonde__thread_at(uint32_t number);

/*
 * Registers threads that were started before we were or behind our back (/proc/self/task), and
 * frees what belonged to threads that ended so.  The agent calls it.
 */
void sonde__threads_scan(void);
/*
 * How many threads are there that nobody saw being started: the first one, those from before our
 * time.  As of the last scan.
 */
uint64_t sonde__threads_unseen(void);

/* The agent says who it is when it starts: it is no thread of the host, and never sampled. */
void sonde__thread_is_agent(void);
void sonde__thread_is_aside(void); /* the same for aside.c's */
/* Whether that is one of our own threads. */
bool sonde__thread_is_ours(int tid);

/* hooks-thread.c: a record for a thread to be started; it begins; it ends, or never began. */
struct sonde__thread *sonde__thread_reserve(void *(*start)(void *), void *arg);
void sonde__thread_begin(struct sonde__thread *t, uintptr_t low, uintptr_t high);
void sonde__thread_end(struct sonde__thread *t);

/*
 * Learns where the stack of this thread is, which runs at 'sp'; nothing happens if that cannot be
 * known.  Handler-safe.
 */
void sonde__thread_find_stack(struct sonde__thread *t, uintptr_t sp);

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
