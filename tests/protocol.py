#!/usr/bin/env python3
"""The protocol of /debug/pprof: the same requests to us and to a Go program, answers compared.

usage: protocol.py --sonde PROGRAM --lib LIBRARY [NAME...]

Where there is no Go, the cases that need it are skipped; the others hold the server to what Go
answered when they were written.

SPDX-License-Identifier: Apache-2.0
"""
import concurrent.futures
import contextlib
import gzip
import os
import pathlib
import re
import select
import socket
import subprocess
import sys
import time

import guest
from guest import LIMIT, TMP, Skip, answers, clean, compile_c, fetch, free_port, started, tool, until

SONDE, LIB = guest.argument("sonde"), guest.argument("lib")

# Allocates 300 blocks of 100 kB and keeps them; burns CPU; ends by exit() when told to.
HOST = r"""
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static volatile sig_atomic_t told;
static void tell(int n) { (void)n; told = 1; }
char *kept[300];

__attribute__((noinline)) void keep_blocks(void)
{
	for (int i = 0; i < 300; i++) {
		kept[i] = malloc(100000);
		memset(kept[i], 1, 100000);
	}
}

__attribute__((noinline)) void burn(void)
{
	for (volatile int i = 0; i < 2000000; i++)
		;
}

int main(void)
{
	signal(SIGTERM, tell);
	keep_blocks();
	if (write(1, "ready\n", 6) != 6)
		return 1;
	while (!told) {
		burn();
		usleep(1000);
	}
	return 7;
}
"""

GO = r"""
package main

import (
	"fmt"
	"net"
	"net/http"
	_ "net/http/pprof"
)

func main() {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	fmt.Println(l.Addr().(*net.TCPAddr).Port)
	http.Serve(l, nil)
}
"""


def once(make):
    """Made the first time it is asked for."""
    made = []

    def get():
        if not made:
            made.append(make())
        return made[0]
    return get


host_program = once(lambda: compile_c("host", HOST))


@once
def go_program():
    source = TMP / "server.go"
    source.write_text(GO)
    env = clean(GOCACHE=str(TMP / "go-cache"), GOFLAGS="-mod=mod", HOME=str(TMP))
    guest.run(tool("go"), "build", "-o", TMP / "go-server", source, env=env)
    return str(TMP / "go-server")


@contextlib.contextmanager
def host(wait=True, **env):
    """Our program with the library in it: its port, its process, its log."""
    port, log = free_port(), TMP / f"log-{time.monotonic_ns()}"
    settings = {"LD_PRELOAD": LIB, "SONDE_ADDR": f"127.0.0.1:{port}", "SONDE_LOG": log} | env
    with started(host_program(), env=clean(**settings), stdout=subprocess.PIPE) as p:
        p.log = log
        assert p.stdout.readline() == b"ready\n"
        if wait:
            answers(port)
        yield port, p


@contextlib.contextmanager
def both():
    with started(go_program(), stdout=subprocess.PIPE) as go:
        with host() as (port, p):
            yield port, int(go.stdout.readline()), p


def read_answer(s, method=b"GET"):
    """One response: its head as lines, and its body."""
    data = b""
    while b"\r\n\r\n" not in data:
        more = s.recv(65536)
        if not more:
            return [], data
        data += more
    head, _, body = data.partition(b"\r\n\r\n")
    lines = head.decode("latin-1").split("\r\n")
    length = [int(h.split(":")[1]) for h in lines if h.startswith("Content-Length:")]

    def more_body():
        more = s.recv(65536)
        assert more, f"cut short: {lines}"
        return more
    if method == b"HEAD" or " 100 " in lines[0]:
        return lines, body
    if "Transfer-Encoding: chunked" in lines:
        whole = b""
        while True:
            while b"\r\n" not in body:
                body += more_body()
            size, _, body = body.partition(b"\r\n")
            size = int(size, 16)
            while len(body) < size + 2:
                body += more_body()
            whole += body[:size]
            body = body[size + 2:]
            if size == 0:
                return lines, whole
    if length:
        while len(body) < length[0]:
            body += more_body()
        return lines, body
    while True:
        more = s.recv(65536)
        if not more:
            return lines, body
        body += more


def ask(port, raw):
    with socket.create_connection(("127.0.0.1", port), timeout=LIMIT) as s:
        s.sendall(raw)
        return read_answer(s, raw.split(b" ")[0])


def get(path, method="GET", version="1.1", host="Host: h\r\n", headers="", body=""):
    return (f"{method} {path} HTTP/{version}\r\n{host}{headers}\r\n{body}").encode("latin-1")


def comparable(lines, sized):
    """A head without what differs by nature."""
    out = []
    for line in lines:
        if line.startswith("Date:"):
            assert re.fullmatch(r"Date: \w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d GMT", line), line
            line = "Date:"
        if sized or not re.match("(Content-Length|Transfer-Encoding):", line):
            out.append(line)
    return out


