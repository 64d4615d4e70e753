"""What is left of an answer when the order of equals is taken out of it.

Used only where the reference itself has been seen to give different answers: it sorts with an
unstable sort, in the order of its hash tables, and its comparisons leave ties (edges of equal
weight and opposite sign; nodes whose printed names are equal).

SPDX-License-Identifier: Apache-2.0
"""
import re


def one_of(answer, said):
    """Is this one of several answers, but for the order of equals?"""
    lines = [canonical(a) for a in said]
    if canonical(answer) in lines:
        return True
    return any(a != lines[0] for a in lines) and coarse(answer) in [coarse(a) for a in said]


def coarse(answer):
    """What does not depend on that order even indirectly.

    It decides which of the edges that stand for cut ones are redundant, and what the addresses
    of callgrind are relative to.
    """
    status, out, err, files = answer
    return status, coarse_text(out), sorted(err.splitlines()), [(n, coarse_text(d)) for n, d in files]


def coarse_text(data):
    if data.startswith(b"positions:"):
        data = re.sub(rb"^(calls=0 )?(\*|[-+]\d+|0x[0-9a-f]+|\d+) (?=\d)", rb"\1", data, flags=re.M)
        return sorted(line for block in callgrind(data) for line in block)
    return text(b"\n".join(line for line in data.splitlines() if b' style="dotted"' not in line))


def canonical(answer):
    status, out, err, files = answer
    return status, text(out), sorted(err.splitlines()), tuple((n, text(d)) for n, d in files)


def text(data):
    if data.startswith(b"digraph"):
        return dot(data)
    if data.startswith(b"positions:"):
        return callgrind(data)
    return blocks(data)


def blocks(data):
    """Separator lines keep their places; between them, lines in a fixed order."""
    out, block = [], []
    for line in data.splitlines():
        if re.match(rb"-+\+-+$", line) or not line.strip():
            out += sorted(block) + [line]
            block = []
        else:
            block.append(line)
    return out + sorted(block)


def dot(data):
    """Nodes by what they show instead of by number."""
    shown = {}
    for line in data.splitlines():
        m = re.match(rb'(N+\d+(?:_\d+)*) \[label ?= ?"(.*?)" id=', line)
        if m:
            shown[m[1]] = m[2]
    named = re.sub(rb"\bN+\d+(?:_\d+)*\b", lambda m: b"<" + shown.get(m[0], b"") + b">", data)
    named = re.sub(rb' id="(?:node\d+|<.*?>)"', b"", named)
    return sorted(named.splitlines())


def callgrind(data):
    """Names written out instead of compressed; calls of one function in a fixed order."""
    names = {}

    def expand(m):
        space = {b"cfl": b"fl", b"cfn": b"fn"}.get(m[1], m[1])
        if m[3]:
            names[space, m[2]] = m[3]
        return m[1] + b"=" + names.get((space, m[2]), b"")

    data = re.sub(rb" \[\d+/\d+\]$", b"", data, flags=re.M)  # which of several of that name
    full = re.sub(rb"^(ob|fl|fn|cfl|cfn)=\((\d+)\)(?: (.*))?$", expand, data, flags=re.M)
    return [sorted(block.splitlines()) for block in full.split(b"\n\n")]
