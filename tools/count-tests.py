#!/usr/bin/env python3
"""Sum the cases of TAP files and Meson's JUnit logs: "N passed, N failed", as the last line.

usage: count-tests.py FILE...

A program that died before it had said how many cases it has counts as one failure, and so
does a log that is missing or empty.  Skipped cases count as neither.  The exit status is 1
if anything failed.

SPDX-License-Identifier: Apache-2.0
"""
import pathlib
import re
import sys
import xml.etree.ElementTree as ET


SHOWN = 12  # lines of what a failed case said


def said(suite, case):
    """What the case printed behind its "not ok": its first and its last lines."""
    text = suite.findtext("system-out") or ""
    lines = text.split(f"not ok {case}\n", 1)[-1].splitlines() if case in text else []
    end = next((i for i, line in enumerate(lines) if not line.startswith("#")), len(lines))
    lines = [line[:300] for line in lines[:end]]
    if len(lines) > 2 * SHOWN:
        lines[SHOWN:-SHOWN] = ["# ..."]
    return lines


def parse(path):
    """What a test has said may have characters that XML has no way to write, such as colours of a terminal."""
    return ET.fromstring(re.sub(r"[\x00-\x08\x0b\x0c\x0e-\x1f]", "", path.read_text(errors="replace")))


def junit(path):
    passed = failed = 0
    for suite in parse(path).iter("testsuite"):
        cases = list(suite.iter("testcase"))
        bad = skipped = 0
        for case in cases:
            if case.find("failure") is not None or case.find("error") is not None:
                bad += 1
                print(f"FAILED {suite.get('name')}: {case.get('name')}", *said(suite, case.get("name")), sep="\n")
            elif case.find("skipped") is not None:
                skipped += 1
        told = int(suite.get("failures", 0)) + int(suite.get("errors", 0))
        if told > bad:
            print(f"FAILED {suite.get('name')}: ended badly")
            bad = told
        failed += bad
        passed += max(0, len(cases) - bad - skipped)
    return passed, failed


def tap(path):
    passed = failed = 0
    planned = None
    for line in path.read_text(errors="replace").splitlines():
        plan = re.match(r"1\.\.(\d+)", line)
        if plan:
            planned = int(plan[1])
        elif line.startswith("not ok"):
            failed += 1
            print(f"FAILED {line[7:]}")
        elif line.startswith("ok"):
            passed += "# SKIP" not in line
    if planned is None:
        print(f"FAILED {path.stem}: ended early")
        failed += 1
    return passed, failed


def main():
    passed = failed = 0
    for path in map(pathlib.Path, sys.argv[1:]):
        p, f = 0, 1
        if not path.is_file():
            print(f"FAILED {path}: missing")
        else:
            p, f = junit(path) if path.suffix == ".xml" else tap(path)
            if p + f == 0:
                print(f"FAILED {path}: no tests in it")
                f = 1
        passed += p
        failed += f
    print(f"{passed} passed, {failed} failed")
    return failed > 0


sys.exit(main())
