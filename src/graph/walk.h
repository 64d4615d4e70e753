/*
 * walk.h - go through all stacks and add up
 *
 * These are the loops in which the time of a large profile goes: nine million frames for 300,000
 * samples.  They run on all cores, each with sums of its own, added together at the end; sums do
 * not depend on how the work was split.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef GRAPH_WALK_H
#define GRAPH_WALK_H

#include "graph/node.h"
#include "view/select.h"

/* What a node is worth.  The divisors are 0 without a mean. */
struct weight {
	int64_t flat, cum;
	int64_t flat_div, cum_div;
};

struct edge {
	uint32_t src, dst; /* nodes: caller and callee */
	int64_t weight, weight_div;
	bool residual; /* goes over nodes that were left out */
	bool inlined;  /* every call it stands for was inlined */
	bool removed;
};

/* How many threads go through the samples of 'p', and where the share of each of them begins. */
int walk_width(const struct profile *p);
size_t walk_begin(const struct profile *p, int share, int width);

/*
 * walk_nodes() gives each node its own value and that of everything below it, once per sample.
 *
 * Returns, for each location with several frames, the absolute values of all stack entries that are
 * this location; 0 for others.  No edge between two of its frames can weigh more than the locations
 * it comes from.  Freed by the caller.
 */
uint64_t *walk_nodes(const struct nodes *n, const struct selection *s, struct weight *weights);

/*
 * walk_types() does it for a profile with so many types, all of them at once: 'flat' and 'cum' have
 * a number for each node and type.
 */
enum { WALK_TYPES = 3 };
void walk_types(const struct nodes *n, int64_t *flat, int64_t *cum);

/*
 * walk_edges() finds who calls whom.  Nodes for which 'kept' is 0 are passed over ('kept' NULL
 * keeps all).  If 'wanted' is not NULL, only edges to nodes for which it is not 0 are recorded.
 * The result is sorted by caller and callee and freed by the caller.
 */
struct edge *walk_edges(const struct nodes *n, const struct selection *s, const uint8_t *kept,
			const uint8_t *wanted, size_t *nedges);

/* The same with all nodes kept: the edges from and to those for which 'about' is not 0. */
struct edge *walk_around(const struct nodes *n, const struct selection *s, const uint8_t *about,
			 size_t *nedges);

#endif /* GRAPH_WALK_H */
