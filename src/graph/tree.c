/*
 * tree.c - a call tree: every place once for each way to reach it
 *
 * A tree node is a pair of its caller in the tree and a place.  Each node has at most one edge that
 * leads to it, so the edge has the node's number while the tree is built and trimmed: edges[i] is
 * the way to node i, and its caller is NONE for a root.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "graph/tree.h"

#include "base/wrap.h"
#include "base/xalloc.h"
#include "profile/stack.h"

#include <stdlib.h>

struct builder {
	struct graph *g;
	const struct nodes *n;
	const struct graph_options *o;
	struct table index;     /* of tree nodes, by caller and place */
	struct table functions; /* of contexts, by caller and function */
	struct context {
		uint32_t parent;
		struct node_info info;
	} * contexts;
	size_t ncontexts, cap_contexts;
	uint32_t *place; /* per tree node */
	size_t nplaces, cap_place, cap_nodes, cap_edges;
	struct sample_tags st;
	struct stack_reader reader;
};

static uint64_t hash_pair(uint32_t parent, uint32_t place)
{
	return hash_mix((uint64_t)parent << 32 | place, 7);
}

static uint64_t rehash(uint32_t i, const void *ctx)
{
	const struct builder *b = ctx;

	return hash_pair(b->g->edges[i].src, b->place[i]);
}

/* The function a place belongs to: what is left of it without line and address. */
static struct node_info function_of(struct node_info i)
{
	i.address = 0;
	i.line = 0;
	i.column = 0;
	return i;
}

static uint64_t hash_context(const struct context *c)
{
	return hash_mix(hash_pair(c->parent, c->info.name),
			hash_mix((uint64_t)c->info.file << 32 | c->info.objfile,
				 (uint64_t)c->info.start_line));
}

static uint64_t rehash_context(uint32_t i, const void *ctx)
{
	return hash_context(&((const struct builder *)ctx)->contexts[i]);
}

static uint32_t context_for(struct builder *b, uint32_t parent, struct node_info info)
{
	struct context c = { parent, function_of(info) };
	struct probe at;

	table_reserve(&b->functions, rehash_context, b);
	at = table_probe(&b->functions, hash_context(&c));
	while (table_next(&b->functions, &at)) {
		const struct context *have = &b->contexts[at.value];

		if (have->parent == parent && have->info.name == c.info.name &&
		    have->info.file == c.info.file && have->info.objfile == c.info.objfile &&
		    have->info.start_line == c.info.start_line)
			return at.value;
	}
	table_put(&b->functions, &at, (uint32_t)b->ncontexts);
	vec_push(b->contexts, b->ncontexts, b->cap_contexts, c);
	return (uint32_t)b->ncontexts - 1;
}

static uint32_t child_of(struct builder *b, uint32_t parent, uint32_t place)
{
	struct graph *g = b->g;
	struct graph_node node = { .info = b->n->info[place] };
	struct edge edge = { .src = parent, .dst = g->nnodes, .inlined = true };
	size_t nnodes = g->nnodes;
	struct probe at;

	table_reserve(&b->index, rehash, b);
	at = table_probe(&b->index, hash_pair(parent, place));
	while (table_next(&b->index, &at)) {
		if (g->edges[at.value].src == parent && b->place[at.value] == place)
			return at.value;
	}
	node.function = context_for(b, parent, node.info);
	table_put(&b->index, &at, g->nnodes);
	vec_push(b->place, b->nplaces, b->cap_place, place);
	vec_push(g->nodes, nnodes, b->cap_nodes, node);
	vec_push(g->edges, g->nedges, b->cap_edges, edge);
	return g->nnodes++;
}

static void add_stack(struct builder *b, size_t sample, int64_t w, int64_t d)
{
	const struct nodes *n = b->n;
	struct stack_list stack = stack_read(&b->reader, sample);
	struct graph *g = b->g;
	uint32_t node = NONE;

	if (b->o->visual)
		tags_read(&b->st, n->p, sample_at(n->p, sample), &b->o->tags);
	for (uint32_t i = stack.n; i-- > 0;) {
		uint32_t loc = stack.at[i];
		uint32_t first = n->first[loc], outermost = n->first[loc + 1] - 1;

		for (uint32_t f = outermost + 1; f-- > first;) {
			node = child_of(b, node, n->frame[f]);
			g->nodes[node].w.cum = wrap_add(g->nodes[node].w.cum, w);
			g->nodes[node].w.cum_div = wrap_add(g->nodes[node].w.cum_div, d);
			g->edges[node].weight = wrap_add(g->edges[node].weight, w);
			g->edges[node].weight_div = wrap_add(g->edges[node].weight_div, d);
			g->edges[node].inlined &= f != outermost;
			if (b->o->visual)
				tags_add(&g->tags, node, &b->st.list, w, d, false);
		}
	}
	if (node == NONE)
		return;
	g->nodes[node].w.flat = wrap_add(g->nodes[node].w.flat, w);
	g->nodes[node].w.flat_div = wrap_add(g->nodes[node].w.flat_div, d);
	if (b->o->visual)
		tags_add(&g->tags, node, &b->st.list, w, d, true);
}

void tree_build(struct graph *g, const struct nodes *n, const struct graph_options *o)
{
	struct builder b = { .g = g, .n = n, .o = o };
	const struct profile *p = n->p;

	table_init(&b.index, 0);
	table_init(&b.functions, 0);
	sample_tags_init(&b.st);
	stack_reader_init(&b.reader, p);
	for (size_t i = 0; i < p->nsamples; i++) {
		int64_t w = selected_value(&o->selection, p, i);
		int64_t d = selected_divisor(&o->selection, p, i);

		if (w || d)
			add_stack(&b, i, w, d);
	}
	for (size_t i = 0; i < g->nedges; i++)
		g->edges[i].removed = g->edges[i].src == NONE;
	table_release(&b.index);
	table_release(&b.functions);
	free(b.contexts);
	free(b.place);
	sample_tags_release(&b.st);
	stack_reader_release(&b.reader);
}

void tree_trim(struct graph *g, const uint8_t *kept)
{
	/*
	 * A node is made after its caller, so going up in number sees every caller settled: its
	 * edge already starts at the nearest caller that is kept, or at none.
	 */
	for (uint32_t i = 0; i < g->nnodes; i++) {
		struct edge *e = &g->edges[i];
		const struct edge *above;

		if (e->removed || !g->nodes[e->src].listed || kept[e->src])
			continue;
		above = &g->edges[e->src];
		if (above->removed) {
			e->removed = true;
			continue;
		}
		e->src = above->src;
		e->residual = true;
		e->inlined = e->inlined && above->inlined;
	}
	for (uint32_t i = 0; i < g->nnodes; i++) {
		if (g->nodes[i].listed && !kept[i])
			g->edges[i].removed = true;
	}
}
