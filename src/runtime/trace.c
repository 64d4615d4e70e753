/*
 * trace.c - what threads do over some time, as JSON that Perfetto and chrome://tracing open
 *
 * Two groups of tracks, "processes" in that format: what each thread was seen doing
 * (trace-threads.c), and what it waited for, as the hooks told (trace-events.c).  They are apart
 * because the second is exact and the first is not: on one track they would not nest.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "runtime/trace.h"

#include "runtime/contention.h"
#include "runtime/http.h"
#include "runtime/os.h"
#include "runtime/profiles.h"
#include "runtime/stacks.h"
#include "runtime/unwind.h"

static const uint64_t second = 1000000000;
enum { FRAMES = 16 }; /* of a stack, in an event */

/* One at a time. */
static bool tracing;

void sonde__trace_text(struct sonde__buf *b, const char *text)
{
	sonde__buf_text(b, "\"");
	for (; *text; text++) {
		unsigned char c = (unsigned char)*text;

		if (c == '"' || c == '\\')
			sonde__buf_format(b, "\\%c", (int)c);
		else if (c < ' ' || c >= 0x7f)
			sonde__buf_text(b, "?");
		else
			sonde__buf_add(b, text, 1);
	}
	sonde__buf_text(b, "\"");
}

void sonde__trace_event_head(struct sonde__buf *b, const char *name, int pid, int tid,
			     uint64_t begin, uint64_t end)
{
	uint64_t dur = end - begin;

	sonde__buf_format(b,
			  "{\"ph\":\"X\",\"pid\":%d,\"tid\":%d,\"ts\":%llu.%03llu,"
			  "\"dur\":%llu.%03llu,\"name\":\"%s\"",
			  pid, tid, (unsigned long long)(begin / 1000),
			  (unsigned long long)(begin % 1000), (unsigned long long)(dur / 1000),
			  (unsigned long long)(dur % 1000), name);
}

static void write_stack(struct sonde__buf *b, uint32_t id)
{
	const struct sonde__stack *st = id ? sonde__stack(id) : NULL;
	char address[24];

	if (!st)
		return;
	sonde__buf_text(b, ",\"stack\":[");
	for (size_t i = 0; i < st->n && i < FRAMES; i++) {
		const char *name = sonde__name(st->pcs[i] - 1, NULL);

		sonde__format(address, sizeof(address), "0x%llx",
			      (unsigned long long)st->pcs[i] - 1);
		sonde__buf_text(b, i > 0 ? "," : "");
		sonde__trace_text(b, name ? name : address);
	}
	sonde__buf_text(b, "]");
}

static const char *wait_name(unsigned kind)
{
	static const char *const names[SONDE__WAITS] = {
		[SONDE__WAIT_MUTEX] = "mutex",
		[SONDE__WAIT_READ] = "rwlock (read)",
		[SONDE__WAIT_WRITE] = "rwlock (write)",
		[SONDE__WAIT_SPIN] = "spinlock",
		[SONDE__WAIT_COND] = "condition",
		[SONDE__WAIT_SEM] = "semaphore",
		[SONDE__WAIT_BARRIER] = "barrier",
		[SONDE__WAIT_JOIN] = "join",
		[SONDE__WAIT_ONCE] = "once",
	};

	return kind < SONDE__WAITS && names[kind] ? names[kind] : "wait";
}

/* What began before the trace is drawn from its beginning on. */
static void write_waits(struct sonde__buf *b, uint64_t zero)
{
	for (size_t i = 0; i < sonde__trace_events(); i++) {
		const struct sonde__trace_event *e = sonde__trace_event(i);
		uint64_t begin = e ? atomic_load(&e->begin) : 0, end = e ? atomic_load(&e->end) : 0;

		begin = begin < zero ? zero : begin;
		if (!e || end <= begin)
			continue;
		sonde__trace_event_head(b, wait_name(atomic_load(&e->kind)), SONDE__TRACE_WAITS,
					atomic_load(&e->tid), begin - zero, end - zero);
		sonde__buf_format(b, ",\"args\":{\"object\":\"0x%llx\"",
				  (unsigned long long)atomic_load(&e->object));
		write_stack(b, atomic_load(&e->stack));
		sonde__buf_text(b, "}},\n");
	}
}

