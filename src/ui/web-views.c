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
#include "base/parts.h"
#include "base/xalloc.h"
#include "profile/encode.h"
#include "profile/profile.h"
#include "render/render.h"
#include "render/xml.h"
#include "report/report.h"
#include "report/trust.h"
#include "ui/commands.h"
#include "ui/options.h"
#include "ui/picture.h"
#include "ui/web-command.h"
#include "ui/web-compare.h"
#include "ui/web-configs.h"
#include "ui/web-flame.h"
#include "ui/web-visit.h"
#include "web/page.h"
#include "web/web-cache.h"
#include "web/web-server.h"

#include <errno.h>
#include <inttypes.h>

/* What a browser can still show; functions to choose from; characters of a name in a graph. */
enum { LARGEST_BODY = 24 << 20, ALL_AT_ONCE = 2 << 20, CHOICES = 50, LONGEST_NAME = 1000 };

/* A function with a caller, in bytes, between two lines. */
enum { SHORTEST_PEEK = 200 };

/* Reports of a small profile at a time, so that a slow one holds up none; answers to keep. */
enum { REPORTS = 4, KEPT_BYTES = 4 << 20 };

/* ------------------------------------------------------------------ bodies */

static int show_top(struct visit *v, const struct page *pg, struct err *err)
{
	(void)err;
	page_top(pg, v->report, "peek", &v->reply->body);
	return 0;
}

static int show_text(struct visit *v,
		     int (*render)(struct report *r, struct out *o, struct err *err), size_t most,
		     struct err *err)
{
	struct lines l;
	int rc, end;

	page_text_begin(&l, &v->reply->body, most);
	rc = render(v->report, &l.text, err);
	end = page_text_end(&l);
	if (rc == 0 && end)
		rc = err_set(err, end, "this is too much for a page: narrow it with focus");
	if (rc)
		out_release(&v->reply->body);
	return rc;
}

/* Listings of everything are long: which functions is asked first. */
static int show_choice(struct visit *v, const struct page *pg, struct err *err)
{
	AUTO(report_freep) struct report *r = NULL;
	struct config cfg = v->cfg;
	int rc;

	cfg.nodecount = CHOICES;
	cfg.granularity = "functions";
	rc = report_new(&r, v->profile, REPORT_TEXT, NULL, &cfg, NULL, err);
	if (rc)
		return rc;
	page_note(pg,
		  STR("Which functions?  Choose one of the largest, or give a regular "
		      "expression as Focus."),
		  NULL, NULL, &v->reply->body);
	page_top(pg, r, pg->view, &v->reply->body);
	return 0;
}

/* All of a small profile, as the reference has it. */
static int show_peek(struct visit *v, const struct page *pg, struct err *err)
{
	bool all = !*web_arg(v->rq, "f");
	int rc;

	if (all && visit_is_large(v->views) && v->profile->nlocations > ALL_AT_ONCE / SHORTEST_PEEK)
		return show_choice(v, pg, err);
	if (visit_is_large(v->views))
		flame_shelf_lighten(v->views->flames, true);
	rc = show_text(v, render_tree_text, all ? ALL_AT_ONCE : LARGEST_BODY, err);
	return all && rc == -EFBIG ? show_choice(v, pg, err) : rc;
}

static int show_source(struct visit *v, const struct page *pg, struct err *err)
{
	if (!*web_arg(v->rq, "f"))
		return show_choice(v, pg, err);
	return page_source(pg, &v->reply->body, err);
}

static int show_labels(struct visit *v, const struct page *pg, struct err *err)
{
	(void)err;
	page_labels(pg, &v->reply->body);
	return 0;
}

static int show_disasm(struct visit *v, const struct page *pg, struct err *err)
{
	if (!*web_arg(v->rq, "f"))
		return show_choice(v, pg, err);
	return show_text(v, render_disasm_text, LARGEST_BODY, err);
}

static int show_graph(struct visit *v, const struct page *pg, struct err *err)
{
	struct err why;

	(void)err;
	if (picture_check("-", &why) == 0) {
		page_graph(pg, &v->reply->body);
		return 0;
	}
	v->reply->status = VISIT_NOT_IMPLEMENTED;
	page_note(pg, STR("Could not execute dot; may need to install graphviz."), "flamegraph",
		  "The flame graph needs none.", &v->reply->body);
	return 0;
}

static const struct view views[] = {
	{ .path = "/", .kind = REPORT_DOT, .body = show_graph },
	{ .path = "/top", .kind = REPORT_TEXT, .body = show_top },
	{ .path = "/flamegraph", .kind = REPORT_FLAME, .body = web_flame_page },
	{ .path = "/peek", .kind = REPORT_PEEK, .body = show_peek, .has_param = true },
	{ .path = "/source", .kind = REPORT_WEBLIST, .body = show_source, .has_param = true },
	{ .path = "/disasm", .kind = REPORT_DISASM, .body = show_disasm, .has_param = true },
	{ .path = "/labels", .kind = REPORT_TAGS, .body = show_labels },
	{ .path = "/compare",
	  .kind = REPORT_TEXT,
	  .body = web_compare_show,
	  .command = web_compare_command },
};

