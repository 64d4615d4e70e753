/*
 * test-call-tree.c - sorted stacks tell what a table of all frames would
 *
 * Random stacks of few names, so that many begin alike, repeat themselves and end inside one
 * another; what is said of a frame is compared with what counting by hand gives.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/err.h"
#include "base/out.h"
#include "base/xalloc.h"
#include "profile/legacy-folded.h"
#include "profile/profile.h"
#include "report/call-tree.h"
#include "report/report.h"
#include "ui/options.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { MOST = 400, HUGE = 6000, DEEPEST = 10, TAGS = 2, NAMES = 3, INLINED = 70 };

/* Stacks as text, "a;b;a", and what each is worth. */
struct stacks_text {
	char text[HUGE][2 * (DEEPEST + TAGS) + 1];
	int value[HUGE];
	size_t n;
};

static uint32_t dice;

static uint32_t throw_dice(uint32_t sides)
{
	dice = dice * 1664525u + 1013904223u;
	return (dice >> 8) % sides;
}

static void make_stacks(struct stacks_text *s, uint32_t seed, size_t n)
{
	dice = seed;
	s->n = n;
	for (size_t i = 0; i < n; i++) {
		uint32_t depth = 1 + throw_dice(DEEPEST);
		char *at = s->text[i];

		for (uint32_t k = 0; k < depth; k++) {
			*at++ = (char)('a' + throw_dice(NAMES));
			*at++ = ';';
		}
		at[-1] = '\0';
		s->value[i] = 1 + (int)throw_dice(50);
	}
}

struct fixture {
	struct profile *p;
	struct report *r;
	struct call_tree t;
};

static void parse(struct fixture *f, const struct stacks_text *s)
{
	struct err err = { "" };
	struct out o;

	out_init(&o, 0);
	for (size_t i = 0; i < s->n; i++)
		out_printf(&o, "%s %d\n", s->text[i], s->value[i]);
	if (folded_parse(out_view(&o), &f->p, &err))
		fail_msg("%s", err.msg);
	out_release(&o);
}

static void grow(struct fixture *f, const struct config *cfg, double narrowest)
{
	struct err err = { "" };

	if (report_new(&f->r, f->p, REPORT_FLAME, NULL, cfg, NULL, &err))
		fail_msg("%s", err.msg);
	call_tree_init(&f->t, f->r, narrowest);
}

static void plant(struct fixture *f, const struct stacks_text *s, double narrowest)
{
	struct config cfg;

	config_init(&cfg);
	parse(f, s);
	grow(f, &cfg, narrowest);
}

static void fell(struct fixture *f)
{
	call_tree_release(&f->t);
	report_free(f->r);
	profile_free(f->p);
}

static char name_of(const struct fixture *f, uint32_t place)
{
	return *profile_str(f->r->v, f->t.nodes.info[place].name).p;
}

/* "a;b;a" of the frames that lead to frame 'i', and itself. */
static void path_of(const struct fixture *f, const struct call_frames *all, size_t i, char *path)
{
	uint32_t level = all->at[i].at.level;

	path[0] = '\0';
	if (level == 0)
		return;
	path[2 * level - 1] = '\0';
	for (uint32_t at = (uint32_t)i; at != NONE && level; at = all->at[at].caller, level--) {
		path[2 * level - 2] = name_of(f, all->at[at].place);
		if (level > 1)
			path[2 * level - 3] = ';';
	}
}

static bool is_below(const char *stack, const char *path)
{
	size_t n = strlen(path);

	return n == 0 || (strncmp(stack, path, n) == 0 && (stack[n] == ';' || stack[n] == '\0'));
}

static void assert_worth(const struct stacks_text *s, const char *path, const struct weight *w)
{
	int64_t cum = 0, flat = 0;

	for (size_t i = 0; i < s->n; i++) {
		if (is_below(s->text[i], path))
			cum += s->value[i];
		if (strcmp(s->text[i], path) == 0)
			flat += s->value[i];
	}
	assert_int_equal(w->cum, cum);
	assert_int_equal(w->flat, flat);
}

static void show_all(const struct call_tree *t, struct call_range top, struct call_frames *all)
{
	static const struct call_limits none = { 0, SIZE_MAX, NONE };

	call_tree_show(t, top, &none, all);
}

