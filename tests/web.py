#!/usr/bin/env python3
"""The web interface: every page, the same numbers as the text, and clients that mean no good.

usage: web.py --sonde PROGRAM [NAME...]

Every function below whose name starts with "t_" is one TAP case.

SPDX-License-Identifier: Apache-2.0
"""
import concurrent.futures
import contextlib
import gzip
import html
import html.parser
import http.client
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.parse
import xml.etree.ElementTree

from ports import free_port
from tap import HERE, LIMIT, SONDE, TMP, Profile, Skip, main, run

PROM = HERE / "profiles/prom-heap.pb.gz"
HOSTILE = ['<script>alert(1)</script>', '"><img src=x onerror=alert(1)>', "'+alert(1)+'", "&lt;b&gt;",
           "a\u202eb\u2066c", "]]></script><svg onload=alert(1)>", "-->x", "nul\0byte", "tab\tnew\nline",
           "{{.}}", "%s%n", "x" * 65536, "javascript:alert(1)", "</pre><h1>"]


def hear_ctrl_c():
    """Whoever runs the tests in the background may have switched it off for all below."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


@contextlib.contextmanager
def serving(*args, env=None):
    """The port of a server, which is ended by Ctrl-C."""
    server = subprocess.Popen([SONDE, "-http=localhost:", "-no_browser", *map(str, args)], text=True,
                              stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, preexec_fn=hear_ctrl_c,
                              env={**os.environ, "XDG_CONFIG_HOME": str(TMP / "config"), **(env or {})})
    try:
        for line in server.stderr:
            found = re.fullmatch(r"Serving web UI on http://localhost:(\d+)\n", line)
            if found:
                yield int(found[1])
                break
        else:
            raise AssertionError("it did not serve")
    finally:
        server.send_signal(signal.SIGINT)
        server.stderr.close()
        assert server.wait(LIMIT) == -signal.SIGINT, server.returncode


def ask(port, path, host=None, method="GET", body=None, more=None):
    """(status, headers, body as text)"""
    c = http.client.HTTPConnection("localhost", port, timeout=LIMIT)
    c.request(method, path, body, headers={**({"Host": host} if host else {}), **(more or {})})
    r = c.getresponse()
    body = r.read()
    c.close()
    return r.status, r.headers, body.decode("utf-8", "surrogateescape")


def page(port, path, status=200, **args):
    query = urllib.parse.urlencode(args)
    got, headers, body = ask(port, f"{path}?{query}" if query else path)
    assert got == status, (path, got, body[-600:])
    return body


class Reader(html.parser.HTMLParser):
    """Cells of the table, text of <pre>, and everything that a name could have brought in."""

    def __init__(self, text):
        super().__init__()
        self.rows, self.pre, self.tags, self.handlers, self.links, self.actions = [], "", set(), [], [], []
        self.inside = ""
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        self.handlers += [a for a, _ in attrs if a.startswith("on") or a == "style"]
        self.links += [v for a, v in attrs if a in ("href", "src") or a == "action" and tag == "form"
                       and dict(attrs)["method"] == "get"]
        self.actions += [dict(attrs)["action"] for _ in "1" if tag == "form"]
        if tag == "tr":  # maybe of a table in a cell
            self.rows.append([])
            self.inside = ""
        if tag == "td":
            self.rows[-1].append("")
        if tag in ("td", "pre"):
            self.inside = tag

    def handle_endtag(self, tag):
        if tag == self.inside:
            self.inside = ""

    def handle_data(self, text):
        if self.inside == "td":
            self.rows[-1][-1] += text
        if self.inside == "pre":
            self.pre += text


def table(text):
    """Rows of -top, as lists of six."""
    return [line.split(None, 5) for line in text[text.index("cum%\n") + 5:].splitlines()]


def top_of(port, **args):
    return [[c.strip() for c in row] for row in Reader(page(port, "/ui/top", **args)).rows if row]


# --- the same as the text -------------------------------------------------------------------

def t_the_table_has_the_numbers_of_top():
    with serving(PROM) as port:
        assert top_of(port) == table(run(SONDE, "-top", "-nodecount=500", PROM))
        assert len(top_of(port)) > 20
        for flags, args in ((["-sample_index=alloc_objects"], {"si": "alloc_objects"}),
                            (["-focus=regexp", "-cum"], {"f": "regexp", "sort": "cum"}),
                            (["-ignore=tsdb"], {"i": "tsdb"}), (["-hide=^runtime"], {"h": "^runtime"}),
                            (["-show=tsdb"], {"s": "tsdb"}), (["-lines"], {"g": "lines"}),
                            (["-unit=mb"], {"unit": "mb"}), (["-show_from=main"], {"sf": "main"})):
            expected = table(run(SONDE, "-top", "-nodecount=500", *flags, PROM))
            assert top_of(port, **args) == expected, args


def t_options_of_the_command_line_hold_where_a_link_says_nothing():
    with serving("-sample_index=alloc_space", "-focus=tsdb", PROM) as port:
        base = ["-top", "-nodecount=500", "-sample_index=alloc_space"]
        assert top_of(port) == table(run(SONDE, *base, "-focus=tsdb", PROM))
        assert top_of(port, f="regexp") == table(run(SONDE, *base, "-focus=regexp", PROM))


def t_peek_and_source_are_the_text_reports():
    with serving(PROM) as port:
        text = Reader(page(port, "/ui/peek", f="newTxRing")).pre
        expected = run(SONDE, "-peek=newTxRing", "-lines", "-focus=newTxRing", PROM)
        assert text.rstrip("\n") == expected.rstrip("\n"), text
    lists = HERE / "profiles/arktos-list.pb.gz"
    flags = [f"-source_path={HERE / 'profiles/srcroot'}", "-trim_path=/go/src"]
    with serving(*flags, lists) as port:
        text = page(port, "/ui/source", f="convertToWatchEvent")
        expected = run(SONDE, "-list=convertToWatchEvent", "-focus=convertToWatchEvent", *flags, lists)
        rows = {r[0]: [c or "." for c in r[1:3]] + r[3:] for r in Reader(text).rows if len(r) == 4}
        lines = re.findall(r"^ +(\S+) +(\S+) +(\d+):(.*)$", expected, re.M)
        assert len(lines) > 20
        for flat, cum, number, code in lines:
            assert rows[number] == [flat, cum, code.replace("    ", "\t").rstrip() if code.strip() else ""] or \
                [*rows[number][:2], rows[number][2].split()] == [flat, cum, code.split()], (number, rows[number])
        assert typed(text) == expected


def t_listings_ask_for_functions_first():
    with serving(PROM) as port:
        for view in ("source", "disasm"):
            assert "Which functions?" in page(port, f"/ui/{view}")


def c_program():
    """A program with its source and a profile of one of its lines."""
    folder = TMP / "program"
    if not shutil.which("gcc"):
        raise Skip("no gcc")
    folder.mkdir(exist_ok=True)
    (folder / "work.c").write_text("int work(int n)\n{\n\tint sum = 0;\n\tfor (int i = 0; i < n; i++)\n"
                                   "\t\tsum += i * n;\n\treturn sum;\n}\nint main(void) { return work(3); }\n")
    subprocess.run(["gcc", "-g", "-O0", "-no-pie", "-o", "work", "work.c"], cwd=folder, check=True)
    symbols = subprocess.run(["nm", folder / "work"], capture_output=True, text=True, check=True).stdout
    at = int(re.search(r"^(\w+) T work$", symbols, re.M)[1], 16)
    p = Profile([("samples", "count")])
    m = p.mapping(start=0x400000, limit=0x500000, file=str(folder / "work"), has="")
    p.sample([p.location(address=at + 8, mapping=m)], [7])
    (folder / "profile.pb").write_bytes(p.encode())
    return folder


def t_machine_code_is_folded_under_its_line():
    folder = c_program()
    with serving("-no_cache", folder / "profile.pb") as port:
        text = page(port, "/ui/source", f="^work$")
        assert text.count("<details><summary><code>") >= 5
        folded = re.search(r"<details><summary><code>\tint sum = 0;</code></summary>(.*?)</details>", text, re.S)[1]
        code = run(SONDE, "-no_cache", "-disasm=work", folder / "profile.pb")
        address = re.search(r"(\w+): movl.*work\.c:3", code)[1]
        assert f"<td>{address}</td><td>movl" in folded and "work.c:3" in folded, folded
        assert "7" in [r[2] for r in Reader(text).rows if len(r) >= 4]


def t_only_sources_are_shown_as_such():
    secret = TMP / "secrets"
    secret.mkdir()
    (secret / "key").write_text("the secret\n" * 9)
    (secret / "link.c").symlink_to(secret / "key")
    (secret / "fine.c").write_text("the source\n" * 9)
    os.mkfifo(secret / "pipe.c")
    files = ["/etc/passwd", secret / "key", secret / "link.c", secret / "pipe.c", "/proc/self/environ",
             "../" * 20 + "etc/passwd", secret / "nope.c", secret, "/dev/zero", "x/../../../../etc/hostname",
             secret / "fine.c"]
    p = Profile([("samples", "count")])
    m = p.mapping(file="/bin/none")
    for i, name in enumerate(files):
        p.sample([p.frame(f"f{i}", line=2, file=str(name), mapping=m)], [i + 1])
    path = TMP / "nosy.pb"
    path.write_bytes(p.encode())
    with serving("-symbolize=none", path) as port:
        for i, name in enumerate(files):
            text = page(port, "/ui/source", f=f"^f{i}$")
            assert "root:" not in text and "the secret" not in text and "PATH=" not in text, name
            assert ("the source" in text) == (name == files[-1]), (name, text[-500:])


def t_drawings_are_the_files_of_the_command_line():
    with serving(PROM) as port:
        flame = page(port, "/ui/flamegraph.svg", f="regexp")
        assert flame == run(SONDE, "-flamegraph", "-focus=regexp", "-output=/dev/stdout", PROM)
        assert './flamegraph.svg?f=regexp' in Reader(page(port, "/ui/flamegraph", f="regexp")).links
        if not shutil.which("dot"):
            raise Skip("no dot")
        graph, told = page(port, "/ui/graph.svg").rsplit("<!-- ", 1)
        assert graph == run(SONDE, "-svg", "-output=/dev/stdout", PROM)
        assert re.fullmatch(r"shown \d+ in \d+ nodes, \d+ left out -->\n", told), told


def t_without_dot_the_graph_says_what_is_missing():
    with serving(PROM, env={"PATH": str(TMP)}) as port:
        text = page(port, "/ui/", status=501)
        assert "may need to install graphviz" in text and "./flamegraph" in Reader(text).links


def t_a_download_is_the_profile():
    with serving(PROM) as port:
        c = http.client.HTTPConnection("localhost", port, timeout=LIMIT)
        c.request("GET", "/ui/download")
        r = c.getresponse()
        assert r.getheader("Content-Type") == "application/vnd.google.protobuf+gzip"
        assert r.getheader("Content-Disposition") == "attachment;filename=profile.pb.gz"
        (TMP / "again.pb.gz").write_bytes(r.read())
    assert run(SONDE, "-raw", TMP / "again.pb.gz") == run(SONDE, "-raw", PROM)


def facts(text):
    """The line on every page that tells how much of the truth it is."""
    line = re.search(r'<details class="trust"[^>]*>.*?</summary>', text)[0]
    return re.findall(r'<span class="fact[^"]*">(.*?)</span>', line)


def command_of(text):
    """What the page says to type, with the program under test in the place of its name."""
    line = html.unescape(re.search(r'<code tabindex="0">(.*?)</code>', text, re.S)[1])
    assert re.match("sonde (compare )?-", line) and line.isascii() and line.isprintable(), line
    return f"{SONDE} {line.removeprefix('sonde ')}"


def typed(text):
    return subprocess.run(["bash", "-c", command_of(text)], capture_output=True, text=True, timeout=LIMIT,
                          check=True, cwd=TMP).stdout


def t_every_page_tells_how_much_of_the_truth_it_is():
    with serving(PROM) as port:
        for view in ("top", "", "flamegraph", "peek", "source", "disasm"):
            assert facts(page(port, f"/ui/{view}", status=501 if not view and not shutil.which("dot") else 200)
                         )[0] == "351 samples", view
        got = facts(page(port, "/ui/top", f="tsdb", n="1", nf="0.1"))
        assert got[:2] == ["48 samples", "filtered 49.12%"] and got[2].startswith("trimmed "), got
        head = run(SONDE, "-top", "-nodecount=500", "-nodefraction=0.1", "-focus=tsdb", PROM)
        shown, total = (float(re.search(rf"{w} ([\d.]+)kB", head)[1]) for w in ("for", "of"))
        left = 1 - shown / (total * (1 - 0.4912))
        assert abs(float(got[2].split()[1].rstrip("%")) / 100 - left) < 0.001, (got, left)


def t_a_difference_is_not_trimmed_by_what_cancels_out():
    with serving(f"-diff_base={PROM}", HERE / "profiles/prom-heap-gc.pb.gz") as port:
        for view in "top", "":
            text = page(port, f"/ui/{view}", status=501 if not view and not shutil.which("dot") else 200)
            assert facts(text) == ["717 samples"], (view, facts(text))


def t_what_was_lost_and_what_has_no_name_is_on_the_page():
    p = Profile([("samples", "count")], comments=["sonde: 1234 samples lost", "sonde: 5 stacks cut at the root",
                                                  "sonde: the heap profile is off: <b>"])
    m = p.mapping(file="/nowhere/libstranger.so", build_id="c0ffee")
    named = p.frame("main", mapping=m)
    p.sample([named], [75])
    p.sample([p.location(address=0x4000, mapping=m), named], [25])
    path = TMP / "lossy.pb"
    path.write_bytes(p.encode())
    with serving(path) as port:
        text = page(port, "/ui/top")
        assert facts(text) == ["2 samples", "1,234 lost", "5 stacks cut", "unnamed frames in 25.00%", "1 note"], facts(text)
        for words in ("/nowhere/libstranger.so", "not on this machine", "c0ffee", "PPROF_BINARY_PATH",
                      "the heap profile is off: &lt;b&gt;"):
            assert words in text, words


def t_the_command_on_a_page_prints_its_numbers():
    with serving("-sample_index=alloc_space", "-symbolize=none", PROM) as port:
        for args in ({}, {"f": "tsdb"}, {"f": "a b'c\"$(id)`\\|regexp", "i": "x;y"}, {"si": "inuse_objects", "sort": "cum"},
                     {"g": "lines", "trim": "f"}, {"h": "^runtime\\.", "nf": "0.01", "unit": "mb"}, {"names": "3"},
                     {"f": "\u202ex|é|tsdb\n|'"}):
            text = page(port, "/ui/top", **args)
            assert [[c.strip() for c in row] for row in Reader(text).rows if row] == table(typed(text)), args
        text = page(port, "/ui/peek", f="newTxRing", si="inuse_space")
        assert Reader(text).pre.rstrip("\n") == typed(text).rstrip("\n")
        typed(page(port, "/ui/flamegraph", f="tsdb"))
        assert "svg" in (TMP / "flamegraph.svg").read_text()[:200]
    with serving(f"-diff_base={PROM}", "-nodecount=7", HERE / "profiles/prom-allocs.pb.gz") as port:
        assert f"-diff_base={PROM}" in command_of(page(port, "/ui/top"))


def t_the_command_of_a_comparison_prints_its_numbers():
    old, new = HERE / "profiles/arktos-heap-base.pb.gz", HERE / "profiles/arktos-heap-new.pb.gz"
    with serving(f"-diff_base={old}", "-sample_index=alloc_space", new) as port:
        for args in ({}, {"by": "shares"}, {"si": "inuse_space", "f": "a b'|[Dd]ecode|runtime", "n": "7"}, {"i": "runtime", "by": "none"}):
            command = command_of(page(port, "/ui/compare", **args))
            said = subprocess.run(["bash", "-c", f"{command} --json"], capture_output=True, text=True, timeout=LIMIT)
            assert said.returncode in (0, 1), said.stderr
            assert json.loads(said.stdout) == json.loads(page(port, "/ui/compare.json", **args)), command
        assert "in a terminal" not in page(port, "/ui/compare", h="runtime"), "no command hides"


def labelled_profile():
    p = Profile([("samples", "count")])
    stack = [p.frame("main", line=1, file="main.c")]
    for i, labels in enumerate(([("who", "a,b")], [("who", "a")], [("who", "b|c")], [("who", "^$\\")], [("who", "a,b")],
                                [("size", 1536, "bytes")], [("size", 1537, "bytes")], [("size", 3, "bytes")],
                                [("k=y", "v")], [("who", "<b>\u202e")], [])):
        p.sample(stack, [1 << i], labels=labels)
    path = TMP / "labels.pb"
    path.write_bytes(p.encode())
    return path


def labels_of(text):
    """{(key, value): (sum, link that leaves only it, link that leaves it out)}"""
    found = {}
    for part in text.split("<section>")[1:]:
        key = html.unescape(re.search("<h2>(.*?)</h2>", part)[1])
        for total, links, value in re.findall(r'<tr><td data-value="(-?\d+)">.*?</td>.*?</td><td>(.*?)</td><td>(.*?)</td>',
                                              part):
            hrefs = [html.unescape(h) for h in re.findall(r'href="\./(.*?)"', links)]
            found[key, html.unescape(value)] = (int(total), *hrefs)
    return found


def t_peek_without_a_function_is_everything_or_a_choice():
    with serving(PROM) as port:
        text = Reader(page(port, "/ui/peek")).pre
        assert text.rstrip("\n") == run(SONDE, "-peek=.", "-lines", PROM).rstrip("\n")
    with serving(HERE / "profiles/synthetic-20k.pb.gz") as port:
        text = page(port, "/ui/peek")
        assert "Which functions?" in text
        link = next(h for h in Reader(text).links if h.startswith("./peek?f=%5E"))
        assert "flat%" in Reader(page(port, f"/ui/{link[2:]}")).pre


def t_names_lead_to_themselves_whatever_is_added_up():
    with serving(PROM) as port:
        for g in ("functions", "filefunctions", "lines", "addresses"):
            links = [h for h in Reader(page(port, "/ui/top", g=g)).links if "f=%5E" in h]
            assert len(links) > 20
            for link in links[:3]:
                text = page(port, f"/ui/{link[2:]}")
                assert "matched no samples" not in text and "flat%" in Reader(text).pre, link


def t_labels_are_listed_and_their_links_filter_by_them():
    path = labelled_profile()
    with serving(path) as port:
        text = page(port, "/ui/labels")
        got = labels_of(text)
        assert got["who", "a,b"][0] == 17 and got["size", "1.50kB"][0] == 96, got
        assert sorted(v[0] for v in got.values()) == [2, 4, 8, 17, 96, 128, 256, 512], got
        for (key, value), (total, *links) in got.items():
            if key == "k=y":  # which no filter can name
                assert not links, links
                continue
            only, without = (html.unescape(page(port, f"/ui/{link}")) for link in links)
            assert [v[0] for k, v in labels_of(only).items() if k[0] == key] == [total], (key, value, links)
            left = labels_of(without)
            assert sum(v[0] for v in left.values()) == 1023 - total, (key, value, links, left)
        assert typed(text) == run(SONDE, "-tags", path)
        grouped = page(port, "/ui/top", tagroot="who")
        assert "a,b" in grouped and [r[3] for r in top_of(port, tagroot="who", sort="cum")][0] == "2047"


def t_a_profile_without_labels_says_so():
    p = Profile([("samples", "count")])
    p.sample([p.frame("main")], [1])
    (TMP / "bare.pb").write_bytes(p.encode())
    with serving(TMP / "bare.pb") as port:
        text = page(port, "/ui/labels")
        assert "No sample that filters leave has a label" in text and ">Labels</a>" not in text


# --- links ----------------------------------------------------------------------------------

def t_links_keep_parameters_and_all_lead_somewhere():
    with serving(PROM) as port:
        links = Reader(page(port, "/ui/top", f="tsdb", si="alloc_space", trim="f")).links
        assert "./peek?f=tsdb&si=alloc_space&trim=f" in links, links
        assert "./top?f=tsdb&trim=f&si=inuse_space" in links, links
        for link in links:
            status, _, _ = ask(port, urllib.parse.urljoin("/ui/top", link))
            assert status in (200, 400) if "disasm" in link else status == 200, (link, status)


def t_everything_else_is_sent_to_the_pages_with_its_parameters():
    with serving(PROM) as port:
        for path, status, to in (("/", 307, "/ui"), ("/top?f=a%20b", 307, "/ui?f=a%20b"),
                                 ("/ui", 301, "/ui/"), ("/ui?si=x%0d%0aY:z", 301, "/ui/?si=x%0D%0AY%3Az")):
            got, headers, _ = ask(port, path)
            assert (got, headers["Location"]) == (status, to), (path, got, headers["Location"])
        for path in ("/ui/nope", "/ui//top", "/ui/../etc/passwd", "/ui/top/"):
            assert ask(port, path)[0] == 404, path


# What the reference writes: all that is not false, 0 or "".
DEFAULTS = {"unit": "minimum", "sort": "flat", "nodecount": -1, "nodefraction": 0.005,
            "edgefraction": 0.001, "trim": True, "granularity": "functions"}


@contextlib.contextmanager
def settings(text):
    folder = TMP / "saved/pprof"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "settings.json").write_text(text)
    with serving(PROM, env={"XDG_CONFIG_HOME": str(TMP / "saved")}) as port:
        yield port


def configs_of(text):
    """{name: (parameters, whether it is the current one)}"""
    menu = re.search(r'aria-label="Configurations">(.*?)</ul>', text)
    found = re.findall(r'<a href="\./top(.*?)"( aria-current="true")?>(.*?)</a>', menu[1]) if menu else []
    return {html.unescape(name): (html.unescape(q), bool(here)) for q, here, name in found}


def t_configurations_saved_by_the_reference_are_offered():
    saved = [{"name": "one", **DEFAULTS, "focus": "tsdb", "granularity": "lines", "call_tree": True},
             {"name": "all <b>", **{k: v for k, v in DEFAULTS.items() if k != "trim"}, "nodefraction": 0.25},
             {"name": "nothing"}]
    with settings(json.dumps({"configs": saved}, indent=2)) as port:
        got = configs_of(page(port, "/ui/top", si="alloc_space", i="x"))
        assert got == {"Default": ("?si=alloc_space", False),
                       "one": ("?si=alloc_space&calltree=t&f=tsdb&g=lines", False),
                       "all <b>": ("?si=alloc_space&nf=0.25&trim=f", False),
                       "nothing": ("?si=alloc_space&n=0&nf=0&ef=0&trim=f", False)}, got
        got = configs_of(page(port, "/ui/top", f="tsdb", g="lines", calltree="t"))
        assert [n for n, (_, here) in got.items() if here] == ["one"], got
        assert configs_of(page(port, "/ui/top"))["Default"] == ("?", True)


def t_settings_that_cannot_be_read_are_said_to_be_so():
    for text in ("{", "[]", '{"configs": 3}', '{"configs": [3, {"name": 4, "trim": "x", "nodecount": []}]}'):
        with settings(text) as port:
            got = page(port, "/ui/top")
            assert ("could not parse settings" in got) == (text == "{"), (text, got[:3000])


def change(port, what, body=None, method="POST", status=200, headers=None, **args):
    got = ask(port, f"/ui/{what}?{urllib.parse.urlencode(args)}", method=method, body=body, more=headers)
    assert got[0] == status, (what, args, got)
    return got


def saved_by(serve, requests):
    """The file after some requests to a server, whose port serve() is."""
    folder = TMP / f"saved-by-{len(list(TMP.iterdir()))}"
    with serve({"XDG_CONFIG_HOME": str(folder)}) as port:
        for method, path in requests:
            assert ask(port, path, method=method)[0] == 200, path
    assert (folder / "pprof").stat().st_mode & 0o777 == 0o700
    return (folder / "pprof/settings.json").read_bytes()


@contextlib.contextmanager
def reference(env):
    port = free_port()
    server = subprocess.Popen(["go", "tool", "pprof", f"-http=localhost:{port}", "-no_browser", PROM],
                              env={**os.environ, **env}, stdout=subprocess.DEVNULL,
                              stderr=subprocess.PIPE, text=True)
    try:
        assert any("Serving web UI" in line for line in server.stderr)
        until = time.monotonic() + LIMIT
        while time.monotonic() < until:
            with contextlib.suppress(OSError), socket.create_connection(("localhost", port)):
                break
            time.sleep(0.02)
        yield port
    finally:
        server.terminate()
        server.stderr.close()
        server.wait(LIMIT)


REQUESTS = [("POST", "/ui/saveconfig?config=one&f=a%26%3Cb%3E%22%5C%0A%E2%80%A8%C3%A9&si=alloc_space&g=lines"),
            ("POST", "/ui/saveconfig?config=two&n=17&nf=0.25&ef=0&trim=f&calltree=t&tf=a%3Db"),
            ("POST", "/ui/saveconfig?config=three&unit=mb&sort=cum&noinlines=t"),
            ("POST", "/ui/saveconfig?config=two&i=x&ts=y&th=z&prunefrom=p&sf=s&s=q&h=h&rel=t&mean=t&intel=t"),
            ("DELETE", "/ui/deleteconfig?config=three")]


def t_configurations_are_saved_as_the_reference_saves_them():
    ours = saved_by(lambda env: serving(PROM, env=env), REQUESTS)
    assert [c["name"] for c in json.loads(ours)["configs"]] == ["one", "two"]
    if not shutil.which("go"):
        raise Skip("no go")
    assert ours == saved_by(reference, REQUESTS)


def t_a_configuration_is_saved_and_deleted_by_the_forms_of_the_page():
    with settings('{"configs": []}') as port:
        path = TMP / "saved/pprof/settings.json"
        form = [a for a in Reader(page(port, "/ui/top", f="tsdb", si="alloc_space")).actions if "save" in a]
        assert form == ["./saveconfig?f=tsdb&si=alloc_space"], form
        got = ask(port, f"/ui/{form[0][2:]}", method="POST", body="config=a+%3Cb%3E&view=/top")
        assert (got[0], got[1]["Location"]) == (303, "./top?f=tsdb&si=alloc_space"), got
        saved = json.loads(path.read_text())["configs"]
        assert saved == [{"name": "a <b>", **DEFAULTS, "focus": "tsdb"}], saved
        text = page(port, "/ui/top", f="tsdb")
        assert configs_of(text)["a <b>"] == ("?f=tsdb", True)
        assert "./deleteconfig?f=tsdb" in Reader(text).actions
        change(port, "deleteconfig", body="config=a+%3Cb%3E&view=%2f", status=303, f="tsdb")
        assert json.loads(path.read_text()) == {"configs": []}


def t_configurations_that_cannot_be_saved_leave_the_file_alone():
    for text, words in (("{", "could not parse settings"),
                        (json.dumps({"configs": [{"name": str(i)} for i in range(200)]}), "200 saved"),
                        (json.dumps({"configs": [{"name": "x"}] * 201}), "more than 200")):
        with settings(text) as port:
            assert words in change(port, "saveconfig", status=400, config="new")[2], text[:80]
            assert (TMP / "saved/pprof/settings.json").read_text() == text
    with settings('{"configs": []}') as port:
        assert "invalid config name" in change(port, "saveconfig", status=400, f="a")[2]
        assert "config none not found" in change(port, "deleteconfig", status=400, config="none")[2]
        assert "nodecount" in change(port, "saveconfig", status=400, config="x", n="y")[2]
        change(port, "saveconfig", body="x=" + "y" * 100000, status=413, config="x")
        assert (TMP / "saved/pprof/settings.json").read_text() == '{"configs": []}'


def t_no_other_site_changes_configurations():
    with settings('{"configs": []}') as port:
        for headers in ({"Origin": "http://evil.example"}, {"Origin": "null"}, {"Sec-Fetch-Site": "cross-site"},
                        {"Sec-Fetch-Site": "same-site"}, {"Sec-Fetch-Site": "none"},
                        {"Origin": f"http://localhost:{port + 1}"}, {"Origin": "http://localhost"},
                        {"Host": "evil.example"}):
            change(port, "saveconfig", status=403, headers=headers, config="x")
            change(port, "deleteconfig", status=403, method="DELETE", headers=headers, config="x")
        for method in ("GET", "HEAD"):
            assert change(port, "saveconfig", status=405, method=method, config="x")[1]["Allow"] == "POST, DELETE"
        assert json.loads((TMP / "saved/pprof/settings.json").read_text()) == {"configs": []}
        for headers in ({"Origin": f"http://localhost:{port}"}, {"Sec-Fetch-Site": "same-origin"}, {}):
            change(port, "saveconfig", headers=headers, config=f"x{headers}")
        assert len(json.loads((TMP / "saved/pprof/settings.json").read_text())["configs"]) == 3


def t_names_of_other_versions_lead_to_the_same_pages():
    with serving(PROM) as port:
        for path, same in (("/ui/flamegraph2", "/ui/flamegraph"), ("/ui/flamegraphold", "/ui/flamegraph"),
                           ("/ui/graph", "/ui/")):
            assert ask(port, path)[2] == ask(port, same)[2], path


def t_errors_are_on_the_page():
    with serving(PROM) as port:
        for args, words in (({"f": "("}, "missing closing )"), ({"si": "nope"}, "nope"),
                            ({"n": "x"}, "error setting config field nodecount: strconv.Atoi"),
                            ({"g": "x"}, "error setting config field granularity"),
                            ({"f": "nosuchname"}, None)):
            text = html.unescape(page(port, "/ui/top", status=400 if words else 200, **args))
            assert (words or "Focus expression matched no samples") in text, (args, text[-500:])


# --- those who mean no good -----------------------------------------------------------------

def t_only_this_machine_under_its_own_names():
    with serving(PROM) as port:
        for host in ("localhost", "127.0.0.1", "[::1]"):
            assert ask(port, "/ui/top", host)[0] == 200 == ask(port, "/ui/top", f"{host}:{port}")[0]
        for host in ("evil.example", f"evil.example:{port}", "localhost.evil.example", "", "10.0.0.1"):
            for path in ("/", "/ui/top", "/ui/download"):
                assert ask(port, path, host or " ")[0] in (400, 403), (host, path)


def t_only_questions():
    with serving(PROM) as port:
        for method in ("POST", "PUT", "DELETE", "OPTIONS"):
            assert ask(port, "/ui/top", method=method)[0] == 405, method
        status, headers, body = ask(port, "/ui/top", method="HEAD")
        assert (status, body) == (200, "") and int(headers["Content-Length"]) > 1000


def t_every_answer_has_strict_headers():
    with serving(PROM) as port:
        for path in ("/", "/ui/", "/ui/top", "/ui/flamegraph.svg", "/ui/download", "/ui/nope", "/ui/static/page.css"):
            headers = ask(port, path)[1]
            assert "default-src 'none'" in headers["Content-Security-Policy"], path
            assert headers["X-Content-Type-Options"] == "nosniff", path
            kept = "no-cache" if "static" in path else "no-store"
            assert headers["Cache-Control"] == kept, path
        policy = ask(port, "/ui/top")[1]["Content-Security-Policy"]
        assert "script-src 'self';" in policy and "unsafe" not in policy, policy
        assert "sandbox allow-scripts;" in ask(port, "/ui/flamegraph.svg")[1]["Content-Security-Policy"]


def t_what_pages_load_is_kept_by_the_browser():
    with serving(PROM) as port:
        links = re.findall(r'"\./(static/[^"]*)"', page(port, "/ui/top"))
        assert len(links) == 4, links
        for link in links:
            status, headers, body = ask(port, f"/ui/{link}")
            assert status == 200 and len(body) > 100, (link, status)
            assert "immutable" in headers["Cache-Control"], link
            again = ask(port, f"/ui/{link}", more={"If-None-Match": headers["ETag"]})
            assert (again[0], again[2]) == (304, ""), again
            assert ask(port, f"/ui/{link}", more={"If-None-Match": '"old"'})[0] == 200
        assert ask(port, "/ui/static/../page.js")[0] != 200
        assert ask(port, "/ui/static/nope.js")[0] == 404


def hostile_profile():
    p = Profile([("<b>type", "<i>unit"), (HOSTILE[1], HOSTILE[0])], comments=HOSTILE)
    m = p.mapping(file="/bin/<script>alert(2)</script>", build_id=HOSTILE[1])
    stack = [p.frame(n, line=i + 1, file=n, mapping=m) for i, n in enumerate(HOSTILE)]
    for i in range(len(stack)):
        p.sample(stack[i:], [i + 1, 2], labels=[(HOSTILE[0], HOSTILE[1])])
    path = TMP / "hostile.pb"
    path.write_bytes(p.encode())
    return path


def t_names_are_text_and_nothing_else():
    known = {"html", "head", "meta", "title", "link", "body", "header", "h1", "nav", "a", "span", "form",
             "label", "input", "button", "details", "summary", "ul", "li", "main", "div", "table", "thead",
             "tr", "th", "tbody", "td", "pre", "p", "iframe", "script", "select", "option", "code", "b",
             "svg", "rect", "section", "h2", "br", "noscript"}
    with serving("-symbolize=none", hostile_profile()) as port:
        for view in ("top", "peek", "flamegraph", "source", "disasm", "labels", ""):
            for args in ({}, {"f": "."}, {"f": HOSTILE[0]}, {"x": HOSTILE[1], HOSTILE[5]: "y"}):
                text = ask(port, f"/ui/{view}?{urllib.parse.urlencode(args)}")[2]
                read = Reader(text)
                assert read.tags <= known and not read.handlers, (view, args, read.tags - known, read.handlers)
                assert text.count("<script src=\"./static/theme.js") == 1 and text.count("<script") == 2, view
                assert all(link.startswith("./") for link in read.links), (view, read.links)
                assert not re.search("[\u202a-\u202e\u2066-\u2069\0]", text), (view, args)
        drawing = xml.etree.ElementTree.fromstring(page(port, "/ui/flamegraph.svg"))
        assert len(list(drawing.iter("{http://www.w3.org/2000/svg}script"))) == 1
        assert len(top_of(port)) == len(HOSTILE)
        if shutil.which("dot"):
            drawing = xml.etree.ElementTree.fromstring(page(port, "/ui/graph.svg"))
            assert len(list(drawing.iter("{http://www.w3.org/2000/svg}script"))) == 1
            assert len([g for g in drawing.iter() if g.get("class") == "node"]) > len(HOSTILE)
            assert {e.tag.split("}")[1] for e in drawing.iter()} <= {"svg", "g", "script", "title", "polygon", "a",
                                                                     "text", "path", "polyline", "ellipse"}


def t_answers_are_compressed_for_those_who_ask():
    with serving(PROM) as port:
        for path in ("/ui/top", "/ui/flamegraph.svg", "/ui/static/page.css"):
            for accepts, packed in (("gzip", True), ("br, gzip;q=0.5", True), ("gzip;q=0", False), ("", False),
                                    ("br", False), ("xgzip", False)):
                for _ in "12":  # made, and kept
                    c = http.client.HTTPConnection("localhost", port, timeout=LIMIT)
                    c.request("GET", path, headers={"Accept-Encoding": accepts})
                    r = c.getresponse()
                    body = r.read()
                    c.close()
                    assert (r.getheader("Content-Encoding") == "gzip") == packed, (path, accepts)
                    assert r.getheader("Vary") == "Accept-Encoding"
                    text = gzip.decompress(body) if packed else body
                    assert text.decode() == ask(port, path)[2], (path, accepts)


def t_what_is_kept_is_what_would_be_made():
    with settings('{"configs": []}') as port:
        first = ask(port, "/ui/top")[2]
        assert ask(port, "/ui/top")[2] == first
        change(port, "saveconfig", config="new", f="a")
        assert "new" in configs_of(ask(port, "/ui/top")[2])
        assert ask(port, "/ui/top?f=tsdb")[2] != ask(port, "/ui/top?f=regexp")[2] != first


def t_frames_that_are_none_have_an_answer():
    with serving(PROM) as port:
        root = json.loads(page(port, "/ui/flame.json", px="1254"))["trees"][0]
        assert len(root["place"]) > 100 and root["trail"] == 0, root["trail"]
        assert len({len(root[k]) for k in root if isinstance(root[k], list)}) == 1
        for z in ("99999999999.zz.-5", "u", "1", "1.0", "x.y.z", "70000.1.1", "1.0.4294967295", "u1.0.0"):
            assert json.loads(page(port, "/ui/flame.json", px="1254", z=z))["trees"][0] == root, z
            page(port, "/ui/flame-search.json", q=".", z=z)
        for px in ("-5", "0", "x", "9" * 30):
            assert json.loads(page(port, "/ui/flame.json", px=px))["trees"][0]["place"], px
        for p in (".", "doInit"):
            assert len(json.loads(page(port, "/ui/flame.json", p=p, z="u1.0.0"))["trees"]) == 2
        none = json.loads(page(port, "/ui/flame.json", f="nosuchfunction"))["trees"][0]
        assert none["place"] == [], none
        assert "no function matches" in page(port, "/ui/flame.json", 400, p="nosuchfunction")
        for place in ("-1", "x", "4294967295", "9" * 30, ""):
            page(port, "/ui/flame-name.txt", 400, place=place)
        assert "error" in json.loads(page(port, "/ui/flame-search.json", q="("))


def t_slow_and_broken_clients_hold_up_nobody():
    with serving(PROM) as port:
        idle = [socket.create_connection(("localhost", port)) for _ in range(100)]
        for i, s in enumerate(idle):
            s.sendall(b"POST /ui/saveconfig HTTP/1.1\r\nContent-Length: 9\r\n\r\nab"[:i + 1])
        greedy = [socket.create_connection(("localhost", port)) for _ in range(20)]  # ask, and never read
        for s in greedy:
            s.sendall(b"GET /ui/flamegraph.svg HTTP/1.1\r\nHost: localhost\r\n\r\n" * 50)
        for junk in (b"\0" * 1000 + b"\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n", b"GET /ui/top\r\n\r\n",
                     b"GET /ui/top?" + b"a" * 200000 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n"):
            with socket.create_connection(("localhost", port)) as s, contextlib.suppress(OSError):
                s.sendall(junk)
        assert len(top_of(port)) > 20
        many = "&".join(f"a{i}=1" for i in range(100))
        assert ask(port, f"/ui/top?{many}")[0] == 400
        for s in [*idle, *greedy]:
            s.close()


def t_a_slow_drawing_holds_up_nobody():
    folder = TMP / "slow"
    folder.mkdir()
    os.mkfifo(folder / "go-on")
    (folder / "dot").write_text(f'#!/bin/sh\nread line < {folder}/go-on\necho "<svg/>"\n')
    (folder / "dot").chmod(0o755)
    with serving(PROM, env={"PATH": f"{folder}:{os.environ['PATH']}"}) as port:
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            slow = pool.submit(ask, port, "/ui/graph.svg")
            with open(folder / "go-on", "w") as go_on:  # once it is being drawn
                for path in ("/ui/top", "/ui/", "/ui/peek?f=tsdb", "/ui/flamegraph.svg", "/ui/download"):
                    assert ask(port, path)[0] == 200, path
                assert not slow.done()
                go_on.write("\n")
            assert slow.result()[0] in (200, 501)


def t_many_at_once_get_the_same_answers():
    paths = ["/ui/top", "/ui/top?si=alloc_space", "/ui/peek?f=tsdb", "/ui/flamegraph.svg?f=tsdb", "/ui/download",
             "/ui/top?tagroot=bytes&g=lines", "/ui/top?names=3&h=runtime", "/ui/peek?f=regexp&tagleaf=bytes"]
    with serving(PROM) as port:
        alone = [ask(port, p)[2] for p in paths]
    with serving(PROM) as port, concurrent.futures.ThreadPoolExecutor(12) as pool:
        # Each as another question, so that nobody gets what was kept for somebody else.
        asked = [p + ("&" if "?" in p else "?") + f"x={i}" for i in range(6) for p in paths]
        got = list(pool.map(lambda p: ask(port, p)[2], asked))
        for path, text in zip(asked, got):
            plain = re.sub(r"(&amp;|\?)x=\d", "", re.sub(r"\?x=\d&amp;", "?", text))
            assert plain.split("<main>")[-1] == alone[paths.index(path[:-4])].split("<main>")[-1], path


# --- how it begins --------------------------------------------------------------------------

def t_addresses_that_are_none_are_refused_before_loading():
    for address, words in (("8080", "could not split http address: address 8080: missing port in address"),
                           ("a:b:1", "too many colons in address"),
                           (":x", 'invalid port number: strconv.Atoi: parsing "x": invalid syntax'),
                           (":70000", "invalid port")):
        done = subprocess.run([SONDE, f"-http={address}", TMP / "none"], text=True, capture_output=True,
                              timeout=LIMIT)
        assert done.returncode == 2 and words in done.stderr and "none" not in done.stderr, done.stderr


def t_a_port_that_is_taken_is_named():
    with socket.create_server(("127.0.0.1", 0)) as s:
        port = s.getsockname()[1]
        done = subprocess.run([SONDE, f"-http=localhost:{port}", "-no_browser", PROM], text=True,
                              capture_output=True, timeout=LIMIT)
        assert done.returncode == 2 and "bind: address already in use" in done.stderr, done.stderr


def t_a_browser_is_opened_with_the_address():
    said = TMP / "opened"
    browser = TMP / "browser"
    browser.write_text(f'#!/bin/sh\necho "$1" > {said}.new\nmv {said}.new {said}\n')
    browser.chmod(0o755)
    server = subprocess.Popen([SONDE, "-http=:", PROM], text=True, stderr=subprocess.PIPE, preexec_fn=hear_ctrl_c,
                              env={**os.environ, "BROWSER": str(browser)})
    try:
        url = server.stderr.readline().removeprefix("Serving web UI on ")
        while not said.exists():
            assert server.poll() is None
            time.sleep(0.02)
        assert said.read_text() == url
    finally:
        server.send_signal(signal.SIGINT)
        server.stderr.close()
        server.wait(LIMIT)


if __name__ == "__main__":
    sys.exit(main(globals()))
