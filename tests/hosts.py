#!/usr/bin/env python3
"""Hosts that make it hard to be their guest: the same output with a CPU profile at 1000 Hz in them.

usage: hosts.py --agent LIBRARY --host PROGRAM [NAME...]

LIBRARY is tests/programs/mini-agent.c, PROGRAM tests/programs/host.c.  Every function below whose
name starts with "t_" is one TAP case.

SPDX-License-Identifier: Apache-2.0
"""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

AGENT = str(pathlib.Path(sys.argv[sys.argv.index("--agent") + 1]).resolve())
HOST = str(pathlib.Path(sys.argv[sys.argv.index("--host") + 1]).resolve())
ONLY = sys.argv[5:]
TMP = pathlib.Path(tempfile.mkdtemp(prefix="hosts."))
LIMIT = 300  # seconds for any one command
ASKED = {"MINI_HZ": "1000"}


class Skip(Exception):
    pass


def run(args, **env):
    p = subprocess.run([str(a) for a in args], capture_output=True, text=True, timeout=LIMIT,
                       env={**os.environ, **env}, errors="replace")
    return p.returncode, p.stdout, p.stderr


def with_agent(args, **env):
    """What the program says with us in it, and what we say."""
    said = TMP / "said"
    said.unlink(missing_ok=True)
    result = run(args, LD_PRELOAD=AGENT, MINI_OUT=str(said), **ASKED, **env)
    return result, said.read_text() if said.exists() else ""


def same(args, **env):
    """The program does not notice; returns what the agent has to say."""
    want = run(args)
    got, said = with_agent(args, **env)
    assert got == want, f"{got} with us, {want} without"
    return said


def ticks(said):
    words = said.split()
    assert words[:1] == ["ticks"], said
    return int(words[1]), int(words[3])


def compile_with(compiler, source, *flags, suffix=".c"):
    if not shutil.which(compiler):
        raise Skip(f"no {compiler}")
    path = TMP / ("program" + suffix)
    path.write_text(source)
    out = TMP / "program"
    p = subprocess.run([compiler, "-O1", "-g", str(path), "-o", str(out), *flags],
                       capture_output=True, text=True, timeout=LIMIT)
    if p.returncode:
        raise Skip(p.stderr.splitlines()[0] if p.stderr else f"{compiler} fails")
    return out


def goes_well(what, at_least=20, **env):
    got, lost = ticks(same([HOST, what], **env))
    assert got >= at_least, f"only {got} ticks"
    assert lost <= got // 10, f"{lost} of {got} ticks lost"


# --- cases -------------------------------------------------------------------------------

def t_forks_of_many_threads():
    goes_well("fork")


def t_forks_of_a_large_process_come_to_an_end():
    goes_well("fork-large")


def t_vfork_and_exec():
    goes_well("vfork")


def t_posix_spawn_and_system():
    goes_well("spawn")


def t_the_next_program_gets_no_file_and_no_signal_of_ours():
    same([HOST, "exec"])


def t_no_tick_is_under_way_to_the_next_program():
    same([HOST, "exec-chain"], MINI_FOLLOW="1")


def t_ten_thousand_threads():
    goes_well("threads", at_least=1000)


def t_libraries_come_and_go():
    goes_well("dlopen")


def t_ticks_on_alternate_stacks():
    goes_well("altstack")


def t_smallest_stacks():
    goes_well("small-stack")


def t_calls_are_not_interrupted_and_errno_stays():
    goes_well("eintr")


def t_a_host_without_files():
    same([HOST, "no-files"])


def t_a_host_without_memory():
    same([HOST, "no-memory"])


def t_a_host_that_takes_sigprof_gets_it():
    said = same([HOST, "own-sigprof"])
    assert "refused: the program began to handle SIGPROF itself" in said, said


def t_a_host_that_has_sigprof_keeps_it():
    said = same([HOST, "own-sigprof"], MINI_AFTER="sigprof")
    assert said.startswith("refused: the program handles SIGPROF itself"), said


def t_a_host_in_a_sandbox_is_left_alone():
    said = same([HOST, "seccomp"], MINI_AFTER="seccomp")
    assert said.startswith("refused: the program has put itself behind a seccomp filter"), said


