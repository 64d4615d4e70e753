/*
 * call-sort.c - the stacks of a call tree in order
 *
 * All stacks start in one range of an array, that of the root.  A range is split in place into one
 * range per callee, as in a radix sort whose digits are frames; then each of these is split, until
 * few stacks are left, which are compared with one another.  Ranges do not overlap, so threads take
 * them from one list, and large ones are put back there.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "report/call-sort.h"

#include "base/par.h"
#include "base/xalloc.h"
#include "report/call-cursor.h"

#include <pthread.h>
#include <stdlib.h>

/* Stacks that are compared rather than split. */
enum { FEW = 6 };
/* From how many stacks on a range is worth handing to another thread. */
enum { MANY = 2048 };
/* How far ahead to look for what is going to be needed. */
enum { AHEAD = 12 };

/* A callee of the range being split. */
struct group {
	uint32_t place, n;
	uint32_t at, end; /* where the next of its stacks goes, and the first of the next group */
	double width;
};

/* Ranges that are still to be sorted: a stack. */
struct ranges {
	struct call_range *at;
	size_t n, cap;
};

/* What the threads have in common. */
struct crew {
	struct call_tree *t;
	struct call_cursor *cursors;
	const float *widths;
	double cutoff;
	pthread_mutex_t lock; /* of what follows */
	pthread_cond_t changed;
	struct ranges todo;
	int busy; /* threads that may still find more to do */
};

struct sorter {
	struct call_tree *t;
	struct call_cursor *cursors;
	struct crew *crew;
	uint32_t *next;       /* per cursor of the range being split: its callee, or NONE */
	uint32_t *slot;       /* per place: 1 + its number among the groups, or 0 */
	struct group *groups; /* of the range being split */
	size_t ngroups, cap_groups;
	struct ranges todo;
	const float *widths; /* per sample: about, whether to look into a frame; or NULL */
	double cutoff;
};

/* ------------------------------------------------------------------ few stacks */

/* The order of what is left of two stacks; '*shared' is how many frames that have in common. */
static int compare(const struct call_tree *t, struct call_cursor a, struct call_cursor b,
		   uint32_t *shared)
{
	for (*shared = 0;; ++*shared) {
		uint32_t x = call_step(t, &a), y = call_step(t, &b);

		if (x == y && x == NONE)
			return 0;
		if (x != y) /* the end of a stack comes first */
			return x + 1 < y + 1 ? -1 : 1;
	}
}

static void sort_few(struct sorter *s, struct call_range r)
{
	uint32_t shared;

	for (uint32_t i = r.from + 1; i < r.to; i++) {
		struct call_cursor c = s->cursors[i];
		uint32_t j = i;

		for (; j > r.from && compare(s->t, s->cursors[j - 1], c, &shared) > 0; j--)
			s->cursors[j] = s->cursors[j - 1];
		s->cursors[j] = c;
	}
	for (uint32_t i = r.from + 1; i < r.to; i++) {
		compare(s->t, s->cursors[i - 1], s->cursors[i], &shared);
		s->t->shared[i] = r.level + shared;
	}
}

/* ------------------------------------------------------------------ many stacks */

static struct group *group_of(struct sorter *s, uint32_t place)
{
	struct group new = { .place = place };

	if (s->slot[place] == 0) {
		vec_push(s->groups, s->ngroups, s->cap_groups, new);
		s->slot[place] = (uint32_t)s->ngroups;
	}
	return &s->groups[s->slot[place] - 1];
}

/* Stacks are all over the memory: waiting for several at a time is quicker. */
static void expect(const struct call_tree *t, const struct call_cursor *c)
{
	if (c->frames == 0 && c->left > t->nleaves)
		__builtin_prefetch(&c->stack[c->left - 1 - t->nleaves]);
}

/* Takes all stacks one step on.  How many of them have ended. */
static uint32_t find_groups(struct sorter *s, struct call_range r)
{
	uint32_t ended = 0;

	s->ngroups = 0;
	for (uint32_t i = r.from; i < r.to; i++) {
		struct group *g;
		uint32_t place;

		if (r.to - i > AHEAD)
			expect(s->t, &s->cursors[i + AHEAD]);
		place = call_step(s->t, &s->cursors[i]);
		s->next[i - r.from] = place;
		if (place == NONE) {
			ended++;
			continue;
		}
		g = group_of(s, place);
		g->n++;
		g->width += s->widths ? (double)s->widths[s->cursors[i].sample] : 0;
	}
	return ended;
}

static int by_place(const void *a, const void *b)
{
	const struct group *x = a, *y = b;

	return (x->place > y->place) - (x->place < y->place);
}

/* Says where each group begins, and that its neighbours have no more in common. */
static void arrange(struct sorter *s, struct call_range r, uint32_t ended)
{
	uint32_t at = r.from + ended;

	for (uint32_t i = r.from + 1; i < at; i++)
		s->t->shared[i] = r.level;
	if (s->ngroups > 1)
		qsort(s->groups, s->ngroups, sizeof(*s->groups), by_place);
	for (size_t i = 0; i < s->ngroups; i++) {
		struct group *g = &s->groups[i];

		s->slot[g->place] = (uint32_t)i + 1;
		g->at = at;
		if (at > r.from)
			s->t->shared[at] = r.level;
		at += g->n;
		g->end = at;
	}
}

