/*
 * options.c - everything a person can set, as two tables
 *
 * The help texts are the reference's, word for word: they are printed by "help" and by the
 * usage message, and scripts compare them.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "ui/options.h"

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/gotext.h"
#include "base/out.h"
#include "base/xalloc.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>

static const struct choice sorts[] = {
	{ "cum", "Sort entries based on cumulative weight\n", false },
	{ "flat", "Sort entries based on own weight\n", false },
	{ 0 },
};

static const struct choice granularities[] = {
	{ "functions",
	  "Aggregate at the function level.\n"
	  "Ignores the filename where the function was defined.\n",
	  false },
	{ "filefunctions",
	  "Aggregate at the function level.\n"
	  "Takes into account the filename where the function was defined.\n",
	  false },
	{ "files", "Aggregate at the file level.", false },
	{ "lines", "Aggregate at the source code line level.", false },
	{ "addresses",
	  "Aggregate at the address level.\n"
	  "Includes functions' addresses in the output.\n",
	  false },
	{ 0 },
};

static const struct choice formats[] = {
	{ "text", "Columns for people\n", true },
	{ "json", "Write top, tree, peek and tags as JSON\n", false },
	{ "csv", "Write top, tree, peek and tags as comma-separated values\n", false },
	{ 0 },
};

static const struct choice dialects[] = {
	{ "go1.19", "Dates and units as Go 1.19 prints them\n", true },
	{ "go1.11", "Minutes, as the tools of 2018 print them\n", true },
	{ "modern", "Dates and tags as Go 1.25 prints them\n", true },
	{ 0 },
};

static const struct choice name_levels[] = {
	{ "default", "As the profile and -symbolize=demangle= have them\n", true },
	{ "0", "Everything: return types, parameters, template arguments\n", true },
	{ "1", "Without return types, parameters and suffixes of compilers\n", true },
	{ "2", "Template arguments cut to <…>, import paths to the package\n", true },
	{ "3", "Class::method\n", true },
	{ "4", "The bare name of the function\n", true },
	{ 0 },
};

#define FIELD(member) .offset = offsetof(struct config, member)

/* In the order in which the reference declares them; ours come last. */
const struct option config_options[] = {
	{ "output", OPTION_STRING, VALUE_FILE, FIELD(output), "",
	  .help = "Output filename for file-based outputs\n" },
	{ "call_tree", OPTION_BOOL, VALUE_ANY, FIELD(call_tree), "false", .url = "calltree",
	  .help = "Create a context-sensitive call tree\n"
		  "Treat locations reached through different paths as separate.\n" },
	{ "relative_percentages", OPTION_BOOL, VALUE_ANY, FIELD(relative_percentages), "false",
	  .url = "rel",
	  .help = "Show percentages relative to focused subgraph\n"
		  "If unset, percentages are relative to full graph before focusing\n"
		  "to facilitate comparison with original graph.\n" },
	{ "unit", OPTION_STRING, VALUE_UNIT, FIELD(unit), "minimum", .url = "unit",
	  .help = "Measurement units to display\n"
		  "Scale the sample values to this unit.\n"
		  "For time-based profiles, use seconds, milliseconds, nanoseconds, etc.\n"
		  "For memory profiles, use megabytes, kilobytes, bytes, etc.\n"
		  "Using auto will scale each value independently to the most natural unit.\n" },
	{ "compact_labels", OPTION_BOOL, VALUE_ANY, FIELD(compact_labels), "false",
	  .url = "compact", .help = "Show minimal headers" },
	{ "source_path", OPTION_STRING, VALUE_DIR, FIELD(source_path), "",
	  .help = "Search path for source files" },
	{ "trim_path", OPTION_STRING, VALUE_DIR, FIELD(trim_path), "",
	  .help = "Path to trim from source paths before search" },
	{ "intel_syntax", OPTION_BOOL, VALUE_ANY, FIELD(intel_syntax), "false", .url = "intel",
	  .help = "Show assembly in Intel syntax\n"
		  "Only applicable to commands `disasm` and `weblist`\n" },
	{ "mean", OPTION_BOOL, VALUE_ANY, FIELD(mean), "false", .url = "mean",
	  .help = "Average sample value over first value (count)\n"
		  "For memory profiles, report average memory per allocation.\n"
		  "For time-based profiles, report average time per event.\n" },
	{ "sample_index", OPTION_STRING, VALUE_SAMPLE_TYPE, FIELD(sample_index), "", .url = "si",
	  .help = "Sample value to report (0-based index or name)\n"
		  "Profiles contain multiple values per sample.\n"
		  "Use sample_index=i to select the ith value (starting at 0).\n" },
	{ "divide_by", OPTION_FLOAT, VALUE_ANY, FIELD(divide_by), "1",
	  .help = "Ratio to divide all samples before visualization\n"
		  "Divide all samples values by a constant, eg the number of processors or "
		  "jobs.\n" },
	{ "normalize", OPTION_BOOL, VALUE_ANY, FIELD(normalize), "false", .url = "norm",
	  .help = "Scales profile based on the base profile.\n" },
	{ "sort", OPTION_CHOICE, VALUE_ANY, FIELD(sort), "flat", sorts, .url = "sort" },
	{ "tagroot", OPTION_STRING, VALUE_ANY, FIELD(tagroot), "", .url = "tagroot",
	  .help = "Adds pseudo stack frames for labels key/value pairs at the callstack root.\n"
		  "A comma-separated list of label keys.\n"
		  "The first key creates frames at the new root.\n" },
	{ "tagleaf", OPTION_STRING, VALUE_ANY, FIELD(tagleaf), "", .url = "tagleaf",
	  .help = "Adds pseudo stack frames for labels key/value pairs at the callstack leaf.\n"
		  "A comma-separated list of label keys.\n"
		  "The last key creates frames at the new leaf.\n" },
	{ "drop_negative", OPTION_BOOL, VALUE_ANY, FIELD(drop_negative), "false", .url = "dropneg",
	  .help = "Ignore negative differences\n"
		  "Do not show any locations with values <0.\n" },
	{ "nodecount", OPTION_INT, VALUE_ANY, FIELD(nodecount), "-1", .url = "n",
	  .help = "Max number of nodes to show\n"
		  "Uses heuristics to limit the number of locations to be displayed.\n"
		  "On graphs, dotted edges represent paths through nodes that have been "
		  "removed.\n" },
	{ "nodefraction", OPTION_FLOAT, VALUE_ANY, FIELD(nodefraction), "0.005", .url = "nf",
	  .help = "Hide nodes below <f>*total" },
	{ "edgefraction", OPTION_FLOAT, VALUE_ANY, FIELD(edgefraction), "0.001", .url = "ef",
	  .help = "Hide edges below <f>*total" },
	{ "trim", OPTION_BOOL, VALUE_ANY, FIELD(trim), "true", .url = "trim",
	  .help = "Honor nodefraction/edgefraction/nodecount defaults\n"
		  "Set to false to get the full profile, without any trimming.\n" },
	{ "focus", OPTION_STRING, VALUE_REGEXP, FIELD(focus), "", .url = "f",
	  .help = "Restricts to samples going through a node matching regexp\n"
		  "Discard samples that do not include a node matching this regexp.\n"
		  "Matching includes the function name, filename or object name.\n" },
	{ "ignore", OPTION_STRING, VALUE_REGEXP, FIELD(ignore), "", .url = "i",
	  .help = "Skips paths going through any nodes matching regexp\n"
		  "If set, discard samples that include a node matching this regexp.\n"
		  "Matching includes the function name, filename or object name.\n" },
	{ "prune_from", OPTION_STRING, VALUE_REGEXP, FIELD(prune_from), "", .url = "prunefrom",
	  .help = "Drops any functions below the matched frame.\n"
		  "If set, any frames matching the specified regexp and any frames\n"
		  "below it will be dropped from each sample.\n" },
	{ "hide", OPTION_STRING, VALUE_REGEXP, FIELD(hide), "", .url = "h",
	  .help = "Skips nodes matching regexp\n"
		  "Discard nodes that match this location.\n"
		  "Other nodes from samples that include this location will be shown.\n"
		  "Matching includes the function name, filename or object name.\n" },
	{ "show", OPTION_STRING, VALUE_REGEXP, FIELD(show), "", .url = "s",
	  .help = "Only show nodes matching regexp\n"
		  "If set, only show nodes that match this location.\n"
		  "Matching includes the function name, filename or object name.\n" },
	{ "show_from", OPTION_STRING, VALUE_REGEXP, FIELD(show_from), "", .url = "sf",
	  .help = "Drops functions above the highest matched frame.\n"
		  "If set, all frames above the highest match are dropped from every sample.\n"
		  "Matching includes the function name, filename or object name.\n" },
	{ "tagfocus", OPTION_STRING, VALUE_ANY, FIELD(tagfocus), "", .url = "tf",
	  .help = "Restricts to samples with tags in range or matched by regexp\n"
		  "Use name=value syntax to limit the matching to a specific tag.\n"
		  "Numeric tag filter examples: 1kb, 1kb:10kb, memory=32mb:\n"
		  "String tag filter examples: foo, foo.*bar, mytag=foo.*bar\n" },
	{ "tagignore", OPTION_STRING, VALUE_ANY, FIELD(tagignore), "", .url = "ti",
	  .help = "Discard samples with tags in range or matched by regexp\n"
		  "Use name=value syntax to limit the matching to a specific tag.\n"
		  "Numeric tag filter examples: 1kb, 1kb:10kb, memory=32mb:\n"
		  "String tag filter examples: foo, foo.*bar, mytag=foo.*bar\n" },
	{ "tagshow", OPTION_STRING, VALUE_ANY, FIELD(tagshow), "", .url = "ts",
	  .help = "Only consider tags matching this regexp\n"
		  "Discard tags that do not match this regexp\n" },
	{ "taghide", OPTION_STRING, VALUE_ANY, FIELD(taghide), "", .url = "th",
	  .help = "Skip tags matching this regexp\n"
		  "Discard tags that match this regexp\n" },
	{ "noinlines", OPTION_BOOL, VALUE_ANY, FIELD(noinlines), "false", .url = "noinlines",
	  .help = "Ignore inlines.\n"
		  "Attributes inlined functions to their first out-of-line caller.\n" },
	{ "granularity", OPTION_CHOICE, VALUE_ANY, FIELD(granularity), "functions", granularities,
	  .url = "g" },

	{ "showcolumns", OPTION_BOOL, VALUE_ANY, FIELD(showcolumns), "false", .url = "showcolumns",
	  .ours = true, .help = "Show column numbers at the source code line level.\n" },
	{ "format", OPTION_CHOICE, VALUE_ANY, FIELD(format), "text", formats, .ours = true },
	{ "dialect", OPTION_CHOICE, VALUE_ANY, FIELD(dialect), "go1.19", dialects, .ours = true,
	  .help = "Whose dates and units to print: go1.19, go1.11 or modern\n"
		  "go1.19: Time: Oct 16, 2018 at 11:14am (UTC), no minutes.\n"
		  "go1.11: the same, and minutes: 4.09mins.\n"
		  "modern: Time: 2018-10-16 11:14:33 UTC, tags with percentages of the total.\n" },
	{ "layout_timeout", OPTION_INT, VALUE_ANY, FIELD(layout_timeout), "300", .ours = true,
	  .help = "Seconds to wait for Graphviz to lay out a graph\n"
		  "0 waits for as long as it takes.\n" },
	{ "names", OPTION_CHOICE, VALUE_ANY, FIELD(names), "default", name_levels, .url = "names",
	  .ours = true,
	  .help = "How much of the names of functions to cut: 0 to 4\n"
		  "0: Nothing: return types, parameters and template arguments are shown.\n"
		  "1: Return types, parameters and suffixes such as .cold are cut, and what is\n"
		  "   inside of libraries is folded: std::vector<std::string>::push_back.\n"
		  "2: Template arguments, too: std::vector<…>::push_back.  So are anonymous\n"
		  "   namespaces, and the path of a Go package: json.(*Decoder).Decode.\n"
		  "3: All but class and function: vector::push_back, (*Decoder).Decode.\n"
		  "4: All but the function: push_back, Decode.\n"
		  "default: Names are as the profile and -symbolize=demangle= have them.\n"
		  "Functions that get the same name are added up; see merge_names.\n"
		  "Filters match a function by either name.\n" },
	{ "merge_names", OPTION_BOOL, VALUE_ANY, FIELD(merge_names), "true", .ours = true,
	  .help = "Add up functions that get the same name by -names\n"
		  "If false, they keep as much of their names as it takes to tell them apart.\n" },
	{ 0 },
};

