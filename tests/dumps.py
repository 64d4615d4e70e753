#!/usr/bin/env python3
"""Dumps in a directory and in Secrets: stored whole or not at all, read back whole, by us and by hand.

usage: dumps.py --sonde PROGRAM [NAME...]	sonded is beside it

SPDX-License-Identifier: Apache-2.0
"""
import base64
import gzip
import hashlib
import json
import os
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import threading
import time

from kube_server import Cluster, Fault
from set_clock import Clock
from tap import LIMIT, SONDE, TMP, Skip, main

SONDED = str(pathlib.Path(SONDE).parent / "sonded")
CHUNK = 512000
random.seed(int(os.environ.get("SONDE_TEST_SEED", "1")))
cluster = None


def bytes_of(n, seed=0):
    return random.Random(seed).randbytes(n)


def clean_env():
    return {k: v for k, v in os.environ.items() if not k.startswith(("SONDE_", "KUBE", "MY_POD"))}


def kube():
    """The one cluster of this run, emptied."""
    global cluster
    if cluster is None:
        cluster = Cluster()
    if cluster.real:
        for secret in kubectl("get", "secrets", "-o", "name").split():
            if "-heap" in secret:
                kubectl("delete", secret)
    else:
        state = cluster.state
        with state.lock:
            state.secrets.clear()
            state.denied.clear()
            state.faults.clear()
            state.log.clear()
    return cluster


def stand_in():
    c = kube()
    if c.real:
        raise Skip("a real server does not fail when told to")
    return c.state


def run(*args, status=0, env=None, data=None):
    done = subprocess.run(list(map(str, args)), input=data, capture_output=True, timeout=LIMIT,
                          env=env or clean_env(), check=False)
    if status is not None:
        assert done.returncode == status, f"{args}: {done.returncode}\n{done.stdout[:400]}\n{done.stderr.decode()}"
    return done


class Store:
    """One of the two kinds, with what tests need of it."""

    def __init__(self, kind):
        self.kind = kind
        if kind == "kube":
            c = kube()
            self.where = "kube:"
            self.env = clean_env() | c.environment() | {"SONDE_KUBE_PATIENCE": "1s"}
        else:
            self.folder = pathlib.Path(TMP) / "store"
            shutil.rmtree(self.folder, ignore_errors=True)
            self.folder.mkdir()
            self.where, self.env = f"dir:{self.folder}", clean_env()

    def command(self, data, prefix="main", **options):
        path = pathlib.Path(TMP) / f"dump.{threading.get_ident()}"
        path.write_bytes(data)
        words = [SONDED, "store", "--to", self.where, "--prefix", prefix]
        for key, value in options.items():
            words += ["--" + key.replace("_", "-"), str(value)]
        return [*words, str(path)]

    def put(self, data, prefix="main", status=0, **options):
        return run(*self.command(data, prefix, **options), status=status, env=self.env)

    def get(self, name="main", status=0):
        return run(SONDE, "dumps", "--store", self.where, "get", name, status=status, env=self.env)

    def list(self, *words):
        out = run(SONDE, "dumps", "--store", self.where, "--json", "list", *words, env=self.env).stdout
        return json.loads(out)

    def names(self):
        if self.kind == "dir":
            return sorted(p.name for p in self.folder.iterdir() if p.name != ".lock")
        if cluster.real:
            return sorted(n.removeprefix("secret/") for n in kubectl("get", "secrets", "-o", "name").split())
        return sorted(cluster.state.secrets)

    def chunk(self, name):
        if self.kind == "dir":
            return (self.folder / name).read_bytes()
        out = kubectl("get", "secret", name, "-o", "jsonpath={.data.keyBytes}")
        return base64.b64decode(out)

    def lose(self, name):
        if self.kind == "dir":
            (self.folder / name).unlink()
        else:
            kubectl("delete", "secret", name)

    def plain(self):
        return [n for n in self.names() if n.removeprefix("main-heap-").isdigit()]


