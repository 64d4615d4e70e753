/*
 * web-flame.c - the flame graph of the web interface
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "ui/web-flame.h"

#include "base/cleanup.h"
#include "base/err.h"
#include "base/gotext.h"
#include "base/regex.h"
#include "base/wrap.h"
#include "base/xalloc.h"
#include "profile/profile.h"
#include "render/flame-captions.h"
#include "render/flame-json.h"
#include "render/json.h"
#include "report/call-tree.h"
#include "ui/web-views.h"
#include "ui/web-visit.h"
#include "web/page.h"
#include "web/web-server.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

enum {
	SHELVES = 4, /* this configuration and some before it: a comparison has three */
	FEWEST_PIXELS = 100,
	MOST_PIXELS = 8192,
	LONGEST_NAME = 1000, /* characters that are sent of a name */
};

/* Callers and callees of functions. */
struct pivot {
	char *pattern; /* NULL: there is none */
	struct call_tree callers, callees;
};

/* A configuration, and what was made for it. */
struct shelf {
	char *key;  /* NULL: it is empty */
	char *kind; /* what of the key tells in which order stacks are */
	uint64_t used;
	struct arena arena; /* what the configuration points to */
	struct profile *profile;
	struct report *r;
	struct call_tree tree;
	struct captions captions;
	struct pivot pivot;
};

struct flame_shelf {
	pthread_mutex_t lock; /* of everything here, while an answer is made of it */
	struct shelf at[SHELVES];
	uint64_t clock;
};

struct flame_shelf *flame_shelf_new(void)
{
	struct flame_shelf *s = mem_zeroed(1, sizeof(*s));

	pthread_mutex_init(&s->lock, NULL);
	return s;
}

/* ------------------------------------------------------------------ what is kept */

static void release_pivot(struct pivot *p)
{
	if (!p->pattern)
		return;
	call_tree_release(&p->callers);
	call_tree_release(&p->callees);
	free(p->pattern);
	*p = (struct pivot){ 0 };
}

static void release_shelf(struct shelf *s)
{
	if (!s->key)
		return;
	release_pivot(&s->pivot);
	captions_release(&s->captions);
	call_tree_release(&s->tree);
	report_free(s->r);
	profile_free(s->profile);
	arena_release(&s->arena);
	free(s->key);
	free(s->kind);
	*s = (struct shelf){ 0 };
}

void flame_shelf_free(struct flame_shelf *s)
{
	for (size_t i = 0; i < SHELVES; i++)
		release_shelf(&s->at[i]);
	pthread_mutex_destroy(&s->lock);
	free(s);
}

static bool is_of_type(const struct option *o)
{
	return strcmp(o->name, "sample_index") == 0 || strcmp(o->name, "mean") == 0;
}

/*
 * All options, since all of them may matter, or all but those that say which values of samples
 * count; and of a comparison, which side.
 */
static char *key_of(const struct config *cfg, const char *side, bool typed)
{
	struct out o;
	char *key;

	out_init(&o, 0);
	out_printf(&o, "%s\n", side);
	for (const struct option *option = config_options; option->name; option++) {
		if (typed || !is_of_type(option))
			option_get(option, cfg, &o);
		out_char(&o, '\n');
	}
	key = mem_str(out_view(&o));
	out_release(&o);
	return key;
}

/* The shelf of 'key', or the one that has not been used for longest. */
static struct shelf *choose(struct flame_shelf *all, const char *key, size_t n)
{
	struct shelf *oldest = &all->at[0];

	for (size_t i = 0; i < n; i++) {
		struct shelf *s = &all->at[i];

		if (s->key && strcmp(s->key, key) == 0)
			return s;
		if (s->used < oldest->used)
			oldest = s;
	}
	release_shelf(oldest);
	return oldest;
}

