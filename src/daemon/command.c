/*
 * command.c - what the commands of sonded share
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "daemon/command.h"

#include "base/out.h"
#include "net/proxy.h"
#include "store/place.h"

#include <stdlib.h>
#include <unistd.h>

volatile sig_atomic_t daemon_stop;

int daemon_complain(const char *name, const char *why, int status)
{
	struct out o;

	out_init_fd(&o, STDERR_FILENO);
	out_printf(&o, "sonded %s: %s\n", name, why);
	(void)out_finish(&o);
	out_release(&o);
	return status;
}

static const char *environment(const char *name)
{
	return getenv(name);
}

const struct store_place *daemon_place(void)
{
	static struct proxy_rules proxy;
	static const struct store_place place = {
		.env = environment,
		.proxy = &proxy,
		.stop = &daemon_stop,
	};

	proxy.https = getenv("HTTPS_PROXY") ? getenv("HTTPS_PROXY") : getenv("https_proxy");
	proxy.none = getenv("NO_PROXY") ? getenv("NO_PROXY") : getenv("no_proxy");
	return &place;
}
