#!/usr/bin/env python3
"""disasm, weblist and the search for sources, end to end.

usage: code.py --sonde PROGRAM [NAME...]

Every function below whose name starts with "t_" is one TAP case.  Programs are compiled and run;
where Go is installed, pages and listings are compared with those of "go tool pprof", except for the
texts of instructions, and instructions are compared with objdump's.

SPDX-License-Identifier: Apache-2.0
"""
import difflib
import gzip
import html.parser
import os
import pathlib
import re
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE / "profiles")]
from binaries import GO, SONDE, Skip, TMP, main, run  # noqa: E402
from writer import Profile, read_varint, remap  # noqa: E402

LIMIT = 120  # seconds for any one command

GO_PROGRAM = """package main

import (
	"fmt"
	"os"
	"runtime/pprof"
	"strings"
)

type sum struct{ n int }

func add(s *sum, x int) { s.n += x*3 ^ x>>2 }

//go:noinline
func inner(n int) int {
	var s sum
	for i := 0; i < n; i++ {
		add(&s, i)
	}
	return s.n
}

//go:noinline
func text(n int) int {
	var b strings.Builder
	for i := 0; i < n; i++ {
		fmt.Fprintf(&b, "%d <&> %s", i, "x")
	}
	return b.Len()
}

func main() {
	f, _ := os.Create(os.Args[1])
	pprof.StartCPUProfile(f)
	for i := 0; i < 100; i++ {
		inner(10000000)
		text(30000)
	}
	pprof.StopCPUProfile()
	f.Close()
}
"""

CPP_PROGRAM = """#include <stdio.h>
template <class T> static inline T square(T x) { return x * x; }
namespace app {
struct Work { __attribute__((noinline)) long run(const long *v, long n); };
long Work::run(const long *v, long n)
{
	long s = 0;
	for (long i = 0; i < n; i++)
		s += square(v[i]) & 0xff;
	return s;
}
}
int main(int argc, char **)
{
	static long v[64] = { 1, 2, 3 };
	app::Work w;
	printf("%ld\\n", w.run(v, argc));
}
"""

ARM_PROGRAM = """	.text
	.globl _start
	.type _start, %function
_start:
	stp x29, x30, [sp, #-16]!
	mov x29, sp
	bl work
	ldp x29, x30, [sp], #16
	ret
	.size _start, . - _start
	.globl work
	.type work, %function
work:
	cbz x0, 1f
	ldr x1, [x0, #8]
	add x0, x0, x1, lsl #3
	b.ne work
	fmadd d0, d1, d2, d3
1:	ret
	.word 0xffffffff
	.size work, . - work
"""


# --- what is run -------------------------------------------------------------------------

def environment(**more):
    env = {"PATH": os.environ["PATH"], "HOME": str(TMP / "home"), "TMPDIR": str(TMP), "LANG": "C.UTF-8",
           "GOCACHE": str(TMP / "gocache"), "GOFLAGS": "", "TZ": "UTC"}
    for name in ("ASAN_OPTIONS", "UBSAN_OPTIONS", "LSAN_OPTIONS"):
        if name in os.environ:
            env[name] = os.environ[name]
    return env | {k: str(v) for k, v in more.items()}


def sonde(*args, cwd=TMP, status=0, stdin="", **env):
    """Standard output and error."""
    r = subprocess.run([SONDE, *map(str, args)], capture_output=True, text=True, timeout=LIMIT, cwd=cwd,
                       input=stdin, env=environment(**env), errors="surrogateescape")
    assert "Sanitizer" not in r.stderr, r.stderr
    assert r.returncode == status, f"status {r.returncode}\n{r.stderr}"
    return r.stdout, r.stderr


def reference(*args):
    if not GO:
        raise Skip("go is not installed")
    return subprocess.run([GO, "tool", "pprof", *map(str, args)], capture_output=True, text=True,
                          timeout=LIMIT, cwd=TMP, env=environment(), check=True).stdout


def made(name, make):
    """The file 'name' in a folder of its own; make() fills the folder the first time."""
    path = TMP / "made" / name / name
    if not path.parent.exists():
        path.parent.mkdir(parents=True)
        make(path)
    return path


