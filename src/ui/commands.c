/*
 * commands.c - everything a person can ask for, as one table
 *
 * Descriptions and usage lines are the reference's, word for word.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "ui/commands.h"

#include "base/err.h"
#include "base/out.h"
#include "ui/picture.h"

#include <errno.h>

#define ARGUMENTS " [n] [focus_regex]* [-ignore_regex]*"
#define MEANING                                                                                    \
	"\nInclude up to n samples"                                                                \
	"\nInclude samples matching focus_regex, and exclude ignore_regex."
#define TO_FILE "\nOptionally save the report on the file f"

/* Usage of reports that are tables, graphs, and graphs in a window. */
#define TABLE(name)                                                                                \
	name ARGUMENTS " [-cum] >f" MEANING "\n-cum sorts the output by cumulative weight" TO_FILE
#define GRAPH(name)  name ARGUMENTS " >f" MEANING TO_FILE
#define WINDOW(name) name ARGUMENTS MEANING

/* The missing space before '<' is the reference's. */
#define LISTING(name, to_file)                                                                     \
	name "<func_regex|address> [-focus_regex]* [-ignore_regex]*" to_file                       \
	     "\nInclude functions matching func_regex, or including the address specified."        \
	     "\nInclude samples matching focus_regex, and exclude ignore_regex."

static const char *const browsers[] = { "$BROWSER",          "chrome",  "google-chrome",
					"chromium",          "firefox", "sensible-browser",
					"$DISPLAY:xdg-open", NULL };
static const char *const eog[] = { "eog", NULL };
static const char *const evince[] = { "evince", NULL };
static const char *const gv[] = { "gv --noantialias", NULL };
static const char *const kcachegrind[] = { "kcachegrind", NULL };

