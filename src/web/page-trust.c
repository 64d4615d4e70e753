/*
 * page-trust.c - how much of the truth a page shows
 *
 * One line that is on every page, and what it means below it.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/out.h"
#include "base/units.h"
#include "render/xml.h"
#include "report/report.h"
#include "report/trust.h"
#include "web/page-parts.h"
#include "web/page.h"

#include <inttypes.h>

/* Digits in groups of three. */
static void put_count(struct out *o, uint64_t n)
{
	char digits[24];
	struct out plain;
	size_t len;

	out_init(&plain, 0);
	out_u64(&plain, n);
	len = plain.n < sizeof(digits) ? plain.n : sizeof(digits);
	memcpy(digits, plain.p, len);
	out_release(&plain);
	for (size_t i = 0; i < len; i++) {
		if (i && (len - i) % 3 == 0)
			out_char(o, ',');
		out_char(o, digits[i]);
	}
}

static const char *share(struct percentage *p, int64_t part, int64_t all)
{
	*p = percentage(part, all);
	return percentage_trimmed(p);
}

/* ------------------------------------------------------------------ the line */

static void put_fact(struct out *o, bool bad, const char *words, int64_t part, int64_t all)
{
	struct percentage p;

	if (part == 0)
		return;
	out_printf(o, " <span class=\"fact%s\">%s %s</span>", bad ? " bad" : "", words,
		   share(&p, part, all));
}

static void put_counted(struct out *o, uint64_t n, const char *words)
{
	if (n == 0)
		return;
	out_text(o, " <span class=\"fact bad\">");
	put_count(o, n);
	out_printf(o, " %s</span>", words);
}

static void put_facts(struct out *o, const struct trust *t)
{
	out_text(o, "<span class=\"fact\">");
	put_count(o, t->samples - t->filtered_samples);
	out_printf(o, " sample%s</span>", t->samples - t->filtered_samples == 1 ? "" : "s");
	put_fact(o, false, "filtered", t->filtered, t->value);
	if (t->trimmed)
		put_fact(o, false, "trimmed", t->whole - t->shown, t->whole);
	put_fact(o, true, "lost", t->lost, t->value);
	put_counted(o, t->samples_lost, "lost");
	put_counted(o, t->stacks_lost, "stacks lost");
	put_counted(o, t->waits_lost, "waits lost");
	put_counted(o, t->stacks_cut, "stacks cut");
	put_counted(o, t->labels_lost, "labels lost");
	put_fact(o, true, "unnamed frames in", t->unnamed, t->value);
	if (t->nnotes)
		out_printf(o, " <span class=\"fact bad\">%zu note%s</span>", t->nnotes,
			   t->nnotes == 1 ? "" : "s");
}

/* ------------------------------------------------------------------ what it means */

static void put_sums(struct out *o, struct report *r, const struct trust *t)
{
	struct percentage p;

	out_text(o, "<li>The profile has ");
	put_count(o, t->samples);
	out_text(o, " samples with ");
	page_safe(o, report_value_str(r, t->value));
	if (t->filtered_samples == 0) {
		out_text(o, "; no filter leaves any out.</li>");
		return;
	}
	out_text(o, "; filters leave out ");
	put_count(o, t->filtered_samples);
	out_text(o, " of them with ");
	page_safe(o, report_value_str(r, t->filtered));
	out_printf(o, " (%s).</li>", share(&p, t->filtered, t->value));
}

static void put_trimmed(struct out *o, struct report *r, const struct trust *t)
{
	struct percentage p;

	if (!t->trimmed)
		return;
	out_text(o, "<li>");
	put_count(o, t->nodes);
	out_text(o, " entries are shown; their own values are ");
	page_safe(o, report_value_str(r, t->shown));
	out_printf(o, " (%s of what filters leave). ", share(&p, t->shown, t->whole));
	put_count(o, t->dropped_nodes);
	out_text(o, " are left out as too small or too many: see Trim in Options.</li>");
}

