#!/usr/bin/env python3
"""The tables printed in the documents of the systems the tool must serve, reproduced.

usage: goldens.py --sonde PROGRAM

tests/golden/ holds what those documents show (or what the reference printed, where they show
a picture); the profiles carry the same numbers.

SPDX-License-Identifier: Apache-2.0
"""
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
PROFILES, GOLDEN = HERE / "profiles", HERE / "golden"
SONDE = pathlib.Path(sys.argv[sys.argv.index("--sonde") + 1]).resolve()
ENTERING = 'Entering interactive mode (type "help" for commands, "o" for options)\n'
results = []


def check(what, want, got):
    results.append(want == got)
    print(f"{'' if want == got else 'not '}ok {len(results)} - {what}")
    if want != got:
        for name, text in (("wanted", want), ("got", got)):
            print("".join(f"# {name}: {line}\n" for line in str(text).splitlines()[:30]), end="")


def sonde(*args, say="", where=PROFILES):
    env = {"PATH": "/usr/bin:/bin", "TZ": "UTC", "TERM": "dumb", "HOME": "/nonexistent"}
    r = subprocess.run([SONDE, *args], input=say, capture_output=True, text=True, cwd=where, env=env)
    return r.stdout, r.stderr, r.returncode


def golden(name):
    return (GOLDEN / name).read_text()


def table(what, name, *args, say, greeting):
    """A shell session: the table on standard output, the greeting on standard error."""
    out, err, status = sonde(*args, say=say)
    check(f"{what}: the table", golden(name).rstrip("\n"), out.rstrip("\n"))
    check(f"{what}: the greeting", greeting + ENTERING, err)
    check(f"{what}: the exit status", 0, status)


def traces():
    with tempfile.TemporaryDirectory() as tmp:
        shutil.copy(PROFILES / "heketi-traces.pb.gz", tmp)
        out, err, _ = sonde("heketi-traces.pb.gz", say="unit=megabytes\ntraces > traces.txt\n", where=tmp)
        text = (pathlib.Path(tmp) / "traces.txt").read_text()
        pipeline = "grep ReadMIMEHeader traces.txt | sort -n -r | head -n3"
        top = subprocess.run(pipeline, shell=True, cwd=tmp, capture_output=True, text=True).stdout
    want = golden("heketi.traces.txt").removeprefix("(pprof) (pprof) ").removesuffix("(pprof) ")
    check("traces > traces.txt holds the stacks", want, text)
    check("and says where they are", "Generating report in traces.txt", err.splitlines()[-1])
    check("and three prompts", "(pprof) " * 3, out)
    values = re.findall(r"^ *([\d.]+)MB", top, re.M)
    check("sort -n -r puts the largest first", sorted(values, key=float, reverse=True), values)


def colons():
    """A file whose name has colons in it is a file, not a host and a port."""
    stamp = "2020-10-01-22:08:40"
    with tempfile.TemporaryDirectory() as tmp:
        folder = pathlib.Path(tmp) / stamp
        folder.mkdir()
        shutil.copy(PROFILES / "arktos-cpu.pb.gz", folder / f"kube-apiserver-profile-{stamp}.pprof")
        out, err, status = sonde(f"{stamp}/kube-apiserver-profile-{stamp}.pprof", say="top\n", where=tmp)
        check("a name with colons is a file", golden("arktos-cpu.top.txt").rstrip("\n"), out.rstrip("\n"))


def main():
    table("heap of heketi, unit=megabytes, top", "heketi.top.txt", "heketi.pb.gz",
          say="unit=megabytes\ntop\n", greeting="File: heketi\nBuild ID: "
          "059f700e17a8784ed6f60251c868dd4b3e002e85\nType: inuse_space\nTime: Oct 16, 2018 at 11:14am (UTC)\n")
    table("CPU profile of kube-apiserver, top", "arktos-cpu.top.txt", "arktos-cpu.pb.gz", say="top\n",
          greeting="File: kube-apiserver\nType: cpu\nTime: Oct 1, 2020 at 10:08pm (UTC)\n"
          "Duration: 30.11s, Total samples = 245.12s (814.03%)\n")
    table("two heaps compared, top", "arktos-base.top.txt", "--base", "arktos-heap-base.pb.gz",
          "arktos-heap-new.pb.gz", say="top\n",
          greeting="File: kube-apiserver\nType: inuse_space\nTime: Oct 1, 2020 at 9:07pm (UTC)\n")
    out, _, _ = sonde("-trim_path", "/go/src", "-source_path", "srcroot", "arktos-list.pb.gz",
                      say="list convertToWatchEvent\n")
    check("list convertToWatchEvent, with its source", golden("arktos.list.txt").rstrip("\n"), out.rstrip("\n"))
    for name in ("voltha-leak", "voltha-fixed"):
        out, _, _ = sonde(f"{name}.pb.gz", say="top\n")
        check(f"{name}, top", golden(f"{name}.top.txt").rstrip("\n"), out.rstrip("\n"))
    traces()
    out, _, _ = sonde("-dot", "voltha-leak.pb.gz")
    check("the graph of voltha-leak", golden("voltha-leak.dot"), out)
    colons()
    print(f"1..{len(results)}")
    return not all(results)


sys.exit(main())
