#!/usr/bin/env python3
"""What is around profiles: objects for Kubernetes, endpoints that are checked, memory, pods as sources.

usage: around.py --sonde PROGRAM [NAME...]	sonded is beside it

SPDX-License-Identifier: Apache-2.0
"""
import contextlib
import gzip
import http.server
import json
import os
import pathlib
import re
import shutil
import socket
import subprocess
import sys
import tarfile
import threading
import time

from kube_server import Cluster
from ports import free_port
from tap import LIMIT, SONDE, TMP, Profile, Skip, main

SONDED = str(pathlib.Path(SONDE).parent / "sonded")
cluster = None


def kube():
    global cluster
    if cluster is None:
        cluster = Cluster()
    return cluster


def clean_env():
    return {k: v for k, v in os.environ.items()
            if not k.startswith(("SONDE_", "KUBE", "MY_POD")) and not k.lower().endswith("_proxy")}


def run(*args, status=0, env=None, data=None):
    done = subprocess.run(list(map(str, args)), input=data, capture_output=True, timeout=LIMIT,
                          env=env or clean_env(), check=False)
    if status is not None:
        assert done.returncode == status, f"{args}: {done.returncode}\n{done.stdout[:400]}\n{done.stderr.decode()}"
    return done


def manifest(*args, status=0):
    done = run(SONDE, "manifest", *args, status=status)
    return (done.stderr if status else done.stdout).decode()


# --- sonde manifest


def yaml(text):
    try:
        import yaml as reader
    except ImportError:
        raise Skip("there is no YAML for Python") from None
    return [d for d in reader.safe_load_all(text) if d]


def kubectl(*args, data=None):
    if not shutil.which("kubectl"):
        raise Skip("there is no kubectl")
    env = clean_env() | {"KUBECONFIG": str(kube().kubeconfig()), "HOME": str(TMP)}
    return run("kubectl", *args, env=env, data=data).stdout.decode()


def t_kubectl_takes_the_objects_of_manifest():
    text = manifest("--release", "voltha", "--chart", "voltha-adapter-openonu")
    out = kubectl("apply", "--dry-run=client", "--validate=false", "-f", "-", data=text.encode())
    for thing in ("deployment.apps/voltha-voltha-adapter-openonu", "service/voltha-voltha-adapter-openonu-profiler",
                  "role.rbac.authorization.k8s.io/voltha-adapter-openonu-dumps",
                  "rolebinding.rbac.authorization.k8s.io/voltha-adapter-openonu-dumps"):
        assert re.search(rf"^{re.escape(thing)} (created|configured) \(dry run\)$", out, re.M), out


def t_kubectl_takes_every_kind():
    for kind in "StatefulSet", "DaemonSet", "Subscription":
        text = manifest("--kind", kind, "--preset", "pprof-addr", "env")
        out = kubectl("apply", "--dry-run=client", "--validate=false", "-f", "-", data=text.encode())
        assert out.startswith(kind.lower()) and "(dry run)" in out, out


def t_the_service_is_headless_and_has_the_name_of_the_document():
    [s] = yaml(manifest("--release", "voltha1", "--chart", "voltha-adapter-openonu", "--namespace", "voltha", "service"))
    assert s["metadata"] == {"name": "voltha1-voltha-adapter-openonu-profiler", "namespace": "voltha"}, s
    assert s["spec"]["clusterIP"] == "None" and s["spec"]["ports"] == [
        {"name": "profiler", "port": 6060, "targetPort": 6060, "protocol": "TCP"}], s
    assert s["spec"]["selector"] == {"app": "voltha-adapter-openonu", "release": "voltha1"}, s


def t_a_long_name_of_a_service_is_cut_as_helm_does_it():
    [s] = yaml(manifest("--release", "r" * 50, "--chart", "c" * 40, "service"))
    assert s["metadata"]["name"] == "r" * 50 + "-" + "c" * 12, s
    [s] = yaml(manifest("--release", "r" * 22, "--chart", "c" * 39, "service"))
    assert s["metadata"]["name"] == "r" * 22 + "-" + "c" * 39, s


