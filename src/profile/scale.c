/*
 * scale.c - values in other units, and by other factors
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "profile/scale.h"

#include "base/cleanup.h"
#include "base/err.h"
#include "base/units.h"
#include "base/xalloc.h"
#include "profile/profile.h"

#include <errno.h>

static struct str without_s(struct str s)
{
	return str_ends(s, STR("s")) ? (struct str){ s.p, s.n - 1 } : s;
}

struct named_type {
	struct str type, unit;
};

static struct named_type named(const struct profile *p, struct value_type vt)
{
	return (struct named_type){ profile_str(p, vt.type), profile_str(p, vt.unit) };
}

static bool compatible(struct named_type a, struct named_type b)
{
	return str_eq(without_s(a.type), without_s(b.type)) &&
	       (str_eq(a.unit, b.unit) || unit_compatible(a.unit, b.unit));
}

static double ratio_between(struct str from, struct str to)
{
	struct str unit;

	return unit_scale(1, from, (struct unit_target){ to, false }, &unit);
}

/* Narrows '*finest' to the finer of itself and 't'. */
static int finer(struct named_type *finest, struct named_type t, const char *what, struct err *err)
{
	if (!compatible(*finest, t))
		return err_set(err, -EINVAL,
			       "%s: incompatible types: {%.*s %.*s 0 0} {%.*s %.*s 0 0}", what,
			       STR_ARG(finest->type), STR_ARG(finest->unit), STR_ARG(t.type),
			       STR_ARG(t.unit));
	if (ratio_between(t.unit, finest->unit) < 1)
		*finest = t;
	return 0;
}

static void scale_types(struct profile *p, const double *ratios)
{
	size_t kept = 0;
	bool all_ones = true;

	for (uint32_t t = 0; t < p->ntypes; t++)
		all_ones &= ratios[t] == 1;
	for (size_t i = 0; !all_ones && i < p->nsamples; i++) {
		int64_t *v = sample_values(p, i);
		bool keep = false;

		for (uint32_t t = 0; t < p->ntypes; t++) {
			if (ratios[t] == 1)
				continue;
			v[t] = f64_to_i64(__builtin_round((double)v[t] * ratios[t]));
			keep |= v[t] != 0;
		}
		if (!keep)
			continue;
		p->samples[kept] = p->samples[i];
		memmove(sample_values(p, kept++), v, p->ntypes * sizeof(*v));
	}
	if (!all_ones) {
		p->nsamples = kept;
		p->in_order = false;
	}
}

static void set_units(struct profile *p, const struct named_type *finest)
{
	AUTO(freep) double *ratios = mem_new(p->ntypes, sizeof(*ratios));

	for (uint32_t t = 0; t < p->ntypes; t++) {
		ratios[t] = ratio_between(profile_str(p, p->types[t].unit), finest[t].unit);
		p->types[t].unit = profile_intern_copy(p, finest[t].unit);
	}
	scale_types(p, ratios);
}

static void set_period_unit(struct profile *p, struct str unit)
{
	struct str got;
	double period = unit_scale(p->period, profile_str(p, p->period_type.unit),
				   (struct unit_target){ unit, false }, &got);

	p->period = f64_to_i64(period);
	p->period_type.unit = profile_intern_copy(p, unit);
}

int scale_to_common_units(struct profile **ps, size_t n, struct err *err)
{
	struct named_type period = named(ps[0], ps[0]->period_type);
	AUTO(freep) struct named_type *finest = mem_new(ps[0]->ntypes, sizeof(*finest));
	int rc = 0;

	for (size_t i = 1; rc == 0 && i < n; i++)
		rc = finer(&period, named(ps[i], ps[i]->period_type), "period type", err);
	for (size_t i = 1; rc == 0 && i < n; i++) {
		if (ps[i]->ntypes != ps[0]->ntypes)
			rc = err_set(err, -EINVAL, "inconsistent samples type count: %u != %u",
				     ps[0]->ntypes, ps[i]->ntypes);
	}
	for (uint32_t t = 0; rc == 0 && t < ps[0]->ntypes; t++) {
		finest[t] = named(ps[0], ps[0]->types[t]);
		for (size_t i = 1; rc == 0 && i < n; i++)
			rc = finer(&finest[t], named(ps[i], ps[i]->types[t]), "sample types", err);
	}
	for (size_t i = 0; rc == 0 && i < n; i++) {
		set_period_unit(ps[i], period.unit);
		set_units(ps[i], finest);
	}
	return rc;
}

static bool equal_type(struct named_type a, struct named_type b)
{
	return str_eq(a.type, b.type) && str_eq(a.unit, b.unit);
}

int check_same_types(const struct profile *a, const struct profile *b, struct err *err)
{
	struct named_type x = named(a, a->period_type), y = named(b, b->period_type);

	if (!equal_type(x, y))
		return err_set(err, -EINVAL,
			       "incompatible period types &{%.*s %.*s 0 0} and &{%.*s %.*s 0 0}",
			       STR_ARG(x.type), STR_ARG(x.unit), STR_ARG(y.type), STR_ARG(y.unit));
	for (uint32_t t = 0; t < a->ntypes && t < b->ntypes; t++) {
		x = named(a, a->types[t]);
		y = named(b, b->types[t]);
		if (!equal_type(x, y))
			return err_set(
				err, -EINVAL, "incompatible sample types %.*s/%.*s and %.*s/%.*s",
				STR_ARG(x.type), STR_ARG(x.unit), STR_ARG(y.type), STR_ARG(y.unit));
	}
	if (a->ntypes != b->ntypes)
		return err_set(err, -EINVAL, "incompatible sample types: %u and %u of them",
			       a->ntypes, b->ntypes);
	return 0;
}

void profile_scale(struct profile *p, double ratio)
{
	AUTO(freep) double *ratios = mem_new(p->ntypes, sizeof(*ratios));

	for (uint32_t t = 0; t < p->ntypes; t++)
		ratios[t] = ratio;
	scale_types(p, ratios);
}

static int64_t total_of(const struct profile *p, uint32_t type)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < p->nsamples; i++)
		sum += (uint64_t)sample_values(p, i)[type];
	return (int64_t)sum;
}

int profile_normalize(struct profile *p, const struct profile *base, struct err *err)
{
	AUTO(freep) double *ratios = mem_new(p->ntypes, sizeof(*ratios));
	int rc = check_same_types(p, base, err);

	if (rc)
		return rc;
	for (uint32_t t = 0; t < p->ntypes; t++) {
		int64_t mine = total_of(p, t);

		ratios[t] = mine ? (double)total_of(base, t) / (double)mine : 0;
	}
	scale_types(p, ratios);
	return 0;
}
