#!/usr/bin/env python3
"""Collection on a schedule: real programs beside ones that refuse, cut, hang and lie.

usage: collect.py --sonde PROGRAM [NAME...]	sonded is beside it

SPDX-License-Identifier: Apache-2.0
"""
import collections
import contextlib
import datetime
import gzip
import http.server
import os
import pathlib
import re
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import threading
import time
import urllib.request

from kube_server import Cluster, certificates
from ports import free_port
from set_clock import Clock
from tap import LIMIT, SONDE, TMP, Skip, main

SONDED = str(pathlib.Path(SONDE).parent / "sonded")
STAMP = r"\d{4}-\d\d-\d\d-\d\d:\d\d:\d\d"
KINDS = ["profile", "heap", "goroutine", "mutex", "block", "threadcreate"]



def small_profile():
    """A valid profile: the smallest of our own."""
    path = min(pathlib.Path(__file__).parent.glob("profiles/**/*.pb.gz"), key=lambda f: f.stat().st_size)
    return path.read_bytes()


class Service:
    """A program that answers every profile with 'answer', a function of the handler."""

    def __init__(self, answer=None, tls=None):
        profile = small_profile()
        asked = self.asked = []

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                asked.append(self.path)
                if answer:
                    answer(self)
                else:
                    self.send(profile)

            def send(self, data, status=200):
                self.send_response(status)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, *args):
                pass

        class Server(http.server.ThreadingHTTPServer):
            daemon_threads = True
            request_queue_size = 1024

            def handle_error(self, *args):
                pass

        self.server = Server(("127.0.0.1", 0), Handler)
        if tls:
            self.server.socket = tls.wrap_socket(self.server.socket, server_side=True, do_handshake_on_connect=False)
        self.at = f"{'https' if tls else 'http'}://127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()


def root(name):
    path = TMP / name
    shutil.rmtree(path, ignore_errors=True)
    return path


def collect(where, *args, rounds=1, interval="1s", status=0, seconds=1, limit=LIMIT, env=None):
    words = [SONDED, "collect", "--root", where, "--interval", interval, "--seconds", seconds]
    words += ["--rounds", rounds] if rounds else []
    done = subprocess.run([*map(str, words), *map(str, args)], capture_output=True, text=True, timeout=limit,
                          check=False, env=env)
    assert done.returncode == status, f"{done.returncode}: {done.stderr}"
    return done.stderr


def files(where):
    return sorted(str(p.relative_to(where)) for p in where.rglob("*") if p.is_file() and p.name != ".lock")


def rounds_of(where):
    return sorted(p.name for p in where.iterdir() if p.is_dir())


def wait_for(condition, what):
    ends = time.monotonic() + LIMIT
    while not condition():
        assert time.monotonic() < ends, f"waited in vain for {what}"
        time.sleep(0.02)


def t_a_round_has_the_tree_and_names_of_the_document():
    where, s = root("tree"), Service()
    said = collect(where, "--target", f"kube-apiserver={s.at}")
    found = files(where)
    stamp = found[0].split("/")[0]
    assert re.fullmatch(STAMP, stamp)
    assert found == sorted(f"{stamp}/kube-apiserver-{k}-{stamp}.pprof" for k in KINDS), found
    assert f"Collecting kube-apiserver pprof at {stamp}" in said, said
    assert s.asked == ["/debug/pprof/profile?seconds=1", *("/debug/pprof/" + k for k in KINDS[1:])], s.asked


def t_dates_can_do_without_colons():
    where, s = root("plain"), Service()
    collect(where, "--target", f"a={s.at}", "--kinds", "heap", "--plain-names")
    [found] = files(where)
    assert re.fullmatch(r"(\d{8}T\d{6}Z)/a-heap-\1\.pprof", found), found


