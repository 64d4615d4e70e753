/*
 * compare.c - what changed between two profiles, and whether that is more than chance
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "report/compare.h"

#include "base/cleanup.h"
#include "base/err.h"
#include "base/out.h"
#include "base/units.h"
#include "base/xalloc.h"
#include "graph/node.h"
#include "graph/walk.h"
#include "profile/profile.h"
#include "report/events.h"
#include "report/report.h"
#include "report/significance.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

/* At most this share of what is said to have changed is expected not to have. */
static const double level = 0.05;

/* Squares are kept as whole numbers with so many steps between them. */
static const double steps = 256;

/* What spread profiles of a side have is believed as much as so many profiles more. */
static const double trusted = 4;

enum { TYPES_MOST = 32 };

/* Functions with so many events tell what is typical. */
static const double enough = 6;
enum { FUNCTIONS_LEAST = 8 };

/* And those that are further off than so many standard deviations are not typical. */
static const double outlying = 2.5;

/* Durations that differ by less are the same. */
static const double same_time = 0.01;

enum { SUM, SQUARES, EVENTS, COLUMNS };
_Static_assert((int)COLUMNS == WALK_TYPES, "they are added up in one go");

/* Of one node, or everything: a number for each profile. */
struct sums {
	const double *sum, *squares, *events;
};

struct job {
	struct compare *c;
	struct report *r;
	struct compare_sides sides;
	struct event_rule rule;
	double unit;      /* the mean weight of an event: what squares are divided by */
	uint8_t *profile; /* of each sample */
	struct exposure exposure;
	double exposed[COMPARE_PROFILES_MOST]; /* of each profile */
	double scale; /* what sums of the new side are multiplied with, to be like the old one's */
	struct profile *v;
	struct nodes nodes;
	double *flat, *cum; /* per node, column and profile */
	double *whole;      /* per column and profile */
};

const char *compare_verdict_text(enum compare_verdict v)
{
	static const char *const text[] = { "too few", "may be chance", "less", "more" };

	return text[v];
}

/* ------------------------------------------------------------------ which profile is it of */

static uint32_t first_of(const struct compare_sides *s, bool base)
{
	for (uint32_t i = 0; i < s->n; i++) {
		if (s->profiles[i].base == base)
			return i;
	}
	return 0;
}

/* "1" is the first; NONE if it is no number of a profile. */
static uint32_t numbered(const struct job *j, struct str text)
{
	uint32_t n = 0;

	for (size_t i = 0; i < text.n && i < 3; i++)
		n = n * 10 + (uint32_t)(unsigned char)(text.p[i] - '0');
	return n > 0 && n <= j->sides.n ? n - 1 : NONE;
}

static uint32_t profile_of(const struct job *j, size_t sample, uint32_t base, uint32_t number)
{
	const struct profile *v = j->r->v;
	const struct sample *s = sample_at(v, sample);
	uint32_t found = NONE;
	bool is_base = false;

	for (uint32_t i = 0; i < s->nlabels; i++) {
		const struct label *l = &v->labels[s->label + i];

		is_base |= l->key == base && l->str != NONE;
		if (l->key == number && l->str != NONE)
			found = numbered(j, profile_str(v, l->str));
	}
	if (found != NONE && j->sides.profiles[found].base == is_base)
		return found;
	return first_of(&j->sides, is_base);
}

static void assign_samples(struct job *j)
{
	const struct profile *v = j->r->v;
	uint32_t base = profile_lookup(v, STR("pprof::base"));
	uint32_t number = profile_lookup(v, STR("sonde::profile"));

	j->profile = mem_new(v->nsamples + 1, 1);
	for (size_t i = 0; i < v->nsamples; i++)
		j->profile[i] = (uint8_t)profile_of(j, i, base, number);
}

/* ------------------------------------------------------------------ adding up */

