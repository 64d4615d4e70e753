/*
 * call-tree.c - all stacks of a report, sorted: every frame of their call tree is a range of them
 *
 * All stacks start in one range of an array, that of the root.  A range is split in place into one
 * range per callee, as in a radix sort whose digits are frames; then each of these is split, until
 * few stacks are left, which are compared with one another.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "report/call-tree.h"

#include "base/par.h"
#include "base/wrap.h"
#include "base/xalloc.h"
#include "report/call-cursor.h"

#include <stdlib.h>

/* Stacks that are compared rather than split. */
enum { FEW = 6 };
/* How far ahead to look for what is going to be needed. */
enum { AHEAD = 12 };

/* Widths that are added up while sorting differ by less than this from what they are. */
#define ROUNDING 1e-6

/* A callee of the range being split. */
struct group {
	uint32_t place, n;
	uint32_t at, end; /* where the next of its stacks goes, and the first of the next group */
	double width;
};

struct sorter {
	struct call_tree *t;
	struct call_cursor *cursors;
	uint32_t *next;       /* per cursor of the range being split: its callee, or NONE */
	uint32_t *slot;       /* per place: 1 + its number among the groups, or 0 */
	struct group *groups; /* of the range being split */
	size_t ngroups, cap_groups;
	struct call_range *todo; /* a stack */
	size_t ntodo, cap_todo;
	double cutoff;
};

/* ------------------------------------------------------------------ few stacks */

/* The order of what is left of two stacks; '*shared' is how many frames that have in common. */
static int compare(const struct call_tree *t, struct call_cursor a, struct call_cursor b,
		   uint32_t *shared)
{
	for (*shared = 0;; ++*shared) {
		uint32_t x = call_step(t, &a), y = call_step(t, &b);

		if (x == y && x == NONE)
			return 0;
		if (x != y) /* the end of a stack comes first */
			return x + 1 < y + 1 ? -1 : 1;
	}
}

static void sort_few(struct sorter *s, struct call_range r)
{
	uint32_t shared;

	for (uint32_t i = r.from + 1; i < r.to; i++) {
		struct call_cursor c = s->cursors[i];
		uint32_t j = i;

		for (; j > r.from && compare(s->t, s->cursors[j - 1], c, &shared) > 0; j--)
			s->cursors[j] = s->cursors[j - 1];
		s->cursors[j] = c;
	}
	for (uint32_t i = r.from + 1; i < r.to; i++) {
		compare(s->t, s->cursors[i - 1], s->cursors[i], &shared);
		s->t->shared[i] = r.level + shared;
	}
}

/* ------------------------------------------------------------------ many stacks */

static double width_of(const struct call_tree *t, uint32_t sample)
{
	double v = (double)selected_value(&t->r->selection, t->r->v, sample);

	return v < 0 ? -v : v;
}

static struct group *group_of(struct sorter *s, uint32_t place)
{
	struct group new = { .place = place };

	if (s->slot[place] == 0) {
		vec_push(s->groups, s->ngroups, s->cap_groups, new);
		s->slot[place] = (uint32_t)s->ngroups;
	}
	return &s->groups[s->slot[place] - 1];
}

/* Stacks are all over the memory: waiting for several at a time is quicker. */
static void expect(const struct call_cursor *c)
{
	if (c->frames == 0 && c->left > 0)
		__builtin_prefetch(&c->stack[c->left - 1]);
}

/* Takes all stacks one step on.  How many of them have ended. */
static uint32_t find_groups(struct sorter *s, struct call_range r)
{
	uint32_t ended = 0;

	s->ngroups = 0;
	for (uint32_t i = r.from; i < r.to; i++) {
		struct group *g;
		uint32_t place;

		if (r.to - i > AHEAD)
			expect(&s->cursors[i + AHEAD]);
		place = call_step(s->t, &s->cursors[i]);
		s->next[i - r.from] = place;
		if (place == NONE) {
			ended++;
			continue;
		}
		g = group_of(s, place);
		g->n++;
		g->width += (double)s->cursors[i].width;
	}
	return ended;
}

static int by_place(const void *a, const void *b)
{
	const struct group *x = a, *y = b;

	return (x->place > y->place) - (x->place < y->place);
}

