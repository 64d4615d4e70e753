/*
 * linked.c - a program that switches its profiles on and off by itself: two functions
 *
 *	cc linked.c $(pkg-config --cflags --libs sonde) -o linked
 *	./linked &
 *	sonde -top http://localhost:8070/debug/pprof/heap
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <sonde.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { KEPT = 4096, BLOCK = 16384 };

/* Keeps the newest blocks and frees the others: 64 MB that are always in use. */
__attribute__((noinline)) static void serve(char **kept, int n)
{
	int slot = n % KEPT;

	free(kept[slot]);
	kept[slot] = malloc(BLOCK);
	if (kept[slot])
		memset(kept[slot], n, BLOCK);
}

int main(int argc, char **argv)
{
	static char *kept[KEPT];
	int rc = sonde_start(&(struct sonde_options){
		SONDE_OPTIONS, .addr = argc > 1 ? argv[1] : "localhost:8070" });

	if (rc)
		fprintf(stderr, "no profiles: %s\n", strerror(-rc));
	for (int n = 0; argc < 3 || n < 100000; n++) {
		serve(kept, n);
		if (n % 100 == 0)
			usleep(1000);
	}
	sonde_stop();
	return 0;
}
