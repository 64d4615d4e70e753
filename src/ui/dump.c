/*
 * dump.c - the tables of options and commands, for the manual and for other shells
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "ui/dump.h"

#include "base/arena.h"
#include "base/args-doc.h"
#include "base/err.h"
#include "base/out.h"
#include "base/xalloc.h"
#include "ui/commands.h"
#include "ui/options.h"
#include "ui/own-command.h"
#include "ui/usage.h"

#include <errno.h>
#include <stdlib.h>

/* One flag, whichever table it comes from. */
struct entry {
	const char *name;
	const char *value; /* what follows it, for people: "file", "n"; NULL if nothing does */
	const char *words; /* what may follow it, with blanks between; or NULL */
	const char *help;
	bool files, ours, missing;
};

struct entries {
	struct arena arena; /* owns the strings that are not in the tables */
	struct entry *at;
	size_t n, cap;
};

typedef void entry_fn(struct out *o, const struct entry *e);

static void add_commands(struct entries *l)
{
	for (const struct command *c = commands; c->name; c++)
		vec_push(l->at, l->n, l->cap,
			 ((struct entry){ .name = c->name,
					  .value = c->has_param ? "regexp" : NULL,
					  .help = c->description,
					  .ours = c->ours }));
}

/* What the value of an option is called, and what it may be. */
static const struct {
	const char *name, *words;
} values[] = {
	[VALUE_ANY] = { "text", NULL },
	[VALUE_FILE] = { "file", NULL },
	[VALUE_DIR] = { "path", NULL },
	[VALUE_REGEXP] = { "regexp", NULL },
	[VALUE_UNIT] = { "unit", "minimum auto bytes kilobytes megabytes gigabytes nanoseconds "
				 "microseconds milliseconds seconds hours" },
	[VALUE_SAMPLE_TYPE] = { "type", "samples cpu inuse_space inuse_objects alloc_space "
					"alloc_objects contentions delay" },
	[VALUE_SYMBOLIZE] = { "mode", "none local fastlocal remote force demangle=none "
				      "demangle=full demangle=templates" },
};

static const char *value_name(const struct option *o)
{
	if (o->type == OPTION_BOOL)
		return NULL;
	return o->type == OPTION_INT || o->type == OPTION_FLOAT ? "n" : values[o->value].name;
}

static const char *value_words(struct entries *l, const struct option *o)
{
	struct str words = str_of(values[o->value].words);

	for (const struct choice *c = o->choices; c && c->name; c++)
		words = xarena_printf(&l->arena, "%.*s%s%s", STR_ARG(words), words.n ? " " : "",
				      c->name);
	return words.n ? words.p : NULL;
}

static void add_option(struct entries *l, const struct option *o)
{
	if (option_is_flag(o))
		vec_push(l->at, l->n, l->cap,
			 ((struct entry){ .name = o->name,
					  .value = value_name(o),
					  .words = value_words(l, o),
					  .help = o->help,
					  .files = o->value == VALUE_FILE || o->value == VALUE_DIR,
					  .ours = o->ours,
					  .missing = o->missing }));
	for (const struct choice *c = o->choices; c && c->name; c++) {
		if (choice_is_flag(c))
			vec_push(l->at, l->n, l->cap,
				 ((struct entry){
					 .name = c->name, .help = c->help, .ours = o->ours }));
	}
}

static void add_options(struct entries *l, const struct option *table)
{
	for (const struct option *o = table; o->name; o++)
		add_option(l, o);
}

/* The one flag that is in no table, since nothing else can be said beside it. */
static void add_version(struct entries *l)
{
	vec_push(l->at, l->n, l->cap,
		 ((struct entry){ .name = "version",
				  .help = "Show the version and what was built in" }));
}

static int compare(const void *a, const void *b)
{
	return strcmp(((const struct entry *)a)->name, ((const struct entry *)b)->name);
}

static void entries_init(struct entries *l)
{
	*l = (struct entries){ 0 };
	arena_init(&l->arena, 1 << 20);
}

/* Writes all entries, by name, and forgets them. */
static void entries_write(struct entries *l, struct out *o, entry_fn *fn)
{
	qsort(l->at, l->n, sizeof(*l->at), compare);
	for (size_t i = 0; i < l->n; i++)
		fn(o, &l->at[i]);
	free(l->at);
	arena_release(&l->arena);
	entries_init(l);
}

/* Our own commands, without those that have a page of their own if 'rest' is set. */
static void with_commands(struct out *o, bool rest,
			  void (*fn)(const struct args_command *c, const char *program,
				     struct out *o))
{
	struct args_command list[OWN_COMMANDS_MOST + 1] = { { 0 } };
	size_t n = 0;