/* Says where each group begins, and that its neighbours have no more in common. */
static void arrange(struct sorter *s, struct call_range r, uint32_t ended)
{
	uint32_t at = r.from + ended;

	for (uint32_t i = r.from + 1; i < at; i++)
		s->t->shared[i] = r.level;
	if (s->ngroups > 1)
		qsort(s->groups, s->ngroups, sizeof(*s->groups), by_place);
	for (size_t i = 0; i < s->ngroups; i++) {
		struct group *g = &s->groups[i];

		s->slot[g->place] = (uint32_t)i + 1;
		g->at = at;
		if (at > r.from)
			s->t->shared[at] = r.level;
		at += g->n;
		g->end = at;
	}
}

/* Changes the stack at 'i' for the one where it belongs, until it is one of 'group' itself. */
static void fetch(struct sorter *s, uint32_t from, uint32_t i, struct group *ended,
		  const struct group *group)
{
	for (;;) {
		uint32_t place = s->next[i - from];
		struct group *to = place == NONE ? ended : &s->groups[s->slot[place] - 1];
		struct call_cursor cursor = s->cursors[i];

		if (to == group)
			return;
		s->cursors[i] = s->cursors[to->at];
		s->next[i - from] = s->next[to->at - from];
		s->cursors[to->at] = cursor;
		s->next[to->at - from] = place;
		to->at++;
	}
}

/* Brings the stacks of each group together, without room for a copy of them. */
static void distribute(struct sorter *s, struct call_range r, uint32_t nended)
{
	struct group ended = { .at = r.from, .end = r.from + nended };

	for (; ended.at < ended.end; ended.at++)
		fetch(s, r.from, ended.at, &ended, &ended);
	for (size_t i = 0; i < s->ngroups; i++) {
		struct group *g = &s->groups[i];

		for (; g->at < g->end; g->at++)
			fetch(s, r.from, g->at, &ended, g);
	}
}

/* Not looked into, it has no callees. */
static void leave(struct sorter *s, struct call_range r)
{
	for (uint32_t i = r.from + 1; i < r.to; i++)
		s->t->shared[i] = NONE;
}

static void split(struct sorter *s, struct call_range r)
{
	uint32_t ended = find_groups(s, r);

	arrange(s, r, ended);
	distribute(s, r, ended);
	for (size_t i = s->ngroups; i-- > 0;) {
		const struct group *g = &s->groups[i];
		struct call_range below = { g->end - g->n, g->end, r.level + 1 };

		s->slot[g->place] = 0;
		if (g->width >= s->cutoff)
			vec_push(s->todo, s->ntodo, s->cap_todo, below);
		else
			leave(s, below);
	}
}

static void sort(struct call_tree *t, struct call_cursor *cursors, double cutoff)
{
	struct sorter s = { .t = t, .cursors = cursors, .cutoff = cutoff };
	struct call_range all = { 0, t->n, 0 };

	s.next = mem_new(t->n, sizeof(*s.next));
	s.slot = mem_zeroed(t->nodes.n, sizeof(*s.slot));
	vec_push(s.todo, s.ntodo, s.cap_todo, all);
	while (s.ntodo) {
		struct call_range r = s.todo[--s.ntodo];

		if (r.to - r.from > FEW)
			split(&s, r);
		else
			sort_few(&s, r);
	}
	free(s.next);
	free(s.slot);
	free(s.groups);
	free(s.todo);
}

/* ------------------------------------------------------------------ sums */

/* Positive and negative values apart, where the sums do not tell. */
static void add_apart(struct call_tree *t)
{
	const struct profile *v = t->r->v;

	t->more = mem_new((size_t)t->n + 1, sizeof(*t->more));
	t->less = mem_new((size_t)t->n + 1, sizeof(*t->less));
	t->more[0] = 0;
	t->less[0] = 0;
	for (uint32_t i = 0; i < t->n; i++) {
		double value = (double)selected_value(&t->r->selection, v, t->sample[i]);

		t->more[i + 1] = t->more[i] + (value > 0 ? value : 0);
		t->less[i + 1] = t->less[i] - (value < 0 ? value : 0);
	}
}

