/*
 * walk.c - go through all stacks and add up
 *
 * "Once per sample" is kept track of with stamps: a node or edge that carries the number of the
 * current sample has been counted for it.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "graph/walk.h"

#include "base/par.h"
#include "base/wrap.h"
#include "base/xalloc.h"

#include <stdlib.h>

enum { PARALLEL_STACKS = 1 << 16, MOST_THREADS = 8 };

static int width_for(const struct profile *p)
{
	return p->nstacks < PARALLEL_STACKS ? 1 : par_width();
}

/* The samples that thread 't' of 'width' looks at. */
static size_t begin_of(const struct profile *p, int t, int width)
{
	return p->nsamples * (size_t)t / (size_t)width;
}

/* ------------------------------------------------------------------ nodes */

struct node_sum {
	int64_t flat, cum;
	uint32_t stamp;
};

struct node_walk {
	const struct nodes *n;
	const struct selection *s;
	int width;
	struct node_sum *sums[MOST_THREADS];
	struct weight *divs[MOST_THREADS]; /* with a mean: its divisors only */
};

/* Adds one sample; returns the leaf, or NONE for an empty stack. */
static uint32_t add_stack(const struct nodes *n, const struct sample *s, struct node_sum *sums,
			  int64_t w, uint32_t stamp)
{
	const uint32_t *stack = n->p->stacks + s->stack;
	uint32_t node = NONE;

	for (uint32_t i = s->depth; i-- > 0;) {
		uint32_t first = n->first[stack[i]];

		for (uint32_t f = n->first[stack[i] + 1]; f-- > first;) {
			node = n->frame[f];
			if (sums[node].stamp == stamp)
				continue;
			sums[node].stamp = stamp;
			sums[node].cum = wrap_add(sums[node].cum, w);
		}
	}
	return node;
}

/* The same for the divisors of a mean; rare enough to walk the stack a second time. */
static void add_divisors(const struct nodes *n, const struct sample *s, struct node_sum *sums,
			 struct weight *divs, int64_t d, uint32_t leaf)
{
	const uint32_t *stack = n->p->stacks + s->stack;

	for (uint32_t i = 0; i < s->depth; i++) {
		for (uint32_t f = n->first[stack[i]]; f < n->first[stack[i] + 1]; f++) {
			struct node_sum *sum = &sums[n->frame[f]];

			if (sum->stamp == 0)
				continue;
			sum->stamp = 0;
			divs[n->frame[f]].cum_div = wrap_add(divs[n->frame[f]].cum_div, d);
		}
	}
	if (leaf != NONE)
		divs[leaf].flat_div = wrap_add(divs[leaf].flat_div, d);
}

static void walk_share(int t, void *ctx)
{
	struct node_walk *walk = ctx;
	const struct nodes *n = walk->n;
	const struct profile *p = n->p;
	struct node_sum *sums = xcalloc(n->n, sizeof(*sums));
	struct weight *divs = walk->s->mean ? xcalloc(n->n, sizeof(*divs)) : NULL;
	size_t end = begin_of(p, t + 1, walk->width);

	for (size_t i = begin_of(p, t, walk->width); i < end; i++) {
		int64_t w = selected_value(walk->s, p, i), d = selected_divisor(walk->s, p, i);
		uint32_t leaf;

		if (w == 0 && d == 0)
			continue;
		leaf = add_stack(n, &p->samples[i], sums, w, (uint32_t)i + 1);
		if (leaf != NONE)
			sums[leaf].flat = wrap_add(sums[leaf].flat, w);
		if (divs)
			add_divisors(n, &p->samples[i], sums, divs, d, leaf);
	}
	walk->sums[t] = sums;
	walk->divs[t] = divs;
}

void walk_nodes(const struct nodes *n, const struct selection *s, struct weight *weights)
{
	struct node_walk walk = { .n = n, .s = s, .width = width_for(n->p) };

	par_run(walk.width, walk_share, &walk);
	for (int t = 0; t < walk.width; t++) {
		for (uint32_t i = 0; i < n->n; i++) {
			struct weight *to = &weights[i];

			to->flat = wrap_add(to->flat, walk.sums[t][i].flat);
			to->cum = wrap_add(to->cum, walk.sums[t][i].cum);
			if (!walk.divs[t])
				continue;
			to->flat_div = wrap_add(to->flat_div, walk.divs[t][i].flat_div);
			to->cum_div = wrap_add(to->cum_div, walk.divs[t][i].cum_div);
		}
		free(walk.sums[t]);
		free(walk.divs[t]);
	}
}

/* ------------------------------------------------------------------ edges */

#define NO_EDGE UINT64_MAX

struct edge_sum {
	uint64_t key; /* caller << 32 | callee */
	int64_t weight, div;
	uint32_t stamp;
	bool residual, inlined;
};

struct edge_sums {
	struct edge_sum *slots;
	size_t mask, used;
};

static void edge_sums_init(struct edge_sums *e, size_t size)
{
	*e = (struct edge_sums){ .slots = xmalloc(size, sizeof(*e->slots)), .mask = size - 1 };
	for (size_t i = 0; i < size; i++)
		e->slots[i].key = NO_EDGE;
}

static struct edge_sum *find_slot(const struct edge_sums *e, uint64_t key)
{
	size_t i = hash_mix(key, 5) & e->mask;

