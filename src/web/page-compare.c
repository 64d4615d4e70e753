/*
 * page-compare.c - what changed, as a table and as drawings
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/gotext.h"
#include "base/out.h"
#include "base/units.h"
#include "base/wrap.h"
#include "base/xalloc.h"
#include "render/xml.h"
#include "report/compare.h"
#include "report/report.h"
#include "web/page-parts.h"
#include "web/page.h"
#include "web/web-server.h"

#include <stdlib.h>

/* Rows that are worth sending, and longest name that is worth a link. */
enum { ROWS = 1000, LINKED = 1000 };

/* Durations are shown to this many nanoseconds. */
enum { ROUNDED = 10000000 };

/* How each verdict is told: as a class, and to read. */
static const struct {
	const char *class, *text;
} verdicts[] = {
	[COMPARE_FEW] = { "unsure", "too few samples" },
	[COMPARE_CHANCE] = { "unsure", "may be chance" },
	[COMPARE_LESS] = { "less", "less" },
	[COMPARE_MORE] = { "more", "more" },
};

static int64_t delta(const struct compare_value *v)
{
	return wrap_add(v->after, -v->before);
}

static void put_value(struct out *o, struct report *r, int64_t v, bool sign)
{
	if (sign && v > 0)
		out_char(o, '+');
	page_safe(o, report_value_str(r, v));
}

/* ------------------------------------------------------------------ what is compared */

static void put_side(struct out *o, struct report *r, const struct compare *c, int side)
{
	out_printf(o, "<div><dt>%s</dt><dd>", side ? "After" : "Before");
	put_value(o, r, side ? c->total.after : c->total.before, false);
	out_printf(o, "<small>%.0f %s", c->total.events[side], c->events);
	if (c->profiles[side] > 1)
		out_printf(o, ", %zu profiles", c->profiles[side]);
	if (c->duration[side] > 0) {
		out_text(o, ", ");
		go_duration(o, c->duration[side] / ROUNDED * ROUNDED);
	}
	out_text(o, "</small></dd></div>");
}

static void put_change(struct out *o, struct report *r, const struct compare_value *v)
{
	out_printf(o, "<div><dt>Total</dt><dd class=\"%s\">", verdicts[v->verdict].class);
	put_value(o, r, delta(v), true);
	out_text(o, "<small>");
	if (v->before)
		out_printf(o, "%+.1f%%, ", (double)delta(v) / (double)v->before * 100);
	out_printf(o, "%s</small></dd></div>", verdicts[v->verdict].text);
}

static void put_verdict(struct out *o, const struct compare *c)
{
	size_t more = compare_count(c, COMPARE_MORE), less = compare_count(c, COMPARE_LESS);

	if (more + less == 0)
		out_printf(o,
			   "<p class=\"verdict\"><strong>No change beyond chance</strong> in %zu "
			   "numbers compared. ",
			   c->asked);
	else
		out_printf(o,
			   "<p class=\"verdict\"><strong>Changed: %zu more, %zu less</strong>, of "
			   "%zu numbers compared; at most one in twenty that are said to have "
			   "changed is expected not to have. ",
			   more, less, c->asked);
	if (c->by == COMPARE_TIME)
		out_printf(o, "After is multiplied by %.4g, to be of equal time. ", c->scale);
	else if (c->by == COMPARE_SHARES)
		out_printf(o, "After is multiplied by %.4g, to be of equal total. ", c->scale);
	else if (c->by == COMPARE_TYPICAL)
		out_printf(o,
			   "Totals differ, so functions are compared with what is typical: after "
			   "is multiplied by %.4g. ",
			   c->scale);
	if (c->spread > 0)
		out_printf(o, "Profiles of one side differ by %.1f%%, beyond sampling. ",
			   c->spread * 100);
	if (c->profiles[0] + c->profiles[1] == 2)
		out_text(o, "How much the program varies by itself, two profiles do not tell. ");
	out_text(o, "</p>\n");
}

