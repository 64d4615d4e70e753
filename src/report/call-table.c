/*
 * call-table.c - every function with its callers and callees
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "report/call-table.h"

#include "base/err.h"
#include "base/regex.h"
#include "base/wrap.h"
#include "base/xalloc.h"
#include "graph/graph.h"
#include "report/report.h"

#include <errno.h>
#include <stdlib.h>

static bool is_wanted(const struct call_table *t, uint32_t node)
{
	return !t->r->symbol || regex_match(t->r->symbol, graph_name(t->g, node));
}

static bool any_wanted(const struct call_table *t)
{
	for (uint32_t i = 0; i < t->g->n; i++) {
		if (is_wanted(t, t->g->order[i]))
			return true;
	}
	return false;
}

int call_table_init(struct call_table *t, struct report *r, struct err *err)
{
	*t = (struct call_table){ .r = r, .g = report_graph(r) };
	report_choose_unit(r, t->g);
	legend_graph(&t->legend, r, t->g, false);
	if (!r->symbol || any_wanted(t))
		return 0;
	call_table_release(t);
	return err_set(err, -ENOENT, "no matches found for regexp: %.*s",
		       STR_ARG(regex_pattern(r->symbol)));
}

size_t call_table_calls(const struct call_table *t)
{
	size_t n = 0;

	for (uint32_t i = 0; i < t->g->n; i++) {
		const struct graph_node *node = graph_at(t->g, i);

		if (is_wanted(t, t->g->order[i]))
			n += (size_t)node->nin + node->nout;
	}
	return n;
}

void call_table_release(struct call_table *t)
{
	free(t->scratch);
	graph_free(t->g);
}

static void fill(const struct call_table *t, struct call *to, const struct edge **edges, uint32_t n,
		 bool callers, int64_t of)
{
	for (uint32_t i = 0; i < n; i++)
		to[i] = (struct call){
			.name = graph_name(t->g, callers ? edges[i]->src : edges[i]->dst),
			.weight = edges[i]->weight,
			.of = of,
			.inlined = edges[i]->inlined,
		};
}

bool call_table_next(struct call_table *t, struct call_entry *e)
{
	const struct edge **in, **out;
	const struct graph_node *n;
	uint32_t node;

	while (t->next < t->g->n && !is_wanted(t, t->g->order[t->next]))
		t->next++;
	if (t->next == t->g->n)
		return false;
	node = t->g->order[t->next++];
	n = &t->g->nodes[node];
	t->sum = wrap_add(t->sum, node_flat(n));
	*e = (struct call_entry){ .name = graph_name(t->g, node),
				  .flat = node_flat(n),
				  .cum = node_cum(n),
				  .sum = t->sum };
	in = graph_in(t->g, node, &e->ncallers);
	out = graph_out(t->g, node, &e->ncallees);
	if (!t->scratch || e->ncallers + (size_t)e->ncallees > t->cap) {
		t->cap = (e->ncallers + (size_t)e->ncallees) * 2;
		t->scratch = mem_grow(t->scratch, t->cap, sizeof(*t->scratch));
	}
	fill(t, t->scratch, in, e->ncallers, true, e->cum);
	fill(t, t->scratch + e->ncallers, out, e->ncallees, false, e->cum);
	e->callers = t->scratch;
	e->callees = t->scratch + e->ncallers;
	return true;
}