def kubectl(*args):
    if not shutil.which("kubectl"):
        raise Skip("there is no kubectl")
    env = clean_env() | {"KUBECONFIG": str(cluster.kubeconfig()), "HOME": str(TMP)}
    return subprocess.run(["kubectl", *args], check=True, capture_output=True, text=True, timeout=LIMIT, env=env).stdout


def both(case):
    """The same case for a directory and for Secrets."""
    for kind in "dir", "kube":
        name = f"{case.__name__}_in_{'a_directory' if kind == 'dir' else 'secrets'}"
        globals()[name] = lambda kind=kind: case(Store(kind))
    del_later.append(case.__name__)
    return case


del_later = []


@both
def t_a_dump_is_cut_as_the_document_says_and_comes_back_whole(s):
    data = bytes_of(1300000)
    s.put(data, heap_in_use=331000000, heap_alloc=330500000, pod="main-7d9f", run="r1")
    assert [len(s.chunk(f"main-heap-{i}")) for i in range(3)] == [CHUNK, CHUNK, 276000]
    assert b"".join(s.chunk(f"main-heap-{i}") for i in range(3)) == data
    assert s.get().stdout == data
    [d] = s.list()
    assert (d["prefix"], d["heapInUse"], d["heapAlloc"], d["chunks"], d["pod"], d["sha256"], d["generation"]) == \
        ("main", 331000000, 330500000, 3, "main-7d9f", hashlib.sha256(data).hexdigest(), 1), d


@both
def t_more_than_ten_chunks_come_in_the_right_order(s):
    data = bytes_of(12 * 1000 + 7)
    s.put(data, chunk=1000)
    assert len(s.plain()) == 13
    assert hashlib.sha256(s.get().stdout).digest() == hashlib.sha256(data).digest()


@both
def t_a_shorter_dump_leaves_no_chunk_of_a_longer_one(s):
    s.put(bytes_of(5000), chunk=1000)
    s.put(bytes_of(2000, 1), chunk=1000)
    assert s.plain() == ["main-heap-0", "main-heap-1"], s.names()
    assert s.get("main").stdout == bytes_of(2000, 1)
    assert s.get("main@1").stdout == bytes_of(5000)


@both
def t_a_chunk_that_is_missing_is_named(s):
    s.put(bytes_of(3000), chunk=1000)
    [second] = [n for n in s.names() if n.startswith("main-heap-g1-") and n.endswith("-1")]
    s.lose(second)
    done = s.get(status=1)
    assert second in done.stderr.decode() and not done.stdout, done


@both
def t_generations_are_kept_and_removed(s):
    for i in range(1, 5):
        s.put(bytes_of(100 * i, i), keep=3, run="r1")
    assert [d["generation"] for d in s.list("main")] == [4, 3, 2]
    run(SONDE, "dumps", "--store", s.where, "rm", "main@3", env=s.env)
    assert [d["generation"] for d in s.list("main")] == [4, 2]
    run(SONDE, "dumps", "--store", s.where, "rm", "main@4", env=s.env)
    assert s.get().stdout == bytes_of(200, 2)
    assert s.chunk("main-heap-0") == bytes_of(200, 2)
    run(SONDE, "dumps", "--store", s.where, "rm", "main", env=s.env)
    assert s.list() == [] and s.names() == [], s.names()


@both
def t_what_was_there_before_a_restart_stays(s):
    s.put(b"evidence", heap_in_use=600000000, run="before")
    for i in range(8):
        s.put(bytes_of(64, i), heap_in_use=340000000 + i, run="after", keep=3)
    kept = s.list("main")
    assert any(d["heapInUse"] == 600000000 for d in kept), kept
    assert s.get("main@1").stdout == b"evidence"


