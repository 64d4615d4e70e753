#!/usr/bin/env python3
"""Clients that mean harm, or have none of our manners: the host must not notice.

usage: hostile-clients.py --lib LIBRARY [NAME...]

The host is a program that answers a line with a line.  After every case it must still do that, the
endpoint must answer a polite client, and neither memory nor open files may have stayed behind.

SPDX-License-Identifier: Apache-2.0
"""
import contextlib
import os
import random
import resource
import socket
import struct
import subprocess
import sys
import threading

import guest
from guest import compile_c, fetch, free_port, guest_env, until

LIB = guest.argument("lib")

HOST = """#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <fcntl.h>

static char *kept[20000];

int main(void)
{
	static int fds[4096];
	int nfds = 0;
	char line[256];

	for (int i = 0; i < 20000; i++)
		kept[i] = malloc((size_t)(i % 700) + 1);
	while (fgets(line, sizeof(line), stdin)) {
		if (line[0] == 'f') /* take all file descriptors there are */
			for (int fd; nfds < 4096 && (fd = open("/dev/null", O_RDONLY)) >= 0;)
				fds[nfds++] = fd;
		if (line[0] == 'g')
			while (nfds)
				close(fds[--nfds]);
		free(kept[line[0]]);
		kept[(unsigned char)line[0]] = malloc(1000);
		fputs(line, stdout);
		fflush(stdout);
	}
	return 42;
}
"""


class Host:
    def __init__(self, **more):
        self.port = free_port()
        program = guest.TMP / "host"
        if not program.exists():
            compile_c("host", HOST)
        limit = more.pop("nofile", 0)
        self.p = subprocess.Popen(
            [str(program)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            env=guest_env(LIB, self.port, SONDE_HEAP_RATE=256, **more),
            preexec_fn=(lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit)))
            if limit else None)

    def says(self, line):
        self.p.stdin.write(line + b"\n")
        self.p.stdin.flush()
        back = self.p.stdout.readline()
        assert back == line + b"\n", (back, self.p.poll())

    def facts(self):
        """Memory in kB and the number of open files."""
        with open(f"/proc/{self.p.pid}/status") as f:
            rss = next(int(line.split()[1]) for line in f if line.startswith("VmRSS"))
        return rss, len(os.listdir(f"/proc/{self.p.pid}/fd"))


@contextlib.contextmanager
def attacked(**more):
    """A host that must be as well after the block as it was before."""
    h = Host(**more)
    headers = {"Authorization": "Bearer " + more["SONDE_TOKEN"]} if "SONDE_TOKEN" in more else {}
    try:
        until("an answer", lambda: fetch(h.port, "/debug/pprof/heap", **headers)[0] == 200)
        h.says(b"before")
        memory, files = h.facts()
        yield h
        h.says(b"after")
        until("an answer to a polite client",
              lambda: fetch(h.port, "/debug/pprof/heap", **headers)[0] == 200)
        until("files are closed", lambda: h.facts()[1] <= files)
        assert h.facts()[0] < memory + 96 * 1024, (memory, h.facts())
        h.says(b"at last")
        h.p.stdin.close()
        assert h.p.wait(guest.LIMIT) == 42, h.p.returncode
    finally:
        h.p.kill()
        h.p.wait()


def connect(h):
    s = socket.create_connection(("127.0.0.1", h.port), timeout=30)
    return s


def ignore_errors(fn, *args):
    with contextlib.suppress(OSError):
        return fn(*args)


def send(h, data, read=True):
    """What comes back for these bytes; b"" if nothing does."""
    with contextlib.suppress(OSError), connect(h) as s:
        ignore_errors(s.sendall, data)
        ignore_errors(s.shutdown, socket.SHUT_WR)
        got = b""
        while read:
            piece = s.recv(65536)
            if not piece:
                break
            got += piece
        return got
    return b""


def status(answer):
    return int(answer.split()[1]) if answer.startswith(b"HTTP/1.") else 0