def t_rounds_do_not_drift():
    def slow(handler):
        time.sleep(0.3)
        handler.send(small_profile())
    where, s = root("drift"), Service(slow)
    collect(where, "--target", f"a={s.at}", "--kinds", "heap", rounds=4, interval="2s")
    times = seconds_of(where)
    steps = [round(b - a) for a, b in zip(times, times[1:])]
    assert len(times) == 4 and all(step % 2 == 0 for step in steps), steps  # more only if the machine was asleep


def seconds_of(where):
    return [datetime.datetime.strptime(r, "%Y-%m-%d-%H:%M:%S").timestamp() for r in rounds_of(where)]


def t_rounds_are_in_order_whatever_the_clock_does():
    where, s, clock, log = root("steps"), Service(), Clock(), TMP / "steps.log"
    words = [SONDED, "collect", "--root", str(where), "--interval", "1s", "--kinds", "heap", "--target", f"a={s.at}",
             "--keep-rounds", "100"]
    env = os.environ | clock.environment()

    def more(n):
        before = len(s.asked)
        wait_for(lambda: len(s.asked) >= before + n, "rounds")

    with open(log, "w") as f:
        p = subprocess.Popen(words, stderr=f, env=env)
    try:
        for step in 0, -3000, -3000, 5000:
            clock.set(step)
            more(3)
    finally:
        p.send_signal(signal.SIGTERM)
        p.wait(LIMIT)
    said = log.read_text()
    assert said.count("set back by") == 1 and said.count("set forward by") == 1, said
    stored, times = int(re.findall(r"(\d+) profiles stored", said)[-1]), seconds_of(where)
    steps = [round(b - a) for a, b in zip(times, times[1:])]
    assert len(times) == stored >= 11, (stored, times)  # none was written over
    missed = sum(map(int, re.findall(r"interval: (\d+) left out", said)))
    jump = max(steps)
    assert 4990 < jump < 5010 + missed and sum(steps) - jump <= stored + missed, (steps, said)
    # A new one, with the clock as it was at first: after the others, and none of them goes.
    clock.set(0)
    collect(where, "--target", f"a={s.at}", "--kinds", "heap", "--keep-rounds", stored + 1, env=env)
    assert len(seconds_of(where)) == stored + 1 and seconds_of(where)[-1] > times[-1]


def t_rounds_of_a_clock_that_was_wrong_go_first():
    where, s = root("future"), Service()
    for name in "2090-10-01-22:08:40", "2091-10-01-22:08:40":
        (where / name).mkdir(parents=True)
        (where / name / f"a-heap-{name}.pprof").write_bytes(b"x")
    said = collect(where, "--target", f"a={s.at}", "--kinds", "heap", "--keep-rounds", 2)
    left = rounds_of(where)
    assert "ahead of the clock" in said and len(left) == 2 and left[0] < "2090" and left[1].startswith("209"), (said, left)


