#!/usr/bin/env python3
"""Binaries end to end: programs are compiled and run, and their addresses get their names back.

usage: binaries.py --sonde PROGRAM [NAME...]

Every function below whose name starts with "t_" is one TAP case.  Where Go is installed, the
messages are those that "go tool pprof" has for the same profile.

SPDX-License-Identifier: Apache-2.0
"""
import os
import pathlib
import re
import shutil
import struct
import subprocess
import sys
import tempfile

from tap import GO, HERE, LIMIT, SONDE, TMP, Profile, Skip, main, run  # some only for others to import

MIXED = HERE / "profiles" / "mixed"
HINT = ("Some binary filenames not available. Symbolization may be incomplete.\n"
        "Try setting PPROF_BINARY_PATH to the search path for local binaries.\n")

# Says where its functions are, and what the kernel has mapped where.
SOURCE = r"""
#include <stdio.h>
#define HIDDEN __attribute__((noinline)) static
#define OPEN __attribute__((noinline))
HIDDEN int %(tag)s_hidden(int x) { return x * 3; }
OPEN int %(tag)s_open(int x) { return %(tag)s_hidden(x) + 1; }
int main(int argc, char **argv)
{
	int c;
	FILE *maps = fopen("/proc/self/maps", "r");
	printf("%(tag)s_hidden %%p\n", (void *)%(tag)s_hidden);
	printf("%(tag)s_open %%p\n", (void *)%(tag)s_open);
	printf("main %%p\n", (void *)main);
	while (maps && (c = getc(maps)) != EOF)
		putchar(c);
	return %(tag)s_open(argc) == 0;
}
"""


# --- programs ----------------------------------------------------------------------------

class Program:
    """A compiled program and one run of it: where its functions and its mappings were."""

    def __init__(self, name, *flags, tag="alpha"):
        cc = shutil.which("gcc") or shutil.which("cc")
        if not cc:
            raise Skip("no C compiler")
        self.path = TMP / "built" / name / "server"
        self.path.parent.mkdir(parents=True, exist_ok=True)
        source = self.path.with_suffix(".c")
        source.write_text(SOURCE % {"tag": tag})
        run(cc, "-O1", "-Wl,--build-id", *flags, source, "-o", self.path)
        self.read_run(run(self.path))
        self.build_id = re.search(r"Build ID: (\w+)", run("readelf", "-n", self.path))[1]

    def read_run(self, text):
        self.functions, self.maps = {}, []
        for line in text.splitlines():
            words = line.split()
            if len(words) == 2:
                self.functions[words[0]] = int(words[1], 16)
            elif len(words) > 5 and words[5] == str(self.path):
                start, limit = (int(x, 16) for x in words[0].split("-"))
                self.maps.append((start, limit, int(words[2], 16), words[1]))
        assert len(self.functions) == 3 and self.maps, text

    def code(self):
        """The executable mapping: what profilers record."""
        return next(m[:3] for m in self.maps if "x" in m[3])

    def whole(self):
        """One mapping for all segments."""
        return min(m[0] for m in self.maps), max(m[1] for m in self.maps), 0

    def profile(self, name, at=None, file=None, build_id=None, move=0):
        """Writes an unsymbolized profile of one sample in each function; returns its path."""
        start, limit, offset = at or self.code()
        p = Profile([("samples", "count")])
        m = p.mapping(start, limit, offset, str(file or "/gone/server"),
                      self.build_id if build_id is None else build_id, has="")
        for n, address in enumerate(self.functions.values(), 1):
            p.sample([p.location([], address + 2 - move, m)], [n])
        path = TMP / (name + ".pb")
        path.write_bytes(p.encode())
        return path


PROGRAMS = {}


def program(name="plain", *flags, tag="alpha"):
    if name not in PROGRAMS:
        PROGRAMS[name] = Program(name, *flags, tag=tag)
    return PROGRAMS[name]


# --- what is run -------------------------------------------------------------------------

