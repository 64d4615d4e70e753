#!/usr/bin/env python3
"""Sources end to end: real servers, honest and otherwise, on 127.0.0.1.

usage: sources.py PROBE [NAME...]

PROBE is the program made from source-probe.c.  Every function below whose name starts with
"t_" is one TAP case.  Where Go is installed, the sentences and requests we expect of ourselves
are first asked of "go tool pprof".

SPDX-License-Identifier: Apache-2.0
"""
import contextlib
import gzip
import os
import pathlib
import re
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import tempfile
import threading
import time
import zlib

from ports import free_port

PROBE = str(pathlib.Path(sys.argv[1]).resolve()) if len(sys.argv) > 1 else ""
GO = shutil.which("go")
TMP = pathlib.Path(tempfile.mkdtemp(prefix="sources."))
PLAIN = b"not a profile, but bytes\n" * 40
LIMIT = 300  # seconds for any one command; servers that hang do so for longer


# --- what is run -------------------------------------------------------------------------

def environment(**more):
    env = {k: v for k, v in os.environ.items()
           if not k.lower().endswith("_proxy") and k not in ("LD_LIBRARY_PATH", "REQUEST_METHOD")}
    return env | {"HOME": str(TMP), "TMPDIR": str(TMP), "PPROF_TMPDIR": str(TMP / "saved"),
                  "GOCACHE": str(TMP / "gocache"), "GOFLAGS": ""} | more


def probe(*args, env=None, stdin=subprocess.DEVNULL):
    """Runs the probe; returns (standard output, standard error, status)."""
    r = subprocess.run([PROBE, *map(str, args)], capture_output=True, timeout=LIMIT, stdin=stdin,
                       env=env or environment(), cwd=TMP)
    return r.stdout.decode(), r.stderr.decode(), r.returncode


def go(*args, env=None):
    """What "go tool pprof" writes to standard error, without its closing sentence."""
    r = subprocess.run([GO, "tool", "pprof", "-top", *map(str, args)], capture_output=True,
                       timeout=LIMIT, stdin=subprocess.DEVNULL, env=env or environment(), cwd=TMP)
    return r.stderr.decode().replace("failed to fetch any source profiles\n", "")


def same(got, want):
    """'want' may hold {...} where anything may stand."""
    pattern = ".*".join(map(re.escape, want.split("{...}")))
    assert re.fullmatch(pattern, got, re.S), f"\n got: {got!r}\nwant: {want!r}"


def refused(want, *args, live=True, env=None):
    """The probe fails with 'want' on standard error, and so does the reference."""
    if GO and live:
        same(go(*args, env=env), want)
    out, err, status = probe(*args, env=env)
    same(err, want)
    assert status == 1 and out == "", (out, status)


def line(data, url):
    return f"{len(data)} {zlib.crc32(data):08x} {url}\n"


def fetched(data, url, *args, env=None):
    """The probe succeeds, and 'data' came from 'url'."""
    out, err, status = probe(*args, env=env)
    assert status == 0, err
    same(out, line(data, url))
    return err


# --- servers -----------------------------------------------------------------------------

class Server:
    """Calls handle(connection, request bytes) for each connection; remembers the requests."""

    def __init__(self, handle, tls=None, read=True):
        self.requests, self.read, self.tls = [], read, tls
        self.answer = handle if callable(handle) else lambda c, _: c.sendall(handle)
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.port = self.listener.getsockname()[1]
        self.at = f"127.0.0.1:{self.port}"
        self.url = f"http{'s' if tls else ''}://{self.at}"
        threading.Thread(target=self.loop, daemon=True).start()

    def loop(self):
        while True:
            try:
                c, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self.serve, args=(c,), daemon=True).start()

    def serve(self, c):
        c.settimeout(LIMIT)
        with contextlib.suppress(OSError), contextlib.closing(c):
            if self.tls:
                c = self.tls.wrap_socket(c, server_side=True, do_handshake_on_connect=False)
                self.shake_hands(c)
            request = self.receive(c) if self.read else b""
            self.requests.append(request)
            self.answer(c, request)
            with contextlib.suppress(OSError):
                c.shutdown(socket.SHUT_WR)

    @staticmethod
    def shake_hands(c):
        try:
            c.do_handshake()
        except ssl.SSLError:
            c.shutdown(socket.SHUT_WR)
            while c.recv(65536):  # closing at once could overtake our explanation
                pass
            raise

    @staticmethod
    def receive(c):
        data = b""
        while b"\r\n\r\n" not in data:
            more = c.recv(65536)
            if not more:
                return data
            data += more
        head, _, body = data.partition(b"\r\n\r\n")
        m = re.search(rb"(?i)content-length: (\d+)", head)
        while m and len(body) < int(m[1]):
            body += c.recv(65536)
        return head + b"\r\n\r\n" + body

    def lines(self):
        return [r.split(b"\r\n")[0].decode() for r in self.requests]


