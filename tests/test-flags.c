/*
 * test-flags.c - command line flags as Go's flag package reads them
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/err.h"
#include "base/notify.h"
#include "base/out.h"
#include "ui/cmdline.h"
#include "ui/commands.h"
#include "ui/flags.h"
#include "ui/usage.h"

#include <errno.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#define ARGS(...) ((const char *[]){ "sonde", __VA_ARGS__, NULL })

static int count(const char *const *argv)
{
	int n = 0;

	while (argv[n])
		n++;
	return n;
}

static bool on;
static int number;
static double ratio;
static const char *text;

static int parse(const char *const *argv, int *first, struct err *err)
{
	static const struct flag flags[] = {
		{ "on", OPTION_BOOL, &on },
		{ "number", OPTION_INT, &number },
		{ "ratio", OPTION_FLOAT, &ratio },
		{ "text", OPTION_STRING, &text },
	};

	on = false;
	number = -1;
	ratio = 0;
	text = "";
	return flags_parse(flags, 4, count(argv), argv, first, err);
}

static void values_follow_or_are_attached(void **state)
{
	int first;

	(void)state;
	assert_int_equal(parse(ARGS("-number", "0x10", "--ratio=2.5", "-on", "--text", "-x", "f"),
			       &first, NULL),
			 0);
	assert_int_equal(number, 16);
	assert_true(ratio == 2.5);
	assert_true(on);
	assert_string_equal(text, "-x");
	assert_int_equal(first, 7);
}

static void the_first_other_argument_ends_the_flags(void **state)
{
	int first;

	(void)state;
	assert_int_equal(parse(ARGS("file", "-on"), &first, NULL), 0);
	assert_false(on);
	assert_int_equal(first, 1);
	assert_int_equal(parse(ARGS("-on", "--", "-number", "3"), &first, NULL), 0);
	assert_int_equal(first, 3);
	assert_int_equal(number, -1);
	assert_int_equal(parse(ARGS("-", "-on"), &first, NULL), 0);
	assert_int_equal(first, 1);
}

static void a_boolean_takes_its_value_only_after_an_equals_sign(void **state)
{
	int first;

	(void)state;
	assert_int_equal(parse(ARGS("-on=F", "-on=1", "false"), &first, NULL), 0);
	assert_true(on);
	assert_int_equal(first, 3);
}

static void a_number_that_does_not_fit_becomes_the_largest(void **state)
{
	int first;

	(void)state;
	assert_int_equal(parse(ARGS("-number=99999999999"), &first, NULL), 0);
	assert_int_equal(number, INT_MAX);
}

static void bad_flags_get_go_s_messages(void **state)
{
	static const struct {
		const char *arg, *why;
	} cases[] = {
		{ "-xyz", "flag provided but not defined: -xyz" },
		{ "--xyz=3", "flag provided but not defined: -xyz" },
		{ "---on", "bad flag syntax: ---on" },
		{ "-=on", "bad flag syntax: -=on" },
		{ "-number", "flag needs an argument: -number" },
		{ "-number=x", "invalid value \"x\" for flag -number: parse error" },
		{ "-number=1.5", "invalid value \"1.5\" for flag -number: parse error" },
		{ "-ratio=1e999", "invalid value \"1e999\" for flag -ratio: value out of range" },
		{ "-on=yes\n", "invalid boolean value \"yes\\n\" for -on: parse error" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct err err = { "" };
		int first;

		assert_int_equal(parse(ARGS(cases[i].arg), &first, &err), -EINVAL);
		assert_string_equal(err.msg, cases[i].why);
	}
}

static void help_is_not_an_error(void **state)
{
	struct err err = { "" };
	int first;

	(void)state;
	assert_int_equal(parse(ARGS("-h"), &first, &err), -ECANCELED);
	assert_int_equal(parse(ARGS("--help=1"), &first, &err), -ECANCELED);
	assert_string_equal(err.msg, "");
}

/* What cmdline_parse() says. */
static struct out said;

static void hear(struct notify *n, enum notify_kind kind, const char *message)
{
	(void)n;
	(void)kind;
	out_printf(&said, "%s\n", message);
}

static struct notify listener = { .say = hear };

static int request(struct request *rq, const char *const *argv, struct err *err)
{
	out_release(&said);
	out_init(&said, 0);
	return cmdline_parse(rq, count(argv), argv, &listener, err);
}

static void a_request_has_a_command_and_sources(void **state)
{
	struct request rq;
	struct err err;

	(void)state;
	assert_int_equal(
		request(&rq, ARGS("-list", "main", "-cum", "-unit=ms", "a.pb", "b.pb"), &err), 0);
	assert_string_equal(rq.command->name, "list");
	assert_string_equal(rq.param, "main");
	assert_string_equal(rq.config.sort, "cum");
	assert_string_equal(rq.config.granularity, "functions");
	assert_string_equal(rq.config.unit, "ms");
	assert_int_equal(rq.source.nsources, 2);
	assert_string_equal(rq.source.sources[1], "b.pb");
	assert_int_equal(rq.source.seconds, -1);
	assert_int_equal(said.n, 0);
}

