/*
 * test-regex.c - regular expressions with Go's syntax and Go's answers
 *
 * What is expected here was asked of Go 1.19's regexp package.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/regex.h"

#include "base/cleanup.h"
#include "base/err.h"
#include "base/par.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

struct bad {
	const char *pattern, *error;
};

struct good {
	const char *pattern, *subject;
	int start, end; /* -1: no match */
};

static void check_bad(const struct bad *cases, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct regex *mark = (struct regex *)&mark, *re = mark;
		struct err err = { "" };
		char expected[500];

		snprintf(expected, sizeof(expected), "error parsing regexp: %s", cases[i].error);
		assert_int_equal(regex_compile(str_of(cases[i].pattern), &re, &err), -EINVAL);
		assert_ptr_equal(re, mark);
		assert_string_equal(err.msg, expected);
	}
}

static void check_good(const struct good *cases, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		AUTO(regex_freep) struct regex *re = NULL;
		struct str subject = str_of(cases[i].subject);
		struct err err = { "" };
		size_t start, end;
		bool found;
		char got[40] = "none", expected[40] = "none";

		if (regex_compile(str_of(cases[i].pattern), &re, &err))
			fail_msg("%s: %s", cases[i].pattern, err.msg);
		found = regex_find(re, subject, 0, &start, &end);
		assert_int_equal(regex_match(re, subject), found);
		if (found)
			snprintf(got, sizeof(got), "%zu-%zu", start, end);
		if (cases[i].start >= 0)
			snprintf(expected, sizeof(expected), "%d-%d", cases[i].start, cases[i].end);
		if (strcmp(got, expected) != 0)
			fail_msg("%s in '%s': expected %s, got %s", cases[i].pattern,
				 cases[i].subject, expected, got);
	}
}

static bool matches(const char *pattern, struct str subject)
{
	AUTO(regex_freep) struct regex *re = NULL;

	assert_int_equal(regex_compile(str_of(pattern), &re, NULL), 0);
	return regex_match(re, subject);
}

static void groups_that_do_not_pair_are_refused(void **state)
{
	static const struct bad cases[] = {
		{ "(", "missing closing ): `(`" },   { "a(b|c", "missing closing ): `a(b|c`" },
		{ ")", "unexpected ): `)`" },        { "(a))b", "unexpected ): `(a))b`" },
		{ "[a", "missing closing ]: `[a`" }, { "x[]a", "missing closing ]: `[]a`" },
		{ "[^", "missing closing ]: `[^`" }, { "[a-", "missing closing ]: `[a-`" },
	};

	(void)state;
	check_bad(cases, COUNT(cases));
}

static void repetitions_of_nothing_or_of_too_much_are_refused(void **state)
{
	static const struct bad cases[] = {
		{ "*", "missing argument to repetition operator: `*`" },
		{ "a|*?b", "missing argument to repetition operator: `*?`" },
		{ "(?i)+", "missing argument to repetition operator: `+`" },
		{ "({2})", "missing argument to repetition operator: `{2}`" },
		{ "a**", "invalid nested repetition operator: `**`" },
		{ "a+?*b", "invalid nested repetition operator: `+?*`" },
		{ "a{2}{3}?", "invalid nested repetition operator: `{2}{3}?`" },
		{ "a{1001}", "invalid repeat count: `{1001}`" },
		{ "a{3,2}", "invalid repeat count: `{3,2}`" },
		{ "a{2,99999999999}", "invalid repeat count: `{2,99999999999}`" },
		{ "(a{10}b){101}", "invalid repeat count: `{101}`" },
		{ "((a{5}){20}){11}", "invalid repeat count: `{11}`" },
	};

	(void)state;
	check_bad(cases, COUNT(cases));
}

