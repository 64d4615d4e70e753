/*
 * test-flame.c - the call tree of a flame graph, its colours, and names in XML
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/cleanup.h"
#include "base/err.h"
#include "base/out.h"
#include "base/xalloc.h"
#include "graph/graph.h"
#include "profile/legacy-folded.h"
#include "profile/profile.h"
#include "render/flame-colour.h"
#include "render/flame-text.h"
#include "render/xml.h"
#include "report/flame.h"
#include "report/report.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static const struct config plain = { .output = "",
				     .unit = "minimum",
				     .source_path = "",
				     .trim_path = "",
				     .sample_index = "",
				     .divide_by = 1,
				     .sort = "flat",
				     .tagroot = "",
				     .tagleaf = "",
				     .nodecount = -1,
				     .nodefraction = 0.005,
				     .edgefraction = 0.001,
				     .trim = true,
				     .focus = "",
				     .ignore = "",
				     .prune_from = "",
				     .hide = "",
				     .show = "",
				     .show_from = "",
				     .tagfocus = "",
				     .tagignore = "",
				     .tagshow = "",
				     .taghide = "",
				     .granularity = "functions",
				     .format = "text",
				     .dialect = "go1.19",
				     .names = "default" };

/* A flame graph of folded stacks. */
struct drawn {
	struct profile *p;
	struct report *r;
	struct flame f;
};

static void draw_profile(struct drawn *d, const struct config *cfg, double narrowest)
{
	struct err err = { "" };

	if (report_new(&d->r, d->p, REPORT_FLAME, NULL, cfg, NULL, &err))
		fail_msg("%s", err.msg);
	flame_init(&d->f, d->r, narrowest);
}

static void draw(struct drawn *d, struct str folded, const struct config *cfg, double narrowest)
{
	struct err err = { "" };

	if (folded_parse(folded, &d->p, &err))
		fail_msg("%s", err.msg);
	draw_profile(d, cfg, narrowest);
}

static void drop(struct drawn *d)
{
	flame_release(&d->f);
	report_free(d->r);
	profile_free(d->p);
}

/* "level name value width@x" for every frame. */
static void assert_frames(const struct drawn *d, const char *expected)
{
	struct out o;

	out_init(&o, 0);
	for (size_t i = 0; i < d->f.n; i++) {
		const struct flame_frame *f = &d->f.frames[i];

		out_printf(&o, "%u ", f->level);
		if (f->place == NONE)
			out_text(&o, "root");
		else
			node_print(&o, d->r->v, &d->f.nodes.info[f->place]);
		out_printf(&o, " %lld %g@%g\n", (long long)f->w.cum, f->width, f->x);
	}
	out_char(&o, '\0');
	assert_string_equal(o.p, expected);
	out_release(&o);
}

/* ------------------------------------------------------------------ the tree */

#define STACKS                                                                                     \
	"main;read;copy 10\nmain;write 30\nmain;read 5\nmain;write;copy 20\nidle 35\n"             \
	"main;write;copy;pad 1\n"

static void callees_are_under_their_caller_widest_first(void **state)
{
	struct drawn d;

	(void)state;
	draw(&d, STR(STACKS), &plain, 0);
	assert_frames(&d, "0 root 101 101@0\n"
			  "1 main 66 66@0\n"
			  "2 write 51 51@0\n"
			  "3 copy 21 21@0\n"
			  "4 pad 1 1@0\n"
			  "2 read 15 15@51\n"
			  "3 copy 10 10@51\n"
			  "1 idle 35 35@66\n");
	assert_int_equal(d.f.levels, 5);
	assert_int_equal(d.f.nsamples, 6);
	assert_int_equal(d.f.cuts.narrow, 0);
	drop(&d);
}

/* What the frames of each place add up to. */
static void assert_sums(struct drawn *d)
{
	AUTO(graph_freep) struct graph *g = NULL;
	AUTO(freep) int64_t *cum = mem_zeroed(d->f.nodes.n, sizeof(*cum));
	AUTO(freep) int64_t *flat = mem_zeroed(d->f.nodes.n, sizeof(*flat));

	for (size_t i = 1; i < d->f.n; i++) {
		cum[d->f.frames[i].place] += d->f.frames[i].w.cum;
		flat[d->f.frames[i].place] += d->f.frames[i].w.flat;
	}
	g = report_graph(d->r);
	assert_int_equal(g->n, d->f.nodes.n);
	for (uint32_t i = 0; i < g->n; i++) {
		assert_int_equal(cum[g->order[i]], node_cum(graph_at(g, i)));
		assert_int_equal(flat[g->order[i]], node_flat(graph_at(g, i)));
	}
}