def t_the_switch_is_a_string():
    [d] = yaml(manifest("--name", "main", "--container", "c", "env"))
    [c] = d["spec"]["template"]["spec"]["containers"]
    assert c["name"] == "c" and c["env"][0] == {"name": "ENABLE_PROFILER", "value": "true"}, c
    assert {e["name"] for e in c["env"]} == {"ENABLE_PROFILER", "MY_POD_NAME", "MY_POD_NAMESPACE"}, c
    [d] = yaml(manifest("--kind", "Subscription", "--preset", "pprof-addr", "env"))
    assert d["spec"]["config"]["env"] == [{"name": "HCO_PPROF_ADDR", "value": ":8070"}], d
    [d] = yaml(manifest("--env", "X_PPROF_ADDR=localhost:1=2\"\n", "env"))
    [c] = d["spec"]["template"]["spec"]["containers"]
    assert c["env"][0] == {"name": "X_PPROF_ADDR", "value": "localhost:1=2\"\n"}, c


def t_the_role_has_the_verbs_that_sonded_needs():
    role, binding = yaml(manifest("--prefix", "main-landscaper", "--service-account", "app", "--namespace", "shop", "rbac"))
    [rule] = yaml(run(SONDED, "verbs").stdout.decode())[0]
    assert role["rules"] == [rule], role
    assert binding["roleRef"]["name"] == role["metadata"]["name"] == "main-landscaper-dumps"
    assert binding["subjects"] == [{"kind": "ServiceAccount", "name": "app", "namespace": "shop"}]


def t_the_sidecar_watches_where_the_preset_serves():
    for preset, port in ("enable-profiler", 8081), ("pprof-addr", 8070), ("build-profiled", 6060):
        [d] = yaml(manifest("--preset", preset, "--prefix", "p", "sidecar"))
        [c] = d["spec"]["template"]["spec"]["containers"]
        assert c["args"] == ["watch", "--to", "kube:", "--prefix", "p", f"http://localhost:{port}"], c


def t_the_patch_merges_into_what_is_there():
    there = """apiVersion: apps/v1
kind: Deployment
metadata: {name: main, namespace: shop}
spec:
  selector: {matchLabels: {app: main}}
  template:
    metadata: {labels: {app: main}}
    spec:
      containers:
      - {name: main, image: "main:1", env: [{name: A, value: b}]}
      - {name: proxy, image: "proxy:1"}
"""
    (TMP / "there.yaml").write_text(there)
    (TMP / "patch.yaml").write_text(manifest("--name", "main", "--container", "main", "env", "sidecar"))
    out = kubectl("patch", "--local", "-f", TMP / "there.yaml", "--type", "strategic", "--patch-file",
                  TMP / "patch.yaml", "-o", "yaml")
    containers = {c["name"]: c for c in yaml(out)[0]["spec"]["template"]["spec"]["containers"]}
    assert set(containers) == {"main", "proxy", "sonded"}, out
    assert containers["main"]["image"] == "main:1"
    assert {"A", "ENABLE_PROFILER"} <= {e["name"] for e in containers["main"]["env"]}, out


def t_the_sidecar_keeps_dumps_that_can_be_opened():
    env = clean_env() | kube().environment() | {"HOME": str(TMP)}
    with profiled() as (url, _):
        port = url.rsplit(":", 1)[1]
        [d] = yaml(manifest("--port", port, "--prefix", "beside", "sidecar"))
        words = d["spec"]["template"]["spec"]["containers"][0]["args"]
        run(SONDED, *words, "--above", "1", "--looks", "1", env=env)
        assert b"File: sleep" in run(SONDE, "-top", "kube:///beside", env=env).stdout


def t_the_values_are_set_in_as_helm_needs_them():
    [v] = yaml(manifest("--chart", "voltha-adapter-openonu", "--container", "adapter_open_onu_go", "--image", "a/b",
                        "--tag", "hh-dev-profile", "values"))
    assert v == {"voltha-adapter-openonu": {"images": {"adapter_open_onu_go": {
        "repository": "a/b", "tag": "hh-dev-profile", "pullPolicy": "Never"}}, "profiler": {"enabled": True}}}, v