def reply(body=PLAIN, status="200 OK", *headers):
    head = "".join(f"{h}\r\n" for h in headers)
    return (f"HTTP/1.1 {status}\r\nContent-Length: {len(body)}\r\n{head}\r\n").encode() + body


def redirect(to, status="302 Found"):
    return reply(b"", status, f"Location: {to}")


def hang(*_):
    time.sleep(2 * LIMIT)


def drip(data, piece, pause):
    def answer(c, _):
        c.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(data))
        for i in range(0, len(data), piece):
            c.sendall(data[i:i + piece])
            time.sleep(pause)
    return answer


# --- keys and certificates ---------------------------------------------------------------

def openssl(*args):
    subprocess.run(["openssl", *map(str, args)], check=True, capture_output=True, cwd=TMP)


def certificate(name, subject, extra, days=30):
    """<name>.key and <name>.pem, signed by ca.pem."""
    (TMP / f"{name}.ext").write_text(extra)
    openssl("req", "-new", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
            "-keyout", f"{name}.key", "-out", f"{name}.csr", "-subj", f"/CN={subject}")
    openssl("x509", "-req", "-in", f"{name}.csr", "-CA", "ca.pem", "-CAkey", "ca.key",
            "-CAcreateserial", "-days", days, "-extfile", f"{name}.ext", "-out", f"{name}.pem")


def make_keys():
    openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
            "-keyout", "ca.key", "-out", "ca.pem", "-subj", "/CN=test authority", "-days", 30)
    certificate("server", "server", "subjectAltName=IP:127.0.0.1,DNS:localhost,DNS:named.test\n")
    certificate("other", "other", "subjectAltName=DNS:elsewhere.test\n")
    certificate("expired", "expired", "subjectAltName=IP:127.0.0.1\n", days=-1)
    certificate("client", "client", "extendedKeyUsage=clientAuth\n")


def tls(name="server", client_ca=False):
    ctx = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    ctx.load_cert_chain(TMP / f"{name}.pem", TMP / f"{name}.key")
    if client_ca:
        ctx.verify_mode = ssl.CERT_REQUIRED
        ctx.load_verify_locations(TMP / "ca.pem")
    return ctx


CA = ("-tls_ca", TMP / "ca.pem")


# --- files -------------------------------------------------------------------------------

def t_a_missing_file_is_named_as_the_reference_names_it():
    for source in ("nofile", "", "no:such", "foo:80x", "/no/such/file", "a b:80", "%zz",
                   "file:///no/such"):
        refused(f"{source}: open {source}: no such file or directory\n", source)


def t_a_folder_is_refused():
    refused(f"{TMP}: read {TMP}: is a directory\n", TMP)


def t_a_file_with_a_colon_in_its_name_is_a_file():
    for name in ("2020-10-01-22:08:40.pprof", "localhost:6060", "host:80"):
        (TMP / name).write_bytes(gzip.compress(PLAIN))
        assert fetched(PLAIN, "-", name) == ""


def t_an_empty_file_has_no_bytes():
    (TMP / "empty").write_bytes(b"")
    fetched(b"", "-", "empty")


def t_standard_input_is_a_dash():
    r = subprocess.run([PROBE, "-"], input=gzip.compress(PLAIN), capture_output=True, timeout=LIMIT)
    assert r.stdout.decode() == line(PLAIN, "-"), r


def t_a_pipe_with_a_name_is_read_from_its_first_byte():
    os.mkfifo(TMP / "fifo")
    writer = threading.Thread(target=lambda: (TMP / "fifo").write_bytes(b"PERFILE2" + PLAIN),
                              daemon=True)
    writer.start()
    fetched(b"PERFILE2" + PLAIN, "-", "fifo")
    writer.join(LIMIT)


def t_a_file_over_the_limit_is_refused_before_it_is_read():
    (TMP / "large").write_bytes(PLAIN)
    refused("large: read large: file too large\n", "-max", 10, "large", live=False)


def t_a_truncated_file_is_refused_in_the_words_of_the_reference():
    (TMP / "cut.gz").write_bytes(gzip.compress(PLAIN)[:-9])
    refused("cut.gz: decompressing profile: unexpected EOF\n", "cut.gz")


