/*
 * test-options.c - options, commands, and the lines typed in the shell
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/arena.h"
#include "base/err.h"
#include "base/out.h"
#include "profile/build.h"
#include "profile/profile.h"
#include "ui/commands.h"
#include "ui/complete.h"
#include "ui/dump.h"
#include "ui/history.h"
#include "ui/invocation.h"
#include "ui/options.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static struct arena arena;
static struct config cfg;
static struct err err;

static int start(void **state)
{
	(void)state;
	arena_init(&arena, 1 << 20);
	config_init(&cfg);
	err.msg[0] = '\0';
	return 0;
}

static int stop(void **state)
{
	(void)state;
	arena_release(&arena);
	return 0;
}

static int assign(const char *name, const char *value)
{
	return config_assign(&cfg, str_of(name), str_of(value), &arena, &err);
}

static void defaults_are_the_reference_s(void **state)
{
	(void)state;
	assert_string_equal(cfg.unit, "minimum");
	assert_string_equal(cfg.sort, "flat");
	assert_string_equal(cfg.granularity, "functions");
	assert_string_equal(cfg.focus, "");
	assert_string_equal(cfg.format, "text");
	assert_string_equal(cfg.dialect, "go1.19");
	assert_int_equal(cfg.nodecount, -1);
	assert_true(cfg.nodefraction == 0.005);
	assert_true(cfg.edgefraction == 0.001);
	assert_true(cfg.divide_by == 1);
	assert_true(cfg.trim);
	assert_false(cfg.mean);
}

static void every_option_can_be_read_back(void **state)
{
	(void)state;
	for (const struct option *o = config_options; o->name; o++) {
		struct out text;

		out_init(&text, 0);
		option_get(o, &cfg, &text);
		assert_true(str_is(out_view(&text), o->def));
		assert_true(option_is_default(o, &cfg));
		assert_int_equal(option_set(o, &cfg, out_view(&text), &arena, &err), 0);
		assert_true(o->help || o->choices);
		out_release(&text);
	}
}

static void switches_understand_more_words_than_flags(void **state)
{
	(void)state;
	assert_int_equal(assign("mean", "Yes"), 0);
	assert_true(cfg.mean);
	assert_int_equal(assign("mean", "n"), 0);
	assert_false(cfg.mean);
	assert_int_equal(assign("mean", ""), 0);
	assert_true(cfg.mean);
	assert_int_equal(assign("mean", "maybe"), -EINVAL);
	assert_string_equal(err.msg, "illegal value \"maybe\" for bool variable");
	assert_true(cfg.mean);
}

static void numbers_are_checked(void **state)
{
	(void)state;
	assert_int_equal(assign("nodecount", "0x10"), -EINVAL);
	assert_string_equal(err.msg, "strconv.Atoi: parsing \"0x10\": invalid syntax");
	assert_int_equal(cfg.nodecount, -1);
	assert_int_equal(assign("nodefraction", "1e-3"), 0);
	assert_true(cfg.nodefraction == 0.001);
}

static void a_choice_is_a_value_or_a_switch_that_is_on(void **state)
{
	(void)state;
	assert_int_equal(assign("sort", "cum"), 0);
	assert_string_equal(cfg.sort, "cum");
	assert_int_equal(assign("sort", "this"), -EINVAL);
	assert_string_equal(err.msg, "invalid \"sort\" value \"this\"");
	assert_int_equal(assign("flat", "1"), 0);
	assert_string_equal(cfg.sort, "flat");
	assert_int_equal(assign("cum", ""), -EINVAL);
	assert_string_equal(err.msg, "unknown config field \"cum\"");
	assert_int_equal(assign("cum", "yes"), -EINVAL);
	assert_string_equal(cfg.sort, "flat");
	assert_int_equal(assign("json", "true"), 0);
	assert_string_equal(cfg.format, "json");
}

static void a_report_s_name_is_not_a_choice(void **state)
{
	const struct choice *choice;

	(void)state;
	for (const struct command *c = commands; c->name; c++)
		assert_null(option_find(str_of(c->name), &choice));
}

static void commands_are_in_order(void **state)
{
	(void)state;
	for (const struct command *c = commands + 1; c->name; c++)
		assert_true(strcmp(c[-1].name, c->name) < 0);
}

static void what_is_not_available_says_what_to_use(void **state)
{
	(void)state;
	setenv("PATH", "/nonexistent", 1);
	assert_int_equal(command_check(command_find(STR("svg")), "-", &err), -ENOENT);
	assert_non_null(
		strstr(err.msg, "(apt-get install graphviz; -flamegraph and -dot need none)"));
	assert_int_equal(command_check(command_find(STR("dot")), "-", &err), 0);
	assert_int_equal(command_check(command_find(STR("top")), "-", &err), 0);
}

static int invoke(struct invocation *inv, const char *line)
{
	return invocation_parse(inv, str_of(line), &cfg, &arena, &err);
}

static void a_command_takes_words_in_any_order(void **state)
{
	struct invocation inv;

	(void)state;
	assert_int_equal(invoke(&inv, "top 5 main -runtime --cum net -sys > out.txt"), 0);
	assert_string_equal(inv.command->name, "top");
	assert_int_equal(inv.cfg.nodecount, 5);
	assert_string_equal(inv.cfg.focus, "main|net");
	assert_string_equal(inv.cfg.ignore, "runtime|sys");
	assert_string_equal(inv.cfg.sort, "cum");
	assert_string_equal(inv.cfg.output, "out.txt");
	assert_string_equal(cfg.focus, "");
}

static void a_number_can_be_part_of_the_command(void **state)
{
	struct invocation inv;

	(void)state;
	assert_int_equal(invoke(&inv, "top15"), 0);
	assert_int_equal(inv.cfg.nodecount, 15);
	assert_int_equal(invoke(&inv, "list12"), 0);
	assert_string_equal(inv.param, "12");
	assert_int_equal(invoke(&inv, "top"), 0);
	assert_int_equal(inv.cfg.nodecount, 10);
	assert_int_equal(invoke(&inv, "tree"), 0);
	assert_int_equal(inv.cfg.nodecount, -1);
}

static void tags_take_tags(void **state)
{
	struct invocation inv;

	(void)state;
	assert_int_equal(invoke(&inv, "tags key=a -b >f"), 0);
	assert_string_equal(inv.cfg.tagfocus, "key=a");
	assert_string_equal(inv.cfg.tagignore, "b");
	assert_string_equal(inv.cfg.focus, "");
	assert_string_equal(inv.cfg.output, "f");
}

static void a_bad_command_gets_the_reference_s_message(void **state)
{
	static const char *const cases[][2] = {
		{ "frob", "unrecognized command: \"frob\"" },
		{ "frob\xff"
		  "12",
		  "unrecognized command: \"frob\\xff\"" },
		{ "123", "unrecognized command: \"123\"" },
		{ "focus main", "did you mean: focus=main" },
		{ "focus10", "did you mean: focus=10" },
		{ "cum x", "did you mean: cum=x" },
		{ "sort cum", "unrecognized command: \"sort\"" },
		{ "list", "command list requires an argument" },
		{ "top >", "unexpected end of line after >" },
	};
	struct invocation inv;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_int_equal(invoke(&inv, cases[i][0]), -EINVAL);
		assert_string_equal(err.msg, cases[i][1]);
	}
}

static void usage_lines_are_indented(void **state)
{
	struct out o;

	(void)state;
	out_init(&o, 0);
	command_help(command_find(STR("peek")), &o);
	assert_true(
		str_is(out_view(&o),
		       "Output callers/callees of functions matching regexp\n"
		       "  Usage:\n"
		       "    peek func_regex\n"
		       "    Display callers and callees of functions matching func_regex.\n\n"));
	out_release(&o);
}

static void tables_can_be_dumped(void **state)
{
	static const char *const kinds[] = { "usage", "man", "bash", "zsh", "fish" };

	(void)state;
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		struct out o;

		out_init(&o, 0);
		assert_int_equal(dump(kinds[i], &o, &err), 0);
		for (const struct command *c = commands; c->name; c++)
			assert_true(str_find(out_view(&o), str_of(c->name)) >= 0);
		out_release(&o);
	}
	assert_int_equal(dump("html", NULL, &err), -EINVAL);
}

/* Two sample types, and functions with names that are not words. */
static struct profile *small_profile(void)
{
	struct builder b;

