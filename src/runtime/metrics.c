/*
 * metrics.c - what the runtime costs and loses, for Prometheus
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "runtime/heap.h"
#include "runtime/job.h"
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
	static const char *const names[SONDE__PARTS] = { "all", "heap", "cpu", "unwind", "server" };

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

void sonde__metrics_page(struct sonde__buf *b)
{
	const struct sonde__stats *s = &sonde__stats;

	add_info(b);
	add_parts(b);
	add_time(b);
	add(b, "sonde_memory_bytes", "gauge", "Memory the runtime has mapped for itself.",
	    atomic_load(&s->own_bytes));
	add(b, "sonde_symbol_bytes", "gauge", "Of that, for symbol tables.", sonde__names_bytes());
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
	add(b, "sonde_stacks_truncated_total", "counter", "Stacks cut at the root.",
	    atomic_load(&s->truncated));
	add(b, "sonde_stacks_broken_total", "counter",
	    "Stacks that ended before the first function of their thread.",
	    atomic_load(&s->unwind_broken));
	add(b, "sonde_labels_lost_total", "counter", "Labels there was no room for.",
	    atomic_load(&s->labels_lost));
	add(b, "sonde_requests_total", "counter", "Requests answered.", requests);
	add(b, "sonde_requests_failed_total", "counter", "Of those, with an error.", failures);
	add(b, "sonde_sent_bytes_total", "counter", "Bytes of answers.", bytes_sent);
}
