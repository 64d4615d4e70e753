/*
 * growth.c - what grows over a series of heap profiles
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "report/growth.h"

#include "base/arena.h"
#include "base/err.h"
#include "base/table.h"
#include "base/xalloc.h"
#include "profile/profile.h"
#include "report/events.h"
#include "report/significance.h"
#include "report/trend.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

enum { FRAMES_MOST = 512, PROFILES_MOST = 100000, PROFILES_LEAST = 3 };

/* A leak grows by this share of the heap from one profile to the next, at least. */
static const double matters = 0.004;
/* How sure to be: of all that was looked at together. */
static const double sure = 1e-3, perhaps = 0.05;
/* In its second half a leak grows at least this fast, compared with all of it. */
static const double goes_on = 0.3;
/* Of what came, the share that may have gone where nothing is ever freed. */
static const double nothing = 0.05;

struct round {
	int64_t time;
	double total, born; /* bytes of the heap, and objects ever sampled */
};

/* One stack, function or heap in one profile. */
struct point {
	uint32_t round;
	double bytes, objects;
	double lives, born; /* objects of the sample: that live, that ever did */
};

struct thing {
	uint64_t hash;
	enum growth_level level;
	struct str *frames;
	size_t nframes;
	struct point *points; /* in the order they came */
	size_t npoints, cap;
};

struct growth {
	struct arena a;
	struct table index; /* of things */
	struct thing *things;
	size_t n, cap;
	struct round *rounds;
	size_t nrounds, rounds_cap;
	bool has_allocs; /* what came is told, and not only what lives */
	struct growth_row *rows;
};

struct growth *growth_new(void)
{
	struct growth *g = mem_zeroed(1, sizeof(*g));

	arena_init(&g->a, (size_t)8 << 30);
	table_init(&g->index, 1024);
	return g;
}

void growth_free(struct growth *g)
{
	if (!g)
		return;
	for (size_t i = 0; i < g->n; i++)
		free(g->things[i].points);
	free(g->things);
	free(g->rounds);
	free(g->rows);
	table_release(&g->index);
	arena_release(&g->a);
	free(g);
}

/* --- profiles in ------------------------------------------------------------------------- */

struct columns {
	uint32_t space, objects, alloc_objects; /* NONE: there is none */
};

static uint32_t column(const struct profile *p, const char *name)
{
	for (uint32_t i = 0; i < p->ntypes; i++)
		if (str_is(profile_str(p, p->types[i].type), name))
			return i;
	return NONE;
}

static struct str frame_name(struct growth *g, const struct profile *p, uint32_t location,
			     uint32_t line)
{
	const struct location *l = &p->locations[location];

	if (l->nlines == 0)
		return xarena_printf(&g->a, "0x%llx", (unsigned long long)l->address);
	return profile_str(p, p->functions[p->lines[l->line + line].function].name);
}

static size_t stack_frames(struct growth *g, const struct profile *p, const struct sample *s,
			   struct str *frames)
{
	size_t n = 0;

	for (uint32_t i = 0; i < s->depth && n < FRAMES_MOST; i++) {
		uint32_t location = p->stacks[s->stack + i], lines = p->locations[location].nlines;

		for (uint32_t k = 0; k < (lines ? lines : 1) && n < FRAMES_MOST; k++)
			frames[n++] = frame_name(g, p, location, k);
	}
	return n;
}

static bool is_thing(const struct thing *t, enum growth_level level, const struct str *frames,
		     size_t n)
{
	if (t->level != level || t->nframes != n)
		return false;
	for (size_t i = 0; i < n; i++)
		if (!str_eq(t->frames[i], frames[i]))
			return false;
	return true;
}

static uint64_t rehash_thing(uint32_t value, const void *ctx)
{
	return ((const struct growth *)ctx)->things[value].hash;
}

