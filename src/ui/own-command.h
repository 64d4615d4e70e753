/*
 * own-command.h - commands of sonde that pprof does not have: "sonde check URL"
 *
 * Each is a table of options (base/args.h) and a function.  Help, the manual and the completions of
 * shells come from the tables.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef UI_OWN_COMMAND_H
#define UI_OWN_COMMAND_H

#include "base/args.h"

struct err;
struct out;

/* What commands end with, unless they say otherwise. */
enum { OWN_OK, OWN_FAILED, OWN_WRONG_USE };

struct own_command {
	const char *name;
	const char *what;  /* one line */
	const char *usage; /* what --help prints before the options */
	const struct arg *flags;
	args_end *ends;   /* what follows is another program's; NULL: nothing is */
	int wrong_use;    /* what it ends with then; 0: OWN_WRONG_USE */
	const char *next; /* what follows the options: "file", "program" or words, for completion */
	int (*run)(const struct args *args);
};

extern const struct own_command own_check, own_compare, own_dumps, own_leaks, own_manifest, own_mem,
	own_run;

enum { OWN_COMMANDS_MOST = 16 };

/* All of them, by name, up to NULL. */
extern const struct own_command *const own_commands[];

/* Reads the options from 'words' on and runs the command, or prints its help. */
int own_command_run(const struct own_command *c, char **words);

/* Prints "sonde NAME: <why>" to standard error; returns 'status'. */
int own_complain(const char *name, const struct err *err, int status);

/* Writes what is left to standard output and releases the sink.  Returns 0, or why it failed. */
int own_write(struct out *o, struct err *err);
/* The same for command NAME; OWN_FAILED if it failed, and says why. */
int own_print(const char *name, struct out *o);

#endif /* UI_OWN_COMMAND_H */
