/*
 * page-labels.c - what labels there are, with links that filter and group by them
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/out.h"
#include "base/units.h"
#include "base/wrap.h"
#include "profile/profile.h"
#include "report/report.h"
#include "report/tag-table.h"
#include "web/page-parts.h"
#include "web/page.h"
#include "web/web-server.h"

#include <ctype.h>
#include <inttypes.h>

/* Values of one key that are worth a row, and longest text that is worth a link. */
enum { MOST_VALUES = 500, LINKED = 1000 };

/* ------------------------------------------------------------------ what filters say */

/* A name that "key=..." and lists with commas can have. */
static bool is_key(struct str name)
{
	return name.n > 0 && name.n <= LINKED && !memchr(name.p, '=', name.n) &&
	       !memchr(name.p, ',', name.n) && !memchr(name.p, '\0', name.n);
}

static bool is_word(struct str s)
{
	for (size_t i = 0; i < s.n; i++) {
		if (!isalpha((unsigned char)s.p[i]))
			return false;
	}
	return true;
}

/* An expression that matches 'text' and nothing else, without the comma that would divide it. */
static void put_exact(struct out *o, struct str text)
{
	out_char(o, '^');
	for (size_t i = 0; i < text.n; i++) {
		if (text.p[i] == ',')
			out_text(o, "\\x2c");
		else if (strchr("\\.+*?()|[]{}^$", text.p[i]))
			out_printf(o, "\\%c", text.p[i]);
		else
			out_char(o, text.p[i]);
	}
	out_char(o, '$');
}

/* What tagfocus needs for a value; false if it cannot say that. */
static bool put_filter(struct out *o, struct str key, const struct tag_value *v)
{
	if (!is_key(key) || v->text.n > LINKED || memchr(v->text.p, '\0', v->text.n))
		return false;
	out_str(o, key);
	out_char(o, '=');
	if (!v->unit.p) {
		put_exact(o, v->text);
		return true;
	}
	if (!is_word(v->unit))
		return false;
	out_printf(o, "%" PRId64 "%.*s:%" PRId64 "%.*s", v->least, STR_ARG(v->unit), v->most,
		   STR_ARG(v->unit));
	return true;
}

/* ------------------------------------------------------------------ what is on the page */

static void put_action(struct out *o, const struct page *pg, const char *view, const char *param,
		       struct str value, const char *label, const char *help)
{
	out_char(o, ' ');
	page_link(o, pg, view, param, value);
	out_printf(o, " title=\"%s\">%s</a>", help, label);
}

static void put_value(struct out *o, const struct page *pg, struct str key,
		      const struct tag_value *v)
{
	struct report *r = pg->report;
	struct out filter;

	out_printf(o, "<tr><td data-value=\"%" PRId64 "\">", v->weight);
	page_safe(o, report_value_str(r, v->weight));
	out_text(o, "</td><td class=\"bar\">");
	page_bar(o, v->weight, r->total);
	out_printf(o, "%s</td><td>", percentage(v->weight, r->total).text);
	out_init(&filter, 0);
	if (put_filter(&filter, key, v)) {
		put_action(o, pg, "labels", "tf", out_view(&filter), "only",
			   "Samples with this value only");
		put_action(o, pg, "labels", "ti", out_view(&filter), "without",
			   "Samples that do not have this value");
	}
	out_release(&filter);
	out_text(o, "</td><td>");
	page_safe(o, v->text);
	out_text(o, "</td></tr>\n");
}

static void put_key_actions(struct out *o, const struct page *pg, struct str key)
{
	struct out exact;

	if (!is_key(key))
		return;
	out_text(o, "<p class=\"actions\">");
	put_action(o, pg, "flamegraph", "tagroot", key, "group stacks by it",
		   "Its values become frames above all others");
	put_action(o, pg, "flamegraph", "tagleaf", key, "split leaves by it",
		   "Its values become frames below all others");
	put_action(o, pg, "top", "tagroot", key, "as a table", "Top, with its values as functions");
	out_init(&exact, 0);
	put_exact(&exact, key);
	put_action(o, pg, "", "ts", out_view(&exact), "only it in the graph",
		   "The graph shows this label and no other");
	out_release(&exact);
	out_text(o, "</p>\n");
}

static void put_key(struct out *o, const struct page *pg, const struct tag_key *k)
{
	struct percentage p = percentage(k->total, pg->report->total);

	out_text(o, "<section><h2>");
	page_safe(o, k->name);
	out_printf(o, "</h2><p class=\"file\">%zu value%s, ", k->n, k->n == 1 ? "" : "s");
	page_safe(o, report_value_str(pg->report, k->total));
	out_printf(o, " in all (%s of the total)</p>\n", percentage_trimmed(&p));
	put_key_actions(o, pg, k->name);
	out_text(
		o,
		"<div class=\"table\" tabindex=\"0\"><table data-view=\"table\"><thead><tr>"
		"<th scope=\"col\" title=\"Of samples that have this value\">Sum</th>"
		"<th scope=\"col\" title=\"Sum as a share of the total\">Share</th>"
		"<th scope=\"col\" title=\"Filters by this value\" data-sort=\"no\">Filter</th>"
		"<th scope=\"col\" title=\"What the label says\">Value</th></tr></thead><tbody>\n");
	for (size_t i = 0; i < k->n && i < MOST_VALUES; i++)
		put_value(o, pg, k->name, &k->values[i]);
	out_text(o, "</tbody></table></div>\n");
	if (k->n > MOST_VALUES)
		out_printf(o, "<p class=\"note\">%zu smaller ones are not shown.</p>\n",
			   k->n - MOST_VALUES);
	out_text(o, "</section>\n");
}

void page_labels(const struct page *pg, struct out *o)
{
	struct tag_table t;

	tag_table_init(&t, pg->report);
	out_text(o, "<div class=\"listing\">\n");
	for (size_t i = 0; i < t.n; i++)
		put_key(o, pg, &t.keys[i]);
	out_text(o, "</div>\n");
	if (t.n == 0)
		page_note(pg, STR("No sample that filters leave has a label."), NULL, NULL, o);
}
