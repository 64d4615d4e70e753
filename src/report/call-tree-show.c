/*
 * call-tree-show.c - what can be seen of a call tree, and what is counted in it
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/wrap.h"
#include "base/xalloc.h"
#include "report/call-cursor.h"
#include "report/call-tree.h"

#include <stdlib.h>

/* How many times more frames than are wanted may be found before the widest are chosen. */
enum { ROOM = 8 };

/* ------------------------------------------------------------------ ranges */

struct call_range call_tree_root(const struct call_tree *t)
{
	return (struct call_range){ 0, t->n, 0 };
}

void call_tree_path(const struct call_tree *t, uint32_t i, uint32_t n, uint32_t *places)
{
	struct call_cursor c = call_cursor_at(t, t->sample[i]);

	for (uint32_t level = 0; level < n; level++)
		places[level] = call_step(t, &c);
}

/* All neighbours that have so much in common. */
static struct call_range widen(const struct call_tree *t, struct call_range r)
{
	while (r.from > 0 && t->shared[r.from] >= r.level)
		r.from--;
	while (r.to < t->n && t->shared[r.to] >= r.level)
		r.to++;
	return r;
}

struct call_range call_tree_range(const struct call_tree *t, uint32_t i, uint32_t level)
{
	return widen(t, (struct call_range){ i, i + 1, level });
}

struct call_range call_tree_caller(const struct call_tree *t, struct call_range r)
{
	return widen(t, (struct call_range){ r.from, r.to, r.level - 1 });
}

/* ------------------------------------------------------------------ what a frame is worth */

static int64_t between(const int64_t *sums, uint32_t from, uint32_t to)
{
	return wrap_add(sums[to], wrap_mul(sums[from], -1));
}

/* The stacks that end with this frame are the first of its range. */
static uint32_t own_end(const struct call_tree *t, struct call_range r)
{
	uint32_t end = r.from;

	while (end < r.to && t->length[end] == r.level)
		end++;
	return end;
}

static bool is_inlined(const struct call_tree *t, struct call_range r)
{
	if (!t->bits || r.level == 0)
		return false;
	for (uint32_t i = r.from; i < r.to; i++) {
		uint32_t bit = t->bits[i] + r.level - 1;

		if (!(t->inlined[bit / 64] >> bit % 64 & 1))
			return false;
	}
	return true;
}

static void find_width(const struct call_tree *t, struct call_frame *f)
{
	struct call_range r = f->at;

	if (t->more) {
		f->more = t->more[r.to] - t->more[r.from];
		f->less = t->less[r.to] - t->less[r.from];
	} else {
		f->more = (double)between(t->sum, r.from, r.to);
		f->less = 0;
	}
}

/* What is not known from the range alone. */
static void fill(const struct call_tree *t, struct call_frame *f)
{
	struct call_range r = f->at;
	uint32_t own = own_end(t, r);

	f->inlined = is_inlined(t, r);
	f->w.cum = between(t->sum, r.from, r.to);
	f->w.flat = between(t->sum, r.from, own);
	if (!t->divisor)
		return;
	f->w.cum_div = between(t->divisor, r.from, r.to);
	f->w.flat_div = between(t->divisor, r.from, own);
}

void call_tree_frame(const struct call_tree *t, struct call_range at, struct call_frame *f)
{
	*f = (struct call_frame){ .at = at, .caller = NONE };
	f->place = NONE;
	find_width(t, f);
	if (at.to > at.from)
		fill(t, f);
}

/* ------------------------------------------------------------------ what is shown */

/* A frame that is going to be shown, and where its first stack goes on. */
struct awaited {
	struct call_frame f;
	struct call_cursor next;
};

struct shower {
	const struct call_tree *t;
	const struct call_limits *limits;
	struct call_frames *out;
	uint32_t lowest; /* level */
	size_t cap_out;
	struct awaited *todo; /* a stack: the next one last */
	size_t ntodo, cap_todo;
};

