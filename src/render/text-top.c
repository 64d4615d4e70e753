/*
 * text-top.c - functions ranked by value, and the lines that introduce a profile
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/out.h"
#include "base/units.h"
#include "profile/profile.h"
#include "render/render.h"
#include "render/text.h"
#include "report/report.h"
#include "report/top.h"

static void print_row(struct report *r, struct out *o, const struct top_row *row)
{
	struct percentage flat = percentage(row->flat, r->total);
	struct percentage sum = percentage(row->sum, r->total);
	struct percentage cum = percentage(row->cum, r->total);

	text_value(r, o, row->flat, 10);
	out_printf(o, " %s %s ", flat.text, sum.text);
	text_value(r, o, row->cum, 10);
	out_printf(o, " %s  ", cum.text);
	out_str(o, row->name);
	out_text(o, inline_mark_text(row->mark));
	out_char(o, '\n');
}

void render_top_text(struct report *r, struct out *o)
{
	struct top t;

	top_init(&t, r);
	text_legend(o, &t.legend);
	out_text(o, "      flat  flat%   sum%        cum   cum%\n");
	for (uint32_t i = 0; i < t.n; i++)
		print_row(r, o, &t.rows[i]);
	top_release(&t);
}

void render_legend(struct report *r, struct out *o)
{
	struct legend l = { 0 };

	legend_profile(&l, r);
	text_legend(o, &l);
}

void render_comments_text(struct report *r, struct out *o)
{
	for (uint32_t i = 0; i < r->v->ncomments; i++) {
		out_str(o, profile_str(r->v, r->v->comments[i]));
		out_char(o, '\n');
	}
}
