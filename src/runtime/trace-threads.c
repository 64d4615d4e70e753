/*
 * trace-threads.c - what threads are seen doing over some time
 *
 * The kernel counts exactly how long each thread has run, and how long it has waited for a CPU.  A
 * look every few milliseconds takes the differences, and what a thread that sleeps is waiting for.
 * So times are right; where in the few milliseconds between two looks a thread ran is not known,
 * and it is drawn at their beginning.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "runtime/buf.h"
#include "runtime/os.h"
#include "runtime/task.h"
#include "runtime/thread-dump.h"
#include "runtime/thread.h"
#include "runtime/trace.h"

#include <string.h>

static const uint64_t ms = 1000000;
enum {
	PERIOD_MS = 5,
	SHARE = 10,   /* one part in so many of the time may be spent looking */
	TICK_MS = 10, /* the time of a thread that runs may be so old */
	THREADS_MAX = 1 << 16,
	SLICES_MAX = 32 << 20, /* bytes */
	LOADS_MAX = 4 << 20,
};

struct track {
	struct sonde__task task; /* as it was at the last look */
	uint64_t at;             /* when that was */
	uint64_t drawn;          /* of its CPU time */
	size_t slice;            /* 1 + number of its last one */
};

struct slice {
	const char *name; /* a literal */
	uint64_t begin, end;
	uint32_t track;
};

/* How many CPUs were in use, in thousandths. */
struct load {
	uint64_t at;
	uint64_t milli;
};

static struct {
	struct sonde__buf tracks, slices, loads;
	struct sonde__index by_tid;
	uint64_t next, last, longest;
	uint64_t cpu; /* used since the last look, by all */
	uint64_t lost;
	bool on;
} watch;

static struct track *track_at(size_t i)
{
	return (struct track *)(void *)watch.tracks.p + i;
}

static struct slice *slice_at(size_t i)
{
	return (struct slice *)(void *)watch.slices.p + i;
}

static void draw(size_t number, const char *name, uint64_t begin, uint64_t end)
{
	struct track *t = track_at(number);
	struct slice *last = t->slice ? slice_at(t->slice - 1) : NULL;
	struct slice *more;

	if (begin >= end)
		return;
	if (last && last->end == begin && strcmp(last->name, name) == 0) {
		last->end = end;
		return;
	}
	more = sonde__buf_more(&watch.slices, sizeof(*more));
	if (!more) {
		watch.lost++;
		return;
	}
	*more = (struct slice){ name, begin, end, (uint32_t)number };
	t->slice = watch.slices.n / sizeof(*more);
}

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* What of the time since the last look it ran. */
static uint64_t time_run(const struct track *t, const struct sonde__task *now, uint64_t span,
			 uint64_t queued)
{
	uint64_t ran = now->cpu > t->drawn ? least(now->cpu - t->drawn, span) : 0;

	/* It still runs, and the kernel has not looked at the clock yet. */
	if (now->state == 'R' && ran > 0 && span - ran < TICK_MS * ms)
		ran = span - least(queued, span);
	return ran;
}

static void draw_span(size_t number, const struct sonde__task *now, uint64_t at)
{
	struct track *t = track_at(number);
	uint64_t span = at - t->at;
	uint64_t queued = now->queued > t->task.queued ? now->queued - t->task.queued : 0;
	uint64_t ran = time_run(t, now, span, queued);

	queued = least(queued, span - ran);
	watch.cpu += now->cpu - least(t->task.cpu, now->cpu);
	draw(number, "running", t->at, t->at + ran);
	draw(number, "runnable", t->at + ran, t->at + ran + queued);
	draw(number, sonde__task_state(now), t->at + ran + queued, at);
	t->drawn += ran;
	if (now->state != 'R')
		t->drawn = now->cpu;
}

static void look_again(size_t number, uint64_t at)
{
	struct track *t = track_at(number);
	struct sonde__task now = t->task;

	if (!sonde__task_times(&now))
		return;
	/* One that has slept all the time does what it did. */
	if ((now.runs == 0 || now.runs != t->task.runs || t->task.state == 'R') &&
	    !sonde__task_read(&now, now.tid))
		return;
	draw_span(number, &now, at);
	t->task = now;
	t->at = at;
}

static uint32_t hash_tid(int tid)
{
	return (uint32_t)tid * 0x9e3779b1u;
}

