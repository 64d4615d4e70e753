/*
 * test-web.c - where to listen, parameters of links, answers that are kept and compressed
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/err.h"
#include "web/web-cache.h"
#include "web/web-server.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

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

static void what_a_form_sends_is_decoded_in_place(void **state)
{
	static const char *const cases[][2] = {
		{ "a+b%20c", "a b c" }, { "%3Cb%3e", "<b>" }, { "100%", "100%" },
		{ "%zz%4", "%zz%4" },   { "a%00b", "a" },     { "", "" },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		char text[16];

		snprintf(text, sizeof(text), "%s", cases[i][0]);
		web_decode(text);
		assert_string_equal(text, cases[i][1]);
	}
}

static struct web_reply reply_of(char c, size_t n)
{
	struct web_reply r = { .status = 200, .type = "text/plain" };

	out_init(&r.body, 0);
	out_fill(&r.body, c, n);
	return r;
}

static void keep(struct web_cache *c, const char *key, size_t n)
{
	struct web_reply r = reply_of(key[0], n);

	web_cache_put(c, str_of(key), &r);
	out_release(&r.body);
}

/* How many bytes are kept for 'key'; -1 for none. */
static int kept(struct web_cache *c, const char *key)
{
	struct web_reply r = { .status = 0 };
	int n = -1;

	out_init(&r.body, 0);
	if (web_cache_get(c, str_of(key), &r)) {
		assert_int_equal(r.status, 200);
		assert_string_equal(r.type, "text/plain");
		n = (int)r.body.n;
		assert_true(n == 0 || r.body.p[n - 1] == key[0]);
	}
	out_release(&r.body);
	return n;
}

static void answers_are_kept_until_there_is_no_room(void **state)
{
	struct web_cache *c = web_cache_new(10000);

	(void)state;
	assert_int_equal(kept(c, "a"), -1);
	keep(c, "a", 2000);
	keep(c, "b", 2000);
	keep(c, "c", 2000);
	keep(c, "a", 1000);
	assert_int_equal(kept(c, "a"), 1000);
	assert_int_equal(kept(c, "b"), 2000);
	keep(c, "d", 2000);
	keep(c, "e", 2000);
	assert_int_equal(kept(c, "c"), 2000);
	keep(c, "f", 2400);
	assert_int_equal(kept(c, "a"), -1); /* the one asked for least recently */
	assert_int_equal(kept(c, "c"), 2000);
	assert_int_equal(kept(c, "f"), 2400);
	web_cache_free(c);
}

static void large_answers_and_failures_are_not_kept(void **state)
{
	struct web_cache *c = web_cache_new(10000);
	struct web_reply r = reply_of('x', 10);

	(void)state;
	keep(c, "large", 2600);
	assert_int_equal(kept(c, "large"), -1);
	r.status = 400;
	web_cache_put(c, STR("x"), &r);
	r.status = 200;
	r.file_name = "file";
	web_cache_put(c, STR("x"), &r);
	assert_int_equal(kept(c, "x"), -1);
	out_release(&r.body);
	web_cache_free(c);
}

static void only_what_gets_smaller_is_compressed(void **state)
{
	struct web_reply r = reply_of('x', 100000);

	(void)state;
	web_pack(&r);
	assert_true(r.packed && r.body.n < 2000);
	web_pack(&r);
	assert_true(r.body.n > 10);
	out_release(&r.body);
	r = reply_of('x', 1000);
	web_pack(&r);
	assert_true(!r.packed && r.body.n == 1000);
	r.type = "application/vnd.google.protobuf+gzip";
	out_fill(&r.body, 'y', 10000);
	web_pack(&r);
	assert_true(!r.packed && r.body.n == 11000);
	out_release(&r.body);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_address_is_a_host_and_a_port_or_less),
		cmocka_unit_test(what_is_no_address_is_refused_in_the_words_of_go),
		cmocka_unit_test(the_first_value_of_a_parameter_counts),
		cmocka_unit_test(a_link_carries_nothing_that_could_end_it),
		cmocka_unit_test(what_a_form_sends_is_decoded_in_place),
		cmocka_unit_test(answers_are_kept_until_there_is_no_room),
		cmocka_unit_test(large_answers_and_failures_are_not_kept),
		cmocka_unit_test(only_what_gets_smaller_is_compressed),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
