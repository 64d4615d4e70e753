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
#include "graph/edge-sums.h"
#include "profile/stack.h"

#include <stdlib.h>

enum { PARALLEL_STACKS = 1 << 16, PICK = 64, LARGEST_GRID = 1 << 19 };

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
		for (uint32_t i = 0; i < npicked; i++)
			__builtin_prefetch(&n->frame[n->first[picked[i]] + 1]);
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
	int width;
	struct grid grid;
	bool use_grid;
	struct place *places; /* per location */
	uint8_t *calls;       /* per location: a frame of it is the callee of an edge to record */
	struct edge_sums sums[PAR_MOST];
};

static uint64_t marked_call(uint32_t caller, uint32_t callee, bool residual, bool direct)
{
	return call_of(caller, callee) | (residual ? CALL_RESIDUAL : 0) |
	       (direct ? CALL_DIRECT : 0);
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
		if (parent != NONE && node != parent && (!walk->wanted || walk->wanted[node]))
			edge_add_soon(sums, pending,
				      marked_call(parent, node, residual, f == outermost), stamp);
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

/*
 * From the root down, since of two equal edges in one stack the upper one counts.  First the
 * locations with a callee of interest are picked out, without a branch that nobody could predict.
 */
static void add_edges(const struct edge_walk *walk, struct stack_list list, struct edge_sums *sums,
		      struct pending *pending, const struct stamp *stamp)
{
	const uint32_t *stack = list.at;
	uint32_t picked[PICK], above = NONE;

	for (uint32_t end = list.n; end > 0;) {
		uint32_t begin = end > PICK ? end - PICK : 0;
		uint32_t n = pick(walk, stack, begin, end, picked);

		while (n-- > 0) {
			bool residual = false;
			uint32_t i = picked[n], callee = walk->places[stack[i]].callee;
			uint32_t parent = walk->wanted
						  ? caller_above(walk, stack, i, list.n, &residual)
						  : caller_picked(walk, stack, i, above, &residual);

			above = i;
			if (callee == NONE)
				add_location_edges(walk, stack[i], parent, residual, sums, pending,
						   stamp);
			else if (parent != NONE && parent != callee)
				edge_add_soon(sums, pending,
					      marked_call(parent, callee, residual, true), stamp);
		}
		end = begin;
	}
	edge_add_pending(sums, pending, stamp);
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
		g->ndst += kept && (!walk->wanted || walk->wanted[i]);
	}
	walk->use_grid = g->ndst && g->nsrc <= LARGEST_GRID / g->ndst;
}

static void walk_edge_share(int t, void *ctx)
{
	struct edge_walk *walk = ctx;
	const struct profile *p = walk->n->p;
	size_t end = walk_begin(p, t + 1, walk->width);
	struct pending pending;
	struct stack_reader reader;

	pending.n = 0;
	stack_reader_init(&reader, p);
	edge_sums_init(&walk->sums[t], walk->use_grid ? &walk->grid : NULL, walk->s->mean);
	for (size_t i = walk_begin(p, t, walk->width); i < end; i++) {
		struct stamp stamp = { selected_value(walk->s, p, i),
				       selected_divisor(walk->s, p, i), (uint32_t)i + 1 };

		if (stamp.w || stamp.d)
			add_edges(walk, stack_read(&reader, i), &walk->sums[t], &pending, &stamp);
	}
	stack_reader_release(&reader);
}

