/*
 * serve.c - "sonde -http=:8080": a profile in the browser
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "ui/serve.h"

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/notify.h"
#include "base/par.h"
#include "base/xalloc.h"
#include "profile/compact.h"
#include "profile/merge.h"
#include "profile/profile.h"
#include "report/compare.h"
#include "ui/commands.h"
#include "ui/live.h"
#include "ui/load.h"
#include "ui/options.h"
#include "ui/series-pages.h"
#include "ui/series.h"
#include "ui/settings.h"
#include "ui/viewer.h"
#include "ui/web-flame.h"
#include "ui/web-views.h"
#include "web/web-server.h"

#include <malloc.h>

/* From this size on, an array is given back when it is freed. */
enum { LARGE_ARRAY = 1 << 20 };

int serve_check(const char *address, struct err *err)
{
	struct web_address at;
	int rc = web_address_parse(&at, address, err);

	if (rc == 0)
		web_address_release(&at);
	return rc;
}

/* What to type where no browser could be started. */
static void open_browser(const char *url, struct notify *n)
{
	if (viewer_open(command_find(STR("web")), url, NULL) != 0)
		notify_warn(n, "%s", url);
}

/* Who answers. */
struct answerer {
	void (*answer)(const struct web_request *rq, struct web_reply *reply, void *ctx);
	void *ctx;
	void (*prepare)(void *ctx); /* what can be done while a browser starts, or NULL */
};

/* Answers until the program ends. */
static int answer_with(const struct answerer *who, const struct source_options *so,
		       struct notify *n, struct err *err)
{
	AUTO(freep) char *url = NULL;
	struct par_task preparing;
	struct web_server *server = NULL;
	struct web_address at;
	int rc = web_address_parse(&at, so->http, err);

	if (rc)
		return rc;
	/* Threads that come and go would each leave some memory behind, and so would large arrays.
	 */
	(void)mallopt(M_ARENA_MAX, 1);
	(void)mallopt(M_MMAP_THRESHOLD, LARGE_ARRAY);
	arena_keep_none();
	rc = web_serve(&at, who->answer, who->ctx, &server, err);
	if (rc == 0)
		url = mem_printf(strchr(at.host, ':') ? "http://[%s]:%u" : "http://%s:%u", at.host,
				 web_port(server));
	web_address_release(&at);
	if (rc)
		return rc;
	if (who->prepare)
		par_start(&preparing, who->prepare, who->ctx);
	notify_info(n, "Serving web UI on %s", url);
	if (!so->no_browser)
		open_browser(url, n);
	for (;;)
		pause();
}

static int serve_profile(const struct config *cfg, const struct source_options *so,
			 struct notify *n, struct err *err)
{
	AUTO(freep) char *settings = settings_path();
	struct compare_sides sides;
	struct profile *p = NULL, *plain;
	struct web_views views;
	bool has_base = *so->base;
	int rc = load_sides(so, n, &p, has_base ? &sides : NULL, err);

	if (rc)
		return rc;
	/* With a base, both sides are kept, and what -base makes of them. */
	plain = has_base && !so->diff_base ? profile_without_label(p, "pprof::base") : p;
	profile_compact(p);
	if (plain != p)
		profile_compact(plain);
	web_views_init(&views, plain, cfg, settings);
	views.source = so;
	views.both = has_base ? p : NULL;
	views.sides = &sides;
	rc = answer_with(&(struct answerer){ web_views_answer, &views, web_flame_prepare }, so, n,
			 err);
	web_views_release(&views);
	if (plain != p)
		profile_free(plain);
	profile_free(p);
	return rc;
}

static int serve_series(const struct config *cfg, const struct source_options *so,
			const char *settings, struct notify *n, struct err *err)
{
	struct series *series = NULL;
	int rc = series_new(so, &series, err);

	if (rc)
		return rc;
	return answer_with(&(struct answerer){ .answer = series_pages_answer,
					       .ctx = series_pages_new(series, cfg, settings) },
			   so, n, err);
}

int serve(const struct config *cfg, const struct source_options *so, struct notify *n,
	  struct err *err)
{
	AUTO(freep) char *settings = settings_path();

	if (series_is(so))
		return serve_series(cfg, so, settings, n, err);
	if (live_is(so))
		return answer_with(&(struct answerer){ .answer = live_answer,
						       .ctx = live_new(cfg, so, settings) },
				   so, n, err);
	return serve_profile(cfg, so, n, err);
}
