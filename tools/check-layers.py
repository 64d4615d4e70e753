#!/usr/bin/env python3
"""Hold #include lines in src/ to docs/layers.txt, which must have no cycle.

usage: check-layers.py [ROOT]

SPDX-License-Identifier: Apache-2.0
"""
import pathlib
import re
import sys

root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".")
table = root / "docs/layers.txt"

allowed = {}
for line in table.read_text().splitlines():
    if not line or line.startswith("#"):
        continue
    folder, _, below = line.partition(":")
    for dep in below.split():
        if dep not in allowed:  # only folders listed above may be named
            sys.exit(f"{table}: '{folder}' names '{dep}' before it is defined")
    allowed[folder] = {folder, *below.split()}

bad = seen = 0
for path in sorted((root / "src").rglob("*.[ch]")):
    folder = path.parent.name
    seen += 1
    if path.parent.parent != root / "src" or folder not in allowed:
        print(f"{path}: its folder is not in {table}")
        bad += 1
        continue
    for n, line in enumerate(path.read_text().splitlines(), 1):
        m = re.match(r'\s*#\s*include\s+"([^"]+)"', line)
        if not m:
            continue
        above, slash, _ = m[1].partition("/")
        if not slash or not (root / "src" / m[1]).is_file():
            print(f'{path}:{n}: "{m[1]}" is not the "folder/file.h" of a header in src/')
            bad += 1
        elif above not in allowed[folder]:
            print(f"{path}:{n}: {folder}/ may not include from {above}/")
            bad += 1
if not seen:
    sys.exit(f"{root}/src: nothing to check")
sys.exit(bad > 0)