def go_program(*flags):
    """A Go program and a CPU profile of it."""
    def make(path):
        if not GO:
            raise Skip("go is not installed")
        (path.parent / "main.go").write_text(GO_PROGRAM)
        (path.parent / "go.mod").write_text("module example.com/Me/prog\ngo 1.19\n")
        subprocess.run([GO, "build", *flags, "-o", path, "."], check=True, capture_output=True, text=True,
                       cwd=path.parent, env=environment(), timeout=LIMIT)
        run(path, path.with_suffix(".cpu"))
        without_last_bytes(path, path.with_suffix(".cpu"))
    path = made("prog" + "".join(f.strip("-") for f in flags), make)
    if not path.exists():
        raise Skip("go does not work here")
    return path, path.with_suffix(".cpu")


def numbers_of(body, wanted):
    """The numbers of one field of a message, packed or not."""
    out = []

    def take(field, packed, whole):
        text, i = (whole, read_varint(whole, 0)[1]) if packed is None else (packed, 0)
        while field == wanted and i < len(text):
            n, i = read_varint(text, i)
            out.append(n)
        return b""
    remap(body, take)
    return out


def without_last_bytes(program, profile):
    """Drop samples at the last byte of a function: the reference cuts it off, and loses them.

    Whether a profile has one there, at a "ret" most often, is chance.
    """
    last = {start + size - 1 for start, size in symbols(program).values()}
    places = set()

    def find(field, body, _):
        if field == 4 and numbers_of(body, 3)[0] in last:
            places.update(numbers_of(body, 1))
        return b""

    def keep(field, body, whole):
        return b"" if field == 2 and places.intersection(numbers_of(body, 1)) else whole
    data = gzip.decompress(profile.read_bytes())
    remap(data, find)
    profile.write_bytes(gzip.compress(remap(data, keep)))


def symbols(path, readelf="readelf"):
    """{name: (address, size)} of a file's functions."""
    out = {}
    for line in run(readelf, "-sW", path).splitlines():
        words = line.split()
        if len(words) >= 8 and words[3] in ("FUNC", "IFUNC") and words[6] != "UND":
            size = int(words[2], 0)
            out[words[7].split("@")[0]] = (int(words[1], 16), size)
    return out


def native_profile(path, addresses, where=None):
    """One sample at each address of a file that was loaded where it was linked."""
    p = Profile([("samples", "count")])
    m = p.mapping(0, (1 << 64) - 1, 0, str(path), "", has="")
    for n, address in enumerate(addresses, 1):
        p.sample([p.location([], address, m)], [n])
    where = where or path.with_suffix(".pb")
    where.write_bytes(p.encode())
    return where


def cpp_program():
    def make(path):
        cxx = shutil.which("g++")
        if not cxx:
            raise Skip("no C++ compiler")
        source = path.with_suffix(".cc")
        source.write_text(CPP_PROGRAM)
        run(cxx, "-O1", "-g", source, "-o", path)
    path = made("work", make)
    if not path.exists():
        raise Skip("no C++ compiler")
    start, size = symbols(path)["_ZN3app4Work3runEPKll"]
    return path, native_profile(path, range(start, start + size))


# --- disasm ------------------------------------------------------------------------------

def instructions(text):
    """Lines of a listing without the texts of instructions; places are behind their instruction."""
    out, place = [], None
    for line in text.splitlines():
        m = re.match(r"^(.{10} .{10} +[0-9a-f]+): (.*)$", line)
        if line.startswith(" " * 74 + ";"):
            place = line[75:]
        elif m:
            behind = m[2][41:] if m[2][40:41] == ";" else ""
            out.append(f"{m[1]}: {behind if place is None else place}")
            place = None
        else:
            out.append(line)
    return out


def routines(text):
    """Lists of lines, one per routine; what comes before is the first."""
    out = [[]]
    for line in instructions(text):
        if line.startswith("ROUTINE"):
            out.append([])
        out[-1].append(line)
    return out


def t_a_listing_is_that_of_the_reference():
    program, profile = go_program()
    for args in (["."], ["main"], ["main.inner"], ["runtime", "-unit=us"], ["main", "-focus=fmt"]):
        ours = routines(sonde("-disasm", *args, program, profile)[0])
        theirs = routines(reference("-disasm", *args, program, profile))
        assert len(ours) == len(theirs) > 1, (args, len(ours), len(theirs))
        for a, b in zip(ours, theirs):
            # The reference cuts a function's last byte off, and with it the last instruction.
            # It does not know AVX, which assembler code has, and goes on inside such instructions.
            if any(".s:" in line for line in a):
                a, b = a[:2], b[:2]
            same = next((i for i, (x, y) in enumerate(zip(a, b)) if x != y), min(len(a), len(b)))
            assert same >= len(a) - 2 and len(b) - same <= 15, "\n".join(
                difflib.unified_diff(b, a, "go", "sonde", lineterm="", n=1))


