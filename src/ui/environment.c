/*
 * environment.c - what the environment says, for layers that do not read it
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "ui/environment.h"

#include "store/place.h"

#include <stdlib.h>

static const char *either(const char *name, const char *other)
{
	const char *v = getenv(name);

	return v && *v ? v : getenv(other);
}

struct proxy_rules environment_proxy(void)
{
	const char *method = getenv("REQUEST_METHOD");

	return (struct proxy_rules){ .http = either("HTTP_PROXY", "http_proxy"),
				     .https = either("HTTPS_PROXY", "https_proxy"),
				     .none = either("NO_PROXY", "no_proxy"),
				     .cgi = method && *method };
}

const char *environment_value(const char *name)
{
	return getenv(name);
}

const struct store_place *environment_place(void)
{
	static struct proxy_rules proxy;
	static const struct store_place place = { .env = environment_value, .proxy = &proxy };

	proxy = environment_proxy();
	return &place;
}
