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

int call_table_init(struct call_table *t, struct report *r, struct err *err)
{
	int64_t sum = 0;

	*t = (struct call_table){ .r = r, .g = report_graph(r) };
	t->n = r->symbol ? t->g->nabout : t->g->n;
	t->sums = mem_new(t->n, sizeof(*t->sums));
	for (uint32_t i = 0; i < t->n; i++) {
		sum = wrap_add(sum, node_flat(graph_at(t->g, i)));
		t->sums[i] = sum;
	}
	report_choose_unit(r, t->g);
	legend_graph(&t->legend, r, t->g, false);
	if (!r->symbol || t->n)
		return 0;
	call_table_release(t);
	return err_set(err, -ENOENT, "no matches found for regexp: %.*s",
		       STR_ARG(regex_pattern(r->symbol)));
}

void call_table_release(struct call_table *t)
{
	free(t->sums);
	graph_free(t->g);
}

void call_table_share(struct call_table *t)
{
	graph_name_all(t->g);
}

size_t call_table_calls(const struct call_table *t, uint32_t i)
{
	const struct graph_node *n = graph_at(t->g, i);

	return (size_t)n->nin + n->nout;
}

static void fill(const struct call_table *t, struct call *to, const struct edge **edges, uint32_t n,
		 bool callers, int64_t of)
{
	for (uint32_t i = 0; i < n; i++)
		__builtin_prefetch(&t->g->nodes[callers ? edges[i]->src : edges[i]->dst].name);
	for (uint32_t i = 0; i < n; i++) {
		struct str name = graph_name(t->g, callers ? edges[i]->src : edges[i]->dst);

		/* All will be copied soon, from anywhere in memory. */
		__builtin_prefetch(name.p);
		__builtin_prefetch(name.p + name.n / 2);
		to[i] = (struct call){ .name = name,
				       .weight = edges[i]->weight,
				       .of = of,
				       .inlined = edges[i]->inlined };
	}
}

static void make_room(struct call_room *room, size_t n)
{
	if (room->calls && n <= room->cap)
		return;
	room->cap = n * 2 + 1;
	room->calls = mem_grow(room->calls, room->cap, sizeof(*room->calls));
	room->edges = mem_grow(room->edges, room->cap, sizeof(*room->edges));
}

void call_table_entry(const struct call_table *t, uint32_t i, struct call_room *room,
		      struct call_entry *e)
{
	uint32_t node = t->g->order[i];
	const struct graph_node *n = &t->g->nodes[node];

	make_room(room, call_table_calls(t, i));
	*e = (struct call_entry){ .name = graph_name(t->g, node),
				  .flat = node_flat(n),
				  .cum = node_cum(n),
				  .sum = t->sums[i],
				  .callers = room->calls,
				  .callees = room->calls + n->nin,
				  .ncallers = n->nin,
				  .ncallees = n->nout };
	graph_sort_calls(t->g, node, true, room->edges);
	fill(t, room->calls, room->edges, n->nin, true, e->cum);
	graph_sort_calls(t->g, node, false, room->edges);
	fill(t, room->calls + n->nin, room->edges, n->nout, false, e->cum);
}

void call_room_release(struct call_room *room)
{
	free(room->calls);
	free(room->edges);
}
