/*
 * flame-json.c - what a window can show of call trees, for the script of the page
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "render/flame-json.h"

#include "base/out.h"
#include "base/units.h"
#include "base/wrap.h"
#include "base/xalloc.h"
#include "profile/profile.h"
#include "render/flame-captions.h"
#include "render/json.h"
#include "render/xml.h"
#include "report/report.h"

#include <stdlib.h>

#define NARROWEST 0.5 /* pixels */

enum {
	MOST_FRAMES = 16000,
	MOST_LEVELS = 100000,
	LONGEST_MODULE = 100, /* characters */
};

/* What is being sent. */
struct sheet {
	struct report *r;
	struct captions *captions;
	struct json j;
	uint8_t *used; /* per place: it occurs */
	bool compared;
};

/* ------------------------------------------------------------------ one tree */

static int64_t mean_of(int64_t value, int64_t divisor)
{
	return divisor ? wrap_div(value, divisor) : value;
}

static int64_t value_of(const struct call_frame *f)
{
	return mean_of(f->w.cum, f->w.cum_div);
}

static int64_t own_value_of(const struct call_frame *f)
{
	return mean_of(f->w.flat, f->w.flat_div);
}

/* A comparison says "+" of what grew; "-" comes with the number. */
static void put_value(struct sheet *s, const char *key, int64_t v)
{
	struct out o;

	out_init(&o, 0);
	if (s->compared && v > 0)
		out_char(&o, '+');
	report_value(s->r, &o, v);
	json_string(&s->j, key, out_view(&o));
	out_release(&o);
}

/* One side of a comparison. */
static void put_side(struct sheet *s, double v)
{
	struct out o;

	out_init(&o, 0);
	report_value(s->r, &o, f64_to_i64(v));
	json_string(&s->j, NULL, out_view(&o));
	out_release(&o);
}

enum column {
	PLACE,
	LEVEL,
	FROM,
	TO,
	VALUE,
	SELF,
	TEXT,
	OWN,
	CALLEES,
	HIDDEN,
	REST,
	INLINED,
	COLUMNS,
	/* of a comparison: */
	MORE = COLUMNS,
	LESS,
	BEFORE,
	AFTER,
	ALL_COLUMNS,
};

static const char *const column_names[ALL_COLUMNS] = {
	"place",   "level",  "from", "to",      "value", "self", "text",   "own",
	"callees", "hidden", "rest", "inlined", "more",  "less", "before", "after",
};

static void put_cell(struct sheet *s, enum column column, const struct call_frame *f)
{
	struct json *j = &s->j;

	switch (column) {
	case PLACE:
		json_int(j, NULL, f->place == NONE ? -1 : (int64_t)f->place);
		break;
	case LEVEL:
		json_int(j, NULL, f->at.level);
		break;
	case FROM:
		json_int(j, NULL, f->at.from);
		break;
	case TO:
		json_int(j, NULL, f->at.to);
		break;
	case VALUE:
		json_int(j, NULL, value_of(f));
		break;
	case SELF:
		json_int(j, NULL, own_value_of(f));
		break;
	case TEXT:
		put_value(s, NULL, value_of(f));
		break;
	case OWN:
		put_value(s, NULL, own_value_of(f));
		break;
	case CALLEES:
		json_int(j, NULL, f->callees);
		break;
	case HIDDEN:
		json_int(j, NULL, f->hidden);
		break;
	case REST:
		json_number(j, NULL, f->hidden_width);
		break;
	case INLINED:
		json_int(j, NULL, f->inlined);
		break;
	case MORE:
		json_number(j, NULL, f->more);
		break;
	case LESS:
		json_number(j, NULL, f->less);
		break;
	case BEFORE:
		put_side(s, f->less);
		break;
	case AFTER:
		put_side(s, f->more);
		break;
	default:
		break;
	}
}

static void put_columns(struct sheet *s, const struct call_frame *trail, size_t ntrail,
			const struct call_frames *shown)
{
	size_t n = s->compared ? ALL_COLUMNS : COLUMNS;

	for (size_t c = 0; c < n; c++) {
		json_open(&s->j, column_names[c], '[');
		for (size_t i = 0; i < ntrail; i++)
			put_cell(s, (enum column)c, &trail[i]);
		for (size_t i = 0; i < shown->n; i++)
			put_cell(s, (enum column)c, &shown->at[i]);
		json_close(&s->j, ']');
	}
}

static void use(struct sheet *s, const struct call_frame *f, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (f[i].place != NONE)
			s->used[f[i].place] = 1;
	}
}

