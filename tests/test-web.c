/*
 * test-web.c - where to listen, and the parameters of a link
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/err.h"
#include "web/web-server.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define COUNT(a) (sizeof(a) / sizeof(*(a)))

static void an_address_is_a_host_and_a_port_or_less(void **state)
{
	static const struct {
		const char *text, *host;
		unsigned port;
	} cases[] = {
		{ ":8080", "localhost", 8080 },   { ":", "localhost", 0 },
		{ "0.0.0.0:1", "0.0.0.0", 1 },    { "[::1]:65535", "::1", 65535 },
		{ "name.test:", "name.test", 0 },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct web_address a;

		assert_int_equal(web_address_parse(&a, cases[i].text, NULL), 0);
		assert_string_equal(a.host, cases[i].host);
		assert_int_equal(a.port, cases[i].port);
		web_address_release(&a);
	}
}

static void what_is_no_address_is_refused_in_the_words_of_go(void **state)
{
	static const char *const cases[][2] = {
		{ "8080", "could not split http address: address 8080: missing port in address" },
		{ "[::1]", "could not split http address: address [::1]: missing port in address" },
		{ "::1", "could not split http address: address ::1: too many colons in address" },
		{ ":x", "invalid port number: strconv.Atoi: parsing \"x\": invalid syntax" },
		{ ":65536", "listen tcp: address 65536: invalid port" },
		{ ":-1", "listen tcp: address -1: invalid port" },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct web_address a;
		struct err err;

		assert_int_equal(web_address_parse(&a, cases[i][0], &err), -EINVAL);
		assert_string_equal(err.msg, cases[i][1]);
	}
}

static const struct web_request request = {
	.path = "/top",
	.args = { { "f", "a b&c" }, { "si", "x" }, { "f", "second" }, { "\r\n\"<", "%" } },
	.nargs = 4,
};

static void the_first_value_of_a_parameter_counts(void **state)
{
	(void)state;
	assert_string_equal(web_arg(&request, "f"), "a b&c");
	assert_string_equal(web_arg(&request, "none"), "");
}

static void assert_query(const char *except, const char *name, const char *value, const char *want)
{
	struct out o;

	out_init(&o, 0);
	web_query(&request, except, name, str_of(value), &o);
	out_char(&o, '\0');
	assert_string_equal(o.p, want);
	out_release(&o);
}

static void a_link_carries_nothing_that_could_end_it(void **state)
{
	(void)state;
	assert_query(NULL, NULL, "", "?f=a%20b%26c&si=x&f=second&%0D%0A%22%3C=%25");
	assert_query("f", "f", "^\"'>\xff", "?si=x&%0D%0A%22%3C=%25&f=%5E%22%27%3E%FF");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_address_is_a_host_and_a_port_or_less),
		cmocka_unit_test(what_is_no_address_is_refused_in_the_words_of_go),
		cmocka_unit_test(the_first_value_of_a_parameter_counts),
		cmocka_unit_test(a_link_carries_nothing_that_could_end_it),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
