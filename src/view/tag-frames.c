/*
 * tag-frames.c - labels as frames of the stack
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "view/tag-frames.h"

#include "base/out.h"
#include "base/xalloc.h"
#include "profile/labels.h"
#include "profile/profile.h"
#include "view/own.h"

#include <stdlib.h>

struct keys {
	uint32_t *at; /* strings */
	size_t n, cap;
};

/* Pseudo locations by key and text, and the tables they are appended to. */
struct maker {
	struct profile *v;
	struct unit_target unit;
	struct table index; /* of made[] */
	struct made {
		uint32_t key, text, location;
	} * made;
	size_t nmade, cap_made;
	size_t cap_locations, cap_functions, cap_lines;
	uint64_t max_location, max_function;
	struct out text;
};

static void read_keys(struct keys *k, struct profile *v, struct str list)
{
	for (struct str part, rest = list; str_split(&rest, ',', &part);) {
		if (part.n)
			vec_push(k->at, k->n, k->cap, profile_intern_copy(v, part));
	}
}

/* Writes the values of label 'key' with commas between them; false if there are none. */
static bool write_values(struct maker *m, const struct sample *s, uint32_t key)
{
	bool any = false;

	m->text.n = 0;
	for (uint32_t i = 0; i < s->nlabels; i++) {
		const struct label *l = &m->v->labels[s->label + i];

		if (l->key != key)
			continue;
		if (any)
			out_char(&m->text, ',');
		any = true;
		if (label_is_string(l))
			out_str(&m->text, profile_str(m->v, l->str));
		else if (l->unit != NONE)
			unit_print(&m->text, l->num, profile_str(m->v, l->unit), m->unit);
		else
			unit_print(&m->text, l->num, STR(""),
				   (struct unit_target){ STR(""), false });
	}
	return any;
}

static uint64_t hash_made(uint32_t i, const void *ctx)
{
	const struct maker *m = ctx;

	return hash_mix(m->made[i].key, m->made[i].text);
}

/* The arrays may still be the origin's, so they are grown by copying, not by realloc(). */
static void *grow(struct maker *m, void *at, size_t n, size_t *cap, size_t size)
{
	void *bigger;

	if (n < *cap)
		return at;
	*cap = n * 2 + 16;
	bigger = xarena(&m->v->arena, *cap, size);
	if (n)
		memcpy(bigger, at, n * size);
	return bigger;
}

static uint32_t new_location(struct maker *m, uint32_t key, uint32_t text)
{
	struct profile *v = m->v;

	v->functions =
		grow(m, v->functions, v->nfunctions, &m->cap_functions, sizeof(*v->functions));
	v->lines = grow(m, v->lines, v->nlines, &m->cap_lines, sizeof(*v->lines));
	v->locations =
		grow(m, v->locations, v->nlocations, &m->cap_locations, sizeof(*v->locations));
	v->functions[v->nfunctions] =
		(struct function){ .id = ++m->max_function, .name = text, .file = key };
	v->lines[v->nlines] = (struct line){ .function = v->nfunctions++ };
	v->locations[v->nlocations] = (struct location){
		.id = ++m->max_location, .mapping = NONE, .line = v->nlines++, .nlines = 1
	};
	return v->nlocations++;
}

static uint32_t location_for(struct maker *m, uint32_t key, uint32_t text)
{
	struct probe at;
	struct made one = { key, text, 0 };

	table_reserve(&m->index, hash_made, m);
	at = table_probe(&m->index, hash_mix(key, text));
	while (table_next(&m->index, &at)) {
		if (m->made[at.value].key == key && m->made[at.value].text == text)
			return m->made[at.value].location;
	}
	one.location = new_location(m, key, text);
	table_put(&m->index, &at, (uint32_t)m->nmade);
	vec_push(m->made, m->nmade, m->cap_made, one);
	return one.location;
}

static bool put_frames(struct maker *m, const struct sample *s, const struct keys *keys,
		       uint32_t *to)
{
	bool found = false;

	for (size_t i = keys->n; i > 0; i--) {
		uint32_t key = keys->at[i - 1];

		found |= write_values(m, s, key);
		*to++ = location_for(m, key, profile_intern_copy(m->v, out_view(&m->text)));
	}
	return found;
}

static void find_max_ids(struct maker *m)
{
	for (uint32_t i = 0; i < m->v->nlocations; i++) {
		if (m->v->locations[i].id > m->max_location)
			m->max_location = m->v->locations[i].id;
	}
	for (uint32_t i = 0; i < m->v->nfunctions; i++) {
		if (m->v->functions[i].id > m->max_function)
			m->max_function = m->v->functions[i].id;
	}
}

static void add_frames(struct maker *m, const struct keys *roots, const struct keys *leaves,
		       bool *root_found, bool *leaf_found)
{
	struct profile *v = m->v;
	size_t extra = roots->n + leaves->n;

	uint32_t *ends = xarena(&v->arena, profile_rows(v) * extra, sizeof(*ends));
	struct label_sets sets;

	label_sets_init(&sets, v);
	for (size_t i = 0; i < v->nsamples; i++) {
		uint32_t *to = ends + sample_row(v, i) * extra;
		uint32_t set = label_sets_find(&sets, i);
		size_t first = sets.sample[set];

		if (first != i) {
			memcpy(to, ends + sample_row(v, first) * extra, extra * sizeof(*to));
			continue;
		}
		*root_found |= put_frames(m, sample_at(v, i), roots, to + leaves->n);
		*leaf_found |= put_frames(m, sample_at(v, i), leaves, to);
	}
	label_sets_release(&sets);
	v->ends = ends;
	v->nleaves = (uint32_t)leaves->n;
	v->nroots = (uint32_t)roots->n;
}

void tag_frames_add(struct profile *v, struct str roots, struct str leaves, struct unit_target unit,
		    bool *root_found, bool *leaf_found)
{
	struct maker m = { .v = v, .unit = unit };
	struct keys root_keys = { 0 }, leaf_keys = { 0 };

	*root_found = *leaf_found = false;
	read_keys(&root_keys, v, roots);
	read_keys(&leaf_keys, v, leaves);
	if (root_keys.n + leaf_keys.n == 0)
		return;
	table_init(&m.index, 0);
	out_init(&m.text, 0);
	find_max_ids(&m);
	add_frames(&m, &root_keys, &leaf_keys, root_found, leaf_found);
	table_release(&m.index);
	out_release(&m.text);
	free(m.made);
	free(root_keys.at);
	free(leaf_keys.at);
}
