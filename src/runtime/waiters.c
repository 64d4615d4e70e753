/*
 * waiters.c - who waits for which lock, for those who hold it
 *
 * Time that passes between an unlock and the moment a waiter runs is nobody's: it took the system
 * to wake somebody up.  It is left out, as Go does.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "runtime/waiters.h"

#include "runtime/next-lock.h"
#include "runtime/os.h"
#include "runtime/runtime.h"
#include "runtime/thread.h"

#include <stddef.h>
#include <string.h>

enum {
	BUCKETS = 1024, /* a power of two; 256 kB, of which only what is used takes memory */
	ENTRIES = 6,
};

struct entry {
	const void *lock;   /* NULL: free */
	uint32_t waiters;   /* 0: all have given up, but their time is to be charged */
	uint32_t uncounted; /* of them, those for which no unlock was counted yet */
	uint64_t summed;    /* when 'waited' was right */
	uint64_t unlocked;  /* when it was last taken */
	uint64_t waited;    /* by all since then, ns */
};

static struct bucket {
	struct sonde__lock lock;
	atomic_uint used;
	struct entry at[ENTRIES];
} buckets[BUCKETS] __attribute__((aligned(64)));

static struct bucket *bucket_of(const void *lock)
{
	return &buckets[((uintptr_t)lock >> 3) * 0x9e3779b97f4a7c15u >> 54 & (BUCKETS - 1)];
}

static struct bucket *open_bucket(const void *lock)
{
	struct bucket *b = bucket_of(lock);

	sonde__tls.inside++;
	sonde__lock(&b->lock);
	return b;
}

static void close_bucket(struct bucket *b)
{
	sonde__unlock(&b->lock);
	sonde__tls.inside--;
}

static struct entry *find(struct bucket *b, const void *lock)
{
	for (size_t i = 0; i < ENTRIES; i++)
		if (b->at[i].lock == lock)
			return &b->at[i];
	return NULL;
}

static void drop(struct bucket *b, struct entry *e)
{
	e->lock = NULL;
	atomic_fetch_sub_explicit(&b->used, 1, memory_order_relaxed);
	atomic_fetch_sub_explicit(&sonde__lock_flags.waiting, 1, memory_order_relaxed);
}

/* A free one, or one that only remembers waiters which gave up. */
static struct entry *make(struct bucket *b, const void *lock, uint64_t now)
{
	struct entry *e = find(b, NULL);

	for (size_t i = 0; i < ENTRIES && !e; i++)
		if (b->at[i].waiters == 0)
			e = &b->at[i];
	if (!e)
		return NULL;
	if (e->lock)
		drop(b, e);
	*e = (struct entry){ .lock = lock, .summed = now, .unlocked = now };
	atomic_fetch_add_explicit(&b->used, 1, memory_order_relaxed);
	atomic_fetch_add_explicit(&sonde__lock_flags.waiting, 1, memory_order_relaxed);
	return e;
}

/* Clocks of two threads are read in one order and come here in another. */
static uint64_t between(uint64_t from, uint64_t to)
{
	return to > from ? to - from : 0;
}

static void sum_up(struct entry *e, uint64_t now)
{
	e->waited += e->waiters * between(e->summed, now);
	e->summed = now > e->summed ? now : e->summed;
}

bool sonde__waiters_enter(const void *lock, uint64_t now)
{
	struct bucket *b = open_bucket(lock);
	struct entry *e = find(b, lock);

	if (!e)
		e = make(b, lock, now);
	if (e) {
		sum_up(e, now);
		e->waiters++;
		e->uncounted++;
	}
	close_bucket(b);
	if (!e)
		atomic_fetch_add_explicit(&sonde__stats.contention_lost, 1, memory_order_relaxed);
	return e;
}

void sonde__waiters_leave(const void *lock, uint64_t start, uint64_t now, enum sonde__wait_end end)
{
	struct bucket *b = open_bucket(lock);
	struct entry *e = find(b, lock);
	uint64_t own;

	if (!e || e->waiters == 0) {
		close_bucket(b);
		return;
	}
	sum_up(e, now);
	own = between(start > e->unlocked ? start : e->unlocked, now);
	if (end == SONDE__WAIT_ALONE || e->waited < own)
		e->waited = 0;
	else if (end == SONDE__WAIT_SHARED)
		e->waited -= own;
	e->waiters--;
	if (e->uncounted > e->waiters && end != SONDE__WAIT_FAILED)
		e->uncounted = e->waiters;
	if (e->waiters == 0 && e->waited == 0)
		drop(b, e);
	close_bucket(b);
}

/* Those that gave up, and the one that gets the lock. */
static uint32_t next_to_end(const struct entry *e)
{
	uint32_t ended = e->waiters > 0;

	if (e->uncounted > e->waiters)
		ended += e->uncounted - e->waiters;
	return ended < e->uncounted ? ended : e->uncounted;
}

uint64_t sonde__waiters_take(const void *lock, uint64_t now, bool all, uint32_t *ended)
{
	struct bucket *b = open_bucket(lock);
	struct entry *e = find(b, lock);
	uint64_t waited = 0;

	*ended = 0;
	if (e) {
		sum_up(e, now);
		waited = e->waited;
		*ended = all ? e->uncounted : next_to_end(e);
		e->uncounted -= *ended;
		e->waited = 0;
		e->unlocked = now;
		if (e->waiters == 0)
			drop(b, e);
	}
	close_bucket(b);
	return waited;
}

bool sonde__waiters_maybe(const void *lock)
{
	return atomic_load_explicit(&bucket_of(lock)->used, memory_order_relaxed) != 0;
}

void sonde__waiters_sweep(void)
{
	for (size_t i = 0; i < BUCKETS; i++) {
		struct bucket *b = &buckets[i];

		if (!atomic_load_explicit(&b->used, memory_order_relaxed))
			continue;
		sonde__tls.inside++;
		sonde__lock(&b->lock);
		for (size_t k = 0; k < ENTRIES; k++)
			if (b->at[k].lock && b->at[k].waiters == 0)
				drop(b, &b->at[k]);
		close_bucket(b);
	}
}

void sonde__waiters_forget(void)
{
	for (size_t i = 0; i < BUCKETS; i++)
		if (atomic_load(&buckets[i].used) || atomic_load(&buckets[i].lock.state))
			memset(&buckets[i], 0, sizeof(buckets[i]));
	atomic_store(&sonde__lock_flags.waiting, 0);
}
