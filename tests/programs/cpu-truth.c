/*
 * cpu-truth.c - spend CPU time in known shares under a CPU profile, and tell both
 *
 * usage: cpu-truth mix|threads|naps|short|beat|blocked|starts|early HZ SECONDS SEED
 *
 * SECONDS are of CPU time.
 *
 *	mix	one thread, functions in random order
 *	threads	the same in eight threads
 *	naps	the same in one that sleeps all the time
 *	short	threads that live for less than a period of 100 Hz
 *	beat	two functions in turn, with the rhythm of the timer
 *	blocked	a second thread that blocks all signals
 *	starts	hundreds of profiles of a moment each; prints "fine", how many had perf events, and
 *		"silent", how many of those saw nothing
 *	early	one that sleeps all the time, looked at before the first second is over; prints
 *		"fine" and "coarse" only
 *
 * Every function is the same chain of multiplications, so time is proportional to the number of
 * rounds.  Prints "function NAME ROUNDS TICKS" for each, and "other", "lost", "hz", "cpu"
 * (ns), "fine" if the ticks came from perf events at first, and "coarse" if some came from timers
 * after that.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "runtime/cpu.h"
#include "runtime/os.h"
#include "runtime/runtime.h"
#include "runtime/stacks.h"
#include "runtime/thread.h"
#include "runtime/unwind.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { FUNCTIONS = 5, THREADS = 8 };

/* In a section of their own, to tell from an address which one it is in. */
#define WORK(name)                                                                                 \
	__attribute__((noinline, noclone, section("work_text"))) static uint64_t name(uint64_t n)  \
	{                                                                                          \
		uint64_t x = n | 1;                                                                \
		for (uint64_t i = 0; i < n; i++) {                                                 \
			x *= x;                                                                    \
			x *= x;                                                                    \
			x *= x;                                                                    \
			x *= x;                                                                    \
			__asm__ volatile("" : "+r"(x));                                            \
		}                                                                                  \
		return x;                                                                          \
	}
WORK(ant)
WORK(bee)
WORK(cat)
WORK(dog)
WORK(elk)
extern const char __start_work_text[], __stop_work_text[];

static struct {
	const char *name;
	uint64_t (*call)(uint64_t);
	unsigned weight;
	atomic_ullong rounds;
	uint64_t ticks;
} work[FUNCTIONS] = {
	{ "ant", ant, 1, 0, 0 }, { "bee", bee, 2, 0, 0 },  { "cat", cat, 4, 0, 0 },
	{ "dog", dog, 8, 0, 0 }, { "elk", elk, 16, 0, 0 },
};

static uint64_t per_ms; /* rounds */
static atomic_bool stop;
static atomic_bool agent_stop;
static atomic_ullong agent_cpu;
static uint64_t others, lost;
static bool fine;
static atomic_bool coarse;

static void spend(unsigned which, uint64_t rounds)
{
	atomic_fetch_add(&work[which].rounds, rounds);
	work[which].call(rounds);
}

static void calibrate(void)
{
	uint64_t best = UINT64_MAX;

	for (int i = 0; i < 20; i++) {
		uint64_t began = sonde__thread_cpu();
		uint64_t took;

		cat(100000);
		took = sonde__thread_cpu() - began;
		best = took < best ? took : best;
	}
	per_ms = 100000 * 1000000ull / best;
}

/* About 0.3 ms on average, never in the same order. */
static void spend_some(uint64_t *random)
{
	unsigned which = (unsigned)(sonde__random(random) % FUNCTIONS);
	uint64_t part = sonde__random(random) % 1000;

	spend(which, per_ms * work[which].weight * part / 10000);
}

static void look_at_timer(void)
{
	if (sonde__self() && sonde__self()->fd < 0)
		atomic_store(&coarse, true);
}

static void *mix(void *seed)
{
	uint64_t random = (uintptr_t)seed | 1;

	while (!atomic_load(&stop))
		spend_some(&random);
	look_at_timer();
	return NULL;
}

