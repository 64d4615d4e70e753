#!/usr/bin/env python3
"""Calls that go past the hooks while these have nothing to do, and come back when they have.

usage: call-tables.py --sonde sonde --lib libsonde.so [NAME...]

A program (programs/call-tables.c) tells where the words lead through which it and its libraries call others
(src/runtime/bypass.h).

SPDX-License-Identifier: Apache-2.0
"""
import contextlib
import functools
import glob
import pathlib
import subprocess
import sys
import threading

import guest
from guest import TMP, Skip, fetch, free_port, until

SONDE, LIB = (guest.argument(n) for n in ("sonde", "lib"))
PROGRAMS = pathlib.Path(__file__).resolve().parent / "programs"
US = pathlib.Path(LIB).name
ALLOCATORS = {"jemalloc": "libjemalloc.so.2", "tcmalloc": "libtcmalloc_minimal.so.4",
              "mimalloc": "libmimalloc.so.2.0"}


@functools.cache
def built(name, *flags):
    to = TMP / (name + "".join(flags).replace(",", ""))
    guest.run(guest.tool("cc"), "-O1", "-g", "-o", to, PROGRAMS / (name + ".c"), "-pthread", *flags)
    return to


def lazy():
    return built("call-tables", "-Wl,-z,lazy")


def sealed():
    """Its table is filled in, and read-only, before it begins."""
    return built("call-tables", "-Wl,-z,now,-z,relro")


def library():
    return built("locking-library", "-shared", "-fPIC", "-Wl,-z,now,-z,relro")


class Program:
    def __init__(self, process):
        self.process = process

    def tell(self, *words):
        self.process.stdin.write(" ".join(map(str, words)) + "\n")
        self.process.stdin.flush()
        lines = []
        while (line := self.process.stdout.readline()) != "done\n":
            assert line, f"{words}: it ended, {self.process.wait()}"
            lines.append(line.split())
        return lines

    def ways(self, function):
        """By binary: where its calls of the function lead, and the rights of the page that says so."""
        return {binary: (to, rights) for binary, to, rights in self.tell("ways", function)}


@contextlib.contextmanager
def program(path, *args, **env):
    with subprocess.Popen([path, *args], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                          env=guest.clean(**env)) as process:
        try:
            yield Program(process)
            process.stdin.close()
            assert process.wait(guest.LIMIT) == 0
        finally:
            process.kill()


def on(port, **more):
    return {"LD_PRELOAD": LIB, "SONDE_ADDR": f"127.0.0.1:{port}", "SONDE_LOG": "none", **more}


def profile(port, what):
    def taken():
        status, body = fetch(port, "/debug/pprof/" + what)
        return body if status == 200 else None
    to = TMP / "profile"
    to.write_bytes(until(what, taken))
    return to


def objects(port, function):
    """How many of the heap profile are of that function."""
    text = guest.run(SONDE, "-top", "-cum", "-unit=count", "-nodefraction=0", "-sample_index=alloc_objects",
                     f"-show=^{function}$", profile(port, "heap")).stdout.decode()
    rows = [line.split() for line in text.splitlines() if line.endswith(" " + function)]
    return int(rows[0][3]) if rows else 0


def comments(what):
    return guest.run(SONDE, "-comments", what).stdout.decode()


def t_without_us_nothing_is_ours():
    with program(lazy()) as p:
        assert p.ways("malloc")["program"][0] in ("itself", "libc.so.6"), p.ways("malloc")


def t_a_program_that_nothing_is_sampled_in_calls_its_allocator():
    with program(lazy(), LD_PRELOAD=LIB) as p:
        for function in ("malloc", "free"):
            assert p.ways(function)["program"] == ("libc.so.6", "rw-p"), p.ways(function)


def t_also_where_the_table_is_read_only_and_it_stays_so():
    with program(sealed(), LD_PRELOAD=LIB) as p:
        for function in ("malloc", "free"):
            assert p.ways(function)["program"] == ("libc.so.6", "r--p"), p.ways(function)


def t_and_every_other_allocator():
    found = {name: glob.glob("/usr/lib/*/" + name) for name in ALLOCATORS.values()}
    if not any(found.values()):
        raise Skip("no other allocator is installed")
    for name, paths in found.items():
        for binary in (lazy(), sealed()) if paths else ():
            with program(binary, LD_PRELOAD=f"{LIB} {paths[0]}") as p:
                p.tell("allocate", 1000)
                for function in ("malloc", "free"):
                    assert p.ways(function)["program"][0] == name, (name, p.ways(function))


def t_a_program_that_is_sampled_calls_the_hooks():
    with program(sealed(), **on(free_port())) as p:
        assert p.ways("malloc")["program"] == (US, "r--p"), p.ways("malloc")


def t_somebody_who_listens_to_the_loader_hears_of_every_function():
    listener = guest.compile_c("listener", "unsigned la_version(unsigned v) { return v; }", "-shared", "-fPIC")
    with program(lazy(), LD_PRELOAD=LIB, LD_AUDIT=listener) as p:
        assert p.ways("malloc")["program"][0] in ("itself", US), p.ways("malloc")


