/*
 * flame.c - what is drawn of a call tree: every frame as wide as what it took
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "report/flame.h"

#include "base/xalloc.h"
#include "report/call-tree.h"
#include "report/report.h"

#include <stdlib.h>

/* Callees are side by side from the left end of their caller, which 'next' is the rest of. */
static struct flame_frame place_frame(const struct call_frame *c, struct flame *f, double *next)
{
	struct flame_frame frame = { .place = c->place,
				     .level = c->at.level,
				     .width = c->more + c->less,
				     .more = c->more,
				     .less = c->less,
				     .w = c->w,
				     .inlined = c->inlined };

	if (c->caller != NONE) {
		frame.x = next[c->caller];
		next[c->caller] += frame.width;
	}
	next[f->n] = frame.x;
	if (frame.level >= f->levels)
		f->levels = frame.level + 1;
	return frame;
}

static void place_frames(struct flame *f, const struct call_frames *shown)
{
	double *next = mem_new(shown->n, sizeof(*next));

	f->frames = mem_new(shown->n, sizeof(*f->frames));
	for (f->n = 0; f->n < shown->n; f->n++)
		f->frames[f->n] = place_frame(&shown->at[f->n], f, next);
	free(next);
}

/* Without a sample there is still a root. */
static void place_root(struct flame *f)
{
	f->frames = mem_zeroed(1, sizeof(*f->frames));
	f->frames[0].place = NONE;
	f->n = 1;
	f->levels = 1;
}

static void show(struct flame *f, const struct call_tree *t, const struct config *cfg)
{
	struct call_limits limits = { 0, FLAME_MOST_FRAMES, FLAME_MOST_LEVELS - 1 };
	struct call_frames shown;
	struct call_frame root;
	double width;

	call_tree_frame(t, call_tree_root(t), &root);
	width = root.more + root.less;
	limits.narrowest = width * f->cuts.narrowest;
	if (cfg->nodecount > 0 && cfg->nodecount < FLAME_MOST_FRAMES)
		limits.most = (size_t)cfg->nodecount + 1; /* the root is not one of them */
	call_tree_show(t, call_tree_root(t), &limits, &shown);
	f->cuts.narrow = shown.narrow;
	f->cuts.deep = shown.deep;
	f->cuts.negative = shown.negative;
	f->cuts.over_the_top = shown.over_the_top;
	if (shown.over_the_top)
		f->cuts.narrowest = shown.narrowest / width;
	if (shown.n)
		place_frames(f, &shown);
	else
		place_root(f);
	free(shown.at);
}

void flame_init(struct flame *f, struct report *r, double narrowest)
{
	struct call_tree t;

	*f = (struct flame){ 0 };
	f->cuts.narrowest = r->cfg.nodefraction > narrowest ? r->cfg.nodefraction : narrowest;
	call_tree_init(&t, r, f->cuts.narrowest);
	f->nsamples = t.nsamples;
	f->nsamples_before = t.nsamples_before;
	f->has_base = t.has_base;
	f->compared = t.compared;
	show(f, &t, &r->cfg);
	f->nodes = t.nodes;
	t.shares_nodes = true; /* from here on they are the picture's */
	call_tree_release(&t);
}

void flame_release(struct flame *f)
{
	nodes_release(&f->nodes);
	free(f->frames);
}
