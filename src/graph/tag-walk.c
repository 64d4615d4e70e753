/*
 * tag-walk.c - the labels of all samples, node by node
 *
 * Few sets of labels are on many samples.  Each is read once; then threads go through the stacks,
 * each with tags of its own, which are merged in the order of the samples.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "graph/tags.h"

#include "base/par.h"
#include "base/xalloc.h"
#include "graph/outline.h"
#include "profile/labels.h"
#include "profile/stack.h"

#include <stdlib.h>

/* ------------------------------------------------------------------ sets of labels */

/* What samples with the same labels have in common. */
struct tag_set {
	uint32_t label;
	uint32_t nnumbers;
	size_t numbers; /* the first among those of all sets */
};

/* The labels of all samples, each set of them read once. */
struct tag_sets {
	uint32_t *of; /* per sample: its set, or NONE if no tag comes from it */
	struct tag_set *at;
	size_t n, cap;
	struct sample_number *numbers;
	size_t nnumbers, cap_numbers;
	struct label_sets index;
};

static void add_set(struct tag_sets *sets, const struct tag_list *list)
{
	struct tag_set set = { list->label, list->nnumbers, sets->nnumbers };

	for (uint32_t i = 0; i < list->nnumbers; i++)
		vec_push(sets->numbers, sets->nnumbers, sets->cap_numbers, list->numbers[i]);
	vec_push(sets->at, sets->n, sets->cap, set);
}

static uint32_t set_of(struct tag_sets *sets, size_t sample, struct sample_tags *st,
		       struct profile *p, const struct tag_options *o)
{
	uint32_t set = label_sets_find(&sets->index, sample);

	if (set == sets->n) {
		tags_read(st, p, sample_at(p, sample), o);
		add_set(sets, &st->list);
	}
	return set;
}

static bool counts(const struct selection *s, const struct profile *p, size_t sample)
{
	return selected_value(s, p, sample) || selected_divisor(s, p, sample);
}

static void tag_sets_init(struct tag_sets *sets, struct profile *p, const struct selection *s,
			  const struct tag_options *o)
{
	struct sample_tags st;

	*sets = (struct tag_sets){ .of = mem_new(p->nsamples, sizeof(*sets->of)) };
	label_sets_init(&sets->index, p);
	sample_tags_init(&st);
	for (size_t i = 0; i < p->nsamples; i++) {
		uint32_t set = NONE;

		if (counts(s, p, i) && sample_at(p, i)->nlabels)
			set = set_of(sets, i, &st, p, o);
		if (set != NONE && !sets->at[set].label && !sets->at[set].nnumbers)
			set = NONE;
		sets->of[i] = set;
	}
	sample_tags_release(&st);
}

static void tag_sets_release(struct tag_sets *sets)
{
	free(sets->of);
	free(sets->at);
	free(sets->numbers);
	label_sets_release(&sets->index);
}

/* ------------------------------------------------------------------ all samples */

enum { PICK = 64 };

struct tag_walk {
	const struct nodes *n;
	const struct selection *s;
	const struct tag_sets *sets;
	const uint8_t *wanted;
	const struct outline *outline; /* or NULL */
	uint8_t *picked;               /* per location: a frame of it is wanted */
	int width;
	struct tags *tags; /* per thread */
};

/* A sample, and where its thread has got to. */
struct tagged {
	struct tags *to;
	uint32_t *stamps; /* per node: the last sample that it was counted for */
	struct tag_list list;
	int64_t w, d;
	uint32_t number;
};

static void add_node(const struct tag_walk *walk, uint32_t node, const struct tagged *s)
{
	if (!walk->wanted[node] || s->stamps[node] == s->number)
		return;
	s->stamps[node] = s->number;
	tags_add(s->to, node, &s->list, s->w, s->d, false);
}

static void add_leaf(const struct tag_walk *walk, uint32_t leaf, const struct tagged *s)
{
	if (leaf != NONE && walk->wanted[leaf])
		tags_add(s->to, leaf, &s->list, s->w, s->d, true);
}

static void add_location(const struct tag_walk *walk, uint32_t location, const struct tagged *s)
{
	const struct nodes *n = walk->n;

	for (uint32_t f = n->first[location + 1]; f-- > n->first[location];)
		add_node(walk, n->frame[f], s);
}

