#!/usr/bin/env python3
"""A program with more stacks, or more live objects, than the runtime's tables hold: the profile says what
is missing, all else is right, and the program does not notice.

usage: heap-full.py --sonde PROGRAM --lib LIBRARY [NAME...]

SPDX-License-Identifier: Apache-2.0
"""
import re
import sys

import guest
from guest import TMP, clean, compile_c, fetch, free_port, guest_env, run, started

SONDE, LIB = guest.argument("sonde"), guest.argument("lib")

PROGRAM = r"""
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { DEPTH = 20 };

static char *left(int depth, long path);

/* Which of the two calls which is in the bits of 'path': every path is another stack. */
__attribute__((noinline)) static char *right(int depth, long path)
{
	char *p = depth == 0 ? malloc(24) :
		  path & 1   ? left(depth - 1, path >> 1) : right(depth - 1, path >> 1);

	__asm__ volatile("");
	return p;
}

__attribute__((noinline)) static char *left(int depth, long path)
{
	char *p = depth == 0 ? malloc(24) :
		  path & 1   ? left(depth - 1, path >> 1) : right(depth - 1, path >> 1);

	__asm__ volatile("");
	return p;
}

/* Objects hold what was written to them, through realloc() and whatever else; half of them stay. */
int main(int argc, char **argv)
{
	long n = argc > 2 ? strtol(argv[1], NULL, 10) : 0, stacks = argc > 2 ? strtol(argv[2], NULL, 10) : 1;
	char **all = calloc(n, sizeof(*all));

	for (long i = 0; i < n; i++) {
		all[i] = left(DEPTH, i % stacks);
		memcpy(all[i], &i, sizeof(i));
		if (i % 1000 == 0)
			all[i] = realloc(all[i], 48);
	}
	for (long i = 0; i < n; i++) {
		if (memcmp(all[i], &i, sizeof(i)) != 0)
			return 1;
		if (i % 2)
			free(all[i]);
	}
	puts("ready");
	fflush(stdout);
	for (;;)
		pause();
}
"""


def counted(port, name):
    text = fetch(port, "/metrics")[1].decode()
    return int(float(re.search(rf"^{name} (\S+)", text, re.M)[1]))


def look(port):
    """Comments of the heap profile, and its sums."""
    profile = TMP / "heap"
    status, body = fetch(port, "/debug/pprof/heap")
    assert status == 200, status
    profile.write_bytes(body)
    comments = run(SONDE, "-comments", profile, env=clean()).stdout.decode()
    raw = run(SONDE, "-raw", profile, env=clean()).stdout.decode()
    rows = [tuple(map(int, row)) for row in re.findall(r"^ *(\d+) +(\d+) +(\d+) +(\d+):", raw, re.M)]
    return comments, [sum(row[i] for row in rows) for i in range(4)]


def overflow(objects, stacks, says):
    program, port = compile_c("full", PROGRAM), free_port()
    with started(program, objects, stacks, env=guest_env(LIB, port, SONDE_HEAP_RATE=1),
                 stdout=guest.subprocess.PIPE) as host:
        assert host.stdout.readline() == b"ready\n", "the program has lost what it wrote"
        guest.answers(port)
        samples, lost = counted(port, "sonde_heap_samples_total"), counted(port, "sonde_heap_lost_total")
        comments, sums = look(port)
        assert 0 < lost < objects, lost
        assert f"sonde: {lost} samples lost" in comments, comments
        assert bool(re.search(r"sonde: \d+ stacks lost, their table is full", comments)) == says, comments
        assert sums[0] == samples - lost, (sums, samples, lost)
        # Of those that were freed, the ones that had been counted are gone.
        assert sums[0] - objects // 2 <= sums[2] <= sums[0] - (objects // 2 - lost), (sums, lost)
        assert host.poll() is None, "the program has ended"


def t_more_stacks_than_there_is_room_for():
    overflow(300_000, 300_000, True)


def t_more_live_objects_than_there_is_room_for():
    overflow(4_000_000, 1, False)


sys.exit(guest.main(globals(), sys.argv[5:]))