static void *nap(void *seed)
{
	uint64_t random = (uintptr_t)seed | 1;

	while (!atomic_load(&stop)) {
		spend_some(&random);
		nanosleep(&(struct timespec){ .tv_nsec = 100000 }, NULL);
	}
	look_at_timer();
	return NULL;
}

static void *live_shortly(void *number)
{
	uint64_t random = (uintptr_t)number * 0x9e3779b97f4a7c15u | 1;

	for (int i = 0; i < 3; i++) {
		unsigned which = (unsigned)(sonde__random(&random) % FUNCTIONS);

		spend(which, per_ms * work[which].weight / 5);
	}
	return NULL;
}

static void run_short(uint64_t seed)
{
	for (uint64_t n = seed << 32; !atomic_load(&stop); n += 2) {
		pthread_t two[2];

		pthread_create(&two[0], NULL, live_shortly, (void *)n);
		pthread_create(&two[1], NULL, live_shortly, (void *)(n + 1));
		pthread_join(two[0], NULL);
		pthread_join(two[1], NULL);
	}
}

/* Ten milliseconds of CPU time by the clock: three of one function, seven of the other. */
static void run_beat(void)
{
	uint64_t at = sonde__thread_cpu();

	for (; !atomic_load(&stop); at += 10000000) {
		while (sonde__thread_cpu() < at + 3000000)
			spend(0, per_ms / 50);
		while (sonde__thread_cpu() < at + 10000000)
			spend(1, per_ms / 50);
	}
	look_at_timer();
}

static void *run_blocked(void *seed)
{
	sigset_t all;

	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, NULL);
	return mix(seed);
}

static void run_threads(uint64_t seed, int n, void *(*start)(void *))
{
	pthread_t threads[THREADS];

	for (int i = 0; i < n; i++)
		pthread_create(&threads[i], NULL, start, (void *)(seed + (uint64_t)i * 7919));
	for (int i = 0; i < n; i++)
		pthread_join(threads[i], NULL);
}

static void *agent(void *unused)
{
	sigset_t all;

	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, NULL);
	sonde__thread_is_agent();
	while (!atomic_load(&agent_stop)) {
		nanosleep(&(struct timespec){ .tv_nsec = 100000000 }, NULL);
		sonde__cpu_poll();
		atomic_store(&agent_cpu, sonde__thread_cpu());
	}
	return unused;
}

static uint64_t process_cpu(void)
{
	struct timespec now;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec - atomic_load(&agent_cpu);
}

static void *clock_watch(void *seconds)
{
	while (process_cpu() < (uintptr_t)seconds * 1000000000u)
		nanosleep(&(struct timespec){ .tv_nsec = 10000000 }, NULL);
	atomic_store(&stop, true);
	return NULL;
}

static void attribute(const struct sonde__cpu_row *row)
{
	const struct sonde__stack *s = row->stack ? sonde__stack(row->stack) : NULL;
	int best = -1;

	if (!s) {
		lost += row->ticks;
		return;
	}
	for (int i = 0; i < FUNCTIONS; i++) {
		uint64_t start = (uintptr_t)work[i].call;

		if (s->pcs[0] >= start && s->pcs[0] < (uintptr_t)__stop_work_text &&
		    (best < 0 || start > (uintptr_t)work[best].call))
			best = i;
	}
	if (best < 0)
		others += row->ticks;
	else
		work[best].ticks += row->ticks;
}

