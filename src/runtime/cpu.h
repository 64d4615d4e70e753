/*
 * cpu.h - where the CPU time goes, while somebody asks
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef RUNTIME_CPU_H
#define RUNTIME_CPU_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Ticks of one stack. */
struct sonde__cpu_row {
	uint32_t stack; /* 0: lost */
	uint64_t ticks; /* overruns included */
};

/*
 * sonde__cpu_start() arms a timer per thread, 'hz' times per second of its CPU time.  0, -EBUSY
 * when a profile is running, -ENOTSUP and a reason by sonde__why_off().  sonde__cpu_poll() moves
 * samples from the rings to the table: the agent calls it ten times a second.  sonde__cpu_stop()
 * disarms, waits for late ticks, and gives the rows as sonde__heap_snapshot() does; '*hz' is what
 * was used.
 */
int sonde__cpu_start(unsigned hz);
void sonde__cpu_poll(void);
struct sonde__cpu_row *sonde__cpu_stop(size_t *n, size_t *mapped, unsigned *hz);

#endif /* RUNTIME_CPU_H */
