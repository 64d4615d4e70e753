#!/usr/bin/env python3
"""Compare sonde with Debian's go tool pprof: the same command line, the same bytes.

usage: compat.py --sonde PROGRAM --profiles FOLDER --cache FILE [--stored FILE] [options]

Every case is run by both, in an empty folder of its own; what they write on standard output
and standard error, the files they leave behind and their exit status must be equal.  Only
this is smoothed over (besides differences.py): compressed output is compared uncompressed (the compressors differ),
and the names of the folder and of the server's ports ("@" in both).

The reference answers some command lines differently from run to run (it walks hash tables).
So where the answers differ the reference is asked again, several times, and ours must be one
of its answers.  Where many ties make too many answers to hope for the same one, and the
reference has given at least two, ours must have the same lines in each block (see varied.py).

Its answers are kept in --cache.  Without the reference, the cases whose answers are in
--stored are run against those.

  --update       write --stored anew, from the reference; with --sonde, also with the answers it
                 only gives when asked again
  --matrix live  the cases for profiles that nobody has seen before (see live.py)
  --extra N      N more random mixes and N/5 random sessions, not stored (live only)
  --seed N       for --extra
  --only TEXT    only cases whose text contains this
  --every N      only every Nth case
  --show N       how many differences to show in full (default 20)

SPDX-License-Identifier: Apache-2.0
"""
import argparse
import base64
import concurrent.futures
import difflib
import hashlib
import json
import lzma
import os
import pathlib
import pickle
import shlex
import shutil
import subprocess
import sys
import tempfile
import threading
import zlib

import cases
import differences
import server
import varied

# How often the reference is asked again: if only the order differs, and if more does.  An answer of ours that it
# gives one time in three is missed once in 10^7 so.
RETRIES_ORDER = 40
RETRIES = 40
SECONDS = 120


def reference():
    """The program behind "go tool pprof", or None.  Started directly: the exit status is its own."""
    try:
        tool = subprocess.run(["go", "tool", "-n", "pprof"], capture_output=True, text=True)
    except FileNotFoundError:
        return None
    path = tool.stdout.strip()
    return path if tool.returncode == 0 and os.path.exists(path) else None


def inflate(data):
    """Uncompressed, whatever the number of members; as it is if it is not gzip."""
    out = b""
    while data[:2] == b"\x1f\x8b":
        d = zlib.decompressobj(31)
        try:
            out += d.decompress(data) + d.flush()
        except zlib.error:
            return data
        data = d.unused_data
    return out + data


class Runner:
    """Runs cases in scratch folders, one per thread."""

    def __init__(self, profiles):
        self.profiles = profiles
        self.local = threading.local()
        self.top = tempfile.mkdtemp(prefix="compat-")
        self.ports = {"@HTTP": f"127.0.0.1:{server.start(profiles)}",
                      "@TLS": f"127.0.0.1:{server.start(profiles, server.certify(self.top))}"}

    def filled_in(self, text):
        for name, port in self.ports.items():
            text = text.replace(name, port)
        return text

    def smooth(self, data, where):
        """Take out what cannot be the same twice."""
        data = differences.comparable_picture(data).replace(str(where).encode(), b"@")
        for name, port in self.ports.items():
            data = data.replace(port.encode(), name.encode())
        return data

    def folder(self):
        if not hasattr(self.local, "path"):
            self.local.path = pathlib.Path(tempfile.mkdtemp(dir=self.top))
        path = self.local.path
        if path.exists():
            shutil.rmtree(path)
        (path / "home").mkdir(parents=True)
        (path / "p").symlink_to(self.profiles)
        return path

    def run(self, program, case):
        where = self.folder()
        env = {"PATH": "/usr/bin:/bin", "HOME": str(where / "home"), "TZ": "UTC", "TERM": "dumb",
               "LANG": "C.UTF-8", "GOROOT": "/nonexistent", "XDG_CACHE_HOME": self.top + "/cache",
               **case.get("env", {})}
        try:
            r = subprocess.run([program, *map(self.filled_in, case["args"])], cwd=where, env=env, timeout=SECONDS,
                               input=case.get("stdin", "").encode(), capture_output=True)
            status, out, err = r.returncode, r.stdout, r.stderr
        except subprocess.TimeoutExpired:
            status, out, err = "timeout", b"", b""
        files = {}
        for top, dirs, names in os.walk(where):
            for n in names:
                path = pathlib.Path(top) / n
                files[str(path.relative_to(where))] = self.smooth(inflate(path.read_bytes()), where)
        err = differences.without_pointers(self.smooth(err, where))
        return status, self.smooth(inflate(out), where), err, tuple(sorted(files.items()))

    def close(self):
        shutil.rmtree(self.top, ignore_errors=True)


