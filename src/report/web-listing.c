/*
 * web-listing.c - source code with the value of every line, and the code made from it
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "report/web-listing.h"

#include "base/gotext.h"
#include "base/wrap.h"
#include "base/xalloc.h"
#include "profile/profile.h"
#include "report/report.h"
#include "report/source-text.h"

#include <stdlib.h>

/*
 * Lines of one function this close together are one routine; a routine is shown with so many lines
 * around it; and what is not a line number is cut, so that adding to it stays one.
 */
enum { CLOSE = 20, AROUND = 5 };
#define LAST_LINE ((int64_t)1 << 40)

/* An instruction under one of its frames. */
struct entry {
	struct str file; /* as it is shown */
	int64_t line;
	uint32_t inst, frame;
};

/* The entries of one line: entries[from .. to). */
struct group {
	size_t from, to;
	int64_t line;
	struct str name;
	int64_t flat, cum;
};

struct maker {
	struct web_listing *w;
	struct entry *entries;
	size_t n, cap;
	struct group *groups; /* of the file at hand */
	size_t ngroups, cap_groups;
};

/* ------------------------------------------------------------------ which instruction goes where
 */

/* The name of a file without what says nothing. */
static struct str canonical(struct maker *m, struct str file)
{
	struct str cwd = STR("/proc/self/cwd/"), here = STR("./");

	if (str_starts(file, cwd))
		file = str_skip(file, cwd.n);
	if (str_starts(file, here))
		file = str_skip(file, here.n);
	return go_path_clean(&m->w->arena, file);
}

static int64_t limited(int64_t line)
{
	if (line > LAST_LINE)
		return LAST_LINE;
	return line < -LAST_LINE ? -LAST_LINE : line;
}

static void add_entries(struct maker *m, size_t i)
{
	const struct web_inst *inst = &m->w->code.insts[i];

	for (uint32_t k = 0; k < inst->nframes; k++) {
		struct entry e = { .inst = (uint32_t)i, .frame = k };

		if (!web_code_wants(&m->w->code, inst->frames[k].function))
			continue;
		e.file = canonical(m, inst->frames[k].file);
		e.line = limited(inst->frames[k].line);
		vec_push(m->entries, m->n, m->cap, e);
	}
}

static int by_file_and_line(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;
	int c = str_cmp(x->file, y->file);

	if (c)
		return c;
	if (x->line != y->line)
		return x->line < y->line ? -1 : 1;
	if (x->inst != y->inst)
		return x->inst < y->inst ? -1 : 1;
	return (x->frame > y->frame) - (x->frame < y->frame);
}

static struct group group_of(struct maker *m, size_t from, size_t end)
{
	const struct entry *first = &m->entries[from];
	const struct web_inst *inst = &m->w->code.insts[first->inst];
	struct group g = { .from = from, .to = from, .line = first->line };

	g.name = web_code_name(&m->w->code, inst->frames[first->frame].function);
	for (; g.to < end && m->entries[g.to].line == g.line; g.to++) {
		inst = &m->w->code.insts[m->entries[g.to].inst];
		g.flat = wrap_add(g.flat, inst->flat);
		g.cum = wrap_add(g.cum, inst->cum);
	}
	return g;
}

/* ------------------------------------------------------------------ routines of a file */

/* Lines from 'begin' to before 'end' that are shown together. */
struct routine {
	struct str name;
	int64_t begin, end;
	int64_t flat, cum;
};

static size_t join_groups(const struct maker *m, struct routine *to)
{
	size_t n = 0;

	for (size_t i = 0; i < m->ngroups; i++) {
		const struct group *g = &m->groups[i];
		struct routine *last = n ? &to[n - 1] : NULL;

		if (!last || g->line - last->end >= CLOSE || !str_eq(last->name, g->name)) {
			to[n++] =
				(struct routine){ g->name, g->line, g->line + 1, g->flat, g->cum };
			continue;
		}
		last->end = g->line + 1;
		last->flat = wrap_add(last->flat, g->flat);
		last->cum = wrap_add(last->cum, g->cum);
	}
	return n;
}

/* Shows some lines around each routine; where two are close, they share what is between them. */
static void widen(struct routine *r, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		int64_t gap;

		if (i == 0) {
			if (r[0].begin > AROUND)
				r[0].begin -= AROUND;
			else if (r[0].begin > 1)
				r[0].begin = 1;
			continue;
		}
		gap = (r[i].begin - r[i - 1].end) / 2;
		if (gap > AROUND)
			gap = AROUND;
		r[i - 1].end += gap;
		r[i].begin -= gap;
	}
	if (n)
		r[n - 1].end += AROUND;
}

/* ------------------------------------------------------------------ lines and rows */

