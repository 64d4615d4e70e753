#!/usr/bin/env python3
"""What grows, and what only seems to: series of heap profiles of which the truth is known.

Programs are simulated object by object: who allocates how many of what size and when they are freed;
each object is sampled as libsonde and Go do it, and profiles are what such a sample gives.

usage: leaks.py --sonde PROGRAM [NAME...]

SPDX-License-Identifier: Apache-2.0
"""
import json
import math
import os
import pathlib
import random
import shutil
import subprocess
import sys

from tap import LIMIT, SONDE, TMP, Profile, main

TYPES = [("alloc_objects", "count"), ("alloc_space", "bytes"), ("inuse_objects", "count"), ("inuse_space", "bytes")]
RATE = 524288
MINUTE = 60 * 10**9
START = 1_600_000_000 * 10**9


class Stack:
    """Objects of one size from one place; life() gives how many rounds one lives (inf: for ever)."""

    def __init__(self, name, size, births, life, callers=("main",)):
        self.name, self.size, self.births, self.life, self.callers = name, size, births, life, callers
        self.live, self.born, self.lives_true = [], 0, 0

    def step(self, rng, now, rate):
        chance = 1 if rate <= 1 else -math.expm1(-self.size / rate)
        count = round(self.births(rng, now))
        sampled = count if chance == 1 else poisson(rng, count * chance)
        self.born += sampled
        self.live = [end for end in self.live if end > now]
        self.live += [now + self.life(rng) for _ in range(sampled)]


def poisson(rng, mean):
    if mean > 200:
        return max(0, round(rng.gauss(mean, math.sqrt(mean))))
    n, p, limit = 0, 1.0, math.exp(-mean)
    while True:
        p *= rng.random()
        if p <= limit:
            return n
        n += 1


def write(path, stacks, rate, time):
    p = Profile(TYPES, period=("space", "bytes", rate), time=time)
    for s in stacks:
        factor = 1 if rate <= 1 else 1 / -math.expm1(-s.size / rate)
        frames = [p.location([(p.function(n), 1)], address=0x1000 + hash(n) % 10**6) for n in (s.name, *s.callers)]
        born, live = round(s.born * factor), round(len(s.live) * factor)
        p.sample(frames, [born, born * s.size, live, live * s.size], [("bytes", s.size, "bytes")])
    path.write_bytes(p.encode())


def series(name, stacks, rounds, rate=RATE, seed=0, warm=20):
    """Runs a program for a while and then takes a profile every minute."""
    rng = random.Random(seed)
    folder = TMP / name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    for now in range(-warm, rounds):
        for s in stacks:
            s.step(rng, now, rate)
        if now >= 0:
            write(folder / f"svc-heap-{now:03}.pprof", stacks, rate, START + now * MINUTE)
    return folder


def leaks(*words, status=None):
    done = subprocess.run([SONDE, "leaks", "--json", *map(str, words)], capture_output=True, text=True, timeout=LIMIT, check=False)
    if status is not None:
        assert done.returncode == status, f"{done.returncode}: {done.stdout} {done.stderr}"
    return json.loads(done.stdout) if done.stdout else done.stderr


forever = lambda rng: math.inf  # noqa: E731
no_more = lambda rng, now: 0  # noqa: E731


def steady(scale=1):
    """About 200 MB: what is there for good, requests that come and go, and a pool that breathes."""
    return [
        Stack("load_tables", 1 << 20, lambda rng, now: 60 * scale if now == -20 else 0, forever),
        Stack("session", 4096, lambda rng, now: poisson(rng, 1500 * scale), lambda rng: rng.expovariate(1 / 5)),
        Stack("request", 512, lambda rng, now: poisson(rng, 20000 * scale), lambda rng: rng.expovariate(1 / 2)),
        Stack("buffer", 65536, lambda rng, now: poisson(rng, 300 * scale), lambda rng: rng.uniform(0, 3)),
        Stack("cache", 16384, lambda rng, now: poisson(rng, (400 + 200 * math.sin(now)) * scale), lambda rng: 4),
        Stack("parse", 200000, lambda rng, now: poisson(rng, 30 * scale), lambda rng: rng.expovariate(1)),
    ]


def t_no_false_alarm_in_a_hundred_steady_runs():
    alarms = []
    for seed in range(100):
        rounds = 6 + seed % 19
        [r] = leaks(series("steady", steady(), rounds, seed=seed))
        alarms += [(seed, g["frames"]) for g in r["growing"] if g["verdict"] == "leak"]
    assert not alarms, alarms


