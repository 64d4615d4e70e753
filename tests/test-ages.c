/*
 * test-ages.c - ages of live samples, labels of rows, and the peak of the heap
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "runtime/ages.h"
#include "runtime/heap.h"
#include "runtime/labels.h"
#include "runtime/live.h"
#include "runtime/os.h"
#include "runtime/peak.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static const uint64_t SECOND = 1000000000;

static void *(*volatile do_malloc)(size_t) = malloc;
static void (*volatile do_free)(void *) = free;

static int every_allocation(void **state)
{
	(void)state;
	sonde__heap_set_rate(1);
	return 0;
}

static int no_allocation(void **state)
{
	(void)state;
	sonde__heap_set_rate(0);
	return 0;
}

static void ages_fall_into_steps_that_begin_where_they_say(void **state)
{
	static const struct {
		uint64_t ns;
		const char *name;
	} cases[] = {
		{ 0, "<1s" },
		{ 999999999, "<1s" },
		{ 1000000000, "1s–10s" },
		{ 9999999999, "1s–10s" },
		{ 10000000000, "10s–1m" },
		{ 59999999999, "10s–1m" },
		{ 60000000000, "1m–10m" },
		{ 599999999999, "1m–10m" },
		{ 600000000000, "10m–1h" },
		{ 3599999999999, "10m–1h" },
		{ 3600000000000, "1h–1d" },
		{ 86399999999999, "1h–1d" },
		{ 86400000000000, ">1d" },
		{ UINT64_MAX, ">1d" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_string_equal(sonde__age_name(sonde__age_step(cases[i].ns)), cases[i].name);
}

static void a_mark_keeps_its_row_and_its_time(void **state)
{
	static const uint32_t rows[] = { 1, 4711, 1024 * 1024 };

	(void)state;
	for (uint64_t now = 1; now < 3 * 365 * 86400 * SECOND; now = now * 3 + 1) {
		for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
			uint64_t mark = sonde__mark(rows[i], now);

			assert_int_equal(sonde__mark_row(mark), rows[i]);
			assert_in_range(sonde__mark_age(mark, now + SECOND), SECOND,
					SECOND + (1 << SONDE__MARK_TIME_SHIFT));
			assert_int_equal(sonde__mark_age(mark, now - SECOND), 0);
		}
	}
}

static void what_lives_is_counted_by_row_and_age(void **state)
{
	static const uint64_t seconds[] = { 0, 5, 30, 300 }; /* the clock may be younger */
	uint64_t now = sonde__now(), missed;
	uintptr_t base = 0x700000000000;
	struct sonde__ages *ages;
	size_t mapped;

	(void)state;
	for (uintptr_t i = 0; i < 4000; i++) {
		uint64_t age = seconds[i % 4] * SECOND;

		assert_true(sonde__live_insert((void *)(base + i * 64),
					       sonde__mark(1 + i % 2, now - age), &missed));
	}
	for (uintptr_t i = 0; i < 400; i++)
		sonde__live_remove((void *)(base + i * 64));
	ages = sonde__ages_count(2, &mapped);
	assert_non_null(ages);
	assert_int_equal(ages[0].live[0], 900);
	assert_int_equal(ages[0].live[2], 900);
	assert_int_equal(ages[1].live[1], 900);
	assert_int_equal(ages[1].live[3], 900);
	assert_int_equal(ages[0].live[1] + ages[0].live[3] + ages[1].live[0] + ages[1].live[2], 0);
	sonde__unmap(ages, mapped);
	for (uintptr_t i = 400; i < 4000; i++)
		sonde__live_remove((void *)(base + i * 64));
}

static atomic_bool stop;

/* Makes tables grow and shrink. */
static void *churn(void *arg)
{
	uintptr_t base = 0x710000000000;
	uint64_t missed;

	while (!atomic_load(&stop)) {
		for (uintptr_t i = 0; i < 50000; i++)
			sonde__live_insert((void *)(base + i * 64), sonde__mark(2, 1), &missed);
		for (uintptr_t i = 0; i < 50000; i++)
			sonde__live_remove((void *)(base + i * 64));
	}
	return arg;
}

