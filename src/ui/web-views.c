/*
 * web-views.c - the pages of the web interface: which report is under which path
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "ui/web-views.h"

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/notify.h"
#include "base/xalloc.h"
#include "profile/encode.h"
#include "profile/profile.h"
#include "render/render.h"
#include "report/report.h"
#include "ui/commands.h"
#include "ui/options.h"
#include "ui/picture.h"
#include "ui/settings.h"
#include "ui/web-visit.h"
#include "web/page.h"
#include "web/web-server.h"

#include <errno.h>

/* What a browser can still show. */
enum { LARGEST_BODY = 64 << 20 };

/* ------------------------------------------------------------------ bodies */

static int show_top(struct visit *v, const struct page *pg, struct err *err)
{
	(void)err;
	page_top(pg, &v->reply->body);
	return 0;
}

static int show_text(struct visit *v,
		     int (*render)(struct report *r, struct out *o, struct err *err),
		     struct err *err)
{
	struct out text;
	int rc;

	out_init(&text, LARGEST_BODY);
	rc = render(v->report, &text, err);
	if (rc == 0 && text.error)
		rc = err_set(err, text.error, "this is too much for a page: narrow it with focus");
	if (rc == 0)
		page_text(out_view(&text), &v->reply->body);
	out_release(&text);
	return rc;
}

static int show_peek(struct visit *v, const struct page *pg, struct err *err)
{
	(void)pg;
	return show_text(v, render_tree_text, err);
}

/* Listings of everything are long: which functions is asked first. */
static int show_listing(struct visit *v, const struct page *pg,
			int (*render)(struct report *r, struct out *o, struct err *err),
			struct err *err)
{
	if (*web_arg(v->rq, "f"))
		return show_text(v, render, err);
	page_note(pg, STR("Which functions?  Give a regular expression as Focus."), "top",
		  "The largest are in Top.", &v->reply->body);
	return 0;
}

static int show_source(struct visit *v, const struct page *pg, struct err *err)
{
	return show_listing(v, pg, render_list_text, err);
}

static int show_disasm(struct visit *v, const struct page *pg, struct err *err)
{
	return show_listing(v, pg, render_disasm_text, err);
}

static int show_flame(struct visit *v, const struct page *pg, struct err *err)
{
	(void)err;
	out_text(&v->reply->body, "<div data-view=\"flame\">");
	page_drawing(pg, "flamegraph.svg", &v->reply->body);
	out_text(&v->reply->body, "</div>");
	return 0;
}

static int show_graph(struct visit *v, const struct page *pg, struct err *err)
{
	struct err why;

	(void)err;
	if (picture_check("-", &why) == 0) {
		page_drawing(pg, "graph.svg", &v->reply->body);
		return 0;
	}
	v->reply->status = VISIT_NOT_IMPLEMENTED;
	page_note(pg, STR("Could not execute dot; may need to install graphviz."), "flamegraph",
		  "The flame graph needs none.", &v->reply->body);
	return 0;
}

static const struct view views[] = {
	{ "/", REPORT_DOT, show_graph, false },
	{ "/top", REPORT_TEXT, show_top, false },
	{ "/flamegraph", REPORT_FLAME, show_flame, false },
	{ "/peek", REPORT_PEEK, show_peek, true },
	{ "/source", REPORT_LIST, show_source, true },
	{ "/disasm", REPORT_DISASM, show_disasm, true },
};

static const struct view *find_view(const char *path)
{
	for (size_t i = 0; i < sizeof(views) / sizeof(views[0]); i++) {
		if (strcmp(views[i].path, path) == 0)
			return &views[i];
	}
	return NULL;
}

/* ------------------------------------------------------------------ saved configurations */

/* What a URL has for an option: nothing for its default, one letter for a boolean. */
static struct str url_value(const struct option *o, const struct config *cfg, struct arena *a)
{
	struct str value;
	struct out text;

	if (option_is_default(o, cfg))
		return STR("");
	out_init(&text, 0);
	option_get(o, cfg, &text);
	value = xarena_str(a, out_view(&text));
	out_release(&text);
	if (o->type == OPTION_BOOL)
		value.n = 1;
	return xarena_str(a, value);
}

static bool is_saved(const struct option *o)
{
	return o->url && option_is_stored(o);
}

/* Whether the parameter 'name' is one of an option that is saved. */
static bool is_replaced(const char *name)
{
	for (const struct option *o = config_options; o->name; o++) {
		if (is_saved(o) && strcmp(o->url, name) == 0)
			return true;
	}
	return false;
}

