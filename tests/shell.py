#!/usr/bin/env python3
"""Conversations with the shell: scripts piped into it, and a person at a terminal.

usage: shell.py --sonde PROGRAM

Where Go is installed, scripts are also given to its pprof, and the answers compared.

SPDX-License-Identifier: Apache-2.0
"""
import errno
import os
import pathlib
import pty
import re
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
PROFILE = HERE / "profiles" / "heketi.pb.gz"
SONDE = pathlib.Path(sys.argv[sys.argv.index("--sonde") + 1]).resolve()
PROMPT = "(pprof) "
results = []


def check(what, want, got):
    results.append(want == got)
    print(f"{'' if want == got else 'not '}ok {len(results)} - {what}", flush=True)
    if want != got:
        for name, text in (("wanted", want), ("got", got)):
            print("".join(f"# {name}: {line}\n" for line in str(text).splitlines()[:30]), end="")


def has(what, needle, text):
    check(what, True, needle in text)
    if needle not in text:
        print("".join(f"# no {needle!r} in: {line!r}\n" for line in text.splitlines()[-20:]), end="")


# Scripts ---------------------------------------------------------------------------------------

SCRIPTS = {
    "help": "help\nhelp top\nhelp list\nhelp tags\nhelp sample_index\nhelp  focus\nhelp cum\nhelp sort\n"
            "help no such thing\nhelp weblist\nhelp comments\n",
    "assignments": "o\nfocus\nfocus=\nfocus = a b //: c //: d\nsort\nsort=this\nsort=cum\ncum\ncum=1\n"
                   "flat=yes\nlines=true\ngranularity=foo\ntrim=maybe\ntrim=No\nmean=Y\nmean=\n"
                   "nodecount=x\nnodecount=0x10\nnodecount=99999999999999999999\nnodefraction=1e-7\n"
                   "nodefraction=0x1p-3\nedgefraction=inf\ndivide_by=1000000\nunit=megabytes\n"
                   "tagfocus=\u00e9\u65e5\u672c\nhide=\"quoted\"\noutput=x y\noutput=\nsource_path=/a\n"
                   "trim_path=/b\no\n:\noptions\n",
    "sample types": "sample_index=9\nsample_index=foo\nsample_index\nsample_index=0\no\ninuse_space\n"
                    "top3\nmean_alloc_space\ntop3\ntotal_alloc_space\ntop3\nalloc_objects\ntop3\n"
                    "sample_index=\no\n",
    "errors": "foo\nfoo12\n123\nfocus10\nfocus main\nfocus123 abc\nsort cum\nfrob \"x\"\nlist\npeek\n"
              "disasm\ntop >\nexit2\n=\n=x\ntop=3\ntop (\npeek nothing_like_it\nlist nothing_like_it\n"
              "top 1 \u00a02\n\n   \n",
    "reports": "top\ntop5\ntop 5 -cum\ntext 3 Read\ntop -Read -cum\ntop 99999999999\ntree 3\n"
               "peek ReadMIMEHeader\ntags\ncomments\ntraces\nraw\ndot 5\nunit=kilobytes\ntop2\n"
               "hide=net\ntop3\n:\ntop3\nnodecount=4\ntop\ntree\ntags x -y\n",
    "files": "top 3 > a.txt\ntop 3 >b.txt\ntree 2 >c.txt main\ncallgrind\ncallgrind\ndot >d.dot\n"
             "top > no/such/folder/f\n",
    "the end": "top1\nquit now\ntop2\n",
    "no newline at the end": "top1",
    "nothing": "",
}


def only_pprof(text):
    """Without the part of "help" that pprof does not have."""
    return re.sub(r"\n  (?:Only in|Commands of) sonde:\n(    .*\n)*", "", text)


def talk(program, script, args=()):
    """Everything a script brings out: standard output, error, status, files."""
    with tempfile.TemporaryDirectory() as tmp:
        where = pathlib.Path(tmp) / "here"
        where.mkdir()
        env = {"PATH": "/usr/bin:/bin", "TZ": "UTC", "TERM": "xterm", "HOME": tmp}
        r = subprocess.run([program, *args, PROFILE], input=script.encode(), capture_output=True,
                           cwd=where, env=env)
        files = {f.name: f.read_bytes() for f in sorted(where.iterdir())}
        return r.stdout, only_pprof(r.stderr.decode(errors="replace")), r.returncode, files


def reference():
    if not shutil.which("go"):
        return None
    folder = subprocess.run(["go", "env", "GOTOOLDIR"], capture_output=True, text=True).stdout.strip()
    tool = pathlib.Path(folder) / "pprof"
    version = subprocess.run(["go", "version"], capture_output=True, text=True).stdout
    return tool if tool.exists() and "go1.19" in version else None


