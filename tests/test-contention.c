/*
 * test-contention.c - how waits are added up, and what a sample of them stands for
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "runtime/contention.h"
#include "runtime/next-lock.h"
#include "runtime/os.h"
#include "runtime/runtime.h"
#include "runtime/waiters.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

static const void *const lock = &lock;

/* What is recorded here, by whichever line. */
static struct sonde__contention_row sum(enum sonde__contention kind)
{
	struct sonde__contention_row all = { 0 };
	size_t n, mapped;
	struct sonde__contention_row *rows = sonde__contention_snapshot(kind, &n, &mapped);

	for (size_t i = 0; i < n; i++) {
		all.count += rows[i].count;
		all.ns += rows[i].ns;
	}
	sonde__unmap(rows, mapped);
	return all;
}

/* Records the same wait many times; what comes of it. */
static struct sonde__contention_row record(enum sonde__contention kind, uint64_t rate, uint64_t ns,
					   uint32_t waits, int times)
{
	struct sonde__contention_row before = sum(kind), after;

	sonde__contention_seed(1);
	sonde__contention_set_rate(kind, rate);
	for (int i = 0; i < times; i++)
		sonde__contention_record(kind, ns, waits, __builtin_return_address(0));
	sonde__contention_set_rate(kind, 0);
	after = sum(kind);
	after.count -= before.count;
	after.ns -= before.ns;
	return after;
}

static void nothing_is_recorded_at_rate_0(void **state)
{
	struct sonde__contention_row r = record(SONDE__BLOCK, 0, 1000, 1, 100);

	(void)state;
	assert_true(r.count == 0);
	assert_true(r.ns == 0);
	r = record(SONDE__MUTEX, 0, 1000, 1, 100);
	assert_true(r.count == 0);
}

static void waits_as_long_as_the_rate_are_all_recorded(void **state)
{
	struct sonde__contention_row r = record(SONDE__BLOCK, 1000, 1000, 1, 100);

	(void)state;
	assert_true(r.count == 100);
	assert_true(r.ns == 100000);
	r = record(SONDE__BLOCK, 1, 0, 1, 100); /* a clock may stand still */
	assert_true(r.count == 100);
	assert_true(r.ns == 100);
}

/* Of n, each with probability p, the sum is n within some standard deviations. */
static void assert_near(double seen, double n, double p)
{
	double deviation = sqrt(n * (1 - p) / p);

	if (fabs(seen - n) > 6 * deviation)
		fail_msg("%.0f instead of %.0f, with a standard deviation of %.0f", seen, n,
			 deviation);
}

static void shorter_waits_stand_for_those_that_were_not_recorded(void **state)
{
	(void)state;
	for (uint64_t ns = 3; ns < 1000; ns *= 3) {
		struct sonde__contention_row r = record(SONDE__BLOCK, 1000, ns, 1, 50000);

		assert_near(r.count, 50000, (double)ns / 1000);
		assert_near((double)r.ns / (double)ns, 50000, (double)ns / 1000);
	}
}

static void one_mutex_event_in_n_stands_for_n(void **state)
{
	struct sonde__contention_row r = record(SONDE__MUTEX, 10, 700, 3, 50000);

	(void)state;
	assert_near(r.count / 3, 50000, 0.1);
	assert_near((double)r.ns / 700, 50000, 0.1);
	assert_true(fmod(r.count, 30) == 0);
	r = record(SONDE__MUTEX, 1, 700, 1, 10);
	assert_true(r.count == 10);
	assert_true(r.ns == 7000);
}

static void time_of_those_who_are_passed_over_is_not_lost(void **state)
{
	struct sonde__contention_row r = record(SONDE__MUTEX, 1, 1000, 0, 200000);

	(void)state;
	assert_true(r.count == 0);
	assert_near((double)r.ns / 1000, 200000, 0.01);
	r = record(SONDE__MUTEX, 4, 50000, 0, 100000);
	assert_near((double)r.ns / 50000, 100000, 0.125);
	r = record(SONDE__MUTEX, 1, 1000000, 0, 10);
	assert_true(r.ns == 10000000);
}

