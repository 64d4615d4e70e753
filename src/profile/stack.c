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

/* Without a branch that nobody could predict. */
static uint32_t drop_hidden(uint32_t *stack, uint32_t n, const uint8_t *hidden)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < n; i++) {
		stack[kept] = stack[i];
		kept += !hidden[stack[i]];
	}
	return kept;
}

struct stack_list stack_compose(struct stack_reader *r, size_t sample)
{
	const struct profile *p = r->p;
	const struct sample *s = sample_at(p, sample);
	uint32_t n = stack_depth(p, sample);

	if (n > r->cap) {
		r->cap = (size_t)n * 2;
		r->room = mem_grow(r->room, r->cap, sizeof(*r->room));
	}
	if (s->depth)
		memcpy(r->room + p->nleaves, p->stacks + s->stack, s->depth * sizeof(*r->room));
	if (p->ends) {
		const uint32_t *ends = p->ends + sample_row(p, sample) * (p->nleaves + p->nroots);

		memcpy(r->room, ends, p->nleaves * sizeof(*ends));
		memcpy(r->room + p->nleaves + s->depth, ends + p->nleaves,
		       p->nroots * sizeof(*ends));
	}
	if (p->hidden)
		n = drop_hidden(r->room, n, p->hidden);
	return (struct stack_list){ r->room, n };
}
