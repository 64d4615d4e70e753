/*
 * contention.h - how long threads waited: for which stack, and because of which
 *
 * Two profiles, as Go has them.  "block": the stack that waited, for whatever it was.  "mutex": the
 * stack that gave a mutex or a rwlock back, with the time all others had waited for it.
 *
 * A mutex event is recorded with probability 1/fraction, and counts for 'fraction' of them.
 * (Unlocks that end nobody's wait, because one that was woken up was too late, may be many: their
 * time is recorded as that of waits is, with a rate of its own.)  A wait is recorded if it is at
 * least as long as the rate; a shorter one with probability length/rate, and counts for rate/length
 * of them, so for 'rate' nanoseconds.  Counts are kept as what they stand for: rates may change at
 * any time.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef RUNTIME_CONTENTION_H
#define RUNTIME_CONTENTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum sonde__contention { SONDE__MUTEX, SONDE__BLOCK, SONDE__CONTENTIONS };

/* The rate that was asked for; 0: off.  Setting it returns the former one. */
uint64_t sonde__contention_rate(enum sonde__contention kind);
uint64_t sonde__contention_set_rate(enum sonde__contention kind, uint64_t rate);
/* The rate in force: the finest of that one and of those of all windows. */
uint64_t sonde__contention_rate_now(enum sonde__contention kind);

/*
 * A window: for as long as it is open events are recorded with 'rate' at least.  Returns its
 * number, or 0 if too many are open.  Closing 0 does nothing.
 */
unsigned sonde__contention_open(enum sonde__contention kind, uint64_t rate);
void sonde__contention_close(unsigned window);

/* A trace has begun or ended: meanwhile waits are measured, too. */
void sonde__contention_look(void);

/*
 * Records one wait of 'ns', if it is sampled.  For mutex: of the 'n' waits that end here, 'ns' in
 * all.  'caller' is where the host called the hook: the stack begins there.
 */
void sonde__contention_record(enum sonde__contention kind, uint64_t ns, uint32_t n,
			      const void *caller);
/* The random numbers of this thread, for tests. */
void sonde__contention_seed(uint64_t seed);

struct sonde__contention_row {
	uint32_t stack, labels;
	double count;
	uint64_t ns;
};

/*
 * A copy of all rows of that kind, those with the longest waits first, in memory to be given to
 * sonde__unmap() ('*mapped' bytes).  NULL and 0 if there are none.
 */
struct sonde__contention_row *sonde__contention_snapshot(enum sonde__contention kind, size_t *n,
							 size_t *mapped);

#endif /* RUNTIME_CONTENTION_H */
