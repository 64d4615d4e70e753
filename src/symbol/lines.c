/*
 * lines.c - put new lines into a profile, with functions that equal ones share
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "symbol/lines.h"

#include "base/err.h"
#include "base/xalloc.h"

#include <errno.h>
#include <stdlib.h>

void line_adder_init(struct line_adder *a, struct profile *p, size_t expected)
{
	*a = (struct line_adder){ .p = p };
	table_init(&a->index, expected);
}

static uint64_t hash_function(const struct function *f)
{
	return hash_mix(hash_mix(f->system_name, f->file), (uint64_t)f->start_line);
}

static uint64_t rehash_function(uint32_t value, const void *ctx)
{
	return hash_function(&((const struct line_adder *)ctx)->functions[value]);
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
			return a->p->nfunctions + at.value;
	}
	table_put(&a->index, &at, (uint32_t)a->nfunctions);
	vec_push(a->functions, a->nfunctions, a->functions_cap, f);
	return a->p->nfunctions + (uint32_t)a->nfunctions - 1;
}

void line_adder_forget(struct line_adder *a)
{
	a->shared = a->nfunctions;
}

void line_clear(struct line_adder *a, struct location *l)
{
	l->line = a->p->nlines + (uint32_t)a->nlines;
	l->nlines = 0;
}

void line_add(struct line_adder *a, struct location *l, struct line line)
{
	vec_push(a->lines, a->nlines, a->lines_cap, line);
	l->nlines++;
}

/* Copies 'n' entries of 'size' bytes, and 'more' behind them, to a new array. */
static void *append(struct profile *p, const void *old, size_t n, const void *new, size_t more,
		    size_t size)
{
	char *to = xarena(&p->arena, n + more, size);

	if (n)
		memcpy(to, old, n * size);
	if (more)
		memcpy(to + n * size, new, more * size);
	return to;
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

static void append_all(struct line_adder *a)
{
	struct profile *p = a->p;
	uint64_t id = last_id(p);

	for (size_t i = 0; i < a->nfunctions; i++)
		a->functions[i].id = id + 1 + i;
	p->functions = append(p, p->functions, p->nfunctions, a->functions, a->nfunctions,
			      sizeof(*p->functions));
	p->nfunctions += (uint32_t)a->nfunctions;
	p->lines = append(p, p->lines, p->nlines, a->lines, a->nlines, sizeof(*p->lines));
	p->nlines += (uint32_t)a->nlines;
}

int line_adder_finish(struct line_adder *a, struct err *err)
{
	struct profile *p = a->p;
	int rc = 0;

	if (a->nlines >= NONE - p->nlines || a->nfunctions >= NONE - p->nfunctions)
		rc = err_set(err, -EOVERFLOW, "too many lines to symbolize");
	else if (a->nfunctions || a->nlines)
		append_all(a);
	table_release(&a->index);
	free(a->functions);
	free(a->lines);
	*a = (struct line_adder){ 0 };
	return rc;
}
