/*
 * page-live.c - the page of a program that runs
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "web/page-live.h"

#include "base/gotext.h"
#include "base/out.h"
#include "render/json.h"
#include "render/xml.h"
#include "web/page-parts.h"
#include "web/page.h"

#include <stdbool.h>

/* How long a CPU profile is unless a person says otherwise. */
enum { SECONDS = 10 };

static const char *const states[] = { [PAGE_TAKING] = "taking",
				      [PAGE_TAKEN] = "taken",
				      [PAGE_FAILED] = "failed",
				      [PAGE_CANCELLED] = "cancelled" };

/* What profiles are about, for people. */
static const struct {
	const char *name, *what;
	bool lasts; /* it is taken over a time, never at once */
} known[] = {
	{ "profile", "Where processor time goes", true },
	{ "heap", "Memory in use, by who allocated it", false },
	{ "allocs", "All that was ever allocated, by whom", false },
	{ "goroutine", "What each thread or goroutine is doing now", false },
	{ "mutex", "Who held locks that others waited for", false },
	{ "block", "Where threads wait", false },
	{ "peak", "Memory in use when that was at its most", false },
	{ "threadcreate", "Who started threads", false },
};

static size_t which(struct str name)
{
	size_t i = 0;

	while (i < sizeof(known) / sizeof(known[0]) && !str_is(name, known[i].name))
		i++;
	return i;
}

/* ------------------------------------------------------------------ profiles */

static void put_kind(struct out *o, const struct page_kind *k)
{
	size_t at = which(k->name);
	bool is_known = at < sizeof(known) / sizeof(known[0]);
	bool lasts = is_known && known[at].lasts;

	out_text(o, "<tr><th scope=\"row\">");
	page_safe(o, k->name);
	out_text(o, "</th><td>");
	if (!lasts)
		out_u64(o, k->count);
	out_printf(o, "</td><td>%s<span class=\"mark\"> ", is_known ? known[at].what : "");
	page_safe(o, k->off);
	out_text(o, "</span></td><td><form method=\"post\" action=\"./take\">"
		    "<input type=\"hidden\" name=\"profile\" value=\"");
	xml_escape(o, k->name);
	out_text(o, "\"><label>over <input name=\"seconds\" type=\"number\" min=\"1\" max=\"3600\" "
		    "aria-label=\"Seconds for ");
	page_safe(o, k->name);
	out_text(o, "\"");
	if (lasts)
		out_printf(o, " value=\"%d\" required", SECONDS);
	else
		out_text(o, " placeholder=\"now\"");
	out_text(o, "> s</label><button>Take <span class=\"unseen\">");
	page_safe(o, k->name);
	out_text(o, "</span></button></form></td></tr>\n");
}

static void put_kinds(struct out *o, const struct page_live *l)
{
	out_text(o, "<div class=\"table\"><table class=\"kinds\"><caption>What it offers</caption>"
		    "<thead><tr><th scope=\"col\">Profile</th><th scope=\"col\" title=\"As its own "
		    "list says\">Entries</th><th scope=\"col\">About</th><th scope=\"col\">Take it"
		    "</th></tr></thead><tbody>\n");
	for (size_t i = 0; i < l->nkinds; i++)
		put_kind(o, &l->kinds[i]);
	out_text(o, "</tbody></table></div>\n");
}

/* ------------------------------------------------------------------ what was taken */

static void put_name(struct out *o, const struct page_taken *t)
{
	out_printf(o, "#%u ", t->id);
	page_safe(o, str_of(t->kind));
	if (t->seconds)
		out_printf(o, ", %d s", t->seconds);
	out_text(o, ", ");
	go_time(o, t->started, GO_DATE_2024);
}

static void put_one_taken(struct out *o, const struct page_taken *t)
{
	out_printf(o, "<li data-id=\"%u\" data-state=\"%s\">", t->id, states[t->state]);
	if (t->state == PAGE_TAKEN) {
		out_printf(o, "<a href=\"./of/%u/flamegraph\">", t->id);
		put_name(o, t);
		out_printf(o, "</a> %zu samples", t->samples);
	} else {
		put_name(o, t);
		out_printf(o, ": %s ", states[t->state]);
		page_safe(o, str_of(t->why));
	}
	if (t->state == PAGE_TAKING)
		out_printf(o,
			   " <form method=\"post\" action=\"./cancel\"><input type=\"hidden\" "
			   "name=\"id\" value=\"%u\"><button>Cancel #%u</button></form>",
			   t->id, t->id);
	out_text(o, "</li>\n");
}

