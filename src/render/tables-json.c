/*
 * tables-json.c - top, tree and tags as JSON
 *
 * Values are integers in the sample type's own unit, never scaled: a script wants to compute.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/out.h"
#include "profile/profile.h"
#include "render/json.h"
#include "render/render.h"
#include "report/call-table.h"
#include "report/report.h"
#include "report/tag-table.h"
#include "report/top.h"

static void print_head(struct json *j, struct report *r)
{
	const struct profile *v = r->v;

	json_open(j, NULL, '{');
	if (v->nmappings && v->mappings[0].file)
		json_string(j, "file", str_base(profile_str(v, v->mappings[0].file)));
	if (v->nmappings && v->mappings[0].build_id)
		json_string(j, "build_id", profile_str(v, v->mappings[0].build_id));
	json_string(j, "type", r->sample_type);
	json_string(j, "unit", r->sample_unit);
	json_int(j, "time_nanos", v->time_nanos);
	json_int(j, "duration_nanos", v->duration_nanos);
	json_int(j, "total", r->total);
}

static void print_graph_head(struct json *j, const struct graph *g)
{
	json_int(j, "dropped_nodes", g->dropped_nodes);
	json_int(j, "nodes", g->before_top);
}

void render_top_json(struct report *r, struct out *o)
{
	struct json j = { .o = o };
	struct top t;

	top_init(&t, r);
	print_head(&j, r);
	print_graph_head(&j, t.g);
	json_open(&j, "rows", '[');
	for (uint32_t i = 0; i < t.n; i++) {
		json_open(&j, NULL, '{');
		json_string(&j, "name", t.rows[i].name);
		json_int(&j, "flat", t.rows[i].flat);
		json_int(&j, "sum", t.rows[i].sum);
		json_int(&j, "cum", t.rows[i].cum);
		json_string(&j, "inlined",
			    t.rows[i].mark == INLINED          ? STR("yes")
			    : t.rows[i].mark == PARTLY_INLINED ? STR("partly")
							       : STR("no"));
		json_close(&j, '}');
	}
	json_close(&j, ']');
	json_close(&j, '}');
	top_release(&t);
}

static void print_calls(struct json *j, const char *key, const struct call *calls, uint32_t n)
{
	json_open(j, key, '[');
	for (uint32_t i = 0; i < n; i++) {
		json_open(j, NULL, '{');
		json_string(j, "name", calls[i].name);
		json_int(j, "weight", calls[i].weight);
		json_bool(j, "inlined", calls[i].inlined);
		json_close(j, '}');
	}
	json_close(j, ']');
}

int render_tree_json(struct report *r, struct out *o, struct err *err)
{
	struct json j = { .o = o };
	struct call_table t;
	struct call_room room = { 0 };
	struct call_entry e;
	int rc = call_table_init(&t, r, err);

	if (rc)
		return rc;
	print_head(&j, r);
	print_graph_head(&j, t.g);
	json_open(&j, "rows", '[');
	for (uint32_t i = 0; i < t.n; i++) {
		call_table_entry(&t, i, &room, &e);
		json_open(&j, NULL, '{');
		json_string(&j, "name", e.name);
		json_int(&j, "flat", e.flat);
		json_int(&j, "cum", e.cum);
		print_calls(&j, "callers", e.callers, e.ncallers);
		print_calls(&j, "callees", e.callees, e.ncallees);
		json_close(&j, '}');
	}
	json_close(&j, ']');
	json_close(&j, '}');
	call_room_release(&room);
	call_table_release(&t);
	return 0;
}

void render_tags_json(struct report *r, struct out *o)
{
	struct json j = { .o = o };
	struct tag_table t;

	tag_table_init(&t, r);
	print_head(&j, r);
	json_open(&j, "tags", '[');
	for (size_t i = 0; i < t.n; i++) {
		json_open(&j, NULL, '{');
		json_string(&j, "key", t.keys[i].name);
		json_int(&j, "total", t.keys[i].total);
		json_open(&j, "values", '[');
		for (size_t k = 0; k < t.keys[i].n; k++) {
			json_open(&j, NULL, '{');
			json_string(&j, "value", t.keys[i].values[k].text);
			json_int(&j, "weight", t.keys[i].values[k].weight);
			json_close(&j, '}');
		}
		json_close(&j, ']');
		json_close(&j, '}');
	}
	json_close(&j, ']');
	json_close(&j, '}');
}
