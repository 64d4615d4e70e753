/*
 * web-visit.h - one request of the web interface on its way to an answer
 *
 * What the files of views share: web-views.c has the tables of paths, and calls them.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef UI_WEB_VISIT_H
#define UI_WEB_VISIT_H

#include "base/arena.h"
#include "base/notify.h"
#include "base/out.h"
#include "report/report.h"
#include "ui/options.h"

#include <stdbool.h>

struct err;
struct page;
struct view;
struct web_reply;
struct web_request;
struct web_views;

enum {
	VISIT_SEE_OTHER = 303,
	VISIT_BAD_REQUEST = 400,
	VISIT_NOT_FOUND = 404,
	VISIT_METHOD_NOT_ALLOWED = 405,
	VISIT_NOT_IMPLEMENTED = 501,
	VISIT_BAD_GATEWAY = 502
};

struct visit {
	struct notify notify; /* first: who gets only this finds the rest */
	struct web_views *views;
	const struct web_request *rq;
	const struct view *view; /* which page it is, if it is one */
	struct web_reply *reply;
	struct arena arena;      /* for as long as the request */
	struct config cfg;       /* of the command line; of the URL, too, after visit_configure() */
	struct profile *profile; /* for this thread, once there is a report: see profile_fork() */
	struct report *report;
	struct out warnings; /* lines */
};

/* A page: what is under its head. */
struct view {
	const char *path;
	enum report_kind kind;
	/* Fails before it has written anything. */
	int (*body)(struct visit *v, const struct page *pg, struct err *err);
	bool has_param; /* functions that match "f" */
	/* The command that prints the same, if it is another than of 'kind'. */
	void (*command)(const struct visit *v, struct out *o);
	bool live; /* the same question has another answer each time: nothing is kept */
};

/* Whether each report of its profile takes megabytes: then there is one at a time. */
bool visit_is_large(const struct web_views *views);

void visit_init(struct visit *v, struct web_views *views, const struct web_request *rq,
		struct web_reply *reply);
void visit_release(struct visit *v);

/* Around what uses all processors: waits while too many others do. */
void visit_begin_work(struct visit *v);
void visit_end_work(struct visit *v);

/* All that the answer depends on: two visits with the same key get the same. */
void visit_key(const struct visit *v, struct out *o);

/* The configuration of the command line with what the URL says. */
int visit_configure(struct visit *v, struct err *err);

/*
 * visit_report() makes v->report, which visit_release() frees.  With 'has_param' it is about the
 * functions that match "f".
 */
int visit_report(struct visit *v, enum report_kind kind, bool has_param, struct err *err);

#endif /* UI_WEB_VISIT_H */
