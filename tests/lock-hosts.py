#!/usr/bin/env python3
"""Whether programs notice that their locks are watched.

usage: lock-hosts.py --sonde sonde --lib libsonde.so --program lock-host [NAME...]

The program does with every kind of lock what can be done at the edges, and says what came of it: that must
be the same with and without the library, off and on.

SPDX-License-Identifier: Apache-2.0
"""
import functools
import shutil
import subprocess
import sys
import time

import guest
from guest import fetch, free_port

SONDE, LIB, PROGRAM = (guest.argument(n) for n in ("sonde", "lib", "program"))


@functools.cache
def bare():
    return guest.run(PROGRAM, env=guest.clean()).stdout.decode()


def same(env):
    seen = guest.run(PROGRAM, env=env).stdout.decode()
    if seen == bare():
        return
    pairs = list(zip(bare().splitlines(), seen.splitlines()))
    wrong = [f"{i}: {a!r} without, {b!r} with the library" for i, (a, b) in enumerate(pairs) if a != b]
    raise AssertionError("\n".join(wrong[:10]) or "one says more than the other")


def t_it_says_the_same_twice_without_us():
    same(guest.clean())


def t_off():
    same(guest.clean(LD_PRELOAD=LIB))


def t_all_waits_measured():
    same(guest.guest_env(LIB, free_port(), SONDE_MUTEX_FRACTION=1, SONDE_BLOCK_RATE=1))


def t_mutexes_only():
    same(guest.guest_env(LIB, free_port(), SONDE_MUTEX_FRACTION=3))


def t_waits_only():
    same(guest.guest_env(LIB, free_port(), SONDE_BLOCK_RATE=1000))


def t_switched_on_and_off_all_the_time():
    port = free_port()
    with guest.started(PROGRAM, env=guest.guest_env(LIB, port, SONDE_HEAP_RATE=4096),
                       stdout=subprocess.PIPE) as p:
        rounds = 0
        end = time.monotonic() + guest.LIMIT
        while p.poll() is None and time.monotonic() < end:
            for kind in ("mutex", "block"):
                rounds += fetch(port, f"/debug/pprof/{kind}?seconds=1&rate=1")[0] == 200
        assert p.stdout.read().decode() == bare() and p.returncode == 0, p.returncode
    assert rounds > 1, rounds


def t_with_other_allocators():
    for name in ("libjemalloc.so.2", "libtcmalloc_minimal.so.4", "libmimalloc.so.2.0"):
        found = list(guest.pathlib.Path("/usr/lib").glob(f"*-linux-gnu/{name}"))
        if found:
            env = guest.guest_env(LIB, free_port(), SONDE_MUTEX_FRACTION=1, SONDE_BLOCK_RATE=1)
            same(env | {"LD_PRELOAD": f"{LIB} {found[0]}"})


LATE = r"""
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static atomic_int over;
static void *fight(void *unused)
{
	while (!over) {
		pthread_mutex_lock(&m);
		usleep(100);
		pthread_mutex_unlock(&m);
	}
	return unused;
}
int main(int argc, char **argv)
{
	pthread_t t[2];
	pthread_create(&t[0], NULL, fight, NULL);
	pthread_create(&t[1], NULL, fight, NULL);
	for (int i = 0; i < 50; i++) {
		void *lib = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
		if (!lib) {
			puts(dlerror());
			return 1;
		}
		dlclose(lib);
	}
	over = 1;
	pthread_join(t[0], NULL);
	pthread_join(t[1], NULL);
	puts("done");
}
"""

PLUGIN = r"""
#include <pthread.h>
#include <unistd.h>

/* Fights for its own lock while the loader has its own. */
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static void *fight(void *unused)
{
	for (int i = 0; i < 20; i++) {
		pthread_mutex_lock(&m);
		usleep(50);
		pthread_mutex_unlock(&m);
	}
	return unused;
}
__attribute__((constructor)) static void begin(void)
{
	pthread_t t;

	pthread_create(&t, NULL, fight, NULL);
	fight(NULL);
	pthread_join(t, NULL);
}
"""


def t_locks_in_constructors_of_libraries():
    plugin = guest.compile_c("plugin.so", PLUGIN, "-shared", "-fPIC", "-pthread")
    program = guest.compile_c("late", LATE, "-pthread")
    for env in (guest.clean(), guest.guest_env(LIB, free_port(), SONDE_MUTEX_FRACTION=1, SONDE_BLOCK_RATE=1)):
        assert guest.run(program, plugin, env=env).stdout == b"done\n"


def t_opened_late_it_does_no_harm():
    program = guest.compile_c("late", LATE, "-pthread")
    assert guest.run(program, LIB, env=guest.clean()).stdout == b"done\n"


def t_python_with_threads():
    python = shutil.which("python3", path="/usr/bin:/usr/local/bin") or guest.tool("python3")
    script = """
import queue, threading
q, done = queue.Queue(10), queue.Queue()
def work():
    while (item := q.get()) is not None:
        done.put(item * 2)
threads = [threading.Thread(target=work) for _ in range(8)]
[t.start() for t in threads]
[q.put(i) for i in range(5000)]
[q.put(None) for _ in threads]
[t.join() for t in threads]
print(sum(done.get() for _ in range(5000)))
"""
    env = guest.guest_env(LIB, free_port(), SONDE_MUTEX_FRACTION=1, SONDE_BLOCK_RATE=1)
    assert guest.run(python, "-c", script, env=env).stdout == b"24995000\n"


if __name__ == "__main__":
    sys.exit(guest.main(globals(), sys.argv[7:]))
