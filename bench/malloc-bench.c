/*
 * malloc-bench.c - malloc() and free() as programs call them, and nothing else
 *
 * usage: malloc-bench WORKLOAD THREADS SLICES
 *
 *	tight	16 bytes, freed at once
 *	mixed	sizes from 16 bytes to 32 KiB, small ones more often; written to; some are freed at
 *		once, some after many others
 *	cross	as mixed, but each thread frees what its neighbour allocated
 *
 * Prints nanoseconds of CPU time (of the whole process) per pair of calls: the least of so many
 * slices, of 300,000 pairs for each thread, after one that does not count.  Whatever else the
 * machine does comes for some of them; a sampling profiler does what it does in each.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { HELD = 16384, MAX_THREADS = 8, PAIRS = 300000 };

static _Atomic(void *) held[MAX_THREADS][HELD];
static uint32_t sizes[4096];
static int threads;
static long slices;
static pthread_barrier_t together;

static uint64_t draw(uint64_t *state)
{
	uint64_t x = *state;

	x ^= x << 13;
	x ^= x >> 7;
	x ^= x << 17;
	*state = x;
	return x;
}

/* Each octave half as often as the one below, down to a floor. */
static void make_sizes(void)
{
	uint64_t random = 88172645463325252u;

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		uint64_t r = draw(&random);
		uint32_t base = (uint32_t)16 << __builtin_ctzll(r | 1 << 10);

		sizes[i] = base + (uint32_t)(r >> 40) % base;
	}
}

static void run_tight(int me)
{
	(void)me;
	for (long i = 0; i < PAIRS; i++)
		free(malloc(16));
}

/* Nothing is called for places where nothing was: what is counted are pairs of calls. */
static void put_over(_Atomic(void *) *place, void *p)
{
	void *before = atomic_exchange_explicit(place, p, memory_order_acq_rel);

	if (before)
		free(before);
}

/* Frees what lay in the place where it puts what it allocates. */
static void run_over(int put, int take)
{
	uint64_t random = 77777 + (uint64_t)put;

	for (long i = 0; i < PAIRS; i++) {
		uint64_t r = draw(&random);
		size_t size = sizes[r % 4096];
		char *p = malloc(size);

		memset(p, 1, size);
		if ((r >> 32) % 4 != 0) {
			free(p);
			continue;
		}
		if (take != put)
			put_over(&held[take][(r >> 40) % HELD], NULL);
		put_over(&held[put][(r >> 40) % HELD], p);
	}
}

static void run_mixed(int me)
{
	run_over(me, me);
}

static void run_cross(int me)
{
	run_over(me, (me + 1) % threads);
}

static void (*run)(int me);

static double cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/*
 * All threads begin and end at the same time, so that none has the machine for itself.  The clock
 * is read before: another one may be through when this one wakes up.
 */
static double run_slice(int me)
{
	double before = cpu_ns();

	pthread_barrier_wait(&together);
	run(me);
	pthread_barrier_wait(&together);
	return (cpu_ns() - before) / PAIRS / threads;
}

static void *start(void *me)
{
	for (long i = 0; i <= slices; i++)
		run_slice((int)(intptr_t)me);
	return NULL;
}

static double measure(void)
{
	pthread_t t[MAX_THREADS] = { 0 };
	double least;

	pthread_barrier_init(&together, NULL, (unsigned)threads);
	for (int i = 1; i < threads; i++)
		if (pthread_create(&t[i], NULL, start, (void *)(intptr_t)i) != 0)
			abort();
	run_slice(0);
	least = run_slice(0);
	for (long i = 1; i < slices; i++) {
		double slice = run_slice(0);

		least = slice < least ? slice : least;
	}
	for (int i = 1; i < threads; i++)
		pthread_join(t[i], NULL);
	return least;
}

int main(int argc, char **argv)
{
	if (argc != 4)
		return 2;
	threads = (int)strtol(argv[2], NULL, 10);
	slices = strtol(argv[3], NULL, 10);
	if (threads < 1 || threads > MAX_THREADS || slices < 1)
		return 2;
	run = strcmp(argv[1], "tight") == 0   ? run_tight
	      : strcmp(argv[1], "mixed") == 0 ? run_mixed
					      : run_cross;
	make_sizes();
	/* What a profiler does once, when it starts, is not what a pair of calls costs. */
	nanosleep(&(struct timespec){ .tv_nsec = 150000000 }, NULL);
	printf("%.3f\n", measure());
	return 0;
}