	for (size_t i = 0; own_commands[i] && n < OWN_COMMANDS_MOST; i++) {
		const struct own_command *c = own_commands[i];

		if (rest && c == &own_run)
			continue;
		list[n++] = (struct args_command){ c->name, c->what, c->usage, c->next, c->flags };
	}
	fn(list, "sonde", o);
}

/* For completion: what cannot be used is not offered. */
static void each_usable(struct out *o, entry_fn *fn)
{
	struct entries l;
	size_t n = 0;

	entries_init(&l);
	add_commands(&l);
	add_options(&l, config_options);
	add_options(&l, source_flags);
	add_version(&l);
	for (size_t i = 0; i < l.n; i++) {
		if (!l.at[i].missing)
			l.at[n++] = l.at[i];
	}
	l.n = n;
	entries_write(&l, o, fn);
}

static void man_entry(struct out *o, const struct entry *e)
{
	out_text(o, "*-");
	scdoc_text(o, str_of(e->name));
	out_char(o, '*');
	if (e->value)
		out_printf(o, " _%s_", e->value);
	out_text(o, "\n\t");
	scdoc_help(o, e->help);
	if (e->missing)
		out_text(o, "Not available yet. ");
	if (e->ours)
		out_text(o, "Not in pprof. ");
	o->n--; /* the last blank */
	out_text(o, "\n\n");
}

static void dump_man(struct out *o)
{
	struct entries l;

	entries_init(&l);
	out_text(o, "# REPORTS\n\n"
		    "At most one of these. Without one, the shell is started.\n\n");
	add_commands(&l);
	entries_write(&l, o, man_entry);
	out_text(o, "# OPTIONS\n\n"
		    "Each is also a variable of the shell, and a boolean one is switched off with "
		    "=false. *-cum* and *-flat* exclude each other, and so do *-functions*, "
		    "*-filefunctions*, *-files*, *-lines* and *-addresses*.\n\n");
	add_options(&l, config_options);
	entries_write(&l, o, man_entry);
	out_text(o, "# SOURCE OPTIONS\n\n");
	add_options(&l, source_flags);
	add_version(&l);
	entries_write(&l, o, man_entry);
}

static void dump_man_run(struct out *o)
{
	out_text(o, "# OPTIONS\n\n");
	scdoc_options(o, own_run.flags);
}

static void dump_man_commands(struct out *o)
{
	with_commands(o, true, args_man);
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
	each_usable(o, bash_flag);
	out_text(o, "'\n\n"
		    "# What follows a flag: nothing, files, some words, or anything.\n"
		    "_sonde_value() {\n"
		    "\tcase $1 in\n");
	each_usable(o, bash_value);
	out_text(o, "\tesac\n}\n\n");
	with_commands(o, false, args_bash);
}

static void zsh_entry(struct out *o, const struct entry *e)
{
	out_printf(o, "\t'-%s%s[", e->name, e->value ? "=" : "");
	shell_quoted(o, e->help, "[]:\\");
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
	each_usable(o, zsh_entry);
	out_text(o, ")\n");
	with_commands(o, false, args_zsh);
}

static void fish_entry(struct out *o, const struct entry *e)
{
	out_printf(o, "complete -c sonde -n '__sonde_reads' -o %s -d '", e->name);
	shell_quoted(o, e->help, "\\");
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
		    "# SPDX-License-Identifier: Apache-2.0\n\n"
		    "function __sonde_reads\n"
		    "\tnot __fish_seen_subcommand_from");
	for (size_t i = 0; own_commands[i]; i++)
		out_printf(o, " %s", own_commands[i]->name);
	out_text(o, "\nend\n\n");
	each_usable(o, fish_entry);
	with_commands(o, false, args_fish);
}

int dump(const char *what, struct out *o, struct err *err)
{
	static const struct {
		const char *name;
		void (*fn)(struct out *o);
	} kinds[] = { { "usage", usage_write },    { "man", dump_man },
		      { "man-run", dump_man_run }, { "man-commands", dump_man_commands },
		      { "bash", dump_bash },       { "zsh", dump_zsh },
		      { "fish", dump_fish } };

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		if (strcmp(what, kinds[i].name) == 0) {
			kinds[i].fn(o);
			return 0;
		}
	}
	return err_set(
		err, -EINVAL,
		"cannot dump options as '%s': usage, man, man-run, man-commands, bash, zsh or fish",
		what);
}
