/*
 * page-menu.c - the head of a page: other views, kinds of values, filters, saved configurations
 *
 * Forms and links alone, so that all of it works without a script.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/out.h"
#include "profile/profile.h"
#include "render/xml.h"
#include "report/report.h"
#include "web/page-parts.h"
#include "web/page.h"
#include "web/web-server.h"

#include <stdbool.h>

#define COUNT(a) (sizeof(a) / sizeof(*(a)))

/* As the menu of the reference has them. */
static const struct {
	const char *path, *label, *help;
} views[] = {
	{ "top", "Top", "Functions with the most, as a table" },
	{ "", "Graph", "Who calls whom, as a drawing" },
	{ "flamegraph", "Flame Graph", "All stacks at once, as a drawing" },
	{ "peek", "Peek", "Callers and callees of the functions that match Focus" },
	{ "source", "Source", "Source lines of the functions that match Focus" },
	{ "disasm", "Disassemble", "Machine code of the functions that match Focus" },
	{ "labels", "Labels", "Labels of samples, to filter and group by" },
	{ "compare", "Compare", "What changed, and whether that is more than chance" },
};

/* What can be set, with the URL parameter that does. */
struct field {
	const char *name, *label, *help;
	const char *choices; /* with blanks between them; NULL: any text */
};

#define SWITCH "t f"

static const struct field focus = { "f", "Focus", "Only stacks with a function that matches",
				    NULL };

static const struct field filters[] = {
	{ "i", "Ignore", "Without stacks that have a function that matches", NULL },
	{ "h", "Hide", "Leaves out functions that match, not their stacks", NULL },
	{ "s", "Show", "Leaves out all functions but those that match", NULL },
	{ "sf", "Show from", "Leaves out what is above the first function that matches", NULL },
	{ "prunefrom", "Prune from", "Leaves out what is below functions that match", NULL },
	{ "tf", "Tag focus", "Only samples with a label in the range or that matches", NULL },
	{ "ti", "Tag ignore", "Without samples with a label in the range or that matches", NULL },
	{ "ts", "Tag show", "Only labels whose key matches", NULL },
	{ "th", "Tag hide", "Without labels whose key matches", NULL },
	{ "tagroot", "Tag root", "Labels, by key, become frames above the others", NULL },
	{ "tagleaf", "Tag leaf", "Labels, by key, become frames below the others", NULL },
};

static const struct field options[] = {
	{ "g", "Granularity", "What is added up to one entry",
	  "functions filefunctions files lines addresses" },
	{ "sort", "Sort", "By own weight, or with all that is called", "flat cum" },
	{ "unit", "Unit", "Of the numbers: auto, ms, MB, …", NULL },
	{ "n", "Nodes", "At most so many", NULL },
	{ "nf", "Node fraction", "Without nodes below this share of the total", NULL },
	{ "ef", "Edge fraction", "Without edges below this share of the total", NULL },
	{ "trim", "Trim", "Whether the three before count", SWITCH },
	{ "noinlines", "No inlines", "Inlined functions belong to who called them", SWITCH },
	{ "calltree", "Call tree", "A function is one node per way it was reached", SWITCH },
	{ "rel", "Relative", "Percentages of what Focus leaves", SWITCH },
	{ "mean", "Mean", "Averages over the first number of each sample", SWITCH },
	{ "dropneg", "Drop negative", "Without negative differences", SWITCH },
	{ "intel", "Intel syntax", "Of machine code", SWITCH },
	{ "names", "Names", "How much of a function's name to cut", "0 1 2 3 4" },
};

/* ------------------------------------------------------------------ links */

static bool has_labels(const struct profile *p)
{
	for (size_t i = 0; i < p->nsamples; i++) {
		if (p->samples[i].nlabels)
			return true;
	}
	return false;
}

static void put_views(struct out *o, const struct page *pg)
{
	out_text(o, "<nav aria-label=\"Views\">");
	if (pg->home)
		out_printf(o, "<a href=\"../../\" title=\"Back to where this was opened\">%s</a> ",
			   pg->home);
	for (size_t i = 0; i < COUNT(views); i++) {
		bool here = strcmp(views[i].path, pg->view) == 0;

		if ((strcmp(views[i].path, "compare") == 0 && !pg->has_base) ||
		    (strcmp(views[i].path, "labels") == 0 && !has_labels(pg->profile)))
			continue;
		page_link(o, pg, views[i].path, NULL, STR(""));
		out_printf(o, "%s title=\"%s\">%s</a> ", here ? " aria-current=\"page\"" : "",
			   views[i].help, views[i].label);
	}
	out_text(o, "<a href=\"./download\" title=\"The profile as a file\">Download</a></nav>\n");
}

static void put_sample_types(struct out *o, const struct page *pg)
{
	const struct profile *p = pg->profile;

	if (p->ntypes < 2)
		return;
	out_text(o, "<nav aria-label=\"Sample types\"><span class=\"what\">Sample</span>");
	for (uint32_t i = 0; i < p->ntypes; i++) {
		struct str name = profile_str(p, p->types[i].type);
		bool here = pg->report && pg->report->selection.index == i;

		out_char(o, ' ');
		page_link(o, pg, pg->view, "si", name);
		out_text(o, here ? " aria-current=\"true\">" : ">");
		page_safe(o, name);
		out_text(o, "</a>");
	}
	out_text(o, "</nav>\n");
}

/* ------------------------------------------------------------------ saved configurations */

