/*
 * test-gotext.c - text the way Go reads and writes it
 *
 * What is expected here was printed by Go 1.19.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/arena.h"
#include "base/err.h"
#include "base/gotext.h"
#include "base/out.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* Checks what is in 'o', and empties it. */
static void assert_out(struct out *o, const char *expected)
{
	out_char(o, '\0');
	assert_string_equal(o->p, expected);
	out_release(o);
}

static void quotes_escape_what_is_not_printable(void **state)
{
	static const struct {
		struct str in;
		const char *out;
	} cases[] = {
		{ STR(""), "\"\"" },
		{ STR("plain \"text\" \\ here"), "\"plain \\\"text\\\" \\\\ here\"" },
		{ STR("\a\b\t\n\v\f\r"), "\"\\a\\b\\t\\n\\v\\f\\r\"" },
		{ STR("\0\x1b\x7f"), "\"\\x00\\x1b\\x7f\"" },
		{ STR("é日😀"), "\"é日😀\"" },
		{ STR("\u00a0\u200b\u3000\ue000"), "\"\\u00a0\\u200b\\u3000\\ue000\"" },
		{ STR("\U000e0001"), "\"\\U000e0001\"" },
		{ STR("\xef\xbf\xbd"), "\"\xef\xbf\xbd\"" },
		{ STR("\xff\xc2\xe2\x80"), "\"\\xff\\xc2\\xe2\\x80\"" },
		{ STR("\xed\xa0\x80\xc0\x80"), "\"\\xed\\xa0\\x80\\xc0\\x80\"" },
		{ STR("\xf4\x90\x80\x80"), "\"\\xf4\\x90\\x80\\x80\"" },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct out o;

		out_init(&o, 0);
		go_quote(&o, cases[i].in);
		assert_out(&o, cases[i].out);
	}
}

static void a_quote_that_does_not_fit_is_cut(void **state)
{
	char buf[6];

	(void)state;
	assert_string_equal(go_quoted(STR("abcdefghijk"), buf, sizeof(buf)), "\"abcd");
}

static void unicode_13_has_this_many_printable_characters(void **state)
{
	size_t n = 0;

	(void)state;
	for (uint32_t r = 0; r <= 0x10ffff; r++)
		n += go_is_print(r);
	assert_int_equal(n, 143680);
}

static void floats_take_the_fewest_digits(void **state)
{
	static const struct {
		double in;
		const char *out;
	} cases[] = {
		{ 0, "0" },
		{ -0.0, "-0" },
		{ 1, "1" },
		{ 0.005, "0.005" },
		{ 0.1 + 0.2, "0.30000000000000004" },
		{ 100000, "100000" },
		{ 123456.789, "123456.789" },
		{ 1e6, "1e+06" },
		{ 123456789, "1.23456789e+08" },
		{ 0.0001, "0.0001" },
		{ 0.00001, "1e-05" },
		{ -2.5e-7, "-2.5e-07" },
		{ 1e100, "1e+100" },
		{ 5e-324, "5e-324" },
		{ 1.0 / 0.0, "+Inf" },
		{ -1.0 / 0.0, "-Inf" },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct out o;

		out_init(&o, 0);
		go_float(&o, cases[i].in);
		assert_out(&o, cases[i].out);
	}
}

static void integers_of_the_shell_are_plain_decimal(void **state)
{
	struct err err;
	int64_t v;

	(void)state;
	assert_int_equal(go_atoi(STR("-12"), &v, &err), 0);
	assert_int_equal(v, -12);
	assert_int_equal(go_atoi(STR("+7"), &v, &err), 0);
	assert_int_equal(v, 7);
	assert_int_equal(go_atoi(STR("0x10"), &v, &err), -EINVAL);
	assert_string_equal(err.msg, "strconv.Atoi: parsing \"0x10\": invalid syntax");
	assert_int_equal(go_atoi(STR(""), &v, &err), -EINVAL);
	assert_string_equal(err.msg, "strconv.Atoi: parsing \"\": invalid syntax");
	assert_int_equal(go_atoi(STR("9223372036854775808"), &v, &err), -ERANGE);
	assert_string_equal(err.msg,
			    "strconv.Atoi: parsing \"9223372036854775808\": value out of range");
	assert_int_equal(v, INT64_MAX);
}

