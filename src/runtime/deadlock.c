/*
 * deadlock.c - threads that wait for each other
 *
 * A mutex of the C library has its futex first, and the number of its owner two words on.  What
 * looks like that may be something else, so a cycle is believed only if every thread in it is one
 * of ours, sleeps in a call without a time limit, and nothing has changed when we look again,
 * twice.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "runtime/os.h"
#include "runtime/output.h"
#include "runtime/stacks.h"
#include "runtime/thread-dump.h"

#include <linux/futex.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>

enum {
	OWNER = 2, /* the word with the owner's number */
	LOOKS = 2,
	PAUSE_MS = 3,
};

uint64_t sonde__dump_mutex(const struct sonde__dump_thread *t)
{
	unsigned op = (unsigned)t->task.args[1] & FUTEX_CMD_MASK;
	bool waits = op == FUTEX_WAIT || op == FUTEX_WAIT_BITSET || op == FUTEX_LOCK_PI ||
		     op == FUTEX_LOCK_PI2;

	if (!t->task.blocked || t->task.call != SYS_futex || !waits || t->task.args[3] != 0)
		return 0;
	return t->task.args[0];
}

/* Who holds the mutex at 'address', if that is one: who waits there has marked it so. */
static int owner_of(const struct sonde__dump *d, uint64_t address)
{
	uint32_t words[OWNER + 1];
	bool robust;

	if (sonde__mem_read(&d->mem, address, words, sizeof(words)) != sizeof(words))
		return 0;
	robust = (words[0] & FUTEX_WAITERS) && (words[0] & FUTEX_TID_MASK) == words[OWNER];
	return words[0] == 2 || robust ? (int)words[OWNER] : 0;
}

static size_t find_thread(const struct sonde__dump *d, int tid)
{
	for (size_t i = 0; tid > 0 && i < d->n; i++)
		if (d->at[i].task.tid == tid)
			return i + 1;
	return 0;
}

/* Who a thread waits for: 1 + its number, 0 if for nobody. */
static size_t holder(const struct sonde__dump *d, size_t i)
{
	uint64_t mutex = sonde__dump_mutex(&d->at[i]);

	return mutex ? find_thread(d, owner_of(d, mutex)) : 0;
}

/* Whether 'first' is in a cycle; 'next' is what holder() said, for all. */
static bool closes(const size_t *next, size_t first, size_t n)
{
	size_t i = next[first];

	for (size_t steps = 0; i != 0 && steps < n; steps++) {
		if (i - 1 == first)
			return true;
		i = next[i - 1];
	}
	return false;
}

/* All of the cycle that 'first' is in are still where they were. */
static bool holds(const struct sonde__dump *d, const size_t *next, size_t first)
{
	size_t i = first;

	do {
		if (!sonde__task_still(&d->at[i].task) || holder(d, i) != next[i])
			return false;
		i = next[i] - 1;
	} while (i != first);
	return true;
}

static void sleep_a_little(void)
{
	struct timespec t = { .tv_nsec = PAUSE_MS * 1000000L };

	sonde__syscall(SYS_nanosleep, (long)&t, 0, 0, 0, 0, 0);
}

static bool is_deadlock(const struct sonde__dump *d, const size_t *next, size_t first)
{
	if (!closes(next, first, d->n))
		return false;
	for (int i = 0; i < LOOKS; i++) {
		if (!holds(d, next, first))
			return false;
		sleep_a_little();
	}
	return true;
}

static size_t mark_cycle(struct sonde__dump *d, const size_t *next, size_t first)
{
	size_t i = first, n = 0;

	do {
		d->at[i].blocker = next[i];
		i = next[i] - 1;
		n++;
	} while (i != first);
	return n;
}

size_t sonde__dump_find_deadlocks(struct sonde__dump *d)
{
	size_t bytes = d->n * sizeof(size_t), found = 0;
	size_t *next = sonde__map(bytes);

	for (size_t i = 0; next && i < d->n; i++)
		next[i] = holder(d, i);
	for (size_t i = 0; next && i < d->n; i++)
		if (next[i] && !d->at[i].blocker && is_deadlock(d, next, i))
			found += mark_cycle(d, next, i);
	sonde__unmap(next, bytes);
	return found;
}
