#!/usr/bin/env python3
"""Pictures: what Graphviz draws of our graphs, and what happens when it does not.

usage: pictures.py --sonde PROGRAM

Drawings are parsed and compared with those of Go's pprof, element by element; PNG, GIF, PDF and
PostScript are also given to other programs to read.  What is not installed is skipped.

SPDX-License-Identifier: Apache-2.0
"""
import collections
import math
import os
import pathlib
import pty
import re
import select
import resource
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as xml

import webdriver

HERE = pathlib.Path(__file__).resolve().parent
PROFILES = HERE / "profiles"
PROFILE = PROFILES / "prom-heap.pb.gz"
SONDE = pathlib.Path(sys.argv[sys.argv.index("--sonde") + 1]).resolve()
TRIES = 60  # the reference breaks ties at random: one time in four that it is ours fails by chance once in 10^7
LIMIT = 300  # seconds for any one command
results = []


def check(what, want, got):
    results.append(want == got)
    print(f"{'' if want == got else 'not '}ok {len(results)} - {what}", flush=True)
    if want != got:
        for name, text in (("wanted", want), ("got", got)):
            print("".join(f"# {name}: {line}\n" for line in str(text).splitlines()[:12]), end="")


def skip(what, why):
    results.append(True)
    print(f"ok {len(results)} - {what} # SKIP {why}")


def has(what, needle, text):
    check(what, True, needle in text)
    if needle not in text:
        print(f"# no {needle!r} in {text[-400:]!r}")


def reference():
    tool = subprocess.run(["go", "tool", "-n", "pprof"], capture_output=True, text=True) if shutil.which("go") else None
    path = tool.stdout.strip() if tool and tool.returncode == 0 else ""
    return path if os.path.exists(path) else None


GO = reference()