static void the_root_is_the_total_and_functions_add_up_to_their_rows(void **state)
{
	struct drawn d;

	(void)state;
	draw(&d, STR(STACKS), &plain, 0);
	assert_int_equal(d.f.frames[0].w.cum, d.r->total);
	assert_sums(&d);
	drop(&d);
}

static void filters_count(void **state)
{
	struct config cfg = plain;
	struct drawn d;

	(void)state;
	cfg.focus = "write";
	cfg.hide = "copy";
	draw(&d, STR(STACKS), &cfg, 0);
	assert_frames(&d, "0 root 51 51@0\n1 main 51 51@0\n2 write 51 51@0\n3 pad 1 1@0\n");
	assert_int_equal(d.r->total, 101);
	assert_int_equal(d.f.nsamples, 3);
	assert_int_equal(d.f.nsamples_before, 6);
	drop(&d);
}

static void a_profile_without_samples_has_a_root(void **state)
{
	struct drawn d;

	(void)state;
	draw(&d, STR("a;b 0\n"), &plain, 0.001);
	assert_frames(&d, "0 root 0 0@0\n");
	drop(&d);
}

/* ------------------------------------------------------------------ what is left out */

static void narrow_frames_are_counted_but_not_drawn(void **state)
{
	struct drawn d;

	(void)state;
	draw(&d, STR(STACKS), &plain, 0.12);
	assert_frames(&d, "0 root 101 101@0\n"
			  "1 main 66 66@0\n"
			  "2 write 51 51@0\n"
			  "3 copy 21 21@0\n"
			  "2 read 15 15@51\n"
			  "1 idle 35 35@66\n");
	assert_int_equal(d.f.cuts.narrow, 2);
	drop(&d);
}

static void nodecount_keeps_the_widest_and_they_are_still_a_tree(void **state)
{
	struct config cfg = plain;
	struct drawn d;

	(void)state;
	cfg.nodecount = 3;
	draw(&d, STR("a;b;c;d 10\ne;f;g 10\n"), &cfg, 0);
	assert_frames(&d, "0 root 20 20@0\n1 a 10 10@0\n2 b 10 10@0\n3 c 10 10@0\n");
	assert_true(d.f.cuts.over_the_top);
	assert_int_equal(d.f.cuts.narrow, 4);
	drop(&d);
}

static void nodefraction_beyond_its_default_counts(void **state)
{
	struct config cfg = plain;
	struct drawn d;

	(void)state;
	cfg.nodefraction = 0.5;
	draw(&d, STR(STACKS), &cfg, 0);
	assert_frames(&d, "0 root 101 101@0\n1 main 66 66@0\n2 write 51 51@0\n");
	drop(&d);
}

static void there_are_never_too_many_frames_or_levels(void **state)
{
	struct drawn d;
	struct out o;

	(void)state;
	out_init(&o, 0);
	for (int i = 0; i < 3 * FLAME_MOST_LEVELS; i++)
		out_text(&o, i ? ";f" : "f");
	out_text(&o, " 5\n");
	for (int i = 0; i < 2 * FLAME_MOST_FRAMES; i++)
		out_printf(&o, "g%d %d\n", i, 1 + i % 3);
	draw(&d, out_view(&o), &plain, 0);
	assert_int_equal(d.f.n, FLAME_MOST_FRAMES);
	assert_int_equal(d.f.levels, FLAME_MOST_LEVELS);
	assert_int_equal(d.f.cuts.deep, 1);
	assert_true(d.f.cuts.over_the_top);
	drop(&d);
	out_release(&o);
}

/* ------------------------------------------------------------------ comparisons */

/* The samples of STACKS, some of them turned into what was taken away. */
static void draw_difference(struct drawn *d, const struct config *cfg)
{
	struct err err = { "" };

	if (folded_parse(STR(STACKS), &d->p, &err))
		fail_msg("%s", err.msg);
	d->p->values[1] = -30; /* main;write */
	d->p->values[4] = -35; /* idle */
	draw_profile(d, cfg, 0);
}