def same(port, go, raw, body=True):
    ours, ours_body = ask(port, raw)
    theirs, theirs_body = ask(go, raw)
    assert comparable(ours, body) == comparable(theirs, body), \
        f"{raw!r}:\n ours   {ours}\n theirs {theirs}"
    if body:
        assert ours_body == theirs_body, f"{raw!r}: {ours_body!r}, not {theirs_body!r}"


# The first word tells whether bodies, and with them their lengths, are equal too.
MATRIX = [
    ("all", get("/debug/pprof")),
    ("all", get("/debug/pprof?a=b")),
    ("all", get("/debug/pprof?a=\"<b>&c")),
    ("all", get("/debug/pprof", "HEAD")),
    ("all", get("/debug/pprof", "POST", headers="Content-Length: 0\r\n")),
    ("head", get("/debug/pprof/")),
    ("head", get("/debug/pprof/", "HEAD")),
    ("head", get("/debug/pprof/?debug=1")),
    ("all", get("/")),
    ("all", get("/favicon.ico")),
    ("all", get("/debug/")),
    ("all", get("/debug/pproff")),
    ("all", get("//debug/pprof/")),
    ("all", get("/debug//pprof/heap")),
    ("all", get("/debug/pprof//heap?debug=1")),
    ("all", get("/debug/pprof/./heap")),
    ("all", get("/debug/x/../pprof/heap/..")),
    ("all", get("/../debug/pprof/heap?x")),
    ("all", get("/debug/pprof/a b%20c%22/../x%20y/")),
    ("all", get("/debug/pprof//caf%c3%a9%22%3c")),
    ("head", get("/debug/pprof/he%61p")),
    ("all", get("/debug/pprof/heap/")),
    ("all", get("/debug/pprof/Heap")),
    ("all", get("/debug/pprof/nope")),
    ("all", get("/debug/pprof/nope", "HEAD")),
    ("all", get("/debug/pprof/nope", "POST", headers="Content-Length: 3\r\n", body="abc")),
    ("all", get("/debug/pprof/nope", "DELETE")),
    ("all", get("/debug/pprof/nope?seconds=x&debug=1")),
    *(("head", get(f"/debug/pprof/{name}")) for name in
      ("heap", "allocs", "goroutine", "threadcreate", "mutex", "block")),
    *(("head", get(f"/debug/pprof/{name}", "HEAD")) for name in ("heap", "mutex", "cmdline")),
    *(("head", get(f"/debug/pprof/{name}?debug=1")) for name in ("heap", "goroutine", "mutex")),
    ("head", get("/debug/pprof/heap?gc=1")),
    ("head", get("/debug/pprof/heap?gc=x&debug=y")),
    ("head", get("/debug/pprof/heap?debug=99999999999999999999")),
    ("head", get("/debug/pprof/heap?debug=-1")),
    ("head", get("/debug/pprof/heap?debug=1;debug=2")),
    ("head", get("/debug/pprof/heap?debug=%zz")),
    ("head", get("/debug/pprof/heap?debug=0&debug=1")),
    ("head", get("/debug/pprof/heap?seconds=")),
    *(("all", get(f"/debug/pprof/{name}?seconds={bad}"))
      for name in ("heap", "block") for bad in ("x", "0", "-1", "1.5", "1e3", "+", "%31%20", "+0",
                                               "99999999999999999999", "0x1", "1_000")),
    *(("all", get(f"/debug/pprof/{name}?seconds=1&debug=1")) for name in ("heap", "mutex")),
    ("all", get("/debug/pprof/heap?seconds=x&debug=1")),
    ("all", get("/debug/pprof/heap?debug=1&seconds=1")),
    ("head", get("/debug/pprof/heap?seconds=1")),
    ("head", get("/debug/pprof/threadcreate?seconds=%31")),
    ("all", get("/debug/pprof/heap", "POST", headers="Content-Type: application/x-www-form-"
                "urlencoded\r\nContent-Length: 9\r\n", body="seconds=x")),
    ("all", get("/debug/pprof/heap?seconds=1", "POST", headers="Content-Type: application/x-www-"
                "form-urlencoded; charset=utf-8\r\nContent-Length: 9\r\n", body="seconds=0")),
    ("head", get("/debug/pprof/cmdline")),
    ("all", get("/debug/pprof/symbol")),
    ("all", get("/debug/pprof/symbol?0x1")),
    ("all", get("/debug/pprof/symbol?zzz+0x2+")),
    ("all", get("/debug/pprof/symbol", "HEAD")),
    ("all", get("/debug/pprof/symbol", "POST", headers="Content-Length: 7\r\n", body="0x1+0x2")),
    ("all", get("/debug/pprof/symbol", "POST", headers="Transfer-Encoding: chunked\r\n",
                body="3\r\n0x1\r\n4;x=y\r\n+0x2\r\n0\r\nA: b\r\n\r\n")),
    ("all", get("/debug/pprof/symbol", "PUT", headers="Content-Length: 3\r\n", body="0x1")),
    ("head", get("/debug/pprof/profile?seconds=1")),
    ("head", get("/debug/pprof/profile?seconds=1", "HEAD")),
    ("head", get("/debug/pprof/trace?seconds=0.1")),
    # versions, connections
    ("all", get("/debug/pprof/nope", version="1.0", host="")),
    ("all", get("/debug/pprof/nope", version="1.0", host="", headers="Connection: keep-alive\r\n")),
    ("all", get("/debug/pprof/nope", headers="Connection: close\r\n")),
    ("all", get("/debug/pprof/nope", headers="Connection: foo, Close\r\n")),
    ("head", get("/debug/pprof/", version="1.0", host="")),
    ("head", get("/debug/pprof/", "HEAD", version="1.0", host="",
                 headers="Connection: keep-alive\r\n")),
    ("all", get("http://h/debug/pprof/nope")),
    ("all", b"GET /debug/pprof/nope HTTP/1.1\nHost: h\n\n"),
    ("all", get("/debug/pprof/nope", headers="X: a\r\n b\r\n")),
    # nonsense
    ("all", b"garbage\r\n\r\n"),
    ("all", b"GET /debug/pprof/nope\r\n\r\n"),
    ("all", b"GET  HTTP/1.1\r\nHost: h\r\n\r\n"),
    ("all", b"G@T / HTTP/1.1\r\nHost: h\r\n\r\n"),
    ("all", get("/", version="1.x")),
    ("all", get("/", version="2.0")),
    ("all", get("/", version="3.1")),
    ("all", get("/", version="11")),
    ("all", get("/", host="")),
    ("all", get("/", headers="Host: other\r\n")),
    ("all", get("/", host="Host: a b\r\n")),
    ("all", get("/", headers="no colon\r\n")),
    ("all", get("/", headers="Bad Name: x\r\n")),
    ("all", get("/", headers="X: a\x01b\r\n")),
    ("all", get("/%zz")),
    ("all", get("nope")),
    ("all", get("/a\x01b")),
    ("all", get("/", "POST", headers="Content-Length: x\r\n")),
    ("all", get("/", "POST", headers="Content-Length: -1\r\n")),
    ("all", get("/", "POST", headers="Content-Length: 1\r\nContent-Length: 2\r\n", body="ab")),
    ("all", get("/", "POST", headers="Transfer-Encoding: gzip\r\n")),
]


