/*
 * fuzz-yaml.c - configuration files, times and sizes
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/arena.h"
#include "base/args.h"
#include "base/err.h"
#include "base/xalloc.h"
#include "base/yaml.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static uint64_t use(const struct yaml *y)
{
	uint64_t sum = hash_bytes(y->text.p, y->text.n, y->line);

	for (size_t i = 0; i < y->n; i++) {
		if (y->kind == YAML_MAP)
			sum = hash_bytes(y->keys[i].p, y->keys[i].n, sum);
		sum += use(y->items[i]);
	}
	return sum;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct str text = { (const char *)data, size };
	char *z = mem_str(text);
	struct yaml *y = NULL;
	struct arena a;
	struct err err;
	uint64_t n;
	int64_t ns;

	arena_init(&a, 64 << 20);
	if (yaml_parse(text, "x", &a, &y, &err) == 0 && y && use(y) == 1)
		abort();
	(void)size_parse(z, &n);
	if (time_parse(z, &ns) && ns < 0)
		abort();
	free(z);
	arena_release(&a);
	return 0;
}
