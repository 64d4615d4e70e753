"""The command lines the comparison runs: a matrix, and seeded random mixes.

A case is a dict: "args" (after the program's name), and where they matter "stdin", "env".
Profiles are in p/, relative to where the case runs.

SPDX-License-Identifier: Apache-2.0
"""
import random

REPORTS = ["-top", "-text", "-tree", "-traces", "-tags", "-raw", "-comments", "-dot", "-callgrind",
           "-proto", "-topproto", "-peek=.", "-list=."]

# Used with every option: small, and between them every feature.
FEW = ["cpu.pb", "heap.pb", "labels.pb", "inline.pb", "negative.pb", "mix-03.pb.gz", "prom-heap.pb.gz",
       "etcd-cpu.pb.gz"]

GRAIN = ["-functions", "-filefunctions", "-files", "-lines", "-addresses"]
ALIASES = ["-inuse_space", "-inuse_objects", "-alloc_space", "-alloc_objects", "-total_delay",
           "-contentions", "-mean_delay"]
REGEXPS = ["main", "line1", "line[X3]0", ".*", "^$", "(?i)MAIN", "a|b", "file2000", "no-such-thing",
           r"\.", r"runtime\.", r"^main\.main$", r"\bfn", "日", r"[[:alpha:]]+", r"(?P<n>m)ain", "testbinary",
           r"\pL", r"github\.com/.*\.\(\*", "x{2,3}", "é"]
BAD_REGEXPS = ["(", "*", "[", "a{2000}", r"\8", "(?<a>b)", "a**", "(?=x)", "[z-a]", "x{3,1}", r"\pX", "a)", "(?z)",
               "\\"]
TAGS = ["tag1", "key1=tag1", "key[12]", "bytes=64", "64b", "32b:128kb", ":1mb", "1mb:", "400kb:", "10:20",
        "route=/index", "tag1,tag2", "latency=1ms:5s", "-5:5", "key1:tag", "=", "bytes=", "bytes=:", "64",
        "1mb:2gb", "tag", "blue", "route", "bytes=100kb:", "102400:204800", "user1,user2", "5:1", "64kilobytes",
        "key1=,", "a,b,c", "1s:", "request=1:", "(?i)TAG", "bytes=64,bytes=128", "3ms:3ms"]
KEYS = ["key1", "key2", "key1,key2", "bytes", "route,tenant", "nokey", "key1,nokey,key2", "latency", "request",
        "route", "user,shard", ","]

# One value each; paired with each other at random below.
OPTIONS = [
    *GRAIN, *ALIASES, "-cum", "-flat", "-mean", "-relative_percentages", "-compact_labels", "-drop_negative",
    "-call_tree", "-noinlines", "-trim=false", "-trim=0", "-trim", "-compact_labels=false",
    *[f"-unit={u}" for u in ("auto", "bytes", "kb", "MB", "megabytes", "Gb", "seconds", "ms", "ns", "us", "hours",
                             "hrs", "GCU", "count", "foo", "minutes", "b", "Kilobytes", "", "m", "sample", "µs")],
    *[f"-sample_index={s}" for s in ("0", "1", "cpu", "samples", "inuse_space", "alloc_objects", "space", "delay",
                                     "9", "-1", "nothing", "", "inuse_objects", "00", "0x1", "1.0")],
    *[f"-divide_by={d}" for d in ("2", "0.5", "1000", "1e6", "-1", "0", "3", "0x2p3", "inf", "nan", "1_000")],
    *[f"-nodecount={n}" for n in ("0", "1", "2", "3", "5", "20", "-1", "-5", "0x10", "1_0")],
    *[f"-nodefraction={n}" for n in ("0", "0.05", "0.2", "0.5", "1", "2", "-1", "nan", "1e-9")],
    *[f"-edgefraction={n}" for n in ("0", "0.05", "0.3", "1", "-1", "inf")],
    *[f"-trim_path={t}" for t in ("testdata", "/src", "/go/src", "/go/src:/src", "/", "/usr/")],
    *[f"-source_path={t}" for t in ("p/src", "/src", "/nowhere:testdata", ".")],
    *[f"-symbolize={s}" for s in ("none", "local", "fastlocal", "remote", "force", "demangle=full",
                                  "demangle=templates", "demangle=none", "demangle=default", "full", "bogus",
                                  "none:bogus", "NO", "local:force")],
    *[f"-{f}={r}" for f in ("focus", "ignore", "hide", "show", "show_from", "prune_from") for r in REGEXPS],
    *[f"-{f}={t}" for f in ("tagfocus", "tagignore") for t in TAGS],
    *[f"-{f}={t}" for f in ("tagshow", "taghide") for t in ("key", "key1", "bytes", ".*", "route|tenant", "^$", "b")],
    *[f"-{f}={k}" for f in ("tagroot", "tagleaf") for k in KEYS],
    "-add_comment=a note", "-buildid=feed", "-output=out.txt", "-seconds=5", "-timeout=3", "-intel_syntax",
]

