/*
 * early-thread.c - a library that starts a thread as soon as it is loaded
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <pthread.h>
#include <unistd.h>

static void *wait_for_ever(void *arg)
{
	for (;;)
		pause();
	return arg;
}

__attribute__((constructor)) static void begin(void)
{
	pthread_t t;

	pthread_create(&t, NULL, wait_for_ever, NULL);
}
