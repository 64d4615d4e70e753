/*
 * dump.c - the tables of options and commands, for the manual and for other shells
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "ui/dump.h"

#include "base/err.h"
#include "base/out.h"
#include "ui/commands.h"
#include "ui/options.h"
#include "ui/usage.h"

#include <errno.h>

/* One flag, whichever table it comes from. */
struct entry {
	const char *name;
	const char *value; /* what follows it, for people: "file", "n"; NULL if nothing does */
	const char *words; /* what may follow it, with blanks between; or NULL */
	const char *help;
	bool files, ours, missing;
};

typedef void entry_fn(struct out *o, const struct entry *e);

static void write_command(struct out *o, entry_fn *fn, const struct command *c)
{
	fn(o, &(struct entry){ .name = c->name,
			       .value = c->has_param ? "regexp" : NULL,
			       .help = c->description,
			       .ours = c->ours,
			       .missing = c->missing != NULL });
}

static void each_command(struct out *o, entry_fn *fn)
{
	for (const struct command *c = commands; c->name; c++)
		write_command(o, fn, c);
}

static const char *value_name(const struct option *o)
{
	static const char *const names[] = {
		[VALUE_FILE] = "file", [VALUE_DIR] = "path",         [VALUE_REGEXP] = "regexp",
		[VALUE_UNIT] = "unit", [VALUE_SAMPLE_TYPE] = "type", [VALUE_SYMBOLIZE] = "mode",
	};

	if (o->type == OPTION_BOOL)
		return NULL;
	if (o->type == OPTION_INT || o->type == OPTION_FLOAT)
		return "n";
	return o->value == VALUE_ANY ? "text" : names[o->value];
}

static void write_option(struct out *o, entry_fn *fn, const struct option *p)
{
	struct out words;

	out_init(&words, 0);
	for (const struct choice *c = p->choices; c && c->name; c++)
		out_printf(&words, "%s%s", words.n ? " " : "", c->name);
	if (p->value == VALUE_UNIT)
		out_text(&words, "minimum auto bytes kilobytes megabytes gigabytes nanoseconds "
				 "microseconds milliseconds seconds hours");
	if (p->value == VALUE_SYMBOLIZE)
		out_text(&words, "none local fastlocal remote force demangle=none demangle=full "
				 "demangle=templates");
	if (p->value == VALUE_SAMPLE_TYPE)
		out_text(&words, "samples cpu inuse_space inuse_objects alloc_space "
				 "alloc_objects contentions delay");
	out_char(&words, '\0');
	fn(o, &(struct entry){ .name = p->name,
			       .value = value_name(p),
			       .words = words.n > 1 ? words.p : NULL,
			       .help = p->help,
			       .files = p->value == VALUE_FILE || p->value == VALUE_DIR,
			       .ours = p->ours });
	out_release(&words);
}

static void each_option(struct out *o, entry_fn *fn, const struct option *table)
{
	for (const struct option *p = table; p->name; p++) {
		if (option_is_flag(p))
			write_option(o, fn, p);
		for (const struct choice *c = p->choices; c && c->name; c++) {
			if (choice_is_flag(c))
				fn(o, &(struct entry){
					      .name = c->name, .help = c->help, .ours = p->ours });
		}
	}
}

static void each_entry(struct out *o, entry_fn *fn)
{
	each_command(o, fn);
	each_option(o, fn, config_options);
	each_option(o, fn, source_flags);
	fn(o, &(struct entry){ .name = "version",
			       .help = "Show the version and what was built in",
			       .ours = true });
}

static int summary_length(const struct entry *e)
{
	return (int)strcspn(e->help, "\n");
}

/* Text for scdoc(5), which gives a meaning to some characters. */
static void out_scdoc(struct out *o, const char *text)
{
	for (; *text; text++) {
		if (strchr("_*\\<>[]#~`", *text))
			out_char(o, '\\');
		out_char(o, *text == '\n' ? ' ' : *text);
	}
}