def t_beside_a_thread_that_was_there_before_nothing_is_changed():
    early = built("early-thread", "-shared", "-fPIC")
    with program(sealed(), LD_PRELOAD=f"{LIB} {early}") as p:
        assert p.ways("malloc")["program"] == (US, "r--p"), p.ways("malloc")


def begins_late(binary):
    port = free_port()
    with program(binary, "2", **on(port, SONDE_HEAP_RATE=0)) as p:
        assert p.ways("malloc")["program"][0] == "libc.so.6", p.ways("malloc")
        before = p.ways("malloc")["program"][1]
        p.tell("allocate", 100)
        assert objects(port, "allocate") == 0
        p.tell("rate", 1)
        assert p.ways("malloc")["program"] == (US, before), p.ways("malloc")
        assert p.ways("free")["program"] == (US, before), p.ways("free")
        p.tell("allocate", 500)
        p.tell("rate", 0)
        assert objects(port, "allocate") == 500


def t_sampling_that_begins_late_misses_nothing():
    begins_late(lazy())


def t_also_where_the_table_is_read_only():
    begins_late(sealed())


def t_behind_a_filter_sampling_does_not_begin_and_says_so():
    port = free_port()
    with program(sealed(), **on(port, SONDE_HEAP_RATE=0)) as p:
        profile(port, "heap")  # the agent is there before the filter
        said = p.tell("filter")
        if said:
            raise Skip(" ".join(said[0]))
        p.tell("rate", 1)
        p.tell("allocate", 100)
        assert p.ways("malloc")["program"] == ("libc.so.6", "r--p"), p.ways("malloc")
        assert "cannot be led to the hooks any more" in comments(profile(port, "heap"))


def locks_go_past(p):
    until("locks go past", lambda: US not in [to for to, _ in p.ways("pthread_mutex_lock").values()])


def t_locks_go_past_also_in_a_library_that_is_loaded_later():
    with program(sealed(), **on(free_port())) as p:
        p.tell("load", library())
        locks_go_past(p)
        assert p.ways("pthread_mutex_lock")[library().name] == ("libc.so.6", "r--p")


def t_and_stay_where_waits_are_measured_from_the_start_on():
    port = free_port()
    with program(sealed(), **on(port, SONDE_MUTEX_FRACTION=1)) as p:
        p.tell("load", library())
        p.tell("fight", library(), 1500)
        assert p.ways("pthread_mutex_lock")[library().name] == (US, "r--p")


def t_a_fight_in_a_library_is_seen_by_who_asks_and_by_who_asks_again():
    port = free_port()
    with program(sealed(), **on(port)) as p:
        p.tell("load", library())
        for _ in range(2):
            locks_go_past(p)
            fight = threading.Thread(target=p.tell, args=("fight", library(), 3000))
            fight.start()
            text = guest.run(SONDE, "-top", "-cum", "-sample_index=contentions",
                             profile(port, "mutex?seconds=2&rate=1")).stdout.decode()
            fight.join()
            assert "lock_for_long" in text, text


def operators():
    """A program with the C++ library, and a library that calls operators of that."""
    source = TMP / "make.cc"
    source.write_text("""static int *volatile made;
extern "C" void make_some() { for (int i = 0; i < 100; i++) made = new int; }
""")
    to = TMP / "libmake.so"
    if not to.exists():
        guest.run(guest.tool("c++"), "-O1", "-g", "-shared", "-fPIC", "-o", to, source)
    return built("call-tables", "-Wl,-z,now,-z,relro", "-Wl,--no-as-needed", "-lstdc++"), to


def t_operators_that_end_in_malloc_go_past_and_are_counted():
    binary, made = operators()
    port = free_port()
    with program(binary, **on(port, SONDE_HEAP_RATE=1)) as p:
        p.tell("call", made, "make_some")
        until("operators go past", lambda: p.ways("_Znwm")[made.name][0] == "libstdc++.so.6")
        p.tell("call", made, "make_some")
        assert objects(port, "make_some") == 200


def t_operators_of_an_allocator_stay():
    paths = glob.glob("/usr/lib/*/" + ALLOCATORS["tcmalloc"])
    if not paths:
        raise Skip("there is no tcmalloc")
    binary, made = operators()
    with program(binary, **on(free_port(), LD_PRELOAD=f"{LIB} {paths[0]}")) as p:
        p.tell("call", made, "make_some")
        p.tell("load", library())
        locks_go_past(p)
        assert p.ways("_Znwm")[made.name][0] == US, p.ways("_Znwm")


def t_libraries_come_and_go_while_waits_are_measured_now_and_then():
    port = free_port()
    with program(sealed(), **on(port)) as p:
        churn = threading.Thread(target=p.tell, args=("churn", library(), 6000))
        churn.start()
        while churn.is_alive():
            fetch(port, "/debug/pprof/mutex?seconds=1&rate=1")
        churn.join()
        p.tell("load", library())
        locks_go_past(p)


if __name__ == "__main__":
    sys.exit(guest.main(globals(), sys.argv[5:]))