WRONG = [
    [], ["-top"], ["-bogus", "p/cpu.pb"], ["-top", "-tree", "p/cpu.pb"], ["-top", "-list=x", "p/cpu.pb"],
    ["-nodecount=x", "-top", "p/cpu.pb"], ["-nodecount", "p/cpu.pb"], ["-nodecount"], ["-top=maybe", "p/cpu.pb"],
    ["-trim=2", "-top", "p/cpu.pb"], ["-divide_by=x", "-top", "p/cpu.pb"], ["-nodefraction=1,5", "-top", "p/cpu.pb"],
    ["-nodecount=99999999999999999999", "-top", "p/cpu.pb"], ["-nodefraction=1e999", "-top", "p/cpu.pb"],
    ["-cum", "-flat", "-top", "p/cpu.pb"], ["-lines", "-files", "-top", "p/cpu.pb"],
    ["-base=p/heap.pb", "-diff_base=p/heap.pb", "-top", "p/heap.pb"], ["-normalize", "-top", "p/cpu.pb"],
    ["-base=p/nothing", "-top", "p/heap.pb"], ["-diff_base=p/nothing", "-top", "p/heap.pb"],
    ["-top", "p/nothing"], ["-top", "p/nothing", "p/cpu.pb"], ["-top", "p/cpu.pb", "p/nothing", "p/gone"],
    ["-top", "p"], ["-top", ""], ["-top", "p/cpu.pb", "-cum"], ["-top", "--", "p/cpu.pb"], ["--top", "p/cpu.pb"],
    ["-top", "p/src/app/loop.go"], ["-top", "-peek=", "p/cpu.pb"], ["-peek=nope", "p/cpu.pb"], ["-list=nope", "p/cpu.pb"],
    ["-peek=(", "p/cpu.pb"], ["-list=(", "p/cpu.pb"], ["-top", "-no_browser", "p/cpu.pb"],
    ["-http=:0", "-top", "p/cpu.pb"], ["-no_browser", "p/cpu.pb"], ["-", "-top"], ["---top", "p/cpu.pb"],
    ["-=x", "p/cpu.pb"], ["-top", "-divide_by=0", "p/cpu.pb"], ["-sort=cum", "-top", "p/cpu.pb"],
    ["-granularity=lines", "-top", "p/cpu.pb"], ["-focus", "-top", "p/cpu.pb"], ["-top", "-sample_index=nope", "p/cpu.pb"],
    ["-top", "-sample_index=7", "p/heap.pb"], ["-top", "-inuse_space", "-alloc_space", "p/prom-heap.pb.gz"],
    ["-top", "-sample_index=alloc_space", "-inuse_space", "p/prom-heap.pb.gz"], ["-top", "-total_delay", "p/heap.pb"],
    ["-top", "-mean_delay", "-contentions", "p/contention.pb"], ["-top", "-output=no/such/dir/x", "p/cpu.pb"],
    ["-proto", "-output=p", "p/cpu.pb"], ["-top", "-base=p/cpu.pb", "p/heap.pb"], ["-top", "p/cpu.pb", "p/heap.pb"],
    ["-top", "-tls_cert=x", "p/cpu.pb"], ["-top", "file://p/cpu.pb"], ["-top", "http://127.0.0.1:1/x"],
    ["-top", "127.0.0.1:1"], ["-top", "-seconds=1", "http://127.0.0.1:1"], ["-top", "p/cpu.pb", "http://127.0.0.1:1/y"],
    ["-top", "-seconds=x", "p/cpu.pb"], ["-top", "-timeout=1.5", "p/cpu.pb"], ["-help"], ["-h"], ["--help"],
    *[["-top", f"-{f}={r}", "p/cpu.pb"] for f in ("focus", "show_from", "tagshow", "taghide", "prune_from",
                                                  "tagfocus", "tagignore", "hide", "show", "ignore")
      for r in BAD_REGEXPS],
]

