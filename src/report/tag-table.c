/*
 * tag-table.c - what values the labels have, and what each is worth
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "report/tag-table.h"

#include "base/out.h"
#include "base/table.h"
#include "base/wrap.h"
#include "base/xalloc.h"
#include "profile/labels.h"
#include "profile/profile.h"
#include "report/report.h"

#include <stdlib.h>

struct entry {
	uint32_t key, text; /* strings */
	int64_t weight;
	bool is_number;
	int64_t least, most;
};

struct collector {
	struct report *r;
	struct entry *entries;
	size_t n, cap;
	struct table index;
	struct out text;
};

static uint64_t rehash(uint32_t i, const void *ctx)
{
	const struct collector *c = ctx;

	return hash_mix(c->entries[i].key, c->entries[i].text);
}

static struct entry *entry_for(struct collector *c, uint32_t key, uint32_t text, bool is_number)
{
	struct probe at;

	table_reserve(&c->index, rehash, c);
	at = table_probe(&c->index, hash_mix(key, text));
	while (table_next(&c->index, &at)) {
		struct entry *e = &c->entries[at.value];

		if (e->key == key && e->text == text)
			return e;
	}
	table_put(&c->index, &at, (uint32_t)c->n);
	vec_push(c->entries, c->n, c->cap,
		 ((struct entry){ key, text, 0, is_number, INT64_MAX, INT64_MIN }));
	return &c->entries[c->n - 1];
}

static void add_label(struct collector *c, const struct label *l, int64_t w)
{
	struct report *r = c->r;
	struct entry *e;

	if (label_is_string(l)) {
		e = entry_for(c, l->key, l->str, false);
	} else {
		c->text.n = 0;
		unit_print(&c->text, l->num, label_unit(&r->units, l->key), r->unit);
		e = entry_for(c, l->key, profile_intern_copy(r->v, out_view(&c->text)), true);
		e->least = l->num < e->least ? l->num : e->least;
		e->most = l->num > e->most ? l->num : e->most;
	}
	e->weight = wrap_add(e->weight, w);
}

/* Keys by name; within a key the heaviest first, then by text. */
static int by_key_and_weight(const void *a, const void *b, void *profile)
{
	const struct entry *x = a, *y = b;

	if (x->key != y->key)
		return str_cmp(profile_str(profile, x->key), profile_str(profile, y->key));
	if (abs_i64(x->weight) != abs_i64(y->weight))
		return abs_i64(x->weight) > abs_i64(y->weight) ? -1 : 1;
	return str_cmp(profile_str(profile, x->text), profile_str(profile, y->text));
}

static void fill_table(struct tag_table *t, struct collector *c)
{
	struct report *r = c->r;
	struct tag_value *values = xarena(&r->arena, c->n, sizeof(*values));

	t->keys = xarena(&r->arena, c->n, sizeof(*t->keys));
	for (size_t i = 0; i < c->n; i++) {
		const struct entry *e = &c->entries[i];
		struct tag_key *key;

		values[i] = (struct tag_value){ .text = profile_str(r->v, e->text),
						.weight = e->weight };
		if (e->is_number) {
			values[i].least = e->least;
			values[i].most = e->most;
			values[i].unit = label_unit(&r->units, e->key);
		}
		if (i == 0 || e->key != c->entries[i - 1].key)
			t->keys[t->n++] = (struct tag_key){ .name = profile_str(r->v, e->key),
							    .values = &values[i] };
		key = &t->keys[t->n - 1];
		key->n++;
		key->total = wrap_add(key->total, e->weight);
	}
}

void tag_table_init(struct tag_table *t, struct report *r)
{
	struct collector c = { .r = r };
	const struct profile *v = r->v;

	*t = (struct tag_table){ 0 };
	table_init(&c.index, 0);
	out_init(&c.text, 0);
	for (size_t i = 0; i < v->nsamples; i++) {
		for (uint32_t k = 0; k < sample_at(v, i)->nlabels; k++)
			add_label(&c, &v->labels[sample_at(v, i)->label + k],
				  selected_value(&r->selection, v, i));
	}
	if (c.n)
		qsort_r(c.entries, c.n, sizeof(*c.entries), by_key_and_weight, r->v);
	fill_table(t, &c);
	out_release(&c.text);
	table_release(&c.index);
	free(c.entries);
}
