#!/usr/bin/env python3
"""Whether every way to allocate is counted exactly once, whatever the allocator behind the hooks.

usage: heap-hooks.py --sonde sonde --lib libsonde.so

A C++ program allocates known numbers of objects at rate 1, over glibc and over each of jemalloc,
tcmalloc and mimalloc that is installed; its heap profile must say just that, by function.  Once
where hooks have short cuts to the allocator, and once where they have not, because there was a
thread before libsonde had its turn (src/runtime/shortcut.h).

SPDX-License-Identifier: Apache-2.0
"""
import argparse
import glob
import os
import pathlib
import platform
import shutil
import subprocess
import tempfile
import time
import urllib.request

from ports import free_port

PROGRAMS = pathlib.Path(__file__).resolve().parent / "programs"
ALLOCATORS = {"glibc": None, "jemalloc": "libjemalloc.so.2", "tcmalloc": "libtcmalloc_minimal.so.4",
              "mimalloc": "libmimalloc.so.2.0"}
# function: objects allocated, bytes, objects and bytes that live
WANT = {
    "with_new": (1000, 1001000, 1000, 1001000),
    "with_aligned_new": (100, 12800, 0, 0),
    "with_nothrow": (50, 150050, 0, 0),
    "with_malloc": (500, 1000500, 0, 0),
    "with_realloc": (10, 55 * 5001, 1, 50010),
}
TYPES = ("alloc_objects", "alloc_space", "inuse_objects", "inuse_space")


def get(url):
    """The host may be ready before the agent listens."""
    end = time.monotonic() + 300
    while time.monotonic() < end:
        try:
            with urllib.request.urlopen(url, timeout=60) as answer:
                return answer.read()
        except OSError:
            time.sleep(0.1)
    raise TimeoutError(url)


def fetch(program, lib, below, to):
    port = free_port()
    env = {**os.environ, "LD_PRELOAD": " ".join([lib] + below), "SONDE_HEAP_RATE": "1",
           "SONDE_ADDR": f"127.0.0.1:{port}", "SONDE_LOG": os.devnull}
    with subprocess.Popen([program], env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          text=True) as host:
        try:
            if host.stdout.readline() != "ready\n":
                return False
            url = f"http://127.0.0.1:{port}/debug/pprof/heap?gc=1"
            pathlib.Path(to).write_bytes(get(url))
        finally:
            host.stdin.close()
        return host.wait() == 0


def read(sonde, profile):
    """By function: what it says, of each type."""
    found = {name: [] for name in WANT}
    for kind in TYPES:
        unit = "-unit=B" if kind.endswith("space") else "-unit=count"
        text = subprocess.run([sonde, "-top", "-cum", "-nodefraction=0", "-sample_index=" + kind, unit,
                               "-show=^with_", profile], capture_output=True, text=True).stdout
        rows = {words[-1]: words[3] for words in map(str.split, text.splitlines()) if len(words) >= 6}
        for name, values in found.items():
            values.append(int(rows.get(name, "0").rstrip("B")))
    return {name: tuple(values) for name, values in found.items()}


def ways(program, preload):
    """In which library the jump of each hook ends."""
    done = subprocess.run([program], env={**os.environ, "LD_PRELOAD": " ".join(preload)},
                          capture_output=True, text=True, check=True)
    return dict(map(str.split, done.stdout.splitlines()))


def build(scratch):
    subprocess.run(["g++", "-O1", "-g", "-fomit-frame-pointer", "-o", scratch + "/program",
                    PROGRAMS / "heap-hooks.cc"], check=True)
    subprocess.run(["gcc", "-o", scratch + "/ways", PROGRAMS / "hook-ways.c"], check=True)
    subprocess.run(["gcc", "-shared", "-fPIC", "-pthread", "-o", scratch + "/early.so",
                    PROGRAMS / "early-thread.c"], check=True)


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--sonde", required=True)
    options.add_argument("--lib", required=True)
    options = options.parse_args()
    if not shutil.which("g++"):
        print("1..0 # SKIP no g++")
        return
    lib = os.path.abspath(options.lib)
    number = 0

    def tell(good, words, *details):
        nonlocal number
        number += 1
        print("ok" if good else "not ok", number, "-", words)
        if not good:
            print("#", *details)

    with tempfile.TemporaryDirectory() as scratch:
        build(scratch)
        profile = scratch + "/heap"
        for name, library in ALLOCATORS.items():
            below = glob.glob("/usr/lib/*/" + library)[:1] if library else []
            if library and not below:
                tell(True, f"{name} # SKIP not installed")
                continue
            for early in ([], [scratch + "/early.so"]):
                when = "with a thread before us" if early else "with short cuts"
                good = fetch(scratch + "/program", lib, below + early, profile)
                got = read(options.sonde, profile) if good else None
                tell(got == WANT, f"over {name}, {when}, all is counted once", got)
            if platform.machine() != "x86_64":
                continue
            got = ways(scratch + "/ways", [lib] + below)
            right = {hook: "libc.so.6" if "mutex" in hook else library or "libc.so.6" for hook in got}
            tell(got == right, f"hooks lead straight to {name}, and to the C library", got)
            got = ways(scratch + "/ways", [lib] + below + [scratch + "/early.so"])
            tell(set(got.values()) == {os.path.basename(lib)}, f"{name}'s stay as they are beside a thread", got)
    print(f"1..{number}")


main()
