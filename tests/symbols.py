#!/usr/bin/env python3
"""Functions, inlined calls and lines of addresses, beside addr2line and llvm-symbolizer.

usage: symbols.py --tool RESOLVE-TOOL [NAME...]

Programs are compiled in many ways, and every third byte of all of their functions is looked up.
Each program is one TAP case.  Three things the tools do not agree on, and what we do:

  the name of the outermost function
      llvm-symbolizer has the symbol's (foo.cold), addr2line the DWARF's (foo).  We take the
      symbol's where it is longer by two, as the reference does.
  code that belongs to no line (line 0)
      addr2line says "?" or keeps the line before; llvm-symbolizer says 0, as we do.
  code that several functions claim
      A piece of an inlined call that lies in two of its callers: see EXCUSED below.

SPDX-License-Identifier: Apache-2.0
"""
import collections
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

AT = sys.argv.index("--tool") + 1 if "--tool" in sys.argv else 0
TOOL = str(pathlib.Path(sys.argv[AT]).resolve()) if AT else ""
TMP = pathlib.Path(tempfile.mkdtemp(prefix="symbols."))
LIMIT = 120  # seconds for any one command
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


class Skip(Exception):
    pass


# --- programs ----------------------------------------------------------------------------

def run(*args, **kw):
    p = subprocess.run(list(map(str, args)), capture_output=True, text=True, timeout=LIMIT, **kw)
    if p.returncode != 0:
        raise RuntimeError(f"{' '.join(map(str, args))}: {p.stderr[-500:]}")
    return p.stdout


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


def build_rust(*flags):
    need("rustc")
    folder = TMP / ("rust" + str(len(BUILT)))
    folder.mkdir()
    (folder / "program.rs").write_text(RUST)
    try:
        run("rustc", "--edition=2021", *flags, "program.rs", "-o", "program", cwd=folder)
    except RuntimeError as why:
        raise Skip(str(why)[:80])
    return folder / "program"


def functions(path):
    """Start and size of the functions; only those that come from our own source, if it can be told."""
    found = set()
    for line in run("nm", "-S", "--defined-only", path).splitlines():
        words = line.split()
        if len(words) == 4 and words[2] in "tTwWuV":
            found.add((int(words[0], 16), int(words[1], 16)))
    return sorted(found)


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

def same_as_addr2line(a, b):
    """Whether our frames 'a' are addr2line's frames 'b', but for what the text above says."""
    if len(a) != len(b):
        return False
    for i, (x, y) in enumerate(zip(a, b)):
        outermost = i == len(a) - 1
        if x.function != y.function and not (outermost and len(x.function) > len(y.function) + 1):
            return False
        if x.line and (x.file, x.line) != (y.file, y.line):
            return False
    return True


def same_as_llvm(a, b):
    if len(a) != len(b):
        return False
    for i, (x, y) in enumerate(zip(a, b)):
        outermost = i == len(a) - 1
        if x.function != y.function and not outermost:
            return False
        if (x.line, x.column) != (y.line, y.column) or (x.line and x.file != y.file):
            return False
    return True


def show(frames):
    return "\n".join(f"#      {f.function[:90]} {f.file}:{f.line}:{f.column} from {f.start}" for f in frames) or "#      -"


class Differs(Exception):
    pass


def compare(path, of=None, options=()):
    """Looks up all addresses in all tools."""
    wanted = addresses(path, of)
    assert len(wanted) > 20, f"only {len(wanted)} addresses"
    a = ours(path, wanted, *options)
    others = [("addr2line", addr2line(path, wanted), same_as_addr2line), ("llvm-symbolizer", llvm(path, wanted), same_as_llvm)]
    wrong = []
    for x in wanted:
        verdicts = [same(a[x], b[x]) for _, b, same in others]
        if not all(verdicts):
            wrong.append((x, verdicts))
    if wrong:
        x, _ = wrong[0]
        lists = "\n".join(f"#    {name}: {sum(not v[i] for _, v in wrong)} of {len(wanted)} differ\n{show(b[x])}"
                          for i, (name, b, _) in enumerate(others))
        raise Differs(f"first at {x:#x}\n#    ours\n{show(a[x])}\n{lists}")
    return len(wanted)


CASES = {}


def case(name, function):
    CASES[name] = function


for compiler in ("gcc", "clang"):
    for language in ("c", "c++"):
        for level in range(4):
            case(f"{compiler} {language} -O{level}",
                 lambda c=compiler, x=language, o=level: compare(build(c, x, f"-O{o}", "-g")))
        for flags in (["-gdwarf-4"], ["-gdwarf-5"], ["-g", "-gz"], ["-g", "-no-pie"], ["-g", "-shared", "-fPIC"],
                      ["-gsplit-dwarf", "-gdwarf-4"], ["-gsplit-dwarf", "-gdwarf-5"], ["-g1"],
                      ["-g", "-ffunction-sections", "-Wl,--gc-sections"]):
            case(f"{compiler} {language} -O2 {' '.join(flags)}",
                 lambda c=compiler, x=language, f=tuple(flags): compare(build(c, x, "-O2", *f)))
case("gcc c -O2 -g -static", lambda: compare(build("gcc", "c", "-O2", "-g", "-static"), build("gcc", "c", "-O2", "-g")))
case("gcc c++ -O2 -g -flto", lambda: compare(build("gcc", "c++", "-O2", "-g", "-flto")))
case("gcc c++ -O2 -g dwarf64", lambda: compare(build("gcc", "c++", "-O2", "-g", "-gdwarf64")))
case("rust debug", lambda: compare(build_rust("-g"), None))
case("rust -O", lambda: compare(build_rust("-g", "-O"), None))


# --- elsewhere ---------------------------------------------------------------------------

def main():
    names = [a for a in sys.argv[AT + 1:]] if AT else []
    bad = 0
    chosen = [n for n in CASES if not names or any(x in n for x in names)]
    for i, name in enumerate(chosen, 1):
        try:
            n = CASES[name]()
            print(f"ok {i} - {name}" + (f" ({n} addresses)" if n else ""), flush=True)
        except Skip as why:
            print(f"ok {i} - {name} # SKIP {why}", flush=True)
        except (Differs, AssertionError, RuntimeError, subprocess.TimeoutExpired) as why:
            bad += 1
            print(f"not ok {i} - {name}\n# {why}", flush=True)
    print(f"1..{len(chosen)}")
    shutil.rmtree(TMP)
    return bad != 0


sys.exit(main())
