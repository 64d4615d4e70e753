/*
 * trust.c - what a report does not show, and what its profile never had
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "report/trust.h"

#include "base/cleanup.h"
#include "base/wrap.h"
#include "base/xalloc.h"
#include "graph/graph.h"
#include "profile/profile.h"
#include "report/packages.h"
#include "report/report.h"

#include <stdlib.h>
#include <unistd.h>

/* More binaries than these, or notes, nobody reads; packages take a while to search. */
enum { MOST_BINARIES = 20, MOST_NOTES = 20, MOST_PACKAGES = 4 };

static int64_t value_of(const struct report *r, const struct profile *p, size_t sample)
{
	return abs_i64(selected_value(&r->selection, p, sample));
}

static int64_t sum_of(const struct report *r, const struct profile *p)
{
	int64_t sum = 0;

	for (size_t i = 0; i < p->nsamples; i++)
		sum = wrap_add(sum, value_of(r, p, i));
	return sum;
}

/* ------------------------------------------------------------------ comments of the runtime */

static bool read_count(struct str *s, uint64_t *n)
{
	size_t i = 0;

	for (*n = 0; i < s->n && i < 18 && s->p[i] >= '0' && s->p[i] <= '9'; i++)
		*n = *n * 10 + (uint64_t)(s->p[i] - '0');
	*s = str_skip(*s, i);
	return i > 0;
}

static uint64_t *counter_for(struct trust *t, struct str words)
{
	const struct {
		struct str words;
		uint64_t *to;
	} known[] = {
		{ STR(" samples lost"), &t->samples_lost },
		{ STR(" stacks lost"), &t->stacks_lost },
		{ STR(" waits lost"), &t->waits_lost },
		{ STR(" stacks cut at the root"), &t->stacks_cut },
		{ STR(" labels not set"), &t->labels_lost },
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		if (str_starts(words, known[i].words))
			return known[i].to;
	}
	return NULL;
}

static void read_comments(struct trust *t, struct report *r)
{
	const struct profile *p = r->v;

	t->notes = xarena(&r->arena, MOST_NOTES, sizeof(*t->notes));
	for (uint32_t i = 0; i < p->ncomments; i++) {
		struct str text = profile_str(p, p->comments[i]), rest;
		uint64_t n, *to = NULL;

		if (!str_starts(text, STR("sonde: ")))
			continue;
		rest = str_skip(text, strlen("sonde: "));
		if (read_count(&rest, &n))
			to = counter_for(t, rest);
		if (to)
			*to += n;
		else if (t->nnotes < MOST_NOTES)
			t->notes[t->nnotes++] = str_skip(text, strlen("sonde: "));
	}
}

/* ------------------------------------------------------------------ samples that stand for others
 */

/* Our runtime and Go's have frames of their own for what they could not take. */
static bool is_lost(struct str name)
{
	return str_is(name, "lost_samples") || str_starts(name, STR("runtime._Lost"));
}

/* Marks leaf locations that stand for lost samples; false if there are none. */
static bool mark_lost(const struct profile *p, uint8_t *mark)
{
	AUTO(freep) uint8_t *lost = mem_zeroed(p->nfunctions, 1);
	bool any = false;

	for (uint32_t i = 0; i < p->nfunctions; i++) {
		lost[i] = is_lost(profile_str(p, p->functions[i].name));
		any |= lost[i];
	}
	for (uint32_t i = 0; any && i < p->nlocations; i++)
		mark[i] = p->locations[i].nlines && lost[p->lines[p->locations[i].line].function];
	return any;
}

static void add_lost(struct trust *t, const struct report *r, const struct profile *p)
{
	AUTO(freep) uint8_t *mark = mem_zeroed(p->nlocations, 1);

	if (!mark_lost(p, mark))
		return;
	for (size_t i = 0; i < p->nsamples; i++) {
		const struct sample *s = sample_at(p, i);

		if (s->depth && mark[p->stacks[s->stack]])
			t->lost = wrap_add(t->lost, value_of(r, p, i));
	}
}

/* ------------------------------------------------------------------ frames without a name */

static bool has_name(const struct profile *p, const struct location *l)
{
	return l->nlines > 0 && p->functions[p->lines[l->line].function].name != 0;
}

static enum trust_cause cause_of(struct str file)
{
	AUTO(freep) char *path = mem_str(file);

	if (file.n == 0 || file.p[0] != '/' || str_starts(file, STR("//anon")))
		return TRUST_NO_FILE;
	return access(path, R_OK) == 0 ? TRUST_NO_SYMBOLS : TRUST_NOT_HERE;
}

/* Mappings of one file are one binary; that of no mapping is the last. */
struct unnamed {
	uint32_t *binary;  /* per mapping, and one more: index of 'of' */
	int64_t *value;    /* per binary */
	uint32_t *mapping; /* per binary: its first, or NONE */
	size_t *seen;      /* per binary: the last sample that had a frame in it, from 1 on */
	uint8_t *mark;     /* per location */
	uint32_t n;
};

