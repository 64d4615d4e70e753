/*
 * text-traces.c - every sample with its whole stack
 *
 * The line of a frame does not depend on the sample it is in, so it is made once per frame; a stack
 * is then copied together from such lines.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/gotext.h"
#include "base/out.h"
#include "base/wrap.h"
#include "base/xalloc.h"
#include "graph/node.h"
#include "profile/labels.h"
#include "profile/profile.h"
#include "render/render.h"
#include "render/text.h"
#include "report/report.h"

#include <stdlib.h>

#define SEPARATOR "-----------+-------------------------------------------------------\n"
#define NO_VALUE  "          "

struct tracer {
	struct report *r;
	struct out *o;
	struct nodes nodes;
	struct str *lines; /* per frame: three blanks, name, mark, newline */
	struct out scratch;
	struct str *labels; /* of one sample, printed */
	size_t cap_labels;
};

static void make_lines(struct tracer *t)
{
	const struct profile *v = t->r->v;
	const struct nodes *n = &t->nodes;

	t->lines = xmalloc(n->first[v->nlocations], sizeof(*t->lines));
	for (uint32_t l = 0; l < v->nlocations; l++) {
		for (uint32_t f = n->first[l]; f < n->first[l + 1]; f++) {
			t->scratch.n = 0;
			out_text(&t->scratch, "   ");
			node_print(&t->scratch, v, &n->info[n->frame[f]]);
			out_text(&t->scratch, f + 1 < n->first[l + 1] ? " (inline)\n" : "\n");
			t->lines[f] = xarena_str(&t->r->arena, out_view(&t->scratch));
		}
	}
}

static void print_value(struct tracer *t, const struct label *l)
{
	struct unit_target natural = { STR("auto"), t->r->unit.minutes };

	if (label_is_string(l))
		out_str(&t->scratch, profile_str(t->r->v, l->str));
	else
		unit_print(&t->scratch, l->num, label_unit(&t->r->units, l->key), natural);
}

/* One line for the run of labels of one key that starts at 'l'; returns how many that are. */
static uint32_t print_key(struct tracer *t, const struct label *l, uint32_t n)
{
	uint32_t i;

	out_padded(&t->scratch, profile_str(t->r->v, l->key), 10);
	out_text(&t->scratch, ":  ");
	for (i = 0; i < n && label_same_key(&l[0], &l[i]); i++) {
		if (i)
			out_char(&t->scratch, ' ');
		print_value(t, &l[i]);
	}
	out_char(&t->scratch, '\n');
	return i;
}

static int by_text(const void *a, const void *b)
{
	return str_cmp(*(const struct str *)a, *(const struct str *)b);
}

/* String labels, then numeric ones; each kind in the order of the printed lines. */
static void print_labels(struct tracer *t, const struct label *l, uint32_t n)
{
	struct arena a;
	size_t nlines = 0, strings = 0;

	arena_init(&a, PROFILE_BUDGET);
	for (uint32_t i = 0; i < n;) {
		t->scratch.n = 0;
		strings += label_is_string(&l[i]);
		i += print_key(t, &l[i], n - i);
		vec_push(t->labels, nlines, t->cap_labels, xarena_str(&a, out_view(&t->scratch)));
	}
	qsort(t->labels, strings, sizeof(*t->labels), by_text);
	qsort(t->labels + strings, nlines - strings, sizeof(*t->labels), by_text);
	for (size_t i = 0; i < nlines; i++)
		out_str(t->o, t->labels[i]);
	arena_release(&a);
}

static int64_t value_of(const struct report *r, size_t i)
{
	int64_t v = selected_value(&r->selection, r->v, i);
	int64_t d = selected_divisor(&r->selection, r->v, i);

	return d ? wrap_div(v, d) : v;
}

static void print_sample(struct tracer *t, size_t i)
{
	const struct profile *v = t->r->v;
	const struct sample *s = &v->samples[i];
	bool first = true;

	if (s->depth == 0)
		return;
	out_text(t->o, SEPARATOR);
	if (s->nlabels)
		print_labels(t, v->labels + s->label, s->nlabels);
	for (uint32_t k = 0; k < s->depth; k++) {
		uint32_t loc = v->stacks[s->stack + k];

		for (uint32_t f = t->nodes.first[loc]; f < t->nodes.first[loc + 1]; f++) {
			if (first)
				text_value(t->r, t->o, value_of(t->r, i), 10);
			else
				out_text(t->o, NO_VALUE);
			first = false;
			out_str(t->o, t->lines[f]);
		}
	}
}

void render_traces_text(struct report *r, struct out *o)
{
	struct tracer t = { .r = r, .o = o };
	struct node_options no;

	(void)node_options_init(&no, &r->cfg);
	nodes_init(&t.nodes, r->v, &no);
	out_init(&t.scratch, 0);
	make_lines(&t);
	render_legend(r, o);
	for (size_t i = 0; i < r->v->nsamples; i++)
		print_sample(&t, i);
	out_text(o, SEPARATOR);
	out_release(&t.scratch);
	nodes_release(&t.nodes);
	free(t.lines);
	free(t.labels);
}