def t_names_that_kubernetes_would_refuse_are_refused():
    for words, text in ((["--name", "A"], "cannot be the name"), (["--namespace", "x" * 64], "cannot be the namespace"),
                        (["--release", "-x"], "cannot be the release"), (["--prefix", "a\nb"], "cannot be the prefix"),
                        (["--kind", "Pod"], "not a kind"), (["--preset", "x"], "no preset"), (["--env", "X"], "name=value"),
                        (["--port", "70000"], "no port"), (["x"], "none of env"), (["values", "env"], "alone"),
                        (["--kind", "Subscription", "sidecar"], "no sidecar")):
        assert text in manifest(*words, status=2), words


# --- programs to ask


class Pages(http.server.BaseHTTPRequestHandler):
    """Serves what 'pages' has: a path and its bytes, or a status."""
    pages = {}

    def log_message(self, *args):
        pass

    def do_GET(self):
        self.server.asked.append(self.path)
        page = self.pages.get(self.path.split("?")[0], 404)
        self.send_response(page if isinstance(page, int) else 200)
        data = b"404 page not found\n" if isinstance(page, int) else page
        self.send_header("Content-Type", "text/plain" if isinstance(page, int) else "application/octet-stream")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


@contextlib.contextmanager
def serving(pages):
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), type("Bound", (Pages,), {"pages": pages}))
    server.daemon_threads = True
    server.asked = []
    threading.Thread(target=server.serve_forever, daemon=True).start()
    server.where = f"http://127.0.0.1:{server.server_address[1]}"
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()


@contextlib.contextmanager
def profiled(*options):
    """A program with libsonde in it; yields its URL."""
    lib = pathlib.Path(SONDE).parent / "libsonde.so"
    if not lib.exists():
        raise Skip("there is no libsonde.so")
    port = free_port()
    p = subprocess.Popen([SONDE, "run", "--addr", f"127.0.0.1:{port}", *options, "--", "sleep", "600"],
                         env=clean_env(), stderr=subprocess.DEVNULL)
    try:
        url = f"http://127.0.0.1:{port}"
        until(lambda: socket.create_connection(("127.0.0.1", port)).close())
        yield url, p.pid
    finally:
        p.kill()
        p.wait()


def until(what):
    ends = time.monotonic() + LIMIT
    while time.monotonic() < ends:
        with contextlib.suppress(OSError):
            return what()
        time.sleep(0.05)
    return what()


# --- kube://


def cluster_of(pages=None, name=("pods", "web-1:6060")):
    c = kube()
    if c.real:
        raise Skip("a real server has no pods for us")
    c.state.pods.clear()
    c.state.denied.clear()
    if pages:
        c.state.pods[name] = pages
    return clean_env() | c.environment() | {"HOME": str(TMP), "PPROF_TMPDIR": str(TMP)}


def t_a_dump_in_secrets_is_a_source():
    env = clean_env() | kube().environment() | {"HOME": str(TMP)}
    for i in 1, 2:
        (TMP / "dump").write_bytes(gzip.compress(heap_of(f"grow{i}")))
        run(SONDED, "store", "--to", "kube:", "--prefix", "main-landscaper", TMP / "dump", env=env)
    where = f"kube://{kube().namespace}/main-landscaper"
    assert b"grow2" in run(SONDE, "-top", where, env=env).stdout
    assert b"grow1" in run(SONDE, "-top", where + "@1", env=env).stdout
    assert b"grow2" in run(SONDE, "-top", "kube:///main-landscaper", env=env).stdout
    out = run(SONDE, "-top", "-base", where + "@1", where, env=env).stdout
    assert b"grow1" in out and b"grow2" in out, out
    assert b"there is no dump of none" in run(SONDE, "-top", "kube:///none", env=env, status=2).stderr


def t_a_pod_is_a_source():
    with serving({"/debug/pprof/heap": gzip.compress(heap_of("leak")), "/debug/pprof/profile": heap_of("busy")}) as server:
        env = cluster_of(server.where)
        assert b"leak" in run(SONDE, "-top", "kube://store/web-1:6060/debug/pprof/heap", env=env).stdout
        done = run(SONDE, "-top", "-seconds", "3", "kube://store/web-1:6060", env=env)
        assert b"busy" in done.stdout and b"Saved profile in" in done.stderr, done.stderr
        assert server.asked[-1] == "/debug/pprof/profile?seconds=3", server.asked
        run(SONDE, "-top", "kube:///pod/web-1:6060/debug/pprof/heap?seconds=2", env=env)
        assert server.asked[-1] == "/debug/pprof/heap?seconds=2", server.asked
        cluster.state.pods["services", "web:80"] = server.where
        assert b"leak" in run(SONDE, "-top", "kube://store/svc/web:80/debug/pprof/heap", env=env).stdout


