/*
 * fuzz-runtime-limits.c - the files that say which cgroup a process is in, and what its limits are
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "runtime/guard.h"
#include "runtime/memory-limit.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

bool sonde__guard_is_filtered(void)
{
	return false;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1), path[64];
	bool v1;

	if (!text)
		return 0;
	if (size)
		memcpy(text, data, size);
	text[size] = '\0';
	if (sonde__cgroup_parse(text, path, sizeof(path), &v1) &&
	    (path[0] != '/' || strlen(path) >= sizeof(path) || strchr(path, '\n')))
		abort();
	(void)sonde__limit_parse(text);
	free(text);
	return 0;
}
