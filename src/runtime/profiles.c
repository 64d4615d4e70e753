/*
 * profiles.c - the profiles there are, and how they are taken
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "runtime/profiles.h"

#include "runtime/cpu.h"
#include "runtime/heap.h"
#include "runtime/http.h"
#include "runtime/os.h"
#include "runtime/runtime.h"
#include "runtime/unwind.h"

#include <errno.h>
#include <string.h>

#define BINARY "Content-Type: application/octet-stream\r\nX-Content-Type-Options: nosniff\r\n"

static const uint64_t second = 1000000000;
enum { SECONDS_MAX = 1000000000, CPU_SECONDS = 30 };

#define HEAP_TYPES                                                                                 \
	{                                                                                          \
		{ "alloc_objects", "count" }, { "alloc_space", "bytes" },                          \
			{ "inuse_objects", "count" }, { "inuse_space", "bytes" },                  \
	}
#define CONTENTION_TYPES                                                                           \
	{                                                                                          \
		{ "contentions", "count" }, { "delay", "nanoseconds" },                            \
	}

const struct sonde__kind sonde__kinds[] = {
	{ "allocs", HEAP_TYPES, 4, { "space", "bytes" }, "alloc_space", true },
	{ "block", CONTENTION_TYPES, 2, { "contentions", "count" }, NULL, false },
	{ "goroutine", { { "goroutine", "count" } }, 1, { "goroutine", "count" }, NULL, false },
	{ "heap", HEAP_TYPES, 4, { "space", "bytes" }, NULL, true },
	{ "mutex", CONTENTION_TYPES, 2, { "contentions", "count" }, NULL, false },
	{ "threadcreate",
	  { { "threadcreate", "count" } },
	  1,
	  { "threadcreate", "count" },
	  NULL,
	  false },
	{ 0 },
};

static const struct sonde__kind *find_kind(const char *name)
{
	for (const struct sonde__kind *k = sonde__kinds; k->name; k++)
		if (strcmp(k->name, name) == 0)
			return k;
	return NULL;
}

size_t sonde__kind_count(const struct sonde__kind *k)
{
	size_t n = 0, mapped = 0;
	void *rows;

	if (!k->heap)
		return 0;
	rows = sonde__heap_snapshot(&n, &mapped);
	sonde__unmap(rows, mapped);
	return n;
}

static void add_heap(struct sonde__output *o)
{
	size_t n = 0, mapped = 0;
	struct sonde__heap_row *rows = sonde__heap_snapshot(&n, &mapped);

	for (size_t i = 0; i < n; i++) {
		const struct sonde__heap_row *r = &rows[i];
		struct sonde__label size = { .key = "bytes", .number = (int64_t)r->size };
		int64_t v[SONDE__TYPES];

		sonde__heap_scale(r, v);
		sonde__output_add(o, r->stack, v, &size, 1);
	}
	sonde__unmap(rows, mapped);
}

static void comment_off(struct sonde__output *o, enum sonde__part part, const char *what)
{
	const char *why = sonde__why_off(part);
	char line[256];

	if (!why)
		return;
	sonde__format(line, sizeof(line), "sonde: %s off: %s", what, why);
	sonde__output_comment(o, line);
}

static void comment_count(struct sonde__output *o, uint64_t n, const char *what)
{
	char line[128];

	if (n == 0)
		return;
	sonde__format(line, sizeof(line), "sonde: %llu %s", (unsigned long long)n, what);
	sonde__output_comment(o, line);
}

/* What a reader must know to trust the numbers. */
static void comment(struct sonde__output *o, bool heap, bool cpu)
{
	comment_off(o, SONDE__ALL, "the runtime is");
	comment_off(o, SONDE__UNWIND, "unwinding is");
	if (heap) {
		comment_off(o, SONDE__HEAP, "the heap profile is");
		if (!sonde__heap_allocator())
			sonde__output_comment(o, "sonde: the program's allocator is not reached by "
						 "our hooks: its memory is not in this profile");
		comment_count(o, atomic_load(&sonde__stats.heap_lost), "samples lost");
		comment_count(o, atomic_load(&sonde__stats.stacks_lost),
			      "stacks lost, their table is full");
	}
	if (cpu)
		comment_off(o, SONDE__CPU, "the CPU profile is");
	if (heap || cpu)
		comment_count(o, atomic_load(&sonde__stats.truncated),
			      "stacks cut at the root since the start, they were too deep");
}

static bool wants_names(const struct sonde__request *rq)
{
	char value[8];

	return !sonde__param(rq, "symbolize", value, sizeof(value)) || strcmp(value, "0") != 0;
}