struct edge *walk_edges(const struct nodes *n, const struct selection *s, const uint8_t *kept,
			const uint8_t *wanted, size_t *nedges)
{
	struct edge_walk walk = { .n = n, .s = s, .kept = kept, .wanted = wanted };
	struct edge *edges;

	walk.width = walk_width(n->p);
	walk.calls = mem_zeroed(n->p->nlocations, sizeof(*walk.calls));
	walk.places = mem_new(n->p->nlocations, sizeof(*walk.places));
	for (uint32_t i = 0; i < n->p->nlocations; i++)
		look_at_location(&walk, i);
	make_grid(&walk);
	par_run(walk.width, walk_edge_share, &walk);
	for (int t = 1; t < walk.width; t++)
		edge_sums_merge(&walk.sums[0], &walk.sums[t]);
	*nedges = walk.sums[0].used;
	edges = edge_sums_list(&walk.sums[0], n->n);
	free(walk.calls);
	free(walk.places);
	free(walk.grid.src);
	free(walk.grid.dst);
	free(walk.grid.callers);
	free(walk.grid.callees);
	return edges;
}

/* ------------------------------------------------------------------ edges around some nodes */

/* Of a location: which of its frames the walk is about. */
enum {
	ANY = 1,   /* one of them, so edges to it count */
	FIRST = 2, /* the innermost, so edges from it count */
};

/*
 * What edges of a location are is the same in every stack, but for the one that leads to it.  So
 * they are looked up once: keys[inner] is the outermost frame, with NODE_ABOUT, and how many edges
 * follow from frame to frame, the outermost first.  A location of one frame has no such list.
 */
struct frames {
	uint32_t node; /* of the innermost frame, which calls what is below */
	uint32_t inner;
};

#define NODE_ABOUT ((uint64_t)1 << 63)

struct around_walk {
	const struct nodes *n;
	const struct selection *s;
	const uint8_t *about;
	int width;
	uint8_t *marks;        /* per location */
	struct frames *frames; /* the same */
	uint64_t *keys;
	size_t nkeys, cap_keys;
	struct edge_sums sums[PAR_MOST];
};

/* What one thread has of it. */
struct around {
	const struct around_walk *walk;
	struct edge_sums *sums;
	struct pending pending;
};

static void list_inner_edges(struct around_walk *walk, uint32_t loc)
{
	const uint32_t *frame = walk->n->frame;
	uint32_t first = walk->n->first[loc], outermost = walk->n->first[loc + 1] - 1;
	size_t head = walk->nkeys;
	uint64_t n = 0;

	walk->frames[loc].inner = (uint32_t)head;
	vec_push(walk->keys, walk->nkeys, walk->cap_keys, 0);
	for (uint32_t f = outermost; f > first; f--) {
		uint32_t caller = frame[f], callee = frame[f - 1];

		if (caller == callee || !(walk->about[caller] || walk->about[callee]))
			continue;
		vec_push(walk->keys, walk->nkeys, walk->cap_keys, call_of(caller, callee));
		n++;
	}
	walk->keys[head] =
		frame[outermost] | n << 32 | (walk->about[frame[outermost]] ? NODE_ABOUT : 0);
}

static void look_at_frames(struct around_walk *walk, uint32_t loc)
{
	const struct nodes *n = walk->n;
	uint32_t first = n->first[loc], end = n->first[loc + 1];

	walk->marks[loc] = 0;
	walk->frames[loc] = (struct frames){ NONE, 0 };
	if (first == end)
		return; /* hidden, so it is in no stack */
	walk->frames[loc].node = n->frame[first];
	for (uint32_t f = first; f < end; f++)
		walk->marks[loc] |= walk->about[n->frame[f]] ? ANY : 0;
	walk->marks[loc] |= walk->about[n->frame[first]] ? FIRST : 0;
	if (end - first > 1)
		list_inner_edges(walk, loc);
}

/* The edge from 'parent', or NONE, to location 'loc', and those inside of it. */
static void add_inner_edges(struct around *a, uint32_t parent, uint32_t inner,
			    const struct stamp *stamp)
{
	const uint64_t *keys = a->walk->keys + inner;
	uint32_t outermost = (uint32_t)keys[0], n = (keys[0] & ~NODE_ABOUT) >> 32;

	if (parent != NONE && parent != outermost &&
	    (keys[0] & NODE_ABOUT || a->walk->about[parent]))
		edge_add_soon(a->sums, &a->pending, call_of(parent, outermost) | CALL_DIRECT,
			      stamp);
	for (uint32_t i = 1; i <= n; i++)
		edge_add_soon(a->sums, &a->pending, keys[i], stamp);
}

