/*
 * inline.c - which nodes can be marked as inlined at all
 *
 * Into which node a frame was inlined is the same wherever its location appears.  So an upper bound
 * of what an edge of inlined calls weighs is the sum over the locations that contain the pair,
 * which takes one addition per stack entry, and no search.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "graph/inline.h"

#include "base/cleanup.h"
#include "base/table.h"
#include "base/xalloc.h"

#include <stdlib.h>

/* A caller and a callee, and at most how heavy the edge between them can be. */
struct pair {
	uint32_t src, dst;
	uint64_t bound;
};

struct bounds {
	const struct nodes *n;
	const uint8_t *kept, *wanted;
	struct pair *pairs;
	size_t npairs, cap;
	struct table index;
	uint64_t
		*anyone; /* per node: inlined into something that is not kept, so by anyone above */
};

static uint64_t rehash(uint32_t i, const void *ctx)
{
	const struct bounds *b = ctx;

	return hash_mix(b->pairs[i].src, b->pairs[i].dst);
}

static void add_pair(struct bounds *b, uint32_t src, uint32_t dst, uint64_t weight)
{
	struct probe at;

	table_reserve(&b->index, rehash, b);
	at = table_probe(&b->index, hash_mix(src, dst));
	while (table_next(&b->index, &at)) {
		if (b->pairs[at.value].src == src && b->pairs[at.value].dst == dst) {
			b->pairs[at.value].bound += weight;
			return;
		}
	}
	table_put(&b->index, &at, (uint32_t)b->npairs);
	vec_push(b->pairs, b->npairs, b->cap, ((struct pair){ src, dst, weight }));
}

static void add_location(struct bounds *b, uint32_t l, uint64_t weight)
{
	const struct nodes *n = b->n;
	uint32_t outermost = n->first[l + 1] - 1, parent = NONE;

	for (uint32_t f = outermost + 1; f-- > n->first[l];) {
		uint32_t node = n->frame[f];

		if (b->kept && !b->kept[node])
			continue;
		if (f != outermost && b->wanted[node] && parent == NONE)
			b->anyone[node] += weight;
		else if (f != outermost && b->wanted[node])
			add_pair(b, parent, node, weight);
		parent = node;
	}
}

static bool keep_heavy(struct bounds *b, uint8_t *wanted, uint64_t cutoff)
{
	bool any = false;

	memset(wanted, 0, b->n->n);
	for (uint32_t i = 0; i < b->n->n; i++)
		wanted[i] = b->anyone[i] && b->anyone[i] >= cutoff;
	for (size_t i = 0; i < b->npairs; i++)
		wanted[b->pairs[i].dst] |= b->pairs[i].bound + b->anyone[b->pairs[i].dst] >= cutoff;
	for (uint32_t i = 0; i < b->n->n; i++)
		any |= wanted[i];
	return any;
}

bool inline_candidates(const struct nodes *n, const uint64_t *weights, const uint8_t *kept,
		       uint8_t *wanted, int64_t cutoff)
{
	AUTO(freep) uint64_t *anyone = mem_zeroed(n->n, sizeof(*anyone));
	struct bounds b = { .n = n, .kept = kept, .wanted = wanted, .anyone = anyone };
	bool any;

	table_init(&b.index, 0);
	for (uint32_t i = 0; i < n->p->nlocations; i++) {
		if (n->first[i + 1] - n->first[i] > 1)
			add_location(&b, i, weights[i]);
	}
	any = keep_heavy(&b, wanted, cutoff > 0 ? (uint64_t)cutoff : 0);
	table_release(&b.index);
	free(b.pairs);
	return any;
}
