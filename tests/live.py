#!/usr/bin/env python3
"""A program as it runs, without a browser: what the pages of a live target are made of.

usage: live.py --sonde PROGRAM [NAME...]

SPDX-License-Identifier: Apache-2.0
"""
import contextlib
import gzip
import http.client
import http.server
import json
import sys
import threading
import time
import urllib.parse

from tap import LIMIT, TMP, Profile, main
from web import ask, serving

INDEX = b"""<html><table>
<tr><td>3</td><td><a href='heap?debug=1'>heap</a></td></tr>
<tr><td>1</td><td><a href='goroutine?debug=1'>goroutine</a></td></tr>
<tr><td>0</td><td><a href='cmdline?debug=1'>cmdline</a></td></tr>
<tr><td>0</td><td><a href='<script>alert(1)</script>?debug=1'><script>x</script></a></td></tr>
</table></html>"""
STATS = b"heap profile: 0: 0 [0: 0] @ heap/1048576\n\n# runtime.MemStats\n# HeapAlloc = 4096\n# Stack = 1 / 2\n# Sys = 8192\n"


def heap(n):
    p = Profile([("alloc_objects", "count"), ("alloc_space", "bytes"), ("inuse_objects", "count"),
                 ("inuse_space", "bytes")], period=("space", "bytes", 524288))
    p.sample([p.frame("main.leak"), p.frame("main.main")], (n, n * 1024, n, n * 1024))
    return gzip.compress(p.encode())


class Target(http.server.BaseHTTPRequestHandler):
    """A Go service, as far as it matters."""

    protocol_version = "HTTP/1.1"
    asked, release = [], threading.Event()

    def do_GET(self):  # noqa: N802
        url = urllib.parse.urlsplit(self.path)
        self.asked.append(self.path)
        if url.path == "/debug/pprof/profile":
            self.release.wait(LIMIT)
        body = {"/debug/pprof/": INDEX, "/debug/pprof/heap": STATS if "debug=1" in url.query else heap(1000),
                "/debug/pprof/profile": heap(3), "/debug/pprof/goroutine": b"goroutine 1 [running]:\nmain.main()\n",
                "/debug/pprof/cmdline": b"prog\0<b>--x</b>"}.get(url.path)
        with contextlib.suppress(OSError):
            self.send_response(200 if body else 404)
            self.send_header("Content-Length", str(len(body or b"")))
            self.end_headers()
            self.wfile.write(body or b"")

    def log_message(self, *args):
        pass


@contextlib.contextmanager
def target():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Target)
    server.daemon_threads = True
    Target.asked.clear()
    Target.release.clear()
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        Target.release.set()
        server.shutdown()
        server.server_close()


@contextlib.contextmanager
def live(*flags):
    with target() as url, serving(*flags, url, env={"PPROF_TMPDIR": str(TMP)}) as port:
        yield port


def post(port, path, **fields):
    c = http.client.HTTPConnection("localhost", port, timeout=LIMIT)
    c.request("POST", path, urllib.parse.urlencode(fields), {"Content-Type": "application/x-www-form-urlencoded"})
    r = c.getresponse()
    return r.status, r.getheader("Location"), r.read().decode()


def taken(port):
    return json.loads(ask(port, "/ui/taken.json")[2])


def wait(port, number, state):
    end = time.monotonic() + LIMIT
    while time.monotonic() < end:
        one = [t for t in taken(port) if t["id"] == number]
        if one and one[0]["state"] == state:
            return one[0]
        time.sleep(0.02)
    raise AssertionError(taken(port))


def t_the_list_is_the_programs_own():
    with live() as port:
        status, _, page = ask(port, "/ui/")
        assert status == 200 and all(f'value="{k}"' in page for k in ("profile", "heap", "goroutine"))
        assert 'value="cmdline"' not in page and "<script>x" not in page and "<b>--x" not in page
        assert "prog &lt;b>--x" in page or "prog &lt;b&gt;--x" in page, page


def t_a_profile_is_taken_and_opened():
    with live() as port:
        status, to, _ = post(port, "/ui/take", profile="heap")
        assert status == 303 and to == "./", (status, to)
        assert wait(port, 1, "taken")["samples"] == 1
        top = ask(port, "/ui/of/1/top")[2]
        assert "main.leak" in top and '<a href="../../"' in top
        assert ask(port, "/ui/of/1/static/page.css")[0] == 200
        assert ask(port, "/ui/of/2/top")[0] == 404 and ask(port, "/ui/of/x/top")[0] == 404
        assert ask(port, "/ui/of/1~1/compare")[0] == 200 and ask(port, "/ui/of/1~9/compare")[0] == 404
        assert ask(port, "/ui/pair?a=1&b=1")[1]["Location"] == "./of/1~1/compare"


def t_seconds_are_asked_for_and_can_be_cancelled():
    with live() as port:
        assert post(port, "/ui/take", profile="profile", seconds=30)[0] == 303
        t = wait(port, 1, "taking")
        assert t["seconds"] == 30 and t["elapsedMs"] >= 0
        while not any(p.endswith("/profile?seconds=30") for p in list(Target.asked)):
            time.sleep(0.02)
        assert ask(port, "/ui/of/1/top")[0] == 404
        assert post(port, "/ui/cancel", id=1)[0] == 303
        wait(port, 1, "cancelled")
        assert post(port, "/ui/take", profile="profile", seconds=1)[0] == 303
        Target.release.set()
        wait(port, 2, "taken")


def t_only_what_is_offered_is_asked_for():
    with live() as port:
        for fields in ({"profile": "../../secret"}, {"profile": "cmdline"}, {"profile": "heap", "seconds": "-1"},
                       {"profile": "heap", "seconds": "1e9"}, {}):
            assert post(port, "/ui/take", **fields)[0] == 400, fields
        assert not any("secret" in p for p in Target.asked) and taken(port) == []
        assert ask(port, "/ui/take?profile=heap")[0] == 404 and taken(port) == []
        assert post(port, "/ui/top")[0] == 405


def t_at_most_four_are_taken_at_a_time():
    with live() as port:
        for i in range(4):
            assert post(port, "/ui/take", profile="profile", seconds=9)[0] == 303
        assert post(port, "/ui/take", profile="heap")[0] == 400
        Target.release.set()
        for i in range(4):
            wait(port, i + 1, "taken")


def t_the_oldest_make_room():
    with live() as port:
        for i in range(36):
            assert post(port, "/ui/take", profile="heap")[0] == 303
            wait(port, i + 1, "taken")
        assert [t["id"] for t in taken(port)] == list(range(36, 4, -1))


def t_memory_and_threads_are_passed_on():
    with live() as port:
        status, headers, body = ask(port, "/ui/memstats.json")
        assert status == 200 and json.loads(body) == {"HeapAlloc": 4096, "Sys": 8192}, body
        status, headers, body = ask(port, "/ui/threads.txt")
        assert headers["Content-Type"].startswith("text/plain") and "main.main()" in body


def t_a_profile_by_its_path_is_as_the_reference_has_it():
    with target() as url, serving(f"{url}/debug/pprof/heap", env={"PPROF_TMPDIR": str(TMP)}) as port:
        assert "main.leak" in ask(port, "/ui/top")[2]
    with target() as url:
        Target.release.set()
        with serving("-seconds=1", url, env={"PPROF_TMPDIR": str(TMP)}) as port:
            assert "main.leak" in ask(port, "/ui/top")[2]
            assert any(p == "/debug/pprof/profile?seconds=1" for p in Target.asked), Target.asked


if __name__ == "__main__":
    sys.exit(main(globals()))
