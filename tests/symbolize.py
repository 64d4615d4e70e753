#!/usr/bin/env python3
"""Symbolization end to end: frames, files and lines from debug information, wherever it is.

usage: symbolize.py --sonde PROGRAM [NAME...]

Programs are compiled and run here; frames are those of addr2line, and where the reference finds
any, of "go tool pprof".  The debuginfod servers are real, or hang.

SPDX-License-Identifier: Apache-2.0
"""
import contextlib
import ctypes
import difflib
import http.server
import os
import pathlib
import re
import shutil
import socket
import subprocess
import sys
import threading

import binaries
from binaries import GO, HINT, LIMIT, SONDE, TMP, Profile, Skip, report, run
from ports import free_port
from tap import until

# Calls that are inlined into each other, templates, and a function that stays on its own.
SOURCE = """\
#include <cstdio>
namespace deep {
template <typename T> struct box {
	T value;
	__attribute__((always_inline)) T twice() const { return value * 2 + step(value); }
	__attribute__((noinline)) static T step(T x) { return x ^ (x >> 3); }
};
__attribute__((always_inline)) inline long outer(long x)
{
	box<long> b{x};
	return b.twice() + 1;
}
}
__attribute__((noinline)) long work(long n)
{
	volatile long sum = 0;
	for (long i = 0; i < n; i++)
		sum = sum + deep::outer(i);
	return sum;
}
int main(int argc, char **argv)
{
	std::printf("%s %ld\\n", argv[0], work(argc > 1 ? 100000000 : 3));
}
"""


def need(*tools):
    for tool in tools:
        if not shutil.which(tool):
            raise Skip(f"no {tool}")


def compiled(name, *flags, source=SOURCE, cc="g++", suffix=".cc"):
    """The program, at a path of its own; compiled once."""
    need(cc)
    path = TMP / "compiled" / name / "program"
    if not path.exists():
        path.parent.mkdir(parents=True)
        text = path.with_suffix(suffix)
        text.write_text(source)
        run(cc, "-Wl,--build-id", *flags, text, "-o", path)
    return path


def build_id(path):
    return re.search(r"Build ID: (\w+)", run("readelf", "-n", path))[1]


def functions(path, pattern):
    """(address, size) of the functions whose names match, by nm."""
    out = run("nm", "-S", "--defined-only", path)
    return [(int(a, 16), int(n, 16)) for a, n, _, name in re.findall(r"^(\w+) (\w+) ([tTwW]) (\S+)$", out, re.M)
            if re.search(pattern, name)]


def addresses(path, pattern, step=1):
    return sorted({a + i for a, n in functions(path, pattern) for i in range(0, n, step)})


def code(path):
    """Where the code is: address, size and offset of the segment."""
    for line in run("readelf", "-lW", path).splitlines():
        m = re.match(r" +LOAD +(\w+) (\w+) \w+ (\w+) \w+ .* ?E +\w+$", line)
        if m:
            offset, address, size = (int(x, 16) for x in m.groups())
            return address, size, offset
    raise AssertionError("no code")


def profile(path, at, name, bias=0, file=None, with_id=True, id_=None):
    """An unsymbolized profile: a sample at each address."""
    start, size, offset = code(path)
    page = start & -4096
    p = Profile([("samples", "count")])
    m = p.mapping(page + bias, (start + size + bias + 4095) & -4096, offset & -4096, str(file or path),
                  id_ if id_ is not None else build_id(path) if with_id else "", has="")
    for n, address in enumerate(at, 1):
        p.sample([p.location([], address + bias, m)], [n])
    out = TMP / (name + ".pb")
    out.write_bytes(p.encode())
    return out


def sonde(*args, env=None, status=0):
    r = subprocess.run([SONDE, *map(str, args)], capture_output=True, text=True, timeout=LIMIT, cwd=TMP,
                       stdin=subprocess.DEVNULL, env=binaries.environment() | (env or {}))
    assert r.returncode == status and "Sanitizer" not in r.stderr, r.stderr
    return r.stdout, r.stderr


def names(out):
    return {n.removesuffix(" (inline)") for n in binaries.names(out)}


