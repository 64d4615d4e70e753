/*
 * page-series.c - the page of profiles over time
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "web/page-series.h"

#include "base/gotext.h"
#include "base/out.h"
#include "base/units.h"
#include "render/json.h"
#include "render/xml.h"
#include "report/growth.h"
#include "web/page-parts.h"
#include "web/page.h"

#include <stdio.h>
#include <time.h>

/* Moments that are listed, and frames of a stack that grows. */
enum { LISTED = 20, FRAMES = 8 };

/* What of bytes may stand in a part of a path: all others become %XX. */
static void put_escaped(struct out *o, const char *text)
{
	static const char fine[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				   "0123456789-_.";

	for (; *text; text++) {
		if (strchr(fine, *text))
			out_char(o, *text);
		else
			out_printf(o, "%%%02X", (unsigned)(unsigned char)*text);
	}
}

void page_span_link(struct out *o, const char *component, const char *kind, const char *span)
{
	out_text(o, "./of/");
	put_escaped(o, component);
	out_char(o, ':');
	put_escaped(o, kind);
	out_printf(o, ":%s/", span);
}

/* "2020-10-01T22:08:40": what a field for times takes. */
static void put_time(struct out *o, int64_t seconds, const char *format)
{
	time_t when = (time_t)seconds;
	char text[64] = "";
	struct tm tm;

	if (gmtime_r(&when, &tm))
		(void)strftime(text, sizeof(text),
			       strcmp(format, "T") == 0 ? "%Y-%m-%dT%H:%M:%S" : "%Y-%m-%d %H:%M:%S",
			       &tm);
	out_text(o, text);
}

static const char *current(const struct page_series *s)
{
	return s->ncomponents ? s->components[s->current] : "";
}

/* ------------------------------------------------------------------ one kind */

static void put_field(struct out *o, const char *label, const char *name, int64_t seconds)
{
	out_printf(o, "<label>%s<input type=\"datetime-local\" step=\"1\" name=\"%s\" value=\"",
		   label, name);
	put_time(o, seconds, "T");
	out_text(o, "\" required></label>");
}

static void open_form(struct out *o, const struct page_series *s, const struct page_line *l,
		      const char *path)
{
	out_printf(o,
		   "<form class=\"form-%s\" action=\"./%s\"><input type=\"hidden\" name=\"c\" "
		   "value=\"",
		   path, path);
	xml_escape(o, str_of(current(s)));
	out_text(o, "\"><input type=\"hidden\" name=\"k\" value=\"");
	xml_escape(o, str_of(l->kind));
	out_text(o, "\">");
}

static void put_forms(struct out *o, const struct page_series *s, const struct page_line *l)
{
	int64_t first = l->points[0].seconds, last = l->points[l->npoints - 1].seconds;

	open_form(o, s, l, "open");
	put_field(o, "From", "a", last);
	put_field(o, "to", "b", last);
	out_text(o, "<button>Open</button></form>\n");
	open_form(o, s, l, "pair");
	put_field(o, "Before", "x1", first);
	put_field(o, "to", "x2", first);
	put_field(o, "After", "y1", last);
	put_field(o, "to", "y2", last);
	out_text(o, "<button>Compare</button></form>\n");
}

static void put_moments(struct out *o, const struct page_series *s, const struct page_line *l)
{
	out_printf(o, "<details><summary>%s %zu of %zu profiles</summary><ul>",
		   l->npoints > LISTED ? "The newest" : "All",
		   l->npoints > LISTED ? (size_t)LISTED : l->npoints, l->npoints);
	for (size_t i = 0; i < l->npoints && i < LISTED; i++) {
		const struct page_point *p = &l->points[l->npoints - 1 - i];
		char span[32];

		(void)snprintf(span, sizeof(span), "%lld", (long long)p->seconds);
		out_text(o, "<li><a href=\"");
		page_span_link(o, current(s), l->kind, span);
		out_text(o, "flamegraph\">");
		put_time(o, p->seconds, " ");
		out_text(o, "</a> ");
		if (p->read)
			unit_print(o, p->value, str_of(l->unit), UNIT_AUTO);
		out_text(o, "</li>");
	}
	out_text(o, "</ul></details>\n");
}

/* ------------------------------------------------------------------ what grows */

static void put_bytes(struct out *o, double bytes)
{
	unit_print(o, f64_to_i64(bytes), STR("bytes"), UNIT_AUTO);
}

static void put_growing(struct out *o, const struct growth_row *r)
{
	bool leak = r->verdict == GROWTH_LEAK;

	out_printf(o, "<li class=\"%s\"><strong>%s</strong> ", leak ? "more" : "unsure",
		   leak ? "Leak" : "Maybe");
	put_bytes(o, (double)r->bytes);
	if (r->objects > 0)
		out_printf(o, " in %lld objects", (long long)r->objects);
	out_text(o, r->slope < 0 ? ", " : ", +");
	put_bytes(o, r->slope * 3600);
	out_text(o, "/h since ");
	put_time(o, r->since / 1000000000, " ");
	if (r->chance < 1e-9)
		out_text(o, "; by chance practically never");
	else
		out_printf(o, "; by chance 1 in %.0f", 1 / r->chance);
	out_text(o, r->level == GROWTH_HEAP ? "<br>the whole heap</li>\n" : "<ol>");
	for (size_t i = 0; i < r->nframes && i < FRAMES; i++) {
		out_text(o, "<li>");
		page_safe(o, r->frames[i]);
		out_text(o, "</li>");
	}
	if (r->level != GROWTH_HEAP)
		out_text(o, "</ol></li>\n");
}

static void put_growth(struct out *o, const struct page_series *s, const struct page_line *l)
{
	out_text(o, "<section class=\"growth\"><h3>What grows</h3>");
	if (!l->growth) {
		out_text(o, "<p class=\"note\">");
		page_safe(o, l->why && *l->why ? str_of(l->why)
					       : STR("That is known when all profiles are read."));
		out_printf(o, "</p></section>\n");
		return;
	}
	out_printf(o, "<p class=\"note\" data-judged=\"%zu\">%zu profiles%s: ", l->growth->n,
		   l->growth->profiles, l->growth->restarts ? " since the last restart" : "");
	put_bytes(o, (double)l->growth->before);
	out_text(o, " → ");
	put_bytes(o, (double)l->growth->after);
	out_printf(o, ". %s</p><ul>",
		   l->growth->n ? "These grow, and do not stop:" : "Nothing leaks.");
	for (size_t i = 0; i < l->growth->n; i++)
		put_growing(o, &l->growth->rows[i]);
	out_text(o, "</ul><p class=\"note\">The same in a terminal: <code>");
	xml_escape(o, s->leaks);
	out_text(o, "</code></p></section>\n");
}

static void put_line(struct out *o, const struct page_series *s, const struct page_line *l)
{
	out_text(o, "<section class=\"line\" data-kind=\"");
	xml_escape(o, str_of(l->kind));
	out_text(o, "\"><h2>");
	page_safe(o, str_of(l->kind));
	out_text(o, "</h2>\n<div class=\"chart\"></div>");
	put_forms(o, s, l);
	put_moments(o, s, l);
	if (strcmp(l->kind, "heap") == 0)
		put_growth(o, s, l);
	out_text(o, "</section>\n");
}

/* ------------------------------------------------------------------ the page */

static void put_components(struct out *o, const struct page_series *s)
{
	out_text(o, "<nav aria-label=\"Programs\">");
	for (size_t i = 0; i < s->ncomponents; i++) {
		out_text(o, "<a href=\"./?c=");
		put_escaped(o, s->components[i]);
		out_text(o, i == s->current ? "\" aria-current=\"page\">" : "\">");
		page_safe(o, str_of(s->components[i]));
		out_text(o, "</a> ");
	}
	out_text(o, "</nav>\n");
}

void page_series(const struct page_series *s, struct out *o)
{
	page_begin_plain(str_of(s->where), o);
	put_components(o, s);
	out_printf(o, "<p class=\"note reading\" aria-live=\"polite\">%s</p>\n",
		   s->unread ? "Profiles are being read." : "");
	out_text(o, "<div data-view=\"series\">\n");
	for (size_t i = 0; i < s->nlines; i++)
		put_line(o, s, &s->lines[i]);
	out_text(o, "</div>\n<p class=\"note\">All times are UTC. A range is the sum of its "
		    "profiles.</p>\n");
	page_end(o);
}

static void json_line(struct json *j, const struct page_line *l)
{
	json_open(j, NULL, '{');
	json_string(j, "kind", str_of(l->kind));
	json_string(j, "type", str_of(l->type));
	json_string(j, "unit", str_of(l->unit));
	json_bool(j, "judged", l->growth || (l->why && *l->why));
	json_open(j, "points", '[');
	for (size_t i = 0; i < l->npoints; i++) {
		const struct page_point *p = &l->points[i];

		json_open(j, NULL, '[');
		json_int(j, NULL, p->seconds);
		json_int(j, NULL, p->read ? p->value : -1);
		json_int(j, NULL, p->duration);
		json_close(j, ']');
	}
	json_close(j, ']');
	json_close(j, '}');
}

void page_series_json(const struct page_series *s, struct out *o)
{
	struct json j = { .o = o };

	json_open(&j, NULL, '{');
	json_string(&j, "component", str_of(current(s)));
	json_int(&j, "unread", (int64_t)s->unread);
	json_open(&j, "lines", '[');
	for (size_t i = 0; i < s->nlines; i++)
		json_line(&j, &s->lines[i]);
	json_close(&j, ']');
	json_close(&j, '}');
}