def t_only_whole_valid_profiles_appear():
    whole = small_profile()

    def cut(handler):
        handler.send_response(200)
        handler.send_header("Content-Length", "1000000")
        handler.end_headers()
        handler.wfile.write(whole[:50])
        handler.connection.close()

    cases = {"not-found": lambda h: h.send(b"404 page not found\n", 404), "cut": cut, "empty": lambda h: h.send(b""),
             "page": lambda h: h.send(b"<html>please log in</html>"), "half": lambda h: h.send(whole[:len(whole) // 2]),
             "text": lambda h: h.send(b"heap profile: 1: 2 [3: 4] @ heap/1048576\n"),
             "folded": lambda h: h.send(b"main;work 12\n"), "random": lambda h: h.send(os.urandom(5000)),
             "gzip": lambda h: h.send(gzip.compress(b"error"))}
    words = []
    for name, answer in cases.items():
        words += ["--target", f"{name}={Service(answer).at}"]
    where = root("whole")
    said = collect(where, "--target", f"good={Service().at}", *words, "--kinds", "heap")
    [found] = files(where)
    assert "good-heap" in found
    for name in cases:
        assert len([line for line in said.splitlines() if f" {name} heap: " in line]) == 1, (name, said)
    assert "1 profiles stored, 9 failed" in said, said


def t_a_target_that_hangs_or_is_gone_holds_up_nobody():
    let_go = threading.Event()
    hanging = Service(lambda h: let_go.wait(10 * LIMIT))
    config = TMP / "hang.yaml"
    where, good = root("hang"), Service()
    config.write_text(f"""kinds: [heap, goroutine]
timeout: 10s
targets:
- {{name: good, url: "{good.at}"}}
- {{name: hanging, url: "{hanging.at}"}}
- {{name: gone, url: "http://127.0.0.1:{free_port()}"}}
""")
    said = collect(where, "--config", config)
    let_go.set()
    assert len(files(where)) == 2 and all("good" in f for f in files(where)), files(where)
    assert len([x for x in said.splitlines() if " hanging heap: " in x or " gone heap: " in x]) == 2, said
    assert "hanging goroutine" not in said and "gone goroutine" not in said, said


def t_targets_are_asked_side_by_side_and_each_for_one_profile_at_a_time():
    at_once, most, lock = collections.Counter(), collections.Counter(), threading.Lock()
    together = threading.Barrier(3, timeout=LIMIT)  # nobody answers before all were asked

    def counting(name):
        def answer(handler):
            with lock:
                at_once[name] += 1
                at_once["all"] += 1
                for key in name, "all":
                    most[key] = max(most[key], at_once[key])
            together.wait()
            with lock:
                at_once[name] -= 1
                at_once["all"] -= 1
            handler.send(small_profile())
        return Service(answer)

    words = [w for n in "abc" for w in ("--target", f"{n}={counting(n).at}")]
    collect(root("side"), *words, "--kinds", "heap,goroutine")
    assert most["a"] == most["b"] == most["c"] == 1 and most["all"] == 3, most


def t_one_replica_is_asked_each_round_and_each_gets_its_turn():
    replicas = [Service() for _ in range(3)]
    where = root("replicas")
    for _ in range(15):  # always the same one of three: once in five million
        collect(where, "--target", "web=" + ",".join(r.at for r in replicas), "--kinds", "heap,goroutine", rounds=1)
    counts = [len(r.asked) for r in replicas]
    assert sum(counts) == 30 and all(c % 2 == 0 for c in counts), counts
    assert sum(c > 0 for c in counts) > 1, counts


def t_a_process_that_does_not_run_is_not_asked():
    s, where = Service(), root("process")
    config = TMP / "process.yaml"
    config.write_text(f"""kinds: [heap]
targets:
- {{name: here, url: "{s.at}", process: {pathlib.Path(os.readlink("/proc/self/exe")).name}}}
- {{name: etcd-events, url: "{s.at}", process: no-such-program}}
""")
    said = collect(where, "--config", config)
    assert "etcd-events is not running on this machine" in said, said
    assert len(files(where)) == 1


def t_old_rounds_go_and_nothing_else_does():
    where, s = root("keep"), Service()
    for day in 1, 2, 3:
        name = f"2020-10-0{day}-22:08:40"
        (where / name).mkdir(parents=True)
        (where / name / f"a-heap-{name}.pprof").write_bytes(b"x" * 1000)
    (where / "notes").mkdir()
    (where / "2020-10-01-22:08:40" / "my-notes.txt").write_text("mine")
    collect(where, "--target", f"a={s.at}", "--kinds", "heap", "--keep-rounds", 2)
    left = rounds_of(where)
    assert left[0] == "2020-10-01-22:08:40" and os.listdir(where / left[0]) == ["my-notes.txt"], left
    assert left[1] == "2020-10-03-22:08:40" and "notes" in left and len(left) == 4, left
    collect(where, "--target", f"a={s.at}", "--kinds", "heap", "--keep-age", "1h")
    assert "2020-10-03-22:08:40" not in rounds_of(where)


def t_bytes_are_bounded_and_the_newest_stays():
    where, s = root("bytes"), Service()
    size = len(small_profile())
    collect(where, "--target", f"a={s.at}", "--kinds", "heap", "--keep-bytes", 3 * size + 10, rounds=5)
    assert len(files(where)) == 3 and sum(p.stat().st_size for p in where.rglob("*.pprof")) <= 3 * size + 10
    collect(where, "--target", f"a={s.at}", "--kinds", "heap", "--keep-bytes", 1)
    assert len(files(where)) == 1


def t_a_second_collector_in_the_same_tree_refuses():
    where, s = root("lock"), Service()
    p = subprocess.Popen([SONDED, "collect", "--root", str(where), "--interval", "30s", "--target", f"a={s.at}",
                          "--kinds", "heap"], stderr=subprocess.PIPE, text=True)
    try:
        wait_for(lambda: where.exists() and files(where), "a first file")
        assert "another collector works in" in collect(where, "--target", f"a={s.at}", status=1)
    finally:
        p.send_signal(signal.SIGTERM)
        _, said = p.communicate(timeout=LIMIT)
    assert p.returncode == 0, said


def t_a_collector_that_was_killed_leaves_no_half_file_behind():
    where, s = root("killed"), Service()
    collect(where, "--target", f"a={s.at}", "--kinds", "heap")
    folder = where / rounds_of(where)[0]
    (folder / "a-goroutine-2020.pprof.a1B2c3").write_bytes(b"half")
    collect(where, "--target", f"a={s.at}", "--kinds", "heap")
    assert not [f for f in files(where) if not f.endswith(".pprof")], files(where)


def t_a_hangup_reads_the_configuration_again():
    where, s, t = root("hup"), Service(), Service()
    config = TMP / "hup.yaml"
    config.write_text(f'interval: 1s\nkinds: [heap]\ntargets: [{{name: one, url: "{s.at}"}}]\n')
    p = subprocess.Popen([SONDED, "collect", "--config", str(config), "--root", str(where)], stderr=subprocess.PIPE, text=True)
    try:
        wait_for(lambda: where.exists() and files(where), "a first file")
        config.write_text("interval: [")
        p.send_signal(signal.SIGHUP)
        seen = len(files(where))
        wait_for(lambda: len(files(where)) > seen + 1, "rounds after a broken configuration")
        config.write_text(f'interval: 1s\nkinds: [heap]\ntargets: [{{name: two, url: "{t.at}"}}]\n')
        p.send_signal(signal.SIGHUP)
        wait_for(lambda: any("two-heap" in f for f in files(where)), "a file of the new target")
    finally:
        p.send_signal(signal.SIGTERM)
        _, said = p.communicate(timeout=LIMIT)
    assert p.returncode == 0 and "hup.yaml:" in said and "going on as before" in said, said


def t_rates_are_asked_for_the_window_only():
    where, s = root("rates"), Service()
    config = TMP / "rates.yaml"
    config.write_text(f'kinds: [mutex, block, heap]\nseconds: 2\nmutex: 1\nblock: 10000\ntargets: [{{name: a, url: "{s.at}"}}]\n')
    collect(where, "--config", config, seconds=2)
    assert s.asked == ["/debug/pprof/mutex?seconds=2&rate=1", "/debug/pprof/block?seconds=2&rate=10000",
                       "/debug/pprof/heap"], s.asked


def t_tls_with_a_client_certificate_and_a_token():
    folder = TMP / "tls"
    folder.mkdir()
    certificates(folder)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "server.crt", folder / "server.key")
    context.load_verify_locations(folder / "ca.crt")
    context.verify_mode = ssl.CERT_REQUIRED
    (folder / "token").write_text("secret-7\n")
    tokens = []

    def answer(handler):
        tokens.append(handler.headers.get("Authorization"))
        handler.send(small_profile())

    s = Service(answer, tls=context)
    config, where = TMP / "tls.yaml", root("tls-tree")
    config.write_text(f"""kinds: [heap]
targets:
- {{name: known, url: "{s.at}", ca: "{folder}/ca.crt", cert: "{folder}/server.crt", key: "{folder}/server.key",
   token_file: "{folder}/token"}}
- {{name: stranger, url: "{s.at}", ca: "{folder}/ca.crt"}}
- {{name: trusting, url: "{s.at}"}}
- {{name: careless, url: "{s.at}", insecure: true, cert: "{folder}/server.crt", key: "{folder}/server.key"}}
""")
    said = collect(where, "--config", config)
    assert sorted(f.split("/")[1].split("-")[0] for f in files(where)) == ["careless", "known"], said
    assert "Bearer secret-7" in tokens
    assert re.search(r"stranger heap: .*(certificate|alert|handshake|broken pipe|reset)", said), said
    assert re.search(r"trusting heap: .*certificate", said), said


def t_pods_are_reached_through_the_server():
    cluster = Cluster()
    if cluster.real:
        raise Skip("only with the server of these tests")
    s, where = Service(), root("pods")
    cluster.state.pods[("pods", "main-1:8081")] = s.at
    try:
        said = collect(where, "--target", "main=kube://store/main-1:8081", "--target", "gone=kube://store/gone:1",
                       "--kinds", "heap,goroutine", env=cluster.environment())
    finally:
        cluster.close()
    assert len(files(where)) == 2 and all("main-" in f for f in files(where)), files(where)
    assert "gone heap: gone:1: 404 " in said, said


def t_a_full_disk_is_survived():
    if os.geteuid() != 0:
        raise Skip("mounting needs root")
    mount = TMP / "small"
    mount.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "none", str(mount)], capture_output=True, check=False).returncode:
        raise Skip("nothing can be mounted here")
    try:
        s = Service()
        (mount / "ballast").write_bytes(b"x" * (56 << 10))
        said = collect(mount / "tree", "--target", f"a={s.at}", "--kinds", ",".join(["heap", "goroutine", "mutex"]),
                       rounds=2)
        assert "no space left" in said, said
        (mount / "ballast").unlink()
        collect(mount / "tree", "--target", f"a={s.at}", "--kinds", "heap")
        assert files(mount / "tree")
        assert not [f for f in files(mount / "tree") if not f.endswith(".pprof")]
    finally:
        subprocess.run(["umount", str(mount)], check=False)


