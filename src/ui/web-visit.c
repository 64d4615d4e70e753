/*
 * web-visit.c - one request of the web interface on its way to an answer
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "ui/web-visit.h"

#include "base/err.h"
#include "profile/profile.h"
#include "ui/web-compare.h"
#include "ui/web-views.h"
#include "web/web-server.h"

#include <malloc.h>
#include <stdint.h>
#include <sys/stat.h>

/* Rows of a table, as in the reference; and what a request may take. */
enum { TOP_ROWS = 500, ARENA_BUDGET = 64 << 20 };
/* Entries of stacks. */
enum { LARGE = 1 << 22 };

bool visit_is_large(const struct web_views *views)
{
	return views->profile->nstacks > LARGE;
}

static void keep_warning(struct notify *n, enum notify_kind kind, const char *text)
{
	struct visit *v = (struct visit *)n;

	if (kind == NOTIFY_WARN)
		out_printf(&v->warnings, "%s\n", text);
}

void visit_init(struct visit *v, struct web_views *views, const struct web_request *rq,
		struct web_reply *reply)
{
	*v = (struct visit){
		.notify = { .say = keep_warning }, .views = views, .rq = rq, .reply = reply
	};
	v->cfg = *views->cfg;
	v->cfg.served = true;
	arena_init(&v->arena, ARENA_BUDGET);
	out_init(&v->warnings, 0);
}

void visit_release(struct visit *v)
{
	report_free(v->report);
	profile_free(v->profile);
	out_release(&v->warnings);
	arena_release(&v->arena);
	if (visit_is_large(v->views))
		(void)malloc_trim(0);
}

void visit_begin_work(struct visit *v)
{
	while (sem_wait(&v->views->working) != 0)
		continue;
}

void visit_end_work(struct visit *v)
{
	(void)sem_post(&v->views->working);
}

/* The saved configurations are on every page. */
static void put_settings_state(const char *path, struct out *o)
{
	struct stat st;

	if (path && stat(path, &st) == 0)
		out_printf(o, "%ju %jd.%09ld ", (uintmax_t)st.st_ino, (intmax_t)st.st_mtim.tv_sec,
			   st.st_mtim.tv_nsec);
}

void visit_key(const struct visit *v, struct out *o)
{
	put_settings_state(v->views->settings, o);
	out_text(o, v->rq->unpacks ? "gzip " : "plain ");
	out_text(o, v->rq->path);
	web_query(v->rq, NULL, NULL, STR(""), o);
}

int visit_configure(struct visit *v, struct err *err)
{
	for (const struct option *o = config_options; o->name; o++) {
		struct str value = str_of(o->url ? web_arg(v->rq, o->url) : "");
		struct err why;
		int rc;

		if (value.n == 0)
			continue;
		rc = option_set(o, &v->cfg, value, &v->arena, &why);
		if (rc)
			return err_set(err, rc, "error setting config field %s: %s", o->name,
				       why.msg);
	}
	return 0;
}

int visit_report(struct visit *v, enum report_kind kind, bool has_param, struct err *err)
{
	int rc = visit_configure(v, err);

	if (kind == REPORT_TEXT)
		v->cfg.nodecount = TOP_ROWS;
	if (kind == REPORT_PEEK)
		v->cfg.granularity = "lines";
	if (rc)
		return rc;
	v->profile = web_compare_side(v);
	return report_new(&v->report, v->profile, kind, has_param ? web_arg(v->rq, "f") : NULL,
			  &v->cfg, &v->notify, err);
}