/* The frames that lead to the top one. */
static struct call_frame *find_trail(const struct flame_part *part)
{
	struct call_frame *trail = mem_new(part->top.level, sizeof(*trail));
	uint32_t *places = mem_new(part->top.level, sizeof(*places));
	struct call_range at = part->top;

	if (at.level)
		call_tree_path(part->tree, at.from, at.level, places);
	while (at.level > 0) {
		at = call_tree_caller(part->tree, at);
		call_tree_frame(part->tree, at, &trail[at.level]);
		if (at.level)
			trail[at.level].place = places[at.level - 1];
	}
	free(places);
	return trail;
}

static void put_tree(struct sheet *s, const struct flame_part *part, double pixels)
{
	struct call_limits limits = { 0, MOST_FRAMES, MOST_LEVELS };
	struct call_frame *trail = find_trail(part);
	struct call_frames shown;
	struct call_frame top;

	call_tree_frame(part->tree, part->top, &top);
	limits.narrowest = (top.more + top.less) * NARROWEST / pixels;
	call_tree_show(part->tree, part->top, &limits, &shown);
	json_open(&s->j, NULL, '{');
	json_bool(&s->j, "up", part->tree->upwards);
	json_int(&s->j, "trail", part->top.level);
	json_int(&s->j, "narrow", (int64_t)(shown.narrow + shown.deep + shown.negative));
	json_number(&s->j, "cut", shown.narrowest);
	put_columns(s, trail, part->top.level, &shown);
	json_close(&s->j, '}');
	use(s, trail, part->top.level);
	use(s, shown.at, shown.n);
	free(trail);
	free(shown.at);
}

/* ------------------------------------------------------------------ places */

/* A column of all places that occur. */
static void put_places(struct sheet *s, const char *key,
		       void (*put)(struct sheet *s, uint32_t place, const struct caption *c))
{
	json_open(&s->j, key, '[');
	for (uint32_t i = 0; i < s->captions->nodes->n; i++) {
		if (s->used[i])
			put(s, i, captions_get(s->captions, i));
	}
	json_close(&s->j, ']');
}

static void put_id(struct sheet *s, uint32_t place, const struct caption *c)
{
	(void)c;
	json_int(&s->j, NULL, place);
}

static void put_name(struct sheet *s, uint32_t place, const struct caption *c)
{
	(void)place;
	json_string(&s->j, NULL, c->name);
}

static void put_label(struct sheet *s, uint32_t place, const struct caption *c)
{
	(void)place;
	json_string(&s->j, NULL, c->label);
}

static void put_hash(struct sheet *s, uint32_t place, const struct caption *c)
{
	(void)place;
	json_int(&s->j, NULL, c->hash);
}

static void put_module(struct sheet *s, uint32_t place, const struct caption *c)
{
	struct out o;

	(void)place;
	out_init(&o, 0);
	text_visible(&o, c->module, LONGEST_MODULE);
	json_string(&s->j, NULL, out_view(&o));
	out_release(&o);
}

static void put_cut(struct sheet *s, uint32_t place, const struct caption *c)
{
	if (c->cut)
		json_int(&s->j, NULL, place);
}

/* ------------------------------------------------------------------ the whole */

void render_flame_json(struct captions *c, const struct flame_part *parts, size_t nparts,
		       double pixels, struct out *o)
{
	const struct call_tree *t = parts[0].tree;
	struct sheet s = { .r = c->r, .captions = c, .j = { .o = o, .dense = true } };

	s.compared = t->compared;
	s.used = mem_zeroed(c->nodes->n, 1);
	json_open(&s.j, NULL, '{');
	json_int(&s.j, "total", s.r->total);
	json_open(&s.j, "trees", '[');
	for (size_t i = 0; i < nparts; i++)
		put_tree(&s, &parts[i], pixels);
	json_close(&s.j, ']');
	json_open(&s.j, "places", '{');
	put_places(&s, "id", put_id);
	put_places(&s, "name", put_name);
	put_places(&s, "label", put_label);
	put_places(&s, "hash", put_hash);
	put_places(&s, "module", put_module);
	put_places(&s, "cut", put_cut);
	json_close(&s.j, '}');
	json_bool(&s.j, "compared", t->compared);
	json_bool(&s.j, "base", t->has_base);
	s.compared = false; /* the total has no sign */
	put_value(&s, "text", s.r->total);
	json_close(&s.j, '}');
	free(s.used);
}
