/*
 * own.c - a view gets a copy of what it is about to change
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "view/own.h"

#include "base/xalloc.h"
#include "profile/profile.h"

static void *copy(struct profile *v, const void *from, size_t n, size_t size)
{
	void *to = xarena(&v->arena, n, size);

	if (n)
		memcpy(to, from, n * size);
	return to;
}

void own_samples(struct profile *v)
{
	if (!v->origin || v->samples != v->origin->samples)
		return;
	v->samples = copy(v, v->samples, v->nsamples, sizeof(*v->samples));
	v->values = copy(v, v->values, v->nsamples * v->ntypes, sizeof(*v->values));
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
	bool shared = v->origin && v->samples == v->origin->samples;
	struct sample *samples = v->samples;
	int64_t *values = v->values;
	size_t kept = 0;

	for (size_t i = 0; i < v->nsamples; i++) {
		bool stays = keep(v, i, ctx);

		if (stays && kept == i) {
			kept++;
			continue;
		}
		if (shared && samples == v->samples) { /* the first that goes */
			samples = xarena(&v->arena, v->nsamples, sizeof(*samples));
			values = xarena(&v->arena, v->nsamples * v->ntypes, sizeof(*values));
			memcpy(samples, v->samples, kept * sizeof(*samples));
			memcpy(values, v->values, kept * v->ntypes * sizeof(*values));
		}
		if (!stays)
			continue;
		samples[kept] = v->samples[i];
		memmove(values + kept * v->ntypes, sample_values(v, i),
			v->ntypes * sizeof(*values));
		kept++;
	}
	v->samples = samples;
	v->values = values;
	v->nsamples = kept;
}
