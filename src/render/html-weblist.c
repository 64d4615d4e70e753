/*
 * html-weblist.c - source code with the value of every line, as a page for a browser
 *
 * A click on a line shows the code made from it.  Structure, classes and spacing are the
 * reference's.  Every text in it comes from a stranger and is escaped.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/gotext.h"
#include "base/out.h"
#include "base/units.h"
#include "render/render.h"
#include "render/text.h"
#include "render/xml.h"
#include "report/legend.h"
#include "report/report.h"
#include "report/web-listing.h"

#include <inttypes.h>

/* How wide code is, and how much further in each inlined call is. */
enum { CODE_WIDTH = 80, INDENT = 4, TAB = 8 };

static const char head[] =
	"\n<!DOCTYPE html>\n<html>\n<head>\n<meta charset=\"UTF-8\">\n"
	"<title>Pprof listing</title>\n"
	"<style type=\"text/css\">\n"
	"body #content { font-family: sans-serif; }\n"
	"h1 { font-size: 1.5em; }\n"
	".legend { font-size: 1.25em; }\n"
	".line, .nop, .unimportant { color: #aaaaaa; }\n"
	".inlinesrc { color: #000066; }\n"
	".livesrc { cursor: pointer; }\n"
	".livesrc:hover { background-color: #eeeeee; }\n"
	".asm { color: #008800; display: none; }\n"
	"</style>\n"
	"<script type=\"text/javascript\">\n"
	"function pprof_toggle_asm(event) {\n"
	"  var code = event.target.nextSibling;\n"
	"  if (!code || code.className !== \"asm\") return;\n"
	"  code.style.display = code.style.display === \"block\" ? \"\" : \"block\";\n"
	"  event.preventDefault();\n"
	"}\n"
	"</script>\n"
	"</head>\n<body>\n\n";

static void print_head(struct report *r, struct out *o)
{
	struct legend l = { 0 };

	legend_profile(&l, r);
	out_text(o, head);
	out_text(o, "<div class=\"legend\">");
	for (size_t i = 0; i < l.n; i++) {
		if (i)
			out_text(o, "<br>\n");
		xml_escape(o, l.lines[i]);
	}
	out_text(o, "<br>Total: ");
	report_value(r, o, r->total);
	out_text(o, "</div>");
}

/* ------------------------------------------------------------------ columns */

/* How far in the text of a line starts. */
static size_t indentation(struct str line)
{
	size_t column = 0;

	for (size_t i = 0; i < line.n; i++) {
		if (line.p[i] == '\t')
			column += TAB - column % TAB;
		else if (line.p[i] == ' ')
			column++;
		else
			break;
	}
	return column;
}

/* 'text' behind 'indent' blanks, without tabs, with blanks behind it up to CODE_WIDTH. */
static void print_code(struct out *o, size_t indent, struct str text)
{
	size_t column = indent, bytes;
	struct out plain;

	out_init(&plain, 0);
	out_fill(&plain, ' ', indent);
	while (text.n) {
		uint32_t rune = go_rune(text, &bytes);

		column++;
		if (rune == '\t') {
			size_t blanks = 1 + (TAB - column % TAB) % TAB;

			column += blanks - 1;
			out_fill(&plain, ' ', blanks);
		} else if (rune == GO_RUNE_ERROR && bytes == 1) {
			out_text(&plain, "\xef\xbf\xbd");
		} else {
			out_bytes(&plain, text.p, bytes);
		}
		text = str_skip(text, bytes);
	}
	if (column < CODE_WIDTH)
		out_fill(&plain, ' ', CODE_WIDTH - column);
	xml_escape(o, out_view(&plain));
	out_release(&plain);
}

/* "file:line" */
static void print_position(struct out *o, struct str file, int64_t line)
{
	xml_escape(o, str_base(file));
	out_printf(o, ":%" PRId64, line);
}

/* ------------------------------------------------------------------ what is behind a line */

static bool same_call(const struct web_call *a, const struct web_call *b)
{
	return str_eq(a->file, b->file) && a->line == b->line;
}

