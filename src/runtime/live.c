/*
 * live.c - which sampled allocations still live
 *
 * A table in stripes, each with its own lock and linear probing.  Most questions are about
 * addresses that are not in it, so they are answered without the lock: within one table an entry
 * never moves, and a table that was replaced reads as zeros (os.h), after which the stripe has
 * another one.  Addresses near each other are in one stripe, whose lock is also that of their
 * places in the filter.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "runtime/live.h"

#include "runtime/os.h"
#include "runtime/thread.h"

#include <sys/mman.h>
#include <sys/syscall.h>

enum {
	STRIPES = 32,
	STRIPE_SHIFT = 32 - 5,
	FIRST_LOG2 = 8, /* a page of entries */
	TRIES = 1000,
	WALKS = 10,
	PAGE = 4096,
};

static const size_t max_bytes = 64 << 20;

/* In place of an address. */
static const uint64_t nothing = 0, gone = 1;

struct entry {
	atomic_ullong p;
	atomic_ullong mark;
};

struct stripe {
	struct sonde__lock lock;
	/* The address of the entries, a multiple of a page, plus the logarithm of their number. */
	atomic_uintptr_t table;
	size_t used; /* entries that are not 'nothing' */
	size_t live;
} __attribute__((aligned(64)));

/* In memory is as much as there are pages, of 4 MiB of the host's heap each, with a sample. */
atomic_uchar sonde__filter[SONDE__FILTER] __attribute__((aligned(PAGE)));
static struct stripe stripes[STRIPES];
static atomic_size_t all_bytes;

static struct entry *entries_of(uintptr_t table)
{
	return (struct entry *)(table & ~(uintptr_t)63);
}

static size_t capacity_of(uintptr_t table)
{
	return table ? (size_t)1 << (table & 63) : 0;
}

static uint64_t hash_of(const void *p)
{
	return ((uintptr_t)p >> 4) * 0x9e3779b97f4a7c15u;
}

static struct stripe *stripe_of(const void *p)
{
	return &stripes[sonde__filter_place(p) / 64 * 0x9e3779b9u >> STRIPE_SHIFT];
}

static size_t home_of(uint64_t hash)
{
	return (size_t)(hash >> 24);
}

/* Huge pages would be all of it. */
static void keep_filter_small(void)
{
	static atomic_bool done;

	if (atomic_load_explicit(&done, memory_order_relaxed))
		return;
	atomic_store_explicit(&done, true, memory_order_relaxed);
	sonde__syscall(SYS_madvise, (long)sonde__filter, sizeof(sonde__filter), MADV_NOHUGEPAGE, 0,
		       0, 0);
}

/*
 * What is at a place of the filter: 0 for none; of one address that came there first, where in the
 * place that is; SEVERAL and how many.  One that so many had at once that it is STUCK stays so.
 */
enum { SEVERAL = 1 << (SONDE__FILTER_SHIFT - 3), STUCK = 255 };
_Static_assert(SEVERAL < STUCK, "both fit into a byte");

static int alone(const void *p)
{
	return 1 + (int)((uintptr_t)p >> 3 & (SEVERAL - 1));
}

static void filter_add_locked(const void *p)
{
	atomic_uchar *place = &sonde__filter[sonde__filter_place(p)];
	int n = atomic_load_explicit(place, memory_order_relaxed);

	if (n == 0)
		n = alone(p);
	else if (n <= SEVERAL)
		n = SEVERAL + 2;
	else if (n != STUCK)
		n++;
	atomic_store_explicit(place, (unsigned char)n, memory_order_relaxed);
}

static void filter_drop_locked(const void *p)
{
	atomic_uchar *place = &sonde__filter[sonde__filter_place(p)];
	int n = atomic_load_explicit(place, memory_order_relaxed);

	if (n <= SEVERAL + 1)
		n = 0;
	else if (n != STUCK)
		n--;
	atomic_store_explicit(place, (unsigned char)n, memory_order_relaxed);
}

/* With what the filter knows beyond its answer, most that are beside a known one need no search. */
static bool is_beside(const void *p)
{
	int n = atomic_load_explicit(&sonde__filter[sonde__filter_place(p)], memory_order_relaxed);

	return n <= SEVERAL && n != alone(p);
}

void sonde__filter_add(const void *p)
{
	struct stripe *s = stripe_of(p);

	keep_filter_small();
	sonde__lock(&s->lock);
	filter_add_locked(p);
	sonde__unlock(&s->lock);
}