LINE = re.compile(r"^ *(?:(\d+): (0x\w+) M=\d+ (?:\[F\] )?|  +)(.*?) ([^ ]*):(\d+)(?::\d+)? s=(\d+)(?:\((.*)\))?$")


def read_raw(out):
    """address: [(system name, file, line), ...] of a -raw report, innermost first."""
    frames, at = {}, None
    for line in out[out.index("\nLocations\n") + 11:out.index("\nMappings\n")].splitlines():
        m = LINE.match(line)
        if not m:
            continue
        if m[2]:
            at = int(m[2], 16)
        frames.setdefault(at, []).append((m[7] or m[3], m[4], int(m[5])))
    return frames


def addr2line(path, at):
    """The same, as binutils sees it; file names without folders."""
    out = run("addr2line", "-a", "-i", "-f", "-e", path, input="".join(f"{a:#x}\n" for a in at))
    frames, lines = {}, iter(out.splitlines())
    for line in lines:
        if line.startswith("0x"):
            address = int(line, 16)
            continue
        file, number = next(lines).split(" (")[0].rsplit(":", 1)
        if line != "??":
            frames.setdefault(address, []).append((line, os.path.basename(file), int(number.replace("?", "0"))))
    return frames


def based(frames):
    return {a: [(n, os.path.basename(f), line) for n, f, line in fs] for a, fs in frames.items()}


# --- frames ------------------------------------------------------------------------------

def same_as_addr2line(path, pattern, name):
    need("addr2line")
    at = addresses(path, pattern)
    got = based(read_raw(sonde("-raw", profile(path, at, name))[0]))
    want = addr2line(path, at)
    assert len(at) > 50 and got.keys() == want.keys(), (len(got), len(want))
    wrong = [(hex(a), got[a], want[a]) for a in at if got[a] != want[a]]
    assert not wrong, wrong[:5]
    return got


def t_inlined_functions_are_lines_of_one_location():
    path = compiled("inlined", "-O2", "-g", "-no-pie")
    got = same_as_addr2line(path, r"^(_Z4work|main)", "inlined")
    deepest = max(got.values(), key=len)
    assert [n for n, _, _ in deepest][-1] == "_Z4workl" and len(deepest) >= 3, deepest


def t_every_version_of_dwarf_gives_the_same():
    for version in (4, 5):
        for level in ("-O0", "-O1", "-O3"):
            path = compiled(f"dwarf{version}{level}", level, f"-gdwarf-{version}", "-no-pie")
            same_as_addr2line(path, "^(_Z4work|main|_ZN4deep)", f"dwarf{version}{level}")


def t_names_are_shown_as_people_write_them():
    path = compiled("inlined", "-O2", "-g", "-no-pie")
    at = profile(path, addresses(path, "^(_Z4work|_ZN4deep)"), "people")
    assert names(sonde("-top", at)[0]) >= {"deep::box::twice", "deep::outer", "work", "deep::box::step"}
    out = sonde("-top", "-symbolize=demangle=templates", at)[0]
    assert "deep::box<long>::twice" in names(out), out
    out = sonde("-top", "-symbolize=demangle=full", at)[0]
    assert {"deep::box<long>::twice() const", "deep::outer(long)", "work(long)"} <= names(out), out


def t_a_program_at_another_address_is_the_same_program():
    path = compiled("moved", "-O2", "-g", "-pie", "-fPIE")
    at = addresses(path, "^(_Z4work|main)")
    here = read_raw(sonde("-raw", profile(path, at, "here"))[0])
    there = read_raw(sonde("-raw", profile(path, at, "there", bias=0x555555554000))[0])
    assert here and {a + 0x555555554000: f for a, f in here.items()} == there


def t_fastlocal_looks_at_symbol_tables_only():
    path = compiled("inlined", "-O2", "-g", "-no-pie")
    got = read_raw(sonde("-raw", "-symbolize=fastlocal", profile(path, addresses(path, "^_Z4work"), "fast"))[0])
    assert set(map(tuple, got.values())) == {(("_Z4workl", "", 0),)}, got


