/*
 * heap.h - which stacks allocated how much, and what of it still lives
 *
 * Allocations are sampled with probability 1 - exp(-size/rate), as Go does; what is counted per
 * (stack, size, rate, labels) is what was sampled, and is scaled when it is read, before anything
 * is summed up.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef RUNTIME_HEAP_H
#define RUNTIME_HEAP_H

#include "runtime/next.h"
#include "runtime/shortcut.h"
#include "runtime/thread.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * What every allocating hook does: an allocation is sampled when the bytes until the next sample
 * are used up.  In a thread that is new these are 0, and with rate 1 they stay 0, so the slow way
 * comes first; it draws, and decides.  Sizes are not signed: one that is too large is a borrow, and
 * what is left then is nonsense until the slow way has put something else there.
 *
 * On or off, it is the same: one subtraction in memory, which compilers make three instructions of,
 * and a jump (shortcut.h).
 */
static inline bool sonde__heap_passes(size_t size)
{
#if defined(SONDE__JUMP)
	__asm__ goto("subq %1, %0\n\t" SONDE__JUMP_ABOVE("passes")
		     :
		     : "m"(sonde__tls.until), "r"(size)
		     : "cc", "memory"
		     : passes);
	return false;
passes:
	return true;
#else
	uint64_t until = sonde__tls.until;

	sonde__tls.until = until - size;
	return __builtin_expect(until > size, 1);
#endif
}

/*
 * An allocation of 'size' bytes that did not pass: with which rate it is to be recorded, or 0 if it
 * is not to be.  To be asked once for each.
 */
uint64_t sonde__heap_decide(size_t size);
/* Records it; 'caller' is where the host called the hook: the stack begins there. */
void sonde__heap_record(const void *p, size_t size, uint64_t rate, const void *caller);
/* Forgets 'p', if it was sampled: it is about to be freed. */
void sonde__heap_forget(const void *p);

/*
 * realloc() may move, stay, or fail: 'p' is taken out before, as another thread may get its address
 * at once, and then either has ended or is put back.  0: 'p' was not known.
 */
uint64_t sonde__heap_take(const void *p);
void sonde__heap_ended(uint64_t taken);
void sonde__heap_put_back(const void *p, uint64_t taken);

/* One sample per 'rate' bytes on average; 1: all; 0: none.  Returns the rate before. */
uint64_t sonde__heap_set_rate(uint64_t rate);
uint64_t sonde__heap_rate(void);
/* Called, where it is set, after a sample was recorded, in whichever thread that is. */
extern _Atomic(void (*)(void)) sonde__heap_watcher;
/* The random numbers of this thread, for tests. */
void sonde__heap_seed(uint64_t seed);

/* Raw counts of one (stack, size, rate, labels). */
struct sonde__heap_row {
	uint32_t stack;
	uint32_t labels; /* labels.h */
	uint64_t size;
	uint64_t allocs, frees; /* objects sampled, and of those freed */
	uint64_t rate;          /* with which they were sampled */
};

/* How many rows there are, and one of them by its number, from 0 on; the host goes on meanwhile. */
size_t sonde__heap_rows(void);
void sonde__heap_row(size_t i, struct sonde__heap_row *to);

/*
 * sonde__heap_snapshot() copies all rows, for the agent to scale and write, without stopping the
 * host; returns how many, in memory to be given to sonde__unmap() ('*mapped' bytes).  NULL and 0 if
 * there are none.
 */
struct sonde__heap_row *sonde__heap_snapshot(size_t *n, size_t *mapped);

/*
 * What a row stands for: alloc_objects, alloc_space, inuse_objects, inuse_space.  Objects are
 * rounded up or down so that the sum over many rows is right, always the same way for one row.
 */
void sonde__heap_scale(const struct sonde__heap_row *row, int64_t values[4]);
/* 1 / (1 - exp(-size/rate)), for that. */
double sonde__heap_factor(uint64_t size, uint64_t rate);

/* Bytes that live, estimated; those that were allocated and freed without a sample are not in it.
 */
int64_t sonde__heap_live_bytes(void);

/* peak.c: the numbers of all rows of which something lives, as sonde__heap_snapshot() gives rows.
 */
struct sonde__heap_live {
	uint32_t row, live;
};
struct sonde__heap_live *sonde__heap_live_rows(size_t *n, size_t *mapped);
/* What row 'number' counts: all but 'allocs' and 'frees'. */
void sonde__heap_row_key(uint32_t number, struct sonde__heap_row *to);

/* gc=1: gives back what allocators keep in caches (malloc_trim, mallctl, ... as there are). */
void sonde__heap_reclaim(void);

/* "glibc", "jemalloc", ...: what serves the host. */
const char *sonde__allocator(void);
/* The same, or NULL: calls of the host do not reach our hooks, so say so. */
const char *sonde__heap_allocator(void);
/*
 * What there is to be said if most of the program's memory is not in the heap profile, because it
 * came another way than by malloc(); false if there is nothing.
 */
bool sonde__heap_unseen(char *to, size_t cap);

/*
 * What is kept of a live sample in one word: the number of its row, from 1 on, and when it was
 * allocated, in units of 2^17 ns of sonde__now_about().
 */
enum { SONDE__MARK_ROW_BITS = 24, SONDE__MARK_TIME_SHIFT = 17 };

static inline uint64_t sonde__mark(uint32_t row, uint64_t now)
{
	return now >> SONDE__MARK_TIME_SHIFT << SONDE__MARK_ROW_BITS | row;
}

static inline uint32_t sonde__mark_row(uint64_t mark)
{
	return mark & ((1 << SONDE__MARK_ROW_BITS) - 1);
}

/*
 * ns from then to 'now', too many by less than a unit and a tick of the kernel; the time wraps
 * around after four years.
 */
static inline uint64_t sonde__mark_age(uint64_t mark, uint64_t now)
{
	const unsigned bits = 64 - SONDE__MARK_ROW_BITS + SONDE__MARK_TIME_SHIFT;
	uint64_t then = mark >> SONDE__MARK_ROW_BITS << SONDE__MARK_TIME_SHIFT;
	uint64_t age = (now - then) & (((uint64_t)1 << bits) - 1);

	return age >> (bits - 1) ? 0 : age; /* made while we look */
}

/* For fork(): nobody changes anything while the process is copied; also no stacks. */
void sonde__heap_lock(void);
void sonde__heap_unlock(void);

#endif /* RUNTIME_HEAP_H */
