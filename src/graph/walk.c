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
#include "base/units.h"
#include "base/wrap.h"
#include "base/xalloc.h"
#include "profile/stack.h"

#include <stdlib.h>

enum { PARALLEL_STACKS = 1 << 16, PICK = 64, PENDING = 64, LARGEST_GRID = 1 << 19 };

int walk_width(const struct profile *p)
{
	return p->nstacks < PARALLEL_STACKS ? 1 : par_width();
}

size_t walk_begin(const struct profile *p, int share, int width)
{
	return p->nsamples * (size_t)share / (size_t)width;
}

/* ------------------------------------------------------------------ nodes */

struct node_sum {
	int64_t cum;
	uint32_t stamp;
};

struct node_walk {
	const struct nodes *n;
	const struct selection *s;
	int width;
	struct node_sum *sums[PAR_MOST];
	int64_t *flats[PAR_MOST];
	uint64_t *many[PAR_MOST];      /* per location with several frames */
	struct weight *divs[PAR_MOST]; /* with a mean: its divisors only */
};

static inline void add_once(struct node_sum *sum, int64_t w, uint32_t stamp)
{
	/* Without a branch, which would go wrong at every recursion: it adds 0 the second time. */
	sum->cum = wrap_add(sum->cum, sum->stamp == stamp ? 0 : w);
	sum->stamp = stamp;
}

/*
 * Adds one sample.  The innermost frames of all locations come first; locations with more frames
 * are set aside meanwhile, without a branch that nobody could predict.
 */
static void add_stack(const struct nodes *n, struct stack_list stack, struct node_sum *sums,
		      uint64_t *many, int64_t w, uint32_t stamp)
{
	uint32_t picked[PICK];

	for (uint32_t begin = 0; begin < stack.n; begin += PICK) {
		uint32_t end = stack.n - begin > PICK ? begin + PICK : stack.n, npicked = 0;

		for (uint32_t i = begin; i < end; i++) {
			uint32_t lead = n->lead[stack.at[i]];

			add_once(&sums[lead & ~NODE_MANY], w, stamp);
			picked[npicked] = stack.at[i];
			npicked += (lead & NODE_MANY) != 0;
		}
		for (uint32_t i = 0; i < npicked; i++) {
			uint32_t loc = picked[i];

			many[loc] += (uint64_t)abs_i64(w);
			for (uint32_t f = n->first[loc] + 1; f < n->first[loc + 1]; f++)
				add_once(&sums[n->frame[f]], w, stamp);
		}
	}
}