static void put_lost(struct out *o, struct report *r, const struct trust *t)
{
	bool any = t->lost || t->samples_lost || t->stacks_lost || t->waits_lost;

	if (t->lost) {
		out_text(o, "<li>Samples worth ");
		page_safe(o, report_value_str(r, t->lost));
		out_text(o,
			 " could not be taken whole; they are shown as a frame that says so.</li>");
	}
	if (any)
		out_text(o, "<li>Whoever took the profile had no room for what is said to be lost: "
			    "all other numbers are too small by that much.</li>");
	else
		out_text(o, "<li>Whoever took the profile reports no losses.</li>");
	if (t->stacks_cut)
		out_text(o, "<li>Stacks that were too deep have been cut at the root: their "
			    "samples count, but not for who called them first.</li>");
	for (size_t i = 0; i < t->nnotes; i++) {
		out_text(o, "<li>");
		page_safe(o, t->notes[i]);
		out_text(o, "</li>");
	}
}

static void put_package(struct out *o, const struct trust_binary *b)
{
	out_text(o, "has no names for it.  ");
	if (b->package.n) {
		out_text(o, "<code>apt-get install ");
		page_safe(o, b->package);
		out_text(o, "</code> brings them");
		if (str_ends(b->package, STR("-dbgsym")))
			out_text(o, " (Debian has such packages in an archive of their own)");
		out_text(o, ", or");
	} else {
		out_text(o, "Build it with -g and without strip, or");
	}
	out_text(o, " set DEBUGINFOD_URLS to have them fetched.");
}

static void put_advice(struct out *o, const struct trust_binary *b)
{
	switch (b->cause) {
	case TRUST_NO_FILE:
		out_text(o, "code that is in no file: only who made it could name it.");
		break;
	case TRUST_NOT_HERE:
		out_text(o, "not on this machine.  Copy it here, and say where with "
			    "PPROF_BINARY_PATH=FOLDER.");
		break;
	case TRUST_NO_SYMBOLS:
		put_package(o, b);
		break;
	}
	if (b->build_id.n) {
		out_text(o, " Build ID: ");
		page_safe(o, b->build_id);
	}
}

static void put_unnamed(struct out *o, const struct trust *t)
{
	struct percentage p;

	if (t->unnamed == 0)
		return;
	out_printf(o, "<li>%s of the profile is in stacks that have a frame without a name:<ul>",
		   share(&p, t->unnamed, t->value));
	for (size_t i = 0; i < t->nbinaries; i++) {
		const struct trust_binary *b = &t->binaries[i];

		out_text(o, "<li><b>");
		page_safe(o, b->file.n ? b->file : STR("no binary"));
		out_printf(o, "</b> (%s): ", share(&p, b->value, t->value));
		put_advice(o, b);
		out_text(o, "</li>");
	}
	out_text(o, "</ul></li>");
}

static void put_command(struct out *o, const struct page *pg)
{
	if (pg->command.n == 0)
		return;
	out_text(o, "<div class=\"command\" data-view=\"command\"><span>The same in a terminal:"
		    "</span> <code tabindex=\"0\">");
	xml_escape(o, pg->command);
	out_text(o, "</code></div>\n");
}

void page_trust(const struct page *pg, struct out *o)
{
	const struct trust *t = pg->trust;

	if (t) {
		out_printf(o,
			   "<details class=\"trust\" data-left=\"%" PRId64 "\">"
			   "<summary title=\"What these numbers are made of\">",
			   t->value - t->filtered);
		put_facts(o, t);
		out_text(o, "</summary><ul>");
		put_sums(o, pg->report, t);
		put_trimmed(o, pg->report, t);
		put_lost(o, pg->report, t);
		put_unnamed(o, t);
		out_text(o, "</ul></details>\n");
	}
	put_command(o, pg);
}