def t_columns_and_start_lines_are_kept():
    path = compiled("inlined", "-O2", "-g", "-no-pie")
    at = profile(path, addresses(path, "^_Z4work"), "columns")
    out = sonde("-raw", at)[0]
    assert re.search(r"deep::outer \S+program\.cc:\d+ s=8\b", out), out[-2000:]
    out = sonde("-top", "-lines", "-showcolumns", at)[0]
    assert re.search(r"program\.cc:\d+:\d+", out), out


def t_mappings_say_what_was_found():
    path = compiled("inlined", "-O2", "-g", "-no-pie")
    at = profile(path, addresses(path, "^_Z4work"), "flags")
    out = sonde("-raw", at)[0]
    assert re.search(r"^1: .*\[FN\]\[FL\]\[LN\]\[IN\]$", out, re.M), out[-300:]
    out = sonde("-raw", "-symbolize=fastlocal", at)[0]
    assert re.search(r"^1: .*\[FN\]\[IN\]$", out, re.M), out[-300:]


def t_what_is_known_already_is_not_asked_again():
    path = compiled("inlined", "-O2", "-g", "-no-pie")
    at, named = profile(path, addresses(path, "^_Z4work"), "again"), TMP / "named.pb.gz"
    sonde("-proto", f"-output={named}", at)
    path_gone = path.with_suffix(".gone")
    path.rename(path_gone)
    try:
        out, err = sonde("-top", named)
        assert "deep::outer" in names(out) and err == "", out + err
    finally:
        path_gone.rename(path)


# --- the reference -----------------------------------------------------------------------

def reference(*args):
    if not GO:
        raise Skip("no go")
    return report([GO, "tool", "pprof"], args, None)[0]


def difference(ours, theirs):
    return "\n".join(list(difflib.unified_diff(theirs.splitlines(), ours.splitlines(), "go", "sonde", n=0))[:20])


def t_c_programs_have_the_reference_s_names_files_and_lines():
    source = "".join(f"int f{i}(int x)\n{{\n\tint y = x * {i};\n\n\treturn y + 1;\n}}\n" for i in range(20))
    path = compiled("plain-c", "-O0", "-g", "-no-pie", source=source + "int main(void)\n{\n\treturn f0(f3(1));\n}\n",
                    cc="gcc", suffix=".c")
    at = profile(path, addresses(path, r"^(f\d+|main)$"), "plain-c", with_id=False)
    for args in (["-top", "-files"], ["-list=^f3$"]):  # what start lines change
        named = TMP / "plain-c-named.pb.gz"
        sonde("-proto", f"-output={named}", at)
        ours, theirs = sonde(*args, at)[0], reference(*args, named)
        assert ours == theirs, difference(ours, theirs)
    for args in (["-raw"], ["-top"], ["-top", "-lines"], ["-traces"]):
        ours, theirs = sonde(*args, at)[0], reference(*args, at)
        # The reference knows neither start lines nor columns.
        ours = re.sub(r"(:\d+):\d+( s=)", r"\1\2", re.sub(r" s=\d+", " s=0", ours))
        assert ours == theirs, difference(ours, theirs)


def t_go_programs_have_the_reference_s_names_files_and_lines():
    if not GO:
        raise Skip("no go")
    folder = TMP / "gone"
    folder.mkdir(exist_ok=True)
    (folder / "main.go").write_text(GO_SOURCE)
    for name, flags in (("full", ""), ("stripped", "-s -w")):
        subprocess.run([GO, "build", f"-ldflags={flags}", "-o", folder / name, folder / "main.go"], check=True,
                       timeout=LIMIT * 5, env=binaries.environment() | {"GO111MODULE": "off"}, capture_output=True)
        at = addresses(folder / "full", r"^main\.|^runtime\.(mallocgc|gcDrain)$")
        whole = profile(folder / name, at, "go", with_id=False)
        ours, theirs = read_raw(sonde("-raw", whole)[0]), read_raw(reference("-raw", whole))
        assert len(ours) == len(theirs) == len(at)
        for a in at:
            # The reference has one frame: the outermost name, the innermost line.
            (function, file, line), = theirs[a]
            assert (ours[a][-1][0], ours[a][0][1:]) == (function, (file, line)), (name, hex(a), ours[a], theirs[a])


