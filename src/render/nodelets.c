/*
 * nodelets.c - the small boxes next to a node of a picture: labels, and sizes
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "render/nodelets.h"

#include "base/cleanup.h"
#include "base/out.h"
#include "base/units.h"
#include "base/wrap.h"
#include "base/xalloc.h"
#include "graph/graph.h"
#include "profile/profile.h"
#include "report/report.h"

#include <stdio.h>
#include <stdlib.h>

enum { MOST = 4 };

/* A box: a tag, or several sizes put together. */
struct box {
	struct str name;
	uint32_t label; /* string */
	int64_t value;
	struct weight w;
};

void nodelets_init(struct nodelets *n, struct report *r, struct graph *g)
{
	int64_t cutoff = g->tag_cutoff;
	size_t k = 0;

	*n = (struct nodelets){ .r = r, .g = g };
	n->tags = mem_new(g->tags.n, sizeof(*n->tags));
	n->first = mem_zeroed((size_t)g->nnodes + 2, sizeof(*n->first));
	for (size_t i = 0; i < g->tags.n; i++)
		n->first[g->tags.at[i].node + 1] += tag_is_heavy(&g->tags.at[i], cutoff);
	for (uint32_t i = 0; i < g->nnodes; i++) {
		size_t count = n->first[i + 1];

		n->first[i + 1] = k;
		k += count;
	}
	for (size_t i = 0; i < g->tags.n; i++) {
		if (tag_is_heavy(&g->tags.at[i], cutoff))
			n->tags[n->first[g->tags.at[i].node + 1]++] = &g->tags.at[i];
	}
}

void nodelets_release(struct nodelets *n)
{
	free(n->tags);
	free(n->first);
}

/* ------------------------------------------------------------------ order */

static int64_t box_flat(const struct box *b)
{
	return b->w.flat_div ? wrap_div(b->w.flat, b->w.flat_div) : b->w.flat;
}

static int64_t box_cum(const struct box *b)
{
	return b->w.cum_div ? wrap_div(b->w.cum, b->w.cum_div) : b->w.cum;
}

/* Negative, 0 or positive as |a| is larger than, as large as or smaller than |b|. */
static int compare_sizes(int64_t a, int64_t b)
{
	if (a == b || abs_i64(a) == abs_i64(b))
		return 0;
	return abs_i64(a) > abs_i64(b) ? -1 : 1;
}

static int by_flat(const void *a, const void *b)
{
	const struct box *x = a, *y = b;
	int c = compare_sizes(x->w.flat, y->w.flat);

	return c ? c : str_cmp(x->name, y->name);
}

static int by_cum(const void *a, const void *b)
{
	const struct box *x = a, *y = b;
	int c = compare_sizes(x->w.cum, y->w.cum);

	return c ? c : by_flat(a, b);
}

static void sort_boxes(struct box *boxes, size_t n, bool flat)
{
	qsort(boxes, n, sizeof(*boxes), flat ? by_flat : by_cum);
}

/* ------------------------------------------------------------------ sizes */

static int64_t distance(int64_t a, int64_t b)
{
	return a < b ? wrap_add(b, -a) : wrap_add(a, -b);
}

struct group {
	int64_t seed, min, max;
	struct weight w;
	size_t n;
};

static void add_to_group(struct group *g, const struct box *b)
{
	if (g->n == 0)
		g->seed = g->min = g->max = b->value;
	g->min = b->value < g->min ? b->value : g->min;
	g->max = b->value > g->max ? b->value : g->max;
	g->w.flat = wrap_add(g->w.flat, b->w.flat);
	g->w.cum = wrap_add(g->w.cum, b->w.cum);
	g->w.flat_div = wrap_add(g->w.flat_div, b->w.flat_div);
	g->w.cum_div = wrap_add(g->w.cum_div, b->w.cum_div);
	g->n++;
}

static struct str size_text(struct nodelets *n, int64_t value)
{
	struct unit_target natural = { STR("auto"), n->r->unit.minutes };
	uint32_t bytes = profile_lookup(n->r->v, STR("bytes"));
	struct str text;
	struct out o;

	out_init(&o, 0);
	unit_print(&o, value, label_unit(&n->r->units, bytes), natural);
	text = xarena_str(&n->r->arena, out_view(&o));
	out_release(&o);
	return text;
}

static struct box box_of_group(struct nodelets *n, const struct group *g)
{
	struct box b = { .w = g->w };

	/* The sums of a group are means already, and are not divided again. */
	b.w.flat = box_flat(&b);
	b.w.cum = box_cum(&b);
	b.w.flat_div = b.w.cum_div = 0;
	b.name = size_text(n, g->min);
	if (g->n > 1)
		b.name = xarena_printf(&n->r->arena, "%.*s..%.*s", STR_ARG(b.name),
				       STR_ARG(size_text(n, g->max)));
	return b;
}

