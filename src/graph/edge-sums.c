/*
 * edge-sums.c - what all calls between two nodes add up to
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "graph/edge-sums.h"

#include "base/xalloc.h"
#include "graph/walk.h"

#include <stdlib.h>

enum { FIRST_SIZE = 1 << 12 };

static void make_slots(struct edge_sums *e, size_t size, bool mean)
{
	*e = (struct edge_sums){ .slots = mem_zeroed(size, sizeof(*e->slots)), .mask = size - 1 };
	if (mean)
		e->divs = mem_zeroed(size, sizeof(*e->divs));
}

void edge_sums_init(struct edge_sums *e, const struct grid *grid, bool mean)
{
	size_t size = grid ? grid->nsrc * grid->ndst : 0;

	if (!grid) {
		make_slots(e, FIRST_SIZE, mean);
		return;
	}
	*e = (struct edge_sums){ .grid = grid,
				 .cells = mem_zeroed(size, sizeof(*e->cells)),
				 .mask = size - 1 };
	if (mean)
		e->divs = mem_zeroed(size, sizeof(*e->divs));
}

void edge_sums_release(struct edge_sums *e)
{
	free(e->cells);
	free(e->slots);
	free(e->divs);
}

static size_t free_slot(const struct edge_sums *e, uint64_t key)
{
	size_t i = edge_first_slot(e, key);

	while (e->slots[i].key != NO_EDGE)
		i = (i + 1) & e->mask;
	return i;
}

static void grow(struct edge_sums *e)
{
	struct edge_sums old = *e;

	make_slots(e, (old.mask + 1) * 2, old.divs);
	e->used = old.used;
	for (size_t i = 0; i <= old.mask; i++) {
		size_t to;

		if (old.slots[i].key == NO_EDGE)
			continue;
		to = free_slot(e, old.slots[i].key);
		e->slots[to] = old.slots[i];
		if (old.divs)
			e->divs[to] = old.divs[i];
	}
	edge_sums_release(&old);
}

size_t edge_sums_insert(struct edge_sums *e, uint64_t key, size_t slot)
{
	if (e->used * 4 > e->mask * 3) {
		grow(e);
		slot = free_slot(e, key);
	}
	e->slots[slot] = (struct edge_slot){ .key = key, .sum.is = EDGE_FOUND };
	e->used++;
	return slot;
}

static uint64_t key_of(const struct edge_sums *e, size_t slot)
{
	const struct grid *g = e->grid;

	return g ? (uint64_t)g->callers[slot % g->nsrc] << 32 | g->callees[slot / g->nsrc]
		 : e->slots[slot].key;
}

void edge_sums_merge(struct edge_sums *to, struct edge_sums *from)
{
	for (size_t i = 0; i <= from->mask; i++) {
		const struct edge_sum *f = edge_sum_at(from, i);
		struct edge_sum *e;
		size_t k;

		if (!(f->is & EDGE_FOUND))
			continue;
		k = edge_slot_for(to, key_of(from, i));
		e = edge_sum_at(to, k);
		e->weight = wrap_add(e->weight, f->weight);
		if (to->divs)
			to->divs[k] = wrap_add(to->divs[k], from->divs[i]);
		e->is |= f->is;
	}
	edge_sums_release(from);
}

/* Sorts by one end of the edges, in linear time; edges with the same end keep their order. */
static void sort_by_end(const struct edge *from, struct edge *to, size_t n, uint32_t nnodes,
			bool callee)
{
	size_t *at = mem_zeroed((size_t)nnodes + 1, sizeof(*at));

	for (size_t i = 0; i < n; i++)
		at[(callee ? from[i].dst : from[i].src) + 1]++;
	for (uint32_t i = 0; i < nnodes; i++)
		at[i + 1] += at[i];
	for (size_t i = 0; i < n; i++)
		to[at[callee ? from[i].dst : from[i].src]++] = from[i];
	free(at);
}

struct edge *edge_sums_list(struct edge_sums *sums, uint32_t nnodes)
{
	struct edge *edges = mem_new(sums->used, sizeof(*edges)), *sorted;
	size_t k = 0;

	for (size_t i = 0; i <= sums->mask; i++) {
		const struct edge_sum *e = edge_sum_at(sums, i);
		uint64_t key;

		if (!(e->is & EDGE_FOUND))
			continue;
		key = key_of(sums, i);
		edges[k++] = (struct edge){ .src = (uint32_t)(key >> 32),
					    .dst = (uint32_t)key,
					    .weight = e->weight,
					    .weight_div = sums->divs ? sums->divs[i] : 0,
					    .residual = e->is & EDGE_RESIDUAL,
					    .inlined = !(e->is & EDGE_DIRECT) };
	}
	edge_sums_release(sums);
	sorted = mem_new(k, sizeof(*edges));
	sort_by_end(edges, sorted, k, nnodes, true);
	sort_by_end(sorted, edges, k, nnodes, false);
	free(sorted);
	return edges;
}
