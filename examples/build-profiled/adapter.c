/*
 * adapter.c - a service that is built twice, with profiles and without
 *
 * Devices come and go.  What goes wrong: a part of each is never given back.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "adapter.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MESSAGES = 2048, MOST = 4000 };

struct message {
	char omci[48];
};

struct device_entry {
	int id;
	struct message *reboot_messages;
};

__attribute__((noinline)) static struct device_entry *new_device_entry(int id)
{
	struct device_entry *d = malloc(sizeof(*d));

	if (!d)
		return NULL;
	d->id = id;
	d->reboot_messages = calloc(MESSAGES, sizeof(*d->reboot_messages));
	return d;
}

/* Forgets the messages. */
__attribute__((noinline)) static void delete_device_entry(struct device_entry *d)
{
	free(d);
}

int main(void)
{
	start_profiler();
	for (int id = 0; id < MOST; id++) {
		delete_device_entry(new_device_entry(id));
		if (id % 100 == 0)
			fprintf(stderr, "devices started and deleted: %d\n", id);
		usleep(5000);
	}
	for (;;)
		pause();
}
