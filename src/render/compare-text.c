/*
 * compare-text.c - what changed from one profile to another, as text and as JSON
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "report/compare.h"

#include "base/gotext.h"
#include "base/out.h"
#include "base/units.h"
#include "base/wrap.h"
#include "render/json.h"
#include "render/render.h"
#include "render/text.h"
#include "report/report.h"

static const char *const bys[] = { "auto", "amounts", "time", "shares", "typical" };

static int64_t delta(const struct compare_value *v)
{
	return wrap_add(v->after, -v->before);
}

static bool has_changed(const struct compare_value *v)
{
	return v->verdict == COMPARE_MORE || v->verdict == COMPARE_LESS;
}

/* ------------------------------------------------------------------ text */

static void print_delta(const struct report *r, struct out *o, const struct compare_value *v)
{
	int64_t d = delta(v);
	struct out text;

	out_init(&text, 0);
	out_text(&text, d > 0 ? "+" : "");
	report_value(r, &text, d);
	out_printf(o, " %11.*s", STR_ARG(out_view(&text)));
	out_release(&text);
	if (v->before == 0)
		out_printf(o, " %9s", d ? "new" : "");
	else
		out_printf(o, " %+8.1f%%", (double)d / (double)v->before * 100);
}

static void print_chance(struct out *o, double q)
{
	if (q < 1e-4)
		out_text(o, "   <0.01%");
	else
		out_printf(o, " %7.2f%%", q * 100);
}

static void print_value(const struct report *r, const struct compare *c, struct out *o,
			const struct compare_value *v, struct str name)
{
	text_value(r, o, v->before, 10);
	out_char(o, ' ');
	text_value(r, o, v->after, 10);
	print_delta(r, o, v);
	out_printf(o, "  %s %s", percentage(v->before, c->whole[0]).text,
		   percentage(v->after, c->whole[1]).text);
	if (v->verdict == COMPARE_FEW)
		out_text(o, "        -");
	else
		print_chance(o, v->q);
	out_printf(o, "  %-13s  %.*s\n", compare_verdict_text(v->verdict), STR_ARG(name));
}

static void print_table(const struct report *r, const struct compare *c, bool cum,
			struct compare_rows rows, struct out *o)
{
	size_t n = 0;

	for (size_t i = 0; i < c->n; i++) {
		const struct compare_value *v = cum ? &c->rows[i].cum : &c->rows[i].flat;

		if (!rows.all && !has_changed(v))
			continue;
		if (++n > rows.most)
			continue;
		if (n == 1)
			out_printf(o,
				   "\n%s\n    before      after       delta    delta%%  before%%  "
				   "after%%   chance  verdict        function\n",
				   cum ? "With all they call:" : "By themselves:");
		print_value(r, c, o, v, c->rows[i].name);
	}
	if (n > rows.most)
		out_printf(o, "... and %zu more\n", n - rows.most);
}

static void print_side(const struct report *r, const struct compare *c, int side, struct out *o)
{
	const struct compare_value *t = &c->total;

	out_printf(o, "%s", side ? "after:  " : "before: ");
	report_value(r, o, side ? t->after : t->before);
	out_printf(o, " %.*s, %.0f %s", STR_ARG(r->sample_type), t->events[side], c->events);
	if (c->profiles[side] > 1)
		out_printf(o, " in %zu profiles", c->profiles[side]);
	if (c->duration[side] > 0) {
		out_text(o, " in ");
		go_duration(o, c->duration[side]);
	}
	out_char(o, '\n');
}

static void print_scale(const struct compare *c, struct out *o)
{
	if (c->by == COMPARE_TIME)
		out_printf(o, "Of equal time: after is multiplied by %.4g.\n", c->scale);
	else if (c->by == COMPARE_SHARES)
		out_printf(o, "Of equal totals: after is multiplied by %.4g.\n", c->scale);
	else if (c->by == COMPARE_TYPICAL)
		out_printf(o,
			   "Totals differ, so functions are compared with what is typical: after "
			   "is multiplied by %.4g.\n",
			   c->scale);
	if (c->spread > 0)
		out_printf(o, "Profiles of one side differ by %.1f%%, beyond what sampling does.\n",
			   c->spread * 100);
}

void render_compare_text(struct report *r, const struct compare *c, struct compare_rows rows,
			 struct out *o)
{
	size_t more = compare_count(c, COMPARE_MORE), less = compare_count(c, COMPARE_LESS);

	print_side(r, c, 0, o);
	print_side(r, c, 1, o);
	out_text(o, "total: ");
	print_delta(r, o, &c->total);
	out_printf(o, "  %s\n", compare_verdict_text(c->total.verdict));
	print_scale(c, o);
	print_table(r, c, false, rows, o);
	print_table(r, c, true, rows, o);
	if (more + less == 0)
		out_printf(o, "\nverdict: no change beyond chance (%zu numbers compared)\n",
			   c->asked);
	else
		out_printf(o,
			   "\nverdict: changed, %zu more and %zu less, of %zu numbers compared; "
			   "at most one in twenty of these is expected not to have changed\n",
			   more, less, c->asked);
}

/* ------------------------------------------------------------------ JSON */

static void json_value(struct json *j, const char *key, const struct compare_value *v)
{
	json_open(j, key, '{');
	json_int(j, "before", v->before);
	json_int(j, "after", v->after);
	json_int(j, "delta", delta(v));
	json_number(j, "eventsBefore", v->events[0]);
	json_number(j, "eventsAfter", v->events[1]);
	json_number(j, "chance", v->chance);
	json_number(j, "q", v->q);
	json_string(j, "verdict", str_of(compare_verdict_text(v->verdict)));
	json_close(j, '}');
}

static void json_head(struct json *j, const struct report *r, const struct compare *c)
{
	json_string(j, "type", r->sample_type);
	json_string(j, "unit", r->sample_unit);
	json_string(j, "by", str_of(bys[c->by]));
	json_number(j, "scale", c->scale);
	json_number(j, "spread", c->spread);
	json_string(j, "events", str_of(c->events));
	json_int(j, "profilesBefore", (int64_t)c->profiles[0]);
	json_int(j, "profilesAfter", (int64_t)c->profiles[1]);
	json_int(j, "durationBefore", c->duration[0]);
	json_int(j, "durationAfter", c->duration[1]);
	json_int(j, "wholeBefore", c->whole[0]);
	json_int(j, "wholeAfter", c->whole[1]);
	json_int(j, "compared", (int64_t)c->asked);
	json_int(j, "more", (int64_t)compare_count(c, COMPARE_MORE));
	json_int(j, "less", (int64_t)compare_count(c, COMPARE_LESS));
}

void render_compare_json(struct report *r, const struct compare *c, struct compare_rows rows,
			 struct out *o)
{
	struct json j = { .o = o };
	size_t n = 0;

	json_open(&j, NULL, '{');
	json_head(&j, r, c);
	json_value(&j, "total", &c->total);
	json_open(&j, "functions", '[');
	for (size_t i = 0; i < c->n; i++) {
		const struct compare_row *row = &c->rows[i];

		if (!rows.all && !has_changed(&row->flat) && !has_changed(&row->cum))
			continue;
		if (n++ == rows.most)
			break;
		json_open(&j, NULL, '{');
		json_string(&j, "name", row->name);
		json_value(&j, "flat", &row->flat);
		json_value(&j, "cum", &row->cum);
		json_close(&j, '}');
	}
	json_close(&j, ']');
	json_close(&j, '}');
}