@both
def t_prefixes_do_not_meet(s):
    for prefix in "main", "main-heap", "main-heap-g1-x":
        s.put(prefix.encode() * 20, prefix=prefix, chunk=16)
    s.put(b"short", prefix="main", chunk=16)
    for prefix, data in ("main", b"short"), ("main-heap", b"main-heap" * 20), ("main-heap-g1-x", b"main-heap-g1-x" * 20):
        assert s.get(prefix).stdout == data, prefix
    assert {d["prefix"] for d in s.list()} == {"main", "main-heap", "main-heap-g1-x"}


@both
def t_two_writers_of_one_prefix_never_mix(s):
    ends = time.monotonic() + 4
    stored = set()

    def write(name):
        i = 0
        while time.monotonic() < ends:
            i += 1
            data = bytes_of(4000, f"{name}{i}")
            stored.add(data)
            done = s.put(data, chunk=500, status=None, run=name)
            assert done.returncode == 0 or b"locked" in done.stderr or b"changed" in done.stderr, done.stderr

    threads = [threading.Thread(target=write, args=(n,)) for n in "ab"]
    for t in threads:
        t.start()
    while time.monotonic() < ends:
        done = s.get(status=None)
        assert done.returncode == 1 and b"no dump" in done.stderr or done.stdout in stored, done.stderr
    for t in threads:
        t.join()
    assert s.get().stdout in stored
    s.put(b"last", status=0)
    assert s.get().stdout == b"last" and len(s.plain()) == 1


@both
def t_dumps_are_in_order_whatever_the_clock_does(s):
    clock = Clock()
    s.env = s.env | clock.environment()
    year = 86400 * 365
    # The certificate of the server of the tests is good for two days.
    steps = (0, -year, year, -3000, 3000, 0) if s.kind == "dir" else (0, 86400, 3000, 80000, 7000, 0)
    for i, step in enumerate(steps):
        clock.set(step)
        s.put(bytes_of(100 + i, i), keep=10)
        assert s.get().stdout == bytes_of(100 + i, i)
    rows = s.list("main")
    assert [d["generation"] for d in rows] == [6, 5, 4, 3, 2, 1], rows
    assert [len(s.get(f"main@{i}").stdout) for i in range(1, 7)] == list(range(100, 106))


def kill_at_random(s, rounds, longest):
    old = bytes_of(20000, "old")
    s.put(old, chunk=1000)
    begin = time.monotonic()
    s.put(bytes_of(20000, "time"), chunk=1000)
    length = min(max(time.monotonic() - begin, 0.01) * 1.2, longest)
    good = {old, bytes_of(20000, "time")}
    for i in range(rounds):
        data = bytes_of(20000, i)
        p = subprocess.Popen(s.command(data, chunk=1000), env=s.env, stderr=subprocess.PIPE)
        time.sleep(random.random() * length)
        p.send_signal(signal.SIGKILL)
        p.communicate()
        good.add(data)
        got = s.get().stdout
        assert got in good, f"round {i}: neither the old dump nor the new one"
        if p.returncode != 0:  # it holds the lock, and it is dead: that is found out after a while
            unlock(s)
    s.put(b"the end")
    assert s.get().stdout == b"the end"
    referenced = sum(d["chunks"] for d in s.list("main"))
    assert len(s.names()) == 1 + referenced + 1, f"{len(s.names())} objects for {referenced} chunks: {s.names()}"


def unlock(s):
    """What five minutes do: the lock of a writer that was killed is too old."""
    if s.kind == "dir":
        path = s.folder / "main-heap"
        record = json.loads(path.read_text())
        if "keyLockTime" in record:
            record["keyLockTime"] = "2001-01-01T00:00:00Z"
            path.write_text(json.dumps(record))
    elif not cluster.real:
        data = cluster.state.secrets["main-heap"]["data"]
        if "keyLockTime" in data:
            data["keyLockTime"] = base64.b64encode(b"2001-01-01T00:00:00Z").decode()


def t_a_writer_killed_at_any_instant_leaves_a_whole_dump_in_a_directory():
    kill_at_random(Store("dir"), 200, 0.3)


