/*
 * dot.c - the graph in Graphviz's language
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/out.h"
#include "base/units.h"
#include "base/wrap.h"
#include "base/xalloc.h"
#include "graph/graph.h"
#include "profile/profile.h"
#include "render/nodelets.h"
#include "render/render.h"
#include "render/shorten.h"
#include "report/legend.h"
#include "report/report.h"
#include "report/trust.h"

#include <math.h>
#include <stdlib.h>

struct dot {
	struct report *r;
	struct out *o;
	struct graph *g;
	struct str title;
	uint32_t *id; /* per node: its place from 1 on, 0 if it is not shown */
	uint8_t *has_nodelets;
	double max_flat;
};

static void print_escaped(struct out *o, struct str s)
{
	for (size_t i = 0; i < s.n; i++) {
		if (s.p[i] == '\\' || s.p[i] == '"')
			out_char(o, '\\');
		if (s.p[i] == '\n')
			out_text(o, "\\l");
		else
			out_char(o, s.p[i]);
	}
}

/* ------------------------------------------------------------------ colours */

/*
 * From green (-1) over grey to red (1); pale for a background.  Near 0 the colour fades to grey,
 * and the scale is bent so that small shares can be told apart.
 */
static void print_color(struct out *o, double score, bool background)
{
	double saturation = background ? 0.1 : 1.0, value = background ? 0.93 : 0.7;
	double r, g, b;

	/* What is not a number (a share of nothing) stays so, and gives the colours it always gave.
	 */
	if (score > 1.0)
		score = 1.0;
	if (score < -1.0)
		score = -1.0;
	if (fabs(score) < 0.2)
		saturation *= fabs(score) / 0.2;
	if (score > 0.0)
		score = pow(score, 1.0 - 0.7);
	if (score < 0.0)
		score = -pow(-score, 1.0 - 0.7);
	r = g = value;
	if (score < 0.0)
		r = value * (1 + saturation * score);
	else
		g = value * (1 - saturation * score);
	b = value * (1 - saturation);
	out_printf(o, "\"#%02x%02x%02x\"", (unsigned)f64_to_i64(r * 255.0) & 0xff,
		   (unsigned)f64_to_i64(g * 255.0) & 0xff, (unsigned)f64_to_i64(b * 255.0) & 0xff);
}

static double share_of(const struct dot *d, int64_t v)
{
	return (double)v / (double)abs_i64(d->r->total);
}

/* ------------------------------------------------------------------ legend and nodes */

static void print_start(struct dot *d, const struct legend *l)
{
	struct out *o = d->o;

	out_text(o, "digraph \"");
	out_str(o, d->title.n ? d->title : STR("unnamed"));
	out_text(o, "\" {\nnode [style=filled fillcolor=\"#f8f8f8\"]\n");
	out_text(o, "subgraph cluster_L { \"");
	print_escaped(o, l->lines[0]);
	out_text(o, "\" [shape=box fontsize=16 label=\"");
	for (size_t i = 0; i < l->n; i++) {
		print_escaped(o, l->lines[i]);
		out_text(o, "\\l");
	}
	out_char(o, '"');
	if (d->title.n) {
		out_text(o, " tooltip=\"");
		out_str(o, d->title);
		out_char(o, '"');
	}
	out_text(o, "] }\n");
}

/* Every "::" and "." starts a new line, but for the dots of "[...]", which become one sign. */
static void print_name_lines(struct out *o, struct str s)
{
	struct out escaped;
	struct str rest;

	out_init(&escaped, 0);
	print_escaped(&escaped, s);
	for (rest = out_view(&escaped); rest.n;) {
		if (str_starts(rest, STR("::"))) {
			out_text(o, "\\n");
			rest = str_skip(rest, 2);
		} else if (str_starts(rest, STR("[...]"))) {
			out_text(o, "[\xe2\x80\xa6]");
			rest = str_skip(rest, 5);
		} else if (rest.p[0] == '.') {
			out_text(o, "\\n");
			rest = str_skip(rest, 1);
		} else {
			out_char(o, rest.p[0]);
			rest = str_skip(rest, 1);
		}
	}
	out_release(&escaped);
}

/* The parts of a node's name, each on a line of its own. */
static void print_label_name(struct dot *d, const struct node_info *i)
{
	const struct profile *p = d->r->v;
	struct str name = shorten_name(&d->r->arena, profile_str(p, i->name));
	struct str file = i->file ? str_base(profile_str(p, i->file)) : STR("");
	struct out *o = d->o;

	if (i->address)
		out_printf(o, "%016llx\\n", (unsigned long long)i->address);
	if (name.n) {
		print_name_lines(o, name);
		out_text(o, "\\n");
	}
	if (i->line) {
		out_str(o, file);
		out_printf(o, ":%lld", (long long)i->line);
		if (i->column)
			out_printf(o, ":%lld", (long long)i->column);
		out_text(o, "\\n");
	} else if (i->file) {
		out_str(o, file);
		out_text(o, "\\n");
	} else if (!name.n && i->objfile) {
		out_char(o, '[');
		out_str(o, str_base(profile_str(p, i->objfile)));
		out_text(o, "]\\n");
	} else if (!name.n) {
		out_text(o, "<unknown>\\n");
	}
}

