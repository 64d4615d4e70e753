/*
 * fuzz-legacy.c - a file in one of the old formats
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/cleanup.h"
#include "base/err.h"
#include "profile/check.h"
#include "profile/legacy.h"
#include "profile/profile.h"

#include <assert.h>
#include <errno.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_sample(const struct profile *p, const struct sample *s)
{
	assert(s->stack + s->depth <= p->nstacks);
	assert(s->label + s->nlabels <= p->nlabels);
	for (uint32_t i = 0; i < s->depth; i++)
		assert(p->stacks[s->stack + i] < p->nlocations);
}

static void check_location(const struct profile *p, const struct location *l)
{
	assert(l->mapping == NONE || l->mapping < p->nmappings);
	assert(l->nlines == 0 || l->line + l->nlines <= p->nlines);
	for (uint32_t i = 0; i < l->nlines; i++)
		assert(p->lines[l->line + i].function < p->nfunctions);
}

/* What profile.h promises. */
static void check(const struct profile *p)
{
	size_t nonzero = 0;

	assert(profile_check_tables(p, NULL) == 0);
	for (size_t i = 0; i < p->nsamples; i++)
		check_sample(p, &p->samples[i]);
	for (uint32_t i = 0; i < p->nlocations; i++)
		check_location(p, &p->locations[i]);
	/* All values have been set: a memory checker sees where this jumps. */
	for (size_t i = 0; i < p->nsamples * p->ntypes; i++)
		nonzero += p->values[i] != 0;
	assert(nonzero <= p->nsamples * p->ntypes);
	assert(p->drop_frames < p->strings->n && p->keep_frames < p->strings->n);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	AUTO(profile_freep) struct profile *p = NULL;
	struct err err = { "" };
	int rc = legacy_parse((struct str){ (const char *)data, size }, &p, &err);

	assert(rc == 0 || (rc < 0 && err.msg[0] && !p));
	if (rc == -ENOTSUP)
		assert(str_is(str_of(err.msg), "unrecognized profile format"));
	if (p)
		check(p);
	return 0;
}
