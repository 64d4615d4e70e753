/*
 * test-rounds.c - names in a folder of collected rounds
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "source/rounds.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static const int64_t then = 1601590120; /* 2020-10-01 22:08:40 in UTC */

static void check(const char *name, const char *component, const char *kind)
{
	struct round_file f;

	assert_true(round_file_parse(str_of(name), &f));
	assert_true(str_eq(f.component, str_of(component)));
	assert_true(str_eq(f.kind, str_of(kind)));
	assert_int_equal(f.seconds, then);
}

static void both_kinds_of_names_are_read(void **state)
{
	(void)state;
	check("web-heap-2020-10-01-22:08:40.pprof", "web", "heap");
	check("web-heap-20201001T220840Z.pprof", "web", "heap");
}

static void components_have_dashes_and_kinds_have_none(void **state)
{
	(void)state;
	check("kube-apiserver-heap-2020-10-01-22:08:40.pprof", "kube-apiserver", "heap");
	check("2020-10-01-22:08:40-cpu-20201001T220840Z.pprof", "2020-10-01-22:08:40", "cpu");
}

static void other_names_are_left_alone(void **state)
{
	static const char *const names[] = {
		"",
		".pprof",
		"web.pprof",
		"web-heap.pprof",
		"web-heap-2020-10-01-22:08:40",
		"web-heap-2020-10-01-22:08:40.pprof.tmp",
		"web-heap-2020-10-01-22:08.pprof",
		"web-heap-2020-13-01-22:08:40.pprof",
		"web-heap_2020-10-01-22:08:40.pprof",
		"heap-2020-10-01-22:08:40.pprof",
		"-heap-2020-10-01-22:08:40.pprof",
		"web--2020-10-01-22:08:40.pprof",
	};
	struct round_file f;

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		assert_false(round_file_parse(str_of(names[i]), &f));
}

static void rounds_are_stamps_and_nothing_else(void **state)
{
	int64_t seconds;

	(void)state;
	assert_true(stamp_parse(STR("2020-10-01-22:08:40"), &seconds));
	assert_int_equal(seconds, then);
	assert_true(stamp_parse(STR("20201001T220840Z"), &seconds));
	assert_int_equal(seconds, then);
	assert_false(stamp_parse(STR("2020-10-01-22:08:40 "), &seconds));
	assert_false(stamp_parse(STR("2020-10-01-22:08:40-and-more-than-fits"), &seconds));
	assert_false(stamp_parse(STR("20201001T220840Z\0x"), &seconds));
	assert_false(stamp_parse(STR(""), &seconds));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(both_kinds_of_names_are_read),
		cmocka_unit_test(components_have_dashes_and_kinds_have_none),
		cmocka_unit_test(other_names_are_left_alone),
		cmocka_unit_test(rounds_are_stamps_and_nothing_else),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests_name("rounds", tests, NULL, NULL);
}
