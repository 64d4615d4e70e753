#!/usr/bin/env python3
"""Test the gates: each must pass a clean tree and refuse a violation it is fed.

usage: gates.py [ROOT]

SPDX-License-Identifier: Apache-2.0
"""
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".").resolve()

GOOD_H = """/*
 * {0}.h - an example
 *
 * SPDX-License-Identifier: Apache-2.0
 */
int {0}_sum(int a, int b);
"""

GOOD_C = """/*
 * {0}.c - an example
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "{1}/{0}.h"

int {0}_sum(int a, int b)
{{
	return a + b;
}}
"""

LONG = "int shape(int x);\nint shape(int x)\n{\n" + "\tx++;\n" * 90 + "\treturn x;\n}\n"

# gate, what is wrong, file it is put in, text added to that file, part of the complaint
VIOLATIONS = [
    ("check-layers.py", "an upward include", "src/base/low.c", '#include "view/high.h"\n',
     "src/base/low.c:12: base/ may not include from view/"),
    ("check-layers.py", "an include of nothing", "src/base/low.c", '#include "base/gone.h"\n',
     '"base/gone.h" is not'),
    ("check-layers.py", "an include without a folder", "src/base/low.c", '#include "low.h"\n',
     '"low.h" is not'),
    ("check-layers.py", "a folder that has no line", "src/extra/new.c", "int x;\n",
     "its folder is not in"),
    ("check-layers.py", "a cycle in the table", "docs/layers.txt", "net:  pearl\npearl:  net\n",
     "names 'pearl' before it is defined"),
    ("check-format", "four blanks for a tab", "src/base/low.c", "int f(void)\n{\n    return 0;\n}\n",
     "src/base/low.c:13"),
    ("check-source.py", "a banned function", "src/view/high.c",
     "void f(char *d);\nvoid f(char *d)\n{\n\tstrcpy(d, d);\n}\n", "strcpy() is banned"),
    ("check-source.py", "a source without licence", "src/view/bare.c", "int y;\n", "no SPDX line"),
    ("check-source.py", "a source without a header", "src/view/bare.c",
     "/* SPDX-License-Identifier: Apache-2.0 */\n", "does not open with"),
    ("check-source.py", "two files of one name", "src/view/low.c", GOOD_C.format("low", "base"),
     "there is a src/base/low.c already"),
    ("check-source.py", "a path of somebody's machine", "docs/NOTES.md", "See /wo" + "rk/notes.\n",
     "docs/NOTES.md:1: '/wo" + "rk/' does not belong here"),
    ("check-source.py", "a temporary path in a document", "docs/NOTES.md", "Run /tm" + "p/a.out.\n",
     "does not belong here"),
    ("check-source.py", "a loose end", "src/view/high.c", "/* TO" + "DO: more */\n",
     "does not belong here"),
    ("check-source.py", "a long function", "src/view/high.c", LONG, "shape() has 94 lines"),
    ("check-source.py", "a long file", "src/view/high.c", "\n" * 800, "lines"),
    ("check-source.py", "an assignment as a condition", "src/view/high.c",
     "int f(int a);\nint f(int a)\n{\n\tif ((a = 3))\n\t\treturn 1;\n\treturn a;\n}\n",
     "assignment inside a condition"),
    ("lint", "a pointer that may be null", "src/base/low.c",
     "int f(int a);\nint f(int a)\n{\n\tint *p = a ? &a : (int *)0;\n\n\treturn *p;\n}\n",
     "not ok 1 - clang-tidy src/base/low.c"),
    ("lint", "an array read past its end", "src/base/low.c",
     "int f(void);\nint f(void)\n{\n\tint a[3] = { 0 };\n\n\treturn a[3];\n}\n",
     "not ok 3 - cppcheck"),
    ("check-source.py", "a library that prints", "src/view/high.c",
     "void f(void);\nvoid f(void)\n{\n\tprintf(\"x\");\n}\n", "below ui/"),
    ("check-source.py", "a test that is not counted", "tests/test-low.c",
     "/*\n * test-low.c - x\n *\n * SPDX-License-Identifier: Apache-2.0\n */\n"
     "int main(void)\n{\n\treturn cmocka_run_group_tests(tests, 0, 0);\n}\n", "does not print TAP"),
]


