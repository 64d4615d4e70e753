/*
 * lines.c - put new lines into a profile, with functions that equal ones share
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "symbol/lines.h"

#include "base/err.h"
#include "base/xalloc.h"

#include <errno.h>

enum { FEW = 64 };

void line_adder_init(struct line_adder *a, struct profile *p, size_t expected)
{
	*a = (struct line_adder){ .p = p, .expected = expected };
	a->functions = p->functions;
	a->nfunctions = p->nfunctions;
	a->lines = p->lines;
	a->nlines = p->nlines;
	table_init(&a->index, 0);
}

/* Room for 'more' behind the 'n' entries of an array of the profile's, or for as many again. */
static void *make_room(struct profile *p, void *old, size_t n, size_t *cap, size_t more,
		       size_t size)
{
	size_t had = *cap;
	void *new;

	if (had) {
		*cap = 2 * had;
		return xarena_grow(&p->arena, old, had, *cap, size);
	}
	*cap = n + (more ? more : FEW);
	new = xarena(&p->arena, *cap, size);
	if (n)
		memcpy(new, old, n * size);
	return new;
}

void line_adder_expect(struct line_adder *a, size_t n)
{
	a->functions = make_room(a->p, a->functions, a->nfunctions, &a->functions_cap, n,
				 sizeof(*a->functions));
}

static uint64_t hash_function(const struct function *f)
{
	return hash_mix(hash_mix(f->system_name, f->file), (uint64_t)f->start_line);
}

static uint64_t rehash_function(uint32_t value, const void *ctx)
{
	return hash_function(&((const struct line_adder *)ctx)->functions[value]);
}

uint32_t line_adder_new(struct line_adder *a, struct function f)
{
	if (a->nfunctions >= a->functions_cap)
		a->functions = make_room(a->p, a->functions, a->nfunctions, &a->functions_cap, 0,
					 sizeof(*a->functions));
	a->functions[a->nfunctions++] = f;
	return (uint32_t)a->nfunctions - 1;
}

uint32_t line_adder_function(struct line_adder *a, struct function f)
{
	struct probe at;

	table_reserve(&a->index, rehash_function, a);
	at = table_probe(&a->index, hash_function(&f));
	while (table_next(&a->index, &at)) {
		const struct function *g = &a->functions[at.value];

		if (at.value >= a->shared && g->name == f.name && g->system_name == f.system_name &&
		    g->file == f.file && g->start_line == f.start_line)
			return at.value;
	}
	table_put(&a->index, &at, (uint32_t)a->nfunctions);
	return line_adder_new(a, f);
}

void line_adder_forget(struct line_adder *a)
{
	a->shared = a->nfunctions;
}

struct line *line_adder_lines(struct line_adder *a, struct location *l, uint32_t n)
{
	while (a->lines_cap - a->nlines < n || a->lines_cap == 0)
		a->lines = make_room(a->p, a->lines, a->nlines, &a->lines_cap, a->expected,
				     sizeof(*a->lines));
	l->line = (uint32_t)a->nlines;
	l->nlines = n;
	a->nlines += n;
	return a->lines + l->line;
}

static uint64_t last_id(const struct profile *p)
{
	uint64_t id = p->nfunctions;

	for (uint32_t i = 0; i < p->nfunctions; i++) {
		if (p->functions[i].id > id)
			id = p->functions[i].id;
	}
	return id;
}

static void take_all(struct line_adder *a)
{
	struct profile *p = a->p;
	uint64_t id = last_id(p);

	for (size_t i = p->nfunctions; i < a->nfunctions; i++)
		a->functions[i].id = ++id;
	p->functions = a->functions;
	p->nfunctions = (uint32_t)a->nfunctions;
	p->lines = a->lines;
	p->nlines = (uint32_t)a->nlines;
}

int line_adder_finish(struct line_adder *a, struct err *err)
{
	int rc = 0;

	if (a->nlines >= NONE || a->nfunctions >= NONE)
		rc = err_set(err, -EOVERFLOW, "too many lines to symbolize");
	else
		take_all(a);
	table_release(&a->index);
	*a = (struct line_adder){ 0 };
	return rc;
}
