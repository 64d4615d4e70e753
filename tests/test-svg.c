/*
 * test-svg.c - from Graphviz' drawing to a page that pans and zooms
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/out.h"
#include "render/svg.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#define VIEWPORT "<g id=\"viewport\" transform=\"scale(0.5,0.5) translate(0,0)\">"

/* The page, with SCRIPT for the script. */
static void assert_page(const char *svg, const char *expected)
{
	struct str open = STR("<![CDATA["), close = STR("]]>"), page;
	struct out o, plain;
	ptrdiff_t from, to;

	out_init(&o, 0);
	out_init(&plain, 0);
	render_svg_page(str_of(svg), &o);
	page = out_view(&o);
	from = str_find(page, open);
	to = str_find(page, close);
	if (from >= 0 && to > from) {
		out_bytes(&plain, page.p, (size_t)from);
		out_text(&plain, "SCRIPT");
		page = str_skip(page, (size_t)to + close.n);
	}
	out_str(&plain, page);
	out_char(&plain, '\0');
	assert_string_equal(plain.p, expected);
	out_release(&o);
	out_release(&plain);
}

static void the_drawing_fills_the_window(void **state)
{
	(void)state;
	assert_page("<?xml?>\n<svg width=\"10pt\" height=\"20pt\"\n viewBox=\"0.00 0.00 1 2\" "
		    "xmlns=\"x\">\n"
		    "<g id=\"graph0\" class=\"graph\">\n<g id=\"node1\"/>\n</g>\n</svg>\n",
		    "<?xml?>\n<svg width=\"100%\" height=\"100%\" xmlns=\"x\">\n"
		    "<script type=\"text/ecmascript\">SCRIPT</script>" VIEWPORT
		    "<g id=\"graph0\" class=\"graph\">\n<g id=\"node1\"/>\n</g>\n</g></svg>\n");
}

static void stray_ampersands_are_quoted(void **state)
{
	(void)state;
	assert_page("a&;b&amp;&;&;", "a&amp;;b&amp;&amp;;&amp;;");
	assert_page(
		"&;<svg width=\"1\"height=\"1\"viewBox=\"&;\">&;<g id=\"graph1\">&;</svg>&;</svg>",
		"&amp;;<svg width=\"100%\" height=\"100%\">&amp;;"
		"<script type=\"text/ecmascript\">SCRIPT</script>" VIEWPORT
		"<g id=\"graph1\">&amp;;</g></svg>&amp;;</svg>");
}

static void what_does_not_look_like_graphviz_stays(void **state)
{
	static const char *const same[] = {
		"",
		"garbage",
		"<svg>",
		"<svg width=\"\" height=\"1\" viewBox=\"1\">",
		"<svg width=\"1\" viewBox=\"1\">",
		"<svg width=\"1\" height=\"1",
		"<g id=\"graph\">",
		"<g id=\"graph12\">",
		"<g id=\"graph1",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(same) / sizeof(same[0]); i++)
		assert_page(same[i], same[i]);
	assert_page("</svg>", "</g></svg>");
	assert_page("<svg><svg width=\"1\" height=\"2\" viewBox=\"3\"/>",
		    "<svg><svg width=\"100%\" height=\"100%\"/>");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_drawing_fills_the_window),
		cmocka_unit_test(stray_ampersands_are_quoted),
		cmocka_unit_test(what_does_not_look_like_graphviz_stays),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