static void without_a_format_there_is_no_command(void **state)
{
	struct request rq;
	struct err err;

	(void)state;
	assert_int_equal(request(&rq, ARGS("-top=false", "-list=", "a.pb"), &err), 0);
	assert_null(rq.command);
}

static void no_source_shows_the_usage_and_says_so(void **state)
{
	struct request rq;
	struct err err;
	struct out usage;

	(void)state;
	assert_int_equal(request(&rq, ARGS("-top"), &err), -EINVAL);
	assert_string_equal(err.msg, "no profile source specified");
	out_init(&usage, 0);
	usage_write(&usage);
	assert_true(str_starts(out_view(&said), out_view(&usage)));
	out_release(&usage);
}

static void contradictions_are_refused(void **state)
{
	static const struct {
		const char *argv[8];
		const char *why;
	} cases[] = {
		{ { "s", "-top", "-text", "f" }, "must set at most one output format" },
		{ { "s", "-top", "-peek=x", "f" }, "must set at most one output format" },
		{ { "s", "-top", "-http=:1", "f" },
		  "-http is not compatible with an output format on the command line" },
		{ { "s", "-no_browser", "f" }, "-no_browser only makes sense with -http" },
		{ { "s", "-base=a", "-diff_base=b", "f" },
		  "-base and -diff_base flags cannot both be specified" },
		{ { "s", "-normalize", "f" }, "must have base profile to normalize by" },
		{ { "s", "-flat", "-cum", "f" }, "conflicting options set: [cum flat]" },
		{ { "s", "-lines", "-files", "-functions", "f" },
		  "conflicting options set: [functions files lines]" },
		{ { "s", "-json", "-csv", "f" }, "conflicting options set: [json csv]" },
		{ { "s", "-dialect=go2", "f" }, "invalid \"dialect\" value \"go2\"" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct request rq;
		struct err err;

		assert_int_equal(request(&rq, cases[i].argv, &err), -EINVAL);
		assert_string_equal(err.msg, cases[i].why);
	}
}

static void old_flags_choose_a_sample_type_once(void **state)
{
	struct request rq;
	struct err err;

	(void)state;
	assert_int_equal(request(&rq, ARGS("-inuse_space", "-mean_delay", "f"), &err), 0);
	assert_string_equal(rq.config.sample_index, "delay");
	assert_true(rq.config.mean);
	assert_true(str_is(out_view(&said), "Multiple value selections, ignoring -inuse_space\n"));
}

static void a_base_is_a_base_or_a_diff_base(void **state)
{
	struct request rq;
	struct err err;

	(void)state;
	assert_int_equal(request(&rq, ARGS("-base=a", "-base=b", "-normalize", "f"), &err), 0);
	assert_string_equal(rq.source.base, "b");
	assert_false(rq.source.diff_base);
	assert_true(rq.source.normalize);
	assert_int_equal(request(&rq, ARGS("-diff_base", "c", "f"), &err), 0);
	assert_string_equal(rq.source.base, "c");
	assert_true(rq.source.diff_base);
}

static void the_first_of_several_can_be_the_program_or_its_build_id(void **state)
{
	struct request rq;
	struct err err;

	(void)state;
	assert_int_equal(request(&rq, ARGS("/bin/sh", "f"), &err), 0);
	assert_string_equal(rq.source.exec_name, "/bin/sh");
	assert_int_equal(rq.source.nsources, 1);
	assert_int_equal(request(&rq, ARGS("00c0ffee00", "f"), &err), 0);
	assert_string_equal(rq.source.build_id, "00c0ffee00");
	assert_int_equal(rq.source.nsources, 1);
	assert_int_equal(request(&rq, ARGS("-buildid=1", "00c0ffee00", "f"), &err), 0);
	assert_string_equal(rq.source.build_id, "1");
	assert_int_equal(rq.source.nsources, 2);
	assert_int_equal(request(&rq, ARGS("/bin/sh"), &err), 0);
	assert_string_equal(rq.source.exec_name, "");
	assert_int_equal(rq.source.nsources, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(values_follow_or_are_attached),
		cmocka_unit_test(the_first_other_argument_ends_the_flags),
		cmocka_unit_test(a_boolean_takes_its_value_only_after_an_equals_sign),
		cmocka_unit_test(a_number_that_does_not_fit_becomes_the_largest),
		cmocka_unit_test(bad_flags_get_go_s_messages),
		cmocka_unit_test(help_is_not_an_error),
		cmocka_unit_test(a_request_has_a_command_and_sources),
		cmocka_unit_test(without_a_format_there_is_no_command),
		cmocka_unit_test(no_source_shows_the_usage_and_says_so),
		cmocka_unit_test(contradictions_are_refused),
		cmocka_unit_test(old_flags_choose_a_sample_type_once),
		cmocka_unit_test(a_base_is_a_base_or_a_diff_base),
		cmocka_unit_test(the_first_of_several_can_be_the_program_or_its_build_id),
	};
	int rc;

	unsetenv("PPROF_TOOLS");
	cmocka_set_message_output(CM_OUTPUT_TAP);
	rc = cmocka_run_group_tests(tests, NULL, NULL);
	out_release(&said);
	return rc;
}
