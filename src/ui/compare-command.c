/*
 * compare-command.c - "sonde compare": what changed from one profile to another, beyond chance
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/cleanup.h"
#include "base/err.h"
#include "base/out.h"
#include "base/units.h"
#include "base/xalloc.h"
#include "profile/profile.h"
#include "render/render.h"
#include "report/compare.h"
#include "report/report.h"
#include "ui/load.h"
#include "ui/options.h"
#include "ui/own-command.h"
#include "ui/sides.h"
#include "ui/terminal.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

enum { UNCHANGED, CHANGED, FAILED };
enum { ROWS_SHOWN = 40 };

enum {
	FLAG_ALL,
	FLAG_BY,
	FLAG_FOCUS,
	FLAG_IGNORE,
	FLAG_JSON,
	FLAG_LEAST,
	FLAG_MORE,
	FLAG_ROWS,
	FLAG_TYPE
};

static const struct arg flags[] = {
	[FLAG_ALL] = { "all", NULL, "Also what may be chance", ARG_TEXT },
	[FLAG_BY] = { "by", "what",
		      "What makes both sides comparable: amounts, as they are; time, as if both\n"
		      "had lasted equally long; shares, as if both had the same total; typical, "
		      "as\n"
		      "if most functions had stayed the same.  If not set: of profiles over a "
		      "time\n"
		      "typical where totals differ, else time; of others amounts",
		      ARG_TEXT },
	[FLAG_FOCUS] = { "focus", "regexp", "Only samples with a function like this", ARG_TEXT },
	[FLAG_IGNORE] = { "ignore", "regexp", "Only samples without a function like this",
			  ARG_TEXT },
	[FLAG_JSON] = { "json", NULL, "The answer as JSON", ARG_TEXT },
	[FLAG_LEAST] = { "least", "percent",
			 "For the status, only changes of at least so much of the old total count",
			 ARG_NUMBER },
	[FLAG_MORE] = { "more", NULL, "For the status, only what has become more counts",
			ARG_TEXT },
	[FLAG_ROWS] = { "rows", "n", "Show at most so many functions; 40 as text if not set",
			ARG_NUMBER },
	[FLAG_TYPE] = { "type", "name", "Which of the numbers to compare: cpu, inuse_space, ...",
			ARG_TEXT },
	{ NULL, NULL, NULL, ARG_TEXT },
};

static int parse_by(const char *text, enum compare_by *by, struct err *err)
{
	static const char *const names[] = { [COMPARE_AMOUNTS] = "amounts",
					     [COMPARE_TIME] = "time",
					     [COMPARE_SHARES] = "shares",
					     [COMPARE_TYPICAL] = "typical" };

	*by = COMPARE_AUTO;
	for (int i = COMPARE_AMOUNTS; text && i <= COMPARE_TYPICAL; i++) {
		if (strcmp(text, names[i]) == 0)
			*by = (enum compare_by)i;
	}
	if (text && *by == COMPARE_AUTO)
		return err_set(err, -EINVAL, "--by is amounts, time, shares or typical, not %s",
			       text);
	return 0;
}

/* "old new", or "old old vs new new": how many there are, and which is the first of the new. */
static int divide(char **words, size_t *n, size_t *first_new, struct err *err)
{
	size_t vs = 0;

	for (*n = 0; words[*n]; (*n)++) {
		if (strcmp(words[*n], "vs") == 0)
			vs = *n;
	}
	*first_new = vs ? vs : 1;
	if (vs) {
		for (size_t i = vs; i < *n; i++)
			words[i] = words[i + 1];
		(*n)--;
	}
	if (*n < 2 || *first_new >= *n || (!vs && *n > 2))
		return err_set(err, -EINVAL,
			       "which profiles?  sonde compare OLD NEW, or OLD OLD vs NEW NEW");
	if (*n > COMPARE_PROFILES_MOST)
		return err_set(err, -E2BIG, "these are more than %d profiles",
			       COMPARE_PROFILES_MOST);
	return 0;
}

static int load_all(char **words, size_t wanted, size_t first_new, struct compare_sides *sides,
		    struct notify *notify, struct profile **out, struct err *err)
{
	struct profile *all[COMPARE_PROFILES_MOST];
	struct source_options so;
	size_t n = 0;
	int rc = 0;

