#!/usr/bin/env python3
"""sonde run: the program is what it was, with a library more; or a sentence says why not.

usage: run-command.py --sonde PROGRAM --lib LIBRARY [NAME...]

SPDX-License-Identifier: Apache-2.0
"""
import os
import pty
import shutil
import signal
import subprocess
import sys

import guest
from guest import TMP, clean, compile_c, tool

SONDE, LIB = guest.argument("sonde"), guest.argument("lib")


def sonde(*args, status=0, env=None, **kw):
    done = guest.run(SONDE, "run", *args, status=status, env=env or clean(), **kw)
    return done.stdout.decode(), done.stderr.decode()


def variables(*args, **kw):
    return dict(line.split("=", 1) for line in sonde(*args, "--", tool("env"), **kw)[0].splitlines())


def t_options_become_variables_of_the_program():
    got = variables("--addr", "localhost:1", "--heap-rate=16384", "-cpu-hz", "50", "--token", "t",
                    "--log", TMP / "nowhere")
    want = {"SONDE_ADDR": "localhost:1", "SONDE_HEAP_RATE": "16384", "SONDE_CPU_HZ": "50",
            "SONDE_TOKEN": "t", "SONDE_LOG": str(TMP / "nowhere")}
    assert {k: v for k, v in got.items() if k.startswith("SONDE_") and k != "SONDE_PID"} == want, got
    assert got["LD_PRELOAD"] == LIB, got["LD_PRELOAD"]


def t_variables_that_are_set_stay():
    got = variables(env=clean(SONDE_ADDR="unix:/nowhere/s", SONDE_HEAP_RATE="7"))
    assert got["SONDE_ADDR"] == "unix:/nowhere/s" and got["SONDE_HEAP_RATE"] == "7", got


def t_without_an_address_it_is_loopback():
    assert variables()["SONDE_ADDR"] == "localhost:8070"


def t_the_library_comes_before_other_preloaded_ones():
    got = variables(env=clean(LD_PRELOAD="libm.so.6"))
    assert got["LD_PRELOAD"] == LIB + ":libm.so.6", got["LD_PRELOAD"]


def t_arguments_and_output_pass_through():
    out, err = sonde("--log", "none", "--", tool("printf"), "%s|", "a b", "--addr", "")
    assert (out, err) == ("a b|--addr||", ""), (out, err)


def t_the_exit_status_is_the_programs():
    sonde("sh", "-c", "exit 42", status=42)
    sonde("true")


def t_programs_that_the_program_starts_are_left_alone():
    threads = "ls /proc/$$/task | wc -l; :"
    out, err = sonde("--addr", f"localhost:{guest.free_port()}", "--log", "none", "sh", "-c",
                     f"sh -c '{threads}'; {threads}")
    assert out == "1\n2\n", (out, err)


def t_death_by_a_signal_is_death_by_that_signal():
    sonde("sh", "-c", "kill -SEGV $$", status=-signal.SIGSEGV)


def t_it_is_the_same_process_and_gets_its_signals():
    p = subprocess.Popen([SONDE, "run", "sh", "-c", "trap 'exit 9' USR1; echo $$; while :; do sleep 1; done"],
                         stdout=subprocess.PIPE, env=clean(SONDE_LOG=TMP / "log"))
    assert int(p.stdout.readline()) == p.pid
    p.send_signal(signal.SIGUSR1)
    assert p.wait(guest.LIMIT) == 9


def t_signals_are_handled_as_before():
    out = guest.run(SONDE, "run", "grep", "-h", "Sig\\(Ign\\|Blk\\|Cgt\\)", "/proc/self/status",
                    env=clean(), preexec_fn=lambda: signal.signal(signal.SIGUSR2, signal.SIG_IGN))
    bare = guest.run("grep", "-h", "Sig\\(Ign\\|Blk\\|Cgt\\)", "/proc/self/status",
                     preexec_fn=lambda: signal.signal(signal.SIGUSR2, signal.SIG_IGN))
    assert out.stdout.split()[:4] == bare.stdout.split()[:4], (out.stdout, bare.stdout)


