/*
 * fork.c - what happens to the runtime when the host forks
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "runtime/fork.h"

#include "runtime/os.h"
#include "runtime/thread.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/syscall.h>

static _Atomic(const struct sonde__fork_part *) parts[SONDE__FORK_PARTS];
static atomic_bool registered;

/* Held from prepare() on: one fork at a time, which makes the next variables its own. */
static struct sonde__lock forking;
static bool was_blocked;
static const struct sonde__fork_part *taking_part[SONDE__FORK_PARTS];

/* Bit of SIGPROF in the kernel's set of signals. */
#define PROF (1ull << (SIGPROF - 1))

static bool block_ticks(void)
{
	uint64_t set = PROF;
	uint64_t before = 0;

	sonde__syscall(SYS_rt_sigprocmask, SIG_BLOCK, (long)&set, (long)&before, sizeof(set), 0, 0);
	return before & PROF;
}

static void unblock_ticks(void)
{
	uint64_t set = PROF;

	sonde__syscall(SYS_rt_sigprocmask, SIG_UNBLOCK, (long)&set, 0, sizeof(set), 0, 0);
}

static void prepare(void)
{
	bool blocked = block_ticks();

	sonde__tls.inside++;
	sonde__lock(&forking);
	was_blocked = blocked;
	for (unsigned i = 0; i < SONDE__FORK_PARTS; i++) {
		const struct sonde__fork_part *part = atomic_load(&parts[i]);

		taking_part[i] = part;
		if (part && part->prepare)
			part->prepare();
	}
}

static void finish(bool child)
{
	bool blocked = was_blocked;

	for (unsigned i = SONDE__FORK_PARTS; i-- > 0;) {
		const struct sonde__fork_part *part = taking_part[i];
		void (*call)(void) = !part ? NULL : child ? part->child : part->parent;

		if (call)
			call();
	}
	sonde__unlock(&forking);
	sonde__tls.inside--;
	if (!blocked)
		unblock_ticks();
}

static void parent(void)
{
	finish(false);
}

static void child(void)
{
	finish(true);
}

void sonde__fork_join(enum sonde__fork_rank rank, const struct sonde__fork_part *part)
{
	if ((unsigned)rank < SONDE__FORK_PARTS)
		atomic_store(&parts[rank], part);
	if (!atomic_exchange(&registered, true))
		pthread_atfork(prepare, parent, child);
}