GO_SOURCE = """\
package main

import "fmt"

type point struct{ x, y int }

func (p *point) add(q point) { p.x += q.x; p.y += q.y }

//go:noinline
func sum(ps []point) (t point) {
	for _, p := range ps {
		t.add(p)
	}
	return
}

func main() {
	fmt.Println(sum([]point{{1, 2}, {3, 4}}))
}
"""


# --- debug information elsewhere ---------------------------------------------------------

def split(name):
    """(a program without debug information, the file that has it)."""
    need("objcopy", "strip")
    path = compiled(name, "-O2", "-g", "-no-pie")
    debug = path.with_name("program.debug")
    if not debug.exists():
        whole = path.with_name("whole")
        path.rename(whole)
        run("objcopy", "--only-keep-debug", whole, debug)
        run("strip", "-o", path, whole)
    return path, debug


def t_debug_information_installed_later_is_found_later():
    path, debug = split("later")
    folder = TMP / "later"
    folder.mkdir()
    shutil.copy(path, folder / "program")
    at = profile(path, addresses(path.with_name("whole"), "^_Z4work"), "later", file=folder / "program")
    assert "work" not in names(sonde("-top", at)[0])
    (folder / ".debug").mkdir()
    run("objcopy", f"--add-gnu-debuglink={debug}", path, folder / "program")
    assert "work" not in names(sonde("-top", at)[0])
    shutil.copy(debug, folder / ".debug" / "program.debug")
    assert "deep::outer" in names(sonde("-top", at)[0])


def t_a_dwo_file_that_is_missing_is_named_and_found_later():
    home, path = Home(), compiled("dwo", "-O2", "-g", "-no-pie", "-gsplit-dwarf")
    at = profile(path, addresses(path, "^_Z4work"), "dwo")
    file, = path.parent.glob("*.dwo")
    want, err = sonde("-raw", "-no_cache", at)
    assert "deep::outer" in want and not err, err
    aside = file.rename(file.with_suffix(".aside"))
    for _ in range(2):  # what is not complete is not kept
        out, err = sonde("-raw", at, env=home.env)
        assert "deep::outer" not in out and "work" in out, out
        assert err == f"Local symbolization failed for program (build ID {build_id(path)}): {file} is missing\n", err
    aside.rename(file)
    assert sonde("-raw", at, env=home.env) == (want, "")


# --- deleted files, the vdso -------------------------------------------------------------

def t_a_deleted_file_that_is_back_is_used_if_it_is_the_same():
    path = compiled("inlined", "-O2", "-g", "-no-pie")
    at = addresses(path, "^_Z4work")
    out, err = sonde("-top", profile(path, at, "deleted", file=f"{path} (deleted)"))
    assert "work" in names(out) and err == "", err
    out, err = sonde("-top", profile(path, at, "deleted", file=f"{path} (deleted)", id_="abcdef"))
    assert "work" not in names(out) and "build ID mismatch" in err and err.count("\n") == 1, err
    out, err = sonde("-top", profile(path, at, "deleted", file=f"{path} (deleted)", with_id=False))
    assert "work" in names(out) and "was deleted while it ran" in err and err.count("\n") == 1, err
    out, err = sonde("-top", profile(path, at, "deleted", file="/gone/x (deleted)", with_id=False))
    assert err == ("Local symbolization failed for x (deleted): open /gone/x (deleted): "
                   "no such file or directory\n" + HINT), err


def own_vdso():
    """The bytes of this process's vdso."""
    for line in pathlib.Path("/proc/self/maps").read_text().splitlines():
        if line.endswith("[vdso]"):
            start, limit = (int(x, 16) for x in line.split()[0].split("-"))
            return ctypes.string_at(start, limit - start)
    raise Skip("no vdso")


