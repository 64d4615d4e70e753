#!/usr/bin/env python3
"""Other people's test suites, with libsonde in the programs they test.

usage: host-suites.py --lib LIBRARY [NAME...]

Python's and GLib's own tests, as Debian packages them: threads, processes, signals, files, loading
of modules, and a good deal of expectations that nobody would think of writing down here.  A suite is
run with the library (heap rate 16 KiB, endpoint on) and must say what it says without.

SPDX-License-Identifier: Apache-2.0
"""
import os
import pathlib
import re
import subprocess
import sys

import guest
from guest import clean, free_port, guest_env

LIB = guest.argument("lib")
GLIB = pathlib.Path("/usr/libexec/installed-tests/glib")

PYTHON = """test_array test_bytes test_dict test_exceptions test_fork1 test_generators test_json
    test_list test_mmap test_os test_pickle test_popen test_posix test_queue test_re test_resource
    test_select test_signal test_struct test_subprocess test_thread test_threading
    test_threadsignals test_unicode test_wait3 test_wait4 test_weakref test_zlib""".split()

# Lists all open files of a child, which has an endpoint too, and so two more (docs/RUNTIME.md).
OURS = ["-i", "test_pass_fds_redirected"]

GLIB_TESTS = """1bit-mutex array-test asyncqueue atomic basics-gobject bytes cache cond convert cxx dataset
    date dir dynamictests environment fileutils gsubprocess gvariant hash hook io-channel keyfile list logging
    mainloop mappedfile markup-parse memchunk module-test-library module-test-plugin mutex node once onceinit
    option-context private queue rcbox rec-mutex refcount regex rwlock sequence signal-handler slice
    slice-concurrent slist socket sort spawn-multithreaded spawn-path-search spawn-singlethread spawn-test
    strfuncs""".split()


def soaked():
    return guest_env(LIB, free_port(), SONDE_HEAP_RATE=16384, SONDE_MUTEX_FRACTION=1,
                     SONDE_BLOCK_RATE=1, SONDE_MEMLOG="50ms")


def python_says(env):
    """The verdict on each test, without times."""
    done = subprocess.run(["/usr/bin/python3", "-m", "test", "-v", "-j2", "--timeout", "300", *OURS, *PYTHON],
                          capture_output=True, text=True, env=env, timeout=1500, cwd=guest.TMP,
                          stdin=subprocess.DEVNULL)
    verdicts = re.findall(r"^(test\w+ \([\w.]+\)).*? \.\.\. (ok|FAIL|ERROR|skipped)", done.stdout, re.M)
    failed = re.findall(r"^(?:FAIL|ERROR): .*", done.stdout, re.M)
    return done.returncode, sorted(set(verdicts)), sorted(set(failed)), done.stdout


def t_python():
    if not pathlib.Path("/usr/lib/python3.11/test/test_json").exists():
        raise guest.Skip("there is no libpython3.11-testsuite")
    status, verdicts, failed, said = python_says(soaked())
    if status:  # what fails here without us is not our fault
        alone, _, wrong, _ = python_says(clean())
        assert alone and set(failed) <= set(wrong), (failed, said[-500:])
    assert len(verdicts) > 2000, f"only {len(verdicts)} tests"
    print(f"# {len(verdicts)} tests of Python's, {len(failed)} fail with and without us")


def glib_says(name, env):
    done = subprocess.run([GLIB / name, "--tap"], capture_output=True, text=True, env=env,
                          timeout=guest.LIMIT, cwd=guest.TMP, stdin=subprocess.DEVNULL)
    return done.returncode, re.findall(r"^(?:not )?ok .*", done.stdout, re.M), done.stderr


def t_glib():
    if not GLIB.exists():
        raise guest.Skip("there is no libglib2.0-tests")
    total = 0
    for name in GLIB_TESTS:
        if not (GLIB / name).exists():
            continue
        got = glib_says(name, soaked() | {"G_TEST_SRCDIR": str(GLIB), "G_TEST_BUILDDIR": str(GLIB)})
        want = None
        if got[0]:
            want = glib_says(name, clean(G_TEST_SRCDIR=GLIB, G_TEST_BUILDDIR=GLIB))
            assert want[:2] == got[:2], (name, want, got)
        total += len(got[1])
    assert total > 300, f"only {total} tests"
    print(f"# {total} tests of GLib's")


if __name__ == "__main__":
    sys.exit(guest.main(globals(), sys.argv[3:]))