def t_what_keeps_us_from_a_pod_is_told():
    with serving({}) as server:
        env = cluster_of(server.where)
        cluster.state.pods["pods", "gone:6060"] = f"http://127.0.0.1:{free_port()}"
        for source, text in (("kube://store/none:6060/x", 'pods "none" not found'),
                             ("kube://store/gone:6060/x", "error trying to reach service"),
                             ("kube://store/web-1:6060/debug/pprof/heap", "404 Not Found"),
                             ("kube://other/web-1:6060/x", 'cannot get resource "pods/proxy"'),
                             ("kube://store/web-1:port/x", "is no port"), ("kube://store/Web:1/x", "cannot be the name"),
                             ("kube://store/web-1:6060/../../secrets", "cannot be asked for"),
                             ("kube://store/web-1:6060/%2e%2e/secrets", "cannot be asked for"),
                             ("kube://store/a@0", "no generation"), ("kube://store/", "names nothing"),
                             ("kube://st_ore/a", "cannot be a namespace"), ("kube://x", "names nothing")):
            done = run(SONDE, "-top", source, env=env, status=2)
            assert text in done.stderr.decode(), (source, done.stderr)


# --- sonde check


def check(*args, status=0, env=None):
    return json.loads(run(SONDE, "check", "--json", *args, status=status, env=env).stdout)


def t_a_program_with_libsonde_is_known():
    with profiled("--mutex-fraction", "1") as (url, _):
        for where in url, url.removeprefix("http://"), url + "/debug/pprof/heap?debug=1", url + "/":
            [e] = check(where)
            assert e["serves"] and e["runtime"] == "libsonde" and e["program"] == "sleep 600", e
            assert e["url"] == url + "/debug/pprof/" and re.fullmatch(r"\d+\.\d+.*", e["version"]), e
            assert e["off"] == ["block: its rate is 0"], e
            assert {"heap", "allocs", "goroutine", "mutex"} <= {k["name"] for k in e["profiles"]}, e


def t_a_go_program_is_known():
    p = Profile([("inuse_space", "bytes")])
    p.sample([p.frame("main.main", 7, "/src/main.go")], [1 << 20])
    rows = b"".join(b"<tr><td>%d</td><td><a href='%s?debug=1'>%s</a></td></tr>\n" % (n, k, k)
                    for k, n in ((b"heap", 3), (b"mutex", 0), (b"goroutine", 12)))
    pages = {"/debug/pprof/heap": gzip.compress(p.encode()), "/debug/pprof/": b"<table>\n" + rows + b"</table>",
             "/debug/pprof/cmdline": b"/bin/etcd\0--x\x1b[2J", "/metrics": b'go_info{version="go1.19.8"} 1\n'}
    with serving(pages) as server:
        [e] = check(server.where)
        assert (e["serves"], e["runtime"], e["version"], e["heapSamples"]) == (True, "Go", "go1.19.8", 1), e
        assert e["program"] == "/bin/etcd --x?[2J" and e["off"] == ["mutex: empty, its rate may be 0"], e
        assert {k["name"]: k["count"] for k in e["profiles"]} == {"heap": 3, "mutex": 0, "goroutine": 12}, e
        env = cluster_of(server.where)
        [e] = check("kube://store/web-1:6060", env=env)
        assert e["serves"] and e["runtime"] == "Go", e


def t_what_is_no_profiled_build_is_told():
    bad = gzip.compress(b"not a profile")
    for pages in {}, {"/debug/pprof/heap": b"<html>welcome</html>"}, {"/debug/pprof/heap": b""}, \
            {"/debug/pprof/heap": bad}, {"/debug/pprof/heap": gzip.compress(heap_of("x"))[:-9]}, \
            {"/debug/pprof/heap": 500, "/debug/pprof/": b"<html>everything has an index</html>"}:
        with serving(pages) as server:
            done = run(SONDE, "check", server.where, status=1)
            assert b"not a profiled build" in done.stdout, done
            [e] = check(server.where, status=1)
            assert not e["serves"] and e["verdict"] == "not a profiled build" and e["why"], e


