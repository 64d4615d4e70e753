/*
 * operator.c - a program that knows nothing of profiles, and is not built for them
 *
 * It watches objects and compares each new version with the last one.  What goes wrong: the
 * comparison looks at every byte many times, and old versions are kept.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { OBJECTS = 16, SIZE = 128 << 10, MOST = 2000 };

static char *versions[MOST]; /* of all objects, in the order in which they came */

__attribute__((noinline)) static char *cache_object(int n)
{
	char *object = malloc(SIZE);

	if (object)
		memset(object, n, SIZE);
	return object;
}

/* How many bytes differ, found out the slow way. */
__attribute__((noinline)) static unsigned diff_objects(const char *a, const char *b)
{
	volatile unsigned differ = 0;

	for (size_t round = 0; round < 20; round++)
		for (size_t i = 0; i < SIZE; i++)
			differ += a[i] != b[i];
	return differ;
}

int main(void)
{
	unsigned changes = 0;

	for (int n = 0;; n++) {
		char *object = cache_object(n), *before = versions[(n + MOST - OBJECTS) % MOST];

		if (object && before)
			changes += diff_objects(before, object);
		if (n % 1000 == 0)
			fprintf(stderr, "%u bytes have changed\n", changes);
		free(versions[n % MOST]);
		versions[n % MOST] = object;
		usleep(20000);
	}
}