def t_the_running_kernel_s_vdso_is_named_and_no_other():
    image = TMP / "vdso.so"
    image.write_bytes(own_vdso())
    symbols = re.findall(r"^ +\d+: (\w+) +(\d+) FUNC +GLOBAL DEFAULT +\d+ (__vdso_\w+?)(?:@.*)?$",
                         run("readelf", "--dyn-syms", "-W", image), re.M)
    assert symbols
    address, name = int(symbols[0][0], 16), symbols[0][2]

    def named(build):
        p = Profile([("samples", "count")])
        m = p.mapping(0x7fff00000000, 0x7fff00002000, 0, "[vdso]", build, has="")
        p.sample([p.location([], 0x7fff00000000 + address + 1, m)], [1])
        (TMP / "vdso.pb").write_bytes(p.encode())
        out, err = sonde("-top", TMP / "vdso.pb")
        assert err == "", err
        return names(out)

    assert named(build_id(image)) & {name, name.replace("__vdso_", "")}, symbols[0]
    assert named("abcdef") == named("") == {"[[vdso]]"}


# --- the cache ---------------------------------------------------------------------------

class Home:
    """A home folder with a cache in it."""

    count = 0

    def __init__(self):
        Home.count += 1
        self.path = TMP / f"home{Home.count}"
        self.path.mkdir()
        self.cache = self.path / ".cache/sonde/symbols"
        self.env = {"HOME": str(self.path)}

    def files(self):
        return sorted(self.cache.iterdir()) if self.cache.exists() else []


def cacheable(name):
    path = compiled("inlined", "-O2", "-g", "-no-pie")
    return profile(path, addresses(path, "^(_Z4work|main)"), name)


def t_the_second_run_takes_it_from_the_cache():
    home, at = Home(), cacheable("second")
    first = sonde("-raw", at, env=home.env)
    file, = home.files()
    before = file.read_bytes()
    # What it says now can come from nowhere else.
    path = TMP / "compiled/inlined/program"
    data, times = path.read_bytes(), path.stat()
    sections = run("readelf", "-SW", path)
    offset, size = (int(x, 16) for x in re.search(r"\.debug_info +PROGBITS +\w+ (\w+) (\w+)", sections).groups())
    path.write_bytes(data[:offset] + bytes(size) + data[offset + size:])
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
    try:
        assert sonde("-raw", at, env=home.env) == first
        assert sonde("-raw", "-no_cache", at, env=home.env) != first
    finally:
        path.write_bytes(data)
    assert file.read_bytes() == before


def t_new_addresses_are_added_to_the_cache():
    home, path = Home(), compiled("inlined", "-O2", "-g", "-no-pie")
    all_of_it = addresses(path, "^(_Z4work|main)")
    for part in (all_of_it[::3], all_of_it[::2], all_of_it):
        at = profile(path, part, "added")
        assert sonde("-raw", at, env=home.env) == sonde("-raw", "-no_cache", at, env=home.env)
        assert len(home.files()) == 1


def t_a_damaged_cache_is_found_out_and_replaced():
    home, at = Home(), cacheable("damaged")
    first = sonde("-raw", at, env=home.env)
    file, = home.files()
    good = file.read_bytes()
    for bad in (b"", b"x", good[:100], good[:-1], good + b"x", bytes(len(good)), good[:60] + b"\xff" + good[61:]):
        file.write_bytes(bad)
        assert sonde("-raw", at, env=home.env) == first
        assert file.read_bytes() == good


def t_without_cache_no_file_is_left():
    home = Home()
    sonde("-raw", "-no_cache", cacheable("without"), env=home.env)
    assert not list(home.path.iterdir())


def t_a_cache_that_cannot_be_written_is_said_once():
    home, at = Home(), cacheable("readonly")
    want = sonde("-raw", "-no_cache", at)[0]
    (home.path / ".cache").write_text("a file")
    out, err = sonde("-raw", at, env=home.env)
    assert out == want and err.count("\n") == 1, err
    assert err.startswith("names are not kept for the next time: open "), err
    # No home, no cache, no complaint.
    assert sonde("-raw", at, env={"HOME": str(TMP / "nobody")}) == (want, "")
    assert not (TMP / "nobody").exists()
    # A folder that was asked for and cannot be made is another matter.
    out, err = sonde("-raw", at, env=home.env | {"XDG_CACHE_HOME": "/proc/nope"})
    assert out == want and err.count("\n") == 1, err
    assert err.startswith("names are not kept for the next time: open /proc/nope/sonde/symbols/"), err


