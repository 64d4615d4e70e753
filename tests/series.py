#!/usr/bin/env python3
"""Profiles over time, without a browser: trees that were collected, and stores of dumps.

usage: series.py --sonde PROGRAM [NAME...]
       series.py --make FOLDER		a tree to look at

SPDX-License-Identifier: Apache-2.0
"""
import datetime
import gzip
import html
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import time

from kube_server import Cluster
from tap import LIMIT, SONDE, TMP, Profile, main
from web import ask, serving

START = 1_600_000_000
STEP = 1800
HEAP = [("alloc_objects", "count"), ("alloc_space", "bytes"), ("inuse_objects", "count"), ("inuse_space", "bytes")]


def heap(i, leak=True, time_s=None):
    """A service with a leak of 40 objects of 64 kB a round, beside what goes up and down."""
    p = Profile(HEAP, period=("space", "bytes", 1), time=(time_s or START + i * STEP) * 10**9)
    live = 500 + (40 * i if leak else 0)
    p.sample([p.frame("store.grow"), p.frame("main.serve")], (2 * live, 2 * live << 16, live, live << 16))
    busy = 800 + (i * 37) % 90
    p.sample([p.frame("cache.fill"), p.frame("main.serve")], (busy * (i + 2), busy * (i + 2) << 12, busy, busy << 12))
    return gzip.compress(p.encode())


def cpu(i):
    p = Profile([("samples", "count"), ("cpu", "nanoseconds")], period=("cpu", "nanoseconds", 10**7),
                duration=10 * 10**9, time=(START + i * STEP) * 10**9)
    for name, n in (("parse", 300 + i % 7), ("render", 200 if i < 12 else 420)):
        p.sample([p.frame(name), p.frame("main.serve")], (n, n * 10**7))
    return gzip.compress(p.encode())


def make_tree(root, rounds=24, plain=False):
    for i in range(rounds):
        at = datetime.datetime.fromtimestamp(START + i * STEP, datetime.timezone.utc)
        stamp = at.strftime("%Y%m%dT%H%M%SZ" if plain else "%Y-%m-%d-%H:%M:%S")
        folder = root / stamp
        folder.mkdir(parents=True)
        (folder / f"web-shop-heap-{stamp}.pprof").write_bytes(heap(i))
        (folder / f"web-shop-profile-{stamp}.pprof").write_bytes(cpu(i))
        (folder / f"calm-heap-{stamp}.pprof").write_bytes(heap(i, leak=False))
    return root


def tree(name, **kw):
    shutil.rmtree(TMP / name, ignore_errors=True)
    return make_tree(TMP / name, **kw)


def read(port, query="", unread=0):
    """What there is, once all of it has been read."""
    end = time.monotonic() + LIMIT
    while time.monotonic() < end:
        s = json.loads(ask(port, f"/ui/series.json{query}")[2])
        if s["unread"] == unread and all(line["judged"] for line in s["lines"] if line["kind"] == "heap"):
            return s
        time.sleep(0.05)
    raise AssertionError(s)