static struct sonde__output *collect(const struct sonde__kind *k, const struct sonde__request *rq)
{
	struct sonde__output_head head = {
		.ntypes = k->ntypes,
		.period_type = k->period_type,
		.period = k->heap ? (int64_t)sonde__heap_rate() : 1,
		.default_type = k->default_type,
		.time = sonde__wall(),
		.symbolize = wants_names(rq),
		.hide_allocator = k->heap,
	};
	struct sonde__output *o;

	memcpy(head.types, k->types, sizeof(head.types));
	sonde__modules_refresh();
	o = sonde__output_new(&head);
	if (!o)
		return NULL;
	if (k->heap)
		add_heap(o);
	comment(o, k->heap, false);
	if (!k->heap)
		sonde__output_comment(o, "sonde: this profile is not supported yet: it is empty");
	return o;
}

static void respond_profile(struct sonde__job *job, struct sonde__output *o, const char *name,
			    const char *delta)
{
	struct sonde__buf body = { 0 };
	char headers[256];

	body.p = (char *)sonde__output_finish(o, &body.n, &body.cap);
	sonde__output_free(o);
	if (!body.p) {
		sonde__respond_error(&job->rs, 500, "failed to collect profile");
		return;
	}
	sonde__format(headers, sizeof(headers),
		      "Content-Disposition: attachment; filename=\"%s%s\"\r\n" BINARY, name, delta);
	sonde__respond(&job->rs, 200, headers, &body);
}

static void take(struct sonde__job *job)
{
	struct sonde__output *o = collect(job->kind, &job->rq);

	if (o)
		respond_profile(job, o, job->kind->name, "");
	else
		sonde__respond_error(&job->rs, 500, "failed to collect profile");
}

static void drop_delta(struct sonde__job *job)
{
	sonde__output_free(job->before);
	job->before = NULL;
}

static void finish_delta(struct sonde__job *job)
{
	struct sonde__output *o = collect(job->kind, &job->rq);

	if (!o) {
		drop_delta(job);
		sonde__respond_error(&job->rs, 500, "failed to collect profile");
		return;
	}
	sonde__output_subtract(o, job->before);
	job->before = NULL;
	respond_profile(job, o, job->kind->name, "-delta");
}

static int64_t int_param(const struct sonde__request *rq, const char *key)
{
	char text[64];
	int64_t v;

	sonde__param(rq, key, text, sizeof(text));
	sonde__parse_int(text, &v);
	return v;
}

static void start_delta(struct sonde__job *job, const char *text)
{
	int64_t seconds;

	if (!sonde__parse_int(text, &seconds) || seconds <= 0) {
		sonde__respond_error(&job->rs, 400,
				     "invalid value for \"seconds\" - must be a positive integer");
		return;
	}
	if (int_param(&job->rq, "debug") != 0) {
		sonde__respond_error(&job->rs, 400, "seconds and debug params are incompatible");
		return;
	}
	job->before = collect(job->kind, &job->rq);
	if (!job->before) {
		sonde__respond_error(&job->rs, 500, "failed to collect profile");
		return;
	}
	if (seconds > SECONDS_MAX)
		seconds = SECONDS_MAX;
	job->until = sonde__now() + (uint64_t)seconds * second;
	job->then = finish_delta;
	job->drop = drop_delta;
}

static void respond_text(struct sonde__job *job)
{
	struct sonde__buf body = { 0 };

	sonde__modules_refresh();
	sonde__profile_text(&body, job->kind);
	sonde__names_close();
	sonde__respond(&job->rs, 200,
		       "Content-Type: text/plain; charset=utf-8\r\n"
		       "X-Content-Type-Options: nosniff\r\n",
		       &body);
}

void sonde__profile_named(struct sonde__job *job, const char *name)
{
	char text[64];

	job->kind = find_kind(name);
	if (!job->kind) {
		sonde__respond_error(&job->rs, 404, "Unknown profile");
		return;
	}
	if (sonde__param(&job->rq, "seconds", text, sizeof(text)) && text[0]) {
		start_delta(job, text);
		return;
	}
	if (strcmp(name, "heap") == 0 && int_param(&job->rq, "gc") > 0)
		sonde__heap_reclaim();
	if (int_param(&job->rq, "debug") != 0)
		respond_text(job);
	else
		take(job);
}

/* One CPU profile and one trace at a time. */
static bool cpu_running, tracing;

bool sonde__job_needs_polling(void)
{
	return cpu_running;
}