/* From the root down, as tags have the order of their first appearance. */
static void add_stack(const struct tag_walk *walk, struct stack_list list, const struct tagged *s)
{
	const uint32_t *stack = list.at;
	uint32_t picked[PICK];

	for (uint32_t end = list.n; end > 0;) {
		uint32_t begin = end > PICK ? end - PICK : 0, n = 0;

		for (uint32_t i = begin; i < end; i++) {
			picked[n] = stack[i];
			n += walk->picked[stack[i]];
		}
		while (n-- > 0)
			add_location(walk, picked[n], s);
		end = begin;
	}
	add_leaf(walk, list.n ? walk->n->lead[stack[0]] & ~NODE_MANY : NONE, s);
}

/* Where the marks of the next sample begin. */
static const uint16_t *pass_over(const uint16_t *mark)
{
	while (!outline_is_end(*mark))
		mark++;
	return mark + 1;
}

/* The same by marks. */
static const uint16_t *add_outlined(const struct tag_walk *walk, const uint16_t *mark,
				    const struct tagged *s)
{
	uint32_t node = NONE;

	for (; !outline_is_end(*mark); mark++) {
		node = walk->outline->node[*mark >> OUTLINE_SHIFT];
		add_node(walk, node, s);
	}
	add_leaf(walk, *mark == OUTLINE_END_LEAF ? node : NONE, s);
	return mark + 1;
}

static void walk_share(int share, void *ctx)
{
	const struct tag_walk *walk = ctx;
	const struct tag_sets *sets = walk->sets;
	const struct profile *p = walk->n->p;
	size_t end = walk_begin(p, share + 1, walk->width);
	struct tagged s = { .to = &walk->tags[share],
			    .stamps = mem_zeroed(walk->n->n, sizeof(*s.stamps)) };
	const uint16_t *marks = walk->outline ? walk->outline->shares[share].marks : NULL;
	struct stack_reader reader;

	stack_reader_init(&reader, p);
	for (size_t i = walk_begin(p, share, walk->width); i < end; i++) {
		const struct tag_set *set;

		if (!counts(walk->s, p, i))
			continue;
		if (sets->of[i] == NONE) {
			marks = marks ? pass_over(marks) : NULL;
			continue;
		}
		set = &sets->at[sets->of[i]];
		s.list = (struct tag_list){ set->label, set->nnumbers,
					    sets->numbers + set->numbers };
		s.w = selected_value(walk->s, p, i);
		s.d = selected_divisor(walk->s, p, i);
		s.number = (uint32_t)i + 1;
		if (marks)
			marks = add_outlined(walk, marks, &s);
		else
			add_stack(walk, stack_read(&reader, i), &s);
	}
	stack_reader_release(&reader);
	free(s.stamps);
}

static void pick_locations(struct tag_walk *walk)
{
	const struct nodes *n = walk->n;

	walk->picked = mem_zeroed(n->p->nlocations, 1);
	for (uint32_t l = 0; l < n->p->nlocations; l++) {
		for (uint32_t f = n->first[l]; f < n->first[l + 1]; f++)
			walk->picked[l] |= walk->wanted[n->frame[f]];
	}
}

void tags_walk(struct tags *t, const struct nodes *n, const struct selection *s,
	       const struct tag_options *o, const uint8_t *wanted, const struct outline *outline)
{
	struct tags shares[PAR_MOST];
	struct tag_sets sets;
	struct tag_walk walk = { .n = n,
				 .s = s,
				 .sets = &sets,
				 .wanted = wanted,
				 .outline =
					 outline && outline->state == OUTLINE_DONE ? outline : NULL,
				 .width = walk_width(n->p),
				 .tags = shares };

	if (walk.outline)
		walk.width = outline->width;
	tag_sets_init(&sets, n->p, s, o);
	pick_locations(&walk);
	for (int i = 0; i < walk.width; i++)
		tags_init(&shares[i]);
	if (sets.n)
		par_run(walk.width, walk_share, &walk);
	for (int i = 0; i < walk.width; i++) {
		tags_merge(t, &shares[i]);
		tags_release(&shares[i]);
	}
	free(walk.picked);
	tag_sets_release(&sets);
}
