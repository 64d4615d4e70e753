#!/usr/bin/env python3
"""Profiles of threads: who is there, where it is, what it waits for, and that nobody notices.

usage: threads.py --sonde PROGRAM --lib LIBRARY --program THREADS --text SOURCE [NAME...]

THREADS is the program whose threads are known, and SOURCE its text.

SPDX-License-Identifier: Apache-2.0
"""
import contextlib
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import threading
import time

import guest
from guest import fetch, until

SONDE, LIB, PROGRAM, TEXT = (guest.argument(n) for n in ("sonde", "lib", "program", "text"))
PROFILE = "/debug/pprof/"


class Host:
    def __init__(self, process, port):
        self.process, self.port = process, port

    def get(self, path, status=200):
        got, body = fetch(self.port, PROFILE + path)
        assert got == status, f"{path}: status {got}: {body[:500]!r}"
        return body

    def dump(self, name="goroutine"):
        return Dump(self.get(name + "?debug=2").decode())

    def line(self):
        return self.process.stdout.readline().decode().strip()


@contextlib.contextmanager
def host(*args, program=PROGRAM, **env):
    """The program, with the runtime in it, after it has said that it is ready."""
    port = guest.free_port()
    with guest.started(program, *args, env=guest.guest_env(LIB, port, **env),
                       stdout=subprocess.PIPE) as p:
        h = Host(p, port)
        assert h.line() == "ready"
        guest.answers(port)
        yield h


class Thread:
    def __init__(self, comment, block):
        head, *lines = block
        m = re.fullmatch(r'goroutine (\d+) \[([^,\]]+)(?:, (\d+) minutes)?\]:', head)
        assert m, head
        self.tid, self.state = int(m[1]), m[2]
        m = re.match(r'# thread ("(?:[^"\\]|\\.)*"), cpu (\d+\.\d+)s(?:, (.*))?$', comment)
        assert m, comment
        self.name, self.cpu, self.note = json.loads(m[1]), float(m[2]), m[3]
        self.frames, self.creator = [], None
        assert len(lines) % 2 == 0, block
        for function, place in zip(lines[::2], lines[1::2]):
            assert re.fullmatch(r"\t(.*|\?\?):\d+ \+0x[0-9a-f]+", place), place
            if function.startswith("created by "):
                self.creator = function[len("created by "):]
            else:
                assert function.endswith("(...)"), function
                self.frames.append(function[:-len("(...)")])


class Dump:
    """What debug=2 says, read as strictly as programs do that know Go's."""

    def __init__(self, text):
        self.text, self.deadlock, self.threads = text, [], []
        for block in text.strip("\n").split("\n\n"):
            lines = block.splitlines()
            if lines[0].startswith("# deadlock"):
                self.deadlock = lines
            else:
                self.threads.append(Thread(lines[0], lines[1:]))

    def named(self, name):
        found = [t for t in self.threads if t.name == name]
        assert len(found) == 1, f"{len(found)} threads named {name}:\n{self.text}"
        return found[0]


def settled(h, condition, what):
    """A dump in which that is so: threads take their time to get where they go."""
    last = []

    def look():
        last[:] = [h.dump()]
        try:
            return last[0] if condition(last[0]) else None
        except AssertionError:
            return None
    try:
        return until(what, look)
    except AssertionError as e:
        raise AssertionError(f"{e}\n{last[0].text if last else ''}") from e


def top(tool, path, *options):
    return guest.run(*tool, *options, "-top", path).stdout.decode()


def count_of(text, function):
    """Flat or cumulative, whichever is more, of the function in a table."""
    m = re.search(rf"^\s*(\d+)\s+\S+\s+\S+\s+(\d+)\s+\S+\s+{re.escape(function)}(?: \(inline\))?$",
                  text, re.M)
    return int(m[2]) if m else 0


KINDS = {
    "sleep": ("sleep", "wait_in_sleep"),
    "poll": ("IO wait", "wait_in_poll"),
    "epoll": ("IO wait", "wait_in_epoll"),
    "select": ("IO wait", "wait_in_select"),
    "read": ("IO wait", "wait_in_read"),
    "mutex": ("semacquire", "wait_in_mutex"),
    "rwlock": ("semacquire", "wait_in_rwlock"),
    "cond": ("sync.Cond.Wait", "wait_in_cond"),
    "pause": ("signal wait", "wait_in_pause"),
    "deaf sleep": ("sleep", "wait_in_sleep"),
    "spin": ("running", "spin"),
}


