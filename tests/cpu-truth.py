#!/usr/bin/env python3
"""CPU profiles of programs whose shares are known.

usage: cpu-truth.py PROGRAM [NAME...]

Every case runs tests/programs/cpu-truth.c once, with perf events where the system has them, and
with POSIX timers.  Shares must lie in the binomial interval, which is so wide that all cases
together fail by chance once in a million runs.

SPDX-License-Identifier: Apache-2.0
"""
import math
import resource
import statistics
import subprocess
import sys

PROGRAM = sys.argv[1]
ONLY = sys.argv[2:]
SECONDS = 3  # of CPU time
LIMIT = 600  # seconds for any one run
RATES = (100, 250, 1000)
CASES = [(mode, hz, fine) for fine in (True, False)
         for mode, rates in (("mix", RATES), ("threads", RATES), ("naps", (100, 1000)), ("short", (100, 1000)),
                             ("beat", (100,)), ("blocked", (100,)))
         for hz in rates] + [("starts", 1000, True), ("early", 100, True)]
CHECKS = len(CASES) * 6
Z = statistics.NormalDist().inv_cdf(1 - 1e-6 / CHECKS / 2)
WITHIN = 0.02  # of getrusage


class Result:
    def __init__(self, text):
        self.rounds, self.ticks, self.numbers = {}, {}, {}
        for line in text.splitlines():
            key, *words = line.split()
            if key == "function":
                self.rounds[words[0]] = int(words[1])
                self.ticks[words[0]] = int(words[2])
            else:
                self.numbers[key] = int(words[0])

    def __getattr__(self, name):
        return self.numbers[name]

    def total(self):
        return sum(self.ticks.values()) + self.other + self.lost


def few_files():
    """Perf events take at most one file in eight."""
    resource.setrlimit(resource.RLIMIT_NOFILE, (7, 7))


def run(mode, hz, fine):
    p = subprocess.run([PROGRAM, mode, str(hz), str(SECONDS), "1"], capture_output=True, text=True,
                       timeout=LIMIT, preexec_fn=None if fine else few_files)
    assert p.returncode == 0, f"exit status {p.returncode}: {p.stdout}{p.stderr}"
    return Result(p.stdout)


def interval(n, p, lump):
    """How far a count of n with share p may be off, if ticks come 'lump' at a time."""
    return Z * math.sqrt(n * p * (1 - p) * lump) + lump


def check_total(r, mode, lump):
    want = r.cpu * r.hz / 1e9
    off = WITHIN * want + 2
    if mode == "short":  # each is hit or not: nothing evens that out
        off = max(off, interval(want, 0.5, lump))
    assert abs(r.total() - want) <= off, f"{r.total()} ticks, {want:.1f} +- {off:.1f} expected"


def check_shares(r, lump):
    n, rounds = sum(r.ticks.values()), sum(r.rounds.values())
    assert n > 0, "no ticks"
    for name, ticks in r.ticks.items():
        p = r.rounds[name] / rounds
        want, off = n * p, interval(n, p, lump)
        assert abs(ticks - want) <= off, f"{name}: {ticks} of {n}, {want:.1f} +- {off:.1f} expected"


def check(mode, hz, fine):
    r = run(mode, hz, fine)
    if fine and not r.fine:
        return "# SKIP no perf events here"
    if mode == "starts":
        assert r.silent == 0, f"{r.silent} profiles saw nothing"
        return ""
    if mode == "early":
        assert r.coarse, "a thread that sleeps all the time kept its perf event for a second"
        return ""
    assert r.hz == hz, f"{r.hz} Hz"
    if mode == "naps" and fine:  # switching threads with a perf event would take too long
        assert r.coarse, "a thread that sleeps all the time kept its perf event"
    always_fine = r.fine and not r.coarse
    lump = 1 if always_fine else max(1, hz // 100)  # the kernel looks at timers once in 1 to 10 ms
    check_total(r, mode, lump)
    if mode == "blocked":
        assert sum(r.ticks.values()) == 0, "ticks in spite of blocked signals"
    elif mode != "beat" or always_fine:  # that kernel's rhythm is in the way of timers
        check_shares(r, lump)
    if mode != "blocked":  # a busy machine may leave a thread no room for its last ticks; they are counted above
        assert r.lost <= 0.01 * r.total() + 1, f"{r.lost} lost"
    return f"# {r.total()} ticks for {r.cpu / 1e9:.3f} s"


def main():
    cases = [c for c in CASES if not ONLY or c[0] in ONLY]
    failed = 0
    print(f"1..{len(cases)}")
    for n, (mode, hz, fine) in enumerate(cases, 1):
        title = f"{mode} at {hz} Hz, {'perf events' if fine else 'timers'}"
        try:
            print(f"ok {n} - {title} {check(mode, hz, fine)}", flush=True)
        except (AssertionError, subprocess.TimeoutExpired) as e:
            failed += 1
            print(f"not ok {n} - {title}", flush=True)
            print("".join(f"# {line}\n" for line in str(e).splitlines()), end="")
    return failed > 0


sys.exit(main())