def at_a_terminal(*args, keys):
    """Waits for "ready", types, and returns what is shown and the status."""
    pid, terminal = pty.fork()
    if pid == 0:
        for sig in signal.SIGINT, signal.SIGQUIT:  # a test run in the background ignores both
            signal.signal(sig, signal.SIG_DFL)
        os.execve(SONDE, [SONDE, "run", *args], clean(SONDE_LOG=str(TMP / "log")))
    shown = b""
    while b"ready" not in shown:
        shown += os.read(terminal, 1000)
    os.write(terminal, keys)
    try:
        while True:
            shown += os.read(terminal, 1000)
    except OSError:  # nobody is at the other end any more
        pass
    status = os.waitpid(pid, 0)[1]
    os.close(terminal)
    return shown.decode(), os.waitstatus_to_exitcode(status)


def t_the_keys_of_a_terminal_are_the_programs():
    loop = "echo ready; while :; do sleep 0.1; done"
    _, status = at_a_terminal("sh", "-c", f"trap 'exit 7' INT; {loop}", keys=b"\x03")
    assert status == 7, status
    _, status = at_a_terminal("sh", "-c", loop, keys=b"\x03")
    assert status == -signal.SIGINT, status
    _, status = at_a_terminal("sh", "-c", f"trap 'exit 8' QUIT; {loop}", keys=b"\x1c")
    assert status == 8, status


def t_what_is_typed_reaches_the_program():
    shown, status = at_a_terminal("sh", "-c", "test -t 0 && test -t 1 && echo ready; read x; echo got $x",
                                  keys=b"words\n")
    assert "got words" in shown and status == 0, (shown, status)


def t_no_such_program_is_127():
    _, err = sonde("no-such-program", status=127)
    assert err == "sonde run: cannot find 'no-such-program'\n", err
    sonde("./no-such-program", status=127)


def t_a_program_without_permission_is_126():
    (TMP / "plain").write_text("hello\n")
    _, err = sonde(TMP / "plain", status=126)
    assert "Permission denied" in err, err


def t_a_program_is_found_in_the_path_as_by_a_shell():
    first, second = TMP / "p1", TMP / "p2"
    for d in (first, second):
        d.mkdir()
    (first / "prog").write_text("not for me")
    (second / "prog").write_text("#!/bin/sh\necho here\n")
    (second / "prog").chmod(0o755)
    out, _ = sonde("prog", env=clean(PATH=f"{first}:{second}:{os.environ['PATH']}"))
    assert out == "here\n", out


def t_a_static_program_is_refused_with_the_reason():
    static = compile_c("static", "int main(void) { return 0; }\n", "-static")
    _, err = sonde(static, status=126)
    assert "is statically linked" in err and "without -static" in err, err


def t_a_script_of_a_static_interpreter_is_refused_too():
    static = compile_c("interpreter", "int main(void) { return 0; }\n", "-static")
    script = TMP / "script"
    script.write_text(f"#!{static} -x\n")
    script.chmod(0o755)
    _, err = sonde(script, status=126)
    assert "interpreter' is statically linked" in err, err


def t_a_program_with_rights_of_its_own_is_refused():
    if os.geteuid() != 0:
        raise guest.Skip("only root can make one here")
    suid = TMP / "suid"
    shutil.copy(tool("true"), suid)
    os.chown(suid, 12345, 12345)
    suid.chmod(0o4755)
    _, err = sonde(suid, status=126)
    assert "gets rights of its own" in err, err
    suid.chmod(0o755)
    sonde(suid)


def t_a_program_with_a_sanitizer_is_refused():
    asan = compile_c("asan", "int main(void) { return 0; }\n", "-fsanitize=address")
    _, err = sonde(asan, status=126)
    assert "built with a sanitizer (libasan.so)" in err, err


