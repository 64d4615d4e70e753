/*
 * text-list.c - source code with the value of every line
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/out.h"
#include "base/units.h"
#include "render/render.h"
#include "render/text.h"
#include "report/listing.h"
#include "report/report.h"

static void print_line(struct report *r, struct out *o, const struct listing_line *l)
{
	text_value_or_dot(r, o, l->flat);
	out_char(o, ' ');
	text_value_or_dot(r, o, l->cum);
	out_printf(o, " %6lld:", (long long)l->number);
	out_str(o, l->text);
	out_char(o, '\n');
}

static void print_routine(struct report *r, struct out *o, const struct listing_routine *l)
{
	struct percentage p = percentage(l->cum, r->total);

	if (!l->has_file) {
		out_text(o, "No source information for ");
		out_str(o, l->function);
		out_char(o, '\n');
		return;
	}
	out_text(o, "ROUTINE ======================== ");
	out_str(o, l->function);
	out_text(o, " in ");
	out_str(o, l->file);
	out_char(o, '\n');
	text_value(r, o, l->flat, 10);
	out_char(o, ' ');
	text_value(r, o, l->cum, 10);
	out_printf(o, " (flat, cum) %s of Total\n", p.text);
	if (l->error)
		out_printf(o, " Error: %s\n", l->error);
	for (size_t i = 0; i < l->nlines; i++)
		print_line(r, o, &l->lines[i]);
}

int render_list_text(struct report *r, struct out *o, struct err *err)
{
	struct listing l;
	int rc = listing_init(&l, r, err);

	if (rc)
		return rc;
	out_text(o, "Total: ");
	report_value(r, o, r->total);
	out_char(o, '\n');
	for (size_t i = 0; i < l.n; i++)
		print_routine(r, o, &l.routines[i]);
	listing_release(&l);
	return 0;
}
