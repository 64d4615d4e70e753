#!/usr/bin/env python3
"""Every instruction of programs of many kinds: our stack beside libunwind's and libgcc's, as TAP.

usage: unwind.py --source ROOT [--keep FOLDER]

Compiles unwind-subject.{c,cc} in several ways, runs each under unwind-step.c, and wants equal stacks
but for the causes in EXPLAINED.  unwind-cross.c runs on this processor, and on aarch64 by qemu.  Where
something for that is not installed, cases are skipped.

SPDX-License-Identifier: Apache-2.0
"""
import argparse
import bisect
import pathlib
import platform
import re
import shutil
import subprocess
import tempfile

PARTS = ["eh-cfa", "eh-frame", "eh-section", "fork", "modules", "os", "runtime", "unwind",
         "unwind-frame", "unwind-new"]

# Compiler, options, arguments of the program.
CASES = [(cc, f"{level} {frame}".strip(), "")
         for cc in ("gcc", "clang")
         for level, frame in (("-O0", ""), ("-O0", "-fomit-frame-pointer"),
                              ("-O1", "-fomit-frame-pointer"), ("-O2", "-fomit-frame-pointer"),
                              ("-O2", "-fno-omit-frame-pointer"), ("-O3", "-fomit-frame-pointer"),
                              ("-Os", ""))]
CASES += [
    ("gcc", "-O2 -Wl,-z,now", ""),
    ("gcc", "-O2 -fno-plt", ""),
    ("gcc", "-O2 -fcf-protection=full -Wl,-z,ibtplt", ""),
    ("gcc", "-O2 -march=x86-64-v3", ""),
    ("gcc", "-O2 -no-pie -fno-pie", ""),
    ("clang", "-O2 -fuse-ld=lld", ""),
    ("gcc", "-O2 -fuse-ld=gold", ""),
    ("gcc", "-O2", "--unknown-stack"),
    ("clang", "-O2", "--unknown-stack"),
]

# For unwind-cross.c: compiler, options, and what runs the program.
ARM = "qemu-aarch64 -cpu max -L /usr/aarch64-linux-gnu"
CROSS = [("gcc", "-O2", ""), ("clang", "-O2", ""), ("gcc", "-O2 -static", "")]
CROSS += [("aarch64-linux-gnu-gcc", options, ARM)
          for options in ("-O0", "-O1", "-O2", "-O3", "-O2 -fomit-frame-pointer",
                          "-O2 -mbranch-protection=standard", "-O2 -static")]

# What may differ, and why.  Each is a test on one line of unwind-step's answer.
EXPLAINED = {
    "longjmp() is between two stacks, with the frame in a register we do not follow":
        lambda d: d["leaf"].startswith("libc.so") and d["from"] == d["leaf"] and
        d["theirs"] == "jumps",
    "an exception is being delivered: libgcc writes over the frames it leaves":
        lambda d: d["leaf"].startswith("libgcc_s") or d["from"] in CATCHERS,
    "gcc does not say that 'leave' restored the frame pointer; we know":
        lambda d: d["leaf"] in ("realigned_dynamic", "realigned_frame"),
    "libunwind loses its way, we reach the first function":
        lambda d: d["our_root"] == "_start" and d["their_root"] != "_start",
}
CATCHERS = {"attempt", "call", "square::area"}


def name(mangled):
    """Enough of a demangler for the functions of the subject."""
    for known in ("attempt", "call", "square4area"):
        if re.match(rf"_Z\w*{known}", mangled):
            return known.replace("4", "::")
    return mangled.split(".")[0]


class Symbols:
    def __init__(self, path):
        rows = []
        for line in subprocess.run(["nm", "-n", path], capture_output=True, text=True,
                                   check=True).stdout.splitlines():
            words = line.split()
            if len(words) == 3 and words[1] in "tTwW":
                rows.append((int(words[0], 16), words[2]))
        self.starts = [r[0] for r in rows]
        self.names = [r[1] for r in rows]
        kind = subprocess.run(["readelf", "-h", path], capture_output=True, text=True,
                              check=True).stdout
        self.base = 0 if "DYN" in kind else 0x400000
        self.file = pathlib.Path(path).name

    def place(self, text):
        """The function, for code of this program; FILE+OFFSET otherwise."""
        file, _, offset = text.partition("+")
        if file != self.file:
            return text
        # A return address may be the first byte behind its function.
        i = bisect.bisect_right(self.starts, int(offset, 16) + self.base - 1) - 1
        return name(self.names[i]) if i >= 0 else text


class Tap:
    def __init__(self):
        self.n = self.failed = 0

    def case(self, good, text, why=(), skip=None):
        self.n += 1
        self.failed += not good
        print(f"{'' if good else 'not '}ok {self.n} - {text}{f' # SKIP {skip}' if skip else ''}")
        for line in why:
            print(f"# {line}", flush=True)


