#!/usr/bin/env python3
"""Programs that are not fit for a guest, or have nothing left for one: they never notice.

usage: strange-hosts.py --sonde PROGRAM --lib LIBRARY --static ARCHIVE --source ROOT [NAME...]

SPDX-License-Identifier: Apache-2.0
"""
import os
import pathlib
import resource
import stat
import subprocess
import sys

import guest
from guest import TMP, clean, compile_c, fetch, free_port, run, started, tool, until

SONDE, LIB, STATIC = (guest.argument(n) for n in ("sonde", "lib", "static"))
ROOT = pathlib.Path(guest.argument("source"))


def log():
    path = TMP / "log"
    return path.read_text() if path.exists() else ""


def preloaded(port, **more):
    (TMP / "log").unlink(missing_ok=True)
    return guest.guest_env(LIB, port, SONDE_HEAP_RATE=1, **more)


def same(*args, env, **kw):
    """The program does what it does without us; what we log."""
    bare = run(*args, env=clean(), **kw)
    ours = run(*args, env=env, **kw)
    assert (ours.stdout, ours.stderr) == (bare.stdout, bare.stderr), (ours, bare)
    return log()


WORK = r"""
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static void *work(void *arg)
{
    long sum = 0;
    for (int i = 1; i < 20000; i++) {
        char *p = malloc((size_t)i % 3000 + 1);
        memset(p, i, (size_t)i % 3000 + 1);
        sum += p[i % 3000];
        free(p);
    }
    *(long *)arg = sum;
    return NULL;
}
int main(void)
{
    pthread_t t[4];
    long sums[4];
    for (int i = 0; i < 4; i++)
        pthread_create(&t[i], NULL, work, &sums[i]);
    for (int i = 0; i < 4; i++)
        pthread_join(t[i], NULL);
    printf("%ld\n", sums[0] + sums[1] + sums[2] + sums[3]);
}
"""


def sanitized(name, *flags, compiler):
    source = TMP / f"{name}.c"
    source.write_text(WORK)
    done = run(tool(compiler), "-g", "-O1", "-pthread", *flags, "-o", TMP / name, source, status=None)
    if done.returncode or run(TMP / name, env=clean(), status=None).returncode:
        raise guest.Skip(f"{compiler} has no {' '.join(flags)} here")
    return TMP / name


def t_programs_with_a_sanitizer_are_left_alone():
    for name, flag, word in (("asan", "address", "AddressSanitizer"), ("tsan", "thread", "ThreadSanitizer"),
                             ("msan", "memory", "MemorySanitizer"), ("lsan", "leak", "LeakSanitizer")):
        program = sanitized(name, f"-fsanitize={flag}", compiler="clang")
        said = same(program, env=preloaded(free_port()))
        assert f"off: the program is built with {word}" in said, (name, said)


def t_a_sanitizer_in_a_library_that_comes_first():
    program = sanitized("asan-shared", "-fsanitize=address", compiler="gcc")
    first = run(tool("gcc"), "-print-file-name=libasan.so").stdout.decode().strip()
    env = preloaded(free_port(), ASAN_OPTIONS="verify_asan_link_order=0")
    done = run(program, env=env | {"LD_PRELOAD": f"{first}:{LIB}"})
    assert done.stdout == run(program, env=clean()).stdout and not done.stderr, done
    assert "off: the program is built with AddressSanitizer" in log(), log()


def t_undefined_behaviour_is_looked_for_beside_us():
    program = sanitized("ubsan", "-fsanitize=undefined", compiler="gcc")
    assert "off" not in same(program, env=preloaded(free_port()))


def t_valgrind_is_left_alone():
    program = compile_c("grind", WORK, "-pthread")
    done = run(tool("valgrind"), "-q", "--error-exitcode=9", program, env=preloaded(free_port()))
    assert done.stdout == run(program, env=clean()).stdout and not done.stderr, done
    assert "off: the program runs under valgrind" in log(), log()


LINKED = r"""
#include <sonde.h>
#include <stdio.h>
int main(void)
{
    struct sonde_options o = { SONDE_OPTIONS, .addr = "localhost:0", .log = "none" };
    printf("%d ", sonde_is_on());
    printf("%d ", sonde_start(&o));
    printf("%d\n", sonde_is_on());
}
"""


