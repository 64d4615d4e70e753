#!/usr/bin/env python3
"""Heap dumps of programs that are watched from outside: real services, and ones that lie, go and come back.

usage: watch.py --sonde PROGRAM [NAME...]	sonded is beside it

SPDX-License-Identifier: Apache-2.0
"""
import contextlib
import gzip
import http.server
import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.request

from kube_server import Cluster
from ports import free_port
from tap import LIMIT, SONDE, TMP, Skip, main

SONDED = str(pathlib.Path(SONDE).parent / "sonded")
MB = 1000000


def small_profile():
    path = min(pathlib.Path(__file__).parent.glob("profiles/**/*.pb.gz"), key=lambda f: f.stat().st_size)
    return path.read_bytes()


def numbers(inuse, total=None):
    total = inuse if total is None else total
    return (f"heap profile: 0: 0 [0: 0] @ heap/1048576\n\n# runtime.MemStats\n# Alloc = {inuse}\n"
            f"# TotalAlloc = {total}\n# Mallocs = 10\n# Frees = 1\n# HeapAlloc = {inuse - 1}\n"
            f"# HeapInuse = {inuse}\n# NumGC = 1\n").encode()


class Service:
    """A program with a heap of the size it is told."""

    def __init__(self, inuse=0, port=0):
        service = self
        self.text, self.profile, self.asked = numbers(inuse), small_profile(), []

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                service.asked.append(self.path)
                body = service.text if "debug=1" in self.path else service.profile
                if body is None:
                    time.sleep(10 * LIMIT)
                self.send_response(200)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *args):
                pass

        class Server(http.server.ThreadingHTTPServer):
            daemon_threads = True

            def handle_error(self, *args):
                pass

        self.server = Server(("127.0.0.1", port), Handler)
        self.port = self.server.server_address[1]
        self.at = f"127.0.0.1:{self.port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def is_asked(self, times=3):
        before = len(self.asked)
        wait_for(lambda: len(self.asked) >= before + times, "requests")

    def close(self):
        self.server.shutdown()
        self.server.server_close()


def wait_for(condition, what):
    ends = time.monotonic() + LIMIT
    while not condition():
        assert time.monotonic() < ends, f"waited in vain for {what}"
        time.sleep(0.02)


def folder(name):
    path = TMP / name
    shutil.rmtree(path, ignore_errors=True)
    path.mkdir()
    return path


def clean_env():
    return {k: v for k, v in os.environ.items() if not k.startswith(("SONDE_", "KUBE", "MY_POD"))}


class Watch:
    """sonded watch, and what it says."""

    def __init__(self, to, *words, env=None, period="100ms"):
        self.log = TMP / "watch.log"
        with open(self.log, "wb") as log:
            self.p = subprocess.Popen([SONDED, "watch", "--to", str(to), "--period", period, *map(str, words)],
                                      stderr=log, stdout=subprocess.DEVNULL, env=env or clean_env())

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.p.poll() is None:
            self.p.send_signal(signal.SIGTERM)
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.p.wait(20)
        self.p.kill()
        self.p.wait()

    def said(self):
        return self.log.read_text()

    def stored(self):
        return self.said().count("stored a heap dump")

    def says(self, text, times=1):
        try:
            wait_for(lambda: self.said().count(text) >= times, f"'{text}'")
        except AssertionError as e:
            raise AssertionError(f"{e} in {self.said()}") from e


def dumps(where, env=None):
    done = subprocess.run([SONDE, "dumps", "--store", str(where), "--json", "list"], capture_output=True, check=True,
                          env=env or clean_env(), timeout=LIMIT)
    return json.loads(done.stdout)


def t_the_rules_are_those_of_the_document():
    store, s = folder("rules"), Service(329 * MB)
    with Watch(f"dir:{store}", f"main={s.at}") as w:
        s.is_asked()
        s.text = numbers(330 * MB)
        s.is_asked()
        assert w.stored() == 0, w.said()
        s.text = numbers(340 * MB)
        w.says("stored a heap dump")
        for inuse in (373, 374):
            s.text = numbers(inuse * MB)
            s.is_asked()
        assert w.stored() == 1, w.said()
        s.text = numbers(375 * MB)
        w.says("stored a heap dump", 2)
        s.is_asked()
        assert w.stored() == 2, w.said()
    rows = dumps(f"dir:{store}")
    assert len(rows) == 2, rows
    text = (store / "main-heap").read_text()
    assert str(375 * MB) in text and str(375 * MB - 1) in text and s.at in text, text
    assert (store / "main-heap-0").read_bytes() == s.profile


def t_flags_change_them():
    store, s = folder("flags"), Service(1001)
    with Watch(f"dir:{store}", "--above", 1000, "--growth", 100, "--keep", 2, "--prefix", "small", s.at) as w:
        w.says("stored a heap dump")
        s.text = numbers(2002)
        s.is_asked()
        assert w.stored() == 1, w.said()
        for i, inuse in enumerate((2003, 4007, 8015), 2):
            s.text = numbers(inuse)
            w.says("stored a heap dump", i)
    assert len(dumps(f"dir:{store}")) == 2 and (store / "small-heap").exists()


