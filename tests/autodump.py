#!/usr/bin/env python3
"""Heap dumps that a program's own growth sets off: when, where to, and that the program never notices.

usage: autodump.py --sonde PROGRAM --lib LIBRARY [NAME...]	sonded is beside the program

SPDX-License-Identifier: Apache-2.0
"""
import contextlib
import gzip
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import time

import guest
from guest import LIMIT, TMP, Skip, answers, clean, compile_c, fetch, free_port, run, tool, until
from kube_server import Cluster

SONDE, LIB = guest.argument("sonde"), guest.argument("lib")
MB = 1000000

# Does what it is told on its standard input, and answers with a line.
HOST = r"""
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile int children, others;
static void on_child(int sig) { (void)sig; children++; }
static void on_other(int sig) { (void)sig; others++; }

__attribute__((noinline)) void *leak(size_t n)
{
	return malloc(n);
}

/* Every 'bits' is another way down here. */
__attribute__((noinline)) static void *left(unsigned bits, int depth);
__attribute__((noinline)) static void *right(unsigned bits, int depth)
{
	void *p = depth == 0 ? malloc(300) : bits & 1 ? left(bits >> 1, depth - 1) : right(bits >> 1, depth - 1);

	__asm__ volatile("" : "+r"(p));
	return p;
}

static void *left(unsigned bits, int depth)
{
	void *p = depth == 0 ? malloc(300) : bits & 1 ? left(bits >> 1, depth - 1) : right(bits >> 1, depth - 1);

	__asm__ volatile("" : "+r"(p));
	return p;
}

static void leak_and_touch(size_t n, size_t each, int ms)
{
	for (size_t i = 0; i < n; i += each) {
		void *p = leak(each);

		if (!p)
			break;
		memset(p, 1, each);
		if (ms)
			usleep(ms * 1000);
	}
}

/* From here on, starting a process is the end of this one. */
static int filter(void)
{
	static struct sock_filter f[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_clone, 2, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_memfd_create, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
	};
	struct sock_fprog program = { sizeof(f) / sizeof(f[0]), f };

	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0);
}

static unsigned long pages(void)
{
	unsigned long n = 0;
	FILE *f = fopen("/proc/self/statm", "r");

	if (fscanf(f, "%lu", &n) != 1)
		abort();
	fclose(f);
	return n;
}

/* Children of its own, one after the other, while memory grows: how many others wait() found. */
static int churn(int n)
{
	int strange = 0;

	for (int i = 0; i < n; i++) {
		pid_t child = fork(), got;

		if (child == 0)
			_exit(0);
		leak(100000);
		do
			got = waitpid(-1, NULL, 0);
		while (got < 0 && errno == EINTR);
		strange += got != child;
		usleep(2000);
	}
	return strange;
}

static int count_files(void)
{
	DIR *d = opendir("/proc/self/fd");
	int n = 0;

	while (readdir(d))
		n++;
	closedir(d);
	return n;
}

int main(void)
{
	char line[256];
	size_t n, each;
	int ms;

	signal(SIGCHLD, on_child);
	signal(SIGHUP, on_other);
	setvbuf(stdout, NULL, _IONBF, 0);
	while (fgets(line, sizeof(line), stdin)) {
		if (sscanf(line, "touch %zu %zu %d", &n, &each, &ms) == 3)
			leak_and_touch(n, each, ms);
		else if (sscanf(line, "grow %zu", &n) == 1)
			leak(n);
		else if (sscanf(line, "ways %zu", &n) == 1)
			for (unsigned i = 0; i < n; i++)
				left(i, 17);
		else if (sscanf(line, "limit %zu", &n) == 1) {
			struct rlimit l = { pages() * 4096 + n, RLIM_INFINITY };

			setrlimit(RLIMIT_AS, &l);
			printf("%d ", malloc(2 * n) == NULL);
		} else if (!strncmp(line, "children", 8)) {
			int r = waitpid(-1, NULL, WNOHANG), e = errno;

			printf("%d %d %d %d ", children, others, r, e == ECHILD);
		} else if (sscanf(line, "churn %zu", &n) == 1) {
			int strange = churn((int)n);

			printf("%d %d ", strange, children);
		} else if (!strncmp(line, "filter", 6))
			printf("%d ", filter());
		else if (!strncmp(line, "files", 5))
			printf("%d ", count_files());
		puts(".");
	}
	return 0;
}
"""
_host = []