def t_the_cache_folder_can_be_elsewhere():
    home, at = Home(), cacheable("elsewhere")
    sonde("-raw", at, env=home.env | {"XDG_CACHE_HOME": str(TMP / "xdg")})
    assert not home.files() and len(list((TMP / "xdg/sonde/symbols").iterdir())) == 1


# --- debuginfod --------------------------------------------------------------------------

def has_scanned(port):
    """Whether a server has been through its folder, and is done with what it found there."""
    text = b""
    with contextlib.suppress(OSError):
        with socket.create_connection(("127.0.0.1", port), LIMIT) as s:
            s.settimeout(LIMIT)
            s.sendall(b"GET /metrics HTTP/1.0\r\n\r\n")
            while more := s.recv(65536):
                text += more
    return (re.search(rb'thread_work_total\{role="traverse"\} [1-9]', text) and
            b'thread_work_pending{role="scan"} 0' in text and b'thread_busy{role="scan"} 0' in text)


@contextlib.contextmanager
def debuginfod(folder, how="-F"):
    """A real server for the binaries in 'folder', or in its archives; its URL."""
    need("debuginfod")
    port = free_port()
    server = subprocess.Popen(["debuginfod", how, "-p", str(port), "-d", ":memory:", str(folder)],
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                              env=binaries.environment() | {"HOME": str(TMP)})
    try:
        until("debuginfod has looked at all files", lambda: has_scanned(port))
        yield f"http://127.0.0.1:{port}"
    finally:
        server.terminate()
        server.wait()


def served(url, seconds=None):
    Home.count += 1
    env = {"DEBUGINFOD_URLS": url, "DEBUGINFOD_CACHE_PATH": str(TMP / f"fetched{Home.count}"),
           "HOME": str(TMP / f"served{Home.count}")}
    os.mkdir(env["HOME"])
    return env | ({"DEBUGINFOD_TIMEOUT": str(seconds)} if seconds else {})


def t_debug_information_comes_from_debuginfod():
    path, debug = split("served")
    folder = TMP / "serving"
    folder.mkdir()
    shutil.copy(debug, folder)
    at = profile(path, addresses(path.with_name("whole"), "^_Z4work"), "served")
    path.with_name("program.debug").rename(path.with_name("away"))
    assert "work" not in names(sonde("-top", at)[0])
    with debuginfod(folder) as url:
        env = served(url)
        out, err = sonde("-top", at, env=env)
        assert {"work", "deep::outer"} <= names(out) and err == "", out + err
    # The server is gone, what it said is not.
    out, err = sonde("-top", at, env=env)
    assert {"work", "deep::outer"} <= names(out) and err == "", out + err


def t_a_binary_that_is_not_here_comes_from_debuginfod():
    path = compiled("distant", "-O2", "-g", "-no-pie")
    at = addresses(path, "^_Z4work")
    gone = profile(path, at, "distant", file="/gone/program")
    nameless = profile(path, at, "nameless", file="/")
    with debuginfod(path.parent) as url:
        env = served(url)
        for one in (gone, nameless):
            out, err = sonde("-top", one, env=env)
            assert {"work", "deep::outer"} <= names(out) and err == "", out + err
        out, err = sonde("-top", profile(path, at, "unknown", file="/gone/program", id_="ab" * 20), env=env)
        assert "work" not in names(out) and err.endswith(HINT) and err.count("\n") == 3, err


@contextlib.contextmanager
def hanging():
    """A server that takes every request and says nothing; and its connections."""
    listener, held = socket.create_server(("127.0.0.1", 0)), []

    def accept():
        with contextlib.suppress(OSError):
            while True:
                held.append(listener.accept())

    threading.Thread(target=accept, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}", held
    finally:
        listener.close()


