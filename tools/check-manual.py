#!/usr/bin/env python3
"""Does the manual tell of every flag the program offers, and of no other?

usage: check-manual.py SONDE MANUAL [COMMAND]	MANUAL as man(1) reads it

SPDX-License-Identifier: Apache-2.0
"""
import re
import subprocess
import sys

sonde, manual = sys.argv[1:3]
command = sys.argv[3:]
usage = subprocess.run([sonde, *command, "--help"], capture_output=True, text=True)
offered = set(re.findall(r"^ +--?([\w-]+)\b", usage.stdout + usage.stderr, re.M))
with open(manual) as f:
    text = re.sub(r"\\f[BRIP]|\\&", "", f.read()).replace("\\-", "-")
told = set(re.findall(r"^--?(\w[\w-]*)", text, re.M))

if not offered or not told:
    sys.exit(f"{len(offered)} flags offered, {len(told)} in the manual: nothing to check")
for flag in sorted(offered - told):
    print(f"-{flag} is not in the manual")
accepted = subprocess.run([sonde, "--dump-options=usage"], capture_output=True, text=True).stdout
for flag in sorted(f for f in told - offered if not re.search(rf"-{f}\b", accepted)):
    print(f"-{flag} is in the manual, but is no flag")
    offered.add(None)
sys.exit(bool(offered - told))
