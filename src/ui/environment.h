/*
 * environment.h - what the environment says, for layers that do not read it
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef UI_ENVIRONMENT_H
#define UI_ENVIRONMENT_H

#include "net/proxy.h"

struct debug_server;
struct store_place;

/* Which proxies there are. */
struct proxy_rules environment_proxy(void);

/* getenv(), whose result nobody may change. */
const char *environment_value(const char *name);

/* What stores and clusters need to know. */
const struct store_place *environment_place(void);

/* The debuginfod servers, the same at every call; NULL if there are none. */
struct debug_server *environment_debug_server(void);

#endif /* UI_ENVIRONMENT_H */
