/*
 * par.c - the same work on every core
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/par.h"

#include <sched.h>

struct job {
	void (*fn)(int i, void *ctx);
	void *ctx;
	int i;
	pthread_t thread;
	bool started;
};

int par_width(void)
{
	cpu_set_t set;
	int n = 1;

	if (sched_getaffinity(0, sizeof(set), &set) == 0)
		n = CPU_COUNT(&set);
	return n > PAR_MOST ? PAR_MOST : n;
}

static void *start(void *arg)
{
	struct job *j = arg;

	j->fn(j->i, j->ctx);
	return NULL;
}

void par_run(int n, void (*fn)(int i, void *ctx), void *ctx)
{
	struct job jobs[PAR_MOST];
	int extra = n < PAR_MOST ? n - 1 : PAR_MOST;

	for (int i = 0; i < extra; i++) {
		jobs[i] = (struct job){ fn, ctx, i, 0, false };
		jobs[i].started = pthread_create(&jobs[i].thread, NULL, start, &jobs[i]) == 0;
	}
	for (int i = extra < 0 ? 0 : extra; i < n; i++)
		fn(i, ctx);
	for (int i = 0; i < extra; i++) {
		if (jobs[i].started)
			pthread_join(jobs[i].thread, NULL);
		else
			fn(i, ctx);
	}
}

static void *start_task(void *arg)
{
	struct par_task *t = arg;

	t->fn(t->ctx);
	return NULL;
}

void par_start(struct par_task *t, void (*fn)(void *ctx), void *ctx)
{
	*t = (struct par_task){ .fn = fn, .ctx = ctx };
	t->started = pthread_create(&t->thread, NULL, start_task, t) == 0;
	if (!t->started)
		fn(ctx);
}

void par_wait(struct par_task *t)
{
	if (t->started)
		pthread_join(t->thread, NULL);
	t->started = false;
}