static void man_entry(struct out *o, const struct entry *e)
{
	size_t n = strlen(e->help), summary = (size_t)summary_length(e);

	out_text(o, "*-");
	out_scdoc(o, e->name);
	out_char(o, '*');
	if (e->value)
		out_printf(o, " _%s_", e->value);
	out_text(o, "\n\t");
	for (size_t i = 0; i < n && e->help[i]; i++) {
		if (i == summary && i && e->help[i - 1] != '.')
			out_char(o, '.');
		if (i + 1 < n || e->help[i] != '\n')
			out_scdoc(o, (char[]){ e->help[i], '\0' });
	}
	if (n && e->help[n - 1] != '.' && e->help[n - 1] != '\n')
		out_char(o, '.');
	if (e->missing)
		out_text(o, " Not available yet.");
	if (e->ours)
		out_text(o, " Not in pprof.");
	out_text(o, "\n\n");
}

static void dump_man(struct out *o)
{
	out_text(o, "# REPORTS\n\n"
		    "At most one of these. Without one, the shell is started.\n\n");
	each_command(o, man_entry);
	out_text(o, "# OPTIONS\n\n"
		    "Each is also a variable of the shell, and a boolean one is switched off with "
		    "=false. *-cum* and *-flat* exclude each other, and so do *-functions*, "
		    "*-filefunctions*, *-files*, *-lines* and *-addresses*.\n\n");
	each_option(o, man_entry, config_options);
	out_text(o, "# SOURCE OPTIONS\n\n");
	each_option(o, man_entry, source_flags);
}

static void bash_flag(struct out *o, const struct entry *e)
{
	out_printf(o, "-%s\n", e->name);
}

static void bash_value(struct out *o, const struct entry *e)
{
	if (e->words)
		out_printf(o, "\t-%s) echo \"words %s\" ;;\n", e->name, e->words);
	else if (e->value)
		out_printf(o, "\t-%s) echo %s ;;\n", e->name, e->files ? "files" : "any");
}

static void dump_bash(struct out *o)
{
	out_text(o, "# bash completion for sonde\n"
		    "# SPDX-License-Identifier: Apache-2.0\n\n"
		    "_sonde_flags='");
	each_entry(o, bash_flag);
	out_text(o, "'\n\n"
		    "# What follows a flag: nothing, files, some words, or anything.\n"
		    "_sonde_value() {\n"
		    "\tcase $1 in\n");
	each_entry(o, bash_value);
	out_text(o, "\tesac\n}\n\n");
}

/* Text inside single quotes of a shell, without the characters in 'special'. */
static void out_quoted(struct out *o, const struct entry *e, const char *special)
{
	for (int i = 0; i < summary_length(e); i++) {
		if (e->help[i] == '\'')
			out_text(o, "'\\'");
		else if (strchr(special, e->help[i]))
			out_char(o, '\\');
		out_char(o, e->help[i]);
	}
}

static void zsh_entry(struct out *o, const struct entry *e)
{
	out_printf(o, "\t'-%s%s[", e->name, e->value ? "=" : "");
	out_quoted(o, e, "[]:\\");
	out_char(o, ']');
	if (e->words)
		out_printf(o, ":%s:(%s)", e->value, e->words);
	else if (e->value)
		out_printf(o, ":%s:%s", e->value, e->files ? "_files" : "");
	out_text(o, "'\n");
}

static void dump_zsh(struct out *o)
{
	out_text(o, "#compdef sonde\n"
		    "# SPDX-License-Identifier: Apache-2.0\n\n"
		    "local -a sonde_flags=(\n");
	each_entry(o, zsh_entry);
	out_text(o, ")\n\n");
}

static void fish_entry(struct out *o, const struct entry *e)
{
	out_printf(o, "complete -c sonde -o %s -d '", e->name);
	out_quoted(o, e, "\\");
	out_char(o, '\'');
	if (e->words)
		out_printf(o, " -x -a '%s'", e->words);
	else if (e->value)
		out_text(o, e->files ? " -r -F" : " -x");
	out_char(o, '\n');
}

static void dump_fish(struct out *o)
{
	out_text(o, "# fish completion for sonde\n"
		    "# SPDX-License-Identifier: Apache-2.0\n\n");
	each_entry(o, fish_entry);
}

int dump(const char *what, struct out *o, struct err *err)
{
	static const struct {
		const char *name;
		void (*fn)(struct out *o);
	} kinds[] = { { "usage", usage_write },
		      { "man", dump_man },
		      { "bash", dump_bash },
		      { "zsh", dump_zsh },
		      { "fish", dump_fish } };

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		if (strcmp(what, kinds[i].name) == 0) {
			kinds[i].fn(o);
			return 0;
		}
	}
	return err_set(err, -EINVAL, "cannot dump options as '%s': usage, man, bash, zsh or fish",
		       what);
}