/* The values of a sample as they were before -normalize. */
static const int64_t *true_values(const struct job *j, size_t i, int64_t *room)
{
	const struct profile *v = j->r->v;
	const int64_t *values = sample_values(v, i);

	if (!j->sides.ratios || j->sides.profiles[j->profile[i]].base || v->ntypes > TYPES_MOST)
		return values;
	for (uint32_t t = 0; t < v->ntypes; t++)
		room[t] = f64_to_i64(round((double)values[t] / j->sides.ratios[t]));
	return room;
}

/* Of one sample: how many events, at least one if it has any value. */
static double events_at(const struct job *j, size_t i, double *value)
{
	const struct profile *v = j->r->v;
	int64_t room[TYPES_MOST];
	const int64_t *values = true_values(j, i, room);
	const struct compare_side *side = &j->sides.profiles[j->profile[i]];
	struct event_rule rule = j->rule;
	double n;

	if (side->period > 0)
		rule.period = (double)side->period;
	n = events_of(&rule, v, sample_at(v, i), values, j->r->selection.index);
	*value = fabs((double)values[j->r->selection.index]);
	if (*value <= 0)
		return 0;
	return n < 1 ? 1 : n;
}

static void find_unit(struct job *j)
{
	double sum = 0, events = 0, value;

	for (size_t i = 0; i < j->r->v->nsamples; i++) {
		events += events_at(j, i, &value);
		sum += value;
	}
	j->unit = events > 0 ? sum / events : 1;
}

static int64_t whole(double v)
{
	return v < 9e15 ? (int64_t)(v + 0.5) : (int64_t)9e15;
}

/* The numbers of one profile, in place of those that the samples have. */
static void fill(const struct job *j, uint32_t profile)
{
	for (size_t i = 0; i < j->r->v->nsamples; i++) {
		int64_t *to = sample_values(j->v, i);
		double value, events;

		memset(to, 0, COLUMNS * sizeof(*to));
		if (j->profile[i] != profile)
			continue;
		events = events_at(j, i, &value);
		if (events <= 0)
			continue;
		to[SUM] = whole(value);
		to[SQUARES] = whole(value * value / events / j->unit * steps *
				    event_spread(&j->rule, events));
		to[EVENTS] = whole(events * steps);
	}
}

static void store(const struct job *j, double *to, size_t node, uint32_t column, uint32_t profile,
		  int64_t v)
{
	to[(node * COLUMNS + column) * j->sides.n + profile] =
		(double)v / (column == SUM ? 1 : steps);
}

static struct sums sums_at(const struct job *j, const double *of, size_t node)
{
	const double *at = of + node * COLUMNS * j->sides.n;

	return (struct sums){ at + SUM * j->sides.n, at + SQUARES * j->sides.n,
			      at + EVENTS * j->sides.n };
}

static void add_whole(struct job *j, uint32_t profile)
{
	int64_t all[COLUMNS] = { 0 };

	for (size_t i = 0; i < j->v->nsamples; i++)
		for (uint32_t column = 0; column < COLUMNS; column++)
			all[column] = wrap_add(all[column], sample_values(j->v, i)[column]);
	for (uint32_t column = 0; column < COLUMNS; column++)
		store(j, j->whole, 0, column, profile, all[column]);
}

static void add_profile(struct job *j, uint32_t profile)
{
	size_t n = (size_t)j->nodes.n * COLUMNS;
	AUTO(freep) int64_t *flat = mem_new(n, sizeof(*flat)), *cum = mem_new(n, sizeof(*cum));

	fill(j, profile);
	walk_types(&j->nodes, flat, cum);
	for (size_t i = 0; i < n; i++) {
		store(j, j->flat, i / COLUMNS, i % COLUMNS, profile, flat[i]);
		store(j, j->cum, i / COLUMNS, i % COLUMNS, profile, cum[i]);
	}
	add_whole(j, profile);
}