def t_a_bomb_is_refused_at_the_limit():
    (TMP / "bomb.gz").write_bytes(gzip.compress(bytes(50 << 20)))
    refused("bomb.gz: decompressing profile: content is larger than 1000000 bytes\n",
            "-max", 1000000, "bomb.gz", live=False)


def t_a_large_file_shows_progress():
    with open(TMP / "sparse", "wb") as f:
        f.truncate(80 << 20)
    err = fetched(bytes(80 << 20), "-", "-progress", "sparse")
    assert "progress reading 16777216/83886080 bytes\n" in err and err.endswith("ends\n"), err


# --- perf.data ---------------------------------------------------------------------------

def perf_file():
    (TMP / "perf.data").write_bytes(b"PERFILE2" + bytes(100))
    return "Converting perf.data to a profile.proto... (May take a few minutes)\n"


FAILED = "perf.data: failed to convert perf.data file. Try github.com/google/perf_data_converter: "


def converter(script):
    tools = TMP / "tools"
    tools.mkdir(exist_ok=True)
    (tools / "perf_to_profile").write_text("#!/bin/sh\n" + script)
    (tools / "perf_to_profile").chmod(0o755)
    return environment(PATH=f"{tools}:{os.environ['PATH']}")


def t_perf_data_needs_a_converter():
    refused(perf_file() + FAILED +
            'exec: "perf_to_profile": executable file not found in $PATH\n', "perf.data")


def t_perf_data_is_converted():
    (TMP / "answer.gz").write_bytes(gzip.compress(PLAIN))
    env = converter('[ "$1 $2 $3 $5" = "-i perf.data -o -f" ] && cp answer.gz "$4"\n')
    want = perf_file()
    assert fetched(PLAIN, "-", "perf.data", env=env) == want
    assert not list(TMP.glob("pprof_*")), "the converter's output is still there"


def t_a_failing_converter_is_reported():
    refused(perf_file() + FAILED + "exit status 3\n", "perf.data", env=converter("exit 3\n"))
    refused(perf_file() + FAILED + "signal: killed\n", "perf.data",
            env=converter("kill -9 $$\n"))


def t_an_interrupt_ends_the_converter():
    perf_file()
    started = TMP / "converting"
    interrupted("perf.data", env=converter(f"touch {started}; exec sleep {2 * LIMIT}\n"),
                begun=lambda: wait_for(started.exists))


def interrupted(*args, begun, env=None):
    p = subprocess.Popen([PROBE, *map(str, args)], stderr=subprocess.PIPE, env=env or environment(),
                         cwd=TMP)
    begun()
    p.send_signal(signal.SIGINT)
    _, err = p.communicate(timeout=LIMIT)
    same(err.decode(), "{...}interrupted\n")
    assert p.returncode == 1


def wait_for(condition):
    end = time.monotonic() + LIMIT
    while not condition():
        assert time.monotonic() < end, "nothing happens"
        time.sleep(0.02)


# --- what is asked for -------------------------------------------------------------------

def t_requests_are_those_of_the_reference():
    server = Server(reply(b"", "404 Not Found"))
    port = server.port
    cases = {
        (f"http://127.0.0.1:{port}",): "/debug/pprof/profile",
        (f"127.0.0.1:{port}",): "/debug/pprof/profile",
        (f"127.0.0.1:{port}/",): "/debug/pprof/profile",
        (f":{port}/x",): "/x",
        (f"http://127.0.0.1:{port}/debug/pprof/heap",): "/debug/pprof/heap",
        (f"127.0.0.1:{port}/a?seconds=5",): "/a?seconds=5",
        ("-seconds", "7", f"127.0.0.1:{port}/a?seconds=5&b=2&a=1"): "/a?a=1&b=2&seconds=7",
        (f"127.0.0.1:{port}/a?z=%20x&a=b+c&a=&q=1;2",): "/a?a=b+c&a=&z=+x",
        (f"127.0.0.1:{port}/a%2fb/c%20d/%41?",): "/a%2fb/c%20d/%41?",
        (f"127.0.0.1:{port}/a/../b/./c#frag",): "/a/../b/./c",
        (f"127.0.0.1:{port}/ä?ö=ü",): "/%C3%A4?%C3%B6=%C3%BC",
        (f"HTTP://127.0.0.1:{port}/[x](y)!*",): "/[x](y)!*",
    }
    for args, target in cases.items():
        for run in (go, probe) if GO else (probe,):
            server.requests.clear()
            run(*args)
            assert server.lines() == [f"GET {target} HTTP/1.1"], (args, run, server.lines())


