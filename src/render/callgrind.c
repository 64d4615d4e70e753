/*
 * callgrind.c - the graph in the format of callgrind, for KCachegrind
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/out.h"
#include "base/table.h"
#include "base/xalloc.h"
#include "graph/graph.h"
#include "profile/profile.h"
#include "render/render.h"
#include "report/report.h"

#include <stdio.h>
#include <stdlib.h>

/* Names that were written get a number, by which they are called from then on. */
struct names {
	struct str *at;
	size_t n, cap;
	struct table index;
};

static uint64_t rehash(uint32_t i, const void *ctx)
{
	const struct names *n = ctx;

	return hash_bytes(n->at[i].p, n->at[i].n, 9);
}

static void print_name(struct out *o, struct names *n, struct str name)
{
	struct probe at;

	if (name.n == 0)
		return;
	table_reserve(&n->index, rehash, n);
	at = table_probe(&n->index, hash_bytes(name.p, name.n, 9));
	while (table_next(&n->index, &at)) {
		if (str_eq(n->at[at.value], name)) {
			out_printf(o, "(%u)", at.value + 1);
			return;
		}
	}
	table_put(&n->index, &at, (uint32_t)n->n);
	vec_push(n->at, n->n, n->cap, name);
	out_printf(o, "(%zu) ", n->n);
	out_str(o, name);
}

static void names_release(struct names *n)
{
	free(n->at);
	table_release(&n->index);
}

/* ------------------------------------------------------------------ functions of the same name */

/*
 * Callgrind merges functions of one name and file.  Where there are several that we keep apart (in
 * other contexts of a call tree, or other binaries), callees are called "name [i/n]".
 */
struct twins {
	struct graph *g;
	bool tree;
	struct table names;     /* of nodes: the first of each name and file */
	struct table functions; /* of nodes: the first of each function */
	uint32_t *number;       /* per node: its function's place among those of its name */
	uint32_t *first;        /* per node: the first one of its name */
	uint32_t *count;        /* per such first one: how many functions have the name */
};

static uint64_t hash_name(uint32_t i, const void *ctx)
{
	const struct node_info *n = &((const struct twins *)ctx)->g->nodes[i].info;

	return hash_mix(n->name, n->file);
}

static bool same_name(const struct twins *t, uint32_t a, uint32_t b)
{
	const struct node_info *x = &t->g->nodes[a].info, *y = &t->g->nodes[b].info;

	return x->name == y->name && x->file == y->file;
}

static uint64_t hash_function(uint32_t i, const void *ctx)
{
	const struct twins *t = ctx;
	const struct graph_node *n = &t->g->nodes[i];

	if (t->tree)
		return hash_mix(hash_name(i, ctx), n->function);
	return hash_mix(hash_name(i, ctx), hash_mix(n->info.objfile, (uint64_t)n->info.start_line));
}

static bool same_function(const struct twins *t, uint32_t a, uint32_t b)
{
	const struct graph_node *x = &t->g->nodes[a], *y = &t->g->nodes[b];

	if (!same_name(t, a, b))
		return false;
	if (t->tree)
		return x->function == y->function;
	return x->info.objfile == y->info.objfile && x->info.start_line == y->info.start_line;
}

/* The node that 'node' equals, which is itself if it is the first of its kind. */
static uint32_t find_twin(struct twins *t, struct table *index, uint32_t node,
			  uint64_t (*hash)(uint32_t i, const void *ctx),
			  bool (*same)(const struct twins *t, uint32_t a, uint32_t b))
{
	struct probe at;

	table_reserve(index, hash, t);
	at = table_probe(index, hash(node, t));
	while (table_next(index, &at)) {
		if (same(t, at.value, node))
			return at.value;
	}
	table_put(index, &at, node);
	return node;
}

static void number_node(struct twins *t, uint32_t node)
{
	uint32_t function = find_twin(t, &t->functions, node, hash_function, same_function);

	t->first[node] = find_twin(t, &t->names, node, hash_name, same_name);
	if (function == node)
		t->number[node] = t->count[t->first[node]]++;
	else
		t->number[node] = t->number[function];
}

static void twins_init(struct twins *t, struct graph *g, bool tree)
{
	*t = (struct twins){ .g = g, .tree = tree };
	table_init(&t->names, g->n);
	table_init(&t->functions, g->n);
	t->number = mem_zeroed(g->nnodes, sizeof(*t->number));
	t->count = mem_zeroed(g->nnodes, sizeof(*t->count));
	t->first = mem_zeroed(g->nnodes, sizeof(*t->first));
	for (uint32_t i = 0; i < g->n; i++)
		number_node(t, g->order[i]);
}

