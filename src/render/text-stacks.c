/*
 * text-stacks.c - the stacks that go through a function, heaviest first
 *
 * First what "grep F traces | sort -n -r | uniq -c" would print: how often the function stands at
 * the leaf with which value, and how often above it.  Then the stacks themselves.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/out.h"
#include "render/render.h"
#include "render/text.h"
#include "report/report.h"
#include "report/stacks.h"

#define SEPARATOR "-----------+-------------------------------------------------------\n"
#define NO_VALUE  "          "

static void print_name(struct out *o, struct str name, bool inlined)
{
	out_text(o, "   ");
	out_str(o, name);
	out_text(o, inlined ? " (inline)\n" : "\n");
}

static void print_stack(struct report *r, struct out *o, const struct stack *s)
{
	out_text(o, SEPARATOR);
	out_printf(o, "     count:  %zu\n", s->count);
	for (size_t i = 0; i < s->n; i++) {
		if (i == 0)
			text_value(r, o, s->value, 10);
		else
			out_text(o, NO_VALUE);
		print_name(o, s->frames[i].name, s->frames[i].inlined);
	}
}

int render_stacks_text(struct report *r, struct out *o, struct err *err)
{
	struct stacks s;
	int rc = stacks_init(&s, r, err);

	if (rc)
		return rc;
	for (size_t i = 0; i < s.nlines; i++) {
		out_printf(o, "%7zu ", s.lines[i].count);
		if (s.lines[i].is_leaf)
			text_value(r, o, s.lines[i].value, 10);
		else
			out_text(o, NO_VALUE);
		print_name(o, s.lines[i].name, s.lines[i].inlined);
	}
	for (size_t i = 0; i < s.nstacks; i++)
		print_stack(r, o, &s.stacks[i]);
	out_text(o, SEPARATOR);
	return 0;
}