/* Which of those that were taken is offered as the older one: the last of the same kind. */
static const struct page_taken *older_one(const struct page_live *l, const struct page_taken *t)
{
	const struct page_taken *any = NULL;

	for (const struct page_taken *o = t + 1; o < l->taken + l->ntaken; o++) {
		if (o->state != PAGE_TAKEN)
			continue;
		any = any ? any : o;
		if (strcmp(o->kind, t->kind) == 0)
			return o;
	}
	return any;
}

static void put_select(struct out *o, const struct page_live *l, const char *name,
		       const char *label, const struct page_taken *chosen)
{
	out_printf(o, "<label>%s <select name=\"%s\">", label, name);
	for (size_t i = 0; i < l->ntaken; i++) {
		if (l->taken[i].state != PAGE_TAKEN)
			continue;
		out_printf(o, "<option value=\"%u\"%s>", l->taken[i].id,
			   &l->taken[i] == chosen ? " selected" : "");
		put_name(o, &l->taken[i]);
		out_text(o, "</option>");
	}
	out_text(o, "</select></label>");
}

static void put_taken(struct out *o, const struct page_live *l)
{
	const struct page_taken *last = NULL;
	size_t n = 0;

	out_text(o, "<section class=\"taken\" aria-labelledby=\"taken\"><h2 id=\"taken\">Taken"
		    "</h2><ol reversed aria-live=\"polite\">\n");
	for (size_t i = 0; i < l->ntaken; i++) {
		put_one_taken(o, &l->taken[i]);
		if (l->taken[i].state == PAGE_TAKEN && n++ == 0)
			last = &l->taken[i];
	}
	out_text(o, "</ol>\n");
	if (n == 0)
		out_text(o, "<p class=\"note\">Nothing yet.</p>");
	if (n >= 2) {
		out_text(o, "<form action=\"./pair\">");
		put_select(o, l, "a", "Before", older_one(l, last));
		put_select(o, l, "b", "After", last);
		out_text(o, "<button>Compare</button></form>");
	}
	out_text(o, "</section>\n");
}

static void put_about(struct out *o, const struct page_live *l)
{
	out_text(o, "<p class=\"note\">");
	page_safe(o, l->program.n ? l->program : STR("A program"));
	if (l->runtime.n) {
		out_text(o, " (");
		page_safe(o, l->runtime);
		out_text(o, ")");
	}
	out_text(o, "</p>\n");
	if (l->problem.n) {
		out_text(o, "<p class=\"warnings\">");
		page_safe(o, l->problem);
		out_text(o, "</p>\n");
	}
}

/* What a script fills in. */
static void put_now(struct out *o)
{
	out_text(o, "<section class=\"memory\" aria-labelledby=\"memory\"><h2 id=\"memory\">Memory"
		    "</h2><p class=\"note\"><a href=\"./memstats.json\">As JSON</a></p></section>\n"
		    "<section class=\"threads\" aria-labelledby=\"threads\"><h2 id=\"threads\">"
		    "Threads</h2><p class=\"note\"><a href=\"./threads.txt\">As text</a></p>"
		    "</section>\n");
}

void page_live(const struct page_live *l, struct out *o)
{
	page_begin_plain(l->url, o);
	put_about(o, l);
	out_text(o, "<div data-view=\"live\">\n");
	if (l->nkinds)
		put_kinds(o, l);
	put_taken(o, l);
	if (l->nkinds)
		put_now(o);
	out_text(o, "</div>\n");
	page_end(o);
}

/* ------------------------------------------------------------------ for the script */

void page_taken_json(const struct page_live *l, struct out *o)
{
	struct json j = { .o = o };

	json_open(&j, NULL, '[');
	for (size_t i = 0; i < l->ntaken; i++) {
		const struct page_taken *t = &l->taken[i];

		json_open(&j, NULL, '{');
		json_int(&j, "id", t->id);
		json_string(&j, "kind", str_of(t->kind));
		json_int(&j, "seconds", t->seconds);
		json_int(&j, "startedNanos", t->started);
		json_int(&j, "elapsedMs", t->elapsed_ms);
		json_string(&j, "state", str_of(states[t->state]));
		json_int(&j, "samples", (int64_t)t->samples);
		json_string(&j, "why", str_of(t->why));
		json_close(&j, '}');
	}
	json_close(&j, ']');
}
