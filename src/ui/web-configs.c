/*
 * web-configs.c - configurations with a name: the menu, and what its forms do
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "ui/web-configs.h"

#include "base/err.h"
#include "base/xalloc.h"
#include "ui/options.h"
#include "ui/settings.h"
#include "ui/web-views.h"
#include "ui/web-visit.h"
#include "web/page.h"
#include "web/web-server.h"

#include <pthread.h>

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
void web_configs_offer(struct visit *v, struct page *pg)
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

/* ------------------------------------------------------------------ changes */

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
	const struct view *view = web_view_find(web_arg(v->rq, "view"));

	v->reply->type = "text/plain; charset=utf-8";
	if (rc) {
		web_say(v->reply, VISIT_BAD_REQUEST, err->msg);
	} else if (view) {
		v->reply->status = VISIT_SEE_OTHER;
		v->reply->location = back_to(v, view->path);
	}
}

/* One change of the file at a time. */
static pthread_mutex_t settling = PTHREAD_MUTEX_INITIALIZER;

void web_configs_save(struct visit *v)
{
	struct err err;
	int rc = visit_configure(v, &err);

	pthread_mutex_lock(&settling);
	if (rc == 0)
		rc = settings_save(v->views->settings, web_arg(v->rq, "config"), &v->cfg, &err);
	pthread_mutex_unlock(&settling);
	finish_change(v, rc, &err);
}

void web_configs_delete(struct visit *v)
{
	struct err err;
	int rc;

	pthread_mutex_lock(&settling);
	rc = settings_delete(v->views->settings, web_arg(v->rq, "config"), &err);
	pthread_mutex_unlock(&settling);
	finish_change(v, rc, &err);
}