def environment(search=None):
    env = {k: v for k, v in os.environ.items() if not k.startswith(("PPROF_", "DEBUGINFOD_", "XDG_"))}
    env |= {"HOME": str(TMP / "home"), "PPROF_TMPDIR": str(TMP), "GOFLAGS": "",
            "GOCACHE": str(TMP / "gocache")}
    return env | ({"PPROF_BINARY_PATH": str(search)} if search is not None else {})


def report(tool, args, search):
    r = subprocess.run([*tool, *map(str, args)], capture_output=True, timeout=LIMIT, cwd=TMP,
                       stdin=subprocess.DEVNULL, env=environment(search))
    return r.stdout.decode(errors="replace"), r.stderr.decode(errors="replace"), r.returncode


def sonde(*args, search=None):
    """Standard output and error of "sonde -top"; it must end well."""
    out, err, status = report([SONDE, "-top"], args, search)
    assert status == 0, f"status {status}\n{err}"
    assert "Sanitizer" not in err, err
    return out, err


def names(out):
    """The names in a -top table."""
    return {line.split(None, 5)[5] for line in out.splitlines() if re.match(r" *\d.*%", line)}


def named(p, *args, search=None):
    """All functions of 'p' are named, and nothing is complained about."""
    out, err = sonde(*args, search=search)
    assert err == "", err
    assert names(out) == set(p.functions), out


def unnamed(want, *args, search=None):
    """No function is named; 'want' is on standard error."""
    out, err = sonde(*args, search=search)
    assert err == want, f"\n got: {err!r}\nwant: {want!r}"
    assert not [n for n in names(out) if not n.startswith(("[", "<"))], out


def as_reference(*args, tables=True):
    """Same messages, same status and, if wanted, the same table as the reference."""
    ours = report([SONDE, "-top"], args, None)
    if GO:
        theirs = report([GO, "tool", "pprof", "-top"], args, None)
        assert ours[1:] == theirs[1:], f"\nours:   {ours[1:]!r}\ntheirs: {theirs[1:]!r}"
        assert not tables or ours[0] == theirs[0], f"\n{ours[0]}\n{theirs[0]}"
    return ours


def place(source, where):
    """A copy of 'source' at 'where' in a new folder; returns the folder."""
    folder = pathlib.Path(tempfile.mkdtemp(dir=TMP))
    (folder / where).parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(source, folder / where)
    return folder


# --- where binaries are found ------------------------------------------------------------

def t_every_place_of_the_search_path_gives_names():
    p = program()
    at, i = p.profile("places", file="/opt/bin/server"), p.build_id
    for where in (f"{i}/server", f"{i}/other", f"opt/bin/server/{i}", f"{i[:2]}/{i[2:]}.debug",
                  "server", "opt/bin/server", "opt/bin/server.debug",
                  "opt/bin/.debug/server.debug", "usr/lib/debug/opt/bin/server.debug"):
        named(p, at, search=place(p.path, where))


def t_the_second_folder_is_searched_too():
    p = program()
    named(p, p.profile("second"), search=f"/nonexistent:{place(p.path, 'server')}")


def t_the_default_is_in_the_home_folder():
    p = program()
    folder = TMP / "home/pprof/binaries"
    folder.mkdir(parents=True)
    shutil.copy(p.path, folder / "server")
    named(p, p.profile("home"))
    shutil.rmtree(TMP / "home")


def t_the_file_of_the_mapping_is_used_where_it_is():
    p = program()
    named(p, p.profile("itself", file=p.path))


def t_a_binary_on_the_command_line_is_used():
    p = program()
    named(p, p.path, p.profile("argument", file="/gone/x"))


def t_a_build_id_on_the_command_line_finds_the_binary_of_the_first_mapping():
    p = program()
    named(p, f"-buildid={p.build_id}", p.path, p.profile("buildid", build_id=""))


# --- binaries that are not the right ones ------------------------------------------------

def other():
    return program("other", tag="omega")


def t_another_binary_of_the_same_name_is_not_used():
    p, o = program(), other()
    folder = place(o.path, "server")
    unnamed(f"Ignoring local file {folder}/server: build-id mismatch ({p.build_id} != {o.build_id})\n"
            f"Local symbolization failed for server (build ID {p.build_id}): "
            f"open /gone/server: no such file or directory\n" + HINT,
            p.profile("wrong"), search=folder)