def t_silent_clients_do_not_keep_others_out():
    with attacked() as h:
        idle = [ignore_errors(connect, h) for _ in range(300)]
        until("an answer beside silent clients",
              lambda: fetch(h.port, "/debug/pprof/cmdline", timeout=5)[0] == 200)
        for s in idle:
            if s:
                s.close()


def t_clients_that_send_a_byte_at_a_time_are_shown_the_door():
    with attacked() as h:
        def drip():
            with contextlib.suppress(OSError), connect(h) as s:
                for b in b"GET /debug/pprof/heap HTTP/1.1\r\nHost: x\r\nX-Slow: " + b"y" * 100:
                    s.send(bytes([b]))
                    threading.Event().wait(0.05)
        all_of = [threading.Thread(target=drip, daemon=True) for _ in range(40)]
        for t in all_of:
            t.start()
        for i in range(20):
            h.says(b"meanwhile %d" % i)
            assert fetch(h.port, "/debug/pprof/cmdline", timeout=30)[0] in (0, 200)
        for t in all_of:
            t.join(guest.LIMIT)


def t_headers_without_end_are_refused():
    with attacked() as h:
        for data in (b"GET /debug/pprof/ HTTP/1.1\r\n" + b"X-Header: y\r\n" * 200000,
                     b"GET /" + b"a" * 3000000 + b" HTTP/1.1\r\n\r\n",
                     b"GET /debug/pprof/ HTTP/1.1\r\nX: " + b"y" * 3000000 + b"\r\n\r\n",
                     b"A" * 5000000):
            assert status(send(h, data)) in (0, 400, 413, 414, 431), data[:30]
            h.says(b"next")


def t_bodies_without_end_are_refused_or_cut():
    with attacked() as h:
        head = b"POST /debug/pprof/symbol HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n"
        for length, sent in ((10 ** 18, 100), (50_000_000, 50_000_000), (2 ** 64 + 5, 5), (100, 3)):
            answer = status(send(h, head % length + b"0x1+" * (sent // 4)))
            assert answer in (0, 200, 400, 408, 413), (length, answer)
            h.says(b"next")


MALFORMED = [
    b"", b"\r\n", b"\r\n\r\n", b"\0" * 100, b"GET\r\n\r\n", b"GET /\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n",
    b"get / http/1.1\r\n\r\n", b"GET  /debug/pprof/  HTTP/1.1\r\n\r\n", b"GET /debug/pprof/heap",
    b"GET /debug/pprof/../../etc/passwd HTTP/1.1\r\nHost: x\r\n\r\n",
    b"GET /debug/pprof/%00%ff%zz HTTP/1.1\r\nHost: x\r\n\r\n",
    b"GET /debug/pprof/heap?seconds=-1 HTTP/1.1\r\nHost: x\r\n\r\n",
    b"GET /debug/pprof/heap?seconds=99999999999999999999 HTTP/1.1\r\nHost: x\r\n\r\n",
    b"GET /debug/pprof/heap?" + b"a=b&" * 2000 + b" HTTP/1.1\r\nHost: x\r\n\r\n",
    b"GET /debug/pprof/symbol?" + b"0x" + b"f" * 4000 + b" HTTP/1.1\r\nHost: x\r\n\r\n",
    b"POST /debug/pprof/symbol HTTP/1.1\r\nContent-Length: -5\r\n\r\n",
    b"POST /debug/pprof/symbol HTTP/1.1\r\nContent-Length: abc\r\n\r\n",
    b"POST /debug/pprof/symbol HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab",
    b"POST /debug/pprof/symbol HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\n",
    b"POST /debug/pprof/symbol HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n-1\r\nxx\r\n0\r\n\r\n",
    b"GET / HTTP/1.1\r\n: no name\r\n\r\n", b"GET / HTTP/1.1\r\n folded\r\n\r\n",
    b"GET / HTTP/1.1\nHost: x\n\n", b"GET http://x/debug/pprof/ HTTP/1.1\r\nHost: x\r\n\r\n",
    b"CONNECT x:80 HTTP/1.1\r\n\r\n", b"OPTIONS * HTTP/1.1\r\nHost: x\r\n\r\n",
    b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"\0" * 500,
    b"GET /debug/pprof/cmdline HTTP/1.1\r\nHost: x\r\n\r\n" * 500,
]


def t_malformed_requests_get_an_answer_or_none():
    with attacked() as h:
        for data in MALFORMED:
            answer = send(h, data)
            assert not answer or status(answer) in (200, 301, 400, 401, 404, 405, 408, 411, 413, 414,
                                                    417, 431, 500, 501, 505), (data[:60], answer[:60])
        h.says(b"still here")


def t_changed_requests_do_no_harm():
    rng = random.Random(4)
    good = [b"GET /debug/pprof/heap?gc=1 HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
            b"POST /debug/pprof/symbol HTTP/1.1\r\nHost: x\r\nContent-Length: 8\r\n\r\n0x123456",
            b"GET /debug/pprof/ HTTP/1.0\r\n\r\n", b"HEAD /metrics HTTP/1.1\r\nHost: x\r\n\r\n"]
    with attacked() as h:
        for _ in range(1500):
            data = bytearray(rng.choice(good))
            for _ in range(rng.randint(1, 6)):
                at = rng.randrange(len(data))
                data[at:at + rng.randint(0, 3)] = rng.randbytes(rng.randint(0, 3))
            send(h, bytes(data))
        h.says(b"still here")


def t_ten_thousand_connections():
    with attacked() as h:
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 12000) if hard > 0 else 12000, hard))
        held, failed = [], 0
        for i in range(10000):
            s = socket.socket()
            s.setblocking(False)
            ignore_errors(s.connect, ("127.0.0.1", h.port))
            held.append(s)
            if i % 1000 == 0:
                h.says(b"connection %d" % i)
            if len(held) == 3000:
                for s in held[:1500]:
                    s.close()
                del held[:1500]
        h.says(b"all there")
        for s in held:
            s.close()
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        assert not failed


