/*
 * stacks.c - the stacks that go through a function, heaviest first, and how often each appears
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "report/stacks.h"

#include "base/err.h"
#include "base/out.h"
#include "base/regex.h"
#include "base/table.h"
#include "base/wrap.h"
#include "base/xalloc.h"
#include "profile/profile.h"
#include "profile/stack.h"
#include "report/report.h"

#include <errno.h>
#include <stdlib.h>

/* A stack that was seen: where its frames are, to compare and to print. */
struct seen {
	size_t first, n, count;
	uint64_t hash;
	int64_t value;
};

struct collector {
	struct report *r;
	struct nodes nodes;
	struct stack_reader reader;
	struct str *names; /* per node */
	uint8_t *hit;      /* per node: its name matches */

	struct table line_index, stack_index;
	struct stack_line *lines;
	size_t nlines, cap_lines;
	struct seen *stacks;
	size_t nstacks, cap_stacks;
	struct stack_frame *frames;
	size_t nframes, cap_frames;
};

static void name_nodes(struct collector *c)
{
	struct out o;

	c->names = mem_new(c->nodes.n, sizeof(*c->names));
	c->hit = mem_zeroed(c->nodes.n, 1);
	out_init(&o, 0);
	for (uint32_t i = 0; i < c->nodes.n; i++) {
		o.n = 0;
		node_print(&o, c->r->v, &c->nodes.info[i]);
		c->names[i] = xarena_str(&c->r->arena, out_view(&o));
		c->hit[i] = regex_match(c->r->symbol, c->names[i]);
	}
	out_release(&o);
}

static uint64_t hash_line(const struct stack_line *l)
{
	return hash_mix(hash_bytes(l->name.p, l->name.n, l->inlined),
			(uint64_t)l->value * 2 + l->is_leaf);
}

static uint64_t rehash_line(uint32_t i, const void *ctx)
{
	return hash_line(&((const struct collector *)ctx)->lines[i]);
}

static void add_line(struct collector *c, struct stack_line line)
{
	struct probe at;

	table_reserve(&c->line_index, rehash_line, c);
	at = table_probe(&c->line_index, hash_line(&line));
	while (table_next(&c->line_index, &at)) {
		struct stack_line *have = &c->lines[at.value];

		if (have->is_leaf == line.is_leaf && have->value == line.value &&
		    have->inlined == line.inlined && str_eq(have->name, line.name)) {
			have->count++;
			return;
		}
	}
	table_put(&c->line_index, &at, (uint32_t)c->nlines);
	vec_push(c->lines, c->nlines, c->cap_lines, line);
}

static uint64_t rehash_stack(uint32_t i, const void *ctx)
{
	return ((const struct collector *)ctx)->stacks[i].hash;
}

static bool same_frames(const struct stack_frame *a, const struct stack_frame *b, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (a[i].inlined != b[i].inlined || !str_eq(a[i].name, b[i].name))
			return false;
	}
	return true;
}

static void add_stack(struct collector *c, struct seen s)
{
	struct probe at;

	table_reserve(&c->stack_index, rehash_stack, c);
	at = table_probe(&c->stack_index, s.hash);
	while (table_next(&c->stack_index, &at)) {
		struct seen *have = &c->stacks[at.value];

		if (have->n == s.n &&
		    same_frames(c->frames + have->first, c->frames + s.first, s.n)) {
			have->count++;
			have->value = wrap_add(have->value, s.value);
			c->nframes = s.first;
			return;
		}
	}
	table_put(&c->stack_index, &at, (uint32_t)c->nstacks);
	vec_push(c->stacks, c->nstacks, c->cap_stacks, s);
}

/* Adds a frame to the stack being read, and a line if it matches; says whether it does. */
static bool add_frame(struct collector *c, struct seen *seen, uint32_t node, bool inlined,
		      int64_t value)
{
	struct stack_frame frame = { c->names[node], inlined };
	bool leaf = c->nframes == seen->first;

	vec_push(c->frames, c->nframes, c->cap_frames, frame);
	seen->hash = hash_mix(seen->hash, (uint64_t)node * 2 + inlined);
	if (c->hit[node])
		add_line(c, (struct stack_line){ 1, leaf, leaf ? value : 0, frame.name, inlined });
	return c->hit[node];
}

static void add_sample(struct collector *c, size_t i)
{
	const struct profile *v = c->r->v;
	struct stack_list stack = stack_read(&c->reader, i);
	struct seen seen = { .first = c->nframes,
			     .count = 1,
			     .value = selected_mean(&c->r->selection, v, i) };
	bool any = false;

	for (uint32_t k = 0; k < stack.n; k++) {
		uint32_t loc = stack.at[k], end = c->nodes.first[loc + 1];

		for (uint32_t f = c->nodes.first[loc]; f < end; f++)
			any |= add_frame(c, &seen, c->nodes.frame[f], f + 1 < end, seen.value);
	}
	seen.n = c->nframes - seen.first;
	if (any)
		add_stack(c, seen);
	else
		c->nframes = seen.first;
}

static int by_value(const void *a, const void *b)
{
	const struct stack_line *x = a, *y = b;
	int64_t p = abs_i64(x->value), q = abs_i64(y->value);

	if (p != q)
		return p > q ? -1 : 1;
	if (x->is_leaf != y->is_leaf)
		return x->is_leaf ? -1 : 1;
	return str_cmp(y->name, x->name);
}

static int by_weight(const void *a, const void *b)
{
	const struct seen *x = a, *y = b;
	int64_t p = abs_i64(x->value), q = abs_i64(y->value);

	if (p != q)
		return p > q ? -1 : 1;
	return (x->first > y->first) - (x->first < y->first);
}

static void hand_over(struct collector *c, struct stacks *s)
{
	struct arena *a = &c->r->arena;
	struct stack_frame *frames = xarena(a, c->nframes, sizeof(*frames));

	qsort(c->lines, c->nlines, sizeof(*c->lines), by_value);
	qsort(c->stacks, c->nstacks, sizeof(*c->stacks), by_weight);
	memcpy(frames, c->frames, c->nframes * sizeof(*frames));
	s->lines = xarena(a, c->nlines, sizeof(*s->lines));
	memcpy(s->lines, c->lines, c->nlines * sizeof(*s->lines));
	s->nlines = c->nlines;
	s->stacks = xarena(a, c->nstacks, sizeof(*s->stacks));
	s->nstacks = c->nstacks;
	for (size_t i = 0; i < c->nstacks; i++)
		s->stacks[i] = (struct stack){ c->stacks[i].count, c->stacks[i].value,
					       frames + c->stacks[i].first, c->stacks[i].n };
}

int stacks_init(struct stacks *s, struct report *r, struct err *err)
{
	struct collector c = { .r = r };
	struct node_options no;
	int rc = 0;

	(void)node_options_init(&no, &r->cfg);
	nodes_init(&c.nodes, r->v, &no);
	stack_reader_init(&c.reader, r->v);
	table_init(&c.line_index, 0);
	table_init(&c.stack_index, 0);
	name_nodes(&c);
	for (size_t i = 0; i < r->v->nsamples; i++)
		add_sample(&c, i);
	if (c.nlines)
		hand_over(&c, s);
	else
		rc = err_set(err, -ENOENT, "no matches found for regexp: %.*s",
			     STR_ARG(regex_pattern(r->symbol)));
	nodes_release(&c.nodes);
	stack_reader_release(&c.reader);
	table_release(&c.line_index);
	table_release(&c.stack_index);
	free(c.names);
	free(c.hit);
	free(c.lines);
	free(c.stacks);
	free(c.frames);
	return rc;
}
