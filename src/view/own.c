/*
 * own.c - a view gets a copy of what it is about to change
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "view/own.h"

#include "base/xalloc.h"
#include "profile/profile.h"
#include "profile/stack.h"

static void *copy(struct profile *v, const void *from, size_t n, size_t size)
{
	void *to = xarena(&v->arena, n, size);

	if (n)
		memcpy(to, from, n * size);
	return to;
}

void own_samples(struct profile *v)
{
	if (v->origin && v->samples == v->origin->samples)
		v->samples = copy(v, v->samples, v->nsamples, sizeof(*v->samples));
}

/* The entries of the samples' rows, 'n' each. */
static void *copy_rows(struct profile *v, const void *from, size_t n, size_t size)
{
	char *to = xarena(&v->arena, v->nsamples, n * size);

	for (size_t i = 0; i < v->nsamples; i++)
		memcpy(to + i * n * size, (const char *)from + sample_row(v, i) * n * size,
		       n * size);
	return to;
}

void own_values(struct profile *v)
{
	if (!v->origin || v->values != v->origin->values)
		return;
	v->values = copy_rows(v, v->values, v->ntypes, sizeof(*v->values));
	if (v->ends)
		v->ends = copy_rows(v, v->ends, v->nleaves + v->nroots, sizeof(*v->ends));
	v->rows = NULL;
}

void own_stacks(struct profile *v)
{
	struct stack_reader reader;
	uint32_t *stacks;
	uint64_t n = 0;

	if (!v->hidden && !v->ends)
		return;
	own_samples(v);
	for (size_t i = 0; i < v->nsamples; i++)
		n += stack_depth(v, i);
	stacks = xarena(&v->arena, n, sizeof(*stacks));
	n = 0;
	stack_reader_init(&reader, v);
	for (size_t i = 0; i < v->nsamples; i++) {
		struct stack_list stack = stack_read(&reader, i);

		memcpy(stacks + n, stack.at, stack.n * sizeof(*stacks));
		v->samples[i].stack = n;
		v->samples[i].depth = stack.n;
		n += stack.n;
	}
	stack_reader_release(&reader);
	v->stacks = stacks;
	v->nstacks = n;
	v->hidden = NULL;
	v->ends = NULL;
	v->nleaves = v->nroots = 0;
}

void own_locations(struct profile *v)
{
	if (v->origin && v->locations == v->origin->locations)
		v->locations = copy(v, v->locations, v->nlocations, sizeof(*v->locations));
}

void own_functions(struct profile *v)
{
	if (v->origin && v->functions == v->origin->functions)
		v->functions = copy(v, v->functions, v->nfunctions, sizeof(*v->functions));
}

/* Rows of its own, of which the first 'n' say where the values of the samples are. */
static uint32_t *new_rows(struct profile *v, size_t n)
{
	uint32_t *rows = xarena(&v->arena, v->nsamples, sizeof(*rows));

	for (size_t i = 0; i < n; i++)
		rows[i] = (uint32_t)sample_row(v, i);
	return rows;
}

void keep_samples(struct profile *v, bool (*keep)(struct profile *v, unsigned long i, void *ctx),
		  void *ctx)
{
	bool shared = v->origin && v->samples == v->origin->samples;
	struct sample *samples = v->samples;
	uint32_t *rows;
	size_t kept = 0;

	while (kept < v->nsamples && keep(v, kept, ctx))
		kept++;
	if (kept == v->nsamples)
		return;
	rows = new_rows(v, kept);
	if (shared) {
		samples = xarena(&v->arena, v->nsamples, sizeof(*samples));
		memcpy(samples, v->samples, kept * sizeof(*samples));
	}
	for (size_t i = kept + 1; i < v->nsamples; i++) {
		if (!keep(v, i, ctx))
			continue;
		samples[kept] = v->samples[i];
		rows[kept++] = (uint32_t)sample_row(v, i);
	}
	v->samples = samples;
	v->rows = rows;
	v->nsamples = kept;
}
