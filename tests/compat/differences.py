"""Where we differ from the reference on purpose.  docs/DIFFERENCES.md gives the reasons.

strip() takes what we add out of our answer; what is not here must be equal.

SPDX-License-Identifier: Apache-2.0
"""
import re


def strip(answer):
    status, out, err, files = answer
    return status, ours_only(out), ours_only(err), files


def ours_only(text):
    """help: our own options, behind the reference's; errors: which byte, and why; a dot that is there and fails."""
    text = text.replace(b"failed to execute dot. Error:", b"failed to execute dot. Is Graphviz installed? Error:")
    text = re.sub(rb"\n  (?:Only in|Commands of) sonde:\n(?:    .*\n)+", b"", text)
    return re.sub(rb"(unrecognized profile format) \(byte \d+: .*\)", rb"\1", text)


def without_pointers(err):
    """The reference prints addresses in its own memory where we name the types."""
    return re.sub(rb"(incompatible sample types) .* and .*", rb"\1", err)


def comparable_picture(data):
    """The script in an SVG page is our own; a PDF says when it was made."""
    if data.startswith(b"<?xml"):
        return re.sub(rb"<!\[CDATA\[.*?\]\]>", b"", data, flags=re.S)
    return re.sub(rb"/CreationDate \(.*?\)", b"", data) if data.startswith(b"%PDF") else data


def portable(case):
    """The libraries in this profile are those of the machine the test runs on."""
    if "mixed." in " ".join(case["args"]):
        args = [a for a in case["args"] if not a.startswith("-symbolize")]
        return {**case, "args": ["-symbolize=none", *args]}
    return case


# Not compared at all: these cases never reach the list.

AGAIN = re.compile(r"-symbolize=(\S*:)?(force|demangle=(none|full|templates)|full|templates)\b")
NEWER = ("columns.pb", "comments.pb")  # fields younger than Go 1.19 survive being written again


def comparable(case):
    args = case["args"]
    text = " ".join(args)
    sources = [a.removeprefix("p/") for a in args if a.startswith("p/")]
    if "-" in args or "jemalloc" in text:
        return False  # standard input; a format the reference does not know
    if AGAIN.search(text) and re.search(r"p/(etcd|prom|mixed|native)", text):
        return False  # reads binaries of the machine the test runs on
    if len(sources) > 1 and re.match(r"legacy-.*cpu|mixed\.gperf", sources[0]):
        return False  # the reference takes it for a Windows program
    if "https://@HTTP/" in text:
        return False  # not TLS at all: another sentence
    if "mix-05" in text and "-dot" in text:
        return False  # the reference's answer differs every time: many edges of opposite sign and one size
    if "proto" in text + case.get("stdin", "") and any(s.startswith(NEWER) for s in sources):
        return False
    return True
