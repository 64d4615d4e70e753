/*
 * unwind.h - the stack of a thread, without frame pointers, locks or help from the C library
 *
 * Tables are made from .eh_frame by the agent, never changed, and swapped as a whole; readers need
 * no lock.  Code without a table is walked by frame pointer.  Every load from the stack is checked
 * against the thread's bounds.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef RUNTIME_UNWIND_H
#define RUNTIME_UNWIND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <ucontext.h>

/* A binary in memory, as it was when the snapshot was taken. */
struct sonde__module {
	uint64_t start, end; /* of its executable mapping */
	uint64_t offset;     /* of 'start' in the file */
	uint64_t bias;       /* address in memory minus address in the file */
	const char *path;    /* "" for the vdso */
	const uint8_t *build_id;
	size_t nbuild_id;
	const struct sonde__table *table; /* private: NULL without .eh_frame */
};

struct sonde__modules {
	size_t n;
	const struct sonde__module *at; /* by address; the program itself is 'main' */
	size_t main;
	uint64_t generation;
};

/*
 * sonde__modules_refresh() takes a new snapshot if libraries were loaded or unloaded since the last
 * one (or at first).  The agent calls it, and dlopen() hooks ask it to.  Old snapshots stay valid:
 * they are few, small parts are shared, and a sampler may still be reading one.
 */
bool sonde__modules_refresh(void);
const struct sonde__modules *sonde__modules(void); /* the newest; never NULL after a refresh */

/* dl_iterate_phdr(), but no fork() comes between, and nobody else is in it through here. */
struct dl_phdr_info;
void sonde__modules_walk(int (*each)(struct dl_phdr_info *, size_t, void *), void *ctx);

/*
 * The module that 'pc' lies in, now or, if there is none now, before it was unloaded (for the last
 * thousand of those); NULL if there never was one.  Any thread.
 */
const struct sonde__module *sonde__module_at(uint64_t pc);

/*
 * Both store up to 'max' addresses, innermost first, and return how many.  The first is the place
 * itself; all others are return addresses.  sonde__unwind() starts at its caller's caller,
 * leaving out 'skip' more; sonde__unwind_signal() at the interrupted instruction.  Both are
 * handler-safe.  Code that is in no snapshot is looked up in its library (glibc 2.35), or else left
 * by frame pointer.
 */
size_t sonde__unwind(uint64_t *pcs, size_t max, size_t skip);
size_t sonde__unwind_signal(const ucontext_t *uc, uint64_t *pcs, size_t max);
enum { SONDE__OWN_FRAMES = 16 }; /* at most so many of ours are above the host's */

/*
 * The short way from a hook to the stack of the host, whose call returns to 'caller', the first
 * address stored.  0: it is not known how to get there, or not all of the stack, and
 * sonde__unwind() has to tell.
 */
size_t sonde__unwind_caller(const void *caller, uint64_t *pcs, size_t max);

/*
 * A thread that sleeps in a system call, seen from another one: its stack is still, and there is a
 * copy of it.  'read' gets code, and fails where there is none any more.
 */
struct sonde__still {
	uint64_t pc, sp;  /* 'pc' is behind the instruction that made the call */
	const void *copy; /* of the 'n' bytes from 'sp' on */
	size_t n;
	bool (*read)(uint64_t from, void *to, size_t n, const void *context);
	const void *context;
};

/*
 * As sonde__unwind(), but all are return addresses.  '*whole': it goes down to the first function
 * of the thread, or to 'max'.  Not handler-safe.
 */
size_t sonde__unwind_still(const struct sonde__still *s, uint64_t *pcs, size_t max, bool *whole);

/*
 * unwind-frame.c: how far above the stack pointer the frame pointer is in the function that is to
 * be returned to at 'pc', from its first instructions; UINT64_MAX: not known.  Whether the
 * instruction before 'pc' calls the function that 'callee' is in, as far as that can be seen.
 */
uint64_t sonde__frame_distance(uint64_t pc, bool (*read)(uint64_t, void *, size_t, const void *),
			       const void *context);
bool sonde__calls(uint64_t pc, uint64_t callee,
		  bool (*read)(uint64_t, void *, size_t, const void *), const void *context);

#endif /* RUNTIME_UNWIND_H */