def t_a_program_with_more_rights_than_its_caller_stays_off():
    if os.geteuid() != 0:
        raise guest.Skip("only root can make one here")
    program = pathlib.Path(compile_c("setuid", LINKED, f"-I{ROOT}/include", STATIC))
    TMP.chmod(0o755)
    env = clean(SONDE_ADDR=f"127.0.0.1:{free_port()}", SONDE_LOG="none")
    as_nobody = [tool("setpriv"), "--reuid=65534", "--regid=65534", "--clear-groups", program]
    assert run(*as_nobody, env=clean()).stdout == b"0 0 1\n"
    program.chmod(program.stat().st_mode | stat.S_ISUID)
    if os.statvfs(program).f_flag & os.ST_NOSUID:
        raise guest.Skip("the file system knows no setuid")
    got = run(*as_nobody, env=env).stdout
    assert got == b"0 -1 0\n", got


FILTER = r"""
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#define ALLOW(name) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_##name, 0, 1), \
    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)
/* What the program itself needs from here on, and its allocator. */
static struct sock_filter filter[] = {
    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
    ALLOW(write), ALLOW(brk), ALLOW(mmap), ALLOW(munmap), ALLOW(mremap), ALLOW(mprotect),
    ALLOW(madvise), ALLOW(futex), ALLOW(exit_group), ALLOW(rt_sigreturn), ALLOW(clock_gettime),
    ALLOW(newfstatat), ALLOW(fstat),
    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
};
int main(void)
{
    struct sock_fprog program = { sizeof(filter) / sizeof(filter[0]), filter };
    struct timespec now, end;
    puts("ready");
    fflush(stdout);
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || PUT_UP(&program))
        return 2;
    clock_gettime(CLOCK_MONOTONIC, &end);
    do {
        for (int i = 1; i < 3000; i++) {
            char *p = malloc((size_t)i * 17), *q;
            memset(p, i, (size_t)i * 17);
            q = realloc(p, (size_t)i * 19);
            free(q);
        }
        clock_gettime(CLOCK_MONOTONIC, &now);
    } while (now.tv_sec < end.tv_sec + 4);
    return 0;
}
"""


def t_a_program_behind_a_filter_of_system_calls():
    program = compile_c("filter", FILTER,
                        "-DPUT_UP(p)=prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, p)")
    port = free_port()
    run(program, env=clean())
    with started(program, env=preloaded(port), stdout=subprocess.PIPE) as p:
        assert p.stdout.readline() == b"ready\n"
        guest.answers(port)
        asked = 0
        while p.poll() is None:
            for path in ("heap", "heap?gc=1", "profile?seconds=1", "goroutine", "mutex"):
                asked += fetch(port, "/debug/pprof/" + path)[0] == 200
        assert p.returncode == 0, p.returncode
    assert asked > 0


def t_a_program_with_a_filter_for_all_its_threads():
    program = compile_c("filter-all", FILTER, "-D_GNU_SOURCE", "-include", "unistd.h",
                        "-DPUT_UP(p)=syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, "
                        "SECCOMP_FILTER_FLAG_TSYNC, p)")
    port = free_port()
    run(program, env=clean())
    with started(program, env=preloaded(port), stdout=subprocess.PIPE) as p:
        assert p.stdout.readline() == b"ready\n"
        while p.poll() is None:
            fetch(port, "/debug/pprof/heap")
        assert p.returncode == 0, p.returncode
    assert "off: the program has put all its threads behind a seccomp filter" in log(), log()


SYSCALLS = r"""
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
int main(void)
{
    char name[16] = "";
    int fds[2], status = 0;
    long p, pid;
    prctl(PR_SET_NAME, "somebody");
    prctl(PR_GET_NAME, name);
    p = syscall(SYS_mmap, 0L, 4096L, (long)PROT_READ, (long)(MAP_PRIVATE | MAP_ANONYMOUS), -1L, 0L);
    errno = 0;
    printf("%s %d %ld %d", name, p != -1, syscall(SYS_close, -1), errno);
    errno = 0;
    printf(" %d %d", prctl(-1), errno);
    pid = syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
    if (pid == 0)
        _exit(5);
    waitpid((pid_t)pid, &status, 0);
    printf(" %d %d %ld\n", WEXITSTATUS(status), pipe(fds), syscall(SYS_write, -1, "", 0L));
}
"""


