/*
 * test-url.c - URLs and sources, as Go reads and writes them
 *
 * The expected texts are what Go 1.19.8 printed for the same input.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/arena.h"
#include "base/err.h"
#include "net/url.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define COUNT(a) (sizeof(a) / sizeof(*(a)))

static struct arena mem;

static int set_up(void **state)
{
	(void)state;
	arena_init(&mem, 1 << 20);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	arena_release(&mem);
	return 0;
}

static void assert_text(struct str got, const char *want)
{
	assert_non_null(got.p);
	assert_string_equal(got.p, want);
}

static void a_source_becomes_the_url_of_a_profile(void **state)
{
	static const char *const cases[][2] = {
		{ "localhost:6060", "http://localhost:6060/debug/pprof/profile" },
		{ "http://h", "http://h/debug/pprof/profile" },
		{ "HTTP://H:80/", "http://H:80/debug/pprof/profile" },
		{ ":6060/x", "http://:6060/x" },
		{ "host:80/a/b?c=d", "http://host:80/a/b?c=d" },
		{ "[::1]", "http://[::1]/debug/pprof/profile" },
		{ "[::1]:80", "http://[::1]:80/debug/pprof/profile" },
		{ "[fe80::1%25eth0]:1/x", "http://[fe80::1%25eth0]:1/x" },
		{ "https+insecure://h/x", "https+insecure://h/x" },
		{ "//h/x", "//h/x" },
		{ "http://", "http://http://" },
		{ "mailto:a@b", "http://mailto:a@b/debug/pprof/profile" },
		{ "http://u:p%40@h/x", "http://u:p%40@h/x" },
		{ "http://h/a%2fb/c", "http://h/a%2fb/c" },
		{ "http://h/*?#f g", "http://h/*?#f%20g" },
		{ "http://h/%41", "http://h/%41" },
		{ "http://h/x?b=2&a=1&b=1&a", "http://h/x?a=1&a=&b=2&b=1" },
		{ "http://h/x?a=1;2&b=%zz&%20=+", "http://h/x?+=+" },
		{ "http://h/x?=v&&", "http://h/x?=v" },
		{ "\xc3\xa9:80/\xc3\xbc", "http://%C3%A9:80/%C3%BC" },
	};
	struct url_adjusted at;

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		assert_int_equal(url_adjust(str_of(cases[i][0]), 0, 0, &mem, &at), 0);
		assert_text(at.url, cases[i][1]);
	}
}

static void what_has_no_host_is_not_a_url(void **state)
{
	static const char *const cases[] = {
		"",      "heap.out", "/a/b",     "no:such", "foo:80x",   "a b:80",
		"%zz",   "x/y:z",    "*",        "?q",      "#f",        "file:///a/b",
		"1.2.3", "\x01",     "http://%", "a:b\x7f", "localhost", "./x:80",
	};
	struct url_adjusted at;

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++)
		assert_int_equal(url_adjust(str_of(cases[i]), 0, 0, &mem, &at), -EINVAL);
}

static void seconds_are_asked_for_once(void **state)
{
	struct url_adjusted at;

	(void)state;
	assert_int_equal(url_adjust(STR("h:1/x?seconds=5&z=1&a=2&seconds=6"), 7, 0, &mem, &at), 0);
	assert_text(at.url, "http://h:1/x?a=2&seconds=7&z=1");
	assert_int_equal(at.seconds, 7);
}

static void the_timeout_is_explicit_or_half_as_long_again_or_a_minute(void **state)
{
	static const struct {
		const char *source;
		int64_t seconds, timeout, timeout_ms, expected;
	} cases[] = {
		{ "h:1", 0, 0, 60000, 0 },
		{ "h:1", -1, -1, 60000, 0 },
		{ "h:1", 0, 9, 9000, 0 },
		{ "h:1", 5, 0, 7500, 5 },
		{ "h:1", 5, 1, 1000, 5 },
		{ "h:1/x?seconds=30", 0, 0, 45000, 30 },
		{ "h:1/x?seconds=30", 4, 0, 6000, 4 },
		{ "h:1/x?seconds=%2B30", 0, 0, 45000, 30 },
		{ "h:1/x?seconds=-30", 0, 0, 60000, 0 },
		{ "h:1/x?seconds=3x", 0, 0, 60000, 0 },
		{ "h:1/x?seconds=2147483647", 0, 0, 3221225470500, 2147483647 },
		{ "h:1/x?seconds=2147483648", 0, 0, 60000, 0 },
	};
	struct url_adjusted at;

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		assert_int_equal(url_adjust(str_of(cases[i].source), cases[i].seconds,
					    cases[i].timeout, &mem, &at),
				 0);
		assert_int_equal(at.timeout_ms, cases[i].timeout_ms);
		assert_int_equal(at.seconds, cases[i].expected);
	}
	assert_int_equal(url_adjust(STR("h:1"), INT64_MAX, 0, &mem, &at), 0);
	assert_true(at.timeout_ms > 0);
}

static void a_url_has_parts(void **state)
{
	struct url u;

	(void)state;
	assert_int_equal(url_parse(STR("HTTPS://a%3Ab:c@[::1]:8/p%2fq?r=s#t%20u"), &mem, &u, NULL),
			 0);
	assert_true(str_is(u.scheme, "https"));
	assert_true(str_is(u.user, "a:b") && str_is(u.password, "c") && u.has_password);
	assert_true(str_is(u.host, "[::1]:8"));
	assert_true(str_is(url_hostname(&u), "::1") && str_is(url_port(&u), "8"));
	assert_true(str_is(u.path, "/p/q") && str_is(u.raw_path, "/p%2fq"));
	assert_true(str_is(u.query, "r=s") && str_is(u.fragment, "t u"));
	assert_text(url_print(&u, &mem), "https://a%3Ab:c@[::1]:8/p%2fq?r=s#t%20u");
}

static void a_password_is_not_shown(void **state)
{
	struct url u;

	(void)state;
	assert_int_equal(url_parse(STR("http://a:secret@h/secret"), &mem, &u, NULL), 0);
	assert_text(url_print_safe(&u, &mem), "http://a:***@h/secret");
	assert_int_equal(url_parse(STR("http://a@h/"), &mem, &u, NULL), 0);
	assert_text(url_print_safe(&u, &mem), "http://a@h/");
}

static void urls_are_printed_as_they_were_meant(void **state)
{
	static const char *const cases[][2] = {
		{ "x:y/z", "x:y/z" },     { "x:/y", "x:/y" },
		{ "x:///y", "x:///y" },   { "///y", "///y" },
		{ "a?", "a?" },           { "a??", "a??" },
		{ "a/b:c", "a/b:c" },     { "./a:b", "./a:b" },
		{ "%61%3ab", "%61%3ab" }, { "http://h/(a)!", "http://h/(a)!" },
	};
	struct url u;

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		if (url_parse(str_of(cases[i][0]), &mem, &u, NULL) != 0)
			fail_msg("%s is refused", cases[i][0]);
		assert_text(url_print(&u, &mem), cases[i][1]);
	}
}

static void what_is_wrong_with_a_url_is_said_as_go_says_it(void **state)
{
	static const char *const cases[][2] = {
		{ ":x", "parse \":x\": missing protocol scheme" },
		{ "1:x", "parse \"1:x\": first path segment in URL cannot contain colon" },
		{ "/%4\"", "parse \"/%4\\\"\": invalid URL escape \"%4\\\"\"" },
		{ "a\tb", "parse \"a\\tb\": net/url: invalid control character in URL" },
		{ "//h:8x", "parse \"//h:8x\": invalid port \":8x\" after host" },
		{ "//[::1", "parse \"//[::1\": missing ']' in host" },
		{ "//a b", "parse \"//a b\": invalid character \" \" in host name" },
		{ "//a%41b", "parse \"//a%41b\": invalid URL escape \"%41\"" },
		{ "//u\xc3\xa9@h", "parse \"//u\xc3\xa9@h\": net/url: invalid userinfo" },
		{ "/x#%z", "parse \"/x#%z\": invalid URL escape \"%z\"" },
	};
	struct url u;
	struct err err;

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		assert_int_equal(url_parse(str_of(cases[i][0]), &mem, &u, &err), -EINVAL);
		assert_string_equal(err.msg, cases[i][1]);
	}
}

static void queries_can_be_changed(void **state)
{
	struct url_values v;

	(void)state;
	assert_int_equal(url_values_parse(STR("b=1&a=%3d&b=2&c"), &mem, &v), 0);
	assert_int_equal(v.n, 4);
	assert_true(str_is(url_values_get(&v, STR("b")), "1"));
	assert_true(str_is(url_values_get(&v, STR("a")), "="));
	assert_true(str_is(url_values_get(&v, STR("d")), ""));
	assert_int_equal(url_values_set(&v, &mem, STR("b"), STR("x y")), 0);
	assert_text(url_values_encode(&v, &mem), "a=%3D&b=x+y&c=");
}

static void a_url_larger_than_the_budget_is_an_error(void **state)
{
	static char text[200000];
	struct url_adjusted at;
	struct arena small;

	(void)state;
	memset(text, 'x', sizeof(text));
	memcpy(text, "h:1/", 4);
	arena_init(&small, 100000);
	assert_int_equal(url_adjust((struct str){ text, sizeof(text) }, 0, 0, &small, &at),
			 -ENOMEM);
	arena_release(&small);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_source_becomes_the_url_of_a_profile),
		cmocka_unit_test(what_has_no_host_is_not_a_url),
		cmocka_unit_test(seconds_are_asked_for_once),
		cmocka_unit_test(the_timeout_is_explicit_or_half_as_long_again_or_a_minute),
		cmocka_unit_test(a_url_has_parts),
		cmocka_unit_test(a_password_is_not_shown),
		cmocka_unit_test(urls_are_printed_as_they_were_meant),
		cmocka_unit_test(what_is_wrong_with_a_url_is_said_as_go_says_it),
		cmocka_unit_test(queries_can_be_changed),
		cmocka_unit_test(a_url_larger_than_the_budget_is_an_error),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, set_up, tear_down);
}