static struct thing *find_thing(struct growth *g, enum growth_level level, const struct str *frames,
				size_t n)
{
	struct probe at;
	struct thing t = { .hash = hash_mix(level, n), .level = level, .nframes = n };

	for (size_t i = 0; i < n; i++)
		t.hash = hash_bytes(frames[i].p, frames[i].n, t.hash);
	table_reserve(&g->index, rehash_thing, g);
	at = table_probe(&g->index, t.hash);
	while (table_next(&g->index, &at))
		if (is_thing(&g->things[at.value], level, frames, n))
			return &g->things[at.value];
	t.frames = xarena(&g->a, n + 1, sizeof(*t.frames));
	for (size_t i = 0; i < n; i++)
		t.frames[i] = xarena_str(&g->a, frames[i]);
	table_put(&g->index, &at, (uint32_t)g->n);
	vec_push(g->things, g->n, g->cap, t);
	return &g->things[g->n - 1];
}

static void add_point(struct growth *g, enum growth_level level, const struct str *frames, size_t n,
		      const struct point *p)
{
	struct thing *t = find_thing(g, level, frames, n);
	struct point *last = t->npoints ? &t->points[t->npoints - 1] : NULL;

	if (!last || last->round != p->round) {
		if (!t->points || t->npoints == t->cap) {
			t->cap = t->cap ? t->cap * 2 : 8;
			t->points = mem_grow(t->points, t->cap, sizeof(*t->points));
		}
		t->points[t->npoints++] = *p;
		return;
	}
	last->bytes += p->bytes;
	last->objects += p->objects;
	last->lives += p->lives;
	last->born += p->born;
}

static double value(const struct profile *p, size_t sample, uint32_t column)
{
	return column == NONE ? 0 : (double)sample_values(p, sample)[column];
}

static void add_sample(struct growth *g, const struct profile *p, size_t i, struct columns c,
		       struct round *r)
{
	const struct sample *s = &p->samples[i];
	struct str frames[FRAMES_MOST];
	struct point at = {
		.round = (uint32_t)g->nrounds,
		.bytes = value(p, i, c.space),
		.objects = value(p, i, c.objects),
	};
	double size = object_size(p, s, at.bytes, at.objects), period = (double)p->period;
	size_t n = stack_frames(g, p, s, frames);

	at.lives = objects_seen(c.objects == NONE ? at.bytes / 4096 : at.objects, size, period);
	at.born = objects_seen(value(p, i, c.alloc_objects), size, period);
	r->total += at.bytes;
	r->born += at.born;
	add_point(g, GROWTH_STACK, frames, n, &at);
	add_point(g, GROWTH_FUNCTION, frames, n ? 1 : 0, &at);
	add_point(g, GROWTH_HEAP, NULL, 0, &at);
}

int growth_add(struct growth *g, const struct profile *p, int64_t time, struct err *err)
{
	struct columns c = { column(p, "inuse_space"), column(p, "inuse_objects"),
			     column(p, "alloc_objects") };
	struct round r = { .time = time };

	if (c.space == NONE)
		return err_set(err, -EINVAL, "this is no profile of a heap: it has no inuse_space");
	if (g->nrounds == PROFILES_MOST)
		return err_set(err, -E2BIG, "these are too many profiles");
	g->has_allocs = c.alloc_objects != NONE && (g->has_allocs || g->nrounds == 0);
	for (size_t i = 0; i < p->nsamples; i++)
		add_sample(g, p, i, c, &r);
	vec_push(g->rounds, g->nrounds, g->rounds_cap, r);
	return 0;
}

/* --- answers out ------------------------------------------------------------------------- */

/* The profiles that count, in their order, and what is worked out over and over. */
struct series {
	struct growth *g;
	uint32_t *rounds; /* by time */
	uint32_t *place;  /* of a round in that order; NONE: it does not count */
	size_t n;
	double *x, *y, *lives, *born;
	double total; /* bytes of the heap, on average */
	size_t looked_at;
};

static const struct growth *sorting;

static int by_time(const void *a, const void *b)
{
	int64_t x = sorting->rounds[*(const uint32_t *)a].time;
	int64_t y = sorting->rounds[*(const uint32_t *)b].time;

	return x < y ? -1 : x > y;
}

