/*
 * text-tree.c - every function with its callers and callees
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/err.h"
#include "base/out.h"
#include "base/regex.h"
#include "base/units.h"
#include "base/wrap.h"
#include "graph/graph.h"
#include "render/render.h"
#include "render/text.h"
#include "report/call-table.h"
#include "report/report.h"

#define SEPARATOR "----------------------------------------------------------+-------------\n"
#define HEADING   "      flat  flat%   sum%        cum   cum%   calls calls% + context \t \t \n"

/* A line of a caller or callee without its name. */
enum { SHORTEST = 50 + sizeof("   100% |   \n") - 1 };

static void print_edge(struct report *r, struct out *o, const struct call *c)
{
	struct percentage p = percentage(c->weight, c->of);

	text_value(r, o, c->weight, 50);
	out_printf(o, " %s |   ", p.text);
	out_str(o, c->name);
	out_text(o, c->inlined ? " (inline)\n" : "\n");
}

static void print_entry(struct report *r, struct out *o, const struct call_entry *e)
{
	struct percentage flat = percentage(e->flat, r->total);
	struct percentage sum = percentage(e->sum, r->total);
	struct percentage cum = percentage(e->cum, r->total);

	out_text(o, SEPARATOR);
	for (uint32_t i = 0; i < e->ncallers; i++)
		print_edge(r, o, &e->callers[i]);
	text_value(r, o, e->flat, 10);
	out_printf(o, " %s %s ", flat.text, sum.text);
	text_value(r, o, e->cum, 10);
	out_printf(o, " %s                | ", cum.text);
	out_str(o, e->name);
	out_char(o, '\n');
	for (uint32_t i = 0; i < e->ncallees; i++)
		print_edge(r, o, &e->callees[i]);
}

int render_tree_text(struct report *r, struct out *o, struct err *err)
{
	struct call_table t;
	struct call_entry e;
	int rc = call_table_init(&t, r, err);

	if (rc)
		return rc;
	out_expect(o, call_table_calls(&t) * SHORTEST);
	text_legend(o, &t.legend);
	out_text(o, SEPARATOR HEADING);
	while (!o->error && call_table_next(&t, &e))
		print_entry(r, o, &e);
	if (t.g->n > 0)
		out_text(o, SEPARATOR);
	call_table_release(&t);
	return 0;
}
