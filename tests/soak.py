#!/usr/bin/env python3
"""Real programs with libsonde in them, working hard while profiles are taken without a pause.

usage: soak.py --sonde PROGRAM --lib LIBRARY [NAME...]

Every case starts a program of Debian's, or one that was written to be difficult, with a heap rate
of 16 KiB, CPU profiles at 1000 Hz and every wait measured, and gives it work: it must not crash, not hang, and answer
exactly as it does alone.  SONDE_SOAK_SECONDS (120) is for all cases together.

SPDX-License-Identifier: Apache-2.0
"""
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time

import guest
from guest import TMP, clean, compile_c, free_port, run, started, tool, until

SONDE, LIB = guest.argument("sonde"), guest.argument("lib")
HERE = pathlib.Path(__file__).resolve().parent
SECONDS = float(os.environ.get("SONDE_SOAK_SECONDS", "120"))
PATHS = ("/debug/pprof/profile?seconds=1&hz=1000", "/debug/pprof/heap", "/debug/pprof/allocs",
         "/debug/pprof/heap?gc=1", "/debug/pprof/heap?age=1", "/debug/pprof/peak", "/debug/pprof/",
         "/metrics", "/debug/pprof/heap?seconds=1", "/debug/pprof/heap?symbolize=0",
         "/debug/pprof/symbol", "/debug/pprof/goroutine", "/debug/pprof/mutex", "/debug/pprof/block",
         "/debug/pprof/block?debug=1", "/debug/pprof/mutex?seconds=1&rate=1",
         "/debug/pprof/goroutine?debug=2", "/debug/pprof/threadcreate", "/debug/pprof/trace?seconds=0.5",
         "/debug/pprof/memstats", "/debug/pprof/heap?debug=1")


def soaked(port):
    return guest.guest_env(LIB, port, SONDE_HEAP_RATE=16384, SONDE_CPU_HZ=1000,
                           SONDE_MUTEX_FRACTION=1, SONDE_BLOCK_RATE=1, SONDE_MEMLOG="50ms")


class Hammer(threading.Thread):
    """Takes one profile after another until it is told to stop."""

    def __init__(self, port):
        super().__init__(daemon=True)
        self.port, self.over, self.done, self.bad = port, threading.Event(), {}, []
        self.kept = {}

    def run(self):
        n = 0
        while not self.over.is_set():
            path = PATHS[n % len(PATHS)]
            status, body = guest.fetch(self.port, path)
            if status == 200:
                self.done[path] = self.done.get(path, 0) + 1
                self.kept[path] = body
            elif status and b"already in use" not in body:
                self.bad.append((path, status, body[:200]))
            if not status:
                time.sleep(0.05)
            n += 1

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.over.set()
        self.join(guest.LIMIT)

    def goes_round(self):
        """Waits until each of them has been taken once, which a busy machine may need some time for."""
        until("all profiles", lambda: self.bad or len(self.done) == len(PATHS))

    def check(self, *paths):
        assert not self.bad, self.bad[:3]
        for path in paths or PATHS:
            assert self.done.get(path), f"{path} never answered; {self.done}"
        for path in PATHS[:2]:
            if path in self.kept:
                profile = TMP / "kept.pb.gz"
                profile.write_bytes(self.kept[path])
                run(SONDE, "-raw", "-symbolize=none", profile, env=clean())


def share():
    """How long one case may work."""
    cases = [n for n in globals() if n.startswith("t_")]
    return max(SECONDS / len(cases), 4)


def repeat(work):
    """Does it for as long as one case may take; at least twice."""
    end, n = time.monotonic() + share(), 0
    while n < 2 or time.monotonic() < end:
        work(n)
        n += 1
    return n


def ended_well(p, *statuses):
    p.send_signal(signal.SIGTERM)
    status = p.wait(guest.LIMIT)
    assert status in (statuses or (0, -signal.SIGTERM)), f"ended with {status}"


