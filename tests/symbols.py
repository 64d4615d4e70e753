#!/usr/bin/env python3
"""Functions, inlined calls and lines of addresses, beside addr2line and llvm-symbolizer.

usage: symbols.py --tool RESOLVE-TOOL [NAME...]

Programs are compiled in many ways, and every third byte of all of their functions is looked up.
Each program is one TAP case; NAME is a whole name.  What the tools do not agree on, and what we do:

  the name of the outermost function
      llvm-symbolizer has the symbol's (foo.cold), addr2line the DWARF's (foo).  We take the
      symbol's where it is longer by two, as the reference does, or mangled and the other is not.
  the name of an inlined function that has no linkage name
      addr2line gives the innermost one the symbol's name, that of the function it was inlined
      into.  We and llvm-symbolizer keep its own.
  code that belongs to no line (line 0)
      addr2line says "?" or keeps the line before; llvm-symbolizer says 0, as we do.
  functions that share their code, as constructors do (C1, C2)
      llvm-symbolizer takes one of the symbols, we and addr2line what the DWARF says.
  C++ in DWARF 5, 64-bit DWARF, -flto, -gsplit-dwarf
      addr2line of binutils 2.40 misses inlined calls whose ranges are given by an index, takes
      files for others, and does not look into .dwo files.  It is not asked; for the same
      programs in DWARF 4 it is.

SPDX-License-Identifier: Apache-2.0
"""
import bisect
import collections
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

from tap import LIMIT, TMP, Skip, cases, run

AT = sys.argv.index("--tool") + 1 if "--tool" in sys.argv else 0
TOOL = str(pathlib.Path(sys.argv[AT]).resolve()) if AT else ""
STEP = 3     # bytes from one address to the next
MOST = 12000  # addresses of one program

C = r"""
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct node { struct node *next; int value; };

static inline int scale(int x) { return x * 3 + 1; }
static inline __attribute__((always_inline)) int clamp(int x)
{
	if (x > 1000)
		return scale(1000);
	return scale(x);
}

__attribute__((noinline)) static int walk(const struct node *n)
{
	int sum = 0;
	for (; n; n = n->next) {
		sum += clamp(n->value);
		if (__builtin_expect(sum < 0, 0)) {
			fprintf(stderr, "negative %d\n", sum);
			abort();
		}
	}
	return sum;
}

__attribute__((noinline, cold)) static void complain(const char *why, int n)
{
	for (int i = 0; i < n; i++)
		fprintf(stderr, "%s %d\n", why, i);
}

__attribute__((noinline)) static int recurse(int depth, int x)
{
	if (depth == 0)
		return clamp(x);
	return recurse(depth - 1, x + 1) + recurse(depth / 2 - (depth > 1), x ^ depth);
}

static int compare(const void *a, const void *b)
{
	return clamp(*(const int *)a) - clamp(*(const int *)b);
}

int exported(int *v, int n)
{
	qsort(v, (size_t)n, sizeof(*v), compare);
	switch (n % 5) {
	case 0: return v[0];
	case 1: return clamp(v[n / 2]);
	case 2: complain("two", n); return 2;
	case 3: return recurse(n % 8, v[0]);
	default: return scale(n);
	}
}

int main(int argc, char **argv)
{
	struct node b = { NULL, argc }, a = { &b, (int)strlen(argv[0]) };
	int v[4] = { argc, 3, 2, 1 };
	return (walk(&a) + exported(v, 4)) & 1;
}
"""

