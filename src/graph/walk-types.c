/*
 * walk-types.c - go through all stacks once, and add up all that samples have
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/par.h"
#include "base/wrap.h"
#include "base/xalloc.h"
#include "graph/walk.h"
#include "profile/stack.h"

#include <stdlib.h>

/* Half a cache line. */
struct sum {
	int64_t cum[WALK_TYPES];
	uint32_t stamp; /* the last sample that was added */
};

struct types_walk {
	const struct nodes *n;
	int width;
	struct sum *sums[PAR_MOST];
	int64_t *flats[PAR_MOST];
};

/* Without a branch, as in walk.c: a node of the stack that comes again adds 0. */
static inline void add_once(struct sum *to, const int64_t *values, uint32_t stamp)
{
	for (int t = 0; t < WALK_TYPES; t++)
		to->cum[t] = wrap_add(to->cum[t], to->stamp == stamp ? 0 : values[t]);
	to->stamp = stamp;
}

static void add_stack(const struct nodes *n, struct stack_list stack, struct sum *sums,
		      const int64_t *values, uint32_t stamp)
{
	for (uint32_t i = 0; i < stack.n; i++) {
		uint32_t loc = stack.at[i], lead = n->lead[loc];

		add_once(&sums[lead & ~NODE_MANY], values, stamp);
		if (node_is_single(lead))
			continue;
		for (uint32_t f = n->first[loc] + 1; f < n->first[loc + 1]; f++)
			add_once(&sums[n->frame[f]], values, stamp);
	}
}

static void add_flat(int64_t *flats, const struct nodes *n, struct stack_list stack,
		     const int64_t *values)
{
	int64_t *to = flats + (size_t)(n->lead[stack.at[0]] & ~NODE_MANY) * WALK_TYPES;

	for (int t = 0; t < WALK_TYPES; t++)
		to[t] = wrap_add(to[t], values[t]);
}

static bool has_value(const int64_t *values)
{
	int64_t any = 0;

	for (int t = 0; t < WALK_TYPES; t++)
		any |= values[t];
	return any != 0;
}

static void walk_share(int share, void *ctx)
{
	struct types_walk *walk = ctx;
	const struct nodes *n = walk->n;
	const struct profile *p = n->p;
	struct sum *sums = mem_zeroed(n->n, sizeof(*sums));
	int64_t *flats = mem_zeroed((size_t)n->n * WALK_TYPES, sizeof(*flats));
	size_t end = walk_begin(p, share + 1, walk->width);
	struct stack_reader reader;

	stack_reader_init(&reader, p);
	for (size_t i = walk_begin(p, share, walk->width); i < end; i++) {
		const int64_t *values = sample_values(p, i);
		struct stack_list stack;

		if (!has_value(values))
			continue;
		stack = stack_read(&reader, i);
		add_stack(n, stack, sums, values, (uint32_t)i + 1);
		if (stack.n)
			add_flat(flats, n, stack, values);
	}
	stack_reader_release(&reader);
	walk->sums[share] = sums;
	walk->flats[share] = flats;
}

void walk_types(const struct nodes *n, int64_t *flat, int64_t *cum)
{
	struct types_walk walk = { .n = n, .width = walk_width(n->p) };

	par_run(walk.width, walk_share, &walk);
	memset(flat, 0, (size_t)n->n * WALK_TYPES * sizeof(*flat));
	memset(cum, 0, (size_t)n->n * WALK_TYPES * sizeof(*cum));
	for (int share = 0; share < walk.width; share++) {
		for (size_t i = 0; i < (size_t)n->n * WALK_TYPES; i++) {
			const struct sum *sum = &walk.sums[share][i / WALK_TYPES];

			flat[i] = wrap_add(flat[i], walk.flats[share][i]);
			cum[i] = wrap_add(cum[i], sum->cum[i % WALK_TYPES]);
		}
		free(walk.sums[share]);
		free(walk.flats[share]);
	}
}
