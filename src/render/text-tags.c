/*
 * text-tags.c - what values the labels have, and what each is worth
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/out.h"
#include "base/units.h"
#include "render/render.h"
#include "render/text.h"
#include "report/report.h"
#include "report/tag-table.h"

static void print_scaled(const struct report *r, struct out *o, int64_t v)
{
	struct str unit;
	double scaled = unit_scale(v, r->sample_unit, r->unit, &unit);

	out_printf(o, "%.1f", scaled);
	out_str(o, unit);
}

/* Since 2025 percentages are of the profile, and the heading says so. */
static void print_key_modern(const struct report *r, struct out *o, const struct tag_key *k)
{
	struct percentage p = percentage(k->total, r->total);

	out_str(o, k->name);
	out_text(o, ":\t Total ");
	print_scaled(r, o, k->total);
	if (r->total) {
		out_text(o, " of ");
		print_scaled(r, o, r->total);
		out_printf(o, " (%s)", p.text);
	}
	out_char(o, '\n');
}

static void print_key(const struct report *r, struct out *o, const struct tag_key *k)
{
	out_str(o, k->name);
	out_text(o, ":\t Total ");
	print_scaled(r, o, k->total);
	out_char(o, '\n');
}

static void print_value(const struct report *r, struct out *o, const struct tag_value *v,
			int64_t total)
{
	struct percentage p = percentage(v->weight, total);

	out_text(o, " \t");
	print_scaled(r, o, v->weight);
	if (total > 0)
		out_printf(o, " (%s)", p.text);
	out_text(o, ":\t ");
	out_str(o, v->text);
	out_char(o, '\n');
}

void render_tags_text(struct report *r, struct out *o)
{
	bool modern = strcmp(r->cfg.dialect, "modern") == 0;
	struct tag_table t;
	struct out cells;

	tag_table_init(&t, r);
	out_init(&cells, 0);
	for (size_t i = 0; i < t.n; i++) {
		const struct tag_key *k = &t.keys[i];

		if (modern)
			print_key_modern(r, &cells, k);
		else
			print_key(r, &cells, k);
		for (size_t j = 0; j < k->n; j++)
			print_value(r, &cells, &k->values[j], modern ? r->total : k->total);
		out_char(&cells, '\n');
	}
	text_columns(o, out_view(&cells));
	out_release(&cells);
}