def clean_tree(where):
    for folder, module in (("base", "low"), ("view", "high")):
        (where / "src" / folder).mkdir(parents=True)
        (where / f"src/{folder}/{module}.h").write_text(GOOD_H.format(module))
        (where / f"src/{folder}/{module}.c").write_text(GOOD_C.format(module, folder))
    (where / "docs").mkdir()
    (where / "docs/layers.txt").write_text("base:\nview:  base\n")
    for dotfile in (".clang-format", ".clang-tidy"):
        shutil.copy(ROOT / dotfile, where)
    (where / "compile_commands.json").write_text(json.dumps([
        {"directory": str(where), "file": str(path), "command": f"cc -Isrc -c {path}"}
        for path in sorted(where.rglob("*.c"))]))


def run(gate, where):
    r = subprocess.run([ROOT / "tools" / gate, where], cwd=where, capture_output=True, text=True)
    return r.returncode, r.stdout + r.stderr


LOGS = {
    "ok 1 - a\nnot ok 2 - b\n1..2\n": "1 passed, 1 failed",
    "ok 1 - a\nok 2 - b # SKIP no net\n1..2\n": "1 passed, 0 failed",
    "ok 1 - a\n": "1 passed, 1 failed",
    "": "0 passed, 1 failed",
    '<testsuite name="s" failures="1"><testcase name="a"><failure/></testcase>'
    '<system-out>not ok 1 - a\n# \x1b[2mdim\n</system-out></testsuite>': "0 passed, 1 failed",
}


def counts():
    """count-tests.py must not lose a failure, nor a program that died half-way."""
    for text, verdict in LOGS.items():
        with tempfile.TemporaryDirectory() as tmp:
            log = pathlib.Path(tmp) / ("log.xml" if text.startswith("<") else "log.tap")
            log.write_text(text)
            r = subprocess.run([ROOT / "tools/count-tests.py", log], capture_output=True, text=True)
        good = r.stdout.splitlines()[-1] == verdict and (r.returncode == 0) == (", 0" in verdict)
        yield f"count-tests.py says {verdict} of {text[:20]!r}", good, r.stdout


def refuses(gate, path, text, complaint):
    with tempfile.TemporaryDirectory() as tmp:
        where = pathlib.Path(tmp)
        clean_tree(where)
        target = where / path
        target.parent.mkdir(exist_ok=True)
        with open(target, "a") as f:
            f.write(text)
        status, said = run(gate, where)
    return status != 0 and complaint in said, said


def passes(gate, where):
    clean_tree(where)
    status, said = run(gate, where)
    return status == 0, said


MANUALS = {
    "\\fB-top\\fR\n\\fB-cum\\fR\n": True,
    "\\fB-top\\fR\n": False,
    "\\fB-top\\fR\n\\fB-cum\\fR\n\\fB-gone\\fR\n": False,
    "": False,
}


def manuals():
    """check-manual.py must miss neither a flag nor a leftover."""
    for text, fine in MANUALS.items():
        with tempfile.TemporaryDirectory() as tmp:
            program, manual = pathlib.Path(tmp) / "sonde", pathlib.Path(tmp) / "sonde.1"
            program.write_text("#!/bin/sh\necho '    -top  x'\necho '    -cum  y'\n")
            program.chmod(0o755)
            manual.write_text(text)
            r = subprocess.run([ROOT / "tools/check-manual.py", program, manual], capture_output=True, text=True)
        flags = " ".join(text.split()) or "nothing"
        yield f"check-manual.py {'passes' if fine else 'refuses'} {flags}", (r.returncode == 0) == fine, r.stdout


def main():
    results = []
    for gate in sorted({v[0] for v in VIOLATIONS}):
        with tempfile.TemporaryDirectory() as tmp:
            results.append((f"{gate} passes a clean tree", *passes(gate, pathlib.Path(tmp))))
        with tempfile.TemporaryDirectory() as tmp:
            shutil.copytree(ROOT / "docs", pathlib.Path(tmp) / "docs")
            status, said = run(gate, pathlib.Path(tmp))
            results.append((f"{gate} does not pass an empty tree", status != 0, said))
    for gate, what, path, text, complaint in VIOLATIONS:
        results.append((f"{gate} refuses {what}", *refuses(gate, path, text, complaint)))
    results += counts()
    results += manuals()
    for n, (what, good, said) in enumerate(results, 1):
        print(f"{'' if good else 'not '}ok {n} - {what}")
        if not good:
            print("".join(f"# {line}\n" for line in said.splitlines()), end="")
    print(f"1..{len(results)}")
    return any(not good for _, good, _ in results)


sys.exit(main())