def t_a_debuginfod_server_that_hangs_does_not_hang_the_report():
    path, _ = split("hanging")
    whole = path.with_name("whole")
    path.with_name("program.debug").rename(path.with_name("away"))
    p = Profile([("samples", "count")])
    for n in range(3):  # three mappings, one patience
        m = p.mapping(n << 20, (n << 20) + 0x10000, 0, f"/gone/{n}", f"{n:02x}" * 20, has="")
        p.sample([p.location([], (n << 20) + 16, m)], [1])
    (TMP / "three.pb").write_bytes(p.encode())
    with hanging() as (url, held):
        for at in (profile(path, addresses(whole, "^_Z4work"), "hanging"), TMP / "three.pb"):
            held.clear()
            out, err = sonde("-top", at, env=served(url, 2))
            # The library may ask again; but for one thing only, and then there is no patience left.
            asked = {found[1] for c, _ in list(held) if (found := re.search(rb"/buildid/(\w+)/", c.recv(65536)))}
            assert len(asked) == 1, asked
            assert err.count("debuginfod") == 1, err
            assert "debuginfod: the server does not answer in time; going on without it\n" in err, err
            assert "Showing nodes" in out


def t_a_debuginfod_server_that_is_not_there_is_said_once():
    out, err = sonde("-top", TMP / "three.pb", env=served(f"http://127.0.0.1:{free_port()}"))
    assert err.count("debuginfod: ") == 1 and "going on without it" in err, err
    assert "Showing nodes" in out


def t_without_libdebuginfod_the_package_is_named():
    broken = TMP / "no-debuginfod"
    broken.mkdir()
    (broken / "libdebuginfod.so.1").write_text("")
    out, err = sonde("-top", TMP / "three.pb", env=served("http://127.0.0.1:1") | {"LD_LIBRARY_PATH": str(broken)})
    assert err.count("install the package libdebuginfod1") == 1 and "Showing nodes" in out, err


def t_code_and_sources_come_from_debuginfod():
    home = "/elsewhere/build"
    path = compiled("far", "-O2", "-g", "-no-pie", f"-ffile-prefix-map={TMP}/compiled/far={home}")
    at = addresses(path, "^_Z4work")
    gone = profile(path, at, "far", file=f"{home}/program")
    named = TMP / "far-named.pb.gz"
    sonde("-proto", f"-output={named}", profile(path, at, "far-named", with_id=False))
    here = [sonde("-disasm=work", profile(path, at, "far-here"))[0], path.with_suffix(".cc").read_text()]
    archive = TMP / "far-archive"
    archive.mkdir()
    run("tar", "-cf", archive / "far.tar", f"--transform=s,^,.{home}/,", "-C", path.parent, "program", "program.cc")
    path.with_suffix(".cc").rename(path.with_name("away.cc"))
    assert "no such file" in sonde("-list=^work$", named)[0]
    with debuginfod(archive, "-Z.tar") as url:
        env = served(url)
        out, err = sonde("-disasm=work", gone, env=env)
        assert routine(out) == routine(here[0]) and err == "", err + out
        for one in (gone, named):  # a profile without build ids is of a program that is here
            out, err = sonde("-list=^work$", one, env=env)
            assert "sum = sum + deep::outer(i);" in out and "no such file" not in out, out
            assert err.startswith(f"Source of {home}/program.cc found in {env['DEBUGINFOD_CACHE_PATH']}/"), err
        page = TMP / "far.html"
        sonde("-weblist=^work$", f"-output={page}", gone, env=env)
        text = page.read_text()
        assert "sum = sum + deep::outer(i);" in text and re.search(r"\bcall\b.*step", text), text
    # The server is gone, what it said is not.
    out, err = sonde("-disasm=work", gone, env=env)
    assert routine(out) == routine(here[0]), err


def routine(out):
    return out[out.index("ROUTINE"):]


def t_disassembling_asks_for_debug_information_too():
    path, debug = split("lines-far")
    folder = TMP / "lines-far"
    folder.mkdir()
    whole = path.with_name("whole")
    at = profile(path, addresses(whole, "^_Z4work"), "lines-far")
    debug.rename(folder / "program.debug")
    run("strip", "--strip-debug", whole, "-o", path)
    assert "program.cc:" not in sonde("-disasm=work", "-no_cache", at)[0]
    with debuginfod(folder) as url:
        out, err = sonde("-disasm=work", "-no_cache", "-symbolize=fastlocal", at, env=served(url))
        assert re.search(r";deep::outer program\.cc:\d+ \(inlined by\) work program\.cc:\d+", out) and err == "", out + err