class Place:
    """An empty folder to run programs in, with a folder of programs that come first."""

    def __enter__(self):
        self.tmp = tempfile.TemporaryDirectory()
        top = pathlib.Path(self.tmp.name)
        self.here, self.bin, self.temp = top / "here", top / "bin", top / "temp"
        for d in (self.here, self.bin, self.temp):
            d.mkdir()
        self.env = {"PATH": f"{self.bin}:/usr/bin:/bin", "HOME": str(top), "TZ": "UTC", "TERM": "xterm",
                    "TMPDIR": str(self.temp), "LANG": "C.UTF-8", "ASAN_OPTIONS": "detect_leaks=0"}
        return self

    def __exit__(self, *_):
        self.tmp.cleanup()

    def program(self, name, script):
        path = self.bin / name
        path.write_text("#!/bin/sh\n" + script + "\n")
        path.chmod(0o755)

    def run(self, *args, program=SONDE, stdin=b"", **env):
        r = subprocess.run([program, *args], input=stdin, cwd=self.here, env={**self.env, **env}, capture_output=True,
                           timeout=LIMIT)
        return r.returncode, r.stdout, r.stderr.decode(errors="replace")

    def start(self, *args):
        return subprocess.Popen([SONDE, *args], cwd=self.here, env=self.env, stdin=subprocess.DEVNULL,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def files(self, where=None):
        return sorted(f.name for f in (where or self.here).iterdir())


# What is in a drawing ------------------------------------------------------------------------------

SVG = "{http://www.w3.org/2000/svg}"
TOOLTIP = "{http://www.w3.org/1999/xlink}title"


def looks(group):
    """Texts, tooltips, fonts, colours and lines of a node or an edge, wherever they lie."""
    found = []
    for e in group.iter():
        tag = e.tag.removeprefix(SVG)
        if tag == "text":
            found.append(("text", e.text, e.get("font-size"), e.get("font-family"), e.get("fill")))
        elif tag == "a":
            found.append(("tooltip", e.get(TOOLTIP)))
        elif tag in ("polygon", "path", "ellipse", "polyline"):
            found.append((tag, e.get("fill"), e.get("stroke"), e.get("stroke-width"), e.get("stroke-dasharray")))
    return tuple(found)


def drawing(svg):
    """Nodes and edges of a drawing, without their numbers and places."""
    root = xml.fromstring(svg)
    nodes, edges, legend = {}, [], []
    for g in root.iter(SVG + "g"):
        title = g.findtext(SVG + "title")
        if g.get("class") == "node":
            nodes[title] = looks(g)
        elif g.get("class") == "edge":
            edges.append((title.split("->"), looks(g)))
        elif g.get("class") == "cluster":
            legend.append((title, looks(g)))
    named = [(nodes[a], nodes[b], look) for (a, b), look in edges]
    return collections.Counter(nodes.values()), collections.Counter(named), legend, root.get("width"), root.get("height")


MIXES = [[], ["-lines"], ["-files"], ["-addresses"], ["-cum", "-nodecount=15"], ["-focus=main|http|runtime", "-compact_labels=false"],
         ["-trim=false", "-nodecount=60"], ["-sample_index=0", "-unit=bytes"], ["-noinlines", "-edgefraction=0.02"],
         ["-relative_percentages", "-hide=runtime"]]


SLOW = ("arktos-cpu", "arktos-heap-new", "heketi", "voltha-leak")  # graphs that dot takes seconds for


def subjects():
    """Each profile with two mixes of options, and comparisons."""
    names = sorted(p.name for p in PROFILES.glob("*.pb.gz") if not p.name.startswith("synthetic"))
    for i, name in enumerate(names):
        fewer = ["-nodecount=25"] if name.startswith(SLOW) else []
        yield [PROFILES / name], MIXES[0] + fewer
        yield [PROFILES / name], MIXES[1 + i % (len(MIXES) - 1)] + fewer
    for old, new in (("arktos-heap-base", "arktos-heap-new"), ("prom-heap", "prom-heap-gc"), ("voltha-leak", "voltha-fixed")):
        for how in ("base", "diff_base"):
            yield [PROFILES / f"{new}.pb.gz"], [f"-{how}={PROFILES / old}.pb.gz", "-nodecount=25"]


def compare(place, sources, options):
    """None if the drawings have the same parts, else what differs.  The reference may be asked again."""
    status, ours, err = place.run("-svg", *options, *sources)
    wrong = (status, err[-300:])
    if status != 0:
        return wrong
    mine = drawing(ours)
    for _ in range(TRIES):
        _, theirs, _ = place.run("-svg", *options, *sources, program=GO)
        yours = drawing(theirs)
        if mine == yours:
            return None
        wrong = [f"{part}: {list((y - m).items())[:2]} became {list((m - y).items())[:2]}" if part != "frame" else f"{y} {m}"
                 for part, m, y in (("nodes", mine[0], yours[0]), ("edges", mine[1], yours[1]), ("frame", mine[2:], yours[2:])) if m != y]
    return "\n".join(map(str, wrong))


def drawings():
    for sources, options in subjects():
        words = " ".join(str(o).replace(str(PROFILES) + "/", "") for o in [*options, *(s.name for s in sources)])
        what = f"nodes, edges, labels, tooltips and colours: -svg {words}"
        if not GO:
            skip(what, "no reference")
            continue
        with Place() as place:
            check(what, None, compare(place, sources, options))


def without_script(svg):
    return re.sub(rb"<!\[CDATA\[.*?\]\]>", b"", svg, flags=re.S)


def the_page():
    with Place() as place:
        _, svg, _ = place.run("-svg", PROFILE)
        has("the drawing fills the window", b'<svg width="100%" height="100%" xmlns=', svg)
        has("and can be moved", b'<g id="viewport" transform="scale(0.5,0.5) translate(0,0)"><g id="graph0"', svg)
        check("the page is well-formed", SVG + "svg", xml.fromstring(svg).tag)
        place.run("-eog", "-output=plain.svg", PROFILE)
        plain = (place.here / "plain.svg").read_bytes()
        check("what is not for a browser has no script", False, b"<script" in plain)
        if GO:
            _, theirs, _ = place.run("-svg", PROFILE, program=GO)
            check("all but the script is the reference's", without_script(theirs), without_script(svg))
        page = place.here / "page.svg"
        page.write_bytes(svg)
        if webdriver.available():
            in_a_browser(page)
        else:
            skip("pans and zooms in a browser", "no chromedriver")


PLACE = """var m = document.getElementById('viewport').getCTM();
return [m.a, m.d, m.e, m.f].map(function (v) { return Math.round(v * 1000) / 1000; });"""


def in_a_browser(path):
    with webdriver.Browser() as page:
        page.open(path)
        check("opens in a browser at half its size", [.5, .5, 0, 0], page.run(PLACE))
        page.hover(300, 300)
        check("stays where it is under the pointer", [.5, .5, 0, 0], page.run(PLACE))
        page.at(10, 10, {"type": "pointerDown", "button": 0}, {"type": "pointerMove", "duration": 0, "x": 40, "y": 90},
                {"type": "pointerMove", "duration": 0, "x": 110, "y": 60}, {"type": "pointerUp", "button": 0})
        check("moves as it is dragged", [.5, .5, 100, 50], page.run(PLACE))
        page.hover(300, 300)
        check("stays when let go", [.5, .5, 100, 50], page.run(PLACE))
        wheel(page, 100, 50, -round(1000 * math.log(2) / 1.5))
        check("is zoomed at the pointer by the wheel", [1, 1, 100, 50], [round(v, 2) for v in page.run(PLACE)])
        wheel(page, 100, 50, 100000)
        check("is never zoomed out of sight", True, page.run(PLACE)[0] > .001)
        check("no complaints in the console", [], page.complaints())


def wheel(page, x, y, by):
    page.ask("POST", "/actions", {"actions": [{"type": "wheel", "id": "wheel", "actions": [
        {"type": "scroll", "x": x, "y": y, "deltaX": 0, "deltaY": by, "duration": 0}]}]})
    page.run("return 0")


# Other programs read them ------------------------------------------------------------------------------

def undated(data):
    return re.sub(rb"/CreationDate \(.*?\)", b"", data)


def pixels(command, data):
    """Width and height of what a netpbm program makes of it."""
    r = subprocess.run(command, input=data, capture_output=True)
    m = re.match(rb"P[1-6]\s+(\d+)\s+(\d+)\s", r.stdout)
    return (int(m[1]), int(m[2])) if m and r.returncode == 0 else r.stderr


def reader(what, program, want, read):
    if shutil.which(program):
        check(what, want, read())
    else:
        skip(what, f"no {program}")


def formats():
    with Place() as place:
        made = {}
        for kind in ("png", "gif", "ps", "pdf"):
            status, made[kind], err = place.run(f"-{kind}", PROFILE)
            check(f"-{kind} works, silently", (0, ""), (status, err))
            if GO:
                _, theirs, _ = place.run(f"-{kind}", PROFILE, program=GO)
                check(f"-{kind} has the reference's bytes", undated(theirs), undated(made[kind]))
        check("PNG by its first bytes", (b"\x89PNG\r\n\x1a\n", b"IHDR"), (made["png"][:8], made["png"][12:16]))
        check("PNG to its last bytes", b"IEND", made["png"][-8:-4])
        size = struct.unpack(">II", made["png"][16:24])
        check("a picture of a size", True, size[0] > 400 and size[1] > 400)
        reader("PNG is decoded by libpng", "pngtopnm", size, lambda: pixels(["pngtopnm"], made["png"]))
        reader("GIF is decoded by netpbm", "giftopnm", struct.unpack("<HH", made["gif"][6:10]), lambda: pixels(["giftopnm"], made["gif"]))
        reader("PDF is drawn by poppler", "pdftoppm", True, lambda: isinstance(pixels(["pdftoppm", "-r", "30", "-"], made["pdf"]), tuple))
        reader("PDF has the legend and the names as text", "pdftotext", [], lambda: missing_words(made["pdf"]))
        reader("PostScript is drawn by Ghostscript", "gs", (0, b""), lambda: ghostscript(made["ps"]))


def missing_words(pdf):
    text = subprocess.run(["pdftotext", "-", "-"], input=pdf, capture_output=True).stdout.decode()
    return [w for w in ("Type: inuse_space", "Showing nodes accounting for", "newStripeSeries", "2786.98kB (24.11%)") if w not in text]


def ghostscript(ps):
    r = subprocess.run(["gs", "-q", "-dNOPAUSE", "-dBATCH", "-dSAFER", "-sDEVICE=nullpage", "-"], input=ps, capture_output=True)
    return r.returncode, r.stdout + r.stderr


# A Graphviz that does not do what it should ----------------------------------------------------------------

HINT = "apt-get install graphviz; {0}flamegraph and {0}dot need none"


def missing():
    with Place() as place:
        status, out, err = place.run("-png", PROFILE, PATH=str(place.bin))
        check("without dot: status and output", (2, b""), (status, out))
        check("without dot: one line, the reference's and more", 1, err.count("\n"))
        has("without dot: what to install", HINT.format("-"), err)
        if GO:
            _, _, theirs = place.run("-png", PROFILE, program=GO, PATH=str(place.bin))
            has("without dot: begins with what the reference says", theirs.strip(), err)
        status, out, _ = place.run("-dot", PROFILE, PATH=str(place.bin))
        check("-dot does without", (0, b"digraph"), (status, out[:7]))
        _, out, err = place.run(PROFILE, stdin=b"png\ntop1\n", PATH=str(place.bin))
        has("in the shell, without dashes", HINT.format(""), err)
        has("and the shell goes on", b"flat%", out)
        status, _, err = place.run("-svg", "-output=x.svg", "http://127.0.0.1:1/x", PATH=str(place.bin))
        has("is said before anything is fetched", HINT.format("-"), err)
        check("no file", [], place.files())
        (place.here / "dot").symlink_to("/usr/bin/dot")
        status, _, _ = place.run("-svg", PROFILE, PATH=".:")
        check("a dot that lies in the current folder is not started", 2, status)


BROKEN = {
    "fails": ("echo half; exit 3", "failed to execute dot. Error: exit status 3"),
    "crashes": ("echo half; kill -SEGV $$", "failed to execute dot. Error: signal: segmentation fault"),
    "hangs": (f"echo half; sleep {2 * LIMIT}", "failed to execute dot: it took longer than 1 s; try a smaller nodecount, or a larger layout_timeout"),
    "turns in circles": ("while :; do :; done", "failed to execute dot: it took longer than 1 s; try a smaller nodecount, or a larger layout_timeout"),
    "never stops writing": ("exec yes", "failed to execute dot. Error: it wrote more than 512 MB"),
    "eats memory": ("exec /usr/bin/python3 -c 'x = bytearray(1 << 46)' 2>/dev/null", "failed to execute dot. Error: exit status 1"),
    "leaves a process behind": (f"sleep {2 * LIMIT} & echo $! >pid; exit 1", "failed to execute dot. Error: exit status 1"),
}


def gone(pid):
    """Whether the process ends, or has ended."""
    end = time.monotonic() + LIMIT
    while time.monotonic() < end:
        try:
            if pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] == "Z":
                return True
        except FileNotFoundError:
            return True
        time.sleep(.05)
    return False