def t_a_writer_killed_at_any_instant_leaves_a_whole_dump_in_secrets():
    if kube().real:
        raise Skip("locks of a real server cannot be aged")
    kill_at_random(Store("kube"), 200, 1)


def t_every_request_that_fails_in_turn_leaves_a_whole_dump():
    state = stand_in()
    s = Store("kube")
    old, new = bytes_of(2500, "old"), bytes_of(1500, "new")
    for how in 500, "before", "after", "lost":
        for at in range(1, 40):
            kube()
            s.put(old, chunk=2000)
            state.log.clear()
            state.faults[:] = [Fault(how, skip=at - 1, times=1)]
            done = s.put(new, chunk=2000, status=None)
            made, state.faults[:] = len(state.log), []
            got = s.get().stdout
            assert got == new, f"{how} at {at}: {done.stderr.decode()}"
            assert done.returncode == 0, f"{how} at {at}: {done.stderr.decode()}"
            if made < at:
                break
        else:
            raise AssertionError(f"{how}: a store takes too many requests")


def t_a_server_that_never_recovers_leaves_the_old_dump():
    state = stand_in()
    s = Store("kube")
    old, new = bytes_of(2500, "old"), bytes_of(1500, "new")
    for at in 1, 2, 3, 5, 7:
        kube()
        s.put(old, chunk=1000)
        state.faults[:] = [Fault(500, skip=at, times=10**6)]
        s.put(new, chunk=1000, status=None)
        state.faults[:] = []
        assert s.get().stdout in (old, new)


def t_the_commands_of_the_document_work_by_hand():
    s = Store("kube")
    profile = gzip.compress(bytes_of(1200000))
    s.put(profile, prefix="main-landscaper")
    env = clean_env() | {"KUBECONFIG": str(kube_config()), "HOME": str(TMP)}
    if not shutil.which("kubectl"):
        raise Skip("there is no kubectl")
    script = "".join(
        f'kubectl get secret -n {cluster.namespace} main-landscaper-heap-{i} -o jsonpath="{{.data.keyBytes}}" '
        f"| base64 -d > heap{i}.out\n" for i in range(3)) + "cat heap0.out heap1.out heap2.out > heap.out\n"
    subprocess.run(["sh", "-ec", script], check=True, env=env, cwd=TMP, timeout=LIMIT)
    assert (TMP / "heap.out").read_bytes() == profile
    number = kubectl("get", "secret", "main-landscaper-heap", "-o", "jsonpath={.data.keyNumberOfDataSecrets}")
    assert base64.b64decode(number) == b"3"
    labelled = kubectl("get", "secrets", "-l", "landscaper.gardener.cloud/profiling-prefix=main-landscaper", "-o", "name")
    assert len(labelled.split()) == 3, labelled


def kube_config(inline=False):
    return cluster.kubeconfig(inline)


def t_a_kubeconfig_is_enough():
    s = Store("kube")
    s.put(b"something")
    for inline in False, True:
        env = clean_env() | {"KUBECONFIG": str(kube_config(inline)), "HOME": str(TMP)}
        assert run(SONDE, "dumps", "--store", "kube:", "get", "main", env=env).stdout == b"something"


def t_a_verb_that_is_denied_is_named():
    state = stand_in()
    s = Store("kube")
    state.denied.add("create")
    state.denied.add("delete")
    done = s.put(b"x", status=1)
    assert b"create, delete" in done.stderr and b"namespace store" in done.stderr, done.stderr
    assert b"verbs: [create, get, list, update, delete]" in run(SONDED, "verbs").stdout


def t_a_token_that_was_replaced_is_read_again():
    state = stand_in()
    s = Store("kube")
    s.put(b"one")
    state.tokens = {"token-2"}
    try:
        done = s.put(b"two", status=1)
        assert b"401" in done.stderr, done.stderr
        (cluster.account / "token").write_text("token-2\n")
        s.put(b"two")
    finally:
        state.tokens = {"token-1"}
        (cluster.account / "token").write_text("token-1")
    assert s.get().stdout == b"two"


