/*
 * series-pages.c - profiles over time, in the browser
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "ui/series-pages.h"

#include "base/cleanup.h"
#include "base/err.h"
#include "base/gotext.h"
#include "base/notify.h"
#include "base/out.h"
#include "base/xalloc.h"
#include "profile/profile.h"
#include "ui/collection.h"
#include "ui/load.h"
#include "ui/options.h"
#include "ui/series.h"
#include "ui/sides.h"
#include "ui/web-command.h"
#include "ui/web-visit.h"
#include "web/page-series.h"
#include "web/web-server.h"

#include <errno.h>
#include <stdlib.h>
#include <time.h>

/* Profiles of a range, and of a side of a comparison. */
enum { RANGE_MOST = 5000, SIDE_MOST = COMPARE_PROFILES_MOST / 2 };

struct series_pages {
	struct series *s;
	struct collection *profiles;
};

/* ------------------------------------------------------------------ opening */

struct span {
	int64_t from, to;
};

static bool parse_seconds(struct str text, int64_t *to)
{
	uint64_t v;

	if (go_parse_uint(text, 10, 62, &v, NULL) != 0)
		return false;
	*to = (int64_t)v;
	return true;
}

/* "1600000000", or "1600000000-1600003600". */
static bool parse_span(struct str text, struct span *to)
{
	struct str from;

	if (!str_split(&text, '-', &from) || !parse_seconds(from, &to->from))
		return false;
	to->to = to->from;
	return text.n == 0 || (parse_seconds(text, &to->to) && to->to >= to->from);
}

static void ignore(struct notify *n, enum notify_kind kind, const char *text)
{
	(void)n;
	(void)kind;
	(void)text;
}

static struct notify silent = { .say = ignore };

/* What a command would be given; dumps are in no file. */
static void note_sources(struct collection_item *to, const struct source_options *so,
			 struct series_paths *paths, const char *base)
{
	if (paths->dumps)
		return;
	to->source = *so;
	to->sources = mem_new(paths->n + 1, sizeof(char *));
	for (size_t i = 0; i < paths->n; i++)
		to->sources[i] = mem_str(str_of(paths->at[i]));
	to->nsources = paths->n;
	to->source.sources = (const char *const *)to->sources;
	to->source.nsources = paths->n;
	if (!base)
		return;
	to->sources[to->nsources++] = mem_str(str_of(base));
	to->source.base = to->source.diff_base_source = to->sources[to->nsources - 1];
	to->source.diff_base = true;
}

static int open_range(struct series *s, struct str component, struct str kind, struct span span,
		      struct collection_item *to, struct err *err)
{
	struct source_options so = *s->so;
	struct series_paths paths;
	int rc = series_paths(s, component, kind, span.from, span.to, RANGE_MOST, &paths, err);

	if (rc)
		return rc;
	so.sources = (const char *const *)paths.at;
	so.nsources = paths.n;
	rc = load(&so, &silent, &to->profile, err);
	if (rc == 0)
		note_sources(to, s->so, &paths, NULL);
	series_paths_free(&paths);
	return rc;
}

/* Each of them by itself, since how much they differ matters. */
static int load_each(const struct source_options *so, const struct series_paths *paths,
		     struct profile **all, size_t *n, struct err *err)
{
	struct source_options one = *so;
	int rc = 0;

	one.nsources = 1;
	for (size_t i = 0; i < paths->n && rc == 0; i++) {
		const char *path = paths->at[i];

		one.sources = &path;
		rc = load(&one, &silent, &all[*n], err);
		*n += rc == 0;
	}
	return rc;
}

static int open_sides(struct series *s, struct str component, struct str kind,
		      const struct span span[2], struct collection_item *to, struct err *err)
{
	struct profile *all[COMPARE_PROFILES_MOST];
	struct series_paths paths[2] = { { 0 } };
	size_t n = 0;
	int rc = 0;

	for (int i = 0; i < 2 && rc == 0; i++) {
		rc = series_paths(s, component, kind, span[i].from, span[i].to, SIDE_MOST,
				  &paths[i], err);
		if (rc == 0)
			rc = load_each(s->so, &paths[i], all, &n, err);
	}
	if (rc == 0) {
		rc = sides_combine(all, n, paths[0].n, &to->sides, &to->both, err);
		to->profile = to->both;
	} else {
		while (n > 0)
			profile_free(all[--n]);
	}
	if (rc == 0 && paths[0].n == 1)
		note_sources(to, s->so, &paths[1], paths[0].at[0]);
	series_paths_free(&paths[0]);
	series_paths_free(&paths[1]);
	return rc;
}

