/*
 * graph.h - who calls whom, and how much
 *
 * A graph is an ordered list of nodes, trimmed to what is worth showing, with the edges between
 * them.  In a call tree the same place appears once for every way to reach it.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef GRAPH_GRAPH_H
#define GRAPH_GRAPH_H

#include "base/arena.h"
#include "base/par.h"
#include "graph/node.h"
#include "graph/tags.h"
#include "graph/walk.h"
#include "view/select.h"

struct graph_node {
	struct node_info info;
	struct str name; /* printed; NULL until it is needed */
	struct weight w;
	uint32_t function; /* in a tree: nodes of one function in one context have the same */
	uint32_t in, nin;  /* graph.in[in .. in + nin): edges that lead here */
	uint32_t out, nout;
	bool listed;
};

struct graph {
	struct arena arena;
	const struct profile *p;
	struct graph_node *nodes;
	uint32_t nnodes;

	uint32_t *order; /* the nodes to show, in order */
	uint32_t n;
	uint32_t nabout; /* so many of them come first: see graph_options.is_about */

	struct edge *edges;
	size_t nedges;
	uint32_t *in, *out; /* edges by callee and by caller; removed ones are not among them */

	struct tags tags;             /* for pictures */
	struct arena names[PAR_MOST]; /* private: of graph_name_all() */
	bool all_named;

	/* How it was trimmed. */
	uint32_t before_top; /* nodes before only the top ones were kept */
	uint32_t dropped_nodes, dropped_edges;
	int64_t tag_cutoff; /* tags lighter than this are not worth showing */
};

enum graph_edges {
	GRAPH_NO_EDGES,
	GRAPH_INLINE_EDGES, /* only those needed to tell whether a node was inlined */
	GRAPH_ALL_EDGES,
};

struct graph_options {
	struct node_options nodes;
	struct selection selection;
	enum graph_edges edges;
	bool call_tree, drop_negative;
	bool cum_sort;
	bool visual; /* for a picture: sorted by what is interesting, with tags */
	int node_count;
	double node_fraction, edge_fraction;
	struct tag_options tags;
	/*
	 * Unless NULL: whether the graph is about a node of this name; any thread may ask.  Only
	 * edges from and to such nodes are found, and only they are sorted: they come first, the
	 * others in no order.  Nothing may be left out then, by a fraction or a count.
	 */
	bool (*is_about)(struct str name, const void *ctx);
	const void *ctx;
};

/*
 * graph_new() builds the graph of the view 'p' and trims it: nodes below node_fraction of the
 * total go, then all but node_count (0: no limit), then edges below edge_fraction.
 */
struct graph *graph_new(struct profile *p, const struct graph_options *o);
void graph_free(struct graph *g);

static inline void graph_freep(struct graph **g)
{
	graph_free(*g);
}

static inline struct graph_node *graph_at(const struct graph *g, uint32_t i)
{
	return &g->nodes[g->order[i]];
}

/* A node's own value and that of everything below it: means if there is a divisor. */
int64_t node_flat(const struct graph_node *n);
int64_t node_cum(const struct graph_node *n);
int64_t edge_value(const struct edge *e);

struct str graph_name(const struct graph *g, uint32_t node);
/* Makes all names, on all processors, after which any thread may ask for them. */
void graph_name_all(struct graph *g);

/*
 * The edges that lead to or from a node, heaviest first, then by the names of both ends.  The list
 * belongs to the graph.
 */
const struct edge **graph_in(struct graph *g, uint32_t node, uint32_t *n);
const struct edge **graph_out(struct graph *g, uint32_t node, uint32_t *n);
/* The same into a list of the caller's; after graph_name_all() in any thread. */
void graph_sort_calls(const struct graph *g, uint32_t node, bool callers, const struct edge **to);
/* All edges that leave listed nodes, in the same order. */
const struct edge **graph_edges(struct graph *g, uint32_t *n);

/* Orders for lists of nodes outside of graph_new(). */
enum graph_order { GRAPH_BY_NAME, GRAPH_BY_FILE, GRAPH_BY_ADDRESS };
void graph_sort_nodes(const struct graph *g, uint32_t *nodes, uint32_t n, enum graph_order order);

#endif /* GRAPH_GRAPH_H */
