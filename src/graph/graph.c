/*
 * graph.c - who calls whom, and how much
 *
 * The reference builds its graph from the samples up to three times, since leaving a node out
 * changes the edges around it.  Values of nodes do not change, though.  So we add up nodes once,
 * decide which of them stay, and find edges only among those: a few hundred of many thousands.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "graph/graph.h"

#include "base/cleanup.h"
#include "base/out.h"
#include "base/wrap.h"
#include "base/xalloc.h"
#include "graph/inline.h"
#include "graph/node-names.h"
#include "graph/outline.h"
#include "graph/sort.h"
#include "graph/tree.h"
#include "profile/profile.h"

#include <stdlib.h>

/* The most tags of one node that a picture shows, and so the most that count for its size. */
enum { MOST_NODELETS = 4 };

int64_t node_flat(const struct graph_node *n)
{
	return n->w.flat_div ? wrap_div(n->w.flat, n->w.flat_div) : n->w.flat;
}

int64_t node_cum(const struct graph_node *n)
{
	return n->w.cum_div ? wrap_div(n->w.cum, n->w.cum_div) : n->w.cum;
}

int64_t edge_value(const struct edge *e)
{
	return e->weight_div ? wrap_div(e->weight, e->weight_div) : e->weight;
}

/* ------------------------------------------------------------------ building */

struct trimmer {
	struct graph *g;
	const struct graph_options *o;
	struct nodes nodes;
	struct outline outline; /* of pictures */
	uint8_t *about;         /* per node, if it is about some */
	uint8_t *kept;          /* per node, once something was left out; NULL before */
	uint64_t *inlined;      /* per location, as walk_nodes() returned them */
	int64_t node_cutoff, edge_cutoff;
	bool has_tags;
};

static bool is_negative(const struct weight *w)
{
	return w->flat < 0 || (w->flat == 0 && w->cum < 0);
}

/* Lists what the graph is about, or the others. */
static void list_some(struct trimmer *t, bool about)
{
	struct graph *g = t->g;

	for (uint32_t i = 0; i < g->nnodes; i++) {
		const struct weight *w = &g->nodes[i].w;

		if ((t->about && t->about[i] != about) || (w->cum == 0 && w->flat == 0) ||
		    (t->o->drop_negative && is_negative(w)))
			continue;
		g->nodes[i].listed = true;
		g->order[g->n++] = i;
	}
}

static void list_nodes(struct trimmer *t)
{
	struct graph *g = t->g;

	g->order = xarena(&g->arena, g->nnodes, sizeof(*g->order));
	if (t->about)
		list_some(t, true);
	g->nabout = g->n;
	list_some(t, false);
}

static void build_graph(struct trimmer *t)
{
	struct graph *g = t->g;
	struct weight *weights = mem_zeroed(t->nodes.n, sizeof(*weights));

	g->nnodes = t->nodes.n;
	g->nodes = mem_new(g->nnodes, sizeof(*g->nodes));
	if (t->o->is_about)
		t->about = names_make(g, t->o, t->nodes.info);
	for (uint32_t i = 0; i < g->nnodes && !t->about; i++)
		g->nodes[i] = (struct graph_node){ .info = t->nodes.info[i] };
	free(t->nodes.info); /* from here on they are the graph's */
	t->nodes.info = NULL;
	t->inlined = walk_nodes(&t->nodes, &t->o->selection, weights);
	for (uint32_t i = 0; i < g->nnodes; i++)
		g->nodes[i].w = weights[i];
	free(weights);
}

/* ------------------------------------------------------------------ edges of the nodes that stay
 */

/* Lists the edges that are left, by callee and by caller. */
static void index_edges(struct graph *g)
{
	uint32_t in = 0, out = 0;

	free(g->in);
	free(g->out);
	g->in = mem_new(g->nedges, sizeof(*g->in));
	g->out = mem_new(g->nedges, sizeof(*g->out));
	for (uint32_t i = 0; i < g->nnodes; i++)
		g->nodes[i].nin = g->nodes[i].nout = 0;
	for (size_t i = 0; i < g->nedges; i++) {
		if (g->edges[i].removed)
			continue;
		g->nodes[g->edges[i].dst].nin++;
		g->nodes[g->edges[i].src].nout++;
	}
	for (uint32_t i = 0; i < g->nnodes; i++) {
		g->nodes[i].in = in;
		g->nodes[i].out = out;
		in += g->nodes[i].nin;
		out += g->nodes[i].nout;
		g->nodes[i].nin = g->nodes[i].nout = 0;
	}
	for (size_t i = 0; i < g->nedges; i++) {
		struct graph_node *src, *dst;

		if (g->edges[i].removed)
			continue;
		src = &g->nodes[g->edges[i].src];
		dst = &g->nodes[g->edges[i].dst];
		g->in[dst->in + dst->nin++] = (uint32_t)i;
		g->out[src->out + src->nout++] = (uint32_t)i;
	}
}

