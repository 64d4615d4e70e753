/*
 * proxy.h - which proxy a request goes through
 *
 * Go's rules (http.ProxyFromEnvironment), which differ from libcurl's: HTTP_PROXY in capitals
 * counts too, this machine is never reached through a proxy, and NO_PROXY knows address ranges
 * and ports.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef NET_PROXY_H
#define NET_PROXY_H

#include "base/str.h"

#include <stdbool.h>

struct arena;
struct err;
struct url;

/*
 * What the environment says; NULL where it says nothing.  Each is the variable in capitals,
 * or, where that is empty, the one in small letters.
 */
struct proxy_rules {
	const char *http;  /* HTTP_PROXY */
	const char *https; /* HTTPS_PROXY */
	const char *none;  /* NO_PROXY: hosts, ranges and domains that need none */
	bool cgi;          /* REQUEST_METHOD is set: HTTP_PROXY comes from a stranger */
};

/* What an environment says: 'value' is getenv(), or NULL. */
struct proxy_rules proxy_rules_from(const char *(*value)(const char *name));

/*
 * proxy_for() stores in '*proxy' the URL of the proxy for 'u', always with a port, or "" for
 * none.  'rules' may be NULL.  Returns 0; -EPERM with a sentence when HTTP_PROXY may not be
 * trusted; -ENOMEM.
 */
int proxy_for(const struct proxy_rules *rules, const struct url *u, struct arena *a,
	      struct str *proxy, struct err *err);

#endif /* NET_PROXY_H */
