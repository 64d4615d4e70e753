/*
 * test-args.c - options of our own commands, and what manuals and shells are told of them
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/args-doc.h"
#include "base/err.h"
#include "base/out.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

static const struct arg flags[] = {
	{ "output", "file", "Where to,\n   not here", ARG_FILE },
	{ "since", "time", "Since *then*", ARG_TIME },
	{ "size", "n", "How much\nAll of it if not set", ARG_NUMBER },
	{ "json", NULL, "As JSON", ARG_TEXT },
	{ NULL, NULL, NULL, ARG_TEXT },
};
enum { OUTPUT, SINCE, SIZE, JSON };

static struct args parsed;
static struct err err;
static char *words[16];

static char **split(const char *line)
{
	static char text[256];
	size_t n = 0;

	(void)snprintf(text, sizeof(text), "%s", line);
	for (char *p = text, *end; p; p = end ? end + 1 : NULL) {
		words[n++] = p;
		end = strchr(p, ' ');
		if (end)
			*end = '\0';
	}
	words[n] = NULL;
	return words;
}

static bool at_first(char **list, size_t n)
{
	(void)list;
	return n == 1;
}

static bool after_open(char **list, size_t n)
{
	return n == 2 && strcmp(list[0], "open") == 0;
}

static void options_end_at_the_first_other_word(void **state)
{
	(void)state;
	assert_int_equal(
		args_parse(&parsed, flags, split("--size 4K -json x --since 5m"), at_first, &err),
		0);
	assert_int_equal(args_number(parsed.values[SIZE]), 4096);
	assert_string_equal(parsed.values[JSON], "");
	assert_null(parsed.values[SINCE]);
	assert_string_equal(parsed.rest[0], "x");
	assert_string_equal(parsed.rest[1], "--since");
}

static void what_follows_some_words_is_left_alone(void **state)
{
	(void)state;
	assert_int_equal(args_parse(&parsed, flags, split("-json open --size 1 x --size 2 -- -c"),
				    after_open, &err),
			 0);
	assert_non_null(parsed.values[JSON]);
	assert_string_equal(parsed.values[SIZE], "1");
	assert_string_equal(parsed.rest[1], "x");
	assert_string_equal(parsed.rest[2], "--size");
	assert_string_equal(parsed.rest[4], "--");
	assert_string_equal(parsed.rest[5], "-c");
	assert_null(parsed.rest[6]);
	assert_int_equal(args_parse(&parsed, flags, split("list x --size 2"), after_open, &err), 0);
	assert_string_equal(parsed.values[SIZE], "2");
	assert_null(parsed.rest[2]);
}

static void options_behind_words_are_found_if_asked_for(void **state)
{
	(void)state;
	assert_int_equal(
		args_parse(&parsed, flags, split("a --size=1 b -json -- -c --x"), NULL, &err), 0);
	assert_string_equal(parsed.values[SIZE], "1");
	assert_non_null(parsed.values[JSON]);
	assert_string_equal(parsed.rest[0], "a");
	assert_string_equal(parsed.rest[1], "b");
	assert_string_equal(parsed.rest[2], "-c");
	assert_string_equal(parsed.rest[3], "--x");
	assert_null(parsed.rest[4]);
}

static void a_letter_is_the_only_option_that_begins_so(void **state)
{
	(void)state;
	assert_int_equal(args_parse(&parsed, flags, split("-o x"), at_first, &err), 0);
	assert_string_equal(parsed.values[OUTPUT], "x");
	assert_int_equal(args_parse(&parsed, flags, split("-s x"), at_first, &err), -EINVAL);
	assert_string_equal(err.msg, "there is no option --s; see --help");
}

static void every_command_has_help(void **state)
{
	(void)state;
	assert_int_equal(args_parse(&parsed, flags, split("--json -h"), at_first, &err), 0);
	assert_true(parsed.help);
	assert_int_equal(args_parse(&parsed, flags, split("x --help"), at_first, &err), 0);
	assert_false(parsed.help);
	assert_int_equal(args_parse(&parsed, flags, split("x --help"), NULL, &err), 0);
	assert_true(parsed.help);
	assert_int_equal(args_parse(&parsed, flags, split("--help=1"), at_first, &err), -EINVAL);
}

static void wrong_values_are_told(void **state)
{
	static const char *const wrong[][2] = {
		{ "--bogus", "there is no option --bogus; see --help" },
		{ "--size x", "--size takes a number, not 'x'" },
		{ "--size 1Q", "--size takes a number, not '1Q'" },
		{ "--since soon", "--since takes a time such as 30s or 5m, not 'soon'" },
		{ "--output", "--output takes a value" },
		{ "--json=1", "--json takes no value" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		assert_int_equal(args_parse(&parsed, flags, split(wrong[i][0]), NULL, &err),
				 -EINVAL);
		assert_string_equal(err.msg, wrong[i][1]);
	}
}

static void the_manual_has_sentences_and_no_marks_of_its_own(void **state)
{
	struct out o;

	(void)state;
	out_init(&o, 0);
	scdoc_options(&o, flags);
	out_char(&o, '\0');
	assert_non_null(strstr(o.p, "*--output* _file_\n\tWhere to, not here.\n"));
	assert_non_null(strstr(o.p, "\tHow much. All of it if not set.\n"));
	assert_non_null(strstr(o.p, "\tSince \\*then\\*.\n"));
	assert_non_null(strstr(o.p, "*--help*\n"));
	out_release(&o);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(options_end_at_the_first_other_word),
		cmocka_unit_test(what_follows_some_words_is_left_alone),
		cmocka_unit_test(options_behind_words_are_found_if_asked_for),
		cmocka_unit_test(a_letter_is_the_only_option_that_begins_so),
		cmocka_unit_test(every_command_has_help),
		cmocka_unit_test(wrong_values_are_told),
		cmocka_unit_test(the_manual_has_sentences_and_no_marks_of_its_own),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