def t_a_program_for_another_processor_is_refused():
    other = bytearray(open(tool("true"), "rb").read())
    other[18] = 8  # MIPS
    (TMP / "other").write_bytes(other)
    (TMP / "other").chmod(0o755)
    _, err = sonde(TMP / "other", status=126)
    assert "another kind of processor" in err, err


def t_damaged_programs_are_left_to_the_kernel():
    good = open(tool("true"), "rb").read()
    for cut in (0, 3, 17, 63, 64, 65, 200, 700, 1500, 4000):
        (TMP / "cut").write_bytes(good[:cut])
        (TMP / "cut").chmod(0o755)
        done = guest.run(SONDE, "run", TMP / "cut", status=None, env=clean())
        assert done.returncode in (126, -signal.SIGSEGV, -signal.SIGKILL, -signal.SIGBUS, 127), \
            (cut, done)


def t_without_the_library_it_says_where_it_looked():
    alone = TMP / "alone" / "bin"
    alone.mkdir(parents=True)
    shutil.copy(SONDE, alone / "sonde")
    done = guest.run(alone / "sonde", "run", "true", status=None, env=clean())
    if done.returncode == 0:
        raise guest.Skip("libsonde.so is installed")
    assert done.returncode == 125 and b"cannot find libsonde.so" in done.stderr, done


def t_the_library_is_found_beside_or_in_lib():
    top = TMP / "prefix"
    (top / "bin").mkdir(parents=True)
    (top / "lib").mkdir()
    shutil.copy(SONDE, top / "bin" / "sonde")
    shutil.copy(LIB, top / "lib" / "libsonde.so")
    out = guest.run(top / "bin" / "sonde", "run", "env", env=clean()).stdout.decode()
    assert f"LD_PRELOAD={top}/lib/libsonde.so\n" in out, out


def t_the_library_may_be_named():
    copy = TMP / "named.so"
    shutil.copy(LIB, copy)
    assert variables("--lib", copy)["LD_PRELOAD"] == str(copy)
    assert variables(env=clean(SONDE_LIB=copy))["LD_PRELOAD"] == str(copy)
    _, err = sonde("--lib", TMP / "gone.so", "true", status=125)
    assert "cannot find the library" in err, err
    blank = TMP / "a b.so"
    shutil.copy(LIB, blank)
    _, err = sonde("--lib", blank, "true", status=125)
    assert "there is a blank" in err, err


def t_wrong_options_are_told():
    for args, want in ((["--bogus", "true"], "there is no option --bogus"),
                       (["--heap-rate", "x", "true"], "takes a number, not 'x'"),
                       (["--preset", "BOGUS", "touch", TMP / "began"], "there is no preset 'BOGUS'"),
                       (["--log", TMP / "none/x", "touch", TMP / "began"], "/none/x': No such file or directory"),
                       (["--dump", "s3:x", "touch", TMP / "began"], "'s3:x' is no place for dumps"),
                       (["--dump", "dir:", "touch", TMP / "began"], "'dir:' is no place for dumps"),
                       (["--addr"], "--addr takes a value"),
                       (["--help=1"], "--help takes no value"),
                       ([], "which program?"), (["--"], "which program?")):
        _, err = sonde(*args, status=125)
        assert want in err, (args, err)
    assert not (TMP / "began").exists()


def t_help_tells_of_every_option():
    out, err = sonde("--help")
    assert "usage: sonde run" in out and "--heap-rate" in out and not err, (out, err)


def t_called_as_pprof_run_is_a_file():
    link = TMP / "pprof"
    link.symlink_to(SONDE)
    done = guest.run(link, "run", "true", status=2, env=clean(), cwd=TMP)
    assert b"sonde run" not in done.stderr, done


if __name__ == "__main__":
    sys.exit(guest.main(globals(), sys.argv[5:]))
