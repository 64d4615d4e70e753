/*
 * outline-edges.c - who calls whom, by an outline
 *
 * Nearly every pair of nodes that are heavy calls one another somewhere.  So each pair has a cell
 * of its own, where the numbers of both say, and nothing needs to be searched.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "graph/outline.h"

#include "base/wrap.h"
#include "base/xalloc.h"

#include <stdlib.h>

/* Edges whose cells are waited for together. */
enum { PENDING = 128 };

struct cell {
	int64_t weight;
	uint32_t stamp; /* of the last sample that had it; 0: there is no such edge */
	bool residual;
	bool direct; /* a call that was not inlined */
};

struct outline_walk {
	struct outline *o;
	const struct nodes *n;
	const struct selection *s;
	uint32_t *index; /* per number: its row and column, or NONE if it is not kept any more */
	uint32_t *node;  /* per row: the node */
	uint32_t size;
	struct cell *cells[PAR_MOST]; /* caller by caller */
};

/* Edges that are still to be added, of one thread. */
struct pending {
	struct cell *cells;
	size_t n;
	struct {
		int64_t w;
		uint32_t cell, stamp;
		bool residual, inlined;
	} at[PENDING];
};

static void add_pending(struct pending *p)
{
	for (size_t i = 0; i < p->n; i++) {
		struct cell *c = &p->cells[p->at[i].cell];

		if (c->stamp == p->at[i].stamp)
			continue;
		c->stamp = p->at[i].stamp;
		c->weight = wrap_add(c->weight, p->at[i].w);
		c->residual |= p->at[i].residual;
		c->direct |= !p->at[i].inlined;
	}
	p->n = 0;
}

/* The edges of one sample.  Where the marks of the next one begin. */
static const uint16_t *add_sample(const struct outline_walk *walk, const uint16_t *mark,
				  struct pending *p, int64_t w, uint32_t stamp)
{
	uint32_t caller = NONE;
	bool residual = false;

	for (; !outline_is_end(*mark); mark++) {
		uint32_t callee = walk->index[*mark >> OUTLINE_SHIFT];

		residual |= *mark & OUTLINE_RESIDUAL;
		if (callee == NONE) {
			residual = true;
			continue;
		}
		if (caller != NONE && caller != callee) {
			uint32_t cell = caller * walk->size + callee;

			__builtin_prefetch(&p->cells[cell], 1);
			p->at[p->n].w = w;
			p->at[p->n].cell = cell;
			p->at[p->n].stamp = stamp;
			p->at[p->n].residual = residual;
			p->at[p->n].inlined = *mark & OUTLINE_INLINED;
			if (++p->n == PENDING)
				add_pending(p);
		}
		caller = callee;
		residual = false;
	}
	return mark + 1;
}

static void walk_share(int t, void *ctx)
{
	struct outline_walk *walk = ctx;
	struct outline *o = walk->o;
	const struct profile *p = walk->n->p;
	size_t end = walk_begin(p, t + 1, o->width);
	const uint16_t *marks = o->shares[t].marks;
	struct stack_reader reader;
	struct pending pending;

	pending.n = 0;
	pending.cells = mem_zeroed((size_t)walk->size * walk->size, sizeof(*pending.cells));
	stack_reader_init(&reader, p);
	for (size_t i = walk_begin(p, t, o->width); i < end; i++) {
		int64_t w = selected_value(walk->s, p, i);

		if (w == 0)
			continue;
		if (o->state == OUTLINE_NONE)
			marks = outline_note(o, t, stack_read(&reader, i));
		marks = add_sample(walk, marks, &pending, w, (uint32_t)i + 1);
	}
	add_pending(&pending);
	stack_reader_release(&reader);
	walk->cells[t] = pending.cells;
}

/* Adds what the other threads have to the cells of the first.  How many edges there are. */
static size_t merge(const struct outline_walk *walk)
{
	size_t n = (size_t)walk->size * walk->size, found = 0;

	for (int t = 1; t < walk->o->width; t++) {
		for (size_t i = 0; i < n; i++) {
			struct cell *to = &walk->cells[0][i];
			const struct cell *from = &walk->cells[t][i];

			to->weight = wrap_add(to->weight, from->weight);
			to->stamp |= from->stamp;
			to->residual |= from->residual;
			to->direct |= from->direct;
		}
		free(walk->cells[t]);
	}
	for (size_t i = 0; i < n; i++)
		found += walk->cells[0][i].stamp != 0;
	return found;
}

static struct edge *list(const struct outline_walk *walk, size_t n)
{
	struct edge *edges = mem_new(n, sizeof(*edges));
	const struct cell *c = walk->cells[0];
	size_t k = 0;

	for (uint32_t caller = 0; caller < walk->size; caller++) {
		for (uint32_t callee = 0; callee < walk->size; callee++, c++) {
			if (c->stamp)
				edges[k++] = (struct edge){ .src = walk->node[caller],
							    .dst = walk->node[callee],
							    .weight = c->weight,
							    .residual = c->residual,
							    .inlined = !c->direct };
		}
	}
	free(walk->cells[0]);
	return edges;
}

/* Gives rows and columns to those that are still kept. */
static void find_rows(struct outline_walk *walk, const uint8_t *kept)
{
	const struct outline *o = walk->o;

	walk->index = mem_new(o->nnumbers, sizeof(*walk->index));
	walk->node = mem_new((size_t)o->nnumbers + 1, sizeof(*walk->node));
	for (uint32_t i = 0; i < o->nnumbers; i++) {
		bool is_kept = !kept || kept[o->node[i]];

		walk->index[i] = is_kept ? walk->size : NONE;
		walk->node[walk->size] = o->node[i]; /* unless it is, the next takes its place */
		walk->size += is_kept;
	}
}

static bool is_worth_it(const struct nodes *n, const struct selection *s, const uint8_t *kept)
{
	uint32_t nkept = 0;

	for (uint32_t i = 0; i < n->n; i++)
		nkept += !kept || kept[i];
	return nkept <= OUTLINE_NODES && !s->mean;
}

bool outline_edges(struct outline *o, const struct nodes *n, const struct selection *s,
		   const uint8_t *kept, struct edge **edges, size_t *nedges)
{
	struct outline_walk walk = { .o = o, .n = n, .s = s };

	if (o->state == OUTLINE_NONE && !is_worth_it(n, s, kept))
		o->state = OUTLINE_REFUSED;
	if (o->state == OUTLINE_REFUSED)
		return false;
	if (o->state == OUTLINE_NONE)
		outline_begin(o, n, kept);
	find_rows(&walk, kept);
	par_run(o->width, walk_share, &walk);
	if (o->state == OUTLINE_NONE)
		outline_end(o);
	*nedges = merge(&walk);
	*edges = list(&walk, *nedges);
	free(walk.index);
	free(walk.node);
	return true;
}