COMMANDS = ["top", "top5", "top 3 -cum", "top10 main", "top -main", "text 4", "tree 6", "peek main", "list line1",
            "traces", "tags", "tags key1", "tags -key1", "raw", "comments", "o", "options", "help", "help top",
            "help focus", "help nosuch", "help granularity", "help sample_index", "focus=main", "focus=", "ignore=x", "hide=a",
            "show=a", "nodecount=5", "nodecount=x", "nodefraction=0.1", "edgefraction=0.2", "unit=ms", "unit=kb",
            "unit", "cum", "cum=true", "cum=false", "flat=1", "sort=cum", "sort=flat", "sort=bad", "granularity=lines",
            "granularity=addresses", "granularity=", "granularity=bad", "lines", "files=1", "functions=t", "trim=false", "trim",
            "trim=maybe", "call_tree", "mean=y", "mean=n", "relative_percentages=1", "compact_labels=false",
            "drop_negative=yes", "divide_by=2", "divide_by=0", "divide_by=x", "sample_index=0", "sample_index=1",
            "sample_index=9", "sample_index=none", "samples", "cpu", "total_cpu", "mean_cpu", "inuse_space",
            "alloc_objects", "mean_delay", "delay", ":", "tagfocus=key1", "tagignore=tag", "tagshow=b", "taghide=key",
            "tagroot=key1", "tagleaf=bytes", "tagroot=", "tagleaf=", "noinlines", "noinlines=0", "prune_from=main",
            "show_from=line", "bogus", "bogus5", "top >", "top > out1", "traces >out2", "tree 3 > out3", "proto",
            "proto > p4.pb.gz", "topproto", "callgrind", "callgrind > cg", "dot", "dot > d5", "list", "peek", "list (", "peek (",
            "focus=(", "top", "top 0", "top 1 2", "top a b", "top -a -b", "", "   ", "# comment", "top //: x",
            "focus=line //: comment", " focus = line ", "output=f6", "output=", "source_path=p/src", "trim_path=/build",
            "normalize", "normalize=false", "intel_syntax=true", "top --cum", "top 999999999999999999999", "top -1", "focus",
            "focus main", "unit=", "TOP", "top\ttab", "help help", "help o", "help :", "h", "quit now"]

SESSIONS = [
    ["top"], ["top10", "quit"], ["o"], ["help"], ["help top", "help list", "help peek", "help tags", "help focus",
                                               "help unit", "help trim", "help sort", "help granularity"],
    ["unit=megabytes", "top", "traces > traces.txt"], ["top5 -cum", "list main", "peek main"],
    ["sample_index=0", "top", "o"], ["exit"], ["q"], [], ["focus=main", "top", ":", "top"],
    ["granularity=lines", "top", "granularity=files", "top", "granularity=addresses", "top"],
    ["cum", "cum=1", "o", "top", "flat=1", "top"], ["proto", "proto", "callgrind", "topproto"],
    ["dot", "dot > x.dot", "tree", "tags", "raw", "comments", "text 3"],
    ["tagroot=key1", "top", "tagleaf=key1", "top", "tagroot=", "tagleaf=", "top"],
    [c for c in COMMANDS if c.startswith("help")], [c for c in COMMANDS if "=" in c] + ["o"],
    ["hide=main", "top", "show=a", "top", "show_from=m", "tree", "prune_from=a", "traces"],
]

