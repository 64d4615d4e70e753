/*
 * test-memlog.c - the line about memory: its layout, and when it is written
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "runtime/agent.h"
#include "runtime/autodump.h"
#include "runtime/memlog.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static unsigned lines;
static uint64_t no_pauses[SONDE__PAUSES];

/* In place of the runtime. */
void sonde__log(const char *fmt, ...)
{
	(void)fmt;
	lines++;
}

const char *sonde__error_text(int code)
{
	return code == ENOENT ? "no such folder" : "refused";
}

void sonde__memstats(struct sonde__memstats *s)
{
	*s = (struct sonde__memstats){ .pause_ns = no_pauses, .pause_end = no_pauses };
}

void sonde__autodump_see(const struct sonde__memstats *s)
{
	(void)s;
}

#define MIB(n) ((uint64_t)(n) << 20)

/* What the document shows, with parts of a MiB that must not be seen. */
static struct sonde__memstats shown_in_document(void)
{
	return (struct sonde__memstats){
		.alloc = MIB(28) + 1,
		.total_alloc = MIB(948) + 524288,
		.sys = MIB(79) - 1,
		.mallocs = 3914825,
		.frees = 3704375,
		.heap_alloc = MIB(28),
		.heap_sys = MIB(71),
		.heap_idle = MIB(39),
		.heap_inuse = MIB(31),
		.heap_released = MIB(25),
		.heap_objects = 210450,
		.buck_hash_sys = MIB(1),
		.gc_sys = MIB(3),
		.next_gc = MIB(53),
		.last_gc = 1722608171u * 1000000000ull + 999999999,
		.pause_total_ns = 7400816,
		.num_gc = 77,
		.gc_cpu_ppb = 5614411,
		.pause_ns = no_pauses,
		.pause_end = no_pauses,
		.process = { .rss = 109842432,
			     .vms = 5707378688,
			     .shared = 57397248,
			     .text = 40964096,
			     .data = 117972992 },
	};
}

#define HEAP_PART                                                                                  \
	"MemStats: Alloc: 28 MiB, TotalAlloc: 948 MiB, Sys: 78 MiB, Lookups: 0, "                  \
	"Mallocs: 3914825, Frees: 3704375, HeapAlloc: 28 MiB, HeapSys: 71 MiB, "                   \
	"HeapIdle: 39 MiB, HeapInuse: 31 MiB, HeapReleased: 25 MiB, HeapObjects: 210450, "         \
	"StackInuse: 0 MiB, StackSys: 0 MiB, MSpanInuse: 0 MiB, MSpanSys: 0 MiB, "                 \
	"MCacheInuse: 0 MiB, MCacheSys: 0 MiB, BuckHashSys: 1 MiB, GCSys: 3 MiB, "                 \
	"OtherSys: 0 MiB, NextGC: 53 MiB, LastGC: 2024-08-02T14:16:11Z, "                          \
	"PauseTotalNs: 7400816 ns, NumGC: 77, NumForcedGC: 0, GCCPUFraction: 0.005614411, "        \
	"EnableGC: true, DebugGC: false, "
#define GENERIC_PART                                                                               \
	" ***** Generic process memory info: RSS: 104 MiB, VMS: 5442 MiB, HWM: 0 MiB, "            \
	"Data: 0 MiB, Stack: 0 MiB, Locked: 0 MiB, Swap: 0 MiB "
#define PLATFORM_PART                                                                              \
	" ***** Platform specific process memory info: {\"rss\":109842432,\"vms\":5707378688,"     \
	"\"shared\":57397248,\"text\":40964096,\"lib\":0,\"data\":117972992,\"dirty\":0}"

static void check_line(const struct sonde__memstats *s, const char *line)
{
	struct sonde__buf b = { 0 };

	sonde__memlog_text(&b, s);
	sonde__buf_add(&b, "", 1);
	assert_false(b.full);
	assert_string_equal(b.p, line);
	sonde__buf_release(&b);
}

static void the_line_is_that_of_the_document(void **state)
{
	struct sonde__memstats s = shown_in_document();

	(void)state;
	check_line(&s, HEAP_PART GENERIC_PART PLATFORM_PART);
}

