#!/usr/bin/env python3
"""What the READMEs of the examples show is what happens: their commands are run, as they stand.

usage: walks.py --sonde PROGRAM --lib LIBRARY --source ROOT [NAME...]

A block marked "console" has commands after "$ ", what is typed at our prompt after "(pprof) ", and
what is shown.  All blocks of a README run in one shell, in a copy of its folder.  "…" stands for anything, on a line by itself for any lines; numbers, dates and build ids may
be others.  A block that does not start anything is tried again until it shows what it should:
services need a moment.

SPDX-License-Identifier: Apache-2.0
"""
import os
import pathlib
import pty
import re
import shutil
import signal
import subprocess
import sys
import time

import guest
from guest import TMP

SONDE, LIB, ROOT = (pathlib.Path(guest.argument(n)) for n in ("sonde", "lib", "source"))
DEMO = ROOT / "examples/demo/demo.sh", SONDE, SONDE.parent / "examples/example-demo"
END = "end-of-command"
PATIENCE = 90  # seconds for a block to come out as shown


class Shell:
    """A shell in a folder and a network of its own, with the project's programs in reach."""

    def __init__(self, folder):
        env = guest.clean(
            PATH=f"{SONDE.parent}:{os.environ['PATH']}", HOME=folder,
            C_INCLUDE_PATH=ROOT / "include", LIBRARY_PATH=LIB.parent, LD_LIBRARY_PATH=LIB.parent)
        self.bash = subprocess.Popen(
            ["bash"], cwd=folder, env=env, stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True)

    def run(self, command):
        """What it writes, and its status."""
        self.bash.stdin.write(f"{command}\necho; echo {END} $?\n")
        self.bash.stdin.flush()
        lines = []
        for line in self.bash.stdout:
            if line.startswith(END):
                return lines[:-1] if lines and not lines[-1] else lines, int(line.split()[1])
            lines.append(line.rstrip("\n"))
        raise AssertionError(f"the shell ended in {command!r}: {lines}")

    def close(self):
        os.killpg(self.bash.pid, signal.SIGKILL)
        self.bash.wait()


def blocks(readme):
    """Lists of (command, what is typed, what is shown)."""
    for block in re.findall(r"^```console\n(.*?)^```", readme.read_text(), re.M | re.S):
        steps = []
        for line in block.splitlines():
            if line.startswith("$ "):
                steps.append((line[2:], [], []))
            elif line.startswith("(pprof)"):
                steps[-1][1].append(line[8:])
            elif line.startswith("> "):
                steps[-1] = (steps[-1][0] + "\n" + line[2:], *steps[-1][1:])
            else:
                steps[-1][2].append(line)
        yield steps


def plain(line):
    """A line without what may differ from one day to the next."""
    line = re.sub(r"^(\(pprof\) )+", "", line)
    line = re.sub(r"(Time:|Build ID:) .*", r"\1", line)
    line = re.sub(r"-?\b\d([\d.:/TZ-]*[\dZ])?\s?(MiB|[kMG]?B|[num]?s|mins|%)?(?![\w])", "#", line)
    return " ".join(line.split()).replace("( ", "(")


def fits(shown, found):
    """Whether the lines found are those shown."""
    if not shown:
        return not found
    if shown[0] == "…":
        return any(fits(shown[1:], found[i:]) for i in range(len(found) + 1))
    if not found:
        return False
    pattern = ".*".join(re.escape(plain(part)) for part in shown[0].split("…"))
    return bool(re.fullmatch(r"\s*" + pattern.replace(r"\ ", r"\s*") + r"\s*", plain(found[0]))) \
        and fits(shown[1:], found[1:])


def attempt(shell, steps):
    """What is wrong with how the block comes out, or None."""
    for command, typed, shown in steps:
        if typed:
            command = f"{command} <<'end'\n" + "\n".join(typed) + "\nend"
        found, status = shell.run(command)
        if status:
            return f"{command}: status {status}: {found}"
        if not fits([s for s in shown if s.strip()], [f for f in found if plain(f)]):
            return "\n".join([command, "-- shown:", *shown, "-- found:", *found])
    return None


def walk(name):
    folder = TMP / name
    shutil.copytree(ROOT / "examples" / name, folder)
    steps_of_all = list(blocks(folder / "README.md"))
    assert steps_of_all, "nothing to walk through"
    shell = Shell(folder)
    try:
        for steps in steps_of_all:
            end = time.monotonic() + PATIENCE
            wrong = attempt(shell, steps)
            starts = any(command.endswith("&") for command, _, _ in steps)
            while wrong and not starts and time.monotonic() < end:
                time.sleep(0.5)
                wrong = attempt(shell, steps)
            assert not wrong, wrong
    finally:
        shell.close()


def t_enable_profiler():
    walk("enable-profiler")


def t_pprof_addr():
    walk("pprof-addr")


def t_profiling_config():
    walk("profiling-config")


def t_build_profiled():
    walk("build-profiled")


def t_contention():
    walk("contention")


def t_the_demo_finds_its_three_faults_and_ends():
    for seconds in (2, 10, 50):  # how much of them it gets to see depends on what else the machine does
        done = guest.run(*DEMO, env=guest.clean(DEMO_SECONDS=seconds))
        found = re.findall(r"^Who .*\? (.*)$", done.stdout.decode(), re.M)
        if found == ["remember_session()", "check_password()", "write_audit_log()"]:
            break
    assert found == ["remember_session()", "check_password()", "write_audit_log()"], done.stdout.decode()
    assert not done.stderr, done.stderr


def t_the_demo_stays_on_a_terminal_until_it_is_interrupted():
    pid, terminal = pty.fork()
    if pid == 0:
        os.execve(DEMO[0], [str(a) for a in DEMO], guest.clean(DEMO_SECONDS=1))
    text = ""
    while "until Ctrl-C" not in text:
        text += os.read(terminal, 4096).decode()
    service = re.search(r"as process (\d+)", text)[1]
    port = re.search(r"goes on at http://127.0.0.1:(\d+)/", text)[1]
    guest.answers(port)
    os.write(terminal, b"\x03")
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    os.close(terminal)
    assert not guest.listens(int(port))
    guest.until("the end of the service", lambda: not os.path.exists(f"/proc/{service}"))


if __name__ == "__main__":
    guest.own_network(6060, 8070, 8080, 8081)
    sys.exit(guest.main(globals(), sys.argv[7:]))
