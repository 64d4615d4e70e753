/*
 * fuzz-folded.c - a file of folded stacks
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/cleanup.h"
#include "base/err.h"
#include "profile/check.h"
#include "profile/legacy-folded.h"
#include "profile/profile.h"

#include <assert.h>
#include <errno.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Every sample has frames, each of them a function with a name, which was in the text. */
static void check(const struct profile *p, struct str text)
{
	assert(profile_check_tables(p, NULL) == 0);
	assert(p->nsamples > 0 && p->nlocations == p->nfunctions);
	for (uint64_t i = 0; i < p->nstacks; i++)
		assert(p->stacks[i] < p->nlocations);
	for (size_t i = 0; i < p->nsamples; i++) {
		assert(p->samples[i].depth > 0 && p->values[i] >= 0);
		assert(p->samples[i].stack + p->samples[i].depth <= p->nstacks);
	}
	for (uint32_t i = 0; i < p->nfunctions; i++) {
		struct str name = profile_str(p, p->functions[i].name);

		assert(name.n > 0 && str_find(text, name) >= 0);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	AUTO(profile_freep) struct profile *p = NULL;
	struct str text = { (const char *)data, size };
	struct err err = { "" };
	int rc = folded_parse(text, &p, &err);

	assert(rc == 0 || rc == -ENOTSUP || rc == -EBADMSG);
	assert(rc == 0 ? p != NULL : err.msg[0] && !p);
	if (p)
		check(p, text);
	return 0;
}