def t_what_matches_nothing_is_an_error():
    program, profile = go_program()
    for name in ("-disasm", "-weblist"):
        _, err = sonde(name, "no_such_function", "-output", TMP / "nothing", program, profile, status=2)
        assert err == "no matches found for regexp: no_such_function\n", err
    assert not (TMP / "nothing").exists()


def t_an_address_stands_for_its_function():
    path, profile = cpp_program()
    start, _ = symbols(path)["_ZN3app4Work3runEPKll"]
    by_name, _ = sonde("-disasm", "Work::run", path, profile)
    by_address, _ = sonde("-disasm", hex(start + 5), path, profile)
    assert by_name == by_address and "ROUTINE" in by_name, by_address
    assert "AKA ======================== _ZN3app4Work3runEPKll\n" in by_name, by_name


def t_versions_of_a_symbol_are_one_name():
    def make(path):
        source, script = path.with_suffix(".c"), path.with_suffix(".map")
        source.write_text("int old_call(int x) { return x * 3; }\n"
                          "extern int new_call(int) __attribute__((alias(\"old_call\")));\n"
                          "__asm__(\".symver old_call,call@VERSION_1\");\n__asm__(\".symver new_call,call@@VERSION_2\");\n")
        script.write_text("VERSION_1 { global: call; local: *; };\nVERSION_2 { global: call; } VERSION_1;\n")
        cc = shutil.which("gcc")
        if not cc:
            raise Skip("no C compiler")
        run(cc, "-g", "-O1", "-shared", "-fPIC", "-nostdlib", f"-Wl,--version-script={script}", source, "-o", path)
        shutil.copy(path, path.with_name("whole.so"))
        run("strip", path)
    path = made("libversions.so", make)
    start, _ = symbols(path)["call"]
    out, _ = sonde("-disasm", "call", native_profile(path, [start]))
    assert "ROUTINE ======================== call\n" in out and "AKA" not in out, out
    # The table that was stripped has names with versions; what instructions are from has none.
    out, _ = sonde("-disasm", "call", native_profile(path.with_name("whole.so"), [start]))
    names = re.findall(r"(?:ROUTINE|AKA) =+ (.*)", out)
    assert {"call@VERSION_1", "call@@VERSION_2"} <= set(names) and len(names) == len(set(names)), out
    assert re.search(r";call libversions\.c:1\s*$", out, re.M), out


def t_inlined_calls_are_named():
    path, profile = cpp_program()
    out, _ = sonde("-disasm", "Work::run", path, profile)
    assert re.search(r"imul .*;square work\.cc:2 \(inlined by\) app::Work::run work\.cc:9\n", out), out
    assert re.search(r"j\w+ 0x[0-9a-f]+ <app::Work::run\+0x[0-9a-f]+>", out), out


def t_values_between_two_instructions_count_for_the_first():
    path, profile = cpp_program()
    out, _ = sonde("-disasm", "Work::run", path, profile)
    start, size = symbols(path)["_ZN3app4Work3runEPKll"]
    total = sum(range(1, size + 1))
    assert re.search(rf"^ +{total} +{total} \(flat, cum\)   100% of Total$", out, re.M), out
    rows = [(int(m[1]), int(m[2], 16) - start) for m in
            re.finditer(r"^ +(\d+) +\d+ +([0-9a-f]+): ", out, re.M)]
    ends = [at for _, at in rows[1:]] + [size]
    for (value, at), end in zip(rows, ends):
        assert value == sum(range(at + 1, end + 1)), (value, at, end)


def t_both_syntaxes_are_there():
    path, profile = cpp_program()
    att, _ = sonde("-disasm", "Work::run", path, profile)
    intel, _ = sonde("-disasm", "Work::run", "-intel_syntax", path, profile)
    assert "%r" in att and "%" not in intel.replace("100%", ""), intel
    assert [x.split(":")[0] for x in instructions(att)] == [x.split(":")[0] for x in instructions(intel)]


