/*
 * text-traces.c - every sample with its whole stack
 *
 * The lines of a location do not depend on the sample it is in, so they are made once; a stack is
 * then copied together from them, on all cores, in blocks that are written in their order.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/gotext.h"
#include "base/out.h"
#include "base/par.h"
#include "base/pieces.h"
#include "base/xalloc.h"
#include "graph/node.h"
#include "profile/labels.h"
#include "profile/profile.h"
#include "profile/stack.h"
#include "render/render.h"
#include "render/text.h"
#include "report/report.h"

#include <pthread.h>
#include <stdatomic.h>

#define SEPARATOR "-----------+-------------------------------------------------------\n"
#define NO_VALUE  "          "

enum { BLOCK = 48 }; /* samples: with names of usual length, a hundred kilobytes */

/* What a thread needs for itself. */
struct tracer {
	struct report *r;
	const struct str *lines; /* per location, as if it were not the leaf */
	struct out o;
	struct stack_reader reader;
	struct pieces labels; /* of one sample, printed */
};

static struct str *make_lines(struct report *r)
{
	struct str *lines = xarena(&r->arena, r->v->nlocations, sizeof(*lines));
	struct node_options no;
	struct nodes n;
	struct out o;

	(void)node_options_init(&no, &r->cfg);
	nodes_init(&n, r->v, &no);
	out_init(&o, 0);
	for (uint32_t l = 0; l < r->v->nlocations; l++) {
		o.n = 0;
		for (uint32_t f = n.first[l]; f < n.first[l + 1]; f++) {
			out_text(&o, NO_VALUE "   ");
			node_print(&o, r->v, &n.info[n.frame[f]]);
			out_text(&o, f + 1 < n.first[l + 1] ? " (inline)\n" : "\n");
		}
		lines[l] = xarena_str(&r->arena, out_view(&o));
	}
	out_release(&o);
	nodes_release(&n);
	return lines;
}

static void print_value(struct tracer *t, const struct label *l)
{
	struct unit_target natural = { STR("auto"), t->r->unit.minutes };

	if (label_is_string(l))
		out_str(&t->labels.text, profile_str(t->r->v, l->str));
	else
		unit_print(&t->labels.text, l->num, label_unit(&t->r->units, l->key), natural);
}

/* One line for the run of labels of one key that starts at 'l'; returns how many that are. */
static uint32_t print_key(struct tracer *t, const struct label *l, uint32_t n)
{
	uint32_t i;

	out_padded(&t->labels.text, profile_str(t->r->v, l->key), 10);
	out_text(&t->labels.text, ":  ");
	for (i = 0; i < n && label_same_key(&l[0], &l[i]); i++) {
		if (i)
			out_char(&t->labels.text, ' ');
		print_value(t, &l[i]);
	}
	out_char(&t->labels.text, '\n');
	return i;
}

/* String labels, then numeric ones; each kind in the order of the printed lines. */
static void print_labels(struct tracer *t, const struct label *l, uint32_t n)
{
	size_t strings = 0;

	pieces_clear(&t->labels);
	for (uint32_t i = 0; i < n;) {
		strings += label_is_string(&l[i]);
		i += print_key(t, &l[i], n - i);
		pieces_end(&t->labels);
	}
	pieces_sort(&t->labels, strings);
	for (size_t i = 0; i < t->labels.n; i++)
		out_str(&t->o, t->labels.at[i]);
}

static void print_sample(struct tracer *t, size_t i)
{
	const struct profile *v = t->r->v;
	const struct sample *s = sample_at(v, i);
	struct stack_list stack = stack_read(&t->reader, i);

	if (stack.n == 0)
		return;
	out_text(&t->o, SEPARATOR);
	if (s->nlabels)
		print_labels(t, v->labels + s->label, s->nlabels);
	text_value(t->r, &t->o, selected_mean(&t->r->selection, t->r->v, i), 10);
	out_str(&t->o, str_skip(t->lines[stack.at[0]], strlen(NO_VALUE)));
	for (uint32_t k = 1; k < stack.n; k++)
		out_str(&t->o, t->lines[stack.at[k]]);
}

/*
 * Each thread prints a block, small enough to stay in its cache, waits for its turn, and writes it.
 */
struct turns {
	struct tracer tracers[PAR_MOST];
	struct out *o;
	size_t nsamples;
	atomic_size_t next; /* block to print */
	size_t turn;        /* block to write */
	pthread_mutex_t lock;
	pthread_cond_t moved;
};

static void write_block(struct turns *w, struct tracer *t, size_t block)
{
	pthread_mutex_lock(&w->lock);
	while (w->turn != block)
		pthread_cond_wait(&w->moved, &w->lock);
	out_str(w->o, out_view(&t->o));
	w->turn++;
	pthread_cond_broadcast(&w->moved);
	pthread_mutex_unlock(&w->lock);
}

static void print_blocks(int i, void *ctx)
{
	struct turns *w = ctx;
	struct tracer *t = &w->tracers[i];

	for (;;) {
		size_t block = atomic_fetch_add(&w->next, 1), begin = block * BLOCK;

		if (begin >= w->nsamples)
			return;
		t->o.n = 0;
		for (size_t k = begin; k < begin + BLOCK && k < w->nsamples; k++)
			print_sample(t, k);
		write_block(w, t, block);
	}
}

void render_traces_text(struct report *r, struct out *o)
{
	struct turns w = { .o = o, .nsamples = r->v->nsamples };
	int width = w.nsamples > BLOCK ? par_width() : 1;
	const struct str *lines = make_lines(r);

	pthread_mutex_init(&w.lock, NULL);
	pthread_cond_init(&w.moved, NULL);
	for (int i = 0; i < width; i++) {
		w.tracers[i] = (struct tracer){ .r = r, .lines = lines };
		out_init(&w.tracers[i].o, 0);
		stack_reader_init(&w.tracers[i].reader, r->v);
		pieces_init(&w.tracers[i].labels);
	}
	render_legend(r, o);
	par_run(width, print_blocks, &w);
	out_text(o, SEPARATOR);
	for (int i = 0; i < width; i++) {
		out_release(&w.tracers[i].o);
		stack_reader_release(&w.tracers[i].reader);
		pieces_release(&w.tracers[i].labels);
	}
	pthread_cond_destroy(&w.moved);
	pthread_mutex_destroy(&w.lock);
}