static void print_share(struct dot *d, int64_t v)
{
	struct percentage p = percentage(v, d->r->total);

	report_value(d->r, d->o, v);
	out_printf(d->o, " (%s)", percentage_trimmed(&p));
}

static void print_label_values(struct dot *d, int64_t flat, int64_t cum)
{
	if (flat)
		print_share(d, flat);
	else
		out_char(d->o, '0');
	if (cum == flat)
		return;
	out_text(d->o, flat ? "\\nof " : " of ");
	print_share(d, cum);
}

static int64_t font_size(const struct dot *d, int64_t flat)
{
	double v = (double)abs_i64(flat);

	if (d->max_flat == 0 || flat == 0 || v > d->max_flat)
		return 8;
	return wrap_add(8, f64_to_i64(ceil(16.0 * sqrt(v / d->max_flat))));
}

static void print_node(struct dot *d, uint32_t node)
{
	const struct graph_node *n = &d->g->nodes[node];
	int64_t flat = node_flat(n), cum = node_cum(n);
	struct out *o = d->o;

	out_printf(o, "N%u [label=\"", d->id[node]);
	print_label_name(d, &n->info);
	print_label_values(d, flat, cum);
	out_printf(o, "\" id=\"node%u\" fontsize=%lld shape=box tooltip=\"", d->id[node],
		   (long long)font_size(d, flat));
	print_escaped(o, graph_name(d->g, node));
	out_text(o, " (");
	report_value(d->r, o, cum);
	out_text(o, ")\" color=");
	print_color(o, share_of(d, cum), false);
	out_text(o, " fillcolor=");
	print_color(o, share_of(d, cum), true);
	out_text(o, "]\n");
}

/* ------------------------------------------------------------------ edges */

static void print_strength(struct dot *d, int64_t v)
{
	int64_t total = d->r->total;
	int64_t hundredth = abs_i64(wrap_div(wrap_mul(v, 100), total));
	int64_t fifth = abs_i64(wrap_div(wrap_mul(v, 5), total));

	hundredth = hundredth < 100 ? hundredth : 100;
	fifth = fifth < 5 ? fifth : 5;
	if (hundredth > 0)
		out_printf(d->o, " weight=%d", (int)hundredth + 1);
	if (fifth > 0)
		out_printf(d->o, " penwidth=%d", (int)fifth + 1);
	out_text(d->o, " color=");
	print_color(d->o, share_of(d, v), false);
}

static void print_tooltip(struct dot *d, const struct edge *e, const char *name)
{
	out_printf(d->o, " %s=\"", name);
	print_escaped(d->o, graph_name(d->g, e->src));
	out_text(d->o, e->residual ? " ... " : " -> ");
	print_escaped(d->o, graph_name(d->g, e->dst));
	out_text(d->o, " (");
	report_value(d->r, d->o, edge_value(e));
	out_text(d->o, ")\"");
}

static void print_edge(struct dot *d, const struct edge *e)
{
	out_printf(d->o, "N%u -> N%u [label=\" ", d->id[e->src], d->id[e->dst]);
	report_value(d->r, d->o, edge_value(e));
	out_text(d->o, e->inlined ? "\\n (inline)\"" : "\"");
	if (d->r->total)
		print_strength(d, edge_value(e));
	print_tooltip(d, e, "tooltip");
	print_tooltip(d, e, "labeltooltip");
	if (e->residual)
		out_text(d->o, " style=\"dotted\"");
	if (d->has_nodelets[e->src])
		out_text(d->o, " minlen=2");
	out_text(d->o, "]\n");
}

/* ------------------------------------------------------------------ the whole */

static void print_graph(struct dot *d)
{
	struct graph *g = d->g;
	const struct edge **edges;
	struct nodelets nl;
	uint32_t n;

	nodelets_init(&nl, d->r, g);
	for (uint32_t i = 0; i < g->n; i++) {
		double flat = (double)abs_i64(node_flat(graph_at(g, i)));

		d->id[g->order[i]] = i + 1;
		d->max_flat = flat > d->max_flat ? flat : d->max_flat;
	}
	for (uint32_t i = 0; i < g->n; i++) {
		print_node(d, g->order[i]);
		d->has_nodelets[g->order[i]] = nodelets_print(&nl, g->order[i], i + 1, d->o);
	}
	edges = graph_edges(g, &n);
	for (uint32_t i = 0; i < n; i++)
		print_edge(d, edges[i]);
	nodelets_release(&nl);
}

void render_dot_trusted(struct report *r, struct out *o, struct trust *t)
{
	struct dot d = { .r = r, .o = o, .g = report_graph(r) };
	struct legend l = { 0 };

	report_choose_unit(r, d.g);
	if (r->v->nmappings && r->v->mappings[0].file)
		d.title = str_base(profile_str(r->v, r->v->mappings[0].file));
	d.id = mem_zeroed(d.g->nnodes, sizeof(*d.id));
	d.has_nodelets = mem_zeroed(d.g->nnodes, 1);
	legend_graph(&l, r, d.g, true);
	trust_graph(t, d.g);
	print_start(&d, &l);
	print_graph(&d);
	out_text(o, "}\n");
	free(d.id);
	free(d.has_nodelets);
	graph_free(d.g);
}

void render_dot(struct report *r, struct out *o)
{
	struct trust t = { 0 };

	render_dot_trusted(r, o, &t);
}
