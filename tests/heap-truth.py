#!/usr/bin/env python3
"""Whether estimates of the sampled heap are right: known workloads, many seeds.

usage: heap-truth.py --program heap-truth

For each workload and value the mean over the seeds must lie within four standard errors of the
truth, and where those are small enough within one per cent, and the spread must be what theory
says: the estimate is a sum of independent objects, each kept with probability p and counted 1/p
times.  At rate 1 all is exact.
The seeds are fixed: a run is right or wrong, never unlucky.

SPDX-License-Identifier: Apache-2.0
"""
import argparse
import math
import subprocess

SEEDS = 200


def measure(program, rate, seeds):
    text = subprocess.run([program, str(rate), str(seeds)], check=True, capture_output=True,
                          text=True).stdout
    lines = [line.split() for line in text.splitlines()]
    lost = [int(words[1]) for words in lines if words[0] == "lost"]
    rows = [(words[0], words[1], *map(float, words[2:])) for words in lines if words[0] != "lost"]
    return rows, lost[0]


class Tap:
    def __init__(self):
        self.n = 0

    def say(self, good, what, why=""):
        self.n += 1
        print(("ok" if good else "not ok"), self.n, "-", what)
        if not good:
            print("#", why)


def check_sampled(tap, program, rate):
    rows, lost = measure(program, rate, SEEDS)
    tap.say(lost == 0, f"rate {rate}: nothing is lost", f"{lost} lost")
    for workload, value, truth, mean, spread, theory in rows:
        what = f"rate {rate}: {workload}: {value}"
        error = theory / math.sqrt(SEEDS)
        tap.say(abs(mean - truth) <= 4 * error + 0.5, what + ": no bias",
                f"truth {truth}, mean {mean}, standard error {error}")
        if 2 * error < 0.01 * truth:
            tap.say(abs(mean - truth) <= 0.01 * truth, what + ": within 1 %",
                    f"truth {truth}, mean {mean}: {mean / truth - 1:+.2%}")
        if theory:
            # The variance of 200 estimates has itself a deviation of a tenth.
            ratio = (spread / theory) ** 2
            tap.say(0.6 < ratio < 1.4, what + ": spread as theory says",
                    f"variance is {ratio:.2f} of what it ought to be")


def check_exact(tap, program):
    rows, lost = measure(program, 1, 1)
    tap.say(lost == 0, "rate 1: nothing is lost", f"{lost} lost")
    for workload, value, truth, mean, _, _ in rows:
        tap.say(mean == truth, f"rate 1: {workload}: {value}", f"{mean} instead of {truth}")


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--program", required=True)
    program = options.parse_args().program
    tap = Tap()
    for rate in (512 * 1024, 64 * 1024):
        check_sampled(tap, program, rate)
    check_exact(tap, program)
    print(f"1..{tap.n}")


main()