/* A view of the same stacks with numbers of our own. */
static void add_up(struct job *j)
{
	struct profile *v = profile_view(j->r->v);
	size_t row = COLUMNS * j->sides.n;
	struct node_options o;

	find_unit(j);
	(void)node_options_init(&o, &j->r->cfg);
	j->v = v;
	v->ntypes = COLUMNS;
	v->values = mem_new(profile_rows(v) * COLUMNS, sizeof(*v->values));
	nodes_init(&j->nodes, v, &o);
	j->flat = mem_zeroed(j->nodes.n * row, sizeof(*j->flat));
	j->cum = mem_zeroed(j->nodes.n * row, sizeof(*j->cum));
	j->whole = mem_zeroed(row, sizeof(*j->whole));
	for (uint32_t i = 0; i < j->sides.n; i++)
		add_profile(j, i);
}

static void release(struct job *j)
{
	nodes_release(&j->nodes);
	free(j->v->values);
	profile_free(j->v);
	free(j->profile);
	free(j->flat);
	free(j->cum);
	free(j->whole);
}

/* ------------------------------------------------------------------ what to expect */

static void count_sides(struct job *j)
{
	struct compare *c = j->c;
	bool known[2] = { true, true };

	for (size_t i = 0; i < j->sides.n; i++) {
		int side = !j->sides.profiles[i].base;

		c->profiles[side]++;
		c->duration[side] += j->sides.profiles[i].duration;
		known[side] &= j->sides.profiles[i].duration > 0;
	}
	for (int side = 0; side < 2; side++)
		c->duration[side] = known[side] ? c->duration[side] : 0;
}

static double per_profile(const struct compare *c, int side)
{
	return (double)c->duration[side] / (double)c->profiles[side];
}

static double side_sum(const struct job *j, const double *of, int side)
{
	double sum = 0;

	for (size_t i = 0; i < j->sides.n; i++)
		sum += !j->sides.profiles[i].base == side ? of[i] : 0;
	return sum;
}

static struct evidence evidence_of(const struct job *j, const struct sums *s)
{
	return (struct evidence){
		.sum = { side_sum(j, s->sum, 0), side_sum(j, s->sum, 1) },
		.squares = { side_sum(j, s->squares, 0) * j->unit,
			     side_sum(j, s->squares, 1) * j->unit },
	};
}

/* ------------------------------------------------------------------ spread between profiles */

/* How far the profiles of each side are from each other. */
struct spread {
	double squared; /* Pearson's chi squared, in events; -1: too few for it to mean anything */
	double mean;    /* events per profile */
};

static struct spread measure(const struct job *j, const struct sums *s)
{
	struct evidence e = evidence_of(j, s);
	double events[2], all[2] = { side_sum(j, j->exposed, 0), side_sum(j, j->exposed, 1) };
	struct spread to = { 0 };
	double n, weight;

	effective_events(&e, 1, events);
	n = events[0] + events[1];
	weight = n > 0 ? (e.sum[0] + e.sum[1]) / n : 1;
	to.mean = n / (double)j->sides.n;
	for (size_t i = 0; i < j->sides.n; i++) {
		int side = !j->sides.profiles[i].base;
		double expected = events[side] * j->exposed[i] / all[side];
		double off = s->sum[i] / weight - expected;

		if (!(expected >= 1))
			return (struct spread){ -1, to.mean };
		to.squared += off * off / expected;
	}
	return to;
}

static double freedom(const struct job *j)
{
	return (double)j->sides.n - 2;
}

/* Variance, compared with that of sampling, of a number that varies by itself, too. */
static double variance(double spread, double mean)
{
	return 1 + spread * spread * mean;
}

/* What is left of all squares if numbers vary by this share of themselves. */
static double squares_left(const struct spread *all, size_t n, double spread)
{
	double sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += all[i].squared / variance(spread, all[i].mean);
	return sum;
}

