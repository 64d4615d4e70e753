/*
 * locking-library.c - a library with a mutex, for call-tables.c
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <pthread.h>
#include <time.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

void lock_briefly(void)
{
	pthread_mutex_lock(&mutex);
	pthread_mutex_unlock(&mutex);
}

void lock_for_long(void)
{
	struct timespec ms = { 0, 1000000 };

	pthread_mutex_lock(&mutex);
	nanosleep(&ms, NULL);
	pthread_mutex_unlock(&mutex);
}