def t_what_does_not_speak_http_is_no_profiled_build():
    with socket.create_server(("127.0.0.1", 0)) as s:
        def answer():
            c, _ = s.accept()
            c.recv(100)
            c.sendall(b"-ERR unknown command\r\n")
            c.close()
        threading.Thread(target=answer, daemon=True).start()
        [e] = check(f"127.0.0.1:{s.getsockname()[1]}", status=1)
        assert e["verdict"] == "not a profiled build", e


def t_a_heap_profile_that_is_off_is_told():
    pages = {"/debug/pprof/heap": 404, "/debug/pprof/": b"<tr><td>5</td><td><a href='goroutine?debug=1'>goroutine</a></td></tr>"}
    with serving(pages) as server:
        [e] = check(server.where)
        assert e["serves"] and e["off"][0].startswith("heap: server response: 404"), e


def t_nobody_there_and_a_token_missing_are_different_things():
    [e] = check(f"127.0.0.1:{free_port()}", status=1)
    assert e["verdict"] == "nothing answers" and "refused" in e["why"], e
    with profiled("--token", "open") as (url, _):
        [e] = check(url, status=1)
        assert e["verdict"] == "wants to know who we are", e
        (TMP / "token").write_text("open\n")
        assert check("--token-file", TMP / "token", url)[0]["serves"]
    env = cluster_of()
    cluster.state.denied.add("pods/proxy")
    [e] = check("kube://store/web-1:6060", status=1, env=env)
    assert e["verdict"] == "wants to know who we are" and "pods/proxy" in e["why"], e
    cluster.state.denied.clear()
    [e] = check("kube://store/web-1:6060", status=1, env=env)
    assert e["verdict"] == "nothing answers" and "not found" in e["why"], e
    assert b"no place to ask" in run(SONDE, "check", "/x", status=2).stderr
    assert b"is no pod" in run(SONDE, "check", "kube://store/prefix", status=2).stderr
    assert b"where?" in run(SONDE, "check", status=2).stderr


# --- sonde mem


def mem(*args):
    return json.loads(run(SONDE, "mem", "--json", *args).stdout)


@contextlib.contextmanager
def hog(megabytes):
    code = f"x = bytearray(b'x') * ({megabytes} << 20); print(flush=True); open(0).read()"
    p = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        p.stdout.readline()
        yield p.pid
    finally:
        p.stdin.close()
        p.wait()
        p.stdout.close()


def rollup(pid):
    text = pathlib.Path(f"/proc/{pid}/smaps_rollup").read_text()
    return {k: int(re.search(rf"^{k}: +(\d+) kB", text, re.M)[1]) << 10 for k in ("Rss", "Pss", "Swap")}


def near(a, b):
    return abs(a - b) <= 0.01 * max(a, b, 1)


def t_memory_of_processes_is_what_the_system_says():
    with hog(64) as pid:
        g = mem(pid)
        [p] = [p for p in g["processes"] if p["pid"] == pid]
        real = rollup(pid)
        assert near(p["rss"], real["Rss"]) and near(p["pss"], real["Pss"]) and p["rss"] > 64 << 20, (p, real)
        assert g["pss"] == sum(p.get("pss", 0) for p in g["processes"]), g
        assert g["rss"] == sum(p["rss"] for p in g["processes"]), g
        order = [p.get("pss", p["rss"]) for p in g["processes"]]
        assert order == sorted(order, reverse=True), order
        order = [p["pid"] for p in mem("--sort", "pid", pid)["processes"]]
        assert order == sorted(order), order
        text = run(SONDE, "mem", pid).stdout.decode()
        assert re.search(rf"^ *{pid} .*x = bytearray", text, re.M), text


def group_folder():
    """A control group of our own that counts memory, or a skip."""
    lines = pathlib.Path("/proc/self/cgroup").read_text().splitlines()
    groups = {controller: path for _, controller, path in (line.split(":", 2) for line in lines)}
    for controller, root in ("memory", "/sys/fs/cgroup/memory"), ("", "/sys/fs/cgroup"):
        folder = pathlib.Path(root + groups.get(controller, "/nowhere")) / f"sonde-{os.getpid()}"
        with contextlib.suppress(OSError):
            folder.mkdir()
            if any((folder / f).exists() for f in ("memory.current", "memory.usage_in_bytes")):
                return folder
            folder.rmdir()
    raise Skip("control groups cannot be made here")


