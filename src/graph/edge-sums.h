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

/*
 * An edge to add, as one number: nodes are fewer than 2^31, so there is room for what it is beyond
 * EDGE_FOUND.
 */
#define CALL_RESIDUAL ((uint64_t)1 << 63)
#define CALL_DIRECT   ((uint64_t)1 << 31)

static inline uint64_t call_of(uint32_t caller, uint32_t callee)
{
	return (uint64_t)caller << 32 | callee;
}

/* What is the same for all edges of one sample. */
struct stamp {
	int64_t w, d;
	uint32_t number;
};

/*
 * Edges of one sample that are still to be added.  Where each of them is summed up is a cache miss;
 * known in advance, the misses do not wait for each other.
 */
enum { PENDING = 64 };

struct pending {
	size_t n;
	uint64_t calls[PENDING];
};

/* Without a branch: of two equal calls in one stack, the second one adds nothing. */
static inline void edge_add(struct edge_sums *sums, uint64_t call, const struct stamp *s)
{
	size_t i = edge_slot_for(sums, call & ~(CALL_RESIDUAL | CALL_DIRECT));
	struct edge_sum *e = edge_sum_at(sums, i);
	unsigned is = (call & CALL_DIRECT ? EDGE_DIRECT : 0u) |
		      (call & CALL_RESIDUAL ? EDGE_RESIDUAL : 0u);
	bool again = e->stamp == s->number;

	e->stamp = s->number;
	e->weight = wrap_add(e->weight, again ? 0 : s->w);
	e->is |= (uint8_t)(again ? 0 : is);
	if (sums->divs)
		sums->divs[i] = wrap_add(sums->divs[i], again ? 0 : s->d);
}

static inline void edge_add_pending(struct edge_sums *sums, struct pending *p,
				    const struct stamp *s)
{
	for (size_t i = 0; i < p->n; i++)
		edge_add(sums, p->calls[i], s);
	p->n = 0;
}

static inline void edge_add_soon(struct edge_sums *sums, struct pending *p, uint64_t call,
				 const struct stamp *s)
{
	size_t slot = edge_first_slot(sums, call & ~(CALL_RESIDUAL | CALL_DIRECT));

	if (sums->grid)
		__builtin_prefetch(&sums->cells[slot], 1);
	else
		__builtin_prefetch(&sums->slots[slot], 1);
	p->calls[p->n] = call;
	if (++p->n == PENDING)
		edge_add_pending(sums, p, s);
}

#endif /* GRAPH_EDGE_SUMS_H */