/* To tell whether shown nodes were inlined takes the edges to those that ever are. */
static uint8_t *wanted_for_inline_marks(const struct trimmer *t, bool *any)
{
	uint8_t *wanted = mem_zeroed(t->g->nnodes, 1);

	for (uint32_t i = 0; i < t->g->n; i++) {
		uint32_t node = t->g->order[i];

		wanted[node] = t->nodes.inlined[node];
		*any |= wanted[node] != 0;
	}
	if (*any)
		*any = inline_candidates(&t->nodes, t->inlined, t->kept, wanted, t->edge_cutoff);
	return wanted;
}

static void find_edges(struct trimmer *t)
{
	struct graph *g = t->g;
	AUTO(freep) uint8_t *wanted = NULL;
	bool any = t->o->edges == GRAPH_ALL_EDGES;

	if (t->o->call_tree) {
		index_edges(g);
		return;
	}
	if (t->o->edges == GRAPH_INLINE_EDGES)
		wanted = wanted_for_inline_marks(t, &any);
	free(g->edges);
	g->edges = NULL;
	g->nedges = 0;
	if (t->about)
		g->edges = walk_around(&t->nodes, &t->o->selection, t->about, &g->nedges);
	else if (any && !(t->o->visual && outline_edges(&t->outline, &t->nodes, &t->o->selection,
							t->kept, &g->edges, &g->nedges)))
		g->edges = walk_edges(&t->nodes, &t->o->selection, t->kept, wanted, &g->nedges);
	index_edges(g);
}

static void trim_edges(struct trimmer *t)
{
	struct graph *g = t->g;

	g->dropped_edges = 0;
	for (size_t i = 0; i < g->nedges; i++) {
		struct edge *e = &g->edges[i];

		if (e->removed || !g->nodes[e->dst].listed || abs_i64(e->weight) >= t->edge_cutoff)
			continue;
		e->removed = true;
		g->dropped_edges++;
	}
	if (g->dropped_edges)
		index_edges(g);
}

/* ------------------------------------------------------------------ leaving nodes out */

/* Keeps only the listed nodes for which keep is not 0, in their order. */
static void keep_nodes(struct trimmer *t, uint8_t *keep)
{
	struct graph *g = t->g;
	uint32_t n = 0;

	if (t->o->call_tree)
		tree_trim(g, keep);
	for (uint32_t i = 0; i < g->n; i++) {
		uint32_t node = g->order[i];

		g->nodes[node].listed = keep[node];
		if (keep[node])
			g->order[n++] = node;
	}
	g->n = n;
	free(t->kept);
	t->kept = keep;
}

static void drop_light_nodes(struct trimmer *t)
{
	struct graph *g = t->g;
	uint8_t *keep;
	uint32_t heavy = 0;

	if (t->node_cutoff <= 0)
		return;
	keep = mem_zeroed(g->nnodes, 1);
	for (uint32_t i = 0; i < g->n; i++) {
		uint32_t node = g->order[i];

		keep[node] = abs_i64(g->nodes[node].w.cum) >= t->node_cutoff;
		heavy += keep[node];
	}
	g->dropped_nodes = g->n - heavy;
	if (g->dropped_nodes)
		keep_nodes(t, keep);
	else
		free(keep);
}

/* ------------------------------------------------------------------ only the top ones */

/*
 * Collects the tags of the first 'n' nodes, once: those of a node do not depend on others, and what
 * is left out later is not asked for.  A tree has them all from the start.
 */
static void collect_tags(struct trimmer *t, uint32_t n)
{
	struct graph *g = t->g;
	AUTO(freep) uint8_t *wanted = NULL;

	if (t->o->call_tree || t->has_tags)
		return;
	t->has_tags = true;
	wanted = mem_zeroed(g->nnodes, 1);
	for (uint32_t i = 0; i < n && i < g->n; i++)
		wanted[g->order[i]] = 1;
	tags_walk(&g->tags, &t->nodes, &t->o->selection, &t->o->tags, wanted, &t->outline);
}

static uint32_t *count_tags(const struct trimmer *t)
{
	const struct graph *g = t->g;
	uint32_t *count = mem_zeroed(g->nnodes, sizeof(*count));

	for (size_t i = 0; i < g->tags.n; i++) {
		const struct tag *tag = &g->tags.at[i];

		if (tag->w.flat && tag_is_heavy(tag, t->node_cutoff))
			count[tag->node]++;
	}
	return count;
}

