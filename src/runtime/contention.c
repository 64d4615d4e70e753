/*
 * contention.c - how long threads waited: for which stack, and because of which
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "runtime/contention.h"

#include "runtime/agent.h"
#include "runtime/bypass.h"
#include "runtime/caller-stack.h"
#include "runtime/fork.h"
#include "runtime/labels.h"
#include "runtime/next-lock.h"
#include "runtime/os.h"
#include "runtime/rows.h"
#include "runtime/runtime.h"
#include "runtime/sort.h"
#include "runtime/thread.h"
#include "runtime/trace.h"
#include "runtime/waiters.h"

#include <errno.h>

enum {
	PER_PAGE = 512, /* rows */
	PAGES = 512,    /* a quarter of a million rows, 8 MB */
	WINDOWS = 64,
	PASSED_OVER = 100000, /* ns of waiting per sample of unlocks that end no wait */
	TIMED = 64,           /* one of so many samples is timed */
	ONE = 1 << 16,        /* counts are kept in so many parts */
};

/* A thousand seconds, or one of a million million. */
static const uint64_t RATE_MAX = 1000000000000;

struct row {
	uint32_t stack, labels;
	uint32_t kind;
	atomic_ullong count, ns;
};

static struct {
	uint64_t asked[SONDE__CONTENTIONS];
	struct {
		uint64_t rate; /* 0: not open */
		enum sonde__contention kind;
	} windows[WINDOWS];
} rates;
static atomic_ullong rate_now[SONDE__CONTENTIONS];

static _Atomic(char *) pages[PAGES];
/* With the lock of the rates, too. */
static struct sonde__rows rows = {
	.size = sizeof(struct row),
	.per_page = PER_PAGE,
	.most = PAGES,
	.page = pages,
};

static __thread uint64_t random_state __attribute__((tls_model("initial-exec")));

static uint64_t mix(uint64_t x)
{
	x = (x ^ x >> 32) * 0xd6e8feb86659fd93u;
	x = (x ^ x >> 32) * 0xd6e8feb86659fd93u;
	return x ^ x >> 32;
}

void sonde__contention_seed(uint64_t seed)
{
	random_state = mix(seed + 0x9e3779b97f4a7c15u) | 1;
}

/* Evenly in [0, n). */
static uint64_t draw(uint64_t n)
{
	if (random_state == 0)
		sonde__contention_seed(sonde__now() ^ mix((uintptr_t)&random_state));
	return (uint64_t)((unsigned __int128)sonde__random(&random_state) * n >> 64);
}

static void take_lock(void)
{
	sonde__tls.inside++;
	sonde__lock(&rows.lock);
}

static void give_lock(void)
{
	sonde__unlock(&rows.lock);
	sonde__tls.inside--;
}

/* Rates: under the lock. */

static uint64_t finest(enum sonde__contention kind)
{
	uint64_t rate = rates.asked[kind];

	for (size_t i = 0; i < WINDOWS; i++) {
		uint64_t other = rates.windows[i].rate;

		if (other && rates.windows[i].kind == kind && (rate == 0 || other < rate))
			rate = other;
	}
	return rate;
}

static void apply(void)
{
	bool trace = sonde__trace_is_on();
	uint64_t mutex = finest(SONDE__MUTEX), block = finest(SONDE__BLOCK);

	atomic_store_explicit(&rate_now[SONDE__MUTEX], mutex, memory_order_relaxed);
	atomic_store_explicit(&rate_now[SONDE__BLOCK], block, memory_order_relaxed);
	sonde__lock_flags_set(mutex || block || trace, block || trace);
	if (!mutex && sonde__has_waiting())
		sonde__waiters_sweep();
}

/* Asks the loader, so not under the lock.  Behind a filter the agent does it, a moment later. */
static void see_all(void)
{
	bool later = atomic_load(&sonde__sandboxed) && sonde__agent_is_on();

	if (atomic_load(&sonde__lock_flags.locks) && !sonde__bypass_locks_end() && !later)
		sonde__say_off(SONDE__LOCKS, "some of the program's calls go past the hooks");
}

static void before_fork(void)
{
	sonde__lock(&rows.lock);
}

static void in_parent(void)
{
	sonde__unlock(&rows.lock);
}

/* Nobody waits here, and nobody is there to close a window, or to end a trace. */
static void in_child(void)
{
	sonde__waiters_forget();
	atomic_store(&sonde__trace_run, 0);
	for (size_t i = 0; i < WINDOWS; i++)
		rates.windows[i].rate = 0;
	apply();
	sonde__unlock(&rows.lock);
}

static const struct sonde__fork_part fork_part = {
	.prepare = before_fork,
	.parent = in_parent,
	.child = in_child,
};

uint64_t sonde__contention_rate(enum sonde__contention kind)
{
	return rates.asked[kind];
}

uint64_t sonde__contention_set_rate(enum sonde__contention kind, uint64_t rate)
{
	uint64_t before;

	sonde__next_lock_find(); /* asks the loader: not under the lock */
	if (rate > RATE_MAX)
		rate = RATE_MAX;
	if (rate)
		sonde__fork_join(SONDE__FORK_CONTENTION, &fork_part);
	take_lock();
	before = rates.asked[kind];
	rates.asked[kind] = rate;
	apply();
	give_lock();
	see_all();
	return before;
}

