/*
 * call-cursor.h - a way through a stack, frame by frame
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef REPORT_CALL_CURSOR_H
#define REPORT_CALL_CURSOR_H

#include "profile/stack.h"
#include "report/call-tree.h"
#include "report/report.h"

/*
 * Downwards, 'left' locations are still to come, and 'frames' of the one before them.  Upwards,
 * 'left' is the location it is in, of which 'frames' have been.
 */
struct call_cursor {
	const uint32_t *stack;
	uint32_t depth; /* of that: what the view adds to its ends is not among it */
	uint32_t sample, left, frames;
};

/* Per location: whether one of its places is a 'hit'.  Freed by the caller. */
uint8_t *call_tree_hits(const struct call_tree *t, const uint8_t *hit);

static inline uint32_t call_frames_of(const struct nodes *n, uint32_t location)
{
	return n->first[location + 1] - n->first[location];
}

static inline struct call_cursor call_cursor_at(const struct call_tree *t, uint32_t sample)
{
	const struct sample *s = sample_at(t->r->v, sample);
	struct call_cursor c = { t->r->v->stacks + s->stack, s->depth, sample,
				 t->nleaves + s->depth + t->nroots, 0 };

	if (t->start) {
		c.left = t->start[sample].left;
		c.frames = t->start[sample].frames;
	}
	return c;
}

static inline uint32_t call_location(const struct call_tree *t, const struct call_cursor *c,
				     uint32_t k)
{
	if (k - t->nleaves < c->depth)
		return c->stack[k - t->nleaves];
	return stack_location(t->r->v, c->sample, k);
}

/* The next place towards the leaf, or NONE. */
static inline uint32_t call_step_down(const struct call_tree *t, struct call_cursor *c)
{
	const struct nodes *n = &t->nodes;

	while (c->frames == 0) {
		uint32_t location;

		if (c->left == 0)
			return NONE;
		c->left--;
		location = call_location(t, c, c->left);
		if (node_is_single(n->lead[location]))
			return n->lead[location];
		c->frames = call_frames_of(n, location);
	}
	c->frames--;
	return n->frame[n->first[call_location(t, c, c->left)] + c->frames];
}

/* The next place towards the root, or NONE. */
static inline uint32_t call_step_up(const struct call_tree *t, struct call_cursor *c)
{
	uint32_t depth = t->nleaves + c->depth + t->nroots;
	const struct nodes *n = &t->nodes;

	while (c->left < depth && c->frames == call_frames_of(n, call_location(t, c, c->left))) {
		c->left++;
		c->frames = 0;
	}
	if (c->left == depth)
		return NONE;
	return n->frame[n->first[call_location(t, c, c->left)] + c->frames++];
}

static inline uint32_t call_step(const struct call_tree *t, struct call_cursor *c)
{
	return t->upwards ? call_step_up(t, c) : call_step_down(t, c);
}

#endif /* REPORT_CALL_CURSOR_H */
