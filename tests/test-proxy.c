/*
 * test-proxy.c - which proxy a request goes through
 *
 * The expected answers are those of Go 1.19.8 to the same settings.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/arena.h"
#include "base/err.h"
#include "net/proxy.h"
#include "net/url.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define COUNT(a) (sizeof(a) / sizeof(*(a)))

static void assert_proxy(const struct proxy_rules *rules, const char *url, const char *want)
{
	struct arena mem;
	struct str proxy;
	struct url u;

	arena_init(&mem, 1 << 20);
	assert_int_equal(url_parse(str_of(url), &mem, &u, NULL), 0);
	assert_int_equal(proxy_for(rules, &u, &mem, &proxy, NULL), 0);
	if (!str_is(proxy, want))
		fail_msg("%s (not for %s): proxy '%.*s', not '%s'", url,
			 rules && rules->none ? rules->none : "", STR_ARG(proxy), want);
	arena_release(&mem);
}

static void each_scheme_has_its_proxy(void **state)
{
	struct proxy_rules r = { .http = "http://p:1", .https = "http://q:2" };

	(void)state;
	assert_proxy(&r, "http://a.com/", "http://p:1");
	assert_proxy(&r, "https://a.com/", "http://q:2");
	assert_proxy(&r, "ftp://a.com/", "");
	assert_proxy(NULL, "http://a.com/", "");
	assert_proxy(&(struct proxy_rules){ 0 }, "http://a.com/", "");
}

static void a_proxy_is_a_url_or_a_host(void **state)
{
	static const char *const cases[][2] = {
		{ "p", "http://p:80" },
		{ "p:3128", "http://p:3128" },
		{ "http://p:", "http://p:80" },
		{ "https://p", "https://p:443" },
		{ "socks5://p", "socks5h://p:1080" },
		{ "http://u:w@p:9", "http://u:w@p:9" },
		{ "http://[::1]:5", "http://[::1]:5" },
		{ "%zz", "" },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++)
		assert_proxy(&(struct proxy_rules){ .http = cases[i][0] }, "http://a.com",
			     cases[i][1]);
}

static void this_machine_needs_no_proxy(void **state)
{
	struct proxy_rules r = { .http = "http://p:1" };

	(void)state;
	assert_proxy(&r, "http://localhost:80/", "");
	assert_proxy(&r, "http://127.0.0.1/", "");
	assert_proxy(&r, "http://127.9.9.9/", "");
	assert_proxy(&r, "http://[::1]:80/", "");
	assert_proxy(&r, "http://[::2]:80/", "http://p:1");
	assert_proxy(&r, "http://128.0.0.1/", "http://p:1");
}

static void no_proxy_names_hosts_domains_and_ranges(void **state)
{
	static const struct {
		const char *none, *url;
		bool direct;
	} cases[] = {
		{ "*", "http://a.com", true },
		{ "a.com", "http://a.com", true },
		{ "a.com", "http://x.a.com", true },
		{ "a.com", "http://xa.com", false },
		{ "A.com", "http://a.COM", true },
		{ ".a.com", "http://a.com", false },
		{ ".a.com", "http://x.a.com", true },
		{ "*.a.com", "http://a.com", false },
		{ "*.a.com", "http://x.a.com", true },
		{ "x, a.com ,y", "http://a.com", true },
		{ "a.com:80", "http://a.com", true },
		{ "a.com:81", "http://a.com", false },
		{ "a.com:443", "https://a.com", true },
		{ "10.0.0.0/8", "http://10.1.2.3", true },
		{ "10.0.0.0/8", "http://11.1.2.3", false },
		{ "10.1.2.2/31", "http://10.1.2.3", true },
		{ "10.1.2.2/32", "http://10.1.2.3", false },
		{ "10.1.2.3/33", "http://10.1.2.3", false },
		{ "0.0.0.0/0", "http://10.1.2.3", true },
		{ "::/0", "http://10.1.2.3", false },
		{ "::/0", "http://[2001:db8::5]", true },
		{ "2001:db8::/32", "http://[2001:db8::5]", true },
		{ "2001:db8::/32", "http://[2001:db9::5]", false },
		{ "fe80::1", "http://[fe80::1]:80", true },
		{ "[fe80::1]:80", "http://[fe80::1]:80", true },
		{ "[fe80::1]:80", "http://[fe80::1]:81", false },
		{ "10.1.2.3", "http://10.1.2.3:81", true },
		{ "10.1.2.3:80", "http://10.1.2.3:81", false },
		{ "::ffff:10.1.2.3", "http://10.1.2.3", true },
		{ ":80", "http://a.com", false },
		{ ",,", "http://a.com", false },
		{ ".", "http://a.com", false },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct proxy_rules r = { "http://p:1", "http://p:1", cases[i].none, false };

		assert_proxy(&r, cases[i].url, cases[i].direct ? "" : "http://p:1");
	}
}

static void a_proxy_from_a_web_request_is_refused(void **state)
{
	struct proxy_rules r = { .http = "p", .https = "p", .cgi = true };
	struct err err = { "" };
	struct arena mem;
	struct str proxy;
	struct url u;

	(void)state;
	arena_init(&mem, 1 << 20);
	assert_int_equal(url_parse(STR("http://a.com"), &mem, &u, NULL), 0);
	assert_int_equal(proxy_for(&r, &u, &mem, &proxy, &err), -EPERM);
	assert_string_equal(err.msg, "refusing to use HTTP_PROXY value in CGI environment; "
				     "see golang.org/s/cgihttpproxy");
	assert_proxy(&r, "https://a.com", "http://p:80");
	arena_release(&mem);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_scheme_has_its_proxy),
		cmocka_unit_test(a_proxy_is_a_url_or_a_host),
		cmocka_unit_test(this_machine_needs_no_proxy),
		cmocka_unit_test(no_proxy_names_hosts_domains_and_ranges),
		cmocka_unit_test(a_proxy_from_a_web_request_is_refused),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