def t_real_programs_are_collected():
    if not shutil.which("prometheus"):
        raise Skip("there is no prometheus")
    where, port = root("real"), free_port()
    config = TMP / "prometheus.yml"
    config.write_text("")
    p = subprocess.Popen(["prometheus", f"--config.file={config}", f"--web.listen-address=127.0.0.1:{port}",
                          f"--storage.tsdb.path={TMP}/prometheus"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def answers():
        with socket.socket() as s:
            return s.connect_ex(("127.0.0.1", port)) == 0

    try:
        wait_for(answers, "prometheus")
        collect(where, "--target", f"prometheus=127.0.0.1:{port}")
    finally:
        p.kill()
        p.wait()
    assert len(files(where)) == 6, files(where)
    for f in files(where):
        done = subprocess.run([SONDE, "-top", str(where / f)], capture_output=True, text=True, timeout=LIMIT, check=False)
        assert done.returncode == 0 and "Showing nodes" in done.stdout, (f, done.stderr)


def t_metrics_tell_how_it_goes():
    where, s, port = root("metrics"), Service(), free_port()
    p = subprocess.Popen([SONDED, "collect", "--root", str(where), "--interval", "1s", "--kinds", "heap", "--target",
                          f"a={s.at}", "--target", f"gone=127.0.0.1:{free_port()}", "--metrics", f"127.0.0.1:{port}"],
                         stderr=subprocess.PIPE, text=True)

    def value(name):
        text = urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=LIMIT).read().decode()
        if shutil.which("promtool"):
            subprocess.run(["promtool", "check", "metrics"], input=text, text=True, check=True, capture_output=True)
        return int(re.search(rf"^{name} (\d+)$", text, re.M)[1])

    try:
        wait_for(lambda: len(rounds_of(where)) > 2 if where.exists() else False, "three rounds")
        assert value("sonded_rounds_total") >= 2
        assert value("sonded_profiles_stored_total") >= 2 and value("sonded_profiles_failed_total") >= 2
        assert value("sonded_rounds_missed_total") >= 0
    finally:
        p.send_signal(signal.SIGTERM)
        p.communicate(timeout=LIMIT)


def seen_on_a_terminal(*words, **more):
    """What a program shows there."""
    ours, theirs = os.openpty()
    p = subprocess.Popen(list(map(str, words)), stderr=theirs, stdout=subprocess.DEVNULL, env=os.environ | more)
    os.close(theirs)
    seen = b""
    with contextlib.suppress(OSError):  # the end of a terminal is an error
        while more := os.read(ours, 4096):
            seen += more
    os.close(ours)
    assert p.wait(LIMIT) == 0, seen
    return seen.decode()


def t_a_terminal_shows_how_far_it_is():
    s = Service()
    for interval in ("1s", "10s", "60s"):  # none is waited for if the first round takes that long
        words = [SONDED, "collect", "--interval", interval, "--rounds", 2, "--kinds", "heap", "--target", f"a={s.at}"]
        seen = seen_on_a_terminal(*words, "--root", root("shown"), TERM="xterm")
        if "next round" in seen:
            break
    assert re.search(r"\r\x1b\[KRound \S+: [01] of 1 targets, 1 profiles stored, 0 failed so far", seen), seen
    assert "\r\x1b[KThe next round is 20" in seen and seen.endswith("\n"), seen
    assert re.fullmatch(r"(\r\x1b\[K|[^\x1b])*", seen), seen  # nothing but that: no colours
    plain = seen_on_a_terminal(*words, "--root", root("not-shown"), TERM="dumb")
    assert "\x1b" not in plain and "next round" not in plain and "1 profiles stored" in plain, plain


def t_rounds_that_brought_nothing_have_failed():
    s = Service()
    said = collect(root("nothing"), "--target", "a=localhost:1", "--kinds", "heap", status=1)
    assert "0 profiles stored, 1 failed" in said, said
    collect(root("something"), "--target", "a=localhost:1", "--target", f"b={s.at}", "--kinds", "heap")


def t_the_service_manager_is_told():
    path = str(TMP / "notify")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind(path)
        manager.settimeout(LIMIT)
        s = Service()
        subprocess.run([SONDED, "collect", "--root", str(root("service")), "--target", f"a={s.at}", "--kinds", "heap",
                        "--rounds", "1"], env=os.environ | {"NOTIFY_SOCKET": path, "JOURNAL_STREAM": "1:2"},
                       check=True, capture_output=True, timeout=LIMIT)
        assert [manager.recv(99), manager.recv(99)] == [b"READY=1", b"STOPPING=1"]


def t_a_wrong_configuration_is_told_with_its_line():
    for text, line, word in (("root: [a]\n", 1, "text"), ("targets:\n- {name: a}\n", 2, "url"), ("intervall: 3m\n", 1, "setting"),
                             ("targets:\n- {name: a, url: ftp://x}\n", 2, "http"), ("interval: soon\n", 1, "time"),
                             ("targets:\n- {name: ../a, url: http://x}\n", 2, "letters"),
                             ("targets:\n- {name: a, url: http://x}\n- {name: a, url: http://y}\n", 3, "already")):
        config = TMP / "wrong.yaml"
        config.write_text(text)
        said = collect(root("wrong"), "--config", config, status=2)
        assert f"wrong.yaml:{line}: " in said and word in said, (text, said)
    assert "nothing to collect" in collect(root("wrong"), status=2)


if __name__ == "__main__":
    sys.exit(main(globals()))
