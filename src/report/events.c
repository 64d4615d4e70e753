/*
 * events.c - how many events a sampler caught to arrive at a number
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "report/events.h"

#include "base/str.h"
#include "base/units.h"
#include "profile/profile.h"

#include <math.h>

double objects_seen(double objects, double size, double period)
{
	return period > 1 && size > 0 ? objects * -expm1(-size / period) : objects;
}

double object_size(const struct profile *p, const struct sample *s, double bytes, double objects)
{
	for (uint32_t i = 0; i < s->nlabels; i++) {
		const struct label *l = &p->labels[s->label + i];

		if (l->str == NONE && str_is(profile_str(p, l->key), "bytes"))
			return (double)l->num;
	}
	return objects > 0 ? bytes / objects : 0;
}

static struct str type_name(const struct profile *p, uint32_t type)
{
	return profile_str(p, p->types[type].type);
}

static bool is_count(const struct profile *p, uint32_t type)
{
	return str_is(profile_str(p, p->types[type].unit), "count");
}

/* The type called 'prefix' of another one and then 'end': "inuse" and "_objects". */
static uint32_t sibling(const struct profile *p, struct str name, struct str end)
{
	ptrdiff_t at = str_rfind_char(name, '_');
	struct str prefix = { name.p, at > 0 ? (size_t)at : 0 };

	for (uint32_t i = 0; at > 0 && i < p->ntypes; i++) {
		struct str t = type_name(p, i);

		if (str_starts(t, prefix) && str_eq(str_skip(t, prefix.n), end))
			return i;
	}
	return NONE;
}

static bool is_heap(const struct profile *p, uint32_t type, struct event_rule *r)
{
	*r = (struct event_rule){ .how = EVENTS_OF_HEAP,
				  .count = sibling(p, type_name(p, type), STR("_objects")),
				  .bytes = sibling(p, type_name(p, type), STR("_space")),
				  .period = (double)p->period,
				  .scale = 1 };
	return r->count != NONE && r->bytes != NONE;
}

/* Whether the type is measured in what the sampler's clock ticks in. */
static bool is_time(const struct profile *p, uint32_t type)
{
	struct str unit = profile_str(p, p->types[type].unit);

	return p->period > 1 && !is_count(p, type) && p->types[type].type == p->period_type.type &&
	       str_eq(unit, profile_str(p, p->period_type.unit));
}

static bool is_contention(const struct profile *p)
{
	return p->ntypes == 2 && str_is(type_name(p, 0), "contentions") && is_count(p, 0);
}

/*
 * Who samples contentions multiplies them by how many one stands for, and need not say so: then
 * that divides all numbers.  It may be less, if there are few.
 */
static double common_divisor(const struct profile *p, uint32_t type)
{
	uint64_t divisor = 0;

	for (size_t i = 0; i < p->nsamples && divisor != 1; i++) {
		int64_t v = sample_values(p, i)[type];
		uint64_t rest = v < 0 ? -(uint64_t)v : (uint64_t)v;

		while (rest) {
			uint64_t next = divisor % rest;

			divisor = rest;
			rest = next;
		}
	}
	return divisor ? (double)divisor : 1;
}

struct event_rule event_rule(const struct profile *p, uint32_t type)
{
	struct event_rule r;

	if (is_heap(p, type, &r))
		return r;
	r = (struct event_rule){ .count = NONE, .bytes = NONE, .scale = 1 };
	if (is_contention(p))
		r.scale = common_divisor(p, 0);
	if (is_count(p, type)) {
		r.how = EVENTS_ARE;
		/* A short wait that was caught may stand for many: that cannot be seen. */
		r.uneven = is_contention(p) && r.scale <= 1;
		return r;
	}
	if (is_time(p, type)) {
		r.how = EVENTS_OF_TIME;
		r.period = (double)p->period;
		return r;
	}
	for (uint32_t i = 0; i < p->ntypes && r.count == NONE; i++)
		r.count = is_count(p, i) ? i : NONE;
	r.how = r.count == NONE ? EVENTS_UNKNOWN : EVENTS_COUNTED;
	r.uneven = true;
	return r;
}

double event_spread(const struct event_rule *r, double events)
{
	return r->uneven ? fmax(2, sqrt(events)) : 1;
}

double events_of(const struct event_rule *r, const struct profile *p, const struct sample *s,
		 const int64_t *values, uint32_t type)
{
	double value = fabs((double)values[type]), objects, bytes;

	switch (r->how) {
	case EVENTS_OF_HEAP:
		objects = fabs((double)values[r->count]);
		bytes = fabs((double)values[r->bytes]);
		return objects_seen(objects, object_size(p, s, bytes, objects), r->period);
	case EVENTS_OF_TIME:
		return value / r->period;
	case EVENTS_COUNTED:
		return fabs((double)values[r->count]) / r->scale;
	case EVENTS_ARE:
		return value / r->scale;
	default:
		return value > 0;
	}
}

const char *event_name(const struct event_rule *r)
{
	static const char *const names[] = { "sampled objects", "ticks", "events", "events",
					     "stacks" };

	return names[r->how];
}
