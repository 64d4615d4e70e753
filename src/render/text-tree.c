/*
 * text-tree.c - every function with its callers and callees
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/err.h"
#include "base/out.h"
#include "base/parts.h"
#include "base/regex.h"
#include "base/units.h"
#include "base/xalloc.h"
#include "graph/graph.h"
#include "render/render.h"
#include "render/text.h"
#include "report/call-table.h"
#include "report/report.h"

#include <stdlib.h>

#define SEPARATOR "----------------------------------------------------------+-------------\n"
#define HEADING   "      flat  flat%   sum%        cum   cum%   calls calls% + context \t \t \n"

/* A line of a caller or callee without its name. */
enum { SHORTEST = 50 + sizeof("   100% |   \n") - 1 };

/* Lines that are worth a thread. */
enum { PART = 512 };

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

/* The text of some entries, one after the other. */
struct printer {
	struct call_table t;
	uint32_t *begins; /* of parts, and the end of the last one */
	size_t n;
};

/* Cuts it where a part has enough lines.  How many callers and callees there are in all. */
static size_t cut(struct printer *p)
{
	size_t calls = 0, lines = PART;

	p->begins = mem_new((size_t)p->t.n + 1, sizeof(*p->begins));
	for (uint32_t i = 0; i < p->t.n; i++) {
		if (lines >= PART) {
			p->begins[p->n++] = i;
			lines = 0;
		}
		lines += call_table_calls(&p->t, i) + 1;
		calls += call_table_calls(&p->t, i);
	}
	p->begins[p->n] = p->t.n;
	return calls;
}

static void print_part(void *printer, size_t part, struct out *o)
{
	const struct printer *p = printer;
	struct call_room room = { 0 };
	struct call_entry e;

	for (uint32_t i = p->begins[part]; i < p->begins[part + 1] && !o->error; i++) {
		call_table_entry(&p->t, i, &room, &e);
		print_entry(p->t.r, o, &e);
	}
	call_room_release(&room);
}

int render_tree_text(struct report *r, struct out *o, struct err *err)
{
	struct printer p = { 0 };
	int rc = call_table_init(&p.t, r, err);

	if (rc)
		return rc;
	out_expect(o, cut(&p) * SHORTEST);
	text_legend(o, &p.t.legend);
	out_text(o, SEPARATOR HEADING);
	if (p.n > 1 && !o->error)
		call_table_share(&p.t);
	parts_print(o, p.n, print_part, &p);
	if (p.t.g->n > 0)
		out_text(o, SEPARATOR);
	free(p.begins);
	call_table_release(&p.t);
	return 0;
}
