/*
 * labels.c - a program that labels its threads; what it does is its first argument
 *
 * Prints "ready" when there is something to look at, and then waits to be ended.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <pthread.h>
#include <signal.h>
#include <sonde.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

enum { MANY = 100, SIZE = 10000, SPIKE = 1000, SPIKE_SIZE = 100000 };

static volatile unsigned long work;

__attribute__((noinline)) void *keep(size_t size)
{
	char *p = malloc(size);

	memset(p, 1, size);
	return p;
}

static void ready(void)
{
	printf("ready\n");
	fflush(stdout);
	for (;;)
		pause();
}

static double seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* Scopes within scopes; one is left early. */
static void *nested(int early)
{
	SONDE_LABEL("endpoint", "/users");

	if (early) {
		SONDE_LABEL("endpoint", "/early");
		SONDE_LABEL("method", "GET");
		return keep(3 * SIZE);
	}
	return keep(2 * SIZE);
}

static void heap(void)
{
	for (int i = 0; i < MANY; i++) {
		SONDE_LABEL("endpoint", i % 4 ? "/users" : "/orders");
		keep(SIZE);
	}
	nested(0);
	nested(1);
	keep(5 * SIZE);
	ready();
}

__attribute__((noinline)) void burn_slow(void)
{
	for (int i = 0; i < 3000000; i++)
		work += (unsigned long)i * work;
}

__attribute__((noinline)) void burn_fast(void)
{
	for (int i = 0; i < 1000000; i++)
		work += (unsigned long)i * work;
}

static void *serve(void *arg)
{
	for (;;) {
		sonde_label_set("endpoint", "/slow");
		burn_slow();
		sonde_label_clear("endpoint");
		{
			SONDE_LABEL("endpoint", "/fast");
			burn_fast();
		}
	}
	return arg;
}

static void cpu(void)
{
	pthread_t thread;

	sonde_label_set("tenant", "acme");
	pthread_create(&thread, NULL, serve, NULL);
	sonde_label_clear(NULL);
	ready();
}

static void *keep_one(void *size)
{
	keep((size_t)size);
	sonde_label_set("own", "yes");
	keep((size_t)size + 1);
	return NULL;
}

static void in_thread(size_t size)
{
	pthread_t thread;

	pthread_create(&thread, NULL, keep_one, (void *)size);
	pthread_join(thread, NULL);
}

static int keep_c11(void *size)
{
	keep((size_t)size);
	return 42;
}

static void in_c11_thread(size_t size)
{
	thrd_t thread;
	int back = 0;

	thrd_create(&thread, keep_c11, (void *)size);
	thrd_join(thread, &back);
	if (back != 42)
		exit(1);
}

/* The second thread is likely to get the stack, and the variables, of the first. */
static void threads(void)
{
	unsigned labels;

	sonde_label_set("tenant", "acme");
	in_thread(1 * SIZE);
	in_c11_thread(6 * SIZE);
	keep(2 * SIZE);
	labels = sonde_label_save();
	sonde_label_clear(NULL);
	in_thread(3 * SIZE);
	keep(4 * SIZE);
	sonde_label_restore(labels);
	keep(5 * SIZE);
	ready();
}

/* The child serves; it has what the parent had. */
static void forks(const char *addr)
{
	SONDE_LABEL("job", "parent");

	keep(1 * SIZE);
	if (fork() != 0) {
		sonde_stop();
		ready();
	}
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	keep(2 * SIZE);
	sonde_label_set("job", "child");
	keep(3 * SIZE);
	if (sonde_start(&(struct sonde_options){ SONDE_OPTIONS, .addr = addr, .log = "none",
						 .heap_rate = 1 }) == 0)
		ready();
}

/* Every request has a number of its own. */
static void numbers(void)
{
	char value[32];

	sonde_label_set("endpoint", "/users");
	for (int i = 0; i < 1000000; i++) {
		snprintf(value, sizeof(value), "request-%d", i);
		sonde_label_set("request", value);
	}
	keep(SIZE);
	ready();
}

/* Lines of a size, and the time before and after that was allocated. */
static void ages(void)
{
	for (size_t i = 0; i < 18; i++) {
		double before = seconds();

		keep(SIZE + i);
		printf("%zu %.9f %.9f\n", SIZE + i, before, seconds());
		usleep(650000);
	}
	ready();
}

static void *spikes[SPIKE];

__attribute__((noinline)) void spike(void)
{
	for (int i = 0; i < SPIKE; i++)
		spikes[i] = keep(SPIKE_SIZE);
}

/* A hundred megabytes come and go; one stays; other things live and die all the time. */
static void peak(void)
{
	keep(SIZE);
	spike();
	for (int i = 10; i < SPIKE; i++)
		free(spikes[i]);
	for (int i = 0; i < MANY; i++)
		free(keep(SIZE + (size_t)i));
	ready();
}

enum { ROUNDS = 5 };

static pthread_mutex_t fought_over = PTHREAD_MUTEX_INITIALIZER;
static atomic_int held, wanted, done; /* rounds */

static void *hold(void *arg)
{
	SONDE_LABEL("role", "holder");

	for (int i = 1; i <= ROUNDS; i++) {
		pthread_mutex_lock(&fought_over);
		atomic_store(&held, i);
		while (atomic_load(&wanted) < i)
			usleep(1000);
		usleep(50000);
		pthread_mutex_unlock(&fought_over);
		while (atomic_load(&done) < i)
			usleep(1000);
	}
	return arg;
}

static void locks(void)
{
	SONDE_LABEL("role", "waiter");
	pthread_t thread;

	pthread_create(&thread, NULL, hold, NULL);
	for (int i = 1; i <= ROUNDS; i++) {
		while (atomic_load(&held) < i)
			usleep(1000);
		atomic_store(&wanted, i);
		pthread_mutex_lock(&fought_over);
		pthread_mutex_unlock(&fought_over);
		atomic_store(&done, i);
	}
	pthread_join(thread, NULL);
	ready();
}

/* As long as a key and a value may be, and eight of them. */
static void longest(void)
{
	char key[64], value[128];

	for (int i = 0; i < 8; i++) {
		memset(key, 'a' + i, sizeof(key));
		memset(value, 'A' + i, sizeof(value));
		key[sizeof(key) - 1] = '\0';
		value[sizeof(value) - 1] = '\0';
		sonde_label_set(key, value);
	}
	keep(SIZE);
	ready();
}

static void grows(void)
{
	for (int i = 0; i < MANY; i++)
		keep(SIZE);
	ready();
}

/* At any rate: objects of many sizes, labelled or not, half of them freed. */
static void mix(void)
{
	static const char *const values[] = { NULL, "a", "b", "c" };

	for (size_t i = 0; i < 200000; i++) {
		void *p;

		sonde_label_set("kind", values[i % 4]);
		p = keep(i * 7919 % 4000 + 16);
		if (i * 31 % 64 < 32)
			free(p);
	}
	ready();
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} parts[] = { { "heap", heap },       { "cpu", cpu },   { "threads", threads },
		      { "ages", ages },       { "peak", peak }, { "grows", grows },
		      { "numbers", numbers }, { "mix", mix },   { "longest", longest },
		      { "locks", locks } };

	for (size_t i = 0; argc > 1 && i < sizeof(parts) / sizeof(parts[0]); i++)
		if (strcmp(argv[1], parts[i].name) == 0)
			parts[i].run();
	if (argc > 2 && strcmp(argv[1], "forks") == 0)
		forks(argv[2]);
	return 1;
}
