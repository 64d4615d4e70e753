#!/usr/bin/env python3
"""Programs that use libsonde, and that no README walks through (walks.py).

usage: examples.py --lib LIBRARY --examples FOLDER --source ROOT [NAME...]

SPDX-License-Identifier: Apache-2.0
"""
import pathlib
import sys

import guest
from guest import TMP, clean, fetch, free_port, run, started, tool

LIB = guest.argument("lib")
BUILT, ROOT = pathlib.Path(guest.argument("examples")), pathlib.Path(guest.argument("source"))


def t_the_header_is_fit_for_cplusplus():
    source = TMP / "header.cc"
    source.write_text('#include <sonde.h>\nint main() { struct sonde_options o = { SONDE_OPTIONS };\n'
                      'return sonde_is_on() + (o.addr != nullptr); }\n')
    run(tool("c++"), "-std=c++20", "-Wall", "-Werror", "-I", ROOT / "include", source, LIB, "-o",
        TMP / "header")
    run(TMP / "header", env=clean(LD_LIBRARY_PATH=pathlib.Path(LIB).parent))


def t_mounted_on_microhttpd():
    program = BUILT / "example-microhttpd"
    if not program.exists():
        raise guest.Skip("it was not built")
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


if __name__ == "__main__":
    sys.exit(guest.main(globals(), sys.argv[7:]))