/* How much numbers vary by themselves, that squares are as many as chance has them. */
static void find_spread(struct job *j)
{
	AUTO(freep) struct spread *all = mem_new(j->nodes.n, sizeof(*all));
	double low = 0, high = 10;
	size_t n = 0;

	if (freedom(j) < 1)
		return;
	for (uint32_t i = 0; i < j->nodes.n; i++) {
		struct sums s = sums_at(j, j->flat, i);

		all[n] = measure(j, &s);
		n += all[n].squared >= 0;
	}
	for (int i = 0; i < 50; i++) {
		double middle = (low + high) / 2;

		if (squares_left(all, n, middle) > freedom(j) * (double)n)
			low = middle;
		else
			high = middle;
	}
	j->c->spread = high < 1e-3 ? 0 : high;
}

/* The variance of all numbers of this size, or more where this one has more. */
static double variance_of(const struct job *j, const struct sums *s)
{
	struct spread own = measure(j, s);
	double common = variance(j->c->spread, own.mean);

	if (freedom(j) < 1 || own.squared < 0)
		return common;
	return fmax(common, (trusted * common + own.squared) / (trusted + freedom(j)));
}

/* ------------------------------------------------------------------ what to expect of each side */

static bool is_timed(const struct compare *c)
{
	return c->duration[0] > 0 && c->duration[1] > 0;
}

/* The exposure that follows from those of the profiles. */
static void settle(struct job *j, bool parts)
{
	double all[2] = { side_sum(j, j->exposed, 0), side_sum(j, j->exposed, 1) };

	j->exposure = (struct exposure){ .share = all[0] / (all[0] + all[1]),
					 .all = { all[0], all[1] },
					 .parts = parts,
					 .spread = 1 };
	j->scale = all[0] > 0 && all[1] > 0 ? all[0] / all[1] : 1;
}

static void expose_by_time(struct job *j)
{
	for (size_t i = 0; i < j->sides.n; i++)
		j->exposed[i] = is_timed(j->c) ? (double)j->sides.profiles[i].duration : 1;
	settle(j, false);
}

struct ratio {
	double value, weight;
};

static int by_value(const void *a, const void *b)
{
	const struct ratio *x = a, *y = b;

	return x->value < y->value ? -1 : x->value > y->value;
}

/* The value that has as much weight below it as above. */
static double median(struct ratio *all, size_t n)
{
	double sum = 0, half = 0;
	size_t i = 0;

	qsort(all, n, sizeof(*all), by_value);
	for (size_t k = 0; k < n; k++)
		sum += all[k].weight;
	while (i + 1 < n && half + all[i].weight < sum / 2)
		half += all[i++].weight;
	return all[i].value;
}

/* Whether a function has about 'ratio' times as many events in the profile as before. */
static bool is_typical(const double events[2], double ratio)
{
	double n = events[0] + events[1], expected = n / (1 + ratio);

	return fabs(events[0] - expected) <= outlying * sqrt(n * ratio) / (1 + ratio);
}

/* How much more all functions together have that have about 'ratio' times as much as before. */
static double pool(const struct job *j, size_t profile, double ratio)
{
	double sum[2] = { 0 };

	for (uint32_t i = 0; i < j->nodes.n; i++) {
		struct sums s = sums_at(j, j->flat, i);
		double old = (double)j->c->profiles[0];
		double events[2] = { side_sum(j, s.events, 0) / old, s.events[profile] };

		if (!is_typical(events, ratio))
			continue;
		sum[0] += side_sum(j, s.sum, 0) / old;
		sum[1] += s.sum[profile];
	}
	return sum[0] > 0 && sum[1] > 0 ? sum[1] / sum[0] : ratio;
}

/*
 * How much more functions typically have in a profile than in one of the old side: the median, in
 * which each counts as much as its events tell; then all that are near it, which is more exact.
 */
