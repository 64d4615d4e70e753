/*
 * tags.c - labels of the samples that went through a node
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "graph/tags.h"

#include "base/wrap.h"
#include "base/xalloc.h"
#include "profile/labels.h"
#include "view/label-units.h"

#include <stdlib.h>

void tags_init(struct tags *t)
{
	*t = (struct tags){ 0 };
	table_init(&t->index, 0);
}

void tags_release(struct tags *t)
{
	free(t->at);
	table_release(&t->index);
	*t = (struct tags){ 0 };
}

/* ------------------------------------------------------------------ of a sample */

/*
 * All string labels as "key:value", sorted, with a backslash and an n between them.  The label that
 * marks the samples of a base is not one of the program's.
 */
static uint32_t join_labels(struct sample_tags *st, struct profile *p, const struct sample *s)
{
	uint32_t base = profile_lookup(p, STR("pprof::base"));
	struct pieces *parts = &st->labels;

	pieces_clear(parts);
	for (uint32_t i = 0; i < s->nlabels; i++) {
		const struct label *l = &p->labels[s->label + i];

		if (!label_is_string(l) || l->key == base)
			continue;
		out_str(&parts->text, profile_str(p, l->key));
		out_char(&parts->text, ':');
		out_str(&parts->text, profile_str(p, l->str));
		pieces_end(parts);
	}
	pieces_sort(parts, 0);
	st->text.n = 0;
	for (size_t i = 0; i < parts->n; i++) {
		if (i)
			out_text(&st->text, "\\n");
		out_str(&st->text, parts->at[i]);
	}
	return parts->n ? profile_intern_copy(p, out_view(&st->text)) : 0;
}

static void read_numbers(struct sample_tags *st, struct profile *p, const struct sample *s,
			 const struct tag_options *o)
{
	uint32_t bytes = profile_lookup(p, STR("bytes"));

	st->nnumbers = 0;
	for (uint32_t i = 0; i < s->nlabels; i++) {
		const struct label *l = &p->labels[s->label + i];
		struct sample_number one = { 0, l->num };

		if (label_is_string(l) || l->key != bytes)
			continue;
		st->text.n = 0;
		unit_print(&st->text, l->num, label_unit(o->units, bytes), o->unit);
		one.text = profile_intern_copy(p, out_view(&st->text));
		vec_push(st->numbers, st->nnumbers, st->cap, one);
	}
}

void sample_tags_init(struct sample_tags *st)
{
	*st = (struct sample_tags){ 0 };
	pieces_init(&st->labels);
	out_init(&st->text, 0);
}

void sample_tags_release(struct sample_tags *st)
{
	pieces_release(&st->labels);
	out_release(&st->text);
	free(st->numbers);
}

void tags_read(struct sample_tags *st, struct profile *p, const struct sample *s,
	       const struct tag_options *o)
{
	st->label = join_labels(st, p, s);
	read_numbers(st, p, s, o);
}

/* ------------------------------------------------------------------ of a node */

static uint64_t hash_tag(uint32_t node, uint32_t label, uint32_t number)
{
	return hash_mix((uint64_t)node << 32 | label, number);
}

static uint64_t rehash(uint32_t i, const void *ctx)
{
	const struct tag *t = &((const struct tags *)ctx)->at[i];

	return hash_tag(t->node, t->label, t->number);
}

static struct tag *tag_for(struct tags *t, uint32_t node, uint32_t label, uint32_t number,
			   int64_t value)
{
	struct tag one = { .node = node, .label = label, .number = number, .value = value };
	struct probe at;

	table_reserve(&t->index, rehash, t);
	at = table_probe(&t->index, hash_tag(node, label, number));
	while (table_next(&t->index, &at)) {
		struct tag *have = &t->at[at.value];

		if (have->node == node && have->label == label && have->number == number)
			return have;
	}
	table_put(&t->index, &at, (uint32_t)t->n);
	vec_push(t->at, t->n, t->cap, one);
	return &t->at[t->n - 1];
}

static void add_weight(struct tag *t, int64_t w, int64_t d, bool flat)
{
	int64_t *value = flat ? &t->w.flat : &t->w.cum;
	int64_t *div = flat ? &t->w.flat_div : &t->w.cum_div;

	*value = wrap_add(*value, w);
	*div = wrap_add(*div, d);
}

void tags_add(struct tags *t, uint32_t node, const struct sample_tags *st, int64_t w, int64_t d,
	      bool flat)
{
	if (st->label)
		add_weight(tag_for(t, node, st->label, NONE, 0), w, d, flat);
	for (size_t i = 0; i < st->nnumbers; i++)
		add_weight(tag_for(t, node, st->label, st->numbers[i].text, st->numbers[i].value),
			   w, d, flat);
}

struct tag_walk {
	struct tags *t;
	const struct nodes *n;
	const uint8_t *kept, *wanted;
	uint32_t *stamp;
	struct sample_tags st;
};

static void add_stack(struct tag_walk *walk, const struct sample *s, int64_t w, int64_t d,
		      uint32_t number)
{
	const struct nodes *n = walk->n;
	const uint32_t *stack = n->p->stacks + s->stack;
	uint32_t leaf = NONE;

	for (uint32_t i = s->depth; i-- > 0;) {
		for (uint32_t f = n->first[stack[i] + 1]; f-- > n->first[stack[i]];) {
			uint32_t node = n->frame[f];
			bool skipped = walk->kept && !walk->kept[node];

			leaf = skipped ? NONE : node;
			if (skipped || !walk->wanted[node] || walk->stamp[node] == number)
				continue;
			walk->stamp[node] = number;
			tags_add(walk->t, node, &walk->st, w, d, false);
		}
	}
	if (leaf != NONE && walk->wanted[leaf])
		tags_add(walk->t, leaf, &walk->st, w, d, true);
}

void tags_walk(struct tags *t, const struct nodes *n, const struct selection *s,
	       const struct tag_options *o, const uint8_t *kept, const uint8_t *wanted)
{
	struct tag_walk walk = { .t = t, .n = n, .kept = kept, .wanted = wanted };
	struct profile *p = n->p;

	walk.stamp = mem_zeroed(n->n, sizeof(*walk.stamp));
	sample_tags_init(&walk.st);
	for (size_t i = 0; i < p->nsamples; i++) {
		int64_t w = selected_value(s, p, i), d = selected_divisor(s, p, i);

		if ((w == 0 && d == 0) || p->samples[i].nlabels == 0)
			continue;
		tags_read(&walk.st, p, &p->samples[i], o);
		if (walk.st.label || walk.st.nnumbers)
			add_stack(&walk, &p->samples[i], w, d, (uint32_t)i + 1);
	}
	free(walk.stamp);
	sample_tags_release(&walk.st);
}

bool tag_is_heavy(const struct tag *t, int64_t cutoff)
{
	return abs_i64(t->w.flat) >= cutoff || abs_i64(t->w.cum) >= cutoff;
}

int64_t tag_flat(const struct tag *t)
{
	return t->w.flat_div ? wrap_div(t->w.flat, t->w.flat_div) : t->w.flat;
}

int64_t tag_cum(const struct tag *t)
{
	return t->w.cum_div ? wrap_div(t->w.cum, t->w.cum_div) : t->w.cum;
}