/* The order of stacks of this kind, from a tree that is kept; or NULL. */
static struct call_order *find_order(const struct flame_shelf *all, const char *kind)
{
	for (size_t i = 0; i < SHELVES; i++) {
		const struct shelf *s = &all->at[i];

		if (s->key && strcmp(s->kind, kind) == 0)
			return call_order_use(s->tree.order);
	}
	return NULL;
}

/* The report outlives the request, and takes what its configuration points to with it. */
static int fill(struct visit *v, struct shelf *s, struct call_order **order, struct err *err)
{
	int rc = visit_report(v, REPORT_FLAME, false, err);

	if (rc)
		return rc;
	s->r = v->report;
	s->r->notify = NULL;
	v->report = NULL;
	s->profile = v->profile;
	v->profile = NULL;
	s->arena = v->arena;
	arena_init(&v->arena, s->arena.budget);
	call_tree_init_ordered(&s->tree, s->r, order);
	captions_init(&s->captions, s->r, &s->tree.nodes, LONGEST_NAME);
	return 0;
}

static int find_shelf(struct visit *v, struct shelf **out, struct err *err)
{
	AUTO(freep) char *key = NULL;
	AUTO(freep) char *kind = NULL;
	struct flame_shelf *all = v->views->flames;
	bool large = visit_is_large(v->views) && !v->views->both;
	struct call_order *order;
	struct shelf *s;
	int rc = visit_configure(v, err);

	if (rc)
		return rc;
	key = key_of(&v->cfg, web_arg(v->rq, "side"), true);
	kind = key_of(&v->cfg, web_arg(v->rq, "side"), false);
	order = find_order(all, kind);
	s = choose(all, key, large ? 1 : SHELVES);
	if (!s->key) {
		rc = fill(v, s, &order, err);
		if (rc == 0) {
			s->key = TAKE(key);
			s->kind = TAKE(kind);
		}
	}
	call_order_release(order);
	if (rc)
		return rc;
	s->used = ++all->clock;
	*out = s;
	return 0;
}

/* Whether its tree is one of samples that were chosen, or of stacks that were changed. */
static bool is_filtered(const struct shelf *s)
{
	return s->key && (s->r->v->rows || s->r->v->ends || s->r->v->hidden);
}

void flame_shelf_lighten(struct flame_shelf *all, bool whole)
{
	if (pthread_mutex_trylock(&all->lock) != 0)
		return;
	for (size_t i = 0; i < SHELVES; i++) {
		release_pivot(&all->at[i].pivot);
		if (whole || is_filtered(&all->at[i]))
			release_shelf(&all->at[i]);
	}
	pthread_mutex_unlock(&all->lock);
}

/* ------------------------------------------------------------------ functions that match */

/* Per place: whether its name matches.  The caller frees it. */
static int find_hits(const struct shelf *s, const char *pattern, uint8_t **out, size_t *n,
		     struct err *err)
{
	AUTO(regex_freep) struct regex *re = NULL;
	const struct nodes *nodes = &s->tree.nodes;
	struct out name;
	int rc = regex_compile(str_of(pattern), &re, err);

	if (rc)
		return rc;
	*out = mem_zeroed(nodes->n, 1);
	*n = 0;
	out_init(&name, 0);
	for (uint32_t i = 0; i < nodes->n; i++) {
		name.n = 0;
		node_print(&name, s->r->v, &nodes->info[i]);
		(*out)[i] = regex_match(re, out_view(&name));
		*n += (*out)[i];
	}
	out_release(&name);
	return 0;
}

static int find_pivot(struct shelf *s, const char *pattern, struct err *err)
{
	AUTO(freep) uint8_t *hit = NULL;
	size_t n;
	int rc;

	if (s->pivot.pattern && strcmp(s->pivot.pattern, pattern) == 0)
		return 0;
	rc = find_hits(s, pattern, &hit, &n, err);
	if (rc)
		return rc;
	if (n == 0)
		return err_set(err, -ENOENT, "no function matches %s", pattern);
	release_pivot(&s->pivot);
	call_tree_around(&s->tree, hit, &s->pivot.callers, &s->pivot.callees);
	s->pivot.pattern = mem_str(str_of(pattern));
	return 0;
}

