/*
 * fuzz-demangle.c - a name of a function, in every mode
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/arena.h"
#include "base/cleanup.h"
#include "symbol/demangle.h"

#include <assert.h>
#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const enum demangle_mode modes[] = { DEMANGLE_DEFAULT, DEMANGLE_TEMPLATES,
						    DEMANGLE_FULL, DEMANGLE_NONE };
	struct str name = { (const char *)data, size };

	for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
		AUTO(arena_release) struct arena a;
		struct str text;

		arena_init(&a, 16 << 20);
		text = demangle_name(name, modes[i], &a);
		assert(text.p || text.n == 0);
		/* No name becomes long, unless it was. */
		assert(text.n <= (size_t)128 << 10 || text.n <= size);
	}
	return 0;
}
