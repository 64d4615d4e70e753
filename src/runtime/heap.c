/*
 * heap.c - which stacks allocated how much, and what of it still lives
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "runtime/heap.h"

#include "runtime/caller-stack.h"
#include "runtime/chance.h"
#include "runtime/labels.h"
#include "runtime/live.h"
#include "runtime/next.h"
#include "runtime/os.h"
#include "runtime/peak.h"
#include "runtime/rows.h"
#include "runtime/runtime.h"
#include "runtime/stacks.h"

#include <errno.h>

enum {
	PER_PAGE = 1024, /* rows */
	PAGES = 1024,    /* a million rows, 48 MB */
	TIMED = 64,      /* one of so many samples is timed */
	USUAL_RATE = 512 << 10,
};

_Static_assert((uint64_t)PER_PAGE *PAGES < 1 << SONDE__MARK_ROW_BITS, "numbers of rows fit");

struct row {
	uint32_t stack, labels;
	uint64_t size, rate;
	int64_t weight; /* bytes that a sample stands for */
	atomic_ullong allocs, frees;
};

static atomic_ullong rate_now;
static atomic_llong live_bytes;

/* Of this thread: the rate with which the next sample was drawn, 0 if it was not; random numbers.
 */
static __thread struct {
	uint64_t rate, random;
} mine __attribute__((tls_model("initial-exec")));

static _Atomic(char *) pages[PAGES];
static struct sonde__rows rows = {
	.size = sizeof(struct row),
	.per_page = PER_PAGE,
	.most = PAGES,
	.page = pages,
};

/* Numbers in which every bit matters, of whatever comes. */
static uint64_t mix(uint64_t x)
{
	x = (x ^ x >> 32) * 0xd6e8feb86659fd93u;
	x = (x ^ x >> 32) * 0xd6e8feb86659fd93u;
	return x ^ x >> 32;
}

void sonde__heap_seed(uint64_t seed)
{
	mine.random = mix(seed + 0x9e3779b97f4a7c15u) | 1;
	mine.rate = 0;
	sonde__tls.until = 0;
}

/* While nothing is sampled, no clock is read. */
static uint64_t random_bits(void)
{
	static atomic_ullong threads;

	if (mine.random == 0) {
		uint64_t n = atomic_fetch_add_explicit(&threads, 1, memory_order_relaxed);

		n ^= sonde__heap_rate() ? sonde__now() : 0;
		mine.random = mix(n ^ mix((uintptr_t)&mine)) | 1;
	}
	return sonde__random(&mine.random);
}

uint64_t sonde__heap_rate(void)
{
	return atomic_load_explicit(&rate_now, memory_order_relaxed);
}

/*
 * Another rate takes effect in this thread at once, in others when they next take the slow way.
 * They do so also while nothing is sampled, with the usual rate: what they have drawn is good for a
 * sample when sampling begins.
 */
uint64_t sonde__heap_set_rate(uint64_t rate)
{
	uint64_t before = atomic_exchange_explicit(&rate_now, rate, memory_order_relaxed);

	mine.rate = 0;
	sonde__tls.until = 0;
	return before;
}

/* With rate 1 there is never anything to wait for. */
static uint64_t draw(uint64_t rate)
{
	mine.rate = rate;
	return rate == 1 ? 0 : sonde__next_byte(random_bits(), rate);
}

/*
 * What was drawn with one rate is sampled with that rate, also when it has changed since.  Waiting
 * has no memory: whatever is not to be counted may start it anew.
 */
uint64_t sonde__heap_decide(size_t size)
{
	uint64_t wanted = sonde__heap_rate(), drawn = mine.rate, until;
	uint64_t rate = wanted ? wanted : USUAL_RATE;

	if (drawn == 0 || sonde__tls.inside) {
		drawn = rate;
		until = draw(rate);
		if (size < until || sonde__tls.inside) {
			sonde__tls.until = size < until ? until - size : until;
			return 0;
		}
	}
	sonde__tls.until = draw(rate);
	return wanted ? drawn : 0;
}

static struct row *row_at(uint32_t number)
{
	return sonde__row_at(&rows, number);
}

static bool is_same(uint32_t number, const void *key)
{
	const struct row *a = row_at(number), *b = key;

	return a->stack == b->stack && a->size == b->size && a->rate == b->rate &&
	       a->labels == b->labels;
}

static void make_row(void *row, const void *key)
{
	struct row *r = row;
	const struct row *k = key;

	r->stack = k->stack;
	r->labels = k->labels;
	r->size = k->size;
	r->rate = k->rate;
	r->weight = (int64_t)((double)k->size * sonde__heap_factor(k->size, k->rate) + 0.5);
}

static uint32_t find_row(const struct row *key)
{
	uint64_t hash =
		mix(mix(mix((uint64_t)key->labels << 32 | key->stack) ^ key->size) ^ key->rate);

	return sonde__row_find(&rows, hash, is_same, make_row, key);
}

/* Labels are given up before samples are. */
static uint32_t row_of(uint32_t stack, uint64_t size, uint64_t rate)
{
	struct row key = {
		.stack = stack, .labels = sonde__labels_now(), .size = size, .rate = rate
	};
	uint32_t number = stack ? find_row(&key) : 0;

	if (number || !stack || key.labels == 0)
		return number;
	key.labels = 0;
	return find_row(&key);
}

static void add_one(atomic_ullong *counter)
{
	atomic_fetch_add_explicit(counter, 1, memory_order_relaxed);
}

/* 'frees' come after everything else that was done for the object: snapshots read them first. */
static void count_end(uint32_t number)
{
	struct row *r = row_at(number);
	int64_t lived = atomic_load_explicit(&live_bytes, memory_order_relaxed);

	if (lived > atomic_load_explicit(&sonde__peak_limit, memory_order_relaxed))
		sonde__peak_passed(lived);
	atomic_fetch_sub_explicit(&live_bytes, r->weight, memory_order_relaxed);
	atomic_fetch_add_explicit(&r->frees, 1, memory_order_release);
}