def t_system_calls_by_number_are_what_they_were():
    assert "off" not in same(compile_c("syscalls", SYSCALLS), env=preloaded(free_port()))


def limited(kind, value):
    return lambda: resource.setrlimit(kind, (value, value))


def t_a_program_with_few_files():
    for files in (3, 4, 5, 6, 8, 12, 20):
        ours = run("/bin/sh", "-c", "echo a; cat /etc/hostname 2>&1; echo b", status=None,
                   env=preloaded(free_port()), preexec_fn=limited(resource.RLIMIT_NOFILE, files))
        bare = run("/bin/sh", "-c", "echo a; cat /etc/hostname 2>&1; echo b", status=None,
                   env=clean(), preexec_fn=limited(resource.RLIMIT_NOFILE, files))
        # The loader itself needs a file for each library it loads.
        if files > 3:
            assert (ours.returncode, ours.stdout) == (bare.returncode, bare.stdout), (files, ours, bare)


EATS = r"""
#include <stdio.h>
#include <stdlib.h>
int main(void)
{
    size_t n = 0, most = 0;
    void *p, *list = NULL;
    while ((p = malloc(40000))) {
        *(void **)p = list;
        list = p;
        n++;
    }
    most = n;
    for (; list; list = p) {
        p = *(void **)list;
        free(list);
    }
    for (int i = 0; i < 1000; i++)
        if (!(p = malloc(1000)))
            return 1;
        else
            free(p);
    printf("%s\n", most > 100 ? "ate" : "starved");
}
"""


def t_a_program_without_memory():
    program = compile_c("eats", EATS)
    for megabytes in (40, 64, 100, 200, 400):
        limit = limited(resource.RLIMIT_AS, megabytes << 20)
        bare = run(program, status=None, env=clean(), preexec_fn=limit)
        ours = run(program, status=None, env=preloaded(free_port()), preexec_fn=limit)
        assert (ours.returncode, ours.stdout) == (bare.returncode, bare.stdout), (megabytes, ours, bare)


def t_it_is_switched_off_after_a_time():
    port = free_port()
    with started(tool("sleep"), 60, env=preloaded(port, SONDE_OFF_AFTER="2s")) as p:
        guest.answers(port)
        until("the end of it", lambda: not guest.listens(port))
        assert p.poll() is None
        until("one thread", lambda: len(os.listdir(f"/proc/{p.pid}/task")) == 1)
    assert "GET /debug/pprof/cmdline" in log() and "switched off after 2 seconds" in log(), log()


def t_on_and_off_among_everything_else():
    plugin = TMP / "plugin.c"
    plugin.write_text("#include <stdlib.h>\n"
                      "void *plugin_work(int n) { return n ? plugin_work(n - 1) : malloc(5000); }\n")
    libraries = []
    for i in range(3):
        libraries.append(TMP / f"plugin{i}.so")
        run(tool("cc"), "-O0", "-g", "-shared", "-fPIC", "-o", libraries[-1], plugin)
    stress = TMP / "stress"
    shared = pathlib.Path(LIB)
    for name, how in (("archive", [STATIC]), ("shared", [LIB, f"-Wl,-rpath,{shared.parent}"])):
        run(tool("cc"), "-g", "-O1", "-D_GNU_SOURCE", "-pthread", "-I", ROOT / "include",
            ROOT / "tests/programs/stress.c", *how, "-o", stress)
        done = run(stress, 8, *libraries, env=clean(LD_LIBRARY_PATH=shared.parent), status=None)
        assert done.returncode == 0 and int(done.stdout) > 3, (name, done)
        assert not done.stderr, (name, done.stderr)


if __name__ == "__main__":
    sys.exit(guest.main(globals(), sys.argv[9:]))