static void integers_of_flags_take_prefixes_and_underscores(void **state)
{
	static const struct {
		const char *in;
		int rc;
		int64_t v;
	} cases[] = {
		{ "0x1F", 0, 31 },
		{ "0b101", 0, 5 },
		{ "0o17", 0, 15 },
		{ "017", 0, 15 },
		{ "-0x10", 0, -16 },
		{ "1_000", 0, 1000 },
		{ "0x_ff", 0, 255 },
		{ "0_7", 0, 7 },
		{ "0", 0, 0 },
		{ "08", -EINVAL, 0 },
		{ "0x", -EINVAL, 0 },
		{ "1__0", -EINVAL, 0 },
		{ "_1", -EINVAL, 0 },
		{ "1_", -EINVAL, 0 },
		{ " 1", -EINVAL, 0 },
		{ "-", -EINVAL, 0 },
		{ "-9223372036854775808", 0, INT64_MIN },
		{ "-9223372036854775809", -ERANGE, INT64_MIN },
		{ "99999999999999999999", -ERANGE, INT64_MAX },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		int64_t v;

		assert_int_equal(go_parse_int(str_of(cases[i].in), 0, 64, &v, NULL), cases[i].rc);
		assert_int_equal(v, cases[i].v);
	}
}

static void integers_can_be_narrow(void **state)
{
	struct err err;
	int64_t v;

	(void)state;
	assert_int_equal(go_parse_int(STR("2147483647"), 10, 32, &v, NULL), 0);
	assert_int_equal(go_parse_int(STR("2147483648"), 10, 32, &v, &err), -ERANGE);
	assert_int_equal(v, INT32_MAX);
	assert_string_equal(err.msg,
			    "strconv.ParseInt: parsing \"2147483648\": value out of range");
	assert_int_equal(go_parse_int(STR("-2147483648"), 10, 32, &v, NULL), 0);
}

static void floats_are_read_with_go_s_grammar(void **state)
{
	static const struct {
		const char *in;
		int rc;
		double v;
	} cases[] = {
		{ ".5", 0, 0.5 },        { "5.", 0, 5 },
		{ "1e3", 0, 1000 },      { "1_0.5_0", 0, 10.5 },
		{ "0x1.8p1", 0, 3 },     { "0X1P+3", 0, 8 },
		{ "inf", 0, 1.0 / 0.0 }, { "-Infinity", 0, -1.0 / 0.0 },
		{ "1e-400", 0, 0 },      { "0x1", -EINVAL, 0 },
		{ "0x1p", -EINVAL, 0 },  { "1e", -EINVAL, 0 },
		{ "1._5", -EINVAL, 0 },  { "infinit", -EINVAL, 0 },
		{ "+nan", -EINVAL, 0 },  { "1,5", -EINVAL, 0 },
		{ "", -EINVAL, 0 },      { "1e400", -ERANGE, 1.0 / 0.0 },
	};
	struct err err;
	double v;

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		assert_int_equal(go_parse_float(str_of(cases[i].in), &v, &err), cases[i].rc);
		assert_true(v == cases[i].v);
	}
	assert_string_equal(err.msg, "strconv.ParseFloat: parsing \"1e400\": value out of range");
	assert_int_equal(go_parse_float(STR("NaN"), &v, &err), 0);
	assert_true(v != v);
}

static void booleans_are_twelve_words(void **state)
{
	struct err err;
	bool v;

	(void)state;
	assert_int_equal(go_parse_bool(STR("True"), &v, &err), 0);
	assert_true(v);
	assert_int_equal(go_parse_bool(STR("0"), &v, &err), 0);
	assert_false(v);
	assert_int_equal(go_parse_bool(STR("yes"), &v, &err), -EINVAL);
	assert_string_equal(err.msg, "strconv.ParseBool: parsing \"yes\": invalid syntax");
}

static void durations_choose_their_units(void **state)
{
	static const struct {
		int64_t in;
		const char *out;
	} cases[] = {
		{ 0, "0s" },
		{ 1, "1ns" },
		{ 1100, "1.1µs" },
		{ 2200000, "2.2ms" },
		{ 1000000000, "1s" },
		{ 3300000000, "3.3s" },
		{ 245000000000, "4m5s" },
		{ 245001000000, "4m5.001s" },
		{ 18367001000000, "5h6m7.001s" },
		{ 3600000000000, "1h0m0s" },
		{ -1500000, "-1.5ms" },
		{ INT64_MAX, "2562047h47m16.854775807s" },
		{ INT64_MIN, "-2562047h47m16.854775808s" },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct out o;

		out_init(&o, 0);
		go_duration(&o, cases[i].in);
		assert_out(&o, cases[i].out);
	}
}

static void assert_time(const char *tz, int64_t t, enum go_layout layout, const char *expected)
{
	char buf[256];
	struct out o;

	setenv("TZ", go_time_zone(tz, buf, sizeof(buf)), 1);
	tzset();
	out_init(&o, 0);
	go_time(&o, t, layout);
	assert_out(&o, expected);
}

