/*
 * fuzz-url.c - a source, taken for a URL
 *
 * What url_adjust() makes of a source must be a URL that means the same when read again, and
 * adjusting it once more must change nothing.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/arena.h"
#include "base/err.h"
#include "net/proxy.h"
#include "net/url.h"

#include <assert.h>
#include <errno.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_adjusted(struct str source, int64_t seconds, struct arena *a)
{
	struct url_adjusted once, twice;
	struct url u;
	int rc = url_adjust(source, seconds, 0, a, &once);

	assert(rc == 0 || rc == -EINVAL || rc == -ENOMEM);
	if (rc)
		return;
	assert(once.timeout_ms > 0 && once.seconds >= 0);
	/* Go does not read all that it prints: a zone that is not ASCII. */
	if (url_parse(once.url, a, &u, NULL) != 0) {
		assert(str_find(once.url, STR("%25")) >= 0);
		return;
	}
	assert(u.host.n && str_eq(url_print(&u, a), once.url));
	assert(url_adjust(once.url, seconds, 0, a, &twice) == 0);
	assert(str_eq(once.url, twice.url) && once.timeout_ms == twice.timeout_ms);
}

/* The first line is the URL, the second the hosts that need no proxy, the third the proxy. */
static void check_proxy(struct str text, struct arena *a)
{
	struct str url = STR(""), none = STR(""), http = STR(""), proxy;
	struct proxy_rules rules;
	struct url u;

	if (!str_split(&text, '\n', &url) || !str_split(&text, '\n', &none) ||
	    !str_split(&text, '\n', &http))
		return;
	if (url_parse(url, a, &u, NULL) != 0)
		return;
	none = arena_str(a, none);
	http = arena_str(a, http);
	rules = (struct proxy_rules){ http.p, http.p, none.p, false };
	assert(proxy_for(&rules, &u, a, &proxy, NULL) == 0);
	assert(proxy.n == 0 || url_parse(proxy, a, &u, NULL) != 0 || url_port(&u).n);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct str text = { (const char *)data, size };
	struct err err;
	struct arena a;
	struct url u;

	arena_init(&a, 64 << 20);
	check_adjusted(text, 0, &a);
	check_adjusted(text, 30, &a);
	check_proxy(text, &a);
	if (url_parse(text, &a, &u, &err) == 0)
		assert(url_print(&u, &a).p && url_print_safe(&u, &a).p);
	else
		assert(str_starts(str_of(err.msg), STR("parse \"")));
	arena_release(&a);
	return 0;
}