/* ------------------------------------------------------------------ choices */

struct choice {
	const char *value, *label, *help;
};

static void put_choices(struct out *o, const struct page *pg, const char *what, const char *name,
			const struct choice *choices, size_t n, size_t current)
{
	out_printf(o, "<nav aria-label=\"%s\"><span class=\"what\">%s</span>", what, what);
	for (size_t i = 0; i < n; i++) {
		out_char(o, ' ');
		page_link(o, pg, "compare", name, str_of(choices[i].value));
		out_printf(o, "%s title=\"%s\">%s</a>",
			   i == current ? " aria-current=\"true\"" : "", choices[i].help,
			   choices[i].label);
	}
	out_text(o, "</nav>\n");
}

static void put_menu(struct out *o, const struct page *pg, const struct compare *c, bool cum)
{
	static const struct choice sorts[] = {
		{ "flat", "by itself", "What a function has by itself" },
		{ "cum", "with all it calls", "What a function has with all it calls" },
	};
	static const struct choice bys[] = {
		{ "amounts", "amounts", "As they are, per profile" },
		{ "time", "time", "As if both had lasted equally long" },
		{ "shares", "shares", "As if both had the same total" },
		{ "typical", "typical", "As if most functions had stayed the same" },
	};

	out_text(o, "<div class=\"choices\">");
	put_choices(o, pg, "Functions", "sort", sorts, 2, cum);
	put_choices(o, pg, "Compared by", "by", bys, 4, (size_t)c->by - COMPARE_AMOUNTS);
	out_text(o, "</div>\n");
}

/* ------------------------------------------------------------------ the table */

static void put_head(struct out *o, bool cum)
{
	out_printf(o,
		   "<div class=\"table\"><table class=\"changes\"><caption>What changed, %s"
		   "</caption><thead><tr>"
		   "<th scope=\"col\" title=\"In the base\">Before</th>"
		   "<th scope=\"col\" title=\"In the profile that is compared with it\">After</th>"
		   "<th scope=\"col\" title=\"After, less before\">Delta</th>"
		   "<th scope=\"col\" title=\"The delta as a part of before\">Delta%%</th>"
		   "<th scope=\"col\" title=\"Before, as a part of the old total\">Before%%</th>"
		   "<th scope=\"col\" title=\"After, as a part of the new total\">After%%</th>"
		   "<th scope=\"col\" title=\"The share of mistakes to expect among all that are "
		   "this sure or surer\">Chance</th>"
		   "<th scope=\"col\" title=\"Whether the samples tell that it changed\">Verdict"
		   "</th><th scope=\"col\">Function</th></tr></thead><tbody>\n",
		   cum ? "functions with all they call" : "functions by themselves");
}

static void put_name(struct out *o, const struct page *pg, struct str name)
{
	bool linked = name.n <= LINKED && !memchr(name.p, '\0', name.n);
	struct out exact;

	if (linked) {
		out_init(&exact, 0);
		page_quote(&exact, name);
		page_link(o, pg, "peek", "f", out_view(&exact));
		out_char(o, '>');
		out_release(&exact);
	}
	page_safe(o, name);
	out_text(o, linked ? "</a>" : "");
}

static void put_chance(struct out *o, const struct compare_value *v)
{
	if (v->verdict == COMPARE_FEW)
		out_text(o, "–");
	else if (v->q < 1e-4)
		out_text(o, "&lt;0.01%");
	else
		out_printf(o, "%.2f%%", v->q * 100);
}