def t_the_answers_are_those_of_a_go_program():
    wrong = []
    with both() as (port, go, _):
        for what, raw in MATRIX:
            try:
                same(port, go, raw, what == "all")
            except (AssertionError, OSError) as e:
                wrong.append(f"{raw!r}: {e}")
    assert not wrong, f"{len(wrong)} of {len(MATRIX)}:\n" + "\n".join(wrong)


def t_two_profiles_at_once_are_refused_as_go_does():
    with both() as (port, go, _):
        for path in ("profile?seconds=1000", "trace?seconds=1000"):
            with guest.taking(port, path) as (_, ours), guest.taking(go, path) as (_, theirs):
                (ours, ours_body), (theirs, theirs_body) = read_answer(ours), read_answer(theirs)
            assert comparable(ours, True) == comparable(theirs, True) and ours[0].startswith("HTTP/1.1 500 "), ours
            assert ours_body == theirs_body, f"{path}: {ours_body!r}, not {theirs_body!r}"


def t_who_is_refused_does_not_disturb():
    with host() as (port, p):
        for path in ("profile?seconds=", "trace?seconds="):
            for seconds in (2, 10, 50):  # longer if this machine is too slow to ask twice in that time
                answers = asked_twice(port, f"/debug/pprof/{path}{seconds}")
                if answers != [200, 200]:
                    break
            assert answers == [200, 500], answers


def asked_twice(port, path):
    """Both statuses of two requests at once."""
    with concurrent.futures.ThreadPoolExecutor() as pool:
        return sorted(f.result()[0] for f in [pool.submit(fetch, port, path) for _ in range(2)])


def t_one_connection_serves_many_requests():
    many = get("/debug/pprof/nope") + get("/debug/pprof/symbol", "POST",
                                          headers="Content-Length: 3\r\n", body="0x1") + \
        get("/debug/pprof/cmdline", headers="Connection: close\r\n")
    with host() as (port, _), socket.create_connection(("127.0.0.1", port), timeout=LIMIT) as s:
        s.sendall(many)
        data = b""
        while more := s.recv(65536):
            data += more
    assert data.count(b"HTTP/1.1 ") == 3 and data.endswith(b"/host"), data


def t_a_body_is_asked_for_when_the_client_waits():
    with host() as (port, _), socket.create_connection(("127.0.0.1", port), timeout=LIMIT) as s:
        s.sendall(get("/debug/pprof/symbol", "POST",
                      headers="Content-Length: 3\r\nExpect: 100-continue\r\n"))
        assert read_answer(s)[0] == ["HTTP/1.1 100 Continue"]
        s.sendall(b"0x1")
        assert read_answer(s)[1] == b"num_symbols: 1\n"


