/*
 * label-units.c - the units of numeric labels
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "view/label-units.h"

#include "base/notify.h"
#include "base/out.h"
#include "base/xalloc.h"
#include "profile/labels.h"
#include "profile/profile.h"

#include <stdlib.h>

/* Units that a key does not get to use: few in any sane profile, so a list will do. */
struct ignored {
	uint32_t key, unit;
};

struct scan {
	struct label_units *u;
	struct ignored *list;
	size_t n, cap;
	uint32_t last_key, last_unit; /* the pair that was listed or found present last */
};

enum { MOST_IGNORED = 1000 };

static void note_ignored(struct scan *s, uint32_t key, uint32_t unit)
{
	if (s->n && key == s->last_key && unit == s->last_unit)
		return;
	s->last_key = key;
	s->last_unit = unit;
	for (size_t i = 0; i < s->n; i++) {
		if (s->list[i].key == key && s->list[i].unit == unit)
			return;
	}
	if (s->n < MOST_IGNORED)
		vec_push(s->list, s->n, s->cap, ((struct ignored){ key, unit }));
}

static void note_label(struct scan *s, const struct label *l)
{
	uint32_t *known = &s->u->unit[l->key];

	if (label_is_string(l) || l->unit == NONE || l->unit == 0)
		return;
	if (*known == NONE)
		*known = l->unit;
	else if (*known != l->unit)
		note_ignored(s, l->key, l->unit);
}

static int by_text(const void *a, const void *b, void *p)
{
	return str_cmp(profile_str(p, ((const struct ignored *)a)->unit),
		       profile_str(p, ((const struct ignored *)b)->unit));
}

static void warn_about(struct scan *s, uint32_t key, struct notify *notify)
{
	const struct profile *p = s->u->p;
	const char *comma = "";
	struct out o;

	out_init(&o, 0);
	for (size_t i = 0; i < s->n; i++) {
		if (s->list[i].key != key)
			continue;
		out_text(&o, comma);
		out_str(&o, profile_str(p, s->list[i].unit));
		comma = ", ";
	}
	notify_warn(notify, "For tag %.*s used unit %.*s, also encountered unit(s) %.*s",
		    STR_ARG(profile_str(p, key)), STR_ARG(profile_str(p, s->u->unit[key])),
		    STR_ARG(out_view(&o)));
	out_release(&o);
}

static void warn(struct scan *s, struct notify *notify)
{
	if (s->n)
		qsort_r(s->list, s->n, sizeof(*s->list), by_text, (void *)s->u->p);
	for (size_t i = 0; i < s->n; i++) {
		bool first = true;

		for (size_t k = 0; k < i; k++)
			first &= s->list[k].key != s->list[i].key;
		if (first)
			warn_about(s, s->list[i].key, notify);
	}
}

void label_units_init(struct label_units *u, const struct profile *p, struct notify *notify)
{
	struct scan s = { .u = u };

	*u = (struct label_units){ .p = p, .n = p->strings->n };
	u->unit = mem_new(u->n, sizeof(*u->unit));
	memset(u->unit, 0xff, u->n * sizeof(*u->unit));
	for (size_t i = 0; i < p->nsamples; i++) {
		for (uint32_t k = 0; k < sample_at(p, i)->nlabels; k++)
			note_label(&s, &p->labels[sample_at(p, i)->label + k]);
	}
	warn(&s, notify);
	free(s.list);
}

void label_units_release(struct label_units *u)
{
	free(u->unit);
	*u = (struct label_units){ 0 };
}

struct str label_unit(const struct label_units *u, uint32_t key)
{
	struct str name = profile_str(u->p, key);

	if (key < u->n && u->unit[key] != NONE)
		return profile_str(u->p, u->unit[key]);
	if (str_eq(name, STR("alignment")) || str_eq(name, STR("request")))
		return STR("bytes");
	return name;
}