def t_without_a_name_the_host_is_one():
    store, s = folder("names"), Service(500 * MB)
    with Watch(f"dir:{store}", f"http://{s.at}/debug/pprof/") as w:
        w.says("stored a heap dump")
    assert (store / f"127-0-0-1-{s.port}-heap").exists(), list(store.iterdir())


def t_a_store_that_fails_is_tried_again():
    store, s = folder("failing"), Service(1 * MB)
    with Watch(f"dir:{store}", f"main={s.at}") as w:
        s.is_asked()
        store.rmdir()
        s.text = numbers(400 * MB)
        w.says("there is no dump", 3)
        store.mkdir()
        w.says("stored a heap dump")
        s.is_asked()
        assert w.stored() == 1, w.said()


def t_one_that_is_away_is_said_once():
    store, s = folder("away"), Service(1 * MB, port=free_port())  # which nobody has when it is back
    metrics = free_port()
    with Watch(f"dir:{store}", "--metrics", f"127.0.0.1:{metrics}", f"main={s.at}") as w:
        s.is_asked()
        s.close()
        w.says("main: Get ")
        wait_for(lambda: value(metrics, "sonded_watch_failures_total") >= 4, "failures")
        assert value(metrics, "sonded_watch_up") == 0
        assert w.said().count("main: ") == 1, w.said()
        again = Service(2 * MB, port=s.port)
        w.says("answers again")
        wait_for(lambda: value(metrics, "sonded_watch_up") == 1, "it to be up")
        assert value(metrics, "sonded_watch_heap_inuse_bytes") == 2 * MB
        again.close()
        w.says("main: Get ", 2)


def value(port, name):
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=LIMIT) as answer:
        for line in answer.read().decode().splitlines():
            if line.startswith((name + " ", name + "{")):
                return float(line.rsplit(" ", 1)[1])
    raise AssertionError(f"no {name}")


def t_a_restart_is_another_life():
    store, s = folder("restart"), Service(600 * MB)
    with Watch(f"dir:{store}", f"main={s.at}") as w:
        w.says("stored a heap dump")
        s.text = numbers(340 * MB, total=350 * MB)
        w.says("has been started anew")
        w.says("stored a heap dump", 2)
    rows = dumps(f"dir:{store}")
    assert len(rows) == 2, rows


def t_less_memory_alone_is_no_restart():
    store, s = folder("smaller"), Service(600 * MB)
    with Watch(f"dir:{store}", f"main={s.at}") as w:
        w.says("stored a heap dump")
        s.text = numbers(340 * MB, total=900 * MB)
        s.is_asked()
        s.text = numbers(400 * MB, total=1000 * MB)
        s.is_asked()
        assert w.stored() == 1 and "anew" not in w.said(), w.said()


def t_a_watcher_started_anew_does_not_dump_again():
    store, s = folder("anew"), Service(600 * MB)
    with Watch(f"dir:{store}", f"main={s.at}") as w:
        w.says("stored a heap dump")
    s.text = numbers(590 * MB)
    with Watch(f"dir:{store}", f"main={s.at}") as w:
        w.says("there is a dump at 600000000 already")
        s.is_asked()
        assert w.stored() == 0, w.said()
        s.text = numbers(661 * MB)
        w.says("stored a heap dump")
    rows = dumps(f"dir:{store}")
    assert len(rows) == 2 and rows[0]["run"] == rows[1]["run"], rows
    s.text = numbers(340 * MB)  # another life, or less: nobody saw, so it counts
    with Watch(f"dir:{store}", f"main={s.at}") as w:
        w.says("stored a heap dump")
    other = Service(345 * MB)  # another program's dump is no dump of this one
    with Watch(f"dir:{store}", f"main={other.at}") as w:
        w.says("stored a heap dump")
    assert len(dumps(f"dir:{store}")) == 4


def t_what_is_no_profile_is_not_stored():
    store, s = folder("lies"), Service(600 * MB)
    s.profile = b"<html>welcome</html>"
    with Watch(f"dir:{store}", f"main={s.at}") as w:
        w.says("there is no dump", 2)
        assert not list(store.iterdir())
        s.text = b"<html>welcome</html>"
        w.says("has no HeapInuse")


def t_one_that_hangs_does_not_hold_up_the_others_nor_the_end():
    store, stuck, fine = folder("hang"), Service(), Service(400 * MB)
    stuck.text = None
    with Watch(f"dir:{store}", f"stuck={stuck.at}", f"fine={fine.at}") as w:
        w.says("fine: HeapInuse is")
        wait_for(lambda: stuck.asked, "a request")
        w.p.send_signal(signal.SIGTERM)
        assert w.p.wait(LIMIT) == 0  # the one that hangs does so for far longer