/* How many different beginnings the stacks have: frames of the tree, without its root. */
static size_t count_beginnings(const struct stacks_text *s)
{
	size_t n = 0;

	for (size_t i = 0; i < s->n; i++) {
		for (size_t end = 1; end <= strlen(s->text[i]); end += 2) {
			bool seen = false;

			for (size_t k = 0; k < i && !seen; k++)
				seen = strlen(s->text[k]) >= end &&
				       strncmp(s->text[k], s->text[i], end) == 0;
			n += !seen;
		}
	}
	return n;
}

/* ------------------------------------------------------------------ cases */

static void every_frame_is_worth_the_stacks_that_begin_with_it(void **state)
{
	(void)state;
	for (uint32_t seed = 1; seed <= 20; seed++) {
		struct stacks_text s;
		struct call_frames all;
		struct fixture f;
		char path[2 * (DEEPEST + TAGS) + 2];

		make_stacks(&s, seed, seed * 20);
		plant(&f, &s, 0);
		show_all(&f.t, call_tree_root(&f.t), &all);
		assert_int_equal(all.n, count_beginnings(&s) + 1);
		for (size_t i = 0; i < all.n; i++) {
			path_of(&f, &all, i, path);
			assert_worth(&s, path, &all.at[i].w);
			assert_int_equal(all.at[i].hidden, 0);
		}
		free(all.at);
		fell(&f);
	}
}

/* Callees are shown or hidden, and the tree hangs together. */
static void assert_complete(const struct call_frames *f)
{
	uint32_t *shown = mem_zeroed(f->n, sizeof(*shown));

	for (size_t i = 1; i < f->n; i++) {
		assert_true(f->at[i].caller < i);
		shown[f->at[i].caller]++;
	}
	for (size_t i = 0; i < f->n; i++)
		assert_int_equal(f->at[i].callees, shown[i] + f->at[i].hidden);
	free(shown);
}

static int widest_first(const void *a, const void *b)
{
	const struct call_frame *x = a, *y = b;

	return (x->more < y->more) - (x->more > y->more);
}

static void what_is_left_out_is_counted(void **state)
{
	struct stacks_text s;
	struct call_frames all, few, most;
	struct call_limits wide = { 100, SIZE_MAX, NONE }, some = { 0, 40, NONE };
	struct fixture f;
	size_t callees = 0, hidden = 0;

	(void)state;
	make_stacks(&s, 7, MOST);
	plant(&f, &s, 0);
	show_all(&f.t, call_tree_root(&f.t), &all);
	call_tree_show(&f.t, call_tree_root(&f.t), &wide, &few);
	call_tree_show(&f.t, call_tree_root(&f.t), &some, &most);
	for (size_t i = 0; i < few.n; i++) {
		assert_true(few.at[i].more >= 100);
		callees += few.at[i].callees;
		hidden += few.at[i].hidden;
	}
	assert_int_equal(hidden, few.narrow);
	assert_int_equal(callees, few.n - 1 + hidden);
	assert_true(few.n > 10 && few.n < all.n);
	assert_int_equal(most.n, 40);
	assert_true(most.over_the_top);
	assert_complete(&all);
	assert_complete(&few);
	assert_complete(&most);
	/* The widest of all, though these are many times more. */
	assert_true(all.n > 40 * 10);
	qsort(all.at, all.n, sizeof(*all.at), widest_first);
	qsort(most.at, most.n, sizeof(*most.at), widest_first);
	for (size_t i = 0; i < most.n; i++)
		assert_true(most.at[i].more == all.at[i].more);
	free(all.at);
	free(few.at);
	free(most.at);
	fell(&f);
}

static void a_tree_that_is_not_looked_into_shows_the_same_wide_frames(void **state)
{
	struct stacks_text s;
	struct call_frames whole, pruned;
	struct fixture f, g;
	struct call_limits wide;
	double all = 0;

	(void)state;
	make_stacks(&s, 11, MOST);
	plant(&f, &s, 0);
	plant(&g, &s, 0.02);
	for (size_t i = 0; i < s.n; i++)
		all += s.value[i];
	wide = (struct call_limits){ 0.02 * all, SIZE_MAX, NONE };
	call_tree_show(&f.t, call_tree_root(&f.t), &wide, &whole);
	call_tree_show(&g.t, call_tree_root(&g.t), &wide, &pruned);
	assert_true(whole.n > 5);
	assert_int_equal(whole.n, pruned.n);
	for (size_t i = 0; i < whole.n; i++) {
		assert_int_equal(whole.at[i].place, pruned.at[i].place);
		assert_int_equal(whole.at[i].w.cum, pruned.at[i].w.cum);
		assert_int_equal(whole.at[i].w.flat, pruned.at[i].w.flat);
		assert_int_equal(whole.at[i].hidden, pruned.at[i].hidden);
	}
	free(whole.at);
	free(pruned.at);
	fell(&f);
	fell(&g);
}

