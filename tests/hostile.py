#!/usr/bin/env python3
"""Input from a stranger: refused in a sentence or reported on, never a crash.

usage: hostile.py --sonde PROGRAM [--sanitized]

Every input is given to one report after the other.  The program must end by itself (not by a
signal), within a time and a memory limit; and if it refuses the input, its first line on
standard error must name the file, and nothing may be left behind.  --sanitized: the program
was built with AddressSanitizer, whose address space cannot be limited.

SPDX-License-Identifier: Apache-2.0
"""
import concurrent.futures
import gzip
import itertools
import os
import pathlib
import random
import resource
import signal
import struct
import subprocess
import sys
import tempfile
import zlib

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE / "profiles"))
from writer import Profile, message, number, numbers, squeeze, varint  # noqa: E402

SONDE = pathlib.Path(sys.argv[sys.argv.index("--sonde") + 1]).resolve()
SANITIZED = "--sanitized" in sys.argv
MEMORY = 1 << 30
SECONDS = 60 if SANITIZED else 20  # of a processor
HANGS = 600  # seconds, after which nobody can be waiting for a processor only
REPORTS = ["-top", "-raw", "-traces", "-dot", "-tags", "-tree", "-proto", "-callgrind", "-peek=.", "-list=.",
           "-topproto", "-comments", "-top -mean -sample_index=0", "-tree -call_tree -lines", "-dot -call_tree",
           "-top -json", "-folded", "-disasm=.", "-weblist=. -output=/dev/stdout"]


def small():
    p = Profile([("n", "count"), ("space", "bytes")], ("space", "bytes", 512), time=1, duration=2,
                comments=["c"], drop="x", default="space")
    m = p.mapping(0x1000, 0x2000, 0, "/bin/x", "ab")
    f, g = p.function("f", "f.c"), p.function("g", "g.c")
    a = p.location([(f, 3), (g, 4)], 0x1010, m)
    p.sample([a, p.location([(g, 5)], 0x1020, m)], [1, 64], [("bytes", 64, "bytes"), ("k", "v")])
    p.sample([a], [2, 128])
    return p.encode()


SMALL = small()
HEADER = message(6, b"") + message(6, b"n") + message(6, b"count") + message(1, number(1, 1) + number(2, 2))


def truncated():
    for n in range(len(SMALL)):
        yield f"cut at {n}", SMALL[:n]
    packed = squeeze(SMALL)
    for n in range(1, len(packed)):
        yield f"gzip cut at {n}", packed[:n]


