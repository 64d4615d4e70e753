#!/usr/bin/env python3
"""Programs that a program with the runtime starts: they inherit its switches, and are left alone.

usage: family.py --lib LIBRARY [NAME...]

SPDX-License-Identifier: Apache-2.0
"""
import os
import signal
import socket
import sys

import guest
from guest import TMP, clean, compile_c, fetch, free_port, run, started, tool, until

LIB = guest.argument("lib")


def switched_on(port, log, **more):
    return clean(LD_PRELOAD=LIB, SONDE_ADDR=f"127.0.0.1:{port}", SONDE_LOG=log, **more)


def log_of(name):
    path = TMP / f"{name}.log"
    path.unlink(missing_ok=True)
    return path


def lines(log):
    return log.read_text().splitlines() if log.exists() else []


def same_output(name, *args, **kw):
    """What a program says is what it says without us; and we say at most that one process serves: it
    may be over before that is written."""
    port, log = free_port(), log_of(name)
    bare = run(*args, env=clean(), **kw)
    ours = run(*args, env=switched_on(port, log), **kw)
    assert (ours.stdout, ours.stderr) == (bare.stdout, bare.stderr), (ours, bare)
    said = lines(log)
    assert len(said) <= 1 and all("serving http://127.0.0.1:" in s for s in said), said
    return said


SCRIPT = """
echo $$ > "$1"
for i in 1 2 3 4 5; do /bin/echo one $i; done
/bin/echo two | cat | sh -c 'sh -c cat; ls / > /dev/null'
x=$(date +%Y); sh -c 'exec /bin/true' &
wait
/bin/echo three >&2
"""


def t_the_commands_of_a_script_say_nothing():
    script = TMP / "script.sh"
    script.write_text(SCRIPT)
    said = same_output("script", tool("sh"), script, TMP / "script.pid")
    pid = (TMP / "script.pid").read_text().strip()
    assert not said or f"sonde[{pid}]" in said[0], said


def t_the_first_command_of_all_is_not_faster():
    for i in range(20):
        log = log_of("fast")
        out = run(tool("sh"), "-c", f"/bin/true; echo $$; until [ -s {log} ]; do sleep 0.01; done",
                  env=switched_on(free_port(), log)).stdout
        said = lines(log)
        assert len(said) == 1 and f"sonde[{int(out)}]: serving" in said[0], (i, said, out)


def t_a_compiler_and_what_it_starts():
    source = TMP / "hello.c"
    source.write_text("#include <stdio.h>\nint main(void) { int unused; return puts(\"hello\") < 0; }\n")
    same_output("compiler", tool("cc"), "-Wall", "-pipe", "-o", TMP / "hello", source)


def t_the_environment_of_children_is_the_programs():
    port, log = free_port(), log_of("environment")
    env = switched_on(port, log)
    out = run(tool("sh"), "-c", "env -0; :", env=env).stdout.decode()
    got = dict(v.split("=", 1) for v in out.split("\0") if v)
    bare = run(tool("sh"), "-c", "env -0; :", env=clean()).stdout.decode()
    want = dict(v.split("=", 1) for v in bare.split("\0") if v)
    ours = {k: env[k] for k in ("LD_PRELOAD", "SONDE_ADDR", "SONDE_LOG")}
    assert got == want | ours, (got, want)


def t_a_child_that_is_left_alone_takes_over():
    python, port, log = tool("/usr/bin/python3"), free_port(), log_of("heir")
    pidfile = TMP / "heir.pid"
    work = ("import os, sys, time\n"
            f"open({str(pidfile)!r}, 'w').write(str(os.getpid()) + '\\n')\n"
            "while True:\n    x = bytearray(100000) * 2\n    time.sleep(0.001)\n")
    script = TMP / "heir.py"
    script.write_text(work)
    run(tool("sh"), "-c", f"{python} {script} > /dev/null 2>&1 & :", env=switched_on(port, log))
    until("the child", lambda: pidfile.exists() and pidfile.read_text().endswith("\n"))
    pid = int(pidfile.read_text())
    try:
        until("its answer", lambda: str(script).encode() in fetch(port, "/debug/pprof/cmdline")[1])
        assert not [s for s in lines(log) if "in use" in s], lines(log)
    finally:
        os.kill(pid, signal.SIGKILL)


