/*
 * profile.c - the adapter with profiles
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "adapter.h"

#include <sonde.h>
#include <stdio.h>
#include <string.h>

void start_profiler(void)
{
	int rc = sonde_start(&(struct sonde_options){ SONDE_OPTIONS, .preset = "build-profiled" });

	if (rc)
		fprintf(stderr, "no profiles: %s\n", strerror(-rc));
}