def t_a_list_of_large_secrets_is_asked_for_without_them():
    state = stand_in()
    s = Store("kube")
    for whole in False, True:  # and where the server sends them all the same
        kube()
        state.whole = whole
        try:
            for seed, size in (0, 8000), (1, 4000):
                assert not s.put(bytes_of(size, seed), chunk=100).stderr
            assert len(s.plain()) == 40, s.plain()
            assert [d["generation"] for d in s.list("main")] == [2, 1]
        finally:
            state.whole = False


def t_a_list_that_became_too_old_is_begun_again():
    state = stand_in()
    s = Store("kube")
    s.put(bytes_of(60000), chunk=100)  # 1200 objects: three pages
    state.expired = 2
    s.put(bytes_of(1000, 1), chunk=100)
    assert state.expired == 0 and len(s.plain()) == 10, s.plain()
    state.expired = 10**6
    try:
        done = s.put(bytes_of(500, 2), chunk=100)
        assert b"too old" in done.stderr, done.stderr
    finally:
        state.expired = 0
    assert s.get().stdout == bytes_of(500, 2)


def t_a_server_that_asks_for_patience_gets_it():
    state = stand_in()
    s = Store("kube")
    for how in 429, "quota":
        kube()
        state.faults[:] = [Fault(how, times=3, verb="create")]
        assert not s.put(bytes_of(3000), chunk=1000).stderr
        assert s.get().stdout == bytes_of(3000) and state.faults[0].times == 0


def t_a_secret_that_may_not_change_costs_no_dump():
    state = stand_in()
    s = Store("kube")
    s.put(b"one")
    state.secrets["main-heap-0"]["immutable"] = True
    done = s.put(b"two")
    assert b"immutable" in done.stderr and b"main-heap-0" in done.stderr, done.stderr
    assert s.get().stdout == b"two"
    s.put(b"three")  # nobody is locked out by that
    assert s.get().stdout == b"three"


def t_a_secret_of_somebody_else_is_left_alone():
    state = stand_in()
    s = Store("kube")
    meta = {"name": "main-heap-0", "namespace": "store", "uid": "1", "resourceVersion": "1"}
    state.secrets["main-heap-0"] = {"kind": "Secret", "metadata": meta, "data": {"password": "eA=="}}
    done = s.put(b"x", status=None)
    assert b"main-heap-0" in done.stderr and b"none of ours" in done.stderr, done.stderr
    assert state.secrets["main-heap-0"]["data"] == {"password": "eA=="}
    assert s.get().stdout == b"x"


def t_a_server_that_hangs_is_given_up():
    state = stand_in()
    s = Store("kube")
    s.put(b"one")
    state.faults[:] = [Fault("hang", times=1)]
    s.put(b"two")
    assert s.get().stdout == b"two"


def t_a_full_disk_leaves_the_old_dump():
    if os.geteuid() != 0:
        raise Skip("mounting needs root")
    mount = pathlib.Path(TMP) / "small"
    mount.mkdir()
    done = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=256k", "none", str(mount)], capture_output=True, check=False)
    if done.returncode:
        raise Skip("nothing can be mounted here")
    try:
        s = Store("dir")
        s.folder, s.where = mount, f"dir:{mount}"
        s.put(bytes_of(100000), chunk=50000)
        done = s.put(bytes_of(400000, 1), chunk=50000, status=1)
        assert b"no space left" in done.stderr, done.stderr
        assert s.get().stdout == bytes_of(100000)
        s.put(bytes_of(90000, 2), chunk=50000)
        assert s.get().stdout == bytes_of(90000, 2)
    finally:
        subprocess.run(["umount", str(mount)], check=False)


