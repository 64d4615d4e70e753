/*
 * profile-heap.c - the profiles of memory: heap and allocs
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "runtime/heap.h"
#include "runtime/labels.h"
#include "runtime/os.h"
#include "runtime/profiles.h"

static size_t count_heap(void)
{
	size_t n = 0, mapped = 0;
	void *rows = sonde__heap_snapshot(&n, &mapped);

	sonde__unmap(rows, mapped);
	return n;
}

/* Into room for SONDE__LABEL_SET and one more; how many. */
static size_t label_row(const struct sonde__heap_row *r, struct sonde__label *to)
{
	to[0] = (struct sonde__label){ .key = "bytes", .number = (int64_t)r->size };
	return 1 + sonde__labels_expand(r->labels, to + 1, SONDE__LABEL_SET);
}

static void add_rows(struct sonde__output *o)
{
	size_t n = 0, mapped = 0;
	struct sonde__heap_row *rows = sonde__heap_snapshot(&n, &mapped);

	for (size_t i = 0; i < n; i++) {
		const struct sonde__heap_row *r = &rows[i];
		struct sonde__label labels[1 + SONDE__LABEL_SET];
		int64_t v[SONDE__TYPES];

		sonde__heap_scale(r, v);
		sonde__output_add(o, r->stack, v, labels, label_row(r, labels));
	}
	sonde__unmap(rows, mapped);
}

static void add_heap(struct sonde__output *o, const struct sonde__request *rq)
{
	(void)rq;
	add_rows(o);
	sonde__comment_off(o, SONDE__HEAP, "the heap profile is");
	if (!sonde__heap_allocator())
		sonde__output_comment(o, "sonde: the program's allocator is not reached by our "
					 "hooks: its memory is not in this profile");
	sonde__comment_count(o, atomic_load(&sonde__stats.heap_lost), "samples lost");
	sonde__comment_count(o, atomic_load(&sonde__stats.stacks_lost),
			     "stacks lost, their table is full");
	sonde__comment_count(o, atomic_load(&sonde__stats.truncated),
			     "stacks cut at the root since the start, they were too deep");
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

/* Raw counts: readers scale them by the rate in the first line. */
static void heap_text(struct sonde__buf *b, const struct sonde__request *rq, int64_t debug)
{
	size_t n = 0, mapped = 0;
	struct sonde__heap_row *r = sonde__heap_snapshot(&n, &mapped);
	unsigned long long rate = sonde__heap_rate();
	uint64_t sums[4] = { 0 };

	(void)rq;
	(void)debug;
	for (size_t i = 0; i < n; i++) {
		sums[0] += live(&r[i]);
		sums[1] += live(&r[i]) * r[i].size;
		sums[2] += r[i].allocs;
		sums[3] += r[i].allocs * r[i].size;
	}
	sonde__buf_text(b, "heap profile: ");
	add_counts(b, sums[0], sums[1], sums[2], sums[3]);
	sonde__buf_format(b, " heap/%llu\n", 2 * rate);
	for (size_t i = 0; i < n; i++) {
		add_counts(b, live(&r[i]), live(&r[i]) * r[i].size, r[i].allocs,
			   r[i].allocs * r[i].size);
		sonde__text_stack(b, r[i].stack);
	}
	sonde__unmap(r, mapped);
}

#define HEAP                                                                                       \
	.types = { { "alloc_objects", "count" },                                                   \
		   { "alloc_space", "bytes" },                                                     \
		   { "inuse_objects", "count" },                                                   \
		   { "inuse_space", "bytes" } },                                                   \
	.ntypes = 4, .period_type = { "space", "bytes" }, .hide_allocator = true,                  \
	.period = sonde__heap_rate, .add = add_heap, .text = heap_text, .count = count_heap

const struct sonde__kind sonde__kind_heap = {
	.name = "heap",
	HEAP,
};

const struct sonde__kind sonde__kind_allocs = {
	.name = "allocs",
	.default_type = "alloc_space",
	HEAP,
};
