/*
 * config.h - what a person can choose about a report
 *
 * One field per option; ui/options.c has one table entry per field, which is the flag, the
 * shell variable, the help text and the manual line.  Strings are never NULL ("" is unset)
 * and belong to whoever filled in the struct; copying the struct copies the choice.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef VIEW_CONFIG_H
#define VIEW_CONFIG_H

#include <stdbool.h>

struct debug_server;

struct config {
	const char *output;

	bool call_tree;
	bool relative_percentages;
	const char *unit;
	bool compact_labels;
	const char *source_path;
	const char *trim_path;
	bool intel_syntax;
	bool mean;
	const char *sample_index;
	double divide_by;
	bool normalize;
	const char *sort; /* "flat" or "cum" */

	const char *tagroot, *tagleaf;

	bool drop_negative;
	int nodecount; /* -1: the command's own default */
	double nodefraction, edgefraction;
	bool trim;
	const char *focus, *ignore, *prune_from, *hide, *show, *show_from;
	const char *tagfocus, *tagignore, *tagshow, *taghide;
	bool noinlines;
	bool showcolumns;

	const char *granularity; /* functions filefunctions files lines addresses */

	/* Ours, not the reference's. */
	const char *format;  /* "text", "json" or "csv" */
	const char *dialect; /* "go1.19", "go1.11" or "modern": dates, minutes, tags heading */
	int layout_timeout;  /* seconds Graphviz may take for a picture; 0: any time */
	const char *names;   /* "default", or how much of names to cut: "0" to "4" */
	bool merge_names;    /* functions with the same name after that are one */

	/* Of the environment: Go's own sources, and folders of modules with colons between them. */
	const char *go_root, *go_modules;

	/* Has binaries and sources that are not here, or NULL. */
	struct debug_server *debug_server;

	/* Whoever asks may be a stranger: of the files a profile names, only sources are read. */
	bool served;
};

#endif /* VIEW_CONFIG_H */
