/*
 * sort.c - the orders in which nodes and edges appear
 *
 * Ties that the reference leaves to chance are broken by first appearance.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "graph/sort.h"

#include "base/cleanup.h"
#include "base/units.h"
#include "base/wrap.h"
#include "base/xalloc.h"
#include "profile/profile.h"

#include <math.h>
#include <stdlib.h>

struct key {
	int64_t score;  /* absolute */
	int64_t second; /* absolute, after the name */
	uint32_t node;
};

static int by_key(const void *a, const void *b, void *graph)
{
	const struct key *x = a, *y = b;
	const struct graph *g = graph;
	int c;

	if (x->score != y->score)
		return x->score > y->score ? -1 : 1;
	c = str_cmp(graph_name(g, x->node), graph_name(g, y->node));
	if (c)
		return c;
	if (x->second != y->second)
		return x->second > y->second ? -1 : 1;
	c = node_compare(g->p, &g->nodes[x->node].info, &g->nodes[y->node].info);
	return c ? c : (x->node > y->node) - (x->node < y->node);
}

/* Sorts the first nodes. */
static void sort_keys(struct graph *g, struct key *keys, uint32_t n)
{
	qsort_r(keys, n, sizeof(*keys), by_key, g);
	for (uint32_t i = 0; i < n; i++)
		g->order[i] = keys[i].node;
}

void sort_by_weight(struct graph *g, uint32_t first, bool cum)
{
	AUTO(freep) struct key *keys = mem_new(first, sizeof(*keys));

	for (uint32_t i = 0; i < first; i++) {
		const struct weight *w = &graph_at(g, i)->w;

		keys[i] = (struct key){ .score = abs_i64(cum ? w->cum : w->flat),
					.second = abs_i64(cum ? w->flat : w->cum),
					.node = g->order[i] };
	}
	sort_keys(g, keys, first);
}

/* ------------------------------------------------------------------ entropy */

/* As Go computes it, since the last bit may decide an order. */
static double log2_of(double x)
{
	int exponent;
	double fraction = frexp(x, &exponent);

	if (fraction == 0.5)
		return exponent - 1;
	return log(fraction) * (1 / M_LN2) + exponent;
}

static double share(int64_t weight, int64_t total)
{
	double f = (double)abs_i64(weight) / (double)total;

	return -f * log2_of(f);
}

/* How evenly the weight is spread over the edges and the node itself. */
static double entropy(const struct graph *g, const uint32_t *edges, uint32_t n, int64_t self)
{
	int64_t total = self;
	double score = 0;

	for (uint32_t i = 0; i < n; i++) {
		if (g->edges[edges[i]].weight > 0)
			total = wrap_add(total, g->edges[edges[i]].weight);
	}
	if (total == 0)
		return 0;
	for (uint32_t i = 0; i < n; i++)
		score += share(g->edges[edges[i]].weight, total);
	if (self > 0)
		score += share(self, total);
	return score;
}

static int64_t interest(const struct graph *g, const struct graph_node *n)
{
	double in = n->nin ? entropy(g, g->in + n->in, n->nin, 0) : 1;
	double out = n->nout ? entropy(g, g->out + n->out, n->nout, n->w.flat) : 1;

	return wrap_add(f64_to_i64((in + out) * (double)n->w.cum), n->w.flat);
}

void sort_visually(struct graph *g)
{
	AUTO(freep) struct key *keys = mem_new(g->n, sizeof(*keys));

	for (uint32_t i = 0; i < g->n; i++) {
		const struct graph_node *n = graph_at(g, i);

		keys[i] = (struct key){ .score = abs_i64(interest(g, n)),
					.second = abs_i64(n->w.flat),
					.node = g->order[i] };
	}
	sort_keys(g, keys, g->n);
}

/* ------------------------------------------------------------------ edges */

