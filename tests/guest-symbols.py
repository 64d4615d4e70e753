#!/usr/bin/env python3
"""What libsonde is made of: which names it shows, needs and calls, and from where.

usage: guest-symbols.py --lib LIBRARY --static ARCHIVE --objects ARCHIVE --source ROOT [NAME...]

What the code that the host calls, or a signal interrupts it with, may call is listed in
docs/RUNTIME.md.  Here the relocations of the object files are followed from those functions on, so
that a call which is not on the list fails the test however deep it is.

SPDX-License-Identifier: Apache-2.0
"""
import fnmatch
import pathlib
import re
import struct
import subprocess
import sys

import guest
from guest import clean

LIB, STATIC, OBJECTS = (guest.argument(n) for n in ("lib", "static", "objects"))
ROOT = pathlib.Path(guest.argument("source"))
MAP = (ROOT / "src/runtime/libsonde.map").read_text()
MANUAL = (ROOT / "docs/RUNTIME.md").read_text()

SHN_UNDEF, SHT_RELA, SHT_SYMTAB, STB_GLOBAL, SHN_LOW = 0, 4, 2, 1, 0xff00


def shown(*args):
    return subprocess.run(list(args), check=True, capture_output=True, text=True).stdout


def exported_patterns():
    text = re.sub(r"/\*.*?\*/", "", MAP, flags=re.S).partition("local:")[0]
    return re.findall(r"^\s*([^\s{}:]+);", text, re.M)


def listed(heading):
    """The names in the code block below this heading of docs/RUNTIME.md."""
    block = re.search(rf"^#+ {re.escape(heading)}\n.*?^```\n(.*?)^```", MANUAL, re.M | re.S)
    assert block, f"docs/RUNTIME.md has no list below '{heading}'"
    return set(block[1].split())


class Object:
    """One member of an archive: which section refers to which symbol."""

    def __init__(self, name, data):
        self.name = name
        self.refs = {}   # section index -> symbols
        self.where = {}  # symbol index -> section index
        at, = struct.unpack_from("<Q", data, 40)
        n, _ = struct.unpack_from("<HH", data, 60)
        self.sections = [struct.unpack_from("<IIQQQQIIQQ", data, at + 64 * i) for i in range(n)]
        self.symbols = []
        self.read_symbols(data)
        self.read_relocations(data)

    def read_symbols(self, data):
        for s in self.sections:
            if s[1] != SHT_SYMTAB:
                continue
            names = self.sections[s[6]][4]
            for at in range(s[4], s[4] + s[5], 24):
                name, info, _, section, value, _ = struct.unpack_from("<IBBHQQ", data, at)
                text = data[names + name:data.index(b"\0", names + name)].decode()
                self.symbols.append((text, info >> 4, info & 15, section))

    def read_relocations(self, data):
        for s in self.sections:
            if s[1] != SHT_RELA:
                continue
            refs = self.refs.setdefault(s[7], set())
            for at in range(s[4], s[4] + s[5], 24):
                _, info, _ = struct.unpack_from("<QQq", data, at)
                refs.add(info >> 32)


def members(archive):
    data = pathlib.Path(archive).read_bytes()
    thin = data.startswith(b"!<thin>\n")
    assert thin or data.startswith(b"!<arch>\n"), archive
    if thin:
        folder = pathlib.Path(archive).parent
        for name in shown("ar", "t", archive).split():
            path = folder / name if (folder / name).exists() else pathlib.Path(name)
            yield Object(path.name, path.read_bytes())
        return
    for name in shown("ar", "t", archive).split():
        yield Object(name, subprocess.run(["ar", "p", archive, name], check=True,
                                          capture_output=True).stdout)


class Code:
    """All objects, and what refers to what."""

    def __init__(self):
        self.objects = list(members(OBJECTS))
        self.defined = {}
        for o in self.objects:
            for name, bind, _, section in o.symbols:
                if bind and section != SHN_UNDEF:
                    self.defined[name] = (o, section)

    def find(self, name):
        """Where a function is, also a static one."""
        if name in self.defined:
            return self.defined[name]
        for o in self.objects:
            for text, _, kind, section in o.symbols:
                if text == name and kind == 2 and section != SHN_UNDEF:
                    return o, section
        return None

    def reached(self, roots):
        """Outside names that are referred to from these functions on, each with a way to it."""
        todo, seen, outside = [], set(), {}
        for r in roots:
            place = self.find(r)
            assert place, f"there is no function {r}"
            todo.append((*place, [r]))
        while todo:
            o, section, way = todo.pop()
            if (o.name, section) in seen:
                continue
            seen.add((o.name, section))
            for index in sorted(o.refs.get(section, ())):
                text, bind, _, target = o.symbols[index]
                here = way + [text] if text else way
                if target != SHN_UNDEF and target < SHN_LOW:
                    todo.append((o, target, here))
                elif text in self.defined:
                    todo.append((*self.defined[text], here))
                elif text:
                    outside.setdefault(text, here)
        return outside


