/*
 * web-views.h - the pages of the web interface: which report is under which path
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef UI_WEB_VIEWS_H
#define UI_WEB_VIEWS_H

#include <pthread.h>
#include <semaphore.h>

struct compare_sides;
struct config;
struct flame_shelf;
struct notify;
struct profile;
struct source_options;
struct view;
struct web_cache;
struct web_reply;
struct web_request;

/* One profile for any number of requests. */
struct web_views {
	const struct profile *profile;
	const struct profile *both; /* the same with the base's samples told apart; NULL: no base */
	const struct compare_sides *sides; /* of 'both' */
	const struct config *cfg; /* of the command line: what parameters of a URL start from */
	const struct source_options *source; /* or NULL: no command would show the same */
	const char *home;       /* what the page is called that lists others; NULL: none */
	const char *settings;   /* file of saved configurations, or NULL: settings.h */
	struct web_cache *kept; /* answers */
	struct flame_shelf *flames;
	sem_t working;           /* a few reports at a time: each uses all processors */
	pthread_mutex_t drawing; /* one layout at a time: each may take half of the memory */
};

/* The page with this path, or NULL. */
const struct view *web_view_find(const char *path);

/* Without a base and a home, which may be set afterwards.  'p' and 'cfg' must outlive it. */
void web_views_init(struct web_views *v, const struct profile *p, const struct config *cfg,
		    const char *settings);
void web_views_release(struct web_views *v);

/* One of the files that pages load. */
void web_views_send_file(const struct web_request *rq, const char *name, struct web_reply *reply);

/* For web_serve(), with a struct web_views as 'ctx'. */
void web_views_answer(const struct web_request *rq, struct web_reply *reply, void *ctx);

#endif /* UI_WEB_VIEWS_H */