def compare_scripts():
    tool = reference()
    for name, script in SCRIPTS.items():
        what = f"script: {name}"
        if not tool:
            results.append(True)
            print(f"ok {len(results)} - {what} # SKIP no Go 1.19 to compare with")
            continue
        want, got = talk(tool, script), talk(SONDE, script)
        check(what, want, got)


def scripts():
    out, err, status, _ = talk(SONDE, "unit=megabytes\ntop1\nfoo\n")
    check("the prompt is on standard output, before each line", 4, out.decode().count(PROMPT))
    check("and ends it", True, out.decode().endswith(PROMPT))
    has("errors are on standard error, without colour", 'unrecognized command: "foo"\n', err)
    check("escape sequences in a pipe", False, "\033" in err + out.decode())
    check("the exit status of a shell", 0, status)
    out, err, status, _ = talk(SONDE, "weblist nothing_like_it\ntop1\n")
    has("what matches nothing is said", "no matches found for regexp: nothing_like_it", err)
    has("and the shell goes on", "flat%", out.decode())
    _, _, _, files = talk(SONDE, "proto\nproto\n")
    check("what is not text goes to files with numbers", ["profile001.pb.gz", "profile002.pb.gz"],
          list(files))


# Terminals -------------------------------------------------------------------------------------

class Terminal:
    """A person at a terminal: types, and sees what is on the screen."""

    def __init__(self, *args, home, **env):
        self.home, self.seen = home, ""
        env = {"PATH": "/usr/bin:/bin", "TZ": "UTC", "TERM": "xterm", "HOME": str(home),
               "LC_ALL": "C.UTF-8", "ASAN_OPTIONS": "detect_leaks=0", **env}
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.chdir(home)
            os.execve(SONDE, [str(SONDE), *map(str, args)], env)

    def read(self, seconds):
        if not select.select([self.fd], [], [], seconds)[0]:
            return False
        try:
            data = os.read(self.fd, 65536)
        except OSError as e:
            if e.errno != errno.EIO:
                raise
            return False
        self.seen += data.decode(errors="replace").replace("\r\n", "\n")
        return bool(data)

    def wait(self, text, seconds=300):
        """Reads until 'text' has been seen; what was seen up to its end is forgotten."""
        end = time.monotonic() + seconds
        while text not in self.seen and time.monotonic() < end:
            self.read(0.2)
        before, found, self.seen = self.seen.partition(text)
        if not found:
            self.seen = before
            raise AssertionError(f"no {text!r} in {before[-300:]!r}")
        return before

    def type(self, text):
        os.write(self.fd, text.encode())

    def end(self):
        while self.read(300):
            pass
        _, status = os.waitpid(self.pid, 0)
        os.close(self.fd)
        return status


def at_a_terminal(what, fn, **env):
    with tempfile.TemporaryDirectory() as home:
        try:
            fn(pathlib.Path(home), env)
        except AssertionError as e:
            check(what, "the conversation to go on", str(e))


def line_editing(home, env):
    t = Terminal(PROFILE, home=home, **env)
    greeting = t.wait(PROMPT)
    has("the greeting", "Entering interactive mode", greeting)
    t.type("top 1\n")
    has("a report", "flat%", t.wait(PROMPT))
    t.type("foo\n")
    has("errors are red", "\033[0;31munrecognized command: \"foo\"\033[0m", t.wait(PROMPT))
    t.type("top 99\x03")
    has("Ctrl-C gives the line up", "^C", t.wait(PROMPT))
    t.type("hel\t")
    t.type("unit\n")
    has("tab completes a command", "Measurement units to display", t.wait(PROMPT))
    t.type("sort=c\t\n")
    t.wait(PROMPT)
    t.type("o\n")
    has("tab completes a value", "sort                      = cum", t.wait(PROMPT))
    t.type("un\t")
    t.type("mega\t\n")
    t.wait(PROMPT)
    t.type("peek ReadMIME\t\n")
    has("tab completes a function", "ReadMIMEHeader", t.wait("flat%"))
    t.wait(PROMPT)
    t.type("t\t")
    has("tab shows what is possible", "traces", t.wait(PROMPT + "t"))
    t.type("\x03")
    t.wait(PROMPT)
    t.type("\x04")
    check("Ctrl-D ends the shell", 0, t.end())


def history(home, env):
    file = home / ".local" / "state" / "sonde" / "history"
    t = Terminal(PROFILE, home=home, **env)
    t.wait(PROMPT)
    for line in ("top 2", "unit=kilobytes", "foo"):
        t.type(line + "\n")
        t.wait(PROMPT)
    t.type("quit\n")
    check("quit ends the shell", 0, t.end())
    check("lines are kept", "top 2\nunit=kilobytes\nfoo\nquit\n", file.read_text())
    check("by their owner alone", 0o600, file.stat().st_mode & 0o777)
    check("in a folder that is theirs", 0o700, file.parent.stat().st_mode & 0o777)
    t = Terminal(PROFILE, home=home, **env)
    t.wait(PROMPT)
    t.type("\x10\x10\n")  # two lines up
    has("and are there the next time", 'unrecognized command: "foo"', t.wait(PROMPT))
    t.type("\x04")
    t.end()
    check("a line that came back is the newest", "foo", file.read_text().splitlines()[-1])
    check("nothing is left beside it", ["history"], os.listdir(file.parent))