/* Puts each size into the group of the nearest of the four heaviest. */
static size_t collapse(struct nodelets *n, struct box *boxes, size_t count, bool flat)
{
	struct group groups[MOST] = { 0 };

	sort_boxes(boxes, count, flat);
	if (count <= MOST)
		return count;
	for (size_t i = 0; i < MOST; i++)
		add_to_group(&groups[i], &boxes[i]);
	for (size_t i = MOST; i < count; i++) {
		size_t best = 0;

		for (size_t k = 1; k < MOST; k++) {
			if (distance(boxes[i].value, groups[k].seed) <
			    distance(boxes[i].value, groups[best].seed))
				best = k;
		}
		add_to_group(&groups[best], &boxes[i]);
	}
	for (size_t i = 0; i < MOST; i++)
		boxes[i] = box_of_group(n, &groups[i]);
	sort_boxes(boxes, MOST, flat);
	return MOST;
}

static void print_size(struct nodelets *n, struct out *o, const char *source, size_t i,
		       const struct box *b, bool flat)
{
	bool whole = flat || box_flat(b) == box_cum(b);
	int64_t w = whole ? box_flat(b) : box_cum(b);
	struct str weight;

	if (w == 0)
		return;
	weight = report_value_str(n->r, w);
	out_printf(o, "N%s_%zu [label = \"", source, i);
	out_str(o, b->name);
	out_printf(o, "\" id=\"N%s_%zu\" fontsize=8 shape=box3d tooltip=\"%.*s\"]\n", source, i,
		   STR_ARG(weight));
	out_printf(o,
		   "%s -> N%s_%zu [label=\" %.*s\" weight=100 tooltip=\"%.*s\" "
		   "labeltooltip=\"%.*s\"%s]\n",
		   source, source, i, STR_ARG(weight), STR_ARG(weight), STR_ARG(weight),
		   whole ? "" : " style=\"dotted\"");
}

/* The sizes under one label of a node. */
static void print_sizes(struct nodelets *n, uint32_t node, uint32_t label, const char *source,
			bool flat, struct out *o)
{
	size_t begin = n->first[node], end = n->first[node + 1], count = 0;
	AUTO(freep) struct box *boxes = mem_new(end - begin, sizeof(*boxes));

	for (size_t i = begin; i < end; i++) {
		const struct tag *t = n->tags[i];

		if (t->number != NONE && t->label == label)
			boxes[count++] = (struct box){ .name = profile_str(n->r->v, t->number),
						       .value = t->value,
						       .w = t->w };
	}
	count = collapse(n, boxes, count, flat);
	for (size_t i = 0; i < count; i++)
		print_size(n, o, source, i, &boxes[i], flat);
}

/* ------------------------------------------------------------------ labels */

static void print_label(struct nodelets *n, struct out *o, uint32_t id, size_t i,
			const struct box *b, int64_t w)
{
	struct str weight = report_value_str(n->r, w);

	out_printf(o, "N%u_%zu [label = \"", id, i);
	out_str(o, b->name);
	out_printf(o, "\" id=\"N%u_%zu\" fontsize=8 shape=box3d tooltip=\"%.*s\"]\n", id, i,
		   STR_ARG(weight));
	out_printf(o,
		   "N%u -> N%u_%zu [label=\" %.*s\" weight=100 tooltip=\"%.*s\" "
		   "labeltooltip=\"%.*s\"]\n",
		   id, id, i, STR_ARG(weight), STR_ARG(weight), STR_ARG(weight));
}

bool nodelets_print(struct nodelets *n, uint32_t node, uint32_t id, struct out *o)
{
	size_t begin = n->first[node], end = n->first[node + 1], count = 0;
	AUTO(freep) struct box *boxes = mem_new(end - begin, sizeof(*boxes));
	bool flat = n->g->nodes[node].nout > 0;
	char source[48];
	struct out own;

	out_init(&own, 0);
	for (size_t i = begin; i < end; i++) {
		const struct tag *t = n->tags[i];

		if (t->number == NONE)
			boxes[count++] = (struct box){ .name = profile_str(n->r->v, t->label),
						       .label = t->label,
						       .w = t->w };
	}
	sort_boxes(boxes, count, flat);
	for (size_t i = 0; i < count && i < MOST; i++) {
		int64_t w = flat ? box_flat(&boxes[i]) : box_cum(&boxes[i]);

		if (w == 0)
			continue;
		print_label(n, &own, id, i, &boxes[i], w);
		snprintf(source, sizeof(source), "N%u_%zu", id, i);
		print_sizes(n, node, boxes[i].label, source, flat, &own);
	}
	snprintf(source, sizeof(source), "N%u", id);
	print_sizes(n, node, 0, source, flat, &own);
	out_str(o, out_view(&own));
	begin = own.n;
	out_release(&own);
	return begin > 0;
}
