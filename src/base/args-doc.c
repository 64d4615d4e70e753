/*
 * args-doc.c - commands and their options (args.h) for the manual and for other shells
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/args-doc.h"

#include "base/out.h"

/* --- the manual -------------------------------------------------------------------------- */

void scdoc_text(struct out *o, struct str text)
{
	for (size_t i = 0; i < text.n; i++) {
		if (strchr("_*\\<>[]#~`", text.p[i]))
			out_char(o, '\\');
		out_char(o, text.p[i]);
	}
}

/* Lines that do not end in a full stop, but should: a heading, and the last. */
static bool ends_sentence(const char *help, size_t end, bool heading)
{
	bool first = end == strcspn(help, "\n");
	bool last = help[end] == '\0' || help[end + 1] == '\0';

	return ((first && heading) || last) && end && !strchr(".:", help[end - 1]);
}

static void help_lines(struct out *o, const char *help, bool heading)
{
	struct str rest = str_of(help), line;

	while (str_split(&rest, '\n', &line)) {
		size_t end = (size_t)(line.p + line.n - help);

		while (line.n && line.p[0] == ' ')
			line = str_skip(line, 1);
		scdoc_text(o, line);
		out_text(o, line.n && ends_sentence(help, end, heading) ? ". " : line.n ? " " : "");
	}
}

void scdoc_help(struct out *o, const char *help)
{
	help_lines(o, help, true);
}

/* Of one of our own options: the second line goes on, unless it begins like a sentence. */
static void option_help(struct out *o, const char *help)
{
	const char *second = strchr(help, '\n');

	help_lines(o, help, second && second[1] >= 'A' && second[1] <= 'Z');
}

void scdoc_options(struct out *o, const struct arg *flags)
{
	for (; flags->name; flags++) {
		out_text(o, "*--");
		scdoc_text(o, str_of(flags->name));
		out_char(o, '*');
		if (flags->value)
			out_printf(o, " _%s_", flags->value);
		out_text(o, "\n\t");
		option_help(o, flags->help);
		o->n--; /* the last blank */
		out_text(o, "\n\n");
	}
	out_text(o, "*--help*\n\tShow how it is called.\n\n");
}

static void out_capitals(struct out *o, const char *word)
{
	for (; *word; word++)
		out_char(o, *word >= 'a' && *word <= 'z' ? (char)(*word - 'a' + 'A') : *word);
}

void args_man(const struct args_command *c, const char *program, struct out *o)
{
	for (; c->name; c++) {
		out_text(o, "# ");
		out_capitals(o, program);
		out_char(o, ' ');
		out_capitals(o, c->name);
		out_text(o, "\n\n");
		scdoc_help(o, c->what);
		o->n--;
		out_printf(o, "\n\n```\n%s```\n\n", c->usage);
		scdoc_options(o, c->flags);
	}
}

/* --- shells ------------------------------------------------------------------------------ */

void shell_quoted(struct out *o, const char *text, const char *special)
{
	for (; *text && *text != '\n'; text++) {
		if (*text == '\'')
			out_text(o, "'\\'");
		else if (strchr(special, *text))
			out_char(o, '\\');
		out_char(o, *text);
	}
}

static bool is_words(const char *next)
{
	return next && strcmp(next, "file") != 0 && strcmp(next, "program") != 0;
}

static void bash_values(const struct args_command *c, struct out *o)
{
	for (const struct arg *f = c->flags; f->name; f++)
		if (f->value)
			out_printf(o, "\t\"%s --%s\") echo %s ;;\n", c->name, f->name,
				   f->kind == ARG_FILE ? "files" : "any");
}

