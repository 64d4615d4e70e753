#!/usr/bin/env python3
"""Comparisons: what is the same stays the same, what has changed is found, numbers are those of the reports.

Profiles are drawn from known programs with fixed seeds.

usage: compare.py --sonde PROGRAM [NAME...]

SPDX-License-Identifier: Apache-2.0
"""
import http.client
import json
import math
import random
import subprocess
import sys

from tap import LIMIT, SONDE, TMP, Profile, main
from web import ask, serving

TICK = 10**7


def run(*args):
    return subprocess.run(list(map(str, args)), capture_output=True, text=True, timeout=LIMIT, check=False)


def poisson(rng, mean):
    n, left = 0, mean
    while left > 0:
        step, p = min(left, 50), 1.0
        limit = math.exp(-step)
        left -= step
        while True:
            p *= rng.random()
            if p <= limit:
                break
            n += 1
    return n


def cpu(name, seed, seconds=10, **more):
    """The path of a profile of a program with 60 functions, some of which have more than usual."""
    rng = random.Random(seed)
    p = Profile([("samples", "count"), ("cpu", "nanoseconds")], period=("cpu", "nanoseconds", TICK),
                duration=seconds * 10**9, time=10**18)
    for i in range(60):
        n = poisson(rng, 100 * seconds / (i + 2) * more.get(f"work{i}", 1))
        stack = [p.frame(f"work{i}"), p.frame(f"caller{i % 7}"), p.frame("main")]
        if n:
            p.sample(stack, (n, n * TICK))
    path = TMP / name
    path.write_bytes(p.encode())
    return path


def compare(*args):
    """(status, what the JSON says)"""
    p = run(SONDE, "compare", "--json", *args)
    assert p.returncode in (0, 1), p.stderr
    return p.returncode, json.loads(p.stdout)


def t_the_same_program_has_not_changed():
    status, c = compare("--all", cpu("a", 1), cpu("b", 2))
    assert status == 0 and c["more"] == c["less"] == 0, c["total"]
    assert {f[k]["verdict"] for f in c["functions"] for k in ("flat", "cum")} <= {"may be chance", "too few"}
    text = run(SONDE, "compare", TMP / "a", TMP / "b")
    assert text.returncode == 0 and "verdict: no change beyond chance" in text.stdout, text


def t_what_has_changed_is_named():
    status, c = compare(cpu("a", 1), cpu("b", 3, work5=2, work9=0.3))
    verdicts = {f["name"]: f["flat"]["verdict"] for f in c["functions"]}
    assert status == 1 and verdicts["work5"] == "more" and verdicts["work9"] == "less", verdicts
    assert [n for n, v in verdicts.items() if n.startswith("work") and v in ("more", "less")] == ["work5", "work9"]
    text = run(SONDE, "compare", TMP / "a", TMP / "b")
    rows = [line.split() for line in text.stdout.splitlines() if line.endswith(" work5")]
    assert text.returncode == 1 and len(rows) == 2 and rows[0][2].startswith("+") and "more" in rows[0], text.stdout


def t_numbers_are_those_of_top():
    _, c = compare("--all", "--by", "amounts", cpu("a", 1), cpu("b", 3, work5=2))
    for side, name in (("before", "a"), ("after", "b")):
        top = json.loads(run(SONDE, "-top", "-json", "-nodefraction=0", TMP / name).stdout)
        ours = {f["name"]: (f["flat"][side], f["cum"][side]) for f in c["functions"]}
        assert all(ours[r["name"]] == (r["flat"], r["cum"]) for r in top["rows"]) and len(top["rows"]) > 50
        assert c["total"][side] == top["total"]


def t_twice_as_long_is_scaled():
    status, c = compare(cpu("a", 1), cpu("b", 5, seconds=20))
    assert status == 0 and c["by"] == "time" and abs(c["scale"] - 0.5) < 1e-6, c["by"]
    status, c = compare("--by", "amounts", TMP / "a", TMP / "b")
    assert status == 1 and c["total"]["verdict"] == "more" and c["scale"] == 1, c["total"]
    status, c = compare("--by=shares", TMP / "a", TMP / "b")
    assert status == 0 and c["by"] == "shares", c


def t_more_work_is_no_change_of_functions():
    """Half as busy again, all over: the total says so."""
    more = {f"work{i}": 1.5 for i in range(60)}
    status, c = compare(cpu("a", 1), cpu("b", 9, **more))
    assert c["by"] == "typical" and c["functions"] == [] and c["total"]["verdict"] == "more", c
    assert abs(c["scale"] - 1 / 1.5) < 0.05 and c["total"]["after"] > c["wholeAfter"] * 1.4, c
    status, c = compare(TMP / "a", cpu("b", 9, **{**more, "work4": 4.5}))
    assert [f["name"] for f in c["functions"] if f["flat"]["verdict"] == "more"] == ["work4"], c["functions"]
    assert status == 1


