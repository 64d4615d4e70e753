/*
 * decode-ids.c - from the ids in a file to places in a table
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/str.h"
#include "base/xalloc.h"
#include "profile/decoder.h"

#include <stdlib.h>

static uint64_t hash_id(uint64_t id)
{
	return hash_mix(id, 1);
}

static uint64_t id_of(const struct id_map *m, uint32_t i)
{
	return *(const uint64_t *)((const char *)m->ids + i * m->stride);
}

static uint64_t rehash_id(uint32_t i, const void *ctx)
{
	return hash_id(id_of(ctx, i));
}

static bool find_large(const struct id_map *m, uint64_t id, struct probe *at)
{
	while (table_next(&m->large, at)) {
		if (id_of(m, at->value) == id)
			return true;
	}
	return false;
}

void id_map_fill(struct id_map *m, const uint64_t *ids, size_t stride, size_t n)
{
	struct probe at;

	*m = (struct id_map){ .ids = ids, .stride = stride, .n = n, .dense = true };
	m->small = mem_new(n + 1, sizeof(*m->small));
	memset(m->small, 0xff, (n + 1) * sizeof(*m->small));
	table_init(&m->large, 0);
	for (uint32_t i = 0; i < n; i++) {
		uint64_t id = id_of(m, i);

		m->dense &= id == (uint64_t)i + 1;
		if (id <= n) {
			m->small[id] = i;
			continue;
		}
		table_reserve(&m->large, rehash_id, m);
		at = table_probe(&m->large, hash_id(id));
		if (find_large(m, id, &at))
			table_replace(&m->large, &at, i);
		else
			table_put(&m->large, &at, i);
	}
}

uint32_t id_map_find_large(const struct id_map *m, uint64_t id)
{
	struct probe at = table_probe(&m->large, hash_id(id));

	return find_large(m, id, &at) ? at.value : NONE;
}

void id_map_release(struct id_map *m)
{
	free(m->small);
	table_release(&m->large);
}
