#!/usr/bin/env python3
"""Labels, ages and the peak, from the program that sets them to the tools that read them.

usage: labels.py --sonde sonde --lib libsonde.so --include FOLDER [NAME...]

Every allocation is sampled, so numbers are exact; which age is right is known from the times before
and after, however slow the machine is.

SPDX-License-Identifier: Apache-2.0
"""
import contextlib
import pathlib
import re
import shutil
import subprocess
import sys
import threading
import time

import guest

SONDE, LIB, INCLUDE = (guest.argument(n) for n in ("sonde", "lib", "include"))
SOURCE = pathlib.Path(__file__).resolve().parent / "programs/labels.c"
STEPS = [(1, "<1s"), (10, "1s–10s"), (60, "10s–1m"), (600, "1m–10m"), (3600, "10m–1h"),
         (86400, "1h–1d"), (float("inf"), ">1d")]
TYPES = ("alloc_objects", "alloc_space", "inuse_objects", "inuse_space")
SIZE = 10000


def built(name="labels", text=None, *flags, compiler="cc"):
    """The program, linked with the library."""
    program = guest.TMP / name
    if not program.exists():
        guest.compile_c(name, text or SOURCE.read_text(), *flags, "-fno-builtin", "-I", INCLUDE, LIB,
                        "-Wl,-rpath," + str(pathlib.Path(LIB).parent), "-pthread",
                        compiler=compiler)
    return str(program)


@contextlib.contextmanager
def labelled(what, *args, program=None, **env):
    """(port, lines) of the program when it is ready."""
    port = guest.free_port()
    env = guest.clean(**{"SONDE_ADDR": f"127.0.0.1:{port}", "SONDE_HEAP_RATE": 1,
                         "SONDE_LOG": "none"} | env)
    with guest.started(program or built(), what, *args, env=env, stdout=subprocess.PIPE,
                       text=True) as p:
        lines = []
        limit = threading.Timer(guest.LIMIT, p.kill)
        limit.start()
        for line in p.stdout:
            if line == "ready\n":
                break
            lines.append(line)
        limit.cancel()
        assert p.poll() is None, f"{what} ended: {p.returncode}"
        yield port, lines


def profile(port, path="heap", name="profile"):
    guest.answers(port)
    status, body = guest.fetch(port, "/debug/pprof/" + path)
    assert status == 200, (status, body)
    file = guest.TMP / name
    file.write_bytes(body)
    return file


def read(*args):
    return guest.run(SONDE, *args).stdout.decode()


def samples(file, *options):
    """[(values, labels)] of a profile: labels are {key: text}."""
    found = []
    section = ""
    for line in read("-raw", *options, file).splitlines():
        if line.startswith("Samples:"):
            section = "samples"
        elif line.startswith("Locations"):
            break
        elif section and re.match(r"[\s\d-]*\d: ", line):
            found.append(([int(n) for n in line.partition(":")[0].split()], {}))
        elif section and found:
            found[-1][1].update(re.findall(r"(\w+):\[(.*?)\]", line))
    return found


def live(file):
    """{labels but 'bytes': [(objects, bytes)...]} of what lives in sizes of ours."""
    by = {}
    for values, labels in samples(file):
        size = int(labels.pop("bytes"))
        if values[2] and size % SIZE < 100 and size >= SIZE:
            key = ",".join(f"{k}={v}" for k, v in sorted(labels.items()))
            by.setdefault(key, []).append((size, values[2]))
    return {k: sorted(v) for k, v in by.items()}


def totals(file):
    return [sum(v[i] for v, _ in samples(file)) for i in range(len(TYPES))]


def t_allocations_carry_the_labels_of_their_scope():
    with labelled("heap") as (port, _):
        got = live(profile(port))
    assert got == {"endpoint=/users": [(SIZE, 75), (2 * SIZE, 1)],
                   "endpoint=/orders": [(SIZE, 25)],
                   "endpoint=/early,method=GET": [(3 * SIZE, 1)],
                   "": [(5 * SIZE, 1)]}, got


def t_tools_count_and_choose_by_labels():
    with labelled("heap") as (port, _):
        file = profile(port)
    text = read("-tags", file)
    assert re.search(r"method: Total.*\n.*GET", text), text
    top = read("-top", "-unit=B", "-tagfocus=endpoint=/orders", file)
    assert re.search(rf"^\s*{25 * SIZE}B .* keep$", top, re.M), top
    root = read("-top", "-cum", "-unit=B", "-tagroot=endpoint", file)
    assert re.search(rf"{25 * SIZE}B .* /orders$", root, re.M), root
    if not shutil.which("go"):
        raise guest.Skip("there is no go")
    for args in (["-tags"], ["-top", "-tagfocus=endpoint=/orders"], ["-top", "-tagroot=endpoint"]):
        args = ["-symbolize=none"] + args
        theirs = guest.run("go", "tool", "pprof", *args, file).stdout.decode()
        assert theirs == read(*args, file), (args, theirs)


