#!/usr/bin/env python3
"""Compare on profiles nobody has seen before: taken now, from Debian's prometheus and etcd.

usage: live.py --sonde PROGRAM

Both servers are started on ports of their own, given something to do, and asked for each of
their profiles, as protobuf and as text.  Those go through compat.py.  Skipped where the servers
or the reference are not installed.

SPDX-License-Identifier: Apache-2.0
"""
import pathlib
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from ports import free_port  # noqa: E402

HERE = pathlib.Path(__file__).resolve().parent
KINDS = ["heap", "heap?gc=1", "allocs", "goroutine", "block", "mutex", "threadcreate", "profile?seconds=2",
         "heap?debug=1", "goroutine?debug=1", "mutex?debug=1", "threadcreate?debug=1", "block?debug=1"]
CONFIG = """
global: {scrape_interval: 1s}
scrape_configs:
  - job_name: self
    static_configs: [{targets: ['127.0.0.1:%d']}]
"""


def prometheus(folder, port):
    (folder / "prometheus.yml").write_text(CONFIG % port)
    return ["prometheus", f"--config.file={folder}/prometheus.yml", f"--storage.tsdb.path={folder}/tsdb",
            f"--web.listen-address=127.0.0.1:{port}"]


def etcd(folder, port):
    peer = free_port()
    return ["etcd", f"--data-dir={folder}/etcd", "--enable-pprof", f"--listen-client-urls=http://127.0.0.1:{port}",
            f"--advertise-client-urls=http://127.0.0.1:{port}", f"--listen-peer-urls=http://127.0.0.1:{peer}",
            f"--initial-advertise-peer-urls=http://127.0.0.1:{peer}",
            f"--initial-cluster=default=http://127.0.0.1:{peer}"]


def get(port, path, timeout=300):
    with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=timeout) as r:
        return r.read()


def busy(port, stop):
    """Something to profile."""
    while not stop.is_set():
        for path in ("/metrics", "/api/v1/query?query=up", "/version", "/health"):
            try:
                get(port, path, 5)
            except OSError:
                time.sleep(0.05)


def collect(name, command, folder, to):
    port = free_port()
    log = open(folder / f"{name}.log", "wb")
    server = subprocess.Popen(command(folder, port), stdout=log, stderr=log, cwd=folder)
    stop = threading.Event()
    try:
        end = time.monotonic() + 300
        while True:
            try:
                get(port, "/debug/pprof/cmdline")
                break
            except OSError:
                assert time.monotonic() < end and server.poll() is None, f"{name} does not answer"
                time.sleep(0.1)
        threading.Thread(target=busy, args=(port, stop), daemon=True).start()
        time.sleep(1)
        for kind in KINDS:
            suffix = ".txt" if "debug" in kind else ".pb.gz"
            (to / (name + "-" + kind.replace("?", "-").replace("=", "") + suffix)).write_bytes(
                get(port, "/debug/pprof/" + kind))
    finally:
        stop.set()
        server.terminate()
        server.wait()
        log.close()


def main():
    for program in ("prometheus", "etcd", "go"):
        if not shutil.which(program):
            print(f"1..0 # SKIP {program} is not installed")
            return 0
    with tempfile.TemporaryDirectory() as tmp:
        folder, profiles = pathlib.Path(tmp), pathlib.Path(tmp) / "p"
        profiles.mkdir()
        collect("prometheus", prometheus, folder, profiles)
        collect("etcd", etcd, folder, profiles)
        return subprocess.run([sys.executable, "-B", HERE / "compat.py", "--profiles", profiles, "--matrix", "live",
                               "--cache", folder / "cache", *sys.argv[1:]]).returncode


sys.exit(main())