def is_kind(t):
    state, function = KINDS[t.name]
    return t.state == state and function in t.frames and "run_kind" in t.frames and \
        (not t.note or t.note.startswith("labels "))


def t_every_thread_is_there_with_name_state_and_stack():
    with host("kinds") as h:
        d = settled(h, lambda d: all(is_kind(d.named(n)) for n in KINDS), "all kinds of threads")
        assert len(d.threads) == 14, d.text
        main = [t for t in d.threads if "main" in t.frames]
        assert len(main) == 1 and main[0].tid == h.process.pid, d.text
        assert all(t.creator == "do_kinds" for t in d.threads if t.name in KINDS), d.text
        assert "sem" in [t.name for t in d.threads]
        assert h.dump("threads").named("poll").state == "IO wait"


def t_whatever_compilers_make_of_frames():
    """Registers of a thread that sleeps are not known; its stack must be, all the same."""
    for compiler in ("gcc", "clang"):
        for flags in ("-O0", "-O2 -fno-omit-frame-pointer", "-O3 -fstack-protector-all", "-Os",
                      "-O1 -fno-omit-frame-pointer -fstack-protector-all -fcf-protection"):
            program = guest.TMP / "compiled"
            guest.run(guest.tool(compiler), "-D_GNU_SOURCE", "-pthread", "-o", program, *flags.split(), TEXT)
            with host("kinds", program=program) as h:
                settled(h, lambda d: all(is_kind(d.named(n)) for n in KINDS), f"{compiler} {flags}")


def t_threads_carry_their_labels():
    with host("kinds") as h:
        settled(h, lambda d: all(is_kind(d.named(n)) for n in KINDS), "all kinds of threads")
        path = guest.TMP / "labels"
        path.write_bytes(h.get("goroutine"))
        text = guest.run(SONDE, "-tags", path).stdout.decode()
        jobs = re.search(r"^ *job: Total .*?\n((?: .*\n)+)", text, re.M)
        assert jobs, text
        # A thread starts with the labels of who starts it: every other one has a job of its own.
        found = {v: float(n) for n, v in re.findall(r"^ *([\d.]+) \([^)]*\): (.*)$", jobs[1], re.M)}
        assert found["sleep"] == found["epoll"] == found["spin"] == 1 and found["main"] == 7, text
        line = next(ln for ln in h.get("goroutine?debug=1").decode().splitlines() if '"thread":"spin"' in ln)
        assert '"job":"spin"' in line, line
        assert 'labels {"job":"spin"}' in h.dump().named("spin").note


def t_a_thread_that_cannot_be_asked_is_listed_as_such():
    def is_deaf(d):
        t = d.named('deaf "spin"')
        return "SIGPROF blocked" in (t.note or "") and t.frames == ["[not answering]", "run_kind"]

    with host("kinds") as h:
        before = settled(h, is_deaf, "a thread that blocks all signals").named('deaf "spin"').cpu
        until("its CPU time", lambda: h.dump().named('deaf "spin"').cpu > before)


def t_idle_workers_are_one_stack_with_their_count():
    with host("pool", 8) as h:
        settled(h, lambda d: sum("wait_in_cond" in t.frames for t in d.threads) == 8, "eight")
        text = h.get("goroutine?debug=1").decode()
        head, first = text.split("\n", 2)[:2]
        assert head == "goroutine profile: total 10", text
        assert re.fullmatch(r"8 @( 0x[0-9a-f]+)+", first), text
        assert re.search(r'^# labels: {"cpu":"\d+\.\d+s", "state":"sync.Cond.Wait", "thread":"threads"}$',
                         text, re.M), text
        assert re.search(r"^#\t0x[0-9a-f]+\t+wait_for_work\+0x[0-9a-f]+\t+/.*/threads\.c:\d+$", text, re.M), text


def t_a_main_loop_that_is_stuck_does_not_matter():
    with host("pool", 2) as h:
        d = settled(h, lambda d: any("main_loop" in t.frames and t.state == "semacquire"
                                     for t in d.threads), "the main loop in a mutex")
        assert not d.deadlock, d.text
        assert fetch(h.port, PROFILE + "heap")[0] == 200


