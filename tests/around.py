#!/usr/bin/env python3
"""What is around profiles: objects for Kubernetes, endpoints that are checked, memory, pods as sources.

usage: around.py --sonde PROGRAM [NAME...]	sonded is beside it

SPDX-License-Identifier: Apache-2.0
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys

from kube_server import Cluster
from tap import LIMIT, SONDE, TMP, Skip, main

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


if __name__ == "__main__":
    try:
        sys.exit(main(globals()))
    finally:
        if cluster:
            cluster.close()
