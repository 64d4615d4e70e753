/*
 * page.c - a report as a page with links to the others
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "web/page.h"

#include "base/out.h"
#include "base/parts.h"
#include "base/units.h"
#include "graph/graph.h"
#include "profile/profile.h"
#include "render/xml.h"
#include "report/legend.h"
#include "report/report.h"
#include "report/top.h"
#include "report/trust.h"
#include "web/page-parts.h"
#include "web/web-server.h"

#include <inttypes.h>
#include <stdbool.h>

/* Longest name that is worth showing on one line, and longest that is worth a link. */
enum { SHOWN = 4000, LINKED = 1000 };

/* ------------------------------------------------------------------ text of strangers */

void page_safe(struct out *o, struct str s)
{
	struct out visible;

	if (s.n <= SHOWN && xml_is_plain(s)) {
		out_str(o, s);
		return;
	}
	out_init(&visible, 0);
	text_visible(&visible, s, SHOWN);
	xml_escape(o, out_view(&visible));
	out_release(&visible);
}

/* A line, whose tabs stay. */
static void put_cells(struct out *o, struct str line)
{
	struct str cell;
	bool first = true;

	while (str_split(&line, '\t', &cell)) {
		out_text(o, first ? "" : "\t");
		first = false;
		page_safe(o, cell);
	}
	out_char(o, '\n');
}

/* Whole lines, or the last one, which need not end. */
static void put_lines(struct out *o, struct str text)
{
	const char *plain = text.p; /* lines from here on go as they are */
	struct str line = text;

	if (text.n == 0)
		return;
	text.n -= text.p[text.n - 1] == '\n';
	while (str_split(&text, '\n', &line)) {
		if (line.n <= SHOWN && xml_is_plain_line(line))
			continue;
		out_bytes(o, plain, (size_t)(line.p - plain));
		put_cells(o, line);
		plain = line.p + line.n + 1;
	}
	if (plain > line.p)
		return; /* the last one was none of those */
	out_bytes(o, plain, (size_t)(line.p + line.n - plain));
	out_char(o, '\n');
}

void page_text_begin(struct lines *l, struct out *to, size_t most)
{
	out_text(to, "<pre tabindex=\"0\">");
	lines_begin(l, to, put_lines, most);
}

int page_text_end(struct lines *l)
{
	int rc = lines_end(l);

	out_text(l->to, "</pre>\n");
	return rc;
}

/* A list of what there is a line each of. */
static void put_list(struct out *o, const char *class, struct str lines)
{
	struct str line;

	out_printf(o, "<ul class=\"%s\">", class);
	while (str_split(&lines, '\n', &line)) {
		if (line.n == 0)
			continue;
		out_text(o, "<li>");
		page_safe(o, line);
		out_text(o, "</li>");
	}
	out_text(o, "</ul>\n");
}

void page_link(struct out *o, const struct page *pg, const char *path, const char *name,
	       struct str value)
{
	struct out query;

	out_init(&query, 0);
	web_query(pg->rq, name, name, value, &query);
	out_printf(o, "<a href=\"./%s", path);
	xml_escape(o, out_view(&query));
	out_char(o, '"');
	out_release(&query);
}

/* ------------------------------------------------------------------ the frame of a page */

static struct str find_line(const struct legend *l, struct str prefix)
{
	for (size_t i = 0; i < l->n; i++) {
		if (str_starts(l->lines[i], prefix))
			return str_skip(l->lines[i], prefix.n);
	}
	return STR("unknown");
}

static void put_title(struct out *o, const struct legend *l)
{
	page_safe(o, find_line(l, STR("File: ")));
	out_char(o, ' ');
	page_safe(o, find_line(l, STR("Type: ")));
}

static void put_details(struct out *o, const struct legend *l)
{
	out_text(o, "<details><summary>Details</summary><ul>");
	for (size_t i = 0; i < l->n; i++) {
		out_text(o, "<li>");
		page_safe(o, l->lines[i]);
		out_text(o, "</li>");
	}
	out_text(o, "</ul></details>\n");
}

static const char *tag_of(const char *name)
{
	for (const struct page_file *f = page_files; f->name; f++) {
		if (strcmp(f->name, name) == 0)
			return f->tag;
	}
	return "";
}