static void a_difference_is_as_wide_as_both_sides(void **state)
{
	struct drawn d;

	(void)state;
	draw_difference(&d, &plain);
	assert_true(d.f.compared);
	assert_false(d.f.has_base);
	assert_frames(&d, "0 root -29 101@0\n"
			  "1 main 6 66@0\n"
			  "2 write -9 51@0\n"
			  "3 copy 21 21@0\n"
			  "4 pad 1 1@0\n"
			  "2 read 15 15@51\n"
			  "3 copy 10 10@51\n"
			  "1 idle -35 35@66\n");
	assert_true(d.f.frames[2].more == 21 && d.f.frames[2].less == 30);
	drop(&d);
}

static void negative_frames_go_if_they_are_to_be_dropped(void **state)
{
	struct config cfg = plain;
	struct drawn d;

	(void)state;
	cfg.drop_negative = true;
	draw_difference(&d, &cfg);
	assert_frames(&d, "0 root -29 101@0\n1 main 6 66@0\n2 read 15 15@0\n3 copy 10 10@0\n");
	assert_int_equal(d.f.cuts.negative, 2);
	drop(&d);
}

/* ------------------------------------------------------------------ colours */

static double channel(const char *hex)
{
	char two[3] = { hex[0], hex[1], '\0' };
	double v = (double)strtol(two, NULL, 16) / 255;

	return v <= 0.04045 ? v / 12.92 : pow((v + 0.055) / 1.055, 2.4);
}

/* As WCAG defines it. */
static double contrast(struct colour c)
{
	double ink = 0.2126 * channel("16") + 0.7152 * channel("19") + 0.0722 * channel("1d");
	double paper = 0.2126 * channel(c.text + 1) + 0.7152 * channel(c.text + 3) +
		       0.0722 * channel(c.text + 5);

	return (paper + 0.05) / (ink + 0.05);
}

static void text_can_be_read_on_every_colour(void **state)
{
	char name[] = "a";

	(void)state;
	for (int step = -COLOUR_STEPS; step <= COLOUR_STEPS; step++)
		assert_true(contrast(colour_of_step(step)) >= 6);
	for (int c = 'a'; c <= 'z'; c++) {
		name[0] = (char)c;
		assert_true(contrast(colour_of(colour_hue(str_of(name)), STR(""))) >= 6);
		assert_true(contrast(colour_of(colour_hue(str_of(name)), str_of(name))) >= 6);
	}
	assert_true(contrast(COLOUR_ROOT) >= 6);
}

static void modules_come_from_names(void **state)
{
	static const struct {
		const char *name, *module;
	} cases[] = {
		{ "runtime.mallocgc", "runtime" },
		{ "main.main.func1", "main" },
		{ "net/http.(*conn).serve", "net/http" },
		{ "github.com/a/b.c/d.(*T[...]).M", "github.com/a/b.c/d" },
		{ "std::vector<int, std::allocator<int> >::push_back", "std" },
		{ "void absl::Foo<a::b>(int)", "absl" },
		{ "<alloc::vec::Vec<T> as core::ops::Drop>::drop", "alloc" },
		{ "org.apache.kafka.Log.append", "org.apache.kafka" },
		{ "malloc", "libc.so.6" },
		{ "operator new(unsigned long)", "libc.so.6" },
		{ "f(a.b)", "libc.so.6" },
		{ "", "libc.so.6" },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct str m = module_of(str_of(cases[i].name), STR("libc.so.6"));
		AUTO(freep) char *text = mem_str(m);

		assert_string_equal(text, cases[i].module);
	}
}

static void steps_say_how_much_changed(void **state)
{
	(void)state;
	assert_int_equal(colour_step(0, 0), 0);
	assert_int_equal(colour_step(100, 100), 0);
	assert_int_equal(colour_step(101, 100), 0);
	assert_int_equal(colour_step(105, 100), 1);
	assert_int_equal(colour_step(100, 105), -1);
	assert_int_equal(colour_step(120, 100), 2);
	assert_int_equal(colour_step(200, 100), 3);
	assert_int_equal(colour_step(300, 100), 4);
	assert_int_equal(colour_step(1, 0), 4);
	assert_int_equal(colour_step(0, 1), -4);
}

