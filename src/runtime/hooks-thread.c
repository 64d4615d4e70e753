/*
 * hooks-thread.c - threads are known from their first instruction on
 *
 * A hook of pthread_create() or thrd_create() takes the stack of who calls it, for the profile of
 * where threads come from, and a record before the thread exists, and passes it to a function of
 * ours that the thread starts in; that one makes the record its own and jumps to where the host
 * wanted to go. Without a record the call goes through as it came.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "runtime/caller-stack.h"
#include "runtime/creators.h"
#include "runtime/labels.h"
#include "runtime/next.h"
#include "runtime/thread.h"

#include <errno.h>
#include <pthread.h>
#include <stddef.h>
#include <threads.h>

enum { PAGE = 4096 };

typedef int create_function(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);

static create_function *next_create(void)
{
	static _Atomic(create_function *) next;
	create_function *f = atomic_load_explicit(&next, memory_order_relaxed);

	if (f)
		return f;
	f = (create_function *)sonde__next_symbol("pthread_create");
	atomic_store_explicit(&next, f, memory_order_relaxed);
	return f;
}

typedef int c11_function(thrd_t *, thrd_start_t, void *);

static c11_function *next_c11(void)
{
	static _Atomic(c11_function *) next;
	c11_function *f = atomic_load_explicit(&next, memory_order_relaxed);

	if (f)
		return f;
	f = (c11_function *)sonde__next_symbol("thrd_create");
	atomic_store_explicit(&next, f, memory_order_relaxed);
	return f;
}

static size_t stack_size(const pthread_attr_t *attr)
{
	pthread_attr_t standard;
	size_t size = 0;

	if (attr) {
		pthread_attr_getstacksize(attr, &size);
	} else if (pthread_attr_init(&standard) == 0) {
		pthread_attr_getstacksize(&standard, &size);
		pthread_attr_destroy(&standard);
	}
	return size;
}

/* The page we are in is all there; what is above it belongs to those who called us. */
static void make_own(struct sonde__thread *t, uintptr_t here)
{
	uintptr_t high = (here + 2 * sizeof(void *) + PAGE - 1) & ~(uintptr_t)(PAGE - 1);
	uintptr_t low = t->stack_size < high ? high - t->stack_size : 0;

	sonde__labels_use(t->labels);
	sonde__thread_begin(t, low, high);
}

static void *begin(void *record)
{
	struct sonde__thread *t = record;
	void *(*start)(void *) = t->start;
	void *arg = t->arg;

	make_own(t, (uintptr_t)__builtin_frame_address(0));
	return start(arg);
}

/* A C11 thread returns an int. */
static int begin_c11(void *record)
{
	struct sonde__thread *t = record;
	thrd_start_t start = (thrd_start_t)(void (*)(void))t->start;
	void *arg = t->arg;

	make_own(t, (uintptr_t)__builtin_frame_address(0));
	return start(arg);
}

/* A record for a thread to be started; NULL: it is not followed.  Our own have no creator. */
static struct sonde__thread *prepare(void *(*start)(void *), void *arg, const pthread_attr_t *attr,
				     const void *caller)
{
	struct sonde__thread *t = sonde__threads_on() ? sonde__thread_reserve(start, arg) : NULL;

	if (!t)
		return NULL;
	t->stack_size = stack_size(attr);
	t->labels = sonde__labels_now();
	t->creator = sonde__tls.inside ? 0 : sonde__caller_stack(caller);
	return t;
}

/* The record is the thread's by now, or nobody's. */
static void settle(struct sonde__thread *t, uint32_t creator, bool failed)
{
	if (failed)
		sonde__thread_end(t);
	else if (!sonde__tls.inside)
		sonde__creator_count(creator);
}

__attribute__((visibility("default"))) int
pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*start)(void *), void *arg)
{
	create_function *next = next_create();
	struct sonde__thread *t;
	uint32_t creator;
	int failed;

	if (!next)
		return EAGAIN;
	t = prepare(start, arg, attr, __builtin_return_address(0));
	if (!t)
		return next(thread, attr, start, arg);
	creator = t->creator;
	failed = next(thread, attr, begin, t);
	settle(t, creator, failed);
	return failed;
}

__attribute__((visibility("default"))) int thrd_create(thrd_t *thread, thrd_start_t start,
						       void *arg)
{
	c11_function *next = next_c11();
	struct sonde__thread *t;
	uint32_t creator;
	int status;

	if (!next)
		return thrd_error;
	t = prepare((void *(*)(void *))(void (*)(void))start, arg, NULL,
		    __builtin_return_address(0));
	if (!t)
		return next(thread, start, arg);
	creator = t->creator;
	status = next(thread, begin_c11, t);
	settle(t, creator, status != thrd_success);
	return status;
}
