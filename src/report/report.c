/*
 * report.c - a profile, the way a person wants to look at it
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "report/report.h"

#include "base/err.h"
#include "base/notify.h"
#include "base/out.h"
#include "base/regex.h"
#include "base/wrap.h"
#include "base/xalloc.h"
#include "profile/profile.h"
#include "symbol/debug-server.h"
#include "view/filter.h"
#include "view/names.h"
#include "view/tag-frames.h"

#include <errno.h>
#include <stdlib.h>

/* ------------------------------------------------------------------ options */

/* What nodefraction is unless a person says otherwise. */
#define GRAPH_FRACTION 0.005

/* What a kind of report insists on, whatever the options say. */
static void override(struct config *cfg, enum report_kind kind)
{
	bool trim = cfg->trim;

	switch (kind) {
	case REPORT_PEEK:
		trim = false;
		break;
	case REPORT_DISASM:
		trim = false;
		cfg->granularity = "addresses";
		/* One node per address, or values would be counted once per inlined call. */
		cfg->noinlines = true;
		break;
	case REPORT_WEBLIST:
		trim = false;
		cfg->granularity = "addresses";
		cfg->noinlines = false;
		break;
	case REPORT_LIST:
		trim = false;
		cfg->granularity = "lines";
		break;
	case REPORT_TEXT:
	case REPORT_TOPPROTO:
		if (cfg->nodecount == -1)
			cfg->nodecount = 0;
		break;
	case REPORT_PROTO:
	case REPORT_RAW:
	case REPORT_CALLGRIND:
		trim = false;
		cfg->granularity = "addresses";
		cfg->noinlines = false;
		break;
	case REPORT_FLAME:
		/*
		 * Frames that are small can be zoomed; the defaults are for graphs, where they
		 * cannot.  Whoever asks for fewer gets fewer.
		 */
		if (cfg->nodecount == -1)
			cfg->nodecount = 0;
		if (cfg->nodefraction <= GRAPH_FRACTION)
			cfg->nodefraction = 0;
		break;
	default:
		if (cfg->nodecount == -1)
			cfg->nodecount = 80;
	}
	if (!trim) {
		cfg->nodecount = 0;
		cfg->nodefraction = 0;
		cfg->edgefraction = 0;
	}
}

static int select_numbers(struct report *r, struct err *err)
{
	const struct profile *v = r->v;
	const struct value_type *type;
	int rc = selection_init(&r->selection, v, &r->cfg, err);

	if (rc)
		return rc;
	if (r->cfg.divide_by == 0)
		return err_set(err, -EINVAL, "zero divisor specified");
	type = &v->types[r->selection.index];
	r->ratio = 1 / r->cfg.divide_by;
	r->sample_type = profile_str(v, type->type);
	r->sample_unit = profile_str(v, type->unit);
	if (r->selection.mean)
		r->sample_type =
			xarena_printf(&r->arena, "mean_%.*s", STR_ARG(profile_str(v, type->type)));
	r->unit =
		(struct unit_target){ str_of(r->cfg.unit), strcmp(r->cfg.dialect, "go1.11") == 0 };
	return 0;
}

static int compile_symbol(struct report *r, const char *param, struct err *err)
{
	struct err why;

	if (!param)
		return 0;
	if (regex_compile(str_of(param), &r->symbol, &why) != 0)
		return err_set(err, -EINVAL, "parsing argument regexp %s: %s", param, why.msg);
	return 0;
}

/* ------------------------------------------------------------------ preparing */

static void add_tag_frames(struct report *r, struct notify *notify)
{
	const struct config *cfg = &r->cfg;
	struct unit_target unit = { str_of(cfg->unit), false };
	bool root, leaf;

	tag_frames_add(r->v, str_of(cfg->tagroot), str_of(cfg->tagleaf), unit, &root, &leaf);
	if (*cfg->tagroot && !root)
		notify_warn(notify, "TagRoot expression matched no samples");
	if (*cfg->tagleaf && !leaf)
		notify_warn(notify, "TagLeaf expression matched no samples");
}

static int prepare(struct report *r, const char *param, struct notify *notify, struct err *err)
{
	struct node_options ignored;
	bool relative = r->cfg.relative_percentages;
	int rc = 0;

	names_apply(r->v, &r->cfg);
	add_tag_frames(r, notify);
	if (relative)
		rc = filter_apply(r->v, &r->cfg, &r->units, notify, err);
	if (rc == 0)
		rc = select_numbers(r, err);
	if (rc == 0)
		rc = compile_symbol(r, param, err);
	if (rc)
		return rc;
	r->total = selection_total(&r->selection, r->v);
	if (!relative)
		rc = filter_apply(r->v, &r->cfg, &r->units, notify, err);
	if (rc == 0 && !node_options_init(&ignored, &r->cfg))
		rc = err_set(err, -EINVAL, "unexpected granularity");
	return rc;
}

