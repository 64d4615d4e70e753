/*
 * pages.c - the index page, and profiles as text
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "runtime/heap.h"
#include "runtime/http.h"
#include "runtime/os.h"
#include "runtime/profiles.h"
#include "runtime/runtime.h"
#include "runtime/stacks.h"

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
	{ "mutex", "Stack traces of holders of contended mutexes" },
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
	for (const struct sonde__kind *k = sonde__kinds; k->name; k++)
		if (strcmp(k->name, name) == 0)
			return sonde__kind_count(k);
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
	add_note(b, "The runtime is off: ", sonde__why_off(SONDE__ALL));
	add_note(b, "The heap profile is off: ", sonde__why_off(SONDE__HEAP));
	add_note(b, "The CPU profile is off: ", sonde__why_off(SONDE__CPU));
	add_note(b, "Unwinding is off: ", sonde__why_off(SONDE__UNWIND));
	if (!sonde__heap_allocator())
		add_note(b, "",
			 "The program's allocator is not reached by our hooks: its memory is "
			 "not in the heap profile.");
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

static void add_frame(struct sonde__buf *b, uint64_t pc)
{
	uint64_t start = 0;
	const char *name = sonde__name(pc, &start);

	sonde__buf_format(b, "#\t0x%llx\t", (unsigned long long)pc);
	if (name) {
		sonde__buf_text(b, name);
		sonde__buf_format(b, "+0x%llx", (unsigned long long)(pc - start));
	}
	sonde__buf_text(b, "\n");
}

static void add_stack(struct sonde__buf *b, uint32_t id)
{
	const struct sonde__stack *st = sonde__stack(id);
	size_t n = st ? st->n : 0;

	for (size_t i = 0; i < n; i++)
		sonde__buf_format(b, " 0x%llx", (unsigned long long)st->pcs[i]);
	sonde__buf_text(b, "\n");
	for (size_t i = 0; i < n; i++)
		add_frame(b, st->pcs[i] - (i > 0 || !st->leaf_is_pc));
	sonde__buf_text(b, "\n");
}

static uint64_t live(const struct sonde__heap_row *r)
{
	return r->allocs > r->frees ? r->allocs - r->frees : 0;
}

static void add_counts(struct sonde__buf *b, uint64_t objects, uint64_t bytes, uint64_t allocs,
		       uint64_t alloc_bytes)
{
	sonde__buf_format(b, "%llu: %llu [%llu: %llu] @", (unsigned long long)objects,
			  (unsigned long long)bytes, (unsigned long long)allocs,
			  (unsigned long long)alloc_bytes);
}

/* Raw counts: readers scale them by the rate in the first line. */
static void heap_text(struct sonde__buf *b)
{
	size_t n = 0, mapped = 0;
	struct sonde__heap_row *r = sonde__heap_snapshot(&n, &mapped);
	unsigned long long rate = sonde__heap_rate();
	uint64_t sums[4] = { 0 };

	for (size_t i = 0; i < n; i++) {
		sums[0] += live(&r[i]);
		sums[1] += live(&r[i]) * r[i].size;
		sums[2] += r[i].allocs;
		sums[3] += r[i].allocs * r[i].size;
	}
	sonde__buf_text(b, "heap profile: ");
	add_counts(b, sums[0], sums[1], sums[2], sums[3]);
	sonde__buf_format(b, " heap/%llu\n", 2 * rate);
	for (size_t i = 0; i < n; i++) {
		add_counts(b, live(&r[i]), live(&r[i]) * r[i].size, r[i].allocs,
			   r[i].allocs * r[i].size);
		add_stack(b, r[i].stack);
	}
	sonde__unmap(r, mapped);
}

void sonde__profile_text(struct sonde__buf *b, const struct sonde__kind *k)
{
	if (k->heap)
		heap_text(b);
	else if (strcmp(k->name, "mutex") == 0)
		sonde__buf_text(b, "--- mutex:\ncycles/second=1000000000\nsampling period=0\n");
	else if (strcmp(k->name, "block") == 0)
		sonde__buf_text(b, "--- contention:\ncycles/second=1000000000\n");
	else
		sonde__buf_format(b, "%s profile: total 0\n", k->name);
}