static void the_finest_rate_is_in_force(void **state)
{
	unsigned a, b, c;

	(void)state;
	assert_int_equal(sonde__contention_set_rate(SONDE__MUTEX, 50), 0);
	a = sonde__contention_open(SONDE__MUTEX, 10);
	b = sonde__contention_open(SONDE__MUTEX, 100);
	c = sonde__contention_open(SONDE__BLOCK, 7);
	assert_true(a && b && c);
	assert_int_equal(sonde__contention_rate_now(SONDE__MUTEX), 10);
	assert_int_equal(sonde__contention_rate_now(SONDE__BLOCK), 7);
	assert_int_equal(sonde__contention_rate(SONDE__BLOCK), 0);
	assert_int_equal(sonde__contention_set_rate(SONDE__MUTEX, 0), 50);
	sonde__contention_close(a);
	assert_int_equal(sonde__contention_rate_now(SONDE__MUTEX), 100);
	assert_true(sonde__looks_at_locks() && sonde__looks_at_others());
	sonde__contention_close(c);
	assert_false(sonde__looks_at_others());
	sonde__contention_close(b);
	sonde__contention_close(0);
	assert_false(sonde__looks_at_locks());
}

static void there_are_not_too_many_windows(void **state)
{
	unsigned open[1000], n = 0;

	(void)state;
	do {
		open[n] = sonde__contention_open(SONDE__BLOCK, 5);
	} while (open[n] && ++n < 1000);
	assert_in_range(n, 8, 999);
	while (n > 0)
		sonde__contention_close(open[--n]);
	assert_int_equal(sonde__contention_rate_now(SONDE__BLOCK), 0);
	assert_int_equal(sonde__contention_open(SONDE__BLOCK, 0), 0);
}

static void who_unlocks_is_charged_with_what_all_wait(void **state)
{
	uint32_t ended;

	(void)state;
	assert_true(sonde__waiters_enter(lock, 1000));
	assert_true(sonde__waiters_enter(lock, 1100));
	assert_true(sonde__has_waiting());
	assert_true(sonde__waiters_maybe(lock));
	assert_int_equal(sonde__waiters_take(lock, 1300, false, &ended), 300 + 200);
	assert_int_equal(ended, 1);
	/* The first is woken up; the other waits for it, from when it has the lock. */
	sonde__waiters_leave(lock, 1000, 1350, SONDE__WAIT_ALONE);
	assert_int_equal(sonde__waiters_take(lock, 1450, false, &ended), 100);
	assert_int_equal(ended, 1);
	sonde__waiters_leave(lock, 1100, 1460, SONDE__WAIT_ALONE);
	assert_false(sonde__has_waiting());
	assert_int_equal(sonde__waiters_take(lock, 2000, false, &ended), 0);
	assert_int_equal(ended, 0);
}

static void waits_are_counted_once(void **state)
{
	uint32_t ended;

	(void)state;
	sonde__waiters_enter(lock, 0);
	sonde__waiters_take(lock, 10, false, &ended);
	assert_int_equal(ended, 1);
	/* Somebody else was quicker than the one that was woken up. */
	assert_int_equal(sonde__waiters_take(lock, 30, false, &ended), 20);
	assert_int_equal(ended, 0);
	sonde__waiters_leave(lock, 0, 31, SONDE__WAIT_ALONE);
	assert_false(sonde__has_waiting());
}

static void readers_go_on_together(void **state)
{
	uint32_t ended;

	(void)state;
	for (int i = 0; i < 3; i++)
		sonde__waiters_enter(lock, 0); /* two readers and a writer */
	assert_int_equal(sonde__waiters_take(lock, 100000, true, &ended), 300000);
	assert_int_equal(ended, 3);
	sonde__waiters_leave(lock, 0, 110000, SONDE__WAIT_SHARED);
	sonde__waiters_leave(lock, 0, 120000, SONDE__WAIT_SHARED);
	/* The writer waits for both. */
	assert_int_equal(sonde__waiters_take(lock, 150000, true, &ended), 50000);
	sonde__waiters_leave(lock, 0, 160000, SONDE__WAIT_ALONE);
	assert_false(sonde__has_waiting());
}

