/*
 * web-views.h - the pages of the web interface: which report is under which path
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef UI_WEB_VIEWS_H
#define UI_WEB_VIEWS_H

#include <pthread.h>

struct config;
struct notify;
struct profile;
struct web_reply;
struct web_request;

/* One profile for any number of requests. */
struct web_views {
	const struct profile *profile;
	const struct config *cfg;  /* of the command line: what parameters of a URL start from */
	const char *settings;      /* file of saved configurations, or NULL: settings.h */
	pthread_mutex_t reporting; /* one report at a time: each uses all processors */
	pthread_mutex_t settling;  /* one change of the saved configurations at a time */
	pthread_mutex_t drawing;   /* one layout at a time: each may take half of the memory */
};

/* For web_serve(), with a struct web_views as 'ctx'. */
void web_views_answer(const struct web_request *rq, struct web_reply *reply, void *ctx);

#endif /* UI_WEB_VIEWS_H */