/* "web:heap:1600000000", "web:heap:1600000000~1600003600-1600007200". */
static int open_name(void *ctx, struct str name, struct collection_item *to, struct err *err)
{
	struct series_pages *p = ctx;
	struct str component, kind, old;
	struct span span[2];
	bool pair = str_find(name, STR("~")) >= 0;
	ptrdiff_t colon = str_rfind_char(name, ':');
	struct str times = str_skip(name, (size_t)(colon + 1));

	component = (struct str){ name.p, colon > 0 ? (size_t)colon : 0 };
	colon = str_rfind_char(component, ':');
	if (colon <= 0)
		return err_set(err, -ENOENT, "404 page not found");
	kind = str_skip(component, (size_t)colon + 1);
	component.n = (size_t)colon;
	if (!pair && parse_span(times, &span[0]))
		return open_range(p->s, component, kind, span[0], to, err);
	if (pair && str_split(&times, '~', &old) && parse_span(old, &span[0]) &&
	    parse_span(times, &span[1]))
		return open_sides(p->s, component, kind, span, to, err);
	return err_set(err, -ENOENT, "404 page not found");
}

/* ------------------------------------------------------------------ choosing */

/* Seconds, or what a field for times sends: "2020-10-01T22:08:40", "2020-10-01T22:08". */
static bool parse_time(const char *text, int64_t *to)
{
	struct tm tm = { 0 };
	const char *end;

	if (parse_seconds(str_of(text), to))
		return true;
	end = strptime(text, "%Y-%m-%dT%H:%M:%S", &tm);
	if (!end)
		end = strptime(text, "%Y-%m-%dT%H:%M", &tm);
	if (!end || *end)
		return false;
	*to = (int64_t)timegm(&tm);
	return true;
}

/* The moments of a line that are nearest to both times; false if there is no such line. */
static bool snap(struct series *s, const struct web_request *rq, struct span *span)
{
	int64_t *ends[] = { &span->from, &span->to };
	struct series_line *l;
	bool found;

	pthread_mutex_lock(&s->lock);
	l = series_find(s, str_of(web_arg(rq, "c")), str_of(web_arg(rq, "k")));
	found = l && l->n > 0;
	for (size_t e = 0; e < 2 && found; e++) {
		int64_t best = l->at[0].seconds;

		for (size_t i = 1; i < l->n; i++) {
			if (llabs(l->at[i].seconds - *ends[e]) < llabs(best - *ends[e]))
				best = l->at[i].seconds;
		}
		*ends[e] = best;
	}
	pthread_mutex_unlock(&s->lock);
	return found;
}

static bool read_span(struct series *s, const struct web_request *rq, const char *from,
		      const char *to, struct out *o)
{
	struct span span;

	if (!parse_time(web_arg(rq, from), &span.from) || !parse_time(web_arg(rq, to), &span.to))
		return false;
	if (span.from > span.to) {
		int64_t first = span.to;

		span.to = span.from;
		span.from = first;
	}
	if (!snap(s, rq, &span))
		return false;
	out_printf(o, "%lld", (long long)span.from);
	if (span.to != span.from)
		out_printf(o, "-%lld", (long long)span.to);
	return true;
}

static void go_to(const struct web_request *rq, struct out *span, const char *view, bool ok,
		  struct web_reply *reply)
{
	struct out to;

	if (!ok) {
		web_say(reply, VISIT_BAD_REQUEST, "which profiles?");
		return;
	}
	out_char(span, '\0');
	out_init(&to, 0);
	page_span_link(&to, web_arg(rq, "c"), web_arg(rq, "k"), span->p);
	out_text(&to, view);
	reply->status = VISIT_SEE_OTHER;
	reply->location = mem_str(out_view(&to));
	out_release(&to);
}

static void go_open(struct series *s, const struct web_request *rq, struct web_reply *reply)
{
	struct out span;
	bool ok;

	out_init(&span, 0);
	ok = read_span(s, rq, "a", "b", &span);
	go_to(rq, &span, "flamegraph", ok, reply);
	out_release(&span);
}

static void go_compare(struct series *s, const struct web_request *rq, struct web_reply *reply)
{
	struct out span;
	bool ok;

	out_init(&span, 0);
	ok = read_span(s, rq, "x1", "x2", &span);
	out_char(&span, '~');
	ok = ok && read_span(s, rq, "y1", "y2", &span);
	go_to(rq, &span, "compare", ok, reply);
	out_release(&span);
}

/* ------------------------------------------------------------------ the page */

/* The heap first, then time, then others by name. */
static int rank(const char *kind)
{
	return strcmp(kind, "heap") == 0 ? 0 : strcmp(kind, "profile") == 0 ? 1 : 2;
}