def hold(roots, allowed):
    ways = Code().reached(roots)
    wrong = [" -> ".join(way) for name, way in sorted(ways.items()) if name not in allowed]
    assert not wrong, "\n".join(wrong)


def dynamic_names(*flags):
    return [line.split()[-1] for line in shown("nm", "-D", *flags, LIB).splitlines()]


def t_it_needs_nothing_but_the_c_library():
    needed = re.findall(r"\(NEEDED\).*\[(.*)\]", shown("readelf", "-dW", LIB))
    assert set(needed) <= {"libc.so.6", "ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1"}, needed


def t_it_shows_only_its_interface_and_the_hooks():
    wrong = [n for n in dynamic_names("--defined-only")
             if not any(fnmatch.fnmatchcase(n, p) for p in exported_patterns())]
    assert not wrong, wrong


def t_it_shows_all_of_its_interface():
    declared = set(re.findall(r"^SONDE_API [^(]*\b(sonde_\w+)\(", (ROOT / "include/sonde.h").read_text(),
                              re.M))
    missing = declared - set(dynamic_names("--defined-only"))
    assert declared and not missing, missing


def t_the_static_library_shows_the_same_names():
    text = shown("nm", "-g", "--defined-only", STATIC)
    names = {line.split()[-1] for line in text.splitlines() if re.match(r"[0-9a-f]{16} ", line)}
    assert names == set(dynamic_names("--defined-only")), names ^ set(dynamic_names("--defined-only"))


def t_what_the_library_calls_is_on_the_list():
    used = {n.partition("@")[0] for n in dynamic_names("--undefined-only")}
    wrong = used - listed("What the library calls") - \
        {"__cxa_finalize", "__gmon_start__", "_ITM_deregisterTMCloneTable",
         "_ITM_registerTMCloneTable"}  # the compiler's, in every library
    assert not wrong, wrong


def t_what_signal_handlers_call_is_on_the_list():
    hold(sorted(listed("Signal handlers")), listed("What signal handlers call"))


def t_what_hooks_call_is_on_the_list():
    hooks = [n for n in exported_patterns() if "*" not in n and Code().find(n)]
    assert "malloc" in hooks and "free" in hooks, hooks
    hold(hooks, listed("What signal handlers call") | listed("What hooks call"))


def t_a_forbidden_call_would_be_found():
    code = Code()
    for o in code.objects:
        for name, _, _, _ in o.symbols:
            if name in ("malloc", "dlsym", "mmap") and name in code.reached(
                    [n for n, b, kind, s in o.symbols if kind == 2 and s != SHN_UNDEF and n]):
                return
    raise AssertionError("no outside call was seen in any object: the test looks at nothing")


def t_thread_local_storage_is_small_and_static():
    headers = shown("readelf", "-lW", LIB)
    tls = re.search(r"^\s+TLS\s+\S+\s+\S+\s+\S+\s+\S+\s+(0x[0-9a-f]+)", headers, re.M)
    assert tls and int(tls[1], 16) <= 256, tls and tls[0]
    relocations = shown("readelf", "-rW", LIB)
    dynamic = re.findall(r"R_\w+_(?:DTPMOD|DTPOFF|TLSDESC)\w*", relocations)
    assert not dynamic, dynamic


def t_code_is_never_written_to_and_all_is_bound_at_start():
    text = shown("readelf", "-dW", LIB)
    assert "TEXTREL" not in text, text
    assert "NOW" in text and "NODELETE" in text, text
    headers = shown("readelf", "-lW", LIB)
    assert "GNU_RELRO" in headers and not re.search(r"GNU_STACK.*RWE", headers), headers


def t_switched_off_there_is_no_thread_no_file_and_no_word():
    look = ["sh", "-c", "ls /proc/$$/task | wc -l; ls /proc/$$/fd; cat /proc/$$/net/unix | wc -l >&2"]
    bare = guest.run(*look, env=clean())
    with_us = guest.run(*look, env=clean(LD_PRELOAD=LIB))
    assert with_us.stdout == bare.stdout, (with_us.stdout, bare.stdout)
    for path in ("true", "ls", "python3"):
        args = [guest.tool(path)] + (["-c", "pass"] if path == "python3" else ["--version"])
        a, b = guest.run(*args, env=clean()), guest.run(*args, env=clean(LD_PRELOAD=LIB))
        assert (a.stdout, a.stderr) == (b.stdout, b.stderr), (path, b)


if __name__ == "__main__":
    sys.exit(guest.main(globals(), sys.argv[9:]))
