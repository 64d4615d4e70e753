/*
 * memstats.c - how much memory the host has, in the words of Go's runtime.MemStats
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "runtime/memstats.h"

#include "runtime/agent.h"
#include "runtime/aside.h"
#include "runtime/fd.h"
#include "runtime/guard.h"
#include "runtime/heap.h"
#include "runtime/os.h"
#include "runtime/runtime.h"
#include "runtime/thread.h"

#include <string.h>
#include <sys/auxv.h>
#include <time.h>

static const uint64_t ms = 1000000;
enum {
	COUNT_MS = 200,    /* to wait for the allocator */
	COLLECT_MS = 2000, /* to wait for it to give back what it keeps */
	STACK_STEP = 64,   /* pages of a stack to look at in one go */
};

/* What was sampled, scaled to what there was; sums of what only grows only grow. */
struct estimate {
	double mallocs, frees, bytes, freed;
	double held; /* bytes that live, with what glibc adds to each block */
	double by_size[SONDE__SIZES][2];
};

/* What the allocator said, and what else was known then. */
struct answer {
	struct sonde__allocator_count count;
	uint64_t at, cpu; /* when, and what it took; ns */
	uint64_t held;    /* bytes, by the heap profile */
	uint64_t vmdata;  /* of the process */
	double blocks;    /* that may have been free */
};
static struct answer fresh; /* the aside thread's while that is at work */
static struct answer last;

static bool told; /* that the allocator does not answer */

static struct {
	uint64_t count, cpu_ns, total_ns, last_end;
	uint64_t ns[SONDE__PAUSES], end[SONDE__PAUSES];
} pauses;

static uint64_t most_total; /* TotalAlloc as it was last shown, as are the others */
static uint64_t most_mallocs, most_frees;

static uint64_t at_most(uint64_t n, uint64_t limit)
{
	return n < limit ? n : limit;
}

static uint64_t minus(uint64_t a, uint64_t b)
{
	return a > b ? a - b : 0;
}

/* Powers of two from 16 on. */
static unsigned class_of(uint64_t size)
{
	unsigned n = 0;

	while (n + 1 < SONDE__SIZES && (16ull << n) < size)
		n++;
	return n;
}

static void estimate(struct estimate *e)
{
	size_t n = sonde__heap_rows();

	*e = (struct estimate){ 0 };
	for (size_t i = 0; i < n; i++) {
		struct sonde__heap_row r;
		double factor, mallocs, frees, *size;

		sonde__heap_row(i, &r);
		factor = sonde__heap_factor(r.size, r.rate);
		mallocs = (double)r.allocs * factor;
		frees = (double)r.frees * factor;
		size = e->by_size[class_of(r.size)];
		e->mallocs += mallocs;
		e->frees += frees;
		e->bytes += mallocs * (double)r.size;
		e->freed += frees * (double)r.size;
		e->held += (mallocs - frees) * (double)((r.size + 8 + 15) & ~15ull);
		size[0] += mallocs;
		size[1] += frees;
	}
}

static uint64_t live_bytes(const struct estimate *e)
{
	return e->bytes > e->freed ? (uint64_t)(e->bytes - e->freed) : 0;
}

static uint64_t held_bytes(const struct estimate *e)
{
	return e->held > 0 ? (uint64_t)e->held : 0;
}

static void count_aside(void)
{
	uint64_t cpu = sonde__thread_cpu();

	sonde__allocator_count(&fresh.count);
	fresh.cpu = sonde__thread_cpu() - cpu;
	fresh.at = sonde__now();
}

/*
 * Some allocators count under their lock, and go over all their free blocks: a count that took long
 * is made again only when it will have held up the host for a small part of the time.
 */
static bool is_time(void)
{
	uint64_t share = last.cpu < ms ? 0 : last.cpu < 100 * ms ? 1000 : 10000;

	return last.at == 0 || sonde__now() - last.at >= last.cpu * share;
}

/* How many free blocks glibc would have if nothing was merged. */
static double guess_blocks(const struct sonde__memstats *s, const struct estimate *e)
{
	uint64_t present = s->process.anon + s->process.swap;
	double free_bytes = (double)minus(present, live_bytes(e));

	if (e->frees < 1 || sonde__heap_rate() == 0)
		return 0;
	return free_bytes < e->freed ? free_bytes * e->frees / e->freed : e->frees;
}

/*
 * Nobody knows beforehand how long a count takes.  The one before tells what a block costs; without
 * it, assume a cache miss for each.
 */
