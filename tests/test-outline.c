/*
 * test-outline.c - by an outline of the stacks calls are what they are by the stacks themselves
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/err.h"
#include "base/out.h"
#include "base/xalloc.h"
#include "graph/outline.h"
#include "graph/walk.h"
#include "profile/legacy-folded.h"
#include "profile/profile.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { STACKS = 300, HUGE = 20000, DEEPEST = 12, NAMES = 20 };

static uint32_t dice;

static uint32_t throw_dice(uint32_t sides)
{
	dice = dice * 1664525u + 1013904223u;
	return (dice >> 8) % sides;
}

struct fixture {
	struct profile *p;
	struct nodes n;
	struct selection s;
	struct outline o;
	uint8_t *kept;
};

/* Stacks of 'names' functions; some are called inlined by others, some stacks are worth nothing. */
static void make(struct fixture *f, uint32_t seed, size_t n, uint32_t names)
{
	struct err err = { "" };
	struct out text;

	*f = (struct fixture){ 0 };
	dice = seed;
	out_init(&text, 0);
	for (size_t i = 0; i < n; i++) {
		for (uint32_t k = throw_dice(DEEPEST); k > 0; k--)
			out_printf(&text, "f%u;", throw_dice(names));
		out_printf(&text, "f%u %u\n", throw_dice(names), throw_dice(10));
	}
	if (folded_parse(out_view(&text), &f->p, &err))
		fail_msg("%s", err.msg);
	out_release(&text);
}

static void inline_calls(struct profile *p, struct location *l, uint32_t n)
{
	struct line *lines = xarena(&p->arena, p->nlines + n + 1, sizeof(*lines));

	memcpy(lines, p->lines, p->nlines * sizeof(*lines));
	for (uint32_t i = 0; i <= n; i++)
		lines[p->nlines + i] = p->lines[i ? throw_dice(p->nlines) : l->line];
	l->line = p->nlines;
	l->nlines = n + 1;
	p->lines = lines;
	p->nlines += n + 1;
}

static void find_nodes(struct fixture *f)
{
	nodes_init(&f->n, f->p, &(struct node_options){ .functions = true });
	f->kept = mem_new(f->n.n, 1);
	memset(f->kept, 1, f->n.n);
}

static void leave_out(struct fixture *f, uint32_t one_of)
{
	for (uint32_t i = 0; i < f->n.n; i++)
		f->kept[i] &= throw_dice(one_of) != 0;
}

static void release(struct fixture *f)
{
	outline_release(&f->o);
	nodes_release(&f->n);
	profile_free(f->p);
	free(f->kept);
}

static void assert_same_edges(struct fixture *f, const uint8_t *kept)
{
	struct edge *by_stacks, *by_outline = NULL;
	size_t n, m = 0;

	by_stacks = walk_edges(&f->n, &f->s, kept, NULL, &n);
	assert_true(outline_edges(&f->o, &f->n, &f->s, kept, &by_outline, &m));
	assert_int_equal(n, m);
	for (size_t i = 0; i < n; i++) {
		assert_int_equal(by_stacks[i].src, by_outline[i].src);
		assert_int_equal(by_stacks[i].dst, by_outline[i].dst);
		assert_int_equal(by_stacks[i].weight, by_outline[i].weight);
		assert_int_equal(by_stacks[i].residual, by_outline[i].residual);
		assert_int_equal(by_stacks[i].inlined, by_outline[i].inlined);
	}
	free(by_stacks);
	free(by_outline);
}

/* ------------------------------------------------------------------ cases */

static void calls_are_the_same_when_nodes_are_left_out_and_left_out_again(void **state)
{
	(void)state;
	for (uint32_t seed = 1; seed <= 30; seed++) {
		struct fixture f;

		make(&f, seed, STACKS, NAMES);
		for (uint32_t i = 0; i < f.p->nlocations; i++)
			inline_calls(f.p, &f.p->locations[i], throw_dice(4));
		find_nodes(&f);
		if (seed % 3)
			leave_out(&f, 5);
		assert_same_edges(&f, seed % 3 ? f.kept : NULL);
		assert_int_equal(f.o.state, OUTLINE_DONE);
		leave_out(&f, 3);
		assert_same_edges(&f, f.kept);
		memset(f.kept, 0, f.n.n);
		assert_same_edges(&f, f.kept);
		release(&f);
	}
}

static void hidden_locations_leave_no_gap(void **state)
{
	uint8_t hidden[NAMES] = { 0, 1, 0, 0, 1, 1 };
	struct fixture f;

	(void)state;
	make(&f, 5, STACKS, NAMES);
	assert_true(f.p->nlocations <= NAMES);
	f.p->hidden = hidden;
	find_nodes(&f);
	assert_same_edges(&f, NULL);
	leave_out(&f, 3);
	assert_same_edges(&f, f.kept);
	release(&f);
}

static size_t count_leaves(const struct outline_share *s)
{
	size_t n = 0;

	for (size_t i = 0; i < s->n; i++)
		n += s->marks[i] == OUTLINE_END_LEAF;
	return n;
}

static void it_says_which_stacks_end_with_what_is_kept(void **state)
{
	struct edge *edges = NULL;
	size_t n, leaves = 0;
	struct fixture f;

	(void)state;
	make(&f, 7, STACKS, NAMES);
	find_nodes(&f);
	leave_out(&f, 2);
	assert_true(outline_edges(&f.o, &f.n, &f.s, f.kept, &edges, &n));
	for (size_t i = 0; i < f.p->nsamples; i++) {
		uint32_t leaf = f.n.lead[f.p->stacks[sample_at(f.p, i)->stack]];

		leaves += selected_value(&f.s, f.p, i) && f.kept[leaf];
	}
	assert_int_equal(count_leaves(&f.o.shares[0]), leaves);
	free(edges);
	release(&f);
}

/* The edges are there, but what comes next goes by the stacks; however many threads there are. */
static void notes_that_become_too_long_are_dropped(void **state)
{
	struct edge *edges = NULL;
	struct fixture f;
	size_t n = 0;

	(void)state;
	make(&f, 3, HUGE, NAMES);
	for (uint32_t i = 0; i < f.p->nlocations; i++)
		inline_calls(f.p, &f.p->locations[i], 9);
	find_nodes(&f);
	assert_same_edges(&f, NULL);
	assert_int_equal(f.o.state, OUTLINE_REFUSED);
	assert_false(outline_edges(&f.o, &f.n, &f.s, f.kept, &edges, &n));
	assert_null(edges);
	release(&f);
}

static void many_nodes_and_means_are_refused(void **state)
{
	struct edge *edges = NULL;
	struct fixture f;
	size_t n = 0;

	(void)state;
	make(&f, 3, HUGE, OUTLINE_NODES + 1);
	find_nodes(&f);
	assert_int_equal(f.n.n, OUTLINE_NODES + 1);
	assert_false(outline_edges(&f.o, &f.n, &f.s, f.kept, &edges, &n));
	f.o = (struct outline){ 0 };
	f.kept[0] = 0;
	f.s.mean = true;
	assert_false(outline_edges(&f.o, &f.n, &f.s, f.kept, &edges, &n));
	f.o = (struct outline){ 0 };
	f.s.mean = false;
	assert_same_edges(&f, f.kept);
	release(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(calls_are_the_same_when_nodes_are_left_out_and_left_out_again),
		cmocka_unit_test(hidden_locations_leave_no_gap),
		cmocka_unit_test(it_says_which_stacks_end_with_what_is_kept),
		cmocka_unit_test(notes_that_become_too_long_are_dropped),
		cmocka_unit_test(many_nodes_and_means_are_refused),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
