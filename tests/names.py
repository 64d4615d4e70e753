#!/usr/bin/env python3
"""Names a person can read, end to end: what -names and -merge_names make of reports.

usage: names.py --sonde PROGRAM [NAME...]

Every function below whose name starts with "t_" is one TAP case.

SPDX-License-Identifier: Apache-2.0
"""
import re
import subprocess
import sys

from tap import LIMIT, SONDE, TMP, Profile, main

# Two instantiations of one method, two methods of one name, a Go function, and main.
INTS = "_ZNSt6vectorIiSaIiEE9push_backERKi"
CHARS = "_ZNSt6vectorIcSaIcEE9push_backERKc"
LIST = "_ZN3app4ListIiE9push_backEi"
GO = "encoding/json.(*Decoder[...]).Decode"


def sonde(*args, stdin=None):
    done = subprocess.run([SONDE, *map(str, args)], capture_output=True, timeout=LIMIT, cwd=TMP,
                          input=stdin, text=True)
    assert done.returncode == 0, f"{args}: {done.stderr}"
    return done.stdout


def profile():
    """vector<int> 40, vector<char> 30, List<int> 20, Decode 10; the first is called by the second."""
    path = TMP / "mangled.pb"
    if path.exists():
        return path
    p = Profile([("samples", "count")])
    top = p.frame("main", 1, "main.cc")
    ints, chars, lists = (p.frame(n, 10, "a.cc") for n in (INTS, CHARS, LIST))
    go = p.frame(GO, 7, "stream.go")
    for stack, value in ((ints, chars, top), 40), ((chars, top), 30), ((lists, top), 20), ((go, top), 10):
        p.sample(stack, [value])
    path.write_bytes(p.encode())
    return path


def rows(*args, source=None):
    """{name: (flat, cum)} of -top."""
    out = sonde("-top", *args, source or profile())
    return {name: (int(flat), int(cum)) for flat, cum, name in
            re.findall(r"^ *(\d+) +\S+ +\S+ +(\d+) +\S+  (.+?)(?: \(inline\))?$", out, re.M)}


def t_the_default_is_what_the_reference_prints():
    assert rows() == rows("-names=default")
    assert set(rows()) == {"std::vector::push_back", "app::List::push_back", GO, "main"}


def t_level_0_shows_everything():
    got = rows("-names=0")
    assert got["std::vector<int, std::allocator<int> >::push_back(int const&)"] == (40, 40)
    assert got["std::vector<char, std::allocator<char> >::push_back(char const&)"] == (30, 70)
    assert got["app::List<int>::push_back(int)"] == (20, 20)
    assert got[GO] == (10, 10)


def t_level_1_leaves_out_signatures():
    got = rows("-names=1")
    assert got["std::vector<int>::push_back"] == (40, 40)
    assert got["app::List<int>::push_back"] == (20, 20)


def t_level_2_adds_instantiations_up():
    got = rows("-names=2")
    assert got["std::vector<…>::push_back"] == (70, 70)
    assert got["app::List<…>::push_back"] == (20, 20)
    assert got["json.(*Decoder[…]).Decode"] == (10, 10)


def t_level_3_is_class_and_function():
    got = rows("-names=3")
    assert got["vector::push_back"] == (70, 70)
    assert got["List::push_back"] == (20, 20)
    assert got["(*Decoder).Decode"] == (10, 10)


def t_level_4_is_the_function():
    assert rows("-names=4") == {"push_back": (90, 90), "Decode": (10, 10), "main": (0, 100)}


def t_without_merging_names_keep_what_tells_them_apart():
    got = rows("-names=4", "-merge_names=false")
    assert got == {"std::vector<int>::push_back": (40, 40), "std::vector<char>::push_back": (30, 70),
                   "List::push_back": (20, 20), "Decode": (10, 10), "main": (0, 100)}
    assert "vector::push_back" not in rows("-names=3", "-merge_names=false")


def t_merging_is_nothing_to_the_default():
    assert rows("-merge_names=false") == rows()