static struct report *begin(const struct profile *p, enum report_kind kind,
			    const struct config *cfg, struct notify *notify)
{
	struct report *r = mem_zeroed(1, sizeof(*r));

	r->kind = kind;
	r->cfg = *cfg;
	r->notify = notify;
	if (cfg->debug_server)
		debug_server_renew(cfg->debug_server);
	arena_init(&r->arena, PROFILE_BUDGET);
	label_units_init(&r->units, p, notify);
	r->v = profile_view(p);
	return r;
}

int report_new(struct report **out, const struct profile *p, enum report_kind kind,
	       const char *param, const struct config *cfg, struct notify *notify, struct err *err)
{
	struct report *r = begin(p, kind, cfg, notify);
	int rc;

	override(&r->cfg, kind);
	rc = prepare(r, param, notify, err);
	if (rc) {
		report_free(r);
		return rc;
	}
	*out = r;
	return 0;
}

int report_greeting(struct report **out, const struct profile *p, const struct config *cfg,
		    struct notify *notify, struct err *err)
{
	struct report *r = begin(p, REPORT_COMMENTS, cfg, notify);
	int rc = select_numbers(r, err);

	if (rc) {
		report_free(r);
		return rc;
	}
	r->total = selection_total(&r->selection, r->v);
	*out = r;
	return 0;
}

void report_free(struct report *r)
{
	if (!r)
		return;
	regex_free(r->symbol);
	label_units_release(&r->units);
	profile_free(r->v);
	arena_release(&r->arena);
	free(r);
}

/* ------------------------------------------------------------------ graphs */

static enum graph_edges edges_for(enum report_kind kind)
{
	if (kind == REPORT_TEXT)
		return GRAPH_INLINE_EDGES;
	if (kind == REPORT_LIST || kind == REPORT_DISASM || kind == REPORT_TOPPROTO)
		return GRAPH_NO_EDGES;
	return GRAPH_ALL_EDGES;
}

static bool is_asked_for(struct str name, const void *regex)
{
	return regex_match(regex, name);
}

struct graph *report_graph(struct report *r)
{
	const struct config *cfg = &r->cfg;
	bool drawn = r->kind == REPORT_DOT || r->kind == REPORT_CALLGRIND;
	struct graph_options o = { .selection = r->selection,
				   .edges = edges_for(r->kind),
				   .call_tree = cfg->call_tree && drawn,
				   .drop_negative = cfg->drop_negative,
				   .cum_sort = strcmp(cfg->sort, "cum") == 0,
				   .visual = r->kind == REPORT_DOT,
				   .node_count = cfg->nodecount,
				   .node_fraction = cfg->nodefraction,
				   .edge_fraction = cfg->edgefraction,
				   .tags = { &r->units, r->unit } };

	(void)node_options_init(&o.nodes, cfg);
	o.nodes.objfiles =
		r->kind == REPORT_LIST || r->kind == REPORT_DISASM || r->kind == REPORT_CALLGRIND;
	if (r->kind == REPORT_PEEK && r->symbol) {
		o.is_about = is_asked_for;
		o.ctx = r->symbol;
	}
	return graph_new(r->v, &o);
}

/* ------------------------------------------------------------------ values */

static int64_t divided(const struct report *r, int64_t v)
{
	if (r->ratio > 0 && r->ratio != 1)
		return f64_to_i64((double)v * r->ratio);
	return v;
}

static int64_t smallest_value(const struct report *r, const struct graph *g)
{
	int64_t least = 0;

	for (uint32_t i = 0; i < g->n; i++) {
		const struct graph_node *n = graph_at(g, i);
		int64_t v = abs_i64(node_flat(n));

		if (v == 0)
			v = abs_i64(node_cum(n));
		if (v > 0 && (least == 0 || v < least))
			least = v;
	}
	return least ? least : r->total;
}

void report_choose_unit(struct report *r, const struct graph *g)
{
	struct unit_target natural = { STR("minimum"), r->unit.minutes };
	struct str least_unit, most_unit;
	int64_t least, most;

	if (!str_is(r->unit.unit, "minimum") || g->n == 0)
		return;
	least = divided(r, smallest_value(r, g));
	most = divided(r, r->total);
	unit_scale(least, r->sample_unit, natural, &least_unit);
	unit_scale(most, r->sample_unit, natural, &most_unit);
	/* Two decimals leave room for values a hundredth of the unit; callgrind has none. */
	if (!str_eq(least_unit, most_unit) && wrap_mul(least, 100) < most &&
	    r->kind != REPORT_CALLGRIND)
		unit_scale(wrap_mul(least, 100), r->sample_unit, natural, &least_unit);
	r->unit.unit = least_unit.n ? least_unit : r->sample_unit;
}

void report_value(const struct report *r, struct out *o, int64_t v)
{
	unit_print(o, divided(r, v), r->sample_unit, r->unit);
}

struct str report_value_str(struct report *r, int64_t v)
{
	struct out o;
	struct str s;

	out_init(&o, 0);
	report_value(r, &o, v);
	s = xarena_str(&r->arena, out_view(&o));
	out_release(&o);
	return s;
}