/* The entry of 'p', or NULL. */
static inline struct entry *find(uintptr_t table, uint64_t hash, uint64_t p)
{
	struct entry *at = entries_of(table);
	size_t mask = capacity_of(table) - 1;

	if (!table)
		return NULL;
	for (size_t i = home_of(hash) & mask;; i = (i + 1) & mask) {
		uint64_t there = atomic_load_explicit(&at[i].p, memory_order_acquire);

		if (there == p)
			return &at[i];
		if (there == nothing)
			return NULL;
	}
}

/* Where 'p', which is not there, goes to. */
static struct entry *find_room(uintptr_t table, uint64_t hash)
{
	struct entry *at = entries_of(table);
	size_t mask = capacity_of(table) - 1;
	size_t i = home_of(hash) & mask;

	while (atomic_load_explicit(&at[i].p, memory_order_relaxed) > gone)
		i = (i + 1) & mask;
	return &at[i];
}

static void store(struct entry *e, uint64_t p, uint64_t mark)
{
	atomic_store_explicit(&e->mark, mark, memory_order_relaxed);
	atomic_store_explicit(&e->p, p, memory_order_release);
}

/* A fresh table with room for twice what lives; the old one goes. */
static bool rebuild(struct stripe *s)
{
	uintptr_t old = atomic_load_explicit(&s->table, memory_order_relaxed);
	size_t had = capacity_of(old), log2 = FIRST_LOG2, bytes;
	struct entry *at = entries_of(old);
	uintptr_t table;

	while ((size_t)1 << log2 < s->live * 3)
		log2++;
	bytes = ((size_t)1 << log2) * sizeof(struct entry);
	if (atomic_load_explicit(&all_bytes, memory_order_relaxed) + bytes > max_bytes)
		return false;
	table = (uintptr_t)sonde__map(bytes);
	if (!table)
		return false;
	table |= log2;
	for (size_t i = 0; i < had; i++) {
		uint64_t p = at[i].p;

		if (p > gone)
			store(find_room(table, hash_of((void *)p)), p, at[i].mark);
	}
	s->used = s->live;
	atomic_store_explicit(&s->table, table, memory_order_release);
	atomic_fetch_add_explicit(&all_bytes, bytes - had * sizeof(struct entry),
				  memory_order_relaxed);
	if (old)
		sonde__discard(at, had * sizeof(struct entry));
	return true;
}

static bool has_room(struct stripe *s)
{
	size_t capacity = capacity_of(atomic_load_explicit(&s->table, memory_order_relaxed));

	if ((s->used + 1) * 3 <= capacity * 2 || rebuild(s))
		return true;
	return s->used + 1 < capacity / 8 * 7;
}

static bool insert_locked(struct stripe *s, uint64_t hash, uint64_t p, uint64_t mark,
			  uint64_t *missed)
{
	struct entry *e = find(atomic_load_explicit(&s->table, memory_order_relaxed), hash, p);
	bool roomy, fresh;
	uintptr_t table;

	if (e) {
		*missed = atomic_exchange_explicit(&e->mark, mark, memory_order_relaxed);
		return true;
	}
	roomy = has_room(s);
	table = atomic_load_explicit(&s->table, memory_order_relaxed);
	if (!table)
		return false;
	e = find_room(table, hash);
	/* What is full still has the places of those that have gone. */
	fresh = atomic_load_explicit(&e->p, memory_order_relaxed) == nothing;
	if (fresh && !roomy)
		return false;
	s->used += fresh;
	s->live++;
	store(e, p, mark);
	return true;
}

void sonde__live_expect(const void *p)
{
	uintptr_t table = atomic_load_explicit(&stripe_of(p)->table, memory_order_relaxed);

	if (table)
		__builtin_prefetch(entries_of(table) +
				   (home_of(hash_of(p)) & (capacity_of(table) - 1)));
}

bool sonde__live_insert(const void *p, uint64_t mark, uint64_t *missed)
{
	uint64_t hash = hash_of(p);
	struct stripe *s = stripe_of(p);
	bool ok;

	*missed = 0;
	keep_filter_small();
	sonde__lock(&s->lock);
	ok = insert_locked(s, hash, (uintptr_t)p, mark, missed);
	if (ok && !*missed)
		filter_add_locked(p);
	sonde__unlock(&s->lock);
	return ok;
}

