/*
 * process-memory.h - what the kernel says about the memory of this process
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef RUNTIME_PROCESS_MEMORY_H
#define RUNTIME_PROCESS_MEMORY_H

#include <stdint.h>

/* All in bytes. */
struct sonde__process_memory {
	int statm_error; /* negative errno: the next seven are not known */
	uint64_t rss, vms, shared, text, lib, data, dirty;
	int status_error; /* the same for these */
	uint64_t hwm, vmdata, stack, locked, swap, anon;
	uint64_t max_rss; /* of getrusage() */
};

void sonde__process_memory(struct sonde__process_memory *m);

#endif /* RUNTIME_PROCESS_MEMORY_H */
