#!/usr/bin/env python3
"""Profiles that name functions, files and lines by themselves, with the program long gone.

usage: lines.py --sonde PROGRAM --lib LIBRARY [NAME...]

SPDX-License-Identifier: Apache-2.0
"""
import pathlib
import re
import shutil
import subprocess
import sys

import guest
from guest import TMP, clean, fetch, free_port, run, started, tool, until

SONDE, LIB = guest.argument("sonde"), guest.argument("lib")

HEADER = """#include <stdlib.h>
static inline void *from_header(size_t n)
{
	return malloc(n);
}
"""
SOURCE = """#include "own.h"
#include <stdio.h>
#include <unistd.h>

static void *leak_a(int n)
{
	void *p;

	p = malloc(3000 + (size_t)n);
	return p;
}

static void *leak_b(int n)
{
	return n > 0 ? leak_b(n - 1) :
		       malloc(5000);
}

int main(void)
{
	void *volatile keep;

	for (int i = 0; i < 200; i++) {
		keep = leak_a(i);
		keep = leak_b(5);
		keep = from_header(700);
	}
	(void)keep;
	puts("ready");
	fflush(stdout);
	for (;;)
		pause();
}
"""


def build(name, *flags, compiler="cc"):
    folder = TMP / name
    (folder / "include").mkdir(parents=True)
    (folder / "include" / "own.h").write_text(HEADER)
    (folder / "leaks.c").write_text(SOURCE)
    program = folder / "leaks"
    subprocess.run([tool(compiler), *flags, "-Iinclude", "-o", program.name, "leaks.c"], check=True,
                   capture_output=True, timeout=guest.LIMIT, cwd=folder)
    return program


def heap_of(program, gone=True, query=""):
    """The heap profile of a program whose file is removed once it runs."""
    port = free_port()
    with started(program, env=guest.guest_env(LIB, port, SONDE_HEAP_RATE=1),
                 stdout=subprocess.PIPE) as p:
        assert p.stdout.readline() == b"ready\n"
        guest.answers(port)
        if gone:
            program.unlink()
        status, body = fetch(port, "/debug/pprof/heap" + query)
        maps = pathlib.Path(f"/proc/{p.pid}/maps").read_text()
    assert status == 200, body
    profile = TMP / "heap.pb.gz"
    profile.write_bytes(body)
    return profile, maps


def shown(*args):
    elsewhere = TMP / "elsewhere"
    elsewhere.mkdir(exist_ok=True)
    return run(SONDE, *args, env=clean(HOME=elsewhere, PPROF_TMPDIR=elsewhere),
               cwd=elsewhere).stdout.decode()


def lines_of(profile, program):
    """(address in memory, function, file, line, start) of the locations in a program."""
    found = []
    for m in re.finditer(r"^ +\d+: (0x[0-9a-f]+) M=1 (\S+) (.*?):(\d+) s=(\d+)", shown("-raw", profile),
                         re.M):
        found.append((int(m[1], 16), m[2], m[3], int(m[4]), int(m[5])))
    return [f for f in found if f[1] != "_start"]


def check_list(profile):
    text = shown("-list", "leak_|from_header|main", profile)
    for line in ("p = malloc(3000 + (size_t)n);", "malloc(5000);", "keep = leak_b(5);"):
        row = [t for t in text.splitlines() if line in t]
        assert row and re.match(r"\s+(\.|[\d.]+[kM]?B)\s+[\d.]+[kM]?B\s+\d+:", row[0]), (row, text)


def line_number(text):
    return next(i for i, t in enumerate(SOURCE.splitlines(), 1) if text in t)


def check_own(program, gone=True):
    """Functions, lines and first lines of an unoptimised build."""
    profile, _ = heap_of(program, gone)
    places = {(f, pathlib.PurePath(file).name, line, start) for _, f, file, line, start
              in lines_of(profile, program)}
    a, b, main = (line_number(t) for t in ("void *leak_a", "void *leak_b", "int main"))
    want = {("leak_a", "leaks.c", a + 4), ("leak_b", "leaks.c", b + 2), ("main", "leaks.c", main + 5),
            ("main", "leaks.c", main + 6), ("main", "leaks.c", main + 7), ("from_header", "own.h", 4)}
    got = {p[:3] for p in places}
    # Two compilers need not agree which of its two lines a call belongs to; puts() is not ours.
    assert want <= got and len(got - want) <= 2, got
    first = {"leak_a": a, "leak_b": b, "main": main, "from_header": 2}
    assert all(p[3] - first[p[0]] in (0, 1) for p in places), places
    return profile


def t_list_works_when_the_program_is_gone():
    check_list(check_own(build("plain", "-g", "-O0")))


def t_every_version_of_dwarf():
    for compiler in ("gcc", "clang"):
        for version in (2, 3, 4, 5):
            if shutil.which(compiler):
                check_own(build(f"v{version}-{compiler}", f"-gdwarf-{version}", "-O0",
                                compiler=compiler))


def t_sections_that_are_compressed():
    check_own(build("packed", "-g", "-O0", "-gz=zlib"))


def t_functions_in_sections_of_their_own():
    check_own(build("sections", "-g", "-O0", "-ffunction-sections", "-Wl,--gc-sections"))