def no_color(home, env):
    t = Terminal(PROFILE, home=home, **env)
    t.wait(PROMPT)
    t.type("foo\n")
    said = t.wait(PROMPT)
    has("NO_COLOR is an error without colour", 'unrecognized command: "foo"', said)
    check("NO_COLOR: escape sequences for red", False, "\033[0;31m" in said)
    t.type("\x04")
    t.end()


def dumb(home, env):
    t = Terminal(PROFILE, home=home, **env)
    t.wait(PROMPT)
    t.type("top1\n")
    t.wait("flat%")
    check("a dumb terminal sees no escape sequences", False, "\033" in t.wait(PROMPT))
    t.type("\x04")
    check("and can end the shell", 0, t.end())
    check("and leaves no history", False, (home / ".local").exists())


def binary_on_terminal(home, env):
    t = Terminal("-proto", PROFILE, home=home, **env)
    t.wait("Generating report in profile001.pb.gz")
    check("binary output stays off the screen", 0, t.end())
    check("and is in a file", b"\x1f\x8b", (home / "profile001.pb.gz").read_bytes()[:2])


# Endings ---------------------------------------------------------------------------------------

def endings():
    """Signals and pipes."""
    with tempfile.TemporaryDirectory() as tmp:
        env = {"PATH": "/usr/bin:/bin", "HOME": tmp, "TERM": "xterm"}
        fifo = pathlib.Path(tmp) / "fifo"
        os.mkfifo(fifo)
        p = subprocess.Popen([SONDE, "-top", "-output", "report", fifo], cwd=tmp, env=env,
                             stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        with open(fifo, "wb") as f:  # it has opened that, too, and waits for a profile that never comes
            f.write(b"\x1f\x8b")
            f.flush()
            p.send_signal(signal.SIGINT)
            check("Ctrl-C while loading ends it", -signal.SIGINT, p.wait(timeout=300))
        check("and leaves nothing behind", ["fifo"], os.listdir(tmp))
        script = f"'{SONDE}' -raw '{HERE / 'profiles' / 'arktos-cpu.pb.gz'}' | head -c 1 >/dev/null; echo ${{PIPESTATUS[0]}}"
        r = subprocess.run(["bash", "-c", script], capture_output=True, text=True, env=env)
        check("a pipe that is closed is no error to talk about", ("141\n", ""), (r.stdout, r.stderr))
        r = subprocess.run([SONDE, PROFILE], stdin=os.open(tmp, os.O_RDONLY), capture_output=True, text=True)
        check("standard input that cannot be read", (2, "read /dev/stdin: is a directory"),
              (r.returncode, r.stderr.splitlines()[-1]))


def kcachegrind():
    """A viewer gets a temporary file, which is removed in the end."""
    with tempfile.TemporaryDirectory() as tmp:
        tmp = pathlib.Path(tmp)
        viewer = tmp / "bin" / "kcachegrind"
        viewer.parent.mkdir()
        viewer.write_text("#!/bin/sh\nhead -n 1 \"$1\" > \"$OUT\"; echo \"$1\" >> \"$OUT\"\n")
        viewer.chmod(0o755)
        env = {"PATH": f"{viewer.parent}:/usr/bin:/bin", "TMPDIR": str(tmp), "OUT": str(tmp / "out"),
               "HOME": str(tmp)}
        r = subprocess.run([SONDE, "-kcachegrind", PROFILE], env=env, capture_output=True, text=True)
        check("a viewer is started", (0, ""), (r.returncode, r.stderr))
        check("with the report", ["positions: instr line", f"{tmp}/pprof001.grind"],
              (tmp / "out").read_text().splitlines())
        check("which is gone afterwards", ["bin", "out"], sorted(os.listdir(tmp)))
        env["PATH"] = "/nonexistent"
        r = subprocess.run([SONDE, "-kcachegrind", PROFILE], env=env, capture_output=True, text=True)
        check("a viewer that is not there",
              (2, 'exec: "kcachegrind": executable file not found in $PATH\n'), (r.returncode, r.stderr))


scripts()
compare_scripts()
at_a_terminal("line editing", line_editing)
at_a_terminal("history", history)
at_a_terminal("NO_COLOR", no_color, NO_COLOR="1")
at_a_terminal("a dumb terminal", dumb, TERM="dumb")
at_a_terminal("binary output", binary_on_terminal)
endings()
kcachegrind()
print(f"1..{len(results)}")
sys.exit(not all(results))
