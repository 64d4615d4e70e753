/*
 * web-command.c - the command line that prints what a page shows
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "ui/web-command.h"

#include "base/out.h"
#include "ui/options.h"

#include <ctype.h>

static const struct {
	enum report_kind kind;
	const char *flag, *output;
} kinds[] = {
	{ REPORT_TEXT, "top", NULL },
	{ REPORT_PEEK, "peek", NULL },
	{ REPORT_LIST, "list", NULL },
	{ REPORT_WEBLIST, "list", NULL }, /* the same lines as text */
	{ REPORT_DISASM, "disasm", NULL },
	{ REPORT_TAGS, "tags", NULL },
	{ REPORT_DOT, "svg", "graph.svg" },
	{ REPORT_FLAME, "flamegraph", "flamegraph.svg" },
};

/* What the flags that have become something else, and those of the server, are called. */
static bool is_left_out(const char *name)
{
	static const char *const names[] = {
		"http",          "no_browser",  "inuse_space", "inuse_objects", "alloc_space",
		"alloc_objects", "total_delay", "contentions", "mean_delay",
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (strcmp(names[i], name) == 0)
			return true;
	}
	return false;
}

static bool is_plain(struct str word)
{
	for (size_t i = 0; i < word.n; i++) {
		unsigned char c = (unsigned char)word.p[i];

		if (c >= 0x80 || (!isalnum(c) && !strchr("_./:=,@%+-", c)))
			return false;
	}
	return word.n > 0;
}

static bool is_printable(struct str word)
{
	for (size_t i = 0; i < word.n; i++) {
		if ((unsigned char)word.p[i] < ' ' || (unsigned char)word.p[i] > '~')
			return false;
	}
	return true;
}

/* As bash, zsh and ksh read it: $'\342\200\256'. */
static void put_bytes(struct out *o, struct str word)
{
	out_text(o, "$'");
	for (size_t i = 0; i < word.n; i++) {
		struct str one = { word.p + i, 1 };

		if (!is_printable(one))
			out_printf(o, "\\%03o", (unsigned char)one.p[0]);
		else if (one.p[0] == '\'' || one.p[0] == '\\')
			out_printf(o, "\\%c", one.p[0]);
		else
			out_char(o, one.p[0]);
	}
	out_char(o, '\'');
}

/* Behind a blank, in quotes if a shell would not take it for one word otherwise. */
static void put_word(struct out *o, struct str word)
{
	struct str part;
	bool first = true;

	out_char(o, ' ');
	if (is_plain(word)) {
		out_str(o, word);
	} else if (!is_printable(word)) {
		put_bytes(o, word);
	} else {
		out_char(o, '\'');
		while (str_split(&word, '\'', &part)) {
			out_text(o, first ? "" : "'\\''");
			first = false;
			out_str(o, part);
		}
		out_char(o, '\'');
	}
}

static void put_flag(struct out *o, const char *name, struct str value)
{
	struct out word;

	out_init(&word, 0);
	out_printf(&word, "-%s=", name);
	out_str(&word, value);
	put_word(o, out_view(&word));
	out_release(&word);
}

static void put_options(struct out *o, const struct option *list, const void *base)
{
	struct out value;

	out_init(&value, 0);
	for (; list->name; list++) {
		if (option_is_default(list, base) || is_left_out(list->name))
			continue;
		value.n = 0;
		option_get(list, base, &value);
		if (list->type == OPTION_CHOICE && !option_is_flag(list))
			out_printf(o, " -%.*s", STR_ARG(out_view(&value)));
		else
			put_flag(o, list->name, out_view(&value));
	}
	out_release(&value);
}

void web_command(struct out *o, enum report_kind kind, const char *param, const struct config *cfg,
		 const struct source_options *so)
{
	size_t k = 0;

	while (k < sizeof(kinds) / sizeof(kinds[0]) && kinds[k].kind != kind)
		k++;
	if (k == sizeof(kinds) / sizeof(kinds[0]))
		return;
	out_text(o, "sonde");
	if (param)
		put_flag(o, kinds[k].flag, str_of(param));
	else
		out_printf(o, " -%s", kinds[k].flag);
	if (kinds[k].output)
		put_flag(o, "output", str_of(kinds[k].output));
	put_options(o, config_options, cfg);
	put_options(o, source_flags, so);
	if (*so->exec_name)
		put_word(o, str_of(so->exec_name));
	for (size_t i = 0; i < so->nsources; i++)
		put_word(o, str_of(so->sources[i]));
}

/* ------------------------------------------------------------------ sonde compare */

/* What it calls an option (they have two dashes), "" if that makes no difference, NULL if it has
 * none. */
static const char *compare_option(const char *name)
{
	static const struct {
		const char *name, *compare;
	} names[] = {
		{ "sample_index", "-type" },
		{ "focus", "-focus" },
		{ "ignore", "-ignore" },
		{ "nodecount", "" },
		{ "nodefraction", "" },
		{ "edgefraction", "" },
		{ "trim", "" },
		{ "sort", "" },
		{ "unit", "" },
		{ "output", "" },
		{ "call_tree", "" },
		{ "compact_labels", "" },
		{ "base", "" },
		{ "diff_base", "" },
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (strcmp(names[i].name, name) == 0)
			return names[i].compare;
	}
	return is_left_out(name) ? "" : NULL;
}

static bool put_compare_options(struct out *o, const struct option *list, const void *base)
{
	struct out value;
	bool known = true;

	out_init(&value, 0);
	for (; list->name; list++) {
		const char *name = compare_option(list->name);

		if (option_is_default(list, base) || (name && !*name))
			continue;
		known = known && name;
		value.n = 0;
		option_get(list, base, &value);
		put_flag(o, name ? name : "", out_view(&value));
	}
	out_release(&value);
	return known;
}

void web_command_compare(struct out *o, const char *by, const struct config *cfg,
			 const struct source_options *so)
{
	size_t start = o->n;
	bool known = so->nsources == 1 && *so->base && !*so->exec_name;

	out_text(o, "sonde compare --all");
	if (*by)
		put_flag(o, "-by", str_of(by));
	known &= put_compare_options(o, config_options, cfg);
	known &= put_compare_options(o, source_flags, so);
	if (!known) {
		o->n = start;
		return;
	}
	put_word(o, str_of(so->base));
	put_word(o, str_of(so->sources[0]));
}

/* ------------------------------------------------------------------ sonde leaks */

void web_command_leaks(struct out *o, const char *tree, const char *component)
{
	out_text(o, "sonde leaks");
	if (component)
		put_flag(o, "-component", str_of(component));
	put_word(o, str_of(tree));
}

void web_command_leaks_store(struct out *o, const char *store, const char *prefix)
{
	struct str where = str_of(store);
	bool named = str_starts(where, STR("dir:")) || str_starts(where, STR("kube:"));
	struct out place;

	out_init(&place, 0);
	out_printf(&place, "%s%s", named ? "" : "dir:", store);
	out_text(o, "sonde leaks");
	put_flag(o, "-store", out_view(&place));
	put_word(o, str_of(prefix));
	out_release(&place);
}
