#!/usr/bin/env python3
"""A profile on another machine: without the program it is of, and with sources in another place.

usage: elsewhere.py --sonde PROGRAM [NAME...]

A profile carries the file, build id, functions, lines and start lines of what it is about; here a
program is compiled, symbolized, and taken away.  Every function below whose name starts with "t_"
is one TAP case.

SPDX-License-Identifier: Apache-2.0
"""
import os
import re
import shutil
import subprocess
import sys

from tap import HERE, LIMIT, SONDE, TMP, Profile, main, run

SOURCE = """#include <stdio.h>

static inline __attribute__((always_inline)) int scale(int x)
{
	return x * 7 + 3;
}

__attribute__((noinline)) int work(int n)
{
	volatile int sum = 0;

	for (int i = 0; i < n; i++)
		sum += scale(sum + i);
	return sum;
}

int main(int argc, char **argv)
{
	(void)argv;
	return printf("%d\\n", work(argc)) < 0;
}
"""


def sonde(*args, where=None, status=0):
    """Standard output; nothing of this machine's settings counts."""
    env = {k: v for k, v in os.environ.items() if not k.startswith(("PPROF_", "DEBUGINFOD_", "XDG_"))}
    env |= {"HOME": str(TMP / "home"), "TZ": "UTC"}
    done = subprocess.run([SONDE, *map(str, args)], capture_output=True, text=True, timeout=LIMIT,
                          cwd=where or TMP, env=env, stdin=subprocess.DEVNULL)
    assert done.returncode == status, f"{args}: {done.returncode}\n{done.stderr}"
    return done.stdout


# --- a program, its profile, and then only the profile -------------------------------------

def addresses(binary, function):
    """Every address at which an instruction of 'function' begins."""
    code = run("objdump", "-d", "--no-show-raw-insn", f"--disassemble={function}", binary)
    return [int(a, 16) for a in re.findall(r"^ +([0-9a-f]+):\t", code, re.M)]


def build(folder):
    """A program and a profile of addresses, made in 'folder'."""
    cc = shutil.which("gcc") or shutil.which("cc")
    if not cc or not shutil.which("objdump"):
        raise Skip("no C compiler")
    folder.mkdir(parents=True)
    (folder / "app.c").write_text(SOURCE)
    run(cc, "-g", "-O1", "-no-pie", "-Wl,--build-id", folder / "app.c", "-o", folder / "app")
    build_id = re.search(r"Build ID: (\w+)", run("readelf", "-n", folder / "app"))[1]
    p = Profile([("samples", "count"), ("cpu", "nanoseconds")], time=1540000000 * 10**9)
    m = p.mapping(0x400000, 0x500000, 0, str(folder / "app"), build_id, has="")
    caller = p.location([], addresses(folder / "app", "main")[-3], m)
    for n, at in enumerate(addresses(folder / "app", "work"), 1):
        p.sample([p.location([], at, m), caller], [n, n * 10**7])
    (folder / "raw.pb").write_bytes(p.encode())
    return build_id


MADE = {}


def moved():
    """The folder to which the symbolized profile was moved, alone; and the build id."""
    if not MADE:
        made, away = TMP / "build" / "tree", TMP / "away"
        MADE["id"] = build(made)
        away.mkdir()
        sonde("-proto", "-output", away / "app.pb.gz", made / "raw.pb")
        MADE["here"] = sonde("-list=work", made / "raw.pb")
        (TMP / "sources").mkdir()
        (made / "app.c").rename(TMP / "sources" / "app.c")
        shutil.rmtree(TMP / "build")
    return TMP / "away", MADE["id"]


def t_the_heading_names_the_program_that_is_gone():
    away, build_id = moved()
    lines = sonde("-top", "app.pb.gz", where=away).splitlines()
    assert lines[:4] == ["File: app", f"Build ID: {build_id}", "Type: cpu", "Time: Oct 20, 2018 at 1:46am (UTC)"], lines


def t_top_names_functions_without_the_program():
    away, _ = moved()
    out = sonde("-top", "app.pb.gz", where=away)
    shown = {line.split(None, 5)[5] for line in out.splitlines() if re.match(r" *\d.*%", line)}
    assert shown == {"work", "scale (inline)", "main"}, out


def t_lines_are_named_without_the_program():
    away, _ = moved()
    out = sonde("-top", "-lines", "app.pb.gz", where=away)
    assert re.search(r"scale .*/app\.c:5 \(inline\)$", out, re.M), out
    assert re.search(r"work .*/app\.c:13$", out, re.M), out