/* Numbers that only grow have become smaller: the program was started again. */
static size_t last_start(const struct growth *g, const uint32_t *order, size_t *restarts)
{
	size_t begin = 0;

	for (size_t i = 1; g->has_allocs && i < g->nrounds; i++) {
		if (g->rounds[order[i]].born < g->rounds[order[i - 1]].born * 0.9) {
			begin = i;
			(*restarts)++;
		}
	}
	return begin;
}

static void series_init(struct series *s, struct growth *g, size_t *restarts)
{
	uint32_t *order = xarena(&g->a, g->nrounds + 1, sizeof(*order));
	size_t begin;

	*s = (struct series){ .g = g };
	for (size_t i = 0; i < g->nrounds; i++)
		order[i] = (uint32_t)i;
	sorting = g;
	qsort(order, g->nrounds, sizeof(*order), by_time);
	begin = last_start(g, order, restarts);
	s->rounds = order + begin;
	s->n = g->nrounds - begin;
	s->place = xarena(&g->a, g->nrounds + 1, sizeof(*s->place));
	memset(s->place, 0xff, g->nrounds * sizeof(*s->place));
	s->x = xarena(&g->a, s->n + 1, sizeof(double));
	s->y = xarena(&g->a, s->n + 1, sizeof(double));
	s->lives = xarena(&g->a, s->n + 1, sizeof(double));
	s->born = xarena(&g->a, s->n + 1, sizeof(double));
	for (size_t i = 0; i < s->n; i++) {
		const struct round *r = &g->rounds[s->rounds[i]];

		s->place[s->rounds[i]] = (uint32_t)i;
		s->x[i] = (double)(r->time - g->rounds[s->rounds[0]].time) / 1e9;
		s->total += r->total / (double)s->n;
	}
}

/* The sizes of a thing in all profiles that count; 0 where it was not. */
static const struct point *lay_out(struct series *s, const struct thing *t)
{
	const struct point *last = NULL;

	for (size_t i = 0; i < s->n; i++)
		s->y[i] = s->lives[i] = s->born[i] = 0;
	for (size_t i = 0; i < t->npoints; i++) {
		const struct point *p = &t->points[i];
		uint32_t at = s->place[p->round];

		if (at == NONE)
			continue;
		s->y[at] = p->bytes;
		s->lives[at] = p->lives;
		s->born[at] = p->born;
		last = at + 1 == s->n ? p : last;
	}
	return last;
}

/*
 * The chance that so many more came than went since the line began, if both were as likely, and
 * that of the line itself.  Where nothing ever goes, nothing goes up and down either, and the first
 * is enough; that needs to be known, though: sizes that happen to rise six times do not tell.
 */
static double chance_of(const struct series *s, const struct trend *t)
{
	double came = 0, went = 0, chance;

	for (size_t i = t->begin + 1; i < s->n; i++) {
		double more = s->lives[i] - s->lives[i - 1], born = s->born[i] - s->born[i - 1];

		if (!s->g->has_allocs || born < more)
			born = more > 0 ? more : 0;
		came += born;
		went += born - more;
	}
	chance = came + went < 1 ? 1 : chance_of_many(came, came + went, 0.5);
	if (s->g->has_allocs && went <= nothing * came)
		return chance;
	return fmax(chance, t->chance);
}

static bool still_grows(const struct series *s, const struct trend *t)
{
	size_t steps = s->n - 1 - t->begin, half = s->n - 1 - (steps + 1) / 2;
	double late = (s->y[s->n - 1] - s->y[half]) / (s->x[s->n - 1] - s->x[half]);

	return late >= goes_on * t->slope;
}

static bool is_worth_a_look(const struct series *s, const struct thing *t)
{
	double most = 0;

	for (size_t i = 0; i < t->npoints; i++)
		most = t->points[i].bytes > most ? t->points[i].bytes : most;
	return most >= matters * s->total;
}

static struct growth_row judge(struct series *s, const struct thing *t)
{
	const struct point *last = lay_out(s, t);
	struct growth_row r = { .level = t->level, .frames = t->frames, .nframes = t->nframes };
	double hours = s->x[s->n - 1], step = hours / (double)(s->n - 1), wide;
	struct trend line;

