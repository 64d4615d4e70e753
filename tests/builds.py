#!/usr/bin/env python3
"""libsonde by other compilers, and for the other processor: it compiles without a warning, and works.

usage: builds.py --sonde PROGRAM --source ROOT --build FOLDER [NAME...]

The sources and their flags are those of the build; the other processor is emulated.

SPDX-License-Identifier: Apache-2.0
"""
import concurrent.futures
import json
import pathlib
import platform
import re
import shutil
import subprocess
import sys

import guest
from guest import TMP, clean, fetch, free_port, run, started, tool

SONDE = guest.argument("sonde")
ROOT, BUILD = (pathlib.Path(guest.argument(n)) for n in ("source", "build"))
QEMU = ["qemu-aarch64", "-cpu", "max", "-L", "/usr/aarch64-linux-gnu"]
# What depends on the machine, or names where things are.
NOT_PASSED_ON = re.compile(r"-mno-omit-leaf-frame-pointer|-fdiagnostics.*|-fsanitize.*|--coverage")


def runtime_target():
    said = run(tool("meson"), "introspect", "--targets", BUILD).stdout
    target = next(t for t in json.loads(said) if t["name"] == "sonde-objects")
    return [(s["parameters"], s["sources"]) for s in target["target_sources"] if s["sources"]]


def compile_one(compiler, flags, source, folder):
    to = folder / (pathlib.Path(source).name + ".o")
    done = subprocess.run([*compiler, *flags, "-Wall", "-Wextra", "-Werror", "-c", source, "-o", to],
                          capture_output=True, text=True, timeout=guest.LIMIT, cwd=BUILD)
    assert done.returncode == 0, f"{source}\n{done.stderr[-3000:]}"
    return to


def compile_all(name, compiler, *more):
    """Every file of the library, by another compiler."""
    folder = TMP / name
    folder.mkdir()
    cache = [shutil.which("ccache")] if shutil.which("ccache") else []
    work = [([*(f for f in flags if not NOT_PASSED_ON.fullmatch(f)), *more], source)
            for flags, sources in runtime_target() for source in sources]
    assert len(work) > 50, work
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        return list(pool.map(lambda w: compile_one([*cache, *compiler], *w, folder), work))


def link(compiler, objects, folder, *more):
    library = folder / "libsonde.so"
    version = ROOT / "src/runtime/libsonde.map"
    run(*compiler, "-shared", "-o", library, *objects, *more, f"-Wl,--version-script={version}",
        "-Wl,-z,now", "-Wl,-z,nodelete", "-Wl,-z,defs", "-static-libgcc")
    return library


HOST = r"""
#include <stdio.h>
#include <stdlib.h>
#include <pthread.h>
static void *volatile keep[1000];
static volatile double x = 1;
__attribute__((noinline)) static void hold_memory(void)
{
    for (int i = 0; i < 1000; i++)
        keep[i] = malloc(5000);
}
__attribute__((noinline)) static void burn_time(void)
{
    for (int i = 0; i < 100000; i++)
        x = x / 3 + 1.5;
}
static void *work(void *unused)
{
    for (;;)
        burn_time();
    return unused;
}
int main(void)
{
    pthread_t t;
    hold_memory();
    if (pthread_create(&t, NULL, work, NULL))
        return 1;
    puts("ready");
    fflush(stdout);
    work(NULL);
}
"""


def top(body, *flags):
    profile = TMP / "profile"
    profile.write_bytes(body)
    return run(SONDE, "-top", *flags, profile, env=clean()).stdout.decode()


def smoke(library, program, runner=()):
    """Heap and CPU time of a program, by name."""
    port = free_port()
    settings = {"LD_PRELOAD": str(library), "SONDE_ADDR": f"127.0.0.1:{port}", "SONDE_HEAP_RATE": "1",
                "SONDE_LOG": str(TMP / "log")}
    env = clean(**({} if runner else settings))
    inside = [w for k, v in settings.items() for w in ("-E", f"{k}={v}")] if runner else []
    with started(*runner, *inside, program, env=env, stdout=subprocess.PIPE) as p:
        assert p.stdout.readline() == b"ready\n"
        guest.answers(port)
        status, body = fetch(port, "/debug/pprof/heap")
        assert status == 200, body
        text = top(body, "-sample_index=inuse_objects")
        assert re.search(r"^\s*1000 .* hold_memory$", text, re.M), text
        status, body = fetch(port, "/debug/pprof/profile?seconds=2")
        assert status == 200, body
        assert "burn_time" in top(body), top(body)
        p.kill()


def build_host(compiler):
    source, program = TMP / "host.c", TMP / "host"
    source.write_text(HOST)
    run(*compiler, "-g", "-O1", "-pthread", "-o", program, source)
    return program


def t_by_clang():
    compiler = [tool("clang")]
    objects = compile_all("clang", compiler)
    library = link(compiler, objects, TMP / "clang", "-l:libdeflate.a")
    smoke(library, build_host(compiler))


def t_by_gcc_without_optimisation():
    compiler = [tool("gcc")]
    objects = compile_all("plain", compiler, "-O0")
    smoke(link(compiler, objects, TMP / "plain", "-l:libdeflate.a"), build_host(compiler))


def aarch64():
    return [tool("aarch64-linux-gnu-gcc")]


def deflate_for(compiler, folder):
    """Debian has no cross libdeflate: one that stores."""
    to = folder / "deflate.o"
    run(*compiler, "-O2", "-fPIC", "-fvisibility=hidden", "-c",
        ROOT / "tests/programs/deflate-stand-in.c", "-o", to)
    return to


def t_for_aarch64():
    if platform.machine() != "x86_64":
        raise guest.Skip("for those who are not on one")
    compiler = aarch64()
    objects = compile_all("aarch64", compiler)
    objects.append(deflate_for(compiler, TMP / "aarch64"))
    library = link(compiler, objects, TMP / "aarch64")
    tool(QEMU[0])
    smoke(library, build_host(compiler), QEMU)


if __name__ == "__main__":
    sys.exit(guest.main(globals(), sys.argv[7:]))