#undef FIELD
#define FIELD(member) .offset = offsetof(struct source_options, member)

const struct option source_flags[] = {
	{ "seconds", OPTION_INT, VALUE_ANY, FIELD(seconds), "-1",
	  .help = "Duration for time-based profile collection" },
	{ "timeout", OPTION_INT, VALUE_ANY, FIELD(timeout), "-1",
	  .help = "Timeout in seconds for profile collection" },
	{ "buildid", OPTION_STRING, VALUE_ANY, FIELD(build_id), "",
	  .help = "Override build id for main binary" },
	{ "add_comment", OPTION_STRING, VALUE_ANY, FIELD(comment), "",
	  .help = "Free-form annotation to add to the profile\n"
		  "Displayed on some reports or with pprof -comments" },
	{ "diff_base", OPTION_STRING, VALUE_FILE, FIELD(diff_base_source), "",
	  .help = "Source of base profile for comparison" },
	{ "base", OPTION_STRING, VALUE_FILE, FIELD(plain_base), "",
	  .help = "Source of base profile for profile subtraction" },
	{ "symbolize", OPTION_STRING, VALUE_SYMBOLIZE, FIELD(symbolize), "",
	  .help = "Controls source of symbol information\n"
		  "none, local, fastlocal, remote, force, demangle=none|full|templates|default,\n"
		  "with colons between them." },
	{ "tls_cert", OPTION_STRING, VALUE_FILE, FIELD(tls_cert), "",
	  .help = "TLS client certificate file for fetching profile and symbols" },
	{ "tls_key", OPTION_STRING, VALUE_FILE, FIELD(tls_key), "",
	  .help = "TLS private key file for fetching profile and symbols" },
	{ "tls_ca", OPTION_STRING, VALUE_FILE, FIELD(tls_ca), "",
	  .help = "TLS CA certs file for fetching profile and symbols" },
	{ "http", OPTION_STRING, VALUE_ANY, FIELD(http), "",
	  .help = "Provide web interface at host:port.\n"
		  "Host is optional and 'localhost' by default.\n"
		  "Port is optional and a randomly available port by default." },
	{ "no_browser", OPTION_BOOL, VALUE_ANY, FIELD(no_browser), "false",
	  .help = "Skip opening a browser for the interactive web UI." },
	{ "tools", OPTION_STRING, VALUE_ANY, FIELD(tools), "",
	  .help = "Search path for object tools" },
	{ "inuse_space", OPTION_BOOL, VALUE_ANY, FIELD(inuse_space), "false",
	  .help = "Same as -sample_index=inuse_space" },
	{ "inuse_objects", OPTION_BOOL, VALUE_ANY, FIELD(inuse_objects), "false",
	  .help = "Same as -sample_index=inuse_objects" },
	{ "alloc_space", OPTION_BOOL, VALUE_ANY, FIELD(alloc_space), "false",
	  .help = "Same as -sample_index=alloc_space" },
	{ "alloc_objects", OPTION_BOOL, VALUE_ANY, FIELD(alloc_objects), "false",
	  .help = "Same as -sample_index=alloc_objects" },
	{ "total_delay", OPTION_BOOL, VALUE_ANY, FIELD(total_delay), "false",
	  .help = "Same as -sample_index=delay" },
	{ "contentions", OPTION_BOOL, VALUE_ANY, FIELD(contentions), "false",
	  .help = "Same as -sample_index=contentions" },
	{ "mean_delay", OPTION_BOOL, VALUE_ANY, FIELD(mean_delay), "false",
	  .help = "Same as -mean -sample_index=delay" },
	{ "all_frames", OPTION_BOOL, VALUE_ANY, FIELD(all_frames), "false", .ours = true,
	  .help = "Ignore drop_frames and keep_frames of the profile" },
	{ "no_cache", OPTION_BOOL, VALUE_ANY, FIELD(no_cache), "false", .ours = true,
	  .help = "Keep no names and lines of binaries for the next time, and use none kept" },
	{ 0 },
};