/* ------------------------------------------------------------------ the frame on top */

/* How the script tells frames: by all names on the way to them. */
static uint32_t mix(uint32_t hash, uint32_t name)
{
	uint32_t h = (hash ^ name) * 0x9e3779b1u;

	return h ^ h >> 15;
}

static bool is_frame(struct captions *c, const struct call_tree *t, uint32_t stack, uint32_t level,
		     uint32_t hash)
{
	uint32_t *places, h = 0;

	if (stack >= t->n || t->length[stack] < level)
		return false;
	places = mem_new(level, sizeof(*places));
	call_tree_path(t, stack, level, places);
	for (uint32_t l = 0; l < level; l++)
		h = mix(h, captions_get(c, places[l])->hash);
	free(places);
	return h == hash;
}

/* The number that 'text' begins with, and what is behind it and one more character. */
static uint32_t take_number(const char **text, int base)
{
	char *end;
	unsigned long v = strtoul(*text, &end, base);

	*text = *end ? end + 1 : end;
	return v > NONE ? NONE : (uint32_t)v;
}

/* The frame that 'text' names, or the root. */
static struct call_range find_top(struct captions *c, const struct call_tree *t, const char *text)
{
	uint32_t level = take_number(&text, 10);
	uint32_t hash = take_number(&text, 16);
	uint32_t stack = take_number(&text, 10);

	if (level == 0)
		return call_tree_root(t);
	if (is_frame(c, t, stack, level, hash))
		return call_tree_range(t, stack, level);
	for (uint32_t i = 0; i < t->n; i++) {
		if ((i == 0 || t->shared[i] < level) && is_frame(c, t, i, level, hash))
			return call_tree_range(t, i, level);
	}
	return call_tree_root(t);
}

/* ------------------------------------------------------------------ answers */

/* The shelf, with the pivot if functions to turn around were asked for; or NULL, and why is said.
 */
static struct shelf *find_asked(struct visit *v)
{
	const char *pattern = web_arg(v->rq, "p");
	struct shelf *s;
	struct err err;
	int rc = find_shelf(v, &s, &err);

	if (rc == 0 && *pattern)
		rc = find_pivot(s, pattern, &err);
	if (rc == 0)
		return s;
	web_say(v->reply, VISIT_BAD_REQUEST, err.msg);
	return NULL;
}

static double pixels_of(const struct visit *v)
{
	int64_t px = 0;

	(void)go_atoi(str_of(web_arg(v->rq, "px")), &px, NULL);
	if (px < FEWEST_PIXELS)
		return FEWEST_PIXELS;
	return px > MOST_PIXELS ? MOST_PIXELS : (double)px;
}

static void send_data(struct visit *v)
{
	const char *pattern = web_arg(v->rq, "p"), *top = web_arg(v->rq, "z");
	struct flame_part parts[2];
	struct shelf *s = find_asked(v);
	size_t n = 0;

	if (!s)
		return;
	if (*pattern) {
		const struct call_tree *up = &s->pivot.callers, *down = &s->pivot.callees;

		parts[n++] = (struct flame_part){ down, find_top(&s->captions, down,
								 *top == 'u' ? "" : top) };
		parts[n++] = (struct flame_part){ up, find_top(&s->captions, up,
							       *top == 'u' ? top + 1 : "") };
	} else {
		parts[n++] = (struct flame_part){ &s->tree, find_top(&s->captions, &s->tree, top) };
	}
	v->reply->type = "application/json";
	render_flame_json(&s->captions, parts, n, pixels_of(v), &v->reply->body);
}