static void any_frame_can_be_on_top(void **state)
{
	struct stacks_text s;
	struct call_frames all;
	struct fixture f;

	(void)state;
	make_stacks(&s, 3, 100);
	plant(&f, &s, 0);
	show_all(&f.t, call_tree_root(&f.t), &all);
	for (size_t i = 0; i < all.n; i++) {
		struct call_range at = all.at[i].at;
		struct call_range again = call_tree_range(&f.t, at.to - 1, at.level);
		struct call_frames below;

		if (at.level)
			assert_memory_equal(&at, &again, sizeof(at));
		show_all(&f.t, at, &below);
		for (size_t k = 0; k < below.n; k++) {
			assert_int_equal(below.at[k].place, all.at[i + k].place);
			assert_int_equal(below.at[k].w.cum, all.at[i + k].w.cum);
		}
		assert_true(i + below.n == all.n || all.at[i + below.n].at.level <= at.level);
		free(below.at);
	}
	free(all.at);
	fell(&f);
}

/* Per place: it is called 'name'. */
static uint8_t *hits_of(const struct fixture *f, char name)
{
	uint8_t *hit = mem_zeroed(f->t.nodes.n, 1);

	for (uint32_t i = 0; i < f->t.nodes.n; i++)
		hit[i] = name_of(f, i) == name;
	return hit;
}

/* The stacks from the first 'name' on, or from before it back to the root. */
static void turn_stacks(const struct stacks_text *s, char name, bool up, struct stacks_text *to)
{
	to->n = 0;
	for (size_t i = 0; i < s->n; i++) {
		const char *first = strchr(s->text[i], name);
		char *at = to->text[to->n];

		if (!first)
			continue;
		to->value[to->n++] = s->value[i];
		if (!up) {
			snprintf(at, sizeof(to->text[0]), "%s", first);
			continue;
		}
		for (const char *c = first - 2; c >= s->text[i]; c -= 2) {
			*at++ = *c;
			*at++ = ';';
		}
		at[at == to->text[to->n - 1] ? 0 : -1] = '\0';
	}
}

static void assert_turned(const struct fixture *f, const struct call_tree *t,
			  const struct stacks_text *s)
{
	struct call_frames all;
	char path[2 * (DEEPEST + TAGS) + 2];

	show_all(t, call_tree_root(t), &all);
	assert_true(all.n > 2);
	for (size_t i = 0; i < all.n; i++) {
		path_of(f, &all, i, path);
		assert_worth(s, path, &all.at[i].w);
	}
	free(all.at);
}

/* The callers and callees of one function are what the stacks say, cut there. */
static void assert_around(struct fixture *f, const struct stacks_text *s, char name)
{
	struct stacks_text turned;
	struct call_tree callers, callees;
	uint8_t *hit = hits_of(f, name);

	call_tree_around(&f->t, hit, &callers, &callees);
	turn_stacks(s, name, true, &turned);
	assert_turned(f, &callers, &turned);
	turn_stacks(s, name, false, &turned);
	assert_turned(f, &callees, &turned);
	call_tree_release(&callers);
	call_tree_release(&callees);
	free(hit);
}

static void callers_and_callees_count_a_stack_once(void **state)
{
	(void)state;
	for (uint32_t seed = 1; seed <= 10; seed++) {
		struct stacks_text s;
		struct fixture f;

		make_stacks(&s, seed, 150);
		plant(&f, &s, 0);
		assert_around(&f, &s, 'b');
		fell(&f);
	}
}

