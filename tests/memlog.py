#!/usr/bin/env python3
"""The memory log and memory statistics: their layout, and whether the numbers are true.

usage: memlog.py --sonde PROGRAM --lib LIBRARY [NAME...]

Numbers are held against what an allocator tells the program itself in another way (malloc_info,
malloc_stats_print, MallocExtension_GetStats), what the program has counted, and /proc.

SPDX-License-Identifier: Apache-2.0
"""
import contextlib
import json
import os
import pathlib
import re
import subprocess
import sys
import threading
import time
import xml.etree.ElementTree

import guest
from guest import LIMIT, TMP, Skip, answers, clean, compile_c, fetch, free_port, tool, until

SONDE, LIB = guest.argument("sonde"), guest.argument("lib")
MIB = 1 << 20
LIBRARIES = {"glibc": None, "jemalloc": "libjemalloc.so.2", "tcmalloc": "libtcmalloc.so.4",
             "tcmalloc_minimal": "libtcmalloc_minimal.so.4", "mimalloc": "libmimalloc.so.2"}

# Does what it is told on its standard input, and answers with a line or more, and a dot.
HOST = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <malloc.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MOST = 1 << 20 };
static void *blocks[MOST];
static void *volatile last;
static int used;

static void say(void *to, const char *text) { (void)to; fputs(text, stdout); }

static void tell(void)
{
	void (*je)(void (*)(void *, const char *), void *, const char *) =
		dlsym(RTLD_DEFAULT, "malloc_stats_print");
	void (*tc)(char *, int) = dlsym(RTLD_DEFAULT, "MallocExtension_GetStats");
	static char text[65536];

	if (je)
		je(say, NULL, "Jmdablxe");
	else if (tc)
		tc(text, sizeof(text)), fputs(text, stdout);
	else
		malloc_info(0, stdout);
}

static void grow(int n, size_t size)
{
	for (int i = 0; i < n && used < MOST; i++) {
		blocks[used] = malloc(size);
		memset(blocks[used++], 1, size);
	}
}

static int not_yet;

static void *sleep_on_stack(void *unused)
{
	volatile char used_part[200000];

	for (unsigned i = 0; i < sizeof(used_part); i++)
		used_part[i] = 1;
	__atomic_fetch_sub(&not_yet, 1, __ATOMIC_SEQ_CST);
	pause();
	return unused;
}

static void start_threads(int n)
{
	pthread_attr_t attr;
	pthread_t t;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 4 << 20);
	not_yet = n;
	while (n-- > 0)
		pthread_create(&t, &attr, sleep_on_stack, NULL);
	while (__atomic_load_n(&not_yet, __ATOMIC_SEQ_CST) > 0)
		usleep(1000);
}

static long raw_syscall(long number, long a, long b, long c)
{
#ifdef __x86_64__
	__asm__ volatile("syscall" : "+a"(number) : "D"(a), "S"(b), "d"(c) : "rcx", "r11", "memory");
	return number;
#else
	return -1;
#endif
}

