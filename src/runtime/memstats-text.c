/*
 * memstats-text.c - memory statistics as text, as JSON, and for Prometheus
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "runtime/memstats.h"
#include "runtime/os.h"

#include <string.h>

typedef unsigned long long number;

/* Nine digits at most: no shorter decimal stands for the same float64. */
void sonde__write_fraction(uint64_t ppb, char to[24])
{
	char digits[16];
	size_t n, zeros = 0;

	if (ppb == 0) {
		sonde__format(to, 24, "0");
		return;
	}
	if (ppb >= 1000000000) {
		sonde__format(to, 24, "1");
		return;
	}
	n = sonde__format(digits, sizeof(digits), "%09llu", (number)ppb);
	while (digits[n - 1] == '0')
		digits[--n] = '\0';
	while (digits[zeros] == '0')
		zeros++;
	if (zeros < 4)
		sonde__format(to, 24, "0.%s", digits);
	else
		sonde__format(to, 24, "%c%s%se-%02zu", digits[zeros], n - zeros > 1 ? "." : "",
			      digits + zeros + 1, zeros + 1);
}

/* In the order of Go's struct; names of Go. */
#define FIELD(json, member)                                                                        \
	{                                                                                          \
		json, offsetof(struct sonde__memstats, member)                                     \
	}
static const struct {
	const char *name;
	size_t offset;
} fields[] = {
	FIELD("Alloc", alloc),
	FIELD("TotalAlloc", total_alloc),
	FIELD("Sys", sys),
	FIELD("Lookups", lookups),
	FIELD("Mallocs", mallocs),
	FIELD("Frees", frees),
	FIELD("HeapAlloc", heap_alloc),
	FIELD("HeapSys", heap_sys),
	FIELD("HeapIdle", heap_idle),
	FIELD("HeapInuse", heap_inuse),
	FIELD("HeapReleased", heap_released),
	FIELD("HeapObjects", heap_objects),
	FIELD("StackInuse", stack_inuse),
	FIELD("StackSys", stack_sys),
	FIELD("MSpanInuse", mspan_inuse),
	FIELD("MSpanSys", mspan_sys),
	FIELD("MCacheInuse", mcache_inuse),
	FIELD("MCacheSys", mcache_sys),
	FIELD("BuckHashSys", buck_hash_sys),
	FIELD("GCSys", gc_sys),
	FIELD("OtherSys", other_sys),
	FIELD("NextGC", next_gc),
	FIELD("LastGC", last_gc),
	FIELD("PauseTotalNs", pause_total_ns),
};
enum { NFIELDS = sizeof(fields) / sizeof(fields[0]), BEFORE_STACKS = 12 };

static number value_of(const struct sonde__memstats *s, size_t i)
{
	uint64_t v;

	memcpy(&v, (const char *)s + fields[i].offset, sizeof(v));
	return v;
}

static void add_array(struct sonde__buf *b, const char *before, const uint64_t *values,
		      const char *separator)
{
	sonde__buf_text(b, before);
	for (size_t i = 0; i < SONDE__PAUSES; i++)
		sonde__buf_format(b, "%s%llu", i ? separator : "", (number)values[i]);
	sonde__buf_text(b, "]");
}

static void add_pair(struct sonde__buf *b, const char *name, uint64_t inuse, uint64_t sys)
{
	sonde__buf_format(b, "# %s = %llu / %llu\n", name, (number)inuse, (number)sys);
}

