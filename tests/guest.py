"""What the tests of libsonde share: programs with the library in them, requests, TAP.

SPDX-License-Identifier: Apache-2.0
"""
import contextlib
import os
import pathlib
import select
import shutil
import signal
import socket
import subprocess
import sys
import urllib.error
import urllib.request

from ports import claim, free_port  # some of these only for others to import
from tap import LIMIT, TMP, Skip, cases as main, until


def argument(name):
    """The path that follows --name on the command line."""
    flag = "--" + name
    assert flag in sys.argv, f"{flag} is missing"
    return str(pathlib.Path(sys.argv[sys.argv.index(flag) + 1]).resolve())


def tool(name):
    """A program of the system's, also of those that only root's PATH has."""
    path = shutil.which(name, path=os.environ.get("PATH", "") + ":/usr/sbin:/sbin")
    if not path:
        raise Skip(f"there is no {name}")
    return path


def own_network(*ports):
    """Starts the script again in a network of its own, where all ports are free; or goes on in this
    one, where that is not allowed and these are free."""
    if os.environ.get("GUEST_NETWORK"):
        return
    for unshare in (["unshare", "--user", "--map-root-user", "--net"], ["unshare", "--net"]):
        inside = [*unshare, "sh", "-c", 'ip link set lo up && exec "$@"', "sh"]
        env = os.environ | {"GUEST_NETWORK": "1", "PATH": os.environ["PATH"] + ":/usr/sbin:/sbin"}
        if subprocess.run([*inside, "true"], capture_output=True, env=env).returncode == 0:
            os.execvpe(inside[0], [*inside, sys.executable, "-B", *sys.argv], env)
    # Another test may have them for a while.
    for port in ports:
        with contextlib.suppress(AssertionError):
            until(f"port {port}", lambda port=port: claim(port), 120)
    taken = [p for p in ports if listens(p)]
    if taken:
        print(f"1..0 # SKIP ports are taken: {taken}")
        sys.exit(0)


def clean(**more):
    """An environment in which nothing is switched on, but what is asked for here.  Meson sets
    MALLOC_PERTURB_: malloc() fills what it gives out then, under its lock, and a large block is there
    long before the call that asked for it is over."""
    env = {k: v for k, v in os.environ.items()
           if not k.startswith(("SONDE_", "KUBE", "MY_POD")) and not k.lower().endswith("_proxy") and not k.endswith("_PPROF_ADDR") and
           k not in ("ENABLE_PROFILER", "HEKETI_PROFILING", "LD_PRELOAD", "MALLOC_PERTURB_")}
    return env | {k: str(v) for k, v in more.items()}


def guest_env(lib, port, **more):
    """An environment with the library preloaded, and all on."""
    return clean(LD_PRELOAD=lib, SONDE_ADDR=f"127.0.0.1:{port}", SONDE_LOG=TMP / "log", **more)


def run(*args, status=0, **kw):
    done = subprocess.run([str(a) for a in args], capture_output=True, timeout=LIMIT,
                          stdin=subprocess.DEVNULL, **kw)
    if status is not None:
        assert done.returncode == status, \
            f"{args}: status {done.returncode}\n{done.stdout[-2000:]!r}\n{done.stderr[-2000:]!r}"
    return done


def compile_c(name, text, *flags, compiler="cc"):
    """A program of these lines."""
    suffix = ".cc" if compiler == "c++" else ".c"
    source, program = TMP / (name + suffix), TMP / name
    source.write_text(text)
    run(tool(compiler), "-g", "-O1", "-o", program, source, *flags)
    return str(program)


@contextlib.contextmanager
def started(*args, **kw):
    """A program that runs while the block does, and is then asked, and at last made, to end."""
    p = subprocess.Popen([str(a) for a in args], stdin=subprocess.DEVNULL, **kw)
    try:
        yield p
    finally:
        if p.poll() is None:
            p.send_signal(signal.SIGTERM)
            try:
                p.wait(20)
            except subprocess.TimeoutExpired:
                p.kill()
                p.wait()


def fetch(port, path, timeout=LIMIT, **headers):
    """Status and body; (0, b"") if nobody answers."""
    rq = urllib.request.Request(f"http://127.0.0.1:{port}{path}", headers=headers)
    try:
        with urllib.request.urlopen(rq, timeout=timeout) as answer:
            return answer.status, answer.read()
    except urllib.error.HTTPError as e:
        return e.code, e.read()
    except OSError:
        return 0, b""


@contextlib.contextmanager
def taking(port, path):
    """While something is taken that one client at a time can have: two ask for it, and one is refused.
    The connections of the one who has it and of the other."""
    with contextlib.ExitStack() as stack:
        both = [stack.enter_context(socket.create_connection(("127.0.0.1", port), timeout=LIMIT))
                for _ in range(2)]
        for s in both:
            s.sendall(f"GET /debug/pprof/{path} HTTP/1.1\r\nHost: h\r\n\r\n".encode())
        answered = select.select(both, [], [], LIMIT)[0]
        assert len(answered) == 1, f"{len(answered)} of two are answered"
        yield both[1 - both.index(answered[0])], answered[0]


def cpu_seconds(pid):
    """How long a process has run: on a busy machine that is less than has gone by."""
    words = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")


def works_on(pid, seconds):
    """Waits until a process has run for so long."""
    end = cpu_seconds(pid) + seconds
    until("CPU time", lambda: cpu_seconds(pid) >= end)


def listens(port):
    try:
        socket.create_connection(("127.0.0.1", port), timeout=5).close()
    except OSError:
        return False
    return True


def answers(port):
    """Waits until the endpoint is there."""
    until(f"an answer on port {port}", lambda: fetch(port, "/debug/pprof/cmdline")[0] == 200)