def t_a_binary_that_is_gone_is_complained_about():
    profile = native_profile(TMP / "gone-program", [0x1000])
    _, err = sonde("-disasm", ".", profile, status=2)
    assert f"open {TMP}/gone-program: no such file or directory" in err, err


def t_an_unknown_machine_is_named():
    path, _ = cpp_program()
    data = bytearray(path.read_bytes())
    data[18:20] = (22).to_bytes(2, "little")
    other = TMP / "s390"
    other.write_bytes(data)
    start, _ = symbols(path)["_ZN3app4Work3runEPKll"]
    _, err = sonde("-disasm", ".", "-symbolize=none", native_profile(other, [start]), status=2)
    assert "cannot disassemble code for machine 22: only x86 and aarch64" in err, err


def t_damaged_code_is_shown_as_far_as_it_goes():
    path, _ = cpp_program()
    start, size = symbols(path)["_ZN3app4Work3runEPKll"]
    data = bytearray(path.read_bytes())
    data[start:start + size] = b"\x06" * size
    other = TMP / "damaged-code"
    other.write_bytes(data)
    profile = native_profile(other, [start])
    out, _ = sonde("-disasm", "Work", profile)
    assert out.count("(bad)") == size, out
    sonde("-weblist", ".", "-output", TMP / "damaged.html", other, profile)


# --- beside objdump ----------------------------------------------------------------------

# Where Zydis writes another name, or one name where objdump writes a size behind it.
SPELLING = {"xchg": "nop", "movabs": "mov", "cs": "nop", "data16": "nop", "repz": "rep", "repnz": "repne",
            "cwtl": "cwde", "cltq": "cdqe", "cltd": "cdq", "cqto": "cqo", "cwtd": "cwd", "bnd": "jmp",
            "movslq": "movsxd", "notrack": "jmp", "wait": "fwait", "fs": "nop", "ss": "nop", "ds": "nop",
            "movsbl": "movsx", "ret": "ret", "rep": "rep", "lock": "lock", "sal": "shl", "addr32": "call"}


def stem(text):
    """The name of an instruction without its size."""
    word = text.split()[0] if text.split() else ""
    word = SPELLING.get(word, word)
    if word.startswith(("movz", "movs")) and len(word) <= 6:
        return word[:4]
    return word


def same_name(ours, theirs):
    a, b = stem(ours), stem(theirs)
    # Sizes: movl and mov, or, where objdump leaves it out, mov and movq.
    return a == b or a.rstrip("bwlqts") == b.rstrip("bwlqts") or a[:3] == b[:3]


def objdumped(tool, path, start, stop):
    out = {}
    text = run(tool, "-d", "--no-show-raw-insn", f"--start-address={start:#x}", f"--stop-address={stop:#x}", path)
    for line in text.splitlines():
        m = re.match(r"^ +([0-9a-f]+):\t(.*)$", line)
        if m:
            out[int(m[1], 16)] = m[2]
    return out


def disassembled(text):
    return {int(m[1], 16): m[2] for m in re.finditer(r"^.{21} +([0-9a-f]+): (.*?)(?: +;.*)?$", text, re.M)}


def t_x86_is_read_as_by_objdump():
    libc = pathlib.Path("/lib/x86_64-linux-gnu/libc.so.6")
    if not libc.exists() or not shutil.which("objdump"):
        raise Skip("no libc or no objdump")
    functions = sorted({v: k for k, v in symbols(libc).items() if v[1]}.items())[::5]
    profile = native_profile(libc, [start for (start, _), _ in functions], TMP / "libc.pb")
    ours = disassembled(sonde("-disasm", ".", libc, profile)[0])
    theirs = objdumped("objdump", libc, functions[0][0][0], functions[-1][0][0] + functions[-1][0][1])
    assert len(ours) > 15000, len(ours)
    strangers = [hex(a) for a in ours if a not in theirs and ours[a] != "(bad)"]
    # Some functions of libc have data between their instructions.
    assert len(strangers) < len(ours) / 2000, (len(strangers), len(ours), strangers[:10])
    other = [(hex(a), ours[a], theirs[a]) for a in ours if a in theirs and not same_name(ours[a], theirs[a])]
    assert len(other) < len(ours) / 500, (len(other), len(ours), other[:20])
    for a, text in ours.items():
        m = re.match(r"(?:call|j\w+) 0x([0-9a-f]+)", text)
        n = re.match(r"(?:bnd |notrack )?(?:call|j\w+) +([0-9a-f]+) <", theirs.get(a, ""))
        assert not m or not n or m[1] == n[1], (text, theirs[a])


