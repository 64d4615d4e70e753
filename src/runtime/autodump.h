/*
 * autodump.h - heap profiles that are taken and stored without being asked for
 *
 * Every period of the memory log (a minute if there is none) HeapInuse is looked at:
 *
 *	more than 'above'			a dump
 *	and after one was stored		a dump when it is 'growth' percent above that one
 *
 * A dump that could not be stored does not count, so the next period tries again.  Once a second
 * there is a cheaper look, for what does not wait for a minute: if memory has grown steeply, the
 * rules above are applied at once; and near a limit of the cgroup or of the process, or if the
 * limit would be reached within seconds, a dump is taken whatever the rules say, but only if more
 * is in use than at the last such dump, or less in between.
 *
 * The agent makes the profile; "sonded store" is started to store it (ship.h).  For the agent only,
 * but for the start.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef RUNTIME_AUTODUMP_H
#define RUNTIME_AUTODUMP_H

#include "runtime/agent.h"
#include "runtime/memstats.h"

/* What is asked for; in a thread of the host, after sonde__ship_prepare(). */
void sonde__autodump_set(const struct sonde__config *c);

/* When there is something to do (sonde__now()); does it, if it is time. */
uint64_t sonde__autodump_next(void);
void sonde__autodump_work(uint64_t now);
/* The memory log has just shown these. */
void sonde__autodump_see(const struct sonde__memstats *s);

/* The agent ends; the child of fork(). */
void sonde__autodump_end(void);
void sonde__autodump_forget(void);

/* Why there are no dumps though there should be (for comments), or NULL. */
const char *sonde__autodump_problem(void);
/* For /metrics. */
uint64_t sonde__autodump_stored(void);
uint64_t sonde__autodump_failed(void);

#endif /* RUNTIME_AUTODUMP_H */