CXX = r"""
#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace shapes {
struct shape {
	virtual ~shape() = default;
	virtual double area() const = 0;
};
template <class T> struct square : shape {
	T side;
	explicit square(T s) : side(s) {}
	double area() const override { return double(side * side); }
};
namespace {
int hidden(int x) { return x > 7 ? x * 3 : throw std::out_of_range("small"); }
} // namespace
template <class T, class F> T fold(const std::vector<T> &v, T start, F f)
{
	for (const T &x : v)
		start = f(start, x);
	return start;
}
} // namespace shapes

static std::vector<std::string> words(int n)
{
	std::vector<std::string> v;
	for (int i = 0; i < n; i++)
		v.push_back(std::to_string(i * 7919));
	std::sort(v.begin(), v.end(), [](const auto &a, const auto &b) { return a.size() < b.size() || a < b; });
	return v;
}

double total(int n)
{
	std::vector<std::unique_ptr<shapes::shape>> v;
	for (int i = 0; i < n; i++) {
		if (i % 2)
			v.push_back(std::make_unique<shapes::square<int>>(i));
		else
			v.push_back(std::make_unique<shapes::square<double>>(i * 0.5));
	}
	double sum = 0;
	std::for_each(v.begin(), v.end(), [&sum](const auto &s) { sum += s->area(); });
	return sum;
}

int main(int argc, char **argv)
{
	struct local {
		int count(const std::map<std::string, int> &m) { return (int)m.size(); }
	} counter;
	std::map<std::string, int> m;
	for (auto &w : words(argc * 3))
		m[w]++;
	std::function<int(int)> f = [&](int x) { return shapes::fold(std::vector<int>{ 1, 2, x }, 0, [](int a, int b) { return a + b; }); };
	try {
		return counter.count(m) + f(argc) + (int)total(argc) + shapes::hidden(argc + (argv[0][0] == 'x'));
	} catch (const std::exception &) {
		return 1;
	}
}
"""

RUST = r"""
use std::collections::HashMap;
trait Area { fn area(&self) -> f64; }
struct Square<T>(T);
impl Area for Square<i32> { fn area(&self) -> f64 { (self.0 * self.0) as f64 } }
impl Area for Square<f64> { fn area(&self) -> f64 { self.0 * self.0 } }
fn total(v: &[Box<dyn Area>]) -> f64 { v.iter().map(|s| s.area()).sum() }
#[inline(never)]
fn words(n: usize) -> HashMap<String, usize> {
    let mut m = HashMap::new();
    for i in 0..n { *m.entry(format!("{}", i % 7)).or_insert(0) += i; }
    m
}
fn main() {
    let n = std::env::args().count();
    let v: Vec<Box<dyn Area>> = vec![Box::new(Square(n as i32)), Box::new(Square(n as f64 * 0.5))];
    let mut keys: Vec<_> = words(n + 20).into_iter().collect();
    keys.sort_by(|a, b| b.1.cmp(&a.1));
    println!("{} {:?}", total(&v), keys);
}
"""


# --- programs ----------------------------------------------------------------------------

def need(*tools):
    for tool in tools:
        if not shutil.which(tool):
            raise Skip(f"no {tool}")


COMPILERS = {("gcc", "c"): "gcc", ("gcc", "c++"): "g++", ("clang", "c"): "clang", ("clang", "c++"): "clang++"}
BUILT = {}


def build(compiler, language, *flags):
    """The program compiled that way; each is made once."""
    key = (compiler, language, *flags)
    if key not in BUILT:
        cc = COMPILERS[compiler, language]
        need(cc)
        folder = TMP / str(len(BUILT))
        (folder / "src").mkdir(parents=True)
        source = folder / "src" / ("program.c" if language == "c" else "program.cc")
        source.write_text(C if language == "c" else CXX)
        run(cc, "-Wl,--build-id", *flags, f"src/../src/{source.name}", "-o", "program", cwd=folder)
        BUILT[key] = folder / "program"
    return BUILT[key]


def build_rust(name, *flags):
    need("rustc")
    folder = TMP / name
    folder.mkdir()
    (folder / "program.rs").write_text(RUST)
    try:
        run("rustc", "--edition=2021", *flags, "program.rs", "-o", "program", cwd=folder)
    except subprocess.CalledProcessError as why:
        raise Skip(str(why)[:80])
    return folder / "program"


