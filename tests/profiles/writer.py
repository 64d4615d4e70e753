"""Write profile.proto messages, well-formed or not, with nothing but the standard library.

SPDX-License-Identifier: Apache-2.0
"""
import gzip


def varint(n):
    n &= (1 << 64) - 1
    out = bytearray()
    while n >= 0x80:
        out.append(n & 0x7F | 0x80)
        n >>= 7
    out.append(n)
    return bytes(out)


def read_varint(data, i):
    n = shift = 0
    while True:
        b = data[i]
        i += 1
        n |= (b & 0x7F) << shift
        shift += 7
        if b < 0x80:
            return n, i


def remap(data, wanted):
    """Walk the top level of a message and let wanted(field, body) rewrite the parts."""
    out, i = b"", 0
    while i < len(data):
        start = i
        key, i = read_varint(data, i)
        if key & 7 == 2:
            n, i = read_varint(data, i)
            body, i = data[i:i + n], i + n
            out += wanted(key >> 3, body, data[start:i])
        else:
            _, i = read_varint(data, i)
            out += wanted(key >> 3, None, data[start:i])
    return out


def number(field, n):
    """A scalar; zero is left out, as encoders do."""
    return varint(field << 3) + varint(n) if n else b""


def message(field, body):
    return varint(field << 3 | 2) + varint(len(body)) + body


def numbers(field, values, packed):
    if packed and values:
        return message(field, b"".join(map(varint, values)))
    return b"".join(varint(field << 3) + varint(v) for v in values)


def utf8(s):
    return s if isinstance(s, bytes) else s.encode("utf-8", "surrogateescape")


def squeeze(data):
    """gzip without a time stamp, so that the same bytes come out every time."""
    return gzip.compress(data, 6, mtime=0)


class Profile:
    """Collects the parts; encode() puts them together.

    Ids are handed out from 1; 'step' spreads them, for decoders that assume dense ids.
    """

    def __init__(self, types, period=None, step=1, **scalars):
        self.strings = [b""]
        self.index = {b"": 0}
        self.step = step
        self.types = types
        self.period = period  # (type, unit, n)
        self.scalars = scalars  # time, duration, drop, keep, default, comments, doc
        self.samples, self.mappings, self.functions, self.locations = [], [], [], []
        self.known = {}

    def string(self, s):
        s = utf8(s)
        if s not in self.index:
            self.index[s] = len(self.strings)
            self.strings.append(s)
        return self.index[s]

    def mapping(self, start=0x400000, limit=0x800000, offset=0, file="", build_id="", has="FfLI"):
        self.mappings.append((start, limit, offset, file, build_id, has))
        return len(self.mappings) * self.step

    def function(self, name, file="", system=None, start=0):
        key = ("f", utf8(name), utf8(file), system, start)
        if key not in self.known:
            self.functions.append((name, name if system is None else system, file, start))
            self.known[key] = len(self.functions) * self.step
        return self.known[key]

    def location(self, lines=(), address=0, mapping=0, folded=False):
        """'lines' are (function id, line[, column]), innermost first."""
        key = ("l", tuple(lines), address, mapping, folded)
        if key not in self.known:
            self.locations.append((address, mapping, tuple(lines), folded))
            self.known[key] = len(self.locations) * self.step
        return self.known[key]

    def frame(self, name, line=0, file="", mapping=0, address=0, **kw):
        """A location of one line, for stacks where inlining does not matter."""
        return self.location([(self.function(name, file, **kw), line)], address, mapping)

    def sample(self, stack, values, labels=()):
        """'stack' is leaf first; 'labels' are (key, text) or (key, number, unit)."""
        self.samples.append((tuple(stack), tuple(values), tuple(labels)))

    # Each part as bytes

    def value_type(self, pair):
        return number(1, self.string(pair[0])) + number(2, self.string(pair[1]))

    def label(self, label):
        out = number(1, self.string(label[0]))
        if len(label) == 2:
            return out + number(2, self.string(label[1]))
        return out + number(3, label[1]) + number(4, self.string(label[2]))

    def parts(self, packed=True):
        """(field number, bytes) of everything but the string table."""
        out = []
        for pair in self.types:
            out.append((1, message(1, self.value_type(pair))))
        for stack, values, labels in self.samples:
            body = numbers(1, stack, packed) + numbers(2, values, packed)
            body += b"".join(message(3, self.label(la)) for la in labels)
            out.append((2, message(2, body)))
        for n, (start, limit, offset, file, build_id, has) in enumerate(self.mappings, 1):
            body = number(1, n * self.step) + number(2, start) + number(3, limit)
            body += number(4, offset) + number(5, self.string(file)) + number(6, self.string(build_id))
            body += b"".join(number(7 + i, 1) for i, c in enumerate("FfLI") if c in has)
            out.append((3, message(3, body)))
        for n, (address, mapping, lines, folded) in enumerate(self.locations, 1):
            body = number(1, n * self.step) + number(2, mapping) + number(3, address)
            for line in lines:
                body += message(4, b"".join(number(i, v) for i, v in enumerate(line, 1)))
            out.append((4, message(4, body + number(5, folded))))
        for n, (name, system, file, start) in enumerate(self.functions, 1):
            body = number(1, n * self.step) + number(2, self.string(name))
            body += number(3, self.string(system)) + number(4, self.string(file)) + number(5, start)
            out.append((5, message(5, body)))
        return out + self.scalar_parts(packed)

    def scalar_parts(self, packed):
        s = self.scalars
        out = [(7, number(7, self.string(s.get("drop", "")))),
               (8, number(8, self.string(s.get("keep", "")))),
               (9, number(9, s.get("time", 0))),
               (10, number(10, s.get("duration", 0)))]
        if self.period:
            out.append((11, message(11, self.value_type(self.period))))
            out.append((12, number(12, self.period[2])))
        comments = [self.string(c) for c in s.get("comments", ())]
        out.append((13, numbers(13, comments, packed)))
        out.append((14, number(14, self.string(s.get("default", "")))))
        out.append((15, number(15, self.string(s.get("doc", "")))))
        return out

    def encode(self, packed=True):
        parts = self.parts(packed)
        table = [(6, message(6, s)) for s in self.strings]
        return b"".join(b for _, b in sorted(parts + table, key=lambda p: p[0]))
