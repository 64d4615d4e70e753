/*
 * job.h - a request that is being answered, by the agent
 *
 * Most requests are answered at once.  A CPU profile, a difference over some seconds and a trace
 * have to wait: 'until' tells when to go on, and nothing blocks in between.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef RUNTIME_JOB_H
#define RUNTIME_JOB_H

#include "runtime/agent.h"
#include "runtime/buf.h"

struct sonde__output;

struct sonde__job {
	struct sonde__request rq; /* what it points to outlives the job */
	struct sonde__response rs;
	uint64_t until; /* sonde__now() when to call sonde__job_finish(); 0: 'rs' is complete */
	uint64_t began; /* sonde__now() */
	void (*then)(struct sonde__job *job);
	void (*drop)(struct sonde__job *job);
	/* of those that wait */
	const struct sonde__kind *kind;
	uint64_t wall;
	struct sonde__output *before;
	unsigned window; /* what is to be closed when the difference is taken */
};

/* Starts on 'rq', which the caller has set; all else is zero. */
void sonde__job_start(struct sonde__job *job);
/* Goes on: the time has come, or the runtime is about to end. */
void sonde__job_finish(struct sonde__job *job);
/* Nobody wants the answer any more. */
void sonde__job_cancel(struct sonde__job *job);
/* Writes the access line. */
void sonde__job_log(const struct sonde__job *job);

/* Whether a CPU profile is running: its rings need to be emptied. */
bool sonde__job_needs_polling(void);

/* Helpers for answers: handle.c */
void sonde__respond(struct sonde__response *rs, int status, const char *headers,
		    struct sonde__buf *body);
/* As Go's pprof handlers: X-Go-Pprof, the text and a newline. */
void sonde__respond_error(struct sonde__response *rs, int status, const char *text);

/* The parameter of a request, from the query or a form in its body; "" if there is none. */
bool sonde__param(const struct sonde__request *rq, const char *key, char *to, size_t cap);

/* Pages: pages.c, metrics.c */
void sonde__index_page(struct sonde__buf *b);
void sonde__metrics_page(struct sonde__buf *b);
/* Answers counted, for /metrics. */
void sonde__metrics_count(const struct sonde__response *rs);

#endif /* RUNTIME_JOB_H */