def t_memory_of_a_group_is_what_the_system_says():
    folder = group_folder()
    below = folder / "below"
    try:
        below.mkdir()
        with hog(48) as first, hog(8) as second:
            (folder / "cgroup.procs").write_text(str(first))
            (below / "cgroup.procs").write_text(str(second))
            current = next(f for f in (folder / "memory.current", folder / "memory.usage_in_bytes") if f.exists())
            for where in str(folder), str(first):
                before, g, after = int(current.read_text()), mem(where), int(current.read_text())
                assert {p["pid"] for p in g["processes"]} == {first, second}, g
                assert min(before, after) * 0.99 <= g["current"] <= max(before, after) * 1.01, (before, g, after)
                sums = [rollup(pid) for pid in (first, second)]
                assert near(g["pss"], sum(s["Pss"] for s in sums)) and near(g["rss"], sum(s["Rss"] for s in sums)), g
            assert [p["pid"] for p in mem(str(below))["processes"]] == [second]
    finally:
        for f in below, folder:
            until(f.rmdir)


def t_memory_is_looked_at_again_and_again():
    p = subprocess.Popen([SONDE, "mem", "--watch", "100ms", "--count", "1"], stdout=subprocess.PIPE, text=True)
    try:
        heads = [line for line, _ in zip(p.stdout, range(12)) if line.startswith("control group")]
        assert len(heads) >= 3, heads
    finally:
        p.kill()
        p.communicate()


def t_names_of_processes_do_no_harm():
    p = subprocess.Popen(["sleep\033[2J\n", "600"], executable="sleep")
    try:
        out = until(lambda: next(x for x in mem(p.pid)["processes"] if x["pid"] == p.pid))
        assert out["command"] == "sleep?[2J? 600", out
        assert b"\033" not in run(SONDE, "mem", p.pid).stdout
    finally:
        p.kill()
        p.wait()


def t_what_has_no_memory_is_told():
    for what, text in (("999999999", "no process"), ("/tmp", "neither a process"), ("/none", "neither a process")):
        assert text in run(SONDE, "mem", what, status=1).stderr.decode()
    assert b"cannot sort by" in run(SONDE, "mem", "--sort", "x", status=2).stderr
    assert b"one process or group" in run(SONDE, "mem", "1", "2", status=2).stderr


# --- sonded bundle


STAMPS = "2020-10-01-22:08:40", "2020-10-01-22:38:40", "20201001T230840Z"


def tree(name="run", component="kube-apiserver"):
    root = TMP / name
    shutil.rmtree(root, ignore_errors=True)
    for i, stamp in enumerate(STAMPS):
        (root / stamp).mkdir(parents=True)
        for c in component, "etcd":
            p = Profile([("inuse_space", "bytes")])
            m = p.mapping(file=f"/usr/bin/{c}", build_id=f"{c[0]}{i}")
            p.sample([p.frame("leak", 7, "leak.c", mapping=m)], [1 << 20])
            (root / stamp / f"{c}-heap-{stamp}.pprof").write_bytes(gzip.compress(p.encode()))
    return root


def bundle(root, *args, status=0):
    out = TMP / "run.tar"
    out.unlink(missing_ok=True)
    done = run(SONDED, "bundle", root, "-o", out, *args, status=status)
    if status:
        assert not out.exists()
        return done.stderr.decode()
    where = TMP / "unpacked"
    shutil.rmtree(where, ignore_errors=True)
    where.mkdir()
    run("tar", "-xf", out, "-C", where)
    names = {str(p.relative_to(where)): p.read_bytes() for p in where.rglob("*") if p.is_file()}
    with tarfile.open(out) as t:
        assert {m.name for m in t.getmembers()} == set(names)
    return names, done.stderr.decode()