static void dates_have_three_layouts(void **state)
{
	const int64_t t = 1539688473123000000;

	(void)state;
	assert_time("UTC", t, GO_DATE_2009, "Oct 16, 2018 at 11:14am (UTC)");
	assert_time("UTC", t, GO_DATE_2024, "2018-10-16 11:14:33 UTC");
	assert_time("UTC", t, GO_DATE_FULL, "2018-10-16 11:14:33.123 +0000 UTC");
	assert_time("UTC", 0, GO_DATE_2009, "Jan 1, 1970 at 12:00am (UTC)");
	assert_time("UTC", -1, GO_DATE_FULL, "1969-12-31 23:59:59.999999999 +0000 UTC");
	assert_time("UTC", INT64_MIN, GO_DATE_FULL, "1677-09-21 00:12:43.145224192 +0000 UTC");
	assert_time("UTC", INT64_MAX, GO_DATE_2024, "2262-04-11 23:47:16 UTC");
}

static void a_time_zone_that_does_not_exist_is_utc(void **state)
{
	static const char *const zones[] = { "", ":", "No/Such", "UTC+3", "Europe", "/dev/null" };

	(void)state;
	for (size_t i = 0; i < COUNT(zones); i++)
		assert_time(zones[i], 0, GO_DATE_2009, "Jan 1, 1970 at 12:00am (UTC)");
}

static void time_zones_come_from_the_system(void **state)
{
	(void)state;
	if (access("/usr/share/zoneinfo/America/Sao_Paulo", R_OK) != 0)
		skip();
	assert_time("America/Sao_Paulo", 0, GO_DATE_2009, "Dec 31, 1969 at 9:00pm (-03)");
	assert_time(":Asia/Kolkata", 0, GO_DATE_FULL, "1970-01-01 05:30:00 +0530 IST");
	assert_time("/usr/share/zoneinfo/America/New_York", 1600000000000000000, GO_DATE_2024,
		    "2020-09-13 08:26:40 EDT");
}

static void white_space_is_unicode_s(void **state)
{
	struct str rest = STR(" \xc2\xa0top\xe3\x80\x80"
			      "10\xff \xe2\x80\xa8"),
		   word;

	(void)state;
	assert_true(str_is(go_trim(rest), "top\xe3\x80\x80"
					  "10\xff"));
	assert_true(go_field(&rest, &word));
	assert_true(str_is(word, "top"));
	assert_true(go_field(&rest, &word));
	assert_true(str_is(word, "10\xff"));
	assert_false(go_field(&rest, &word));
	assert_true(str_is(go_trim(STR(" \t ")), ""));
}

static void invalid_bytes_count_one_each(void **state)
{
	(void)state;
	assert_int_equal(go_rune_count(STR("é\xff\xe2\x80日")), 5);
}

static void paths_are_cleaned_lexically(void **state)
{
	static const char *const cases[][2] = {
		{ "", "." },
		{ "/", "/" },
		{ "//a//b/", "/a/b" },
		{ "a/../b", "b" },
		{ "a/../../b", "../b" },
		{ "/../a", "/a" },
		{ "./a/./b", "a/b" },
		{ "a/..", "." },
		{ "../../x/../y", "../../y" },
	};
	struct arena a;

	(void)state;
	arena_init(&a, 1 << 20);
	for (size_t i = 0; i < COUNT(cases); i++)
		assert_true(str_is(go_path_clean(&a, str_of(cases[i][0])), cases[i][1]));
	assert_true(str_is(go_path_dir(&a, STR("/a/b")), "/a"));
	assert_true(str_is(go_path_dir(&a, STR("b")), "."));
	assert_true(str_is(go_path_join(&a, STR("a/"), STR("/b")), "a/b"));
	assert_true(str_is(go_path_join(&a, STR(""), STR("b")), "b"));
	assert_true(str_is(go_path_join(&a, STR(""), STR("")), ""));
	arena_release(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(quotes_escape_what_is_not_printable),
		cmocka_unit_test(a_quote_that_does_not_fit_is_cut),
		cmocka_unit_test(unicode_13_has_this_many_printable_characters),
		cmocka_unit_test(floats_take_the_fewest_digits),
		cmocka_unit_test(integers_of_the_shell_are_plain_decimal),
		cmocka_unit_test(integers_of_flags_take_prefixes_and_underscores),
		cmocka_unit_test(integers_can_be_narrow),
		cmocka_unit_test(floats_are_read_with_go_s_grammar),
		cmocka_unit_test(booleans_are_twelve_words),
		cmocka_unit_test(durations_choose_their_units),
		cmocka_unit_test(dates_have_three_layouts),
		cmocka_unit_test(a_time_zone_that_does_not_exist_is_utc),
		cmocka_unit_test(time_zones_come_from_the_system),
		cmocka_unit_test(white_space_is_unicode_s),
		cmocka_unit_test(invalid_bytes_count_one_each),
		cmocka_unit_test(paths_are_cleaned_lexically),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