def redis_answers(port):
    commands = "\n".join(
        ["FLUSHALL"] + [f"SET k{i} {'v' * (i * 37 % 3000)}" for i in range(300)] +
        [f"RPUSH l{i % 7} {i} {i * i}" for i in range(300)] + [f"HSET h f{i} {i}" for i in range(300)] +
        ["DBSIZE", "LRANGE l3 0 -1", "HGETALL h", "STRLEN k299", "SORT l5 DESC", "EVAL 'return 7' 0"])
    return subprocess.run([tool("redis-cli"), "-p", str(port)], input=commands.encode(),
                          capture_output=True, timeout=guest.LIMIT, env=clean(), check=True).stdout


def redis(env):
    port = free_port()
    return port, started(tool("redis-server"), "--port", port, "--save", "", "--dir", TMP,
                         "--bind", "127.0.0.1", stdout=subprocess.DEVNULL, env=env)


def t_redis():
    port, server = redis(clean())
    with server:
        until("redis", lambda: guest.listens(port))
        want = redis_answers(port)
    http = free_port()
    port, server = redis(soaked(http))
    with server as p:
        guest.answers(http)
        until("redis", lambda: guest.listens(port))
        with Hammer(http) as h:
            def work(n):
                assert redis_answers(port) == want
                run(tool("redis-benchmark"), "-p", port, "-q", "-n", 20000, "-P", 4, "-t",
                    "set,get,lpush,lrange_100", env=clean())
                if n % 2 == 0:  # forks
                    run(tool("redis-cli"), "-p", port, "bgsave", env=clean())
            repeat(work)
            h.goes_round()
            ended_well(p)
        h.check()


NGINX = """daemon off; pid {tmp}/nginx.pid; error_log {tmp}/nginx.err; worker_processes 2;
events {{ worker_connections 64; }}
http {{ access_log off; gzip on; gzip_types text/plain; client_body_temp_path {tmp}/b;
proxy_temp_path {tmp}/p; fastcgi_temp_path {tmp}/f; uwsgi_temp_path {tmp}/u; scgi_temp_path {tmp}/s;
server {{ listen 127.0.0.1:{port}; root {tmp}/www; default_type text/plain; }} }}
"""


def t_nginx():
    port, http = free_port(), free_port()
    (TMP / "www").mkdir()
    (TMP / "www" / "page").write_text("nothing but words " * 20000)
    TMP.chmod(0o755)
    (TMP / "nginx.conf").write_text(NGINX.format(tmp=TMP, port=port))
    with started(tool("nginx"), "-c", TMP / "nginx.conf", env=soaked(http),
                 stderr=subprocess.DEVNULL) as p:
        until("nginx", lambda: guest.listens(port))
        guest.answers(http)
        with Hammer(http) as h:
            def work(n):
                said = run(tool("ab"), "-q", "-n", 2000, "-c", 8, "-H", "Accept-Encoding: gzip",
                           f"http://127.0.0.1:{port}/page", env=clean()).stdout.decode()
                assert re.search(r"Failed requests:\s+0\n", said) and "Non-2xx" not in said, said
                assert guest.fetch(port, "/page")[1] == (TMP / "www" / "page").read_bytes()
                if n % 3 == 0:
                    p.send_signal(signal.SIGHUP)  # new workers
            repeat(work)
            h.goes_round()
            ended_well(p)
        h.check()
    assert not re.search(r"exited on signal", (TMP / "nginx.err").read_text()), \
        (TMP / "nginx.err").read_text()


def postgres_tools():
    found = sorted(pathlib.Path("/usr/lib/postgresql").glob("*/bin"))
    if not found:
        raise guest.Skip("there is no PostgreSQL")
    return found[-1]


