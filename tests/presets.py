#!/usr/bin/env python3
"""Switching profiles on and off: as five systems do, and while a program runs.

usage: presets.py --sonde PROGRAM --lib LIBRARY --examples FOLDER --source ROOT [NAME...]

SPDX-License-Identifier: Apache-2.0
"""
import contextlib
import errno
import os
import pathlib
import shutil
import subprocess
import sys

import guest
from guest import TMP, answers, clean, fetch, listens, started, until

SONDE, LIB = guest.argument("sonde"), guest.argument("lib")
BUILT, ROOT = pathlib.Path(guest.argument("examples")), pathlib.Path(guest.argument("source"))


@contextlib.contextmanager
def service(name, *args, **env):
    """An example that runs, and what it has logged so far."""
    log = TMP / f"{name}.log"
    with open(log, "w") as f, started(BUILT / f"example-{name}", *args, stderr=f,
                                      env=clean(**env)) as p:
        p.log = log.read_text
        yield p


def threads(p):
    return len(os.listdir(f"/proc/{p.pid}/task"))


def sockets(p):
    """Those that listen, as the system lists them."""
    text = guest.run("ss", "-Hltnp").stdout.decode()
    return [line.split()[3] for line in text.splitlines() if f"pid={p.pid}," in line]


def t_nothing_set_is_nothing_done():
    with service("deployer") as p:
        until("work", lambda: "round 0" in p.log())
        until("more of it", lambda: "round 50" in p.log())
        assert threads(p) == 1 and not sockets(p) and "sonde" not in p.log(), p.log()


def t_enable_profiler_is_for_the_word_true_only():
    for value in ("TRUE", "1", "", "true "):
        with service("deployer", ENABLE_PROFILER=value) as p:
            until("work", lambda: "round 0" in p.log())
            assert not listens(8081) and threads(p) == 1, value
    with service("deployer", ENABLE_PROFILER="true") as p:
        answers(8081)
        assert "Starting profiler for example-deployer" in p.log(), p.log()
        assert sorted(sockets(p)) == ["127.0.0.1:8081", "[::1]:8081"], sockets(p)
        assert b"heap" in fetch(8081, "/debug/pprof/")[1]


def t_any_pprof_addr_is_switch_and_address():
    for value, where in ((":8070", ["*:8070"]), ("127.0.0.1:8070", ["127.0.0.1:8070"])):
        with service("deployer", HCO_PPROF_ADDR=value) as p:
            answers(8070)
            assert sockets(p) == where, sockets(p)
            assert "Registering pprof server." in p.log(), p.log()
    with service("deployer", HCO_PPROF_ADDR="") as p:
        until("work", lambda: "round 0" in p.log())
        assert threads(p) == 1 and not sockets(p)


def t_profiling_by_environment_or_configuration():
    on, off = ROOT / "examples/profiling-config/storage.json", TMP / "off.json"
    off.write_text('{"_profiling": "true", "profiling": false}')
    for config, env, expected in ((off, {}, 404), (off, {"HEKETI_PROFILING": "false"}, 200),
                                  (on, {}, 200), (on, {"HEKETI_PROFILING": "x"}, 200)):
        with service("storage", config, "8080", **env) as p:
            until("the service", lambda: fetch(8080, "/volumes/1")[0] == 200)
            assert fetch(8080, "/debug/pprof/heap")[0] == expected, (config, env)
            assert fetch(8080, "/debug/pprof/")[0] == 404
            assert sockets(p) == ["127.0.0.1:8080"], sockets(p)
            for name in ("heap", "allocs", "mutex", "cmdline", "trace"):
                line = f"DEBUG: registered profiling handler on /debug/pprof/{name}\n"
                assert (line in p.log()) == (expected == 200), p.log()