def t_gzip_headers_are_those_of_go():
    with both() as (port, go, _):
        for path in ("heap", "heap?seconds=1", "profile?seconds=1", "mutex"):
            ours, theirs = (ask(p, get("/debug/pprof/" + path))[1] for p in (port, go))
            assert ours[:10] == theirs[:10], f"{path}: {ours[:10]!r}, not {theirs[:10]!r}"


def top(tool_args, data, *flags):
    file = TMP / f"profile-{time.monotonic_ns()}"
    file.write_bytes(data)
    env = clean(HOME=str(TMP), PPROF_TMPDIR=str(TMP))
    done = guest.run(*tool_args, *flags, file, env=env)
    return done.stdout.decode()


def readers():
    yield [SONDE]
    with contextlib.suppress(Skip):
        yield [tool("go"), "tool", "pprof"]


def t_profiles_open_in_both_tools():
    with host() as (port, _):
        heap = fetch(port, "/debug/pprof/heap")[1]
        allocs = fetch(port, "/debug/pprof/allocs")[1]
        cpu = fetch(port, "/debug/pprof/profile?seconds=2")[1]
        empty = {n: fetch(port, f"/debug/pprof/{n}")[1]
                 for n in ("goroutine", "threadcreate", "mutex", "block")}
    for reader in readers():
        assert re.search(r"MB +[\d.]+% +[\d.]+% +[\d.]+MB +[\d.]+% +keep_blocks", top(reader, heap, "-top")), \
            top(reader, heap, "-top")
        assert "Type: inuse_space" in top(reader, heap, "-top")
        assert "Type: alloc_space" in top(reader, allocs, "-top")
        text = top(reader, cpu, "-top")
        assert re.search(r" burn$", text, re.M) and "Type: cpu" in text, text
        raw = top(reader, heap, "-raw")
        assert "alloc_objects/count alloc_space/bytes inuse_objects/count inuse_space/bytes" in \
            raw and "PeriodType: space bytes" in raw and "Period: 524288" in raw, raw
        for name, data in empty.items():
            assert "Samples:" in top(reader, data, "-raw"), name


def t_names_are_in_the_profile_unless_not_wanted():
    with host() as (port, _):
        named = fetch(port, "/debug/pprof/heap")[1]
        bare = fetch(port, "/debug/pprof/heap?symbolize=0")[1]
    assert b"keep_blocks" in gzip.decompress(named)
    assert b"keep_blocks" not in gzip.decompress(bare)
    elsewhere = TMP / "elsewhere"
    elsewhere.mkdir(exist_ok=True)
    os.rename(host_program(), elsewhere / "host")
    try:
        assert "keep_blocks" in top([SONDE], named, "-top")
    finally:
        os.rename(elsewhere / "host", host_program())
    assert "keep_blocks" in top([SONDE], bare, "-top"), "the reader did not find the name"


def t_a_difference_has_only_what_came_in_between():
    with host() as (port, _):
        delta = fetch(port, "/debug/pprof/heap?seconds=1")[1]
    raw = top([SONDE], delta, "-raw")
    assert "keep_blocks" not in raw and "Duration: 1" in raw, raw


def t_symbols_are_found():
    with host() as (port, p):
        names = subprocess.run([tool("nm"), host_program()], capture_output=True, text=True).stdout
        address = int(re.search(r"^(\w+) T keep_blocks$", names, re.M)[1], 16)
        maps = pathlib.Path(f"/proc/{p.pid}/maps").read_text()
        base = int(re.search(r"^(\w+)-\w+ r--p 0+ .*/host$", maps, re.M)[1], 16)
        want = f"num_symbols: 1\n{hex(base + address)} keep_blocks\n"
        assert fetch(port, f"/debug/pprof/symbol?{hex(base + address)}+0x1")[1].decode() == want


def t_the_command_line_is_the_one_it_was_started_with():
    with host() as (port, _):
        assert fetch(port, "/debug/pprof/cmdline")[1].decode() == host_program()


def t_other_requests_are_answered_while_a_profile_runs():
    with host() as (port, _), guest.taking(port, "profile?seconds=1000") as (running, _), \
            socket.create_connection(("127.0.0.1", port), timeout=LIMIT) as delta:
        delta.sendall(get("/debug/pprof/heap?seconds=1000"))
        for path in ("", "heap", "cmdline", "heap?seconds=1"):
            assert fetch(port, "/debug/pprof/" + path)[0] == 200
            assert not select.select([running, delta], [], [], 0)[0]


def t_a_profile_ends_when_the_client_goes_away():
    with host() as (port, _):
        with guest.taking(port, "profile?seconds=1000"):
            assert fetch(port, "/debug/pprof/profile?seconds=1")[0] == 500
        until("the profile has ended",
              lambda: fetch(port, "/debug/pprof/profile?seconds=1")[0] == 200)


