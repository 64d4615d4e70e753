/*
 * call-cursor.h - a way through a stack, frame by frame
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef REPORT_CALL_CURSOR_H
#define REPORT_CALL_CURSOR_H

#include "profile/profile.h"
#include "report/call-tree.h"
#include "report/report.h"

/*
 * Downwards, 'left' locations are still to come, and 'frames' of the one before them.  Upwards,
 * 'left' is the location it is in, of which 'frames' have been.
 */
struct call_cursor {
	const uint32_t *stack;
	uint32_t sample, left, frames;
	float width; /* about: whether to look into a frame */
};

static inline uint32_t call_frames_of(const struct nodes *n, uint32_t location)
{
	return n->first[location + 1] - n->first[location];
}

static inline struct call_cursor call_cursor_at(const struct call_tree *t, uint32_t sample)
{
	const struct sample *s = &t->r->v->samples[sample];
	struct call_cursor c = { t->r->v->stacks + s->stack, sample, s->depth, 0, 0 };

	if (t->start) {
		c.left = t->start[sample].left;
		c.frames = t->start[sample].frames;
	}
	return c;
}

/* The next place towards the leaf, or NONE. */
static inline uint32_t call_step_down(const struct nodes *n, struct call_cursor *c)
{
	while (c->frames == 0) {
		if (c->left == 0)
			return NONE;
		c->left--;
		c->frames = call_frames_of(n, c->stack[c->left]);
	}
	c->frames--;
	return n->frame[n->first[c->stack[c->left]] + c->frames];
}

/* The next place towards the root, or NONE; 'depth' is that of the sample. */
static inline uint32_t call_step_up(const struct nodes *n, uint32_t depth, struct call_cursor *c)
{
	while (c->left < depth && c->frames == call_frames_of(n, c->stack[c->left])) {
		c->left++;
		c->frames = 0;
	}
	if (c->left == depth)
		return NONE;
	return n->frame[n->first[c->stack[c->left]] + c->frames++];
}

static inline uint32_t call_step(const struct call_tree *t, struct call_cursor *c)
{
	return t->upwards ? call_step_up(&t->nodes, t->r->v->samples[c->sample].depth, c)
			  : call_step_down(&t->nodes, c);
}

#endif /* REPORT_CALL_CURSOR_H */