void option_get(const struct option *o, const void *base, struct out *to)
{
	const void *m = option_member(o, base);

	switch (o->type) {
	case OPTION_BOOL:
		out_text(to, *(const bool *)m ? "true" : "false");
		break;
	case OPTION_INT:
		out_i64(to, *(const int *)m);
		break;
	case OPTION_FLOAT:
		go_float(to, *(const double *)m);
		break;
	case OPTION_STRING:
	case OPTION_CHOICE:
		out_text(to, *(const char *const *)m);
		break;
	}
}

/* Wider than a flag's: an empty value is true. */
static int parse_switch(struct str s, bool *v, struct err *err)
{
	static const char *const words[] = { "true", "t", "yes", "y", "1", "" };
	static const char *const not_words[] = { "false", "f", "no", "n", "0" };

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		*v = s.n == strlen(words[i]) && strncasecmp(s.p, words[i], s.n) == 0;
		if (*v)
			return 0;
	}
	for (size_t i = 0; i < sizeof(not_words) / sizeof(not_words[0]); i++) {
		if (s.n == strlen(not_words[i]) && strncasecmp(s.p, not_words[i], s.n) == 0)
			return 0;
	}
	return err_set(err, -EINVAL, "illegal value \"%.*s\" for bool variable", STR_ARG(s));
}

