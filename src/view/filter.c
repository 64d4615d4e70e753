/*
 * filter.c - what of a profile a person wants to see
 *
 * Expressions are asked about locations, of which there are far fewer than stack entries; the
 * answers then go through the stacks as bytes.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "view/filter.h"

#include "base/cleanup.h"
#include "base/err.h"
#include "base/notify.h"
#include "base/par.h"
#include "base/regex.h"
#include "base/xalloc.h"
#include "profile/labels.h"
#include "profile/profile.h"
#include "profile/stack.h"
#include "view/config.h"
#include "view/match.h"
#include "view/own.h"
#include "view/prune.h"
#include "view/tag-filter.h"

/* What a location does to the samples that have it. */
enum { FOCUSED = 1, IGNORED = 2, HIDDEN = 4 };

/* Samples that are worth more than one thread. */
enum { PARALLEL = 1 << 14 };

struct filters {
	struct matcher focus, ignore, hide, show, show_from, prune_from, tagshow, taghide;
	struct tag_filter *tagfocus, *tagignore;
};

static void warn_unless(bool matched, const char *option, struct notify *notify)
{
	if (!matched)
		notify_warn(notify, "%s expression matched no samples", option);
}

/* ------------------------------------------------------------------ focus, ignore, hide, show */

struct by_name {
	uint8_t *mark; /* per location */
	size_t cap_lines;
	bool focused, ignored, hidden, shown; /* whether the expression matched anything */
	bool any_hidden;
};

/* Keeps the lines of 'l' for which the matcher's answer is 'want'. */
static void select_lines(struct profile *v, struct by_name *b, struct location *l,
			 struct matcher *m, bool want)
{
	uint32_t kept = 0, first = v->nlines;

	if (v->nlines + (size_t)l->nlines > b->cap_lines) {
		struct line *more;

		b->cap_lines = (v->nlines + (size_t)l->nlines) * 2;
		more = xarena(&v->arena, b->cap_lines, sizeof(*more));
		memcpy(more, v->lines, v->nlines * sizeof(*more));
		v->lines = more;
	}
	for (uint32_t i = 0; i < l->nlines; i++) {
		if (matcher_function(m, v->lines[l->line + i].function) == want)
			v->lines[first + kept++] = v->lines[l->line + i];
	}
	l->line = first;
	l->nlines = kept;
	v->nlines += kept;
}

static void hide_lines(struct profile *v, struct by_name *b, struct filters *f, struct location *l)
{
	if (matcher_mapping(&f->hide, l))
		l->nlines = 0;
	else
		select_lines(v, b, l, &f->hide, false);
}

static uint8_t judge(struct profile *v, struct by_name *b, struct filters *f, struct location *l)
{
	uint8_t mark = 0;

	if (matcher_location(&f->ignore, l)) {
		b->ignored = true;
		mark = IGNORED;
	} else if (!f->focus.re || matcher_location(&f->focus, l)) {
		b->focused = true;
		mark = FOCUSED;
	}
	if (matcher_location(&f->hide, l)) {
		b->hidden = true;
		hide_lines(v, b, f, l);
		mark |= l->nlines ? 0 : HIDDEN;
	}
	if (f->show.re) {
		if (!matcher_mapping(&f->show, l))
			select_lines(v, b, l, &f->show, true);
		b->shown |= l->nlines > 0;
		mark |= l->nlines ? 0 : HIDDEN;
	}
	b->any_hidden |= mark & HIDDEN;
	return mark;
}

/* What all threads look at, each at its share of the samples. */
struct looking {
	const struct profile *v;
	const uint8_t *mark; /* per location */
	uint8_t *keep;       /* per sample */
	int width;
};

/* A stack of which nothing is left to be seen goes, too. */
static void look_at_stacks(int t, void *ctx)
{
	const struct looking *l = ctx;
	size_t n = l->v->nsamples, end = n * ((size_t)t + 1) / (size_t)l->width;
	struct stack_reader reader;

	stack_reader_init(&reader, l->v);
	for (size_t i = n * (size_t)t / (size_t)l->width; i < end; i++) {
		struct stack_list stack = stack_read(&reader, i);
		uint8_t seen = 0;

		for (uint32_t k = 0; k < stack.n; k++)
			seen |= l->mark[stack.at[k]] ^ HIDDEN;
		l->keep[i] = !(seen & IGNORED) && (seen & FOCUSED) && (seen & HIDDEN);
	}
	stack_reader_release(&reader);
}