def t_arm64_is_read_as_by_objdump():
    tools = [shutil.which(f"aarch64-linux-gnu-{t}") for t in ("as", "ld", "objdump", "readelf")]
    if not all(tools):
        raise Skip("no binutils for aarch64")
    source, path = TMP / "arm.s", TMP / "arm"
    source.write_text(ARM_PROGRAM)
    run(tools[0], source, "-o", TMP / "arm.o")
    run(tools[1], TMP / "arm.o", "-o", path)
    where = symbols(path)
    profile = native_profile(path, [a for a, _ in where.values()])
    out, _ = sonde("-disasm", ".", path, profile)
    ours = disassembled(out)
    for start, size in where.values():
        for a, text in objdumped(tools[2], path, start, start + size).items():
            want = "(bad)" if text.startswith((".inst", ".word", "udf")) else text.split()[0]
            assert ours[a].split()[0] == want, (hex(a), ours[a], text)
    assert "bl #" in out and "<work>" in out, out


# --- weblist -----------------------------------------------------------------------------

class Page(html.parser.HTMLParser):
    """What a page shows: (function, file, line number, class, flat, cum, source), and what is nested."""

    def __init__(self, path):
        super().__init__()
        self.tags, self.path, self.lines, self.heads = [], [], [], []
        self.rows = []
        self.feed(path.read_text(errors="surrogateescape"))

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        if tag not in ("br", "meta"):
            self.path.append((tag, dict(attrs).get("class", "")))

    def handle_endtag(self, tag):
        assert self.path and self.path.pop()[0] == tag, tag

    def handle_data(self, data):
        tag, cls = self.path[-1] if self.path else ("", "")
        if tag == "h2":
            self.heads.append(data)
        elif cls == "filename":
            self.heads.append(data)
        elif cls == "line":
            self.lines.append([data])
        elif cls in ("nop", "livesrc", "deadsrc"):
            self.lines[-1] += [cls, data]
        elif cls == "asm" and re.search(r"\d", data):
            self.rows += [(self.heads[-1], self.lines[-1][0], m[1], m[2], m[3]) for m in
                          re.finditer(r"^ {10}(.{10}) (.{10}) +([0-9a-f]+): ", data, re.M)]


def t_a_page_is_that_of_the_reference():
    program, profile = go_program()
    for regexp in ("main", "main.inner", "fmt", "runtime", "main.go", "prog$"):
        pages = []
        for tool in (lambda *a: sonde(*a), reference):
            path = TMP / f"page{len(pages)}.html"
            tool("-weblist", regexp, "-output", path, program, profile)
            pages.append(Page(path))
        ours, theirs = pages
        assert ours.heads == theirs.heads and ours.heads, (regexp, ours.heads, theirs.heads)
        # The reference starts to read in the middle of an instruction, and shows wrong ones there;
        # a line may be live for these alone, and a function begin or end with it.
        lines = [{(line[0], line[2]) for line in p.lines} for p in pages]
        assert len(lines[0] ^ lines[1]) <= len(lines[0]) / 20 + 20, (regexp, lines[0] ^ lines[1])
        values = [{r for r in p.rows if r[2:4] != (" " * 9 + ".",) * 2} for p in pages]
        assert values[0] == values[1] and values[0], (regexp, values[0] ^ values[1])
        assert len(set(ours.rows) ^ set(theirs.rows)) <= len(ours.rows) / 20 + 20, regexp


def t_a_function_that_was_inlined_everywhere_has_a_page():
    program, profile = go_program()
    sonde("-weblist", "main.add", "-output", TMP / "add.html", program, profile)
    page = Page(TMP / "add.html")
    assert page.heads[0] == "main.add", page.heads
    assert any("func add" in line[2] and line[1] == "livesrc" for line in page.lines), page.lines