static void escapes_that_go_does_not_know_are_refused(void **state)
{
	static const struct bad cases[] = {
		{ "a\\", "trailing backslash at end of expression: ``" },
		{ "\\q", "invalid escape sequence: `\\q`" },
		{ "(a)\\1", "invalid escape sequence: `\\1`" },
		{ "\\8", "invalid escape sequence: `\\8`" },
		{ "\\C", "invalid escape sequence: `\\C`" },
		{ "\\Z", "invalid escape sequence: `\\Z`" },
		{ "\\x", "invalid escape sequence: `\\x`" },
		{ "\\xg0", "invalid escape sequence: `\\xg0`" },
		{ "\\x{}", "invalid escape sequence: `\\x{}`" },
		{ "\\x{110000}", "invalid escape sequence: `\\x{110000`" },
		{ "[\\b]", "invalid escape sequence: `\\b`" },
		{ "[a-\\d]", "invalid escape sequence: `\\d`" },
		{ "\\p{Klingon}", "invalid character class range: `\\p{Klingon}`" },
		{ "\\p{greek}", "invalid character class range: `\\p{greek}`" },
		{ "\\pX", "invalid character class range: `\\pX`" },
		{ "\\p{L", "invalid character class range: `\\p{L`" },
	};

	(void)state;
	check_bad(cases, COUNT(cases));
}

static void classes_that_make_no_sense_are_refused(void **state)
{
	static const struct bad cases[] = {
		{ "[z-a]", "invalid character class range: `z-a`" },
		{ "[[:foo:]]", "invalid character class range: `[:foo:]`" },
		{ "[[:w:]]", "invalid character class range: `[:w:]`" },
		{ "[[:Alpha:]]", "invalid character class range: `[:Alpha:]`" },
	};

	(void)state;
	check_bad(cases, COUNT(cases));
}

static void what_only_perl_has_is_refused(void **state)
{
	static const struct bad cases[] = {
		{ "(?=a)", "invalid or unsupported Perl syntax: `(?=`" },
		{ "(?<!a)", "invalid or unsupported Perl syntax: `(?<`" },
		{ "(?>a)", "invalid or unsupported Perl syntax: `(?>`" },
		{ "(?#a)", "invalid or unsupported Perl syntax: `(?#`" },
		{ "(?x)a", "invalid or unsupported Perl syntax: `(?x`" },
		{ "(?i-)a", "invalid or unsupported Perl syntax: `(?i-)`" },
		{ "(?i", "invalid or unsupported Perl syntax: `(?i`" },
		{ "(?P=n)", "invalid or unsupported Perl syntax: `(?P`" },
		{ "a++", "invalid nested repetition operator: `++`" },
		{ "(*UTF)a", "missing argument to repetition operator: `*`" },
		{ "(?P<n", "invalid named capture: `(?P<n`" },
		{ "(?P<a-b>c)", "invalid named capture: `(?P<a-b>`" },
		{ "(?P<>c)", "invalid named capture: `(?P<>`" },
	};

	(void)state;
	check_bad(cases, COUNT(cases));
}

static void patterns_must_be_utf8(void **state)
{
	static const struct bad cases[] = {
		{ "a\xff", "invalid UTF-8: `\xff`" },
		{ "[\xc3]", "invalid UTF-8: `\xc3]`" },
		{ "\\Qa\xe4\xb8\\E", "invalid UTF-8: `\xe4\xb8`" },
		{ "(?\xff", "invalid UTF-8: `\xff`" },
	};

	(void)state;
	check_bad(cases, COUNT(cases));
}

static char *nested(const char *open, const char *close, size_t depth)
{
	size_t a = strlen(open), b = strlen(close);
	char *z = calloc(depth * (a + b) + 2, 1);

	assert_non_null(z);
	for (size_t i = 0; i < depth; i++)
		memcpy(z + i * a, open, a);
	z[depth * a] = 'a';
	for (size_t i = 0; i < depth; i++)
		memcpy(z + depth * a + 1 + i * b, close, b);
	return z;
}

static void nesting_has_a_limit(void **state)
{
	AUTO(freep) char *fine = nested("(", ")", 400);
	AUTO(freep) char *deep = nested("(", ")", 1000);
	AUTO(freep) char *open = nested("(", "", 100000);
	AUTO(regex_freep) struct regex *re = NULL;
	struct err err = { "" };

	(void)state;
	assert_true(matches(fine, STR("a")));
	assert_int_equal(regex_compile(str_of(deep), &re, &err), -EINVAL);
	assert_non_null(strstr(err.msg, "expression nests too deeply: `((("));
	assert_int_equal(regex_compile(str_of(open), &re, &err), -EINVAL);
	assert_non_null(strstr(err.msg, "missing closing ): `((("));
}