static void add_calls(struct maker *m, const struct entry *e, struct web_row *row)
{
	const struct web_inst *inst = &m->w->code.insts[e->inst];
	struct web_call *calls = xarena(&m->w->arena, e->frame, sizeof(*calls));

	for (uint32_t k = 0; k < e->frame; k++) {
		const struct web_frame *f = &inst->frames[e->frame - 1 - k];

		calls[k] = (struct web_call){ .file = f->file, .line = f->line };
		(void)source_text_line(m->w->source, f->file, f->line, &calls[k].text);
	}
	row->calls = calls;
	row->ncalls = e->frame;
}

static void add_rows(struct maker *m, const struct group *g, struct web_line *line)
{
	struct web_row *rows = xarena(&m->w->arena, g->to - g->from, sizeof(*rows));
	uint64_t expected = 0;

	for (size_t i = g->from; i < g->to; i++) {
		const struct entry *e = &m->entries[i];
		struct web_row *row = &rows[line->nrows++];

		row->inst = &m->w->code.insts[e->inst];
		row->starts_block = row->inst->address != expected;
		expected = row->inst->address + row->inst->length;
		add_calls(m, e, row);
	}
	line->rows = rows;
	line->flat = g->flat;
	line->cum = g->cum;
}

static void add_lines(struct maker *m, const struct routine *r, struct str file, size_t *next,
		      struct web_routine *to)
{
	to->lines = xarena(&m->w->arena, (size_t)(r->end - r->begin), sizeof(*to->lines));
	for (int64_t l = r->begin; l < r->end; l++) {
		struct web_line line = { .number = l };
		bool known = source_text_line(m->w->source, file, l, &line.text);
		const struct group *g;

		while (*next < m->ngroups && m->groups[*next].line < l)
			(*next)++;
		g = *next < m->ngroups && m->groups[*next].line == l ? &m->groups[*next] : NULL;
		if (!known && !g)
			continue;
		if (!known)
			line.text = l == 0 ? STR("<instructions with unknown line numbers>")
					   : STR("???");
		if (g)
			add_rows(m, g, &line);
		to->lines[to->nlines++] = line;
	}
}

static void add_file(struct maker *m, size_t from, size_t to)
{
	struct str file = m->entries[from].file;
	struct routine *routines = mem_new(to - from, sizeof(*routines));
	size_t n, next = 0;

	m->ngroups = 0;
	while (from < to) {
		struct group g = group_of(m, from, to);

		vec_push(m->groups, m->ngroups, m->cap_groups, g);
		from = g.to;
	}
	n = join_groups(m, routines);
	widen(routines, n);
	for (size_t i = 0; i < n; i++) {
		const struct routine *r = &routines[i];
		struct web_routine routine = { r->name, file, r->flat, r->cum, NULL, 0 };

		if (r->cum == 0)
			continue;
		if (m->w->n < m->w->most)
			add_lines(m, r, file, &next, &routine);
		vec_push(m->w->routines, m->w->n, m->w->cap, routine);
	}
	free(routines);
}

static void make(struct web_listing *w)
{
	struct maker m = { .w = w };

	for (size_t i = 0; i < w->code.n; i++)
		add_entries(&m, i);
	if (m.n)
		qsort(m.entries, m.n, sizeof(*m.entries), by_file_and_line);
	for (size_t i = 0, next; i < m.n; i = next) {
		for (next = i + 1; next < m.n; next++) {
			if (!str_eq(m.entries[next].file, m.entries[i].file))
				break;
		}
		add_file(&m, i, next);
	}
	free(m.entries);
	free(m.groups);
}

/*
 * A function of a Go program that was inlined everywhere has no code of its own, and the
 * reference's page is empty.  Then its code is looked for in the functions it was inlined into.
 */
static int make_any(struct web_listing *w, struct report *r, struct err *err)
{
	int rc = web_code_init(&w->code, r, false, err);

	if (rc)
		return rc;
	w->source = source_text_new(r);
	make(w);
	if (w->n)
		return 0;
	web_code_release(&w->code);
	rc = web_code_init(&w->code, r, true, err);
	if (rc == 0)
		make(w);
	return rc;
}

int web_listing_init(struct web_listing *w, struct report *r, size_t most, struct err *err)
{
	int rc;

	*w = (struct web_listing){ .most = most };
	arena_init(&w->arena, PROFILE_BUDGET);
	rc = make_any(w, r, err);
	if (rc)
		return rc;
	if (r->v->nmappings) {
		for (size_t i = 0; i < w->n; i++)
			source_text_compare(w->source, w->routines[i].file,
					    profile_str(r->v, r->v->mappings[0].file));
	}
	return 0;
}

void web_listing_release(struct web_listing *w)
{
	free(w->routines);
	source_text_free(w->source);
	web_code_release(&w->code);
	arena_release(&w->arena);
}
