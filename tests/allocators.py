#!/usr/bin/env python3
"""Programs whose memory does not come from a malloc() that can be hooked: no profile is empty without
a word, and what cannot be done is refused in words.

usage: allocators.py --sonde PROGRAM --lib LIBRARY --static ARCHIVE --source ROOT [NAME...]

SPDX-License-Identifier: Apache-2.0
"""
import pathlib
import re
import subprocess
import sys

import guest
from guest import TMP, clean, compile_c, fetch, free_port, run, started, tool

SONDE, LIB, STATIC = (guest.argument(n) for n in ("sonde", "lib", "static"))
ROOT = pathlib.Path(guest.argument("source"))

ARENA = r"""
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
static char *at, *end;
static void *arena(size_t n)
{
    char *p;
    n = (n + 15) & ~(size_t)15;
    if ((size_t)(end - at) < n) {
        at = mmap(NULL, 64 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        end = at + (64 << 20);
    }
    p = at;
    at += n;
    return p;
}
"""
FAMILY = r"""
%s void *%smalloc(size_t n) { size_t *p = arena(n + 16); *p = n; return p + 2; }
%s void %sfree(void *p) { (void)p; }
%s void *%scalloc(size_t a, size_t b) { return %smalloc(a * b); }
%s void *%srealloc(void *p, size_t n)
{
    void *q = %smalloc(n);
    if (p)
        memcpy(q, p, n < ((size_t *)p)[-2] ? n : ((size_t *)p)[-2]);
    return q;
}
"""
MAIN = r"""
int main(void)
{
    for (int i = 0; i < 3000; i++)
        memset(%s(10000), 1, 10000);
    puts("ready");
    fflush(stdout);
    for (;;)
        pause();
}
"""


def family(how="", prefix=""):
    return FAMILY % (how, prefix, how, prefix, how, prefix, prefix, how, prefix, prefix)


def look(program):
    """Comments and rows of the heap profile of a program that says when it is ready, and the index."""
    port = free_port()
    with started(program, env=guest.guest_env(LIB, port), stdout=subprocess.PIPE) as p:
        assert p.stdout.readline() == b"ready\n"
        guest.answers(port)
        status, body = fetch(port, "/debug/pprof/heap")
        assert status == 200, body
        index = fetch(port, "/debug/pprof/")[1].decode()
    profile = TMP / "heap.pb.gz"
    profile.write_bytes(body)
    comments = run(SONDE, "-comments", profile, env=clean()).stdout.decode()
    return comments, run(SONDE, "-raw", profile, env=clean()).stdout.decode(), index


def is_told(program):
    comments, _, index = look(program)
    said = re.search(r"sonde: (\d+) MB of the (\d+) MB in use were allocated with malloc\(\)", comments)
    assert said and int(said[1]) <= 1 and 25 <= int(said[2]) < 60, comments
    assert "MB in use were allocated with malloc()" in index, index


def t_a_malloc_in_the_program_is_its_own():
    program = compile_c("exported", ARENA + family() + MAIN % "malloc", "-fno-builtin")
    comments, _, index = look(program)
    assert "sonde: the program's allocator is not reached by our hooks" in comments, comments
    assert "sonde: the heap profile is off: the program's malloc() cannot be hooked" in comments, comments
    assert "allocator is not reached" in index and "cannot be hooked" in index, index


def t_a_malloc_that_is_hidden_in_the_program():
    hidden = '__attribute__((visibility("hidden")))'
    is_told(compile_c("hidden", ARENA + family(hidden) + MAIN % "malloc", "-fno-builtin"))


def t_an_allocator_under_another_name():
    is_told(compile_c("prefixed", ARENA + family("", "je_") + MAIN % "je_malloc"))


