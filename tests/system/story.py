# SPDX-License-Identifier: Apache-2.0
"""Telling a story that is checked: points, what must hold, what was seen; and the moves that points share."""

import contextlib
import hashlib
import time

import clients
import network
import processes
import servers
from host import ROOT, LabError, wait_until


class Story:
    """Prints each check and remembers those that did not hold."""

    def __init__(self):
        self.passed, self.failed, self.began = 0, [], time.monotonic()
        self.title = ""

    def point(self, title):
        self.title = title
        print(f"\n[{time.monotonic() - self.began:5.1f} s] {title}", flush=True)

    def check(self, held, must, seen):
        print(f"  {'ok  ' if held else 'FAIL'} must: {must}\n       seen: {seen}", flush=True)
        if held:
            self.passed += 1
        else:
            self.failed.append(f"{self.title}: {must}")

    def broke(self, error):
        self.failed.append(f"{self.title}: {error}")
        print(f"  FAIL {error}", flush=True)


def restore(switch):
    """Brings the lab back to all servers up, whatever the last point left."""
    for name in ("headgate-dataplane", "headgated"):
        switch.resume(name)
    switch.wait_for_cli()
    for number in network.SERVERS:
        if not processes.pid_of(f"http{number}"):
            servers.start_http(number)
        if not processes.pid_of(f"ftp{number}"):
            servers.start_ftp(number)
        network.set_link(number, "up")
        switch.cli(f"/oper/slb/ena {number}", check=False)
    switch.wait_all_up()


@contextlib.contextmanager
def download_through(number):
    """A slow download whose session is bound to one server; the wrong ones stay until it is found, so that the
    metric moves on."""
    tried = []
    try:
        while not tried or tried[-1].hear()["server"] != f"server-{number}":
            if len(tried) == 12:
                raise LabError(f"none of 12 downloads was bound to server {number}")
            tried.append(clients.Client("download", network.VIP, "/download"))
        for wrong in tried[:-1]:
            wrong.close()
        yield tried[-1]
    finally:
        for client in tried:
            client.close()


@contextlib.contextmanager
def load(threads=4):
    """Requests without pause while the `with` lasts; its value is the client."""
    with clients.Client("load", network.VIP, threads) as client:
        wait_until(lambda: client.ask("count")["done"] > 50, "the load to run")
        yield client


def download_sum():
    return hashlib.sha256((ROOT / "download").read_bytes()).hexdigest()


def logged(number, action):
    """What `action` returns, and how many requests the server logged meanwhile."""
    before = servers.requests_logged(number)
    result = action()
    return result, servers.requests_logged(number) - before


def seconds_until(condition, what, limit):
    began = time.monotonic()
    wait_until(condition, what, limit, 0.05)
    return time.monotonic() - began