/* Prints the inlined calls that lead to a row, as far as they are not those of the row before. */
static void print_calls(struct out *o, size_t indent, const struct web_row *row,
			const struct web_row *before)
{
	for (size_t i = 0; i < row->ncalls; i++) {
		const struct web_call *c = &row->calls[i];

		if (before && i < before->ncalls && same_call(&before->calls[i], c))
			continue;
		before = NULL;
		out_fill(o, ' ', 42);
		out_text(o, "<span class=inlinesrc>");
		print_code(o, indent + INDENT + INDENT * i, go_trim(c->text));
		out_text(o, "</span> <span class=unimportant>");
		print_position(o, c->file, c->line);
		out_text(o, "</span>\n");
	}
}

static void print_inst(struct report *r, struct out *o, size_t indent, const struct web_row *row)
{
	const struct web_inst *inst = row->inst;

	out_fill(o, ' ', 10);
	text_value_or_dot(r, o, inst->flat);
	out_char(o, ' ');
	text_value_or_dot(r, o, inst->cum);
	out_printf(o, " %8" PRIx64 ": ", inst->in_file);
	print_code(o, indent + INDENT + INDENT * row->ncalls, inst->text);
	out_text(o, " <span class=unimportant>");
	if (inst->file.n)
		print_position(o, inst->file, inst->line);
	out_text(o, "</span>\n");
}

static void print_rows(struct report *r, struct out *o, const struct web_line *l)
{
	size_t indent = indentation(l->text);

	out_text(o, "<span class=asm>");
	for (size_t i = 0; i < l->nrows; i++) {
		const struct web_row *row = &l->rows[i];

		if (i && row->starts_block) {
			out_fill(o, ' ', 37);
			out_text(o, "\xe2\x8b\xae\n");
		}
		print_calls(o, indent, row, i ? row - 1 : NULL);
		if (row->inst->text.n)
			print_inst(r, o, indent, row);
	}
	out_text(o, "</span>");
}

/* ------------------------------------------------------------------ lines */

/* Whether there is anything behind the line to look at. */
static bool is_live(const struct web_line *l)
{
	for (size_t i = 0; i < l->nrows; i++) {
		if (l->rows[i].ncalls || l->rows[i].inst->text.n)
			return true;
	}
	return false;
}

static void print_line(struct report *r, struct out *o, const struct web_line *l)
{
	bool live = is_live(l);

	out_printf(o, "<span class=line> %6" PRId64 "</span> <span class=%s>  ", l->number,
		   l->nrows == 0 ? "nop"
		   : live        ? "livesrc"
				 : "deadsrc");
	text_value_or_dot(r, o, l->flat);
	out_char(o, ' ');
	text_value_or_dot(r, o, l->cum);
	out_fill(o, ' ', 11);
	xml_escape(o, l->text);
	out_text(o, " </span>");
	if (live)
		print_rows(r, o, l);
	out_char(o, '\n');
}

static void print_routine(struct report *r, struct out *o, const struct web_routine *w)
{
	struct percentage p = percentage(w->cum, r->total);

	out_text(o, "<h2>");
	xml_escape(o, w->name);
	out_text(o, "</h2><p class=\"filename\">");
	xml_escape(o, w->file);
	out_text(o, "</p>\n<pre onClick=\"pprof_toggle_asm(event)\">\n  Total:  ");
	text_value(r, o, w->flat, 10);
	out_char(o, ' ');
	text_value(r, o, w->cum, 10);
	out_printf(o, " (flat, cum) %s\n", p.text);
	for (size_t i = 0; i < w->nlines; i++)
		print_line(r, o, &w->lines[i]);
	out_text(o, "</pre>\n");
}

int render_weblist(struct report *r, struct out *o, struct err *err)
{
	struct web_listing w;
	int rc = web_listing_init(&w, r, SIZE_MAX, err);

	if (rc == 0) {
		print_head(r, o);
		for (size_t i = 0; i < w.n; i++)
			print_routine(r, o, &w.routines[i]);
		out_text(o, "\n</body>\n</html>\n");
	}
	web_listing_release(&w);
	return rc;
}
