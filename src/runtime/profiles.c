/*
 * profiles.c - the profiles there are, and how they are taken
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "runtime/profiles.h"

#include "runtime/http.h"
#include "runtime/memstats.h"
#include "runtime/os.h"
#include "runtime/unwind.h"

#include <string.h>

#define BINARY "Content-Type: application/octet-stream\r\nX-Content-Type-Options: nosniff\r\n"

static const uint64_t second = 1000000000;
enum { SECONDS_MAX = 1000000000 };

const struct sonde__kind *const sonde__kinds[] = {
	&sonde__kind_allocs,       &sonde__kind_block,   &sonde__kind_goroutine,
	&sonde__kind_heap,         &sonde__kind_mutex,   &sonde__kind_peak,
	&sonde__kind_threadcreate, &sonde__kind_threads, NULL,
};

static const struct sonde__kind *find_kind(const char *name)
{
	for (size_t i = 0; sonde__kinds[i]; i++)
		if (strcmp(sonde__kinds[i]->name, name) == 0)
			return sonde__kinds[i];
	return NULL;
}

void sonde__comment_off(struct sonde__output *o, enum sonde__part part, const char *what)
{
	const char *why = sonde__why_off(part);
	char line[256];

	if (!why)
		return;
	sonde__format(line, sizeof(line), "sonde: %s off: %s", what, why);
	sonde__output_comment(o, line);
}

void sonde__comment_count(struct sonde__output *o, uint64_t n, const char *what)
{
	char line[128];

	if (n == 0)
		return;
	sonde__format(line, sizeof(line), "sonde: %llu %s", (unsigned long long)n, what);
	sonde__output_comment(o, line);
}

void sonde__comment_labels(struct sonde__output *o)
{
	sonde__comment_count(o, atomic_load(&sonde__stats.labels_lost),
			     "labels not set since the start, there were too many different ones");
}

bool sonde__wants_names(const struct sonde__request *rq)
{
	char value[8];

	return !sonde__param(rq, "symbolize", value, sizeof(value)) || strcmp(value, "0") != 0;
}

static struct sonde__output *collect_for(const struct sonde__kind *k,
					 const struct sonde__request *rq,
					 bool (*sink)(const void *bytes, size_t n))
{
	struct sonde__output_head head = {
		.ntypes = k->ntypes,
		.period_type = k->period_type,
		.period = k->period ? (int64_t)k->period() : 1,
		.default_type = k->default_type,
		.time = sonde__wall(),
		.symbolize = sonde__wants_names(rq),
		.sink = sink,
		.hide_allocator = k->hide_allocator,
	};
	struct sonde__output *o;

	memcpy(head.types, k->types, sizeof(head.types));
	sonde__modules_refresh();
	o = sonde__output_new(&head);
	if (!o)
		return NULL;
	sonde__comment_off(o, SONDE__ALL, "the runtime is");
	sonde__comment_off(o, SONDE__UNWIND, "unwinding is");
	k->add(o, rq);
	sonde__comment_labels(o);
	return o;
}

static struct sonde__output *collect(const struct sonde__kind *k, const struct sonde__request *rq)
{
	return collect_for(k, rq, NULL);
}

bool sonde__profile_stream(const struct sonde__kind *k, bool names,
			   bool (*sink)(const void *bytes, size_t n))
{
	struct sonde__request rq = { .method = "GET", .query = names ? "" : "symbolize=0" };
	struct sonde__output *o = collect_for(k, &rq, sink);
	bool complete = o && sonde__output_drain(o);

	sonde__output_free(o);
	return complete;
}

void sonde__respond_profile(struct sonde__job *job, struct sonde__output *o, const char *name,
			    const char *delta)
{
	struct sonde__buf body = { 0 };
	char headers[256];

	if (o) {
		body.p = (char *)sonde__output_finish(o, &body.n, &body.cap);
		sonde__output_free(o);
	}
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
	sonde__respond_profile(job, collect(job->kind, &job->rq), job->kind->name, "");
}

static void close_window(struct sonde__job *job)
{
	if (job->window)
		job->kind->close(job->window);
	job->window = 0;
}

static void drop_delta(struct sonde__job *job)
{
	close_window(job);
	sonde__output_free(job->before);
	job->before = NULL;
}

static void finish_delta(struct sonde__job *job)
{
	struct sonde__output *o = collect(job->kind, &job->rq);

	close_window(job);
	if (!o) {
		drop_delta(job);
		sonde__respond_profile(job, NULL, job->kind->name, "-delta");
		return;
	}
	sonde__output_subtract(o, job->before);
	job->before = NULL;
	sonde__respond_profile(job, o, job->kind->name, "-delta");
}

int64_t sonde__int_param(const struct sonde__request *rq, const char *key)
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
	if (sonde__int_param(&job->rq, "debug") != 0) {
		sonde__respond_error(&job->rs, 400, "seconds and debug params are incompatible");
		return;
	}
	if (job->kind->open)
		job->window = job->kind->open(&job->rq);
	job->before = collect(job->kind, &job->rq);
	if (!job->before) {
		close_window(job);
		sonde__respond_profile(job, NULL, job->kind->name, "-delta");
		return;
	}
	if (seconds > SECONDS_MAX)
		seconds = SECONDS_MAX;
	job->until = sonde__now() + (uint64_t)seconds * second;
	job->then = finish_delta;
	job->drop = drop_delta;
}

static void respond_text(struct sonde__job *job, int64_t debug)
{
	struct sonde__buf body = { 0 };

	sonde__modules_refresh();
	job->kind->text(&body, &job->rq, debug);
	sonde__names_close();
	sonde__respond(&job->rs, 200,
		       "Content-Type: text/plain; charset=utf-8\r\n"
		       "X-Content-Type-Options: nosniff\r\n",
		       &body);
}

void sonde__profiles_forget(void)
{
	sonde__profile_cpu_forget();
	sonde__profile_trace_forget();
}

void sonde__profile_named(struct sonde__job *job, const char *name)
{
	char text[64];
	int64_t debug;

	job->kind = find_kind(name);
	if (!job->kind) {
		sonde__respond_error(&job->rs, 404, "Unknown profile");
		return;
	}
	if (sonde__param(&job->rq, "seconds", text, sizeof(text)) && text[0]) {
		start_delta(job, text);
		return;
	}
	if (strcmp(name, "heap") == 0 && sonde__int_param(&job->rq, "gc") > 0)
		sonde__memstats_collect();
	debug = sonde__int_param(&job->rq, "debug");
	if (debug != 0)
		respond_text(job, debug);
	else
		take(job);
}
