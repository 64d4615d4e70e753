/*
 * test-units.c - measurements and percentages
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/out.h"
#include "base/units.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static void check_print(int64_t v, const char *from, const char *to, bool minutes, const char *want)
{
	struct out o;

	out_init(&o, 0);
	unit_print(&o, v, str_of(from), (struct unit_target){ str_of(to), minutes });
	out_char(&o, '\0');
	assert_string_equal(o.p, want);
	out_release(&o);
}

static void values_print_with_two_decimals_and_the_unit(void **state)
{
	static const struct {
		int64_t v;
		const char *from, *to, *want;
	} cases[] = {
		{ 0, "bytes", "auto", "0" },
		{ 1, "bytes", "auto", "1B" },
		{ 1024, "bytes", "auto", "1kB" },
		{ 1536, "BYTE", "auto", "1.50kB" },
		{ -1536, "bytes", "auto", "-1.50kB" },
		{ 1 << 20, "b", "kilobytes", "1024kB" },
		{ 209648619, "bytes", "megabytes", "199.94MB" },
		{ 10, "bytes", "megabytes", "0" },
		{ -10, "bytes", "megabytes", "0" },
		{ 1000000, "nanoseconds", "auto", "1ms" },
		{ 1, "us", "ns", "1000ns" },
		{ 245120, "milliseconds", "auto", "245.12s" },
		{ 2, "hour", "s", "7200s" },
		{ 90, "seconds", "hours", "0.03hrs" },
		{ 5, "seconds", "bananas", "5s" },
		{ 5, "count", "auto", "5" },
		{ 5, "cycles", "cycles", "5cycles" },
		{ 5, "cycles", "count", "5" },
		{ 1500, "milligcu", "auto", "1.50GCU" },
		{ INT64_MIN, "bytes", "auto", "-9223372036854775808B" },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++)
		check_print(cases[i].v, cases[i].from, cases[i].to, false, cases[i].want);
}

static void every_value_is_rounded_as_printf_does_it(void **state)
{
	uint64_t seed = 1;

	(void)state;
	for (int i = 0; i < 300000; i++) {
		char digits[64], want[80];
		int64_t v;
		int n;

		seed = seed * 6364136223846793005u + 1442695040888963407u;
		v = (int64_t)(seed >> (14 + i % 50)) * (i % 7 ? 1 : -1);
		n = snprintf(digits, sizeof(digits), "%.2f", (double)v / 1024);
		if (strcmp(digits + n - 3, ".00") == 0)
			digits[n - 3] = '\0';
		snprintf(want, sizeof(want), "%skB", digits);
		if (strcmp(want, "0kB") == 0 || strcmp(want, "-0kB") == 0)
			snprintf(want, sizeof(want), "0");
		check_print(v, "bytes", "kB", false, want);
	}
}

static void minutes_are_an_old_habit_that_can_be_asked_for(void **state)
{
	(void)state;
	check_print(245120, "ms", "auto", true, "4.09mins");
	check_print(90, "hours", "auto", true, "3.75days");
	check_print(245120, "ms", "minutes", false, "245.12s");
}

static void percentages_keep_two_digits(void **state)
{
	static const struct {
		int64_t v, total;
		const char *want;
	} cases[] = {
		{ 1, 0, "    0%" },
		{ 0, 5, "    0%" },
		{ 1, 1, "  100%" },
		{ 9995, 10000, "  100%" },
		{ 9994, 10000, "99.94%" },
		{ -1, 4, "25.00%" },
		{ 1, 100, " 1.00%" },
		{ 74, 10000, " 0.74%" },
		{ 2, 1000, "  0.2%" },
		{ 67, 100000, "0.067%" },
		{ 83, 100000000, "8.3e-05%" },
		{ 30, 1, "3000.00%" },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct percentage p = percentage(cases[i].v, cases[i].total);

		assert_string_equal(p.text, cases[i].want);
	}
}

static void check_percentage(int64_t v, int64_t total)
{
	double ratio = total ? fabs((double)v / (double)total) * 100 : 0;
	struct percentage p = percentage(v, total);
	char want[64];

	if (ratio >= 99.95 && ratio <= 100.05)
		snprintf(want, sizeof(want), "  100%%");
	else
		snprintf(want, sizeof(want), ratio >= 1.0 ? "%5.2f%%" : "%5.2g%%", ratio);
	assert_string_equal(p.text, want);
}

/* Parts of every size, and those that lie between two numbers of two digits. */
static void every_percentage_is_rounded_as_printf_does_it(void **state)
{
	uint64_t seed = 7;

	(void)state;
	for (int i = 0; i < 200000; i++) {
		int64_t v, total;

		seed = seed * 6364136223846793005u + 1442695040888963407u;
		v = (int64_t)(seed >> (seed >> 58));
		seed = seed * 6364136223846793005u + 1442695040888963407u;
		total = (int64_t)(seed >> (seed >> 58));
		check_percentage(v, total);
	}
	for (int64_t total = 100; total <= 100000000000000; total *= 10) {
		for (int64_t v = 0; v <= 2100; v++)
			check_percentage(v, total * 2);
	}
	check_percentage(INT64_MAX, 1);
	check_percentage(INT64_MIN, 1);
}

static void a_number_out_of_range_becomes_the_least_one(void **state)
{
	(void)state;
	assert_true(f64_to_i64(1e300) == INT64_MIN);
	assert_true(f64_to_i64(0.0 / 0.0) == INT64_MIN);
	assert_true(f64_to_i64(-1.9) == -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(values_print_with_two_decimals_and_the_unit),
		cmocka_unit_test(every_value_is_rounded_as_printf_does_it),
		cmocka_unit_test(minutes_are_an_old_habit_that_can_be_asked_for),
		cmocka_unit_test(percentages_keep_two_digits),
		cmocka_unit_test(every_percentage_is_rounded_as_printf_does_it),
		cmocka_unit_test(a_number_out_of_range_becomes_the_least_one),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
