/*
 * fork.h - what happens to the runtime when the host forks
 *
 * fork(): our SIGPROF is blocked around it: a signal that comes again and again would make the
 * kernel start over each time, for ever in a large process.  Every part that has a lock takes it
 * before and gives it back after, so that the child finds its tables whole.  The child has no
 * agent, no listener and no timers; a profile that was running goes on in the parent only.  What
 * was counted stays, so a child that starts the runtime anew has the heap it got.
 *
 * vfork(), posix_spawn(), system() share our memory until exec; nothing of ours runs in them.
 * Timers are not inherited and signals go to threads by number, so no tick can get there.
 *
 * clone(), _Fork(), syscall(SYS_fork) do not tell anybody.  The process number shows it: threads of
 * such a child are not followed.
 *
 * exec: every file is close-on-exec, and no tick is under way (hooks-exec.c).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef RUNTIME_FORK_H
#define RUNTIME_FORK_H

/*
 * Who takes part, in the order in which prepare() is called: a part comes before those it calls
 * while it holds its own lock.  Modules come first: theirs is held while the loader is waited for,
 * and who has the loader's lock may be allocating, which waits for the heap's.
 */
enum sonde__fork_rank {
	SONDE__FORK_MODULES,
	SONDE__FORK_AGENT,
	SONDE__FORK_CPU,
	SONDE__FORK_CONTENTION,
	SONDE__FORK_HEAP,
	SONDE__FORK_LABELS,
	SONDE__FORK_THREADS,
	SONDE__FORK_PARTS
};

/*
 * Any may be NULL.  Called in the forking thread, parent() and child() in the opposite order.
 * sonde__tls.inside is raised meanwhile, so that other people's handlers can allocate without
 * getting at our locks.
 */
struct sonde__fork_part {
	void (*prepare)(void);
	void (*parent)(void);
	void (*child)(void);
};

/* From here on; 'part' must live for ever.  A second call changes nothing. */
void sonde__fork_join(enum sonde__fork_rank rank, const struct sonde__fork_part *part);

#endif /* RUNTIME_FORK_H */
