/*
 * test-readable.c - the name of a function, as much of it as a person wants to read
 *
 * Most names are in tests/data/names.txt.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "symbol/readable.h"

#include "base/cleanup.h"
#include "base/gotext.h"
#include "base/out.h"
#include "base/xalloc.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <cmocka.h>

static void check(const char *full, enum name_style style, int level, const char *expected)
{
	AUTO(out_release) struct out o;

	out_init(&o, 0);
	readable_name(str_of(full), style, level, &o);
	if (!str_is(out_view(&o), expected))
		fail_msg("%s at level %d: expected %s, got %.*s", full, level, expected,
			 STR_ARG(out_view(&o)));
}

/* ------------------------------------------------------------------ the list */

struct example {
	char *level[READABLE_LEVELS]; /* NULL: as the one before */
};

static struct example *examples;
static size_t nexamples, cap_examples;

static int read_examples(void **state)
{
	AUTO(freep) char *path = mem_printf("%s/tests/data/names.txt", getenv("SONDE_SOURCE"));
	AUTO(freep) char *line = NULL;
	FILE *f = fopen(path, "r");
	size_t cap = 0;

	(void)state;
	if (!f)
		return -1;
	while (getline(&line, &cap, f) > 0) {
		if (line[0] < '0' || line[0] > '4')
			continue;
		line[strcspn(line, "\n")] = '\0';
		if (line[0] == '0')
			vec_push(examples, nexamples, cap_examples, (struct example){ 0 });
		examples[nexamples - 1].level[line[0] - '0'] = mem_str(str_of(line + 2));
	}
	fclose(f);
	return 0;
}

static int free_examples(void **state)
{
	(void)state;
	for (size_t i = 0; i < nexamples; i++) {
		for (int k = 0; k < READABLE_LEVELS; k++)
			free(examples[i].level[k]);
	}
	free(examples);
	return 0;
}

static const char *expected_at(const struct example *e, int level)
{
	while (!e->level[level])
		level--;
	return e->level[level];
}

static void every_name_of_the_list_is_cut_as_listed(void **state)
{
	(void)state;
	assert_true(nexamples >= 150);
	for (size_t i = 0; i < nexamples; i++) {
		for (int k = 0; k < READABLE_LEVELS; k++)
			check(examples[i].level[0], NAME_GUESS, k, expected_at(&examples[i], k));
	}
}

static void cutting_twice_is_cutting_once(void **state)
{
	(void)state;
	for (size_t i = 0; i < nexamples; i++) {
		for (int k = 0; k < READABLE_LEVELS; k++) {
			const char *once = expected_at(&examples[i], k);

			check(once, NAME_GUESS, k, once);
		}
	}
}

static void no_name_has_more_characters_at_a_higher_level(void **state)
{
	(void)state;
	for (size_t i = 0; i < nexamples; i++) {
		for (int k = 1; k < READABLE_LEVELS; k++)
			assert_true(go_rune_count(str_of(expected_at(&examples[i], k))) <=
				    go_rune_count(str_of(expected_at(&examples[i], k - 1))));
	}
}

/* ------------------------------------------------------------------ languages */

static void the_source_file_tells_the_language(void **state)
{
	(void)state;
	assert_int_equal(name_style(STR("/src/main.go")), NAME_DOTTED);
	assert_int_equal(name_style(STR("Main.java")), NAME_DOTTED);
	assert_int_equal(name_style(STR("../a/b.cc")), NAME_SCOPED);
	assert_int_equal(name_style(STR("lib.rs")), NAME_SCOPED);
	assert_int_equal(name_style(STR("memmove_amd64.s")), NAME_GUESS);
	assert_int_equal(name_style(STR("")), NAME_GUESS);
}

static void a_go_function_called_cold_is_not_a_part_of_another(void **state)
{
	(void)state;
	check("main.cold", NAME_DOTTED, 1, "main.cold");
	check("main.cold", NAME_DOTTED, 4, "cold");
	check("main.cold", NAME_SCOPED, 1, "main");
}

static void dots_do_not_separate_the_names_of_c(void **state)
{
	(void)state;
	check("sum.avx2.1", NAME_SCOPED, 4, "sum.avx2.1");
	check("main.sum", NAME_DOTTED, 4, "sum");
}

/* ------------------------------------------------------------------ hostile names */

static double seconds_for(const char *what, size_t times, const char *end)
{
	AUTO(out_release) struct out name;
	AUTO(out_release) struct out o;
	struct timespec from, to;

	out_init(&name, 0);
	out_init(&o, 0);
	for (size_t i = 0; i < times; i++)
		out_text(&name, what);
	out_text(&name, end);
	clock_gettime(CLOCK_MONOTONIC, &from);
	readable_name(out_view(&name), NAME_GUESS, 4, &o);
	clock_gettime(CLOCK_MONOTONIC, &to);
	assert_true(o.n <= name.n);
	return (double)(to.tv_sec - from.tv_sec) + (double)(to.tv_nsec - from.tv_nsec) / 1e9;
}

static void long_names_take_no_time(void **state)
{
	static const char *const pieces[] = { "(",        "<",       "a<",          "std::vector<",
					      "::",       "a::",     " const",      "operator",
					      "{lambda(", "foo()::", " [clone .a]", ".cold",
					      ".isra.0",  "a.",      "<T as ",      "operator ",
					      "[abi:x]",  "(*a)",    " &",          "std::__1::",
					      ".func1",   "<>::",    "~",           "@@A" };

	(void)state;
	for (size_t i = 0; i < sizeof(pieces) / sizeof(pieces[0]); i++) {
		size_t times = ((64 << 10) - 4) / strlen(pieces[i]);
		double s =
			seconds_for(pieces[i], times, "") + seconds_for(pieces[i], times, " f()");

		if (s > 0.5)
			fail_msg("64 KiB of %s take %f s", pieces[i], s);
	}
}

static void longer_names_stay_as_they_are(void **state)
{
	AUTO(freep) char *name = mem_new(1, (64 << 10) + 8);

	(void)state;
	memset(name, 'a', (64 << 10) + 1);
	memcpy(name + (64 << 10) + 1, "::b", 4);
	check(name, NAME_GUESS, 4, name);
	check(name + 4, NAME_GUESS, 4, "b");
}

static void bytes_that_are_no_text_pass_through(void **state)
{
	static const struct str bytes = { "a\0b::\xff\xfe<\x80>", 10 };
	AUTO(out_release) struct out o;

	(void)state;
	out_init(&o, 0);
	readable_name(bytes, NAME_GUESS, 3, &o);
	assert_true(str_eq(out_view(&o), (struct str){ "a\0b::\xff\xfe", 7 }));
	readable_name(STR(""), NAME_GUESS, 4, &o);
	assert_int_equal(o.n, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_name_of_the_list_is_cut_as_listed),
		cmocka_unit_test(cutting_twice_is_cutting_once),
		cmocka_unit_test(no_name_has_more_characters_at_a_higher_level),
		cmocka_unit_test(the_source_file_tells_the_language),
		cmocka_unit_test(a_go_function_called_cold_is_not_a_part_of_another),
		cmocka_unit_test(dots_do_not_separate_the_names_of_c),
		cmocka_unit_test(long_names_take_no_time),
		cmocka_unit_test(longer_names_stay_as_they_are),
		cmocka_unit_test(bytes_that_are_no_text_pass_through),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, read_examples, free_examples);
}