def t_the_rate_can_be_asked_for():
    with host() as (port, _):
        raw = top([SONDE], fetch(port, "/debug/pprof/profile?seconds=1&hz=250")[1], "-raw")
    assert "Period: 4000000" in raw, raw


def t_a_token_is_asked_for():
    with host(wait=False, SONDE_TOKEN="secret") as (port, _):
        until("an answer", lambda: fetch(port, "/debug/pprof/")[0] == 401)
        for wrong in ({}, {"Authorization": "Bearer secre"}, {"Authorization": "Bearer secrets"},
                      {"Authorization": "secret"}, {"Authorization": "Basic secret"}):
            for path in ("/debug/pprof/heap", "/metrics", "/nope"):
                status, body = fetch(port, path, **wrong)
                assert (status, body) == (401, b"Unauthorized\n"), (wrong, status, body)
        assert fetch(port, "/debug/pprof/heap", Authorization="Bearer secret")[0] == 200


def t_a_unix_socket_serves_too():
    path = TMP / "socket"
    stale = socket.socket(socket.AF_UNIX)
    stale.bind(str(path))
    stale.close()
    with host(wait=False, SONDE_ADDR=f"unix:{path}") as (_, p):
        def asked():
            with socket.socket(socket.AF_UNIX) as s:
                s.connect(str(path))
                s.sendall(get("/debug/pprof/cmdline"))
                return read_answer(s)
        until("the log line", lambda: p.log.exists() and "serving" in p.log.read_text())
        assert asked()[1].decode() == host_program()
        assert path.stat().st_mode & 0o777 == 0o600
        p.terminate()
        assert p.wait(LIMIT) == 7
    assert not path.exists()


def t_a_busy_address_is_tried_again():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        s.listen()
        port = s.getsockname()[1]
        with host(wait=False, SONDE_ADDR=f"127.0.0.1:{port}") as (_, p):
            until("a word in the log", lambda: p.log.exists() and "in use" in p.log.read_text())
            time.sleep(4)
            s.close()
            answers(port)
            assert p.log.read_text().count("in use") == 1, p.log.read_text()


def t_a_bad_address_does_not_hurt_the_program():
    for bad in ("8070", "nowhere.invalid:1", "localhost:x", "localhost:99999", "[::1", "unix:",
                "a:b:c", "unix:/nowhere/s"):
        with host(wait=False, SONDE_ADDR=bad) as (_, p):
            until("a word in the log",
                  lambda: p.log.exists() and f"cannot listen on {bad}: " in p.log.read_text())
            p.terminate()
            assert p.wait(LIMIT) == 7, bad


def listening(pid):
    """The addresses a process listens on, from /proc."""
    inodes = set()
    for fd in pathlib.Path(f"/proc/{pid}/fd").iterdir():
        with contextlib.suppress(OSError):
            m = re.fullmatch(r"socket:\[(\d+)\]", os.readlink(fd))
            if m:
                inodes.add(m[1])
    found = set()
    for table in ("tcp", "tcp6"):
        for line in pathlib.Path(f"/proc/{pid}/net/{table}").read_text().splitlines()[1:]:
            words = line.split()
            if words[3] == "0A" and words[9] in inodes:
                found.add(words[1])
    return found


def t_addresses_mean_what_they_say():
    port = free_port()
    hexport = f"{port:04X}"
    loop4, loop6 = f"0100007F:{hexport}", f"{'0' * 24}01000000:{hexport}"
    for addr, want in ((f":{port}", [{f"{'0' * 32}:{hexport}"}, {f"00000000:{hexport}"}]),
                       (f"127.0.0.1:{port}", [{loop4}]),
                       (f"localhost:{port}", [{loop4, loop6}, {loop4}]),
                       (f"[::1]:{port}", [{loop6}])):
        with host(wait=False, SONDE_ADDR=addr) as (_, p):
            until("a word in the log", lambda: p.log.exists() and p.log.read_text())
            if "cannot listen on [::1]" in p.log.read_text():
                continue
            until(addr, lambda: listening(p.pid) in want)
            warned = "warning: " in p.log.read_text()
            assert warned == addr.startswith(":"), p.log.read_text()


def t_switches_are_exact():
    for env, on in (({}, False), ({"ENABLE_PROFILER": "TRUE"}, False),
                    ({"ENABLE_PROFILER": "1"}, False), ({"ENABLE_PROFILER": ""}, False),
                    ({"X_PPROF_ADDR": ""}, False), ({"SONDE_ADDR": ""}, False),
                    ({"PPROF_ADDR": "localhost:0"}, False),
                    ({"X_PPROF_ADDR": "localhost:0"}, True),
                    ({"SONDE_ADDR": "localhost:0"}, True)):
        log = TMP / f"switch-{time.monotonic_ns()}"
        with started(host_program(), env=clean(LD_PRELOAD=LIB, SONDE_LOG=log, **env),
                     stdout=subprocess.PIPE) as p:
            assert p.stdout.readline() == b"ready\n"
            if on:
                until("a word in the log", log.exists)
            names = [pathlib.Path(f).read_text().strip()
                     for f in pathlib.Path(f"/proc/{p.pid}/task").glob("*/comm")]
            assert sorted(names) == (["host", "sonde"] if on else ["host"]), (env, names)
            assert log.exists() == on


