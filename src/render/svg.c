/*
 * svg.c - from Graphviz' drawing to a page that pans and zooms
 *
 * Everything but the script is as the reference writes it.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "render/svg.h"

#include "base/out.h"

/* The group "viewport" is moved and scaled; nothing else changes. */
static const char pan_script[] =
	"\n"
	"(function () {\n"
	"'use strict';\n"
	"var page = document.documentElement;\n"
	"var held = null; // where the drawing is held, in units of the page\n"
	"\n"
	"function pointer(e) {\n"
	"  var p = page.createSVGPoint();\n"
	"  p.x = e.clientX;\n"
	"  p.y = e.clientY;\n"
	"  return p.matrixTransform(page.getScreenCTM().inverse());\n"
	"}\n"
	"\n"
	"function change(m) {\n"
	"  var view = document.getElementById('viewport'); // comes after this script\n"
	"  var t = m.multiply(view.transform.baseVal.consolidate().matrix);\n"
	"  if (t.a > 0.001 && t.a < 1000)\n"
	"    view.setAttribute('transform',\n"
	"        'matrix(' + [t.a, t.b, t.c, t.d, t.e, t.f].join(' ') + ')');\n"
	"}\n"
	"\n"
	"page.addEventListener('wheel', function (e) {\n"
	"  var p = pointer(e);\n"
	"  var step = e.deltaMode ? 0.06 : 0.0015; // lines, or pixels\n"
	"  change(page.createSVGMatrix().translate(p.x, p.y)\n"
	"      .scale(Math.exp(-e.deltaY * step)).translate(-p.x, -p.y));\n"
	"  e.preventDefault();\n"
	"}, {passive: false});\n"
	"\n"
	"page.addEventListener('pointerdown', function (e) {\n"
	"  if (e.button === 0 && e.isPrimary)\n"
	"    held = pointer(e);\n"
	"});\n"
	"\n"
	"window.addEventListener('pointermove', function (e) {\n"
	"  var p = pointer(e);\n"
	"  if (!held || !e.isPrimary)\n"
	"    return;\n"
	"  change(page.createSVGMatrix().translate(p.x - held.x, p.y - held.y));\n"
	"  held = p;\n"
	"});\n"
	"\n"
	"['pointerup', 'pointercancel', 'blur'].forEach(function (type) {\n"
	"  window.addEventListener(type, function () {\n"
	"    held = null;\n"
	"  });\n"
	"});\n"
	"\n"
	"page.style.cursor = 'move';\n"
	"page.style.touchAction = 'none';\n"
	"page.style.userSelect = 'none';\n"
	"})();\n";

static bool is_space(char c)
{
	return c == ' ' || c == '\t' || c == '\n' || c == '\f' || c == '\r';
}

/* Takes white space and then 'name="...",' with something between the quotes, off '*rest'. */
static bool skip_attribute(struct str *rest, struct str name)
{
	struct str s = *rest;
	ptrdiff_t quote;

	while (s.n && is_space(s.p[0]))
		s = str_skip(s, 1);
	if (!str_starts(s, name))
		return false;
	s = str_skip(s, name.n);
	quote = str_find(s, STR("\""));
	if (quote < 1)
		return false;
	*rest = str_skip(s, (size_t)quote + 1);
	return true;
}

/* What follows the first tag that gives the drawing its size; '*tag' is where that begins. */
static bool find_size(struct str svg, struct str *tag, struct str *after)
{
	struct str rest = svg;

	for (ptrdiff_t at = str_find(rest, STR("<svg")); at >= 0;
	     at = str_find(rest, STR("<svg"))) {
		*tag = str_skip(rest, (size_t)at);
		rest = str_skip(*tag, 4);
		*after = rest;
		if (skip_attribute(after, STR("width=\"")) &&
		    skip_attribute(after, STR("height=\"")) &&
		    skip_attribute(after, STR("viewBox=\"")))
			return true;
	}
	return false;
}

static bool find_graph(struct str svg, struct str *group)
{
	struct str rest = svg, id = STR("<g id=\"graph");

	for (ptrdiff_t at = str_find(rest, id); at >= 0; at = str_find(rest, id)) {
		*group = str_skip(rest, (size_t)at);
		rest = str_skip(*group, id.n);
		if (rest.n > 1 && rest.p[0] >= '0' && rest.p[0] <= '9' && rest.p[1] == '"')
			return true;
	}
	return false;
}

/* Graphviz leaves some ampersands unquoted, and no reader of XML would take that. */
static void out_quoted(struct out *o, struct str s)
{
	for (ptrdiff_t at = str_find(s, STR("&;")); at >= 0; at = str_find(s, STR("&;"))) {
		out_bytes(o, s.p, (size_t)at);
		out_text(o, "&amp;;");
		s = str_skip(s, (size_t)at + 2);
	}
	out_str(o, s);
}

/* Writes 'rest' up to 'to', a later place in it, and goes on from there. */
static void copy_to(struct out *o, struct str *rest, struct str to)
{
	out_quoted(o, (struct str){ rest->p, (size_t)(to.p - rest->p) });
	*rest = to;
}

void render_svg_page(struct str svg, struct out *o)
{
	struct str rest = svg, tag, after, group;
	ptrdiff_t close;

	if (find_size(rest, &tag, &after)) {
		copy_to(o, &rest, tag);
		out_text(o, "<svg width=\"100%\" height=\"100%\"");
		rest = after;
	}
	if (find_graph(rest, &group)) {
		copy_to(o, &rest, group);
		out_text(o, "<script type=\"text/ecmascript\"><![CDATA[");
		out_bytes(o, pan_script, sizeof(pan_script) - 1);
		out_text(o, "]]></script><g id=\"viewport\" "
			    "transform=\"scale(0.5,0.5) translate(0,0)\">");
	}
	close = str_find(rest, STR("</svg>"));
	if (close >= 0) {
		copy_to(o, &rest, str_skip(rest, (size_t)close));
		out_text(o, "</g>");
	}
	out_quoted(o, rest);
}