static void what_is_missing_is_said(void **state)
{
	struct sonde__memstats s = shown_in_document();

	(void)state;
	s.process.status_error = -EACCES;
	check_line(&s, HEAP_PART " ***** Generic process memory info unavailable: "
				 "/proc/self/status: refused" PLATFORM_PART);
	s.process.statm_error = -ENOENT;
	check_line(&s, HEAP_PART " ***** Process memory info unavailable: /proc/self/statm: "
				 "no such folder");
	s.process.status_error = 0;
	check_line(&s, HEAP_PART GENERIC_PART
		   " ***** Platform specific process memory info unavailable: "
		   "/proc/self/statm: no such folder");
}

static void the_largest_line_fits(void **state)
{
	struct sonde__memstats s;
	struct sonde__buf b = { 0 };

	(void)state;
	memset(&s, 0xff, sizeof(s));
	s.process.statm_error = 0;
	s.process.status_error = 0;
	sonde__memlog_text(&b, &s);
	assert_true(b.n < 1900); /* log.c has 2048, with what comes before */
	assert_int_equal(b.p[b.n - 1], '}');
	sonde__buf_release(&b);
}

static void fractions_are_the_shortest(void **state)
{
	static const struct {
		uint64_t ppb;
		const char *text;
	} cases[] = {
		{ 0, "0" },
		{ 1, "1e-09" },
		{ 25, "2.5e-08" },
		{ 100, "1e-07" },
		{ 99999, "9.9999e-05" },
		{ 100000, "0.0001" },
		{ 5614411, "0.005614411" },
		{ 250000000, "0.25" },
		{ 999999999, "0.999999999" },
		{ 1000000000, "1" },
		{ UINT64_MAX, "1" },
	};
	char text[24];

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		sonde__write_fraction(cases[i].ppb, text);
		assert_string_equal(text, cases[i].text);
	}
}

static void entries_do_not_drift(void **state)
{
	const uint64_t start = 12345, period = 100000000;

	(void)state;
	lines = 0;
	sonde__memlog_set(period);
	assert_int_equal(sonde__memlog_next(), 0);
	sonde__memlog_work(start);
	assert_int_equal(lines, 1); /* the first one at once */
	for (unsigned i = 1; i <= 20; i++) {
		uint64_t due = start + i * period;

		assert_int_equal(sonde__memlog_next(), due);
		sonde__memlog_work(due - 1);
		assert_int_equal(lines, i);
		sonde__memlog_work(due + i * 4000000); /* later and later */
		assert_int_equal(lines, i + 1);
	}
	assert_int_equal(sonde__memlog_next(), start + 21 * period);
}

static void late_entries_are_left_out(void **state)
{
	const uint64_t period = 1000;

	(void)state;
	lines = 0;
	sonde__memlog_set(period);
	sonde__memlog_work(500);
	sonde__memlog_work(500 + 10 * period + 1);
	assert_int_equal(lines, 2);
	assert_int_equal(sonde__memlog_next(), 500 + 11 * period);
}

static void the_period_can_change(void **state)
{
	(void)state;
	lines = 0;
	sonde__memlog_set(1000);
	sonde__memlog_work(1);
	assert_int_equal(sonde__memlog_set(0), 1000);
	assert_int_equal(sonde__memlog_next(), UINT64_MAX);
	sonde__memlog_work(5000);
	assert_int_equal(lines, 1);
	assert_int_equal(sonde__memlog_set(10), 0);
	sonde__memlog_work(6000);
	assert_int_equal(lines, 2);
	assert_int_equal(sonde__memlog_next(), 6010);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_line_is_that_of_the_document),
		cmocka_unit_test(what_is_missing_is_said),
		cmocka_unit_test(the_largest_line_fits),
		cmocka_unit_test(fractions_are_the_shortest),
		cmocka_unit_test(entries_do_not_drift),
		cmocka_unit_test(late_entries_are_left_out),
		cmocka_unit_test(the_period_can_change),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