void args_bash(const struct args_command *all, const char *program, struct out *o)
{
	out_printf(o, "_%s_commands='", program);
	for (const struct args_command *c = all; c->name; c++)
		out_printf(o, "%s%s", c == all ? "" : " ", c->name);
	out_printf(o, "'\n\n_%s_command_flags() {\n\tcase $1 in\n", program);
	for (const struct args_command *c = all; c->name; c++) {
		out_printf(o, "\t%s) echo '", c->name);
		for (const struct arg *f = c->flags; f->name; f++)
			out_printf(o, "--%s ", f->name);
		out_text(o, "--help' ;;\n");
	}
	out_printf(o,
		   "\tesac\n}\n\n# What follows \"command --flag\", and a command.\n"
		   "_%s_command_value() {\n\tcase \"$1 $2\" in\n",
		   program);
	for (const struct args_command *c = all; c->name; c++)
		bash_values(c, o);
	out_printf(o, "\tesac\n}\n_%s_command_next() {\n\tcase $1 in\n", program);
	for (const struct args_command *c = all; c->name; c++)
		if (c->next)
			out_printf(o, "\t%s) echo '%s%s' ;;\n", c->name,
				   is_words(c->next) ? "words " : "", c->next);
	out_text(o, "\tesac\n}\n\n");
}

static void zsh_flag(struct out *o, const struct arg *f)
{
	out_printf(o, "\t\t'--%s%s[", f->name, f->value ? "=" : "");
	shell_quoted(o, f->help, "[]:\\");
	out_char(o, ']');
	if (f->value)
		out_printf(o, ":%s:%s", f->value, f->kind == ARG_FILE ? "_files" : "");
	out_text(o, "'\n");
}

void args_zsh(const struct args_command *all, const char *program, struct out *o)
{
	out_printf(o, "local -a %s_commands=(\n", program);
	for (const struct args_command *c = all; c->name; c++) {
		out_printf(o, "\t'%s:", c->name);
		shell_quoted(o, c->what, ":\\");
		out_text(o, "'\n");
	}
	out_printf(o, ")\nlocal -a %s_own=()\ncase $words[2] in\n", program);
	for (const struct args_command *c = all; c->name; c++) {
		out_printf(o, "%s)\n\t%s_own=(\n", c->name, program);
		for (const struct arg *f = c->flags; f->name; f++)
			zsh_flag(o, f);
		out_text(o, "\t\t'--help[Show how it is called]'\n");
		if (is_words(c->next))
			out_printf(o, "\t\t'*:word:(%s)'\n", c->next);
		else if (c->next && strcmp(c->next, "program") == 0)
			out_text(o, "\t\t'1:program:_command_names -e'\n"
				    "\t\t'*::arguments:_normal'\n");
		else
			out_text(o, "\t\t'*:file:_files'\n");
		out_text(o, "\t)\n\t;;\n");
	}
	out_text(o, "esac\n\n");
}

static void fish_command(const struct args_command *c, const char *program, struct out *o)
{
	for (const struct arg *f = c->flags; f->name; f++) {
		out_printf(o, "complete -c %s -n '__fish_seen_subcommand_from %s' -l %s -d '",
			   program, c->name, f->name);
		shell_quoted(o, f->help, "\\");
		out_printf(o, "'%s\n", !f->value ? "" : f->kind == ARG_FILE ? " -r -F" : " -x");
	}
	if (is_words(c->next))
		out_printf(o, "complete -c %s -n '__fish_seen_subcommand_from %s' -x -a '%s'\n",
			   program, c->name, c->next);
	else if (c->next && strcmp(c->next, "program") == 0)
		out_printf(o,
			   "complete -c %s -n '__fish_seen_subcommand_from %s' -x -a "
			   "'(__fish_complete_subcommand)'\n",
			   program, c->name);
}

void args_fish(const struct args_command *all, const char *program, struct out *o)
{
	for (const struct args_command *c = all; c->name; c++) {
		out_printf(o,
			   "complete -c %s -n 'test (count (commandline -opc)) -eq 1' -a %s -d '",
			   program, c->name);
		shell_quoted(o, c->what, "\\");
		out_text(o, "'\n");
		fish_command(c, program, o);
	}
}
