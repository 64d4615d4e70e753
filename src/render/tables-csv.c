/*
 * tables-csv.c - top, tree and tags as CSV (RFC 4180, with newlines instead of CRLF)
 *
 * The first line names the columns.  Values are integers in the sample type's own unit, which the
 * heading of their column tells.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/out.h"
#include "render/render.h"
#include "report/call-table.h"
#include "report/report.h"
#include "report/tag-table.h"
#include "report/top.h"

static void print_text(struct out *o, struct str s)
{
	bool quote = false;

	for (size_t i = 0; i < s.n; i++)
		quote |= s.p[i] == ',' || s.p[i] == '"' || s.p[i] == '\n' || s.p[i] == '\r';
	if (!quote) {
		out_str(o, s);
		return;
	}
	out_char(o, '"');
	for (size_t i = 0; i < s.n; i++) {
		if (s.p[i] == '"')
			out_char(o, '"');
		out_char(o, s.p[i]);
	}
	out_char(o, '"');
}

static void print_column(struct out *o, const struct report *r, const char *name)
{
	struct out text;

	out_init(&text, 0);
	out_printf(&text, "%s (%.*s)", name, STR_ARG(r->sample_unit));
	print_text(o, out_view(&text));
	out_release(&text);
}

static void print_number(struct out *o, int64_t v)
{
	out_char(o, ',');
	out_i64(o, v);
}

void render_top_csv(struct report *r, struct out *o)
{
	static const char *const marks[] = { ",no\n", ",partly\n", ",yes\n" };
	struct top t;

	top_init(&t, r);
	out_text(o, "name,");
	print_column(o, r, "flat");
	out_char(o, ',');
	print_column(o, r, "sum");
	out_char(o, ',');
	print_column(o, r, "cum");
	out_text(o, ",inlined\n");
	for (uint32_t i = 0; i < t.n; i++) {
		print_text(o, t.rows[i].name);
		print_number(o, t.rows[i].flat);
		print_number(o, t.rows[i].sum);
		print_number(o, t.rows[i].cum);
		out_text(o, marks[t.rows[i].mark]);
	}
	top_release(&t);
}

static void print_calls(struct out *o, struct str name, const char *relation,
			const struct call *calls, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		print_text(o, name);
		out_printf(o, ",%s,", relation);
		print_text(o, calls[i].name);
		print_number(o, calls[i].weight);
		out_text(o, calls[i].inlined ? ",yes\n" : ",no\n");
	}
}

/* One row per edge and two per function: its own value and its cumulative one. */
int render_tree_csv(struct report *r, struct out *o, struct err *err)
{
	struct call_table t;
	struct call_room room = { 0 };
	struct call_entry e;
	int rc = call_table_init(&t, r, err);

	if (rc)
		return rc;
	out_text(o, "name,relation,other,");
	print_column(o, r, "value");
	out_text(o, ",inlined\n");
	for (uint32_t i = 0; i < t.n; i++) {
		call_table_entry(&t, i, &room, &e);
		print_calls(o, e.name, "caller", e.callers, e.ncallers);
		print_text(o, e.name);
		out_printf(o, ",flat,,%lld,no\n", (long long)e.flat);
		print_text(o, e.name);
		out_printf(o, ",cum,,%lld,no\n", (long long)e.cum);
		print_calls(o, e.name, "callee", e.callees, e.ncallees);
	}
	call_room_release(&room);
	call_table_release(&t);
	return 0;
}

void render_tags_csv(struct report *r, struct out *o)
{
	struct tag_table t;

	tag_table_init(&t, r);
	out_text(o, "key,value,");
	print_column(o, r, "weight");
	out_char(o, '\n');
	for (size_t i = 0; i < t.n; i++) {
		for (size_t k = 0; k < t.keys[i].n; k++) {
			print_text(o, t.keys[i].name);
			out_char(o, ',');
			print_text(o, t.keys[i].values[k].text);
			print_number(o, t.keys[i].values[k].weight);
			out_char(o, '\n');
		}
	}
}