def broken():
    for how, (script, message) in BROKEN.items():
        with Place() as place:
            place.program("dot", script)
            # Where it matters dot goes on for longer than anybody waits; where not, machines may be slow.
            seconds = "1" if "1 s" in message else str(LIMIT)
            answer = place.run("-png", f"-layout_timeout={seconds}", PROFILE)
            check(f"a dot that {how}: nothing but a message", (2, b"", message + "\n"), answer)
            place.run("-png", f"-layout_timeout={seconds}", "-output=x.png", PROFILE)
            left = [f for f in place.files() if f != "pid"]
            check(f"a dot that {how}: no file", [], left)
            if (place.here / "pid").exists():
                check(f"a dot that {how}: which is killed", True, gone(int((place.here / "pid").read_text())))
    with Place() as place:
        place.program("dot", "exec <&-; echo garbage")
        check("a dot that reads nothing and prints garbage is believed", (0, b"garbage\n", ""), place.run("-svg", PROFILE))
        place.program("dot", "echo beware >&2; exec /usr/bin/dot \"$@\"")
        status, out, err = place.run("-svg", PROFILE)
        check("what dot says is passed on", (0, True, "beware\n"), (status, b"</svg>" in out, err))
        place.program("dot", "echo \"$@\"")
        check("dot is asked as the reference asks", (0, b"-Tps\n", ""), place.run("-ps", PROFILE))
        (place.bin / "dot").write_text("#!/nonexistent\n")
        status, _, err = place.run("-ps", PROFILE)
        check("a dot that cannot be started", (2, f"failed to execute dot. Error: {place.bin}/dot: no such file or directory\n"), (status, err))