static double width(const struct call_frame *f)
{
	return f->more + f->less;
}

/* Whether a callee is worth showing; counts it if not. */
static bool is_shown(struct shower *s, const struct call_frame *f)
{
	const struct call_range r = f->at;

	if (s->t->r->cfg.drop_negative && between(s->t->sum, r.from, r.to) < 0) {
		s->out->negative++;
		return false;
	}
	if (width(f) < s->limits->narrowest ||
	    (s->out->over_the_top && width(f) <= s->out->narrowest)) {
		s->out->narrow++;
		return false;
	}
	if (r.level > s->lowest) {
		s->out->deep++;
		return false;
	}
	return true;
}

/*
 * Its place.  The first callee mostly has the caller's first stack, and goes on where that is; so
 * however deep stacks are, each of their frames is looked at once.
 */
static struct awaited await(const struct shower *s, const struct awaited *caller,
			    const struct call_frame *f)
{
	struct awaited a = { *f, caller->next };

	if (f->at.from != caller->f.at.from) {
		a.next = call_cursor_at(s->t, s->t->sample[f->at.from]);
		for (uint32_t level = 1; level < f->at.level; level++)
			(void)call_step(s->t, &a.next);
	}
	a.f.place = call_step(s->t, &a.next);
	return a;
}

/* A callee of 'caller' that is [from, to): of no width, it is nothing to speak of. */
static void add_callee(struct shower *s, struct awaited *caller, uint32_t number, uint32_t from,
		       uint32_t to)
{
	struct call_frame f = { .at = { from, to, caller->f.at.level + 1 }, .caller = number };

	find_width(s->t, &f);
	if (width(&f) <= 0)
		return;
	caller->f.callees++;
	if (is_shown(s, &f)) {
		vec_push(s->todo, s->ntodo, s->cap_todo, await(s, caller, &f));
		return;
	}
	caller->f.hidden++;
	caller->f.hidden_width += width(&f);
}

static int narrowest_first(const void *a, const void *b)
{
	const struct call_frame *x = &((const struct awaited *)a)->f;
	const struct call_frame *y = &((const struct awaited *)b)->f;

	if (width(x) != width(y))
		return width(x) < width(y) ? -1 : 1;
	/* Stacks are sorted by place. */
	return (x->at.from < y->at.from) - (x->at.from > y->at.from);
}

static void follow(struct shower *s, struct awaited a)
{
	const struct call_range r = a.f.at;
	size_t before = s->ntodo;
	uint32_t from = own_end(s->t, r);

	fill(s->t, &a.f);
	for (uint32_t i = from + 1; i <= r.to && from < r.to; i++) {
		if (i < r.to && s->t->shared[i] > r.level)
			continue;
		add_callee(s, &a, (uint32_t)s->out->n, from, i);
		from = i;
	}
	if (s->ntodo - before > 1)
		qsort(s->todo + before, s->ntodo - before, sizeof(*s->todo), narrowest_first);
	vec_push(s->out->at, s->out->n, s->cap_out, a.f);
}

/* ------------------------------------------------------------------ too many frames */

static int downwards(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x < y) - (x > y);
}

/* The width of the narrowest of the 'most' widest frames; '*wider' is how many are wider still. */
static double find_cutoff(const struct call_frames *f, size_t most, size_t *wider)
{
	double *widths = mem_new(f->n, sizeof(*widths)), cutoff;

	for (size_t i = 0; i < f->n; i++)
		widths[i] = width(&f->at[i]);
	qsort(widths, f->n, sizeof(*widths), downwards);
	cutoff = widths[most - 1];
	*wider = 0;
	while (widths[*wider] > cutoff)
		++*wider;
	free(widths);
	return cutoff;
}

/* Counts a frame as one of its caller's that are not shown. */
static void hide(struct call_frames *f, const struct call_frame *frame)
{
	if (frame->caller == NONE)
		return;
	f->at[frame->caller].hidden++;
	f->at[frame->caller].hidden_width += width(frame);
}

