/*
 * legend.c - the lines above a report
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "report/legend.h"

#include "base/gotext.h"
#include "base/out.h"
#include "base/wrap.h"
#include "base/xalloc.h"
#include "graph/graph.h"
#include "profile/profile.h"
#include "report/report.h"

enum { LONGEST_FILTER = 80 };

/* The lines live in the report's arena, so the list does, too. */
static void add(struct legend *l, struct report *r, struct str line)
{
	if (l->n == l->cap) {
		size_t cap = l->cap ? l->cap * 2 : 16;
		struct str *lines = xarena(&r->arena, cap, sizeof(*lines));

		if (l->n)
			memcpy(lines, l->lines, l->n * sizeof(*lines));
		l->lines = lines;
		l->cap = cap;
	}
	l->lines[l->n++] = line;
}

static void add_out(struct legend *l, struct report *r, struct out *o)
{
	add(l, r, xarena_str(&r->arena, out_view(o)));
	out_release(o);
}

static void add_named(struct legend *l, struct report *r, const char *name, struct str value)
{
	struct out o;

	out_init(&o, 0);
	out_text(&o, name);
	out_str(&o, value);
	add_out(l, r, &o);
}

static void add_program(struct legend *l, struct report *r)
{
	const struct profile *v = r->v;

	if (v->nmappings == 0)
		return;
	if (v->mappings[0].file)
		add_named(l, r, "File: ", str_base(profile_str(v, v->mappings[0].file)));
	if (v->mappings[0].build_id)
		add_named(l, r, "Build ID: ", profile_str(v, v->mappings[0].build_id));
}

static void add_time(struct legend *l, struct report *r)
{
	bool modern = strcmp(r->cfg.dialect, "modern") == 0;
	struct out o;

	if (r->v->time_nanos == 0)
		return;
	out_init(&o, 0);
	out_text(&o, "Time: ");
	go_time(&o, r->v->time_nanos, modern ? GO_DATE_2024 : GO_DATE_2009);
	add_out(l, r, &o);
}

static void add_duration(struct legend *l, struct report *r)
{
	struct unit_target ns = { STR("nanoseconds"), r->unit.minutes };
	struct unit_target natural = { STR("auto"), r->unit.minutes };
	struct percentage p;
	struct str unit;
	double nanos;
	struct out o;

	if (r->v->duration_nanos == 0)
		return;
	out_init(&o, 0);
	out_text(&o, "Duration: ");
	unit_print(&o, r->v->duration_nanos, STR("nanoseconds"), natural);
	out_text(&o, ", Total samples = ");
	report_value(r, &o, r->total);
	out_char(&o, ' ');
	nanos = unit_scale(r->total, r->sample_unit, ns, &unit);
	if (str_is(unit, "ns") && nanos != 0) {
		p = percentage(f64_to_i64(nanos), r->v->duration_nanos);
		out_printf(&o, "(%s)", p.text);
	}
	add_out(l, r, &o);
}

void legend_profile(struct legend *l, struct report *r)
{
	const struct profile *v = r->v;

	add_program(l, r);
	for (uint32_t i = 0; i < v->ncomments; i++) {
		struct str c = profile_str(v, v->comments[i]);

		if (!str_starts(c, STR("#")))
			add(l, r, c);
	}
	if (r->sample_type.n)
		add_named(l, r, "Type: ", r->sample_type);
	if (v->doc_url && strcmp(r->cfg.dialect, "modern") == 0)
		add_named(l, r, "Doc: ", profile_str(v, v->doc_url));
	add_time(l, r);
	add_duration(l, r);
}

static void add_filter(struct legend *l, struct report *r, const char *name, const char *value)
{
	struct str text = xarena_printf(&r->arena, "%s=%s", name, value);

	if (text.n > LONGEST_FILTER)
		text = xarena_printf(&r->arena, "%.*s\xe2\x80\xa6", LONGEST_FILTER, text.p);
	add_named(l, r, "   ", text);
}

void legend_filters(struct legend *l, struct report *r)
{
	const struct config *c = &r->cfg;
	const struct {
		const char *name, *value;
	} filters[] = {
		{ "focus", c->focus },         { "ignore", c->ignore },
		{ "hide", c->hide },           { "show", c->show },
		{ "show_from", c->show_from }, { "tagfocus", c->tagfocus },
		{ "tagignore", c->tagignore }, { "tagshow", c->tagshow },
		{ "taghide", c->taghide },
	};
	bool first = true;

	for (size_t i = 0; i < sizeof(filters) / sizeof(filters[0]); i++) {
		if (!*filters[i].value)
			continue;
		if (first)
			add(l, r, STR("Active filters:"));
		first = false;
		add_filter(l, r, filters[i].name, filters[i].value);
	}
}

static void add_showing(struct legend *l, struct report *r, const struct graph *g)
{
	int64_t shown = 0;
	struct percentage p;
	struct out o;

	for (uint32_t i = 0; i < g->n; i++)
		shown = wrap_add(shown, node_flat(graph_at(g, i)));
	p = percentage(shown, r->total);
	out_init(&o, 0);
	out_text(&o, "Showing nodes accounting for ");
	report_value(r, &o, shown);
	out_printf(&o, ", %s of ", percentage_trimmed(&p));
	report_value(r, &o, r->total);
	out_text(&o, " total");
	add_out(l, r, &o);
}

static void add_dropped(struct legend *l, struct report *r, uint32_t n, const char *noun,
			const char *what, double fraction)
{
	struct out o;

	if (n == 0)
		return;
	out_init(&o, 0);
	out_printf(&o, "Dropped %u %s%s (%s <= ", n, noun, n > 1 ? "s" : "", what);
	report_value(r, &o, abs_i64(f64_to_i64((double)r->total * fraction)));
	out_char(&o, ')');
	add_out(l, r, &o);
}

void legend_graph(struct legend *l, struct report *r, const struct graph *g, bool full)
{
	if (full || !r->cfg.compact_labels)
		legend_profile(l, r);
	legend_filters(l, r);
	add_showing(l, r, g);
	if (r->total) {
		add_dropped(l, r, g->dropped_nodes, "node", "cum", r->cfg.nodefraction);
		if (full)
			add_dropped(l, r, g->dropped_edges, "edge", "freq", r->cfg.edgefraction);
		if (g->n > 0 && g->n < g->before_top)
			add(l, r,
			    xarena_printf(&r->arena, "Showing top %u nodes out of %u", g->n,
					  g->before_top));
	}
	if (full)
		add(l, r, STR("\nSee https://git.io/JfYMW for how to read the graph"));
}