def t_a_run_is_packed_and_opens_elsewhere():
    root = tree()
    (root / "collect.log").write_text("one\n")
    (TMP / "target.log").write_text("two\n")
    names, said = bundle(root, "--add", TMP / "target.log")
    assert "6 profiles" in said and "left out" not in said, said
    kept = {str(p.relative_to(TMP)) for p in root.rglob("*.pprof")}
    assert set(names) == kept | {"run/build-ids.txt", "run/collect.log", "run/target.log"}, names.keys()
    for name in kept:
        assert names[name] == (TMP / name).read_bytes()
        assert b"leak" in run(SONDE, "-top", TMP / "unpacked" / name).stdout
    assert names["run/build-ids.txt"].decode().splitlines() == sorted(
        f"{c[0]}{i} /usr/bin/{c}" for c in ("kube-apiserver", "etcd") for i in range(3)), names["run/build-ids.txt"]


def t_only_what_is_a_profile_is_packed():
    root = tree()
    here = root / STAMPS[0]
    (here / "bad-heap-x.pprof").write_bytes(b"<html>error</html>")
    (here / "empty-heap-x.pprof").write_bytes(b"")
    half = here / f"etcd-heap-{STAMPS[0]}.pprof"
    half.write_bytes(half.read_bytes()[:-10])
    (here / "link-heap-x.pprof").symlink_to("/etc/passwd")
    (here / "pipe-heap-x.pprof").parent.mkdir(exist_ok=True)
    os.mkfifo(here / "pipe-heap-x.pprof")
    (here / "etcd-heap-x.pprof.a1B2c3").write_bytes(b"half")
    (root / "somebody").mkdir()
    (root / "somebody" / "x.pprof").write_bytes(b"theirs")
    names, said = bundle(root)
    assert "5 profiles; left out 5 files" in said, said
    assert not [n for n in names if "-x." in n or "somebody" in n], names.keys()


def t_rounds_and_components_are_chosen():
    root = tree()
    names, _ = bundle(root, "--since", STAMPS[1], "--component", "etcd")
    assert {n for n in names if n.endswith(".pprof")} == {
        f"run/{s}/etcd-heap-{s}.pprof" for s in STAMPS[1:]}, names.keys()
    names, said = bundle(root, "--since", "24h")
    assert "0 profiles" in said and set(names) == {"run/build-ids.txt"}, names.keys()
    names, _ = bundle(tree(component="etcd-backup"), "--component", "etcd")
    assert not [n for n in names if "backup" in n], names.keys()


def t_long_names_survive():
    for length in 40, 52, 53, 54, 120, 180:
        names, _ = bundle(tree(component="c" * length))
        for s in STAMPS:
            assert f"run/{s}/{'c' * length}-heap-{s}.pprof" in names, (length, names.keys())


def t_what_cannot_be_packed_is_told():
    assert "open" in bundle(TMP / "none", status=1)
    assert "--since takes" in bundle(tree(), "--since", "x", status=2)
    assert "open /none: no such file or directory" in bundle(tree(), "--add", "/none", status=1)
    assert "open /: not a file" in bundle(tree(), "--add", "/", status=1)
    assert b"which tree" in run(SONDED, "bundle", TMP, status=2).stderr
    done = run(SONDED, "bundle", tree(), "-o", "/dev/full", status=1)
    assert b"no space left" in done.stderr.lower(), done.stderr
    assert run(SONDED, "bundle", tree(), "-o", "-").stdout[257:262] == b"ustar"


# --- completions, manuals, and the unit


def complete(line, program="sonde"):
    script = pathlib.Path(SONDE).parent / "docs" / program
    if not shutil.which("bash") or not script.exists():
        raise Skip("there is no bash, or no script for it")
    code = f"""compopt() {{ :; }}
. {script}
COMP_WORDS=({line} ''); COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1))
[[ {line!r} == *-- ]] && COMP_WORDS=({line}) && ((COMP_CWORD--))
_{program}; printf '%s\\n' "${{COMPREPLY[@]}}" """
    return run("bash", "--norc", "-c", code).stdout.decode().split()


def t_shells_complete_commands_and_options():
    assert {"check", "dumps", "leaks", "manifest", "mem", "run", "help"} <= set(complete("sonde"))
    assert complete("sonde manifest") == ["env", "service", "rbac", "sidecar", "values"]
    assert {"--json", "--watch", "--help"} <= set(complete("sonde mem --"))
    assert {"--addr", "--help"} <= set(complete("sonde run --"))
    assert complete("sonde mem --watch") == []
    assert {"bundle", "collect", "store", "watch"} <= set(complete("sonded", "sonded"))
    assert {"--output", "--since"} <= set(complete("sonded bundle --", "sonded"))
    for name in "_sonde", "_sonded":
        assert (pathlib.Path(SONDE).parent / "docs" / name).read_text().startswith(f"#compdef {name[1:]}\n")
    for shell, names in ("zsh", ("_sonde", "_sonded")), ("fish", ("sonde.fish", "sonded.fish")):
        for name in names if shutil.which(shell) else ():
            run(shell, "-n", pathlib.Path(SONDE).parent / "docs" / name)


