/*
 * test-memory-limit.c - when a heap is worth a dump, and how near to its limit a process is
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "runtime/guard.h"
#include "runtime/memory-limit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include <cmocka.h>

/* In place of the runtime. */
bool sonde__guard_is_filtered(void)
{
	return false;
}

enum { ABOVE = 330000000, GROWTH = 10 };

static void the_first_dump_needs_one_byte_more_than_330_MB(void **state)
{
	(void)state;
	assert_false(sonde__heap_is_above(329000000, ABOVE, 0, GROWTH));
	assert_false(sonde__heap_is_above(330000000, ABOVE, 0, GROWTH));
	assert_true(sonde__heap_is_above(330000001, ABOVE, 0, GROWTH));
}

static void a_later_one_needs_a_tenth_more_than_the_last(void **state)
{
	(void)state;
	assert_false(sonde__heap_is_above(373000000, ABOVE, 340000000, GROWTH));
	assert_false(sonde__heap_is_above(374000000, ABOVE, 340000000, GROWTH));
	assert_true(sonde__heap_is_above(374000001, ABOVE, 340000000, GROWTH));
	/* In whole numbers, as the document's program counts. */
	assert_true(sonde__heap_is_above(374000010, ABOVE, 340000009, GROWTH));
	assert_false(sonde__heap_is_above(374000009, ABOVE, 340000009, GROWTH));
	assert_false(sonde__heap_is_above(300000000, ABOVE, 340000000, GROWTH));
}

static void what_was_dumped_near_a_limit_does_not_lower_the_threshold(void **state)
{
	(void)state;
	assert_false(sonde__heap_is_above(200000000, ABOVE, 100000000, GROWTH));
	assert_true(sonde__heap_is_above(330000001, ABOVE, 100000000, GROWTH));
}

static void no_number_is_too_large(void **state)
{
	(void)state;
	assert_false(sonde__heap_is_above(UINT64_MAX, 0, UINT64_MAX, UINT64_MAX));
	assert_false(sonde__heap_is_above(UINT64_MAX, 0, UINT64_MAX - 1, 1));
	assert_true(sonde__percent(UINT64_MAX, UINT64_MAX) == UINT64_MAX);
	assert_true(sonde__heap_is_above(1, 0, 0, 0));
}

static struct sonde__memory_use use(uint64_t used, uint64_t limit)
{
	return (struct sonde__memory_use){ .what = "it", .used = used, .limit = limit };
}

static void near_is_nine_tenths_or_seconds_away(void **state)
{
	static const struct {
		uint64_t before, now;
		bool near;
	} cases[] = {
		{ 100, 200, false }, /* not half of it yet */
		{ 200, 300, true },  /* 100 a second: two seconds are left */
		{ 300, 330, false }, /* 30 a second: more than five */
		{ 449, 449, false }, { 450, 450, true }, { 480, 451, true }, { 400, 300, false },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct sonde__memory_use before = use(cases[i].before, 500);
		struct sonde__memory_use now = use(cases[i].now, 500);

		assert_int_equal(sonde__memory_is_near(&now, &before), cases[i].near);
	}
}

static void in_a_small_group_there_is_room_for_another_program(void **state)
{
	struct sonde__memory_use u = use(75 << 20, 100 << 20);

	(void)state;
	assert_false(sonde__memory_is_near(&u, &u));
	u.kills = true;
	assert_false(sonde__memory_is_near(&u, &u));
	u.used = 76 << 20;
	assert_true(sonde__memory_is_near(&u, &u));
	u = use(15 << 20, 32 << 20);
	u.kills = true;
	assert_false(sonde__memory_is_near(&u, &u));
	u.used = 16 << 20;
	assert_true(sonde__memory_is_near(&u, &u));
}

static void without_a_limit_nothing_is_near(void **state)
{
	struct sonde__memory_use u = { .anon = 1 };

	(void)state;
	assert_false(sonde__memory_is_near(&u, &u));
}

static void groups_are_found_in_both_versions(void **state)
{
	static const struct {
		const char *text, *path; /* NULL: none */
		bool v1;
	} cases[] = {
		{ "0::/\n", "/", false },
		{ "0::/system.slice/a.service\n", "/system.slice/a.service", false },
		{ "9:name=systemd:/x\n4:memory:/m/n\n0::/u\n", "/m/n", true },
		{ "0::/u\n5:cpu,memory:/both\n", "/both", true },
		{ "5:memory,cpu:/both:with:colons\n", "/both:with:colons", true },
		{ "5:memoryless:/no\n", NULL, false },
		{ "1:cpu:/c\n0::/u", "/u", false },
		{ "", NULL, false },
		{ "\n\n", NULL, false },
		{ "memory:/x\n", NULL, false },
		{ "4:memory\n0::/u\n", "/u", false },
		{ "0::relative\n", NULL, false },
	};
	char path[64];
	bool v1;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		bool found = sonde__cgroup_parse(cases[i].text, path, sizeof(path), &v1);

		assert_int_equal(found, cases[i].path != NULL);
		if (found)
			assert_string_equal(path, cases[i].path);
		if (found)
			assert_int_equal(v1, cases[i].v1);
	}
}

static void a_path_that_does_not_fit_is_none(void **state)
{
	char path[4];
	bool v1;

	(void)state;
	assert_false(sonde__cgroup_parse("0::/long/one\n", path, sizeof(path), &v1));
}

static void limits_are_numbers_or_none(void **state)
{
	(void)state;
	assert_true(sonde__limit_parse("1000\n") == 1000);
	assert_true(sonde__limit_parse("max\n") == UINT64_MAX);
	assert_true(sonde__limit_parse("9223372036854771712\n") == UINT64_MAX);
	assert_true(sonde__limit_parse("99999999999999999999999999\n") == UINT64_MAX);
	assert_true(sonde__limit_parse("") == UINT64_MAX);
}

static void the_limit_of_the_process_is_seen(void **state)
{
	struct sonde__memory_use u;
	struct rlimit before, tight;

	(void)state;
	assert_true(sonde__memory_use(&u, 1));
	assert_true(u.anon > 0);
	assert_int_equal(getrlimit(RLIMIT_AS, &before), 0);
	tight = before;
	tight.rlim_cur = (rlim_t)1 << 46; /* more than what sanitizers reserve */
	assert_int_equal(setrlimit(RLIMIT_AS, &tight), 0);
	assert_true(sonde__memory_use(&u, UINT64_C(60000000000)));
	assert_int_equal(setrlimit(RLIMIT_AS, &before), 0);
	/* Unless this runs in a group that is fuller still. */
	assert_non_null(u.what);
	assert_true(u.used > 0 && u.used <= u.limit);
	if (strcmp(u.what, "RLIMIT_AS") == 0)
		assert_int_equal(u.limit, UINT64_C(1) << 46);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_first_dump_needs_one_byte_more_than_330_MB),
		cmocka_unit_test(a_later_one_needs_a_tenth_more_than_the_last),
		cmocka_unit_test(what_was_dumped_near_a_limit_does_not_lower_the_threshold),
		cmocka_unit_test(no_number_is_too_large),
		cmocka_unit_test(near_is_nine_tenths_or_seconds_away),
		cmocka_unit_test(in_a_small_group_there_is_room_for_another_program),
		cmocka_unit_test(without_a_limit_nothing_is_near),
		cmocka_unit_test(groups_are_found_in_both_versions),
		cmocka_unit_test(a_path_that_does_not_fit_is_none),
		cmocka_unit_test(limits_are_numbers_or_none),
		cmocka_unit_test(the_limit_of_the_process_is_seen),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
