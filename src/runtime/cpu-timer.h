/*
 * cpu-timer.h - a timer on the CPU time of one thread
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef RUNTIME_CPU_TIMER_H
#define RUNTIME_CPU_TIMER_H

#include "runtime/thread.h"

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * Starts to send SIGPROF to the thread at the ticks of its schedule: one in each 'period' ns of its
 * CPU time, at a random place.  'fine': by a perf event if there is one to be had and it costs
 * little.  Negative errno.
 */
int sonde__timer_start(struct sonde__thread *t, uint64_t period, bool fine);
void sonde__timer_stop(struct sonde__thread *t);

/*
 * Finds out whether a perf event is too dear for the thread, from how it has run since this was
 * asked last, or else since it began.  sonde__timer_coarsen() goes on with a POSIX timer, if it
 * can.  Both for the one who starts and stops timers.
 */
bool sonde__timer_costs(struct sonde__thread *t);
void sonde__timer_coarsen(struct sonde__thread *t);

/*
 * Which thread's timer sent this signal; NULL if it is not one of ours.  Handler-safe.
 */
struct sonde__thread *sonde__timer_owner(const siginfo_t *info);

/*
 * How many ticks of this thread have come due since it was asked last (handlers run late).
 * sonde__timer_again() asks for a signal at the next one.  Handler-safe.
 */
uint64_t sonde__timer_due(struct sonde__thread *t, uint64_t period);
void sonde__timer_again(const struct sonde__thread *t);

/* How far another thread is behind its schedule; ns of its CPU time. */
uint64_t sonde__timer_behind(const struct sonde__thread *t);

#endif /* RUNTIME_CPU_TIMER_H */