static void put_row(struct out *o, const struct page *pg, struct report *r, const struct compare *c,
		    const struct compare_value *v, struct str name)
{
	struct percentage before = percentage(v->before, c->whole[0]);
	struct percentage after = percentage(v->after, c->whole[1]);

	out_printf(o, "<tr class=\"%s\"><td>", verdicts[v->verdict].class);
	put_value(o, r, v->before, false);
	out_text(o, "</td><td>");
	put_value(o, r, v->after, false);
	out_text(o, "</td><td class=\"delta\">");
	put_value(o, r, delta(v), true);
	if (v->before)
		out_printf(o, "</td><td>%+.1f%%", (double)delta(v) / (double)v->before * 100);
	else
		out_printf(o, "</td><td>%s", v->after ? "new" : "");
	out_printf(o, "</td><td>%s</td><td>%s</td><td>", percentage_trimmed(&before),
		   percentage_trimmed(&after));
	put_chance(o, v);
	out_printf(o, "</td><td>%s</td><td>", verdicts[v->verdict].text);
	put_name(o, pg, name);
	out_text(o, "</td></tr>\n");
}

static const struct compare_value *value_of(const struct compare_row *row, bool cum)
{
	return cum ? &row->cum : &row->flat;
}

static int64_t size_of(const struct compare_row *row)
{
	return abs_i64(delta(&row->cum));
}

static int by_cum(const void *a, const void *b)
{
	const struct compare_row *x = *(const struct compare_row *const *)a;
	const struct compare_row *y = *(const struct compare_row *const *)b;

	return size_of(x) == size_of(y) ? str_cmp(x->name, y->name)
					: (size_of(x) > size_of(y) ? -1 : 1);
}

static void put_table(struct out *o, const struct page *pg, struct report *r,
		      const struct compare *c, bool cum)
{
	const struct compare_row **rows = mem_new(c->n, sizeof(*rows));
	size_t n = 0;

	for (size_t i = 0; i < c->n; i++) {
		const struct compare_value *v = value_of(&c->rows[i], cum);

		if (v->before || v->after)
			rows[n++] = &c->rows[i];
	}
	if (cum && n)
		qsort(rows, n, sizeof(*rows), by_cum);
	put_head(o, cum);
	for (size_t i = 0; i < n && i < ROWS; i++)
		put_row(o, pg, r, c, value_of(rows[i], cum), rows[i]->name);
	out_text(o, "</tbody></table></div>\n");
	if (n > ROWS)
		out_printf(o, "<p class=\"note\">… and %zu more, which changed less.</p>\n",
			   n - ROWS);
	free(rows);
}

void page_verdicts(const struct page *pg, struct out *o)
{
	struct out query;

	out_init(&query, 0);
	web_query(pg->rq, "changed", "changed", STR("t"), &query);
	out_text(o, " data-verdicts=\"./compare.json");
	xml_escape(o, out_view(&query));
	out_char(o, '"');
	out_release(&query);
}

/* All stacks of both sides in one drawing, and then those of each in one of its own. */
static void put_drawings(struct out *o, const struct page *pg)
{
	out_text(o, "<section class=\"drawings\"><h2>All stacks, by change</h2>"
		    "<div data-view=\"flame\" data-query=\"side=both\" data-label=\"both\"");
	page_verdicts(pg, o);
	out_text(o, "></div>\n<h2>Side by side</h2><div class=\"pair\">"
		    "<div><h3>Before</h3><div data-view=\"flame\" data-query=\"side=before\" "
		    "data-label=\"before\" "
		    "data-embedded=\"\"></div></div>"
		    "<div><h3>After</h3><div data-view=\"flame\" data-query=\"side=after\" "
		    "data-label=\"after\" "
		    "data-embedded=\"\"></div></div></div></section>\n");
}

void page_compare(const struct page *pg, struct report *r, const struct compare *c, struct out *o)
{
	bool cum = strcmp(r->cfg.sort, "cum") == 0;

	page_preload("flame", o);
	out_text(o, "<section data-view=\"compare\">\n<dl class=\"sides\">");
	put_side(o, r, c, 0);
	put_side(o, r, c, 1);
	put_change(o, r, &c->total);
	out_text(o, "</dl>\n");
	put_verdict(o, c);
	put_menu(o, pg, c, cum);
	put_table(o, pg, r, c, cum);
	out_text(o, "</section>\n");
	put_drawings(o, pg);
}