def t_a_thousand_threads():
    with host("pool", 1000) as h:
        settled(h, lambda d: sum("wait_in_cond" in t.frames for t in d.threads) == 1000,
                "a thousand threads in their place")
        began = time.monotonic()
        text = h.get("goroutine?debug=1").decode()
        print(f"# 1002 threads in {1000 * (time.monotonic() - began):.0f} ms")
        assert text.startswith("goroutine profile: total 1002\n1000 @"), text[:500]


def t_all_forms_are_read_by_both_tools():
    tools = [[SONDE]]
    with contextlib.suppress(guest.Skip):
        tools.append([guest.tool("go"), "tool", "pprof"])
    with host("pool", 8) as h:
        settled(h, lambda d: sum("wait_in_cond" in t.frames for t in d.threads) == 8, "eight")
        for name, function, n in (("goroutine", "wait_for_work", 8), ("threads", "wait_for_work", 8),
                                  ("threadcreate", "start_pool", 8)):
            for form in ("", "?debug=1"):
                path = guest.TMP / f"{name}{'-text' if form else ''}"
                path.write_bytes(h.get(name + form))
                for tool in tools:
                    text = top(tool, path)
                    assert count_of(text, function) == n, f"{tool} {name}{form}:\n{text}"
        path = guest.TMP / "goroutine"
        text = guest.run(SONDE, "-tags", path).stdout.decode()
        for label in ("thread: Total 10", "state: Total 10", "cpu: Total 10", "sync.Cond.Wait"):
            assert label in text, f"{label}:\n{text}"


def t_a_difference_of_nothing_is_nothing():
    with host("pool", 4) as h:
        settled(h, lambda d: sum("wait_in_cond" in t.frames for t in d.threads) == 4, "four")
        path = guest.TMP / "delta"
        path.write_bytes(h.get("goroutine?seconds=1"))
        assert "Total samples = 0" in (text := top([SONDE], path)) or "of 0 total" in text, text


def total_created(h):
    return int(re.match(r"threadcreate profile: total (\d+)\n", h.get("threadcreate?debug=1").decode())[1])


def t_creators_are_counted_with_their_whole_stack():
    with host("pool", 5) as h:
        text = h.get("threadcreate?debug=1").decode()
        assert text.startswith("threadcreate profile: total 7\n"), text
        block = next(b for b in text.split("\n\n") if "start_pool" in b)
        assert re.search(r"^5 @", block, re.M), text
        names = re.findall(r"^#\t0x[0-9a-f]+\t+(\w+)\+", block, re.M)
        assert names[:2] == ["start_pool", "do_pool"] and "main" in names, names
        assert "1 @ 0x3\n#\t0x2\t[started before the runtime, or not seen by it]\n" in text, text


def t_a_thread_is_counted_once_at_any_moment_of_its_life():
    port = guest.free_port()
    with guest.started(PROGRAM, "pool", 1000, env=guest.guest_env(LIB, port), stdout=subprocess.PIPE) as p:
        h, last = Host(p, port), 1
        guest.answers(port)
        while last < 1002:
            n = total_created(h)
            assert last <= n <= 1002, f"{n} after {last}"
            last = n
        assert h.line() == "ready" and total_created(h) == 1002


def t_threads_that_come_and_go():
    with host("churn") as h:
        for i in range(30):
            d = h.dump()
            assert len(d.threads) >= 4, d.text
            h.get("goroutine?debug=1" if i % 2 else "goroutine")
        last = n = 0
        while n < 100 or last <= 30:
            n += 1
            text = h.get("threadcreate?debug=1").decode()
            # Who begins and who ends is not taken for somebody from before our time.
            assert "\n1 @ 0x3\n" in text, text
            total = int(re.match(r"threadcreate profile: total (\d+)\n", text)[1])
            assert total >= last, f"{total} after {last}"
            last = total
        assert h.process.poll() is None


def t_while_children_are_made():
    with host("forks") as h:
        settled(h, lambda d: d.named("forks") and d.named("spawns"), "threads with their names")
        for _ in range(30):
            d = h.dump()
            assert d.named("forks") and d.named("spawns"), d.text
            h.get("goroutine")
        assert settled(h, lambda d: "spin" in d.named("spin").frames, "the spinning thread")
        h.process.terminate()
        said = h.process.stdout.read().decode()
        assert said == "", said