static void add_up(struct call_tree *t)
{
	const struct selection *s = &t->r->selection;
	const struct profile *v = t->r->v;
	bool apart = false;

	t->sum = mem_new((size_t)t->n + 1, sizeof(*t->sum));
	t->sum[0] = 0;
	for (uint32_t i = 0; i < t->n; i++) {
		int64_t value;

		if (t->n - i > AHEAD)
			__builtin_prefetch(&sample_values(v, t->sample[i + AHEAD])[s->index]);
		value = selected_value(s, v, t->sample[i]);
		apart |= value < 0 || __builtin_add_overflow(t->sum[i], value, &t->sum[i + 1]);
		t->sum[i + 1] = wrap_add(t->sum[i], value);
	}
	if (apart)
		add_apart(t);
	if (!s->mean)
		return;
	t->divisor = mem_new((size_t)t->n + 1, sizeof(*t->divisor));
	t->divisor[0] = 0;
	for (uint32_t i = 0; i < t->n; i++)
		t->divisor[i + 1] = wrap_add(t->divisor[i], selected_divisor(s, v, t->sample[i]));
}

/* ------------------------------------------------------------------ lengths and inlined calls */

static bool has_inlined_calls(const struct call_tree *t)
{
	return t->nodes.first[t->r->v->nlocations] > t->r->v->nlocations && !t->upwards;
}

/* Frames from where the cursor stands on. */
static uint32_t length_of(const struct call_tree *t, struct call_cursor c)
{
	uint32_t depth = t->r->v->samples[c.sample].depth, n = c.frames;

	if (t->upwards) {
		n = c.left < depth ? call_frames_of(&t->nodes, c.stack[c.left]) - c.frames : 0;
		for (uint32_t l = c.left + 1; l < depth; l++)
			n += call_frames_of(&t->nodes, c.stack[l]);
		return n;
	}
	for (uint32_t l = 0; l < c.left; l++)
		n += call_frames_of(&t->nodes, c.stack[l]);
	return n;
}

/* All frames of a location but the outermost are calls that were inlined. */
static void mark_inlined(struct call_tree *t, struct call_cursor c, uint32_t bit)
{
	bit += c.frames;
	for (uint32_t l = c.left; l-- > 0;) {
		uint32_t n = call_frames_of(&t->nodes, c.stack[l]);

		for (uint32_t k = 1; k < n; k++)
			t->inlined[(bit + k) / 64] |= (uint64_t)1 << (bit + k) % 64;
		bit += n;
	}
}

/* Stacks are measured before they are sorted, as they lie in memory, and by all processors. */
struct measuring {
	struct call_tree *t;
	const struct call_cursor *cursors;
	int parts;
};

static uint32_t part_begin(const struct measuring *m, int part)
{
	return (uint32_t)((uint64_t)m->t->n * (unsigned)part / (unsigned)m->parts);
}

static void measure_lengths(int part, void *ctx)
{
	const struct measuring *m = ctx;

	for (uint32_t i = part_begin(m, part); i < part_begin(m, part + 1); i++)
		m->t->length[m->cursors[i].sample] = length_of(m->t, m->cursors[i]);
}

static void mark_part(int part, void *ctx)
{
	const struct measuring *m = ctx;

	for (uint32_t i = part_begin(m, part); i < part_begin(m, part + 1); i++)
		mark_inlined(m->t, m->cursors[i], m->t->bits[m->cursors[i].sample]);
}

/* Gives each stack its bits; parts have no word in common.  How many there are. */
static uint64_t assign_bits(const struct measuring *m)
{
	uint64_t bit = 0;

	for (int part = 0; part < m->parts; part++) {
		bit = (bit + 63) / 64 * 64;
		for (uint32_t i = part_begin(m, part); i < part_begin(m, part + 1); i++) {
			m->t->bits[m->cursors[i].sample] = (uint32_t)bit;
			bit += m->t->length[m->cursors[i].sample];
		}
	}
	return bit;
}

static void measure(struct call_tree *t, const struct call_cursor *cursors)
{
	struct measuring m = { t, cursors, par_width() };
	uint64_t bits;

	t->length = mem_new(t->r->v->nsamples, sizeof(*t->length));
	par_run(m.parts, measure_lengths, &m);
	if (!has_inlined_calls(t))
		return;
	t->bits = mem_new(t->r->v->nsamples, sizeof(*t->bits));
	bits = assign_bits(&m);
	if (bits > UINT32_MAX) { /* 16 GB of stacks: then it is not said of any */
		free(t->bits);
		t->bits = NULL;
		return;
	}
	t->inlined = mem_zeroed(bits / 64 + 1, sizeof(*t->inlined));
	par_run(m.parts, mark_part, &m);
}