const struct command commands[] = {
	{ "callgrind", COMMAND_CALLGRIND, OUTPUT_AWAY, .suffix = "callgraph.out",
	  .description = "Outputs a graph in callgrind format", .usage = GRAPH("callgrind") },
	{ "comments", COMMAND_COMMENTS, .description = "Output all profile comments" },
	{ "disasm", COMMAND_DISASM, .has_param = true,
	  .description = "Output assembly listings annotated with samples",
	  .usage = LISTING("disasm", " >f") TO_FILE },
	{ "dot", COMMAND_DOT, .description = "Outputs a graph in DOT format",
	  .usage = GRAPH("dot") },
	{ "eog", COMMAND_DOT, OUTPUT_VIEWER, .suffix = "svg", .dot = "svg", .viewers = eog,
	  .description = "Visualize graph through eog", .usage = WINDOW("eog") },
	{ "evince", COMMAND_DOT, OUTPUT_VIEWER, .suffix = "pdf", .dot = "pdf", .viewers = evince,
	  .description = "Visualize graph through evince", .usage = WINDOW("evince") },
	{ "flamegraph", COMMAND_FLAMEGRAPH, OUTPUT_AWAY, .suffix = "svg", .ours = true,
	  .description = "Outputs a flame graph as one SVG file, to search and to zoom",
	  .usage = "flamegraph [n] [focus_regex]* [-ignore_regex]* >f"
		   "\nOpen it in a browser; elsewhere it is a picture.  Needs no other program."
		   "\nInclude up to n frames"
		   "\nInclude samples matching focus_regex, and exclude ignore_regex." TO_FILE },
	{ "folded", COMMAND_FOLDED, .ours = true,
	  .description = "Outputs stacks as folded lines: a;b;c 12",
	  .usage = "folded [focus_regex]* [-ignore_regex]* >f"
		   "\nOne line per stack, root first, for flame graph tools."
		   "\nInclude samples matching focus_regex, and exclude ignore_regex." TO_FILE },
	{ "gif", COMMAND_DOT, OUTPUT_AWAY, .suffix = "gif", .dot = "gif",
	  .description = "Outputs a graph image in GIF format", .usage = GRAPH("gif") },
	{ "gv", COMMAND_DOT, OUTPUT_VIEWER, .suffix = "ps", .dot = "ps", .viewers = gv,
	  .description = "Visualize graph through gv", .usage = WINDOW("gv") },
	{ "kcachegrind", COMMAND_CALLGRIND, OUTPUT_VIEWER, .suffix = "grind",
	  .viewers = kcachegrind, .description = "Visualize report in KCachegrind",
	  .usage = WINDOW("kcachegrind") },
	{ "list", COMMAND_LIST, .has_param = true,
	  .description = "Output annotated source for functions matching regexp",
	  .usage = LISTING("list", "") },
	{ "pdf", COMMAND_DOT, OUTPUT_AWAY, .suffix = "pdf", .dot = "pdf",
	  .description = "Outputs a graph in PDF format", .usage = GRAPH("pdf") },
	{ "peek", COMMAND_PEEK, .has_param = true,
	  .description = "Output callers/callees of functions matching regexp",
	  .usage = "peek func_regex"
		   "\nDisplay callers and callees of functions matching func_regex." },
	{ "png", COMMAND_DOT, OUTPUT_AWAY, .suffix = "png", .dot = "png",
	  .description = "Outputs a graph image in PNG format", .usage = GRAPH("png") },
	{ "proto", COMMAND_PROTO, OUTPUT_AWAY, .suffix = "pb.gz",
	  .description = "Outputs the profile in compressed protobuf format" },
	{ "ps", COMMAND_DOT, OUTPUT_AWAY, .suffix = "ps", .dot = "ps",
	  .description = "Outputs a graph in PS format", .usage = GRAPH("ps") },
	{ "raw", COMMAND_RAW, .description = "Outputs a text representation of the raw profile" },
	{ "stacks", COMMAND_STACKS, .has_param = true, .ours = true,
	  .description = "Outputs stacks through functions matching regexp, largest first",
	  .usage = "stacks func_regex [n] [focus_regex]* [-ignore_regex]* >f"
		   "\nEach different stack once, with its value and how many samples have it."
		   "\nInclude up to n stacks"
		   "\nInclude samples matching focus_regex, and exclude ignore_regex." TO_FILE },
	{ "svg", COMMAND_DOT, OUTPUT_AWAY, .suffix = "svg", .dot = "svg", .pans = true,
	  .description = "Outputs a graph in SVG format", .usage = GRAPH("svg") },
	{ "tags", COMMAND_TAGS, .description = "Outputs all tags in the profile",
	  .usage = "tags [tag_regex]* [-ignore_regex]* [>file]"
		   "\nList tags with key:value matching tag_regex and exclude ignore_regex." },
	{ "text", COMMAND_TEXT, .description = "Outputs top entries in text form",
	  .usage = TABLE("text") },
	{ "top", COMMAND_TEXT, .description = "Outputs top entries in text form",
	  .usage = TABLE("top") },
	{ "topproto", COMMAND_TOPPROTO, OUTPUT_AWAY, .suffix = "pb.gz",
	  .description = "Outputs top entries in compressed protobuf format" },
	{ "traces", COMMAND_TRACES, .description = "Outputs all profile samples in text form" },
	{ "tree", COMMAND_TREE, .description = "Outputs a text rendering of call graph",
	  .usage = TABLE("tree") },
	{ "web", COMMAND_DOT, OUTPUT_VIEWER, .suffix = "svg", .dot = "svg", .pans = true,
	  .viewers = browsers, .description = "Visualize graph through web browser",
	  .usage = WINDOW("web") },
	{ "weblist", COMMAND_WEBLIST, OUTPUT_VIEWER, .has_param = true, .suffix = "html",
	  .viewers = browsers, .description = "Display annotated source in a web browser",
	  .usage = LISTING("weblist", "") },
	{ 0 },
};

const struct command *command_find(struct str name)
{
	for (const struct command *c = commands; c->name; c++) {
		if (str_is(name, c->name))
			return c;
	}
	return NULL;
}

int command_check(const struct command *c, const char *dash, struct err *err)
{
	return c->dot ? picture_check(dash, err) : 0;
}

void command_help(const struct command *c, struct out *o)
{
	struct str rest = str_of(c->usage), line;

	out_printf(o, "%s\n", c->description);
	if (c->usage) {
		out_text(o, "  Usage:\n");
		while (str_split(&rest, '\n', &line))
			out_printf(o, "    %.*s\n", STR_ARG(line));
	}
	out_char(o, '\n');
}