def t_postgresql():
    tools, http, port = postgres_tools(), free_port(), free_port()
    as_user = ["setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups"] \
        if os.geteuid() == 0 else []
    place = TMP / "pg"
    place.mkdir()
    TMP.chmod(0o755)
    if as_user:
        shutil.chown(place, "nobody", "nogroup")
    home = clean(HOME=place, PGHOST=place, PGPORT=port, PGDATABASE="postgres", PGUSER="me")
    run(*as_user, tools / "initdb", "-D", place / "data", "-U", "me", "-N", env=home)
    # Behind setpriv, which gives its rights up one thread at a time and is not made for two.
    settings = [f"{k}={v}" for k, v in (soaked(http) | {"SONDE_LOG": place / "sonde.log"}).items()
                if k.startswith(("SONDE_", "LD_PRELOAD"))]
    with open(place / "log", "wb") as log, \
            started(*as_user, "env", *settings, tools / "postgres", "-D", place / "data", "-k", place,
                    "-p", port, "-h", "", "-F", stdout=log, stderr=log, env=home) as p:
        until("postgres", lambda: (place / f".s.PGSQL.{port}").exists())
        until("a session", lambda: run("psql", "-c", "select 1", env=home, status=None).returncode == 0)
        guest.answers(http)
        with Hammer(http) as h:
            run(tool("pgbench"), "-i", "-q", env=home)

            def work(_):
                said = run(tool("pgbench"), "-c", 4, "-C", "-T", 2, env=home).stdout.decode()
                assert "number of failed transactions: 0" in said, said
                said = run("psql", "-Atc", "select count(*), sum(length(repeat('x', i))) from "
                           "generate_series(1, 2000) i", env=home).stdout
                assert said == b"2000|2001000\n", said
            repeat(work)
            h.goes_round()
            p.send_signal(signal.SIGINT)
            assert p.wait(guest.LIMIT) == 0
        h.check()
    text = (place / "log").read_text()
    assert "terminated by signal" not in text, text[-2000:]


PYTHON = """
import ctypes, hashlib, json, os, re, sqlite3, subprocess, sys, threading, time, zlib
h = hashlib.sha256()
def work(n, out):
    data = [{"k%d" % i: [i * n, str(i) * 20, {"x": None}]} for i in range(2000)]
    text = json.dumps(data)
    back = zlib.decompress(zlib.compress(text.encode()))
    words = re.findall(r"\\d+", back.decode())
    try:
        raise ValueError(len(words))
    except ValueError as e:
        out[n] = (e.args[0], hashlib.md5(back).hexdigest())
for turn in range(3):
    out = {}
    threads = [threading.Thread(target=work, args=(n, out)) for n in range(6)]
    for t in threads: t.start()
    for t in threads: t.join()
    h.update(repr(sorted(out.items())).encode())
db = sqlite3.connect(":memory:")
db.execute("create table t (a, b)")
db.executemany("insert into t values (?, ?)", ((i, "v" * (i % 50)) for i in range(20000)))
h.update(repr(db.execute("select sum(a), sum(length(b)) from t").fetchall()).encode())
for i in range(5):
    h.update(subprocess.run(["echo", str(i)], capture_output=True).stdout)
    pid = os.fork()
    if pid == 0:
        x = [bytearray(1000) for _ in range(1000)]
        os._exit(7)
    h.update(str(os.waitpid(pid, 0)[1]).encode())
print(h.hexdigest())
if len(sys.argv) > 1: time.sleep(float(sys.argv[1]))
"""


def t_python():
    script = TMP / "work.py"
    script.write_text(PYTHON)
    python = tool("/usr/bin/python3")
    want = run(python, script, env=clean())
    http = free_port()

    with Hammer(http) as h:
        def work(_):
            got = run(python, script, "0.3", env=soaked(http))
            assert (got.stdout, got.stderr) == (want.stdout, want.stderr), got
        repeat(work)
    assert sum(h.done.values()) > 0 and not h.bad, (h.done, h.bad[:3])


def memcached_talk(port, turn, who, wrong):
    """Each client has keys of its own."""
    try:
        memcached_sets_and_gets(port, turn, b"%d-" % who)
    except (AssertionError, OSError) as e:
        wrong.append(repr(e))


