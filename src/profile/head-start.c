/*
 * head-start.c - read a profile while it is still being unpacked
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/cleanup.h"
#include "base/xalloc.h"
#include "profile/decode.h"
#include "profile/decoder.h"

#include <pthread.h>
#include <stdlib.h>

struct head_start {
	struct decoder d;
	pthread_t thread;
	bool started;
	atomic_bool over;

	const char *p;
	size_t expected;
	pthread_mutex_t lock; /* of 'n' */
	pthread_cond_t more;
	size_t n;
};

struct head_start *head_start_new(struct strings *strings)
{
	struct head_start *h = mem_zeroed(1, sizeof(*h));

	decoder_init(&h->d, strings);
	pthread_mutex_init(&h->lock, NULL);
	pthread_cond_init(&h->more, NULL);
	return h;
}

/* Waits until there are more than 'n' bytes; returns how many, or 0 when it is over. */
static size_t wait_for_more(struct head_start *h, size_t n)
{
	size_t got;

	pthread_mutex_lock(&h->lock);
	while (!h->over && h->n == n)
		pthread_cond_wait(&h->more, &h->lock);
	got = h->over ? 0 : h->n;
	pthread_mutex_unlock(&h->lock);
	return got;
}

static void *run(void *arg)
{
	struct head_start *h = arg;
	size_t n = wait_for_more(h, 0);

	if (n == 0)
		return NULL;
	h->d.message = pb_open(h->p, n, &h->d.st);
	h->d.rest = h->d.message;
	while (n > 0 && decode_ahead(&h->d, (const uint8_t *)h->p + n, h->expected, &h->over))
		n = wait_for_more(h, n);
	return NULL;
}

void head_start_feed(struct head_start *h, const char *p, size_t n, size_t expected)
{
	if (expected > UINT32_MAX)
		return;
	pthread_mutex_lock(&h->lock);
	h->n = n;
	pthread_cond_signal(&h->more);
	pthread_mutex_unlock(&h->lock);
	if (h->started)
		return;
	h->p = p;
	h->expected = expected;
	h->started = pthread_create(&h->thread, NULL, run, h) == 0;
}

static void join(struct head_start *h)
{
	if (!h->started)
		return;
	pthread_mutex_lock(&h->lock);
	h->over = true;
	pthread_cond_signal(&h->more);
	pthread_mutex_unlock(&h->lock);
	pthread_join(h->thread, NULL);
	h->started = false;
}

void head_start_cancel(struct head_start *h)
{
	join(h);
	h->p = NULL;
}

bool head_start_take(struct head_start *h, struct decoder *d)
{
	join(h);
	if (!h->p)
		return false;
	*d = h->d;
	h->d = (struct decoder){ 0 };
	return true;
}

void head_start_free(struct head_start *h)
{
	if (!h)
		return;
	join(h);
	decoder_release(&h->d);
	pthread_mutex_destroy(&h->lock);
	pthread_cond_destroy(&h->more);
	free(h);
}