/* Changes the stack at 'i' for the one where it belongs, until it is one of 'group' itself. */
static void fetch(struct sorter *s, uint32_t from, uint32_t i, struct group *ended,
		  const struct group *group)
{
	for (;;) {
		uint32_t place = s->next[i - from];
		struct group *to = place == NONE ? ended : &s->groups[s->slot[place] - 1];
		struct call_cursor cursor = s->cursors[i];

		if (to == group)
			return;
		s->cursors[i] = s->cursors[to->at];
		s->next[i - from] = s->next[to->at - from];
		s->cursors[to->at] = cursor;
		s->next[to->at - from] = place;
		to->at++;
	}
}

/* Brings the stacks of each group together, without room for a copy of them. */
static void distribute(struct sorter *s, struct call_range r, uint32_t nended)
{
	struct group ended = { .at = r.from, .end = r.from + nended };

	for (; ended.at < ended.end; ended.at++)
		fetch(s, r.from, ended.at, &ended, &ended);
	for (size_t i = 0; i < s->ngroups; i++) {
		struct group *g = &s->groups[i];

		for (; g->at < g->end; g->at++)
			fetch(s, r.from, g->at, &ended, g);
	}
}

static void put(struct ranges *to, struct call_range r)
{
	vec_push(to->at, to->n, to->cap, r);
}

static void hand_on(struct crew *crew, struct call_range r)
{
	pthread_mutex_lock(&crew->lock);
	put(&crew->todo, r);
	pthread_cond_signal(&crew->changed);
	pthread_mutex_unlock(&crew->lock);
}

/* Not looked into, it has no callees. */
static void leave(struct sorter *s, struct call_range r)
{
	for (uint32_t i = r.from + 1; i < r.to; i++)
		s->t->shared[i] = NONE;
}

static void split(struct sorter *s, struct call_range r)
{
	uint32_t ended = find_groups(s, r);

	arrange(s, r, ended);
	if (s->ngroups + (ended > 0) > 1)
		distribute(s, r, ended);
	for (size_t i = s->ngroups; i-- > 0;) {
		const struct group *g = &s->groups[i];
		struct call_range below = { g->end - g->n, g->end, r.level + 1 };

		s->slot[g->place] = 0;
		if (s->widths && g->width < s->cutoff)
			leave(s, below);
		else if (g->n >= MANY)
			hand_on(s->crew, below);
		else
			put(&s->todo, below);
	}
}

/* ------------------------------------------------------------------ all of them */

/* A range of the crew's, once there is one.  False when all is done. */
static bool next_range(struct crew *crew, struct call_range *r)
{
	bool found;

	pthread_mutex_lock(&crew->lock);
	while (crew->todo.n == 0 && crew->busy > 0)
		pthread_cond_wait(&crew->changed, &crew->lock);
	found = crew->todo.n > 0;
	if (found) {
		*r = crew->todo.at[--crew->todo.n];
		crew->busy++;
	}
	pthread_mutex_unlock(&crew->lock);
	return found;
}

static void end_range(struct crew *crew)
{
	pthread_mutex_lock(&crew->lock);
	crew->busy--;
	if (crew->busy == 0)
		pthread_cond_broadcast(&crew->changed);
	pthread_mutex_unlock(&crew->lock);
}

static void sort_range(struct sorter *s, struct call_range r)
{
	if (r.to - r.from > FEW)
		split(s, r);
	else
		sort_few(s, r);
}

/* What becomes of a range does not depend on who sorts it. */
static void sort_some(int worker, void *ctx)
{
	struct crew *crew = ctx;
	struct sorter s = { .t = crew->t,
			    .cursors = crew->cursors,
			    .crew = crew,
			    .widths = crew->widths,
			    .cutoff = crew->cutoff };
	struct call_range r;

	(void)worker;
	s.next = mem_new(crew->t->n, sizeof(*s.next));
	s.slot = mem_zeroed(crew->t->nodes.n, sizeof(*s.slot));
	while (next_range(crew, &r)) {
		put(&s.todo, r);
		while (s.todo.n)
			sort_range(&s, s.todo.at[--s.todo.n]);
		end_range(crew);
	}
	free(s.next);
	free(s.slot);
	free(s.groups);
	free(s.todo.at);
}

void call_sort(struct call_tree *t, struct call_cursor *cursors, const float *widths, double cutoff)
{
	struct crew crew = { .t = t,
			     .cursors = cursors,
			     .widths = widths,
			     .cutoff = cutoff,
			     .lock = PTHREAD_MUTEX_INITIALIZER,
			     .changed = PTHREAD_COND_INITIALIZER };

	put(&crew.todo, (struct call_range){ 0, t->n, 0 });
	par_run(t->n < MANY ? 1 : par_width(), sort_some, &crew);
	(void)pthread_mutex_destroy(&crew.lock);
	(void)pthread_cond_destroy(&crew.changed);
	free(crew.todo.at);
}
