/*
 * aside.c - a second thread, for what may have to wait for the host
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "runtime/aside.h"

#include "runtime/guard.h"
#include "runtime/os.h"
#include "runtime/runtime.h"
#include "runtime/thread.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/prctl.h>

enum { STACK = 256 << 10 };
/* ns */
static const uint64_t last_wait = 100000000, birth_wait = 500000000, forever = UINT64_MAX / 2;

enum { NONE, IDLE, BUSY, ENDING };

static struct {
	atomic_uint state; /* futex */
	atomic_uint known; /* futex: 1 when it is known as ours */
	void (*work)(void);
	pthread_t thread;
} aside;

static void account(uint64_t *before)
{
	uint64_t cpu = sonde__thread_cpu();

	atomic_fetch_add_explicit(&sonde__stats.own_ns, cpu - *before, memory_order_relaxed);
	*before = cpu;
}

static void *run_aside(void *unused)
{
	uint64_t cpu = sonde__thread_cpu();
	unsigned state;

	(void)unused;
	sonde__tls.inside = 1;
	sonde__thread_is_aside();
	sonde__futex_set(&aside.known, 1);
	prctl(PR_SET_NAME, "sonde-aside");
	for (;;) {
		state = atomic_load(&aside.state);
		if (state == ENDING)
			break;
		if (state != BUSY) {
			sonde__futex_wait(&aside.state, state, forever);
			continue;
		}
		aside.work();
		account(&cpu);
		sonde__futex_set(&aside.state, IDLE);
	}
	return NULL;
}

/* The agent blocks all signals, and so does what it starts. */
static bool start(void)
{
	pthread_attr_t attr;
	int rc;

	if (sonde__guard_is_filtered() || pthread_attr_init(&attr) != 0)
		return false;
	atomic_store(&aside.state, IDLE);
	atomic_store(&aside.known, 0);
	pthread_attr_setstacksize(&attr, STACK);
	rc = pthread_create(&aside.thread, &attr, run_aside, NULL);
	pthread_attr_destroy(&attr);
	if (rc != 0) /* a program with very much thread-local data */
		rc = pthread_create(&aside.thread, NULL, run_aside, NULL);
	if (rc != 0)
		atomic_store(&aside.state, NONE);
	return rc == 0;
}

void sonde__aside_start(void)
{
	if (atomic_load(&aside.state) == NONE)
		start();
}

void sonde__aside_await(void)
{
	if (atomic_load(&aside.state) != NONE && !atomic_load(&aside.known))
		sonde__futex_wait(&aside.known, 0, birth_wait);
}

bool sonde__aside_is_idle(void)
{
	return atomic_load(&aside.state) != BUSY;
}

static bool wait_for(uint64_t ns)
{
	uint64_t until = sonde__now() + ns, now;

	while (!sonde__aside_is_idle()) {
		now = sonde__now();
		if (now >= until)
			return false;
		sonde__futex_wait(&aside.state, BUSY, until - now);
	}
	return true;
}

bool sonde__aside_run(void (*work)(void), uint64_t ns)
{
	if (!sonde__aside_is_idle() || (atomic_load(&aside.state) == NONE && !start()))
		return false;
	aside.work = work;
	sonde__futex_set(&aside.state, BUSY);
	sonde__aside_await();
	return wait_for(ns);
}

void sonde__aside_stop(void)
{
	if (atomic_load(&aside.state) == NONE || !wait_for(last_wait))
		return;
	sonde__futex_set(&aside.state, ENDING);
	pthread_join(aside.thread, NULL);
	atomic_store(&aside.state, NONE);
}

void sonde__aside_forget(void)
{
	atomic_store(&aside.state, NONE);
}
