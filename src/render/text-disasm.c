/*
 * text-disasm.c - machine code with the value of every instruction
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/out.h"
#include "base/units.h"
#include "render/render.h"
#include "render/text.h"
#include "report/assembly.h"
#include "report/report.h"

/* Where a place fits behind an instruction, and where it goes if it does not. */
enum { TEXT_WIDTH = 40, PLACE_COLUMN = 74 };

/* 'place' is "" where it is that of the instruction before. */
static void print_line(struct report *r, struct out *o, const struct assembly_line *l,
		       struct str place)
{
	bool behind = place.n && l->text.n < TEXT_WIDTH;

	if (place.n && !behind) {
		out_fill(o, ' ', PLACE_COLUMN);
		out_char(o, ';');
		out_str(o, place);
		out_char(o, '\n');
	}
	text_value_or_dot(r, o, l->flat);
	out_char(o, ' ');
	text_value_or_dot(r, o, l->cum);
	out_printf(o, " %10llx: ", (unsigned long long)l->address);
	out_str(o, l->text);
	if (behind) {
		out_fill(o, ' ', TEXT_WIDTH - l->text.n);
		out_char(o, ';');
		out_str(o, place);
	}
	out_char(o, '\n');
}

static void print_routine(struct report *r, struct out *o, const struct assembly_routine *a)
{
	struct percentage p = percentage(a->cum, r->total);
	struct str place = { 0 };

	for (size_t i = 0; i < a->nnames; i++) {
		out_text(o, i ? "    AKA ======================== "
			      : "ROUTINE ======================== ");
		out_str(o, a->names[i]);
		out_char(o, '\n');
	}
	text_value(r, o, a->flat, 10);
	out_char(o, ' ');
	text_value(r, o, a->cum, 10);
	out_printf(o, " (flat, cum) %s of Total\n", p.text);
	for (size_t i = 0; i < a->nlines; i++) {
		bool same = str_eq(place, a->lines[i].place);

		print_line(r, o, &a->lines[i], same ? STR("") : a->lines[i].place);
		place = a->lines[i].place;
	}
}

int render_disasm_text(struct report *r, struct out *o, struct err *err)
{
	struct assembly a;
	int rc = assembly_init(&a, r, err);

	if (rc == 0) {
		out_text(o, "Total: ");
		report_value(r, o, r->total);
		out_char(o, '\n');
		for (size_t i = 0; i < a.n; i++)
			print_routine(r, o, &a.routines[i]);
	}
	assembly_release(&a);
	return rc;
}