static int by_weight(const void *a, const void *b, void *graph)
{
	const struct edge *x = *(const struct edge *const *)a, *y = *(const struct edge *const *)b;
	const struct graph *g = graph;
	int c;

	if (x->weight != y->weight) {
		int64_t p = abs_i64(x->weight), q = abs_i64(y->weight);

		if (p != q)
			return p > q ? -1 : 1;
		return (x > y) - (x < y);
	}
	c = str_cmp(graph_name(g, x->src), graph_name(g, y->src));
	if (c == 0)
		c = str_cmp(graph_name(g, x->dst), graph_name(g, y->dst));
	return c ? c : (x > y) - (x < y);
}

static void sort_edges(const struct graph *g, const uint32_t *list, uint32_t n,
		       const struct edge **to)
{
	for (uint32_t i = 0; i < n; i++)
		to[i] = &g->edges[list[i]];
	if (n > 1)
		qsort_r(to, n, sizeof(*to), by_weight, (void *)g);
}

static const struct edge **sorted(struct graph *g, const uint32_t *list, uint32_t n)
{
	const struct edge **edges = xarena(&g->arena, n, sizeof(*edges));

	sort_edges(g, list, n, edges);
	return edges;
}

void graph_sort_calls(const struct graph *g, uint32_t node, bool callers, const struct edge **to)
{
	const struct graph_node *n = &g->nodes[node];

	if (callers)
		sort_edges(g, g->in + n->in, n->nin, to);
	else
		sort_edges(g, g->out + n->out, n->nout, to);
}

const struct edge **graph_in(struct graph *g, uint32_t node, uint32_t *n)
{
	*n = g->nodes[node].nin;
	return sorted(g, g->in + g->nodes[node].in, *n);
}

const struct edge **graph_out(struct graph *g, uint32_t node, uint32_t *n)
{
	*n = g->nodes[node].nout;
	return sorted(g, g->out + g->nodes[node].out, *n);
}

const struct edge **graph_edges(struct graph *g, uint32_t *n)
{
	AUTO(freep) uint32_t *list = mem_new(g->nedges, sizeof(*list));

	*n = 0;
	for (uint32_t i = 0; i < g->n; i++) {
		const struct graph_node *from = graph_at(g, i);

		for (uint32_t k = 0; k < from->nout; k++)
			list[(*n)++] = g->out[from->out + k];
	}
	return sorted(g, list, *n);
}

/* ------------------------------------------------------------------ lists of nodes */

static int by_function(const void *a, const void *b, void *graph)
{
	const struct graph *g = graph;
	const struct node_info *x = &g->nodes[*(const uint32_t *)a].info;
	const struct node_info *y = &g->nodes[*(const uint32_t *)b].info;

	if (x->name != y->name)
		return str_cmp(profile_str(g->p, x->name), profile_str(g->p, y->name));
	return node_compare(g->p, x, y);
}

static int by_file(const void *a, const void *b, void *graph)
{
	const struct graph *g = graph;
	const struct node_info *x = &g->nodes[*(const uint32_t *)a].info;
	const struct node_info *y = &g->nodes[*(const uint32_t *)b].info;

	if (x->file != y->file)
		return str_cmp(profile_str(g->p, x->file), profile_str(g->p, y->file));
	if (x->start_line != y->start_line)
		return x->start_line < y->start_line ? -1 : 1;
	return node_compare(g->p, x, y);
}

static int by_address(const void *a, const void *b, void *graph)
{
	const struct graph *g = graph;
	const struct node_info *x = &g->nodes[*(const uint32_t *)a].info;
	const struct node_info *y = &g->nodes[*(const uint32_t *)b].info;

	if (x->address != y->address)
		return x->address < y->address ? -1 : 1;
	return node_compare(g->p, x, y);
}

void graph_sort_nodes(const struct graph *g, uint32_t *nodes, uint32_t n, enum graph_order order)
{
	static int (*const orders[])(const void *, const void *, void *) = {
		[GRAPH_BY_NAME] = by_function,
		[GRAPH_BY_FILE] = by_file,
		[GRAPH_BY_ADDRESS] = by_address,
	};

	qsort_r(nodes, n, sizeof(*nodes), orders[order], (void *)g);
}