def t_inlined_calls_are_nested():
    path, profile = cpp_program()
    sonde("-weblist", "Work::run", "-output", TMP / "work.html", path, profile)
    text = (TMP / "work.html").read_text()
    assert "<h2>app::Work::run</h2>" in text, text
    assert re.search(r"<span class=inlinesrc> +template &lt;class T&gt;.*work\.cc:2</span>\n +\d+ +\d+ +"
                     r"[0-9a-f]+: +imul", text), text


EVIL = "</pre><script>alert('x')</script>&\"<"


def t_a_page_escapes_what_a_profile_says():
    folder = TMP / "evil"
    (folder / "src<b>").mkdir(parents=True, exist_ok=True)
    source = folder / "src<b>" / "a&b\"'.c"
    source.write_text("\n".join([EVIL] * 30))
    p = Profile([("<i>samples</i>", "count")], comments=[EVIL])
    m = p.mapping(0x1000, 0x2000, 0, EVIL, EVIL)
    inner, outer = p.function(EVIL, str(source)), p.function("outer" + EVIL, str(source))
    p.sample([p.location([(inner, 3), (outer, 12)], 0x1100, m), p.location([(outer, 9)], 0, m)], [1])
    (TMP / "evil.pb").write_bytes(p.encode())
    sonde("-weblist", ".", "-symbolize=none", "-output", TMP / "evil.html", TMP / "evil.pb")
    text = (TMP / "evil.html").read_text()
    assert "alert" in text and "<script>alert" not in text and "<i>" not in text and "<b>" not in text, text
    page = Page(TMP / "evil.html")
    assert page.tags.count("script") == 1 and page.tags.count("pre") == page.tags.count("h2"), page.tags
    assert EVIL in page.heads, page.heads


# --- the shell ---------------------------------------------------------------------------

def t_the_shell_has_both():
    path, profile = cpp_program()
    browser = TMP / "browser"
    browser.write_text(f"#!/bin/sh\ncp \"$1\" {TMP}/shown.html\n")
    browser.chmod(0o755)
    script = f"disasm Work::run > {TMP}/out.txt\nintel_syntax=true\ndisasm Work::run\nweblist Work::run\n"
    out, err = sonde(path, profile, stdin=script, BROWSER=browser)
    want, _ = sonde("-disasm", "Work::run", path, profile)
    assert (TMP / "out.txt").read_text() == want
    assert f"Generating report in {TMP}/out.txt" in err, err
    assert "mov rax" in out or "mov eax" in out or "mov ecx" in out, out
    assert "app::Work::run" in (TMP / "shown.html").read_text()
    _, err = sonde(path, profile, stdin="disasm nothing\nweblist nothing\ndisasm\n")
    assert err.count("no matches found for regexp: nothing") == 2, err
    assert "command disasm requires an argument" in err, err


# --- sources -----------------------------------------------------------------------------

def listing(name, *args, lines=12, mapping="", **kw):
    """-list of a function whose line 'lines' - 5 in file 'name' has a value."""
    p = Profile([("samples", "count")])
    m = p.mapping(0x1000, 0x2000, 0, str(mapping), "")
    p.sample([p.frame("f", lines - 5, name, m, 0x1100)], [7])
    (TMP / "listing.pb").write_bytes(p.encode())
    cwd = kw.pop("cwd", TMP / "home")
    cwd.mkdir(exist_ok=True)
    return sonde("-list", "f", "-symbolize=none", *args, TMP / "listing.pb", cwd=cwd, **kw)


def write(path, tag):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{tag} {i}\n" for i in range(1, 40)))
    return path


def found(tag, *args, **kw):
    out, err = listing(*args, **kw)
    assert f":{tag} 7\n" in out, (tag, out, err)
    assert "Source of " in err, err


def lost(name, *args, **kw):
    out, err = listing(name, *args, **kw)
    assert re.search(r"^ Error: (could not find file|open )", out, re.M), out


def t_go_sources_are_found_by_any_name():
    root = TMP / "goroot"
    write(root / "src/fmt/print.go", "std")
    for name in ("fmt/print.go", "/usr/local/go/src/fmt/print.go", "/opt/go1.99.1/src/fmt/print.go",
                 "$GOROOT/src/fmt/print.go", "/x/pkg/mod/golang.org/toolchain@v0.0.1-go1.99.linux-amd64/src/fmt/print.go"):
        found("std", name, GOROOT=root)
    lost("/srv/project/src/fmt/print.go", GOROOT=root)
    lost("example.com/fmt/print.go", GOROOT=root)


