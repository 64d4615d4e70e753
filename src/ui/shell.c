/*
 * shell.c - commands, one line at a time, about one profile
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "ui/shell.h"

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/gotext.h"
#include "base/notify.h"
#include "base/out.h"
#include "base/xalloc.h"
#include "profile/profile.h"
#include "ui/commands.h"
#include "ui/history.h"
#include "ui/invocation.h"
#include "ui/lineedit.h"
#include "ui/options.h"
#include "ui/show.h"
#include "ui/terminal.h"
#include "ui/usage.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define PROMPT "(pprof) "

/* All that a session may assign; each line has its own, smaller, arena. */
enum { SESSION_BUDGET = 1 << 30, LINE_BUDGET = 1 << 30 };

struct shell {
	const struct profile *p;
	struct config cfg;
	struct arena arena; /* owns the strings of 'cfg' */
	struct notify *n;
	struct lineedit *edit; /* NULL: plain lines */
	char *history, *line;  /* file name, buffer for plain lines */
	size_t line_cap;
	bool done;
};

static void say(struct shell *s, struct out *text)
{
	out_char(text, '\0');
	s->n->say(s->n, NOTIFY_INFO, text->p);
	out_release(text);
}

static void greet(struct shell *s)
{
	struct out o;
	bool empty = false;

	out_init(&o, 0);
	if (greeting(s->p, &s->cfg, s->n, &o, &empty) == 0)
		say(s, &o);
	else
		out_release(&o);
	if (empty && s->p->ntypes > 1) {
		notify_info(s->n, "No samples were found with the default sample value type.");
		notify_info(s->n,
			    "Try \"sample_index\" command to analyze different sample values.");
	}
	notify_info(s->n,
		    "Entering interactive mode (type \"help\" for commands, \"o\" for options)");
}

static void out_sample_types(struct out *o, const struct profile *p, const char *separator)
{
	out_char(o, '[');
	for (uint32_t i = 0; i < p->ntypes; i++) {
		out_text(o, i ? separator : "");
		out_str(o, profile_str(p, p->types[i].type));
	}
	out_char(o, ']');
}

static void help(struct shell *s, struct str topic)
{
	const struct command *c = command_find(topic);
	const char *text = option_help(topic);
	struct out o;

	out_init(&o, 0);
	if (topic.n == 0) {
		usage_write_help(&o);
	} else if (c) {
		command_help(c, &o);
	} else if (text) {
		out_text(&o, text);
		if (str_is(topic, "sample_index")) {
			out_text(&o, "Or use sample_index=name, with name in ");
			out_sample_types(&o, s->p, " ");
			out_text(&o, ".\n");
		}
		out_char(&o, '\n');
	} else {
		notify_warn(s->n, "Unknown command: %.*s", STR_ARG(topic));
		return;
	}
	say(s, &o);
}