/* ------------------------------------------------------------------ text */

static void assert_xml(struct str s, size_t most, const char *expected)
{
	struct out clean, o;

	out_init(&clean, 0);
	out_init(&o, 0);
	text_visible(&clean, s, most);
	xml_escape(&o, out_view(&clean));
	out_char(&o, '\0');
	assert_string_equal(o.p, expected);
	out_release(&o);
	out_release(&clean);
}

static void names_of_strangers_do_no_harm(void **state)
{
	(void)state;
	assert_xml(STR("a<b>&\"'"), 9, "a&lt;b&gt;&amp;&#34;&#39;");
	assert_xml(STR("]]></script>"), 99, "]]&gt;&lt;/script&gt;");
	assert_xml(STR("a\0b\n\x7f"), 9,
		   "a\xe2\x90\x80"
		   "b\xe2\x90\x8a\xe2\x90\xa1");
	assert_xml(STR("x\xe2\x80\xaey"), 9, "x&lt;U+202E&gt;y");
	assert_xml(STR("\xff\xc0\xaf\xed\xa0\x80"), 9,
		   "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd");
	assert_xml(STR("\xef\xbf\xbf\xc2\x85"), 9, "\xef\xbf\xbd\xef\xbf\xbd");
	assert_xml(STR("gr\xc3\xb6\xc3\x9f"), 4, "gr\xc3\xb6\xc3\x9f");
	assert_xml(STR("gr\xc3\xb6\xc3\x9f"), 3, "gr\xc3\xb6\xe2\x80\xa6");
}

/* Each byte at each place of names of each length. */
static void what_is_plain_needs_no_escape(void **state)
{
	char name[40];
	struct out clean, o;

	(void)state;
	out_init(&clean, 0);
	out_init(&o, 0);
	for (size_t at = 0; at < sizeof(name); at++) {
		for (int c = 0; c < 256; c++) {
			struct str s = { name, at + 1 + (size_t)c % (sizeof(name) - at) };
			bool same;

			memset(name, 'x', sizeof(name));
			name[at] = (char)c;
			clean.n = o.n = 0;
			text_visible(&clean, s, sizeof(name));
			xml_escape(&o, out_view(&clean));
			same = str_eq(out_view(&o), s);
			assert_int_equal(xml_is_plain(s), same);
			assert_int_equal(xml_is_plain_line(s), same || c == '\t');
		}
	}
	assert_true(xml_is_plain(STR("")));
	out_release(&o);
	out_release(&clean);
}

static void text_is_cut_between_characters(void **state)
{
	struct str s = STR("\xc3\xb6\xc3\xb6\xc3\xb6\xc3\xb6\xc3\xb6");
	bool all;

	(void)state;
	for (int width = 0; width < text_width(s); width++) {
		assert_int_equal(text_fit(s, width, &all).n % 2, 0);
		assert_false(all);
	}
	assert_int_equal(text_fit(s, text_width(s), &all).n, s.n);
	assert_true(all);
	assert_int_equal(text_fit(STR("abcdefgh"), 20, &all).n, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(callees_are_under_their_caller_widest_first),
		cmocka_unit_test(the_root_is_the_total_and_functions_add_up_to_their_rows),
		cmocka_unit_test(filters_count),
		cmocka_unit_test(a_profile_without_samples_has_a_root),
		cmocka_unit_test(narrow_frames_are_counted_but_not_drawn),
		cmocka_unit_test(nodecount_keeps_the_widest_and_they_are_still_a_tree),
		cmocka_unit_test(nodefraction_beyond_its_default_counts),
		cmocka_unit_test(there_are_never_too_many_frames_or_levels),
		cmocka_unit_test(a_difference_is_as_wide_as_both_sides),
		cmocka_unit_test(negative_frames_go_if_they_are_to_be_dropped),
		cmocka_unit_test(text_can_be_read_on_every_colour),
		cmocka_unit_test(modules_come_from_names),
		cmocka_unit_test(steps_say_how_much_changed),
		cmocka_unit_test(names_of_strangers_do_no_harm),
		cmocka_unit_test(what_is_plain_needs_no_escape),
		cmocka_unit_test(text_is_cut_between_characters),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
