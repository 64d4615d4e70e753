/*
 * runtime.h - the part of Sonde that lives in other people's processes: words and rules
 *
 *	host		the program we are a guest in
 *	hook		a function of ours that the host calls instead of the C library's, and that
 *			passes the call on ("next")
 *	sample		one event that is recorded: an allocation, a tick of a CPU timer
 *	stack		the return addresses of a sample, innermost first; equal ones are kept once
 *	agent		our one thread: serves HTTP, takes snapshots, reads symbol tables; there
 *			only while the runtime is switched on
 *	module		a binary in the host's memory, with its unwind table
 *
 * Rules for every file here, because they are what keeps the host alive:
 *
 *	- Never exit, abort, print (but the log, where asked), or change errno.
 *	- Hooks and signal handlers allocate nothing, take no lock another thread could hold while
 *	  it waits, and call nothing that does (docs/RUNTIME.md has the list of what they may call;
 *	  a test holds the object files to it).
 *	- Memory comes from os.h, never from malloc(), and is bounded; what does not fit is counted
 *	  in sonde__stats and shown in the profile.
 *	- Nothing acts unless it was switched on by environment or API.
 *	- In doubt a part switches itself off, and says so through sonde__say_off().
 *
 * Functions shared between files start with sonde__; only sonde_ is exported, with the hooks
 * (libsonde.map).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef RUNTIME_RUNTIME_H
#define RUNTIME_RUNTIME_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	SONDE__DEPTH = 128, /* frames of a stack; deeper ones are cut at the root */
};

/* What the runtime knows of itself; any thread may add.  Shown by /metrics and in comments. */
struct sonde__stats {
	atomic_ullong heap_samples;       /* allocations sampled */
	atomic_ullong heap_lost;          /* ... that no table had room for */
	atomic_ullong stacks_lost;        /* stacks that no table had room for */
	atomic_ullong cpu_samples;        /* ticks recorded, overruns included */
	atomic_ullong cpu_lost;           /* ... that no buffer had room for */
	atomic_ullong contention_samples; /* waits recorded, for mutex and for block */
	atomic_ullong contention_lost;    /* ... that no table had room for */
	atomic_ullong truncated;          /* stacks deeper than SONDE__DEPTH */
	atomic_ullong unwind_broken;      /* stacks that ended before the thread's first function */
	atomic_ullong labels_lost;        /* labels that no table had room for */
	atomic_ullong own_ns;             /* CPU time of the agent, sampled slow paths */
	atomic_ullong own_bytes;          /* memory mapped by os.h */
};
extern struct sonde__stats sonde__stats;

/*
 * The program has put itself behind a filter of system calls since it began: threads of its own
 * make none for us any more but what allocators need, too.
 */
extern atomic_bool sonde__sandboxed;

/* The kinds of things that may be off, each with a reason in words (a literal). */
enum sonde__part {
	SONDE__ALL,
	SONDE__HEAP,
	SONDE__CPU,
	SONDE__UNWIND,
	SONDE__SERVER,
	SONDE__LOCKS,
	SONDE__PARTS
};

/* Remembers why a part is off; the index page, comments of profiles and the log show it. */
void sonde__say_off(enum sonde__part part, const char *why);
const char *sonde__why_off(enum sonde__part part); /* NULL: it is not off for a reason */

#endif /* RUNTIME_RUNTIME_H */
