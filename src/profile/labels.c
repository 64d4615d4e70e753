/*
 * labels.c - the labels of one sample
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "profile/labels.h"

#include "base/xalloc.h"
#include "profile/profile.h"

#include <stdlib.h>

bool label_is_string(const struct label *l)
{
	return l->str != NONE;
}

bool label_same_key(const struct label *a, const struct label *b)
{
	return a->key == b->key && label_is_string(a) == label_is_string(b);
}

static bool label_before(const struct profile *p, const struct label *a, const struct label *b)
{
	if (label_is_string(a) != label_is_string(b))
		return label_is_string(a);
	if (a->key == b->key)
		return false;
	return str_cmp(profile_str(p, a->key), profile_str(p, b->key)) < 0;
}

static void merge_halves(const struct profile *p, struct label *l, size_t half, size_t n,
			 struct label *scratch)
{
	size_t i = 0, j = half;

	memcpy(scratch, l, n * sizeof(*l));
	for (size_t k = 0; k < n; k++) {
		if (j == n || (i < half && !label_before(p, &scratch[j], &scratch[i])))
			l[k] = scratch[i++];
		else
			l[k] = scratch[j++];
	}
}

/* Stable; few samples have more than three labels, hostile ones may have millions. */
static void sort(const struct profile *p, struct label *l, size_t n, struct label *scratch)
{
	if (n < 2)
		return;
	sort(p, l, n / 2, scratch);
	sort(p, l + n / 2, n - n / 2, scratch);
	if (label_before(p, &l[n / 2], &l[n / 2 - 1]))
		merge_halves(p, l, n / 2, n, scratch);
}

static void fill_units(struct label *l, size_t n)
{
	bool any = false;

	for (size_t i = 0; i < n; i++)
		any |= l[i].unit != NONE;
	for (size_t i = 0; any && i < n; i++) {
		if (l[i].unit == NONE)
			l[i].unit = 0;
	}
}

void labels_normalize(const struct profile *p, struct label *l, size_t n)
{
	struct label few[16];
	struct label *scratch = n <= 16 ? few : mem_new(n, sizeof(*scratch));
	size_t end;

	sort(p, l, n, scratch);
	for (size_t i = 0; i < n; i = end) {
		for (end = i + 1; end < n && label_same_key(&l[i], &l[end]); end++)
			;
		if (!label_is_string(&l[i]))
			fill_units(l + i, end - i);
		for (size_t k = i; k < end && label_is_string(&l[k]); k++) {
			l[k].unit = NONE;
			l[k].num = 0;
		}
	}
	if (scratch != few)
		free(scratch);
}

/* What a label is after it was written to a file and read again; false if nothing is left. */
static bool settle(struct label *l)
{
	if (label_is_string(l))
		return l->str != 0;
	return l->num != 0 || (l->unit != NONE && l->unit != 0);
}

void labels_settle(struct profile *p)
{
	for (size_t i = 0; i < p->nsamples; i++) {
		struct sample *s = &p->samples[i];
		struct label *l = p->labels + s->label;
		uint32_t kept = 0;
		bool changed = false;

		for (uint32_t k = 0; k < s->nlabels; k++) {
			changed |= l[k].unit == 0;
			if (!settle(&l[k]))
				continue;
			l[kept] = l[k];
			if (l[kept].unit == 0)
				l[kept].unit = NONE;
			kept++;
		}
		s->nlabels = kept;
		if (changed)
			labels_normalize(p, l, kept);
	}
}

uint64_t labels_hash(const struct label *l, size_t n, uint64_t h)
{
	for (size_t i = 0; i < n; i++)
		h = hash_mix(h ^ l[i].key, hash_mix(l[i].str, l[i].unit) ^ (uint64_t)l[i].num);
	return h;
}

bool labels_same(const struct label *a, const struct label *b, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (a[i].key != b[i].key || a[i].str != b[i].str || a[i].unit != b[i].unit ||
		    a[i].num != b[i].num)
			return false;
	}
	return true;
}

/* ------------------------------------------------------------------ sets */

static uint64_t hash_of(const struct profile *p, size_t sample)
{
	const struct sample *s = sample_at(p, sample);

	return labels_hash(p->labels + s->label, s->nlabels, s->nlabels);
}

static bool same_labels(const struct profile *p, size_t a, size_t b)
{
	const struct sample *x = sample_at(p, a), *y = sample_at(p, b);

	return x->nlabels == y->nlabels &&
	       (x->label == y->label ||
		labels_same(p->labels + x->label, p->labels + y->label, x->nlabels));
}

static uint64_t rehash(uint32_t i, const void *ctx)
{
	const struct label_sets *s = ctx;

	return hash_of(s->p, s->sample[i]);
}

void label_sets_init(struct label_sets *s, const struct profile *p)
{
	*s = (struct label_sets){ .p = p };
	table_init(&s->index, 0);
}

void label_sets_release(struct label_sets *s)
{
	free(s->sample);
	table_release(&s->index);
}

uint32_t label_sets_find(struct label_sets *s, size_t sample)
{
	struct probe at;

	table_reserve(&s->index, rehash, s);
	at = table_probe(&s->index, hash_of(s->p, sample));
	while (table_next(&s->index, &at)) {
		if (same_labels(s->p, s->sample[at.value], sample))
			return at.value;
	}
	table_put(&s->index, &at, (uint32_t)s->n);
	vec_push(s->sample, s->n, s->cap, sample);
	return (uint32_t)s->n - 1;
}