static void size_has_a_limit(void **state)
{
	char pattern[4100] = "(?:";
	AUTO(regex_freep) struct regex *re = NULL;
	struct err err = { "" };

	(void)state;
	memset(pattern + 3, 'a', 4000);
	memcpy(pattern + 4003, "){1000}", 8);
	assert_int_equal(regex_compile(str_of(pattern), &re, &err), -EINVAL);
	assert_non_null(strstr(err.msg, "regexp/syntax: internal error: `(?:aaa"));
}

static void plain_text_is_found_where_it_is(void **state)
{
	static const struct good cases[] = {
		{ "", "abc", 0, 0 },
		{ "", "", 0, 0 },
		{ "malloc", "runtime.mallocgc", 8, 14 },
		{ "mallox", "runtime.mallocgc", -1, 0 },
		{ "runtime\\.malloc", "runtime.mallocgc", 0, 14 },
		{ "runtime\\.malloc", "runtime-mallocgc", -1, 0 },
		{ "^runtime\\.", "runtime.mallocgc", 0, 8 },
		{ "^malloc", "runtime.mallocgc", -1, 0 },
		{ "gc$", "gc.mallocgc", 9, 11 },
		{ "gc$", "gc.malloc", -1, 0 },
		{ "^main$", "main", 0, 4 },
		{ "^main$", "main.main", -1, 0 },
		{ "\\Amain\\z", "main", 0, 4 },
		{ "^$", "", 0, 0 },
		{ "^$", "a", -1, 0 },
		{ "$", "ab", 2, 2 },
		{ "\\Q(*T).f\\E", "main.(*T).f", 5, 11 },
		{ "caf\xc3\xa9", "un caf\xc3\xa9", 3, 8 },
	};

	(void)state;
	check_good(cases, COUNT(cases));
}

static void the_first_alternative_wins(void **state)
{
	static const struct good cases[] = {
		{ "a|ab", "xab", 1, 2 },     { "(a|ab)(c|bcd)", "abcd", 0, 4 },
		{ "a+?", "aaa", 0, 1 },      { "a+", "baaa", 1, 4 },
		{ "(?U)a+", "aaa", 0, 1 },   { "(?U)a+?", "aaa", 0, 3 },
		{ "a{2,3}?", "aaaa", 0, 2 }, { "x*", "aax", 0, 0 },
		{ "(|a)*", "aa", 0, 0 },     { "(|a)+b", "aab", 0, 3 },
		{ "(a*)*b", "aab", 0, 3 },   { "a*(?i)*b", "aaB", 0, 3 },
	};

	(void)state;
	check_good(cases, COUNT(cases));
}

static void anchors_mean_what_they_mean_in_go(void **state)
{
	static const struct good cases[] = {
		{ "a$", "a\n", -1, 0 },
		{ "(?m)a$", "a\nb", 0, 1 },
		{ "(?m)^b", "a\nb", 2, 3 },
		{ "(?m)^$", "a\n", 2, 2 },
		{ "^*a", "ba", 1, 2 },
		{ "(?:$)+", "a", 1, 1 },
		{ "\\bfoo\\b", "a foo.", 2, 5 },
		{ "\\bfoo",
		  "\xc3\xa9"
		  "foo",
		  2, 5 },
		{ "a\\Bb", "ab", 0, 2 },
	};

	(void)state;
	check_good(cases, COUNT(cases));
}

static void classes_mean_what_they_mean_in_go(void **state)
{
	static const struct good cases[] = {
		{ "\\s", "\v", -1, 0 },
		{ "[[:space:]]", "\v", 0, 1 },
		{ "\\v", "\v", 0, 1 },
		{ "\\d", "\xd9\xa3", -1, 0 }, /* an Arabic digit */
		{ "\\pN", "\xd9\xa3", 0, 2 },
		{ "\\w", "\xc3\xa9", -1, 0 },
		{ "\\W", "\xc3\xa9", 0, 2 },
		{ "[^\\W]", "-\xc3\xa9_", 3, 4 },
		{ ".", "\n", -1, 0 },
		{ "(?s).", "\n", 0, 1 },
		{ ".", "\r", 0, 1 },
		{ "[^a]", "\n", 0, 1 },
		{ "[]a]", "]", 0, 1 },
		{ "[a-]", "-", 0, 1 },
		{ "[a&&b]", "&", 0, 1 },
		{ "[\\x41-\\x{43}]", "C", 0, 1 },
		{ "\\101", "A", 0, 1 },
		{ "\\p{Greek}", "\xce\xb4", 0, 2 },
		{ "\\P{Greek}", "\xce\xb4", -1, 0 },
		{ "\\p{^Greek}", "\xce\xb4", -1, 0 },
		{ "[^\\p{Any}]", "a", -1, 0 },
		{ "\\x{d800}|b", "ab", 1, 2 },
		{ "a{,2}", "a{,2}", 0, 5 },
		{ "{", "{", 0, 1 },
	};

	(void)state;
	check_good(cases, COUNT(cases));
}