static void twins_release(struct twins *t)
{
	table_release(&t->names);
	table_release(&t->functions);
	free(t->number);
	free(t->count);
	free(t->first);
}

/* ------------------------------------------------------------------ the report */

struct writer {
	struct report *r;
	struct out *o;
	struct graph *g;
	struct names objects, files, functions;
	struct twins twins;
	const struct node_info *prev;
};

static int64_t scaled(const struct report *r, int64_t v)
{
	struct str unit;

	return f64_to_i64(unit_scale(v, r->sample_unit, r->unit, &unit));
}

/* The address, relative to the previous node's where that is shorter. */
static void print_address(struct writer *w, uint64_t address)
{
	char relative[32], absolute[32];

	snprintf(absolute, sizeof(absolute), "0x%llx", (unsigned long long)address);
	if (!w->prev) {
		out_text(w->o, absolute);
		return;
	}
	if (w->prev->address == address) {
		out_char(w->o, '*');
		return;
	}
	snprintf(relative, sizeof(relative), "%+lld",
		 (long long)(int64_t)(address - w->prev->address));
	out_text(w->o, strlen(relative) < strlen(absolute) ? relative : absolute);
}

static void print_position(struct writer *w, const struct node_info *i)
{
	const struct profile *p = w->r->v;

	if (w->prev && w->prev->objfile == i->objfile && w->prev->file == i->file &&
	    w->prev->name == i->name)
		return;
	out_text(w->o, "\nob=");
	print_name(w->o, &w->objects, profile_str(p, i->objfile));
	out_text(w->o, "\nfl=");
	print_name(w->o, &w->files, profile_str(p, i->file));
	out_text(w->o, "\nfn=");
	print_name(w->o, &w->functions, profile_str(p, i->name));
	out_char(w->o, '\n');
}

static struct str callee_name(struct writer *w, uint32_t node)
{
	struct str name = profile_str(w->r->v, w->g->nodes[node].info.name);
	uint32_t count = w->twins.count[w->twins.first[node]];

	/* What is not shown has no name either: so it is in the reference. */
	if (!w->g->nodes[node].listed)
		return STR("");
	if (count < 2)
		return name;
	return xarena_printf(&w->r->arena, "%.*s [%u/%u]", STR_ARG(name), w->twins.number[node] + 1,
			     count);
}

static void print_call(struct writer *w, const struct edge *e)
{
	const struct node_info *callee = &w->g->nodes[e->dst].info;

	out_text(w->o, "cfl=");
	print_name(w->o, &w->files, profile_str(w->r->v, callee->file));
	out_text(w->o, "\ncfn=");
	print_name(w->o, &w->functions, callee_name(w, e->dst));
	out_text(w->o, "\ncalls=0 ");
	print_address(w, callee->address);
	out_printf(w->o, " %lld\n* * %lld\n", (long long)callee->line,
		   (long long)scaled(w->r, e->weight));
}

static void print_node(struct writer *w, uint32_t node)
{
	const struct graph_node *n = &w->g->nodes[node];
	const struct edge **out;
	uint32_t nout;

	print_position(w, &n->info);
	print_address(w, n->info.address);
	out_printf(w->o, " %lld %lld\n", (long long)n->info.line,
		   (long long)scaled(w->r, node_flat(n)));
	out = graph_out(w->g, node, &nout);
	for (uint32_t i = 0; i < nout; i++)
		print_call(w, out[i]);
	w->prev = &n->info;
}

void render_callgrind(struct report *r, struct out *o)
{
	struct writer w = { .r = r, .o = o, .g = report_graph(r) };

	report_choose_unit(r, w.g);
	table_init(&w.objects.index, 0);
	table_init(&w.files.index, 0);
	table_init(&w.functions.index, 0);
	twins_init(&w.twins, w.g, r->cfg.call_tree);
	out_text(o, "positions: instr line\nevents: ");
	out_str(o, r->sample_type);
	out_char(o, '(');
	out_str(o, r->unit.unit);
	out_text(o, ")\n");
	for (uint32_t i = 0; i < w.g->n; i++)
		print_node(&w, w.g->order[i]);
	names_release(&w.objects);
	names_release(&w.files);
	names_release(&w.functions);
	twins_release(&w.twins);
	graph_free(w.g);
}