	builder_init(&b);
	builder_type(&b, STR("alloc_objects"), STR("count"));
	builder_type(&b, STR("inuse_space"), STR("bytes"));
	builder_function(&b, STR("main.(*T).Get"), STR(""), STR(""));
	builder_function(&b, STR("main.(*T).GetAll"), STR(""), STR(""));
	builder_function(&b, STR("operator new(unsigned long)"), STR(""), STR(""));
	builder_function(&b, STR("runtime.mallocgc"), STR(""), STR(""));
	return builder_finish(&b);
}

/* The line up to the word, then '[', the words with '|' between, and ']'. */
static void assert_completes(const char *line, const char *expected)
{
	struct profile *p = small_profile();
	struct completions c;
	struct out o;

	complete(p, str_of(line), &c);
	out_init(&o, 0);
	out_printf(&o, "%.*s[", (int)c.start, line);
	for (size_t i = 0; i < c.n; i++)
		out_printf(&o, "%s%s", i ? "|" : "", c.words[i]);
	out_text(&o, "]");
	out_char(&o, '\0');
	assert_string_equal(o.p, expected);
	out_release(&o);
	completions_release(&c);
	profile_free(p);
}

static void first_words_are_commands_options_and_sample_types(void **state)
{
	(void)state;
	assert_completes("tre", "[tree]");
	assert_completes("  foc", "  [focus=]");
	assert_completes("mean", "[mean|mean_alloc_objects|mean_inuse_space]");
	assert_completes("inu", "[inuse_space]");
	assert_completes("fla", "[flamegraph|flat=true]");
	assert_completes("nothing", "[]");
	assert_completes("help foc", "help [focus]");
	assert_completes("help tre", "help [tree]");
}

