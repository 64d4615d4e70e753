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
	st->list.label = join_labels(st, p, s);
	read_numbers(st, p, s, o);
	st->list.numbers = st->numbers;
	st->list.nnumbers = (uint32_t)st->nnumbers;
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

void tags_add(struct tags *t, uint32_t node, const struct tag_list *list, int64_t w, int64_t d,
	      bool flat)
{
	if (list->label)
		add_weight(tag_for(t, node, list->label, NONE, 0), w, d, flat);
	for (uint32_t i = 0; i < list->nnumbers; i++) {
		const struct sample_number *one = &list->numbers[i];

		add_weight(tag_for(t, node, list->label, one->text, one->value), w, d, flat);
	}
}

void tags_merge(struct tags *t, const struct tags *from)
{
	for (size_t i = 0; i < from->n; i++) {
		const struct tag *f = &from->at[i];
		struct tag *to = tag_for(t, f->node, f->label, f->number, f->value);

		add_weight(to, f->w.cum, f->w.cum_div, false);
		add_weight(to, f->w.flat, f->w.flat_div, true);
	}
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
