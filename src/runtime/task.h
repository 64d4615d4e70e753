/*
 * task.h - what the kernel says about a thread of this process: /proc/self/task
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef RUNTIME_TASK_H
#define RUNTIME_TASK_H

#include "runtime/fd.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SONDE__TASK_ARGS = 6 };

struct sonde__task {
	int tid;
	char name[16];
	char state;      /* the kernel's letter: R, S, D, ...; 0: not known */
	uint32_t masked; /* signals it blocks: bit n - 1 is signal n, up to 31 */
	uint64_t cpu;    /* ns */
	uint64_t queued; /* ns that it waited for a CPU */
	uint64_t runs;   /* changes whenever it has run; 0: not known */
	bool blocked;    /* it sleeps in a system call, and what follows is known */
	long call;       /* its number */
	uint64_t args[SONDE__TASK_ARGS];
	uint64_t sp, pc; /* 'pc' is behind the instruction that made the call */
};

/* Calls 'found' for each thread of this process, the agent included. */
void sonde__tasks(void (*found)(int tid, void *context), void *context);

/* False: it is gone, or nothing is to be learned. */
bool sonde__task_read(struct sonde__task *t, int tid);
/* Only the call it sleeps in; false: it does not. */
bool sonde__task_call(struct sonde__task *t);
/* Only the times, and 'runs': the cheap part.  False: it is gone. */
bool sonde__task_times(struct sonde__task *t);
/* Whether it has slept ever since it was read; as far as can be seen, where 'runs' is not known. */
bool sonde__task_still(const struct sonde__task *before);
/*
 * The memory of this process, as a file: what may go away meanwhile is read through it.  Returns
 * how many bytes there were.
 */
bool sonde__mem_open(struct sonde__fd *mem);
size_t sonde__mem_read(const struct sonde__fd *mem, uint64_t from, void *to, size_t n);

#endif /* RUNTIME_TASK_H */