static void values_are_completed(void **state)
{
	(void)state;
	assert_completes("sort=", "sort=[cum|flat]");
	assert_completes("granularity = f", "granularity = [filefunctions|files|functions]");
	assert_completes("sample_index=a", "sample_index=[alloc_objects]");
	assert_completes("trim=t", "trim=[true]");
	assert_completes("unit=mi", "unit=[microseconds|milliseconds|minimum]");
	assert_completes("focus=runtime", "focus=[runtime.mallocgc]");
}

static void function_names_become_regular_expressions_of_one_word(void **state)
{
	(void)state;
	assert_completes("list main.", "list [main.\\(\\*T\\).Get|main.\\(\\*T\\).GetAll]");
	assert_completes("list GetA", "list [main.\\(\\*T\\).GetAll]");
	assert_completes("top 5 -oper", "top 5 [-operator.new\\(unsigned.long\\)]");
	assert_completes("tags ma", "tags []");
}

static void file_names_follow_a_redirection(void **state)
{
	char folder[] = "complete-XXXXXX", path[64], line[128], expected[128];

	(void)state;
	assert_non_null(mkdtemp(folder));
	snprintf(path, sizeof(path), "%s/report", folder);
	fclose(fopen(path, "w"));
	snprintf(line, sizeof(line), "top > %s/re", folder);
	snprintf(expected, sizeof(expected), "top > [%s]", path);
	assert_completes(line, expected);
	snprintf(line, sizeof(line), "top >%s/", folder);
	snprintf(expected, sizeof(expected), "top >[%s]", path);
	assert_completes(line, expected);
	unlink(path);
	rmdir(folder);
}

static void count_line(struct str line, void *ctx)
{
	struct out *o = ctx;

	out_printf(o, "%.*s;", STR_ARG(line));
}

static void history_grows_to_its_limit_and_is_private(void **state)
{
	char folder[] = "history-XXXXXX", dir[64], path[128], line[32];
	struct stat st;
	struct out o;

	(void)state;
	assert_non_null(mkdtemp(folder));
	snprintf(dir, sizeof(dir), "./%s/a", folder);
	snprintf(path, sizeof(path), "%s/history", dir);
	assert_int_equal(history_add(path, STR("top")), 0);
	assert_int_equal(history_add(path, STR("top")), 0);
	assert_int_equal(history_add(path, STR("  ")), 0);
	assert_int_equal(history_add(path, STR("a\x01")), 0);
	assert_int_equal(history_add(path, STR("list é ")), 0);
	out_init(&o, 0);
	history_each(path, count_line, &o);
	assert_true(str_is(out_view(&o), "top;list é;"));
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	for (int i = 0; i < HISTORY_LINES; i++) {
		snprintf(line, sizeof(line), "top %d", i);
		assert_int_equal(history_add(path, str_of(line)), 0);
	}
	out_release(&o);
	history_each(path, count_line, &o);
	assert_true(str_starts(out_view(&o), STR("top 0;top 1;")));
	assert_true(str_ends(out_view(&o), STR("top 999;")));
	out_release(&o);
	unlink(path);
	rmdir(dir);
	rmdir(folder);
}

static void history_lives_where_the_system_says(void **state)
{
	char *path = history_path("/state", "/elsewhere");

	(void)state;
	assert_string_equal(path, "/state/sonde/history");
	free(path);
	path = history_path("relative", "/elsewhere");
	assert_string_equal(path, "/elsewhere/.local/state/sonde/history");
	free(path);
	assert_null(history_path(NULL, NULL));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, start, stop)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(defaults_are_the_reference_s),
		TEST(every_option_can_be_read_back),
		TEST(switches_understand_more_words_than_flags),
		TEST(numbers_are_checked),
		TEST(a_choice_is_a_value_or_a_switch_that_is_on),
		TEST(a_report_s_name_is_not_a_choice),
		TEST(commands_are_in_order),
		TEST(what_is_not_available_says_what_to_use),
		TEST(a_command_takes_words_in_any_order),
		TEST(a_number_can_be_part_of_the_command),
		TEST(tags_take_tags),
		TEST(a_bad_command_gets_the_reference_s_message),
		TEST(usage_lines_are_indented),
		TEST(tables_can_be_dumped),
		TEST(first_words_are_commands_options_and_sample_types),
		TEST(values_are_completed),
		TEST(function_names_become_regular_expressions_of_one_word),
		TEST(file_names_follow_a_redirection),
		TEST(history_grows_to_its_limit_and_is_private),
		TEST(history_lives_where_the_system_says),
	};

	if (chdir(getenv("TMPDIR") ? getenv("TMPDIR") : P_tmpdir) != 0)
		return 1;
	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