/*
 * What is followed by nothing need not be marked as gone: no search goes on past it.  So tables
 * that are not crowded stay clean.
 */
static void clear(struct stripe *s, uintptr_t table, struct entry *e)
{
	struct entry *at = entries_of(table);
	size_t mask = capacity_of(table) - 1;
	size_t i = (size_t)(e - at);

	s->live--;
	atomic_store_explicit(&e->p, gone, memory_order_relaxed);
	if (atomic_load_explicit(&at[(i + 1) & mask].p, memory_order_relaxed) != nothing)
		return;
	while (atomic_load_explicit(&at[i].p, memory_order_relaxed) == gone) {
		atomic_store_explicit(&at[i].p, nothing, memory_order_relaxed);
		s->used--;
		i = (i - 1) & mask;
	}
}

/*
 * A signal handler of the host that frees memory, which it must not, may have interrupted us: then
 * waiting would be for ever.
 */
static bool enter(struct stripe *s)
{
	sonde__tls.inside++;
	if (sonde__tls.inside == 1) {
		sonde__lock(&s->lock);
		return true;
	}
	for (int i = 0; i < TRIES; i++)
		if (sonde__trylock(&s->lock))
			return true;
	sonde__tls.inside--;
	return false;
}

static void leave(struct stripe *s)
{
	sonde__unlock(&s->lock);
	sonde__tls.inside--;
}

bool sonde__live_knows(const void *p)
{
	struct stripe *s = stripe_of(p);
	uintptr_t table;

	if (is_beside(p))
		return false;
	table = atomic_load_explicit(&s->table, memory_order_acquire);
	return find(table, hash_of(p), (uintptr_t)p) ||
	       atomic_load_explicit(&s->table, memory_order_relaxed) != table;
}

uint64_t sonde__live_remove(const void *p)
{
	struct stripe *s = stripe_of(p);
	struct entry *e;
	uintptr_t table;
	uint64_t mark = 0;

	if ((uintptr_t)p <= gone || !enter(s))
		return 0;
	table = atomic_load_explicit(&s->table, memory_order_relaxed);
	e = find(table, hash_of(p), (uintptr_t)p);
	if (e) {
		mark = atomic_load_explicit(&e->mark, memory_order_relaxed);
		clear(s, table, e);
		filter_drop_locked(p);
	}
	leave(s);
	return mark;
}

size_t sonde__live_count(void)
{
	size_t n = 0;

	for (size_t i = 0; i < STRIPES; i++)
		n += stripes[i].live;
	return n;
}

static size_t copy_marks(uintptr_t table, uint64_t *to)
{
	const struct entry *at = entries_of(table);
	size_t capacity = capacity_of(table), n = 0;

	for (size_t i = 0; i < capacity; i++)
		if (atomic_load_explicit(&at[i].p, memory_order_acquire) > gone)
			to[n++] = atomic_load_explicit(&at[i].mark, memory_order_relaxed);
	return n;
}

/* A table that is replaced meanwhile reads as zeros: once more, with the new one. */
static void walk_stripe(struct stripe *s, void (*each)(uint64_t mark, void *ctx), void *ctx)
{
	uintptr_t table = 0;
	uint64_t *marks = NULL;
	size_t n = 0, bytes = 0;

	for (int tries = 0;
	     tries < WALKS && table != atomic_load_explicit(&s->table, memory_order_acquire);
	     tries++) {
		sonde__unmap(marks, bytes);
		table = atomic_load_explicit(&s->table, memory_order_acquire);
		bytes = capacity_of(table) * sizeof(*marks);
		marks = sonde__map(bytes);
		n = marks ? copy_marks(table, marks) : 0;
	}
	for (size_t i = 0; i < n; i++)
		each(marks[i], ctx);
	sonde__unmap(marks, bytes);
}

void sonde__live_walk(void (*each)(uint64_t mark, void *ctx), void *ctx)
{
	for (size_t i = 0; i < STRIPES; i++)
		walk_stripe(&stripes[i], each, ctx);
}

void sonde__live_lock(void)
{
	for (size_t i = 0; i < STRIPES; i++)
		sonde__lock(&stripes[i].lock);
}

void sonde__live_unlock(void)
{
	for (size_t i = 0; i < STRIPES; i++)
		sonde__unlock(&stripes[i].lock);
}