static void find_binaries(struct unnamed *u, const struct profile *p)
{
	AUTO(freep) uint32_t *by_file = mem_zeroed(p->strings->n, sizeof(*by_file));

	for (uint32_t i = 0; i < p->nmappings; i++) {
		uint32_t *known = &by_file[p->mappings[i].file]; /* plus one */

		if (*known == 0) {
			u->mapping[u->n] = i;
			*known = ++u->n;
		}
		u->binary[i] = *known - 1;
	}
	u->mapping[u->n] = NONE;
	u->binary[p->nmappings] = u->n++;
}

static bool mark_unnamed(const struct profile *p, uint8_t *mark)
{
	bool any = false;

	for (uint32_t i = 0; i < p->nlocations; i++) {
		mark[i] = !has_name(p, &p->locations[i]);
		any |= mark[i];
	}
	return any;
}

static void add_sample(struct trust *t, struct unnamed *u, const struct profile *p, size_t i,
		       int64_t value)
{
	const struct sample *s = sample_at(p, i);
	bool any = false;

	for (uint32_t k = 0; k < s->depth; k++) {
		uint32_t at = p->stacks[s->stack + k], m, b;

		if (!u->mark[at])
			continue;
		any = true;
		m = p->locations[at].mapping;
		b = u->binary[m == NONE ? p->nmappings : m];
		if (u->seen[b] != i + 1)
			u->value[b] = wrap_add(u->value[b], value);
		u->seen[b] = i + 1;
	}
	if (any)
		t->unnamed = wrap_add(t->unnamed, value);
}

static void explain(struct trust_binary *b, bool search, struct report *r)
{
	b->cause = cause_of(b->file);
	if (b->cause == TRUST_NO_SYMBOLS && search)
		b->package = packages_debug(PACKAGES_FOLDER, b->file, &r->arena);
}

static int by_value(const void *a, const void *b)
{
	const struct trust_binary *x = a, *y = b;

	if (x->value != y->value)
		return x->value < y->value ? 1 : -1;
	return str_cmp(x->file, y->file);
}

static void list_binaries(struct trust *t, const struct unnamed *u, struct report *r,
			  const struct profile *p)
{
	t->binaries = xarena(&r->arena, u->n, sizeof(*t->binaries));
	for (uint32_t i = 0; i < u->n; i++) {
		uint32_t m = u->mapping[i];

		if (u->value[i] == 0)
			continue;
		t->binaries[t->nbinaries++] = (struct trust_binary){
			.file = m == NONE ? STR("") : profile_str(p, p->mappings[m].file),
			.build_id = m == NONE ? STR("") : profile_str(p, p->mappings[m].build_id),
			.value = u->value[i],
		};
	}
	qsort(t->binaries, t->nbinaries, sizeof(*t->binaries), by_value);
	if (t->nbinaries > MOST_BINARIES)
		t->nbinaries = MOST_BINARIES;
	for (size_t i = 0; i < t->nbinaries; i++)
		explain(&t->binaries[i], i < MOST_PACKAGES, r);
}

static void add_unnamed(struct trust *t, struct report *r, const struct profile *p)
{
	AUTO(freep) uint8_t *mark = mem_zeroed(p->nlocations, 1);
	size_t n = (size_t)p->nmappings + 1;
	struct unnamed u = { .mark = mark };

	if (!mark_unnamed(p, mark))
		return;
	u.binary = xarena(&r->arena, n, sizeof(*u.binary));
	u.mapping = xarena(&r->arena, n, sizeof(*u.mapping));
	u.value = xarena(&r->arena, n, sizeof(*u.value));
	u.seen = xarena(&r->arena, n, sizeof(*u.seen));
	find_binaries(&u, p);
	for (size_t i = 0; i < p->nsamples; i++)
		add_sample(t, &u, p, i, value_of(r, p, i));
	list_binaries(t, &u, r, p);
}

/* ------------------------------------------------------------------ all of it */

void trust_init(struct trust *t, struct report *r)
{
	const struct profile *all = r->v->origin;

	*t = (struct trust){ .samples = all->nsamples,
			     .filtered_samples = all->nsamples - r->v->nsamples,
			     .value = sum_of(r, all) };
	t->filtered = wrap_add(t->value, wrap_mul(sum_of(r, r->v), -1));
	read_comments(t, r);
	add_lost(t, r, all);
	add_unnamed(t, r, all);
}

void trust_graph(struct trust *t, const struct graph *g)
{
	t->trimmed = true;
	t->nodes = g->n;
	t->dropped_nodes = g->dropped_nodes + (g->before_top - g->n);
	for (uint32_t i = 0; i < g->nnodes; i++)
		t->whole = wrap_add(t->whole, abs_i64(node_flat(&g->nodes[i])));
	for (uint32_t i = 0; i < g->n; i++)
		t->shown = wrap_add(t->shown, abs_i64(node_flat(graph_at(g, i))));
}