def t_modules_are_found_with_their_capital_letters():
    cache = TMP / "modcache"
    write(cache / "github.com/!some!body/mod@v1.2.3/Sub/File.go", "mod")
    for name in ("github.com/SomeBody/mod@v1.2.3/Sub/File.go",
                 "/build/go/pkg/mod/github.com/!some!body/mod@v1.2.3/Sub/File.go"):
        found("mod", name, GOMODCACHE=cache)
        found("mod", name, GOPATH=f"/nonexistent:{linked(cache)}")
        lost(name, GOMODCACHE="/nonexistent")
    lost("github.com/somebody/mod@v1.2.3/Sub/File.go", GOMODCACHE=cache)


def linked(cache):
    """A GOPATH whose module cache is 'cache'."""
    path = TMP / "gopath/pkg"
    path.mkdir(parents=True, exist_ok=True)
    if not (path / "mod").exists():
        (path / "mod").symlink_to(cache)
    return path.parent


def t_vendor_folders_and_the_own_module_are_found():
    folder = TMP / "module"
    write(folder / "vendor/github.com/A/b/c.go", "vendor")
    write(folder / "sub/own.go", "own")
    (folder / "go.mod").write_text("// the module\nmodule example.com/me/app\n\ngo 1.19\n")
    found("vendor", "github.com/A/b@v1.0.0/c.go", cwd=folder)
    found("vendor", "/ci/x/vendor/github.com/A/b/c.go", cwd=folder / "sub")
    found("own", "example.com/me/app/sub/own.go", cwd=folder)
    found("own", "example.com/me/app/sub/own.go", "-source_path", folder)
    lost("example.com/me/apple/sub/own.go", cwd=folder)


def t_sources_next_to_the_program_are_found():
    folder = TMP / "build"
    write(folder / "src/deep/x.c", "near")
    program = write(folder / "server", "")
    found("near", "/buildd/project-1.0/src/deep/x.c", mapping=program)
    found("near", "deep/x.c", mapping=folder / "src/server")
    lost("/buildd/project-1.0/src/deep/y.c", mapping=program)


def t_nothing_is_found_by_going_up():
    folder = TMP / "up"
    write(TMP / "secret.c", "secret")
    write(folder / "src/x.c", "x")
    program = write(folder / "server", "")
    for name in ("/a/../../secret.c", "src/../../secret.c", "/usr/local/go/src/../../secret.c"):
        lost(name, mapping=program, GOROOT=folder, GOMODCACHE=folder, cwd=pathlib.Path("/"))


def t_a_source_newer_than_the_program_is_warned_about():
    source, program = write(TMP / "age/x.c", "age"), write(TMP / "age/server", "")
    os.utime(program, (1000, 1000))
    os.utime(source, (2000, 2000))
    out, err = listing(str(source), mapping=program)
    assert ":age 7\n" in out and err == f"{source} is newer than {program}: its lines may have moved\n", err
    os.utime(program, (3000, 3000))
    assert listing(str(source), mapping=program)[1] == ""


def t_a_renamed_source_root_lists_the_same():
    write(TMP / "root-a/app/x.c", "root")
    want, err = listing(str(TMP / "root-a/app/x.c"))
    assert ":root 7\n" in want and err == "", want
    (TMP / "root-a").rename(TMP / "root-b")
    got, err = listing(str(TMP / "root-a/app/x.c"), "-source_path", TMP / "root-b", "-trim_path", TMP / "root-a")
    assert err == "" and got.splitlines()[2:] == want.splitlines()[2:], got
    page = TMP / "renamed.html"
    sonde("-weblist", "f", "-output", page, "-source_path", TMP / "root-b", "-trim_path", TMP / "root-a",
          TMP / "listing.pb")
    assert "root 7" in page.read_text()


def t_trimpath_builds_are_listed():
    program, profile = go_program("-trimpath")
    out, err = sonde("-list", "main.inner", program, profile, cwd=TMP / "home")
    assert "ROUTINE ======================== main.inner in example.com/Me/prog/main.go" in out, out
    assert "for i := 0; i < n; i++ {" in out, out + err


if __name__ == "__main__":
    (TMP / "home").mkdir(parents=True, exist_ok=True)
    sys.exit(main(globals()))
