"""Ports to listen on, each for one test at a time.

A port that the system picks can be picked again, for somebody else, before the program it was meant for
listens there.  These lie below what the system picks from, and as long as the test lives a name that only
one process can have keeps other tests away from them.

SPDX-License-Identifier: Apache-2.0
"""
import collections
import pathlib
import random
import socket

LOWEST = 10000
HELD = collections.deque(maxlen=200)  # of those, nobody waits for a program to start on an older one
RANGE = pathlib.Path("/proc/sys/net/ipv4/ip_local_port_range")


def claim(port):
    """Whether the port is now ours to give to a program."""
    name = socket.socket(socket.AF_UNIX)
    try:
        name.bind(f"\0sonde-test-port-{port}")
        with socket.socket() as s:
            s.bind(("", port))
    except OSError:
        name.close()
        return False
    HELD.append(name)
    return True


def free_port():
    end = int(RANGE.read_text().split()[0]) if RANGE.exists() else 32768
    while True:
        port = random.SystemRandom().randrange(LOWEST, max(end, 2 * LOWEST))
        if claim(port):
            return port