static void write_group(struct sonde__buf *b, int group, const char *name)
{
	sonde__buf_format(b,
			  "{\"ph\":\"M\",\"pid\":%d,\"name\":\"process_name\",\"args\":{\"name\":"
			  "\"%s\"}},\n"
			  "{\"ph\":\"M\",\"pid\":%d,\"name\":\"process_sort_index\",\"args\":{"
			  "\"sort_index\":%d}}%s\n",
			  group, name, group, group, group == SONDE__TRACE_THREADS ? "," : "");
}

static void write_trace(struct sonde__buf *b, const struct sonde__job *job)
{
	size_t n;
	const char *program = sonde__cmdline(&n);
	char stamp[32];

	sonde__stamp(job->wall, stamp);
	sonde__buf_text(b, "{\"displayTimeUnit\":\"ms\",\n\"otherData\":{\"program\":");
	sonde__trace_text(b, n ? program : "");
	sonde__buf_format(b,
			  ",\"began\":\"%s\",\"sonde\":\"" SONDE_VERSION
			  "\",\"longest pause between looks, us\":%llu,\"slices lost\":%llu,"
			  "\"lock waits lost\":%llu},\n\"traceEvents\":[\n",
			  stamp, (unsigned long long)sonde__trace_period() / 1000,
			  (unsigned long long)sonde__trace_slices_lost(),
			  (unsigned long long)sonde__trace_lost());
	sonde__trace_write(b, job->began);
	write_waits(b, job->began);
	write_group(b, SONDE__TRACE_THREADS, "threads");
	write_group(b, SONDE__TRACE_WAITS, "lock waits");
	sonde__buf_text(b, "]}\n");
}

static void stop_recording(void)
{
	sonde__trace_end();
	sonde__contention_look();
}

static void drop_trace(struct sonde__job *job)
{
	(void)job;
	tracing = false;
	stop_recording();
	sonde__trace_unwatch();
	sonde__trace_forget();
}

void sonde__profile_trace_forget(void)
{
	tracing = false;
	sonde__trace_end();
	sonde__trace_unwatched();
}

static void finish_trace(struct sonde__job *job)
{
	struct sonde__buf body = { 0 };

	stop_recording();
	sonde__trace_look();
	sonde__modules_refresh();
	write_trace(&body, job);
	sonde__names_close();
	drop_trace(job);
	sonde__respond(&job->rs, 200,
		       "Content-Disposition: attachment; filename=\"trace\"\r\n"
		       "Content-Type: application/octet-stream\r\n"
		       "X-Content-Type-Options: nosniff\r\n",
		       &body);
}

static void refuse(struct sonde__job *job, const char *why)
{
	char text[160];

	sonde__format(text, sizeof(text), "Could not enable tracing: %s", why);
	sonde__respond_error(&job->rs, 500, text);
}

void sonde__profile_trace(struct sonde__job *job)
{
	uint64_t ns;
	char text[64];

	sonde__param(&job->rq, "seconds", text, sizeof(text));
	if (!sonde__parse_seconds(text, &ns) || ns == 0)
		ns = second;
	if (tracing) {
		refuse(job, "runtime error: tracing is already enabled");
		return;
	}
	job->began = sonde__now();
	tracing = sonde__trace_watch() && sonde__trace_record();
	if (!tracing) {
		drop_trace(job);
		refuse(job, "out of memory");
		return;
	}
	sonde__contention_look();
	job->until = job->began + ns;
	job->then = finish_trace;
	job->drop = drop_trace;
}