/* In a picture tags count as nodes: how many nodes fit. */
static uint32_t nodes_that_fit(struct trimmer *t, uint32_t most)
{
	const struct graph *g = t->g;
	AUTO(freep) uint32_t *tags = NULL;
	uint32_t count = 0;

	if (!t->o->visual)
		return most;
	collect_tags(t, most);
	tags = count_tags(t);
	for (uint32_t i = 0; i < g->n; i++) {
		uint32_t n = tags[g->order[i]];

		count += (n > MOST_NODELETS ? MOST_NODELETS : n) + 1;
		if (count >= most)
			return i + 1;
	}
	return most;
}

static void keep_top_nodes(struct trimmer *t)
{
	struct graph *g = t->g;
	uint32_t fit;
	uint8_t *keep;

	if (t->o->node_count <= 0)
		return;
	/* Edges that go here are gone before those that the legend counts are looked for. */
	trim_edges(t);
	fit = nodes_that_fit(t, (uint32_t)t->o->node_count);
	if (fit >= g->n)
		return;
	keep = mem_zeroed(g->nnodes, 1);
	for (uint32_t i = 0; i < fit; i++)
		keep[g->order[i]] = 1;
	keep_nodes(t, keep);
	if (t->o->visual) {
		find_edges(t);
		sort_visually(g);
	}
}

/* ------------------------------------------------------------------ edges nobody misses */

/* Whether the caller of 'e' reaches its callee some other way. */
static bool is_redundant(const struct graph *g, const struct edge *e, uint32_t *seen, uint32_t mark,
			 uint32_t *queue)
{
	size_t head = 0, tail = 0;

	seen[e->dst] = mark;
	queue[tail++] = e->dst;
	while (head < tail) {
		const struct graph_node *n = &g->nodes[queue[head++]];

		for (uint32_t i = 0; i < n->nin; i++) {
			const struct edge *in = &g->edges[g->in[n->in + i]];

			if (in == e || in->removed || seen[in->src] == mark)
				continue;
			if (in->src == e->src)
				return true;
			seen[in->src] = mark;
			queue[tail++] = in->src;
		}
	}
	return false;
}

/* Takes out residual edges that only repeat a longer way, lightest first. */
static void remove_redundant_edges(struct graph *g)
{
	AUTO(freep) uint32_t *seen = mem_zeroed(g->nnodes, sizeof(*seen));
	AUTO(freep) uint32_t *queue = mem_new(g->nnodes, sizeof(*queue));
	uint32_t mark = 0, n;

	for (uint32_t i = g->n; i-- > 0;) {
		const struct edge **in = graph_in(g, g->order[i], &n);

		while (n-- > 0 && in[n]->residual) {
			struct edge *e = &g->edges[in[n] - g->edges];

			e->removed = is_redundant(g, e, seen, ++mark, queue);
		}
	}
	index_edges(g);
}

/* ------------------------------------------------------------------ the whole */

static int64_t cutoff(int64_t total, double fraction)
{
	return abs_i64(f64_to_i64((double)total * fraction));
}

static void compute_cutoffs(struct trimmer *t)
{
	int64_t total = 0;

	for (uint32_t i = 0; i < t->g->n; i++)
		total = wrap_add(total, graph_at(t->g, i)->w.flat);
	t->node_cutoff = cutoff(total, t->o->node_fraction);
	t->g->tag_cutoff = t->node_cutoff;
	t->edge_cutoff = cutoff(total, t->o->edge_fraction);
}

static void trim(struct trimmer *t)
{
	struct graph *g = t->g;

	list_nodes(t);
	compute_cutoffs(t);
	drop_light_nodes(t);
	g->before_top = g->n;
	if (t->o->visual) {
		find_edges(t);
		sort_visually(g);
	} else {
		sort_by_weight(g, t->about ? g->nabout : g->n, t->o->cum_sort);
	}
	keep_top_nodes(t);
	if (!t->o->visual)
		find_edges(t);
	if (t->o->visual)
		collect_tags(t, g->n);
	trim_edges(t);
	if (t->o->visual)
		remove_redundant_edges(g);
}

struct graph *graph_new(struct profile *p, const struct graph_options *o)
{
	struct graph *g = mem_zeroed(1, sizeof(*g));
	struct trimmer t = { .g = g, .o = o };
	struct node_options no = o->nodes;

	no.trim = true;
	arena_init(&g->arena, PROFILE_BUDGET);
	names_init(g);
	tags_init(&g->tags);
	g->p = p;
	nodes_init(&t.nodes, p, &no);
	if (o->call_tree)
		tree_build(g, &t.nodes, o);
	else
		build_graph(&t);
	trim(&t);
	nodes_release(&t.nodes);
	outline_release(&t.outline);
	free(t.about);
	free(t.kept);
	free(t.inlined);
	return g;
}

void graph_free(struct graph *g)
{
	if (!g)
		return;
	tags_release(&g->tags);
	free(g->nodes);
	free(g->edges);
	free(g->in);
	free(g->out);
	names_release(g);
	arena_release(&g->arena);
	free(g);
}
