/*
 * compact.c - a profile that stays takes no more memory than it needs
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "profile/compact.h"

#include "base/table.h"
#include "profile/labels.h"
#include "profile/profile.h"

/* Whether stacks and labels are where those of the samples before them have ended, or later. */
static bool is_in_order(const struct profile *p)
{
	uint64_t stack = 0, label = 0;

	for (size_t i = 0; i < p->nsamples; i++) {
		const struct sample *s = &p->samples[i];

		if ((s->depth && s->stack < stack) || (s->nlabels && s->label < label))
			return false;
		stack = s->depth ? s->stack + s->depth : stack;
		label = s->nlabels ? s->label + s->nlabels : label;
	}
	return true;
}

static void close_up_stacks(struct profile *p)
{
	uint64_t n = 0;

	for (size_t i = 0; i < p->nsamples; i++) {
		struct sample *s = &p->samples[i];

		if (s->stack != n && s->depth)
			memmove(p->stacks + n, p->stacks + s->stack, s->depth * sizeof(*p->stacks));
		s->stack = n;
		n += s->depth;
	}
	arena_forget(p->stacks + n, p->stacks + p->nstacks);
	p->nstacks = n;
}

/* ------------------------------------------------------------------ one copy of each list */

static uint64_t hash_of_sample(uint32_t i, const void *ctx)
{
	const struct profile *p = ctx;

	return labels_hash(p->labels + p->samples[i].label, p->samples[i].nlabels, 0);
}

/* The sample with the labels of sample 'i', if one was seen before; else it is put down. */
static uint32_t find_like(const struct profile *p, struct table *seen, uint32_t i)
{
	const struct sample *s = &p->samples[i], *other;
	struct probe at;

	table_reserve(seen, hash_of_sample, p);
	at = table_probe(seen, hash_of_sample(i, p));
	while (table_next(seen, &at)) {
		other = &p->samples[at.value];
		if (other->nlabels == s->nlabels &&
		    labels_same(p->labels + other->label, p->labels + s->label, s->nlabels))
			return at.value;
	}
	table_put(seen, &at, i);
	return NONE;
}

static void share_labels(struct profile *p)
{
	struct table seen;
	uint64_t n = 0;

	table_init(&seen, 0);
	for (uint32_t i = 0; i < p->nsamples; i++) {
		struct sample *s = &p->samples[i];
		uint32_t like = s->nlabels ? find_like(p, &seen, i) : NONE;

		if (like != NONE) {
			s->label = p->samples[like].label;
			continue;
		}
		memmove(p->labels + n, p->labels + s->label, s->nlabels * sizeof(*p->labels));
		s->label = n;
		n += s->nlabels;
	}
	table_release(&seen);
	arena_forget(p->labels + n, p->labels + p->nlabels);
}

void profile_compact(struct profile *p)
{
	if (!is_in_order(p) || p->nsamples >= NONE)
		return;
	close_up_stacks(p);
	share_labels(p);
}
