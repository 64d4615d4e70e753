/*
 * profile-contention.c - the profiles of waiting: mutex and block
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "runtime/contention.h"
#include "runtime/labels.h"
#include "runtime/os.h"
#include "runtime/profiles.h"

static size_t count_rows(enum sonde__contention kind)
{
	size_t n = 0, mapped = 0;
	void *rows = sonde__contention_snapshot(kind, &n, &mapped);

	sonde__unmap(rows, mapped);
	return n;
}

static size_t count_mutex(void)
{
	return count_rows(SONDE__MUTEX);
}

static size_t count_block(void)
{
	return count_rows(SONDE__BLOCK);
}

static void add_rows(struct sonde__output *o, enum sonde__contention kind)
{
	size_t n = 0, mapped = 0;
	struct sonde__contention_row *rows = sonde__contention_snapshot(kind, &n, &mapped);

	for (size_t i = 0; i < n; i++) {
		struct sonde__label labels[SONDE__LABEL_SET];
		size_t nlabels = sonde__labels_expand(rows[i].labels, labels, SONDE__LABEL_SET);
		int64_t v[SONDE__TYPES] = { (int64_t)rows[i].count, (int64_t)rows[i].ns };

		sonde__output_add(o, rows[i].stack, v, labels, nlabels);
	}
	sonde__unmap(rows, mapped);
	sonde__comment_count(o, atomic_load(&sonde__stats.contention_lost),
			     "waits lost, their table was full");
	sonde__comment_count(o, atomic_load(&sonde__stats.stacks_lost),
			     "stacks lost, their table is full");
	sonde__comment_count(o, atomic_load(&sonde__stats.truncated),
			     "stacks cut at the root since the start, they were too deep");
}

/* Nothing was measured, and that is not the same as nobody waiting. */
static void comment_rate(struct sonde__output *o, enum sonde__contention kind, const char *how)
{
	if (!sonde__contention_rate_now(kind))
		sonde__output_comment(o, how);
	sonde__comment_off(o, SONDE__LOCKS, "part of the waits");
}

static void add_mutex(struct sonde__output *o, const struct sonde__request *rq)
{
	(void)rq;
	add_rows(o, SONDE__MUTEX);
	comment_rate(
		o, SONDE__MUTEX,
		"sonde: waits for locks are not measured now: set SONDE_MUTEX_FRACTION=1, or ask "
		"with ?seconds=5&rate=1");
}

static void add_block(struct sonde__output *o, const struct sonde__request *rq)
{
	(void)rq;
	add_rows(o, SONDE__BLOCK);
	comment_rate(
		o, SONDE__BLOCK,
		"sonde: waits are not measured now: set SONDE_BLOCK_RATE to nanoseconds, or ask "
		"with ?seconds=5&rate=1");
}

/* Readers multiply by the period, where there is one. */
static void add_text(struct sonde__buf *b, enum sonde__contention kind, uint64_t period)
{
	size_t n = 0, mapped = 0;
	struct sonde__contention_row *rows = sonde__contention_snapshot(kind, &n, &mapped);
	struct sonde__buf pcs = { 0 };

	for (size_t i = 0; i < n; i++)
		sonde__text_want(&pcs, rows[i].stack);
	sonde__text_find(&pcs);
	for (size_t i = 0; i < n; i++) {
		sonde__buf_format(b, "%llu %llu @", (unsigned long long)(rows[i].ns / period),
				  (unsigned long long)(rows[i].count / (double)period));
		sonde__text_stack(b, rows[i].stack);
	}
	sonde__unmap(rows, mapped);
	sonde__text_mappings(b);
}

static void mutex_text(struct sonde__buf *b, const struct sonde__request *rq, int64_t debug)
{
	uint64_t period = sonde__contention_rate_now(SONDE__MUTEX);

	(void)rq;
	(void)debug;
	sonde__buf_format(b, "--- mutex:\ncycles/second=1000000000\nsampling period=%llu\n",
			  (unsigned long long)period);
	add_text(b, SONDE__MUTEX, period ? period : 1);
}

static void block_text(struct sonde__buf *b, const struct sonde__request *rq, int64_t debug)
{
	(void)rq;
	(void)debug;
	sonde__buf_text(b, "--- contention:\ncycles/second=1000000000\n");
	add_text(b, SONDE__BLOCK, 1);
}

/* What "rate" asks for; nothing makes no difference. */
static unsigned open_window(const struct sonde__request *rq, enum sonde__contention kind)
{
	int64_t rate = sonde__int_param(rq, "rate");

	return rate > 0 ? sonde__contention_open(kind, (uint64_t)rate) : 0;
}

static unsigned open_mutex(const struct sonde__request *rq)
{
	return open_window(rq, SONDE__MUTEX);
}

static unsigned open_block(const struct sonde__request *rq)
{
	return open_window(rq, SONDE__BLOCK);
}

#define CONTENTION                                                                                 \
	.types = { { "contentions", "count" }, { "delay", "nanoseconds" } }, .ntypes = 2,          \
	.period_type = { "contentions", "count" }, .close = sonde__contention_close

const struct sonde__kind sonde__kind_mutex = {
	.name = "mutex",
	.add = add_mutex,
	.text = mutex_text,
	.count = count_mutex,
	.open = open_mutex,
	CONTENTION,
};

const struct sonde__kind sonde__kind_block = {
	.name = "block",
	.add = add_block,
	.text = block_text,
	.count = count_block,
	.open = open_block,
	CONTENTION,
};