def t_the_host_and_the_password_are_sent():
    server = Server(reply())
    fetched(PLAIN, f"http://me:s3cret@{server.at}/x", f"http://me:s3cret@{server.at}/x")
    assert b"\r\nAuthorization: Basic bWU6czNjcmV0\r\n" in server.requests[0], server.requests
    assert f"\r\nHost: {server.at}\r\n".encode() in server.requests[0], server.requests


def t_the_messages_are_those_of_the_reference():
    server = Server(reply(b"", "404 Not Found"))
    for seconds, text in ((5, "5s"), (90, "1m30s"), (3600, "1h0m0s"), (7205, "2h0m5s")):
        refused(f"Fetching profile over HTTP from {server.url}/debug/pprof/profile?seconds={seconds}\n"
                f"Please wait... ({text})\n{server.at}: server response: 404 Not Found\n",
                "-seconds", seconds, server.at)


def t_a_profile_is_unpacked():
    server = Server(reply(gzip.compress(PLAIN)))
    err = fetched(PLAIN, f"{server.url}/x", f"{server.url}/x")
    assert err == f"Fetching profile over HTTP from {server.url}/x\n", err


def t_several_sources_may_be_read_by_one_process():
    server = Server(reply())
    out, _, status = probe(f"{server.url}/1", f"{server.url}/2")
    assert status == 0 and out == line(PLAIN, f"{server.url}/1") + line(PLAIN, f"{server.url}/2")


# --- refusals ----------------------------------------------------------------------------

def fetching(url):
    return f"Fetching profile over HTTP from {url}\n"


def failing(server, why, *args, live=True, env=None, scheme=None, path="/x"):
    """Fetching server/path fails with 'why'."""
    url = (scheme + server.at if scheme else server.url) + path
    shown = url.replace("https+insecure:", "https:")
    refused(fetching(url) + f"{url}: " + why.replace("URL", shown) + "\n", *args, url, live=live,
            env=env)


def t_nobody_listens():
    port = free_port()
    url = f"http://127.0.0.1:{port}/x"
    refused(fetching(url) +
            f'{url}: Get "{url}": dial tcp 127.0.0.1:{port}: connect: connection refused\n', url)
    refused(fetching(f"http://:{port}/x") + f':{port}/x: Get "http://:{port}/x": '
            f'dial tcp :{port}: connect: connection refused\n', f":{port}/x")


def t_an_unknown_host_is_named():
    url = "http://name.invalid/x"
    refused(fetching(url) + f'{url}: Get "{url}": dial tcp: lookup name.invalid{{...}}: '
            'no such host\n', url, live=False)


def t_a_url_that_cannot_be_fetched_is_refused():
    refused(fetching("ftp://127.0.0.1/x") + 'ftp://127.0.0.1/x: Get "ftp://127.0.0.1/x": '
            'unsupported protocol scheme "ftp"\n', "ftp://127.0.0.1/x")
    refused(fetching("http://127.0.0.1:99999/x") + 'http://127.0.0.1:99999/x: '
            'Get "http://127.0.0.1:99999/x": dial tcp: address 99999: invalid port\n',
            "http://127.0.0.1:99999/x")
    refused(fetching("//h/x") + '//h/x: Get "//h/x": unsupported protocol scheme ""\n', "//h/x")


def t_a_status_other_than_200_is_the_message():
    for status in ("404 Not Found", "500 Oh\tno", "204 No Content", "302 Found", "404", "404 "):
        body = b"" if status.startswith("204") else b"<html>"
        failing(Server(reply(body, status)), f"server response: {status}")


def t_a_profiling_server_may_explain_itself():
    headers = ("X-Go-Pprof: 1", "Content-Type: text/plain; charset=utf-8")
    failing(Server(reply(b"no such profile\n", "404 Not Found", *headers)),
            "server response: 404 Not Found - no such profile")
    failing(Server(reply(b"<p>", "404 Not Found", headers[0], "Content-Type: text/html")),
            "server response: 404 Not Found")
    failing(Server(reply(b"<p>", "404 Not Found", headers[1])), "server response: 404 Not Found")


def t_a_server_cannot_command_the_terminal():
    headers = ("X-Go-Pprof: 1", "Content-Type: text/plain")
    failing(Server(reply(b"\x1b[2Jx\0y", "404 \x1b]0;x\7", *headers)),
            "server response: 404 ?]0;x? - ?[2Jx?y", live=False)


def t_the_body_of_an_error_is_not_waited_for():
    failing(Server(lambda c, _: (c.sendall(b"HTTP/1.1 404 Gone\r\nContent-Length: 9\r\n\r\nx"),
                                 hang())), "server response: 404 Gone")
    endless = Server(lambda c, _: [c.sendall(b"HTTP/1.1 500 Much\r\n\r\n")] +
                     [c.sendall(bytes(65536)) for _ in range(1 << 20)])
    failing(endless, "server response: 500 Much", live=False)