def t_another_binary_at_the_mapping_s_own_path_is_not_used():
    p, o = program(), other()
    unnamed(f"Local symbolization failed for server (build ID {p.build_id}): build ID mismatch\n",
            p.profile("replaced", file=o.path))


def t_another_binary_on_the_command_line_is_not_used():
    p, o = program(), other()
    unnamed(f"Local symbolization failed for server (build ID {p.build_id}): build ID mismatch\n",
            o.path, p.profile("override"))


def t_the_right_binary_is_found_behind_a_wrong_one():
    p, o = program(), other()
    wrong, right = place(o.path, "server"), place(p.path, "server")
    out, err = sonde(p.profile("behind"), search=f"{wrong}:{right}")
    assert names(out) == set(p.functions), out
    assert err == (f"Ignoring local file {wrong}/server: "
                   f"build-id mismatch ({p.build_id} != {o.build_id})\n"), err


def t_without_a_build_id_the_name_decides():
    p = program()
    named(p, p.profile("byname", build_id=""), search=place(p.path, "server"))


# --- layouts of programs and mappings ----------------------------------------------------

LAYOUTS = {
    "pie": ["-pie", "-fPIE"],
    "fixed": ["-no-pie"],
    "together": ["-pie", "-fPIE", "-Wl,-z,noseparate-code"],
    "fixed-together": ["-no-pie", "-Wl,-z,noseparate-code"],
    "large-pages": ["-pie", "-fPIE", "-Wl,-z,max-page-size=0x10000"],
    "lld": ["-pie", "-fPIE", "-fuse-ld=lld"],
    "lld-fixed": ["-no-pie", "-fuse-ld=lld"],
    "gold": ["-pie", "-fPIE", "-fuse-ld=gold"],
}


def layouts():
    for name, flags in LAYOUTS.items():
        if name.startswith(("lld", "gold")) and not shutil.which("ld." + name.split("-")[0]):
            continue
        yield name, program(name, *flags)


def t_the_mapping_of_the_code_is_enough_for_every_layout():
    for name, p in layouts():
        named(p, p.profile(name + "-code", file=p.path))


def t_a_mapping_of_all_segments_works_for_every_layout():
    for name, p in layouts():
        named(p, p.profile(name + "-whole", at=p.whole(), file=p.path))


def t_a_mapping_of_everything_works_for_fixed_addresses():
    for name, p in layouts():
        if "fixed" in name:
            named(p, p.profile(name + "-zero", at=(0, 0, 0), file=p.path))
            named(p, p.profile(name + "-all", at=(0, 2**64 - 1, 0), file=p.path))


def t_a_part_of_the_code_works():
    p = program()
    start, limit, offset = p.code()
    page = min(p.functions.values()) & -4096
    named(p, p.profile("part", at=(page, limit, offset + page - start), file=p.path))


def t_a_profile_without_mappings_works_with_a_binary_of_fixed_addresses():
    p = program("fixed", *LAYOUTS["fixed"])
    q = Profile([("samples", "count")])
    for n, address in enumerate(p.functions.values(), 1):
        q.sample([q.location([], address + 2)], [n])
    path = TMP / "nomapping.pb"
    path.write_bytes(q.encode())
    named(p, p.path, path)


def t_what_strip_leaves_is_used():
    p = program("exporting", "-rdynamic")
    stripped = TMP / "stripped"
    run("strip", "-o", stripped, p.path)
    out, err = sonde(p.profile("stripped", file=stripped))
    assert err == "" and names(out) == {"alpha_open", "main", "[stripped]"}, out + err


def t_a_file_of_debugging_information_is_used():
    for name, p in layouts():
        debug = TMP / (name + ".debug")
        run("objcopy", "--only-keep-debug", p.path, debug)
        i = p.build_id
        named(p, p.profile(name + "-debug"), search=place(debug, f"{i[:2]}/{i[2:]}.debug"))


