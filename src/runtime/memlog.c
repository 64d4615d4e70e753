/*
 * memlog.c - a line about memory in the log, from time to time
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "runtime/memlog.h"

#include "runtime/agent.h"
#include "runtime/autodump.h"
#include "runtime/http.h"

#include <stdatomic.h>

typedef unsigned long long number;

static atomic_ullong period; /* ns */
static atomic_bool changed;
static uint64_t next; /* sonde__now() */

uint64_t sonde__memlog_set(uint64_t ns)
{
	uint64_t before = atomic_exchange(&period, ns);

	atomic_store(&changed, true);
	return before;
}

uint64_t sonde__memlog_period(void)
{
	return atomic_load(&period);
}

uint64_t sonde__memlog_next(void)
{
	if (atomic_load(&period) == 0)
		return UINT64_MAX;
	return atomic_load(&changed) ? 0 : next;
}

static void write_entry(void)
{
	struct sonde__memstats s;
	struct sonde__buf b = { 0 };

	sonde__memstats(&s);
	sonde__memlog_text(&b, &s);
	sonde__buf_add(&b, "", 1);
	if (!b.full)
		sonde__log("%s", b.p);
	sonde__buf_release(&b);
	sonde__autodump_see(&s);
}

void sonde__memlog_work(uint64_t now)
{
	uint64_t ns = atomic_load(&period);

	if (atomic_exchange(&changed, false))
		next = now;
	if (ns == 0 || now < next)
		return;
	next += ((now - next) / ns + 1) * ns;
	write_entry();
}

static number mib(uint64_t bytes)
{
	return bytes >> 20;
}

static void add_heap(struct sonde__buf *b, const struct sonde__memstats *s)
{
	sonde__buf_format(b,
			  "MemStats: Alloc: %llu MiB, TotalAlloc: %llu MiB, Sys: %llu MiB, "
			  "Lookups: %llu, Mallocs: %llu, Frees: %llu, HeapAlloc: %llu MiB, "
			  "HeapSys: %llu MiB, HeapIdle: %llu MiB, HeapInuse: %llu MiB, "
			  "HeapReleased: %llu MiB, HeapObjects: %llu, ",
			  mib(s->alloc), mib(s->total_alloc), mib(s->sys), (number)s->lookups,
			  (number)s->mallocs, (number)s->frees, mib(s->heap_alloc),
			  mib(s->heap_sys), mib(s->heap_idle), mib(s->heap_inuse),
			  mib(s->heap_released), (number)s->heap_objects);
}

static void add_rest(struct sonde__buf *b, const struct sonde__memstats *s)
{
	char fraction[24], stamp[32];

	sonde__write_fraction(s->gc_cpu_ppb, fraction);
	sonde__stamp(s->last_gc, stamp);
	sonde__buf_format(b,
			  "StackInuse: %llu MiB, StackSys: %llu MiB, MSpanInuse: %llu MiB, "
			  "MSpanSys: %llu MiB, MCacheInuse: %llu MiB, MCacheSys: %llu MiB, "
			  "BuckHashSys: %llu MiB, GCSys: %llu MiB, OtherSys: %llu MiB, "
			  "NextGC: %llu MiB, LastGC: %s, PauseTotalNs: %llu ns, NumGC: %llu, "
			  "NumForcedGC: %llu, GCCPUFraction: %s, EnableGC: true, DebugGC: false, ",
			  mib(s->stack_inuse), mib(s->stack_sys), mib(s->mspan_inuse),
			  mib(s->mspan_sys), mib(s->mcache_inuse), mib(s->mcache_sys),
			  mib(s->buck_hash_sys), mib(s->gc_sys), mib(s->other_sys), mib(s->next_gc),
			  stamp, (number)s->pause_total_ns, (number)s->num_gc,
			  (number)s->num_forced_gc, fraction);
}

static void add_missing(struct sonde__buf *b, const char *what, const char *file, int error)
{
	sonde__buf_format(b, "%s memory info unavailable: %s: %s", what, file,
			  sonde__error_text(-error));
}

/* RSS and VMS are those of the last part: one moment, one number. */
static void add_generic(struct sonde__buf *b, const struct sonde__process_memory *m)
{
	if (m->status_error) {
		add_missing(b, "Generic process", "/proc/self/status", m->status_error);
		return;
	}
	sonde__buf_format(
		b,
		"Generic process memory info: RSS: %llu MiB, VMS: %llu MiB, HWM: %llu MiB, "
		"Data: %llu MiB, Stack: %llu MiB, Locked: %llu MiB, Swap: %llu MiB ",
		mib(m->rss), mib(m->vms), mib(m->hwm), mib(m->vmdata), mib(m->stack),
		mib(m->locked), mib(m->swap));
}

static void add_platform(struct sonde__buf *b, const struct sonde__process_memory *m)
{
	if (m->statm_error) {
		add_missing(b, "Platform specific process", "/proc/self/statm", m->statm_error);
		return;
	}
	sonde__buf_format(b,
			  "Platform specific process memory info: {\"rss\":%llu,\"vms\":%llu,"
			  "\"shared\":%llu,\"text\":%llu,\"lib\":%llu,\"data\":%llu,"
			  "\"dirty\":%llu}",
			  (number)m->rss, (number)m->vms, (number)m->shared, (number)m->text,
			  (number)m->lib, (number)m->data, (number)m->dirty);
}

void sonde__memlog_text(struct sonde__buf *b, const struct sonde__memstats *s)
{
	static const char separator[] = " ***** ";
	const struct sonde__process_memory *m = &s->process;

	add_heap(b, s);
	add_rest(b, s);
	sonde__buf_text(b, separator);
	if (m->status_error && m->statm_error) {
		add_missing(b, "Process", "/proc/self/statm", m->statm_error);
		return;
	}
	add_generic(b, m);
	sonde__buf_text(b, separator);
	add_platform(b, m);
}