def t_it_switches_itself_off():
    with host(wait=False, SONDE_OFF_AFTER="2s") as (port, p):
        until("it serves", lambda: p.log.exists() and "serving" in p.log.read_text())
        until("the port is closed", lambda: not guest.listens(port))
        until("the thread has ended",
              lambda: len(list(pathlib.Path(f"/proc/{p.pid}/task").iterdir())) == 1)
        assert p.poll() is None and "switched off" in p.log.read_text()


def t_every_fetch_is_in_the_log():
    with host() as (port, p):
        fetch(port, "/debug/pprof/heap?gc=1")
        until("the line", lambda: re.search(
            r"Z sonde\[\d+\]: GET /debug/pprof/heap\?gc=1 from 127\.0\.0\.1:\d+: 200, \d+ bytes, "
            r"\d+ ms\n", p.log.read_text()))


def t_a_profile_is_delivered_when_the_program_ends():
    with host() as (port, p), guest.taking(port, "profile?seconds=1000") as (s, _):
        guest.works_on(p.pid, 0.5)
        began = time.monotonic()
        p.terminate()
        assert p.wait(LIMIT) == 7
        print(f"# ended in {time.monotonic() - began:.3f} s")
        lines, body = read_answer(s)
    assert lines[0] == "HTTP/1.1 200 OK" and "burn" in top([SONDE], body, "-top")


def t_metrics_are_prometheus_text():
    with host() as (port, _):
        status, body = fetch(port, "/metrics")
    values = {}
    for line in body.decode().splitlines():
        if not line.startswith("# "):
            m = re.fullmatch(r'(\w+)(\{(?:\w+="[^"\n]*",?)*\})? ([\d.]+)', line)
            assert m, line
            values[m[1]] = float(m[3])
    assert status == 200 and values["sonde_memory_bytes"] > 0 and \
        values["sonde_heap_samples_total"] > 0, values


def t_the_index_can_be_left_out():
    with host(wait=False, SONDE_INDEX="0") as (port, _):
        until("an answer", lambda: fetch(port, "/debug/pprof/heap")[0] == 200)
        assert fetch(port, "/debug/pprof/")[0] == 404
        assert fetch(port, "/debug/pprof")[0] == 404


# Clients that mean no good: the next one must be answered all the same.

def t_slow_and_silent_clients_are_in_nobodys_way():
    with host() as (port, p), contextlib.ExitStack() as stack:
        for i in range(500):
            s = stack.enter_context(socket.create_connection(("127.0.0.1", port), timeout=LIMIT))
            if i % 3:
                s.sendall(b"GET /debug/pprof/heap HTTP/1.1\r\nX: ")
            if i % 100 == 0:
                assert fetch(port, "/debug/pprof/cmdline")[0] == 200, i
        assert fetch(port, "/debug/pprof/heap")[0] == 200
        fds = len(list(pathlib.Path(f"/proc/{p.pid}/fd").iterdir()))
        assert fds < 60, f"{fds} files open"


def t_clients_that_do_not_read_are_in_nobodys_way():
    with host() as (port, _), contextlib.ExitStack() as stack:
        for _ in range(20):
            s = stack.enter_context(socket.create_connection(("127.0.0.1", port), timeout=LIMIT))
            s.sendall(get("/debug/pprof/") * 500)
        assert fetch(port, "/debug/pprof/cmdline")[0] == 200


def t_huge_requests_are_refused():
    with host() as (port, _):
        head = get("/debug/pprof/heap", headers="X: " + "a" * 20000 + "\r\n")
        assert ask(port, head)[0][0] == "HTTP/1.1 431 Request Header Fields Too Large"
        body = get("/debug/pprof/symbol", "POST", headers="Content-Length: 1000000000000\r\n")
        assert ask(port, body)[0][0] == "HTTP/1.1 413 Request Entity Too Large"
        many = b"0x1+" * 200000
        ok = get("/debug/pprof/symbol", "POST", headers=f"Content-Length: {len(many)}\r\n") + many
        assert ask(port, ok)[0][0] == "HTTP/1.1 200 OK"
        chunk = b"100000\r\n" + b"+" * 0x100000 + b"\r\n"
        with socket.create_connection(("127.0.0.1", port), timeout=LIMIT) as s:
            with contextlib.suppress(OSError):
                s.sendall(get("/debug/pprof/symbol", "POST",
                              headers="Transfer-Encoding: chunked\r\n") + chunk * 20)
            with contextlib.suppress(OSError):
                assert read_answer(s)[0][0] == "HTTP/1.1 413 Request Entity Too Large"
        assert fetch(port, "/debug/pprof/cmdline")[0] == 200