def t_native_profiles_get_at_least_the_reference_s_names():
    for kind in ("gperftools.cpu", "tcmalloc.heap"):
        args = ["-nodefraction=0", "-edgefraction=0", MIXED, f"{MIXED}.{kind}"]
        out, _ = sonde(*args)
        assert {"worker", "rec", "leafalloc"} <= names(out), out
        if GO:
            theirs = names(report([GO, "tool", "pprof", "-top"], args, None)[0])
            assert {n for n in theirs if n[0] != "["} <= names(out), (theirs, out)


# --- messages ----------------------------------------------------------------------------

def with_mappings(name, *mappings):
    """A profile with one sample in each of the mappings, (file, build id[, has]) each."""
    p = Profile([("samples", "count")])
    for i, (file, build_id, *has) in enumerate(mappings, 1):
        m = p.mapping(i << 20, (i << 20) + i * 0x1000, 0, str(file), build_id, *has or [""])
        p.sample([p.location([], (i << 20) + 0x10, m)], [1])
    path = TMP / (name + ".pb")
    path.write_bytes(p.encode())
    return path


def t_missing_binaries_are_reported_as_by_the_reference():
    _, err, _ = as_reference(with_mappings("missing", ("/gone/a", ""), ("/gone/b", "abcd")))
    assert err == ("Local symbolization failed for a: open /gone/a: no such file or directory\n"
                   "Local symbolization failed for b (build ID abcd): "
                   "open /gone/b: no such file or directory\n" + HINT), err


def t_what_is_no_binary_is_reported_as_by_the_reference():
    (TMP / "empty").write_bytes(b"")
    (TMP / "text").write_text("#!/bin/sh\n")
    (TMP / "magic").write_bytes(b"\x7fELF")
    for what in ("empty", "text", "magic", "built", "text/x"):
        _, err, _ = as_reference(with_mappings("not", (TMP / what, "")))
        assert f": open {TMP / what}: " in err and err.endswith(HINT), err


def t_a_binary_cut_short_is_reported_as_by_the_reference():
    data = program().path.read_bytes()
    for n in (10, 63, 64, 400, 8000, len(data) - 1):
        (TMP / "cut").write_bytes(data[:n])
        _, err, _ = as_reference(with_mappings("cut", (TMP / "cut", "")))
        assert f"open {TMP}/cut: unrecognized object file\n" in err, (n, err)


def t_an_unreadable_binary_is_reported_as_by_the_reference():
    if os.geteuid() == 0:
        raise Skip("root can read everything")
    secret = TMP / "secret"
    shutil.copy(program().path, secret)
    secret.chmod(0)
    _, err, _ = as_reference(with_mappings("secret", (secret, "")))
    assert f"open {secret}: permission denied\n" in err, err


def t_mappings_without_a_name_are_reported_as_by_the_reference():
    _, err, _ = as_reference(with_mappings("nameless", ("", "")))
    assert err == "Main binary filename not available.\n", err
    _, err, _ = as_reference(with_mappings("nameless", ("", ""), ("", "")))
    assert err == "Main binary filename not available.\n" + HINT, err


def t_mappings_that_no_file_backs_are_skipped_as_by_the_reference():
    _, err, _ = as_reference(with_mappings(
        "kernel", ("[vdso]", ""), ("linux-vdso.so.1", ""), ("/dev/dri/card0", ""),
        ("http://h/x", ""), ("HTTPS://h/x", ""), ("/gone/a", "", "F"), ("/gone/b", "", "L")))
    assert err == "", err


def t_modes_are_understood_as_by_the_reference():
    at = with_mappings("modes", ("/gone/a", ""), ("/gone/b", "", "F"), ("[vdso]", ""))
    for mode in ("", "none", "no", "NONE", "local", "fastlocal", "remote", "force", "bogus",
                 "local:force", "bogus:none", "none:bogus", "demangle=default", "demangle=full",
                 "demangle=none", "demangle=templates", "demangle=x", "full", "Local:Bogus:x", ":"):
        as_reference(f"-symbolize={mode}", at)
    _, err, _ = as_reference("-symbolize=bogus", at)
    assert err.startswith("ignoring unrecognized symbolization option: bogus\n"
                          "expecting -symbolize=[local|fastlocal|remote|none][:force]"
                          "[:demangle=[none|full|templates|default]\n"), err


