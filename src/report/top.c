/*
 * top.c - functions ranked by value
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "report/top.h"

#include "base/wrap.h"
#include "base/xalloc.h"
#include "graph/graph.h"
#include "report/report.h"

const char *inline_mark_text(enum inline_mark mark)
{
	static const char *const text[] = { "", " (partial-inline)", " (inline)" };

	return text[mark];
}

static enum inline_mark mark_of(const struct graph *g, const struct graph_node *n)
{
	bool inlined = false, called = false;

	for (uint32_t i = 0; i < n->nin; i++) {
		if (g->edges[g->in[n->in + i]].inlined)
			inlined = true;
		else
			called = true;
	}
	if (!inlined)
		return NOT_INLINED;
	return called ? PARTLY_INLINED : INLINED;
}

void top_init(struct top *t, struct report *r)
{
	int64_t sum = 0;

	*t = (struct top){ .g = report_graph(r) };
	report_choose_unit(r, t->g);
	legend_graph(&t->legend, r, t->g, false);
	t->n = t->g->n;
	t->rows = xarena(&r->arena, t->n, sizeof(*t->rows));
	for (uint32_t i = 0; i < t->n; i++) {
		const struct graph_node *n = graph_at(t->g, i);

		sum = wrap_add(sum, node_flat(n));
		t->rows[i] = (struct top_row){ .name = graph_name(t->g, t->g->order[i]),
					       .mark = mark_of(t->g, n),
					       .flat = node_flat(n),
					       .cum = node_cum(n),
					       .sum = sum };
	}
}

void top_release(struct top *t)
{
	graph_free(t->g);
}
