/*
 * stack.c - the stack of a sample, as a view has it
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "profile/stack.h"

#include "base/xalloc.h"

#include <stdlib.h>

void stack_reader_init(struct stack_reader *r, const struct profile *p)
{
	*r = (struct stack_reader){ .p = p };
}

void stack_reader_release(struct stack_reader *r)
{
	free(r->room);
	r->room = NULL;
	r->cap = 0;
}

/* What is not hidden, without a branch that nobody could predict.  How many they are. */
static uint32_t append(uint32_t *to, const uint32_t *from, uint32_t n, const uint8_t *hidden)
{
	uint32_t kept = 0;

	if (!hidden && n)
		memcpy(to, from, n * sizeof(*to));
	if (!hidden)
		return n;
	for (uint32_t i = 0; i < n; i++) {
		to[kept] = from[i];
		kept += !hidden[from[i]];
	}
	return kept;
}

struct stack_list stack_compose(struct stack_reader *r, size_t sample)
{
	const struct profile *p = r->p;
	const struct sample *s = sample_at(p, sample);
	uint32_t n = stack_depth(p, sample);
	const uint32_t *ends = NULL;

	if (n > r->cap) {
		r->cap = (size_t)n * 2;
		r->room = mem_grow(r->room, r->cap, sizeof(*r->room));
	}
	if (p->ends)
		ends = p->ends + sample_row(p, sample) * (p->nleaves + p->nroots);
	n = ends ? append(r->room, ends, p->nleaves, p->hidden) : 0;
	n += append(r->room + n, p->stacks + s->stack, s->depth, p->hidden);
	if (ends)
		n += append(r->room + n, ends + p->nleaves, p->nroots, p->hidden);
	return (struct stack_list){ r->room, n };
}
