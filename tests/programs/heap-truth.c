/*
 * heap-truth.c - allocates what is known exactly, and prints what the sampled heap makes of it
 *
 * usage: heap-truth RATE SEEDS
 *
 * Each seed runs all workloads once.  A line for each workload and value: name, value, truth, mean
 * of the estimates, their standard deviation, and the standard deviation they ought to have.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "runtime/heap.h"
#include "runtime/labels.h"
#include "runtime/os.h"
#include "runtime/runtime.h"

#include <malloc.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { VALUES = 4, MANY = 600000, FEW = 10, MIXED = 12000, LIVED = 20000 };

static const char *const value_names[VALUES] = { "alloc_objects", "alloc_space", "inuse_objects",
						 "inuse_space" };

static void *(*volatile do_malloc)(size_t) = malloc;
static void (*volatile do_free)(void *) = free;

static void *kept[MANY + FEW];
static size_t nkept;

/* What is true, and the variance of an unbiased estimate of it. */
struct truth {
	double v[VALUES], variance[VALUES];
};

static void note(struct truth *t, size_t size, bool lives, uint64_t rate)
{
	double factor = sonde__heap_factor(size, rate);
	double one[VALUES] = { 1, (double)size, lives, lives ? (double)size : 0 };

	for (int k = 0; k < VALUES; k++) {
		t->v[k] += one[k];
		t->variance[k] += one[k] * one[k] * (factor - 1);
	}
}

static void allocate(struct truth *t, size_t size, bool lives, uint64_t rate)
{
	void *p = do_malloc(size);

	note(t, size, lives, rate);
	if (lives)
		kept[nkept++] = p;
	else
		do_free(p);
}

/* Sizes from 16 bytes to 256 KiB, every order of magnitude alike; none lives. */
__attribute__((noinline)) static void mix_sizes(struct truth *t, uint64_t rate)
{
	uint64_t random = 1;

	for (int i = 0; i < MIXED; i++) {
		uint64_t r = sonde__random(&random);
		size_t size = (size_t)16 << (r >> 60) % 15;

		allocate(t, size + (r & 0xffffff) % size, false, rate);
	}
}

/* Many small and few huge ones from one place, which is what sums scaled too late get wrong. */
__attribute__((noinline)) static void small_and_huge(struct truth *t, uint64_t rate)
{
	for (int i = 0; i < MANY; i++) {
		if (i % (MANY / FEW) == 0)
			allocate(t, 8 << 20, true, rate);
		allocate(t, 128, true, rate);
	}
}

/* One in three lives on; the others come and go in between. */
__attribute__((noinline)) static void long_and_short(struct truth *t, uint64_t rate)
{
	for (int i = 0; i < LIVED; i++)
		allocate(t, 1000 + (size_t)(i % 7) * 5000, i % 3 == 0, rate);
}

/* The same in rows of their own: more of them, each with fewer samples to round. */
__attribute__((noinline)) static void with_labels(struct truth *t, uint64_t rate)
{
	char value[8];

	for (int i = 0; i < LIVED; i++) {
		snprintf(value, sizeof(value), "%d", i / 3 % 50);
		sonde__labels_set("request", value);
		allocate(t, 1000 + (size_t)(i % 7) * 5000, i % 3 == 0, rate);
	}
	sonde__labels_use(0);
}

typedef void workload_fn(struct truth *t, uint64_t rate);

static const struct {
	const char *name;
	workload_fn *run;
} workloads[] = {
	{ "mixed", mix_sizes },
	{ "small-and-huge", small_and_huge },
	{ "long-and-short", long_and_short },
	{ "labelled", with_labels },
};
enum { WORKLOADS = sizeof(workloads) / sizeof(workloads[0]) };

struct estimates {
	double v[VALUES];
};

static struct estimates read_all(void)
{
	struct estimates e = { { 0 } };
	size_t n, mapped;
	struct sonde__heap_row *rows = sonde__heap_snapshot(&n, &mapped);

	for (size_t i = 0; i < n; i++) {
		int64_t v[VALUES];

		sonde__heap_scale(&rows[i], v);
		for (int k = 0; k < VALUES; k++)
			e.v[k] += (double)v[k];
	}
	sonde__unmap(rows, mapped);
	return e;
}

struct sums {
	double sum, squares;
};

static void run_once(size_t w, uint64_t rate, uint64_t seed, struct truth *t, struct sums *to)
{
	struct estimates before = read_all(), after;

	memset(t, 0, sizeof(*t));
	nkept = 0;
	sonde__heap_set_rate(rate);
	sonde__heap_seed(seed * WORKLOADS + w);
	workloads[w].run(t, rate);
	sonde__heap_set_rate(0);
	after = read_all();
	for (int k = 0; k < VALUES; k++) {
		double x = after.v[k] - before.v[k];

		to[k].sum += x;
		to[k].squares += x * x;
	}
	while (nkept)
		do_free(kept[--nkept]);
}

static void run(size_t w, uint64_t rate, uint64_t seeds)
{
	struct sums sums[VALUES] = { { 0 } };
	struct truth t;

	for (uint64_t seed = 1; seed <= seeds; seed++)
		run_once(w, rate, seed, &t, sums);
	for (int k = 0; k < VALUES; k++) {
		double n = (double)seeds, mean = sums[k].sum / n;
		double variance = seeds > 1 ? (sums[k].squares - n * mean * mean) / (n - 1) : 0;

		printf("%s %s %.0f %.3f %.3f %.3f\n", workloads[w].name, value_names[k], t.v[k],
		       mean, sqrt(fmax(variance, 0)), sqrt(t.variance[k]));
	}
}

int main(int argc, char **argv)
{
	if (argc != 3)
		return 2;
	/* Nothing of this is touched, so it costs addresses only; mapping each would cost time. */
	mallopt(M_MMAP_THRESHOLD, 1 << 30);
	mallopt(M_TRIM_THRESHOLD, 1 << 30);
	for (size_t w = 0; w < WORKLOADS; w++)
		run(w, strtoull(argv[1], NULL, 10), strtoull(argv[2], NULL, 10));
	printf("lost %llu\n", (unsigned long long)sonde__stats.heap_lost);
	return 0;
}