def t_the_status_can_be_for_worse_only():
    less = cpu("less", 4, work0=0.5)
    assert compare(cpu("a", 1), less)[0] == 1
    assert compare("--more", TMP / "a", less)[0] == 0
    assert compare("--more", less, TMP / "a")[0] == 1
    assert compare("--least", 5, TMP / "a", less)[0] == 1
    assert compare("--least", 50, TMP / "a", less)[0] == 0


def t_several_profiles_tell_how_much_a_program_varies():
    """A function that is three times as busy every other time: two profiles cannot know."""
    calm = [cpu(f"c{i}", 10 + i, work3=1 + 2 * (i % 2)) for i in range(6)]
    status, c = compare(calm[0], calm[1])
    assert status == 1 and any(f["name"] == "work3" for f in c["functions"])
    status, c = compare(*calm[0:4], "vs", *calm[4:6])
    assert status == 0 and c["profilesBefore"] == 4 and c["profilesAfter"] == 2 and c["spread"] > 0.01, c
    assert c["total"]["before"] < 2 * compare(calm[0], calm[1])[1]["total"]["before"]


def t_other_numbers_and_parts_can_be_asked_for():
    _, c = compare("--all", "--type=samples", cpu("a", 1), cpu("b", 2))
    assert c["type"] == "samples" and c["total"]["before"] == c["total"]["eventsBefore"]
    _, c = compare("--all", "--focus", "caller3", TMP / "a", TMP / "b")
    assert {f["name"] for f in c["functions"]} == {"main", "caller3"} | {f"work{i}" for i in range(3, 60, 7)}
    _, c = compare("--all", "--rows", 2, TMP / "a", TMP / "b")
    assert len(c["functions"]) == 2


def t_what_was_not_there_before_is_new():
    a, b = cpu("a", 1, work5=0), cpu("b", 2, work5=9)
    for by in "amounts", "time", "shares", "typical":
        c = compare("--all", "--by", by, "--focus", "^work5$", a, b)[1]
        assert c["total"]["before"] == 0 < c["total"]["after"] and c["scale"] == 1, (by, c)
        back = compare("--all", "--by", by, "--focus", "^work5$", b, a)[1]
        assert back["total"]["after"] == 0 < back["total"]["before"], (by, back)
    assert compare("--by", "time", "--focus", "^work5$", a, b)[1]["more"] > 0
    with serving("-diff_base", a, b) as port:
        status, _, body = ask(port, "/ui/compare?f=%5Ework5%24")
        assert status == 200 and ">new<" in body, body


def t_the_page_tells_the_same_as_the_command():
    a, b = cpu("a", 1), cpu("b", 3, work5=2)
    told = compare("--all", a, b)[1]
    for flag in ("-base", "-diff_base"):
        with serving(flag, a, b) as port:
            status, headers, body = ask(port, "/ui/compare.json")
            assert status == 200 and headers["Content-Type"] == "application/json", status
            assert json.loads(body) == told, flag
            shares = json.loads(ask(port, "/ui/compare.json?by=shares&si=samples")[2])
            assert shares["by"] == "shares" and shares["type"] == "samples"
            page = ask(port, "/ui/compare?f=caller3")[2]
            assert "caller3" in page and "caller4" not in page
    with serving(a) as port:
        status, _, body = ask(port, "/ui/compare")
        assert status == 400 and "nothing to compare with" in body and ">Compare<" not in body, body
        assert ask(port, "/ui/compare.json")[0] == 400


def t_scaled_profiles_still_tell_their_samples():
    a, b = cpu("a", 1), cpu("b", 5, seconds=20)
    with serving("-normalize", "-base", a, b) as port:
        c = json.loads(ask(port, "/ui/compare.json")[2])
        assert c["by"] == "shares" and c["more"] == c["less"] == 0, c["total"]
        assert c["total"]["eventsAfter"] > 1.8 * c["total"]["eventsBefore"], c["total"]


def t_other_pages_have_the_difference_as_before():
    """-base keeps both sides for the comparison; what the other pages see has no trace of that."""
    a, b = cpu("a", 1), cpu("b", 3, work5=2)
    for flags in (["-base", a], ["-diff_base", a], ["-normalize", "-base", a]):
        with serving(*flags, b) as port:
            c = http.client.HTTPConnection("localhost", port, timeout=LIMIT)
            c.request("GET", "/ui/download")
            (TMP / "down").write_bytes(c.getresponse().read())
        assert run(SONDE, "-raw", TMP / "down").stdout == run(SONDE, "-raw", *flags, b).stdout, flags


def t_wrong_use_is_said():
    a = cpu("a", 1)
    for args, why in (([a], "which profiles"), ([a, a, a], "which profiles"), ([a, "vs"], "which profiles"),
                      (["--by", "luck", a, a], "not luck"), ([a, TMP / "none"], "none")):
        p = run(SONDE, "compare", *args)
        assert p.returncode == 2 and why in p.stderr and not p.stdout, (args, p)


if __name__ == "__main__":
    sys.exit(main(globals()))
