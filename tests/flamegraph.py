#!/usr/bin/env python3
"""Flame graphs end to end: read as XML, compared with -top, and used in a real browser.

usage: flamegraph.py --sonde PROGRAM [NAME...]

Every function below whose name starts with "t_" is one TAP case.  Those that click, type and look
need chromedriver, and are skipped without it.

SPDX-License-Identifier: Apache-2.0
"""
import collections
import contextlib
import http.server
import re
import shutil
import subprocess
import sys
import threading
import xml.etree.ElementTree as ET

import webdriver
from tap import HERE, LIMIT, SONDE, TMP, Profile, Skip, main, until

PROFILES = HERE / "profiles"
SVG = "{http://www.w3.org/2000/svg}"
WIDTH, ROW = 1176, 18  # of the frames, and of one of them

FOLDED = """main;http.serve;json.parse 40
main;http.serve;json.parse;runtime.alloc 25
main;http.serve;db.query 20
main;gc 15
"""


# --- pictures ----------------------------------------------------------------------------

def sonde(*args, check=True):
    done = subprocess.run([SONDE, *map(str, args)], capture_output=True, timeout=LIMIT, cwd=TMP,
                          stdin=subprocess.DEVNULL)
    if check and done.returncode:
        raise AssertionError(f"{args}: {done.stderr.decode()}")
    return done.stdout


Frame = collections.namedtuple("Frame", "name about x width level label fill")


class Picture:
    """An SVG file, and what is in it."""

    def __init__(self, *args):
        self.bytes = sonde("-flamegraph", *args)
        self.text = self.bytes.decode()  # strict: it must be UTF-8
        self.root = ET.fromstring(self.bytes)
        self.path = TMP / f"{id(self)}.svg"
        self.path.write_bytes(self.bytes)
        group = next(g for g in self.root.iter(SVG + "g") if g.get("class") == "frames")
        self.frames = [self.frame(g) for g in group]
        self.notes = [t.text for t in self.root.findall(SVG + "text")]

    @staticmethod
    def frame(g):
        rect, text = g.find(SVG + "rect"), g.find(SVG + "text")
        name, about = g.find(SVG + "title").text.split("\n", 1)
        return Frame(name, about, float(rect.get("x")),
                     float(g.get("data-width") or rect.get("width")), int(rect.get("y")) // ROW,
                     text.text if text is not None else None, rect.get("fill"))

    def named(self, name):
        found = [f for f in self.frames if f.name == name]
        assert len(found) == 1, (name, [f.name for f in self.frames])
        return found[0]


def folded(text, name="stacks.folded"):
    path = TMP / name
    path.write_text(text)
    return path


def equal(have, want):
    assert have == want, f"have {have!r}\nwant {want!r}"


# --- what is in the file -----------------------------------------------------------------

def t_every_profile_is_well_formed_and_complete():
    for path in sorted(PROFILES.glob("*.pb.gz")):
        p = Picture(path)
        equal(p.root.get("viewBox"), f"0 0 1200 {p.root.get('height')}")
        equal((p.frames[0].name, p.frames[0].width, p.frames[0].level), ("root", WIDTH, 0))
        assert all(0 <= f.x and f.x + f.width <= WIDTH + 0.01 for f in p.frames), path
        assert len(p.bytes) < 5e6, path
        assert any("sample" in n for n in p.notes)


def t_callees_lie_below_their_callers():
    p = Picture(PROFILES / "prom-cpu.pb.gz")
    path = []
    for f in p.frames:
        path = [above for above in path if above.level < f.level]
        if path:
            equal(path[-1].level, f.level - 1)
            assert path[-1].x - 0.001 <= f.x, f
            assert f.x + f.width <= path[-1].x + path[-1].width + 0.001, f
        path.append(f)