	source_options_init(&so);
	so.nsources = 1;
	for (; n < wanted && rc == 0; n += rc == 0) {
		const char *word = words[n];

		so.sources = &word;
		rc = load(&so, notify, &all[n], err);
	}
	if (rc == 0)
		return sides_combine(all, n, first_new, sides, out, err);
	while (n > 0)
		profile_free(all[--n]);
	return rc;
}

static bool counts(const struct compare *c, const struct compare_value *v, const struct args *args)
{
	const char *least = args->values[FLAG_LEAST];
	double share = least ? (double)args_number(least) / 100 : 0;
	double by = (double)v->after - (double)v->before;

	if (v->verdict != COMPARE_MORE &&
	    (v->verdict != COMPARE_LESS || args->values[FLAG_MORE] != NULL))
		return false;
	return (by < 0 ? -by : by) >= share * (double)c->whole[0];
}

static int status_of(const struct compare *c, const struct args *args)
{
	bool changed = counts(c, &c->total, args);

	for (size_t i = 0; i < c->n && !changed; i++)
		changed = counts(c, &c->rows[i].flat, args) || counts(c, &c->rows[i].cum, args);
	return changed ? CHANGED : UNCHANGED;
}

static int tell(const struct profile *p, const struct compare_sides *sides, const struct args *args,
		struct notify *notify, struct err *err)
{
	AUTO(report_freep) struct report *r = NULL;
	const char *most = args->values[FLAG_ROWS];
	struct compare_rows rows = { .all = args->values[FLAG_ALL] != NULL, .most = ROWS_SHOWN };
	struct config cfg;
	struct compare c;
	struct out o;
	int rc;

	config_init(&cfg);
	cfg.sample_index = args->values[FLAG_TYPE] ? args->values[FLAG_TYPE] : "";
	cfg.focus = args->values[FLAG_FOCUS] ? args->values[FLAG_FOCUS] : "";
	cfg.ignore = args->values[FLAG_IGNORE] ? args->values[FLAG_IGNORE] : "";
	rc = report_new(&r, p, REPORT_TEXT, NULL, &cfg, notify, err);
	if (rc == 0)
		rc = compare_init(&c, r, sides, err);
	if (rc)
		return rc;
	r->unit = UNIT_AUTO;
	if (most || args->values[FLAG_JSON])
		rows.most = most ? args_number(most) : SIZE_MAX;
	out_init_fd(&o, STDOUT_FILENO);
	if (args->values[FLAG_JSON])
		render_compare_json(r, &c, rows, &o);
	else
		render_compare_text(r, &c, rows, &o);
	return own_print("compare", &o) ? FAILED : status_of(&c, args);
}

static int run_compare(const struct args *args)
{
	AUTO(profile_freep) struct profile *p = NULL;
	struct compare_sides sides = { 0 };
	enum compare_by by = COMPARE_AUTO;
	struct terminal terminal;
	struct err err = { "" };
	size_t n = 0, first_new = 0;
	int rc = parse_by(args->values[FLAG_BY], &by, &err);

	terminal_init(&terminal);
	if (rc == 0)
		rc = divide(args->rest, &n, &first_new, &err);
	if (rc == 0)
		rc = load_all(args->rest, n, first_new, &sides, &terminal.notify, &p, &err);
	sides.by = by;
	if (rc == 0)
		rc = tell(p, &sides, args, &terminal.notify, &err);
	return rc < 0 ? own_complain("compare", &err, FAILED) : rc;
}

const struct own_command own_compare = {
	.name = "compare",
	.what = "Tell what changed from one profile to another, beyond chance",
	.usage =
		"usage: sonde compare [options] old new\n"
		"       sonde compare [options] old old... vs new new...\n"
		"\n"
		"Profiles are samples: two of the same program differ.  This tells which functions "
		"differ\n"
		"by more than that; of those that it names, at most 5% are expected to be wrong.  "
		"With\n"
		"several profiles on each side it also knows how much the program varies by "
		"itself.\n"
		"The status is 1 if something changed, 0 if nothing did beyond chance, 2 if that "
		"cannot\n"
		"be told.  In a script, --more --least 5 asks for what got worse by 5% of the "
		"total.\n"
		"\n"
		"  sonde compare old.pb.gz new.pb.gz\n"
		"  sonde compare --type alloc_space a1.pb a2.pb a3.pb vs b1.pb b2.pb b3.pb\n",
	.flags = flags,
	.wrong_use = FAILED,
	.next = "file",
	.run = run_compare,
};