static void case_is_ignored_in_all_of_unicode(void **state)
{
	static const struct good cases[] = {
		{ "(?i)json", "encodingJSON", 8, 12 },
		{ "(?i)a(?-i)b", "AB", -1, 0 },
		{ "(?i)a(?-i)b", "Ab", 0, 2 },
		{ "(?i:a)b", "Ab", 0, 2 },
		{ "(?i:a)b", "AB", -1, 0 },
		{ "(?i)a|b", "B", 0, 1 },
		{ "((?i)a)b", "AB", -1, 0 },
		{ "(?i)\xce\xb4", "\xce\x94", 0, 2 },
		{ "(?i)k", "\xe2\x84\xaa", 0, 3 }, /* the Kelvin sign */
		{ "(?i)\\w", "\xc5\xbf", 0, 2 },   /* the long s */
		{ "(?i)\\W", "\xc5\xbf", -1, 0 },
		{ "(?i)[\\Wx]", "\xc5\xbf", -1, 0 },
		{ "(?i)[[:upper:]]", "a", 0, 1 },
		{ "(?i)[^[:^lower:]]", "A", 0, 1 },
		{ "(?i)\\p{Lu}", "a", 0, 1 },
		{ "(?i)\\P{Lu}", "a", -1, 0 },
		{ "(?i)[\\P{Lu}7]", "a", -1, 0 },
		{ "(?i)[b-d]", "C", 0, 1 },
	};

	(void)state;
	check_good(cases, COUNT(cases));
}

static void bytes_that_are_not_utf8_are_characters_too(void **state)
{
	static const struct good cases[] = {
		{ "a.b",
		  "a\xff"
		  "b",
		  0, 3 },
		{ "a..b",
		  "a\xe4\xb8"
		  "b",
		  0, 4 },
		{ "[^x]+", "\xff\xfe", 0, 2 },
		{ "b",
		  "\xff\xff"
		  "b",
		  2, 3 },
		{ "b+$",
		  "\xff"
		  "b\xff"
		  "bb",
		  3, 5 },
		{ "\xef\xbf\xbd", "a\xff", 1, 2 },
		{ "^\\w+$", "a\xff", -1, 0 },
	};

	(void)state;
	check_good(cases, COUNT(cases));
}

/* PCRE2 10.42 gets these wrong unless told not to look ahead: its issue 336. */
static void alternatives_that_match_nothing_do_not_hide_what_follows(void **state)
{
	static const struct good cases[] = {
		{ "(a|)b*c", "c", 0, 1 },
		{ "(?:.a|)b*c", "xxcax-", 2, 3 },
		{ "([\\Sa]|^)k*?\\PC", "\xc3\xa9\tay", 0, 2 },
		{ "(.|).*[[:^alpha:]-](?s:(^|b{1,3}))+?", ":bmain.Sybcc", 0, 2 },
	};

	(void)state;
	check_good(cases, COUNT(cases));
}

static void a_search_can_start_later_and_still_sees_what_is_before(void **state)
{
	AUTO(regex_freep) struct regex *re = NULL, *start = NULL, *plain = NULL;
	size_t from, to;

	(void)state;
	assert_int_equal(regex_compile(STR("\\bb+"), &re, NULL), 0);
	assert_int_equal(regex_compile(STR("^a|c"), &start, NULL), 0);
	assert_int_equal(regex_compile(STR("b"), &plain, NULL), 0);
	assert_true(regex_find(re, STR("abb bb"), 1, &from, &to));
	assert_int_equal(from, 4);
	assert_int_equal(to, 6);
	assert_false(regex_find(start, STR("aaa"), 1, &from, &to));
	assert_true(regex_find(plain, STR("bab"), 1, &from, &to));
	assert_int_equal(from, 2);
	assert_true(regex_find(re, STR("\xff b"), 1, &from, &to));
	assert_int_equal(from, 2);
	assert_false(regex_find(re, STR("b"), 2, &from, &to));
	assert_false(regex_find(plain, STR("b"), 2, &from, &to));
}