static void record(const void *p, size_t size, uint64_t rate, const void *caller)
{
	uint32_t row;
	uint64_t missed = 0;

	sonde__live_expect(p);
	row = row_of(sonde__caller_stack(caller), size, rate);
	add_one(&sonde__stats.heap_samples);
	if (!row || !sonde__live_insert(p, sonde__mark(row, sonde__now_about()), &missed)) {
		add_one(&sonde__stats.heap_lost);
		return;
	}
	add_one(&row_at(row)->allocs);
	atomic_fetch_add_explicit(&live_bytes, row_at(row)->weight, memory_order_relaxed);
	if (missed)
		count_end(sonde__mark_row(missed));
}

_Atomic(void (*)(void)) sonde__heap_watcher;

static void watch(void)
{
	void (*watcher)(void) = atomic_load_explicit(&sonde__heap_watcher, memory_order_relaxed);

	if (watcher)
		watcher();
}

void sonde__heap_record(const void *p, size_t size, uint64_t rate, const void *caller)
{
	int saved = errno;
	bool timed =
		atomic_load_explicit(&sonde__stats.heap_samples, memory_order_relaxed) % TIMED == 0;
	uint64_t start = timed ? sonde__now() : 0;

	sonde__tls.inside++;
	record(p, size, rate, caller);
	watch();
	if (timed)
		atomic_fetch_add_explicit(&sonde__stats.own_ns, (sonde__now() - start) * TIMED,
					  memory_order_relaxed);
	sonde__tls.inside--;
	errno = saved;
}

void sonde__heap_forget(const void *p)
{
	sonde__heap_ended(sonde__heap_take(p));
}

uint64_t sonde__heap_take(const void *p)
{
	return sonde__live_remove(p);
}

void sonde__heap_ended(uint64_t taken)
{
	if (taken)
		count_end(sonde__mark_row(taken));
}

void sonde__heap_put_back(const void *p, uint64_t taken)
{
	uint64_t missed = 0;

	if (!taken)
		return;
	sonde__tls.inside++;
	if (!sonde__live_insert(p, taken, &missed)) {
		add_one(&sonde__stats.heap_lost);
		count_end(sonde__mark_row(taken));
	}
	sonde__tls.inside--;
}

size_t sonde__heap_rows(void)
{
	return sonde__rows_count(&rows);
}

void sonde__heap_row(size_t i, struct sonde__heap_row *to)
{
	const struct row *r = row_at((uint32_t)i + 1);

	to->frees = atomic_load_explicit(&r->frees, memory_order_acquire);
	to->allocs = atomic_load_explicit(&r->allocs, memory_order_relaxed);
	sonde__heap_row_key((uint32_t)i + 1, to);
}

struct sonde__heap_row *sonde__heap_snapshot(size_t *n, size_t *mapped)
{
	size_t count = sonde__heap_rows();
	struct sonde__heap_row *to = count ? sonde__map(count * sizeof(*to)) : NULL;

	*n = to ? count : 0;
	*mapped = count * sizeof(*to);
	for (size_t i = 0; i < *n; i++)
		sonde__heap_row(i, &to[i]);
	return to;
}

int64_t sonde__heap_live_bytes(void)
{
	return atomic_load_explicit(&live_bytes, memory_order_relaxed);
}

struct sonde__heap_live *sonde__heap_live_rows(size_t *n, size_t *mapped)
{
	uint32_t count = sonde__rows_count(&rows);
	struct sonde__heap_live *to;

	*n = 0;
	*mapped = count * sizeof(*to);
	to = count ? sonde__map(*mapped) : NULL;
	if (!to)
		return NULL;
	for (uint32_t i = 1; i <= count; i++) {
		const struct row *r = row_at(i);
		uint64_t frees = atomic_load_explicit(&r->frees, memory_order_acquire);
		uint64_t live = atomic_load_explicit(&r->allocs, memory_order_relaxed) - frees;

		if (live)
			to[(*n)++] = (struct sonde__heap_live){ i, (uint32_t)live };
	}
	return to;
}

void sonde__heap_row_key(uint32_t number, struct sonde__heap_row *to)
{
	const struct row *r = row_at(number);

	to->stack = r->stack;
	to->labels = r->labels;
	to->size = r->size;
	to->rate = r->rate;
}

double sonde__heap_factor(uint64_t size, uint64_t rate)
{
	if (rate <= 1 || size == 0)
		return 1;
	return 1 / sonde__one_minus_exp((double)size / (double)rate);
}

void sonde__heap_scale(const struct sonde__heap_row *row, int64_t values[4])
{
	double factor = sonde__heap_factor(row->size, row->rate), size = (double)row->size;
	double allocs = (double)row->allocs * factor;
	double inuse = (double)(row->allocs - row->frees) * factor;
	double fraction =
		(double)(mix((uint64_t)row->labels << 32 ^ row->stack ^ mix(row->size)) >> 11) *
		0x1p-53;

	values[0] = (int64_t)(allocs + fraction);
	values[1] = (int64_t)(allocs * size + 0.5);
	values[2] = (int64_t)(inuse + fraction);
	values[3] = (int64_t)(inuse * size + 0.5);
}

void sonde__heap_lock(void)
{
	sonde__lock(&rows.lock);
	sonde__peak_lock();
	sonde__stacks_lock();
	sonde__live_lock();
}

void sonde__heap_unlock(void)
{
	sonde__live_unlock();
	sonde__stacks_unlock();
	sonde__peak_unlock();
	sonde__unlock(&rows.lock);
}