def waiting(place, *args):
    """sonde, with a dot that hangs; and the dot's pid."""
    place.program("dot", f"echo $$ >{place.temp}/new; mv {place.temp}/new {place.temp}/pid; exec sleep {2 * LIMIT}")
    p = place.start(*args)
    end = time.monotonic() + LIMIT
    while not (place.temp / "pid").exists() and time.monotonic() < end:
        time.sleep(.05)
    return p, int((place.temp / "pid").read_text())


def interrupted():
    for sig in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT):
        signal.signal(sig, signal.SIG_DFL)  # who runs the tests may be deaf to it, and then sonde is, too
    resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))
    for sig in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGKILL):
        with Place() as place:
            p, dot = waiting(place, "-svg", "-output=x.svg", PROFILE)
            p.send_signal(sig)
            out, err = p.communicate(timeout=LIMIT)
            check(f"{sig.name}: ends, and says nothing", (-sig, b"", b""), (p.returncode, out, err))
            check(f"{sig.name}: dot ends, too", True, gone(dot))
            if sig != signal.SIGKILL:
                check(f"{sig.name}: no file", [], place.files())


def huge():
    with Place() as place:
        status, out, err = place.run("-svg", "-nodecount=2000", "-nodefraction=0", "-edgefraction=0", PROFILES / "prom-allocs.pb.gz")
        check("all 2000 nodes of a large graph, or as many as there are", (0, ""), (status, err))
        check("are drawn", True, out.count(b'class="node"') > 300)
        status, out, err = place.run("-svg", "-nodecount=1000", "-nodefraction=0", "-layout_timeout=2", PROFILES / "synthetic-20k.pb.gz")
        has("a layout without end is given up", "it took longer than 2 s", err)
        check("and there is no output", (2, b""), (status, out))


