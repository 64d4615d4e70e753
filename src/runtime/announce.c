/*
 * announce.c - the lines that other systems write when profiling is switched on
 *
 * People look for them in logs, and so do scripts: each preset writes its system's own.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "runtime/agent.h"
#include "runtime/profiles.h"

#include <string.h>

static void say_program(void)
{
	size_t n;
	const char *program = sonde__cmdline(&n), *slash = strrchr(program, '/');

	sonde__log("Starting profiler for %.64s", slash ? slash + 1 : program);
}

static void say_route(const char *name)
{
	sonde__log("DEBUG: registered profiling handler on /debug/pprof/%s", name);
}

static void say_routes(void)
{
	static const char *const others[] = { "cmdline", "profile", "symbol", "trace" };

	for (size_t i = 0; sonde__kinds[i]; i++)
		say_route(sonde__kinds[i]->name);
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		say_route(others[i]);
}

static bool in_force(const struct sonde__config *c, enum sonde__preset which)
{
	return c->presets >> which & 1;
}

void sonde__announce_presets(const struct sonde__config *c)
{
	if (in_force(c, SONDE__ENABLE_PROFILER))
		say_program();
	if (in_force(c, SONDE__PPROF_ADDR))
		sonde__log("Registering pprof server.");
	if (in_force(c, SONDE__PROFILING_CONFIG))
		say_routes();
	if (in_force(c, SONDE__BUILD_PROFILED))
		sonde__log("Start server at %s", c->addr);
}