static bool is_to_keep(struct profile *v, unsigned long i, void *keep)
{
	(void)v;
	return ((const uint8_t *)keep)[i];
}

static void keep_by_name(struct profile *v, const uint8_t *mark)
{
	AUTO(freep) uint8_t *keep = mem_new(v->nsamples, 1);
	struct looking l = { .v = v, .mark = mark, .keep = keep };

	l.width = v->nsamples < PARALLEL ? 1 : par_width();
	par_run(l.width, look_at_stacks, &l);
	keep_samples(v, is_to_keep, keep);
}

static bool has_stack(struct profile *v, unsigned long i, void *ctx)
{
	(void)ctx;
	return stack_depth(v, i) > 0;
}

/* What is hidden is read over from now on. */
static void hide_locations(struct profile *v, const uint8_t *mark)
{
	uint8_t *hidden = xarena(&v->arena, v->nlocations, 1);

	for (uint32_t i = 0; i < v->nlocations; i++)
		hidden[i] = (mark[i] & HIDDEN) != 0;
	v->hidden = hidden;
}

static void filter_by_name(struct profile *v, struct filters *f, struct notify *notify)
{
	AUTO(freep) uint8_t *mark = NULL;
	struct by_name b = { 0 };

	if (!f->focus.re && !f->ignore.re && !f->hide.re && !f->show.re) {
		keep_samples(v, has_stack, NULL);
		return;
	}
	mark = mem_zeroed(v->nlocations, 1);
	b.mark = mark;
	if (f->hide.re || f->show.re)
		own_locations(v);
	for (uint32_t i = 0; i < v->nlocations; i++)
		mark[i] = judge(v, &b, f, &v->locations[i]);
	keep_by_name(v, mark);
	if (b.any_hidden)
		hide_locations(v, mark);
	warn_unless(!f->focus.re || b.focused, "Focus", notify);
	warn_unless(!f->ignore.re || b.ignored, "Ignore", notify);
	warn_unless(!f->hide.re || b.hidden, "Hide", notify);
	warn_unless(!f->show.re || b.shown, "Show", notify);
}

/* ------------------------------------------------------------------ show_from */

static bool cut_location(struct profile *v, struct location *l, struct matcher *m)
{
	if (matcher_mapping(m, l))
		return true;
	for (uint32_t i = l->nlines; i > 0; i--) {
		if (matcher_function(m, v->lines[l->line + i - 1].function)) {
			l->nlines = i;
			return true;
		}
	}
	return false;
}

static bool cut_stack(struct profile *v, unsigned long i, void *ctx)
{
	const uint8_t *hit = ctx;
	struct sample *s = sample_at(v, i);

	for (uint32_t k = s->depth; k > 0; k--) {
		if (hit[v->stacks[s->stack + k - 1]]) {
			s->depth = k;
			return true;
		}
	}
	return false;
}

static void filter_show_from(struct profile *v, struct matcher *m, struct notify *notify)
{
	AUTO(freep) uint8_t *hit = NULL;
	bool any = false;

	if (!m->re)
		return;
	hit = mem_zeroed(v->nlocations, 1);
	own_locations(v);
	if (v->ends)
		own_stacks(v);
	own_samples(v);
	for (uint32_t i = 0; i < v->nlocations; i++) {
		hit[i] = cut_location(v, &v->locations[i], m);
		any |= hit[i];
		hit[i] &= !(v->hidden && v->hidden[i]);
	}
	keep_samples(v, cut_stack, hit);
	warn_unless(any, "ShowFrom", notify);
}

/* ------------------------------------------------------------------ labels */

struct by_tag {
	const struct filters *f;
	bool focused, ignored;
};

static bool keep_by_tag(struct profile *v, unsigned long i, void *ctx)
{
	struct by_tag *b = ctx;
	const struct filters *f = b->f;
	bool focused = !f->tagfocus || tag_filter_match(f->tagfocus, v, sample_at(v, i));
	bool ignored = f->tagignore && tag_filter_match(f->tagignore, v, sample_at(v, i));

	b->focused |= focused;
	b->ignored |= ignored;
	return focused && !ignored;
}