/* Picks what the walk is about, and what that calls.  How many they are. */
static uint32_t pick_around(const struct around_walk *walk, struct stack_list stack, uint32_t begin,
			    uint32_t end, uint32_t *picked)
{
	uint32_t n = 0, mark = walk->marks[stack.at[begin]], above;

	for (uint32_t i = begin; i + 1 < end; i++) {
		above = walk->marks[stack.at[i + 1]];
		picked[n] = i;
		n += (mark | above / FIRST) & ANY;
		mark = above;
	}
	above = end < stack.n ? walk->marks[stack.at[end]] : 0;
	picked[n] = end - 1;
	return n + ((mark | above / FIRST) & ANY);
}

/* As add_edges(), where every frame is the caller of the next. */
static void add_around(struct around *a, struct stack_list stack, const struct stamp *stamp)
{
	const struct frames *frames = a->walk->frames;
	uint32_t picked[PICK];

	for (uint32_t end = stack.n, begin; end > 0; end = begin) {
		uint32_t n;

		begin = end > PICK ? end - PICK : 0;
		n = pick_around(a->walk, stack, begin, end, picked);
		for (uint32_t k = 0; k < n; k++)
			__builtin_prefetch(&a->walk->keys[frames[stack.at[picked[k]]].inner]);
		while (n-- > 0) {
			uint32_t i = picked[n];
			uint32_t parent = i + 1 < stack.n ? frames[stack.at[i + 1]].node : NONE;
			struct frames f = frames[stack.at[i]];

			if (f.inner)
				add_inner_edges(a, parent, f.inner, stamp);
			else if (parent != NONE && parent != f.node)
				edge_add_soon(a->sums, &a->pending,
					      call_of(parent, f.node) | CALL_DIRECT, stamp);
		}
	}
	edge_add_pending(a->sums, &a->pending, stamp);
}

static void walk_around_share(int t, void *ctx)
{
	struct around_walk *walk = ctx;
	const struct profile *p = walk->n->p;
	size_t end = walk_begin(p, t + 1, walk->width);
	struct around a = { .walk = walk, .sums = &walk->sums[t] };
	struct stack_reader reader;

	stack_reader_init(&reader, p);
	edge_sums_init(a.sums, NULL, walk->s->mean);
	for (size_t i = walk_begin(p, t, walk->width); i < end; i++) {
		struct stamp stamp = { selected_value(walk->s, p, i),
				       selected_divisor(walk->s, p, i), (uint32_t)i + 1 };

		if (stamp.w || stamp.d)
			add_around(&a, stack_read(&reader, i), &stamp);
	}
	stack_reader_release(&reader);
}

struct edge *walk_around(const struct nodes *n, const struct selection *s, const uint8_t *about,
			 size_t *nedges)
{
	struct around_walk walk = { .n = n, .s = s, .about = about, .width = walk_width(n->p) };

	walk.marks = mem_new(n->p->nlocations, sizeof(*walk.marks));
	walk.frames = mem_new(n->p->nlocations, sizeof(*walk.frames));
	vec_push(walk.keys, walk.nkeys, walk.cap_keys, 0); /* none begins with 0 */
	for (uint32_t i = 0; i < n->p->nlocations; i++)
		look_at_frames(&walk, i);
	par_run(walk.width, walk_around_share, &walk);
	for (int t = 1; t < walk.width; t++)
		edge_sums_merge(&walk.sums[0], &walk.sums[t]);
	free(walk.marks);
	free(walk.frames);
	free(walk.keys);
	*nedges = walk.sums[0].used;
	return edge_sums_list(&walk.sums[0], n->n);
}
