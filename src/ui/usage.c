/*
 * usage.c - what sonde says about itself
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "ui/usage.h"

#include "base/out.h"
#include "base/xalloc.h"
#include "ui/commands.h"
#include "ui/options.h"
#include "ui/own-command.h"

#include <stdio.h>
#include <stdlib.h>

static const char header[] =
	"usage:\n"
	"\n"
	"Produce output in the specified format.\n"
	"\n"
	"   pprof <format> [options] [binary] <source> ...\n"
	"\n"
	"Omit the format to get an interactive shell whose commands can be used\n"
	"to generate various views of a profile\n"
	"\n"
	"   pprof [options] [binary] <source> ...\n"
	"\n"
	"Omit the format and provide the \"-http\" flag to get an interactive web\n"
	"interface at the specified host:port that can be used to navigate through\n"
	"various views of a profile.\n"
	"\n"
	"   pprof -http [host]:[port] [options] [binary] <source> ...\n"
	"\n"
	"Details:\n";

static const char sources[] =
	"\n"
	"  Source options:\n"
	"    -seconds              Duration for time-based profile collection\n"
	"    -timeout              Timeout in seconds for profile collection\n"
	"    -buildid              Override build id for main binary\n"
	"    -add_comment          Free-form annotation to add to the profile\n"
	"                          Displayed on some reports or with pprof -comments\n"
	"    -diff_base source     Source of base profile for comparison\n"
	"    -base source          Source of base profile for profile subtraction\n"
	"    profile.pb.gz         Profile in compressed protobuf format\n"
	"    legacy_profile        Profile in legacy pprof format\n"
	"    http://host/profile   URL for profile handler to retrieve\n"
	"    -symbolize=           Controls source of symbol information\n"
	"      none                  Do not attempt symbolization\n"
	"      local                 Examine only local binaries\n"
	"      fastlocal             Only get function names from local binaries\n"
	"      remote                Do not examine local binaries\n"
	"      force                 Force re-symbolization\n"
	"    Binary                  Local path or build id of binary for symbolization\n"
	"    -tls_cert             TLS client certificate file for fetching profile and symbols\n"
	"    -tls_key              TLS private key file for fetching profile and symbols\n"
	"    -tls_ca               TLS CA certs file for fetching profile and symbols\n";

static const char rest[] =
	"\n"
	"  Misc options:\n"
	"   -http              Provide web interface at host:port.\n"
	"                      Host is optional and 'localhost' by default.\n"
	"                      Port is optional and a randomly available port by default.\n"
	"   -no_browser        Skip opening a browser for the interactive web UI.\n"
	"   -tools             Search path for object tools\n"
	"\n"
	"  Legacy convenience options:\n"
	"   -inuse_space           Same as -sample_index=inuse_space\n"
	"   -inuse_objects         Same as -sample_index=inuse_objects\n"
	"   -alloc_space           Same as -sample_index=alloc_space\n"
	"   -alloc_objects         Same as -sample_index=alloc_objects\n"
	"   -total_delay           Same as -sample_index=delay\n"
	"   -contentions           Same as -sample_index=contentions\n"
	"   -mean_delay            Same as -mean -sample_index=delay\n"
	"\n"
	"  Environment Variables:\n"
	"   PPROF_TMPDIR       Location for saved profiles (default $HOME/pprof)\n"
	"   PPROF_TOOLS        Search path for object-level tools\n"
	"   PPROF_BINARY_PATH  Search path for local binary files\n"
	"                      default: $HOME/pprof/binaries\n"
	"                      searches $name, $path, $buildid/$name, $path/$buildid\n"
	"   * On Windows, %USERPROFILE% is used instead of $HOME\n";

/* Lines that are sorted before they are written. */
struct lines {
	char **at;
	size_t n, cap;
};

/* Only the first line of 'help' is shown. */
static char *help_line(const char *dash, const char *name, const char *help)
{
	char word[64];

	snprintf(word, sizeof(word), "%s%s", dash, name);
	return mem_printf("    %-16s %.*s", word, (int)strcspn(help, "\n"), help);
}

