/*
 * profiles.h - the profiles there are, and how they are taken
 *
 * A profile that has a name is a struct sonde__kind, in a file of its own (profile-*.c); what they
 * share - parameters, differences over some seconds, answers - is in profiles.c.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef RUNTIME_PROFILES_H
#define RUNTIME_PROFILES_H

#include "runtime/job.h"
#include "runtime/output.h"
#include "runtime/runtime.h"

struct sonde__kind {
	const char *name;
	struct sonde__value_type types[SONDE__TYPES];
	size_t ntypes;
	struct sonde__value_type period_type;
	const char *default_type;
	bool hide_allocator;
	uint64_t (*period)(void); /* NULL: 1 */
	/* Adds all samples, and the comments without which they would mislead. */
	void (*add)(struct sonde__output *o, const struct sonde__request *rq);
	/* The text form for debug= anything but 0. */
	void (*text)(struct sonde__buf *b, const struct sonde__request *rq, int64_t debug);
	/* How many stacks it has, for the index page. */
	size_t (*count)(void);
	/* For the seconds of a difference, what the request asks for; 0: nothing.  And back. */
	unsigned (*open)(const struct sonde__request *rq);
	void (*close)(unsigned window);
};

extern const struct sonde__kind sonde__kind_allocs, sonde__kind_block, sonde__kind_goroutine,
	sonde__kind_heap, sonde__kind_mutex, sonde__kind_peak, sonde__kind_threadcreate,
	sonde__kind_threads;
/* All of them by name, and NULL. */
extern const struct sonde__kind *const sonde__kinds[];

/*
 * Takes a profile, and gives it to 'sink' in pieces (output.h); with little memory, whatever there
 * is of it.
 */
bool sonde__profile_stream(const struct sonde__kind *k, bool names,
			   bool (*sink)(const void *bytes, size_t n));
void sonde__profile_named(struct sonde__job *job, const char *name);
void sonde__profile_cpu(struct sonde__job *job);
void sonde__profile_trace(struct sonde__job *job);
/*
 * In a child of fork(): those that were being taken are the parent's.  Their memory is not given
 * back: the agent may just have been at it.
 */
void sonde__profiles_forget(void);
void sonde__profile_cpu_forget(void);
void sonde__profile_trace_forget(void);

/* For those that are taken over some time: the value of a parameter as a number, 0 if it is none.
 */
int64_t sonde__int_param(const struct sonde__request *rq, const char *key);
/* Whether the profile is to carry names. */
bool sonde__wants_names(const struct sonde__request *rq);
/* Answers with 'o', which is consumed; NULL: it could not be collected. */
void sonde__respond_profile(struct sonde__job *job, struct sonde__output *o, const char *name,
			    const char *delta);

/* Comments on what a reader must know to trust the numbers: a part that is off, things lost. */
void sonde__comment_off(struct sonde__output *o, enum sonde__part part, const char *what);
void sonde__comment_count(struct sonde__output *o, uint64_t n, const char *what);
/* That samples go without labels that should be there. */
void sonde__comment_labels(struct sonde__output *o);

/* A stack in a text: its addresses, and a line for each frame; labels go between the two. */
void sonde__text_stack(struct sonde__buf *b, uint32_t stack);
void sonde__text_addresses(struct sonde__buf *b, uint32_t stack);
void sonde__text_frames(struct sonde__buf *b, uint32_t stack);
/*
 * Files and lines of stacks that are to come: sonde__text_want() for each, 'pcs' being empty at
 * first, then sonde__text_find() once, since that is what takes time.
 */
void sonde__text_want(struct sonde__buf *pcs, uint32_t stack);
void sonde__text_find(struct sonde__buf *pcs);
/* Where the binaries are in memory, at the end: readers find names by it. */
void sonde__text_mappings(struct sonde__buf *b);
/* The same as in dumps of goroutines: two lines for each frame; who started the thread. */
void sonde__text_dump(struct sonde__buf *b, uint32_t stack);
void sonde__text_created_by(struct sonde__buf *b, uint32_t stack);

/* agent.c: the arguments the program was started with, separated by NUL. */
const char *sonde__cmdline(size_t *n);

#endif /* RUNTIME_PROFILES_H */