void sonde__memstats_text(struct sonde__buf *b, const struct sonde__memstats *s)
{
	char fraction[24];

	sonde__buf_text(b, "\n# runtime.MemStats\n");
	for (size_t i = 0; i < BEFORE_STACKS; i++)
		sonde__buf_format(b, "# %s = %llu\n", fields[i].name, value_of(s, i));
	add_pair(b, "Stack", s->stack_inuse, s->stack_sys);
	add_pair(b, "MSpan", s->mspan_inuse, s->mspan_sys);
	add_pair(b, "MCache", s->mcache_inuse, s->mcache_sys);
	for (size_t i = BEFORE_STACKS + 6; i < NFIELDS - 1; i++)
		sonde__buf_format(b, "# %s = %llu\n", fields[i].name, value_of(s, i));
	add_array(b, "# PauseNs = [", s->pause_ns, " ");
	add_array(b, "\n# PauseEnd = [", s->pause_end, " ");
	sonde__write_fraction(s->gc_cpu_ppb, fraction);
	sonde__buf_format(b,
			  "\n# NumGC = %llu\n# NumForcedGC = %llu\n# GCCPUFraction = %s\n"
			  "# DebugGC = false\n# MaxRSS = %llu\n",
			  (number)s->num_gc, (number)s->num_forced_gc, fraction,
			  (number)s->process.max_rss);
}

static void add_sizes(struct sonde__buf *b, const struct sonde__memstats *s)
{
	sonde__buf_text(b, "\t\"BySize\": [");
	for (size_t i = 0; i < s->nby_size; i++)
		sonde__buf_format(b, "%s\n\t\t{\"Size\": %llu, \"Mallocs\": %llu, \"Frees\": %llu}",
				  i ? "," : "", (number)s->by_size[i].size,
				  (number)s->by_size[i].mallocs, (number)s->by_size[i].frees);
	sonde__buf_text(b, "\n\t],\n");
}

/* null: not known. */
static void add_process(struct sonde__buf *b, const struct sonde__process_memory *m)
{
	const struct {
		const char *name;
		uint64_t value;
		int error;
	} rows[] = {
		{ "RSS", m->rss, m->statm_error },
		{ "VMS", m->vms, m->statm_error },
		{ "HWM", m->hwm, m->status_error },
		{ "Data", m->vmdata, m->status_error },
		{ "Stack", m->stack, m->status_error },
		{ "Locked", m->locked, m->status_error },
		{ "Swap", m->swap, m->status_error },
		{ "Anonymous", m->anon, m->status_error },
		{ "Shared", m->shared, m->statm_error },
		{ "Text", m->text, m->statm_error },
		{ "MaxRSS", m->max_rss, 0 },
	};

	sonde__buf_text(b, "\t\"Process\": {");
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		sonde__buf_format(b, "%s\"%s\": ", i ? ", " : "", rows[i].name);
		if (rows[i].error)
			sonde__buf_text(b, "null");
		else
			sonde__buf_format(b, "%llu", (number)rows[i].value);
	}
	sonde__buf_text(b, "}\n");
}

void sonde__memstats_json(struct sonde__buf *b, const struct sonde__memstats *s)
{
	char fraction[24];

	sonde__buf_text(b, "{\n");
	for (size_t i = 0; i < NFIELDS; i++)
		sonde__buf_format(b, "\t\"%s\": %llu,\n", fields[i].name, value_of(s, i));
	add_array(b, "\t\"PauseNs\": [", s->pause_ns, ",");
	add_array(b, ",\n\t\"PauseEnd\": [", s->pause_end, ",");
	sonde__write_fraction(s->gc_cpu_ppb, fraction);
	sonde__buf_format(
		b,
		",\n\t\"NumGC\": %llu,\n\t\"NumForcedGC\": %llu,\n"
		"\t\"GCCPUFraction\": %s,\n\t\"EnableGC\": true,\n\t\"DebugGC\": false,\n",
		(number)s->num_gc, (number)s->num_forced_gc, fraction);
	add_sizes(b, s);
	/* What Go does not have; its decoders pass over it. */
	sonde__buf_format(b, "\t\"Allocator\": \"%s\",\n\t\"AgeNs\": %llu,\n", s->allocator,
			  (number)s->age);
	add_process(b, &s->process);
	sonde__buf_text(b, "}\n");
}