/* A form that goes to 'path' with all parameters of the page, and comes back to it. */
static void open_change(struct out *o, const struct page *pg, const char *path)
{
	struct out query;

	out_init(&query, 0);
	web_query(pg->rq, "config", NULL, STR(""), &query);
	out_printf(o, "<form method=\"post\" action=\"./%s", path);
	xml_escape(o, out_view(&query));
	out_printf(o, "\"><input type=\"hidden\" name=\"view\" value=\"/%s\">", pg->view);
	out_release(&query);
}

static void put_config(struct out *o, const struct page *pg, const struct page_config *c)
{
	out_printf(o, "<li><a href=\"./%s", pg->view);
	xml_escape(o, c->query);
	out_text(o, c->current ? "\" aria-current=\"true\">" : "\">");
	page_safe(o, str_of(c->name));
	out_text(o, "</a>");
	if (c->saved) {
		out_text(o, "<details class=\"delete\"><summary>Delete…</summary>");
		open_change(o, pg, "deleteconfig");
		out_text(o, "<input type=\"hidden\" name=\"config\" value=\"");
		xml_escape(o, str_of(c->name));
		out_text(o, "\"><button>Delete ");
		page_safe(o, str_of(c->name));
		out_text(o, "</button></form></details>");
	}
	out_text(o, "</li>");
}

static void put_configs(struct out *o, const struct page *pg)
{
	out_text(o, "<details class=\"menu configs\"><summary title=\"Settings with a name\">Config"
		    "</summary><div><ul aria-label=\"Configurations\">");
	for (size_t i = 0; i < pg->nconfigs; i++)
		put_config(o, pg, &pg->configs[i]);
	out_text(o, "</ul>");
	open_change(o, pg, "saveconfig");
	out_text(o, "<label>Save as<input name=\"config\" required></label><button>Save"
		    "</button></form></div></details>\n");
}

/* ------------------------------------------------------------------ filters */

static bool is_among(const struct field *list, size_t n, const char *name)
{
	for (size_t i = 0; i < n; i++) {
		if (strcmp(list[i].name, name) == 0)
			return true;
	}
	return false;
}

static bool has_field(const char *name)
{
	return is_among(&focus, 1, name) || is_among(filters, COUNT(filters), name) ||
	       is_among(options, COUNT(options), name);
}

static void put_hidden(struct out *o, const struct web_request *rq)
{
	for (size_t i = 0; i < rq->nargs; i++) {
		if (has_field(rq->args[i].name) || !*rq->args[i].value)
			continue;
		out_text(o, "<input type=\"hidden\" name=\"");
		xml_escape(o, str_of(rq->args[i].name));
		out_text(o, "\" value=\"");
		xml_escape(o, str_of(rq->args[i].value));
		out_text(o, "\">");
	}
}

/* The choice that other words for it mean, too. */
static struct str choice_of(bool is_switch, struct str now)
{
	if (!is_switch || now.n == 0)
		return now;
	return strchr("tTyY1", now.p[0]) ? STR("t") : STR("f");
}

static void put_choices(struct out *o, const struct field *f, struct str value)
{
	bool is_switch = strcmp(f->choices, SWITCH) == 0;
	struct str rest = str_of(f->choices), now = choice_of(is_switch, value), one;

	out_printf(o, "<select name=\"%s\"><option value=\"\">default</option>", f->name);
	while (str_split(&rest, ' ', &one)) {
		out_printf(o, "<option value=\"%.*s\"%s>", STR_ARG(one),
			   str_eq(one, now) ? " selected" : "");
		if (is_switch)
			out_text(o, one.p[0] == 't' ? "yes" : "no");
		else
			out_str(o, one);
		out_text(o, "</option>");
	}
	out_text(o, "</select>");
}

static void put_field(struct out *o, const struct web_request *rq, const struct field *f)
{
	struct str now = str_of(web_arg(rq, f->name));

	out_printf(o, "<label title=\"%s\">%s", f->help, f->label);
	if (f->choices) {
		put_choices(o, f, now);
	} else {
		out_printf(o, "<input name=\"%s\" size=\"14\" value=\"", f->name);
		xml_escape(o, now);
		out_text(o, "\">");
	}
	out_text(o, "</label>");
}

/* Opened if something in it is set, so that nothing narrows a page unseen. */
static void put_fields(struct out *o, const struct web_request *rq, const char *title,
		       const struct field *list, size_t n)
{
	bool open = false;

	for (size_t i = 0; i < n; i++)
		open = open || *web_arg(rq, list[i].name);
	out_printf(o, "<details class=\"menu\"%s><summary>%s</summary><div>", open ? " open" : "",
		   title);
	for (size_t i = 0; i < n; i++)
		put_field(o, rq, &list[i]);
	out_text(o, "</div></details>");
}

static void put_refine(struct out *o, const struct page *pg)
{
	out_printf(o, "<form class=\"refine\" action=\"./%s\" method=\"get\">", pg->view);
	put_hidden(o, pg->rq);
	put_field(o, pg->rq, &focus);
	out_printf(o,
		   "<button>Apply</button><a href=\"./%s\" title=\"The whole profile\">Reset</a>",
		   pg->view);
	put_fields(o, pg->rq, "Refine", filters, COUNT(filters));
	put_fields(o, pg->rq, "Options", options, COUNT(options));
	out_text(o, "</form>\n");
}

void page_menus(const struct page *pg, struct out *o)
{
	put_views(o, pg);
	put_sample_types(o, pg);
	put_refine(o, pg);
	put_configs(o, pg);
}
