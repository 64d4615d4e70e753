/*
 * events.h - how many events a sampler caught to arrive at a number
 *
 * What a profile says has been scaled up: a sampled object stands for all that were not sampled.
 * How sure a number is depends on how many were.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef REPORT_EVENTS_H
#define REPORT_EVENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct profile;
struct sample;

/* How many of 'objects' of this size the sampler saw, which looks once every 'period' bytes. */
double objects_seen(double objects, double size, double period);

/* The size of the objects of a sample: its label, or the mean. */
double object_size(const struct profile *p, const struct sample *s, double bytes, double objects);

/* How the events of one sample type are found. */
struct event_rule {
	enum {
		EVENTS_OF_HEAP, /* objects, each sampled with a chance that its size gives */
		EVENTS_OF_TIME, /* ticks of a clock: the value divided by the period */
		EVENTS_COUNTED, /* another number of the sample counts them */
		EVENTS_ARE,     /* the number itself counts them */
		EVENTS_UNKNOWN, /* one per sample, which is fewer than there were */
	} how;
	uint32_t count, bytes; /* sample types, of those that need one */
	double period;
	double scale; /* how many events one that was caught stands for */
	bool uneven;  /* events weigh very differently: see event_spread() */
};

struct event_rule event_rule(const struct profile *p, uint32_t type);

/* How many events make up 'values', those of the sample 's'; never negative. */
double events_of(const struct event_rule *r, const struct profile *p, const struct sample *s,
		 const int64_t *values, uint32_t type);

/*
 * The mean square of so many events compared with their mean, squared.  That of waits has no limit:
 * the more there are, the longer is the longest of them.  Their distribution is taken to have a
 * tail that makes this grow with the root of their number, which holds for all but the wildest.
 */
double event_spread(const struct event_rule *r, double events);

/* What they are called: "objects", "ticks", "events". */
const char *event_name(const struct event_rule *r);

#endif /* REPORT_EVENTS_H */