uint64_t sonde__contention_rate_now(enum sonde__contention kind)
{
	return atomic_load_explicit(&rate_now[kind], memory_order_relaxed);
}

unsigned sonde__contention_open(enum sonde__contention kind, uint64_t rate)
{
	unsigned i = 0;

	if (rate == 0)
		return 0;
	sonde__next_lock_find();
	sonde__fork_join(SONDE__FORK_CONTENTION, &fork_part);
	take_lock();
	while (i < WINDOWS && rates.windows[i].rate)
		i++;
	if (i < WINDOWS) {
		rates.windows[i].rate = rate < RATE_MAX ? rate : RATE_MAX;
		rates.windows[i].kind = kind;
		apply();
	}
	give_lock();
	see_all();
	return i < WINDOWS ? i + 1 : 0;
}

void sonde__contention_close(unsigned window)
{
	if (window == 0 || window > WINDOWS)
		return;
	take_lock();
	rates.windows[window - 1].rate = 0;
	apply();
	give_lock();
}

void sonde__contention_look(void)
{
	sonde__next_lock_find();
	take_lock();
	apply();
	give_lock();
	see_all();
}

/* Rows. */

static struct row *row_at(uint32_t number)
{
	return sonde__row_at(&rows, number);
}

static bool is_same(uint32_t number, const void *key)
{
	const struct row *a = row_at(number), *b = key;

	return a->stack == b->stack && a->labels == b->labels && a->kind == b->kind;
}

static void make_row(void *row, const void *key)
{
	struct row *r = row;
	const struct row *k = key;

	r->stack = k->stack;
	r->labels = k->labels;
	r->kind = k->kind;
}

static uint32_t find_row(enum sonde__contention kind, uint32_t stack)
{
	struct row key = { .stack = stack, .labels = sonde__labels_now(), .kind = kind };
	uint64_t hash = mix(mix(stack) ^ ((uint64_t)key.labels << 8 | kind));

	return sonde__row_find(&rows, hash, is_same, make_row, &key);
}

static void sum(atomic_ullong *to, uint64_t n)
{
	atomic_fetch_add_explicit(to, n, memory_order_relaxed);
}

static void add_to_row(enum sonde__contention kind, uint64_t count, uint64_t ns, const void *caller)
{
	uint32_t stack = sonde__caller_stack(caller);
	uint32_t row = stack ? find_row(kind, stack) : 0;

	if (row) {
		sum(&row_at(row)->count, count);
		sum(&row_at(row)->ns, ns);
	}
	sum(row ? &sonde__stats.contention_samples : &sonde__stats.contention_lost, 1);
}

static void add(enum sonde__contention kind, uint64_t count, uint64_t ns, const void *caller)
{
	int saved = errno;
	uint64_t before =
		atomic_load_explicit(&sonde__stats.contention_samples, memory_order_relaxed);
	uint64_t start = before % TIMED == 0 ? sonde__now() : 0;

	sonde__tls.inside++;
	add_to_row(kind, count, ns, caller);
	if (start)
		sum(&sonde__stats.own_ns, (sonde__now() - start) * TIMED);
	sonde__tls.inside--;
	errno = saved;
}

void sonde__contention_record(enum sonde__contention kind, uint64_t ns, uint32_t n,
			      const void *caller)
{
	uint64_t rate = sonde__contention_rate_now(kind);

	if (rate == 0)
		return;
	if (kind == SONDE__MUTEX) {
		if (n == 0 && ns < PASSED_OVER) {
			if (draw(PASSED_OVER) >= ns)
				return;
			ns = PASSED_OVER;
		}
		if (rate > 1 && draw(rate) != 0)
			return;
		if (__builtin_mul_overflow(rate, ns, &ns))
			ns = INT64_MAX;
		add(kind, rate * n * ONE, ns, caller);
		return;
	}
	ns = ns ? ns : 1;
	if (ns >= rate)
		add(kind, ONE, ns, caller);
	else if (draw(rate) < ns)
		add(kind, (uint64_t)((double)rate / (double)ns * ONE), rate, caller);
}

/* Snapshots. */

/* The longest comes first. */
static bool is_before(const void *a, const void *b)
{
	const struct sonde__contention_row *x = a, *y = b;

	return x->ns > y->ns;
}

struct sonde__contention_row *sonde__contention_snapshot(enum sonde__contention kind, size_t *n,
							 size_t *mapped)
{
	uint32_t count = sonde__rows_count(&rows);
	struct sonde__contention_row *to = count ? sonde__map(count * sizeof(*to)) : NULL;

	*n = 0;
	*mapped = count * sizeof(*to);
	for (uint32_t i = 1; to && i <= count; i++) {
		const struct row *r = row_at(i);

		if (r->kind != (uint32_t)kind)
			continue;
		to[(*n)++] = (struct sonde__contention_row){
			.stack = r->stack,
			.labels = r->labels,
			.count =
				(double)atomic_load_explicit(&r->count, memory_order_relaxed) / ONE,
			.ns = atomic_load_explicit(&r->ns, memory_order_relaxed),
		};
	}
	sonde__sort(to, *n, sizeof(*to), is_before);
	return to;
}