def t_values_are_those_of_top():
    """The frames of a function add up to its row, if it never calls itself."""
    for name, unit in (("prom-cpu", "ms"), ("prom-heap", "B"), ("etcd-mutex", "ns")):
        path = PROFILES / (name + ".pb.gz")
        p = Picture("-unit", unit, path)
        sums, recursive, stack = collections.Counter(), set(), []
        for f in p.frames[1:]:
            stack = stack[:f.level - 1] + [f.name]
            sums[f.name] += float(re.match(r"(-?[\d.]+)", f.about)[1])
            if stack.count(f.name) > 1:
                recursive.add(f.name)
        top = sonde("-top", "-unit", unit, "-nodefraction=0", path).decode()
        total = re.search(r"% of (\S+) total", top)[1]
        assert p.frames[0].about.startswith(f"{total} (100%)"), p.frames[0]
        rows = re.findall(r"^ *\S+ +\S+ +\S+ +(-?[\d.]+)\S* +\S+  (.+?)(?: \(inline\)| \(partial-inline\))?$",
                          top, re.M)
        assert len(rows) > 20
        compared = 0
        for cum, function in rows:
            if function not in recursive and function in sums:
                assert abs(sums[function] - float(cum)) < 0.5, (name, function, sums[function], cum)
                compared += 1
        assert compared > len(rows) * 0.9, (name, compared, len(rows))


def t_options_count():
    path = PROFILES / "prom-heap.pb.gz"
    whole = Picture(path)
    assert "Type: inuse_space" in whole.text and "File: prometheus" in whole.text
    other = Picture("-sample_index=alloc_objects", "-focus=http", path)
    assert "Type: alloc_objects" in other.text and "focus=http" in other.text
    assert "of" in next(n for n in other.notes if "sample" in n)
    assert other.frames[0].about != whole.frames[0].about
    assert all("http" not in f.name for f in Picture("-hide=http", path).frames)
    equal(len(Picture("-nodecount=7", path).frames), 8)
    assert any(re.search(r"\.go:\d+$", f.name) for f in Picture("-lines", path).frames)
    assert any(f.name.endswith(".go") for f in Picture("-files", path).frames)


def t_tags_are_frames():
    p = Profile([("samples", "count")])
    for tenant in ("blue", "green"):
        p.sample([p.frame("work"), p.frame("main")], [5], [("tenant", tenant)])
    path = TMP / "tags.pb"
    path.write_bytes(p.encode())
    names = {f.name.split()[0] for f in Picture("-tagroot=tenant", path).frames if f.level == 1}
    equal(names, {"blue", "green"})


def t_inlined_frames_say_so():
    p = Profile([("samples", "count")])
    inner, outer = p.function("inner"), p.function("outer")
    p.sample([p.location([(inner, 1), (outer, 2)], 0x1000), p.frame("main")], [5])
    path = TMP / "inlined.pb"
    path.write_bytes(p.encode())
    picture = Picture(path)
    assert "inlined" in picture.named("inner").about
    assert "inlined" not in picture.named("outer").about


def t_each_swatch_has_a_colour_of_its_own():
    modules = ["std", "absl", "boost", "folly", "rocksdb", "grpc", "fmt", "zstd"]
    picture = Picture(folded("".join(f"main;{m}::f {80 - i}\n" for i, m in enumerate(modules)), "modules.folded"))
    swatches = [r.get("fill") for r in picture.root.findall(SVG + "rect") if r.get("class") != "paper"]
    assert len(swatches) == len(set(swatches)) == len(modules), swatches
    assert len({picture.named(f"{m}::f").fill for m in modules}) == len(modules)


def t_a_comparison_has_signs_and_colours():
    old = folded("main;a 100\nmain;b 50\nmain;gone 30\n", "old.folded")
    new = folded("main;a 100\nmain;b 90\nmain;fresh 30\n", "new.folded")
    p = Picture("-diff_base", old, new)
    equal(p.frames[0].about.split("\n")[0], "+40 (+22.22%) of the base's 180")
    equal(p.named("a").label, "0 a")
    equal(p.named("b").label, "+40 b")
    equal(p.named("gone").label, "-30 gone")
    assert "base 50, now 90: +80%" in p.named("b").about
    assert p.named("fresh").about.split("\n")[1].endswith(": new")
    assert p.named("gone").about.split("\n")[1].endswith(": gone")
    assert abs(p.named("a").width / WIDTH - 200 / 400) < 1e-4  # both sides together
    equal(len({p.named(n).fill for n in ("a", "b", "gone", "fresh")}), 4)
    q = Picture("-base", old, new)
    equal({f.name: f.label for f in q.frames if f.level == 2},
          {"b": "+40 b", "fresh": "+30 fresh", "gone": "-30 gone"})
    assert "grown 0, shrunk 30" in q.named("gone").about


