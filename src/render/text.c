/*
 * text.c - pieces that the text reports share
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "render/text.h"

#include "base/gotext.h"
#include "base/out.h"
#include "base/xalloc.h"
#include "report/legend.h"
#include "report/report.h"

#include <stdlib.h>

void text_legend(struct out *o, const struct legend *l)
{
	for (size_t i = 0; i < l->n; i++) {
		if (i)
			out_char(o, '\n');
		out_str(o, l->lines[i]);
	}
	out_char(o, '\n');
}

void text_value(const struct report *r, struct out *o, int64_t v, int width)
{
	char bytes[512];
	struct out value = { .p = bytes, .cap = sizeof(bytes), .max = sizeof(bytes), .fd = -1 };

	/* On the stack: no value is longer than 310 digits and a unit. */
	report_value(r, &value, v);
	out_padded(o, (struct str){ bytes, value.n }, width);
}

void text_value_or_dot(const struct report *r, struct out *o, int64_t v)
{
	if (v == 0)
		out_text(o, "         .");
	else
		text_value(r, o, v, 10);
}

/* ------------------------------------------------------------------ columns */

struct cells {
	struct str *at; /* the last one did not end in a tab */
	size_t n, cap;
	size_t *width; /* per cell, of its column here */
	bool ended;    /* by a newline */
};

/*
 * The end of the cell at 'i': a tab, a newline, or the end of the text.  Go's tabwriter, which we
 * follow, takes what stands between two bytes 0xff as it is, and such bytes do occur in labels.
 */
static size_t cell_end(struct str text, size_t i)
{
	bool escaped = false;

	for (; i < text.n; i++) {
		if (text.p[i] == '\xff')
			escaped = !escaped;
		else if (!escaped && (text.p[i] == '\t' || text.p[i] == '\n'))
			break;
	}
	return i;
}

/* Takes one line off 'text'. */
static struct cells split_cells(struct str *text)
{
	struct cells c = { 0 };
	char end = '\t';

	while (end == '\t') {
		size_t n = cell_end(*text, 0);

		end = n < text->n ? text->p[n] : '\0';
		vec_push(c.at, c.n, c.cap, ((struct str){ text->p, n }));
		*text = str_skip(*text, n + 1);
	}
	c.ended = end == '\n';
	c.width = mem_zeroed(c.n, sizeof(*c.width));
	return c;
}

/* The column's width over the adjacent lines that have a cell in it. */
static void align_column(struct cells *lines, size_t n, size_t column)
{
	size_t end;

	for (size_t i = 0; i < n; i = end + 1) {
		size_t width = 0;

		for (end = i; end < n && lines[end].n > column + 1; end++) {
			size_t w = go_rune_count(lines[end].at[column]) + 1;

			width = w > width ? w : width;
		}
		for (size_t k = i; k < end; k++)
			lines[k].width[column] = width;
	}
}

static void print_cells(struct out *o, const struct cells *c)
{
	for (size_t i = 0; i + 1 < c->n; i++) {
		out_fill(o, ' ', c->width[i] - go_rune_count(c->at[i]));
		out_str(o, c->at[i]);
	}
	out_str(o, c->at[c->n - 1]);
	if (c->ended)
		out_char(o, '\n');
}

void text_columns(struct out *o, struct str text)
{
	struct cells *lines = NULL;
	size_t n = 0, cap = 0, columns = 0;

	while (text.n) {
		struct cells c = split_cells(&text);

		columns = c.n > columns ? c.n : columns;
		vec_push(lines, n, cap, c);
	}
	for (size_t i = 0; i < columns; i++)
		align_column(lines, n, i);
	for (size_t i = 0; i < n; i++) {
		print_cells(o, &lines[i]);
		free(lines[i].at);
		free(lines[i].width);
	}
	free(lines);
}
