/*
 * cpu-perf.h - a finer timer on the CPU time of one thread, where the system allows it
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef RUNTIME_CPU_PERF_H
#define RUNTIME_CPU_PERF_H

#include "runtime/thread.h"

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

/* Whether the system lets us have such events. */
bool sonde__perf_allowed(void);

/*
 * Makes an event that will send one SIGPROF to the thread when it has run for so long as
 * sonde__perf_again() says.  It has a file, t->fd, out of the way of the host's.  Negative errno:
 * the system does not allow it, or has no files left.
 */
int sonde__perf_start(struct sonde__thread *t);
void sonde__perf_stop(struct sonde__thread *t);

/* In 'ns' of CPU time from now on; handler-safe. */
void sonde__perf_again(const struct sonde__thread *t, uint64_t ns);

/* Which thread's event sent this signal, or NULL; handler-safe. */
struct sonde__thread *sonde__perf_owner(const siginfo_t *info);

/* In a child of fork(): the events are the parent's. */
void sonde__perf_forget(struct sonde__thread *t);

#endif /* RUNTIME_CPU_PERF_H */