/* What was measured, in the order of the stacks. */
static void reorder(struct call_tree *t, const struct call_cursor *cursors)
{
	uint32_t *length = mem_new(t->n, sizeof(*length));
	uint32_t *bits = t->bits ? mem_new(t->n, sizeof(*bits)) : NULL;

	t->sample = mem_new(t->n, sizeof(*t->sample));
	for (uint32_t i = 0; i < t->n; i++) {
		uint32_t sample = cursors[i].sample;

		t->sample[i] = sample;
		length[i] = t->length[sample];
		if (bits)
			bits[i] = t->bits[sample];
	}
	free(t->length);
	free(t->bits);
	t->length = length;
	t->bits = bits;
}

/* ------------------------------------------------------------------ the whole */

/* Takes over the cursors. */
static void build(struct call_tree *t, struct call_cursor *cursors, double cutoff)
{
	t->shared = mem_zeroed((size_t)t->n + 1, sizeof(*t->shared));
	measure(t, cursors);
	sort(t, cursors, cutoff);
	reorder(t, cursors);
	free(cursors);
	add_up(t);
}

void call_tree_init(struct call_tree *t, struct report *r, double narrowest)
{
	const struct profile *v = r->v;
	struct call_cursor *cursors = mem_new(v->nsamples, sizeof(*cursors));
	struct node_options no;
	double width = 0;

	*t = (struct call_tree){ .r = r };
	(void)node_options_init(&no, &r->cfg);
	no.trim = true;
	nodes_init(&t->nodes, r->v, &no);
	t->nsamples_before = v->origin ? v->origin->nsamples : v->nsamples;
	t->has_base = selection_has_base(v);
	t->compared = t->has_base;
	for (size_t i = 0; i < v->nsamples && i < NONE - 1; i++) {
		int64_t value = selected_value(&r->selection, v, i);

		if (value == 0 && selected_divisor(&r->selection, v, i) == 0)
			continue;
		t->nsamples += value != 0;
		t->compared |= value < 0;
		width += width_of(t, (uint32_t)i);
		cursors[t->n] = call_cursor_at(t, (uint32_t)i);
		cursors[t->n++].width = (float)width_of(t, (uint32_t)i);
	}
	build(t, cursors, width * narrowest * (1 - ROUNDING));
}

static void take_place(struct call_tree *t, const struct call_tree *base, bool upwards)
{
	*t = *base;
	t->start = mem_new(base->r->v->nsamples, sizeof(*t->start));
	t->upwards = upwards;
	t->shares_nodes = true;
	t->n = 0;
	t->more = NULL;
	t->less = NULL;
	t->divisor = NULL;
	t->bits = NULL;
	t->inlined = NULL;
}

/* Whether stack 'c' has a hit; the cursor then stands before the outermost, going down. */
static bool find_hit(const struct call_tree *t, const uint8_t *hit, struct call_cursor *c)
{
	for (;;) {
		struct call_cursor before = *c;
		uint32_t place = call_step_down(&t->nodes, c);

		if (place == NONE)
			return false;
		if (hit[place]) {
			*c = before;
			return true;
		}
	}
}

/* Where the frame before 'c', which goes down, is for one that goes up. */
static struct call_start turn(const struct call_tree *t, struct call_cursor c)
{
	(void)call_step_down(&t->nodes, &c);
	return (struct call_start){ c.left, c.frames + 1 };
}

void call_tree_around(const struct call_tree *base, const uint8_t *hit, struct call_tree *callers,
		      struct call_tree *callees)
{
	struct call_cursor *up = mem_new(base->n, sizeof(*up));
	struct call_cursor *down = mem_new(base->n, sizeof(*down));

	take_place(callers, base, true);
	take_place(callees, base, false);
	for (uint32_t i = 0; i < base->n; i++) {
		struct call_cursor c = call_cursor_at(base, base->sample[i]);

		if (!find_hit(base, hit, &c))
			continue;
		callers->start[c.sample] = turn(base, c);
		callees->start[c.sample] = (struct call_start){ c.left, c.frames };
		up[callers->n++] = call_cursor_at(callers, c.sample);
		down[callees->n++] = call_cursor_at(callees, c.sample);
	}
	build(callers, up, 0);
	build(callees, down, 0);
}

void call_tree_release(struct call_tree *t)
{
	if (!t->shares_nodes)
		nodes_release(&t->nodes);
	free(t->sample);
	free(t->length);
	free(t->shared);
	free(t->sum);
	free(t->divisor);
	free(t->more);
	free(t->less);
	free(t->start);
	free(t->bits);
	free(t->inlined);
}