def t_no_false_alarm_without_sampling():
    for seed in range(20):
        [r] = leaks(series("exact", steady(0.1), 6 + seed, rate=1, seed=seed), status=0)
        assert r["leaks"] == 0


def leaking(size, each_round, callers=("handle", "main")):
    return Stack("leak", size, lambda rng, now: each_round if now >= 0 else 0, forever, callers)


def t_every_leak_of_one_percent_a_round_is_found_in_six_rounds():
    for seed in range(20):
        for size in 48, 4096, 48 * 1024:
            # the heap has some 20 MB here, and the program is profiled exactly
            [r] = leaks(series("leaking", [*steady(0.1), leaking(size, round(200_000 / size) + 1)], 6, rate=1, seed=seed), status=1)
            first = r["growing"][0]
            assert r["leaks"] == 1 and first["frames"] == ["leak", "handle", "main"], (seed, size, r)
            slope = (round(200_000 / size) + 1) * size * 60
            assert abs(first["bytesPerHour"] - slope) <= slope / 10, (first, slope)
            assert first["low"] <= first["bytesPerHour"] <= first["high"]


def t_a_leak_is_found_in_a_large_heap_that_is_sampled():
    for seed in range(20):
        [r] = leaks(series("sampled", [*steady(20), leaking(4096, 12000)], 6, seed=seed), status=1)
        assert r["growing"][0]["frames"][0] == "leak" and r["leaks"] == 1, (seed, r)
        slope = 12000 * 4096 * 60
        assert abs(r["growing"][0]["bytesPerHour"] - slope) < slope / 4, r


def t_a_leak_is_found_in_a_small_heap_that_is_sampled():
    for seed in range(20):
        [r] = leaks(series("small", [*steady(), leaking(4096, 500)], 9, seed=seed), status=1)
        assert r["growing"][0]["frames"][0] == "leak" and r["leaks"] == 1, (seed, r)


def t_a_leak_spread_over_many_stacks_is_found_in_its_function():
    many = [leaking(1000, 12, (f"caller_{i}", "main")) for i in range(60)]
    [r] = leaks(series("spread", [*steady(0.1), *many], 8, rate=1), status=1)
    [first] = [g for g in r["growing"] if g["verdict"] == "leak"]
    assert first["level"] == "function" and first["frames"] == ["leak"], r


def t_what_has_filled_is_no_leak():
    for seed in range(20):
        filling = Stack("cache_fill", 4096, lambda rng, now: 500 if 0 <= now < 8 else 0, forever)
        [r] = leaks(series("filled", [*steady(0.1), filling], 24, rate=1, seed=seed))
        assert r["leaks"] == 0, (seed, r)