def t_the_profile_keeps_mapping_file_and_start_lines():
    away, build_id = moved()
    raw = sonde("-raw", "app.pb.gz", where=away)
    assert re.search(rf"^1: 0x400000/0x500000/0x0 \S+/app {build_id} +\[FN\]\[FL\]\[LN\]\[IN\]", raw, re.M), raw
    assert re.search(r"scale \S+/app\.c:5(:\d+)? s=3", raw), raw
    assert re.search(r"work \S+/app\.c:13(:\d+)? s=8", raw), raw


def t_list_shows_the_sources_where_they_are_now():
    away, _ = moved()
    trim, search = TMP / "build" / "tree", TMP / "sources"
    out = sonde("-list=work", f"-trim_path={trim}", f"-source_path={search}", "app.pb.gz", where=away)
    assert "sum += scale(sum + i);" in out, out
    # As it was on the machine where everything was in its place, but for the name of the file.
    strip = lambda text: re.sub(r"(ROUTINE =+ \w+ in ).*", r"\1", text)  # noqa: E731
    assert strip(out) == strip(MADE["here"]), f"{out}\n{MADE['here']}"


def t_list_without_sources_still_has_the_sums():
    away, _ = moved()
    out = sonde("-list=work", "app.pb.gz", where=away)
    assert re.search(r"^ROUTINE =+ work in ", out, re.M), out
    assert re.search(r"^ +\S+ +\S+ \(flat, cum\) ", out, re.M), out
    assert " Error: " in out, out


def t_another_program_in_the_place_of_the_old_one_changes_nothing():
    away, _ = moved()
    before = sonde("-top", "app.pb.gz", where=away)
    (TMP / "build" / "tree").mkdir(parents=True)
    shutil.copy("/bin/true", TMP / "build" / "tree" / "app")
    assert sonde("-top", "app.pb.gz", where=away) == before
    shutil.rmtree(TMP / "build")


# --- marks of inlined calls -----------------------------------------------------------------

def inlined():
    """parse is inlined in read; scan is inlined in read, and called by main."""
    path = TMP / "inlined.pb"
    p = Profile([("samples", "count")])
    m = p.mapping(file="/bin/app")
    parse, read, scan, main = (p.function(n, n + ".c", start=1) for n in ("parse", "read", "scan", "main"))
    top = p.location([(main, 3)], 0x400100, m)
    p.sample([p.location([(parse, 5), (read, 9)], 0x400200, m), top], [60])
    p.sample([p.location([(scan, 6), (read, 8)], 0x400300, m), top], [30])
    p.sample([p.location([(scan, 6)], 0x400400, m), top], [10])
    path.write_bytes(p.encode())
    return path


def t_top_marks_what_was_inlined_always_and_sometimes():
    out = sonde("-top", inlined())
    assert re.search(r"  parse \(inline\)$", out, re.M), out
    assert re.search(r"  scan \(partial-inline\)$", out, re.M), out
    assert re.search(r"  read$", out, re.M), out


def t_top_marks_the_row_of_the_document():
    out = sonde("-top", HERE / "profiles" / "voltha-leak.pb.gz")
    assert out.splitlines()[6 + 5].split()[-2:] == ["encoding/json.unquote", "(inline)"], out[:2000]


def t_traces_mark_inlined_frames():
    out = sonde("-traces", inlined())
    assert re.search(r"^ +60   parse \(inline\)\n +read\n +main$", out, re.M), out
    assert re.search(r"^ +10   scan\n +main$", out, re.M), out


def t_tree_and_peek_mark_inlined_calls():
    assert re.search(r"\| +parse \(inline\)$", sonde("-tree", inlined()), re.M)
    assert re.search(r"\| +parse \(inline\)$", sonde("-peek=read", inlined()), re.M)


def t_graphs_mark_inlined_calls():
    out = sonde("-dot", inlined())
    assert re.search(r'label=" 60\\n \(inline\)"', out), out
    assert re.search(r'label=" 90" ', out), out


def t_without_inlines_there_are_no_marks():
    for report in "-top", "-traces", "-tree", "-dot":
        out = sonde(report, "-noinlines", inlined())
        assert "inline" not in out and "parse" not in out, out


if __name__ == "__main__":
    sys.exit(main(globals()))