def t_cpu_time_carries_labels_also_those_of_the_creator():
    with labelled("cpu") as (port, _):
        for seconds in (2, 10, 50):  # both have had a turn by then
            file = profile(port, f"profile?seconds={seconds}")
            if all(f in read("-top", "-nodefraction=0", file) for f in ("burn_slow", "burn_fast")):
                break
    for endpoint, burns, does_not in (("/slow", "burn_slow", "burn_fast"),
                                      ("/fast", "burn_fast", "burn_slow")):
        top = read("-top", "-nodefraction=0", "-tagfocus=endpoint=" + endpoint, file)
        assert burns in top and does_not not in top, top
        none = read("-top", "-nodefraction=0", "-tagignore=endpoint=" + endpoint, file)
        assert burns not in none, none
    assert all(labels.get("tenant") == "acme" for _, labels in samples(file)), samples(file)


def t_threads_begin_with_the_labels_of_their_creator_and_end_with_theirs():
    with labelled("threads") as (port, _):
        got = live(profile(port))
    assert got == {"tenant=acme": [(1 * SIZE, 1), (2 * SIZE, 1), (5 * SIZE, 1), (6 * SIZE, 1)],
                   "own=yes,tenant=acme": [(1 * SIZE + 1, 1)],
                   "": [(3 * SIZE, 1), (4 * SIZE, 1)],
                   "own=yes": [(3 * SIZE + 1, 1)]}, got


def t_a_forked_child_has_the_labels_and_sets_its_own():
    port = guest.free_port()
    with labelled("forks", f"127.0.0.1:{port}") as _:
        got = live(profile(port))
    assert got == {"job=parent": [(1 * SIZE, 1), (2 * SIZE, 1)], "job=child": [(3 * SIZE, 1)]}, got


def t_threads_show_their_labels():
    with labelled("cpu") as (port, _):
        def labelled_thread():
            file = profile(port, "goroutine")
            return file if any("tenant" in labels for _, labels in samples(file)) else None
        file = guest.until("the thread that labels itself", labelled_thread)
        texts = [guest.fetch(port, f"/debug/pprof/goroutine?debug={n}")[1].decode() for n in (1, 2)]
    got = [labels for _, labels in samples(file)]
    assert sorted(labels.get("tenant", "") for labels in got) == ["", "acme"], got
    for text in texts:
        assert text.count('"tenant":"acme"') == 1, text


def t_waits_carry_the_labels_of_the_one_they_are_blamed_on():
    with labelled("locks", SONDE_MUTEX_FRACTION=1, SONDE_BLOCK_RATE=1) as (port, _):
        mutex, block = profile(port, "mutex", "mutex"), profile(port, "block", "block")
    assert "holder" in {labels.get("role") for _, labels in samples(mutex, "-focus=hold")}
    assert "waiter" in {labels.get("role") for _, labels in samples(block, "-focus=locks")}
    assert not any(labels.get("role") == "waiter" for _, labels in samples(mutex, "-focus=hold"))


def t_an_exception_ends_the_scope():
    program = built("throws", """
#include <sonde.h>
#include <cstdio>
#include <cstdlib>
#include <unistd.h>
static void *(*volatile allocate)(size_t) = malloc;
static void fail() { SONDE_LABEL("in", "scope"); allocate(10000); throw 1; }
int main() { try { fail(); } catch (int) {} allocate(20000); puts("ready"); fflush(stdout);
	for (;;) pause(); }
""", compiler="c++")
    with labelled("", program=program) as (port, _):
        got = live(profile(port))
    assert got == {"in=scope": [(SIZE, 1)], "": [(2 * SIZE, 1)]}, got


def t_a_library_that_is_opened_late_labels_too():
    program = guest.compile_c("late", """
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sonde.h>
static volatile unsigned long work;
__attribute__((noinline)) void burn(void) { for (int i = 0; i < 1000000; i++) work += i * work; }
int main(int argc, char **argv)
{
	void *lib = dlopen(argv[2], RTLD_NOW);
	int (*start)(const struct sonde_options *) = dlsym(lib, "sonde_start");
	int (*set)(const char *, const char *) = dlsym(lib, "sonde_label_set");
	if (!start || start(&(struct sonde_options){ SONDE_OPTIONS, .addr = argv[1], .log = "none" }))
		return 1;
	set("endpoint", "/late");
	puts("ready");
	fflush(stdout);
	for (;;)
		burn();
}
""", "-I", INCLUDE, "-ldl")
    port = guest.free_port()
    with labelled(f"127.0.0.1:{port}", LIB, program=program, SONDE_ADDR="") as _:
        file = profile(port, "profile?seconds=1")
    got = samples(file)
    assert got and all(labels == {"endpoint": "/late"} for _, labels in got), got