def t_a_thread_that_becomes_another_program():
    port = guest.free_port()
    with guest.started(PROGRAM, "exec", 12, env=guest.guest_env(LIB, port),
                       stdout=subprocess.PIPE) as p:
        done = threading.Event()

        def keep_asking():
            while not done.is_set():
                fetch(port, PROFILE + "goroutine", timeout=5)
        asker = threading.Thread(target=keep_asking)
        asker.start()
        try:
            status = p.wait(guest.LIMIT)
        finally:
            done.set()
            asker.join()
        assert status == 0, f"status {status}"


def t_who_sleeps_is_not_interrupted():
    def sleeping(d):
        found = [t for t in d.threads if t.name == "sleeper"]
        return len(found) == 24 and all("sleep_on" in t.frames and t.state != "running" for t in found)

    def interrupted():
        h.process.send_signal(signal.SIGUSR1)
        return int(h.line().removeprefix("interrupted "))

    with host("sleepers") as h:
        # A thread that is about to sleep, but does not yet, is asked by signal, and that may be too late.
        settled(h, sleeping, "24 threads asleep")
        for _ in range(20):
            before = interrupted()
            tasks = pathlib.Path(f"/proc/{h.process.pid}/task")
            until("all asleep", lambda: all((t / "stat").read_text().rpartition(")")[2].split()[0] == "S"
                                            for t in tasks.iterdir()))
            h.dump()
            if interrupted() == before:
                break
        for _ in range(20):
            assert sleeping(h.dump())
            h.get("goroutine?debug=1")
        assert interrupted() == before, f"{interrupted() - before} of 24 threads in 40 dumps"


def t_a_host_that_handles_the_signal_is_left_alone():
    with host("owner") as h:
        d = settled(h, lambda d: d.named("spin").frames[0] == "[not answering]", "no answer")
        assert "no signal to ask" in d.named("spin").note, d.text
        assert any("wait_in_sleep" in t.frames for t in d.threads), d.text
        h.process.terminate()
        said = h.process.stdout.read().decode()
        assert said == "", said


def in_ring(n):
    return lambda d: sum("take_next" in t.frames for t in d.threads) == n


def t_a_cycle_of_mutexes_is_called_a_deadlock():
    for n in (2, 3, 7):
        with host("cycle", n) as h:
            d = settled(h, lambda d: d.deadlock, f"a deadlock of {n}")
            assert d.deadlock[0] == f"# deadlock: {n} threads wait for each other", d.text
            pairs = re.findall(r'goroutine \d+ "ring-(\d+)" waits for mutex 0x[0-9a-f]+, held by '
                               r'goroutine \d+ "ring-(\d+)"', "\n".join(d.deadlock))
            assert sorted((int(a), int(b)) for a, b in pairs) == [(i, (i + 1) % n) for i in range(n)], \
                d.deadlock
            assert all(d.named(f"ring-{i}").state == "deadlock" for i in range(n)), d.text


def t_mutexes_of_all_types_make_deadlocks():
    for kind in range(7):
        with host("type", kind) as h:
            d = settled(h, lambda d: d.deadlock, f"a deadlock of type {kind}")
            assert len(d.deadlock) == 3, d.text


def t_a_child_does_not_take_its_parents_profiles():
    with host("background", SONDE_HEAP_RATE=1) as h:
        def keep_busy(path):
            # It may be refused itself, by the question whether it is there.
            until(path, lambda: fetch(h.port, PROFILE + path, timeout=guest.LIMIT)[0] != 500)
        running = [threading.Thread(target=keep_busy, args=[path])
                   for path in ("trace?seconds=60", "profile?seconds=60")]
        for t in running:
            t.start()
        until("a trace", lambda: fetch(h.port, PROFILE + "trace?seconds=0.1")[0] == 500)
        until("a profile", lambda: fetch(h.port, PROFILE + "profile?seconds=1")[0] == 500)
        h.process.send_signal(signal.SIGUSR1)
        child = int(h.line())
        try:
            until("the child's answer", lambda: fetch(h.port, PROFILE + "cmdline")[0] == 200)
            for t in running:
                t.join()
            assert json.loads(h.get("trace?seconds=0.1"))["traceEvents"]
            h.get("profile?seconds=1")
            text = h.get("threadcreate?debug=1").decode()
            assert text.startswith("threadcreate profile: total 1\n"), text
            assert [t.tid for t in h.dump().threads] == [child]
        finally:
            os.kill(child, signal.SIGKILL)


