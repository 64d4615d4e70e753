#!/usr/bin/env python3
"""Make the synthetic profiles the comparison runs on: the same bytes every time.

usage: make-profiles.py FOLDER

The profiles that lie beside this file (taken from real programs) are copied to the folder too.

Each function below is one profile (or a few that belong together) built to exercise a rule:
its name is the file's name.  The random ones at the end mix everything, seeded.

SPDX-License-Identifier: Apache-2.0
"""
import pathlib
import random
import shutil
import struct
import sys
import zlib

from writer import Profile, message, number, remap, squeeze, utf8, varint

CPU = [("samples", "count"), ("cpu", "nanoseconds")]
HEAP = [("alloc_objects", "count"), ("alloc_space", "bytes"),
        ("inuse_objects", "count"), ("inuse_space", "bytes")]
TIME = 1539688440_123456789  # Oct 16, 2018 at 11:14am (UTC)
MS, S = 10**6, 10**9

MADE = {}
PLAIN = {"cpu", "heap", "labels", "inline", "negative"}  # the others: by chance, half and half


def profile(fn):
    MADE[fn.__name__.replace("_", "-")] = fn
    return fn


# The reference's own test profiles, rebuilt from their description


def small_functions(p, file="testdata/file{}.src"):
    name = lambda n: f"line{n}"
    where = lambda n: file.format(n // 1000 * 1000)
    return {n: p.function(name(n), where(n), f"mangled{n}") for n in (1000, 2000, 2001, 3000, 3001, 3002)}


def small_stacks(p, lines, addresses=True):
    m = 1
    f = small_functions(p)
    return {n: p.location([(f[g], at) for g, at in lines[n]], n and int(str(n), 16) * addresses, m)
            for n in lines}


@profile
def cpu():
    p = Profile([("samples", "count"), ("cpu", "milliseconds")], ("cpu", "milliseconds", 1),
                duration=10 * S)
    p.mapping(0x1000, 0x4000, file="/path/to/testbinary")
    at = small_stacks(p, {1000: [(1000, 1)], 2000: [(2001, 9), (2000, 4)],
                          3000: [(3002, 2), (3001, 5), (3000, 6)], 3001: [(3001, 8), (3000, 9)],
                          3002: [(3002, 5), (3000, 9)]})
    p.sample([at[1000], at[2000], at[3000]], [1000, 1000], [("key1", "tag1"), ("key2", "tag1")])
    p.sample([at[1000], at[3001]], [100, 100], [("key1", "tag2"), ("key3", "tag2")])
    p.sample([at[2000], at[3002]], [10, 10], [("key1", "tag3"), ("key2", "tag2")])
    p.sample([at[3000]], [10, 10], [("key1", "tag4"), ("key2", "tag1")])
    return p


@profile
def cpusmall():
    p = Profile([("samples", "count"), ("cpu", "milliseconds")], ("cpu", "milliseconds", 1),
                duration=10 * S)
    p.mapping(0x1000, 0x4000, file="/path/to/testbinary")
    at = {n: p.location((), n * 0x1000, 1) for n in range(1, 6)}
    for stack in ([1, 2, 3], [4, 2, 5], [3], [5]):
        p.sample([at[n] for n in stack], [1000, 1000])
    return p


def small_heap(types=None, extra=lambda i, n: ()):
    p = Profile(types or [("inuse_objects", "count"), ("inuse_space", "bytes")],
                ("allocations", "bytes", 524288), comments=["comment", "#hidden comment"],
                drop=".*operator new.*|malloc")
    p.mapping(0x1000, 0x4000, build_id="buildid")
    small_functions(p)
    prune = p.function("pruneme", "prune.h")
    malloc = p.function("malloc", "malloc.h", "mangledMALLOC")
    new = p.function("operator new", "new.h", "mangledNEW")
    f = small_functions(p)
    at = {
        1000: p.location([(prune, 100), (malloc, 100), (f[1000], 1)], 0x1000, 1),
        2000: p.location([(new, 100), (f[2001], 2), (f[2000], 3)], 0x2000, 1),
        3000: p.location([(new, 100), (f[3002], 3), (f[3001], 2), (f[3000], 4)], 0x3000, 1),
        3001: p.location([(prune, 100), (new, 100), (f[3001], 2), (f[3000], 4)], 0x3001, 1),
        3002: p.location([(f[3002], 3), (f[3000], 4)], 0x3002, 1),
    }
    rows = [([1000, 2000, 3000], 10, 1024000, 102400), ([1000, 3001], 20, 4096000, 204800),
            ([2000, 3002], 40, 65536000, 1638400), ([3000], 80, 32768000, 409600)]
    for i, (stack, count, space, size) in enumerate(rows):
        p.sample([at[n] for n in stack], [count, space], [("bytes", size, ""), *extra(i, size)])
    return p


@profile
def heap():
    return small_heap()


@profile
def heap_alloc():
    return small_heap([("alloc_objects", "count"), ("alloc_space", "bytes")])


@profile
def heap_request():
    return small_heap(extra=lambda i, n: [("request", n, "")])


@profile
def heap_sizetags():
    return small_heap(extra=lambda i, n: [("bytes", 2**k, "") for k in range(1, 9)])


@profile
def heap_tags():
    return small_heap(extra=lambda i, n: [("request", n, ""), ("key1", "tag")] if i % 2 == 0 else [])


@profile
def contention():
    p = Profile([("contentions", "count"), ("delay", "nanoseconds")],
                ("contentions", "count", 524288), comments=["Comment #1", "Comment #2"])
    p.mapping(0x1000, 0x4000, build_id="buildid-contention")
    at = small_stacks(p, {1000: [(1000, 1)], 2000: [(2001, 2), (2000, 3)],
                          3000: [(3002, 2), (3001, 3), (3000, 5)], 3001: [(3001, 3), (3000, 5)],
                          3002: [(3002, 4), (3000, 3)]})
    for stack, n, delay in (([1000, 2000, 3000], 10, 10240000), ([1000, 3001], 20, 40960000),
                            ([2000, 3002], 40, 65536000), ([3000], 80, 32768000)):
        p.sample([at[a] for a in stack], [n, delay])
    return p


# One rule each


def chain(p, *names, file="a.go", mapping=0):
    """A stack, leaf first, of plain functions; line = position in the alphabet of the name."""
    return [p.frame(n, 10 + len(utf8(n)) % 7, file, mapping) for n in names]


@profile
def labels():
    p = Profile(CPU, ("cpu", "nanoseconds", 10 * MS), time=TIME, duration=30 * S)
    a, b, c = chain(p, "main.work", "main.serve", "main.main")
    p.sample([a, b, c], [10, 100 * MS], [("route", "/index"), ("tenant", "blue"), ("bytes", 64, "")])
    p.sample([a, c], [5, 50 * MS], [("route", "/index"), ("route", "/other"), ("tenant", "red")])
    p.sample([b, c], [4, 40 * MS], [("latency", 250, "milliseconds"), ("latency", 3, "milliseconds")])
    p.sample([b, c], [3, 30 * MS], [("latency", 2, "seconds"), ("request", 4096, "")])
    p.sample([c], [2, 20 * MS], [("latency", 7, ""), ("alignment", 16, ""), ("bytes", 1 << 20, "bytes")])
    p.sample([c], [1, 10 * MS], [("größe", "ünï"), ("empty", ""), ("depth", -3, ""), ("zero", 0, "")])
    p.sample([a], [6, 60 * MS], [("route", "with space"), ("route", "a:b"), ("unitless", 12, ""),
                                 ("zero", 0, "ms"), ("bytes", 64, "bytes")])
    p.sample([a, b], [7, 70 * MS])
    return p


@profile
def label_conflicts():
    """Two keys with several units: the reference warns in any order."""
    p = Profile(CPU, time=TIME)
    a, b = chain(p, "a", "b")
    for k, unit in enumerate(["bytes", "kilobytes", "", "megabytes", "kilobytes"]):
        p.sample([a, b], [1, 10], [("bytes", 5 + k, unit), ("size", 7 * k, unit), ("size", k, "")])
    return p


@profile
def many_tags():
    """More numeric and string tags on one node than a graph shows."""
    p = Profile(HEAP, ("space", "bytes", 524288), time=TIME)
    leaf, mid, top = chain(p, "alloc", "handler", "main")
    for k in range(24):
        size = 8 << (k % 12)
        n = 5 + k * k % 11
        p.sample([leaf, mid, top] if k % 3 else [mid, top], [n, n * size, n // 2, n // 2 * size],
                 [("bytes", size, "bytes"), ("user", f"user{k % 7}"), ("shard", f"s{k}")])
    return p


@profile
def inline():
    p = Profile(CPU, ("cpu", "nanoseconds", 10 * MS), time=TIME, duration=2 * S)
    m = p.mapping(file="/usr/bin/inliner", build_id="0123456789abcdef")
    f = {n: p.function(n, f"/src/{n[0]}.go", start=10 * i) for i, n in enumerate(["a", "b", "c", "d", "e"])}
    l1 = p.location([(f["a"], 11), (f["b"], 21), (f["c"], 31)], 0x401000, m)
    l2 = p.location([(f["a"], 12)], 0x402000, m)
    l3 = p.location([(f["b"], 25), (f["d"], 41)], 0x403000, m)
    l4 = p.location([(f["e"], 51)], 0x404000, m)
    l5 = p.location([(f["a"], 11), (f["a"], 13), (f["d"], 42)], 0x405000, m)
    for stack, n in (([l1, l4], 50), ([l2, l3, l4], 30), ([l3, l4], 20), ([l5, l4], 7), ([l2, l1, l4], 3)):
        p.sample(stack, [n, n * 10 * MS])
    return p


@profile
def recursion():
    p = Profile(CPU, ("cpu", "nanoseconds", 10 * MS), time=TIME, duration=S)
    fib, even, odd, main = chain(p, "fib", "even", "odd", "main")
    both = p.location([(p.function("odd", "a.go"), 5), (p.function("even", "a.go"), 6)])
    for depth in range(1, 8):
        p.sample([fib] * depth + [main], [depth, depth * 10 * MS])
        p.sample([even, odd] * depth + [main], [1, 10 * MS])
    p.sample([both, both, even, main], [9, 90 * MS])
    p.sample([fib, even, fib, odd, fib, main], [4, 40 * MS])
    return p


@profile
def mappings():
    p = Profile(CPU, ("cpu", "nanoseconds", 10 * MS), time=TIME, duration=S)
    ms = [p.mapping(0x400000, 0x500000, 0, "/opt/app/server", "aabbccdd", "FfL"),
          p.mapping(0x7F0000000000, 0x7F0000100000, 0x1000, "/opt/app/lib/libfoo.so.1", "", ""),
          p.mapping(0x7F0000200000, 0x7F0000300000, 0, "[vdso]", "", ""),
          p.mapping(0x7F0000400000, 0x7F0000500000, 0, "//anon", "", ""),
          p.mapping(0x7F0000600000, 0x7F0000700000, 0, "", "", ""),
          p.mapping(0xFFFFFFFF81000000, 0xFFFFFFFF82000000, 0xFFFFFFFF81000000,
                    "[kernel.kallsyms]_stext", "feed", "F")]
    main = p.frame("main", 3, "main.c", ms[0], 0x401000)
    work = p.frame("work", 9, "main.c", ms[0], 0x402000)
    kernel = p.frame("do_syscall", 0, "", ms[5], 0xFFFFFFFF81000100)
    bare = [p.location((), a, m) for a, m in
            ((0x7F0000001234, ms[1]), (0x7F0000002000, ms[1]), (0x7F0000200010, ms[2]),
             (0x7F0000400010, ms[3]), (0x7F0000600010, ms[4]), (0x1234, 0))]
    for n, leaf in enumerate([*bare, kernel, work], 1):
        p.sample([leaf, work, main] if leaf != work else [work, main], [n, n * 10 * MS])
        p.sample([leaf, bare[0], main], [1, 10 * MS])
    return p


@profile
def unsymbolized():
    p = Profile(HEAP, ("space", "bytes", 524288), time=TIME)
    m = p.mapping(0x10000, 0x90000, 0, "/no/such/binary", "", "")
    at = [p.location((), 0x10000 + 0x111 * k, m) for k in range(40)]
    rng = random.Random(4)
    for _ in range(60):
        n = rng.randint(1, 99)
        p.sample(rng.sample(at, rng.randint(1, 8)), [2 * n, 2 * n * 512, n, n * 512])
    return p


def native_of(build_id, file="/nowhere/bin/mixed"):
    """Addresses in the program "mixed" that lies beside the profiles, without names."""
    p = Profile(CPU, ("cpu", "nanoseconds", 10 * MS), time=TIME, duration=S)
    base = 0x557F8B114000
    m = p.mapping(base + 0x1000, base + 0x2000, 0x1000, file, build_id, "")
    at = [p.location((), base + a, m) for a in
          (0x10C0, 0x10D5, 0x12D0, 0x12E3, 0x12F0, 0x1311, 0x1330, 0x1380, 0x1400, 0x1437, 0x1440, 0x11E0, 0x1FF0)]
    rng = random.Random(8)
    for leaf in at:
        p.sample([leaf, *rng.sample(at, 3)], [1, 10 * MS])
    return p


@profile
def native():
    return native_of("")


@profile
def native_id():
    return native_of("fe57dc6147d5d5931a9a7ad5357db1c26101e956")


@profile
def native_other():
    return native_of("0123456789")


@profile
def no_mapping():
    p = Profile(CPU)
    p.sample([p.location((), 0x99), p.frame("named", 1, "x.c")], [1, 5])
    p.sample([p.location((), 0x88), p.location((), 0x99)], [3, 7])
    return p


@profile
def negative():
    p = Profile([("space", "bytes"), ("time", "nanoseconds")], time=TIME)
    a, b, c, d = chain(p, "grow", "shrink", "both", "main")
    for stack, x, y in (([a, d], 5000, 3 * S), ([b, d], -3000, -2 * S), ([c, a, d], 700, -1),
                        ([c, b, d], -700, 1), ([b, c, d], -20480, -70 * S), ([a, b, c, d], 12, 12),
                        ([d], -1, -1)):
        p.sample(stack, [x, y], [("bytes", abs(x), "bytes"), ("sign", "plus" if x > 0 else "minus")])
    return p


@profile
def zero():
    """The default sample type is all zero, the others are not."""
    p = Profile([("a", "count"), ("b", "bytes"), ("c", "nanoseconds")])
    x, y, z = chain(p, "x", "y", "z")
    p.sample([x, y, z], [4, 2048, 0], [("k", "v")])
    p.sample([y, z], [0, 10, 0])
    p.sample([z], [0, 0, 0])
    return p


@profile
def odd_names():
    """Unicode, invalid UTF-8, quotes, control characters, empty, and very long names."""
    p = Profile(CPU, ("cpu", "nanoseconds", 10 * MS), time=TIME, duration=S, comments=["čára", "a\nb"])
    m = p.mapping(file="/opt/naïve \"app\"\\x", build_id="id")
    names = ["日本語.関数", "größe", "emoji😀run", b"bad\xff\xfeutf8", b"\xc3", "quote\"d", "back\\slash",
             "tab\there", "new\nline", "cr\rret", "nul\0byte", "", " lead", "trail ", "a" * 300,
             "dot.dot..dot", "colon::colon::colon", "ends.", "[...]", "<angle>&amp;", "per%cent%d", "e\u0301",
             "\u202ertl", "\ufffd", "x.y[...].z"]
    at = [p.frame(n, i, b"f\xe9.c" if i % 5 == 0 else f"dir {i}/ü.go", m, 0x400000 + 16 * i)
          for i, n in enumerate(names)]
    for i, leaf in enumerate(at):
        p.sample([leaf, at[(i * 7 + 3) % len(at)], at[0]], [i + 1, (i + 1) * 10 * MS],
                 [("schlüssel", names[i]), (b"k\xff", b"v\xfe")] if i % 2 else [])
    return p


LANGUAGES = """
(anonymous namespace)::Bar::Foo
path/to/package1.object.function1
java.bar.foo.FooBar.run(java.lang.Runnable)
github.com/blah/blah/vendor/gopkg.in/redis.v3.(*baseClient).(github.com/blah/blah/vendor/gopkg.in/redis.v3.process)-fm
github.com/prometheus/prometheus/tsdb.(*DB).compactHead
github.com/acme/lib/v2.Run
github.com/acme/lib/v2/sub.(*T).Run.func1
example.org/x/v1.Stay
net/http.(*conn).serve
net/http.HandlerFunc.ServeHTTP
runtime.mallocgc
main.main.func1.2
main.Map[...]
main.(*List[go.shape.int_0]).Push
k8s.io/kubernetes/vendor/k8s.io/apiserver/pkg/storage/cacher.(*cacheWatcher).process
java.util.concurrent.ThreadPoolExecutor$Worker.run
java.lang.Thread.run(Thread.java:748)
com.example.function.Function$$Lambda$3.apply
com.example.Foo.<init>(int)
foo_bar::Foo::bar(int)
cpp::namespace::Class::method(int)::secondary
std::vector<int, std::allocator<int> >::push_back(int&&)
std::__1::basic_string<char, std::__1::char_traits<char> >::append(char const*)
tbb::internal::custom_scheduler::local_wait_for_all
A<B(C)>::operator()(int) const
Foo::operator<<(Bar)
Foo::~Foo()
void ns::templ<a<b, c>, 3>::f<int>(std::function<void (int)>)
decltype(auto) x::y::z
_Znwm
_ZN3foo3barEv
_ZNSt6vectorIiSaIiEE9push_backEOi
_ZN4core3fmt9Formatter9write_str17h0123456789abcdefE
_RNvCs1234_7mycrate3foo
_ZNK3abc3defIiEEvT_.part.0
__Z3foov
_Z
_ZN
operator new(unsigned long)
malloc
[kernel]
[unknown]
0x1234
plain_c_function
objc -[NSString length]
lambda::{lambda(int)#1}::operator()
<alloc::vec::Vec<T> as core::ops::Drop>::drop
""".strip().split("\n")


@profile
def languages():
    p = Profile(CPU, ("cpu", "nanoseconds", 10 * MS), time=TIME, duration=60 * S)
    m = p.mapping(file="/opt/poly/glot", build_id="cafe")
    at = [p.frame(n, 10 + i, f"/build/src/{n[:1]}/file{i % 9}.x", m, 0x401000 + 64 * i)
          for i, n in enumerate(LANGUAGES)]
    other = [p.frame(n, 5, "sys.c", m, 0x500000 + 64 * i, system="_ZN3foo3barEv")
             for i, n in enumerate(LANGUAGES[20:28])]
    rng = random.Random(2)
    for leaf in at + other:
        for _ in range(3):
            n = rng.randint(1, 200)
            p.sample([leaf, *rng.sample(at, rng.randint(0, 9))], [n, n * 10 * MS])
    return p


@profile
def system_names():
    p = Profile(CPU, time=TIME)
    m = p.mapping(file="/bin/x")
    for i, (n, s) in enumerate([("pretty", "_Z6prettyv"), ("_Z4samev", "_Z4samev"), ("", "_Z5onlyyv"),
                                ("nosys", ""), ("_Z9nosystemsv", ""), ("", ""), ("a<b>::c(d)", "a<b>::c(d)"),
                                ("f(int)", "f(int)"), ("X.<init>(y)", "X.<init>(y)")]):
        p.sample([p.frame(n, 4, "q.cc", m, 0x400000 + i, system=s), p.frame("main", 1, "q.cc", m, 0x400100)],
                 [i + 1, 1000 * (i + 1)])
    return p


def framed(**kw):
    p = Profile(HEAP, ("space", "bytes", 524288), time=TIME, **kw)
    m = p.mapping(file="/bin/framed")
    names = ["runtime.mallocgc", "runtime.newobject", "runtime.panic", "user.make", "lib.New", "user.main"]
    a = dict(zip(names, chain(p, *names, mapping=m)))
    inl = p.location([(p.function("runtime.mallocgc", "a.go"), 1), (p.function("user.inl", "a.go"), 2)], 0, m)
    for i, stack in enumerate([["runtime.mallocgc", "runtime.newobject", "user.make", "user.main"],
                               ["runtime.mallocgc", "runtime.panic", "user.main"], ["runtime.mallocgc"],
                               ["lib.New", "runtime.mallocgc", "user.make", "lib.New", "user.main"]], 1):
        p.sample([a[s] for s in stack], [i, i * 1000, i, i * 100])
    p.sample([inl, a["user.main"]], [9, 9000, 9, 900])
    return p


@profile
def drop_frames():
    return framed(drop="runtime\\..*")


@profile
def keep_frames():
    return framed(drop="runtime\\..*|lib\\.New", keep="runtime\\.panic")


@profile
def bad_drop_frames():
    return framed(drop="runtime(", keep="x")


@profile
def comments():
    p = Profile(CPU, comments=["plain", "# hidden", "", "two\nlines", "plain"], time=TIME,
                doc="https://example.org/doc")
    p.sample(chain(p, "a", "b"), [1, 2])
    return p


@profile
def default_type():
    p = Profile(HEAP, ("space", "bytes", 524288), time=TIME, default="alloc_space")
    p.sample(chain(p, "a", "b", "main"), [10, 10240, 4, 4096], [("bytes", 1024, "bytes")])
    p.sample(chain(p, "c", "main"), [1, 3 << 20, 1, 3 << 20], [("bytes", 3 << 20, "bytes")])
    return p


@profile
def default_unknown():
    p = Profile(HEAP, ("space", "bytes", 524288), default="nothing")
    p.sample(chain(p, "a", "main"), [1, 2, 3, 4])
    return p


def timed(time, duration, unit="nanoseconds"):
    p = Profile([("samples", "count"), ("cpu", unit)], ("cpu", unit, 10), time=time, duration=duration)
    p.sample(chain(p, "tick", "main"), [3, 30])
    p.sample(chain(p, "tock", "main"), [2, 20])
    return p


@profile
def time_far():
    return timed(4102444800 * S, 90061 * S, "seconds")


@profile
def time_before():
    return timed(-12345678 * S, 1)


@profile
def time_winter():
    return timed(1612345678_000000001, 1500 * MS, "microseconds")


@profile
def duration_only():
    return timed(0, 26 * 3600 * S, "hours")


@profile
def duration_negative():
    return timed(TIME, -5 * S)


@profile
def folded():
    p = Profile(CPU, time=TIME)
    f = p.function("icf", "x.c")
    p.sample([p.location([(f, 1)], 0x10, 0, True), p.frame("main", 1, "x.c")], [1, 2])
    p.sample([p.location([(f, 1)], 0x10, 0, False), p.frame("main", 1, "x.c")], [1, 2])
    return p


@profile
def empty():
    return Profile(CPU, ("cpu", "nanoseconds", 10 * MS), time=TIME, duration=S)


@profile
def single():
    p = Profile([("events", "count")])
    p.sample(chain(p, "only"), [1])
    return p


@profile
def no_stack():
    p = Profile(CPU)
    p.sample([], [1, 2], [("k", "v")])
    p.sample(chain(p, "a"), [3, 4])
    p.sample([], [5, 6])
    return p


@profile
def deep():
    p = Profile(CPU, ("cpu", "nanoseconds", 10 * MS), time=TIME, duration=9 * S)
    at = [p.frame(f"level{n:03}", n, f"deep{n % 4}.c") for n in range(300)]
    for n in range(0, 300, 23):
        p.sample(at[n:], [n + 1, (n + 1) * 10 * MS])
        p.sample(list(reversed(at[:n + 1])), [1, 10 * MS])
    return p


@profile
def units():
    names = [("cycles", "cycles"), ("gcu", "GCU"), ("ngcu", "nanogcu"), ("wall", "seconds"), ("kb", "kilobytes"),
             ("us", "microseconds"), ("ms", "ms"), ("none", ""), ("n", "count"), ("objects", "objects"),
             ("h", "hours"), ("B", "B"), ("samples", "samples"), ("custom", "Widgets")]
    p = Profile(names, ("cycles", "cycles", 100000), time=TIME, duration=3 * S)
    a, b, c = chain(p, "a", "b", "main")
    for stack, k in (([a, c], 1), ([b, c], 1500), ([a, b, c], 3_600_000), ([c], 77), ([b], 123_456_789_012)):
        p.sample(stack, [k * (i + 1) for i in range(len(names))])
    return p


@profile
def columns():
    p = Profile(CPU, time=TIME)
    f, g = p.function("f", "c.go", start=3), p.function("g", "c.go", start=30)
    a, b = p.location([(f, 5, 7), (g, 33, 2)], 0x11), p.location([(f, 5, 9), (g, 33, 4)], 0x12)
    p.sample([a, p.location([(g, 40, 1)], 0x13)], [1, 10])
    p.sample([b, p.location([(g, 40, 1)], 0x13)], [2, 20])
    return p


@profile
def ties():
    """Equal values everywhere: only names, files and lines order the rows."""
    p = Profile([("n", "count")], time=TIME)
    main = p.frame("main", 1, "m.c")
    for k in range(30):
        p.sample([p.frame(f"f{k * 7 % 30:02}", k % 3, f"x{k % 4}.c"), main], [10])
    for k in range(6):
        p.sample([p.frame("same", k, f"x{k % 2}.c"), p.frame(f"caller{k % 2}", 1, "y.c"), main], [10])
    return p


@profile
def edges():
    """Values around the cut-offs: half a percent of the nodes, a tenth of the edges."""
    p = Profile([("n", "count"), ("space", "bytes")], time=TIME)
    main = p.frame("main", 1, "m.c")
    for k in range(1, 60):
        v = k * k
        p.sample([p.frame(f"leaf{k}", k, "l.c"), p.frame(f"mid{k % 9}", k, "m.c"), main], [v, v * 4096])
    return p


@profile
def huge():
    p = Profile([("n", "count"), ("space", "bytes"), ("t", "nanoseconds")])
    a, b = chain(p, "a", "b")
    top = (1 << 63) - 1
    p.sample([a, b], [top, top // 2, top])
    p.sample([b], [1 << 62, top // 3, 5])
    p.sample([a], [7, top // 7, -top])
    return p


@profile
def minimum():
    p = Profile([("n", "count"), ("t", "nanoseconds")])
    a, b = chain(p, "a", "b")
    p.sample([a, b], [-(1 << 63), -(1 << 63)])
    p.sample([b], [1, 1])
    return p


@profile
def paths():
    """File names that trim_path and source_path have something to do with."""
    p = Profile(CPU, time=TIME)
    m = p.mapping(file="/bin/paths")
    for i, f in enumerate(["/go/src/app/main.go", "/go/src/app/../lib/x.go", "/proc/self/cwd/lib/y.c",
                           "/proc/self/cwd/./lib/z.c", "relative/a.go", "./b.go", "a//b///c.go", "", ".",
                           "C:\\win\\x.cpp", "/home" + "/build/deep/src/q.cc", "<autogenerated>", "??"]):
        p.sample([p.frame(f"fn{i}", i * 3, f, m, 0x400000 + i), p.frame("main", 4, "/go/src/app/main.go", m,
                                                                         0x400100)], [i + 1, (i + 1) * MS])
    return p


@profile
def listing():
    """Functions whose sources are in src/ beside the profiles (see sources())."""
    p = Profile(CPU, ("cpu", "nanoseconds", 10 * MS), time=TIME, duration=S)
    m = p.mapping(file="/bin/listing")
    f = lambda name, line, file, start=0, a=0: p.location([(p.function(name, file, start=start), line)], a, m)
    at = [f("app.Loop", 7, "/build/app/loop.go", 0, 0x401000), f("app.Loop", 12, "/build/app/loop.go", 0, 0x401010),
          f("app.Loop", 3, "/build/app/loop.go", 0, 0x401020), f("app.Start", 22, "/build/app/loop.go", 20, 0x401030),
          f("app.Crlf", 2, "/build/app/crlf.go", 0, 0x401040), f("app.Long", 3, "/build/app/long.go", 0, 0x401050),
          f("app.Past", 400, "/build/app/loop.go", 0, 0x401060), f("app.Gone", 5, "/build/app/gone.go", 0, 0x401070),
          f("app.None", 5, "", 0, 0x401080), f("app.Twice", 4, "/build/app/loop.go", 0, 0x401090),
          f("app.Twice", 4, "/build/app/crlf.go", 0, 0x4010A0), f("app.Dir", 1, "/build/app", 0, 0x4010B0),
          f("app.Tail", 2, "/build/app/tail.go", 0, 0x4010C0)]
    inl = p.location([(p.function("app.Inner", "/build/app/loop.go"), 9),
                      (p.function("app.Loop", "/build/app/loop.go"), 13)], 0x4010D0, m)
    for i, leaf in enumerate([*at, inl]):
        p.sample([leaf, at[0], at[3]], [i + 1, (i + 1) * 10 * MS])
        p.sample([at[1], leaf, at[3]], [1, 10 * MS])
    return p


# Several that are merged, or compared


def round_of(seed, types, scale=1, file="/bin/server", build="b1", time=TIME, missing=(), shift=0):
    rng = random.Random(77)
    mine = random.Random(seed)
    p = Profile(types, (types[-1][0], types[-1][1], 100 * scale), time=time, duration=S * (1 + seed),
                comments=[f"round {seed}", "shared"])
    m = p.mapping(0x400000 + shift, 0x500000 + shift, 0, file, build)
    at = [p.frame(f"svc.f{k}", k, f"svc{k % 3}.go", m, 0x400000 + shift + 16 * k) for k in range(25)]
    for k in range(50):
        stack = rng.sample(at, rng.randint(1, 6))
        n = mine.randint(0, 400)
        if k not in missing:
            p.sample(stack, [n * (i * 1000 * scale or 1) for i in range(len(types))],
                     [("bytes", 64, "bytes")] if k % 4 == 0 else [("who", f"w{k % 3}")] if k % 4 == 1 else [])
    return p


@profile
def round_1():
    return round_of(1, CPU)


@profile
def round_2():
    return round_of(2, CPU, time=TIME + 60 * S, missing={3, 4, 5})


@profile
def round_3():
    """The same program at another address; times in another unit."""
    return round_of(3, [("samples", "count"), ("cpu", "milliseconds")], time=TIME - 60 * S, shift=0x10000000)


@profile
def round_4():
    """Another binary, another order of types."""
    return round_of(4, [("samples", "count"), ("wall", "nanoseconds"), ("cpu", "nanoseconds")], build="b2",
                    time=0)


@profile
def round_5():
    """Nothing in common with the others."""
    return round_of(5, [("objects", "count"), ("space", "bytes")])


# Encodings: the same profile in other bytes


def raw_variants():
    data = labels().encode()
    yield "enc-unpacked.pb", labels().encode(packed=False)
    parts = labels()
    body = parts.parts()
    strings = b"".join(message(6, s) for s in parts.strings)
    yield "enc-strings-first.pb", strings + b"".join(b for _, b in body)
    yield "enc-strings-last.pb.gz", squeeze(b"".join(b for _, b in body) + strings)
    yield "enc-reversed.pb", b"".join(b for _, b in sorted(body, key=lambda p: -p[0])) + strings
    junk = varint(99 << 3) + varint(7) + varint(98 << 3 | 2) + varint(3) + b"abc" + \
        varint(97 << 3 | 1) + b"8bytes!!" + varint(96 << 3 | 5) + b"4byt"
    yield "enc-unknown.pb", junk + remap(data, lambda f, b, whole: whole + junk)
    yield "enc-twice-gz.pb.gz", squeeze(data[:100]) + squeeze(data[100:])
    sparse = Profile(CPU, ("cpu", "nanoseconds", 10 * MS), step=1_000_003, time=TIME)
    m = sparse.mapping(file="/bin/sparse")
    sparse.sample([sparse.frame("a", 1, "s.c", m), sparse.frame("b", 2, "s.c", m)], [1, 2])
    sparse.sample([sparse.frame("b", 2, "s.c", m)], [3, 4])
    yield "enc-sparse.pb", sparse.encode()
    dup = Profile(CPU)
    dup.sample(chain(dup, "a", "b"), [1, 2], [("k", "v")])
    strings = dup.encode()
    yield "enc-extra-strings.pb", strings + message(6, b"unused") + message(6, b"a")
    yield "enc-long-varint.pb", strings + varint(9 << 3) + b"\x81\x80\x80\x80\x80\x80\x80\x80\x80\x00"
    nothing = Profile([("n", "count")])
    nothing.sample(chain(nothing, "a"), [0])
    yield "enc-plain.pb", nothing.encode() + number(12, 5)


# The formats from before profile.proto

MAPS = b"""
MAPPED_LIBRARIES:
00400000-00c0a000 r-xp 00000000 08:01 123 /opt/legacy/server
00c0a000-00d00000 rw-p 0080a000 08:01 123 /opt/legacy/server
7f0000000000-7f0000100000 r-xp 00000000 08:01 124 /opt/legacy/lib/libz.so.1
7f0000100000-7f0000200000 r-xp 00100000 08:01 124 /opt/legacy/lib/libz.so.1
7ffd00000000-7ffd00002000 r-xp 00000000 00:00 0 [vdso]
"""
BRIEF = b"""
--- Memory map: ---
build=/opt/legacy
  00400000-00c0a000: $build/server
  7f0000000000-7f0000100000: /lib/libq.so (@1000) deadbeef
"""


def heap_text(header, maps=MAPS):
    rng = random.Random(len(header))
    out = b"heap profile: 50: 4096 [ 90: 9000] @ %b\n" % header
    for _ in range(12):
        n, size = rng.randint(1, 50), rng.choice([16, 512, 70000])
        stack = b" ".join(b"%#x" % rng.choice([0x401000 + 16 * rng.randrange(40), 0x7F0000000100 + rng.randrange(9), 0x99])
                          for _ in range(rng.randint(1, 6)))
        out += b"%6d: %8d [%6d: %8d] @ %b\n" % (n, n * size, 2 * n, 2 * n * size, stack)
    return out + b"     0:        0 [     0:        0] @ 0x401000\n" + maps


def cpu_words(form, java=0):
    """gperftools' binary form, in words of this struct format."""
    words = [0, 3, java, 10000, 0]
    rng = random.Random(3)
    for _ in range(9):
        stack = [0x401000 + 32 * rng.randrange(20) for _ in range(rng.randint(1, 5))]
        words += [rng.randint(1, 30), len(stack), *stack]
    return b"".join(struct.pack(form, w) for w in [*words, 0, 1, 0])


JAVA_NAMES = b"".join(b" 0x%x com.example.Srv.method%d (Srv.java:%d)\n" % (0x401000 + 32 * k, k, 10 * k) for k in range(20))


def legacy():
    for name in (b"heap_v2/524288", b"heapz_v2/1", b"heap/1048576", b"heapprofile", b"growthz", b"fragmentationz",
                 b"heap", b"growth/1"):
        yield f"legacy-{name.decode().replace('/', '-')}.txt", heap_text(name)
    yield "legacy-heap-brief.txt", heap_text(b"heap/2", BRIEF)
    yield "legacy-heap-nomaps.txt", heap_text(b"heap/2", b"")
    yield "legacy-goroutine.txt", b"goroutine profile: total 9\n5 @ 0x401010 0x401200 0x7f0000000110\n#\t0x40100f\tmain.f+0x1f\t/a.go:3\n\n" \
        b"4 @ 0x401010 0x401300\n" + BRIEF[1:]
    yield "legacy-threadcreate.txt", b"# comment\nthreadcreate profile: total 3\n3 @ 0x401010\n0 @ 0x401030\n"
    yield "legacy-mutex.txt", b"--- mutex:\ncycles/second=2400000000\nsampling period=7\n" \
        b"12345678 90 @ 0x401010 0x401100\n555 1 @ 0x401010\n" + BRIEF[1:]
    yield "legacy-contention.txt", b"--- contentionz 1 ---\ncycles/second = 3201000000\nsampling period = 100\n" \
        b"ms since reset = 16502830\ndiscarded samples = 0\n  19490304       27 @ 0x401010 0x401100\n     7680        1 @ 0x401030\n" + BRIEF[1:]
    yield "legacy-thread.txt", b"--- threadz 1 ---\n\n--- Thread 7f11 (name: main/14748) stack: ---\n  PC: 0x00401010: f\n" \
        b"  0x00401200: g\n  0x00401300: main\n--- Thread 7f12 (name: w/14749) stack: ---\n  [same as previous thread]\n" \
        b"--- Thread 7f13 (name: x/1) stack: ---\n    0x401010\n    0x401200\n" + BRIEF[1:]
    yield "legacy-java-heap.txt", b"--- heapz 1 ---\nformat = java\nresolution = bytes\n     7048     2 @ 0x401000 0x401020\n" \
        b"   470528    64 @ 0x401040 0x401020\n" + JAVA_NAMES
    yield "legacy-java-contention.txt", b"--- contentionz 1 ---\nformat = java\nresolution = microseconds\nsampling period = 100\n" \
        b"ms since reset = 6019923\n     1 1 @ 0x401000 0x401020\n    14 1 @ 0x401040 0x401020\n" + JAVA_NAMES
    for form in ("<I", ">I", "<Q", ">Q"):
        name = {"<": "le", ">": "be"}[form[0]] + str(8 * struct.calcsize(form))
        yield f"legacy-cpu-{name}.bin", cpu_words(form) + (MAPS[1:] if "Q" in form else BRIEF[1:])
    yield "legacy-java-cpu.bin", cpu_words("<Q", 1) + JAVA_NAMES


def wrong():
    """No profiles at all."""
    data = labels().encode()
    packed = squeeze(data)
    yield "wrong-empty", b""
    yield "wrong-html", b"<!DOCTYPE html>\n<html><body>404 page not found</body></html>\n"
    yield "wrong-text", b"404 page not found\n"
    yield "wrong-zeros", bytes(4096)
    yield "wrong-cut", data[:len(data) // 2]
    yield "wrong-gzip-cut", packed[:len(packed) // 2]
    yield "wrong-gzip-short", packed[:5]
    yield "wrong-gzip-empty", squeeze(b"")
    yield "wrong-gzip-sum", packed[:-8] + b"abcd" + packed[-4:]
    yield "wrong-gzip-html", squeeze(b"<html></html>")
    yield "wrong-gzip-tail", packed + b"tail"
    yield "wrong-twice", data + data
    yield "wrong-types", Profile([]).encode() + message(2, number(2, 1))
    yield "wrong-no-string", message(1, number(1, 9)) + message(6, b"")
    yield "wrong-first-string", message(6, b"x") + data


# Random mixes

POOL = [*LANGUAGES, "日本", "größe", "a b c", "q\"uote", "fn", "g", "main.main", "x::y", "runtime.goexit"]
UNITS = ["count", "bytes", "nanoseconds", "milliseconds", "seconds", "cycles", "", "kilobytes", "GCU", "objects"]


def mix(seed):
    rng = random.Random(1000 + seed)
    types = [(f"type{i}" if rng.random() < .5 else rng.choice(["cpu", "space", "inuse_space", "delay", "n"]) + str(i),
              rng.choice(UNITS)) for i in range(rng.randint(1, 4))]
    kw = {}
    if rng.random() < .6:
        kw["time"] = TIME + rng.randint(0, 10**17)
    if rng.random() < .6:
        kw["duration"] = rng.choice([1, 10 * MS, 5 * S, 90 * S, 7200 * S])
    if rng.random() < .3:
        kw["default"] = rng.choice(types)[0]
    if rng.random() < .3:
        kw["comments"] = ["mixed", "#not shown"][: rng.randint(1, 2)]
    if rng.random() < .2:
        kw["drop"] = rng.choice(["runtime.*", "malloc|_Zn.*", "main"])
    p = Profile(types, (types[0][0], types[0][1], 100) if rng.random() < .7 else None,
                step=rng.choice([1, 1, 1, 17]), **kw)
    base = 0x400000
    ms = [p.mapping(base + i * 0x1000000, base + (i + 1) * 0x1000000, 0, rng.choice(["/bin/app", "/lib/libq.so", ""]),
                    rng.choice(["", "abcd"]), rng.choice(["FfLI", "FfLI", "F"])) for i in range(rng.randint(0, 3))]
    names = rng.sample(POOL, rng.randint(3, len(POOL)))
    fns = [p.function(n, rng.choice(["/src/a.go", "b.cc", "", "dir/../c.java"]), start=rng.choice([0, 0, 7]))
           for n in names]
    at = []
    for k in range(rng.randint(5, 60)):
        lines = [(rng.choice(fns), rng.randint(0, 40)) for _ in range(rng.choice([1, 1, 1, 2, 3]))]
        if rng.random() < .08:
            lines = []
        m = rng.choice(ms) if ms else 0
        address = base + (m // p.step - 1) * 0x1000000 + 16 * k if ms else (16 * k + 16 if rng.random() < .9 else 0)
        at.append(p.location(lines, address, m))
    spread = rng.choice([3, 100, 10**6, 10**11])
    negative_too = rng.random() < .3
    for _ in range(rng.randint(3, 150)):
        stack = [rng.choice(at) for _ in range(rng.randint(1, rng.choice([3, 10, 30])))]
        sign = -1 if negative_too and rng.random() < .4 else 1
        values = [sign * rng.randint(0, spread) for _ in types]
        labels = []
        if rng.random() < .4:
            labels.append(("bytes", rng.choice([16, 64, 4096, 1 << 22]), rng.choice(["bytes", ""])))
        if rng.random() < .4:
            labels.append((rng.choice(["route", "user", "größe"]), rng.choice(["a", "b", "c d", "x:y"])))
        if rng.random() < .2:
            labels.append(("wait", rng.randint(-5, 10**7), rng.choice(["us", "ms", ""])))
        p.sample(stack, values, labels)
    return p


def server(seed, samples, functions):
    """Stacks as a server's are: a tree of calls with shared prefixes."""
    rng = random.Random(seed)
    p = Profile(HEAP, ("space", "bytes", 524288), time=TIME + seed * S)
    m = p.mapping(file="/srv/server", build_id=f"{seed:040x}")
    word = ["http", "rpc", "store", "index", "cache", "codec", "log", "auth", "queue", "net"]
    fns = [p.function(f"example.com/{rng.choice(word)}/{rng.choice(word)}.(*{rng.choice(word).title()}).fn{k}",
                      f"/go/src/example.com/{rng.choice(word)}.go", start=rng.randint(1, 400)) for k in range(functions)]
    at = [p.location([(rng.choice(fns), rng.randint(1, 900)) for _ in range(1 + (rng.random() < .2))],
                     0x400000 + 32 * k, m) for k in range(functions * 2)]
    calls = {}
    for _ in range(samples):
        node, stack = rng.randrange(8), []
        for _ in range(rng.randint(4, 24)):
            stack.append(at[node % len(at)])
            nexts = calls.setdefault(node, [])
            if len(nexts) < 3:
                nexts.append(rng.randrange(len(at)))
            node = nexts[min(int(rng.expovariate(1.4)), len(nexts) - 1)]
        size = 16 << rng.randrange(14)
        n = 1 + int(rng.expovariate(.05))
        live = rng.randint(0, n)
        p.sample(stack[::-1], [n, n * size, live, live * size], [("bytes", size, "bytes")])
    return p


def main():
    folder = pathlib.Path(sys.argv[1])
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    out = {}
    for name, make in MADE.items():
        if name in PLAIN or zlib.crc32(name.encode()) & 1:
            out[name + ".pb"] = make().encode()
        else:
            out[name + ".pb.gz"] = squeeze(make().encode())
    out.update(raw_variants())
    out.update(legacy())
    out.update(wrong())
    for seed in range(24):
        out[f"mix-{seed:02}.pb.gz"] = squeeze(mix(seed).encode(packed=seed % 3 != 0))
    out["server-1.pb.gz"] = squeeze(server(1, 400, 150).encode())
    out["server-2.pb.gz"] = squeeze(server(2, 1500, 500).encode())
    out.update(sources())
    shipped(folder)
    for name, data in out.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)


def shipped(folder):
    here = pathlib.Path(__file__).parent
    for path in here.rglob("*"):
        if path.is_file() and path.suffix not in (".py", ".pyc"):
            to = folder / path.relative_to(here)
            to.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, to)


def sources():
    """What "listing" lists."""
    loop = b"".join(b"\tline %d of loop.go\n" % n if n % 3 else b"%d\twith\ttabs  and blanks \n" % n
                    for n in range(1, 41))
    yield "src/app/loop.go", loop
    yield "src/app/crlf.go", b"one\r\ntwo\r\nthree\r\r\nfour\r\nfive\r\nsix"
    yield "src/app/long.go", b"1\n2\n3\n4\n" + b"x" * 70000 + b"\n6\n7\n"
    yield "src/app/tail.go", b"first\nlast, without a newline \xff\xc3\xa9"


main()