def t_numbers_of_requests_do_not_fill_the_memory_and_the_profile_says_so():
    with labelled("numbers") as (port, _):
        file = profile(port)
        metrics = guest.fetch(port, "/metrics")[1].decode()
    assert live(file) == {"endpoint=/users": [(SIZE, 1)]}, live(file)
    comments = read("-comments", file)
    assert re.search(r"sonde: 995904 labels not set", comments), comments
    assert "sonde_labels_lost_total 995904" in metrics, metrics
    own = float(re.search(r"^sonde_memory_bytes (\S+)", metrics, re.M)[1])
    assert own < 64 << 20, own


def step(age):
    return next(i for i, (below, _) in enumerate(STEPS) if age < below)


def t_the_longest_labels_come_through_and_cancel_in_differences():
    with labelled("longest") as (port, _):
        file, difference = profile(port), profile(port, "heap?seconds=1", "difference")
    want = ",".join(f"{c * 63}={c.upper() * 127}" for c in "abcdefgh")
    assert live(file) == {want: [(SIZE, 1)]}, live(file)
    assert samples(difference) == [], samples(difference)


def t_the_header_is_for_every_dialect():
    text = '#include <sonde.h>\nint main(void) { SONDE_LABEL("a", "b"); SONDE_LABEL("c", "d"); return 0; }\n'
    for compiler in filter(shutil.which, ("gcc", "clang")):
        for dialect in (["-x", "c", "-std=c89"], ["-x", "c", "-std=c17"], ["-x", "c++", "-std=c++98"],
                        ["-x", "c++", "-std=c++20"]):
            source = guest.TMP / "dialect"
            source.write_text(text)
            guest.run(compiler, "-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Werror", "-I", INCLUDE,
                      "-fsyntax-only", *dialect, source)


def t_ages_are_those_of_the_objects():
    with labelled("ages") as (port, lines):
        guest.answers(port)
        began = time.monotonic()
        file = profile(port, "heap?age=1")
        ended = time.monotonic()
        plain = profile(port, name="plain")
    ages = {size: k.partition("=")[2] for k, v in live(file).items() for size, _ in v}
    for line in lines:
        size, before, after = line.split()
        possible = [STEPS[i][1] for i in range(step(began - float(after) - 0.001),
                                               step(ended - float(before) + 0.001) + 1)]
        assert ages[int(size)] in possible, (size, ages[int(size)], possible)
    assert len(lines) == 18 and {"1s–10s", "10s–1m"} <= set(ages.values()), ages
    assert list(live(plain)) == [""], live(plain)
    old = read("-top", "-unit=B", "-tagfocus=age=10s–1m", file)
    n = sum(1 for a in ages.values() if a == "10s–1m")
    assert re.search(rf"^\s*{sum(s for s, a in ages.items() if a == '10s–1m')}B .* keep$", old,
                     re.M), (n, old)


def t_ages_and_labels_change_no_total():
    for rate in (1, 4096, 524288):
        with labelled("mix", SONDE_HEAP_RATE=rate, SONDE_LABEL_AGE=1) as (port, _):
            aged = profile(port, name="aged")
            plain = profile(port, "heap?age=0", "plain")
        assert totals(aged) == totals(plain), (rate, totals(aged), totals(plain))
        assert not any("age" in labels for _, labels in samples(plain))
        for values, labels in samples(aged):
            assert ("age" in labels) == (values[3] > 0), (values, labels)
            assert "age" not in labels or values[:2] == values[2:], (values, labels)
        kinds = {labels.get("kind") for _, labels in samples(plain)}
        assert kinds == {None, "a", "b", "c"}, kinds


def t_a_difference_has_no_ages():
    with labelled("grows", SONDE_LABEL_AGE=1) as (port, _):
        file = profile(port, "heap?seconds=1")
    assert not any("age" in labels for _, labels in samples(file)), samples(file)


def t_the_peak_is_what_was_there_when_there_was_most():
    with labelled("peak") as (port, _):
        peak, now = profile(port, "peak"), profile(port, name="now")
        text = guest.fetch(port, "/debug/pprof/peak?debug=1")[1].decode()
        index = guest.fetch(port, "/debug/pprof/")[1].decode()
    top = read("-top", "-unit=B", "-show=spike", "-sample_index=inuse_space", peak)
    assert re.search(r"^\s*100000000B .* spike$", top, re.M), top
    assert re.search(r"^\s*1000000B .* spike$", read("-top", "-unit=B", "-show=spike", now), re.M)
    assert "Type: inuse_space" in read("-top", peak)
    comments = read("-comments", peak)
    found = re.search(r"sonde: the heap at its peak: (\d+) bytes, 20\d\d-\d\d-\d\dT[\d:]+Z", comments)
    assert found and 100000000 <= int(found[1]) == totals(peak)[3], (comments, totals(peak))
    assert re.match(r"heap profile: \d+: \d+ \[\d+: \d+\] @ heap/2\n", text), text[:200]
    assert "href='peak?debug=1'" in index, index


def t_while_the_heap_grows_the_peak_is_now():
    with labelled("grows") as (port, _):
        assert live(profile(port, "peak")) == live(profile(port)) == {"": [(SIZE, 100)]}


if __name__ == "__main__":
    sys.exit(guest.main(globals(), sys.argv[7:]))