def flipped():
    for i in range(len(SMALL) * 8):
        data = bytearray(SMALL)
        data[i // 8] ^= 1 << i % 8
        yield f"bit {i} flipped", bytes(data)
    packed = squeeze(SMALL)
    for i in range(0, len(packed) * 8, 3):
        data = bytearray(packed)
        data[i // 8] ^= 1 << i % 8
        yield f"gzip bit {i} flipped", bytes(data)


def mutated():
    """A real profile with a few of its bytes changed, moved or repeated."""
    rng = random.Random(9)
    whole = gzip.decompress((HERE / "profiles/etcd-mutex.pb.gz").read_bytes())
    for k in range(400):
        data = bytearray(whole)
        for _ in range(rng.randint(1, 8)):
            i = rng.randrange(len(data))
            how = rng.randrange(4)
            if how == 0:
                data[i] = rng.randrange(256)
            elif how == 1:
                del data[i:i + rng.randint(1, 9)]
            elif how == 2:
                data[i:i] = data[i:i + rng.randint(1, 99)]
            else:
                data[i:i] = bytes([0xFF]) * rng.randint(1, 10)
        yield f"mutation {k}", bytes(data)


def noise():
    rng = random.Random(10)
    for k in range(200):
        yield f"noise {k}", rng.randbytes(rng.choice([1, 2, 8, 100, 5000]))
        yield f"gzip noise {k}", squeeze(rng.randbytes(rng.choice([1, 8, 100])))


def not_profiles():
    yield "nothing", b""
    yield "gzip of nothing", squeeze(b"")
    yield "html", b"<!DOCTYPE html>\n<html><body>404 page not found</body></html>\n"
    yield "text", b"404 page not found\n"
    yield "json", b'{"error": "unauthorized"}\n'
    yield "zeros", bytes(4096)
    yield "ones", b"\xff" * 4096
    yield "an ELF file", pathlib.Path("/bin/true").read_bytes()[:8192]
    yield "gzip of gzip of gzip", squeeze(squeeze(squeeze(SMALL)))
    yield "gzip, bad sum", squeeze(SMALL)[:-8] + b"\0\0\0\0" + squeeze(SMALL)[-4:]
    yield "gzip, bad length", squeeze(SMALL)[:-4] + b"\xff\xff\xff\x7f"
    yield "gzip, junk behind", squeeze(SMALL) + b"junk"
    yield "gzip, zeros behind", squeeze(SMALL) + bytes(100)
    yield "gzip, all flags", b"\x1f\x8b\x08\x1f" + bytes(20)
    yield "gzip, name without end", b"\x1f\x8b\x08\x08" + b"x" * 10000
    yield "gzip, unknown method", b"\x1f\x8b\x07" + bytes(30)
    yield "zstd, cut", b"\x28\xb5\x2f\xfd\x24"
    yield "zstd, huge frame", b"\x28\xb5\x2f\xfd\xc0" + b"\xff" * 8 + b"\xff\xff\xff\xff"
    yield "zstd, skippable", b"\x50\x2a\x4d\x18\xff\xff\xff\xff"
    yield "a mountain of zeros", gzip.compress(bytes(300 << 20), 1)
    yield "a mountain of samples", bomb()
    yield "perf.data", b"PERFILE2" + bytes(100)


def bomb():
    """A few kilobytes that become a hundred million bytes of well-formed samples."""
    z = zlib.compressobj(9, zlib.DEFLATED, 31)
    one = message(2, number(2, 1)) * 10000
    out = z.compress(HEADER)
    for _ in range(2500):
        out += z.compress(one)
    return out + z.flush()


def crafted():
    top = (1 << 63) - 1
    loc = message(4, number(1, 1) + message(4, number(1, 1) + number(2, 1)))
    fn = message(5, number(1, 1) + number(2, 1))
    sample = message(2, number(1, 1) + number(2, 7))
    good = HEADER + loc + fn + sample
    yield "good", good
    yield "no sample type", message(6, b"") + loc + fn
    yield "first string not empty", message(6, b"x") + good
    yield "string out of range", good + message(1, number(1, 99))
    yield "string index 2^63", good + message(1, number(1, 1 << 63))
    yield "function name out of range", HEADER + loc + message(5, number(1, 1) + number(2, 77)) + sample
    yield "location id 0", HEADER + message(4, number(3, 5)) + fn + sample
    yield "function id 0", HEADER + loc + message(5, number(2, 1)) + sample
    yield "mapping id 0", good + message(3, number(2, 5))
    yield "same location twice", good + loc
    yield "same function twice", good + fn
    yield "same mapping twice", good + message(3, number(1, 1)) * 2
    yield "sample without its location", good + message(2, number(1, 9) + number(2, 1))
    yield "location without its function", good + message(4, number(1, 2) + message(4, number(1, 9)))
    yield "location without its mapping", good + message(4, number(1, 2) + number(2, 9))
    yield "line without function", good + message(4, number(1, 2) + message(4, number(2, 9)))
    yield "too few values", HEADER + message(1, number(1, 1)) + loc + fn + sample
    yield "too many values", good + message(2, number(1, 1) + numbers(2, [1, 2, 3], True))
    yield "no values", good + message(2, number(1, 1))
    for n in (top, -top - 1, 1 << 62, -1):
        yield f"count {n}", good + message(2, number(1, 1) + number(2, n)) * 5
        yield f"time {n}", good + number(9, n)
        yield f"duration {n}", good + number(10, n)
        yield f"period {n}", good + number(12, n)
        yield f"line {n}", good + message(4, number(1, 2) + message(4, number(1, 1) + number(2, n)))
        yield f"ids {n}", good + message(2, number(1, n) + number(2, 1))
        yield f"location id {n}", HEADER + message(4, number(1, n)) + fn + message(2, number(1, n) + number(2, 1))
        yield f"address {n}", good + message(4, number(1, 3) + number(3, n)) + message(2, number(1, 3) + number(2, 4))
        yield f"numeric label {n}", good + message(2, number(1, 1) + number(2, 1) + message(3, number(1, 1) + number(3, n)))
        yield f"mapping {n}", good + message(3, number(1, 1) + number(2, n) + number(3, n - 1) + number(4, n))
        yield f"start line {n}", good + message(5, number(1, 2) + number(2, 1) + number(5, n))
    yield "concatenated", good + number(9, 5) + good + number(9, 6)
    for n in (2**31 - 1, 2**31, 2**32, 2**40, 2**63 - 1, 2**64 - 1):
        yield f"length {n}", good + varint(2 << 3 | 2) + varint(n) + b"x"
        yield f"packed length {n}", good + message(2, varint(1 << 3 | 2) + varint(n) + b"x")
    for wire in (3, 4, 6, 7):
        yield f"wire type {wire}", good + varint(20 << 3 | wire) + b"xxxxxxxx"
        yield f"wire type {wire} of a known field", good + varint(2 << 3 | wire) + b"xxxxxxxx"
    yield "field number 0", good + varint(0) + varint(1)
    yield "field number 2^29", good + varint(1 << 32) + varint(1)
    yield "sample as a number", good + number(2, 5)
    yield "time as a message", good + message(9, b"xyz")
    yield "varint of eleven bytes", good + varint(9 << 3) + b"\x80" * 10 + b"\x01"
    yield "names that are not text", HEADER + loc + message(5, number(1, 1) + number(2, 3)) + \
        message(6, bytes(range(1, 256)) + b"\xed\xa0\x80\xf4\x90\x80\x80\xc0\x80") + sample
    yield "a name of ten million bytes", HEADER + loc + message(5, number(1, 1) + number(2, 3)) + \
        message(6, b"n" * 10_000_000) + sample
    yield "a stack of a million frames", good + message(2, numbers(1, [1] * 1_000_000, True) + number(2, 1))
    yield "a hundred thousand sample types", message(6, b"") + message(1, b"") * 100_000
    yield "a hundred thousand labels", good + message(2, number(1, 1) + number(2, 1) + message(3, number(1, 1) + number(2, 2)) * 100_000)
    yield "bad regular expression to drop", good + message(6, b"(((") + number(7, 3)
    yield "a regular expression that backtracks", good + message(6, b"(n*)*(n*)*(n*)*x") + number(7, 3) + \
        message(6, b"n" * 5000) + message(5, number(1, 9) + number(2, 4)) + \
        message(4, number(1, 9) + message(4, number(1, 9))) + message(2, number(1, 9) + number(2, 3))


def legacy():
    word = struct.Struct("<Q").pack
    words = lambda *n: b"".join(map(word, n))
    yield "cpu: header only", words(0, 3, 0, 10000, 0)
    yield "cpu: period 0", words(0, 3, 0, 0, 0, 1, 1, 5)
    yield "cpu: huge depth", words(0, 3, 0, 10000, 0, 1, 1 << 62, 5)
    yield "cpu: huge count", words(0, 3, 0, 10000, 0, (1 << 64) - 1, 1, 5, 0, 1, 0)
    yield "cpu: huge period", words(0, 3, 0, (1 << 64) - 1, 0, 1, 1, 5, 0, 1, 0)
    yield "cpu: cut", words(0, 3, 0, 10000, 0, 1, 3, 5)
    yield "heap: header only", b"heap profile: 1: 2 [ 3: 4 ] @ heap_v2/524288\n"
    yield "heap: rate 0", b"heap profile: 1: 2 [ 3: 4 ] @ heap_v2/0\n 1: 2 [ 3: 4 ] @ 0x1\n"
    yield "heap: overflow", b"heap profile: 1: 2 [ 3: 4 ] @ heap/9\n 99999999999999999999: 2 [ 3: 4 ] @ 0x1\n"
    yield "heap: address", b"heap profile: 1: 2 [ 3: 4 ] @ heap/9\n 1: 2 [ 3: 4 ] @ 0xfffffffffffffffffffff\n"
    yield "heap: minus", b"heap profile: -1: -2 [ -3: -4 ] @ heap/9\n -1: -2 [ -3: -4 ] @ 0x0\n"
    yield "count: nonsense", b"goroutine profile: total 5\nx @ y\n"
    yield "count: zero address", b"goroutine profile: total 5\n5 @ 0x0\n"
    yield "contention: nonsense", b"--- contention:\ncycles/second=0\n1 2 @ 0x1\n"
    yield "contention: period", b"--- mutex:\ncycles/second=-5\nsampling period=99999999999999999999\n1 2 @ 0x1\n"
    yield "thread: cut", b"--- threadz 1 ---\n\n--- Thread 7f (name: x/1) stack: ---\n"
    yield "java: cut", b"--- heapz 1 ---\nformat = java\n"
    yield "maps: nonsense", b"heap profile: 1: 2 [ 3: 4 ] @ heap/9\n1: 2 [ 3: 4 ] @ 0x1\nMAPPED_LIBRARIES:\n" + \
        b"ffffffffffffffff-0 r-xp ffffffffffffffff 00:00 0 x\nzz\n" * 50
    yield "one endless line", b"heap profile: " + b"1" * 5_000_000
    yield "folded: huge", b"a;b;c 99999999999999999999999\n"
    yield "folded: empty frames", b";;;; 1\n;a 2\n 3\n"
    for text in (b"heap profile: 1: 2 [ 3: 4 ] @ heap_v2/1\n 1: 2 [ 3: 4 ] @ 0x1 0x2\nMAPPED_LIBRARIES:\n1-9 r-xp 0 0:0 0 /x\n",
                 b"--- contentionz 1 ---\nformat = java\nresolution = microseconds\n 1 2 @ 0x1\n 0x1 f (a.java:3)\n"):
        for n in range(0, len(text), 2):
            yield f"{text[:12].decode()} cut at {n}", text[:n]


GROUPS = [truncated, flipped, mutated, noise, not_profiles, crafted, legacy]


def limits():
    if not SANITIZED:
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def run(args, where, **kw):
    env = {"PATH": "/usr/bin:/bin", "TZ": "UTC", "TERM": "dumb", "HOME": str(where),
           "ASAN_OPTIONS": "exitcode=99:detect_leaks=0", "UBSAN_OPTIONS": "print_stacktrace=1"}
    kw = {"stdout": subprocess.DEVNULL, "stdin": subprocess.DEVNULL, "preexec_fn": limits, **kw}
    try:
        r = subprocess.run([SONDE, *args], cwd=where, env=env, timeout=HANGS, stderr=subprocess.PIPE, **kw)
        return r.returncode, r.stderr.decode(errors="replace"), r.stdout
    except subprocess.TimeoutExpired:
        return "timeout", "", b""


def verdict(status, err, name):
    """None if the program behaved, else what it did."""
    if status == 0:
        return None
    if status not in (1, 2):
        return f"exit status {status}: " + " | ".join(err.splitlines()[:6])[:600]
    lines = err.splitlines()
    if lines and lines[-1].startswith(("no matches found for regexp", "profile has no samples")):
        return None  # the input was good; there was nothing to show
    if not any(line.startswith(name + ": ") or name in line for line in lines[:2]):
        return "the file is not named: " + " | ".join(lines[:3])[:300]
    if len(lines) > 4:
        return f"{len(lines)} lines: " + " | ".join(lines[:6])[:600]
    return None


def attempt(work):
    where, n, what, data, report = work
    name = f"in{n}"
    path = where / name
    path.write_bytes(data)
    status, err, _ = run([*report.split(), name], where)
    path.unlink()
    return what, report, verdict(status, err, name)


def inputs(where, group):
    reports = itertools.cycle(REPORTS)
    for n, (what, data) in enumerate(group()):
        # Each input that was thought out is given to every report; each accident to one.
        for report in REPORTS if group in (crafted, legacy, not_profiles) else [next(reports)]:
            yield where, f"{n}{report.replace(' ', '').replace('/', '')}", what, data, report


def full_disk(where):
    """A report that cannot be written is an error; a file that cannot be finished is not there."""
    (where / "big.pb").write_bytes(gzip.decompress((HERE / "profiles/prom-heap.pb.gz").read_bytes()))
    for report in ("-top", "-raw", "-traces", "-proto", "-dot"):
        with open("/dev/full", "wb") as full:
            status, err, _ = run([report, "big.pb"], where, stdout=full)
        yield f"{report} to a full disk fails", status in (1, 2) and "no space left" in err.lower(), (status, err)

    def small_files():
        limits()
        signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
        resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))

    for report in ("-raw", "-proto", "-traces"):
        out = where / "out"
        for before in (None, b"precious"):
            out.unlink(missing_ok=True)
            if before:
                out.write_bytes(before)
            status, err, _ = run([report, "-output=out", "big.pb"], where, preexec_fn=small_files)
            left = sorted(p.name for p in where.iterdir())
            now = out.read_bytes() if out.exists() else None
            good = status == 2 and "write out: file too large" in err and now == before and set(left) <= {"big.pb", "out"}
            yield f"{report} -output that cannot be finished leaves {before or 'nothing'}", good, (status, err, left)
    (where / "out").unlink(missing_ok=True)


def main():
    count = failed = 0

    def tell(what, good, why):
        nonlocal count, failed
        count += 1
        failed += not good
        print(f"{'' if good else 'not '}ok {count} - {what}")
        for line in [] if good else why:
            print(f"# {line}")

    with tempfile.TemporaryDirectory() as tmp:
        where = pathlib.Path(tmp)
        with concurrent.futures.ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
            for group in GROUPS:
                done = list(pool.map(attempt, inputs(where, group)))
                bad = [f"{what} ({report}): {why}" for what, report, why in done if why]
                tell(f"{group.__name__.replace('_', ' ')}: {len(done)} inputs", done and not bad, bad[:25])
        left = sorted(p.name for p in where.iterdir())
        tell("nothing is left behind", not left, left)
        for what, good, why in full_disk(where):
            tell(what, good, [repr(why)[:500]])
    print(f"1..{count}")
    return failed > 0


sys.exit(main())