static bool is_risky(const struct sonde__memstats *s, double blocks)
{
	double each = last.blocks > 10000 ? (double)last.cpu / last.blocks : 300;

	return strcmp(s->allocator, "glibc") == 0 && blocks * each > (double)(100 * ms);
}

static void complain(void)
{
	if (told)
		return;
	told = true;
	sonde__log("the allocator does not tell its numbers within %d ms: what is shown is an "
		   "estimate",
		   COUNT_MS);
}

static void ask_allocator(const struct sonde__memstats *s, const struct estimate *e)
{
	double blocks = guess_blocks(s, e);

	if (is_time() && !is_risky(s, blocks) && sonde__aside_is_idle()) {
		fresh.blocks = blocks;
		fresh.held = held_bytes(e);
		fresh.vmdata = s->process.vmdata;
		if (!sonde__aside_run(count_aside, COUNT_MS * ms))
			complain();
	}
	if (!sonde__aside_is_idle() || fresh.at == last.at)
		return;
	last = fresh;
	told = false;
}

void sonde__memstats_forget(void)
{
	fresh = last;
	told = false;
}

static void collect_aside(void)
{
	uint64_t start = sonde__now(), cpu = sonde__thread_cpu();
	uint64_t at = pauses.count % SONDE__PAUSES;

	sonde__heap_reclaim();
	pauses.ns[at] = sonde__now() - start;
	pauses.last_end = sonde__wall();
	pauses.end[at] = pauses.last_end;
	pauses.total_ns += pauses.ns[at];
	pauses.cpu_ns += sonde__thread_cpu() - cpu;
	pauses.count++;
}

void sonde__memstats_collect(void)
{
	sonde__aside_run(collect_aside, COLLECT_MS * ms);
	last.cpu = 0; /* numbers from before do not do any more */
}

static void fill_sizes(struct sonde__memstats *s, const struct estimate *e)
{
	enum { LARGEST = 28 }; /* up to 2 GB: Go has them in 32 bits */

	for (size_t i = 0; i < LARGEST; i++) {
		struct sonde__size_count *to = &s->by_size[i];

		to->size = 16ull << i;
		to->mallocs = (uint64_t)e->by_size[i][0];
		to->frees = at_most((uint64_t)e->by_size[i][1], to->mallocs);
	}
	s->nby_size = LARGEST;
}

/*
 * What an allocator has counted may be without what threads did with their caches; what was sampled
 * is without what was before.  So it is whichever is more; and what lives is what it says.
 */
static void correct_calls(struct sonde__memstats *s, const struct sonde__allocator_count *c,
			  const struct estimate *e)
{
	uint64_t live = c->mallocs - c->frees, frees = c->frees;

	if (e->mallocs > (double)c->mallocs)
		frees = minus((uint64_t)e->mallocs, live);
	if (frees < most_frees)
		frees = most_frees;
	if (frees < minus(most_mallocs, live))
		frees = most_mallocs - live;
	s->frees = frees;
	s->mallocs = frees + live;
	s->total_alloc = s->heap_alloc + (uint64_t)e->freed;
	if (s->total_alloc < c->total)
		s->total_alloc = c->total;
}

/* Calls: the allocator's own count, or what was sampled. */
static void fill_calls(struct sonde__memstats *s, const struct sonde__allocator_count *c,
		       const struct estimate *e)
{
	if (c->knows_calls) {
		correct_calls(s, c, e);
		s->nby_size = c->nsizes;
		for (size_t i = 0; i < c->nsizes; i++)
			s->by_size[i] = c->sizes[i];
	} else {
		s->mallocs = (uint64_t)e->mallocs;
		s->frees = at_most((uint64_t)e->frees, s->mallocs);
		s->total_alloc = s->heap_alloc + (uint64_t)e->freed;
		fill_sizes(s, e);
	}
	if (most_total < s->total_alloc)
		most_total = s->total_alloc;
	if (most_total < s->heap_alloc)
		most_total = s->heap_alloc;
	s->total_alloc = most_total;
	most_mallocs = s->mallocs;
	most_frees = s->frees;
	s->heap_objects = s->mallocs - s->frees;
}

/* An allocator that says nothing: what is private and has memory, but for stacks. */
static void guess_heap(struct sonde__memstats *s, const struct estimate *e)
{
	uint64_t present = minus(s->process.anon + s->process.swap, s->stack_inuse);
	uint64_t live = live_bytes(e);

	s->heap_sys = last.count.knows_heap ? last.count.sys : present > live ? present : live;
	s->heap_alloc = sonde__heap_rate() ? at_most(live, s->heap_sys) : s->heap_sys;
}

