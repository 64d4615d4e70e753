/*
 * metrics.c - what the runtime costs and loses, for Prometheus
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "runtime/autodump.h"
#include "runtime/contention.h"
#include "runtime/heap.h"
#include "runtime/job.h"
#include "runtime/memstats.h"
#include "runtime/os.h"
#include "runtime/output.h"
#include "runtime/runtime.h"
#include "runtime/stacks.h"

#include <string.h>

static uint64_t requests, failures, bytes_sent;

void sonde__metrics_count(const struct sonde__response *rs)
{
	requests++;
	failures += rs->status >= 400;
	bytes_sent += rs->nbody;
}

static void add(struct sonde__buf *b, const char *name, const char *type, const char *help,
		uint64_t value)
{
	sonde__buf_format(b, "# HELP %s %s\n# TYPE %s %s\n%s %llu\n", name, help, name, type, name,
			  (unsigned long long)value);
}

/* A label value: the three characters that matter are escaped. */
static void add_value(struct sonde__buf *b, const char *text)
{
	for (; *text; text++) {
		if (*text == '"' || *text == '\\')
			sonde__buf_add(b, "\\", 1);
		if (*text == '\n')
			sonde__buf_text(b, "\\n");
		else
			sonde__buf_add(b, text, 1);
	}
}

static void add_info(struct sonde__buf *b)
{
	const char *allocator = sonde__heap_allocator();

	sonde__buf_text(b, "# HELP sonde_info The runtime in this process.\n"
			   "# TYPE sonde_info gauge\nsonde_info{version=\"" SONDE_VERSION
			   "\",allocator=\"");
	add_value(b, allocator ? allocator : "");
	sonde__buf_text(b, "\"} 1\n");
}

static void add_parts(struct sonde__buf *b)
{
	static const char *const names[SONDE__PARTS] = { "all",    "heap",   "cpu",
							 "unwind", "server", "locks" };

	sonde__buf_text(b, "# HELP sonde_off Parts that are off, with the reason.\n"
			   "# TYPE sonde_off gauge\n");
	for (int i = 0; i < SONDE__PARTS; i++) {
		const char *why = sonde__why_off((enum sonde__part)i);

		sonde__buf_format(b, "sonde_off{part=\"%s\",reason=\"", names[i]);
		add_value(b, why ? why : "");
		sonde__buf_format(b, "\"} %d\n", why ? 1 : 0);
	}
}

static void add_time(struct sonde__buf *b)
{
	unsigned long long ns = atomic_load(&sonde__stats.own_ns);

	sonde__buf_format(b,
			  "# HELP sonde_cpu_seconds_total CPU time the runtime took for itself.\n"
			  "# TYPE sonde_cpu_seconds_total counter\n"
			  "sonde_cpu_seconds_total %llu.%09llu\n",
			  ns / 1000000000u, ns % 1000000000u);
}

/* Names are those of Prometheus' library for Go, with our prefix. */
static void add_memory(struct sonde__buf *b, const struct sonde__memstats *s)
{
	const struct {
		const char *name, *type, *help;
		uint64_t value;
	} rows[] = {
		{ "alloc_bytes", "gauge", "Bytes the program has allocated.", s->alloc },
		{ "alloc_bytes_total", "counter", "Bytes it has ever allocated.", s->total_alloc },
		{ "sys_bytes", "gauge", "Private memory it can write to.", s->sys },
		{ "mallocs_total", "counter", "Allocations.", s->mallocs },
		{ "frees_total", "counter", "Of those, the ones that were freed.", s->frees },
		{ "heap_alloc_bytes", "gauge", "The same as alloc_bytes.", s->heap_alloc },
		{ "heap_sys_bytes", "gauge", "Bytes of the heap.", s->heap_sys },
		{ "heap_idle_bytes", "gauge", "Of those, not in use.", s->heap_idle },
		{ "heap_inuse_bytes", "gauge", "Of those, in use.", s->heap_inuse },
		{ "heap_released_bytes", "gauge", "Idle, and given back.", s->heap_released },
		{ "heap_objects", "gauge", "Allocations that live.", s->heap_objects },
		{ "stack_inuse_bytes", "gauge", "Stacks, what is present.", s->stack_inuse },
		{ "stack_sys_bytes", "gauge", "Stacks.", s->stack_sys },
		{ "mspan_inuse_bytes", "gauge", "Tables of the allocator.", s->mspan_inuse },
		{ "mspan_sys_bytes", "gauge", "Tables of the allocator.", s->mspan_sys },
		{ "buck_hash_sys_bytes", "gauge", "Memory of the runtime.", s->buck_hash_sys },
		{ "other_sys_bytes", "gauge", "The rest of sys_bytes.", s->other_sys },
		{ "gc_total", "counter", "Times memory was given back on request.", s->num_gc },
	};
	char name[64];

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		sonde__format(name, sizeof(name), "sonde_memstats_%s", rows[i].name);
		add(b, name, rows[i].type, rows[i].help, rows[i].value);
	}
}

