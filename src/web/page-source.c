/*
 * page-source.c - source code with the value of every line, and its machine code folded under it
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/err.h"
#include "base/out.h"
#include "base/units.h"
#include "report/report.h"
#include "report/web-listing.h"
#include "web/page-parts.h"
#include "web/page.h"

#include <inttypes.h>

/* More functions, or lines of one, than these are no page any more. */
enum { MOST_ROUTINES = 50, MOST_LINES = 5000 };

/* Tabs stay, since <pre> and the style sheet know what they are. */
static void put_code(struct out *o, struct str text)
{
	struct str part;
	bool first = true;

	while (str_split(&text, '\t', &part)) {
		out_text(o, first ? "" : "\t");
		first = false;
		page_safe(o, part);
	}
}

static void put_value(struct out *o, struct report *r, int64_t v)
{
	if (v)
		page_safe(o, report_value_str(r, v));
}

/* A number with a bar behind it, which is its share of 'all'. */
static void put_cell(struct out *o, struct report *r, int64_t v, int64_t all)
{
	out_text(o, "<td class=\"bar\">");
	page_bar(o, v, all);
	put_value(o, r, v);
	out_text(o, "</td>");
}

/* ------------------------------------------------------------------ machine code */

static bool same_call(const struct web_call *a, const struct web_call *b)
{
	return str_eq(a->file, b->file) && a->line == b->line;
}

static void put_position(struct out *o, struct str file, int64_t line)
{
	out_text(o, "<td class=\"at\">");
	if (file.n) {
		page_safe(o, str_base(file));
		out_printf(o, ":%" PRId64, line);
	}
	out_text(o, "</td></tr>\n");
}

/* The inlined calls that lead to a row, as far as they are not those of the row before. */
static void put_calls(struct out *o, const struct web_row *row, const struct web_row *before)
{
	for (size_t i = 0; i < row->ncalls; i++) {
		const struct web_call *c = &row->calls[i];

		if (before && i < before->ncalls && same_call(&before->calls[i], c))
			continue;
		before = NULL;
		out_text(o, "<tr class=\"call\"><td></td><td></td><td></td><td>");
		put_code(o, str_trim(c->text));
		out_text(o, "</td>");
		put_position(o, c->file, c->line);
	}
}

static void put_inst(struct out *o, struct report *r, const struct web_inst *inst)
{
	out_text(o, "<tr><td>");
	put_value(o, r, inst->flat);
	out_text(o, "</td><td>");
	put_value(o, r, inst->cum);
	out_printf(o, "</td><td>%" PRIx64 "</td><td>", inst->in_file);
	put_code(o, inst->text);
	out_text(o, "</td>");
	put_position(o, inst->file, inst->line);
}

static void put_rows(struct out *o, struct report *r, const struct web_line *l)
{
	out_text(o, "<table class=\"code\"><thead><tr>"
		    "<th scope=\"col\" title=\"What the instruction took itself\">Flat</th>"
		    "<th scope=\"col\" title=\"With all that it called\">Cum</th>"
		    "<th scope=\"col\" title=\"In the file of the program\">Address</th>"
		    "<th scope=\"col\">Instruction</th>"
		    "<th scope=\"col\" title=\"The line it was made from\">From</th></tr></thead>"
		    "<tbody>\n");
	for (size_t i = 0; i < l->nrows; i++) {
		const struct web_row *row = &l->rows[i];

		if (i && row->starts_block)
			out_text(o, "<tr class=\"gap\"><td colspan=\"5\">\xe2\x8b\xae</td></tr>\n");
		put_calls(o, row, i ? row - 1 : NULL);
		if (row->inst->text.n)
			put_inst(o, r, row->inst);
	}
	out_text(o, "</tbody></table>");
}

/* ------------------------------------------------------------------ lines */

static bool has_code(const struct web_line *l)
{
	for (size_t i = 0; i < l->nrows; i++) {
		if (l->rows[i].ncalls || l->rows[i].inst->text.n)
			return true;
	}
	return false;
}

static void put_line(struct out *o, struct report *r, const struct web_line *l, int64_t all)
{
	bool live = has_code(l);

	out_printf(o, "<tr%s><td>%" PRId64 "</td>", l->flat || l->cum ? " class=\"hot\"" : "",
		   l->number);
	put_cell(o, r, l->flat, all);
	put_cell(o, r, l->cum, all);
	out_text(o, live ? "<td><details><summary>" : "<td>");
	out_text(o, "<code>");
	put_code(o, l->text);
	out_text(o, "</code>");
	if (live) {
		out_text(o, "</summary>");
		put_rows(o, r, l);
		out_text(o, "</details>");
	}
	out_text(o, "</td></tr>\n");
}

static void put_routine(struct out *o, struct report *r, const struct web_routine *w)
{
	struct percentage p = percentage(w->cum, r->total);

	out_text(o, "<section><h2>");
	page_safe(o, w->name);
	out_text(o, "</h2>\n<p class=\"file\">");
	page_safe(o, w->file);
	out_text(o, "<br>flat ");
	page_safe(o, report_value_str(r, w->flat));
	out_text(o, ", cum ");
	page_safe(o, report_value_str(r, w->cum));
	out_printf(o, " (%s of the total)</p>\n", percentage_trimmed(&p));
	out_text(o, "<div class=\"table\" tabindex=\"0\"><table class=\"source\"><thead><tr>"
		    "<th scope=\"col\" title=\"Number of the line\">Line</th>"
		    "<th scope=\"col\" title=\"What the line took itself; the bar is its share of "
		    "the function\">Flat</th>"
		    "<th scope=\"col\" title=\"What the line took with all that it called; the bar "
		    "is its share of the function\">Cum</th>"
		    "<th scope=\"col\" title=\"A line that can be opened shows its machine code\">"
		    "Source</th></tr></thead><tbody>\n");
	for (size_t i = 0; i < w->nlines && i < MOST_LINES; i++)
		put_line(o, r, &w->lines[i], w->cum);
	out_text(o, "</tbody></table></div></section>\n");
}

int page_source(const struct page *pg, struct out *o, struct err *err)
{
	struct web_listing w;
	int rc = web_listing_init(&w, pg->report, MOST_ROUTINES, err);

	if (rc == 0) {
		out_text(o, "<div class=\"listing\" data-view=\"source\">\n");
		for (size_t i = 0; i < w.n && i < MOST_ROUTINES; i++)
			put_routine(o, pg->report, &w.routines[i]);
		if (w.n > MOST_ROUTINES)
			out_printf(o, "<p class=\"note\">%zu more are not shown: narrow Focus.</p>",
				   w.n - MOST_ROUTINES);
		out_text(o, "</div>\n");
	}
	web_listing_release(&w);
	return rc;
}