/*
 * Keeps the 'most' widest frames.  No frame is wider than its caller, and of equals the caller
 * comes first, so what is kept is still a tree.  Returns where each frame is now, or NONE.
 */
static uint32_t *keep_widest(struct call_frames *f, size_t most)
{
	uint32_t *moved = mem_new(f->n, sizeof(*moved));
	size_t wider, n = 0;
	double cutoff = find_cutoff(f, most, &wider);

	for (size_t i = 0; i < f->n; i++) {
		struct call_frame frame = f->at[i];
		bool equal = width(&frame) == cutoff && wider < most;

		if (frame.caller != NONE)
			frame.caller = moved[frame.caller];
		moved[i] = NONE;
		wider += equal;
		if (equal || width(&frame) > cutoff) {
			moved[i] = (uint32_t)n;
			f->at[n++] = frame;
		} else {
			hide(f, &frame);
		}
	}
	f->narrow += f->n - n;
	f->over_the_top = true;
	f->narrowest = cutoff;
	f->n = n;
	return moved;
}

/*
 * While frames are found: what is not among the widest so far never will be, nor what is as narrow
 * as the narrowest of these and comes later.
 */
static void make_room(struct shower *s)
{
	struct call_frames *out = s->out;
	uint32_t *moved = keep_widest(out, s->limits->most);
	size_t n = 0;

	for (size_t i = 0; i < s->ntodo; i++) {
		struct awaited a = s->todo[i];

		a.f.caller = moved[a.f.caller];
		if (a.f.caller == NONE)
			continue;
		if (width(&a.f) > out->narrowest) {
			s->todo[n++] = a;
			continue;
		}
		hide(out, &a.f);
		out->narrow++;
	}
	s->ntodo = n;
	free(moved);
}

void call_tree_show(const struct call_tree *t, struct call_range top,
		    const struct call_limits *limits, struct call_frames *out)
{
	struct shower s = { .t = t, .limits = limits, .out = out };
	struct awaited first = { .f = { .at = top, .caller = NONE, .place = NONE } };
	/* No deeper frame is among the widest, as all that lead to it are as wide. */
	uint32_t levels = limits->most < limits->levels ? (uint32_t)limits->most : limits->levels;

	*out = (struct call_frames){ .narrowest = limits->narrowest };
	s.lowest = levels < NONE - top.level ? top.level + levels : NONE - 1;
	find_width(t, &first.f);
	if (top.to > top.from) {
		first.next = call_cursor_at(t, t->sample[top.from]);
		for (uint32_t level = 0; level < top.level; level++)
			first.f.place = call_step(t, &first.next);
		vec_push(s.todo, s.ntodo, s.cap_todo, first);
	}
	while (s.ntodo) {
		follow(&s, s.todo[--s.ntodo]);
		if (out->n / ROOM >= limits->most)
			make_room(&s);
	}
	free(s.todo);
	if (out->n > limits->most)
		free(keep_widest(out, limits->most));
}

/* ------------------------------------------------------------------ what is counted */

static bool has_hit(const struct profile *v, uint32_t sample, const uint8_t *has)
{
	uint32_t depth = stack_depth(v, sample);

	for (uint32_t k = 0; k < depth; k++) {
		if (has[stack_location(v, sample, k)])
			return true;
	}
	return false;
}

struct weight call_tree_count(const struct call_tree *t, const uint8_t *hit, uint32_t from,
			      uint32_t to)
{
	uint8_t *has = call_tree_hits(t, hit);
	struct weight w = { 0 };

	for (uint32_t i = from; i < to; i++) {
		if (!has_hit(t->r->v, t->sample[i], has))
			continue;
		w.cum = wrap_add(w.cum, between(t->sum, i, i + 1));
		if (t->divisor)
			w.cum_div = wrap_add(w.cum_div, between(t->divisor, i, i + 1));
	}
	free(has);
	return w;
}
