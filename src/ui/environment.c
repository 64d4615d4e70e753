/*
 * environment.c - what the environment says, for layers that do not read it
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "ui/environment.h"

#include "store/place.h"
#include "symbol/debug-server.h"

#include <stdlib.h>

const char *environment_value(const char *name)
{
	return getenv(name);
}

struct proxy_rules environment_proxy(void)
{
	return proxy_rules_from(environment_value);
}

const struct store_place *environment_place(void)
{
	static struct proxy_rules proxy;
	static const struct store_place place = { .env = environment_value, .proxy = &proxy };

	proxy = environment_proxy();
	return &place;
}

/* Seconds in the environment as milliseconds; 0 if there are none. */
static int64_t value_ms(const char *name)
{
	const char *v = environment_value(name);
	long s = v ? strtol(v, NULL, 10) : 0;

	return s > 0 && s < INT32_MAX ? (int64_t)s * 1000 : 0;
}

struct debug_server *environment_debug_server(void)
{
	static struct debug_server server;
	const char *urls = environment_value("DEBUGINFOD_URLS");

	if (!urls || !*urls)
		return NULL;
	if (!server.urls) {
		debug_server_init(&server, urls);
		server.wait_ms = value_ms("DEBUGINFOD_TIMEOUT");
		server.total_ms = value_ms("DEBUGINFOD_MAXTIME");
	}
	return &server;
}