def t_two_artefacts_only_if_asked_for():
    env = dict(C_INCLUDE_PATH=ROOT / "include", LIBRARY_PATH=pathlib.Path(LIB).parent)
    for value, profiled in (("true", True), ("1", True), ("false", False), ("0", False),
                            ("", False)):
        folder = TMP / f"build-{value}"
        shutil.copytree(ROOT / "examples/build-profiled", folder)
        guest.run("make", "-C", folder, "build", env=clean(BUILD_PROFILED=value, **env))
        normal, other = folder / "adapter", folder / "adapter-profile"
        assert normal.exists() and other.exists() == profiled, value
        assert b"sonde" not in guest.run("nm", normal).stdout
        assert b"sonde" not in normal.read_bytes()
        if profiled:
            assert b" T sonde_start\n" in guest.run("nm", other).stdout
            assert other.stat().st_size < normal.stat().st_size + (4 << 20)


def t_a_build_with_profiles_listens_everywhere():
    with service("adapter") as p:
        answers(6060)
        assert sockets(p) == ["0.0.0.0:6060"], sockets(p)
        ours = [line for line in p.log().splitlines() if "sonde[" in line]
        assert ours[0].endswith("]: Start server at 0.0.0.0:6060"), p.log()


def samples(port, name):
    profile = TMP / name
    profile.write_bytes(fetch(port, f"/debug/pprof/{name}")[1])
    return guest.run(SONDE, "-traces", profile, env=clean()).stdout.decode()


def t_locks_are_measured_unless_told_not_to():
    with service("apiserver"):
        answers(8080)
        until("the holder", lambda: "convert_to_watch_event" in samples(8080, "mutex"))
        until("those who wait", lambda: "watch" in samples(8080, "block"))
    with service("apiserver", "--contention-profiling=false"):
        answers(8080)
        assert fetch(8080, "/debug/pprof/heap?seconds=1")[0] == 200
        for name in ("mutex", "block"):
            text = samples(8080, name)
            assert "Type: delay" in text and "watch" not in text, text
    with service("apiserver", "--profiling=false") as p:
        until("its threads", lambda: threads(p) == 5)
        assert not sockets(p)


def t_presets_by_name():
    for name, port in (("enable-profiler", 8081), ("pprof-addr", 8070), ("build-profiled", 6060),
                       ("contention", 8080)):
        with started(SONDE, "run", "--preset", name, "--log", "none", "--", "sleep", "60", env=clean()):
            answers(port)
    with started(SONDE, "run", "--preset", "contention", "--addr", ":2382", "--log", "none", "--",
                 "sleep", "60", env=clean()):
        answers(2382)
        assert not listens(8080)


def t_run_leaves_the_address_to_a_preset():
    with started(SONDE, "run", "--log", "none", "--", "sleep", "60",
                 env=clean(ENABLE_PROFILER="true")):
        answers(8081)
        assert not listens(8070)


def t_a_preset_that_does_not_exist_is_said():
    done = guest.run("true", env=clean(LD_PRELOAD=LIB, SONDE_PRESET="no-such"))
    assert b"SONDE_PRESET=no-such is not understood, ignored" in done.stderr, done.stderr


SWITCH = r"""
#include <sonde.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

__attribute__((noinline)) static void *early(void) { return memset(malloc(64 << 20), 1, 1); }
__attribute__((noinline)) static void *unseen(void) { return memset(malloc(64 << 20), 1, 1); }
__attribute__((noinline)) static void *late(void) { return memset(malloc(64 << 20), 1, 1); }

static void answer(void *status, int code, const struct sonde_header *headers, const void *body,
		   size_t nbody)
{
	*(long long *)status = code;
	(void)headers, (void)body, (void)nbody;
}

static long long handle(const char *path)
{
	long long status = 0;
	int rc = sonde_handle(&(struct sonde_request){ SONDE_REQUEST, .method = "GET", .path = path },
			      answer, &status);

	return rc ? rc : status;
}

int main(void)
{
	char line[100];
	long long result = -1;
	static void *kept[3];

	while (fgets(line, sizeof(line), stdin)) {
		line[strcspn(line, "\n")] = 0;
		if (strncmp(line, "start ", 6) == 0)
			result = sonde_start(&(struct sonde_options){ SONDE_OPTIONS, .addr = line + 6 });
		else if (strncmp(line, "preset ", 7) == 0)
			result = sonde_start(&(struct sonde_options){ SONDE_OPTIONS, .preset = line + 7 });
		else if (strncmp(line, "heap ", 5) == 0)
			result = (long long)sonde_set_heap_rate(strtoull(line + 5, NULL, 10));
		else if (strncmp(line, "mutex ", 6) == 0)
			result = (long long)sonde_set_mutex_fraction(strtoull(line + 6, NULL, 10));
		else if (strncmp(line, "block ", 6) == 0)
			result = (long long)sonde_set_block_rate(strtoull(line + 6, NULL, 10));
		else if (strncmp(line, "GET ", 4) == 0)
			result = handle(line + 4);
		else if (strcmp(line, "stop") == 0)
			sonde_stop();
		else if (strcmp(line, "on?") == 0)
			result = sonde_is_on();
		else if (strcmp(line, "early") == 0)
			kept[0] = early();
		else if (strcmp(line, "unseen") == 0)
			kept[1] = unseen();
		else if (strcmp(line, "late") == 0)
			kept[2] = late();
		printf("%lld\n", result);
		fflush(stdout);
	}
	return kept[0] == kept[1];
}
"""


