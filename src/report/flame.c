/*
 * flame.c - the call tree of a flame graph: every frame as wide as what it took
 *
 * All samples start in one range of an array, that of the root.  A range is split in place into one
 * range per callee, as in a radix sort whose digits are frames; then each of these is split.  So
 * what belongs to a frame is always close together, and no table of tree nodes is needed.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "report/flame.h"

#include "base/units.h"
#include "base/wrap.h"
#include "base/xalloc.h"
#include "profile/profile.h"
#include "report/report.h"
#include "view/select.h"

#include <stdlib.h>

/* A sample on its way from root to leaf. */
struct walker {
	const uint32_t *stack; /* its locations, leaf first: the next is stack[left - 1] */
	uint32_t left;
	uint32_t frames; /* left in the location it is in */
	int64_t value, divisor;
};

/* Walkers [from, to) have reached 'frame', which is still to be added. */
struct branch {
	size_t from, to;
	struct flame_frame frame;
};

struct builder {
	struct flame *f;
	const struct report *r;
	struct walker *walkers, *spare;
	uint32_t *next;         /* per walker of the range being split: its callee, or NONE */
	uint32_t *slot;         /* per place: 1 + its number among the callees, or 0 */
	struct branch *callees; /* of the frame being split */
	size_t ncallees, cap_callees;
	struct branch *todo; /* a stack: the next one last */
	size_t ntodo, cap_todo;
	size_t cap_frames;
	double cutoff;
};

/* ------------------------------------------------------------------ sums */

static void add_value(struct flame_frame *f, const struct walker *w)
{
	if (w->value < 0)
		f->less -= (double)w->value;
	else
		f->more += (double)w->value;
	f->w.cum = wrap_add(f->w.cum, w->value);
	f->w.cum_div = wrap_add(f->w.cum_div, w->divisor);
}

static void add_own_value(struct flame_frame *f, const struct walker *w)
{
	f->w.flat = wrap_add(f->w.flat, w->value);
	f->w.flat_div = wrap_add(f->w.flat_div, w->divisor);
}

/* ------------------------------------------------------------------ one step down */

/* Takes a step towards the leaf: to which place, and whether by an inlined call. */
static uint32_t step(const struct nodes *n, struct walker *w, bool *inlined)
{
	uint32_t location;

	*inlined = w->frames > 0;
	while (w->frames == 0) {
		if (w->left == 0)
			return NONE;
		w->left--;
		w->frames = n->first[w->stack[w->left] + 1] - n->first[w->stack[w->left]];
	}
	location = w->stack[w->left];
	w->frames--;
	return n->frame[n->first[location] + w->frames];
}

/* The branch of the callee 'place' of the frame being split. */
static struct branch *callee_of(struct builder *b, uint32_t place, uint32_t level)
{
	struct branch new = { .frame = { .place = place, .level = level, .inlined = true } };

	if (b->slot[place] == 0) {
		vec_push(b->callees, b->ncallees, b->cap_callees, new);
		b->slot[place] = (uint32_t)b->ncallees;
	}
	return &b->callees[b->slot[place] - 1];
}

/* Finds and adds up the callees of 'caller'; 'to' counts their walkers for now. */
static void find_callees(struct builder *b, struct flame_frame *caller, size_t from, size_t to)
{
	b->ncallees = 0;
	for (size_t i = from; i < to; i++) {
		struct walker *w = &b->walkers[i];
		bool inlined;
		struct branch *callee;

		b->next[i - from] = step(&b->f->nodes, w, &inlined);
		if (b->next[i - from] == NONE) {
			add_own_value(caller, w);
			continue;
		}
		callee = callee_of(b, b->next[i - from], caller->level + 1);
		add_value(&callee->frame, w);
		callee->frame.inlined &= inlined;
		callee->to++;
	}
}

/* ------------------------------------------------------------------ what is drawn */

/* Whether a callee is worth following; counts it if not.  No width is nothing to speak of. */
static bool is_drawn(struct builder *b, struct flame_frame *f)
{
	struct flame_cuts *cuts = &b->f->cuts;

	f->width = f->more + f->less;
	if (f->width <= 0)
		return false;
	if (b->r->cfg.drop_negative && f->w.cum < 0) {
		cuts->negative++;
		return false;
	}
	if (f->width < b->cutoff) {
		cuts->narrow++;
		return false;
	}
	if (f->level >= FLAME_MOST_LEVELS) {
		cuts->deep++;
		return false;
	}
	return true;
}

static int by_width(const void *a, const void *b)
{
	const struct flame_frame *x = &((const struct branch *)a)->frame;
	const struct flame_frame *y = &((const struct branch *)b)->frame;

	if (x->width != y->width)
		return x->width > y->width ? -1 : 1;
	return (x->place > y->place) - (x->place < y->place);
}

/* Keeps the callees to draw, widest first, and gives each its place and range. */
static void arrange(struct builder *b, const struct flame_frame *caller, size_t from)
{
	double x = caller->x;
	size_t n = 0;

	for (size_t i = 0; i < b->ncallees; i++) {
		b->slot[b->callees[i].frame.place] = 0;
		if (is_drawn(b, &b->callees[i].frame))
			b->callees[n++] = b->callees[i];
	}
	b->ncallees = n;
	if (n)
		qsort(b->callees, n, sizeof(*b->callees), by_width);
	for (size_t i = 0; i < n; i++) {
		struct branch *c = &b->callees[i];

		c->frame.x = x;
		x += c->frame.width;
		c->from = from;
		from += c->to;
		c->to = c->from;
		b->slot[c->frame.place] = (uint32_t)i + 1;
	}
}