def t_exceptions_in_flight():
    program = compile_with("g++", r"""
        #include <cstdio>
        #include <stdexcept>
        #include <string>
        #include <thread>
        #include <vector>
        static long deep(int n, int by)
        {
            std::string held(static_cast<size_t>(n % 40), 'x');
            if (n == 0)
                throw std::runtime_error(std::to_string(by));
            return deep(n - 1, by) + static_cast<long>(held.size());
        }
        int main()
        {
            std::vector<std::thread> threads;
            long sums[4] = {};
            for (int t = 0; t < 4; t++)
                threads.emplace_back([t, &sums] {
                    for (int i = 0; i < 4000; i++)
                        try { deep(i % 50, i); }
                        catch (const std::exception &e) { sums[t] += std::stol(e.what()); }
                });
            for (auto &t : threads)
                t.join();
            std::printf("%ld\n", sums[0] + sums[1] + sums[2] + sums[3]);
        }
        """, "-pthread", suffix=".cc")
    got, _ = ticks(same([program]))
    assert got >= 20, f"only {got} ticks"


def t_plugins_are_found_beside_who_loads_them():
    """dlopen() searches along the RUNPATH of its caller, who must not seem to be us."""
    if not shutil.which("gcc"):
        raise Skip("no gcc")
    folder = TMP / "plugins"
    folder.mkdir()
    (TMP / "plugin.c").write_text("int answer(void) { return 42; }\n")
    subprocess.run(["gcc", "-shared", "-fPIC", "-o", folder / "libguestplugin.so", TMP / "plugin.c"],
                   check=True, timeout=LIMIT)
    program = compile_with("gcc", r"""
        #include <dlfcn.h>
        #include <stdio.h>
        int main(void)
        {
            void *h = dlopen("libguestplugin.so", RTLD_NOW);
            int (*answer)(void) = h ? (int (*)(void))dlsym(h, "answer") : 0;
            printf("%d\n", answer ? answer() : -1);
            return !answer;
        }
        """, "-Wl,-rpath,$ORIGIN/plugins", "-Wl,--enable-new-dtags")
    assert run([program])[0] == 0, "does not work without us"
    same([program])


def t_sanitized_programs_are_left_alone():
    program = compile_with("gcc", "int main(void) { return 0; }\n", "-fsanitize=address")
    libasan = subprocess.run(["gcc", "-print-file-name=libasan.so"], capture_output=True,
                             text=True, timeout=LIMIT).stdout.strip()
    said = TMP / "said"
    said.unlink(missing_ok=True)
    code, out, err = run([program], LD_PRELOAD=f"{libasan} {AGENT}", MINI_OUT=str(said),
                         ASAN_OPTIONS="verify_asan_link_order=0:detect_leaks=0")
    assert code == 0, out + err
    assert said.read_text() == "refused: the program is built with AddressSanitizer\n"


def t_python_runs_subprocesses_and_threads():
    script = ("import subprocess, threading, hashlib\n"
              "def work(n):\n"
              "    h = hashlib.sha256()\n"
              "    for i in range(20000): h.update(b'%d' % (i * n))\n"
              "    print(subprocess.run(['echo', h.hexdigest()], capture_output=True).stdout)\n"
              "for n in range(4):\n"
              "    t = threading.Thread(target=work, args=(n,)); t.start(); t.join()\n")
    got, _ = ticks(same(["python3", "-c", script]))
    assert got >= 20, f"only {got} ticks"


def main():
    cases = [(n[2:], f) for n, f in globals().items() if n.startswith("t_")]
    cases = [c for c in cases if not ONLY or c[0] in ONLY]
    failed = 0
    print(f"1..{len(cases)}")
    for number, (name, case) in enumerate(cases, 1):
        title = f"{number} - {name.replace('_', ' ')}"
        try:
            case()
            print(f"ok {title}", flush=True)
        except Skip as e:
            print(f"ok {title} # SKIP {e}", flush=True)
        except (AssertionError, subprocess.SubprocessError, OSError) as e:
            failed += 1
            print(f"not ok {title}", flush=True)
            print("".join(f"# {line}\n" for line in str(e).splitlines()), end="")
    shutil.rmtree(TMP)
    return failed > 0


sys.exit(main())