static double typical(const struct job *j, size_t profile)
{
	AUTO(freep) struct ratio *all = mem_new(j->nodes.n + 1, sizeof(*all));
	double old = (double)j->c->profiles[0], ratio;
	size_t n = 0;

	for (uint32_t i = 0; i < j->nodes.n; i++) {
		struct sums s = sums_at(j, j->flat, i);
		double before = side_sum(j, s.sum, 0) / old;
		double events[2] = { side_sum(j, s.events, 0), s.events[profile] };

		if (before > 0 && events[0] + events[1] >= enough)
			all[n++] =
				(struct ratio){ s.sum[profile] / before,
						events[0] * events[1] / (events[0] + events[1]) };
	}
	if (n == 0) {
		double before = side_sum(j, j->whole, 0);

		return before > 0 ? j->whole[profile] * old / before : 1;
	}
	ratio = fmax(median(all, n), 1e-9);
	for (int i = 0; i < 10; i++)
		ratio = pool(j, profile, ratio);
	return ratio;
}

static void expose(struct job *j)
{
	for (size_t i = 0; i < j->sides.n; i++) {
		bool old = j->sides.profiles[i].base && j->c->profiles[0] == 1;

		if (j->c->by == COMPARE_TYPICAL)
			j->exposed[i] = old ? 1 : typical(j, i);
		else
			j->exposed[i] = j->c->by == COMPARE_SHARES ? j->whole[i] : 1;
	}
	if (j->c->by == COMPARE_TIME)
		expose_by_time(j);
	else
		settle(j, j->c->by == COMPARE_SHARES);
	j->c->scale = j->scale * (double)j->c->profiles[1] / (double)j->c->profiles[0];
}

/* Whether totals differ by more than chance, between the sides or within one. */
static bool totals_differ(struct job *j)
{
	const struct sums all = sums_at(j, j->whole, 0);
	struct evidence e = evidence_of(j, &all);

	expose_by_time(j);
	return chance_of_difference(&e, &j->exposure) < level ||
	       (freedom(j) >= 1 && measure(j, &all).squared > 2 * freedom(j));
}

/* Of a few functions none is typical. */
static bool has_typical(const struct job *j)
{
	size_t n = 0;

	for (uint32_t i = 0; i < j->nodes.n; i++) {
		struct sums s = sums_at(j, j->flat, i);

		n += side_sum(j, s.events, 0) + side_sum(j, s.events, 1) >= enough;
	}
	return n >= FUNCTIONS_LEAST;
}

/* What lives at a moment does not grow with the time somebody has watched it. */
static enum compare_by choose(struct job *j)
{
	const struct compare *c = j->c;

	if (j->sides.ratios)
		return COMPARE_SHARES;
	if (j->sides.by == COMPARE_TIME && !is_timed(c))
		return COMPARE_AMOUNTS;
	if (j->sides.by != COMPARE_AUTO)
		return j->sides.by;
	if (!is_timed(c) || str_starts(j->r->sample_type, STR("inuse")))
		return COMPARE_AMOUNTS;
	if (totals_differ(j) && has_typical(j))
		return COMPARE_TYPICAL;
	return fabs(per_profile(c, 0) / per_profile(c, 1) - 1) > same_time ? COMPARE_TIME
									   : COMPARE_AMOUNTS;
}

/* ------------------------------------------------------------------ judging */

static int64_t shown(double v)
{
	return f64_to_i64(round(v));
}

static void judge(const struct job *j, const double *of, size_t node, struct compare_value *v)
{
	const struct sums s = sums_at(j, of, node);
	struct exposure x = j->exposure;
	struct evidence e = evidence_of(j, &s);
	double events[2], old = (double)j->c->profiles[0];

	x.spread = variance_of(j, &s);
	effective_events(&e, x.spread, events);
	*v = (struct compare_value){
		.before = shown(e.sum[0] / old),
		.after = shown(e.sum[1] * j->scale / old),
		.events = { side_sum(j, s.events, 0), side_sum(j, s.events, 1) },
		.chance = chance_of_difference(&e, &x),
		.q = 1,
		.verdict = COMPARE_CHANCE,
	};
	if (least_chance(events[0] + events[1], x.share) > level) {
		v->verdict = COMPARE_FEW;
		v->chance = 1;
	}
}