def t_a_dump_opens_in_one_command():
    s = Store("dir")
    profile = pathlib.Path(__file__).parent / "profiles" / "heketi.pb.gz"
    if not profile.exists():
        profile = next(pathlib.Path(__file__).parent.glob("profiles/**/*.pb.gz"))
    s.put(profile.read_bytes())
    out = run(SONDE, "dumps", "--store", s.where, "open", "main", "-top", env=s.env).stdout
    assert out == run(SONDE, "-top", profile).stdout and b"flat%" in out


def t_a_heap_of_unknown_size_is_not_called_empty():
    s = Store("dir")
    s.put(b"x")
    row = run(SONDE, "dumps", "--store", s.where, "list").stdout.decode().splitlines()[1]
    assert row.split()[1] == "-", row


def t_a_heap_profile_says_how_large_the_heap_is():
    folder, s = pathlib.Path(__file__).parent / "profiles", Store("dir")
    for name, alloc, in_use in (("etcd-heap.pb.gz", 5957152, 5957152), ("prom-heap-debug1.txt.gz", 18875784, 20914176),
                                ("mixed.tcmalloc.heap", 100111, 100111), ("mixed.jemalloc.heap", 1352775, 1352775),
                                ("etcd-cpu.pb.gz", 0, 0)):
        s.put((folder / name).read_bytes())
        d = max(s.list(), key=lambda d: d["generation"])
        assert (d["heapAlloc"], d["heapInUse"]) == (alloc, in_use), d
    s.put((folder / "etcd-heap.pb.gz").read_bytes(), heap_in_use=7)
    d = max(s.list(), key=lambda d: d["generation"])
    assert (d["heapAlloc"], d["heapInUse"]) == (0, 7), d


def t_options_stand_where_people_put_them():
    s = Store("dir")
    s.put(b"some bytes")
    for words in ["list", "--json"], ["--json", "list"], ["list", "main", "--json"], ["list", "--json", "main"]:
        for where in range(len(words) + 1):
            said = run(SONDE, "dumps", *words[:where], "--store", s.where, *words[where:]).stdout
            assert [d["prefix"] for d in json.loads(said)] == ["main"], said
    got = pathlib.Path(s.where.removeprefix("dir:")).parent / "got"
    run(SONDE, "dumps", "get", "main", "--store", s.where, "-o", got)
    assert got.read_bytes() == b"some bytes"
    assert b"usage: sonde dumps" in run(SONDE, "dumps", "list", "--help").stdout


def t_wrong_use_is_told():
    s = Store("dir")
    for words, status, text in (([], 2, "list, get, open or rm"), (["get"], 2, "which dump"),
                                (["get", "../x"], 2, "cannot be the prefix"), (["get", "main@0"], 2, "no generation"),
                                (["get", "main", "rest"], 2, "'rest' is another"),
                                (["list", "--top"], 2, "there is no option --top"),
                                (["get", "none"], 1, "there is no dump of none")):
        done = run(SONDE, "dumps", "--store", s.where, *words, status=status)
        assert text in done.stderr.decode(), done.stderr
    assert "which store" in run(SONDE, "dumps", "list", status=2).stderr.decode()
    for place in "s3:x", "dir:":
        assert "no place for dumps" in run(SONDE, "dumps", "--store", place, "list", status=1).stderr.decode()
    file = pathlib.Path(TMP) / "file"
    file.write_bytes(b"x")
    for words, text in ((["store", file], "where to?"), (["store", "--to", s.where, file], "what is it called?"),
                        (["store", "--to", s.where, "--prefix", "a", "--keep", "0", file], "--keep is 1 to 1000"),
                        (["store", "--to", s.where, "--prefix", "a", "--keep", "4294967301", file], "--keep is 1"),
                        (["watch", "--to", s.where, "--keep", "1001", "localhost:1"], "--keep is 1 to 1000"),
                        (["verbs", "--check", "s3:x"], "kube: or kube:NAMESPACE")):
        assert text in run(SONDED, *words, status=2).stderr.decode(), words


for each in del_later:
    del globals()[each]

if __name__ == "__main__":
    try:
        sys.exit(main(globals()))
    finally:
        if cluster:
            cluster.close()
