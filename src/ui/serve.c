/*
 * serve.c - "sonde -http=:8080": a profile in the browser
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "ui/serve.h"

#include "base/cleanup.h"
#include "base/err.h"
#include "base/notify.h"
#include "base/xalloc.h"
#include "ui/commands.h"
#include "ui/options.h"
#include "ui/settings.h"
#include "ui/viewer.h"
#include "ui/web-views.h"
#include "web/web-cache.h"
#include "web/web-server.h"

#include <malloc.h>

/* Reports at a time, so that a slow one holds up none; and bytes of answers to keep. */
enum { REPORTS = 4, KEPT_BYTES = 16 << 20 };

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

int serve(const struct profile *p, const struct config *cfg, const struct source_options *so,
	  struct notify *n, struct err *err)
{
	AUTO(freep) char *settings = settings_path();
	struct web_views views = { .profile = p,
				   .cfg = cfg,
				   .settings = settings,
				   .kept = web_cache_new(KEPT_BYTES),
				   .drawing = PTHREAD_MUTEX_INITIALIZER };
	AUTO(freep) char *url = NULL;
	struct web_server *server = NULL;
	struct web_address at;
	int rc = web_address_parse(&at, so->http, err);

	if (rc)
		return rc;
	/* Threads that come and go would each leave some memory behind. */
	(void)mallopt(M_ARENA_MAX, 1);
	(void)sem_init(&views.working, 0, REPORTS);
	rc = web_serve(&at, web_views_answer, &views, &server, err);
	if (rc == 0)
		url = mem_printf(strchr(at.host, ':') ? "http://[%s]:%u" : "http://%s:%u", at.host,
				 web_port(server));
	web_address_release(&at);
	if (rc)
		return rc;
	notify_info(n, "Serving web UI on %s", url);
	if (!so->no_browser)
		open_browser(url, n);
	for (;;)
		pause();
}