/* The same for the divisors of a mean; rare enough to walk the stack a second time. */
static void add_divisors(const struct nodes *n, struct stack_list stack, struct node_sum *sums,
			 struct weight *divs, int64_t d, uint32_t leaf)
{
	for (uint32_t i = 0; i < stack.n; i++) {
		uint32_t loc = stack.at[i];

		for (uint32_t f = n->first[loc]; f < n->first[loc + 1]; f++) {
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
	struct node_sum *sums = mem_zeroed(n->n, sizeof(*sums));
	int64_t *flats = mem_zeroed(n->n, sizeof(*flats));
	uint64_t *many = mem_zeroed(p->nlocations, sizeof(*many));
	struct weight *divs = walk->s->mean ? mem_zeroed(n->n, sizeof(*divs)) : NULL;
	size_t end = walk_begin(p, t + 1, walk->width);
	struct stack_reader reader;

	stack_reader_init(&reader, p);
	for (size_t i = walk_begin(p, t, walk->width); i < end; i++) {
		int64_t w = selected_value(walk->s, p, i), d = selected_divisor(walk->s, p, i);
		struct stack_list stack;
		uint32_t leaf;

		if (w == 0 && d == 0)
			continue;
		stack = stack_read(&reader, i);
		add_stack(n, stack, sums, many, w, (uint32_t)i + 1);
		leaf = stack.n ? n->lead[stack.at[0]] & ~NODE_MANY : NONE;
		if (leaf != NONE)
			flats[leaf] = wrap_add(flats[leaf], w);
		if (divs)
			add_divisors(n, stack, sums, divs, d, leaf);
	}
	stack_reader_release(&reader);
	walk->many[t] = many;
	walk->sums[t] = sums;
	walk->flats[t] = flats;
	walk->divs[t] = divs;
}

uint64_t *walk_nodes(const struct nodes *n, const struct selection *s, struct weight *weights)
{
	struct node_walk walk = { .n = n, .s = s, .width = walk_width(n->p) };

	par_run(walk.width, walk_share, &walk);
	for (int t = 1; t < walk.width; t++) {
		for (uint32_t i = 0; i < n->p->nlocations; i++)
			walk.many[0][i] += walk.many[t][i];
		free(walk.many[t]);
	}
	for (int t = 0; t < walk.width; t++) {
		for (uint32_t i = 0; i < n->n; i++) {
			struct weight *to = &weights[i];

			to->flat = wrap_add(to->flat, walk.flats[t][i]);
			to->cum = wrap_add(to->cum, walk.sums[t][i].cum);
			if (!walk.divs[t])
				continue;
			to->flat_div = wrap_add(to->flat_div, walk.divs[t][i].flat_div);
			to->cum_div = wrap_add(to->cum_div, walk.divs[t][i].cum_div);
		}
		free(walk.sums[t]);
		free(walk.flats[t]);
		free(walk.divs[t]);
	}
	return walk.many[0];
}

/* ------------------------------------------------------------------ edges */

/* An empty slot.  (No node calls itself over an edge, so no key is 0.) */
#define NO_EDGE 0

struct edge_sum {
	int64_t weight;
	uint32_t stamp;
	bool found, residual, inlined;
};

/*
 * Where few nodes are kept, nearly every pair of them is an edge: then each pair has a place of its
 * own, and nothing needs to be searched.
 */
struct grid {
	uint32_t *src, *dst;         /* per node: its column and its row */
	uint32_t *callers, *callees; /* per column and row: the node */
	size_t nsrc, ndst;
};

struct edge_sums {
	const struct grid *grid; /* NULL: a hash table */
	struct edge_sum *slots;
	uint64_t *keys; /* of a hash table, per slot: caller << 32 | callee */
	int64_t *divs;  /* with a mean: the divisor of each slot, else NULL */
	size_t mask, used;
};

static void edge_sums_init(struct edge_sums *e, const struct grid *grid, size_t size, bool mean)
{
	*e = (struct edge_sums){ .grid = grid,
				 .slots = mem_zeroed(size, sizeof(*e->slots)),
				 .mask = size - 1 };
	if (!grid)
		e->keys = mem_zeroed(size, sizeof(*e->keys));
	if (mean)
		e->divs = mem_zeroed(size, sizeof(*e->divs));
}

static void edge_sums_release(struct edge_sums *e)
{
	free(e->slots);
	free(e->keys);
	free(e->divs);
}

/* Where the edge is, or would be if no other were in its way. */
static size_t first_slot(const struct edge_sums *e, uint64_t key)
{
	if (e->grid)
		return e->grid->dst[(uint32_t)key] * e->grid->nsrc + e->grid->src[key >> 32];
	return hash_mix(key, 5) & e->mask;
}

static size_t find_slot(const struct edge_sums *e, uint64_t key)
{
	size_t i = first_slot(e, key);

	while (e->keys && e->keys[i] != key && e->keys[i] != NO_EDGE)
		i = (i + 1) & e->mask;
	return i;
}

static uint64_t key_of(const struct edge_sums *e, size_t slot)
{
	const struct grid *g = e->grid;

	return g ? (uint64_t)g->callers[slot % g->nsrc] << 32 | g->callees[slot / g->nsrc]
		 : e->keys[slot];
}

static void edge_sums_grow(struct edge_sums *e)
{
	struct edge_sums bigger;

	edge_sums_init(&bigger, NULL, (e->mask + 1) * 2, e->divs);
	for (size_t i = 0; i <= e->mask; i++) {
		size_t to;

		if (!e->slots[i].found)
			continue;
		to = find_slot(&bigger, e->keys[i]);
		bigger.slots[to] = e->slots[i];
		bigger.keys[to] = e->keys[i];
		if (e->divs)
			bigger.divs[to] = e->divs[i];
	}
	bigger.used = e->used;
	edge_sums_release(e);
	*e = bigger;
}

static size_t edge_slot_for(struct edge_sums *e, uint64_t key)
{
	size_t i = find_slot(e, key);

	if (e->slots[i].found)
		return i;
	if (!e->grid && e->used * 4 > e->mask * 3) {
		edge_sums_grow(e);
		i = find_slot(e, key);
	}
	e->slots[i] = (struct edge_sum){ .found = true, .inlined = true };
	if (e->keys)
		e->keys[i] = key;
	e->used++;
	return i;
}

/* What a location is to the locations that it calls, and to those that call it. */
struct place {
	uint32_t caller; /* its innermost frame that is kept, or NONE */
	uint32_t callee; /* its only frame, if edges to that are to be recorded; else NONE */
	bool residual;   /* there are frames below the caller, which are not kept */
};

struct edge_walk {
	const struct nodes *n;
	const struct selection *s;
	const uint8_t *kept, *wanted;
	bool around; /* edges from the nodes that are wanted, too */
	int width;
	struct grid grid;
	bool use_grid;
	struct place *places; /* per location */
	uint8_t *calls;       /* per location: a frame of it is the callee of an edge to record */
	struct edge_sums sums[PAR_MOST];
};

/* What is the same for all edges of one sample. */
struct stamp {
	int64_t w, d;
	uint32_t number;
};

/*
 * Edges of one sample that are still to be added.  Where each of them is summed up is a cache miss;
 * known in advance, the misses do not wait for each other.
 */
struct pending {
	size_t n;
	struct {
		uint64_t key;
		bool residual, inlined;
	} edges[PENDING];
};

static void add_edge(struct edge_sums *sums, uint64_t key, const struct stamp *s, bool residual,
		     bool inlined)
{
	size_t i = edge_slot_for(sums, key);
	struct edge_sum *e = &sums->slots[i];

	if (e->stamp == s->number)
		return;
	e->stamp = s->number;
	e->weight = wrap_add(e->weight, s->w);
	if (sums->divs)
		sums->divs[i] = wrap_add(sums->divs[i], s->d);
	e->residual |= residual;
	e->inlined &= inlined;
}

static void add_pending(struct edge_sums *sums, struct pending *p, const struct stamp *s)
{
	for (size_t i = 0; i < p->n; i++)
		add_edge(sums, p->edges[i].key, s, p->edges[i].residual, p->edges[i].inlined);
	p->n = 0;
}

static void add_soon(struct edge_sums *sums, struct pending *p, uint64_t key, const struct stamp *s,
		     bool residual, bool inlined)
{
	size_t slot;

	if (p->n == PENDING)
		add_pending(sums, p, s);
	p->edges[p->n].key = key;
	p->edges[p->n].residual = residual;
	p->edges[p->n++].inlined = inlined;
	slot = first_slot(sums, key);
	__builtin_prefetch(&sums->slots[slot], 1);
	if (sums->keys)
		__builtin_prefetch(&sums->keys[slot]);
}

/* The nearest frame above location 'i' that is kept, or NONE; says whether others are between. */
static uint32_t caller_above(const struct edge_walk *walk, const uint32_t *stack, uint32_t i,
			     uint32_t depth, bool *residual)
{
	for (i++; i < depth; i++) {
		struct place p = walk->places[stack[i]];

		*residual |= p.residual || p.caller == NONE;
		if (p.caller != NONE)
			return p.caller;
	}
	return NONE;
}

/* The same where all callees are of interest: then it is in 'above', the last that was picked. */
static uint32_t caller_picked(const struct edge_walk *walk, const uint32_t *stack, uint32_t i,
			      uint32_t above, bool *residual)
{
	if (above == NONE)
		return NONE;
	*residual = above != i + 1 || walk->places[stack[above]].residual;
	return walk->places[stack[above]].caller;
}

static bool is_wanted(const struct edge_walk *walk, uint32_t parent, uint32_t node)
{
	return !walk->wanted || walk->wanted[node] || (walk->around && walk->wanted[parent]);
}

/* The edges to the frames of one location, whose caller is 'parent'. */
static void add_location_edges(const struct edge_walk *walk, uint32_t loc, uint32_t parent,
			       bool residual, struct edge_sums *sums, struct pending *pending,
			       const struct stamp *stamp)
{
	const struct nodes *n = walk->n;
	uint32_t first = n->first[loc], outermost = n->first[loc + 1] - 1;

	for (uint32_t f = outermost + 1; f-- > first;) {
		uint32_t node = n->frame[f];

		if (walk->kept && !walk->kept[node]) {
			residual = true;
			continue;
		}
		if (parent != NONE && node != parent && is_wanted(walk, parent, node))
			add_soon(sums, pending, (uint64_t)parent << 32 | node, stamp, residual,
				 f != outermost);
		parent = node;
		residual = false;
	}
}

/* Picks the locations from 'begin' on with a callee of interest.  How many they are. */
static uint32_t pick(const struct edge_walk *walk, const uint32_t *stack, uint32_t begin,
		     uint32_t end, uint32_t *picked)
{
	uint32_t n = 0;

	for (uint32_t i = begin; i < end; i++) {
		picked[n] = i;
		n += walk->calls[stack[i]];
	}
	return n;
}

/* The same, and those that such a location calls. */
static uint32_t pick_around(const struct edge_walk *walk, const uint32_t *stack, uint32_t begin,
			    uint32_t end, uint32_t depth, uint32_t *picked)
{
	uint32_t n = 0;

	for (uint32_t i = begin; i < end; i++) {
		picked[n] = i;
		n += walk->calls[stack[i]] | walk->calls[stack[i + 1 < depth ? i + 1 : i]];
	}
	return n;
}

/*
 * From the root down, since of two equal edges in one stack the upper one counts.  First the
 * locations with a callee of interest are picked out, without a branch that nobody could predict.
 */
static void add_edges(const struct edge_walk *walk, struct stack_list list, struct edge_sums *sums,
		      const struct stamp *stamp)
{
	const uint32_t *stack = list.at;
	struct pending pending;
	uint32_t picked[PICK], above = NONE;

	pending.n = 0;
	for (uint32_t end = list.n; end > 0;) {
		uint32_t begin = end > PICK ? end - PICK : 0;
		uint32_t n = walk->around ? pick_around(walk, stack, begin, end, list.n, picked)
					  : pick(walk, stack, begin, end, picked);

		while (n-- > 0) {
			bool residual = false;
			uint32_t i = picked[n], callee = walk->places[stack[i]].callee;
			uint32_t parent = walk->wanted
						  ? caller_above(walk, stack, i, list.n, &residual)
						  : caller_picked(walk, stack, i, above, &residual);

			above = i;
			if (callee == NONE)
				add_location_edges(walk, stack[i], parent, residual, sums, &pending,
						   stamp);
			else if (parent != NONE && parent != callee)
				add_soon(sums, &pending, (uint64_t)parent << 32 | callee, stamp,
					 residual, false);
		}
		end = begin;
	}
	add_pending(sums, &pending, stamp);
}

static void look_at_location(struct edge_walk *walk, uint32_t l)
{
	const struct nodes *n = walk->n;
	struct place p = { .caller = NONE, .callee = NONE };

	for (uint32_t f = n->first[l]; f < n->first[l + 1]; f++) {
		uint32_t node = n->frame[f];

		if (walk->kept && !walk->kept[node]) {
			p.residual |= p.caller == NONE;
			continue;
		}
		if (p.caller == NONE)
			p.caller = node;
		walk->calls[l] |= !walk->wanted || walk->wanted[node];
	}
	if (walk->calls[l] && n->first[l + 1] - n->first[l] == 1)
		p.callee = p.caller;
	walk->places[l] = p;
}

static void make_grid(struct edge_walk *walk)
{
	struct grid *g = &walk->grid;

	g->src = mem_new(walk->n->n, sizeof(*g->src));
	g->dst = mem_new(walk->n->n, sizeof(*g->dst));
	g->callers = mem_new((size_t)walk->n->n + 1, sizeof(*g->callers));
	g->callees = mem_new((size_t)walk->n->n + 1, sizeof(*g->callees));
	for (uint32_t i = 0; i < walk->n->n; i++) {
		bool kept = !walk->kept || walk->kept[i];

		g->src[i] = (uint32_t)g->nsrc;
		g->dst[i] = (uint32_t)g->ndst;
		g->callers[g->nsrc] = i; /* the next one takes its place unless it is kept */
		g->callees[g->ndst] = i;
		g->nsrc += kept;
		g->ndst += kept && (!walk->wanted || walk->around || walk->wanted[i]);
	}
	walk->use_grid = g->ndst && g->nsrc <= LARGEST_GRID / g->ndst;
}

static void walk_edge_share(int t, void *ctx)
{
	struct edge_walk *walk = ctx;
	const struct profile *p = walk->n->p;
	size_t end = walk_begin(p, t + 1, walk->width);
	struct stack_reader reader;

	stack_reader_init(&reader, p);
	if (walk->use_grid)
		edge_sums_init(&walk->sums[t], &walk->grid, walk->grid.nsrc * walk->grid.ndst,
			       walk->s->mean);
	else
		edge_sums_init(&walk->sums[t], NULL, 1024, walk->s->mean);
	for (size_t i = walk_begin(p, t, walk->width); i < end; i++) {
		struct stamp stamp = { selected_value(walk->s, p, i),
				       selected_divisor(walk->s, p, i), (uint32_t)i + 1 };

		if (stamp.w || stamp.d)
			add_edges(walk, stack_read(&reader, i), &walk->sums[t], &stamp);
	}
	stack_reader_release(&reader);
}

static void add_sums(struct edge_sums *to, struct edge_sums *from)
{
	for (size_t i = 0; i <= from->mask; i++) {
		const struct edge_sum *f = &from->slots[i];
		struct edge_sum *e;
		size_t k;

		if (!f->found)
			continue;
		k = edge_slot_for(to, key_of(from, i));
		e = &to->slots[k];
		e->weight = wrap_add(e->weight, f->weight);
		if (to->divs)
			to->divs[k] = wrap_add(to->divs[k], from->divs[i]);
		e->residual |= f->residual;
		e->inlined &= f->inlined;
	}
	edge_sums_release(from);
}

/* Sorts by one end of the edges, in linear time; edges with the same end keep their order. */
static void sort_by_end(const struct edge *from, struct edge *to, size_t n, uint32_t nnodes,
			bool callee)
{
	size_t *at = mem_zeroed((size_t)nnodes + 1, sizeof(*at));

	for (size_t i = 0; i < n; i++)
		at[(callee ? from[i].dst : from[i].src) + 1]++;
	for (uint32_t i = 0; i < nnodes; i++)
		at[i + 1] += at[i];
	for (size_t i = 0; i < n; i++)
		to[at[callee ? from[i].dst : from[i].src]++] = from[i];
	free(at);
}

/* Lets go of the sums. */
static struct edge *list_edges(struct edge_sums *sums, uint32_t nnodes)
{
	struct edge *edges = mem_new(sums->used, sizeof(*edges)), *sorted;
	size_t k = 0;

	for (size_t i = 0; i <= sums->mask; i++) {
		const struct edge_sum *e = &sums->slots[i];
		uint64_t key;

		if (!e->found)
			continue;
		key = key_of(sums, i);
		edges[k++] = (struct edge){ .src = (uint32_t)(key >> 32),
					    .dst = (uint32_t)key,
					    .weight = e->weight,
					    .weight_div = sums->divs ? sums->divs[i] : 0,
					    .residual = e->residual,
					    .inlined = e->inlined };
	}
	edge_sums_release(sums);
	sorted = mem_new(k, sizeof(*edges));
	sort_by_end(edges, sorted, k, nnodes, true);
	sort_by_end(sorted, edges, k, nnodes, false);
	free(sorted);
	return edges;
}

struct edge *walk_edges(const struct nodes *n, const struct selection *s, const uint8_t *kept,
			const uint8_t *wanted, bool around, size_t *nedges)
{
	struct edge_walk walk = {
		.n = n, .s = s, .kept = kept, .wanted = wanted, .around = around
	};
	struct edge *edges;

	walk.width = walk_width(n->p);
	walk.calls = mem_zeroed(n->p->nlocations, sizeof(*walk.calls));
	walk.places = mem_new(n->p->nlocations, sizeof(*walk.places));
	for (uint32_t i = 0; i < n->p->nlocations; i++)
		look_at_location(&walk, i);
	make_grid(&walk);
	par_run(walk.width, walk_edge_share, &walk);
	for (int t = 1; t < walk.width; t++)
		add_sums(&walk.sums[0], &walk.sums[t]);
	*nedges = walk.sums[0].used;
	edges = list_edges(&walk.sums[0], n->n);
	free(walk.calls);
	free(walk.places);
	free(walk.grid.src);
	free(walk.grid.dst);
	free(walk.grid.callers);
	free(walk.grid.callees);
	return edges;
}