ZONES = ["UTC", "Europe/Berlin", "America/New_York", "Asia/Kolkata", "Pacific/Auckland", "America/Sao_Paulo", "No/Where",
         "", "EST5EDT", "Asia/Kathmandu"]


def case(*args, **kw):
    return {"args": list(args), **kw}


def every_report(profiles):
    for p in profiles:
        if p.startswith("wrong-"):
            continue
        for r in REPORTS:
            if p.startswith("synthetic") and r not in ("-top", "-tree", "-tags", "-topproto", "-comments", "-raw"):
                continue
            yield case(r, "p/" + p)


def every_option(profiles):
    """Each option value with two reports of its own choosing, on each of a few profiles."""
    rng = random.Random(5)
    for option in OPTIONS:
        for p in FEW:
            if p in profiles:
                for r in rng.sample(REPORTS, 2):
                    yield case(r, option, "p/" + p)


def grains(profiles):
    for p in profiles:
        if not p.startswith(("synthetic", "wrong-")):
            for g in GRAIN:
                for r in ("-top", "-tree", "-dot", "-traces"):
                    yield case(r, g, "p/" + p)


def sample_types(profiles):
    for p in ("units.pb", "zero.pb", "heap.pb", "prom-heap.pb.gz", "prom-allocs.pb.gz", "contention.pb", "mix-07.pb.gz",
              "huge.pb", "default-type.pb", "etcd-cpu.pb.gz"):
        p = next((q for q in profiles if q.startswith(p)), None)
        for n in range(14) if p else ():
            for r in ("-top", "-tags", "-traces", "-dot"):
                yield case(r, f"-sample_index={n}", "p/" + p)
                yield case(r, f"-sample_index={n}", "-mean", "p/" + p)


def several_sources(profiles):
    rounds = ["p/" + p for p in profiles if p.startswith("round-")]
    real = ["p/prom-heap.pb.gz", "p/prom-heap-gc.pb.gz", "p/prom-allocs.pb.gz"]
    heaps = ["p/arktos-heap-base.pb.gz", "p/arktos-heap-new.pb.gz"]
    for r in REPORTS:
        for group in (rounds[:2], rounds[:3], rounds[1:4], rounds, real[:2], real, heaps, ["p/heap.pb"] * 3,
                      ["p/inline.pb", "p/inline.pb"], ["p/odd-names.pb", "p/mappings.pb"]):
            group = [find(profiles, g) for g in group]
            yield case(r, *group)
            for how in ("-base", "-diff_base"):
                yield case(r, f"{how}={group[0]}", *group[1:])
                yield case(r, f"{how}={group[-1]}", "-normalize", *group[:-1])
                yield case(r, f"{how}={group[0]}", "-drop_negative", "-cum", group[0], *group[1:])
        yield case(r, "-base=p/" + "round-1.pb", find(profiles, "p/round-1.pb"))


def find(profiles, path):
    """Half of the profiles are compressed; let cases not care which."""
    name = path[2:]
    return path if name in profiles else path + ".gz" if name + ".gz" in profiles else path.removesuffix(".gz")