def t_units_larger_than_what_is_read_at_once():
    folder = TMP / "large"
    folder.mkdir()
    for name, functions in (("first", 100), ("large", 4500), ("last", 1000)):
        body = "".join(f"\tv += {i};\n\n" for i in range(20))
        (folder / f"{name}.c").write_text(
            "#include <stdlib.h>\nstatic volatile int v;\n" +
            "".join(f"void {name}_{i}(void)\n{{\n{body}}}\n" for i in range(functions)) +
            f"void *leak_{name}(void)\n{{\n\tv++;\n\treturn malloc(4000);\n}}\n")
    (folder / "main.c").write_text(
        "#include <stdio.h>\n#include <unistd.h>\n"
        "void *leak_first(void), *leak_large(void), *leak_last(void);\n"
        "int main(void)\n{\n\tleak_first();\n\tleak_large();\n\tleak_last();\n"
        "\tputs(\"ready\");\n\tfflush(stdout);\n\tfor (;;)\n\t\tpause();\n}\n")
    run(tool("gcc"), "-g", "-gno-as-loc-support", "-O0", "-o", folder / "large", *(folder / f"{n}.c" for n in (
        "main", "first", "large", "last")))
    size = re.search(r"\.debug_line +PROGBITS +\w+ \w+ (\w+)",
                     run(tool("readelf"), "-SW", folder / "large").stdout.decode())
    assert int(size[1], 16) > 3 << 19, size[0]
    profile, _ = heap_of(folder / "large")
    got = {f: line for _, f, _, line, _ in lines_of(profile, None)}
    for name in ("first", "large", "last"):
        lines = (folder / f"{name}.c").read_text().splitlines()
        assert got[f"leak_{name}"] == lines.index("\treturn malloc(4000);") + 1, (name, got)


def t_a_program_that_is_not_position_independent():
    check_own(build("fixed", "-g", "-O0", "-no-pie"))


def t_a_stripped_program_with_a_debug_file():
    program = build("split", "-g", "-O0", "-Wl,--build-id")
    run(tool("objcopy"), "--only-keep-debug", program, program.with_suffix(".debug"))
    run(tool("objcopy"), "--strip-all", f"--add-gnu-debuglink={program.with_suffix('.debug')}", program)
    check_list(check_own(program))


def t_the_debug_file_of_another_build_is_not_used():
    program, other = (build(n, "-g", "-O0", "-Wl,--build-id", f"-D{n}") for n in ("one", "two"))
    run(tool("objcopy"), "--only-keep-debug", other, program.with_suffix(".debug"))
    run(tool("objcopy"), "--strip-all", f"--add-gnu-debuglink={program.with_suffix('.debug')}", program)
    profile, _ = heap_of(program)
    assert not lines_of(profile, program) and "leak_" not in shown("-raw", profile)


def t_without_debug_information_there_are_names_only():
    profile, _ = heap_of(build("bare", "-O0"))
    text = shown("-raw", profile)
    assert re.search(r"M=1 leak_a :0 s=0", text), text
    assert "leak_a" in shown("-top", profile)


def t_symbolize_0_is_addresses_only():
    profile, _ = heap_of(build("raw", "-g", "-O0"), query="?symbolize=0")
    assert "leaks.c" not in shown("-raw", "-symbolize=none", profile)


def t_lines_are_those_of_an_independent_reader():
    """Optimised, but nothing inlined: every line must be what addr2line says."""
    for compiler in ("gcc", "clang"):
        if not shutil.which(compiler):
            continue
        program = build(f"oracle-{compiler}", "-g", "-O2", "-fno-inline", compiler=compiler)
        profile, maps = heap_of(program, gone=False)
        base = int(next(m for m in maps.splitlines() if m.endswith("/leaks")).split("-")[0], 16)
        places = lines_of(profile, program)
        assert len(places) >= 3, places
        for address, name, file, line, _ in places:
            said = run(tool("addr2line"), "-f", "-e", program, hex(address - base)).stdout.decode()
            function, place = said.split("\n")[:2]
            assert name.split(".")[0] == function and place.split(" ")[0] == f"{file}:{line}", \
                (said, name, file, line)


def t_functions_of_the_vdso_have_names():
    program = TMP / "clock.c"
    program.write_text("#include <stdio.h>\n#include <time.h>\nint main(void) { struct timespec t;\n"
                       "puts(\"ready\"); fflush(stdout);\n"
                       "for (;;) clock_gettime(CLOCK_MONOTONIC, &t); }\n")
    run(tool("cc"), "-g", "-O2", "-o", TMP / "clock", program)
    port = free_port()

    def seen():
        profile.write_bytes(fetch(port, "/debug/pprof/profile?seconds=1&hz=500")[1])
        return re.search(r"M=\d+ __vdso_clock_gettime", shown("-raw", profile))
    profile = TMP / "cpu.pb.gz"
    with started(TMP / "clock", env=guest.guest_env(LIB, port), stdout=subprocess.PIPE) as p:
        assert p.stdout.readline() == b"ready\n"
        guest.answers(port)
        if "[vdso]" not in pathlib.Path(f"/proc/{p.pid}/maps").read_text():
            raise guest.Skip("there is no vdso")
        until("a sample in the vdso", seen)


if __name__ == "__main__":
    sys.exit(guest.main(globals(), sys.argv[5:]))
