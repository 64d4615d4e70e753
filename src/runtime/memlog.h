/*
 * memlog.h - a line about memory in the log, from time to time
 *
 * The first entry comes at once, each further one a multiple of the period later: a late one does
 * not make the next one late; those that would have been due meanwhile are left out.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef RUNTIME_MEMLOG_H
#define RUNTIME_MEMLOG_H

#include "runtime/memstats.h"

#include <stdint.h>

/* Starts anew with this period (ns; 0: no entries), at once.  Returns the one before.  Any thread.
 */
uint64_t sonde__memlog_set(uint64_t period);

/* What it is. */
uint64_t sonde__memlog_period(void);

/* For the agent: when there is something to do (sonde__now()); does it, if it is time. */
uint64_t sonde__memlog_next(void);
void sonde__memlog_work(uint64_t now);

/* The text of an entry. */
void sonde__memlog_text(struct sonde__buf *b, const struct sonde__memstats *s);

#endif /* RUNTIME_MEMLOG_H */