def memcached_sets_and_gets(port, turn, who):
    with socket.create_connection(("127.0.0.1", port), timeout=guest.LIMIT) as s:
        f = s.makefile("rwb")
        for i in range(3000):
            value = b"%d" % (i * turn) * (i % 400 + 1)
            f.write(b"set %s%d 0 0 %d noreply\r\n%s\r\n" % (who, i % 500, len(value), value))
            if i % 10 == 0:
                f.write(b"get %s%d\r\n" % (who, i % 500))
                f.flush()
                head = f.readline()
                assert head == b"VALUE %s%d 0 %d\r\n" % (who, i % 500, len(value)), head
                assert f.read(len(value) + 2) == value + b"\r\n"
                assert f.readline() == b"END\r\n"


def t_memcached():
    port, http = free_port(), free_port()
    with started(tool("memcached"), "-l", "127.0.0.1", "-p", port, "-U", 0, "-m", 64, "-t", 4,
                 "-u", "nobody", env=soaked(http)) as p:
        until("memcached", lambda: guest.listens(port))
        guest.answers(http)
        with Hammer(http) as h:
            def work(n):
                wrong = []
                all_of = [threading.Thread(target=memcached_talk, args=(port, n, i, wrong))
                          for i in range(4)]
                for t in all_of:
                    t.start()
                for t in all_of:
                    t.join(guest.LIMIT)
                assert not wrong and not any(t.is_alive() for t in all_of), wrong
            repeat(work)
            h.goes_round()
            assert p.poll() is None, p.returncode
            p.send_signal(signal.SIGINT)
            assert p.wait(guest.LIMIT) == 0
        h.check()


def t_gcc():
    source = TMP / "big.c"
    source.write_text("#include <stdio.h>\n" + "\n".join(
        f"int f{i}(int *a, int n)\n{{\n\tint s = {i};\n\tfor (int j = 0; j < n; j++)\n"
        f"\t\ts = s * {i + 3} + (a[j] ^ {i}) % (s | 1);\n\treturn printf(\"%d\", s) + s;\n}}"
        for i in range(400)) + "\n")
    want = TMP / "want.o"
    run(tool("cc"), "-O2", "-c", source, "-o", want, env=clean())
    http = free_port()

    with Hammer(http) as h:
        def work(_):
            got = TMP / "got.o"
            done = run(tool("cc"), "-O2", "-c", source, "-o", got, env=soaked(http))
            assert not done.stderr and got.read_bytes() == want.read_bytes(), done.stderr
        repeat(work)
    assert sum(h.done.values()) > 0 and not h.bad, (h.done, h.bad[:3])


def t_everything_at_once():
    """Exceptions, short threads on small stacks, fork, vfork, posix_spawn, dlopen, alternate
    stacks, a handler of its own."""
    plugin = TMP / "plugin.so"
    (TMP / "plugin.c").write_text(
        "#include <stdlib.h>\nvoid *plugin_work(int n) { return n ? plugin_work(n - 1) : malloc(5000); }\n")
    run(tool("cc"), "-O0", "-shared", "-fPIC", "-o", plugin, TMP / "plugin.c")
    program = compile_c("torture", (HERE / "data" / "torture.cc").read_text(), "-pthread", "-ldl",
                        "-std=c++17", compiler="c++")
    seconds = str(int(share()))
    want = run(program, "1", plugin, env=clean()).stdout
    http = free_port()
    p = subprocess.Popen([program, seconds, plugin], env=soaked(http), stdout=subprocess.PIPE,
                         stderr=subprocess.PIPE)
    with Hammer(http) as h:
        out, err = p.communicate(timeout=guest.LIMIT + share())
    assert p.returncode == 0 and out == want and not err, (p.returncode, out, err[-500:])
    h.check(*PATHS[:2])


if __name__ == "__main__":
    sys.exit(guest.main(globals(), sys.argv[5:]))
