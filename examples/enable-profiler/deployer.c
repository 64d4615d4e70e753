/*
 * deployer.c - a controller that is profiled when ENABLE_PROFILER=true
 *
 * It is linked with -lsonde, and there is nothing about profiles in it: the environment decides.
 * What goes wrong: every round it keeps a copy of the values it rendered.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ROUND_MS = 100, VALUES = 256 << 10, MANIFEST = 1 << 20, MOST = 400 << 20 };

struct values {
	struct values *next;
	char text[VALUES];
};

static struct values *history; /* nobody ever reads it */

__attribute__((noinline)) static void remember_values(int round)
{
	struct values *v = malloc(sizeof(*v));

	if (!v)
		return;
	memset(v->text, round, sizeof(v->text));
	v->next = history;
	history = v;
}

/* Allocates much, and gives it back. */
__attribute__((noinline)) static size_t render_manifest(int round)
{
	char *text = malloc(MANIFEST);
	size_t n = 0;

	if (text)
		n = (size_t)snprintf(text, MANIFEST, "kind: Installation\nrevision: %d\n", round);
	free(text);
	return n;
}

int main(void)
{
	size_t bytes = 0;

	for (int round = 0;; round++) {
		for (int i = 0; i < 4; i++)
			bytes += render_manifest(round);
		for (int i = 0; i < 4 && round < MOST / VALUES / 4; i++)
			remember_values(round);
		if (round % 50 == 0)
			fprintf(stderr, "round %d: %zu bytes of manifests\n", round, bytes);
		usleep(ROUND_MS * 1000);
	}
}
