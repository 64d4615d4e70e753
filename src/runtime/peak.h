/*
 * peak.h - the heap as it was when there was most of it
 *
 * While the heap grows there is nothing to do: the peak is now.  When something is about to go, and
 * there is more than ever by more than a small step, the counts of what lives are copied: by the
 * thread that frees, as it would be too late for anybody else.  Copying takes at most a thousandth
 * of the time there is; peaks that come too fast for that are missed, and comments show by how
 * much.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef RUNTIME_PEAK_H
#define RUNTIME_PEAK_H

#include "runtime/heap.h"

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

/* Estimated bytes that live above which a copy is due. */
extern atomic_llong sonde__peak_limit __attribute__((visibility("hidden")));

/* heap.c: something goes, of 'bytes' that live. */
void sonde__peak_passed(int64_t bytes);

struct sonde__peak {
	uint64_t wall;   /* when it was */
	int64_t bytes;   /* that lived then */
	int64_t highest; /* that ever lived; more than that by what was missed */
};

/*
 * The rows that lived at the peak, with 'allocs' as many as lived and no 'frees', in memory as that
 * of sonde__heap_snapshot().
 */
struct sonde__heap_row *sonde__peak_rows(struct sonde__peak *p, size_t *n, size_t *mapped);

/* For fork(): nobody copies while the process is copied. */
void sonde__peak_lock(void);
void sonde__peak_unlock(void);

#endif /* RUNTIME_PEAK_H */
