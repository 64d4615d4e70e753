/*
 * table.c - hash index: from a key the caller knows to a small number
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/table.h"

#include "base/xalloc.h"

#include <stdlib.h>
#include <string.h>

void table_init(struct table *t, size_t expected)
{
	size_t size = 64;

	while (size * 2 < expected * 3 + 6)
		size *= 2;
	*t = (struct table){ .slots = mem_zeroed(size, sizeof(*t->slots)), .mask = size - 1 };
}

void table_copy(struct table *t, const struct table *from)
{
	size_t n = from->mask + 1;

	*t = *from;
	t->slots = mem_new(n, sizeof(*t->slots));
	memcpy(t->slots, from->slots, n * sizeof(*t->slots));
}

void table_release(struct table *t)
{
	free(t->slots);
	*t = (struct table){ 0 };
}

void table_clear(struct table *t)
{
	memset(t->slots, 0, (t->mask + 1) * sizeof(*t->slots));
	t->used = 0;
}

void table_rebuild(struct table *t, uint64_t (*rehash)(uint32_t value, const void *ctx),
		   const void *ctx)
{
	struct table bigger;
	struct probe at;

	table_init(&bigger, t->mask + 1);
	for (size_t i = 0; i <= t->mask; i++) {
		if (t->slots[i].value == 0)
			continue;
		at = table_probe(&bigger, rehash(t->slots[i].value - 1, ctx));
		while (table_next(&bigger, &at))
			;
		table_put(&bigger, &at, t->slots[i].value - 1);
	}
	table_release(t);
	*t = bigger;
}
