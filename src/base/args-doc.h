/*
 * args-doc.h - commands and their options (args.h) for the manual and for other shells
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef BASE_ARGS_DOC_H
#define BASE_ARGS_DOC_H

#include "base/args.h"
#include "base/str.h"

struct out;

struct args_command {
	const char *name, *what;
	const char *usage; /* text for a terminal */
	const char *next;  /* what follows options: "file", "program", words, or NULL */
	const struct arg *flags;
};

/* Text for scdoc(5), which gives a meaning to some characters. */
void scdoc_text(struct out *o, struct str text);
/* The lines of a help text as sentences, the first as one of its own, and a blank behind. */
void scdoc_help(struct out *o, const char *help);
/* All options up to one without a name, in their order, and --help. */
void scdoc_options(struct out *o, const struct arg *flags);

/* A section for each command, up to one without a name: how it is called, and its options. */
void args_man(const struct args_command *c, const char *program, struct out *o);

/* What shells need to complete them: functions and tables that a script by hand uses. */
void args_bash(const struct args_command *c, const char *program, struct out *o);
void args_zsh(const struct args_command *c, const char *program, struct out *o);
void args_fish(const struct args_command *c, const char *program, struct out *o);

/* The first line of a text inside single quotes of a shell, without the characters in 'special'. */
void shell_quoted(struct out *o, const char *text, const char *special);

#endif /* BASE_ARGS_DOC_H */