# Viewers, the shell, a terminal ------------------------------------------------------------------------------

VIEWERS = {"eog": ("eog", "svg", b"<?xml"), "evince": ("evince", "pdf", b"%PDF"), "gv": ("gv", "ps", b"%!PS"), "web": ("browser", "svg", b"<?xml")}


def viewers():
    for flag, (program, kind, first) in VIEWERS.items():
        with Place() as place:
            place.program(program, f'echo "$@" >{place.temp}/said; for f; do :; done; cp "$f" {place.temp}/shown')
            status, out, err = place.run(f"-{flag}", PROFILE, BROWSER="browser --new")
            said = (place.temp / "said").read_text()
            words = {"gv": "--noantialias ", "web": "--new "}.get(flag, "")
            check(f"-{flag} shows a temporary file", f"{words}{place.temp}/pprof001.{kind}\n", said)
            check(f"-{flag} shows the picture", first, (place.temp / "shown").read_bytes()[:len(first)])
            check(f"-{flag} is silent, and removes it", (0, b"", "", ["said", "shown"]), (status, out, err, place.files(place.temp)))
            if flag == "web":
                has("-web shows what can be moved", b'id="viewport"', (place.temp / "shown").read_bytes())
            place.program(program, "exit 4")
            status, _, err = place.run(f"-{flag}", PROFILE, BROWSER="browser --new")
            check(f"-{flag}: a viewer that fails", (2, "exit status 4\n"), (status, err))
            status, _, err = place.run(f"-{flag}", "-output=f", PROFILE, BROWSER="browser")
            check(f"-{flag} -output only writes", (0, "Generating report in f\n"), (status, err))
    for flag, last in (("eog", "eog"), ("web", "sensible-browser")):
        with Place() as place:
            (place.bin / "dot").symlink_to("/usr/bin/dot")
            status, _, err = place.run(f"-{flag}", PROFILE, PATH=str(place.bin))
            check(f"-{flag} without a viewer", (2, f'exec: "{last}": executable file not found in $PATH\n'), (status, err))
            check(f"-{flag} without a viewer leaves no file", [], place.files(place.temp))


