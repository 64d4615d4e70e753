/*
 * ages.h - how long ago the sampled allocations that still live were made
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef RUNTIME_AGES_H
#define RUNTIME_AGES_H

#include <stddef.h>
#include <stdint.h>

enum { SONDE__AGES = 7 };

/* Which step an age in nanoseconds is in, from 0 on, and what a person calls that. */
unsigned sonde__age_step(uint64_t age);
const char *sonde__age_name(unsigned step); /* "<1s", "1s–10s", ... ">1d" */

/* How many samples of a row live, by their age. */
struct sonde__ages {
	uint32_t live[SONDE__AGES];
};

/*
 * Those of the first 'rows' rows of the heap (sonde__heap_snapshot()), in memory to be given to
 * sonde__unmap() ('*mapped' bytes); NULL when there is none.
 */
struct sonde__ages *sonde__ages_count(size_t rows, size_t *mapped);

#endif /* RUNTIME_AGES_H */