static void drop_cpu(struct sonde__job *job)
{
	size_t n = 0, mapped = 0;
	unsigned hz = 0;
	void *rows = sonde__cpu_stop(&n, &mapped, &hz);

	(void)job;
	sonde__unmap(rows, mapped);
	cpu_running = false;
}

static struct sonde__output *cpu_output(const struct sonde__job *job, uint64_t duration,
					unsigned hz)
{
	struct sonde__output_head head = {
		.types = { { "samples", "count" }, { "cpu", "nanoseconds" } },
		.ntypes = 2,
		.period_type = { "cpu", "nanoseconds" },
		.period = (int64_t)(second / (hz ? hz : SONDE__CPU_HZ)),
		.time = job->wall,
		.duration = duration,
		.symbolize = wants_names(&job->rq),
	};

	return sonde__output_new(&head);
}

static void finish_cpu(struct sonde__job *job)
{
	uint64_t duration = sonde__now() - job->began;
	size_t n = 0, mapped = 0;
	unsigned hz = 0;
	struct sonde__cpu_row *rows = sonde__cpu_stop(&n, &mapped, &hz);
	struct sonde__output *o = cpu_output(job, duration, hz);
	uint64_t lost = 0;

	cpu_running = false;
	sonde__modules_refresh();
	for (size_t i = 0; i < n && o; i++) {
		int64_t ticks = (int64_t)rows[i].ticks;
		int64_t v[SONDE__TYPES] = { ticks, ticks * (int64_t)(second / (hz ? hz : 1)) };

		lost += rows[i].stack == 0 ? rows[i].ticks : 0;
		sonde__output_add(o, rows[i].stack, v, NULL, 0);
	}
	sonde__unmap(rows, mapped);
	if (!o) {
		sonde__respond_error(&job->rs, 500, "failed to collect profile");
		return;
	}
	comment(o, false, true);
	comment_count(o, lost, "samples lost");
	respond_profile(job, o, "profile", "");
}

static unsigned wanted_hz(const struct sonde__request *rq)
{
	int64_t hz = int_param(rq, "hz");

	if (hz < 1)
		return sonde__agent_config()->cpu_hz;
	return hz > SONDE__CPU_HZ_MAX ? SONDE__CPU_HZ_MAX : (unsigned)hz;
}

static void refuse_cpu(struct sonde__job *job, int rc)
{
	const char *why = sonde__why_off(SONDE__CPU);
	char text[256];

	if (rc == -EBUSY)
		why = "cpu profiling already in use";
	sonde__format(text, sizeof(text), "Could not enable CPU profiling: %s",
		      why ? why : sonde__error_text(-rc));
	sonde__respond_error(&job->rs, 500, text);
}

void sonde__profile_cpu(struct sonde__job *job)
{
	int64_t seconds;
	char text[64];
	int rc;

	sonde__param(&job->rq, "seconds", text, sizeof(text));
	if (!sonde__parse_int(text, &seconds) || seconds <= 0)
		seconds = CPU_SECONDS;
	if (seconds > SECONDS_MAX)
		seconds = SECONDS_MAX;
	sonde__modules_refresh();
	rc = cpu_running ? -EBUSY : sonde__cpu_start(wanted_hz(&job->rq));
	if (rc < 0) {
		refuse_cpu(job, rc);
		return;
	}
	cpu_running = true;
	job->began = sonde__now();
	job->until = job->began + (uint64_t)seconds * second;
	job->then = finish_cpu;
	job->drop = drop_cpu;
}

static void drop_trace(struct sonde__job *job)
{
	(void)job;
	tracing = false;
}

static void finish_trace(struct sonde__job *job)
{
	struct sonde__output *o = cpu_output(job, sonde__now() - job->began, 0);

	tracing = false;
	if (!o) {
		sonde__respond_error(&job->rs, 500, "failed to collect profile");
		return;
	}
	sonde__output_comment(o, "sonde: traces are not supported yet: this is an empty profile");
	respond_profile(job, o, "trace", "");
}

void sonde__profile_trace(struct sonde__job *job)
{
	uint64_t ns;
	char text[64];

	sonde__param(&job->rq, "seconds", text, sizeof(text));
	if (!sonde__parse_seconds(text, &ns) || ns == 0)
		ns = second;
	if (tracing) {
		sonde__respond_error(
			&job->rs, 500,
			"Could not enable tracing: runtime error: tracing is already enabled");
		return;
	}
	tracing = true;
	job->until = sonde__now() + ns;
	job->then = finish_trace;
	job->drop = drop_trace;
}