/* A digit for four places each, the first in its lowest bit. */
static void put_hits(struct json *j, const uint8_t *hit, uint32_t n)
{
	struct out o;

	out_init(&o, 0);
	for (uint32_t i = 0; i < n; i += 4) {
		unsigned digit = 0;

		for (uint32_t k = i; k < i + 4 && k < n; k++)
			digit |= (unsigned)hit[k] << (k - i);
		out_char(&o, "0123456789abcdef"[digit]);
	}
	json_string(j, "hits", out_view(&o));
	out_release(&o);
}

static void put_found(struct json *j, const char *prefix, struct report *r, struct weight w)
{
	int64_t value = w.cum_div ? wrap_div(w.cum, w.cum_div) : w.cum;

	json_open(j, prefix, '{');
	json_int(j, "value", value);
	json_string(j, "text", report_value_str(r, value));
	json_close(j, '}');
}

static void send_found(struct visit *v)
{
	const char *pattern = web_arg(v->rq, "p");
	const struct call_tree *t;
	AUTO(freep) uint8_t *hit = NULL;
	struct json j = { .o = &v->reply->body, .dense = true };
	struct call_range top;
	struct shelf *s = find_asked(v);
	struct err err;
	size_t n;

	if (!s)
		return;
	v->reply->type = "application/json";
	if (find_hits(s, web_arg(v->rq, "q"), &hit, &n, &err) != 0) {
		json_open(&j, NULL, '{');
		json_string(&j, "error", str_of(err.msg));
		json_close(&j, '}');
		return;
	}
	t = *pattern ? &s->pivot.callees : &s->tree;
	top = find_top(&s->captions, t, *pattern ? "" : web_arg(v->rq, "z"));
	json_open(&j, NULL, '{');
	json_int(&j, "functions", (int64_t)n);
	put_found(&j, "all", s->r, call_tree_count(t, hit, 0, t->n));
	put_found(&j, "here", s->r, call_tree_count(t, hit, top.from, top.to));
	put_hits(&j, hit, t->nodes.n);
	json_close(&j, '}');
}

static void send_name(struct visit *v)
{
	struct shelf *s = find_asked(v);
	int64_t place = -1;

	if (!s)
		return;
	if (go_atoi(str_of(web_arg(v->rq, "place")), &place, NULL) != 0 || place < 0 ||
	    place >= s->tree.nodes.n) {
		web_say(v->reply, VISIT_BAD_REQUEST, "there is no such place");
		return;
	}
	v->reply->type = "text/plain; charset=utf-8";
	node_print(&v->reply->body, s->r->v, &s->tree.nodes.info[place]);
}

/* ------------------------------------------------------------------ paths */

static void answer(struct visit *v, void (*send)(struct visit *v))
{
	pthread_mutex_lock(&v->views->flames->lock);
	send(v);
	pthread_mutex_unlock(&v->views->flames->lock);
}

void web_flame_data(struct visit *v)
{
	answer(v, send_data);
}

void web_flame_search(struct visit *v)
{
	answer(v, send_found);
}

void web_flame_name(struct visit *v)
{
	answer(v, send_name);
}

void web_flame_prepare(void *views)
{
	struct web_request rq = { .path = "/flame.json" };
	struct web_reply reply = { 0 };
	struct shelf *s;
	struct visit v;
	struct err err;

	visit_init(&v, views, &rq, &reply);
	pthread_mutex_lock(&v.views->flames->lock);
	(void)find_shelf(&v, &s, &err); /* who asks for it is told why there is none */
	pthread_mutex_unlock(&v.views->flames->lock);
	visit_release(&v);
}

int web_flame_page(struct visit *v, const struct page *pg, struct err *err)
{
	struct out *o = &v->reply->body;

	(void)err;
	page_preload("flame", o);
	out_text(o, "<div data-view=\"flame\"");
	if (pg->has_base)
		page_verdicts(pg, o);
	out_text(o, "><noscript>");
	page_drawing(pg, "flamegraph.svg", o);
	out_text(o, "</noscript></div>\n");
	return 0;
}