static void look_at(int tid, void *context)
{
	const uint64_t *at = context;
	uint32_t hash = hash_tid(tid), id;
	struct sonde__task task;
	struct track *more;

	for (size_t i = hash; (id = sonde__index_next(&watch.by_tid, hash, &i)) != 0;)
		if (track_at(id - 1)->task.tid == tid) {
			look_again(id - 1, *at);
			return;
		}
	if (sonde__thread_is_ours(tid) || !sonde__task_read(&task, tid))
		return;
	more = sonde__buf_more(&watch.tracks, sizeof(*more));
	id = (uint32_t)(watch.tracks.n / sizeof(*more));
	if (!more || !sonde__index_put(&watch.by_tid, hash, id))
		return;
	*more = (struct track){ .task = task, .at = *at, .drawn = task.cpu };
}

static void note_load(uint64_t at)
{
	struct load *l = at > watch.last ? sonde__buf_more(&watch.loads, sizeof(*l)) : NULL;

	if (l)
		*l = (struct load){ watch.last, watch.cpu * 1000 / (at - watch.last) };
	watch.cpu = 0;
}

void sonde__trace_look(void)
{
	uint64_t at = sonde__now(), took;

	if (watch.last && at - watch.last > watch.longest)
		watch.longest = at - watch.last;
	sonde__tasks(look_at, &at);
	if (watch.last)
		note_load(at);
	took = sonde__now() - at;
	watch.last = at;
	watch.next = at + (took * SHARE > PERIOD_MS * ms ? took * SHARE : PERIOD_MS * ms);
}

bool sonde__trace_watch(void)
{
	watch.tracks.max = THREADS_MAX * sizeof(struct track);
	watch.slices.max = SLICES_MAX;
	watch.loads.max = LOADS_MAX;
	watch.on = true;
	sonde__trace_look();
	return !watch.tracks.full;
}

uint64_t sonde__trace_next(void)
{
	return watch.on ? watch.next : UINT64_MAX;
}

void sonde__trace_poll(void)
{
	if (watch.on && sonde__now() >= watch.next)
		sonde__trace_look();
}

uint64_t sonde__trace_period(void)
{
	return watch.longest;
}

uint64_t sonde__trace_slices_lost(void)
{
	return watch.lost;
}

static void write_name(struct sonde__buf *b, const struct sonde__task *t, int group)
{
	sonde__buf_format(b,
			  "{\"ph\":\"M\",\"pid\":%d,\"tid\":%d,\"name\":\"thread_name\","
			  "\"args\":{\"name\":",
			  group, t->tid);
	sonde__trace_text(b, t->name);
	sonde__buf_text(b, "}},\n");
}

void sonde__trace_write(struct sonde__buf *b, uint64_t zero)
{
	const struct load *loads = (const struct load *)(void *)watch.loads.p;

	for (size_t i = 0; i < watch.tracks.n / sizeof(struct track); i++) {
		write_name(b, &track_at(i)->task, SONDE__TRACE_THREADS);
		write_name(b, &track_at(i)->task, SONDE__TRACE_WAITS);
	}
	for (size_t i = 0; i < watch.slices.n / sizeof(struct slice); i++) {
		const struct slice *s = slice_at(i);

		sonde__trace_event_head(b, s->name, SONDE__TRACE_THREADS,
					track_at(s->track)->task.tid, s->begin - zero,
					s->end - zero);
		sonde__buf_text(b, "},\n");
	}
	for (size_t i = 0; i < watch.loads.n / sizeof(*loads); i++) {
		uint64_t at = (loads[i].at - zero) / 1000;

		sonde__buf_format(b,
				  "{\"ph\":\"C\",\"pid\":%d,\"ts\":%llu,\"name\":\"CPUs in "
				  "use\",\"args\":{\"cpus\":%llu.%03llu}},\n",
				  SONDE__TRACE_THREADS, (unsigned long long)at,
				  (unsigned long long)(loads[i].milli / 1000),
				  (unsigned long long)(loads[i].milli % 1000));
	}
}

void sonde__trace_unwatched(void)
{
	memset(&watch, 0, sizeof(watch));
}

void sonde__trace_unwatch(void)
{
	sonde__buf_release(&watch.tracks);
	sonde__buf_release(&watch.slices);
	sonde__buf_release(&watch.loads);
	sonde__index_release(&watch.by_tid);
	sonde__trace_unwatched();
}