def t_the_program_is_not_disturbed_by_broken_connections():
    with host() as (port, p):
        for _ in range(100):
            with socket.create_connection(("127.0.0.1", port)) as s:
                s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
                s.sendall(get("/debug/pprof/heap"))
        assert fetch(port, "/debug/pprof/cmdline")[0] == 200
        p.terminate()
        assert p.wait(LIMIT) == 7



CLOSER = r"""
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

/* What daemons do, and then as many files of our own as there are numbers; when the file is there. */
int main(int argc, char **argv)
{
	struct sockaddr_in at = { .sin_family = AF_INET };
	socklen_t n = sizeof(at);
	int fd = -1;

	while (argc < 2 || access(argv[1], F_OK) != 0)
		usleep(1000);
	for (int i = 3; i < 1024; i++)
		close(i);
	at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	for (int i = 3; i < 1020; i++) {
		fd = socket(AF_INET, SOCK_STREAM, 0);
		if (i < 800)
			continue;
		if (bind(fd, (struct sockaddr *)&at, sizeof(at)) || listen(fd, 9))
			return 1;
		getsockname(fd, (struct sockaddr *)&at, &n);
		at.sin_port = 0;
	}
	for (int i = 3; i < 700; i++)
		close(i);
	getsockname(fd, (struct sockaddr *)&at, &n);
	printf("%d\n", ntohs(at.sin_port));
	fflush(stdout);
	for (;;) {
		int c = accept(fd, NULL, NULL);

		if (c < 0 || write(c, "mine", 4) != 4)
			return 2;
		close(c);
	}
}
"""


def t_files_that_the_program_has_closed_are_not_touched():
    port, log, go_on = free_port(), TMP / "log-closer", TMP / "close"
    program = compile_c("closer", CLOSER)
    env = clean(LD_PRELOAD=LIB, SONDE_ADDR=f"127.0.0.1:{port}", SONDE_LOG=log)
    with started(program, go_on, env=env, stdout=subprocess.PIPE) as p:
        answers(port)
        go_on.touch()
        own = int(p.stdout.readline())
        for _ in range(200):
            with socket.create_connection(("127.0.0.1", own), timeout=LIMIT) as s:
                assert s.recv(9) == b"mine"
        answers(port)
        with socket.create_connection(("127.0.0.1", own), timeout=LIMIT) as s:
            assert s.recv(9) == b"mine"
        until("a word in the log", lambda: "has closed our socket" in log.read_text())
        assert p.poll() is None


def t_the_lowest_numbers_are_the_programs():
    text = r"""
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>
/* The lowest of many: for a moment a number may be in use, and none for longer. */
int main(int argc, char **argv)
{
	int lowest = 1 << 20;

	while (argc < 2 || access(argv[1], F_OK) != 0)
		usleep(1000);
	for (int i = 0; i < 100; i++) {
		int fd = open("/dev/null", O_RDONLY);

		lowest = fd < lowest ? fd : lowest;
		close(fd);
		usleep(1000);
	}
	printf("%d\n", lowest);
	return 0;
}
"""
    program, port, go_on = compile_c("lowest", text), free_port(), TMP / "open"
    env = clean(LD_PRELOAD=LIB, SONDE_ADDR=f"127.0.0.1:{port}", SONDE_LOG="none")
    with started(program, go_on, env=env, stdout=subprocess.PIPE) as p:
        answers(port)
        go_on.touch()
        ours = p.stdout.readline()
    assert ours == guest.run(program, go_on, env=clean()).stdout


DAEMON = r"""
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

char *volatile sink;

int main(int argc, char **argv)
{
	FILE *f;

	usleep(300000);
	if (argc > 2 && fork() > 0)
		_exit(0);
	if (daemon(1, 0) < 0)
		return 1;
	f = fopen(argv[1], "w");
	fprintf(f, "%d\n", (int)getpid());
	fclose(f);
	for (;;) {
		sink = malloc(100000);
		free(sink);
		usleep(1000);
	}
}
"""


def t_a_program_that_goes_into_the_background_is_followed():
    program = compile_c("daemon", DAEMON)
    for twice in ([], ["twice"]):
        port, pidfile = free_port(), TMP / f"pid-{len(twice)}"
        guest.run(program, pidfile, *twice, env=guest.guest_env(LIB, port))
        until("the daemon runs", lambda: pidfile.exists() and pidfile.read_text().endswith("\n"))
        pid = int(pidfile.read_text())
        try:
            answers(port)
            assert fetch(port, "/debug/pprof/heap")[0] == 200
            assert fetch(port, "/debug/pprof/profile?seconds=1")[0] == 200
        finally:
            os.kill(pid, 9)


