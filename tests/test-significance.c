/*
 * test-significance.c - do two numbers that were sampled differ, or is it chance?
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "report/significance.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void assert_near(double is, double should_be)
{
	if (!(fabs(is - should_be) <= fabs(should_be) * 1e-3))
		fail_msg("%g instead of %g", is, should_be);
}

static void coins_are_fair(void **state)
{
	(void)state;
	assert_near(chance_of_many(10, 10, 0.5), 1.0 / 1024);
	assert_near(chance_of_many(1, 2, 0.5), 0.75);
	assert_near(chance_of_many(0, 5, 0.5), 1);
	assert_near(chance_of_many(6, 5, 0.5), 0);
	assert_true(chance_of_many(5000, 10000, 0.5) > 0.4);
	assert_true(chance_of_many(5500, 10000, 0.5) < 1e-20);
}

/* 1 - pbinom(k - 1, n, p) of any statistics program. */
static void bent_coins_are_as_in_tables(void **state)
{
	(void)state;
	assert_near(chance_of_many(3, 10, 0.1), 0.0701908);
	assert_near(chance_of_many(70, 100, 0.6), 0.02478282);
	assert_near(chance_of_many(1, 1000, 0.001), 1 - pow(0.999, 1000));
	/* From the exact to the normal there is no step to see. */
	assert_near(chance_of_many(500900, 999999, 0.5) / chance_of_many(500901, 1000001, 0.5), 1);
}

static double chance(double before, double after, double share)
{
	struct evidence e = { { before, after }, { before, after } };
	struct exposure x = { .share = share, .spread = 1 };

	return chance_of_difference(&e, &x);
}

static void a_difference_has_two_sides(void **state)
{
	(void)state;
	assert_near(chance(0, 6, 0.5), 2.0 / 64);
	assert_near(chance(6, 0, 0.5), 2.0 / 64);
	assert_near(chance(10, 10, 0.5), 1);
	assert_near(chance(0, 0, 0.5), 1);
	assert_near(chance(100, 200, 1.0 / 3), 1);
	assert_true(chance(100, 200, 0.5) < 1e-7);
}

/* fisher.test(matrix(c(8, 92, 20, 80), 2)): one tail is 0.01183277. */
static void shares_are_fishers(void **state)
{
	struct evidence e = { { 8, 20 }, { 8, 20 } };
	struct exposure x = { .share = 0.5, .all = { 100, 100 }, .parts = true, .spread = 1 };

	(void)state;
	assert_near(chance_of_difference(&e, &x), 2 * 0.01183277);
	e = (struct evidence){ { 100, 100 }, { 100, 100 } };
	assert_near(chance_of_difference(&e, &x), 1);
}

/* One object of 100 MB says less than a thousand of 100 kB. */
static void heavy_events_are_few(void **state)
{
	struct evidence one = { { 1e8, 2e8 }, { 1e16, 2e16 } };
	struct evidence many = { { 1e8, 2e8 }, { 1e13, 2e13 } };
	struct exposure x = { .share = 0.5, .spread = 1 };
	double events[2];

	(void)state;
	assert_true(chance_of_difference(&one, &x) > 0.5);
	assert_true(chance_of_difference(&many, &x) < 1e-9);
	effective_events(&many, 1, events);
	assert_near(events[0], 1000);
	effective_events(&many, 4, events);
	assert_near(events[1], 500);
}

static void few_events_cannot_tell(void **state)
{
	(void)state;
	assert_near(least_chance(5, 0.5), 2.0 / 32);
	assert_near(least_chance(0, 0.5), 1);
	assert_near(least_chance(3, 0.1), 0.002);
}

/* The example of Benjamini and Hochberg's own paper: four of fifteen. */
static void discoveries_are_those_of_the_paper(void **state)
{
	static const double p[] = { 0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344,
				    0.0459, 0.3240, 0.4262, 0.5719, 0.6528, 0.7590, 1.0000 };
	double q[15];
	size_t n = 0;

	(void)state;
	false_discoveries(p, q, 15);
	for (size_t i = 0; i < 15; i++)
		n += q[i] <= 0.05;
	assert_int_equal(n, 4);
	assert_near(q[0], 0.0015);
	assert_near(q[14], 1);
	false_discoveries(p, q, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(coins_are_fair),
		cmocka_unit_test(bent_coins_are_as_in_tables),
		cmocka_unit_test(a_difference_has_two_sides),
		cmocka_unit_test(shares_are_fishers),
		cmocka_unit_test(heavy_events_are_few),
		cmocka_unit_test(few_events_cannot_tell),
		cmocka_unit_test(discoveries_are_those_of_the_paper),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
