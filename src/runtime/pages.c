/*
 * pages.c - the index page
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "runtime/heap.h"
#include "runtime/os.h"
#include "runtime/profiles.h"
#include "runtime/runtime.h"

#include <string.h>

static const char page_head[] =
	"<html>\n<head>\n<title>/debug/pprof/</title>\n<style>\n.profile-name{\n"
	"\tdisplay:inline-block;\n\twidth:6rem;\n}\n</style>\n</head>\n<body>\n"
	"/debug/pprof/<br>\n<br>\nTypes of profiles available:\n<table>\n"
	"<thead><td>Count</td><td>Profile</td></thead>\n";

static const char page_middle[] =
	"</table>\n<a href=\"goroutine?debug=2\">full goroutine stack dump</a>\n<br>\n<p>\n"
	"Profile Descriptions:\n<ul>\n";

static const char page_tail[] = "</ul>\n</p>\n";

/* By name, as the page lists them. */
static const struct {
	const char *name, *what;
} rows[] = {
	{ "allocs", "A sampling of all past memory allocations" },
	{ "block", "Stack traces that led to blocking on synchronization primitives" },
	{ "cmdline", "The command line invocation of the current program" },
	{ "goroutine", "Stack traces of all current threads" },
	{ "heap", "A sampling of memory allocations of live objects. You can specify the gc GET "
		  "parameter to give back what allocators keep before taking the heap sample." },
	{ "memstats", "Memory statistics in the words of Go's runtime.MemStats, as JSON" },
	{ "mutex", "Stack traces of holders of contended mutexes" },
	{ "peak", "The heap when there was most of it" },
	{ "profile",
	  "CPU profile. You can specify the duration in the seconds GET parameter, and "
	  "the rate in hz. After you get the profile file, use the go tool pprof command "
	  "to investigate the profile." },
	{ "threadcreate", "Stack traces that led to the creation of new OS threads" },
	{ "trace", "A trace of execution of the current program. You can specify the duration in "
		   "the seconds GET parameter." },
};
enum { NROWS = sizeof(rows) / sizeof(rows[0]) };

static size_t count_of(const char *name)
{
	for (size_t i = 0; sonde__kinds[i]; i++)
		if (strcmp(sonde__kinds[i]->name, name) == 0)
			return sonde__kinds[i]->count();
	return 0;
}

static void add_note(struct sonde__buf *b, const char *what, const char *why)
{
	if (!why)
		return;
	sonde__buf_text(b, "<p>");
	sonde__buf_html(b, what);
	sonde__buf_html(b, why);
	sonde__buf_text(b, "</p>\n");
}

/* What is off, and why: nobody should look at an empty profile and wonder. */
static void add_notes(struct sonde__buf *b)
{
	bool hooked = sonde__heap_allocator() != NULL;
	char line[256];

	add_note(b, "The runtime is off: ", sonde__why_off(SONDE__ALL));
	add_note(b, "The heap profile is off: ", sonde__why_off(SONDE__HEAP));
	add_note(b, "The CPU profile is off: ", sonde__why_off(SONDE__CPU));
	add_note(b, "Unwinding is off: ", sonde__why_off(SONDE__UNWIND));
	add_note(b, "Waits are not all seen: ", sonde__why_off(SONDE__LOCKS));
	if (!hooked)
		add_note(b, "",
			 "The program's allocator is not reached by our hooks: its memory is "
			 "not in the heap profile.");
	else if (sonde__heap_unseen(line, sizeof(line)))
		add_note(b, "Heap: ", line);
}

void sonde__index_page(struct sonde__buf *b)
{
	sonde__buf_text(b, page_head);
	for (size_t i = 0; i < NROWS; i++)
		sonde__buf_format(b, "<tr><td>%zu</td><td><a href='%s?debug=1'>%s</a></td></tr>\n",
				  count_of(rows[i].name), rows[i].name, rows[i].name);
	sonde__buf_text(b, page_middle);
	for (size_t i = 0; i < NROWS; i++)
		sonde__buf_format(b, "<li><div class=profile-name>%s: </div> %s</li>\n",
				  rows[i].name, rows[i].what);
	sonde__buf_text(b, page_tail);
	add_notes(b);
	sonde__buf_text(b, "</body>\n</html>");
}