def t_the_service_manager_is_told():
    path = str(TMP / "notify")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind(path)
        manager.settimeout(LIMIT)
        s = Service(1)
        with Watch(f"dir:{folder('notify-store')}", f"main={s.at}", env=clean_env() | {"NOTIFY_SOCKET": path}) as w:
            assert manager.recv(100) == b"READY=1"
            w.p.send_signal(signal.SIGTERM)
            assert manager.recv(100) == b"STOPPING=1"
            assert w.p.wait(LIMIT) == 0


def t_wrong_words_are_refused():
    for words in ([], ["main=localhost:1"], ["--to", "dir:/", "--period", "0s", "a=b:1"], ["--to", "dir:/"],
                  ["--to", "dir:/", "--prefix", "Not_Good", "localhost:1"], ["--to", "dir:/", "a="],
                  ["--to", "dir:/", "kube://ns/prefix"], ["--to", "dir:/", "kube://x"]):
        done = subprocess.run([SONDED, "watch", *words], capture_output=True, timeout=LIMIT, env=clean_env())
        assert done.returncode == 2 and done.stderr.startswith(b"sonded watch: "), (words, done)
    done = subprocess.run([SONDED, "watch", "--to", "dir:/nowhere/at/all", "localhost:1"], capture_output=True,
                          timeout=LIMIT, env=clean_env())
    assert done.returncode == 1, done


def t_secrets_are_a_place_as_well():
    cluster = Cluster()
    if cluster.real:
        raise Skip("only with the server of these tests")
    s = Service(400 * MB)
    try:
        with Watch("kube:", f"central-landscaper={s.at}", env=cluster.environment()) as w:
            w.says("stored a heap dump")
        assert "central-landscaper-heap-0" in cluster.state.secrets, list(cluster.state.secrets)
        cluster.state.denied.add("create")
        with Watch("kube:", f"other={s.at}", env=cluster.environment()) as w:
            w.says("may not create secrets")
    finally:
        cluster.close()


def t_pods_are_reached_through_the_server():
    cluster = Cluster()
    if cluster.real:
        raise Skip("only with the server of these tests")
    s, store = Service(400 * MB), folder("pods")
    cluster.state.pods[("pods", "main-1:8081")] = f"http://{s.at}"
    cluster.state.pods[("services", "web:80")] = f"http://{s.at}"
    try:
        with Watch(f"dir:{store}", "kube://store/main-1:8081", "web=kube:///svc/web:80", "gone=kube://store/gone:1",
                   env=cluster.environment()) as w:
            w.says("main-1: HeapInuse is 400000000: stored a heap dump")
            w.says("web: HeapInuse is 400000000: stored a heap dump")
            w.says("gone: gone:1: 404 ")
        assert '"main-1"' in (store / "main-1-heap").read_text()
        assert (store / "web-heap-0").read_bytes() == s.profile
        cluster.state.denied.add("pods/proxy")
        with Watch(f"dir:{store}", "kube://store/main-1:8081", env=cluster.environment()) as w:
            w.says("cannot get resource")
    finally:
        cluster.close()


@contextlib.contextmanager
def real_service(name, *args):
    if not shutil.which(name):
        raise Skip(f"there is no {name}")
    with open(TMP / f"{name}.log", "wb") as log:
        p = subprocess.Popen([name, *map(str, args)], stdout=log, stderr=log)
    try:
        yield
    finally:
        p.terminate()
        p.wait(LIMIT)


def check_real(port, name):
    store = folder(name + "-store")
    with Watch(f"dir:{store}", "--above", 1000, f"{name}=127.0.0.1:{port}", period="1s") as w:
        w.says("stored a heap dump")
    pieces = sorted(p for p in store.glob(f"{name}-heap-[0-9]"))
    profile = TMP / "real.pb.gz"
    profile.write_bytes(b"".join(p.read_bytes() for p in pieces))
    gzip.decompress(profile.read_bytes())
    top = subprocess.run([SONDE, "-top", profile], capture_output=True, text=True, check=True, timeout=LIMIT).stdout
    assert "Type: inuse_space" in top and "runtime" in top, top


def t_prometheus_is_watched():
    port = free_port()
    config = TMP / "prometheus.yml"
    config.write_text("global: {}\n")
    with real_service("prometheus", f"--config.file={config}", f"--web.listen-address=127.0.0.1:{port}",
                      f"--storage.tsdb.path={TMP}/prometheus"):
        check_real(port, "prometheus")


def t_etcd_is_watched():
    port, peer = free_port(), free_port()
    with real_service("etcd", "--enable-pprof", "--data-dir", TMP / "etcd", "--listen-client-urls",
                      f"http://127.0.0.1:{port}", "--advertise-client-urls", f"http://127.0.0.1:{port}",
                      "--listen-peer-urls", f"http://127.0.0.1:{peer}", "--initial-advertise-peer-urls",
                      f"http://127.0.0.1:{peer}", "--initial-cluster", f"default=http://127.0.0.1:{peer}"):
        check_real(port, "etcd")


if __name__ == "__main__":
    sys.exit(main(globals()))