int option_check(const struct option *o, struct str value, struct err *err)
{
	char name[64], quoted[2048];

	if (o->type != OPTION_CHOICE)
		return 0;
	for (const struct choice *c = o->choices; c->name; c++) {
		if (str_is(value, c->name))
			return 0;
	}
	return err_set(err, -EINVAL, "invalid %s value %s",
		       go_quoted(str_of(o->name), name, sizeof(name)),
		       go_quoted(value, quoted, sizeof(quoted)));
}

/* Numbers of nodes and seconds: what does not fit means the same as the largest that does. */
static int clamp(int64_t v)
{
	return v > INT_MAX ? INT_MAX : v < INT_MIN ? INT_MIN : (int)v;
}

int option_set(const struct option *o, void *base, struct str value, struct arena *a,
	       struct err *err)
{
	void *m = option_member(o, base);
	int64_t i = 0;
	double d = 0;
	bool b = false;
	int rc = 0;

	switch (o->type) {
	case OPTION_BOOL:
		rc = parse_switch(value, &b, err);
		if (rc == 0)
			*(bool *)m = b;
		return rc;
	case OPTION_INT:
		rc = go_atoi(value, &i, err);
		if (rc == 0)
			*(int *)m = clamp(i);
		return rc;
	case OPTION_FLOAT:
		rc = go_parse_float(value, &d, err);
		if (rc == 0)
			*(double *)m = d;
		return rc;
	case OPTION_CHOICE:
		rc = option_check(o, value, err);
		break;
	case OPTION_STRING:
		break;
	}
	if (rc == 0)
		*(const char **)m = xarena_str(a, value).p;
	return rc;
}

