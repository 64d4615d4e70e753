/*
 * par.h - the same work on every core
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef BASE_PAR_H
#define BASE_PAR_H

#include <pthread.h>
#include <stdbool.h>

enum { PAR_MOST = 8 };

/* How many threads pay: the processors this process may run on, at most PAR_MOST. */
int par_width(void);

/*
 * par_run() calls fn(0, ctx) ... fn(n-1, ctx), each in a thread of its own (the last one in
 * the caller's), and returns when all have.  Where a thread cannot be had, the caller does
 * its work too.
 */
void par_run(int n, void (*fn)(int i, void *ctx), void *ctx);

/* Something that goes on while the caller does other things. */
struct par_task {
	void (*fn)(void *ctx); /* private, as is the rest */
	void *ctx;
	pthread_t thread;
	bool started;
};

/*
 * par_start() calls fn(ctx) in a thread of its own, or right now where none can be had.  par_wait()
 * returns when that is over; also for a task that is all zero.
 */
void par_start(struct par_task *t, void (*fn)(void *ctx), void *ctx);
void par_wait(struct par_task *t);

#endif /* BASE_PAR_H */
