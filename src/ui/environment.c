/*
 * environment.c - what the environment says, for layers that do not read it
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "ui/environment.h"

#include "store/place.h"

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
