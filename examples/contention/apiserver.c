/*
 * apiserver.c - a service whose profiles are always on, those of its locks included
 *
 *	--profiling=false		no profiles at all
 *	--contention-profiling=false	none of locks: they answer, and are empty
 *
 * Watchers wait for events that one thread converts.  What goes wrong: it does so while it holds
 * the lock that all of them need; and a watcher that has gone leaves its buffers behind.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <pthread.h>
#include <sonde.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { WATCHERS = 4, BUFFER = 64 << 10, MOST = 16000 };

static pthread_mutex_t cache_lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned last, converted;
static char *buffers[MOST]; /* of watchers, those that have gone included */
static size_t nbuffers;

__attribute__((noinline)) static void new_cache_watcher(void)
{
	if (nbuffers == MOST)
		return;
	buffers[nbuffers] = malloc(BUFFER);
	if (buffers[nbuffers])
		memset(buffers[nbuffers++], 0, BUFFER);
}

__attribute__((noinline)) static unsigned filter(unsigned event)
{
	volatile unsigned hash = event;

	for (int i = 0; i < 3000000; i++)
		hash = hash * 31 + 7;
	return hash;
}

__attribute__((noinline)) static void convert_to_watch_event(void)
{
	pthread_mutex_lock(&cache_lock);
	last = filter(last + 1);
	pthread_mutex_unlock(&cache_lock);
	converted++;
}

static void *convert(void *unused)
{
	for (;;) {
		convert_to_watch_event();
		usleep(20000);
	}
	return unused;
}

static void *watch(void *unused)
{
	for (;;) {
		pthread_mutex_lock(&cache_lock);
		new_cache_watcher();
		pthread_mutex_unlock(&cache_lock);
		usleep(50000);
	}
	return unused;
}

/* Whether a switch that is on by itself was not switched off. */
static int is_on(const char *name, int argc, char **argv)
{
	size_t n = strlen(name);
	int on = 1;

	for (int i = 1; i < argc; i++)
		if (strncmp(argv[i], name, n) == 0 && argv[i][n] == '=')
			on = strcmp(argv[i] + n + 1, "true") == 0;
	return on;
}

static void start_profiling(int contention)
{
	int rc = sonde_start(
		contention ? &(struct sonde_options){ SONDE_OPTIONS, .preset = "contention" }
			   : &(struct sonde_options){ SONDE_OPTIONS, .addr = "localhost:8080" });

	if (rc)
		fprintf(stderr, "no profiles: %s\n", strerror(-rc));
}

int main(int argc, char **argv)
{
	pthread_t t;

	if (is_on("--profiling", argc, argv))
		start_profiling(is_on("--contention-profiling", argc, argv));
	for (int i = 0; i < WATCHERS; i++)
		pthread_create(&t, NULL, watch, NULL);
	convert(NULL);
	return 0;
}