def t_clients_that_break_off_are_forgotten():
    with attacked() as h:
        for i in range(300):
            s = connect(h)
            s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            s.sendall((b"GET /debug/pprof/heap HTTP/1.1\r\nHost: x\r\n\r\n",
                       b"GET /debug/pprof/profile?seconds=3000 HTTP/1.1\r\nHost: x\r\n\r\n",
                       b"GET /debug/pprof/heap?seconds=3000 HTTP/1.1\r\nHost: x\r\n\r\n")[i % 3])
            s.close()
        h.says(b"alone again")
        until("the profile of a client that has gone ends",
              lambda: fetch(h.port, "/debug/pprof/profile?seconds=1")[0] == 200)


def t_a_client_that_never_reads_stops_nobody():
    with attacked() as h:
        stuck = [connect(h) for _ in range(5)]
        for s in stuck:
            s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1)
            s.sendall(b"GET /debug/pprof/heap HTTP/1.1\r\nHost: x\r\n\r\n" * 20)
        until("an answer beside clients that do not read",
              lambda: fetch(h.port, "/debug/pprof/heap", timeout=5)[0] == 200)
        for s in stuck:
            s.close()


def t_without_the_token_there_is_nothing_to_see():
    with attacked(SONDE_TOKEN="s3cret") as h:
        for headers in ({}, {"Authorization": "Bearer s3cre"}, {"Authorization": "Bearer s3crett"},
                        {"Authorization": "s3cret"}, {"Authorization": "Bearer "}):
            for path in ("/debug/pprof/", "/debug/pprof/heap", "/metrics", "/nothing"):
                code, body = fetch(h.port, path, **headers)
                assert code == 401 and b"s3cret" not in body, (headers, path, code, body[:50])


def t_a_host_without_file_descriptors_left():
    with attacked(nofile=64) as h:
        h.says(b"f")  # takes all there are
        for _ in range(20):
            fetch(h.port, "/debug/pprof/heap", timeout=1)
            h.says(b"none left")
        h.says(b"g")


if __name__ == "__main__":
    sys.exit(guest.main(globals(), sys.argv[3:]))
