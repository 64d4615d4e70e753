/*
 * scratch.c - temporary files, to be removed however the program ends
 *
 * A signal handler may not allocate or wait, so there is a fixed number of slots, and each
 * says in one word whether its path can be read.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/scratch.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

enum { SLOTS = 64, LONGEST = 1024 };
enum state { FREE, BUSY, USED };

static struct slot {
	_Atomic enum state state;
	char path[LONGEST];
} slots[SLOTS];

static bool change(struct slot *s, enum state from, enum state to)
{
	return atomic_compare_exchange_strong(&s->state, &from, to);
}

void scratch_add(const char *path)
{
	size_t n = strlen(path) + 1;

	if (n > LONGEST)
		return;
	for (struct slot *s = slots; s < slots + SLOTS; s++) {
		if (!change(s, FREE, BUSY))
			continue;
		memcpy(s->path, path, n);
		s->state = USED;
		return;
	}
}

void scratch_forget(const char *path)
{
	for (struct slot *s = slots; s < slots + SLOTS; s++) {
		if (s->state == USED && strcmp(s->path, path) == 0)
			change(s, USED, FREE);
	}
}

void scratch_remove(void)
{
	for (struct slot *s = slots; s < slots + SLOTS; s++) {
		if (!change(s, USED, BUSY))
			continue;
		(void)unlink(s->path);
		s->state = FREE;
	}
}
