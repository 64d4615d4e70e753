/*
 * outline.c - what stacks are once most nodes are left out
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "graph/outline.h"

#include "base/xalloc.h"

#include <stdlib.h>

/* Of a location: no frame of it is kept; some of several are. */
enum { NO_MARK = 0xffff, MANY_MARKS = 0xfffe };

/* So many locations of stacks pay for a mark; and so many marks nobody minds. */
enum { LOCATIONS = 2, FEW = 1 << 16 };

static void number_nodes(struct outline *o, const uint8_t *kept)
{
	uint32_t numbers = 0;

	o->number = mem_new(o->n->n, sizeof(*o->number));
	o->node = mem_new(o->n->n, sizeof(*o->node));
	for (uint32_t i = 0; i < o->n->n; i++) {
		bool is_kept = !kept || kept[i];

		o->number[i] = is_kept ? numbers : NONE;
		o->node[numbers] = i; /* the next one takes its place unless it is kept */
		numbers += is_kept;
	}
	o->nnumbers = numbers;
}

/* What to note of each location. */
static void look_at_locations(struct outline *o)
{
	const struct nodes *n = o->n;

	o->marks = mem_new(n->p->nlocations, sizeof(*o->marks));
	for (uint32_t l = 0; l < n->p->nlocations; l++) {
		uint16_t mark = NO_MARK;

		for (uint32_t f = n->first[l]; f < n->first[l + 1]; f++) {
			if (o->number[n->frame[f]] != NONE)
				mark = MANY_MARKS;
		}
		if (mark == MANY_MARKS && node_is_single(n->lead[l]))
			mark = (uint16_t)(o->number[n->lead[l]] << OUTLINE_SHIFT);
		o->marks[l] = mark;
	}
}

void outline_begin(struct outline *o, const struct nodes *n, const uint8_t *kept)
{
	*o = (struct outline){ .n = n, .width = walk_width(n->p) };
	o->most = (size_t)n->p->nstacks / LOCATIONS / (size_t)o->width;
	if (o->most < FEW)
		o->most = FEW;
	number_nodes(o, kept);
	look_at_locations(o);
}

static void reserve(struct outline_share *s, size_t n)
{
	if (s->cap - s->n >= n)
		return;
	s->cap = (s->cap + n) * 2;
	s->marks = mem_grow(s->marks, s->cap, sizeof(*s->marks));
}

/* The frames of a location that has several.  Whether the innermost of them is left out. */
static bool note_frames(const struct outline *o, struct outline_share *s, uint32_t location,
			bool residual)
{
	const struct nodes *n = o->n;
	uint32_t outermost = n->first[location + 1] - 1;

	reserve(s, n->first[location + 1] - n->first[location]);
	for (uint32_t f = outermost + 1; f-- > n->first[location];) {
		uint32_t number = o->number[n->frame[f]];

		if (number == NONE) {
			residual = true;
			continue;
		}
		s->marks[s->n++] =
			(uint16_t)(number << OUTLINE_SHIFT | (residual ? OUTLINE_RESIDUAL : 0) |
				   (f != outermost ? OUTLINE_INLINED : 0));
		residual = false;
	}
	return residual;
}

/*
 * Most locations are left out, and nobody could predict which: so each is noted, and the next one
 * over it.
 */
static void note_stack(const struct outline *o, struct outline_share *s, struct stack_list stack)
{
	const uint16_t *marks = o->marks;
	uint16_t *to;
	bool residual = false;

	reserve(s, (size_t)stack.n + 1);
	to = s->marks + s->n;
	for (uint32_t i = stack.n; i-- > 0;) {
		uint16_t mark = marks[stack.at[i]];

		if (mark == MANY_MARKS) {
			s->n = (size_t)(to - s->marks);
			residual = note_frames(o, s, stack.at[i], residual);
			reserve(s, (size_t)i + 1);
			to = s->marks + s->n;
			continue;
		}
		*to = mark | residual;
		residual = mark == NO_MARK;
		to += !residual;
	}
	*to++ = stack.n && !residual ? OUTLINE_END_LEAF : OUTLINE_END;
	s->n = (size_t)(to - s->marks);
}

const uint16_t *outline_note(struct outline *o, int share, struct stack_list stack)
{
	struct outline_share *s = &o->shares[share];
	size_t first;

	s->too_many |= s->n > o->most;
	if (s->too_many)
		s->n = 0;
	first = s->n;
	note_stack(o, s, stack);
	return s->marks + first;
}

void outline_end(struct outline *o)
{
	bool too_many = false;

	free(o->number);
	free(o->marks);
	o->number = NULL;
	o->marks = NULL;
	for (int i = 0; i < o->width; i++)
		too_many |= o->shares[i].too_many;
	if (too_many)
		outline_release(o);
	o->state = too_many ? OUTLINE_REFUSED : OUTLINE_DONE;
}

void outline_release(struct outline *o)
{
	for (int i = 0; i < o->width; i++) {
		free(o->shares[i].marks);
		o->shares[i].marks = NULL;
	}
	free(o->node);
	o->node = NULL;
}