/* Labels by how deep a stack is: equal ones have the same. */
static void label_stacks(struct profile *p)
{
	struct label *labels = xarena(&p->arena, 2 * p->nsamples, sizeof(*labels));

	for (size_t i = 0; i < p->nsamples; i++) {
		struct sample *s = sample_at(p, i);
		char text[2] = { (char)('a' + s->depth % NAMES),
				 (char)('a' + s->depth / NAMES % NAMES) };

		for (uint32_t k = 0; k < 2; k++)
			labels[2 * i + k] = (struct label){
				.key = profile_intern_copy(p, k ? STR("l") : STR("r")),
				.str = profile_intern_copy(p, (struct str){ &text[k], 1 }),
				.unit = NONE
			};
		s->label = 2 * i;
		s->nlabels = 2;
	}
	p->labels = labels;
	p->nlabels = 2 * p->nsamples;
}

static void put_labels_around(struct stacks_text *s)
{
	for (size_t i = 0; i < s->n; i++) {
		char stack[sizeof(s->text[0])];
		size_t depth = (strlen(s->text[i]) + 1) / 2;

		snprintf(stack, sizeof(stack), "%s", s->text[i]);
		snprintf(s->text[i], sizeof(s->text[i]), "%c;%.*s;%c", (int)('a' + depth % NAMES),
			 2 * DEEPEST - 1, stack, (int)('a' + depth / NAMES % NAMES));
	}
}

static void labels_are_frames_like_others(void **state)
{
	struct config cfg;

	(void)state;
	config_init(&cfg);
	cfg.tagroot = "r";
	cfg.tagleaf = "l";
	for (uint32_t seed = 1; seed <= 10; seed++) {
		struct stacks_text s;
		struct fixture f;

		make_stacks(&s, seed, 150);
		parse(&f, &s);
		label_stacks(f.p);
		grow(&f, &cfg, 0);
		put_labels_around(&s);
		assert_turned(&f, &f.t, &s);
		assert_around(&f, &s, 'b');
		fell(&f);
	}
}

/* Gives location 'l' that many lines more, all of its own function. */
static void inline_calls(struct profile *p, struct location *l, uint32_t n)
{
	struct line *lines = xarena(&p->arena, p->nlines + n + 1, sizeof(*lines));

	memcpy(lines, p->lines, p->nlines * sizeof(*lines));
	for (uint32_t i = 0; i <= n; i++)
		lines[p->nlines + i] = p->lines[l->line];
	l->line = p->nlines;
	l->nlines = n + 1;
	p->lines = lines;
	p->nlines += n + 1;
}

static void all_frames_of_a_location_but_one_are_inlined(void **state)
{
	struct stacks_text s = { .n = 1, .text = { "a;b;c" }, .value = { 5 } };

	(void)state;
	for (uint32_t n = 1; n <= INLINED; n++) {
		struct call_frames all;
		struct config cfg;
		struct fixture f;

		config_init(&cfg);
		parse(&f, &s);
		inline_calls(f.p, &f.p->locations[f.p->stacks[1]], n); /* "b" */
		grow(&f, &cfg, 0);
		show_all(&f.t, call_tree_root(&f.t), &all);
		assert_int_equal(all.n, 4 + n);
		for (size_t i = 1; i < all.n; i++)
			assert_int_equal(all.at[i].inlined, i > 2 && i < all.n - 1);
		free(all.at);
		fell(&f);
	}
}

static void what_is_found_is_counted_once(void **state)
{
	struct stacks_text s;
	struct fixture f;
	uint8_t *hit;
	int64_t with_c = 0;

	(void)state;
	make_stacks(&s, 5, MOST);
	plant(&f, &s, 0);
	hit = hits_of(&f, 'c');
	for (size_t i = 0; i < s.n; i++)
		with_c += strchr(s.text[i], 'c') ? s.value[i] : 0;
	assert_int_equal(call_tree_count(&f.t, hit, 0, f.t.n).cum, with_c);
	assert_int_equal(call_tree_count(&f.t, hit, 3, 3).cum, 0);
	free(hit);
	fell(&f);
}

static void assert_same_frames(const struct call_tree *a, const struct call_tree *b)
{
	struct call_frames x, y;

	assert_int_equal(a->n, b->n);
	show_all(a, call_tree_root(a), &x);
	show_all(b, call_tree_root(b), &y);
	assert_int_equal(x.n, y.n);
	for (size_t i = 0; i < x.n; i++) {
		assert_memory_equal(&x.at[i].at, &y.at[i].at, sizeof(x.at[i].at));
		assert_memory_equal(&x.at[i].w, &y.at[i].w, sizeof(x.at[i].w));
		assert_int_equal(x.at[i].place, y.at[i].place);
		assert_int_equal(x.at[i].callees, y.at[i].callees);
	}
	free(x.at);
	free(y.at);
}