static void filter_by_tag(struct profile *v, struct filters *f, struct notify *notify)
{
	struct by_tag b = { .f = f };

	if (!f->tagfocus && !f->tagignore)
		return;
	keep_samples(v, keep_by_tag, &b);
	warn_unless(!f->tagfocus || b.focused, "TagFocus", notify);
	warn_unless(!f->tagignore || b.ignored, "TagIgnore", notify);
}

/* Copies what stays of all labels; the order within a sample is kept. */
static void filter_tags(struct profile *v, struct filters *f, struct notify *notify)
{
	bool shown = false, hidden = false;
	struct label *labels;
	uint64_t n = 0;

	if (!f->tagshow.re && !f->taghide.re)
		return;
	own_samples(v);
	labels = xarena(&v->arena, v->nlabels, sizeof(*labels));
	for (size_t i = 0; i < v->nsamples; i++) {
		struct sample *s = sample_at(v, i);
		uint64_t first = n;

		for (uint32_t k = 0; k < s->nlabels; k++) {
			struct label l = v->labels[s->label + k];
			bool show = !f->tagshow.re || matcher_string(&f->tagshow, l.key);
			bool hide = matcher_string(&f->taghide, l.key);

			shown |= show;
			hidden |= hide;
			if (show && !hide)
				labels[n++] = l;
		}
		s->label = first;
		s->nlabels = (uint32_t)(n - first);
	}
	v->labels = labels;
	v->nlabels = n;
	warn_unless(!f->tagshow.re || shown, "TagShow", notify);
	warn_unless(!f->taghide.re || hidden, "TagHide", notify);
}

/* ------------------------------------------------------------------ all of it */

static void filters_release(struct filters *f)
{
	matcher_release(&f->focus);
	matcher_release(&f->ignore);
	matcher_release(&f->hide);
	matcher_release(&f->show);
	matcher_release(&f->show_from);
	matcher_release(&f->prune_from);
	matcher_release(&f->tagshow);
	matcher_release(&f->taghide);
	tag_filter_free(f->tagfocus);
	tag_filter_free(f->tagignore);
}

static int compile(struct filters *f, const struct profile *v, const struct config *cfg,
		   const struct label_units *units, struct notify *notify, struct err *err)
{
	int rc = matcher_init(&f->focus, v, str_of(cfg->focus), "focus", err);

	if (rc == 0)
		rc = matcher_init(&f->ignore, v, str_of(cfg->ignore), "ignore", err);
	if (rc == 0)
		rc = matcher_init(&f->hide, v, str_of(cfg->hide), "hide", err);
	if (rc == 0)
		rc = matcher_init(&f->show, v, str_of(cfg->show), "show", err);
	if (rc == 0)
		rc = matcher_init(&f->show_from, v, str_of(cfg->show_from), "show_from", err);
	if (rc == 0)
		rc = tag_filter_new(&f->tagfocus, "tagfocus", str_of(cfg->tagfocus), units, notify,
				    err);
	if (rc == 0)
		rc = tag_filter_new(&f->tagignore, "tagignore", str_of(cfg->tagignore), units,
				    notify, err);
	if (rc == 0)
		rc = matcher_init(&f->prune_from, v, str_of(cfg->prune_from), "prune_from", err);
	return rc;
}

int filter_apply(struct profile *v, const struct config *cfg, const struct label_units *units,
		 struct notify *notify, struct err *err)
{
	AUTO(filters_release) struct filters f = { 0 };
	int rc = compile(&f, v, cfg, units, notify, err);

	if (rc)
		return rc;
	filter_by_name(v, &f, notify);
	filter_show_from(v, &f.show_from, notify);
	filter_by_tag(v, &f, notify);
	/* The reference compiles these two only now, after the warnings of the others. */
	rc = matcher_init(&f.tagshow, v, str_of(cfg->tagshow), "tagshow", err);
	if (rc == 0)
		rc = matcher_init(&f.taghide, v, str_of(cfg->taghide), "taghide", err);
	if (rc)
		return rc;
	filter_tags(v, &f, notify);
	if (f.prune_from.re) {
		own_locations(v);
		own_stacks(v);
		own_samples(v);
		prune_from(v, &f.prune_from);
	}
	return 0;
}