WAITER = r"""
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
void *kept[64];
__attribute__((noinline)) void innermost(int i, size_t n) { kept[i] = malloc(n); kept[i + 1] = kept[i]; }
__attribute__((noinline)) void middle(int i, size_t n) { innermost(i, n); kept[i + 1] = NULL; }
__attribute__((noinline)) void outer(void)
{
    for (int i = 0; i < 50; i++)
        middle(i, 1 << 20);
    kept[60] = NULL;
}
int main(int argc, char **argv)
{
    FILE *f;
    outer();
    f = fopen(argv[argc - 1], "w");
    fprintf(f, "%d\n", (int)getpid());
    fclose(f);
    for (;;) {
        kept[60] = malloc(1 << 20);
        free(kept[60]);
        usleep(1000);
    }
}
"""


def t_what_is_allocated_before_it_takes_over_has_whole_stacks():
    waiter = compile_c("waiter", WAITER, "-fomit-frame-pointer", "-fno-optimize-sibling-calls")
    port, pidfile = free_port(), TMP / "waiter.pid"
    pidfile.unlink(missing_ok=True)
    command = f"{waiter} {pidfile} > /dev/null 2>&1 & until [ -s {pidfile} ]; do sleep 0.01; done"
    run(tool("sh"), "-c", command, env=switched_on(port, log_of("waiter")))
    pid = int(pidfile.read_text())
    try:
        until("its answer", lambda: waiter.encode() in fetch(port, "/debug/pprof/cmdline")[1])
        text = fetch(port, "/debug/pprof/heap?debug=1")[1].decode()
        stacks = [s for s in text.split("\n\n") if "innermost" in s]
        wanted = ("innermost", "middle", "outer", "main")
        assert stacks and all(w in s for s in stacks for w in wanted), text
    finally:
        os.kill(pid, signal.SIGKILL)


CLOBBER = r"""
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
extern char **environ;
int main(int argc, char **argv)
{
    char *first = environ[0], *last = first, *copy[256];
    size_t n = 0;
    (void)argc;
    for (; environ[n] && n < 255; n++) {
        last = environ[n] + strlen(environ[n]);
        copy[n] = strdup(environ[n]);
    }
    copy[n] = NULL;
    memset(argv[0], 'x', (size_t)(last - argv[0]));
    environ = copy;
    fflush(stdout);
    for (int i = 0; i < 5; i++)
        if (system("/bin/echo child; sh -c 'exec /bin/true'") != 0)
            return 1;
    if (fork() == 0) {
        execlp("sh", "sh", "-c", "/bin/echo grandchild; :", (char *)NULL);
        _exit(1);
    }
    sleep(1);
    return 0;
}
"""


def t_a_program_that_writes_over_its_environment():
    same_output("clobber", compile_c("clobber", CLOBBER))


def t_a_child_with_an_address_of_its_own_has_it():
    port, other, log = free_port(), free_port(), log_of("own")
    command = f"SONDE_ADDR=127.0.0.1:{other} sleep 60 & wait"
    with started(tool("sh"), "-c", command, env=switched_on(port, log), start_new_session=True) as p:
        guest.answers(port)
        guest.answers(other)
        os.killpg(p.pid, signal.SIGTERM)


def t_a_child_whose_own_address_a_stranger_has_says_so():
    port, log = free_port(), log_of("stranger")
    with socket.socket() as stranger:
        stranger.bind(("127.0.0.1", 0))
        stranger.listen()
        other = stranger.getsockname()[1]
        command = f"SONDE_ADDR=127.0.0.1:{other} sleep 60 & wait"
        with started(tool("sh"), "-c", command, env=switched_on(port, log),
                     start_new_session=True) as p:
            until("a line", lambda: any("in use" in s for s in lines(log)))
            stranger.close()
            guest.answers(other)
            os.killpg(p.pid, signal.SIGTERM)


def t_two_that_nobody_started_with_it_tell_of_each_other():
    port, log = free_port(), log_of("two")
    with started(tool("sleep"), 60, env=switched_on(port, log)):
        guest.answers(port)
        with started(tool("sleep"), 60, env=switched_on(port, log)) as second:
            until("a line", lambda: any(f"sonde[{second.pid}]: cannot listen" in s
                                        for s in lines(log)))


if __name__ == "__main__":
    sys.exit(guest.main(globals(), sys.argv[3:]))