static int run(const char *mode, unsigned hz, uint64_t seed)
{
	int r = sonde__cpu_start(hz);

	if (r) {
		printf("refused %d %s\n", r, sonde__why_off(SONDE__CPU));
		return 1;
	}
	fine = sonde__self() && sonde__self()->fd >= 0;
	if (strcmp(mode, "threads") == 0)
		run_threads(seed, THREADS, mix);
	else if (strcmp(mode, "naps") == 0)
		nap((void *)(uintptr_t)seed);
	else if (strcmp(mode, "short") == 0)
		run_short(seed);
	else if (strcmp(mode, "beat") == 0)
		run_beat();
	else if (strcmp(mode, "blocked") == 0)
		run_threads(seed, 1, run_blocked);
	else
		mix((void *)(uintptr_t)seed);
	return 0;
}

static void report(uint64_t cpu)
{
	size_t n, mapped;
	unsigned hz;
	struct sonde__cpu_row *rows = sonde__cpu_stop(&n, &mapped, &hz);

	for (size_t i = 0; i < n; i++)
		attribute(&rows[i]);
	for (int i = 0; i < FUNCTIONS; i++)
		printf("function %s %llu %llu\n", work[i].name,
		       (unsigned long long)atomic_load(&work[i].rounds),
		       (unsigned long long)work[i].ticks);
	printf("other %llu\nlost %llu\nhz %u\ncpu %llu\n", (unsigned long long)others,
	       (unsigned long long)lost, hz, (unsigned long long)cpu);
	printf("fine %d\ncoarse %d\n", fine, fine && atomic_load(&coarse));
	sonde__unmap(rows, mapped);
}

/* The first tick may come before the one who starts the timer has said that it is started. */
static int run_starts(unsigned hz)
{
	enum { STARTS = 2000, PERIODS = 4 };
	int silent = 0, fines = 0;

	for (int i = 0; i < STARTS; i++) {
		size_t n, mapped, stacks = 0;
		struct sonde__cpu_row *rows;
		uint64_t until;

		if (sonde__cpu_start(hz))
			return 1;
		fine = sonde__self() && sonde__self()->fd >= 0;
		fines += fine;
		until = sonde__thread_cpu() + PERIODS * 1000000000ull / hz;
		while (sonde__thread_cpu() < until)
			spend(0, per_ms / 100);
		rows = sonde__cpu_stop(&n, &mapped, &hz);
		for (size_t k = 0; k < n; k++)
			stacks += rows[k].stack != 0;
		silent += fine && stacks == 0;
		sonde__unmap(rows, mapped);
	}
	printf("fine %d\nsilent %d\n", fines, silent);
	return 0;
}

static int run_early(unsigned hz)
{
	enum { RUNS = 200 };
	struct timespec nap = { .tv_nsec = 1000000 };

	if (sonde__cpu_start(hz))
		return 1;
	fine = sonde__self() && sonde__self()->fd >= 0;
	for (int i = 0; i < RUNS; i++) {
		spend(0, per_ms / 10);
		nanosleep(&nap, NULL);
	}
	sonde__cpu_poll();
	look_at_timer();
	printf("fine %d\ncoarse %d\n", fine, fine && atomic_load(&coarse));
	return 0;
}

int main(int argc, char **argv)
{
	pthread_t helper, watch;
	uint64_t before;

	if (argc != 5)
		return 2;
	sonde__threads_start();
	sonde__modules_refresh();
	calibrate();
	if (strcmp(argv[1], "starts") == 0)
		return run_starts((unsigned)strtoul(argv[2], NULL, 10));
	if (strcmp(argv[1], "early") == 0)
		return run_early((unsigned)strtoul(argv[2], NULL, 10));
	pthread_create(&helper, NULL, agent, NULL);
	pthread_create(&watch, NULL, clock_watch, (void *)strtoul(argv[3], NULL, 10));
	nanosleep(&(struct timespec){ .tv_nsec = 10000000 }, NULL);
	before = process_cpu();
	if (run(argv[1], (unsigned)strtoul(argv[2], NULL, 10), strtoul(argv[4], NULL, 10)))
		return 1;
	report(process_cpu() - before);
	atomic_store(&agent_stop, true);
	pthread_join(watch, NULL);
	pthread_join(helper, NULL);
	return 0;
}
