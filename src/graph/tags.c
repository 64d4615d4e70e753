/*
 * tags.c - labels of the samples that went through a node
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "graph/tags.h"

#include "base/out.h"
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

static int by_text(const void *a, const void *b)
{
	return str_cmp(*(const struct str *)a, *(const struct str *)b);
}

/* All string labels as "key:value", sorted, with a backslash and an n between them. */
static uint32_t join_labels(struct profile *p, const struct label *l, uint32_t n)
{
	struct arena scratch;
	struct str *parts;
	struct out o;
	uint32_t joined;

	arena_init(&scratch, PROFILE_BUDGET);
	out_init(&o, 0);
	parts = xarena(&scratch, n, sizeof(*parts));
	for (uint32_t i = 0; i < n; i++) {
		o.n = 0;
		out_str(&o, profile_str(p, l[i].key));
		out_char(&o, ':');
		out_str(&o, profile_str(p, l[i].str));
		parts[i] = xarena_str(&scratch, out_view(&o));
	}
	qsort(parts, n, sizeof(*parts), by_text);
	o.n = 0;
	for (uint32_t i = 0; i < n; i++) {
		if (i)
			out_text(&o, "\\n");
		out_str(&o, parts[i]);
	}
	joined = profile_intern_copy(p, out_view(&o));
	out_release(&o);
	arena_release(&scratch);
	return joined;
}

/* The label that marks the samples of a base is not one of the program's. */
static uint32_t string_labels(struct profile *p, const struct sample *s, struct label *to)
{
	uint32_t n = 0, base = profile_lookup(p, STR("pprof::base"));

	for (uint32_t i = 0; i < s->nlabels; i++) {
		struct label l = p->labels[s->label + i];

		if (label_is_string(&l) && l.key != base)
			to[n++] = l;
	}
	return n;
}

static void read_numbers(struct sample_tags *st, struct profile *p, const struct sample *s,
			 const struct tag_options *o)
{
	uint32_t bytes = profile_lookup(p, STR("bytes"));
	struct out text;

	st->nnumbers = 0;
	out_init(&text, 0);
	for (uint32_t i = 0; i < s->nlabels; i++) {
		const struct label *l = &p->labels[s->label + i];
		struct sample_number one = { 0, l->num };

		if (label_is_string(l) || l->key != bytes)
			continue;
		text.n = 0;
		unit_print(&text, l->num, label_unit(o->units, bytes), o->unit);
		one.text = profile_intern_copy(p, out_view(&text));
		vec_push(st->numbers, st->nnumbers, st->cap, one);
	}
	out_release(&text);
}

void tags_read(struct sample_tags *st, struct profile *p, const struct sample *s,
	       const struct tag_options *o)
{
	struct label few[32];
	struct label *labels = s->nlabels <= 32 ? few : xmalloc(s->nlabels, sizeof(*labels));
	uint32_t n = string_labels(p, s, labels);

	st->label = n ? join_labels(p, labels, n) : 0;
	read_numbers(st, p, s, o);
	if (labels != few)
		free(labels);
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
	struct tag_walk walk = { t, n, kept, wanted, xcalloc(n->n, sizeof(uint32_t)), { 0 } };
	struct profile *p = n->p;

	for (size_t i = 0; i < p->nsamples; i++) {
		int64_t w = selected_value(s, p, i), d = selected_divisor(s, p, i);

		if ((w == 0 && d == 0) || p->samples[i].nlabels == 0)
			continue;
		tags_read(&walk.st, p, &p->samples[i], o);
		if (walk.st.label || walk.st.nnumbers)
			add_stack(&walk, &p->samples[i], w, d, (uint32_t)i + 1);
	}
	free(walk.stamp);
	free(walk.st.numbers);
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