/* What the allocator said, and what has changed since by all that is known without it. */
static void update_heap(struct sonde__memstats *s, const struct estimate *e)
{
	const struct sonde__allocator_count *c = &last.count;

	s->heap_alloc = minus(c->alloc + held_bytes(e), last.held);
	s->heap_sys = minus(c->sys + s->process.vmdata, last.vmdata);
	s->heap_sys = s->heap_sys > s->heap_alloc ? s->heap_sys : s->heap_alloc;
	if (s->heap_alloc == c->alloc && s->heap_sys == c->sys)
		s->heap_idle = c->idle;
	else
		s->heap_idle = s->heap_sys - s->heap_alloc;
}

static void fill_heap(struct sonde__memstats *s, const struct estimate *e)
{
	const struct sonde__allocator_count *c = &last.count;
	uint64_t present = s->process.anon + s->process.swap;

	if (c->knows_alloc)
		update_heap(s, e);
	else
		guess_heap(s, e);
	s->heap_inuse = s->heap_sys - s->heap_idle;
	/* More than all that is present cannot be; only what is idle was given back. */
	if (c->knows_released)
		s->heap_released = at_most(c->released, s->heap_idle);
	else if (s->process.status_error == 0)
		s->heap_released = at_most(minus(s->heap_sys, present), s->heap_idle);
	s->alloc = s->heap_alloc;
	s->mspan_inuse = c->metadata;
	s->mspan_sys = c->metadata;
}

/* Stacks are used from the top down: looks until nothing is there. */
static uint64_t resident_of(uintptr_t low, uintptr_t high, uint64_t page)
{
	uint64_t pages = 0;

	while (high > low) {
		uint64_t step = at_most(high - low, STACK_STEP * page), found = 0;
		unsigned char there[STACK_STEP] = { 0 };

		high -= step;
		if (sonde__syscall(SYS_mincore, (long)high, (long)step, (long)there, 0, 0, 0) < 0)
			break;
		for (size_t i = 0; i < STACK_STEP; i++)
			found += there[i] & 1;
		if (found == 0)
			break;
		pages += found;
	}
	return pages * page;
}

static void fill_stacks(struct sonde__memstats *s)
{
	uint64_t page = getauxval(AT_PAGESZ);
	bool look = !sonde__guard_is_filtered();
	int pid = sonde__sys_getpid();

	s->stack_sys = s->process.stack;
	s->stack_inuse = s->process.stack;
	for (struct sonde__thread *t = sonde__threads(); t; t = t->next) {
		uintptr_t low = t->stack_low & ~(page - 1), high = t->stack_high & ~(page - 1);
		int tid = atomic_load(&t->tid);

		if (tid <= 0 || tid == pid || low == 0 || low >= high)
			continue;
		s->stack_sys += high - low;
		s->stack_inuse += look ? resident_of(low, high, page) : high - low;
	}
}

static uint64_t process_cpu(void)
{
	struct timespec t = { 0 };

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void fill_pauses(struct sonde__memstats *s)
{
	double cpu = (double)process_cpu(), ours = (double)pauses.cpu_ns;

	s->pause_ns = pauses.ns;
	s->pause_end = pauses.end;
	s->last_gc = pauses.last_end;
	s->pause_total_ns = pauses.total_ns;
	s->num_gc = pauses.count;
	s->num_forced_gc = pauses.count;
	s->gc_cpu_ppb = cpu > ours ? (uint64_t)(ours / cpu * 1e9) : 0;
}

/* All that is private and can be written to is the sum of these. */
static void fill_sums(struct sonde__memstats *s)
{
	uint64_t known;

	s->buck_hash_sys = atomic_load(&sonde__stats.own_bytes);
	known = s->heap_sys + s->stack_sys + s->mspan_sys + s->buck_hash_sys;
	s->other_sys = minus(s->process.vmdata + s->process.stack, known);
	s->sys = known + s->other_sys;
}

void sonde__memstats(struct sonde__memstats *s)
{
	struct estimate e;

	*s = (struct sonde__memstats){ 0 };
	sonde__process_memory(&s->process);
	s->allocator = sonde__allocator();
	estimate(&e);
	ask_allocator(s, &e);
	s->age = last.at ? minus(sonde__now(), last.at) : 0;
	fill_stacks(s);
	fill_heap(s, &e);
	fill_calls(s, &last.count, &e);
	fill_pauses(s);
	fill_sums(s);
}