/* Looks at all numbers together. */
static void correct(struct compare *c)
{
	size_t most = c->n * 2 + 1;
	AUTO(freep) struct compare_value **asked = mem_new(most, sizeof(struct compare_value *));
	AUTO(freep) double *q = mem_new(most, sizeof(*q));

	c->asked = 0;
	for (size_t i = 0; i < most; i++) {
		struct compare_row *row = i < c->n * 2 ? &c->rows[i / 2] : NULL;
		struct compare_value *v = !row ? &c->total : i % 2 ? &row->cum : &row->flat;

		if (v->verdict == COMPARE_FEW)
			continue;
		asked[c->asked] = v;
		q[c->asked++] = v->chance;
	}
	false_discoveries(q, q, c->asked);
	for (size_t i = 0; i < c->asked; i++) {
		struct compare_value *v = asked[i];

		v->q = q[i];
		if (v->q <= level && v->before != v->after)
			v->verdict = v->after > v->before ? COMPARE_MORE : COMPARE_LESS;
	}
}

static int64_t size_of(const struct compare_value *v)
{
	return abs_i64(wrap_add(v->after, -v->before));
}

static int by_size(const void *a, const void *b)
{
	const struct compare_row *x = a, *y = b;
	int64_t m = size_of(&x->flat), n = size_of(&y->flat);

	if (m == n) {
		m = size_of(&x->cum);
		n = size_of(&y->cum);
	}
	return m == n ? str_cmp(x->name, y->name) : m > n ? -1 : 1;
}

static struct str name_of(struct job *j, uint32_t node)
{
	struct out text;
	struct str name;

	out_init(&text, 0);
	node_print(&text, j->nodes.p, &j->nodes.info[node]);
	name = xarena_str(&j->r->arena, out_view(&text));
	out_release(&text);
	return name;
}

static void make_rows(struct job *j)
{
	struct compare *c = j->c;
	struct compare_value all;

	judge(j, j->whole, 0, &all);
	c->whole[0] = all.before;
	c->whole[1] = all.after;
	c->rows = xarena(&j->r->arena, j->nodes.n, sizeof(*c->rows));
	for (uint32_t i = 0; i < j->nodes.n; i++) {
		struct compare_row *row = &c->rows[c->n];

		judge(j, j->flat, i, &row->flat);
		judge(j, j->cum, i, &row->cum);
		if (row->cum.before == 0 && row->cum.after == 0)
			continue;
		row->name = name_of(j, i);
		c->n++;
	}
}

/* The total is compared by time where there is one, whatever functions are compared by. */
static void judge_total(struct job *j)
{
	if (j->c->by == COMPARE_TYPICAL)
		expose_by_time(j);
	judge(j, j->whole, 0, &j->c->total);
}

int compare_init(struct compare *c, struct report *r, const struct compare_sides *sides,
		 struct err *err)
{
	static const struct compare_sides pair = { .profiles = { { .base = true } }, .n = 2 };
	struct job j = { .c = c, .r = r, .sides = sides ? *sides : pair };

	*c = (struct compare){ .scale = 1 };
	if (!sides && !selection_has_base(r->v))
		return err_set(err, -EINVAL, "there is nothing to compare with: give a -diff_base");
	j.rule = event_rule(r->v, r->selection.index);
	c->events = event_name(&j.rule);
	count_sides(&j);
	assign_samples(&j);
	add_up(&j);
	c->by = choose(&j);
	expose(&j);
	find_spread(&j);
	make_rows(&j);
	judge_total(&j);
	correct(c);
	if (c->n)
		qsort(c->rows, c->n, sizeof(*c->rows), by_size);
	release(&j);
	return 0;
}

size_t compare_count(const struct compare *c, enum compare_verdict verdict)
{
	size_t n = c->total.verdict == verdict;

	for (size_t i = 0; i < c->n; i++)
		n += c->rows[i].flat.verdict == verdict || c->rows[i].cum.verdict == verdict;
	return n;
}