def t_a_library_that_is_bound_to_itself():
    library = TMP / "libbound.so"
    (TMP / "bound.c").write_text(ARENA + family() + "void *work(size_t n) { return malloc(n); }\n")
    run(tool("cc"), "-shared", "-fPIC", "-fno-builtin", "-Wl,-Bsymbolic", "-o", library, TMP / "bound.c")
    is_told(compile_c("bound", "#include <stdio.h>\n#include <string.h>\n#include <unistd.h>\n"
                      "void *work(size_t n);\n" + MAIN % "work", str(library)))


def t_a_program_that_allocates_with_malloc_needs_no_words():
    program = compile_c("usual", "#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n"
                        "#include <unistd.h>\n" + MAIN % "malloc", "-fno-builtin")
    comments, raw, index = look(program)
    assert "sonde: " not in comments and "MB in use" not in index, (comments, index)
    assert re.search(r"M=1 main ", raw), raw


def t_a_program_at_a_fixed_address_that_compares_functions():
    program = compile_c("fixed", "#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n"
                        "#include <unistd.h>\nvoid *(*volatile f)(size_t);\n"
                        "__attribute__((noinline)) static void *take(size_t n) { f = malloc; return f(n); }\n" + MAIN % "take",
                        "-no-pie", "-fno-pic")
    comments, raw, _ = look(program)
    assert "sonde: " not in comments and re.search(r"M=1 take", raw), (comments, raw)


def t_a_go_program():
    (TMP / "go").mkdir()
    source = TMP / "go" / "own.go"
    source.write_text("""package main
// #include <stdlib.h>
import "C"
import ("fmt"; "time")
var kept [][]byte
func main() {
	C.free(C.malloc(1))
	for i := 0; i < 3000; i++ {
		b := make([]byte, 10000)
		for j := range b { b[j] = 1 }
		kept = append(kept, b)
	}
	fmt.Println("ready")
	time.Sleep(time.Hour)
}
""")
    program = TMP / "go" / "own"
    built = run(tool("go"), "build", "-o", program, source, status=None,
                env=clean(GOCACHE=TMP / "go" / "cache", CGO_ENABLED="1", GO111MODULE="off"))
    if built.returncode:
        raise guest.Skip("go cannot build with cgo here")
    comments, _, _ = look(program)
    assert "the program is written in Go, which has an allocator" in comments, comments


def t_a_rust_program():
    source = TMP / "own.rs"
    source.write_text("fn main() { let mut kept: Vec<Vec<u8>> = Vec::new();\n"
                      "for _ in 0..3000 { kept.push(vec![1u8; 10000]); }\nprintln!(\"ready\");\n"
                      "loop { std::thread::sleep(std::time::Duration::from_secs(1)); } }\n")
    program = TMP / "rusty"
    run(tool("rustc"), "-g", "-o", program, source)
    comments, raw, _ = look(program)
    assert "sonde: " not in comments and "raw_vec" in raw, (comments, raw)


STARTS = """#include <sonde.h>
int main(void) { return sonde_start(NULL); }
"""


def link(name, *flags):
    source = TMP / (name + ".c")
    source.write_text(STARTS)
    return run(tool("cc"), "-I", ROOT / "include", source, STATIC, "-o", TMP / name, *flags,
               status=None)


def t_the_archive_in_a_static_program_does_not_link():
    done = link("static", "-static")
    assert done.returncode != 0, done
    assert b"libsonde_needs_a_program_without_static" in done.stderr, done.stderr


def t_the_archive_in_a_static_program_that_moves_says_why():
    done = link("static-pie", "-static-pie")
    if done.returncode:
        raise guest.Skip("no static-pie here")
    done = run(TMP / "static-pie", status=127, env=clean())
    assert done.stderr == b"libsonde: a program that is linked statically cannot have it\n", done


def t_the_archive_in_other_programs_links():
    for flags in ((), ("-no-pie",), ("-Wl,--gc-sections", "-O2"), ("-static-libgcc",)):
        done = link("dynamic", *flags)
        assert done.returncode == 0, done.stderr
        run(TMP / "dynamic", env=clean())


if __name__ == "__main__":
    sys.exit(guest.main(globals(), sys.argv[9:]))