static void nul_bytes_are_ordinary_on_both_sides(void **state)
{
	AUTO(regex_freep) struct regex *re = NULL;

	(void)state;
	assert_int_equal(regex_compile((struct str){ "a\0b", 3 }, &re, NULL), 0);
	assert_true(regex_match(re, (struct str){ "xa\0by", 5 }));
	assert_false(regex_match(re, STR("xaby")));
	assert_true(matches("a.b", (struct str){ "a\0b", 3 }));
	assert_true(str_eq(regex_pattern(re), (struct str){ "a\0b", 3 }));
}

static void a_missing_subject_is_an_empty_one(void **state)
{
	(void)state;
	assert_true(matches("^$", (struct str){ NULL, 0 }));
	assert_true(matches("x*", (struct str){ NULL, 0 }));
	assert_false(matches("x", (struct str){ NULL, 0 }));
	assert_false(matches("x+", (struct str){ NULL, 0 }));
}

static void patterns_that_explode_are_answered_all_the_same(void **state)
{
	char many[300];
	struct str subject = { many, sizeof(many) };

	(void)state;
	memset(many, 'a', sizeof(many));
	assert_false(matches("(a|aa)+$|b",
			     (struct str){ "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaac", 38 }));
	assert_false(matches("(a*)*(a*)*(a*)*[bc]", subject));
	many[sizeof(many) - 1] = 'c';
	assert_false(matches("(?:a|a)*(?:aa|aa)*(?:a|a?)+b", subject));
	assert_true(matches("(?:a|a)*(?:aa|aa)*(?:a|a?)+c$", subject));
}

struct shared {
	const struct regex *re;
	int wrong[8];
};

static void search_often(int i, void *ctx)
{
	struct shared *s = ctx;

	for (int n = 0; n < 2000; n++) {
		s->wrong[i] += !regex_match(s->re, STR("net/http.(*conn).serve"));
		s->wrong[i] += regex_match(s->re, STR("net/http.conn.serve"));
		s->wrong[i] += !regex_match(s->re, STR("\xff(*a).b"));
	}
}

static void threads_share_a_regex(void **state)
{
	AUTO(regex_freep) struct regex *re = NULL;
	struct shared s = { .wrong = { 0 } };

	(void)state;
	assert_int_equal(regex_compile(STR("\\(\\*\\w+\\)\\."), &re, NULL), 0);
	s.re = re;
	par_run(8, search_often, &s);
	for (int i = 0; i < 8; i++)
		assert_int_equal(s.wrong[i], 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(groups_that_do_not_pair_are_refused),
		cmocka_unit_test(repetitions_of_nothing_or_of_too_much_are_refused),
		cmocka_unit_test(escapes_that_go_does_not_know_are_refused),
		cmocka_unit_test(classes_that_make_no_sense_are_refused),
		cmocka_unit_test(what_only_perl_has_is_refused),
		cmocka_unit_test(patterns_must_be_utf8),
		cmocka_unit_test(nesting_has_a_limit),
		cmocka_unit_test(size_has_a_limit),
		cmocka_unit_test(plain_text_is_found_where_it_is),
		cmocka_unit_test(the_first_alternative_wins),
		cmocka_unit_test(anchors_mean_what_they_mean_in_go),
		cmocka_unit_test(classes_mean_what_they_mean_in_go),
		cmocka_unit_test(case_is_ignored_in_all_of_unicode),
		cmocka_unit_test(bytes_that_are_not_utf8_are_characters_too),
		cmocka_unit_test(alternatives_that_match_nothing_do_not_hide_what_follows),
		cmocka_unit_test(a_search_can_start_later_and_still_sees_what_is_before),
		cmocka_unit_test(nul_bytes_are_ordinary_on_both_sides),
		cmocka_unit_test(a_missing_subject_is_an_empty_one),
		cmocka_unit_test(patterns_that_explode_are_answered_all_the_same),
		cmocka_unit_test(threads_share_a_regex),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