def t_what_cannot_be_written_is_said():
    store, sample = TMP / "written", pathlib.Path(__file__).parent / "profiles" / "etcd-heap.pb.gz"
    store.mkdir()
    run(SONDED, "store", "--to", f"dir:{store}", "--prefix", "main", sample)
    for program, words, status in (
            (SONDE, ["help"], 2), (SONDE, ["version"], 2), (SONDE, ["check", "--help"], 1), (SONDE, ["mem"], 1),
            (SONDE, ["compare", sample, sample], 2), (SONDE, ["leaks", "--help"], 1), (SONDE, ["manifest"], 1),
            (SONDE, ["dumps", "list", "--store", f"dir:{store}"], 1),
            (SONDE, ["dumps", "get", "main", "--store", f"dir:{store}"], 1), (SONDE, ["run", "--help"], 1),
            (SONDED, ["--help"], 1), (SONDED, ["version"], 1), (SONDED, ["verbs"], 1), (SONDED, ["store", "--help"], 1)):
        with open("/dev/full", "wb") as full:
            done = subprocess.run([program, *map(str, words)], stdout=full, stderr=subprocess.PIPE, timeout=LIMIT,
                                  env=clean_env(), check=False)
        assert done.returncode == status, (words, done)
        last = done.stderr.decode().splitlines()[-1:]
        assert last and last[0].endswith("write /dev/stdout: no space left on device"), (words, last)


def t_a_daemon_without_a_command_has_not_succeeded():
    done = run(SONDED, status=2)
    assert not done.stdout and done.stderr == run(SONDED, "--help").stdout, done


def t_manuals_tell_of_every_option():
    docs = pathlib.Path(SONDE).parent / "docs"
    for page, program in ("sonde-commands.1", SONDE), ("sonded.8", SONDED):
        if not (docs / page).exists():
            raise Skip("the manuals are not built")
        text = re.sub(r"\\f[BRIP]|\\&", "", (docs / page).read_text()).replace("\\-", "-")
        name = pathlib.Path(program).name
        commands = re.findall(rf'^\.SH {name.upper()} (\w+)', text, re.M) or re.findall(
            rf'^\.SH "?{name.upper()} (\w+)', text, re.M)
        assert len(commands) >= 5, commands
        for command in commands:
            help_text = run(program, command.lower(), "--help").stdout.decode()
            part = text.split(f"{name.upper()} {command}")[1].split("\n.SH")[0]
            told = set(re.findall(r"^--([a-z-]+)", part, re.M))
            assert told == set(re.findall(r"^  --([a-z-]+)", help_text, re.M)), (command, told)
        # Lines of help become sentences: none ends in the middle, or has gaps.
        assert not re.findall(r"[a-z]*(?:,\. |\b(?:or|of|both|asked)\. |[a-z]   +[a-z]).*", text.split(".SH EXIT")[0])


def t_the_service_is_one_that_systemd_takes():
    unit = pathlib.Path(SONDE).parent / "docs" / "sonded.service"
    text = unit.read_text()
    assert "Type=notify" in text and "@" not in text.replace("@system-service", ""), text
    [words] = re.findall(r"^ExecStart=\S+/sonded (\w+)", text, re.M)
    assert run(SONDED, words, "--help").stdout
    if shutil.which("systemd-analyze"):
        done = run("systemd-analyze", "verify", "--man=no", unit, status=None)
        wrong = [x for x in done.stderr.decode().splitlines() if "sonded.service" in x and "not executable" not in x]
        assert not wrong, wrong


def heap_of(name):
    p = Profile([("inuse_space", "bytes")])
    p.sample([p.frame(name, 7, "leak.c")], [1 << 20])
    return p.encode()


if __name__ == "__main__":
    try:
        sys.exit(main(globals()))
    finally:
        if cluster:
            cluster.close()
