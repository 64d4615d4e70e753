/*
 * outline.h - what stacks are once most nodes are left out
 *
 * A picture takes several ways through all stacks, from the second on only for nodes that are heavy
 * enough: some hundred of many thousands.  On the second way it is noted where these are, and the
 * others go by the notes: a quarter of the frames, of two bytes each.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef GRAPH_OUTLINE_H
#define GRAPH_OUTLINE_H

#include "base/par.h"
#include "graph/node.h"
#include "graph/walk.h"
#include "profile/stack.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* In a mark, below the number of its node. */
enum {
	OUTLINE_RESIDUAL = 1, /* frames between it and the one before were left out */
	OUTLINE_INLINED = 2,  /* as in struct edge */
	OUTLINE_SHIFT = 2,
};

/* So many that each pair of them can have a cell of its own. */
enum { OUTLINE_NODES = 724 };

/* Behind the marks of each sample; the second one if the last of them is the leaf. */
enum { OUTLINE_END = 0xffff, OUTLINE_END_LEAF = 0xfffe };

/*
 * The samples of one thread, as walk_begin() says, that have a value: for each of them the frames
 * that are kept, root first.
 */
struct outline_share {
	_Alignas(64) uint16_t *marks; /* no cache line is two threads' */
	size_t n, cap;
	bool too_many;
};

struct outline {
	enum { OUTLINE_NONE, OUTLINE_DONE, OUTLINE_REFUSED } state;
	int width;
	uint32_t nnumbers;
	uint32_t *node; /* per number, in ascending order */
	struct outline_share shares[PAR_MOST];

	const struct nodes *n; /* private, as is the rest */
	size_t most;           /* marks of a share */
	uint32_t *number;      /* per node: its number, or NONE if it is not kept */
	uint16_t *marks;       /* per location */
};

/*
 * outline_edges() is walk_edges() for an outline: it makes that on its way, or goes by it; then
 * only nodes that it has can be kept.  False where it is refused, as too many nodes are kept for it
 * to be worth it, or a mean is asked for.
 */
bool outline_edges(struct outline *o, const struct nodes *n, const struct selection *s,
		   const uint8_t *kept, struct edge **edges, size_t *nedges);
void outline_release(struct outline *o);

/*
 * For outline_edges().  outline_begin() takes notes for the nodes for which 'kept' is not 0 (NULL:
 * all), of which there must be at most OUTLINE_NODES.  Each thread gives all of its samples, one
 * after the other, and gets the marks of this one, good until the next.  With outline_end() the
 * outline is done; or refused, if there were too many marks.
 */
void outline_begin(struct outline *o, const struct nodes *n, const uint8_t *kept);
const uint16_t *outline_note(struct outline *o, int share, struct stack_list stack);
void outline_end(struct outline *o);

static inline bool outline_is_end(uint16_t mark)
{
	return mark >= OUTLINE_END_LEAF;
}

#endif /* GRAPH_OUTLINE_H */