def listings(profiles):
    for name in ("app.", "app.Loop", "app.Twice", "Start", "Past|Gone", "None", "Inner", "app.Long|Crlf|Tail", "Dir", "0x401000"):
        for options in ([], ["-source_path=p/src"], ["-source_path=p/src", "-trim_path=/build"],
                        ["-trim_path=/build"], ["-source_path=p/src/app"], ["-source_path=/nowhere:p/src/app", "-trim_path=/build/app"],
                        ["-trim_path=/build:/other", "-source_path=p/src/app:p/src"]):
            for grain in ([], ["-addresses"], ["-noinlines"], ["-unit=ms"], ["-focus=Loop"], ["-mean"]):
                yield case(f"-list={name}", *options, *grain, find(profiles, "p/listing.pb"))
    for options in (["-trim_path=/go/src", "-source_path=p/srcroot"], [], ["-source_path=p/srcroot"]):
        yield case("-list=convertToWatchEvent", *options, "p/arktos-list.pb.gz")
    for p in ("p/paths.pb", "p/inline.pb", "p/languages.pb"):
        for options in (["-source_path=/src"], ["-source_path=/build/src:/go/src"], ["-trim_path=/build/"], ["-trim_path=/go/src/app:/go/src"]):
            for r in ("-top", "-tree", "-dot", "-list=.", "-peek=main", "-callgrind", "-traces"):
                yield case(r, "-files", *options, find(profiles, p))
                yield case(r, "-lines", *options, find(profiles, p))


def zones(profiles):
    for z in ZONES:
        for p in profiles:
            if p.startswith(("time-", "labels", "etcd-cpu", "duration")):
                for r in ("-top", "-raw", "-dot"):
                    yield case(r, "p/" + p, env={"TZ": z})


def environment(profiles):
    for path in ("p", "p/nothing", "nowhere:p", "", "p/tree:p/bin"):
        for p in ("mappings.pb", "unsymbolized.pb", "native.pb"):
            for r in ("-top", "-raw", "-traces", "-tree -lines"):
                if p != "native.pb":
                    yield case(*r.split(), find(profiles, "p/" + p), env={"PPROF_BINARY_PATH": path})
                yield case(*r.split(), "-symbolize=none", find(profiles, "p/" + p), env={"PPROF_BINARY_PATH": path})
    for p in ("cpu.pb", "mappings.pb"):
        p = find(profiles, "p/" + p)
        yield case("-top", "p/mixed", p)
        yield case("-raw", "p/mixed", p)
        yield case("-top", "-buildid=abc", "p/mixed", p)
        yield case("-raw", "-buildid=abc", p)