bool option_is_default(const struct option *o, const void *base)
{
	struct out now;
	bool same;

	out_init(&now, 0);
	option_get(o, base, &now);
	same = str_is(out_view(&now), o->def);
	out_release(&now);
	return same;
}

void config_init(struct config *cfg)
{
	*cfg = (struct config){ 0 };
	for (const struct option *o = config_options; o->name; o++) {
		if (o->type == OPTION_STRING || o->type == OPTION_CHOICE)
			*(const char **)option_member(o, cfg) = o->def;
		else
			option_set(o, cfg, str_of(o->def), NULL, NULL);
	}
}

void source_options_init(struct source_options *so)
{
	const char *tools = getenv("PPROF_TOOLS");

	*so = (struct source_options){ .exec_name = "", .base = "" };
	for (const struct option *o = source_flags; o->name; o++) {
		if (o->type == OPTION_STRING)
			*(const char **)option_member(o, so) = o->def;
		else
			option_set(o, so, str_of(o->def), NULL, NULL);
	}
	so->tools = tools ? tools : "";
}

const struct option *option_find(struct str name, const struct choice **choice)
{
	*choice = NULL;
	for (const struct option *o = config_options; o->name; o++) {
		if (str_is(name, o->name))
			return o;
	}
	for (const struct option *o = config_options; o->name; o++) {
		for (const struct choice *c = o->choices; c && c->name; c++) {
			if (choice_is_flag(c) && str_is(name, c->name)) {
				*choice = c;
				return o;
			}
		}
	}
	return NULL;
}

bool option_is_switch(struct str name)
{
	const struct choice *choice;
	const struct option *o = option_find(name, &choice);

	return o && (choice || o->type == OPTION_BOOL);
}

int config_assign(struct config *cfg, struct str name, struct str value, struct arena *a,
		  struct err *err)
{
	const struct choice *choice;
	const struct option *o = option_find(name, &choice);
	char quoted[2048];
	bool on = false;

	if (o && !choice)
		return option_set(o, cfg, value, a, err);
	if (o && go_parse_bool(value, &on, NULL) == 0 && on)
		return option_set(o, cfg, str_of(choice->name), a, err);
	return err_set(err, -EINVAL, "unknown config field %s",
		       go_quoted(name, quoted, sizeof(quoted)));
}

const char *option_help(struct str name)
{
	const struct choice *choice;
	const struct option *o = option_find(name, &choice);

	if (!o)
		return NULL;
	return choice ? choice->help : o->help;
}

bool option_is_flag(const struct option *o)
{
	for (const struct choice *c = o->choices; c && c->name; c++) {
		if (choice_is_flag(c))
			return false;
	}
	return true;
}