def t_empty_and_tiny_profiles_are_pictures():
    empty = TMP / "empty.pb"
    empty.write_bytes(Profile([("samples", "count")]).encode())
    p = Picture(empty)
    equal(len(p.frames), 1)
    assert any("no samples" in n for n in p.notes)
    one = Picture(folded("a;b 1\n", "one.folded"))
    equal([(f.name, f.width) for f in one.frames], [("root", WIDTH), ("a", WIDTH), ("b", WIDTH)])


def t_negative_and_huge_values_do_no_harm():
    p = Profile([("samples", "count")])
    for n, v in enumerate((-5, 7, 2**63 - 1, -2**63, 1)):
        p.sample([p.frame(f"f{n}"), p.frame("main")], [v])
    path = TMP / "negative.pb"
    path.write_bytes(p.encode())
    assert all(0 <= f.x <= WIDTH and 0 < f.width <= WIDTH for f in Picture(path).frames)
    assert all("f3" != f.name for f in Picture("-drop_negative", path).frames)


HOSTILE = ["<script>alert(1)</script>", "\"'&amp;", "]]>", "--><!--", "a\u202egnp.exe", "nul\0byte",
           "line\nfeed\x1b[31m", "x" * 65536, b"\xff\xfe bad", "\ufffe", "", " ", "漢字" * 50, "&#x41;"]


def hostile_profile():
    p = Profile([("<b>type", "\"unit\n")], comments=["<script>", "]]>", "c" * 5000])
    p.mapping(file="/bin/<evil>\u202e&", build_id="]]>")
    for i, name in enumerate(HOSTILE):
        p.sample([p.frame(name, mapping=1, address=0x400000 + i), p.frame("main", mapping=1)], [1 + i])
    path = TMP / "hostile.pb"
    path.write_bytes(p.encode())
    return path


def t_hostile_names_are_text():
    p = Picture("-symbolize=none", hostile_profile())
    equal([e.tag for e in p.root.iter() if e.tag.endswith("script")], [SVG + "script"])
    names = {f.name for f in p.frames}
    for name in HOSTILE[:4] + HOSTILE[12:]:
        assert name in names, name
    assert "a<U+202E>gnp.exe" in names
    assert any(n.startswith("x" * 4096) and len(n) < 4100 for n in names)
    assert not re.search("[\0-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", p.text)
    assert len(p.bytes) < 200_000


def t_nothing_is_asked_for():
    """No address but those that name a language, no reference, nothing evaluated."""
    text = Picture(PROFILES / "voltha-leak.pb.gz").text
    names = set(re.findall(r"\bhttps?://[^\s\"'<>]*", text))
    assert names <= {"http://www.w3.org/2000/svg", "http://www.w3.org/1999/xhtml"}, names
    for word in ("href", "url(", "@import", "eval(", "Function(", "fetch(", "XMLHttp", " on", "style="):
        found = re.search(r"<\w[^>]*" + re.escape(word), text) if word == " on" else word in text
        assert not found, word


def t_the_shell_writes_a_file():
    path = folded(FOLDED)
    subprocess.run([SONDE, str(path)], input=b"flamegraph gc >one.svg\nflamegraph\n", cwd=TMP,
                   capture_output=True, timeout=LIMIT, check=True)
    assert b">gc" in (TMP / "one.svg").read_bytes()
    assert b"json.parse" not in (TMP / "one.svg").read_bytes()
    assert b"json.parse" in (TMP / "profile001.svg").read_bytes()