def fetches():
    at = "http://@HTTP/debug/pprof/"
    for path in ("etcd-heap.pb.gz", "profile", "labels.pb", "unsymbolized.pb", "mappings.pb", "moved", "chunked", "unknown", "busy", "html",
                 "error-html", "empty", "nothing", "circle", "cut", "truncated", "nowhere", "legacy-goroutine.txt", ""):
        for r in ("-top", "-raw"):
            yield case(r, at + path)
    for url in ("http://@HTTP", "http://@HTTP/", "@HTTP", "@HTTP/debug/pprof/etcd-heap.pb.gz", "http://@HTTP?seconds=1",
                at + "query?b=2&a=1%20x&b=1", at + "query?seconds=3", at + "query?seconds=x", at + "query#frag", at + "query?a;b=c",
                at + "query?%zz", at + "a%20b", "HTTP://@HTTP/debug/pprof/etcd-heap.pb.gz", "ftp://@HTTP/x",
                "http://user:secret@@HTTP/debug/pprof/query", "https://@TLS/debug/pprof/etcd-heap.pb.gz",
                "https+insecure://@TLS/debug/pprof/etcd-heap.pb.gz", "https+insecure://@TLS", "https://@HTTP/x"):
        yield case("-top", url)
        yield case("-top", "-seconds=2", url)
    yield case("-top", "-seconds=0", at + "query")
    yield case("-top", "-seconds=-5", at + "query")
    yield case("-top", "-timeout=1", at + "etcd-heap.pb.gz")
    yield case("-top", at + "etcd-heap.pb.gz", at + "etcd-allocs.pb.gz")
    yield case("-top", at + "etcd-heap.pb.gz", "p/etcd-allocs.pb.gz")
    yield case("-top", at + "nowhere", at + "etcd-heap.pb.gz", at + "busy")
    yield case("-top", "-base=" + at + "prom-heap.pb.gz", at + "prom-heap-gc.pb.gz")
    yield case("-top", "-diff_base=" + at + "prom-heap.pb.gz", "p/prom-heap-gc.pb.gz")
    yield case("-top", "-base=" + at + "nowhere", at + "prom-heap-gc.pb.gz")
    yield case("-proto", "-add_comment=from there", at + "etcd-heap.pb.gz")
    yield case("-raw", "-symbolize=remote", at + "unsymbolized.pb")
    yield case("-raw", "-symbolize=none", at + "unsymbolized.pb")
    for folder in ("x", "odd", "huge", "refused", "missing", "moved"):
        for r in ("-top", "-raw"):
            yield case(r, f"http://@HTTP/{folder}/pprof/heap")
    for mode in ("local", "remote:force", "force", "local:remote", "demangle=full", "remote:demangle=templates"):
        yield case("-raw", "-symbolize=" + mode, at + "unsymbolized.pb")
        yield case("-raw", "-symbolize=" + mode, at + "mappings.pb")
        yield case("-raw", "-symbolize=" + mode, at + "labels.pb")
    for url in ("http://@HTTP/unsymbolized.pb", "http://@HTTP/unsymbolized.pb?a=b#c", "http://u:p@@HTTP/unsymbolized.pb?",
                "https+insecure://@TLS/unsymbolized.pb", "https+insecure://@TLS/missing/pprof/heap"):
        yield case("-raw", url)
    yield case("-raw", at + "unsymbolized.pb", at + "mappings.pb")
    yield case("-raw", at + "unsymbolized.pb", "p/unsymbolized.pb")
    yield case("-raw", "p/unsymbolized.pb", at + "unsymbolized.pb")
    yield case("-raw", "-base=" + at + "unsymbolized.pb", at + "mappings.pb")
    yield case("-proto", at + "unsymbolized.pb")
    yield case("-top", at + "etcd-heap.pb.gz", env={"PPROF_TMPDIR": "saved/here"})
    yield case("-top", at + "etcd-heap.pb.gz", env={"PPROF_TMPDIR": "/dev/null/x"})
    yield case("-top", at + "etcd-heap.pb.gz", env={"HOME": "/dev/null", "TMPDIR": "."})
    yield case(at + "etcd-heap.pb.gz", stdin="top3\n")


def sessions(profiles):
    for p in ("cpu.pb", "heap.pb", "labels.pb", "prom-heap.pb.gz", "etcd-cpu.pb.gz", "contention.pb", "zero.pb", "units.pb", "empty.pb",
              "default-type.pb", "comments.pb", "mix-05.pb.gz"):
        path = find(profiles, "p/" + p)
        if path[2:] not in profiles:
            continue
        for lines in SESSIONS:
            yield case(path, stdin="".join(f"{line}\n" for line in lines))
        yield case(path, stdin="top")
        yield case("-cum", "-focus=main", "-unit=ms", "-nodecount=4", path, stdin="o\ntop\n")
        yield case("-compact_labels=false", path, stdin="o\ntop\n")
        yield case("-lines", "-sample_index=0", "-mean", path, stdin="o\ntop\ntree\n")


def random_sessions(profiles, n, seed):
    rng = random.Random(seed)
    for _ in range(n):
        p = rng.choice([q for q in profiles if not q.startswith(("synthetic", "server-2", "wrong-"))])
        yield case("p/" + p, stdin="".join(rng.choice(COMMANDS) + "\n" for _ in range(rng.randint(2, 12))))


