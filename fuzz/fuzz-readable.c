/*
 * fuzz-readable.c - a name of a function at every level
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/cleanup.h"
#include "base/gotext.h"
#include "base/out.h"
#include "symbol/readable.h"

#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* How many bytes are not the second or a later one of a character. */
static size_t count_starts(struct str s)
{
	size_t n = 0;

	for (size_t i = 0; i < s.n; i++)
		n += ((unsigned char)s.p[i] & 0xc0) != 0x80;
	return n;
}

static void check_levels(struct str name, enum name_style style)
{
	AUTO(out_release) struct out before;
	AUTO(out_release) struct out o;

	out_init(&before, 0);
	out_init(&o, 0);
	out_str(&before, name);
	for (int level = 0; level < READABLE_LEVELS; level++) {
		size_t extra = 0;

		readable_name(name, style, level, &o);
		assert(!o.error);
		/* <\x80> has two characters at most, and becomes one of three. */
		for (size_t i = 0; i + 1 < before.n; i++)
			extra += (before.p[i] & 0xc0) != 0x80 && (before.p[i + 1] & 0xc0) == 0x80;
		assert(count_starts(out_view(&o)) <= count_starts(out_view(&before)) + extra);
		before.n = 0;
		out_str(&before, out_view(&o));
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct str name = { (const char *)data, size };

	check_levels(name, NAME_GUESS);
	check_levels(name, NAME_DOTTED);
	check_levels(name, NAME_SCOPED);
	return 0;
}
