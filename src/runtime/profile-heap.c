/*
 * profile-heap.c - the profiles of memory: heap, allocs and peak
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "runtime/ages.h"
#include "runtime/autodump.h"
#include "runtime/heap.h"
#include "runtime/http.h"
#include "runtime/labels.h"
#include "runtime/memstats.h"
#include "runtime/os.h"
#include "runtime/peak.h"
#include "runtime/profiles.h"
#include "runtime/sort.h"

static size_t count_heap(void)
{
	return sonde__heap_rows();
}

/* A row, with room for another label than its own. */
struct labelled {
	const struct sonde__heap_row *row;
	struct sonde__label labels[2 + SONDE__LABEL_SET];
	size_t n;
};

static struct labelled label_row(const struct sonde__heap_row *r)
{
	struct labelled l = { .row = r };

	l.labels[0] = (struct sonde__label){ .key = "bytes", .number = (int64_t)r->size };
	l.n = 1 + sonde__labels_expand(r->labels, l.labels + 1, SONDE__LABEL_SET);
	return l;
}

static void add_row(struct sonde__output *o, const struct sonde__heap_row *r)
{
	struct labelled l = label_row(r);
	int64_t v[SONDE__TYPES];

	sonde__heap_scale(r, v);
	sonde__output_add(o, r->stack, v, l.labels, l.n);
}

/*
 * Adds what 'counted' stands for beyond 'before', which becomes that: the parts of a row, one after
 * the other, are together what the whole is, to the last object.
 */
static void add_part(struct sonde__output *o, const struct labelled *l,
		     const struct sonde__heap_row *counted, int64_t *before)
{
	int64_t v[SONDE__TYPES], part[SONDE__TYPES];

	sonde__heap_scale(counted, v);
	for (size_t i = 0; i < SONDE__TYPES; i++) {
		part[i] = v[i] - before[i];
		before[i] = v[i];
	}
	sonde__output_add(o, counted->stack, part, l->labels, l->n);
}

/* What lives by its age, and what does not without one. */
static void add_aged(struct sonde__output *o, const struct sonde__heap_row *r,
		     const struct sonde__ages *ages)
{
	struct labelled l = label_row(r);
	struct sonde__heap_row counted = *r;
	int64_t before[SONDE__TYPES] = { 0 };

	counted.allocs = 0;
	counted.frees = 0;
	l.n++;
	for (unsigned i = 0; i < SONDE__AGES; i++) {
		if (ages->live[i] == 0)
			continue;
		l.labels[l.n - 1] =
			(struct sonde__label){ .key = "age", .text = sonde__age_name(i) };
		counted.allocs += ages->live[i];
		add_part(o, &l, &counted, before);
	}
	l.n--;
	if (counted.allocs >= r->allocs)
		return;
	counted.frees = r->allocs - counted.allocs;
	counted.allocs = r->allocs;
	add_part(o, &l, &counted, before);
}

/* A difference would show everything that grew older as gone and come. */
static bool wants_ages(const struct sonde__request *rq)
{
	char text[8];

	if (sonde__param(rq, "seconds", text, sizeof(text)) && text[0])
		return false;
	if (sonde__param(rq, "age", text, sizeof(text)) && text[0])
		return sonde__int_param(rq, "age") > 0;
	return sonde__agent_config()->label_age;
}

static void add_rows(struct sonde__output *o, const struct sonde__request *rq)
{
	size_t n = sonde__heap_rows(), ages_mapped = 0;
	struct sonde__ages *ages = wants_ages(rq) ? sonde__ages_count(n, &ages_mapped) : NULL;

	for (size_t i = 0; i < n; i++) {
		struct sonde__heap_row row;

		sonde__heap_row(i, &row);
		if (ages)
			add_aged(o, &row, &ages[i]);
		else
			add_row(o, &row);
	}
	sonde__unmap(ages, ages_mapped);
}

/* Without which the numbers would mislead. */
static void add_comments(struct sonde__output *o)
{
	char line[256] = "sonde: ";

	if (!sonde__heap_allocator())
		sonde__output_comment(o, "sonde: the program's allocator is not reached by our "
					 "hooks: its memory is not in this profile");
	else if (sonde__heap_unseen(line + 7, sizeof(line) - 7))
		sonde__output_comment(o, line);
	if (sonde__autodump_problem()) {
		sonde__format(line, sizeof(line), "sonde: %s", sonde__autodump_problem());
		sonde__output_comment(o, line);
	}
	sonde__comment_off(o, SONDE__HEAP, "the heap profile is");
	sonde__comment_count(o, atomic_load(&sonde__stats.heap_lost), "samples lost");
	sonde__comment_count(o, atomic_load(&sonde__stats.stacks_lost),
			     "stacks lost, their table is full");
	sonde__comment_count(o, atomic_load(&sonde__stats.truncated),
			     "stacks cut at the root since the start, they were too deep");
}

static void add_heap(struct sonde__output *o, const struct sonde__request *rq)
{
	add_rows(o, rq);
	add_comments(o);
}