/* The request as it would be with 'saved'.  '*same' tells that nothing would change. */
static void replace_args(struct visit *v, const struct config *saved, struct web_request *to,
			 bool *same)
{
	*to = (struct web_request){ .path = v->rq->path };
	*same = true;
	for (size_t i = 0; i < v->rq->nargs; i++) {
		if (!is_replaced(v->rq->args[i].name))
			to->args[to->nargs++] = v->rq->args[i];
	}
	for (const struct option *o = config_options; o->name; o++) {
		struct str value;

		if (!is_saved(o))
			continue;
		value = url_value(o, saved, &v->arena);
		*same = *same && str_is(value, web_arg(v->rq, o->url));
		if (value.n && to->nargs < WEB_ARGS)
			to->args[to->nargs++] = (struct web_arg){ o->url, value.p };
	}
}

static struct page_config offer(struct visit *v, const struct saved_config *saved, bool is_own)
{
	struct page_config c = { .name = saved->name, .saved = is_own };
	struct web_request rq;
	struct out query;

	replace_args(v, &saved->cfg, &rq, &c.current);
	out_init(&query, 0);
	web_query(&rq, NULL, NULL, STR(""), &query);
	c.query = xarena_str(&v->arena, query.n ? out_view(&query) : STR("?"));
	out_release(&query);
	return c;
}

/* "Default" and those of the file.  Of several that are the same, the last is the current one. */
static void offer_configs(struct visit *v, struct page *pg)
{
	struct saved_config none = { .name = "Default" };
	struct page_config *list;
	struct settings s;
	struct err err;
	bool found = false;

	if (settings_read(&s, v->views->settings, &v->arena, &err) != 0) {
		notify_warn(&v->notify, "%s", err.msg);
		return;
	}
	config_init(&none.cfg);
	list = xarena(&v->arena, s.n + 1, sizeof(*list));
	list[0] = offer(v, &none, false);
	for (size_t i = 0; i < s.n; i++)
		list[i + 1] = offer(v, &s.at[i], true);
	for (size_t i = s.n + 1; i-- > 0; found = found || list[i].current)
		list[i].current = list[i].current && !found;
	pg->configs = list;
	pg->nconfigs = s.n + 1;
}

/* "./view?..." of the page that the form was on. */
static char *back_to(struct visit *v, const char *view)
{
	struct web_request rq = { .path = view };
	struct out to;
	char *text;

	for (size_t i = 0; i < v->rq->nargs; i++) {
		const struct web_arg *a = &v->rq->args[i];

		if (strcmp(a->name, "config") != 0 && strcmp(a->name, "view") != 0)
			rq.args[rq.nargs++] = *a;
	}
	out_init(&to, 0);
	out_printf(&to, ".%s", view);
	web_query(&rq, NULL, NULL, STR(""), &to);
	text = mem_str(out_view(&to));
	out_release(&to);
	return text;
}

/* The page whose form was sent sees itself again; others get nothing, as from the reference. */
static void finish_change(struct visit *v, int rc, const struct err *err)
{
	const struct view *view = find_view(web_arg(v->rq, "view"));

	v->reply->type = "text/plain; charset=utf-8";
	if (rc) {
		web_say(v->reply, VISIT_BAD_REQUEST, err->msg);
	} else if (view) {
		v->reply->status = VISIT_SEE_OTHER;
		v->reply->location = back_to(v, view->path);
	}
}

static void save_config(struct visit *v)
{
	struct err err;
	int rc = visit_configure(v, &err);

	pthread_mutex_lock(&v->views->settling);
	if (rc == 0)
		rc = settings_save(v->views->settings, web_arg(v->rq, "config"), &v->cfg, &err);
	pthread_mutex_unlock(&v->views->settling);
	finish_change(v, rc, &err);
}

static void delete_config(struct visit *v)
{
	struct err err;
	int rc;

	pthread_mutex_lock(&v->views->settling);
	rc = settings_delete(v->views->settings, web_arg(v->rq, "config"), &err);
	pthread_mutex_unlock(&v->views->settling);
	finish_change(v, rc, &err);
}

static void show_page(struct visit *v)
{
	const struct view *view = v->view;
	struct page pg = { v->rq, v->views->profile, NULL, view->path + 1, { 0 }, NULL, 0 };
	struct out *o = &v->reply->body;
	struct err err = { "" };
	int rc = visit_report(v, view->kind, view->has_param, &err);

	offer_configs(v, &pg);
	pg.report = v->report;
	pg.warnings = out_view(&v->warnings);
	page_begin(&pg, o);
	if (rc == 0)
		rc = view->body(v, &pg, &err);
	if (rc) {
		v->reply->status = VISIT_BAD_REQUEST;
		page_note(&pg, str_of(err.msg), NULL, NULL, o);
	}
	page_end(o);
}

/* ------------------------------------------------------------------ what is not a page */