	while (e->slots[i].key != key && e->slots[i].key != NO_EDGE)
		i = (i + 1) & e->mask;
	return &e->slots[i];
}

static void edge_sums_grow(struct edge_sums *e)
{
	struct edge_sums bigger;

	edge_sums_init(&bigger, (e->mask + 1) * 2);
	for (size_t i = 0; i <= e->mask; i++) {
		if (e->slots[i].key != NO_EDGE)
			*find_slot(&bigger, e->slots[i].key) = e->slots[i];
	}
	bigger.used = e->used;
	free(e->slots);
	*e = bigger;
}

static struct edge_sum *edge_sum_for(struct edge_sums *e, uint64_t key)
{
	struct edge_sum *slot = find_slot(e, key);

	if (slot->key == key)
		return slot;
	if (e->used * 2 > e->mask) {
		edge_sums_grow(e);
		slot = find_slot(e, key);
	}
	*slot = (struct edge_sum){ .key = key, .inlined = true };
	e->used++;
	return slot;
}

struct edge_walk {
	const struct nodes *n;
	const struct selection *s;
	const uint8_t *kept, *wanted;
	int width;
	struct edge_sums sums[MOST_THREADS];
};

/* What is the same for all edges of one sample. */
struct stamp {
	int64_t w, d;
	uint32_t number;
};

static void add_edge(struct edge_sums *sums, uint32_t src, uint32_t dst, const struct stamp *s,
		     bool residual, bool inlined)
{
	struct edge_sum *e = edge_sum_for(sums, (uint64_t)src << 32 | dst);

	if (e->stamp == s->number)
		return;
	e->stamp = s->number;
	e->weight = wrap_add(e->weight, s->w);
	e->div = wrap_add(e->div, s->d);
	e->residual |= residual;
	e->inlined &= inlined;
}

static void add_edges(const struct edge_walk *walk, const struct sample *s, struct edge_sums *sums,
		      const struct stamp *stamp)
{
	const struct nodes *n = walk->n;
	const uint32_t *stack = n->p->stacks + s->stack;
	uint32_t parent = NONE;
	bool residual = false;

	for (uint32_t i = s->depth; i-- > 0;) {
		uint32_t first = n->first[stack[i]], outermost = n->first[stack[i] + 1] - 1;

		for (uint32_t f = outermost + 1; f-- > first;) {
			uint32_t node = n->frame[f];

			if (walk->kept && !walk->kept[node]) {
				residual = true;
				continue;
			}
			if (parent != NONE && node != parent &&
			    (!walk->wanted || walk->wanted[node]))
				add_edge(sums, parent, node, stamp, residual, f != outermost);
			parent = node;
			residual = false;
		}
	}
}

static void walk_edge_share(int t, void *ctx)
{
	struct edge_walk *walk = ctx;
	const struct profile *p = walk->n->p;
	size_t end = begin_of(p, t + 1, walk->width);

	edge_sums_init(&walk->sums[t], 1024);
	for (size_t i = begin_of(p, t, walk->width); i < end; i++) {
		struct stamp stamp = { selected_value(walk->s, p, i),
				       selected_divisor(walk->s, p, i), (uint32_t)i + 1 };

		if (stamp.w || stamp.d)
			add_edges(walk, &p->samples[i], &walk->sums[t], &stamp);
	}
}

static void add_sums(struct edge_sums *to, struct edge_sums *from)
{
	for (size_t i = 0; i <= from->mask; i++) {
		const struct edge_sum *f = &from->slots[i];
		struct edge_sum *e;

		if (f->key == NO_EDGE)
			continue;
		e = edge_sum_for(to, f->key);
		e->weight = wrap_add(e->weight, f->weight);
		e->div = wrap_add(e->div, f->div);
		e->residual |= f->residual;
		e->inlined &= f->inlined;
	}
	free(from->slots);
}

static int by_key(const void *a, const void *b)
{
	const struct edge *x = a, *y = b;

	if (x->src != y->src)
		return x->src < y->src ? -1 : 1;
	return (x->dst > y->dst) - (x->dst < y->dst);
}

struct edge *walk_edges(const struct nodes *n, const struct selection *s, const uint8_t *kept,
			const uint8_t *wanted, size_t *nedges)
{
	struct edge_walk walk = { n, s, kept, wanted, width_for(n->p), { { 0 } } };
	struct edge_sums *sums = &walk.sums[0];
	struct edge *edges;
	size_t k = 0;

	par_run(walk.width, walk_edge_share, &walk);
	for (int t = 1; t < walk.width; t++)
		add_sums(sums, &walk.sums[t]);
	edges = xmalloc(sums->used, sizeof(*edges));
	for (size_t i = 0; i <= sums->mask; i++) {
		const struct edge_sum *e = &sums->slots[i];

		if (e->key == NO_EDGE)
			continue;
		edges[k++] = (struct edge){ .src = (uint32_t)(e->key >> 32),
					    .dst = (uint32_t)e->key,
					    .weight = e->weight,
					    .weight_div = e->div,
					    .residual = e->residual,
					    .inlined = e->inlined };
	}
	free(sums->slots);
	qsort(edges, k, sizeof(*edges), by_key);
	*nedges = k;
	return edges;
}