static int by_kind(const void *a, const void *b)
{
	const struct page_line *x = a, *y = b;

	if (rank(x->kind) != rank(y->kind))
		return rank(x->kind) - rank(y->kind);
	return strcmp(x->kind, y->kind);
}

static int by_name(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static struct page_line describe(const struct series_line *l, struct arena *a)
{
	struct page_point *points = xarena(a, l->n, sizeof(*points));

	for (size_t i = 0; i < l->n; i++)
		points[i] = (struct page_point){ .seconds = l->at[i].seconds,
						 .read = l->at[i].state == MOMENT_READ,
						 .value = l->at[i].value,
						 .duration = l->at[i].duration };
	return (struct page_line){ .kind = l->kind,
				   .type = l->type,
				   .unit = l->unit,
				   .points = points,
				   .npoints = l->n,
				   .growth = l->judged ? &l->result : NULL,
				   .why = l->why };
}

static void list_components(struct series *s, struct page_series *page, struct arena *a)
{
	const char **names = xarena(a, s->n, sizeof(*names));
	size_t n = 0;

	for (size_t i = 0; i < s->n; i++) {
		if (s->lines[i]->n)
			names[n++] = s->lines[i]->component;
	}
	if (n)
		qsort(names, n, sizeof(*names), by_name);
	for (size_t i = 0; i < n; i++) {
		if (i == 0 || strcmp(names[i], names[i - 1]) != 0)
			names[page->ncomponents++] = names[i];
	}
	page->components = names;
}

static struct str command_of(const struct series *s, const struct page_series *page,
			     struct arena *a)
{
	const char *name = page->ncomponents ? page->components[page->current] : "";
	struct str command;
	struct out o;

	out_init(&o, 0);
	if (s->store)
		web_command_leaks_store(&o, s->where, name);
	else
		web_command_leaks(&o, s->where, page->ncomponents > 1 ? name : NULL);
	command = xarena_str(a, out_view(&o));
	out_release(&o);
	return command;
}

/* What the page shows; 'lock' is held as long as that is used. */
static void prepare(struct series *s, const char *component, struct page_series *page,
		    struct arena *a)
{
	struct page_line *lines = xarena(a, s->n, sizeof(*lines));

	*page = (struct page_series){ .where = s->where, .lines = lines, .unread = s->unread };
	list_components(s, page, a);
	for (size_t i = 0; i < page->ncomponents; i++) {
		if (strcmp(page->components[i], component) == 0)
			page->current = i;
	}
	for (size_t i = 0; i < s->n && page->ncomponents; i++) {
		const struct series_line *l = s->lines[i];

		if (l->n && strcmp(l->component, page->components[page->current]) == 0)
			lines[page->nlines++] = describe(l, a);
	}
	if (page->nlines)
		qsort(lines, page->nlines, sizeof(*lines), by_kind);
	page->leaks = command_of(s, page, a);
}

static void show(struct series *s, const struct web_request *rq, struct web_reply *reply, bool json)
{
	AUTO(arena_release) struct arena a;
	struct page_series page;

	arena_init(&a, (size_t)1 << 30);
	series_look(s);
	pthread_mutex_lock(&s->lock);
	prepare(s, web_arg(rq, "c"), &page, &a);
	if (json)
		page_series_json(&page, &reply->body);
	else
		page_series(&page, &reply->body);
	pthread_mutex_unlock(&s->lock);
	if (json)
		reply->type = "application/json";
	if (rq->unpacks)
		web_pack(reply);
}

void series_pages_answer(const struct web_request *rq, struct web_reply *reply, void *ctx)
{
	struct series_pages *p = ctx;

	if (collection_answer(p->profiles, rq, reply))
		return;
	if (rq->changes)
		web_say(reply, VISIT_METHOD_NOT_ALLOWED, "only GET and HEAD");
	else if (strcmp(rq->path, "/") == 0)
		show(p->s, rq, reply, false);
	else if (strcmp(rq->path, "/series.json") == 0)
		show(p->s, rq, reply, true);
	else if (strcmp(rq->path, "/open") == 0)
		go_open(p->s, rq, reply);
	else if (strcmp(rq->path, "/pair") == 0)
		go_compare(p->s, rq, reply);
	else
		web_say(reply, VISIT_NOT_FOUND, "404 page not found");
}

struct series_pages *series_pages_new(struct series *s, const struct config *cfg,
				      const char *settings)
{
	struct series_pages *p = mem_zeroed(1, sizeof(*p));

	p->s = s;
	p->profiles = collection_new(cfg, settings, "Series", open_name, p);
	return p;
}