# --- servers that lie --------------------------------------------------------------------

def t_a_server_that_says_nothing():
    failing(Server(b""), 'Get "URL": EOF')


def t_a_server_that_resets():
    def reset(c, _):
        c.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        c.close()
    failing(Server(reset), 'Get "URL": read tcp 127.0.0.1:{...}->127.0.0.1:{...}: '
            'read: connection reset by peer')


def t_a_server_of_another_kind():
    for garbage in (b"SSH-2.0-x\r\n", b"hello\r\n\r\n", bytes(1000)):
        failing(Server(garbage), 'Get "URL": net/http: HTTP/1.x transport connection broken: '
                'malformed HTTP response{...}')


def t_a_body_that_is_shorter_than_promised():
    cut = "HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\nabc"
    for n in (100, 1 << 40, (1 << 63) - 1):
        failing(Server(cut.format(n).encode()), "unexpected EOF")
    failing(Server(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nff\r\nabc"),
            "{...}unexpected EOF")


def t_a_body_that_is_longer_than_promised_is_cut():
    server = Server(b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabcdef")
    fetched(b"abc", f"{server.url}/x", f"{server.url}/x")


def t_an_endless_body_is_refused_at_the_limit():
    endless = Server(lambda c, _: [c.sendall(b"HTTP/1.1 200 OK\r\n\r\n")] +
                     [c.sendall(bytes(65536)) for _ in range(1 << 20)])
    failing(endless, 'Get "URL": the response is larger than 1000000 bytes', "-max", 1000000,
            live=False)


def t_an_encoded_bomb_is_refused_at_the_limit():
    bomb = Server(reply(gzip.compress(bytes(50 << 20)), "200 OK", "Content-Encoding: gzip"))
    failing(bomb, 'Get "URL": the response is larger than 1000000 bytes', "-max", 1000000,
            live=False)


def t_an_endless_header_is_refused():
    endless = Server(lambda c, _: [c.sendall(b"HTTP/1.1 200 OK\r\n")] +
                     [c.sendall(b"x: " + b"y" * 60000 + b"\r\n") for _ in range(1 << 20)])
    failing(endless, 'Get "URL": net/http: server response headers exceeded the limit; aborted',
            live=False)


def t_encodings_and_chunks_are_undone():
    body = gzip.compress(PLAIN)
    server = Server(reply(body, "200 OK", "Content-Encoding: gzip"))
    fetched(PLAIN, f"{server.url}/x", f"{server.url}/x")
    chunked = b"".join(b"%x\r\n%s\r\n" % (len(PLAIN[i:i + 7]), PLAIN[i:i + 7])
                       for i in range(0, len(PLAIN), 7)) + b"0\r\nTrailer: x\r\n\r\n"
    server = Server(b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n"
                    b"Transfer-Encoding: chunked\r\n\r\n" + chunked)
    fetched(PLAIN, f"{server.url}/x", f"{server.url}/x")


# --- time --------------------------------------------------------------------------------

def t_a_hanging_server_is_given_five_seconds_more_than_the_timeout():
    start = time.monotonic()
    failing(Server(hang), 'Get "URL": net/http: timeout awaiting response headers',
            "-timeout", 1, live=False)
    # No earlier; and not after a minute, which is what there is without the option.
    assert 5.5 < time.monotonic() - start < 60


def timed(server, want, *args):
    """The probe gives up: what it asks would go on for longer than the probe is waited for."""
    _, err, status = probe("-http", server.url + "/x", *args) if not args else \
        probe(*args, "-http", server.url + "/x")
    same(err, want.replace("URL", server.url + "/x") + "\n")
    assert status == 1


def t_waiting_has_limits():
    timed(Server(hang), 'Get "URL": net/http: timeout awaiting response headers', "-wait", 300)
    timed(Server(lambda c, _: (c.sendall(b"HTTP/1.1 200 OK\r\nX: "), hang())),
          'Get "URL": net/http: timeout awaiting response headers', "-wait", 300)
    timed(Server(lambda c, _: (c.sendall(b"HTTP/1.1 200 OK\r\n\r\nabc"), hang())),
          'Get "URL": the response stopped after 3 bytes: timeout', "-stall", 300)
    timed(Server(drip(PLAIN, 1, 0.02)),
          'Get "URL": the response stopped after {...} bytes: timeout', "-stall", 300)


def t_a_header_that_drips_forever_is_not_waited_for():
    def answer(c, _):
        c.sendall(b"HTTP/1.1 200 OK\r\n")
        while True:
            c.sendall(b"X: y\r\n")
            time.sleep(0.05)
    timed(Server(answer), 'Get "URL": net/http: timeout awaiting response headers', "-wait", 500)


def t_a_slow_body_that_keeps_coming_is_waited_for():
    # All of it takes twice as long as it may stand still.  Where the server is kept waiting itself for
    # that long, by others on this machine, it is all tried again with more time.
    for stall in (500, 2500, 12500):
        server = Server(drip(PLAIN * 5, 200, 2 * stall / 25 / 1000))
        out, err, _ = probe("-stall", stall, "-http", f"{server.url}/x")
        if out:
            break
    assert out == "200 " + line(PLAIN * 5, f"{server.url}/x"), err


def t_a_connection_that_is_never_accepted_times_out():
    full = socket.socket()
    full.bind(("127.0.0.1", 0))
    full.listen(0)
    port = full.getsockname()[1]
    fill = []
    for _ in range(3):  # the backlog of 0 holds one; a third is left without an answer
        s = socket.socket()
        s.setblocking(False)
        s.connect_ex(("127.0.0.1", port))
        fill.append(s)
    _, err, status = probe("-wait", 700, "-http", f"http://127.0.0.1:{port}/x")
    same(err, f'Get "http://127.0.0.1:{port}/x": dial tcp 127.0.0.1:{port}: i/o timeout\n')
    assert status == 1


def t_an_interrupt_ends_the_wait():
    for begins in (b"", b"HTTP/1.1 200 OK\r\n\r\nabc"):
        begun = threading.Event()
        server = Server(lambda c, _, b=begins, e=begun: (c.sendall(b), e.set(), hang()))
        interrupted(f"{server.url}/x", begun=lambda e=begun: wait_for(e.is_set))


def t_progress_counts_seconds_and_then_bytes():
    def answer(c, _):
        time.sleep(1.5)
        drip(PLAIN * 5, 1000, 0.15)(c, _)
    server = Server(answer)
    err = fetched(PLAIN * 5, f"{server.url}/x?seconds=500", "-progress", "-seconds", 500,
                  f"{server.url}/x")
    assert re.search(r"progress profiling [1-9]\d*/500 s\n", err), err
    assert re.search(rf"progress fetching \d000/{len(PLAIN * 5)} bytes\n", err), err
    assert err.endswith("progress ends\n"), err


# --- redirects ---------------------------------------------------------------------------

def t_redirects_are_followed():
    end = Server(reply())
    for status in ("301 M", "302 F", "303 S", "307 T", "308 P"):
        start = Server(redirect(f"{end.url}/y?a=b", status))
        fetched(PLAIN, f"{start.url}/x", f"{start.url}/x")
    relative = Server(lambda c, r: c.sendall(redirect("../z") if b" /a/b/c " in r else reply()))
    fetched(PLAIN, f"{relative.url}/a/b/c", f"{relative.url}/a/b/c")
    assert relative.lines()[1] == "GET /a/z HTTP/1.1", relative.lines()


def t_redirects_end_somewhere():
    loop = Server(redirect("/x"))
    failing(loop, 'Get "/x": stopped after 10 redirects')
    loop.requests.clear()
    probe(f"{loop.url}/x")
    assert len(loop.requests) == 10, len(loop.requests)
    failing(Server(redirect("ftp://h/y")), 'Get "ftp://h/y": unsupported protocol scheme "ftp"')
    failing(Server(redirect("file:///etc/passwd")),
            'Get "file:///etc/passwd": unsupported protocol scheme "file"')


def t_a_post_is_sent_again_only_when_the_server_asks_for_that():
    end = Server(reply())
    for status, method in (("302 Found", "GET"), ("307 Temporary", "POST")):
        end.requests.clear()
        start = Server(redirect(end.url + "/y", status))
        out, err, _ = probe("-body", "symbols", "-http", f"{start.url}/x")
        assert out == "200 " + line(PLAIN, f"{end.url}/y"), err
        assert start.requests[0].endswith(b"\r\n\r\nsymbols") and start.lines() == ["POST /x HTTP/1.1"]
        assert end.lines() == [f"{method} /y HTTP/1.1"]
        assert end.requests[0].endswith(b"\r\n\r\nsymbols" if method == "POST" else b"\r\n\r\n")


def t_a_token_is_not_handed_to_another_host():
    end = Server(reply())
    for host, kept in (("127.0.0.1", True), ("localhost", False)):
        end.requests.clear()
        start = Server(redirect(f"http://{host}:{end.port}/y"))
        probe("-header", "Authorization: Bearer x", "-header", "X-Other: y", "-http", start.url)
        assert b"Bearer x" in start.requests[0] and b"X-Other: y" in end.requests[0]
        assert (b"Bearer x" in end.requests[0]) == kept, end.requests


# --- TLS ---------------------------------------------------------------------------------

def t_an_unknown_authority_is_not_trusted():
    failing(Server(reply(), tls=tls()), 'Get "URL": x509: certificate signed by unknown authority')


def t_an_authority_may_be_named():
    server = Server(reply(), tls=tls())
    fetched(PLAIN, f"{server.url}/x", *CA, f"{server.url}/x")


def t_trust_may_be_waived():
    server = Server(reply(), tls=tls("expired"))
    url = f"https+insecure://{server.at}/x"
    fetched(PLAIN, url, url)
    failing(Server(b"", tls=tls()), 'Get "URL": EOF', scheme="https+insecure://")


def t_a_wrong_or_old_certificate_is_refused():
    failing(Server(reply(), tls=tls("other")), 'Get "URL": x509: {...}127.0.0.1{...}', *CA,
            live=False)
    failing(Server(reply(), tls=tls("expired")),
            'Get "URL": x509: certificate has expired or is not yet valid{...}', *CA, live=False)


def t_a_client_may_have_to_show_a_certificate():
    server = Server(reply(), tls=tls(client_ca=True))
    url = f"{server.url}/x"
    pair = ("-tls_cert", TMP / "client.pem", "-tls_key", TMP / "client.key")
    fetched(PLAIN, url, *CA, *pair, url)
    failing(server, 'Get "URL": remote error: tls: certificate required', *CA, live=False)


def t_half_a_pair_is_refused():
    server = Server(reply(), tls=tls())
    for a, b in (("cert", "key"), ("key", "cert")):
        failing(server, f'Get "URL": -tls_{a} is specified, so -tls_{b} must also be specified',
                f"-tls_{a}", TMP / f"client.{'pem' if a == 'cert' else 'key'}", live=False)
    assert not server.requests


def t_files_of_keys_must_be_readable():
    server = Server(reply(), tls=tls())
    pair = 'Get "URL": could not load certificate/key pair specified by -tls_cert and -tls_key: '
    failing(server, pair + "open nofile: no such file or directory", "-tls_cert", "nofile",
            "-tls_key", TMP / "client.key", live=False)
    failing(server, 'Get "URL": could not load CA specified by -tls_ca: open nofile: '
            'no such file or directory', "-tls_ca", "nofile", live=False)
    (TMP / "garbage").write_text("not PEM\n")
    failing(server, 'Get "URL": could not load certificate/key pair: {...}', *CA, "-tls_cert",
            TMP / "garbage", "-tls_key", TMP / "client.key", live=False)
    failing(server, 'Get "URL": could not load certificate/key pair: {...}', *CA, "-tls_cert",
            TMP / "client.pem", "-tls_key", TMP / "server.key", live=False)
    failing(server, 'Get "URL": could not load CA: {...}', "-tls_ca", TMP / "garbage", live=False)


def t_plain_http_on_a_tls_port_is_recognised():
    server = Server(lambda c, _: (c.recv(5), c.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")),
                    read=False)
    failing(server,
            'Get "URL": http: server gave HTTP response to HTTPS client', scheme="https://")


def t_a_handshake_that_hangs_times_out():
    server = Server(hang, read=False)
    _, err, status = probe("-wait", 500, "-http", f"https://{server.at}/x")
    same(err, f'Get "https://{server.at}/x": net/http: TLS handshake timeout\n')
    assert status == 1


def t_openssl_as_a_server_with_a_client_certificate():
    port = free_port()
    page = TMP / "page"
    page.write_bytes(PLAIN)
    p = subprocess.Popen(["openssl", "s_server", "-accept", f"127.0.0.1:{port}", "-cert",
                          "server.pem", "-key", "server.key", "-Verify", "1", "-CAfile", "ca.pem",
                          "-verify_return_error", "-HTTP", "-quiet"], cwd=TMP,
                         stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                         stderr=subprocess.DEVNULL)
    try:
        wait_for_port(port)
        (TMP / "answer").write_bytes(reply())
        url = f"https://localhost:{port}/answer"
        fetched(PLAIN, url, *CA, "-tls_cert", "client.pem", "-tls_key", "client.key", url)
    finally:
        p.kill()
        p.wait()


def wait_for_port(port):
    def listens():
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
            return True
        return False
    wait_for(listens)


# --- proxies -----------------------------------------------------------------------------

def t_a_proxy_is_asked_for_other_hosts():
    server = Server(reply(b"", "404 Not Found"))
    for name in ("HTTP_PROXY", "http_proxy"):
        for value in (server.url, server.at):
            for run in (go, probe) if GO else (probe,):
                server.requests.clear()
                run("http://named.test:81/x", env=environment(**{name: value}))
                assert server.lines() == ["GET http://named.test:81/x HTTP/1.1"], server.lines()


def t_no_proxy_is_needed_for_some_hosts():
    proxy = Server(reply(b"", "404 Proxied"))
    port = free_port()
    for host, none in (("127.0.0.1", ""), ("localhost", ""), ("127.1.2.3", "10.0.0.0/8")):
        env = environment(HTTP_PROXY=proxy.url, NO_PROXY=none)
        for run in (go, probe) if GO else (probe,):
            run(f"http://{host}:{port}/x", env=env)
            assert not proxy.requests, (host, none, run)
    for host, none in (("10.9.8.7", "11.0.0.0/8"), ("name.invalid", "name.invalid:1,x.name.invalid")):
        for run in (go, probe) if GO else (probe,):
            proxy.requests.clear()
            run(f"http://{host}:{port}/x", env=environment(HTTP_PROXY=proxy.url, NO_PROXY=none))
            assert len(proxy.requests) == 1, (host, none, run)


def tunnel(to):
    """A proxy that connects every CONNECT to port 'to'."""
    def pump(a, b):
        with contextlib.suppress(OSError):
            while True:
                data = a.recv(65536)
                if not data:
                    break
                b.sendall(data)
            b.shutdown(socket.SHUT_WR)

    def answer(c, _):
        with socket.create_connection(("127.0.0.1", to), 5) as s:
            c.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
            up = threading.Thread(target=pump, args=(c, s), daemon=True)
            up.start()
            pump(s, c)
    return Server(answer)


def t_tls_goes_through_a_tunnel():
    server = Server(reply(), tls=tls())
    proxy = tunnel(server.port)
    env = environment(HTTPS_PROXY=proxy.at)
    fetched(PLAIN, "https://named.test/x", *CA, "https://named.test/x", env=env)
    assert proxy.lines() == ["CONNECT named.test:443 HTTP/1.1"], proxy.lines()


def t_a_proxy_may_refuse():
    url = "https://named.test/x"
    proxy = Server(b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n")
    refused(fetching(url) + f'{url}: Get "{url}": proxy refused to connect: status 403\n', url,
            env=environment(HTTPS_PROXY=proxy.url), live=False)
    port = free_port()
    url = "http://named.test/x"
    refused(fetching(url) + f'{url}: Get "{url}": proxyconnect tcp: dial tcp 127.0.0.1:{port}: '
            'connect: connection refused\n', url,
            env=environment(HTTP_PROXY=f"http://127.0.0.1:{port}"))


def t_a_proxy_named_by_a_request_is_not_used():
    url = "http://named.test/x"
    refused(fetching(url) + f'{url}: Get "{url}": refusing to use HTTP_PROXY value in CGI '
            'environment; see golang.org/s/cgihttpproxy\n', url,
            env=environment(HTTP_PROXY="127.0.0.1:1", REQUEST_METHOD="GET"))


# --- the library -------------------------------------------------------------------------

def t_without_libcurl_files_can_be_read_and_the_package_is_named():
    broken = TMP / "broken"
    broken.mkdir()
    (broken / "libcurl.so.4").write_text("")
    env = environment(LD_LIBRARY_PATH=str(broken))
    (TMP / "some").write_bytes(PLAIN)
    fetched(PLAIN, "-", "some", env=env)
    url = "http://127.0.0.1:1/x"
    refused(fetching(url) + f"{url}: this needs libcurl.so.4: install the package libcurl4\n", url,
            env=env, live=False)


def main():
    wanted = sys.argv[2:]
    cases = [(n, f) for n, f in globals().items()
             if n.startswith("t_") and (not wanted or n[2:] in wanted)]
    if not cases or not PROBE:
        print("Bail out! usage: sources.py PROBE [NAME...]")
        return 1
    make_keys()
    failed = 0
    for i, (name, case) in enumerate(cases, 1):
        why = None
        try:
            case()
        except Exception as e:  # a case that breaks has failed; the others still count
            why = f"{type(e).__name__}: {e}"
        failed += why is not None
        print(f"{'not ' if why else ''}ok {i} - {name[2:].replace('_', ' ')}", flush=True)
        for text in (why or "").splitlines():
            print(f"# {text}", flush=True)
    print(f"1..{len(cases)}")
    shutil.rmtree(TMP, ignore_errors=True)
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