def t_totals_are_those_of_the_reports():
    root = tree("totals")
    with serving(root) as port:
        s = read(port, "?c=web-shop")
        assert s["component"] == "web-shop" and [x["kind"] for x in s["lines"]] == ["heap", "profile"]
        line = s["lines"][0]
        assert line["type"] == "inuse_space" and line["unit"] == "bytes" and len(line["points"]) == 24
        for seconds, value, _ in line["points"][::8]:
            files = [f for f in root.rglob("web-shop-heap-*")]
            f = sorted(files)[(seconds - START) // STEP]
            top = json.loads(subprocess.run([SONDE, "-top", "-json", str(f)], capture_output=True, check=True).stdout)
            assert top["total"] == value, (seconds, value, top["total"])
        assert s["lines"][1]["points"][0][2] == 10**10
        assert [x["kind"] for x in read(port)["lines"]] == ["heap"] and read(port)["component"] == "calm"


def t_what_grows_is_what_leaks_says():
    with serving(tree("grows")) as port:
        read(port)
        page = ask(port, "/ui/?c=web-shop")[2]
        assert re.search(r"<strong>Leak</strong>.*?store\.grow", page, re.S), page
        assert "Nothing leaks" in ask(port, "/ui/?c=calm")[2]


def typed(port, component, env=None):
    """What the command on a page says of leaks."""
    line = html.unescape(re.search(r"<code>sonde (leaks .*?)</code>", ask(port, f"/ui/?c={component}")[2])[1])
    assert line.isascii() and line.isprintable(), line
    return subprocess.run(["bash", "-c", f"{SONDE} {line} --json"], capture_output=True, text=True, timeout=LIMIT, env=env)


def t_the_command_beside_what_grows_says_the_same():
    with serving(tree("with a blank")) as port:
        for component, leaks in (("web-shop", 1), ("calm", 0)):
            read(port, f"?c={component}")
            said = json.loads(typed(port, component).stdout)
            assert [(c["component"], c["leaks"]) for c in said] == [(component, leaks)], said


def t_a_moment_a_range_and_two_of_them_open():
    with serving(tree("opens")) as port:
        def to(path):
            status, headers, body = ask(port, path)
            assert status == 303, (path, status, body)
            return "/ui/" + headers["Location"].removeprefix("./")

        one = to(f"/ui/open?c=web-shop&k=heap&a={START + 2 * STEP}&b={START + 2 * STEP}")
        assert one == f"/ui/of/web-shop:heap:{START + 2 * STEP}/flamegraph", one
        assert ask(port, one)[0] == 200
        text = datetime.datetime.fromtimestamp(START + 100, datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M")
        near = to(f"/ui/open?c=web-shop&k=heap&a={text}&b={text}")
        assert near == f"/ui/of/web-shop:heap:{START}/flamegraph", near
        span = to(f"/ui/open?c=web-shop&k=profile&a={START}&b={START + 3 * STEP}").removesuffix("flamegraph")
        assert "parse" in ask(port, span + "top")[2]
        assert str(sum(300 + i % 7 for i in range(4))) in ask(port, span + "top?si=samples")[2]
        pair = to(f"/ui/pair?c=web-shop&k=profile&x1={START}&x2={START + 5 * STEP}&y1={START + 15 * STEP}"
                  f"&y2={START + 20 * STEP}").removesuffix("compare")
        c = json.loads(ask(port, pair + "compare.json")[2])
        assert (c["profilesBefore"], c["profilesAfter"]) == (6, 6)
        verdicts = {f["name"]: f["flat"]["verdict"] for f in c["functions"]}
        assert verdicts["render"] == "more" and verdicts["parse"] == "may be chance", verdicts
        assert "../../" in ask(port, pair + "top")[2]


def t_what_is_not_there_is_said():
    with serving(tree("not", rounds=2)) as port:
        for path in ("of/x/top", "of/a:b/top", "of/web-shop:heap:1/top", "of/web-shop:heap:zz/top", "of/:heap:1/top",
                     f"of/web-shop:heap:{START}~1/compare", "nothing"):
            assert ask(port, f"/ui/{path}")[0] == 404, path
        for path in ("open?c=x&k=heap&a=1&b=1", "open?c=web-shop&k=heap&a=&b=", "pair?c=web-shop&k=heap&x1=1&x2=1"):
            assert ask(port, f"/ui/{path}")[0] == 400, path


def t_new_rounds_appear_and_old_ones_go():
    root = tree("moves", rounds=3, plain=True)
    with serving(root) as port:
        assert len(read(port, "?c=web-shop")["lines"][0]["points"]) == 3
        make_tree(root / "more", rounds=5, plain=False)
        shutil.rmtree(sorted(root.iterdir())[0])
        end = time.monotonic() + LIMIT
        while time.monotonic() < end:
            points = json.loads(ask(port, "/ui/series.json?c=web-shop")[2])["lines"][0]["points"]
            if len(points) == 5:
                return
            time.sleep(0.2)
        raise AssertionError(points)


def t_a_broken_profile_breaks_nothing():
    root = tree("broken", rounds=4)
    next(root.rglob("web-shop-heap-*")).write_bytes(b"no profile")
    with serving(root) as port:
        points = read(port, "?c=web-shop")["lines"][0]["points"]
        assert sorted(v < 0 for _, v, _ in points) == [False, False, False, True], points
        assert ask(port, "/ui/")[0] == 200


def t_hostile_names_are_only_names():
    root = TMP / "evil"
    stamp = "2020-10-01-22:08:40"
    (root / stamp).mkdir(parents=True)
    name = "<img src=x onerror=alert(1)>\"'&"
    (root / stamp / f"{name}-heap-{stamp}.pprof").write_bytes(heap(1))
    with serving(root) as port:
        page = ask(port, "/ui/")[2]
        assert "<img" not in page, page
        link = re.search(r'href="\./(of/[^"]*)flamegraph"', page)[1]
        assert "store.grow" in ask(port, f"/ui/{link}top")[2]


# A real cluster may have other dumps.
DUMPED = f"shop-{os.getpid()}"


def fill_store(where, env=None):
    for i in range(4):
        (TMP / "dump").write_bytes(heap(i))
        subprocess.run([str(pathlib.Path(SONDE).parent / "sonded"), "store", "--to", where, "--prefix", DUMPED,
                        str(TMP / "dump")], check=True, timeout=LIMIT, capture_output=True, env=env)


def check_store(where, env=None):
    with serving(where, env=env) as port:
        s = read(port, f"?c={DUMPED}")
        points = s["lines"][0]["points"]
        assert s["component"] == DUMPED and len(points) == 4 and all(v > 0 for _, v, _ in points), s
        top = ask(port, f"/ui/of/{DUMPED}:heap:{points[0][0]}/top")[2]
        assert "store.grow" in top
        pair = f"/ui/of/{DUMPED}:heap:{points[0][0]}~{points[3][0]}/compare.json"
        assert json.loads(ask(port, pair)[2])["total"]["delta"] > 0
        said = typed(port, DUMPED, env)  # they may all have been stored within a second
        assert f'"{DUMPED}"' in said.stdout or f"{DUMPED}: all 4 profiles are of the same time" in said.stderr, said


def t_a_store_of_dumps_is_a_series():
    store = TMP / "store"
    store.mkdir()
    fill_store(f"dir:{store}")
    check_store(store)
    check_store(f"dir:{store}")


def t_dumps_in_secrets_are_a_series():
    cluster = Cluster()
    env = cluster.environment()
    try:
        fill_store("kube:", env)
        check_store("kube:", env)
        check_store(f"kube:{cluster.namespace}", env)
    finally:
        subprocess.run([SONDE, "dumps", "--store", "kube:", "rm", DUMPED], env=env, check=True, timeout=LIMIT)
        cluster.close()


if __name__ == "__main__":
    if sys.argv[1:2] == ["--make"]:
        make_tree(pathlib.Path(sys.argv[2]))
    else:
        sys.exit(main(globals()))