static int compare_choices(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static void out_choices(struct out *o, const struct choice *choices)
{
	const char *names[16] = { NULL };
	size_t n = 0;

	for (; n < sizeof(names) / sizeof(names[0]) && choices[n].name; n++)
		names[n] = choices[n].name;
	qsort(names, n, sizeof(names[0]), compare_choices);
	for (size_t i = 0; i < n; i++)
		out_printf(o, "%s%s", i ? " | " : "//: [", names[i]);
	out_char(o, ']');
}

/* "  name = value //: comment"; blanks stay at the end where there is no comment. */
static void out_option(struct shell *s, const struct option *o, struct out *to)
{
	bool samples = o->value == VALUE_SAMPLE_TYPE;
	struct out value;
	size_t width;

	out_init(&value, 0);
	option_get(o, &s->cfg, &value);
	if (samples && value.n == 0 && s->p->ntypes)
		out_str(&value, profile_str(s->p, s->p->types[s->p->ntypes - 1].type));
	if (value.n == 0 && !o->choices && !samples)
		out_text(&value, "\"\"");
	out_printf(to, "  %-25s = ", o->name);
	out_str(to, out_view(&value));
	width = go_rune_count(out_view(&value));
	out_fill(to, ' ', width < 20 ? 21 - width : 1);
	if (o->choices) {
		out_choices(to, o->choices);
	} else if (samples) {
		out_text(to, "//: ");
		out_sample_types(to, s->p, " | ");
	} else if (strcmp(o->name, "nodecount") == 0 && str_is(out_view(&value), "-1")) {
		out_text(to, "//: default");
	}
	out_char(to, '\n');
	out_release(&value);
}

/* What only sonde has is listed only if it has been set: scripts compare this list. */
static bool is_listed(const struct shell *s, const struct option *o)
{
	if (o->ours)
		return !option_is_default(o, &s->cfg);
	return strcmp(o->name, "source_path") != 0;
}

/* The first option, by name, that comes after 'name'; NULL behind the last one. */
static const struct option *next_option(const char *name)
{
	const struct option *next = NULL;

	for (const struct option *o = config_options; o->name; o++) {
		if (strcmp(o->name, name) > 0 && (!next || strcmp(o->name, next->name) < 0))
			next = o;
	}
	return next;
}

static void list_options(struct shell *s)
{
	struct out o;

	out_init(&o, 0);
	for (const struct option *p = next_option(""); p; p = next_option(p->name)) {
		if (is_listed(s, p))
			out_option(s, p, &o);
	}
	say(s, &o);
}

/* The name of a sample type, whatever it was called. */
static int resolve_sample_index(struct shell *s, struct str *value, struct err *err)
{
	int index = profile_sample_index(s->p, *value, err);
	char quoted[1024];

	if (index < 0)
		return index;
	if ((uint32_t)index >= s->p->ntypes)
		return err_set(err, -EINVAL, "invalid sample_index %s",
			       go_quoted(*value, quoted, sizeof(quoted)));
	*value = profile_str(s->p, s->p->types[index].type);
	return 0;
}

/* name=value, or the name alone.  False if it is something else. */
static bool assign(struct shell *s, struct str input)
{
	struct str value = input, name, rest;
	const struct choice *choice;
	bool has_value;
	struct err err;
	int rc = 0;

	str_split(&value, '=', &name);
	has_value = value.p != NULL;
	name = go_trim(name);
	if (!option_find(name, &choice))
		return false;
	for (rest = value; has_value && str_find(rest, STR("//:")) >= 0;) {
		rest = str_skip(rest, (size_t)str_find(rest, STR("//:")));
		value.n = (size_t)(rest.p - value.p); /* in the end, up to the last one */
		rest = str_skip(rest, 1);
	}
	value = has_value ? go_trim(value) : STR("");
	if (!has_value && !option_is_switch(name))
		rc = err_set(&err, -EINVAL, "please specify a value, e.g. %.*s=<val>",
			     STR_ARG(name));
	if (rc == 0 && str_is(name, "sample_index"))
		rc = resolve_sample_index(s, &value, &err);
	if (rc == 0)
		rc = config_assign(&s->cfg, name, value, &s->arena, &err);
	if (rc)
		notify_warn(s->n, "%s", err.msg);
	return true;
}

static void report(struct shell *s, struct str input)
{
	struct invocation inv;
	struct arena scratch;
	struct err err;
	int rc;

	arena_init(&scratch, LINE_BUDGET);
	rc = invocation_parse(&inv, input, &s->cfg, &scratch, &err);
	if (rc == 0)
		rc = command_check(inv.command, "", &err);
	if (rc == 0)
		rc = show(s->p, inv.command, inv.param, &inv.cfg, true, s->n, &err);
	if (rc)
		notify_warn(s->n, "%s", err.msg);
	arena_release(&scratch);
}

static void run(struct shell *s, struct str input)
{
	struct str rest = input, word, topic;
	struct out o;

	if (assign(s, input) || !go_field(&rest, &word))
		return;
	if (str_is(word, "o") || str_is(word, "options")) {
		list_options(s);
	} else if (str_is(word, "exit") || str_is(word, "quit") || str_is(word, "q")) {
		s->done = true;
	} else if (str_is(word, "help")) {
		out_init(&o, 0);
		while (go_field(&rest, &topic))
			out_printf(&o, "%s%.*s", o.n ? " " : "", STR_ARG(topic));
		help(s, out_view(&o));
		out_release(&o);
	} else {
		report(s, input);
	}
}

/* The name of a sample type is short for choosing it; "mean_" and "total_" go before it. */
static bool run_sample_type(struct shell *s, struct str input)
{
	static const char *const prefixes[] = { "mean_", "total_", "" };

	for (uint32_t i = s->p->ntypes; i-- > 0;) {
		struct str type = profile_str(s->p, s->p->types[i].type);

		for (size_t k = 0; k < sizeof(prefixes) / sizeof(prefixes[0]); k++) {
			struct str prefix = str_of(prefixes[k]);
			char *command;

			if (!str_starts(input, prefix) || !str_eq(str_skip(input, prefix.n), type))
				continue;
			if (prefix.n)
				run(s, k == 0 ? STR("mean=1") : STR("mean=0"));
			command = mem_printf("sample_index=%.*s", STR_ARG(type));
			run(s, str_of(command));
			free(command);
			return true;
		}
	}
	return false;
}

static void run_line(struct shell *s, struct str line)
{
	static const char *const clear[] = { "focus=", "ignore=", "hide=", "tagfocus=",
					     "tagignore=" };

	line = go_trim(line);
	if (run_sample_type(s, line))
		return;
	if (!str_is(line, ":")) {
		run(s, line);
		return;
	}
	for (size_t i = 0; i < sizeof(clear) / sizeof(clear[0]); i++)
		run(s, str_of(clear[i]));
}

static int read_plain(struct shell *s, struct str *line, struct err *err)
{
	char why[128];
	ssize_t n;

	fputs(PROMPT, stdout);
	fflush(stdout);
	errno = 0;
	n = getline(&s->line, &s->line_cap, stdin);
	*line = (struct str){ s->line, n > 0 ? (size_t)n : 0 };
	if (n > 0)
		return 1;
	if (!ferror(stdin))
		return 0;
	return err_set(err, -errno, "read /dev/stdin: %s", errno_text(errno, why, sizeof(why)));
}

static int read_line(struct shell *s, struct str *line, struct err *err)
{
	if (s->edit)
		return lineedit_read(s->edit, PROMPT, line);
	return read_plain(s, line, err);
}

static void open_editor(struct shell *s)
{
	struct err err;

	if (!terminal_is_interactive())
		return;
	s->history = history_path(getenv("XDG_STATE_HOME"), getenv("HOME"));
	s->edit = lineedit_open(s->history, s->p, &err);
	if (!s->edit)
		notify_info(s->n, "no line editing: %s", err.msg);
}

int shell(const struct profile *p, const struct config *cfg, struct notify *n, struct err *err)
{
	struct shell s = { .p = p, .cfg = *cfg, .n = n };
	struct str line;
	int rc = 1;

	arena_init(&s.arena, SESSION_BUDGET);
	s.cfg.compact_labels = true;
	greet(&s);
	open_editor(&s);
	while (!s.done) {
		rc = read_line(&s, &line, err);
		if (rc <= 0)
			break;
		run_line(&s, line);
	}
	if (rc == 0 && (s.edit || isatty(STDOUT_FILENO))) /* the prompt's line ends here */
		fputc('\n', s.edit ? stderr : stdout);
	lineedit_close(s.edit);
	arena_release(&s.arena);
	free(s.history);
	free(s.line);
	return rc < 0 ? rc : 0;
}