def addresses(path, of=None):
    """Every third byte of every function, at most MOST."""
    names = None
    if of:
        names = {line.split()[-1] for line in run("nm", "--defined-only", of).splitlines()}
    found = []
    for line in run("nm", "-S", "--defined-only", path).splitlines():
        words = line.split()
        if len(words) == 4 and words[2] in "tTwW" and (names is None or words[3] in names):
            start, size = int(words[0], 16), int(words[1], 16)
            found += range(start, start + size, STEP)
    found = sorted(set(found))
    return found[::len(found) // MOST + 1]


# --- tools -------------------------------------------------------------------------------

Frame = collections.namedtuple("Frame", "function file line column start")


def ask(args, wanted):
    p = subprocess.run(list(map(str, args)), input="".join(f"{a:#x}\n" for a in wanted), capture_output=True,
                       text=True, timeout=LIMIT)
    if p.returncode != 0:
        raise RuntimeError(f"{args}: {p.stderr[-500:]}")
    return p.stdout


def ours(path, wanted, *options):
    found, frames = {}, None
    for line in ask([TOOL, *options, path], wanted).splitlines():
        if line.startswith("\t"):
            function, file, *numbers = line[1:].split("\t")
            frames.append(Frame(function, file, *map(int, numbers)))
        else:
            frames = found.setdefault(int(line, 16), [])
    return found


def plain_path(path):
    return "" if path in ("", "??") else os.path.normpath(path)


def addr2line(path, wanted):
    found, frames, function = {}, None, None
    for line in ask(["addr2line", "-i", "-f", "-a", "-e", path], wanted).splitlines():
        if re.fullmatch(r"0x[0-9a-f]+", line):
            frames, function = found.setdefault(int(line, 16), []), None
        elif function is None:
            function = line
        else:
            file, _, number = re.sub(r" \(discriminator \d+\)$", "", line).rpartition(":")
            frames.append(Frame("" if function == "??" else function, plain_path(file),
                                0 if number == "?" else int(number), None, None))
            function = None
    return found


def llvm(path, wanted):
    need("llvm-symbolizer")
    found = {}
    out = ask(["llvm-symbolizer", "--no-demangle", "--inlines", "--output-style=JSON", f"--obj={path}"], wanted)
    for line in out.splitlines():
        answer = json.loads(line)
        found[int(answer["Address"], 16)] = [
            Frame(s["FunctionName"], plain_path(s["FileName"]), s["Line"], s["Column"], s.get("StartLine"))
            for s in answer.get("Symbol", [])]
    return found


# --- comparing ---------------------------------------------------------------------------

def same_as_addr2line(a, b, symbols):
    """Whether our frames 'a' are addr2line's frames 'b', but for what the text above says."""
    if len(a) != len(b):
        return False
    for i, (x, y) in enumerate(zip(a, b)):
        better = i == len(a) - 1 and (len(x.function) > len(y.function) + 1 or x.function in symbols)
        misled = i == 0 and y.function in symbols and not x.function.startswith("_Z")
        if x.function != y.function and not better and not misled:
            return False
        if x.line and (x.file, x.line) != (y.file, y.line):
            return False
    return True


def same_as_llvm(a, b, symbols):
    """The same for llvm-symbolizer's."""
    if len(a) != len(b):
        return False
    for i, (x, y) in enumerate(zip(a, b)):
        alias = i == len(a) - 1 and y.function in symbols
        if x.function != y.function and not alias:
            return False
        if (x.line, x.column) != (y.line, y.column) or (x.line and x.file != y.file):
            return False
        if y.start and x.start != y.start:
            return False
    return True


def show(frames):
    return "\n".join(f"#      {f.function[:90]} {f.file}:{f.line}:{f.column} from {f.start}" for f in frames) or "#      -"


class Differs(Exception):
    pass


def symbols_of(path):
    """Where symbols start, and the names at each."""
    names = collections.defaultdict(set)
    for words in map(str.split, run("nm", "-S", path).splitlines()):
        if len(words) == 4:
            names[int(words[0], 16)].add(words[3])
    return sorted(names), names


def compare(path, of=None, both=True):
    """Looks up all addresses in all tools."""
    wanted = addresses(path, of)
    assert len(wanted) > 20, f"only {len(wanted)} addresses"
    a = ours(path, wanted)
    others = [("llvm-symbolizer", llvm(path, wanted), same_as_llvm)]
    if both:
        others.append(("addr2line", addr2line(path, wanted), same_as_addr2line))
    starts, names = symbols_of(path)
    for name, b, same in others:
        wrong = [x for x in wanted if not same(a[x], b[x], names[starts[bisect.bisect_right(starts, x) - 1]])]
        if wrong:
            x = wrong[0]
            raise Differs(f"{name}: {len(wrong)} of {len(wanted)} differ, first {x:#x}\n"
                          f"#    ours\n{show(a[x])}\n#    {name}\n{show(b[x])}")
    return len(wanted)


CASES = {}


def case(name, function):
    CASES[f"t_{name}"] = function


def counted(function):
    """The case, which also says of how many addresses it is."""
    def run_it():
        n = function()
        if n:
            print(f"# {n} addresses", flush=True)
    return run_it


def both(language, flags):
    """Whether addr2line is good at it."""
    return not {"-gsplit-dwarf", "-gdwarf64", "-flto"} & set(flags) and (language == "c" or "-gdwarf-4" in flags)


def compiled(compiler, language, *flags):
    case(f"{compiler} {language} {' '.join(flags)}",
         lambda: compare(build(compiler, language, *flags), both=both(language, flags)))


for compiler in ("gcc", "clang"):
    for language in ("c", "c++"):
        for level in range(4):
            compiled(compiler, language, f"-O{level}", "-gdwarf-4")
            compiled(compiler, language, f"-O{level}", "-gdwarf-5")
        for flags in (["-gz"], ["-no-pie"], ["-shared", "-fPIC"], ["-gsplit-dwarf"], ["-g1"],
                      ["-ffunction-sections", "-Wl,--gc-sections"]):
            compiled(compiler, language, "-O2", "-gdwarf-4", *flags)
            compiled(compiler, language, "-O2", "-gdwarf-5", *flags)
compiled("gcc", "c++", "-O2", "-g", "-flto")
compiled("gcc", "c++", "-O2", "-g", "-gdwarf64")
case("static", lambda: compare(build("gcc", "c", "-O2", "-g", "-static"), build("gcc", "c", "-O2", "-gdwarf-5")))
case("rust debug", lambda: compare(build_rust("debug", "-g")))
case("rust optimized", lambda: compare(build_rust("optimized", "-g", "-O")))


# --- debug information that is elsewhere -------------------------------------------------

class Elsewhere:
    """A program, what it says of its addresses, and a stripped copy with debug information apart."""

    def __init__(self, *flags):
        need("objcopy", "strip")
        self.whole = build("gcc", "c++", "-O2", "-g", *flags)
        self.wanted = addresses(self.whole)
        self.expected = ours(self.whole, self.wanted)
        self.folder = pathlib.Path(tempfile.mkdtemp(dir=TMP))
        self.program = self.folder / "bin" / "program"
        self.program.parent.mkdir()
        self.debug = self.folder / "program.debug"
        run("objcopy", "--only-keep-debug", self.whole, self.debug)
        run("strip", self.whole, "-o", self.program)
        self.build_id = re.search(r"Build ID: (\w+)", run("readelf", "-n", self.whole))
        self.build_id = self.build_id[1] if self.build_id else None

    def add_link(self):
        run("objcopy", f"--add-gnu-debuglink={self.debug}", self.program)

    def put(self, path):
        path.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(self.debug, path)

    def check(self, *options):
        found = ours(self.program, self.wanted, *options)
        for x in self.wanted:
            assert found[x] == self.expected[x], f"{x:#x}\n{show(found[x])}\n{show(self.expected[x])}"
        return len(self.wanted)

    def check_nothing(self, *options):
        """No lines at all, as debug information is not found or not ours."""
        found = ours(self.program, self.wanted, *options)
        assert found.keys() == set(self.wanted), len(found)
        assert all(f.line == 0 for frames in found.values() for f in frames)


def t_stripped():
    """Dynamic symbols are all that is left."""
    e = Elsewhere()
    e.check_nothing()


def t_debug_link_beside():
    e = Elsewhere()
    e.add_link()
    e.put(e.program.parent / "program.debug")
    return e.check("-d", "/nonexistent")


def t_debug_link_hidden():
    e = Elsewhere()
    e.add_link()
    e.put(e.program.parent / ".debug" / "program.debug")
    return e.check("-d", "/nonexistent")


def t_debug_link_in_folder():
    e = Elsewhere()
    e.add_link()
    e.put(pathlib.Path(f"{e.folder}/debug{e.program.parent}/program.debug"))
    return e.check("-d", f"/nonexistent:{e.folder}/debug")


def t_debug_link_checksum():
    """Without build ids the checksum has to agree."""
    e = Elsewhere("-Wl,--build-id=none")
    e.add_link()
    place = e.program.parent / "program.debug"
    e.put(place)
    n = e.check("-d", "/nonexistent")
    with open(place, "ab") as f:
        f.write(b"x")
    e.check_nothing("-d", "/nonexistent")
    return n


def t_debug_link_of_another_build():
    e, other = Elsewhere(), Elsewhere("-DOTHER", "-O1")
    e.add_link()
    other.put(e.program.parent / "program.debug")
    e.check_nothing("-d", "/nonexistent")


def t_build_id_folder():
    e = Elsewhere()
    e.put(e.folder / "debug" / ".build-id" / e.build_id[:2] / (e.build_id[2:] + ".debug"))
    return e.check("-d", f"/nonexistent:{e.folder}/debug")


def t_build_id_of_another_build():
    e, other = Elsewhere(), Elsewhere("-DOTHER", "-O1")
    other.put(e.folder / "debug" / ".build-id" / e.build_id[:2] / (e.build_id[2:] + ".debug"))
    e.check_nothing("-d", f"{e.folder}/debug")


def supplementary(*options):
    """Two programs share what dwz takes out of both."""
    need("dwz")
    folder = pathlib.Path(tempfile.mkdtemp(dir=TMP))
    programs = []
    for i, flags in enumerate((["-O2"], ["-O2", "-DOTHER"])):
        whole = build("gcc", "c++", *flags, "-g")
        programs.append((whole, folder / f"program{i}"))
        shutil.copy(whole, programs[-1][1])
    run("dwz", *options, "-m", folder / "common.debug", *[p for _, p in programs])
    for whole, p in programs:
        wanted = addresses(whole)
        expected, found = ours(whole, wanted), ours(p, wanted)
        for x in wanted:
            assert found[x] == expected[x], f"{x:#x}\n{show(found[x])}\n{show(expected[x])}"
    return len(wanted)


def t_dwz():
    return supplementary()


def t_dwz_dwarf_5():
    return supplementary("-5")


def packaged(compiler, version):
    """A package of .dwo files has all that the files had.  (llvm-dwp 14 hangs at gcc's DWARF 5.)"""
    need("llvm-dwp")
    program = build(compiler, "c++", "-O2", f"-gdwarf-{version}", "-gsplit-dwarf", "-DPACKAGED")
    wanted = addresses(program)
    expected = ours(program, wanted)
    package = program.with_suffix(".dwp")
    run("llvm-dwp", "-e", program.name, "-o", package.name, cwd=program.parent)
    for file in program.parent.glob("*.dwo"):
        file.unlink()
    found = ours(program, wanted)
    wrong = [x for x in wanted if found[x] != expected[x]]
    assert not wrong, f"{wrong[0]:#x}\n{show(found[wrong[0]])}\n{show(expected[wrong[0]])}"
    package.unlink()
    assert ours(program, wanted) != expected, "the package is not needed"
    return len(wanted)


def t_package_of_gcc_dwarf_4():
    return packaged("gcc", 4)


def t_package_of_clang_dwarf_5():
    return packaged("clang", 5)


def t_mini_debug():
    """Names of functions that are not for the loader, compressed in .gnu_debugdata."""
    need("xz")
    e = Elsewhere()
    mini = e.folder / "mini"
    run("objcopy", "-g", e.debug, mini)
    run("xz", "-k", mini)
    run("objcopy", f"--add-section=.gnu_debugdata={mini}.xz", e.program)
    found = ours(e.program, e.wanted)
    starts, names = symbols_of(e.whole)
    for x in e.wanted:
        assert found[x][-1].function in names[starts[bisect.bisect_right(starts, x) - 1]], f"{x:#x} {found[x]}"
    return len(e.wanted)


def t_cut_short():
    """Whatever is left of a file, there is an answer or a message, and no crash."""
    whole = build("gcc", "c++", "-O2", "-g")
    data, part = whole.read_bytes(), TMP / "part"
    for i in range(1, 40):
        part.write_bytes(data[:len(data) * i // 40])
        p = subprocess.run([TOOL, part], input="0x2200\n", capture_output=True, text=True, timeout=LIMIT)
        assert p.returncode in (0, 1), p


if __name__ == "__main__":
    CASES |= {name: function for name, function in globals().items() if name.startswith("t_")}
    sys.exit(cases({name: counted(function) for name, function in CASES.items()}, sys.argv[AT + 1:]))