/* Two trees, and two more of the same stacks that are given the order of the first. */
struct ordered {
	struct fixture f, g;
	struct call_order *order;
	struct call_tree first, second;
};

static void plant_ordered(struct ordered *o, const struct stacks_text *one,
			  const struct stacks_text *other)
{
	o->order = NULL;
	plant(&o->f, one, 0);
	plant(&o->g, other, 0);
	call_tree_init_ordered(&o->first, o->f.r, &o->order);
	call_tree_init_ordered(&o->second, o->g.r, &o->order);
	assert_ptr_equal(o->second.order, o->order);
	assert_same_frames(&o->first, &o->f.t);
	assert_same_frames(&o->second, &o->g.t);
}

static void fell_ordered(struct ordered *o)
{
	call_order_release(o->order);
	call_tree_release(&o->first);
	call_tree_release(&o->second);
	fell(&o->f);
	fell(&o->g);
}

static void an_order_serves_stacks_of_other_values(void **state)
{
	(void)state;
	for (uint32_t seed = 1; seed <= 10; seed++) {
		struct stacks_text s, other;
		struct ordered o;

		make_stacks(&s, seed, MOST);
		other = s;
		for (size_t i = 0; i < s.n; i++)
			other.value[i] = throw_dice(3) ? 1 + (int)throw_dice(9) : 0;
		plant_ordered(&o, &s, &other);
		assert_ptr_equal(o.first.order, o.order);
		fell_ordered(&o);
	}
}

static void another_profile_has_another_order(void **state)
{
	struct stacks_text s, other;
	struct ordered o;

	(void)state;
	make_stacks(&s, 1, MOST);
	make_stacks(&other, 1, MOST / 2);
	plant_ordered(&o, &s, &other);
	assert_ptr_not_equal(o.first.order, o.order);
	fell_ordered(&o);
}

/* Far more than one thread keeps for itself. */
static void many_stacks_are_sorted_by_several_threads(void **state)
{
	struct stacks_text *s = calloc(1, sizeof(*s));
	uint32_t a[DEEPEST] = { 0 }, b[DEEPEST] = { 0 };
	struct fixture f;

	(void)state;
	assert_non_null(s);
	make_stacks(s, 7, HUGE);
	plant(&f, s, 0);
	assert_int_equal(f.t.n, HUGE);
	for (uint32_t i = 1; i < f.t.n; i++) {
		uint32_t x = f.t.length[i - 1], y = f.t.length[i], same = 0;

		call_tree_path(&f.t, i - 1, x, a);
		call_tree_path(&f.t, i, y, b);
		while (same < x && same < y && a[same] == b[same])
			same++;
		assert_int_equal(f.t.shared[i], same);
		assert_true(same == x || (same < y && a[same] < b[same]));
	}
	fell(&f);
	free(s);
}

static void nothing_is_a_tree_too(void **state)
{
	struct stacks_text s = { .n = 1, .text = { "a;b" }, .value = { 0 } };
	struct call_frame root;
	struct call_frames all;
	struct fixture f;

	(void)state;
	plant(&f, &s, 0);
	assert_int_equal(f.t.n, 0);
	call_tree_frame(&f.t, call_tree_root(&f.t), &root);
	assert_int_equal(root.w.cum, 0);
	show_all(&f.t, call_tree_root(&f.t), &all);
	assert_int_equal(all.n, 0);
	free(all.at);
	fell(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_frame_is_worth_the_stacks_that_begin_with_it),
		cmocka_unit_test(what_is_left_out_is_counted),
		cmocka_unit_test(a_tree_that_is_not_looked_into_shows_the_same_wide_frames),
		cmocka_unit_test(any_frame_can_be_on_top),
		cmocka_unit_test(callers_and_callees_count_a_stack_once),
		cmocka_unit_test(labels_are_frames_like_others),
		cmocka_unit_test(all_frames_of_a_location_but_one_are_inlined),
		cmocka_unit_test(what_is_found_is_counted_once),
		cmocka_unit_test(an_order_serves_stacks_of_other_values),
		cmocka_unit_test(another_profile_has_another_order),
		cmocka_unit_test(many_stacks_are_sorted_by_several_threads),
		cmocka_unit_test(nothing_is_a_tree_too),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