/* With their tags, so that a browser can keep them for as long as it likes. */
static void put_files(struct out *o)
{
	/* Before anything is painted: which colours were chosen. */
	out_printf(o, "<script src=\"./static/theme.js?v=%s\"></script>", tag_of("theme.js"));
	out_printf(o, "<link rel=\"stylesheet\" href=\"./static/page.css?v=%s\">",
		   tag_of("page.css"));
	/* A browser that is not told asks for an icon elsewhere, and would be sent to a report. */
	out_printf(o, "<link rel=\"icon\" href=\"./static/icon.svg?v=%s\">", tag_of("icon.svg"));
	out_printf(o, "<script type=\"module\" src=\"./static/page.js?v=%s\"></script>",
		   tag_of("page.js"));
}

static void put_preload(struct out *o, struct str name)
{
	out_text(o, "<link rel=\"modulepreload\" href=\"./static/");
	out_str(o, name);
	out_text(o, "\">");
}

void page_preload(const char *view, struct out *o)
{
	size_t n = strlen(view);

	for (const struct page_file *f = page_files; f->name; f++) {
		struct str needs = str_of(f->needs), name;
		struct str rest = str_of(f->name);

		if (!str_starts(rest, STR("chunk-")))
			continue;
		rest = str_skip(rest, strlen("chunk-"));
		if (!str_starts(rest, (struct str){ view, n }) || rest.p[n] != '-')
			continue;
		put_preload(o, str_of(f->name));
		while (str_field(&needs, &name))
			put_preload(o, name);
	}
}

/* 'title' is escaped already. */
static void open_page(struct out *o, struct str title)
{
	out_text(o, "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>");
	out_str(o, title);
	out_text(o, "</title><meta name=\"viewport\" content=\"width=device-width, "
		    "initial-scale=1\">");
	put_files(o);
	out_text(o, "</head>\n<body><header><h1>");
	out_str(o, title);
	out_text(o, "</h1>\n");
}

void page_begin(const struct page *pg, struct out *o)
{
	struct legend l = { 0 };
	struct out title;

	if (pg->report)
		legend_profile(&l, pg->report);
	out_init(&title, 0);
	put_title(&title, &l);
	open_page(o, out_view(&title));
	out_release(&title);
	page_menus(pg, o);
	page_trust(pg, o);
	put_details(o, &l);
	out_text(o, "</header>\n<main>\n");
	if (pg->warnings.n)
		put_list(o, "warnings", pg->warnings);
}

void page_begin_plain(struct str title, struct out *o)
{
	struct out text;

	out_init(&text, 0);
	page_safe(&text, title);
	open_page(o, out_view(&text));
	out_release(&text);
	out_text(o, "</header>\n<main>\n");
}

void page_end(struct out *o)
{
	out_text(o, "</main></body></html>\n");
}

/* ------------------------------------------------------------------ what is on it */

void page_quote(struct out *o, struct str name)
{
	out_char(o, '^');
	for (size_t i = 0; i < name.n; i++) {
		if (name.p[i] && strchr("\\.+*?()|[]{}^$", name.p[i]))
			out_char(o, '\\');
		out_char(o, name.p[i]);
	}
	out_text(o, "( |$)");
}

void page_bar(struct out *o, int64_t part, int64_t all)
{
	double share = all ? 100 * (double)part / (double)all : 0;

	if (share < 0)
		share = -share;
	if (share > 100)
		share = 100;
	if (share >= 0.05)
		out_printf(o,
			   "<svg viewBox=\"0 0 100 1\" preserveAspectRatio=\"none\" "
			   "aria-hidden=\"true\"><rect width=\"%.1f\" height=\"1\"/></svg>",
			   share);
}

/* 'function' is the name without what the granularity has put behind it. */
static void put_name(struct out *o, const struct page *pg, const char *to,
		     const struct top_row *row, struct str function)
{
	bool linked =
		function.n > 0 && function.n <= LINKED && !memchr(function.p, '\0', function.n);
	struct out exact;

	out_text(o, "<td");
	if (function.n != row->name.n) {
		out_text(o, " data-function=\"");
		page_safe(o, function);
		out_char(o, '"');
	}
	out_char(o, '>');
	if (linked) {
		out_init(&exact, 0);
		page_quote(&exact, function);
		page_link(o, pg, to, "f", out_view(&exact));
		out_char(o, '>');
		out_release(&exact);
	}
	page_safe(o, row->name);
	out_text(o, linked ? "</a>" : "");
	out_printf(o, "<span class=\"mark\">%s</span></td>", inline_mark_text(row->mark));
}