static void add_peak(struct sonde__output *o, const struct sonde__request *rq)
{
	struct sonde__peak peak;
	size_t n = 0, mapped = 0;
	struct sonde__heap_row *rows = sonde__peak_rows(&peak, &n, &mapped);
	char line[160], when[32];

	(void)rq;
	for (size_t i = 0; i < n; i++)
		add_row(o, &rows[i]);
	sonde__unmap(rows, mapped);
	sonde__stamp(peak.wall, when);
	sonde__format(line, sizeof(line), "sonde: the heap at its peak: %lld bytes, %s",
		      (long long)peak.bytes, when);
	sonde__output_comment(o, line);
	if (peak.highest > peak.bytes + peak.bytes / 32)
		sonde__comment_count(o, (uint64_t)peak.highest,
				     "bytes were there once, for too short a time to look");
	add_comments(o);
}

static size_t count_peak(void)
{
	struct sonde__peak peak;
	size_t n = 0, mapped = 0;
	void *rows = sonde__peak_rows(&peak, &n, &mapped);

	sonde__unmap(rows, mapped);
	return n;
}

static uint64_t live(const struct sonde__heap_row *r)
{
	return r->allocs > r->frees ? r->allocs - r->frees : 0;
}

static void add_counts(struct sonde__buf *b, uint64_t objects, uint64_t bytes, uint64_t allocs,
		       uint64_t alloc_bytes)
{
	sonde__buf_format(b, "%llu: %llu [%llu: %llu] @", (unsigned long long)objects,
			  (unsigned long long)bytes, (unsigned long long)allocs,
			  (unsigned long long)alloc_bytes);
}

/* What has most in use comes first. */
static bool is_before(const void *a, const void *b)
{
	const struct sonde__heap_row *x = a, *y = b;

	return live(x) * x->size > live(y) * y->size;
}

/* Raw counts: readers scale them by the rate in the first line. */
static void text_rows(struct sonde__buf *b, struct sonde__heap_row *r, size_t n)
{
	unsigned long long rate = sonde__heap_rate();
	uint64_t sums[4] = { 0 };
	struct sonde__buf pcs = { 0 };

	for (size_t i = 0; i < n; i++) {
		sonde__text_want(&pcs, r[i].stack);
		sums[0] += live(&r[i]);
		sums[1] += live(&r[i]) * r[i].size;
		sums[2] += r[i].allocs;
		sums[3] += r[i].allocs * r[i].size;
	}
	sonde__text_find(&pcs);
	sonde__sort(r, n, sizeof(*r), is_before);
	sonde__buf_text(b, "heap profile: ");
	add_counts(b, sums[0], sums[1], sums[2], sums[3]);
	sonde__buf_format(b, " heap/%llu\n", 2 * rate);
	for (size_t i = 0; i < n; i++) {
		add_counts(b, live(&r[i]), live(&r[i]) * r[i].size, r[i].allocs,
			   r[i].allocs * r[i].size);
		sonde__text_stack(b, r[i].stack);
	}
}

static void heap_text(struct sonde__buf *b, const struct sonde__request *rq, int64_t debug)
{
	size_t n = 0, mapped = 0;
	struct sonde__heap_row *r = sonde__heap_snapshot(&n, &mapped);
	struct sonde__memstats s;

	(void)rq;
	(void)debug;
	sonde__memstats(&s);
	text_rows(b, r, n);
	sonde__unmap(r, mapped);
	sonde__memstats_text(b, &s);
	sonde__buf_text(b, "\n");
	sonde__text_mappings(b);
}

static void peak_text(struct sonde__buf *b, const struct sonde__request *rq, int64_t debug)
{
	struct sonde__peak peak;
	size_t n = 0, mapped = 0;
	struct sonde__heap_row *r = sonde__peak_rows(&peak, &n, &mapped);

	(void)rq;
	(void)debug;
	text_rows(b, r, n);
	sonde__unmap(r, mapped);
	sonde__text_mappings(b);
}

#define HEAP                                                                                       \
	.types = { { "alloc_objects", "count" },                                                   \
		   { "alloc_space", "bytes" },                                                     \
		   { "inuse_objects", "count" },                                                   \
		   { "inuse_space", "bytes" } },                                                   \
	.ntypes = 4, .period_type = { "space", "bytes" }, .hide_allocator = true,                  \
	.period = sonde__heap_rate

const struct sonde__kind sonde__kind_heap = {
	.name = "heap",
	HEAP,
	.add = add_heap,
	.text = heap_text,
	.count = count_heap,
};

const struct sonde__kind sonde__kind_allocs = {
	.name = "allocs",
	.default_type = "alloc_space",
	HEAP,
	.add = add_heap,
	.text = heap_text,
	.count = count_heap,
};

const struct sonde__kind sonde__kind_peak = {
	.name = "peak",
	.default_type = "inuse_space",
	HEAP,
	.add = add_peak,
	.text = peak_text,
	.count = count_peak,
};