def host_program():
    if not _host:
        _host.append(compile_c("host", HOST))
    return _host[0]


class Host:
    """A program that does what it is told, with the library in it and a log of its own."""

    count = 0

    def __init__(self, *before, program=None, **env):
        Host.count += 1
        self.store = TMP / f"store-{Host.count}"
        self.store.mkdir()
        self.log = TMP / f"log-{Host.count}"
        more = {"SONDE_DUMP": f"dir:{self.store}", "SONDE_MEMLOG": "300ms"} | env
        env = clean(LD_PRELOAD=LIB, SONDE_LOG=self.log, **{k: v for k, v in more.items() if v is not None})
        if before:  # those are not to have the library themselves
            preload = ["env", f"LD_PRELOAD={env.pop('LD_PRELOAD')}"]
        self.p = subprocess.Popen([*before, *(preload if before else []), program or host_program()],
                                  stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=env, text=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.p.stdin.close()
        try:
            self.p.wait(LIMIT)
        except subprocess.TimeoutExpired:
            self.p.kill()
            self.p.wait()
        self.p.stdout.close()

    def tell(self, command):
        self.p.stdin.write(command + "\n")
        self.p.stdin.flush()

    def ask(self, command):
        self.tell(command)
        answer = self.p.stdout.readline()
        assert answer.endswith(".\n"), f"{command}: {answer!r}, status {self.p.poll()}\n{self.said()[-2000:]}"
        return [int(w) for w in answer.split()[:-1]]

    def said(self):
        return self.log.read_text(errors="replace") if self.log.exists() else ""

    def until(self, what, condition):
        """Waits for it; what the program logged tells why it did not come."""
        try:
            return until(what, condition)
        except AssertionError as e:
            raise AssertionError(f"{e}\n{self.said()[-2000:]}") from None

    def entries(self):
        return self.said().count("MemStats:")

    def after_periods(self, n=3):
        """Waits until the rules have been looked at some times more."""
        before = self.entries()
        self.until("entries in the log", lambda: self.entries() >= before + n)

    def stored(self):
        return self.said().count("stored a heap dump in")

    def wait_stored(self, n):
        self.until(f"dump {n} stored", lambda: self.stored() >= n)
        assert self.stored() == n, self.said()


def listing(where, env=None):
    return json.loads(run(SONDE, "dumps", "--store", where, "--json", "list", env=env or clean()).stdout)


def newest(where, prefix="host", env=None):
    return run(SONDE, "dumps", "--store", where, "get", prefix, env=env or clean()).stdout


def top(profile):
    path = TMP / "got.pb.gz"
    path.write_bytes(profile)
    return run(SONDE, "-top", "-sample_index=inuse_space", path, env=clean()).stdout.decode()


def t_the_first_dump_comes_above_330_million_bytes():
    with Host() as h:
        h.ask(f"grow {328 * MB}")
        h.after_periods()
        assert h.stored() == 0 and "heap dump" not in h.said(), h.said()
        h.ask(f"grow {2500000}")
        h.wait_stored(1)
        h.after_periods()
        assert h.stored() == 1, h.said()
        profile = newest(f"dir:{h.store}")
        assert re.search(r" (100|9\d(\.\d+)?)%.* leak\n", top(profile)), top(profile)


def t_the_next_one_comes_a_tenth_above_the_last():
    with Host() as h:
        h.ask(f"grow {340 * MB}")
        h.wait_stored(1)
        first = int(record_number(h, "keyHeapInUse"))
        h.ask(f"grow {373 * MB - first}")
        h.after_periods()
        assert h.stored() == 1, h.said()
        h.ask(f"grow {2 * MB}")
        h.wait_stored(2)
        assert len(listing(f"dir:{h.store}")) == 2, listing(f"dir:{h.store}")


def record_number(h, key):
    text = (h.store / "host-heap").read_text()
    found = re.search(rf'"{key}": *"?(\d+)', text)
    assert found, text
    return found[1]


def t_a_store_that_fails_is_tried_again_each_period():
    with Host(SONDE_DUMP_ABOVE=10 * MB) as h:
        h.store.rmdir()
        h.ask(f"grow {20 * MB}")
        h.until("three failures", lambda: h.said().count("cannot store a heap dump") >= 3)
        assert h.stored() == 0
        reason = re.search(r"cannot store a heap dump in dir:\S+: (.*)", h.said())[1]
        assert "No such file" in reason or "no such file" in reason, reason
        h.store.mkdir()
        h.wait_stored(1)
        h.after_periods()
        assert h.stored() == 1


def t_the_program_never_hears_of_it():
    with Host(SONDE_DUMP_ABOVE=10 * MB, SONDE_DUMP_GROWTH=1) as h:
        h.after_periods(1)
        files = min(h.ask("files") for _ in range(20))  # one of ours may be open for a moment
        for i in range(1, 6):
            h.ask(f"grow {20 * MB}")
            h.wait_stored(i)
        assert h.ask("children") == [0, 0, -1, 1]
        h.until("as many files as before", lambda: h.ask("files") == files)
        h.until("no process beside it", lambda: children_of(h.p.pid) == [])


def t_its_own_children_are_the_only_ones_it_finds():
    with Host(SONDE_MEMLOG="20ms", SONDE_DUMP_ABOVE=MB, SONDE_DUMP_GROWTH=0) as h:
        assert h.ask("churn 800") == [0, 800]
        h.until("many dumps", lambda: h.stored() >= 5)


def children_of(pid):
    found = []
    for stat in pathlib.Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            fields = stat.read_text().rpartition(")")[2].split()
            if int(fields[1]) == pid:
                found.append((int(stat.parent.name), fields[0]))
    return found


def t_nor_if_it_is_the_first_process_of_a_container():
    unshare = [tool("unshare"), "--fork", "--pid", "--mount-proc"]
    if subprocess.run([*unshare, "true"], capture_output=True).returncode != 0:
        raise Skip("no namespaces of processes here")
    with Host(*unshare, SONDE_DUMP_ABOVE=10 * MB) as h:
        h.ask(f"grow {20 * MB}")
        h.wait_stored(1)
        h.after_periods(1)
        assert h.ask("children") == [0, 0, -1, 1]


def fake_sonded(name, *lines):
    path = TMP / name
    path.write_text("#!/bin/sh\n" + "\n".join(lines) + "\n")
    path.chmod(0o755)
    return path


def t_what_is_started_gets_a_clean_place():
    out = TMP / "seen"
    sonded = fake_sonded("sonded-tells", f"exec > {out}", "echo ARGS: $*", "env", "ls -l /proc/$$/fd",
                         "cat | gzip -t && echo PROFILE", "echo DONE")
    with Host(SONDE_DUMP_ABOVE=10 * MB, SONDED=sonded, SONDE_TOKEN="secret", MY_POD_NAME="pod-1",
              SONDE_DUMP_PREFIX="main-landscaper") as h:
        h.ask(f"grow {20 * MB}")
        h.wait_stored(1)
    seen = out.read_text()
    assert "DONE" in seen and "PROFILE" in seen, seen
    assert re.search(r"ARGS: store --to dir:\S+ --prefix main-landscaper --run [0-9a-f]{16} "
                     r"--heap-in-use \d+ --heap-alloc \d+ -\n", seen), seen
    assert "LD_PRELOAD" not in seen and "secret" not in seen and "MY_POD_NAME=pod-1" in seen, seen
    numbers = set(re.findall(r" (\d+) -> ", seen))
    assert numbers <= {"0", "1", "2", "10"}, seen  # 10: the shell's own


SIGNALS = r"""
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

/* Tells on standard error which signals are blocked or not as they are at first. */
int main(void)
{
	struct sigaction is;
	sigset_t blocked;

	sigprocmask(SIG_SETMASK, NULL, &blocked);
	for (int i = 1; i < 32; i++)
		if (sigismember(&blocked, i) || (sigaction(i, NULL, &is) == 0 && is.sa_handler != SIG_DFL))
			fprintf(stderr, "signal %d ", i);
	fputs("all looked at", stderr);
	return 3;
}
"""


def t_signals_are_as_they_are_at_first():
    with Host(SONDE_DUMP_ABOVE=10 * MB, SONDED=compile_c("sonded-signals", SIGNALS)) as h:
        h.ask(f"grow {20 * MB}")
        h.until("the answer", lambda: "all looked at" in h.said())
        assert re.search(r"dir:\S+: all looked at", h.said()), h.said()


def t_the_program_may_end_while_it_is_stored():
    begun, may_end, out = TMP / "begun", TMP / "may-end", TMP / "later"
    sonded = fake_sonded("sonded-slow", f"cat > {begun}", f"while [ ! -e {may_end} ]; do sleep 0.1; done",
                         f"echo done > {out}")
    with Host(SONDE_DUMP_ABOVE=10 * MB, SONDED=sonded) as h:
        h.ask(f"grow {20 * MB}")
        h.until("the store", lambda: "storing a heap dump" in h.said())
        until("a process beside it", begun.exists)
        assert children_of(h.p.pid), "nobody waits for it"
        assert h.ask("children") == [0, 0, -1, 1]
        h.p.stdin.close()
        h.p.wait(LIMIT)
        assert h.p.returncode == 0 and not out.exists()
        may_end.touch()
    until("the end of the store", out.exists)


def t_a_message_of_sonded_is_in_the_log():
    sonded = fake_sonded("sonded-fails", "echo 'the disk is full' >&2", "exit 3")
    with Host(SONDE_DUMP_ABOVE=10 * MB, SONDED=sonded) as h:
        h.ask(f"grow {20 * MB}")
        h.until("the message", lambda: "the disk is full; trying again" in h.said())
    with Host(SONDE_DUMP_ABOVE=10 * MB, SONDED=fake_sonded("sonded-dies", "kill -9 $$")) as h:
        h.ask(f"grow {20 * MB}")
        h.until("the message", lambda: "cannot store a heap dump" in h.said())
        assert h.stored() == 0


def t_behind_a_filter_nothing_is_started():
    with Host(SONDE_DUMP_ABOVE=10 * MB) as h:
        h.after_periods(1)
        if h.ask("filter") != [0]:
            raise Skip("no seccomp filters here")
        h.ask(f"touch {20 * MB} {MB} 0")
        h.until("the reason", lambda: "behind a seccomp filter" in h.said())
        h.after_periods()
        assert h.ask("children") == [0, 0, -1, 1] and h.stored() == 0


API = r"""
#include <sonde.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int stored;

static void take(void *context, const char *line)
{
	(void)context;
	if (strstr(line, "stored a heap dump"))
		__atomic_fetch_add(&stored, 1, __ATOMIC_SEQ_CST);
}

int main(int argc, char **argv)
{
	struct sonde_options o = { SONDE_OPTIONS, .memlog_ns = 50000000, .log_call = take, .dump = argv[1],
				   .dump_prefix = "by-hand", .dump_above = 10000000, .dump_growth = 100 };

	for (int i = 1; i <= argc; i++) { /* and once more after it was off */
		if (sonde_start(&o) != 0)
			return 1;
		free(malloc(1));
		if (i == 1)
			memset(malloc(20000000), 1, 20000000);
		for (int n = 0; n < 6000 && __atomic_load_n(&stored, __ATOMIC_SEQ_CST) < i; n++)
			usleep(10000);
		sonde_stop();
		if (stored != i)
			return 2;
	}
	return 0;
}
"""


def t_a_program_can_ask_for_them_itself():
    include = pathlib.Path(__file__).parent.parent / "include"
    program = compile_c("dump-api", API, f"-I{include}", LIB, f"-Wl,-rpath,{pathlib.Path(LIB).parent}")
    store = TMP / "api-store"
    store.mkdir()
    run(program, f"dir:{store}", env=clean())
    assert (store / "by-hand-heap").exists() and len(listing(f"dir:{store}")) == 2


def t_without_sonded_the_log_and_the_profile_say_so():
    port = free_port()
    with Host(SONDE_DUMP_ABOVE=10 * MB, SONDED="/nowhere/sonded", SONDE_ADDR=f"127.0.0.1:{port}") as h:
        h.ask(f"grow {20 * MB}")
        h.after_periods()
        assert h.said().count("sonded was not found") == 1, h.said()
        answers(port)
        path = TMP / "commented.pb.gz"
        path.write_bytes(fetch(port, "/debug/pprof/heap")[1])
        comments = run(SONDE, "-comments", path, env=clean()).stdout
        assert b"no automatic dumps: sonded was not found" in comments, comments


def t_names_come_from_the_environment_or_the_program():
    program = TMP / "Main_Landscaper.bin"
    program.write_bytes(pathlib.Path(host_program()).read_bytes())
    program.chmod(0o755)
    with Host(program=str(program), SONDE_DUMP_ABOVE=10 * MB) as h:
        h.ask(f"grow {20 * MB}")
        h.wait_stored(1)
        text = (h.store / "main-landscaper-bin-heap").read_text()
        assert os.uname().nodename in text, text
        assert (h.store / "main-landscaper-bin-heap-0").exists()
    link = TMP / "as-it-is-called"
    link.symlink_to(host_program())
    with Host(program=str(link), SONDE_DUMP_ABOVE=10 * MB) as h:
        h.ask(f"grow {20 * MB}")
        h.wait_stored(1)
        assert (h.store / "as-it-is-called-heap").exists()
    with Host(SONDE_DUMP_ABOVE=10 * MB, SONDE_DUMP_PREFIX="helm-deployer", MY_POD_NAME="pod-7") as h:
        h.ask(f"grow {20 * MB}")
        h.wait_stored(1)
        assert "pod-7" in (h.store / "helm-deployer-heap").read_text()


def t_a_restart_keeps_what_was_before():
    store = TMP / "kept"
    store.mkdir()
    for size in (60, 30):
        with Host(SONDE_DUMP=f"dir:{store}", SONDE_DUMP_ABOVE=20 * MB) as h:
            h.ask(f"grow {size * MB}")
            h.wait_stored(1)
    assert len(listing(f"dir:{store}")) == 2, listing(f"dir:{store}")


def t_a_jump_does_not_wait_for_the_period():
    with Host(SONDE_MEMLOG="1h", SONDE_DUMP_ABOVE=50 * MB) as h:
        h.ask(f"touch {80 * MB} {MB} 0")
        h.wait_stored(1)
    with Host(SONDE_MEMLOG=None, SONDE_DUMP_ABOVE=50 * MB) as h:
        h.ask(f"touch {80 * MB} {MB} 0")
        h.wait_stored(1)


@contextlib.contextmanager
def group(limit):
    """A cgroup with so much memory; gives what puts a command into it."""
    for base, name in (("/sys/fs/cgroup/memory", "memory.limit_in_bytes"), ("/sys/fs/cgroup", "memory.max")):
        folder = pathlib.Path(base) / f"sonde-test-{os.getpid()}"
        try:
            folder.mkdir()
        except OSError:
            continue
        try:
            (folder / name).write_text(str(limit))
        except OSError:
            folder.rmdir()
            continue
        try:
            yield ["sh", "-c", f'echo $$ > {folder}/cgroup.procs && exec "$@"', "sh"]
        finally:
            until("the group to be empty", lambda: not (folder / "cgroup.procs").read_text().split())
            folder.rmdir()
        return
    raise Skip("no memory cgroups can be made here")


def t_a_dump_is_there_when_the_cgroup_kills():
    with group(300 * MB) as into:
        # 60 MB a second: from nothing to the end in five seconds.
        with Host(*into, SONDE_MEMLOG="1h", SONDE_DUMP_ABOVE="10G") as h:
            h.tell(f"touch {600 * MB} {MB} 16")
            assert h.p.wait(LIMIT) == -signal.SIGKILL, h.p.returncode
            with contextlib.suppress(BrokenPipeError):
                h.p.stdin.close()
    assert "(limit of the cgroup)" in h.said(), h.said()
    until("the dump", lambda: listing(f"dir:{h.store}"))
    profile = newest(f"dir:{h.store}")
    assert " leak\n" in top(profile) or b"leak" in gzip.decompress(profile), top(profile)
    # Some on the way, not one every second.
    assert h.said().count("storing a heap dump") <= 6, h.said()


def t_near_the_limit_there_is_no_loop():
    with group(200 * MB) as into:
        with Host(*into, SONDE_MEMLOG="1h", SONDE_DUMP_ABOVE="10G") as h:
            h.ask(f"touch {182 * MB} {MB} 0")
            h.until("a dump", lambda: h.stored() >= 1)
            for _ in range(5):
                time.sleep(1)
                h.ask("touch 100000 100000 0")
            assert h.said().count("storing a heap dump") <= 2, h.said()


def t_a_dump_is_there_before_the_limit_of_the_address_space():
    with Host("prlimit", f"--as={400 * MB}", SONDE_MEMLOG="1h", SONDE_DUMP_ABOVE="10G") as h:
        h.ask(f"touch {600 * MB} {MB} 16")
        h.until("a dump", lambda: h.stored() >= 1)
        assert "(RLIMIT_AS)" in h.said(), h.said()
        assert b"leak" in gzip.decompress(newest(f"dir:{h.store}"))


def t_eight_megabytes_are_enough():
    with Host(SONDE_MEMLOG="1h", SONDE_DUMP_ABOVE="10G") as h:
        h.ask(f"touch {100 * MB} {MB} 0")
        h.until("the start", lambda: h.entries() >= 1)
        assert h.ask(f"limit {8 << 20}") == [1]  # and malloc() fails
        h.until("a dump", lambda: h.stored() >= 1)
        assert h.ask("children") == [0, 0, -1, 1]
        assert b"leak" in gzip.decompress(newest(f"dir:{h.store}"))


def t_they_are_enough_for_any_number_of_stacks():
    ways = 60000
    with Host(SONDE_MEMLOG="1h", SONDE_DUMP_ABOVE="10G", SONDE_HEAP_RATE=1) as h:
        h.ask(f"ways {ways}")
        h.ask(f"grow {100 * MB}")
        h.until("the start", lambda: h.entries() >= 1)
        assert h.ask(f"limit {8 << 20}") == [1]
        h.until("a dump", lambda: h.stored() >= 1)
        assert h.ask("children") == [0, 0, -1, 1]
        path = TMP / "ways.pb.gz"
        path.write_bytes(newest(f"dir:{h.store}"))
    assert run(SONDE, "-comments", path, env=clean()).stdout == b""
    for reader in ([SONDE], [tool("go"), "tool", "pprof"]):
        text = run(*reader, "-top", "-sample_index=inuse_objects", path, env=clean(HOME=TMP)).stdout.decode()
        total = int(re.search(r" of (\d+) total", text)[1])
        assert ways < total < ways + 100 and " right\n" in text, text


def t_from_outside_the_rules_are_the_same():
    port, store = free_port(), TMP / "watched"
    store.mkdir()
    with Host(SONDE_DUMP=None, SONDE_MEMLOG=None, SONDE_ADDR=f"127.0.0.1:{port}") as h:
        answers(port)
        h.ask(f"grow {328 * MB}")
        watch = [str(pathlib.Path(SONDE).parent / "sonded"), "watch", "--to", f"dir:{store}", "--period", "100ms"]
        done = run(*watch, "--looks", "2", f"main=127.0.0.1:{port}", env=clean())
        assert b"stored" not in done.stderr, done.stderr
        h.ask(f"grow {3 * MB}")
        done = run(*watch, "--looks", "2", f"main=127.0.0.1:{port}", env=clean())
        assert done.stderr.count(b"stored a heap dump") == 1, done.stderr
        assert b"leak" in gzip.decompress(newest(f"dir:{store}", "main"))


def t_in_a_pod_the_old_switch_is_enough():
    cluster = Cluster()
    if cluster.real:
        raise Skip("only with the server of these tests")
    try:
        env = {k: v for k, v in cluster.environment().items() if k.startswith(("KUBERNETES", "SONDE_"))}
        port = free_port()
        with Host(ENABLE_PROFILER="true", SONDE_DUMP=None, SONDE_ADDR=f"127.0.0.1:{port}",
                  SONDE_DUMP_PREFIX="main-landscaper", MY_POD_NAME="main-1", **env) as h:
            h.ask(f"grow {340 * MB}")
            h.wait_stored(1)
            assert h.ask("children") == [0, 0, -1, 1]
        names = sorted(cluster.state.secrets)
        assert "main-landscaper-heap" in names and "main-landscaper-heap-0" in names, (names, h.said())
        rows = listing("kube:", cluster.environment())
        assert len(rows) == 1 and "main-1" in json.dumps(rows), (rows, h.said())
        profile = newest("kube:", "main-landscaper", cluster.environment())
        assert b"leak" in gzip.decompress(profile), (top(profile), h.said())
    finally:
        cluster.close()


def t_rights_that_are_missing_are_named_at_the_start():
    cluster = Cluster()
    if cluster.real:
        raise Skip("only with the server of these tests")
    try:
        cluster.state.denied.add("delete")
        env = {k: v for k, v in cluster.environment().items() if k.startswith(("KUBERNETES", "SONDE_"))}
        with Host(SONDE_DUMP="kube:", **env) as h:
            h.until("the message", lambda: "may not delete secrets" in h.said())
    finally:
        cluster.close()


if __name__ == "__main__":
    AT = sys.argv.index("--lib") + 2
    sys.exit(guest.main(dict(globals()), sys.argv[AT:]))