const struct view *web_view_find(const char *path)
{
	for (size_t i = 0; i < sizeof(views) / sizeof(views[0]); i++) {
		if (strcmp(views[i].path, path) == 0)
			return &views[i];
	}
	return NULL;
}

/* ------------------------------------------------------------------ pages */

/* The body comes first: the head says what it leaves out, and what it warns of. */
static int make_body(struct visit *v, struct page *pg, struct err *err)
{
	int rc = visit_report(v, v->view->kind, v->view->has_param, err);

	pg->report = v->report;
	if (rc)
		return rc;
	trust_init(pg->trust, v->report);
	rc = v->view->body(v, pg, err);
	if (rc)
		out_release(&v->reply->body);
	return rc;
}

static void write_command(const struct visit *v, struct out *o)
{
	const struct view *view = v->view;

	if (view->command)
		view->command(v, o);
	else
		web_command(o, view->kind, view->has_param ? web_arg(v->rq, "f") : NULL, &v->cfg,
			    v->views->source);
}

static void show_page(struct visit *v)
{
	const struct view *view = v->view;
	struct trust trust = { 0 };
	struct page pg = { .rq = v->rq,
			   .profile = v->views->profile,
			   .view = view->path + 1,
			   .trust = &trust,
			   .has_base = v->views->both != NULL,
			   .home = v->views->home };
	struct out *o = &v->reply->body, head, command;
	struct err err = { "" };
	int rc;

	out_init(&head, 0);
	out_init(&command, 0);
	rc = make_body(v, &pg, &err);
	if (rc)
		pg.trust = NULL;
	else if (v->views->source)
		write_command(v, &command);
	pg.command = out_view(&command);
	web_configs_offer(v, &pg);
	pg.warnings = out_view(&v->warnings);
	page_begin(&pg, &head);
	if (rc) {
		v->reply->status = VISIT_BAD_REQUEST;
		page_note(&pg, str_of(err.msg), NULL, NULL, o);
	}
	out_insert(o, out_view(&head));
	page_end(o);
	out_release(&head);
	out_release(&command);
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

/* Whether Graphviz takes a string for what it is, wherever the reference puts it. */
static bool is_tame(struct str s)
{
	for (size_t i = 0; i < s.n; i++) {
		unsigned char c = (unsigned char)s.p[i];

		if (c < ' ' || c >= 0x7f || c == '"' || c == '\\')
			return false;
	}
	return s.n <= LONGEST_NAME;
}

static struct str tamed(struct visit *v, struct str s, struct out *text)
{
	struct out plain;
	struct str part;

	text->n = 0;
	out_init(&plain, 0);
	text_visible(&plain, s, LONGEST_NAME);
	for (struct str rest = out_view(&plain); rest.n; rest = str_skip(rest, 1)) {
		part = (struct str){ rest.p, 1 };
		if (part.p[0] == '"')
			part = STR("\xe2\x80\xb3"); /* a double prime */
		else if (part.p[0] == '\\')
			part = STR("\xe2\x88\x96"); /* a minus of sets */
		out_str(text, part);
	}
	out_release(&plain);
	return xarena_str(&v->profile->arena, out_view(text));
}

/*
 * The reference writes some strings of a profile into its DOT as they are, and so must "-dot". What
 * goes to Graphviz from here cannot end a string and begin something else.  The strings are this
 * visit's own.
 */
static void tame_strings(struct visit *v)
{
	struct strings *all = v->profile->strings;
	struct out text;

	out_init(&text, 0);
	for (size_t i = 0; i < all->n; i++) {
		if (!is_tame(all->at[i]))
			all->at[i] = tamed(v, all->at[i], &text);
	}
	out_release(&text);
	v->report->v->ncomments = 0; /* the head of the page has them */
}

/* Others go on while Graphviz lays it out. */
static void send_graph(struct visit *v)
{
	int seconds = v->cfg.layout_timeout;
	struct trust trust = { 0 };
	struct out graph;
	struct err err;
	int rc;

	visit_begin_work(v);
	out_init(&graph, 0);
	rc = visit_report(v, REPORT_DOT, false, &err);
	if (rc == 0) {
		tame_strings(v);
		render_dot_trusted(v->report, &graph, &trust);
	}
	visit_end_work(v);
	pthread_mutex_lock(&v->views->drawing);
	if (rc == 0)
		rc = picture_draw(command_find(STR("svg")), out_view(&graph),
				  seconds > 0 ? (unsigned)seconds : 0, &v->reply->body, &err);
	pthread_mutex_unlock(&v->views->drawing);
	out_release(&graph);
	/* The page was there before the graph; its script adds this to what the page says. */
	out_printf(&v->reply->body, "<!-- shown %" PRId64 " in %u nodes, %u left out -->\n",
		   trust.shown, trust.nodes, trust.dropped_nodes);
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
void web_views_send_file(const struct web_request *rq, const char *name, struct web_reply *reply)
{
	for (const struct page_file *f = page_files; f->name; f++) {
		if (strcmp(f->name, name) != 0)
			continue;
		reply->type = f->type;
		reply->tag = f->tag;
		reply->forever = strcmp(web_arg(rq, "v"), f->tag) == 0 ||
				 strncmp(name, "chunk-", strlen("chunk-")) == 0;
		out_bytes(&reply->body, f->p, f->n);
		if (rq->unpacks)
			web_pack(reply);
		return;
	}
	web_say(reply, VISIT_NOT_FOUND, "404 page not found");
}

/* ------------------------------------------------------------------ paths */

/* How a path is answered. */
enum {
	CHANGES = 1, /* by POST or DELETE only */
	WORKS = 2,   /* takes its turn among those that use all processors */
	KEPT = 4,    /* the same question has the same answer */
	TREES = 8,   /* goes by the trees of flame graphs, which may be kept */
};

/* What is no page. */
static const struct {
	const char *path;
	void (*answer)(struct visit *v);
	unsigned how;
} others[] = {
	{ "/flamegraph.svg", send_flame, WORKS | KEPT },
	{ "/flame.json", web_flame_data, WORKS | KEPT | TREES },
	{ "/flame-search.json", web_flame_search, WORKS | KEPT | TREES },
	{ "/flame-name.txt", web_flame_name, WORKS | TREES },
	{ "/graph.svg", send_graph, KEPT },
	{ "/compare.json", web_compare_send, WORKS | KEPT },
	{ "/download", send_profile, WORKS },
	{ "/saveconfig", web_configs_save, CHANGES },
	{ "/deleteconfig", web_configs_delete, CHANGES },
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

static void make_answer(struct visit *v, void (*make)(struct visit *v), unsigned how)
{
	if (how & WORKS)
		visit_begin_work(v);
	if (!(how & TREES) && visit_is_large(v->views))
		flame_shelf_lighten(v->views->flames, false);
	make(v);
	if (how & WORKS)
		visit_end_work(v);
	if (v->rq->unpacks)
		web_pack(v->reply);
}

static void answer_as(struct visit *v, void (*make)(struct visit *v), unsigned how)
{
	struct out key;

	out_init(&key, 0);
	if (how & KEPT)
		visit_key(v, &key);
	if (!(how & KEPT) || !web_cache_get(v->views->kept, out_view(&key), v->reply)) {
		make_answer(v, make, how);
		if (how & KEPT)
			web_cache_put(v->views->kept, out_view(&key), v->reply);
	}
	out_release(&key);
}

static void answer(struct visit *v)
{
	const char *path = v->rq->path;

	if (strncmp(path, "/static/", strlen("/static/")) == 0) {
		web_views_send_file(v->rq, path + strlen("/static/"), v->reply);
		return;
	}
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		if (strcmp(others[i].path, path) != 0)
			continue;
		if (v->rq->changes != (others[i].how & CHANGES))
			refuse_method(v, others[i].how & CHANGES);
		else
			answer_as(v, others[i].answer, others[i].how);
		return;
	}
	for (size_t i = 0; i < sizeof(aliases) / sizeof(aliases[0]); i++) {
		if (strcmp(aliases[i].path, path) == 0)
			path = aliases[i].view;
	}
	v->view = web_view_find(path);
	if (!v->view)
		web_say(v->reply, VISIT_NOT_FOUND, "404 page not found");
	else if (v->rq->changes)
		refuse_method(v, false);
	else
		answer_as(v, show_page,
			  WORKS | (v->view->live ? 0 : KEPT) |
				  (v->view->kind == REPORT_FLAME ? TREES : 0));
}

void web_views_init(struct web_views *v, const struct profile *p, const struct config *cfg,
		    const char *settings)
{
	*v = (struct web_views){ .profile = p,
				 .cfg = cfg,
				 .settings = settings,
				 .kept = web_cache_new(KEPT_BYTES),
				 .flames = flame_shelf_new(),
				 .drawing = PTHREAD_MUTEX_INITIALIZER };
	(void)sem_init(&v->working, 0, visit_is_large(v) ? 1 : REPORTS);
}

void web_views_release(struct web_views *v)
{
	web_cache_free(v->kept);
	flame_shelf_free(v->flames);
	(void)sem_destroy(&v->working);
}

void web_views_answer(const struct web_request *rq, struct web_reply *reply, void *ctx)
{
	struct visit v;

	visit_init(&v, ctx, rq, reply);
	answer(&v);
	visit_release(&v);
}