def shell():
    script = "png\npng\nsvg > f.svg\npdf >g.pdf\ngif 5 tsdb\nps 3\ntop1\nsvg > no/such/folder\ndot > h.dot\n"
    with Place() as place:
        status, out, err = place.run(PROFILE, stdin=script.encode())
        named = ["profile001.png", "profile002.png", "f.svg", "g.pdf", "profile001.gif", "profile001.ps"]
        lines = [f"Generating report in {n}" for n in [*named, "no/such/folder", "h.dot"]]
        check("the shell says where pictures are", lines, [x for x in err.splitlines() if x.startswith("Gen")])
        check("and there they are", sorted([*named, "h.dot"]), place.files())
        kinds = {"png": b"\x89PNG", "svg": b"<?xml", "pdf": b"%PDF", "gif": b"GIF8", "ps": b"%!PS", "dot": b"digr"}
        wrong = [n for n in place.files() if not (place.here / n).read_bytes().startswith(kinds[n.rsplit(".")[-1]])]
        check("each of its kind", [], wrong)
        ours = {n: without_script(undated((place.here / n).read_bytes())) for n in place.files()}
    if GO:
        with Place() as place:
            theirs_status, theirs_out, theirs_err = place.run(PROFILE, stdin=script.encode(), program=GO)
            theirs = {n: without_script(undated((place.here / n).read_bytes())) for n in place.files()}
        check("the same conversation with the reference", (theirs_status, theirs_out, theirs_err, theirs), (status, out, err, ours))
    with Place() as place:
        place.program("browser", f'cp "$1" {place.temp}/shown; sleep 1')
        status, out, err = place.run(PROFILE, stdin=b"web 5\ntop1\n", BROWSER="browser")
        check("web from the shell", (0, True, True), (status, err.endswith('"o" for options)\n'), (place.temp / "shown").exists()))
        has("which goes on", b"flat%", out)


def terminal(place, *args):
    """What a person at a terminal sees."""
    pid, fd = pty.fork()
    if pid == 0:
        os.chdir(place.here)
        os.execve(SONDE, [SONDE, *map(str, args)], place.env)
    seen = b""
    while select.select([fd], [], [], 30)[0]:
        try:
            part = os.read(fd, 65536)
        except OSError:
            part = b""
        if not part:
            break
        seen += part
    os.close(fd)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), seen.decode(errors="replace")


def at_a_terminal():
    with Place() as place:
        for n, kind in ((1, "png"), (2, "png"), (1, "svg"), (1, "pdf")):
            status, seen = terminal(place, f"-{kind}", PROFILE)
            check(f"-{kind} at a terminal writes a file", (0, True), (status, f"Generating report in profile00{n}.{kind}" in seen))
        check("with a number", ["profile001.pdf", "profile001.png", "profile001.svg", "profile002.png"], place.files())


def main():
    missing()
    if not os.path.exists("/usr/bin/dot"):
        skip("pictures", "no Graphviz")
    else:
        for part in (the_page, formats, broken, interrupted, viewers, shell, at_a_terminal, huge, drawings):
            part()
    print(f"1..{len(results)}")
    return not all(results)


sys.exit(main())