	if (!last || hours <= 0)
		return r;
	line = trend_fit(s->x, s->y, s->n);
	if (line.slope * step < matters * s->total || !still_grows(s, &line))
		return r;
	r.chance = chance_of(s, &line) * (double)s->looked_at;
	wide = t_of_confidence(s->n - 2) * line.error;
	r.slope = line.slope;
	r.low = line.slope - wide;
	r.high = line.slope + wide;
	r.since = s->g->rounds[s->rounds[line.begin]].time;
	r.bytes = (int64_t)last->bytes;
	r.objects = (int64_t)last->objects;
	r.grown = (int64_t)(s->y[s->n - 1] - s->y[line.begin]);
	r.verdict = r.chance < sure ? GROWTH_LEAK : r.chance < perhaps ? GROWTH_MAYBE : GROWTH_NONE;
	return r;
}

static bool starts_with(const struct growth_row *r, const struct thing *t)
{
	return t->nframes == 0 || (r->nframes && str_eq(r->frames[0], t->frames[0]));
}

/* Whether something more special has been found that tells the same, and as surely. */
static bool is_told(const struct growth_row *rows, size_t n, const struct thing *t,
		    const struct growth_row *r)
{
	double slopes = 0;

	for (size_t i = 0; i < n; i++)
		if (rows[i].level < t->level && rows[i].verdict >= r->verdict &&
		    starts_with(&rows[i], t))
			slopes += rows[i].slope;
	return slopes >= 0.5 * r->slope;
}

static int by_importance(const void *a, const void *b)
{
	const struct growth_row *x = a, *y = b;

	if (x->verdict != y->verdict)
		return x->verdict > y->verdict ? -1 : 1;
	return x->slope > y->slope ? -1 : x->slope < y->slope;
}

static void find_level(struct series *s, enum growth_level level, struct growth_result *out,
		       size_t *cap)
{
	for (size_t i = 0; i < s->g->n; i++) {
		const struct thing *t = &s->g->things[i];
		struct growth_row r;

		if (t->level != level || !is_worth_a_look(s, t))
			continue;
		r = judge(s, t);
		if (r.verdict != GROWTH_NONE && !is_told(out->rows, out->n, t, &r))
			vec_push(out->rows, out->n, *cap, r);
	}
}

static void find_rows(struct series *s, struct growth_result *out)
{
	size_t cap = 0;

	for (size_t i = 0; i < s->g->n; i++)
		s->looked_at += is_worth_a_look(s, &s->g->things[i]);
	find_level(s, GROWTH_STACK, out, &cap);
	find_level(s, GROWTH_FUNCTION, out, &cap);
	find_level(s, GROWTH_HEAP, out, &cap);
	if (out->n)
		qsort(out->rows, out->n, sizeof(*out->rows), by_importance);
}

int growth_find(struct growth *g, struct growth_result *out, struct err *err)
{
	struct series s;

	*out = (struct growth_result){ 0 };
	if (g->nrounds)
		series_init(&s, g, &out->restarts);
	if (g->nrounds == 0 || s.n < PROFILES_LEAST)
		return err_set(err, -EINVAL,
			       "%zu profiles%s: at least %d of one run are needed to tell what "
			       "grows",
			       g->nrounds ? s.n : 0,
			       out->restarts ? " since the program was started again" : "",
			       PROFILES_LEAST);
	if (s.x[s.n - 1] <= 0)
		return err_set(err, -EINVAL,
			       "all %zu profiles are of the same time, which does not tell what "
			       "grows",
			       s.n);
	free(g->rows);
	find_rows(&s, out);
	g->rows = out->rows;
	out->profiles = s.n;
	out->first = g->rounds[s.rounds[0]].time;
	out->last = g->rounds[s.rounds[s.n - 1]].time;
	out->before = (int64_t)g->rounds[s.rounds[0]].total;
	out->after = (int64_t)g->rounds[s.rounds[s.n - 1]].total;
	for (size_t i = 0; i < s.n; i++)
		s.y[i] = g->rounds[s.rounds[i]].total;
	out->slope = trend_fit(s.x, s.y, s.n).slope;
	return 0;
}
