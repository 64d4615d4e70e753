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
		v->samples = copy(v, v->samples, profile_rows(v), sizeof(*v->samples));
}

void own_values(struct profile *v)
{
	if (v->origin && v->values == v->origin->values)
		v->values = copy(v, v->values, profile_rows(v) * v->ntypes, sizeof(*v->values));
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
		sample_at(v, i)->stack = n;
		sample_at(v, i)->depth = stack.n;
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

void keep_samples(struct profile *v, bool (*keep)(struct profile *v, unsigned long i, void *ctx),
		  void *ctx)
{
	size_t kept = 0, nrows = profile_rows(v);
	uint32_t *rows;

	while (kept < v->nsamples && keep(v, kept, ctx))
		kept++;
	if (kept == v->nsamples)
		return;
	rows = xarena(&v->arena, v->nsamples, sizeof(*rows));
	for (size_t i = 0; i < kept; i++)
		rows[i] = (uint32_t)sample_row(v, i);
	for (size_t i = kept + 1; i < v->nsamples; i++) {
		if (keep(v, i, ctx))
			rows[kept++] = (uint32_t)sample_row(v, i);
	}
	v->rows = rows;
	v->nrows = nrows;
	v->nsamples = kept;
}
