/*
 * stack.h - the stack of a sample, as a view has it
 *
 * A view that hides locations, or adds some at the ends, has no stacks of its own: they would be
 * most of what a profile takes.  It says what is different, and a stack is put together when it is
 * read.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PROFILE_STACK_H
#define PROFILE_STACK_H

#include "profile/profile.h"

/* Locations, leaf first. */
struct stack_list {
	const uint32_t *at;
	uint32_t n;
};

/* One per thread. */
struct stack_reader {
	const struct profile *p;
	uint32_t *room; /* private: the last stack, if it had to be put together */
	size_t cap;
};

void stack_reader_init(struct stack_reader *r, const struct profile *p);
void stack_reader_release(struct stack_reader *r);

/* Of a view whose stacks are not simply what 'stacks' has. */
struct stack_list stack_compose(struct stack_reader *r, size_t sample);

/* The stack of a sample, good until the next one is read. */
static inline struct stack_list stack_read(struct stack_reader *r, size_t sample)
{
	const struct profile *p = r->p;
	const struct sample *s = sample_at(p, sample);

	if (p->hidden || p->ends)
		return stack_compose(r, sample);
	return (struct stack_list){ p->stacks + s->stack, s->depth };
}

/* One by one, hidden ones among them: there are so many, */
static inline uint32_t stack_depth(const struct profile *p, size_t sample)
{
	return p->nleaves + sample_at(p, sample)->depth + p->nroots;
}

/* and this is number 'k'. */
static inline uint32_t stack_location(const struct profile *p, size_t sample, uint32_t k)
{
	const struct sample *s = sample_at(p, sample);
	const uint32_t *ends;

	if (k - p->nleaves < s->depth)
		return p->stacks[s->stack + k - p->nleaves];
	ends = p->ends + sample_row(p, sample) * (p->nleaves + p->nroots);
	return k < p->nleaves ? ends[k] : ends[k - s->depth];
}

#endif /* PROFILE_STACK_H */