static void send_flame(struct visit *v)
{
	struct err err;

	if (visit_report(v, REPORT_FLAME, false, &err) != 0) {
		web_say(v->reply, VISIT_BAD_REQUEST, err.msg);
		return;
	}
	v->reply->type = "image/svg+xml";
	v->reply->policy = web_drawing_policy;
	render_flame_svg(v->report, &v->reply->body);
}

/* Others go on while Graphviz lays it out. */
static void send_graph(struct visit *v)
{
	int seconds = v->cfg.layout_timeout;
	struct out graph;
	struct err err;
	int rc;

	pthread_mutex_lock(&v->views->reporting);
	out_init(&graph, 0);
	rc = visit_report(v, REPORT_DOT, false, &err);
	if (rc == 0)
		render_dot(v->report, &graph);
	pthread_mutex_unlock(&v->views->reporting);
	pthread_mutex_lock(&v->views->drawing);
	if (rc == 0)
		rc = picture_draw(command_find(STR("svg")), out_view(&graph),
				  seconds > 0 ? (unsigned)seconds : 0, &v->reply->body, &err);
	pthread_mutex_unlock(&v->views->drawing);
	out_release(&graph);
	v->reply->type = "image/svg+xml";
	v->reply->policy = web_drawing_policy;
	if (rc)
		web_say(v->reply, rc == -EINVAL ? VISIT_BAD_REQUEST : VISIT_NOT_IMPLEMENTED,
			err.msg);
}

static void send_profile(struct visit *v)
{
	v->reply->type = "application/vnd.google.protobuf+gzip";
	v->reply->file_name = "profile.pb.gz";
	profile_write(v->views->profile, &v->reply->body);
}

/* Under the tag that pages link to, a file never changes; and a part has it in its name. */
static void send_file(struct visit *v, const char *name)
{
	for (const struct page_file *f = page_files; f->name; f++) {
		if (strcmp(f->name, name) != 0)
			continue;
		v->reply->type = f->type;
		v->reply->tag = f->tag;
		v->reply->forever = strcmp(web_arg(v->rq, "v"), f->tag) == 0 ||
				    strncmp(name, "chunk-", strlen("chunk-")) == 0;
		out_bytes(&v->reply->body, f->p, f->n);
		return;
	}
	web_say(v->reply, VISIT_NOT_FOUND, "404 page not found");
}

/* ------------------------------------------------------------------ paths */

/* What is no page: who answers it, and whether that changes something. */
static const struct {
	const char *path;
	void (*answer)(struct visit *v);
	bool changes;
	bool alone; /* no other report is made meanwhile */
} others[] = {
	{ "/flamegraph.svg", send_flame, false, true },
	{ "/graph.svg", send_graph, false, false },
	{ "/download", send_profile, false, true },
	{ "/saveconfig", save_config, true, false },
	{ "/deleteconfig", delete_config, true, false },
};

/* Names that views have in other versions of the reference. */
static const struct {
	const char *path;
	const char *view;
} aliases[] = {
	{ "/graph", "/" },
	{ "/flamegraph2", "/flamegraph" },
	{ "/flamegraphold", "/flamegraph" },
};

static void refuse_method(struct visit *v, bool changes)
{
	v->reply->allow = changes ? "POST, DELETE" : "GET, HEAD";
	web_say(v->reply, VISIT_METHOD_NOT_ALLOWED,
		changes ? "only POST and DELETE" : "only GET and HEAD");
}

static void answer_as(struct visit *v, void (*make)(struct visit *v), bool alone)
{
	if (alone)
		pthread_mutex_lock(&v->views->reporting);
	make(v);
	if (alone)
		pthread_mutex_unlock(&v->views->reporting);
}

static void answer(struct visit *v)
{
	const char *path = v->rq->path;

	if (strncmp(path, "/static/", strlen("/static/")) == 0) {
		send_file(v, path + strlen("/static/"));
		return;
	}
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		if (strcmp(others[i].path, path) != 0)
			continue;
		if (others[i].changes != v->rq->changes)
			refuse_method(v, others[i].changes);
		else
			answer_as(v, others[i].answer, others[i].alone);
		return;
	}
	for (size_t i = 0; i < sizeof(aliases) / sizeof(aliases[0]); i++) {
		if (strcmp(aliases[i].path, path) == 0)
			path = aliases[i].view;
	}
	v->view = find_view(path);
	if (!v->view)
		web_say(v->reply, VISIT_NOT_FOUND, "404 page not found");
	else if (v->rq->changes)
		refuse_method(v, false);
	else
		answer_as(v, show_page, true);
}

void web_views_answer(const struct web_request *rq, struct web_reply *reply, void *ctx)
{
	struct visit v;

	visit_init(&v, ctx, rq, reply);
	answer(&v);
	visit_release(&v);
}
