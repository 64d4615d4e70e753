/*
 * folded.c - stacks on one line each, for flame graph tools
 *
 * "root;caller;leaf 42": equal stacks are added up and appear in the order of their first sample.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/out.h"
#include "base/table.h"
#include "base/wrap.h"
#include "base/xalloc.h"
#include "graph/node.h"
#include "profile/profile.h"
#include "profile/stack.h"
#include "render/render.h"
#include "report/report.h"

#include <stdlib.h>

struct stack {
	uint64_t first; /* nodes[first .. first + n), root first */
	uint32_t n;
	uint64_t hash;
	int64_t value, divisor;
};

struct folder {
	struct nodes nodes;
	struct stack_reader reader;
	struct table index;
	struct stack *stacks;
	size_t nstacks, cap_stacks;
	uint32_t *frames;
	size_t nframes, cap_frames;
};

static uint64_t rehash(uint32_t i, const void *ctx)
{
	return ((const struct folder *)ctx)->stacks[i].hash;
}

static void add(struct folder *f, struct stack s)
{
	struct probe at;

	s.hash = hash_bytes(f->frames + s.first, s.n * sizeof(*f->frames), 0);
	table_reserve(&f->index, rehash, f);
	at = table_probe(&f->index, s.hash);
	while (table_next(&f->index, &at)) {
		struct stack *have = &f->stacks[at.value];

		if (have->n == s.n && memcmp(f->frames + have->first, f->frames + s.first,
					     s.n * sizeof(*f->frames)) == 0) {
			have->value = wrap_add(have->value, s.value);
			have->divisor = wrap_add(have->divisor, s.divisor);
			f->nframes = s.first;
			return;
		}
	}
	table_put(&f->index, &at, (uint32_t)f->nstacks);
	vec_push(f->stacks, f->nstacks, f->cap_stacks, s);
}

static void fold(struct folder *f, const struct report *r, size_t i)
{
	const struct profile *v = r->v;
	struct stack_list list = stack_read(&f->reader, i);
	struct stack stack = { .first = f->nframes,
			       .value = selected_value(&r->selection, v, i),
			       .divisor = selected_divisor(&r->selection, v, i) };

	for (uint32_t k = list.n; k-- > 0;) {
		uint32_t loc = list.at[k];

		for (uint32_t n = f->nodes.first[loc + 1]; n-- > f->nodes.first[loc];)
			vec_push(f->frames, f->nframes, f->cap_frames, f->nodes.frame[n]);
	}
	stack.n = (uint32_t)(f->nframes - stack.first);
	add(f, stack);
}

/* A semicolon ends a frame and a newline a stack; names that have them get blanks. */
static void print_frame(struct out *o, struct str name)
{
	for (size_t i = 0; i < name.n; i++)
		out_char(o, name.p[i] == ';' || name.p[i] == '\n' ? ' ' : name.p[i]);
}

static void print_stack(const struct folder *f, const struct report *r, struct out *o,
			const struct stack *s)
{
	int64_t v = s->divisor ? wrap_div(s->value, s->divisor) : s->value;
	struct out name;

	if (r->ratio > 0 && r->ratio != 1)
		v = f64_to_i64((double)v * r->ratio);
	if (v == 0)
		return;
	out_init(&name, 0);
	for (uint32_t i = 0; i < s->n; i++) {
		name.n = 0;
		node_print(&name, r->v, &f->nodes.info[f->frames[s->first + i]]);
		if (i)
			out_char(o, ';');
		print_frame(o, out_view(&name));
	}
	out_release(&name);
	out_char(o, ' ');
	out_i64(o, v);
	out_char(o, '\n');
}

void render_folded(struct report *r, struct out *o)
{
	struct folder f = { 0 };
	struct node_options no;

	(void)node_options_init(&no, &r->cfg);
	no.trim = true;
	nodes_init(&f.nodes, r->v, &no);
	stack_reader_init(&f.reader, r->v);
	table_init(&f.index, r->v->nsamples);
	for (size_t i = 0; i < r->v->nsamples; i++)
		fold(&f, r, i);
	for (size_t i = 0; i < f.nstacks; i++)
		print_stack(&f, r, o, &f.stacks[i]);
	nodes_release(&f.nodes);
	stack_reader_release(&f.reader);
	table_release(&f.index);
	free(f.stacks);
	free(f.frames);
}