def t_other_programs_can_draw_it():
    tool = shutil.which("rsvg-convert")
    if not tool:
        raise Skip("no rsvg-convert")
    for p in (Picture(folded(FOLDED)), Picture("-symbolize=none", hostile_profile())):
        png = p.path.with_suffix(".png")
        subprocess.run([tool, p.path, "-o", png], check=True, capture_output=True, timeout=LIMIT)
        head = png.read_bytes()[:24]
        equal((int.from_bytes(head[16:20], "big"), int.from_bytes(head[20:24], "big")),
              (1200, int(p.root.get("height"))))
        assert png.stat().st_size > 5000


# --- in a browser ------------------------------------------------------------------------

def browser():
    if not webdriver.available():
        raise Skip("no chromedriver")
    return webdriver.Browser()


# name -> where it is on the screen, for frames that are shown
SHOWN = """
const shown = {};
for (const g of document.querySelectorAll('.frames > g')) {
    if (g.getAttribute('display') === 'none')
        continue;
    const r = g.querySelector('rect').getBoundingClientRect();
    const name = g.getAttribute('aria-label').split(', ')[0];
    shown[name] = { x: r.x, y: r.y, width: r.width, text: g.textContent,
                    fill: g.querySelector('rect').getAttribute('fill') };
}
return shown;
"""


class Page:
    def __init__(self, page):
        self.page = page

    def shown(self):
        return self.page.run(SHOWN)

    def click(self, name):
        at = self.shown()[name]
        self.page.click(at["x"] + min(at["width"] / 2, 20), at["y"] + 8)

    def hover(self, name):
        at = self.shown()[name]
        self.page.hover(at["x"] + min(at["width"] / 2, 20), at["y"] + 8)

    def text(self, selector):
        return self.page.run("const e = document.querySelector(arguments[0]);"
                             "return e && e.getAttribute('display') !== 'none' ? e.textContent : null",
                             selector)

    def focused(self):
        return self.page.run("const e = document.activeElement;"
                             "return e ? e.getAttribute('aria-label').split(', ')[0] : null")

    def widths(self):
        return {name: round(at["width"]) for name, at in self.shown().items()}


@contextlib.contextmanager
def opened(path):
    with browser() as page:
        page.open(path)
        yield Page(page), page
        equal(page.complaints(), [])


def t_click_zooms_and_escape_returns():
    with opened(Picture(folded(FOLDED)).path) as (p, page):
        before = p.widths()
        equal(set(before), {"root", "main", "http.serve", "json.parse", "runtime.alloc", "db.query", "gc"})
        assert abs(before["json.parse"] - before["root"] * 0.65) < 2
        p.click("json.parse")
        after = p.widths()
        equal(set(after), {"root", "main", "http.serve", "json.parse", "runtime.alloc"})
        equal(after["json.parse"], before["root"])
        assert abs(after["runtime.alloc"] - before["root"] * 25 / 65) < 2
        equal(p.text(".summary"), "Reset zoom \u00a0 root › main › http.serve › json.parse (65.0% of the width)")
        p.hover("runtime.alloc")
        tip = p.text(".tip")
        assert "runtime.alloc" in tip and "25 (25.00%) of 100" in tip and "38.5% of json.parse" in tip, tip
        page.press("Escape")
        equal(p.widths(), before)
        assert p.text(".summary").startswith("Showing 100")
        # A caller zooms out, and so do the words of the way there.
        p.click("json.parse")
        p.click("http.serve")
        assert "db.query" in p.widths() and "gc" not in p.widths()
        box = page.run("const r = document.querySelectorAll('.summary .link')[0].getBoundingClientRect();"
                       "return [r.x + 5, r.y + r.height / 2]")
        page.click(*box)
        equal(p.widths(), before)


