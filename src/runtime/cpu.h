/*
 * cpu.h - where the CPU time goes, while somebody asks
 *
 * Every thread has a timer of its own, which counts the CPU time of that thread only.  The first
 * tick comes after a random part of the period, so that a thread that runs for half a period is
 * seen half of the time, and the sum is right.  A tick that came due but reached nobody (a thread
 * ended first, or blocks SIGPROF) is not forgotten: the thread's clock tells.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef RUNTIME_CPU_H
#define RUNTIME_CPU_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sonde__thread;

enum {
	SONDE__CPU_MAX_HZ = 1000,
};

/* Ticks of one stack, under one set of labels (labels.h). */
struct sonde__cpu_row {
	uint32_t stack; /* 0: lost */
	uint32_t labels;
	uint64_t ticks; /* overruns included */
};

/*
 * sonde__cpu_start() arms a timer per thread, 'hz' times per second of its CPU time.  0, -EBUSY
 * when a profile is running, -ENOTSUP and a reason by sonde__why_off(), -ENOMEM.
 * sonde__cpu_poll() moves samples from the rings to the table; the agent is to call it again after
 * as many ns as it says.  sonde__cpu_stop() disarms, waits for late ticks, and gives the rows as
 * sonde__heap_snapshot() does; '*hz' is what was used.
 */
int sonde__cpu_start(unsigned hz);
uint64_t sonde__cpu_poll(void);
struct sonde__cpu_row *sonde__cpu_stop(size_t *n, size_t *mapped, unsigned *hz);

/* Puts our handler of SIGPROF in place; why it cannot be there, NULL if it is. */
const char *sonde__cpu_prepare(void);
/* Whether SIGPROF is ours or nobody's; whether this is our handler. */
bool sonde__cpu_owns_signal(void);
bool sonde__cpu_is_handler(const void *handler);
/* The host wants SIGPROF for itself: ends a profile that runs; no tick comes after the return. */
void sonde__cpu_give_way(void);

/* hooks-signal.c: the C library's sigaction(), not ours. */
int sonde__next_sigaction(int number, const struct sigaction *act, struct sigaction *old);

/*
 * hooks-exec.c: this thread is about to become another program, which must not get its ticks; it
 * did not, after all.  NULL: there is nothing to be brought back.
 */
struct sonde__thread *sonde__cpu_exec_begin(void);
void sonde__cpu_exec_failed(struct sonde__thread *t);

/* thread.c: this thread begins, ends; another one is found to be gone. */
void sonde__cpu_thread_begin(struct sonde__thread *t);
void sonde__cpu_thread_end(struct sonde__thread *t);
void sonde__cpu_thread_gone(struct sonde__thread *t);

#endif /* RUNTIME_CPU_H */
