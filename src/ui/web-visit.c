/*
 * web-visit.c - one request of the web interface on its way to an answer
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "ui/web-visit.h"

#include "base/err.h"
#include "ui/web-views.h"
#include "web/web-server.h"

/* Rows of a table, as in the reference; and what a request may take. */
enum { TOP_ROWS = 500, ARENA_BUDGET = 64 << 20 };

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
	arena_init(&v->arena, ARENA_BUDGET);
	out_init(&v->warnings, 0);
}

void visit_release(struct visit *v)
{
	report_free(v->report);
	out_release(&v->warnings);
	arena_release(&v->arena);
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
	return report_new(&v->report, v->views->profile, kind,
			  has_param ? web_arg(v->rq, "f") : NULL, &v->cfg, &v->notify, err);
}
