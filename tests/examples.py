#!/usr/bin/env python3
"""The examples do what they say, and so does a program built the way they tell.

usage: examples.py --sonde PROGRAM --lib LIBRARY --static ARCHIVE --examples FOLDER --source ROOT [NAME...]

SPDX-License-Identifier: Apache-2.0
"""
import pathlib
import sys

import guest
from guest import TMP, clean, fetch, free_port, run, started, tool

SONDE, LIB, STATIC = (guest.argument(n) for n in ("sonde", "lib", "static"))
BUILT, ROOT = pathlib.Path(guest.argument("examples")), pathlib.Path(guest.argument("source"))


def top(body, name):
    profile = TMP / "profile"
    profile.write_bytes(body)
    text = run(SONDE, "-top", profile, env=clean()).stdout.decode()
    assert name in text, text
    return text


def try_linked(program):
    port = free_port()
    with started(program, f"localhost:{port}", env=clean(), stderr=guest.subprocess.DEVNULL):
        guest.answers(port)
        # Allocations are sampled from the start on; the first may take a moment.
        guest.until("serve() in the heap", lambda: b"serve" in run(
            SONDE, "-top", f"http://localhost:{port}/debug/pprof/heap",
            env=clean(HOME=TMP, PPROF_TMPDIR=TMP)).stdout)


def t_linked():
    try_linked(BUILT / "example-linked")


def t_linked_ends_as_if_nothing_had_been():
    run(BUILT / "example-linked", f"localhost:{free_port()}", "briefly", env=clean())


def t_linked_with_the_static_library():
    program = TMP / "static-linked"
    run(tool("cc"), "-g", "-I", ROOT / "include", ROOT / "examples" / "linked.c", STATIC, "-o", program)
    try_linked(program)


def t_the_header_is_fit_for_cplusplus():
    source = TMP / "header.cc"
    source.write_text('#include <sonde.h>\nint main() { struct sonde_options o = { SONDE_OPTIONS };\n'
                      'return sonde_is_on() + (o.addr != nullptr); }\n')
    run(tool("c++"), "-std=c++20", "-Wall", "-Werror", "-I", ROOT / "include", source, LIB, "-o",
        TMP / "header")
    run(TMP / "header", env=clean(LD_LIBRARY_PATH=pathlib.Path(LIB).parent))


def try_mounted(program):
    if not program.exists():
        raise guest.Skip(f"{program.name} was not built")
    port = free_port()
    with started(program, port, env=clean(), stderr=guest.subprocess.DEVNULL):
        guest.until("hello", lambda: fetch(port, "/hello") == (200, b"hello\n"))
        status, body = fetch(port, "/debug/pprof/heap")
        assert status == 200 and body[:2] == b"\x1f\x8b", (status, body[:100])
        status, body = fetch(port, "/debug/pprof/profile?seconds=1")
        assert status == 200 and body[:2] == b"\x1f\x8b", (status, body[:100])
        assert fetch(port, "/debug/pprof/nothing") == (404, b"Unknown profile\n")
        assert fetch(port, "/debug/pprof/heap?seconds=x")[0] == 400
        assert b"/debug/pprof/" in fetch(port, "/debug/pprof/")[1]
        assert fetch(port, "/hello") == (200, b"hello\n")


def t_mounted_on_a_hand_written_server():
    try_mounted(BUILT / "example-mounted")


def t_mounted_on_microhttpd():
    try_mounted(BUILT / "example-mounted-microhttpd")


def t_preloaded():
    if guest.listens(8070):
        raise guest.Skip("port 8070 is taken")
    out = run("sh", ROOT / "examples" / "preloaded.sh", SONDE,
              env=clean(HOME=TMP, PPROF_TMPDIR=TMP)).stdout.decode()
    assert "inuse_space" in out and "Showing nodes" in out, out


if __name__ == "__main__":
    sys.exit(guest.main(globals(), sys.argv[11:]))
