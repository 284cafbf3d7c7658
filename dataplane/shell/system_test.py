#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Real TCP through headgate-dataplane, without headgated: usage system_test.py DATAPLANE STEERING ORDERS [NAME].

Raises three network namespaces of its own, gives orders by hand, and checks: connections through AF_XDP ports and
through TAP ports, with one and with two workers; probes from the box itself; a port that leaves and returns; a start
after kill -9; a clean stop that leaves no XDP program, interface, socket or folder. Needs root.
"""

import ctypes
import os
import pathlib
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest

DATAPLANE, STEERING, ORDERS = sys.argv[1:4]
PREFIX = f"hg-shell-{os.getpid()}"
CLIENT, SWITCH, SERVER = (f"{PREFIX}-{role}" for role in ("c", "x", "s"))
LIBC = ctypes.CDLL(None)  # os.setns came with Python 3.12
CLONE_NEWNET = 0x40000000
BODY = b"0123456789abcdef" * 4096

GENERATION = """publish {{
  number: {number}
  {ports}
  service {{ virt: 1 vip: 0x0a4d0164 vport: 80 protocol: 6 group: 1 metric: ROUNDROBIN
    member {{ real: 1 rip: 0x0a4d020b rport: 8080 weight: 1 idle_seconds: 600
      target {{ real: 1 port: 8080 protocol: 6 check: "tcp" }} }} }}
  ageing {{ closed_seconds: 2 }}
}}"""
STATES = 'states { target { target { real: 1 port: 8080 protocol: 6 check: "tcp" } admission: OPEN } }'


def run(*command):
    return subprocess.run([str(word) for word in command], check=True, capture_output=True, text=True).stdout


def ip(namespace, *words):
    return run("ip", "-n", namespace, *words)


def await_that(holds, what, patience=10):
    deadline = time.monotonic() + patience
    while not holds():
        if time.monotonic() > deadline:
            raise AssertionError(f"not within {patience} s: {what}")
        time.sleep(0.02)


def within(namespace, action):
    """Runs `action` in a thread that lives in a namespace, and returns what it returns."""
    result = []

    def body():
        with open(f"/run/netns/{namespace}") as file:
            if LIBC.setns(file.fileno(), CLONE_NEWNET) != 0:
                raise OSError("setns")
        result.append(action())

    thread = threading.Thread(target=body)
    thread.start()
    thread.join()
    return result[0]


def fetch(address, port, source=None):
    with socket.create_connection((address, port), timeout=5, source_address=source) as connection:
        received = b""
        while chunk := connection.recv(1 << 16):
            received += chunk
    return received


class DataplaneTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        self.process = None
        for namespace in (CLIENT, SWITCH, SERVER):
            run("ip", "netns", "add", namespace)
            self.addCleanup(run, "ip", "netns", "del", namespace)
            ip(namespace, "link", "set", "lo", "up")
        self.addCleanup(self.stop)

    def start(self, *options):
        with open(self.root / "log", "w") as log:
            self.process = subprocess.Popen(
                ["nsenter", f"--net=/run/netns/{SWITCH}", DATAPLANE, "--run-dir", self.root / "run", "--state-dir",
                 self.root / "state", "--steering", STEERING, "--file-prefix", PREFIX, "--sessions", "65536",
                 "--memory", "128", *options], stderr=log)
        await_that(lambda: "ready" in (self.root / "log").read_text() or self.process.poll() is not None, "ready")
        self.assertIsNone(self.process.poll(), (self.root / "log").read_text())

    def stop(self, how=signal.SIGTERM):
        if self.process:
            self.process.send_signal(how)
            status = self.process.wait(10)
            self.process = None
            return status

    def order(self, *orders):
        files = []
        for number, text in enumerate(orders):
            files.append(self.root / f"order{number}")
            files[-1].write_text(text)
        return run(ORDERS, self.root / "run" / "dataplane.sock", *files)

    def publish(self, number, driver, devices):
        ports = " ".join(f'port {{ number: {n + 1} device: "{device}" driver: {driver} client: true server: true }}'
                         for n, device in enumerate(devices))
        return self.order(GENERATION.format(number=number, ports=ports), STATES)

    def give_addresses(self, client_side, server_side, port1, port2):
        for namespace, device, address in ((CLIENT, client_side, "10.77.1.10/24"), (SERVER, server_side, "10.77.2.11/24"),
                                           (SWITCH, port1, "10.77.1.5/24"), (SWITCH, port1, "10.77.1.100/32"),
                                           (SWITCH, port2, "10.77.2.5/24")):
            ip(namespace, "addr", "add", address, "dev", device)
            ip(namespace, "link", "set", device, "up")
        ip(SERVER, "route", "add", "default", "via", "10.77.2.5")
        for namespace, device in ((CLIENT, client_side), (SERVER, server_side)):
            subprocess.run(["ip", "netns", "exec", namespace, "ethtool", "-K", device, "tx", "off", "rx", "off", "tso",
                            "off", "gso", "off", "gro", "off"], check=False, capture_output=True)
        self.serve()

    def serve(self):
        listener = within(SERVER, lambda: socket.create_server(("10.77.2.11", 8080), backlog=128))
        self.addCleanup(listener.close)

        def body():
            while True:
                try:
                    connection, _ = listener.accept()
                except OSError:
                    return
                connection.sendall(BODY)
                connection.close()
        threading.Thread(target=body, daemon=True).start()

    def raise_veths(self):
        for port, role in (("port1", CLIENT), ("port2", SERVER)):
            run("ip", "link", "add", port, "netns", SWITCH, "type", "veth", "peer", "name", "eth0", "netns", role)
        self.give_addresses("eth0", "eth0", "port1", "port2")

    def fetch_often(self, times=20):
        for _ in range(times):
            self.assertEqual(within(CLIENT, lambda: fetch("10.77.1.100", 80)), BODY)

    def program_on(self, device):
        return "prog/xdp" in ip(SWITCH, "link", "show", device)

    def test_af_xdp_ports_carry_tcp_survive_a_kill_and_leave_nothing(self):
        for workers in ("1", "2"):
            with self.subTest(workers=workers):
                if workers == "1":
                    self.raise_veths()
                self.start("--workers", workers)
                self.publish(1, "XDP_SOCKET", ["port1", "port2"])
                self.fetch_often()
                self.assertEqual(within(SWITCH, lambda: fetch("10.77.2.11", 8080)), BODY, "a probe of the box itself")
                run("ip", "netns", "exec", CLIENT, "ping", "-c1", "-W2", "10.77.1.100")

                self.publish(2, "XDP_SOCKET", ["port1"])
                self.assertFalse(self.program_on("port2"))
                self.publish(3, "XDP_SOCKET", ["port1", "port2"])
                await_that(lambda: self.program_on("port2"), "port 2 opens again")
                self.fetch_often(2)

                self.stop(signal.SIGKILL)
                self.assertTrue(self.program_on("port1"), "without it, the kernel would answer")
                self.start("--workers", workers)
                self.fetch_often()
                self.assertIn("generation: 3", self.order("hello {}"))

                self.assertEqual(self.stop(), 0)
                self.assertFalse(self.program_on("port1") or self.program_on("port2"))
                self.assertFalse((self.root / "run" / "dataplane.sock").exists())
                self.assertFalse(pathlib.Path(f"/var/run/dpdk/{PREFIX}").exists())

    def test_tap_ports_carry_tcp_and_their_twins_the_kernels_share(self):
        self.start()
        self.publish(1, "TAP", ["tap1", "tap2"])
        for n, namespace in ((1, CLIENT), (2, SERVER)):
            ip(SWITCH, "link", "set", f"tap{n}", "netns", namespace)
            ip(namespace, "link", "set", f"tap{n}", "address", f"02:00:00:00:77:0{n}")
        self.give_addresses("tap1", "tap2", "hg1", "hg2")
        self.fetch_often()
        self.assertEqual(within(SWITCH, lambda: fetch("10.77.2.11", 8080)), BODY, "a probe of the box itself")
        run("ip", "netns", "exec", CLIENT, "ping", "-c1", "-W2", "10.77.1.5")
        self.assertEqual(self.stop(), 0)
        self.assertNotIn("hg1", ip(SWITCH, "link"))


if __name__ == "__main__":
    if os.geteuid() != 0:
        sys.exit(77)
    unittest.main(argv=sys.argv[:1] + sys.argv[4:], verbosity=2)
