/*
 * edge-sums.h - what all calls between two nodes add up to
 *
 * For the loops of walk.c only: who adds an edge six million times wants it to be done in place.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef GRAPH_EDGE_SUMS_H
#define GRAPH_EDGE_SUMS_H

#include "base/str.h"
#include "base/wrap.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct edge;

/* An empty slot.  (No node calls itself over an edge, so no key is 0.) */
#define NO_EDGE 0

struct edge_sum {
	int64_t weight;
	uint32_t stamp; /* of the last sample that had it */
	uint8_t is;     /* of edge_is */
};

enum edge_is {
	EDGE_FOUND = 1,
	EDGE_DIRECT = 2, /* a call that was not inlined */
	EDGE_RESIDUAL = 4,
};

/* Of a hash table: side by side, so that both are one cache miss. */
struct edge_slot {
	uint64_t key; /* caller << 32 | callee */
	struct edge_sum sum;
};

/*
 * Where few nodes are kept, nearly every pair of them is an edge: then each pair has a place of its
 * own, and nothing needs to be searched.
 */
struct grid {
	uint32_t *src, *dst;         /* per node: its column and its row */
	uint32_t *callers, *callees; /* per column and row: the node */
	size_t nsrc, ndst;
};

struct edge_sums {
	const struct grid *grid; /* NULL: a hash table */
	struct edge_sum *cells;  /* of a grid */
	struct edge_slot *slots; /* of a hash table */
	int64_t *divs;           /* with a mean: the divisor of each of them, else NULL */
	size_t mask, used;
};

void edge_sums_init(struct edge_sums *e, const struct grid *grid, bool mean);
void edge_sums_release(struct edge_sums *e);

/* Adds what is in 'from', which is released. */
void edge_sums_merge(struct edge_sums *to, struct edge_sums *from);
/* All edges by caller and callee, to be freed by the caller.  Releases the sums. */
struct edge *edge_sums_list(struct edge_sums *e, uint32_t nnodes);

static inline struct edge_sum *edge_sum_at(const struct edge_sums *e, size_t i)
{
	return e->grid ? &e->cells[i] : &e->slots[i].sum;
}

/* Where the edge is, or would be if no other were in its way. */
static inline size_t edge_first_slot(const struct edge_sums *e, uint64_t key)
{
	if (e->grid)
		return e->grid->dst[(uint32_t)key] * e->grid->nsrc + e->grid->src[key >> 32];
	return hash_mix(key, 5) & e->mask;
}

/* Makes an edge that a hash table does not have, in 'slot' if it need not grow. */
size_t edge_sums_insert(struct edge_sums *e, uint64_t key, size_t slot);

static inline size_t edge_slot_for(struct edge_sums *e, uint64_t key)
{
	size_t i = edge_first_slot(e, key);

	if (e->grid) {
		e->used += !(e->cells[i].is & EDGE_FOUND);
		e->cells[i].is |= EDGE_FOUND;
		return i;
	}
	for (; e->slots[i].key != key; i = (i + 1) & e->mask) {
		if (e->slots[i].key == NO_EDGE)
			return edge_sums_insert(e, key, i);
	}
	return i;
}

/* What is the same for all edges of one sample. */
struct stamp {
	int64_t w, d;
	uint32_t number;
};

/*
 * Edges that are still to be added.  Where each of them is summed up is a cache miss; known in
 * advance, the misses do not wait for each other.
 */
enum { PENDING = 128 };

struct pending {
	size_t n;
	struct {
		uint64_t key;
		int64_t w;
		uint32_t number;
		uint8_t is;
	} edges[PENDING];
	int64_t d[PENDING]; /* with a mean */
};

static inline void edge_add_pending(struct edge_sums *sums, struct pending *p)
{
	for (size_t k = 0; k < p->n; k++) {
		size_t i = edge_slot_for(sums, p->edges[k].key);
		struct edge_sum *e = edge_sum_at(sums, i);

		if (e->stamp == p->edges[k].number)
			continue;
		e->stamp = p->edges[k].number;
		e->weight = wrap_add(e->weight, p->edges[k].w);
		e->is |= p->edges[k].is;
		if (sums->divs)
			sums->divs[i] = wrap_add(sums->divs[i], p->d[k]);
	}
	p->n = 0;
}

static inline void edge_add_soon(struct edge_sums *sums, struct pending *p, uint64_t key,
				 const struct stamp *s, unsigned is)
{
	size_t slot = edge_first_slot(sums, key);

	if (sums->grid)
		__builtin_prefetch(&sums->cells[slot], 1);
	else
		__builtin_prefetch(&sums->slots[slot], 1);
	p->edges[p->n].key = key;
	p->edges[p->n].w = s->w;
	p->edges[p->n].number = s->number;
	p->edges[p->n].is = (uint8_t)is;
	if (sums->divs)
		p->d[p->n] = s->d;
	if (++p->n == PENDING)
		edge_add_pending(sums, p);
}

#endif /* GRAPH_EDGE_SUMS_H */