/* Moves the walkers of each callee together; those that go nowhere are forgotten. */
static void split(struct builder *b, size_t from, size_t to)
{
	size_t end = b->ncallees ? b->callees[0].from : from;

	for (size_t i = from; i < to; i++) {
		uint32_t place = b->next[i - from];

		if (place != NONE && b->slot[place])
			b->spare[b->callees[b->slot[place] - 1].to++] = b->walkers[i];
	}
	for (size_t i = 0; i < b->ncallees; i++) {
		end = b->callees[i].to;
		b->slot[b->callees[i].frame.place] = 0;
	}
	if (end > from)
		memcpy(b->walkers + from, b->spare + from, (end - from) * sizeof(*b->walkers));
}

static void follow(struct builder *b, struct branch branch)
{
	struct flame *f = b->f;

	find_callees(b, &branch.frame, branch.from, branch.to);
	arrange(b, &branch.frame, branch.from);
	split(b, branch.from, branch.to);
	vec_push(f->frames, f->n, b->cap_frames, branch.frame);
	for (size_t i = b->ncallees; i-- > 0;)
		vec_push(b->todo, b->ntodo, b->cap_todo, b->callees[i]);
}

/* ------------------------------------------------------------------ too many frames */

static int downwards(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x < y) - (x > y);
}

/*
 * Keeps the 'most' widest frames.  No frame is wider than its caller, and of equals the caller
 * comes first, so what is kept is still a tree.
 */
static void keep_widest(struct flame *f, size_t most)
{
	double *widths, cutoff;
	size_t wider = 0, n = 0;

	if (f->n <= most)
		return;
	widths = mem_new(f->n, sizeof(*widths));
	for (size_t i = 0; i < f->n; i++)
		widths[i] = f->frames[i].width;
	qsort(widths, f->n, sizeof(*widths), downwards);
	cutoff = widths[most - 1];
	while (widths[wider] > cutoff)
		wider++;
	free(widths);
	for (size_t i = 0; i < f->n; i++) {
		bool equal = f->frames[i].width == cutoff && wider < most;

		wider += equal;
		if (equal || f->frames[i].width > cutoff)
			f->frames[n++] = f->frames[i];
	}
	f->cuts.narrow += f->n - n;
	f->cuts.over_the_top = true;
	f->cuts.narrowest = cutoff / f->frames[0].width;
	f->n = n;
}

/* ------------------------------------------------------------------ the whole */

static struct branch start(struct builder *b)
{
	const struct report *r = b->r;
	const struct profile *v = r->v;
	struct branch root = { .frame = { .place = NONE } };

	for (size_t i = 0; i < v->nsamples; i++) {
		const struct sample *s = &v->samples[i];
		struct walker w = { v->stacks + s->stack, s->depth, 0,
				    selected_value(&r->selection, v, i),
				    selected_divisor(&r->selection, v, i) };

		if (w.value == 0 && w.divisor == 0)
			continue;
		b->f->nsamples += w.value != 0;
		b->f->compared |= w.value < 0;
		add_value(&root.frame, &w);
		b->walkers[root.to++] = w;
	}
	root.frame.width = root.frame.more + root.frame.less;
	return root;
}

static void count_levels(struct flame *f)
{
	for (size_t i = 0; i < f->n; i++) {
		if (f->frames[i].level >= f->levels)
			f->levels = f->frames[i].level + 1;
	}
}

static void grow(struct builder *b)
{
	const struct config *cfg = &b->r->cfg;
	struct flame *f = b->f;
	size_t most = FLAME_MOST_FRAMES;
	struct branch root = start(b);

	b->cutoff = root.frame.width * f->cuts.narrowest;
	vec_push(b->todo, b->ntodo, b->cap_todo, root);
	while (b->ntodo)
		follow(b, b->todo[--b->ntodo]);
	if (cfg->nodecount > 0 && cfg->nodecount < FLAME_MOST_FRAMES)
		most = (size_t)cfg->nodecount + 1; /* the root is not one of them */
	keep_widest(f, most);
	count_levels(f);
}

void flame_init(struct flame *f, struct report *r, double narrowest)
{
	struct builder b = { .f = f, .r = r };
	struct node_options no;

	(void)node_options_init(&no, &r->cfg);
	no.trim = true;
	*f = (struct flame){ .nsamples_before =
				     r->v->origin ? r->v->origin->nsamples : r->v->nsamples };
	f->cuts.narrowest = r->cfg.nodefraction > narrowest ? r->cfg.nodefraction : narrowest;
	f->has_base = selection_has_base(r->v);
	f->compared = f->has_base;
	nodes_init(&f->nodes, r->v, &no);
	b.walkers = mem_new(r->v->nsamples, sizeof(*b.walkers));
	b.spare = mem_new(r->v->nsamples, sizeof(*b.spare));
	b.next = mem_new(r->v->nsamples, sizeof(*b.next));
	b.slot = mem_zeroed(f->nodes.n, sizeof(*b.slot));
	grow(&b);
	free(b.walkers);
	free(b.spare);
	free(b.next);
	free(b.slot);
	free(b.callees);
	free(b.todo);
}

void flame_release(struct flame *f)
{
	nodes_release(&f->nodes);
	free(f->frames);
}