def random_mixes(profiles, n, seed):
    rng = random.Random(seed)
    small = [q for q in profiles if not q.startswith(("synthetic", "server-2", "wrong-"))]
    for _ in range(n):
        args = [rng.choice(REPORTS[:-2] + ["-peek=" + rng.choice(REGEXPS), "-list=" + rng.choice(REGEXPS)])]
        groups = set()
        for option in rng.sample(OPTIONS, rng.choice([1, 2, 2, 3, 3, 4, 5])):
            group = "grain" if option in GRAIN else "sort" if option in ("-cum", "-flat") else option.split("=")[0]
            if group not in groups:
                args.append(option)
                groups.add(group)
        sources = [rng.choice(small)]
        if rng.random() < .15:
            args.append(f"-{rng.choice(['base', 'diff_base'])}=p/{rng.choice(small)}")
        elif rng.random() < .1:
            sources.append(rng.choice(small))
        if rng.random() < .1:
            args.append("-normalize")
        yield case(*args, *["p/" + s for s in sources])


# What nobody draws, and dense graphs: Graphviz takes minutes for them, and ties make them come out differently every time.
HARD = ("synthetic", "server-", "wrong-", "mix-")


def pictures(profiles):
    """Drawn by the Graphviz of the machine, with its fonts: nothing to store."""
    easy = [p for p in profiles if not p.startswith(HARD)]
    for p in easy:
        yield case("-svg", "-nodecount=12", "p/" + p)
    rng = random.Random(9)
    for kind in ("-svg", "-png", "-pdf", "-ps", "-gif"):
        for option in rng.sample(OPTIONS, 12):
            yield case(kind, option, "-nodecount=10", "p/" + rng.choice(easy))
    for viewer in ("-web", "-eog", "-evince", "-gv"):
        yield case(viewer, "-output=f", "p/prom-heap.pb.gz")
        yield case(viewer, "p/prom-heap.pb.gz", env={"BROWSER": "false", "TMPDIR": "."})
        yield case(viewer, "p/prom-heap.pb.gz", env={"BROWSER": "ls  -1", "TMPDIR": "."})
    for lines in (["png", "png", "svg > f.svg", "pdf >g.pdf", "top1"], ["gif 5 tsdb", "ps 3", "svg > no/where", "o"],
                  ["output=x", "svg", "png", "output=", "png -cum", "svg 3 >"], ["nodecount=4", "svg", "focus=(", "svg", "png (", "help svg"]):
        for p in ("prom-heap.pb.gz", "cpu.pb"):
            yield case(find(profiles, "p/" + p), stdin="".join(f"{line}\n" for line in lines))


def stored(profiles):
    """What is also kept with its answers, for machines without the reference."""
    groups = [every_report(profiles), every_option(profiles), grains(profiles), sample_types(profiles), several_sources(profiles),
              listings(profiles), zones(profiles), environment(profiles), fetches(), sessions(profiles),
              (fix(profiles, args) for args in WRONG), refused(profiles), random_mixes(profiles, 2000, 1), random_sessions(profiles, 300, 2)]
    seen = set()
    for group in groups:
        for c in group:
            c["args"] = [find(profiles, a) if a.startswith("p/") else a for a in c["args"]]
            key = repr(c)
            if key not in seen:
                seen.add(key)
                yield c


def refused(profiles):
    bad = ["p/" + p for p in profiles if p.startswith("wrong-")]
    for p in bad:
        yield case("-top", p)
        yield case("-top", "p/cpu.pb", p)
        yield case("-top", "-base=" + p, "p/cpu.pb")
        yield case(p, stdin="top\n")
    yield case("-top", *bad)


def fix(profiles, args):
    return case(*[a.replace("p/heap.pb", find(profiles, "p/heap.pb")) if "base=" in a else a for a in args])


def live(profiles):
    """For profiles that are new every time."""
    yield from every_report(profiles)
    yield from grains(profiles)
    yield from random_mixes(profiles, 300, 11)
    yield from random_sessions(profiles, 60, 12)


MATRICES = {"stored": stored, "live": live}
