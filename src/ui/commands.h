/*
 * commands.h - everything a person can ask for, as one table
 *
 * An entry is the flag that selects the report, the word in the shell, the help text, the
 * completion and the line of the manual.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef UI_COMMANDS_H
#define UI_COMMANDS_H

#include "base/str.h"

#include <stdbool.h>

struct err;
struct out;

enum command_report {
	COMMAND_CALLGRIND,
	COMMAND_COMMENTS,
	COMMAND_DISASM,
	COMMAND_DOT,
	COMMAND_FLAMEGRAPH,
	COMMAND_FOLDED,
	COMMAND_LIST,
	COMMAND_PEEK,
	COMMAND_PROTO,
	COMMAND_RAW,
	COMMAND_STACKS,
	COMMAND_TAGS,
	COMMAND_TEXT,
	COMMAND_TOPPROTO,
	COMMAND_TRACES,
	COMMAND_TREE,
	COMMAND_WEBLIST,
};

/* Where a report goes when no output file was named. */
enum command_output {
	OUTPUT_STDOUT,
	OUTPUT_AWAY,   /* standard output; "profileNNN.<suffix>" from a terminal or the shell */
	OUTPUT_VIEWER, /* a temporary file, shown by a program: viewer_show() */
};

struct command {
	const char *name;
	enum command_report report;
	enum command_output output;
	bool has_param;             /* takes a regular expression */
	bool ours;                  /* the reference does not have it */
	const char *suffix;         /* of the file, without the dot: "pb.gz" */
	const char *dot;            /* the report is a graph that "dot -T<this>" must lay out */
	bool pans;                  /* and that can then be moved and zoomed: render_svg_page() */
	const char *const *viewers; /* programs to try in turn, up to NULL: see viewer.c */
	const char *description;
	const char *usage; /* lines, or NULL */
};

extern const struct command commands[]; /* by name, up to one without a name */

const struct command *command_find(struct str name);

/*
 * 0 if the command can run.  Otherwise an errno and one line that says what is missing and
 * what to use instead.  'dash' is "-" on the command line and "" in the shell.
 */
int command_check(const struct command *c, const char *dash, struct err *err);

/* What "help <command>" prints. */
void command_help(const struct command *c, struct out *o);

#endif /* UI_COMMANDS_H */