def t_without_libelf_the_package_is_named():
    p, broken = program(), TMP / "broken"
    broken.mkdir()
    (broken / "libelf.so.1").write_text("")
    r = subprocess.run([SONDE, "-top", p.profile("nolib", file=p.path, build_id="")], text=True,
                       capture_output=True, timeout=LIMIT,
                       env=environment() | {"LD_LIBRARY_PATH": str(broken)})
    assert r.returncode == 0 and "install the package libelf1" in r.stderr, r.stderr


# --- binaries from strangers -------------------------------------------------------------

def survives(data, profile):
    """Whatever the binary is, the report appears, and messages are sentences."""
    (TMP / "hostile").write_bytes(data)
    out, err = sonde(profile)
    assert "Showing nodes" in out, out
    for line in err.splitlines():
        assert line.startswith(("Local symbolization failed for hostile", "Some binary", "Try")), err


def patched(data, at, fmt, value):
    out = bytearray(data)
    struct.pack_into(fmt, out, at, value)
    return bytes(out)


def t_headers_that_lie_do_no_harm():
    p = program()
    data, at = p.path.read_bytes(), p.profile("lies", file=TMP / "hostile", build_id="")
    shoff = struct.unpack_from("<Q", data, 40)[0]
    for field, fmt in ((18, "<H"), (32, "<Q"), (40, "<Q"), (52, "<H"), (54, "<H"), (56, "<H"),
                       (58, "<H"), (60, "<H"), (62, "<H")):
        for value in (0, 1, 64, shoff, len(data) - 1, 0xffff, 2**63, 2**64 - 1):
            survives(patched(data, field, fmt, value & (2 ** (8 * struct.calcsize(fmt)) - 1)), at)


def t_sections_that_lie_do_no_harm():
    p = program()
    data, at = p.path.read_bytes(), p.profile("lies", file=TMP / "hostile", build_id="")
    shoff, shnum = struct.unpack_from("<Q", data, 40)[0], struct.unpack_from("<H", data, 60)[0]
    tables = [i for i in range(shnum) if struct.unpack_from("<I", data, shoff + 64 * i + 4)[0] in (2, 3, 7)]
    assert len(tables) >= 4
    for i in tables:
        for field, fmt in ((4, "<I"), (24, "<Q"), (32, "<Q"), (40, "<I"), (56, "<Q")):
            for value in (0, 1, i, 2, len(data) - 8, 2**31, 2**63):
                mask = 2 ** (8 * struct.calcsize(fmt)) - 1
                survives(patched(data, shoff + 64 * i + field, fmt, value & mask), at)


def t_section_counts_from_the_first_section_do_no_harm():
    p = program()
    data, at = p.path.read_bytes(), p.profile("counts", file=TMP / "hostile", build_id="")
    shoff = struct.unpack_from("<Q", data, 40)[0]
    for count in (1, 2**16, 2**32 - 1, 2**58, 2**63):
        survives(patched(patched(data, 60, "<H", 0), shoff + 32, "<Q", count), at)


def t_a_damaged_symbol_table_is_named():
    p = program()
    data = bytearray(p.path.read_bytes())
    shoff, shnum = struct.unpack_from("<Q", data, 40)[0], struct.unpack_from("<H", data, 60)[0]
    for i in range(shnum):
        if struct.unpack_from("<I", data, shoff + 64 * i + 4)[0] == 2:
            struct.pack_into("<I", data, shoff + 64 * i + 40, 1)
    (TMP / "hostile").write_bytes(data)
    unnamed(f"Local symbolization failed for hostile: {TMP}/hostile: damaged symbol table\n",
            p.profile("damaged", file=TMP / "hostile", build_id=""))


def t_a_pipe_in_the_place_of_a_binary_does_not_hang():
    os.mkfifo(TMP / "pipe")
    unnamed(f"Local symbolization failed for pipe: open {TMP}/pipe: unrecognized object file\n" + HINT,
            with_mappings("pipe", (TMP / "pipe", "")))


if __name__ == "__main__":
    sys.exit(main(globals()))
