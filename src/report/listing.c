/*
 * listing.c - source code with the value of every line
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "report/listing.h"

#include "base/err.h"
#include "base/regex.h"
#include "base/wrap.h"
#include "base/xalloc.h"
#include "graph/graph.h"
#include "profile/profile.h"
#include "report/report.h"
#include "report/source-text.h"

#include <errno.h>
#include <stdlib.h>

enum { MARGIN = 5 };

/* The nodes that match, grouped by function and by file: one run of 'nodes' per routine. */
struct finder {
	struct report *r;
	struct graph *g;
	struct source_text *source;
	uint32_t *nodes;
	uint32_t n;
	struct listing *l;
};

static const struct node_info *info(const struct finder *f, uint32_t i)
{
	return &f->g->nodes[f->nodes[i]].info;
}

static void find_nodes(struct finder *f)
{
	struct graph *g = f->g;
	uint8_t *known =
		mem_zeroed(f->r->v->strings->n, 1); /* per name: 0 not asked, 1 no, 2 yes */

	f->nodes = mem_new(g->n, sizeof(*f->nodes));
	for (uint32_t i = 0; i < g->n; i++) {
		uint32_t name = graph_at(g, i)->info.name;

		if (!known[name])
			known[name] = regex_match(f->r->symbol, profile_str(f->r->v, name)) ? 2 : 1;
		if (known[name] == 2)
			f->nodes[f->n++] = g->order[i];
	}
	free(known);
}

struct range {
	int64_t start, end;
};

/*
 * Which lines to show: from where the function starts, or five before its first line with a value,
 * to five after its last.  A node that moves the start does not also move the end; that is how the
 * reference does it.
 */
static struct range lines_of(const struct finder *f, uint32_t from, uint32_t to)
{
	const struct node_info *first = info(f, from);
	struct range range = { first->start_line ? first->start_line : first->line - MARGIN,
			       first->line + MARGIN };

	for (uint32_t i = from; i < to; i++) {
		const struct node_info *n = info(f, i);
		int64_t start = n->start_line ? n->start_line : n->line - MARGIN;

		if (start < range.start)
			range.start = start;
		else if (n->line + MARGIN > range.end)
			range.end = n->line + MARGIN;
	}
	if (range.start < 1)
		range.start = 1;
	return range;
}

static void add_values(const struct finder *f, uint32_t from, uint32_t to, struct range range,
		       struct listing_line *lines, size_t n)
{
	for (uint32_t i = from; i < to; i++) {
		int64_t at = info(f, i)->line - range.start;
		const struct weight *w = &f->g->nodes[f->nodes[i]].w;

		if (at < 0 || (uint64_t)at >= n)
			continue;
		lines[at].flat = wrap_add(lines[at].flat, w->flat);
		lines[at].cum = wrap_add(lines[at].cum, w->cum);
	}
}

static void read_lines(struct finder *f, struct listing_routine *to, uint32_t from, uint32_t end)
{
	struct range range = lines_of(f, from, end);
	size_t cap = 0, n = 0;
	struct listing_line *lines = NULL, line = { 0 };

	for (line.number = range.start; line.number <= range.end; line.number++) {
		if (!source_text_line(f->source, to->file, line.number, &line.text))
			break;
		vec_push(lines, n, cap, line);
	}
	to->nlines = n;
	to->error = source_text_error(f->source, to->file);
	source_text_compare(f->source, to->file, profile_str(f->r->v, info(f, from)->objfile));
	to->lines = xarena(&f->r->arena, to->nlines, sizeof(*lines));
	if (to->nlines)
		memcpy(to->lines, lines, to->nlines * sizeof(*lines));
	free(lines);
	add_values(f, from, end, range, to->lines, to->nlines);
}

static void add_routine(struct finder *f, uint32_t from, uint32_t end)
{
	struct listing_routine *to = &f->l->routines[f->l->n++];

	*to = (struct listing_routine){ .function = profile_str(f->r->v, info(f, from)->name),
					.has_file = info(f, from)->file != 0,
					.file = profile_str(f->r->v, info(f, from)->file) };
	for (uint32_t i = from; i < end; i++) {
		to->flat = wrap_add(to->flat, f->g->nodes[f->nodes[i]].w.flat);
		to->cum = wrap_add(to->cum, f->g->nodes[f->nodes[i]].w.cum);
	}
	if (to->has_file)
		read_lines(f, to, from, end);
}

/* Nodes without a file are only worth a line if their function has no others. */
static void add_function(struct finder *f, uint32_t from, uint32_t end)
{
	uint32_t start = from, next;

	graph_sort_nodes(f->g, f->nodes + from, end - from, GRAPH_BY_FILE);
	while (start < end && info(f, start)->file == 0)
		start++;
	if (start == end) {
		add_routine(f, from, end);
		return;
	}
	for (; start < end; start = next) {
		for (next = start + 1; next < end; next++) {
			if (info(f, next)->file != info(f, start)->file)
				break;
		}
		add_routine(f, start, next);
	}
}

static void group(struct finder *f)
{
	uint32_t next;

	graph_sort_nodes(f->g, f->nodes, f->n, GRAPH_BY_NAME);
	f->l->routines = xarena(&f->r->arena, f->n, sizeof(*f->l->routines));
	for (uint32_t i = 0; i < f->n; i = next) {
		for (next = i + 1; next < f->n && info(f, next)->name == info(f, i)->name; next++)
			;
		add_function(f, i, next);
	}
}

int listing_init(struct listing *l, struct report *r, struct err *err)
{
	struct finder f = { .r = r, .l = l, .g = report_graph(r) };
	int rc = 0;

	*l = (struct listing){ 0 };
	find_nodes(&f);
	if (f.n == 0) {
		rc = err_set(err, -ENOENT, "no matches found for regexp: %.*s",
			     STR_ARG(regex_pattern(r->symbol)));
	} else {
		f.source = source_text_new(r);
		l->source = f.source;
		group(&f);
	}
	free(f.nodes);
	graph_free(f.g);
	return rc;
}

void listing_release(struct listing *l)
{
	source_text_free(l->source);
}