def t_a_child_does_not_serve_while_its_parent_lives():
    text = r"""
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
char *volatile sink;
int main(void)
{
	for (int i = 0; i < 50; i++) {
		if (fork() == 0) {
			for (int k = 0; k < 100; k++)
				sink = malloc(100000);
			_exit(access("/proc/self/task", R_OK));
		}
	}
	while (wait(NULL) > 0)
		;
	puts("ready");
	fflush(stdout);
	pause();
	return 0;
}
"""
    port, log = free_port(), TMP / "log-children"
    env = clean(LD_PRELOAD=LIB, SONDE_ADDR=f"127.0.0.1:{port}", SONDE_LOG=log)
    with started(compile_c("children", text), env=env, stdout=subprocess.PIPE) as p:
        assert p.stdout.readline() == b"ready\n"
        answers(port)
        assert log.read_text().count("serving") == 1 and "cannot" not in log.read_text()


# The API: a program that has a server of its own, and one that starts and stops ours.

MOUNTED = r"""
#include <sonde.h>

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CHECK(x) do { if (!(x)) { printf("failed: %s\n", #x); exit(1); } } while (0)

struct got {
	int status, calls, headers;
	size_t n;
	char type[64], text[64];
	int leave;
};

static void answer(void *context, int status, const struct sonde_header *h, const void *body,
		   size_t n)
{
	struct got *g = (struct got *)context;

	g->calls++;
	g->status = status;
	g->n = n;
	memcpy(g->text, body, n < 63 ? n : 63);
	for (; h->name; h++) {
		g->headers++;
		if (strcmp(h->name, "Content-Type") == 0)
			snprintf(g->type, sizeof(g->type), "%s", h->value);
	}
}

static int gone(void *context)
{
	return ((struct got *)context)->leave;
}

static struct got ask(const char *method, const char *path, const char *query, int leave)
{
	struct got g;
	struct sonde_request rq;

	memset(&g, 0, sizeof(g));
	memset(&rq, 0, sizeof(rq));
	g.leave = leave;
	rq.size = sizeof(rq);
	rq.method = method;
	rq.path = path;
	rq.query = query;
	rq.gone = gone;
	CHECK(sonde_handle(&rq, answer, &g) == 0);
	return g;
}

static void *profile(void *unused)
{
	struct got g;

	do {
		g = ask("GET", "/debug/pprof/profile", "seconds=100", 0);
	} while (g.status == 500);
	CHECK(g.status == 200 && g.n > 20);
	return unused;
}

int main(void)
{
	struct sonde_options o;
	struct sonde_request rq;
	struct got g;
	pthread_t t;

	memset(&o, 0, sizeof(o));
	memset(&rq, 0, sizeof(rq));
	rq.size = sizeof(rq);
	rq.method = "GET";
	rq.path = "/debug/pprof/heap";
	CHECK(!sonde_is_on() && sonde_handle(&rq, answer, &g) == -ENOTCONN);
	o.size = sizeof(o);
	o.log = "none";
	o.addr = "no address";
	CHECK(sonde_start(&o) == -EINVAL);
	o.addr = NULL;
	o.heap_rate = 1;
	errno = 77;
	CHECK(sonde_start(&o) == 0 && sonde_is_on() && errno == 77);
	CHECK(sonde_start(&o) == -EALREADY);
	free(malloc(12345));

	g = ask("GET", "/debug/pprof/heap", "", 0);
	CHECK(g.status == 200 && g.calls == 1 && g.headers == 3 && memcmp(g.text, "\x1f\x8b", 2) == 0);
	CHECK(strcmp(g.type, "application/octet-stream") == 0);
	g = ask("GET", "/debug/pprof/nope", "", 0);
	CHECK(g.status == 404 && strcmp(g.text, "Unknown profile\n") == 0);
	g = ask("GET", "/debug/pprof/profile", "seconds=100", 1);
	CHECK(g.calls == 0);
	CHECK(sonde_set_heap_rate(512) == 1 && sonde_set_heap_rate(1) == 512);
	CHECK(sonde_set_cpu_hz(99) == 100 && sonde_set_cpu_hz(100) == 99);

	/* A profile that runs when everything is switched off is still delivered. */
	CHECK(pthread_create(&t, NULL, profile, NULL) == 0);
	while (ask("GET", "/debug/pprof/profile", "seconds=1", 1).status != 500)
		usleep(1000);
	sonde_stop();
	CHECK(pthread_join(t, NULL) == 0 && !sonde_is_on());
	for (int i = 0; i < 20; i++) {
		CHECK(sonde_start(&o) == 0);
		g = ask("HEAD", "/debug/pprof/", "", 0);
		CHECK(g.status == 200);
		sonde_stop();
	}
	puts("fine");
	return 0;
}
"""


def t_the_api_does_what_its_header_says():
    include = pathlib.Path(__file__).resolve().parent.parent / "include"
    flags = ("-Wall", "-Wextra", "-Werror", f"-I{include}", f"-L{pathlib.Path(LIB).parent}",
             "-lsonde", f"-Wl,-rpath,{pathlib.Path(LIB).parent}", "-pthread")
    for compiler in ("cc", "c++"):
        program = compile_c(f"mounted-{compiler}", MOUNTED, *flags, compiler=compiler)
        assert guest.run(program, env=clean()).stdout == b"fine\n"


sys.exit(guest.main(dict(globals()), [a for a in sys.argv[5:]]))