class Answers:
    """What the reference has said, by case.  One case may have several answers."""

    def __init__(self, path, profiles, live):
        self.path, self.lock = path, threading.Lock()
        self.sums = {p: hashlib.sha256(inflate((profiles / p).read_bytes())).hexdigest()[:16]
                     for p in sorted(os.listdir(profiles)) if (profiles / p).is_file()}
        self.known = {}
        if live and path.exists():
            self.known = pickle.loads(path.read_bytes())

    def key(self, case):
        """The case, and the contents of the profiles it names."""
        text = json.dumps(case, sort_keys=True)
        used = [self.sums[n] for n in sorted(self.sums) if n in text]
        return hashlib.sha256((text + "".join(used)).encode()).hexdigest()[:32]

    def get(self, case):
        return self.known.get(self.key(case), [])

    def add(self, case, answer):
        with self.lock:
            have = self.known.setdefault(self.key(case), [])
            if answer not in have:
                have.append(answer)

    def save(self):
        self.path.parent.mkdir(parents=True, exist_ok=True)
        aside = self.path.with_suffix(".new")
        aside.write_bytes(pickle.dumps(self.known))
        aside.rename(self.path)


# The stored form: JSON in xz, each different text once; and of long ones only the sum, if there
# is but one answer.

LONG = 16384


def short(data):
    return data if len(data) <= LONG else b"sha256 " + hashlib.sha256(data).hexdigest().encode()


def shortened(answer):
    status, out, err, files = answer
    return status, short(out), short(err), tuple((n, short(d)) for n, d in files)


def store(path, todo, answers):
    texts, index, rows = [], {}, []

    def text(data):
        if data not in index:
            index[data] = len(texts)
            try:
                texts.append(data.decode())
            except UnicodeDecodeError:
                texts.append([base64.b85encode(data).decode()])
        return index[data]

    for case in todo:
        said = answers.get(case)[:6]
        if len(said) == 1:
            said = map(shortened, said)
        rows.append([case, [[s, text(o), text(e), [[n, text(d)] for n, d in f]] for s, o, e, f in said]])
    body = json.dumps({"texts": texts, "cases": rows}, ensure_ascii=False, separators=(",", ":"))
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(lzma.compress(body.encode(), preset=9))


def restore(path):
    body = json.loads(lzma.decompress(path.read_bytes()))
    texts = [t.encode() if isinstance(t, str) else base64.b85decode(t[0]) for t in body["texts"]]
    for case, said in body["cases"]:
        yield case, [(s, texts[o], texts[e], tuple((n, texts[d]) for n, d in f)) for s, o, e, f in said]


def difference(want, got):
    """A few lines that tell how the answers differ."""
    lines = []
    if want[0] != got[0]:
        lines.append(f"exit status {got[0]}, not {want[0]}")
    pairs = [("stdout", want[1], got[1]), ("stderr", want[2], got[2])]
    theirs, ours = dict(want[3]), dict(got[3])
    pairs += [(n, theirs.get(n, b"(no such file)"), ours.get(n, b"(no such file)"))
              for n in sorted({*theirs, *ours})]
    for name, a, b in pairs:
        if a != b:
            a, b = (x.decode(errors="backslashreplace").splitlines(keepends=True) for x in (a, b))
            diff = difflib.unified_diff(a[:4000], b[:4000], "go:" + name, "sonde:" + name, n=1)
            lines += [repr(line)[1:-1][:200] for line in diff][:14]
    return lines


def describe(case):
    env = "".join(f"{k}={shlex.quote(v)} " for k, v in case.get("env", {}).items())
    text = env + "sonde " + shlex.join(case["args"])
    if "stdin" in case:
        text += " <<< " + json.dumps(case["stdin"], ensure_ascii=False)
    return text.replace("#", "\\#")