def t_filters_match_the_name_that_is_shown_and_the_one_before():
    assert rows("-names=4", "-focus=app::List")["push_back"] == (20, 20)
    assert rows("-names=0", "-focus=vector<int")["main"] == (0, 40)
    assert set(rows("-names=4", "-hide=^push_back$")) == {"Decode", "main"}
    assert set(rows("-names=4", "-ignore=vector|Decoder")) == {"push_back", "main"}


def t_every_report_goes_by_the_new_names():
    for report in "-tree", "-traces", "-folded", "-dot", "-flamegraph", "-callgrind", "-peek=push_back":
        out = sonde(report, "-names=4", profile())
        assert "push_back" in out, report
        assert "vector" not in out, report
    assert "push_back a.cc:10 s=0(" + INTS in sonde("-raw", "-names=4", profile())
    # The stack that was two instantiations deep is now one function that calls itself.
    assert "main;push_back;push_back 40" in sonde("-folded", "-names=4", profile())


def t_a_picture_has_one_box_for_what_was_merged():
    assert sonde("-dot", "-names=4", profile()).count('label="push_back') == 1
    assert sonde("-dot", "-names=1", profile()).count('push_back\\n') == 3


def t_a_profile_written_with_short_names_keeps_the_long_ones():
    path = TMP / "short.pb.gz"
    sonde("-proto", "-names=4", "-output", path, profile())
    assert rows(source=path) == rows("-names=4")
    assert rows("-names=1", source=path) == rows("-names=1")


def t_names_cut_by_another_tool_are_told_by_the_system_name():
    p = Profile([("samples", "count")])
    p.sample([p.frame("a::f", 1, "f.cc", system="a::f<int>(char)")], [1])
    p.sample([p.frame("Alias", 1, "f.cc", system="a::g<int>(char)")], [1])
    path = TMP / "cut.pb"
    path.write_bytes(p.encode())
    assert set(rows("-names=0", source=path)) == {"a::f<int>(char)", "Alias"}
    assert set(rows("-names=2", source=path)) == {"a::f<…>", "Alias"}


def t_the_shell_has_the_options():
    said = "names=4\ntop\nmerge_names=false\ntop\nnames=default\ntop\no\nhelp names\n"
    done = subprocess.run([SONDE, profile()], input=said, capture_output=True, text=True, timeout=LIMIT)
    shown = re.findall(r"^ +\d+ .*%  (\S*push_back)$", done.stdout, re.M)
    assert shown == ["push_back", "std::vector<int>::push_back", "std::vector<char>::push_back", "List::push_back",
                     "std::vector::push_back", "app::List::push_back"], shown
    assert re.search(r"^  merge_names +=", done.stderr, re.M), "the list of options"
    assert "return types, parameters and template arguments" in done.stderr


def t_what_is_no_level_is_refused():
    done = subprocess.run([SONDE, "-top", "-names=5", profile()], capture_output=True, text=True, timeout=LIMIT)
    assert done.returncode == 2 and 'invalid "names" value "5"' in done.stderr


def t_usage_tells_of_them():
    usage = subprocess.run([SONDE, "-h"], capture_output=True, text=True, timeout=LIMIT)
    ours = (usage.stdout + usage.stderr).split("Only in sonde:")[1]
    assert re.search(r"^ +-names ", ours, re.M) and re.search(r"^ +-merge_names ", ours, re.M)


def t_hostile_names_do_no_harm():
    p = Profile([("samples", "count")])
    for n, name in enumerate(("<" * 5000, "a<" * 4000, "(" * 60000, "::" * 9000, "_Z" + "N" * 3000, b"\xff\xfe::x", "",
                              "operator" * 2000, "a" * 70000 + "::b", "std::vector<" * 3000 + "int" + "> " * 3000)):
        p.sample([p.frame(name, n, "x.cc")], [n + 1])
    path = TMP / "hostile.pb"
    path.write_bytes(p.encode())
    for level in range(5):
        for merge in "true", "false":
            done = subprocess.run([SONDE, "-top", f"-names={level}", f"-merge_names={merge}", path],
                                  capture_output=True, timeout=LIMIT)
            assert done.returncode == 0, done.stderr


if __name__ == "__main__":
    sys.exit(main(globals()))