static void add_seconds(struct sonde__buf *b, const char *name, const char *help, uint64_t ns)
{
	sonde__buf_format(b, "# HELP %s %s\n# TYPE %s gauge\n%s %llu.%09llu\n", name, help, name,
			  name, (unsigned long long)(ns / 1000000000),
			  (unsigned long long)(ns % 1000000000));
}

static void add_process(struct sonde__buf *b, const struct sonde__process_memory *m)
{
	if (m->statm_error == 0) {
		add(b, "process_resident_memory_bytes", "gauge", "Resident memory size in bytes.",
		    m->rss);
		add(b, "process_virtual_memory_bytes", "gauge", "Virtual memory size in bytes.",
		    m->vms);
	}
	if (m->status_error)
		return;
	add(b, "sonde_process_resident_max_bytes", "gauge", "Most there ever was.", m->hwm);
	add(b, "sonde_process_swap_bytes", "gauge", "Memory that is in swap.", m->swap);
	add(b, "sonde_process_locked_bytes", "gauge", "Memory that is locked.", m->locked);
}

static void add_memstats(struct sonde__buf *b)
{
	struct sonde__memstats s;

	sonde__memstats(&s);
	add_memory(b, &s);
	add_seconds(b, "sonde_memstats_last_gc_time_seconds",
		    "When memory was last given back on request.", s.last_gc);
	add_seconds(b, "sonde_memstats_age_seconds", "How old the numbers of the allocator are.",
		    s.age);
	add_process(b, &s.process);
}

void sonde__metrics_page(struct sonde__buf *b)
{
	const struct sonde__stats *s = &sonde__stats;

	add_info(b);
	add_parts(b);
	add_time(b);
	add(b, "sonde_memory_bytes", "gauge", "Memory the runtime has mapped for itself.",
	    atomic_load(&s->own_bytes));
	add(b, "sonde_symbol_bytes", "gauge", "Of that, for symbol tables and lines.",
	    sonde__names_bytes() + sonde__lines_bytes());
	add(b, "sonde_heap_rate_bytes", "gauge", "Bytes per sampled allocation, on average.",
	    sonde__heap_rate());
	add(b, "sonde_heap_samples_total", "counter", "Allocations sampled.",
	    atomic_load(&s->heap_samples));
	add(b, "sonde_heap_lost_total", "counter", "Sampled allocations there was no room for.",
	    atomic_load(&s->heap_lost));
	add(b, "sonde_stacks", "gauge", "Different stacks.", sonde__stack_count());
	add(b, "sonde_stacks_lost_total", "counter", "Stacks there was no room for.",
	    atomic_load(&s->stacks_lost));
	add(b, "sonde_cpu_samples_total", "counter", "Ticks of CPU timers.",
	    atomic_load(&s->cpu_samples));
	add(b, "sonde_cpu_lost_total", "counter", "Ticks there was no room for.",
	    atomic_load(&s->cpu_lost));
	add(b, "sonde_mutex_fraction", "gauge",
	    "One in so many waits for locks is sampled; 0: none.",
	    sonde__contention_rate_now(SONDE__MUTEX));
	add(b, "sonde_block_rate", "gauge", "Nanoseconds of waiting per sample; 0: none.",
	    sonde__contention_rate_now(SONDE__BLOCK));
	add(b, "sonde_contention_samples_total", "counter", "Waits sampled, mutex and block.",
	    atomic_load(&s->contention_samples));
	add(b, "sonde_contention_lost_total", "counter", "Waits there was no room for.",
	    atomic_load(&s->contention_lost));
	add(b, "sonde_stacks_truncated_total", "counter", "Stacks cut at the root.",
	    atomic_load(&s->truncated));
	add(b, "sonde_stacks_broken_total", "counter",
	    "Stacks that ended before the first function of their thread.",
	    atomic_load(&s->unwind_broken));
	add(b, "sonde_labels_lost_total", "counter", "Labels there was no room for.",
	    atomic_load(&s->labels_lost));
	add(b, "sonde_dumps_stored_total", "counter", "Heap dumps that were stored.",
	    sonde__autodump_stored());
	add(b, "sonde_dumps_failed_total", "counter", "Heap dumps that could not be stored.",
	    sonde__autodump_failed());
	add(b, "sonde_requests_total", "counter", "Requests answered.", requests);
	add(b, "sonde_requests_failed_total", "counter", "Of those, with an error.", failures);
	add(b, "sonde_sent_bytes_total", "counter", "Bytes of answers.", bytes_sent);
	add_memstats(b);
}