static void line_add(struct lines *l, const char *dash, const char *name, const char *help)
{
	vec_push(l->at, l->n, l->cap, help_line(dash, name, help));
}

static int compare(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static void lines_write(struct lines *l, struct out *o)
{
	if (l->n)
		qsort(l->at, l->n, sizeof(*l->at), compare);
	for (size_t i = 0; i < l->n; i++) {
		out_printf(o, "%s\n", l->at[i]);
		free(l->at[i]);
	}
	free(l->at);
	*l = (struct lines){ 0 };
}

static void write_commands(struct out *o, const char *dash)
{
	struct lines l = { 0 };

	for (const struct command *c = commands; c->name; c++) {
		if (!c->ours)
			line_add(&l, dash, c->name, c->description);
	}
	lines_write(&l, o);
}

static void write_options(struct out *o, const char *dash)
{
	struct lines l = { 0 };

	for (const struct option *p = config_options; p->name; p++) {
		if (!p->ours && !p->choices)
			line_add(&l, dash, p->name, p->help);
	}
	lines_write(&l, o);
}

/* The reference sorts groups by name: granularity, then sort. */
static void write_group(struct out *o, const char *dash, const char *name)
{
	const struct choice *none;
	const struct option *group = option_find(str_of(name), &none);

	out_printf(o, "    %-16s \n", name);
	for (const struct choice *c = group->choices; c->name; c++) {
		char *line = help_line(dash, c->name, c->help);

		out_printf(o, "  %s\n", line);
		free(line);
	}
}

static void write_groups(struct out *o, const char *dash)
{
	out_text(o, "\n  Option groups (only set one per group):\n");
	write_group(o, dash, "granularity");
	write_group(o, dash, "sort");
}

static void add_ours(struct lines *l, const char *dash)
{
	for (const struct command *c = commands; c->name; c++) {
		if (c->ours)
			line_add(l, dash, c->name, c->description);
	}
	for (const struct option *p = config_options; p->name; p++) {
		if (p->ours && option_is_flag(p))
			line_add(l, dash, p->name, p->help);
		for (const struct choice *c = p->choices; p->ours && c && c->name; c++) {
			if (choice_is_flag(c))
				line_add(l, dash, c->name, c->help);
		}
	}
}

void usage_write(struct out *o)
{
	struct lines ours = { 0 };

	out_text(o, header);
	out_text(o, "  Output formats (select at most one):\n");
	write_commands(o, "-");
	out_text(o, "\n  Options:\n");
	write_options(o, "-");
	write_groups(o, "-");
	out_text(o, sources);
	out_text(o, rest);
	out_text(o, "\n  Only in sonde:\n");
	add_ours(&ours, "-");
	for (const struct option *p = source_flags; p->name; p++) {
		if (p->ours)
			line_add(&ours, "-", p->name, p->help);
	}
	line_add(&ours, "-", "version", "Show the version and what was built in");
	lines_write(&ours, o);
	out_text(o, "\n  Commands of sonde:\n");
	for (size_t i = 0; own_commands[i]; i++)
		out_printf(o, "    %-16s %s; see sonde %s --help\n", own_commands[i]->name,
			   own_commands[i]->what, own_commands[i]->name);
}

void usage_write_help(struct out *o)
{
	struct lines ours = { 0 };

	out_text(o, "  Commands:\n");
	write_commands(o, "");
	out_printf(o, "    %-16s %s\n", "o/options", "List options and their current values");
	out_printf(o, "    %-16s %s\n", "q/quit/exit/^D", "Exit pprof");
	out_text(o, "\n  Options:\n");
	write_options(o, "");
	write_groups(o, "");
	out_text(o, "  :   Clear focus/ignore/hide/tagfocus/tagignore\n"
		    "\n"
		    "  type \"help <cmd|option>\" for more information\n"
		    "\n"
		    "  Only in sonde:\n");
	add_ours(&ours, "");
	lines_write(&ours, o);
}
