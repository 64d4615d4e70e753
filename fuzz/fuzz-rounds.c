/*
 * fuzz-rounds.c - names in a folder of collected rounds
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "source/rounds.h"

#include <assert.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What a name is made of is a part of it, and in this order. */
static void check_file(struct str name, const struct round_file *f)
{
	assert(f->component.n > 0 && f->kind.n > 0);
	assert(f->component.p == name.p && f->kind.p == name.p + f->component.n + 1);
	assert(f->component.n + f->kind.n + strlen("-20201001T220840Z.pprof") < name.n);
	assert(!memchr(f->kind.p, '-', f->kind.n));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct str name = { (const char *)data, size };
	struct round_file f;
	int64_t seconds;

	if (stamp_parse(name, &seconds))
		assert(size < STAMP_BYTES);
	if (round_file_parse(name, &f))
		check_file(name, &f);
	return 0;
}