def build(root, folder, cc, options):
    tests, runtime = root / "tests", root / "src" / "runtime"
    cxx = {"gcc": "g++", "clang": "clang++"}[cc]
    if not shutil.which(cxx):
        return None
    compile_only = [o for o in options if not o.startswith(("-Wl", "-fuse-ld"))]
    link_only = [o for o in options if o.startswith(("-Wl", "-fuse-ld")) or "pie" in o]
    run = lambda *words: subprocess.run([str(w) for w in words], check=True, cwd=folder)
    harness = folder / "step.o"
    if not harness.exists():
        for part in PARTS:
            run("gcc", "-std=gnu17", "-D_GNU_SOURCE", "-O2", "-fno-omit-frame-pointer",
                f"-I{root}/src", "-c", runtime / f"{part}.c", "-o", f"{part}.o")
        run("gcc", "-std=gnu17", "-D_GNU_SOURCE", "-O2", f"-I{root}/src", "-c",
            tests / "unwind-step.c", "-o", harness)
    run(cc, *compile_only, "-c", tests / "unwind-subject.c", "-o", "subject.o")
    run(cxx, *compile_only, "-c", tests / "unwind-subject.cc", "-o", "subject-cxx.o")
    run(cc, *compile_only, "-fPIC", "-shared", tests / "unwind-far.c", "-o", "libfar.so")
    run("g++", *link_only, harness, *[f"{part}.o" for part in PARTS], "subject.o",
        "subject-cxx.o", "-L.", "-lfar", f"-Wl,-rpath,{folder}", "-o", "step")
    return folder / "step"


def run_cross(root, folder, cc, options, runner):
    """What unwind-cross.c says: (good, lines); None where it cannot be run."""
    if not shutil.which(cc) or runner and not shutil.which(runner.split()[0]):
        return None
    program = folder / "cross"
    sources = [root / "tests" / "unwind-cross.c",
               *[root / "src" / "runtime" / f"{part}.c" for part in PARTS]]
    subprocess.run([cc, "-std=gnu17", "-D_GNU_SOURCE", "-fno-omit-frame-pointer", *options.split(),
                    f"-I{root}/src", *sources, "-o", program], check=True)
    said = subprocess.run([*runner.split(), program], capture_output=True, text=True)
    lines = said.stdout.splitlines() + said.stderr.splitlines()
    return said.returncode == 0, [line.lstrip("# ") for line in lines if not line.startswith("ok")]


def check(program, arguments):
    """Steps, how many were equal, and lines about the others: (good, text)."""
    said = subprocess.run([program, *arguments.split()], capture_output=True, text=True)
    if said.returncode == 77:
        return None
    m = re.search(r"^steps (\d+) equal (\d+) broken (\d+)$", said.stdout, re.M)
    if said.returncode != 0 or not m:
        return 0, 0, [(False, f"ended with {said.returncode}: {said.stdout}{said.stderr}")]
    symbols = Symbols(str(program))
    causes, lines = {}, []
    for line in re.findall(r"^difference (\d+ .*)$", said.stdout, re.M):
        count, *words = line.split()
        d = {k: symbols.place(v) for k, v in (w.split("=", 1) for w in words)}
        cause = next((c for c, test in EXPLAINED.items() if test(d)), None)
        if cause:
            causes[cause] = causes.get(cause, 0) + int(count)
        else:
            lines.append((False, f"{count} times: {d}"))
    lines += [(True, f"{n} times: {cause}") for cause, n in causes.items()]
    return int(m[1]), int(m[2]), lines


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--source", type=pathlib.Path, required=True)
    parser.add_argument("--keep", type=pathlib.Path)
    args = parser.parse_args()
    tap = Tap()
    steps = equal = 0
    folder = args.keep or pathlib.Path(tempfile.mkdtemp(prefix="sonde-unwind-"))
    folder.mkdir(exist_ok=True)
    for cc, options, arguments in CASES:
        text = " ".join(filter(None, (cc, options, arguments)))
        if platform.machine() != "x86_64":
            tap.case(True, text, skip="needs x86-64's trap flag")
            continue
        program = build(args.source.resolve(), folder.resolve(), cc, options.split())
        result = program and check(program, arguments)
        if not result:
            tap.case(True, text, skip="no compiler, or no libunwind")
            continue
        n, same, lines = result
        steps += n
        equal += same
        # Explained differences are rare, or they would be something else.
        good = n > 10000 and same >= 0.997 * n and all(ok for ok, _ in lines)
        tap.case(good, f"{text}: {same} of {n} stacks are equal", [line for _, line in lines])
    for cc, options, runner in CROSS:
        result = run_cross(args.source.resolve(), folder.resolve(), cc, options, runner)
        text = f"{cc} {options}, interrupted at random"
        if result:
            tap.case(result[0], text, result[1])
        else:
            tap.case(True, text, skip="no compiler, or no qemu")
    if steps:
        print(f"# {equal} of {steps} stacks are equal: {100 * equal / steps:.3f} %")
    print(f"1..{tap.n}")
    if not args.keep:
        shutil.rmtree(folder)
    return tap.failed > 0


if __name__ == "__main__":
    raise SystemExit(main())