@contextlib.contextmanager
def answering(status, body):
    """A server that answers everything with the same."""
    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()


def far_profiles():
    """(of a program that is not here, without names; with them and sources that are not here)."""
    path = compiled("inlined", "-O2", "-g", "-no-pie")
    at = addresses(path, "^_Z4work")
    p = Profile([("samples", "count")])
    m = p.mapping(0x400000, 0x500000, 0, "/gone/program", build_id(path))
    p.sample([p.frame("work", 15, "/gone/program.cc", m, 0x401000)], [1])
    (TMP / "far-sources.pb").write_bytes(p.encode())
    return profile(path, at, "far-code", file="/gone/program"), TMP / "far-sources.pb"


def t_a_server_that_lies_is_found_out():
    code_, sources = far_profiles()
    lie = compiled("plain", "-O1", source="int main() {}\n").read_bytes()
    for body in (lie, b"<html>welcome</html>"):
        with answering(200, body) as url:
            env = served(url)
            for _ in range(2):  # a lie is not kept, either
                _, err = sonde("-disasm=.", code_, env=env, status=2)
                assert err.count("debuginfod: what the server has for build ID ") == err.count("debuginfod") == 1, err
                assert "no matches found" in err, err


def t_sources_that_no_server_has_are_said_once():
    code_, sources = far_profiles()
    missing = "open /gone/program.cc: no such file or directory"
    assert missing in sonde("-list=work", sources)[0]
    for status in (404, 500):  # libdebuginfod does not tell them apart
        with answering(status, b"") as url:
            out, err = sonde("-list=work", sources, env=served(url))
            assert missing in out and err == "", out + err
    with hanging() as (url, _):
        out, err = sonde("-list=work", sources, env=served(url, 2))
        assert missing in out, out
        assert err == "debuginfod: the server does not answer in time; going on without it\n", err
        _, err = sonde("-disasm=.", code_, env=served(url, 2), status=2)
        assert err.count("debuginfod: ") == 1 and "no matches found" in err, err


def t_code_of_another_build_is_not_shown():
    path = compiled("inlined", "-O2", "-g", "-no-pie")
    at = profile(path, addresses(path, "^_Z4work"), "rebuilt", id_="ab" * 20)
    _, err = sonde("-disasm=.", "-symbolize=none", at, status=2)
    assert f"{path}: build ID mismatch\n" in err, err


# --- profiles of real programs -----------------------------------------------------------

def sampled(name, *command):
    """A CPU profile of the command, by gperftools."""
    lib = next(iter(pathlib.Path("/usr/lib").glob("*-linux-gnu/libprofiler.so.0")), None)
    if not lib:
        raise Skip("no gperftools")
    out = TMP / (name + ".cpu")
    subprocess.run(list(map(str, command)), check=True, capture_output=True, timeout=LIMIT,
                   env=os.environ | {"LD_PRELOAD": str(lib), "CPUPROFILE": str(out), "CPUPROFILE_FREQUENCY": "1000"})
    if not out.exists():
        raise Skip("nothing was sampled")
    return out


def t_a_program_of_ours_that_gperftools_sampled_has_names():
    for flags in (["-no-pie"], ["-pie", "-fPIE"]):
        path = compiled("sampled" + flags[0], "-O2", "-g", "-fno-omit-frame-pointer", *flags)
        out, err = sonde("-top", sampled("own" + flags[0], path, "long"))
        assert {"work", "deep::outer", "deep::box::twice"} <= names(out) and err == "", out + err
        assert not [n for n in names(out) if n.startswith("[program]")], out


def t_a_program_of_debian_s_that_gperftools_sampled_has_names():
    perl = "my %h; for my $i (1..400000) { $h{$i % 1000} .= 'x' if $i =~ /7/; } print join ',', sort keys %h;"
    out, _ = sonde("-top", sampled("perl", "/usr/bin/perl", "-e", perl))
    assert [n for n in names(out) if n.startswith("Perl_")], out


if __name__ == "__main__":
    sys.exit(binaries.main(globals()))