/* From here on, what only few programs do is the end of this one. */
static int filter(void)
{
	static const int deadly[] = { __NR_mincore, __NR_getrusage, __NR_clone, __NR_clone3,
				      __NR_timer_create, __NR_perf_event_open };
	struct sock_filter f[32];
	struct sock_fprog program = { 0, f };
	int n = 0;

	f[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0);
	for (unsigned i = 0; i < sizeof(deadly) / sizeof(deadly[0]); i++) {
		f[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, deadly[i], 0, 1);
		f[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS);
	}
	f[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	program.len = n;
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	/* In all threads, and past hooks: the runtime would end. */
	return (int)raw_syscall(__NR_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC,
				(long)&program);
}

static void fork_child(int ms)
{
	pid_t child = fork();

	if (child == 0) {
		usleep(ms * 1000);
		grow(1000, 1000);
		_exit(0);
	}
	waitpid(child, NULL, 0);
}

int main(void)
{
	static char line[256], output[65536];
	int n;
	size_t size;

	setvbuf(stdout, output, _IOFBF, sizeof(output));
	while (read(0, line, 1) == 1) { /* not stdio: it would allocate */
		for (n = 1; line[n - 1] != '\n' && read(0, line + n, 1) == 1; n++)
			;
		line[n - 1] = 0;
		if (sscanf(line, "grow %d %zu", &n, &size) == 2)
			grow(n, size);
		else if (sscanf(line, "shrink %d", &n) == 1)
			for (; n > 0 && used > 0; n--)
				free(blocks[--used]);
		else if (sscanf(line, "holes %d", &n) == 1)
			for (int i = 0; i < used; i += n)
				free(blocks[i]), blocks[i] = NULL;
		else if (sscanf(line, "churn %d %zu", &n, &size) == 2)
			for (; n > 0; n--)
				last = malloc(size), free(last);
		else if (sscanf(line, "threads %d", &n) == 1)
			start_threads(n);
		else if (sscanf(line, "fork %d", &n) == 1)
			fork_child(n);
		else if (strcmp(line, "filter") == 0)
			printf("%d\n", filter());
		else if (strcmp(line, "tell") == 0)
			tell();
		else if (strncmp(line, "chroot ", 7) == 0)
			printf("%d\n", chroot(line + 7));
		puts("\n.");
		fflush(stdout);
	}
	return 7;
}
"""

# An allocator that looks like jemalloc, and does not answer.
STUCK = r"""
#include <stddef.h>
#include <unistd.h>
void *__libc_malloc(size_t), *__libc_calloc(size_t, size_t), *__libc_realloc(void *, size_t);
void __libc_free(void *);
void *malloc(size_t n) { return __libc_malloc(n); }
void *calloc(size_t n, size_t m) { return __libc_calloc(n, m); }
void *realloc(void *p, size_t n) { return __libc_realloc(p, n); }
void free(void *p) { __libc_free(p); }
int mallctl(const char *a, void *b, size_t *c, void *d, size_t e)
{
	(void)a, (void)b, (void)c, (void)d, (void)e;
	for (;;)
		pause();
}
"""

FIELDS = """Alloc TotalAlloc Sys Lookups Mallocs Frees HeapAlloc HeapSys HeapIdle HeapInuse HeapReleased
HeapObjects StackInuse StackSys MSpanInuse MSpanSys MCacheInuse MCacheSys BuckHashSys GCSys OtherSys NextGC
LastGC PauseTotalNs NumGC NumForcedGC GCCPUFraction EnableGC DebugGC""".split()
PLAIN = {"Lookups", "Mallocs", "Frees", "HeapObjects", "NumGC", "NumForcedGC"}
SPECIAL = {"LastGC": r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", "PauseTotalNs": r"\d+ ns",
           "GCCPUFraction": r"0|0\.\d*[1-9]|[1-9](?:\.\d*[1-9])?e-0[5-9]",
           "EnableGC": "true|false", "DebugGC": "true|false"}
GENERIC = ["RSS", "VMS", "HWM", "Data", "Stack", "Locked", "Swap"]
PLATFORM = ["rss", "vms", "shared", "text", "lib", "data", "dirty"]


def shape(name):
    return SPECIAL.get(name) or (r"\d+" if name in PLAIN else r"\d+ MiB")


ENTRY = re.compile(
    r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ sonde\[(?P<pid>\d+)\]: MemStats: " +
    "".join(f"{n}: (?P<{n}>{shape(n)}), " for n in FIELDS) +
    r" \*\*\*\*\* Generic process memory info: " +
    ", ".join(rf"{n}: (?P<p{n}>\d+) MiB" for n in GENERIC) + " " +
    r" \*\*\*\*\* Platform specific process memory info: (?P<platform>\{" +
    ",".join(rf'"{n}":\d+' for n in PLATFORM) + r"\})")


def number(text):
    return int(text.split()[0])


@contextlib.contextmanager
def host(allocator="glibc", **env):
    """The program with this allocator; p.tell() says what it is to do."""
    program = TMP / "memlog-host"
    if not program.exists():
        compile_c("memlog-host", HOST)
    preload, library = LIB, LIBRARIES.get(allocator, allocator)
    if library:
        found = guest.run(tool("ldconfig"), "-p").stdout.decode()
        path = re.search(rf"\s{re.escape(library)} .*=> (\S+)", found)
        if not path and not os.path.exists(library):
            raise Skip(f"there is no {library}")
        preload += f":{path[1] if path else library}"
    port, log = free_port(), TMP / f"log-{time.monotonic_ns()}"
    settings = {"SONDE_ADDR": f"127.0.0.1:{port}", "SONDE_LOG": log} | env
    p = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                         stderr=subprocess.PIPE,
                         env=clean(LD_PRELOAD=preload, **{k: v for k, v in settings.items() if v}))
    p.port, p.log = port, log

    def tell(text):
        p.stdin.write(text.encode() + b"\n")
        p.stdin.flush()
        answer = []
        while True:
            line = p.stdout.readline().decode()
            assert line, f"{text}: the program has ended"
            if line == ".\n":
                return "".join(answer).strip()
            answer.append(line)
    p.tell = tell
    limit = threading.Timer(LIMIT, p.kill)
    limit.start()
    try:
        if "SONDE_ADDR" not in env:
            answers(port)
        yield p
        p.stdin.close()
        assert p.wait(LIMIT) == 7, p.returncode
    finally:
        limit.cancel()
        p.kill()
        p.wait()


def entries(log):
    lines = log.read_text().splitlines() if log.exists() else []
    return [line for line in lines if "MemStats" in line]


def parsed(line):
    m = ENTRY.fullmatch(line)
    assert m, f"not as the document has it: {line}"
    return m.groupdict()


def memstats(p):
    status, body = fetch(p.port, "/debug/pprof/memstats")
    assert status == 200, status
    return json.loads(body)


def near(what, ours, theirs, slack=512 << 10, share=0.0):
    assert abs(ours - theirs) <= slack + share * theirs, f"{what}: {ours}, but {theirs} is right"


def check_line(line):
    e = parsed(line)
    assert int(e["HeapObjects"]) == int(e["Mallocs"]) - int(e["Frees"]), line
    assert e["Alloc"] == e["HeapAlloc"], line
    assert 0 <= number(e["HeapSys"]) - number(e["HeapIdle"]) - number(e["HeapInuse"]) <= 1, line
    assert number(e["HeapReleased"]) <= number(e["HeapIdle"]), line
    assert number(e["HeapAlloc"]) <= number(e["HeapInuse"]), line
    parts = sum(number(v) for k, v in e.items() if k.endswith("Sys") and k != "Sys")
    assert parts <= number(e["Sys"]) <= parts + 7, line
    process = json.loads(e["platform"])
    assert process["rss"] // MIB == int(e["pRSS"]) and process["vms"] // MIB == int(e["pVMS"]), line
    assert int(e["pHWM"]) >= int(e["pRSS"]) - 1 and int(e["pData"]) > 0, line
    assert int(e["pData"]) <= int(e["pVMS"]), f"from two moments: {line}"
    assert process["data"] > 0 and process["rss"] > 0, line
    return e


def check_json(s):
    """The same to the byte, where the log only has MiB."""
    assert s["HeapObjects"] == s["Mallocs"] - s["Frees"], s
    assert s["Alloc"] == s["HeapAlloc"] <= s["HeapInuse"] and s["TotalAlloc"] >= s["Alloc"], s
    assert s["HeapSys"] == s["HeapIdle"] + s["HeapInuse"] and s["HeapReleased"] <= s["HeapIdle"], s
    assert s["Sys"] == sum(v for k, v in s.items() if k.endswith("Sys") and k != "Sys"), s
    assert s["StackInuse"] <= s["StackSys"], s
    assert len(s["PauseNs"]) == len(s["PauseEnd"]) == 256, s
    assert sum(s["PauseNs"]) == s["PauseTotalNs"] or s["NumGC"] > 256, s
    return s


def more_entries(p, n):
    have = len(entries(p.log))
    until(f"{n} more entries", lambda: len(entries(p.log)) >= have + n)


def every_line(allocator):
    with host(allocator, SONDE_MEMLOG="20ms") as p:
        more_entries(p, 1)
        for n, size in ((20000, 100), (3000, 20000), (40, 1 << 20)):
            p.tell(f"grow {n} {size}")
            more_entries(p, 2)
            check_json(memstats(p))
            p.tell(f"shrink {n // 2}")
            more_entries(p, 2)
        p.tell("holes 3")
        more_entries(p, 2)
        check_json(memstats(p))
        p.tell("shrink 1000000")
        more_entries(p, 2)
    found = [check_line(line) for line in entries(p.log)]
    assert all(int(e["pid"]) == p.pid for e in found)
    for name in ("TotalAlloc", "Mallocs", "Frees"):
        values = [number(e[name]) for e in found]
        assert values == sorted(values), f"{name} gets smaller: {values}"
    return found


def t_every_line_is_as_in_the_document_with_glibc():
    found = every_line("glibc")
    assert max(number(e["HeapAlloc"]) for e in found) > 60, found[-1]
    assert number(found[-1]["HeapAlloc"]) <= 2, found[-1]


def t_every_line_is_as_in_the_document_with_jemalloc():
    found = every_line("jemalloc")
    assert max(number(e["HeapAlloc"]) for e in found) > 60, found[-1]
    assert number(found[-1]["MSpanSys"]) > 0, found[-1]


def t_every_line_is_as_in_the_document_with_tcmalloc():
    assert max(number(e["HeapAlloc"]) for e in every_line("tcmalloc")) > 60


def t_every_line_is_as_in_the_document_with_tcmalloc_minimal():
    assert max(number(e["HeapAlloc"]) for e in every_line("tcmalloc_minimal")) > 60


def t_every_line_is_as_in_the_document_with_mimalloc():
    assert max(number(e["HeapInuse"]) for e in every_line("mimalloc")) > 60


def states(p):
    """Some states of the heap, in which nothing moves."""
    p.tell("grow 50000 1000")
    yield
    p.tell("holes 2")
    yield
    p.tell("grow 20 3000000")
    yield
    p.tell("shrink 1000000")
    yield


def t_glibc_agrees_with_malloc_info():
    with host() as p:
        for _ in states(p):
            tree = xml.etree.ElementTree.fromstring(p.tell("tell"))
            total = {e.get("type"): int(e.get("size")) for e in tree.findall("total")}
            system = int(tree.find("system[@type='current']").get("size"))
            s = check_json(memstats(p))
            assert s["Allocator"] == "glibc", s["Allocator"]
            near("HeapSys", s["HeapSys"], system + total["mmap"])
            near("HeapIdle", s["HeapIdle"], total["rest"])
            near("HeapAlloc", s["HeapAlloc"], system + total["mmap"] - total["rest"] - total["fast"])


def t_jemalloc_agrees_with_its_own_statistics():
    with host("jemalloc") as p:
        memstats(p)  # our own thread gets its arena
        for _ in states(p):
            j = json.loads(p.tell("tell"))["jemalloc"]["stats"]
            s = check_json(memstats(p))
            assert s["Allocator"] == "jemalloc", s["Allocator"]
            near("HeapAlloc", s["HeapAlloc"], j["allocated"])
            near("HeapInuse", s["HeapInuse"], j["active"])
            near("HeapSys", s["HeapSys"] + s["MSpanSys"], j["mapped"] + j["retained"])
            near("MSpanSys", s["MSpanSys"], j["metadata"])
            # Pages are given back as time goes by.
            later = json.loads(p.tell("tell"))["jemalloc"]["stats"]
            low, high = sorted(x["mapped"] + x["retained"] - x["resident"] for x in (j, later))
            assert low - 8 * MIB <= s["HeapReleased"] <= high + 8 * MIB, (low, s["HeapReleased"], high)


def t_jemalloc_counts_every_call():
    with host("jemalloc", SONDE_HEAP_RATE="0") as p:
        before = memstats(p)
        p.tell("grow 30000 1000")
        p.tell("shrink 10000")
        after = memstats(p)
        near("Mallocs", after["Mallocs"] - before["Mallocs"], 30000, slack=500)
        near("Frees", after["Frees"] - before["Frees"], 10000, slack=500)
        near("TotalAlloc", after["TotalAlloc"] - before["TotalAlloc"], 30000 * 1024, slack=MIB)
        assert any(c["Size"] == 1024 and c["Mallocs"] >= 30000 for c in after["BySize"]), \
            after["BySize"]


def t_what_never_leaves_the_cache_of_a_thread_is_counted_with_jemalloc():
    with host("jemalloc", SONDE_HEAP_RATE="1000") as p:
        before = memstats(p)
        p.tell("churn 300000 1000")
        after = check_json(memstats(p))
        grown = {k: after[k] - before[k] for k in ("Mallocs", "Frees", "TotalAlloc", "HeapObjects")}
        near("Mallocs", grown["Mallocs"], 300000, slack=9000)
        near("Frees", grown["Frees"], 300000, slack=9000)
        near("TotalAlloc", grown["TotalAlloc"], 300000 * 1000, slack=15 * MIB)
        assert grown["HeapObjects"] < 1000, grown
        for _ in range(3):
            p.tell("grow 5000 100")
            p.tell("shrink 4000")
            later = check_json(memstats(p))
            assert all(later[k] >= after[k] for k in ("Mallocs", "Frees", "TotalAlloc")), (after, later)
            after = later


def tcmalloc_agrees(allocator):
    rows = {"HeapAlloc": "Bytes in use by application", "free": "Bytes in page heap freelist",
            "HeapReleased": r"Bytes released to OS \(aka unmapped\)"}
    with host(allocator) as p:
        for _ in states(p):
            text = p.tell("tell")
            t = {k: int(re.search(rf"MALLOC:\s+[+=]?\s+(\d+) \(.*\) {v}", text)[1])
                 for k, v in rows.items()}
            s = check_json(memstats(p))
            assert s["Allocator"] == "tcmalloc", s["Allocator"]
            near("HeapAlloc", s["HeapAlloc"], t["HeapAlloc"])
            near("HeapIdle", s["HeapIdle"], t["free"] + t["HeapReleased"], slack=2 * MIB)
            near("HeapReleased", s["HeapReleased"], t["HeapReleased"], slack=2 * MIB)


def t_tcmalloc_agrees_with_its_own_statistics():
    tcmalloc_agrees("tcmalloc")


def t_tcmalloc_minimal_agrees_with_its_own_statistics():
    tcmalloc_agrees("tcmalloc_minimal")


def calls_are_counted(allocator):
    """With rate 1 the estimate is a count."""
    with host(allocator, SONDE_HEAP_RATE="1") as p:
        before = memstats(p)
        p.tell("grow 30000 1000")
        p.tell("shrink 10000")
        after = check_json(memstats(p))
        near("Mallocs", after["Mallocs"] - before["Mallocs"], 30000, slack=100)
        near("Frees", after["Frees"] - before["Frees"], 10000, slack=100)
        near("TotalAlloc", after["TotalAlloc"] - before["TotalAlloc"], 30000000, slack=MIB,
             share=0.03)
        near("HeapAlloc", after["HeapAlloc"] - before["HeapAlloc"], 20000000, slack=MIB, share=0.03)
        assert any(c["Size"] == 1024 and c["Mallocs"] - c["Frees"] >= 20000
                   for c in after["BySize"]), after["BySize"]


def t_calls_are_counted_with_glibc():
    calls_are_counted("glibc")


def t_calls_are_counted_with_mimalloc():
    calls_are_counted("mimalloc")


def t_calls_are_counted_with_tcmalloc():
    calls_are_counted("tcmalloc")


def t_sampled_calls_are_estimated():
    with host(SONDE_HEAP_RATE="16K") as p:
        before = memstats(p)
        p.tell("grow 200000 500")
        p.tell("shrink 100000")
        after = check_json(memstats(p))  # 6,000 samples: 1.3 % is the standard deviation
        near("Mallocs", after["Mallocs"] - before["Mallocs"], 200000, share=0.08, slack=0)
        near("Frees", after["Frees"] - before["Frees"], 100000, share=0.1, slack=0)


def t_stacks_of_threads_are_counted():
    with host() as p:
        before = memstats(p)
        p.tell("threads 16")
        after = check_json(memstats(p))
        near("StackSys", after["StackSys"] - before["StackSys"], 16 * 4 * MIB, slack=MIB)
        near("StackInuse", after["StackInuse"] - before["StackInuse"], 16 * 212992, slack=16 * 65536)


def t_the_process_is_as_proc_says():
    with host(SONDE_MEMLOG="50ms") as p:
        p.tell("grow 100 1000000")
        more_entries(p, 3)
        e = check_line(entries(p.log)[-1])
        status = pathlib.Path(f"/proc/{p.pid}/status").read_text()
        vm = {k: int(v) * 1024 for k, v in re.findall(r"^(Vm\w+|RssAnon):\s+(\d+) kB", status, re.M)}
        statm = [int(n) * os.sysconf("SC_PAGESIZE")
                 for n in pathlib.Path(f"/proc/{p.pid}/statm").read_text().split()]
        for name, key in zip(GENERIC, ("VmRSS", "VmSize", "VmHWM", "VmData", "VmStk", "VmLck",
                                       "VmSwap")):
            near(name, int(e["p" + name]) * MIB, vm[key], slack=2 * MIB)
        ours = json.loads(e["platform"])
        for name, value in zip(("vms", "rss", "shared", "text", "lib", "data", "dirty"), statm):
            near(name, ours[name], value, slack=2 * MIB)
        s = memstats(p)
        near("Sys", s["Sys"], vm["VmData"] + vm["VmStk"], slack=2 * MIB)
        near("MaxRSS", s["Process"]["MaxRSS"], vm["VmHWM"], slack=2 * MIB)


def t_what_was_collected_is_counted():
    with host(SONDE_MEMLOG="50ms") as p:
        until("an entry", lambda: entries(p.log))
        assert check_line(entries(p.log)[0])["LastGC"] == "1970-01-01T00:00:00Z"
        start = time.time()
        for _ in range(3):
            assert fetch(p.port, "/debug/pprof/heap?gc=1")[0] == 200
        more_entries(p, 2)
        e = check_line(entries(p.log)[-1])
        assert e["NumForcedGC"] == e["NumGC"] == "3", e
        assert number(e["PauseTotalNs"]) > 0, e
        stamp = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(start - 1))
        assert stamp <= e["LastGC"] <= time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()), e
        s = check_json(memstats(p))
        assert s["PauseNs"][2] > 0 and s["PauseNs"][3] == 0 and s["PauseEnd"][2] == s["LastGC"], s


def t_the_log_is_a_switch_without_a_listener():
    with host(SONDE_ADDR="", SONDE_MEMLOG="1h") as p:
        until("an entry", lambda: entries(p.log))
        p.tell("grow 1 1")
        assert fetch(p.port, "/debug/pprof/")[0] == 0
    assert len(entries(p.log)) == 1  # at the start; and an hour does not hold up the end


def t_without_the_switch_there_is_no_line():
    with host() as p:
        memstats(p)
    assert entries(p.log) == []


def t_lines_go_to_the_log_and_nowhere_else():
    with host(SONDE_MEMLOG="20ms") as p:
        more_entries(p, 5)
    assert p.stderr.read() == b""
    with host(SONDE_MEMLOG="20ms", SONDE_LOG="stderr") as p:
        for _ in range(5):
            line = p.stderr.readline().decode()
            while "MemStats" not in line:
                line = p.stderr.readline().decode()
            check_line(line.rstrip("\n"))
    assert not p.log.exists()


def t_a_child_does_not_write_too():
    with host(SONDE_MEMLOG="20ms") as p:
        p.tell("fork 300")
        more_entries(p, 3)
    assert {parsed(line)["pid"] for line in entries(p.log)} == {str(p.pid)}


def t_without_proc_the_line_says_so():
    if os.geteuid() != 0:
        raise Skip("chroot needs root")
    empty = TMP / "empty"
    empty.mkdir()
    with host(SONDE_MEMLOG="20ms", SONDE_LOG="stderr") as p:
        assert p.tell(f"chroot {empty}") == "0"
        for _ in range(1000):
            line = p.stderr.readline().decode()
            if "unavailable" in line:
                break
        assert re.search(r"MemStats: Alloc: \d+ MiB, .*, DebugGC: false,  \*\*\*\*\* Process memory info "
                         r"unavailable: /proc/self/statm: \w.*\n$", line), line


def filtered(**env):
    with host(**env) as p:
        p.tell("threads 2")
        if p.tell("filter") != "0":
            raise Skip("there are no filters")
        p.tell("grow 1000 10000")
        s = check_json(memstats(p))
        assert s["StackInuse"] == s["StackSys"] > 8 * MIB and s["HeapSys"] > 10000000, s
        assert fetch(p.port, "/metrics")[0] == 200
        return s


def t_behind_a_filter_nothing_rare_is_called():
    filtered(SONDE_MEMLOG="20ms")


def t_behind_a_filter_no_thread_is_started():
    near("HeapAlloc", filtered(SONDE_HEAP_RATE="1")["HeapAlloc"], 10000000)


def t_an_allocator_that_hangs_does_not_take_us_with_it():
    library = TMP / "libjemalloc-stuck.so"
    compile_c("libjemalloc-stuck.so", STUCK, "-shared", "-fPIC", "-fno-builtin")
    with host(str(library), SONDE_MEMLOG="20ms") as p:
        more_entries(p, 5)
        s = check_json(memstats(p))
        assert s["Allocator"] == "jemalloc" and s["HeapSys"] > 0, s
        assert fetch(p.port, "/debug/pprof/goroutine?debug=1")[0] == 200
        assert fetch(p.port, "/debug/pprof/heap?gc=1")[0] == 200
        text = p.log.read_text()
        assert text.count("the allocator does not tell its numbers") == 1, text
    for line in entries(p.log):
        check_line(line)


def t_many_free_blocks_are_estimated():
    """A count of glibc's takes long then; it must not be made again and again."""
    with host(SONDE_MEMLOG="50ms", SONDE_HEAP_RATE="16K") as p:
        p.tell("grow 900000 300")  # of 320 bytes each; half of them are 8,000 samples, a tenth nine deviations
        p.tell("holes 2")
        more_entries(p, 3)
        s = check_json(memstats(p))
        near("HeapAlloc", s["HeapAlloc"], 450000 * 320, share=0.1)
        near("HeapSys", s["HeapSys"], 900000 * 320, share=0.1)
        p.tell("shrink 450000")
        s = check_json(memstats(p))
        near("HeapAlloc", s["HeapAlloc"], 225000 * 320, share=0.2)
    for line in entries(p.log):
        check_line(line)


def t_json_has_all_fields_of_go():
    with host() as p:
        s = memstats(p)
    order = [k for k in s if k[0].isupper()][:32]
    assert order == FIELDS[:24] + ["PauseNs", "PauseEnd"] + FIELDS[24:] + ["BySize"], order
    assert all(set(c) == {"Size", "Mallocs", "Frees"} for c in s["BySize"]) and len(s["BySize"]) <= 61


def t_go_decodes_the_json():
    go = tool("go")
    source = TMP / "decode.go"
    source.write_text('package main\nimport ("encoding/json";"fmt";"os";"runtime")\nfunc main() {\n'
                      'var m runtime.MemStats\nif err := json.NewDecoder(os.Stdin).Decode(&m); err != nil '
                      '{ panic(err) }\nfmt.Print(m.HeapAlloc, m.NumGC)\n}\n')
    env = clean(GOCACHE=str(TMP / "go-cache"), HOME=str(TMP))
    guest.run(go, "build", "-o", TMP / "decode", source, env=env)
    with host() as p:
        fetch(p.port, "/debug/pprof/heap?gc=1")
        body = fetch(p.port, "/debug/pprof/memstats")[1]
    done = subprocess.run([TMP / "decode"], input=body, check=True, capture_output=True)
    assert done.stdout.decode().split() == [str(json.loads(body)["HeapAlloc"]), "1"], done.stdout


def tail(text):
    return text[text.index("\n# runtime.MemStats\n"):].partition("\n--- Memory map: ---")[0].rstrip("\n")


def t_the_tail_of_debug_1_is_as_in_go():
    go = tool("go")
    source = TMP / "tail.go"
    source.write_text('package main\nimport ("os";"runtime/pprof")\nfunc main() {\n'
                      'pprof.Lookup("heap").WriteTo(os.Stdout, 1)\n}\n')
    env = clean(GOCACHE=str(TMP / "go-cache"), HOME=str(TMP))
    theirs = guest.run(go, "run", source, env=env).stdout.decode()
    with host() as p:
        p.tell("grow 1000 10000")
        for name in ("heap", "allocs"):
            ours = fetch(p.port, f"/debug/pprof/{name}?debug=1")[1].decode()
            assert re.sub(r"\d+", "N", tail(ours)) == re.sub(r"\d+", "N", tail(theirs)), tail(ours)
            inuse = int(re.search(r"^# HeapInuse = (\d+)$", ours, re.M)[1])
            near("HeapInuse", inuse, memstats(p)["HeapInuse"])


def t_readers_read_debug_1():
    with host(SONDE_HEAP_RATE="1") as p:
        p.tell("grow 1000 10000")
        p.tell("shrink 100")
        text = TMP / "heap.txt"
        text.write_bytes(fetch(p.port, "/debug/pprof/heap?debug=1")[1])
        readers = [[SONDE, "-top"], [tool("go"), "tool", "pprof", "-top"]]
        for reader in readers:
            out = guest.run(*reader, text, env=clean(HOME=str(TMP))).stdout.decode()
            assert re.search(r"^\s+8\.58MB.* grow$", out, re.M), out


def t_metrics_pass_promtool():
    promtool = tool("promtool")
    with host() as p:
        p.tell("grow 1000 10000")
        page = fetch(p.port, "/metrics")[1]
        s = memstats(p)
    done = subprocess.run([promtool, "check", "metrics"], input=page, capture_output=True)
    assert done.returncode == 0 and not done.stdout, done.stdout + done.stderr
    values = dict(re.findall(r"^(\w+) (\S+)$", page.decode(), re.M))
    near("heap_alloc", int(values["sonde_memstats_heap_alloc_bytes"]), s["HeapAlloc"])
    near("rss", int(values["process_resident_memory_bytes"]), s["Process"]["RSS"], slack=4 * MIB)


API = r"""
#include <sonde.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int lines;

static void take(void *context, const char *line)
{
	if (strncmp(line, "MemStats: Alloc: ", 17) == 0 && strchr(line, '\n') == NULL)
		__atomic_fetch_add((int *)context, 1, __ATOMIC_SEQ_CST);
}

static void wait_for(int n)
{
	for (int i = 0; i < 6000 && __atomic_load_n(&lines, __ATOMIC_SEQ_CST) < n; i++)
		usleep(10000);
	if (lines < n)
		exit(1);
}

int main(void)
{
	struct sonde_options o = { SONDE_OPTIONS, .memlog_ns = 1000000, .log_call = take,
				   .log_context = &lines };

	if (sonde_start(&o) == 0)
		return 2; /* too often */
	o.memlog_ns = 20000000;
	if (sonde_start(&o) != 0)
		return 3;
	wait_for(5);
	if (sonde_set_memlog(3600000000000) != 20000000)
		return 4;
	wait_for(6);
	if (sonde_set_memlog(0) != 3600000000000)
		return 5;
	sonde_stop();
	o.memlog_ns = 0;
	lines = 0;
	if (sonde_start(&o) != 0)
		return 6;
	usleep(100000);
	if (lines != 0)
		return 7;
	sonde_set_memlog(1);
	wait_for(2);
	sonde_stop();
	return 0;
}
"""


def t_a_program_may_ask_for_it_and_take_the_lines():
    include = pathlib.Path(__file__).resolve().parent.parent / "include"
    program = compile_c("memlog-api", API, f"-I{include}", LIB, f"-Wl,-rpath,{pathlib.Path(LIB).parent}")
    done = guest.run(program, env=clean())
    assert done.stderr == b"", done.stderr


if __name__ == "__main__":
    AT = sys.argv.index("--lib") + 2
    sys.exit(guest.main(dict(globals()), sys.argv[AT:]))