static void what_stays_is_counted_while_others_come_and_go(void **state)
{
	uintptr_t base = 0x720000000000;
	uint64_t missed;
	pthread_t thread;

	(void)state;
	for (uintptr_t i = 0; i < 10000; i++)
		sonde__live_insert((void *)(base + i * 64), sonde__mark(1, sonde__now()), &missed);
	assert_int_equal(pthread_create(&thread, NULL, churn, NULL), 0);
	for (int i = 0; i < 50; i++) {
		size_t mapped, n = 0;
		struct sonde__ages *ages = sonde__ages_count(1, &mapped);

		for (unsigned k = 0; k < SONDE__AGES; k++)
			n += ages[0].live[k];
		sonde__unmap(ages, mapped);
		assert_int_equal(n, 10000);
	}
	atomic_store(&stop, true);
	pthread_join(thread, NULL);
	for (uintptr_t i = 0; i < 10000; i++)
		sonde__live_remove((void *)(base + i * 64));
}

/* Objects of 'size' that live, of a set of labels. */
static uint64_t count_live(uint64_t size, uint32_t labels)
{
	size_t n, mapped;
	struct sonde__heap_row *rows = sonde__heap_snapshot(&n, &mapped);
	uint64_t sum = 0;

	for (size_t i = 0; i < n; i++)
		if (rows[i].size == size && rows[i].labels == labels)
			sum += rows[i].allocs - rows[i].frees;
	sonde__unmap(rows, mapped);
	return sum;
}

static void rows_are_counted_by_their_labels(void **state)
{
	uint32_t set;
	void *p, *q;

	(void)state;
	sonde__labels_set("job", "mail");
	set = sonde__labels_now();
	p = do_malloc(4321);
	sonde__labels_use(0);
	q = do_malloc(4321);
	assert_int_equal(count_live(4321, set), 1);
	assert_int_equal(count_live(4321, 0), 1);
	do_free(p); /* whatever the labels are by then */
	assert_int_equal(count_live(4321, set), 0);
	assert_int_equal(count_live(4321, 0), 1);
	do_free(q);
}

/* Objects of 'size' in the peak. */
static uint64_t count_peak(uint64_t size, struct sonde__peak *p)
{
	size_t n, mapped;
	struct sonde__heap_row *rows = sonde__peak_rows(p, &n, &mapped);
	uint64_t sum = 0;

	for (size_t i = 0; i < n; i++) {
		assert_true(rows[i].allocs > 0 && rows[i].frees == 0);
		sum += rows[i].size == size ? rows[i].allocs : 0;
	}
	sonde__unmap(rows, mapped);
	return sum;
}

static void the_peak_is_the_highest_there_was(void **state)
{
	enum { N = 100 };
	struct sonde__peak before, at, later;
	static void *p[N];
	int64_t live = sonde__heap_live_bytes();

	(void)state;
	count_peak(0, &before);
	for (int i = 0; i < N; i++)
		p[i] = do_malloc(100003);
	assert_int_equal(sonde__heap_live_bytes(), live + N * 100003);
	for (int i = 0; i < N; i++)
		do_free(p[i]);
	assert_int_equal(sonde__heap_live_bytes(), live);
	assert_int_equal(count_peak(100003, &at), N);
	assert_int_equal(at.bytes, live + N * 100003);
	assert_int_equal(at.highest, at.bytes);
	assert_true(at.wall >= before.wall);
	do_free(do_malloc(5000011)); /* less than that */
	assert_int_equal(count_peak(5000011, &later), 0);
	assert_int_equal(later.bytes, at.bytes);
	assert_int_equal(later.wall, at.wall);
	p[0] = do_malloc(20000003);
	assert_int_equal(count_peak(20000003, &later), 1); /* now, and growing */
	assert_int_equal(count_peak(100003, &later), 0);
	do_free(p[0]);
	assert_int_equal(count_peak(20000003, &later), 1);
}

/* Whoever frees while another thread has the lock of the peak must not wait for it. */
static void nobody_waits_for_the_peak(void **state)
{
	void *p = do_malloc(90000001);
	struct sonde__peak peak;

	(void)state;
	sonde__peak_lock();
	do_free(p);
	sonde__peak_unlock();
	assert_int_equal(count_peak(90000001, &peak), 0);
	assert_true(peak.highest >= 90000001 && peak.bytes < 90000001);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ages_fall_into_steps_that_begin_where_they_say),
		cmocka_unit_test(a_mark_keeps_its_row_and_its_time),
		cmocka_unit_test(what_lives_is_counted_by_row_and_age),
		cmocka_unit_test(what_stays_is_counted_while_others_come_and_go),
		cmocka_unit_test_setup_teardown(rows_are_counted_by_their_labels, every_allocation,
						no_allocation),
		cmocka_unit_test_setup_teardown(the_peak_is_the_highest_there_was, every_allocation,
						no_allocation),
		cmocka_unit_test_setup_teardown(nobody_waits_for_the_peak, every_allocation,
						no_allocation),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
