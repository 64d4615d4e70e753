/*
 * hook-ways.c - where the conditional jumps of libsonde's hooks lead, in the program they are in
 *
 * Prints a line for each: its name, and the library in which the jump ends.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { LENGTH = 128, ABOVE = 0x87, EQUAL = 0x84 };

/* Its goal, or NULL. */
static const unsigned char *goal(const unsigned char *code, unsigned char kind)
{
	for (int i = 0; i < LENGTH; i++) {
		int32_t distance;
		Dl_info info;

		if (code[i] != 0x0f || code[i + 1] != kind)
			continue;
		memcpy(&distance, code + i + 2, sizeof(distance));
		if (dladdr(code + i + 6 + distance, &info))
			return code + i + 6 + distance;
	}
	return NULL;
}

int main(void)
{
	static const struct {
		const char *name;
		unsigned char kind;
	} hooks[] = {
		{ "malloc", ABOVE },
		{ "calloc", ABOVE },
		{ "realloc", EQUAL },
		{ "free", EQUAL },
		{ "memalign", ABOVE },
		{ "posix_memalign", ABOVE },
		{ "aligned_alloc", ABOVE },
		{ "pthread_mutex_lock", EQUAL },
		{ "pthread_mutex_unlock", EQUAL },
	};

	for (size_t i = 0; i < sizeof(hooks) / sizeof(hooks[0]); i++) {
		const unsigned char *to = goal(dlsym(RTLD_DEFAULT, hooks[i].name), hooks[i].kind);
		Dl_info info = { .dli_fname = "/nowhere" };

		if (to)
			dladdr(to, &info);
		printf("%s %s\n", hooks[i].name, strrchr(info.dli_fname, '/') + 1);
	}
	return 0;
}
