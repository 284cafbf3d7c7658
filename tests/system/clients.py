# SPDX-License-Identifier: Apache-2.0
"""The runner's side of client.py: starts clients in a namespace and reads what they tell."""

import contextlib
import json
import os
import select
import subprocess
import sys
import time
from pathlib import Path

import network
import servers
from host import LabError, inside

PROGRAM = Path(__file__).with_name("client.py")


class Client:
    """One running client; ends with the `with` that holds it."""

    def __init__(self, verb, *arguments, namespace=network.CLIENT):
        self.what = f"client {verb} {' '.join(str(a) for a in arguments)}"
        self.process = subprocess.Popen(inside(namespace, sys.executable, PROGRAM, verb, *arguments), text=False,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.pending = b""

    def hear(self, seconds=30.0):
        """The next JSON line; LabError when none comes in time."""
        deadline, output = time.monotonic() + seconds, self.process.stdout.fileno()
        while b"\n" not in self.pending:
            if not select.select([output], [], [], max(0.0, deadline - time.monotonic()))[0]:
                raise LabError(f"{self.what} said nothing within {seconds:g} s")
            data = os.read(output, 65536)
            if not data:
                raise LabError(f"{self.what} ended: {self.process.stderr.read().decode().strip()[-300:]}")
            self.pending += data
        line, _, self.pending = self.pending.partition(b"\n")
        return json.loads(line)

    def tell(self, line):
        self.process.stdin.write(line.encode() + b"\n")
        self.process.stdin.flush()

    def ask(self, line, seconds=30.0):
        self.tell(line)
        return self.hear(seconds)

    def finish(self, seconds=30.0):
        """Closes its input and returns its last words."""
        self.process.stdin.close()
        return self.hear(seconds)

    def close(self):
        """Ends it at once; its connections are reset. Can be repeated."""
        self.process.kill()
        self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout, self.process.stderr):
            pipe.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def once(verb, *arguments, seconds=120.0, namespace=network.CLIENT):
    """A client that works by itself: its only line."""
    with Client(verb, *arguments, namespace=namespace) as client:
        return client.hear(seconds)


def http(count, threads=4, vip=network.VIP):
    return once("http", vip, count, threads)


def ftp(count, threads=1, vip=network.VIP):
    return once("ftp", vip, count, threads)


def udp(count, vip=network.VIP, port=servers.UDP_PORT, size=512):
    return once("udp", vip, port, count, size)


def dial(port, count, timeout=2.0, vip=network.VIP):
    return once("dial", vip, port, count, timeout)


def spread(result):
    """Requests for each server number, 0 for those that had none."""
    return {n: result["servers"].get(f"server-{n}", 0) for n in network.SERVERS}


@contextlib.contextmanager
def background(*argv):
    """A command that runs meanwhile; ended with the `with`."""
    process = subprocess.Popen([str(a) for a in argv], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                               stderr=subprocess.DEVNULL)
    try:
        yield process
    finally:
        process.kill()
        process.wait()