class Comparison:
    def __init__(self, options):
        self.options = options
        self.runner = Runner(options.profiles)
        self.go = reference() if not options.offline else None
        self.answers = Answers(options.cache, options.profiles, self.go)
        self.nondeterministic = []

    def ask(self, case, times=1):
        for _ in range(times):
            self.answers.add(case, self.runner.run(self.go, case))
        return self.answers.get(case)

    def check(self, case):
        """None if ours is one of the reference's answers, else how it differs."""
        said = self.answers.get(case)
        if not said and self.go:
            said = self.ask(case)
        if not said:
            return ["no answer to compare with"]
        got = differences.strip(self.runner.run(self.options.sonde, case))
        if not self.go and len(said) == 1:
            got = shortened(got)
        tries = 0
        while self.go and got not in said:
            same_lines = varied.one_of(got, said)
            if same_lines and len(said) > 1 or tries == (RETRIES_ORDER if same_lines else RETRIES):
                break
            tries += 1
            said = self.ask(case)
        if len(said) > 1:
            self.nondeterministic.append(case)
            if varied.one_of(got, said):
                return None
        return None if got in said else difference(said[0], got)


def todo_list(options, live):
    profiles = sorted(p for p in os.listdir(options.profiles) if (options.profiles / p).is_file() and p != "mixed")
    todo = list(cases.MATRICES[options.matrix](profiles))
    if options.extra and live:
        todo += cases.random_mixes(profiles, options.extra, options.seed)
        todo += cases.random_sessions(profiles, options.extra // 5, options.seed)
    if live and options.matrix == "stored" and shutil.which("dot"):
        todo += cases.pictures(profiles)
    todo = map(differences.portable, todo)
    todo = [c for c in todo if options.only in describe(c) and differences.comparable(c)]
    return todo[:: options.every]


def main():
    a = argparse.ArgumentParser()
    for name in ("sonde", "profiles", "cache", "stored"):
        a.add_argument("--" + name, type=lambda p: pathlib.Path(p).resolve())
    a.add_argument("--matrix", default="stored", choices=cases.MATRICES)
    a.add_argument("--update", action="store_true")
    a.add_argument("--offline", action="store_true", help="as if the reference were not installed")
    a.add_argument("--extra", type=int, default=int(os.environ.get("COMPAT_EXTRA", 0)))
    a.add_argument("--seed", type=int, default=int(os.environ.get("COMPAT_SEED", 7)))
    a.add_argument("--only", default=os.environ.get("COMPAT_ONLY", ""))
    a.add_argument("--every", type=int, default=int(os.environ.get("COMPAT_EVERY", 1)))
    a.add_argument("--show", type=int, default=20)
    options = a.parse_args()

    c = Comparison(options)
    try:
        return run(c, options)
    finally:
        c.runner.close()


def run(c, options):
    pool = concurrent.futures.ThreadPoolExecutor(len(os.sched_getaffinity(0)))
    if options.update:
        todo = todo_list(options, False)
        list(pool.map(lambda case: c.check(case) if options.sonde else c.ask(case, 2), todo))
        c.answers.save()
        store(options.stored, todo, c.answers)
        print(f"{len(todo)} cases, {options.stored.stat().st_size} bytes")
        return 0
    if c.go:
        todo = todo_list(options, True)
    else:
        print("# go tool pprof is not installed: comparing with stored answers")
        todo = []
        for case, said in restore(options.stored):
            if options.only in describe(case) and differences.comparable(case):
                todo.append(case)
                for answer in said:
                    c.answers.add(case, answer)
        todo = todo[:: options.every]
    failed = 0
    for n, (case, bad) in enumerate(zip(todo, pool.map(c.check, todo)), 1):
        print(f"{'not ' if bad else ''}ok {n} - {describe(case)}")
        if bad:
            failed += 1
            if failed <= options.show:
                print("".join(f"#   {line}\n" for line in bad), end="", flush=True)
    print(f"1..{len(todo)}")
    print(f"# {len(todo) - failed} equal, {failed} different, "
          f"{len(c.nondeterministic)} to which the reference has several answers")
    for case in c.nondeterministic[:40]:
        print(f"# several answers: {describe(case)}")
    if c.go:
        c.answers.save()
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
