#!/usr/bin/env python3
"""House rules a machine can check, one TAP case each.

usage: check-source.py [ROOT]

SPDX-License-Identifier: Apache-2.0
"""
import json
import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".").resolve()
LONGEST_FUNCTION = 80
LONGEST_FILE = 800
TEXT = {".c", ".h", ".py", ".md", ".txt", ".build", ".scd", ".json", ".yml", ".in", ".ts", ".tsx", ".mjs",
        ".css", ""}
CODE = ("src", "include", "examples", "fuzz", "bench", "tests")

# What each has in common: there is no way to use it that a reader need not check.
BANNED = """strcpy strcat strncpy strncat sprintf vsprintf gets strtok alloca atoi atol atoll
    atof tmpnam mktemp tempnam system popen rand gmtime localtime asctime ctime
    scanf sscanf fscanf readdir_r strlcpy""".split()

# Words that only mean something on the machine where they were written.  Spelt so that
# this file does not contain them.
WORKPLACE = [r"/w[o]rk/", r"/r[o]ot/", r"/h[o]me/\w", r"\.\./sh[a]red", r"\bT[O]DO\b", r"\bF[I]XME\b",
             r"\bX{3}\b:?\s"]
IN_PROSE = [r"/t[m]p/"]  # tests may name a place that does not exist; documents may not


def files(*tops):
    """All our text files below these folders (or everywhere), outside build folders."""
    for top, dirs, names in os.walk(ROOT):
        rel = pathlib.Path(top).relative_to(ROOT)
        dirs[:] = sorted(d for d in dirs if not d.startswith((".git", "build", "__pycache__", "node_modules"))
                         and rel / d not in map(pathlib.Path, ("tests/golden", "tests/profiles",
                                                               "fuzz/corpus", "tests/srcroot")))
        for name in sorted(names):
            path = pathlib.Path(top) / name
            if name == ".git":  # of a linked work tree
                continue
            if path.suffix == "" and path.open("rb").read(4) == b"\x7fELF":  # of an example
                continue
            if path.suffix in TEXT and (not tops or rel.parts and rel.parts[0] in tops):
                yield path


def sources():
    return [p for p in files(*CODE) if p.suffix in (".c", ".h")]


def lines(path):
    return enumerate(path.read_text(errors="replace").splitlines(), 1)


def name(path):
    return str(path.relative_to(ROOT))


def strip(text):
    """Blank out comments and string literals, keeping line numbers."""
    pattern = r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\''
    return re.sub(pattern, lambda m: re.sub(r"[^\n]", " ", m[0]), text, flags=re.S)


def banned_functions():
    call = re.compile(r"(?<![\w.>])(" + "|".join(BANNED) + r")\s*\(")
    for path in sources():
        for n, line in enumerate(strip(path.read_text()).splitlines(), 1):
            m = call.search(line)
            if m:
                yield f"{name(path)}:{n}: {m[1]}() is banned"


def licence_lines():
    for path in files():
        script = path.suffix == "" and path.read_bytes()[:2] == b"#!"
        if path.suffix in (".c", ".h", ".py", ".build", ".ts", ".tsx", ".mjs") or script or path.name == "Makefile":
            if "SPDX-License-Identifier: Apache-2.0" not in path.read_text():
                yield f"{name(path)}: no SPDX line"


def file_headers():
    """A source opens with its own name and what it is for."""
    for path in sources():
        if not path.read_text().startswith(f"/*\n * {path.name} - "):
            yield f"{name(path)}: does not open with '{path.name} - what it is for'"
    for path in files("page", "tests"):
        if path.suffix in (".ts", ".tsx", ".mjs") and not path.read_text().startswith(f"// {path.name} - "):
            yield f"{name(path)}: does not open with '{path.name} - what it is for'"


def unique_names():
    """One base name, one module: 'build.c' can be said aloud without its folder.  What lives in
    other people's processes is a program of its own."""
    seen = {}
    for path in files("src"):
        if path.suffix in (".c", ".h"):
            other = seen.setdefault((path.parent.name == "runtime", path.name), path)
            if other != path:
                yield f"{name(path)}: there is a {name(other)} already"


def workplace_words():
    for path in files():
        prose = path.suffix in (".md", ".scd", ".txt") or name(path).startswith(("src/", "docs/"))
        words = re.compile("|".join(WORKPLACE + IN_PROSE * prose))
        for n, line in lines(path):
            m = words.search(line)
            if m:
                yield f"{name(path)}:{n}: '{m[0].strip()}' does not belong here"


def function_length():
    paths = [str(p) for p in sources() if p.suffix == ".c"]
    if not paths:
        return
    tags = subprocess.run(["ctags", "--output-format=json", "--fields=+ne", "--kinds-C=f",
                           "-o", "-", *paths], capture_output=True, text=True, check=True).stdout
    for tag in map(json.loads, tags.splitlines()):
        length = tag.get("end", tag["line"]) - tag["line"] + 1
        if length > LONGEST_FUNCTION:
            path = pathlib.Path(tag["path"])
            yield f"{name(path)}:{tag['line']}: {tag['name']}() has {length} lines"


def file_length():
    for path in files("src", "page"):
        n = len(path.read_text().splitlines())
        if path.suffix in (".c", ".h", ".ts", ".tsx", ".css") and n > LONGEST_FILE:
            yield f"{name(path)}: {n} lines"


def assignment_in_condition():
    cond = re.compile(r"\b(?:if|while)\s*\((?:[^=;{}]|[=!<>]=)*[^=!<>]=(?!=)[^;{}]*\)\s*(?:\{|$)")
    for path in sources():
        for n, line in enumerate(strip(path.read_text()).splitlines(), 1):
            if cond.search(line):
                yield f"{name(path)}:{n}: assignment inside a condition"


def libraries_are_silent():
    """Below ui/ and daemon/ nothing prints, exits or reads the environment."""
    call = re.compile(r"(?<![\w.>])(printf|puts|putchar|perror|exit|getenv|secure_getenv)\s*\(|"
                      r"\b(stdout|stderr|environ)\b")
    for path in files("src"):
        if path.suffix not in (".c", ".h") or path.parent.name in ("ui", "daemon"):
            continue
        for n, line in enumerate(strip(path.read_text()).splitlines(), 1):
            m = call.search(line)
            if m and name(path) not in MAY_SPEAK:
                yield f"{name(path)}:{n}: '{m[0]}' below ui/"


def tests_are_counted():
    """What does not speak TAP is not counted: such a test could lose all its cases unseen."""
    for path in files("tests"):
        text = path.read_text() if path.suffix == ".c" else ""
        if "cmocka_run_group_tests(" in text and "CM_OUTPUT_TAP" not in text:
            yield f"{name(path)}: cmocka does not print TAP"


# The helpers that end the program when memory is gone, or the installation is broken; and where
# libsonde looks whether it is switched on.
MAY_SPEAK = {"src/base/xalloc.c", "src/base/lazy.c", "src/runtime/api.c"}

RULES = [banned_functions, licence_lines, file_headers, unique_names, workplace_words,
         function_length, file_length, assignment_in_condition, libraries_are_silent, tests_are_counted]


def main():
    if not sources():
        print("Bail out! nothing to check")
        return 1
    failed = 0
    for n, rule in enumerate(RULES, 1):
        found = list(rule())
        failed += bool(found)
        print(f"{'not ' if found else ''}ok {n} - {rule.__name__.replace('_', ' ')}")
        for line in found:
            print(f"# {line}")
    print(f"1..{len(RULES)}")
    return failed > 0


sys.exit(main())
