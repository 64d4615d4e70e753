/*
 * lock-bench.c - locks as programs take them, and nothing else
 *
 * usage: lock-bench WORKLOAD MILLIONS
 *
 *	mutex		lock and unlock, nobody else wants it
 *	recursive	the same, of the recursive kind
 *	read, write	a rwlock, the same
 *	fight		two threads want one mutex for a short while each, and again at once
 *
 * Prints nanoseconds of CPU time (of the whole process) per pair of calls, the second time round.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t recursive = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static long pairs;
static volatile unsigned work;

static void run_mutex(void)
{
	for (long i = 0; i < pairs; i++) {
		pthread_mutex_lock(&mutex);
		pthread_mutex_unlock(&mutex);
	}
}

static void run_recursive(void)
{
	for (long i = 0; i < pairs; i++) {
		pthread_mutex_lock(&recursive);
		pthread_mutex_unlock(&recursive);
	}
}

static void run_read(void)
{
	for (long i = 0; i < pairs; i++) {
		pthread_rwlock_rdlock(&rwlock);
		pthread_rwlock_unlock(&rwlock);
	}
}

static void run_write(void)
{
	for (long i = 0; i < pairs; i++) {
		pthread_rwlock_wrlock(&rwlock);
		pthread_rwlock_unlock(&rwlock);
	}
}

static void *fight(void *unused)
{
	for (long i = 0; i < pairs; i++) {
		pthread_mutex_lock(&mutex);
		for (int k = 0; k < 20; k++)
			work++;
		pthread_mutex_unlock(&mutex);
	}
	return unused;
}

static void run_fight(void)
{
	pthread_t other;

	if (pthread_create(&other, NULL, fight, NULL) != 0)
		abort();
	fight(NULL);
	pthread_join(other, NULL);
}

static const struct {
	const char *name;
	void (*run)(void);
	int threads;
} workloads[] = {
	{ "mutex", run_mutex, 1 }, { "recursive", run_recursive, 1 }, { "read", run_read, 1 },
	{ "write", run_write, 1 }, { "fight", run_fight, 2 },
};

static double cpu(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/* The C library takes a short cut in programs that have never had a second thread. */
static void *sleep_on(void *unused)
{
	pause();
	return unused;
}

int main(int argc, char **argv)
{
	long millions = argc == 3 ? strtol(argv[2], NULL, 10) : 0;
	pthread_t other;

	if (pthread_create(&other, NULL, sleep_on, NULL) != 0)
		return 1;
	for (size_t i = 0; i < sizeof(workloads) / sizeof(workloads[0]) && millions > 0; i++) {
		double start;

		if (strcmp(argv[1], workloads[i].name) != 0)
			continue;
		pairs = millions * 100000 / workloads[i].threads;
		workloads[i].run();
		pairs *= 10;
		start = cpu();
		workloads[i].run();
		printf("%.3f\n", (cpu() - start) / (double)(pairs * workloads[i].threads));
		return 0;
	}
	fputs("usage: lock-bench mutex|recursive|read|write|fight MILLIONS\n", stderr);
	return 2;
}