@contextlib.contextmanager
def switchboard():
    """A program that is told what to call; ask(line) is what that returned."""
    program = guest.compile_c("switch", SWITCH, "-I", ROOT / "include", LIB)
    p = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                         stderr=subprocess.DEVNULL,
                         env=clean(LD_LIBRARY_PATH=pathlib.Path(LIB).parent))

    def ask(line):
        p.stdin.write(line + "\n")
        p.stdin.flush()
        return int(p.stdout.readline())

    p.ask = ask
    try:
        yield p
    finally:
        p.stdin.close()
        p.stdout.close()
        p.wait(60)


def heap(port):
    profile = TMP / "heap"
    profile.write_bytes(fetch(port, "/debug/pprof/heap")[1])
    return guest.run(SONDE, "-top", profile, env=clean()).stdout.decode()


def t_on_and_off_while_the_program_runs():
    with switchboard() as p:
        assert p.ask("on?") == 0 and threads(p) == 1
        for _ in range(3):
            port = guest.free_port()
            assert p.ask(f"start localhost:{port}") == 0 and p.ask("on?") == 1
            answers(port)
            assert p.ask(f"start localhost:{port}") < 0  # it is on already
            p.ask("stop")
            assert p.ask("on?") == 0 and not listens(port) and threads(p) == 1
        assert p.ask("preset pprof-addr") == 0
        answers(8070)
        p.ask("stop")
        assert p.ask("preset nonsense") < 0 and p.ask("on?") == 0
        assert p.poll() is None


def t_on_and_off_under_the_own_server():
    with switchboard() as p:
        for _ in range(2):
            assert p.ask("GET /debug/pprof/heap") == -errno.ENOTCONN
            assert p.ask("preset profiling-config") == 0 and not sockets(p)
            assert p.ask("GET /debug/pprof/heap") == 200
            assert p.ask("GET /debug/pprof/") == 404
            p.ask("stop")


def t_what_was_seen_while_it_was_on_is_not_forgotten():
    with switchboard() as p:
        port = guest.free_port()
        p.ask(f"start localhost:{port}")
        p.ask("early")
        p.ask("stop")
        p.ask("unseen")
        p.ask(f"start localhost:{port}")
        p.ask("late")
        answers(port)
        text = heap(port)
        assert "early" in text and "late" in text and "unseen" not in text, text


def t_rates_while_it_runs():
    with switchboard() as p:
        port = guest.free_port()
        p.ask(f"start localhost:{port}")
        answers(port)
        assert p.ask("heap 0") == 524288 and p.ask("heap 0") == 0
        p.ask("unseen")
        assert p.ask("heap 1") == 0
        p.ask("late")
        text = heap(port)
        assert "late" in text and "unseen" not in text, text
        for kind in ("mutex", "block"):
            assert [p.ask(f"{kind} {n}") for n in (1, 5, 0)] == [0, 1, 5]


if __name__ == "__main__":
    guest.own_network(2382, 6060, 8070, 8080, 8081)
    sys.exit(guest.main(globals(), sys.argv[9:]))