def t_what_comes_and_goes_is_no_leak():
    for period in 3, 5, 8:
        tide = Stack("tide", 4096, lambda rng, now: 800 if (now // period) % 2 == 0 else 0, lambda rng: period)
        [r] = leaks(series("tide", [*steady(0.1), tide], 24, rate=1, seed=period))
        assert r["leaks"] == 0, (period, r)


def t_what_only_jumps_about_is_no_leak():
    for seed in range(20):
        noise = Stack("noise", 4096, lambda rng, now: rng.choice([0, 200, 500, 1500]), lambda rng: rng.choice([1, 1, 2, 3]))
        [r] = leaks(series("noise", [*steady(0.1), noise], 12, rate=1, seed=seed))
        assert r["leaks"] == 0, (seed, r)


def t_a_leak_that_began_later_is_told_with_its_time():
    late = Stack("late", 4096, lambda rng, now: 100 if now >= 10 else 0, forever)
    [r] = leaks(series("late", [*steady(0.1), late], 20, rate=1), status=1)
    [first] = [g for g in r["growing"] if g["verdict"] == "leak"]
    assert first["frames"][0] == "late"
    began = (first["sinceNanos"] - START) / MINUTE
    assert 8 <= began <= 11, began
    assert abs(first["bytesPerHour"] - 100 * 4096 * 60) < 100 * 4096 * 60 / 10, first


def t_the_number_of_objects_is_the_profile_s_own():
    entry = Stack("NewOnuDeviceEntry", 49152, lambda rng, now: 0 if now < 0 else 305 + (now < 2), forever)
    folder = series("onu", [*steady(0.1), entry], 6, rate=1)
    out = subprocess.run([SONDE, "leaks", str(folder)], capture_output=True, text=True, timeout=LIMIT, check=False)
    assert out.returncode == 1 and "1832 objects of 48kB" in out.stdout, out.stdout
    assert out.stdout.splitlines()[1].startswith("LEAK  85.88MB"), out.stdout
    assert out.stdout.splitlines()[-1] == "verdict: 1 leak"


def t_only_the_last_run_of_a_program_counts():
    folder = series("first-run", [*steady(0.1), leaking(4096, 500)], 8, rate=1)
    stacks, rng = steady(0.1), random.Random(3)
    for now in range(-2, 8):
        for s in stacks:
            s.step(rng, now, 1)
        if now >= 0:
            write(folder / f"svc-heap-{100 + now}.pprof", stacks, 1, START + (100 + now) * MINUTE)
    [r] = leaks(folder)
    assert r["restarts"] == 1 and r["profiles"] == 8, r
    assert not [g for g in r["growing"] if g["frames"] and g["frames"][0] == "leak"], r


def t_components_of_a_tree_are_told_apart():
    tree = TMP / "tree"
    shutil.rmtree(tree, ignore_errors=True)
    bad = series("bad", [*steady(0.1), leaking(4096, 500)], 6, rate=1)
    good = series("good", steady(0.1), 6, rate=1)
    for i in range(6):
        stamp = f"2020-10-01-22:0{i}:40"
        (tree / stamp).mkdir(parents=True)
        shutil.copy(bad / f"svc-heap-{i:03}.pprof", tree / stamp / f"api-server-heap-{stamp}.pprof")
        shutil.copy(good / f"svc-heap-{i:03}.pprof", tree / stamp / f"etcd-heap-{stamp}.pprof")
        (tree / stamp / f"etcd-profile-{stamp}.pprof").write_bytes(b"not looked at")
    found = {r["component"]: r["leaks"] for r in leaks(tree, status=1)}
    assert found == {"api-server": 1, "etcd": 0}, found
    assert [r["component"] for r in leaks("--component", "etcd", tree, status=0)] == ["etcd"]


def t_stored_dumps_are_a_series_too():
    sonded, store = pathlib.Path(SONDE).parent / "sonded", TMP / "store"
    shutil.rmtree(store, ignore_errors=True)
    store.mkdir()
    folder = series("dumped", [*steady(0.1), leaking(4096, 5000)], 5, rate=1)
    env = {k: v for k, v in os.environ.items() if not k.startswith("SONDE_")}
    for f in sorted(folder.iterdir()):
        subprocess.run([sonded, "store", "--to", f"dir:{store}", "--prefix", "main", f], check=True, timeout=LIMIT, env=env)
        record = store / "main-heap"
        stored = json.loads(record.read_text())
        stored["keyStorageDate"] = f"2020-10-01T22:0{f.stem[-1]}:00Z"
        record.write_text(json.dumps(stored))
    [r] = leaks("--store", f"dir:{store}", "main", status=1)
    assert r["profiles"] == 5 and r["growing"][0]["frames"][0] == "leak", r


def t_thousands_of_stacks_are_looked_at():
    many = [Stack(f"place_{i}", 4096, lambda rng, now: 10 if now == -1 else 0, forever) for i in range(5000)]
    [r] = leaks(series("many", [*many, leaking(1 << 20, 5)], 8, rate=1, warm=1), status=1)
    [g] = r["growing"]
    assert g["frames"][0] == "leak", g


def t_profiles_of_one_moment_tell_nothing():
    folder = series("moment", steady(0.1), 1)
    path, = folder.iterdir()
    done = subprocess.run([SONDE, "leaks", path, path, path], capture_output=True, text=True, timeout=LIMIT, check=False)
    assert done.returncode == 2 and not done.stdout, done
    assert "all 3 profiles are of the same time" in done.stderr, done


def t_too_few_and_broken_profiles_are_told():
    folder = series("few", steady(0.1), 2, rate=1)
    done = subprocess.run([SONDE, "leaks", str(folder)], capture_output=True, text=True, timeout=LIMIT, check=False)
    assert done.returncode == 2 and "at least 3" in done.stderr, done
    folder = series("broken", steady(0.1), 5, rate=1)
    (folder / "svc-heap-001.pprof").write_bytes(b"nonsense")
    done = subprocess.run([SONDE, "leaks", str(folder)], capture_output=True, text=True, timeout=LIMIT, check=False)
    assert done.returncode == 0 and "svc-heap-001.pprof" in done.stderr and "4 profiles" in done.stdout, done
    assert subprocess.run([SONDE, "leaks"], capture_output=True, check=False).returncode == 2


if __name__ == "__main__":
    sys.exit(main(globals()))