def t_a_thread_that_waits_for_itself():
    with host("self") as h:
        d = settled(h, lambda d: d.deadlock, "a deadlock of one")
        assert d.deadlock[0] == "# deadlock: a thread waits for itself", d.text


def t_waiting_is_no_deadlock():
    with host("chain", 4) as h:
        d = settled(h, in_ring(3), "a chain")
        assert not d.deadlock and d.named("ring-0").state == "semacquire", d.text
    with host("cycle", 3, 100) as h:
        for _ in range(5):
            d = settled(h, in_ring(3), "threads that try")
            assert not d.deadlock, d.text


def events(trace, group, kind):
    return [e for e in trace["traceEvents"] if e["ph"] == kind and e.get("pid") == group]


def check_tracks(trace, group):
    """Events of one track must not overlap: viewers take that for nesting."""
    by_tid = {}
    for e in events(trace, group, "X"):
        assert e["ts"] >= 0 and e["dur"] > 0 and e["name"], e
        by_tid.setdefault(e["tid"], []).append((e["ts"], e["ts"] + e["dur"]))
    for spans in by_tid.values():
        spans.sort()
        assert all(b[0] >= a[1] - 0.01 for a, b in zip(spans, spans[1:])), spans
    return by_tid


def t_a_trace_shows_what_threads_did():
    with host("fight") as h:
        settled(h, lambda d: any("do_fight" in t.frames and t.state == "sleep" for t in d.threads) and
                d.named("fight-1") and d.named("fight-2") and d.named("spin"), "all in their places")
        for seconds in (1.5, 6, 24):  # the longer, the less it matters when a busy machine lets it begin
            trace = json.loads(h.get(f"trace?seconds={seconds}"))
            names = {e["args"]["name"]: e["tid"] for e in events(trace, 1, "M") if e["name"] == "thread_name"}
            assert {"fight-1", "fight-2", "spin", "threads"} <= set(names), names
            spans = check_tracks(trace, 1)
            covered = {name: sum(b - a for a, b in spans.get(tid, [])) for name, tid in names.items()}
            if min(covered.values()) > 0.8e6 * seconds:
                break
        assert min(covered.values()) > 0.8e6 * seconds, f"{covered} us of {seconds} s"
        states = {e["name"] for e in events(trace, 1, "X") if e["tid"] == names["spin"]}
        assert states <= {"running", "runnable"} and "running" in states, states
        states = {e["name"] for e in events(trace, 1, "X") if e["tid"] == names["threads"]}
        assert states == {"sleep"}, states
        assert events(trace, 1, "C"), "no load"
        assert trace["otherData"]["slices lost"] == 0, trace["otherData"]


def t_a_trace_has_every_wait_for_a_lock():
    with host("fight") as h:
        for seconds in (1, 2, 5, 20):
            trace = json.loads(h.get(f"trace?seconds={seconds}"))
            check_tracks(trace, 2)
            waits = events(trace, 2, "X")
            # Each holds it for 20 ms, and somebody else waits meanwhile.
            if len(waits) > 5 and sum(e["dur"] for e in waits) > 100000:
                break
        assert len(waits) > 5 and all(e["name"] == "mutex" for e in waits), waits
        assert len({e["args"]["object"] for e in waits}) == 1, waits
        assert all(e["args"]["stack"][0] == "hold_for_a_while" for e in waits), waits
        assert sum(e["dur"] for e in waits) > 100000, waits


def t_one_trace_at_a_time():
    with host("fight") as h:
        with guest.taking(h.port, "trace?seconds=1000") as (_, refused):
            said = refused.recv(65536)
        assert said.startswith(b"HTTP/1.1 500 ") and \
            said.endswith(b"\r\nCould not enable tracing: runtime error: tracing is already enabled\n"), said
        # The other client has gone, too.
        again = until("another trace", lambda: next((body for status, body in [
            fetch(h.port, PROFILE + "trace?seconds=0.1")] if status == 200), None))
        assert json.loads(again)["traceEvents"]


if __name__ == "__main__":
    sys.exit(guest.main(globals(), sys.argv[9:]))
