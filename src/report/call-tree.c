/*
 * call-tree.c - all stacks of a report, sorted: every frame of their call tree is a range of them
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "report/call-tree.h"

#include "base/par.h"
#include "base/wrap.h"
#include "base/xalloc.h"
#include "report/call-cursor.h"
#include "report/call-sort.h"

#include <stdlib.h>
#include <string.h>

/* How far ahead to look for what is going to be needed; frames whose bits are written at once. */
enum { AHEAD = 12, MOST_AT_ONCE = 32 };

/* Widths that are added up while sorting differ by less than this from what they are. */
#define ROUNDING 1e-6

static double width_of(const struct call_tree *t, uint32_t sample)
{
	double v = (double)selected_value(&t->r->selection, t->r->v, sample);

	return v < 0 ? -v : v;
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

static bool has_inlined_calls(const struct nodes *n)
{
	bool any = false;

	for (uint32_t i = 0; !any && i < n->p->nlocations; i++)
		any = call_frames_of(n, i) > 1;
	return any;
}

/* A string of bits that grows. */
struct marks {
	uint64_t *words;
	size_t n, cap;
	uint64_t last; /* what is still to become a word, */
	unsigned used; /* and how many bits of it */
};

/* Adds 'n' bits, at most half a word. */
static void push(struct marks *m, uint64_t bits, unsigned n)
{
	m->last |= bits << m->used;
	m->used += n;
	if (m->used < 64)
		return;
	m->used -= 64;
	vec_push(m->words, m->n, m->cap, m->last);
	m->last = bits >> (n - m->used);
}

/* All frames of a location but the outermost are calls that were inlined. */
static void push_frames(struct marks *m, uint32_t n)
{
	uint64_t outermost = 1;

	for (; n > MOST_AT_ONCE; n -= MOST_AT_ONCE) {
		push(m, (((uint64_t)1 << MOST_AT_ONCE) - 1) & ~outermost, MOST_AT_ONCE);
		outermost = 0;
	}
	push(m, (((uint64_t)1 << n) - 1) & ~outermost, n);
}

static uint64_t position(const struct marks *m)
{
	return (uint64_t)m->n * 64 + m->used;
}

/* Stacks are measured before they are sorted, as they lie in memory, and by all processors. */
struct measuring {
	struct call_tree *t;
	const struct call_cursor *cursors;
	int parts;
	struct marks marks[PAR_MOST];
};

static uint32_t part_begin(const struct measuring *m, int part)
{
	return (uint32_t)((uint64_t)m->t->n * (unsigned)part / (unsigned)m->parts);
}

static void measure_part(int part, void *ctx)
{
	struct measuring *m = ctx;
	struct call_tree *t = m->t;
	struct marks marks = { 0 };

	for (uint32_t i = part_begin(m, part); i < part_begin(m, part + 1); i++) {
		const struct call_cursor *c = &m->cursors[i];
		uint64_t begin = position(&marks);

		for (uint32_t l = c->left; l-- > 0;)
			push_frames(&marks, call_frames_of(&t->nodes, call_location(t, c, l)));
		t->length[c->sample] = (uint32_t)(position(&marks) - begin);
		t->bits[c->sample] = (uint32_t)begin;
	}
	vec_push(marks.words, marks.n, marks.cap, marks.last);
	m->marks[part] = marks;
}

/* Makes one string of what the parts have; they have no word in common. */
static void join_marks(struct measuring *m, size_t words)
{
	struct call_tree *t = m->t;
	size_t at = 0;

	t->inlined = mem_new(words, sizeof(*t->inlined));
	for (int part = 0; part < m->parts; part++) {
		const struct marks *marks = &m->marks[part];

		memcpy(t->inlined + at, marks->words, marks->n * sizeof(*marks->words));
		for (uint32_t i = part_begin(m, part); at && i < part_begin(m, part + 1); i++)
			t->bits[m->cursors[i].sample] += (uint32_t)(at * 64);
		at += marks->n;
	}
}

static void measure(struct call_tree *t, const struct call_cursor *cursors)
{
	struct measuring m = { .t = t, .cursors = cursors, .parts = par_width() };
	size_t words = 0;

	t->length = mem_new(t->r->v->nsamples, sizeof(*t->length));
	t->bits = mem_new(t->r->v->nsamples, sizeof(*t->bits));
	par_run(m.parts, measure_part, &m);
	for (int part = 0; part < m.parts; part++)
		words += m.marks[part].n;
	if (words <= UINT32_MAX / 64 && has_inlined_calls(&t->nodes)) {
		join_marks(&m, words);
	} else { /* none, or 16 GB of stacks: then it is not said of any */
		free(t->bits);
		t->bits = NULL;
	}
	for (int part = 0; part < m.parts; part++)
		free(m.marks[part].words);
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
static void build(struct call_tree *t, struct call_cursor *cursors, const float *widths,
		  double cutoff)
{
	t->shared = mem_zeroed((size_t)t->n + 1, sizeof(*t->shared));
	if (!t->length)
		measure(t, cursors);
	call_sort(t, cursors, widths, cutoff);
	reorder(t, cursors);
	free(cursors);
}

static void begin(struct call_tree *t, struct report *r)
{
	const struct profile *v = r->v;
	struct node_options no;

	*t = (struct call_tree){ .r = r };
	(void)node_options_init(&no, &r->cfg);
	no.trim = true;
	nodes_init(&t->nodes, r->v, &no);
	t->nsamples_before = v->origin ? v->origin->nsamples : v->nsamples;
	t->nleaves = v->nleaves;
	t->nroots = v->nroots;
	t->has_base = selection_has_base(v);
	t->compared = t->has_base;
}

/* Whether a sample is one of the tree's. */
static bool counts(struct call_tree *t, size_t sample)
{
	int64_t value = selected_value(&t->r->selection, t->r->v, sample);

	t->nsamples += value != 0;
	t->compared |= value < 0;
	return value != 0 || selected_divisor(&t->r->selection, t->r->v, sample) != 0;
}

void call_tree_init(struct call_tree *t, struct report *r, double narrowest)
{
	const struct profile *v = r->v;
	struct call_cursor *cursors = mem_new(v->nsamples, sizeof(*cursors));
	float *widths = mem_new(v->nsamples, sizeof(*widths));
	double width = 0;

	begin(t, r);
	for (size_t i = 0; i < v->nsamples && i < NONE - 1; i++) {
		if (!counts(t, i))
			continue;
		width += width_of(t, (uint32_t)i);
		cursors[t->n++] = call_cursor_at(t, (uint32_t)i);
		widths[i] = (float)width_of(t, (uint32_t)i);
	}
	build(t, cursors, widths, width * narrowest * (1 - ROUNDING));
	free(widths);
	add_up(t);
}

/* ------------------------------------------------------------------ from an order */

static bool has_value(const struct profile *v, size_t sample)
{
	for (uint32_t i = 0; i < v->ntypes; i++) {
		if (sample_values(v, sample)[i] != 0)
			return true;
	}
	return false;
}

static struct call_order *order_new(const struct call_tree *t)
{
	const struct profile *v = t->r->v;
	struct call_cursor *cursors = mem_new(v->nsamples, sizeof(*cursors));
	struct call_order *o = mem_new(1, sizeof(*o));
	struct call_tree all = *t;

	for (size_t i = 0; i < v->nsamples && i < NONE - 1; i++) {
		if (has_value(v, i))
			cursors[all.n++] = call_cursor_at(&all, (uint32_t)i);
	}
	build(&all, cursors, NULL, 0);
	*o = (struct call_order){ .users = 1,
				  .nsamples = v->nsamples,
				  .nplaces = t->nodes.n,
				  .n = all.n,
				  .sample = all.sample,
				  .length = all.length,
				  .shared = all.shared,
				  .bits = all.bits,
				  .inlined = all.inlined };
	return o;
}

struct call_order *call_order_use(struct call_order *o)
{
	if (o)
		o->users++;
	return o;
}

void call_order_release(struct call_order *o)
{
	if (!o || --o->users > 0)
		return;
	free(o->sample);
	free(o->length);
	free(o->shared);
	free(o->bits);
	free(o->inlined);
	free(o);
}

/* Takes those stacks that count; over others, neighbours share what all between them do. */
static void take_stacks(struct call_tree *t, const struct call_order *o, const uint8_t *counted)
{
	uint32_t n = t->n, least = 0;

	if (n == o->n) {
		t->sample = o->sample;
		t->length = o->length;
		t->shared = o->shared;
		t->bits = o->bits;
		return;
	}
	t->sample = mem_new(n, sizeof(*t->sample));
	t->length = mem_new(n, sizeof(*t->length));
	t->shared = mem_zeroed((size_t)n + 1, sizeof(*t->shared));
	t->bits = o->bits ? mem_new(n, sizeof(*t->bits)) : NULL;
	t->n = 0;
	for (uint32_t i = 0; i < o->n; i++) {
		uint32_t shared = o->shared[i] < least ? o->shared[i] : least;

		least = shared;
		if (!counted[o->sample[i]])
			continue;
		t->sample[t->n] = o->sample[i];
		t->length[t->n] = o->length[i];
		t->shared[t->n] = shared;
		if (t->bits)
			t->bits[t->n] = o->bits[i];
		t->n++;
		least = NONE;
	}
}

/* Whether the order can be that of the tree's stacks. */
static bool fits(const struct call_order *o, const struct call_tree *t)
{
	return o->nsamples == t->r->v->nsamples && o->nplaces == t->nodes.n;
}

void call_tree_init_ordered(struct call_tree *t, struct report *r, struct call_order **order)
{
	size_t nsamples = r->v->nsamples;
	uint8_t *counted = mem_zeroed(nsamples, 1);
	struct call_order *o = *order;

	begin(t, r);
	if (!o || !fits(o, t)) {
		o = order_new(t);
		call_order_release(*order);
		*order = o;
	}
	for (size_t i = 0; i < nsamples && i < NONE - 1; i++) {
		counted[i] = counts(t, i);
		t->n += counted[i];
	}
	take_stacks(t, o, counted);
	free(counted);
	t->order = call_order_use(o);
	t->inlined = o->inlined;
	add_up(t);
}

/* ------------------------------------------------------------------ callers and callees */

static void take_place(struct call_tree *t, const struct call_tree *base, bool upwards)
{
	*t = *base;
	t->start = mem_new(base->r->v->nsamples, sizeof(*t->start));
	t->length = mem_zeroed(base->r->v->nsamples, sizeof(*t->length));
	t->upwards = upwards;
	t->shares_nodes = true;
	t->shares_bits = false;
	t->n = 0;
	t->more = NULL;
	t->less = NULL;
	t->divisor = NULL;
	t->bits = NULL;
	t->inlined = NULL;
	t->order = NULL;
	if (upwards)
		return;
	/* What is called is called there as it is in the whole stack: the bits are the same. */
	t->bits = base->bits ? mem_new(base->r->v->nsamples, sizeof(*t->bits)) : NULL;
	t->inlined = base->inlined;
	t->shares_bits = true;
	for (uint32_t i = 0; i < base->n; i++) {
		t->length[base->sample[i]] = base->length[i];
		if (t->bits)
			t->bits[base->sample[i]] = base->bits[i];
	}
}

uint8_t *call_tree_hits(const struct call_tree *t, const uint8_t *hit)
{
	const struct nodes *n = &t->nodes;
	uint8_t *has = mem_zeroed(t->r->v->nlocations, 1);

	for (uint32_t l = 0; l < t->r->v->nlocations; l++) {
		for (uint32_t f = n->first[l]; f < n->first[l + 1]; f++)
			has[l] |= hit[n->frame[f]];
	}
	return has;
}

/* Whether stack 'c' has a hit; the cursor then stands before it, going down, with frames above. */
static bool find_hit(const struct call_tree *t, const uint8_t *hit, const uint8_t *has,
		     struct call_cursor *c, uint32_t *above)
{
	for (*above = 0; c->left > 0; c->left--) {
		uint32_t location = call_location(t, c, c->left - 1);

		if (has[location])
			break;
		*above += call_frames_of(&t->nodes, location);
	}
	for (;; ++*above) {
		struct call_cursor before = *c;
		uint32_t place = call_step_down(t, c);

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
	(void)call_step_down(t, &c);
	return (struct call_start){ c.left, c.frames + 1 };
}

/* What is looked for in all stacks, as they lie in memory, by all processors. */
struct search {
	const struct call_tree *base;
	const uint8_t *hit, *has; /* per place and location */
	struct call_tree *callers, *callees;
	uint8_t *found; /* per sample: 1 if it is the tree's, and then whether it has a hit */
	int parts;
};

static void search_part(int part, void *ctx)
{
	const struct search *s = ctx;
	uint64_t n = s->base->r->v->nsamples;
	uint32_t end = (uint32_t)(n * ((unsigned)part + 1) / (unsigned)s->parts);

	for (uint32_t i = (uint32_t)(n * (unsigned)part / (unsigned)s->parts); i < end; i++) {
		struct call_cursor c;
		uint32_t above;

		if (!s->found[i])
			continue;
		c = call_cursor_at(s->base, i);
		s->found[i] = find_hit(s->base, s->hit, s->has, &c, &above);
		if (!s->found[i])
			continue;
		s->callers->length[i] = above;
		s->callees->length[i] -= above;
		if (s->callees->bits)
			s->callees->bits[i] += above;
		s->callers->start[i] = turn(s->base, c);
		s->callees->start[i] = (struct call_start){ c.left, c.frames };
	}
}

/*
 * Whether stack 'i' of the base has the same callers as the one before it: they are alike up to
 * where the other one has its hit.
 */
static bool has_same_callers(const struct search *s, uint32_t i)
{
	const struct call_tree *base = s->base;
	uint32_t before = i ? base->sample[i - 1] : 0;

	return i && s->found[before] && base->shared[i] != NONE &&
	       base->shared[i] > s->callers->length[before];
}

/* In the place of each of 'n' stacks that were sorted, all that have the same callers. */
static void add_alike(const struct search *s, const struct call_cursor *cursors, uint32_t n,
		      const uint32_t *first)
{
	const struct call_tree *base = s->base;
	struct call_tree *t = s->callers;
	uint32_t *sample = mem_new(base->n, sizeof(*sample));
	uint32_t *length = mem_new(base->n, sizeof(*length));
	uint32_t *shared = mem_zeroed((size_t)base->n + 1, sizeof(*shared));

	t->n = 0;
	for (uint32_t k = 0; k < n; k++) {
		uint32_t i = first[cursors[k].sample], frames = t->length[cursors[k].sample];

		shared[t->n] = t->shared[k];
		do {
			sample[t->n] = base->sample[i++];
			length[t->n++] = frames;
			shared[t->n] = frames;
		} while (i < base->n && has_same_callers(s, i));
	}
	shared[t->n] = 0;
	free(t->shared);
	free(t->length);
	t->sample = sample;
	t->length = length;
	t->shared = shared;
}

/* Stacks with the same callers stand side by side already: one of each is sorted. */
static void build_callers(const struct search *s)
{
	const struct call_tree *base = s->base;
	struct call_cursor *cursors = mem_new(base->n, sizeof(*cursors));
	uint32_t *first = mem_new(base->r->v->nsamples, sizeof(*first));
	struct call_tree *t = s->callers;

	for (uint32_t i = 0; i < base->n; i++) {
		uint32_t sample = base->sample[i];

		if (!s->found[sample] || has_same_callers(s, i))
			continue;
		first[sample] = i;
		cursors[t->n++] = call_cursor_at(t, sample);
	}
	t->shared = mem_zeroed((size_t)t->n + 1, sizeof(*t->shared));
	call_sort(t, cursors, NULL, 0);
	add_alike(s, cursors, t->n, first);
	free(cursors);
	free(first);
	add_up(t);
}

static void build_callees(struct call_tree *t, const struct search *s)
{
	struct call_cursor *cursors = mem_new(s->base->n, sizeof(*cursors));

	for (uint32_t i = 0; i < s->base->r->v->nsamples; i++) {
		if (s->found[i])
			cursors[t->n++] = call_cursor_at(t, i);
	}
	build(t, cursors, NULL, 0);
	add_up(t);
}

void call_tree_around(const struct call_tree *base, const uint8_t *hit, struct call_tree *callers,
		      struct call_tree *callees)
{
	uint8_t *found = mem_zeroed(base->r->v->nsamples, 1), *has = call_tree_hits(base, hit);
	struct search s = { base, hit, has, callers, callees, found, par_width() };

	take_place(callers, base, true);
	take_place(callees, base, false);
	for (uint32_t i = 0; i < base->n; i++)
		found[base->sample[i]] = 1;
	par_run(s.parts, search_part, &s);
	build_callers(&s);
	build_callees(callees, &s);
	free(found);
	free(has);
}

void call_tree_release(struct call_tree *t)
{
	if (!t->shares_nodes)
		nodes_release(&t->nodes);
	if (!t->order || t->sample != t->order->sample) {
		free(t->sample);
		free(t->length);
		free(t->shared);
		free(t->bits);
	}
	free(t->sum);
	free(t->divisor);
	free(t->more);
	free(t->less);
	free(t->start);
	if (!t->order && !t->shares_bits)
		free(t->inlined);
	call_order_release(t->order);
}