static void those_who_gave_up_are_remembered(void **state)
{
	uint32_t ended;

	(void)state;
	for (uint64_t i = 0; i < 3; i++) {
		sonde__waiters_enter(lock, i * 100000);
		sonde__waiters_leave(lock, i * 100000, i * 100000 + 50000, SONDE__WAIT_FAILED);
	}
	assert_true(sonde__has_waiting());
	assert_int_equal(sonde__waiters_take(lock, 1000000, false, &ended), 150000);
	assert_int_equal(ended, 3);
	assert_false(sonde__has_waiting());
}

static void those_who_gave_up_are_forgotten_when_it_is_switched_off(void **state)
{
	uint32_t ended;

	(void)state;
	sonde__contention_set_rate(SONDE__MUTEX, 1);
	sonde__waiters_enter(lock, 0);
	sonde__waiters_enter(&ended, 0);
	sonde__waiters_leave(lock, 0, 50, SONDE__WAIT_FAILED);
	assert_true(sonde__waiters_maybe(lock));
	sonde__contention_set_rate(SONDE__MUTEX, 0);
	assert_int_equal(sonde__waiters_take(lock, 100, false, &ended), 0);
	assert_true(sonde__has_waiting());
	sonde__waiters_leave(&ended, 0, 100, SONDE__WAIT_ALONE);
	assert_false(sonde__has_waiting());
}

static void clocks_may_disagree(void **state)
{
	uint32_t ended;

	(void)state;
	sonde__waiters_enter(lock, 1000);
	sonde__waiters_enter(lock, 900);
	assert_int_equal(sonde__waiters_take(lock, 950, false, &ended), 0);
	sonde__waiters_leave(lock, 900, 940, SONDE__WAIT_ALONE);
	sonde__waiters_leave(lock, 1000, 990, SONDE__WAIT_ALONE);
	sonde__waiters_leave(lock, 1000, 990, SONDE__WAIT_ALONE); /* it is not there any more */
	assert_false(sonde__has_waiting());
}

static void what_finds_no_room_is_counted(void **state)
{
	static char locks[100000];
	uint64_t before = sonde__stats.contention_lost;
	size_t in = 0;

	(void)state;
	for (size_t i = 0; i < sizeof(locks); i += 8)
		in += sonde__waiters_enter(&locks[i], 0);
	assert_in_range(in, 2000, sizeof(locks) / 8 - 1);
	assert_int_equal(sonde__stats.contention_lost - before, sizeof(locks) / 8 - in);
	for (size_t i = 0; i < sizeof(locks); i += 8)
		sonde__waiters_leave(&locks[i], 0, 1, SONDE__WAIT_ALONE);
	assert_false(sonde__has_waiting());
}

static void a_child_has_no_waiters(void **state)
{
	(void)state;
	sonde__waiters_enter(lock, 0);
	sonde__waiters_forget();
	assert_false(sonde__has_waiting());
	assert_false(sonde__waiters_maybe(lock));
	sonde__waiters_leave(lock, 0, 10, SONDE__WAIT_ALONE);
	assert_false(sonde__has_waiting());
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_is_recorded_at_rate_0),
		cmocka_unit_test(waits_as_long_as_the_rate_are_all_recorded),
		cmocka_unit_test(shorter_waits_stand_for_those_that_were_not_recorded),
		cmocka_unit_test(one_mutex_event_in_n_stands_for_n),
		cmocka_unit_test(time_of_those_who_are_passed_over_is_not_lost),
		cmocka_unit_test(the_finest_rate_is_in_force),
		cmocka_unit_test(there_are_not_too_many_windows),
		cmocka_unit_test(who_unlocks_is_charged_with_what_all_wait),
		cmocka_unit_test(waits_are_counted_once),
		cmocka_unit_test(readers_go_on_together),
		cmocka_unit_test(those_who_gave_up_are_remembered),
		cmocka_unit_test(those_who_gave_up_are_forgotten_when_it_is_switched_off),
		cmocka_unit_test(clocks_may_disagree),
		cmocka_unit_test(what_finds_no_room_is_counted),
		cmocka_unit_test(a_child_has_no_waiters),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	sonde__next_lock_find();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