def t_search_tells_the_share_and_marks_frames():
    with opened(Picture(folded(FOLDED)).path) as (p, page):
        plain = p.shown()
        page.press("/", "parse|GC")  # a capital: case counts
        equal(p.text("[role=status]"), "1 frame, 65.0%")
        page.press(*["Backspace"] * 2)
        page.press("gc")
        equal(p.text("[role=status]"), "2 frames, 80.0%")
        marked = p.shown()
        equal(marked["gc"]["fill"], plain["gc"]["fill"])
        assert marked["db.query"]["fill"] != plain["db.query"]["fill"]
        p.click("http.serve")
        equal(p.text("[role=status]"), "2 frames, 80.0% (here 76.5%)")
        page.press("Escape")
        page.press("/")
        page.press("Backspace", "(")  # not a regular expression: just text
        equal(p.text("[role=status]"), "0 frames, 0%")
        page.press("Escape")
        equal(p.text("[role=status]"), "")
        equal(p.shown(), plain)


def t_the_keyboard_goes_everywhere():
    with opened(Picture(folded(FOLDED)).path) as (p, page):
        page.run("document.querySelector('.frames > g').focus()")
        equal(p.focused(), "root")
        page.press("Down", "Down", "Down", "Right")
        equal(p.focused(), "db.query")
        page.press("Left", "Down")
        equal(p.focused(), "runtime.alloc")
        assert "runtime.alloc" in p.text(".tip")
        page.press("Up", "Enter")
        equal(p.focused(), "json.parse")
        assert "db.query" not in p.widths()
        page.press("Escape")
        assert "db.query" in p.widths()
        page.press("Home")
        equal(p.focused(), "root")
        roles = page.run("return [...document.querySelectorAll('.frames > g')].map("
                         "(g) => g.getAttribute('role') + g.getAttribute('aria-level'))")
        equal(roles[:4], ["treeitem1", "treeitem2", "treeitem3", "treeitem4"])


def t_it_is_as_wide_as_the_window():
    with opened(Picture(folded(FOLDED)).path) as (p, page):
        # The window is told of its size some time after it has been set.
        page.resize(900, 600)
        until("a picture of 900", lambda: 800 < p.widths()["root"] <= 900)
        page.resize(1500, 600)
        until("a picture of 1500", lambda: 1400 < p.widths()["root"] <= 1500)


def t_labels_stay_inside_their_frames():
    with opened(Picture(PROFILES / "prom-cpu.pb.gz").path) as (p, page):
        too_wide = page.run("""
return [...document.querySelectorAll('.frames > g')].filter((g) => {
    const text = g.querySelector('text');
    return g.getAttribute('display') !== 'none' && text && text.textContent &&
        text.getBoundingClientRect().right > g.querySelector('rect').getBoundingClientRect().right + 1;
}).map((g) => g.textContent)""")
        equal(too_wide, [])


def t_hostile_names_do_nothing_in_a_browser():
    with opened(Picture("-symbolize=none", hostile_profile()).path) as (p, page):
        names = p.shown()
        assert "<script>alert(1)</script>" in names
        p.click("<script>alert(1)</script>")
        page.press("/", "]]>")
        equal(p.text("[role=status]").split(",")[0], "1 frame")
        equal(page.run("return document.querySelectorAll('script').length"), 1)


class Strict(http.server.SimpleHTTPRequestHandler):
    """Forbids everything."""

    def end_headers(self):
        self.send_header("Content-Security-Policy", "default-src 'none'")
        super().end_headers()

    def log_message(self, *args):
        pass


def t_without_scripts_and_styles_it_is_still_a_picture():
    picture = Picture(folded(FOLDED))
    server = http.server.ThreadingHTTPServer(
        ("127.0.0.1", 0), lambda *a: Strict(*a, directory=str(TMP)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        with browser() as page:
            page.open(f"http://127.0.0.1:{server.server_port}/{picture.path.name}")
            equal(page.run("return document.querySelectorAll('input').length"), 0)
            drawn = page.run("return [...document.querySelectorAll('.frames > g')].map((g) => ["
                             "g.querySelector('rect').getBoundingClientRect().width > 10,"
                             "g.querySelector('text').getBoundingClientRect().width > 10])")
            equal(drawn, [[True, True]] * 7)
    finally:
        server.shutdown()
        server.server_close()


if __name__ == "__main__":
    sys.exit(main(globals()))
