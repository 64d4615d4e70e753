/*
 * test-trend.c - is it a trend, or chance?
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "report/trend.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void assert_near(double is, double should_be)
{
	if (fabs(is - should_be) > fabs(should_be) * 1e-3)
		fail_msg("%g instead of %g", is, should_be);
}

/* From the tables of any book. */
static void students_t_is_as_in_tables(void **state)
{
	(void)state;
	assert_near(chance_of_t(12.7062, 1), 0.025);
	assert_near(chance_of_t(2.77645, 4), 0.025);
	assert_near(chance_of_t(2.57058, 5), 0.025);
	assert_near(chance_of_t(7.17318, 4), 0.001);
	assert_near(chance_of_t(1.64485, 100000), 0.05);
	assert_near(chance_of_t(0, 7), 0.5);
	assert_near(chance_of_t(-2.77645, 4), 0.975);
	assert_near(t_of_confidence(4), 2.77645);
	/* pt(200, 4, lower = FALSE) */
	assert_near(chance_of_t(200, 4), 1.8747e-09);
}

static void a_line_is_found(void **state)
{
	double x[] = { 0, 1, 2, 3, 4, 5 }, y[] = { 10.1, 11.9, 14.2, 15.8, 18.1, 20 };
	struct trend t = trend_fit(x, y, 6);

	(void)state;
	assert_near(t.slope, 1.99143);
	assert_int_equal(t.begin, 0);
	assert_true(t.chance < 1e-5 && t.error > 0 && t.error < 0.1);
}

static void a_bend_is_found_where_it_is(void **state)
{
	double x[] = { 0, 1, 2, 3, 4, 5, 6, 7 }, y[] = { 5, 5.1, 4.9, 5, 7, 9.1, 11, 12.9 };
	struct trend t = trend_fit(x, y, 8);

	(void)state;
	assert_int_equal(t.begin, 3);
	assert_near(t.slope, 1.98857);
}

static void noise_is_no_trend(void **state)
{
	double x[] = { 0, 1, 2, 3, 4, 5 }, y[] = { 5, 7, 4, 6, 8, 5 };

	(void)state;
	assert_true(trend_fit(x, y, 6).chance > 0.05);
}

static void what_stands_still_is_no_trend(void **state)
{
	double x[] = { 0, 1, 2 }, y[] = { 7, 7, 7 };

	(void)state;
	assert_true(trend_fit(x, y, 3).chance > 0.4);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(students_t_is_as_in_tables),
		cmocka_unit_test(a_line_is_found),
		cmocka_unit_test(a_bend_is_found_where_it_is),
		cmocka_unit_test(noise_is_no_trend),
		cmocka_unit_test(what_stands_still_is_no_trend),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