/* The share with a bar behind it. */
static void put_share(struct out *o, int64_t v, int64_t total)
{
	out_text(o, "<td class=\"bar\">");
	page_bar(o, v, total);
	out_printf(o, "%s</td>", percentage(v, total).text);
}

static void put_row(struct out *o, const struct page *pg, struct report *r, const char *to,
		    const struct top_row *row, struct str function)
{
	out_printf(o, "<tr><td data-value=\"%" PRId64 "\">", row->flat);
	page_safe(o, report_value_str(r, row->flat));
	out_text(o, "</td>");
	put_share(o, row->flat, r->total);
	out_printf(o, "<td>%s</td><td data-value=\"%" PRId64 "\">",
		   percentage(row->sum, r->total).text, row->cum);
	page_safe(o, report_value_str(r, row->cum));
	out_text(o, "</td>");
	put_share(o, row->cum, r->total);
	put_name(o, pg, to, row, function);
	out_text(o, "</tr>\n");
}

/* Rows can be picked to filter the view 'chosen' by, if it is not NULL. */
static void put_columns(struct out *o, const char *chosen)
{
	static const char *const columns[][2] = {
		{ "Flat", "What the function took itself" },
		{ "Flat%", "Flat as a share of the total" },
		{ "Sum%", "Flat of this row and of all above it, as a share of the total" },
		{ "Cum", "What the function took with all that it called" },
		{ "Cum%", "Cum as a share of the total" },
		{ "Name", "The function; inlined: the compiler put it into its callers" },
	};

	out_text(o, "<div class=\"table\" tabindex=\"0\"><table class=\"top\" data-view=\"table\"");
	if (chosen)
		out_printf(o, " data-choose=\"%s\"", chosen);
	out_text(o, "><thead><tr>");
	for (size_t i = 0; i < sizeof(columns) / sizeof(columns[0]); i++)
		out_printf(o, "<th scope=\"col\" title=\"%s\">%s</th>", columns[i][1],
			   columns[i][0]);
	out_text(o, "</tr></thead><tbody>\n");
}

void page_top(const struct page *pg, struct report *r, const char *to, struct out *o)
{
	struct top t;

	top_init(&t, r);
	trust_graph(pg->trust, t.g);
	put_columns(o, strcmp(pg->view, to) == 0 ? NULL : pg->view);
	for (uint32_t i = 0; i < t.n; i++)
		put_row(o, pg, r, to, &t.rows[i], profile_str(r->v, graph_at(t.g, i)->info.name));
	out_text(o, "</tbody></table></div>\n");
	top_release(&t);
}

/* Another file with the parameters of the page. */
static void put_address(struct out *o, const struct page *pg, const char *path)
{
	struct out query;

	out_init(&query, 0);
	web_query(pg->rq, NULL, NULL, STR(""), &query);
	out_printf(o, "./%s", path);
	xml_escape(o, out_view(&query));
	out_release(&query);
}

void page_drawing(const struct page *pg, const char *path, struct out *o)
{
	out_printf(o, "<iframe title=\"%s\" src=\"", path);
	put_address(o, pg, path);
	out_text(o, "\"></iframe>\n");
}

void page_graph(const struct page *pg, struct out *o)
{
	out_printf(o, "<div data-view=\"graph\" data-by=\"%s\" data-source=\"",
		   pg->report->cfg.granularity);
	put_address(o, pg, "graph.svg");
	out_text(o, "\"><noscript>");
	page_drawing(pg, "graph.svg", o);
	out_text(o, "</noscript></div>\n");
}

void page_note(const struct page *pg, struct str text, const char *to, const char *label,
	       struct out *o)
{
	out_text(o, "<p class=\"note\">");
	page_safe(o, text);
	if (to) {
		out_char(o, ' ');
		page_link(o, pg, to, NULL, STR(""));
		out_printf(o, ">%s</a>", label);
	}
	out_text(o, "</p>\n");
}
