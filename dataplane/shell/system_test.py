#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Real TCP through headgate-dataplane, without headgated: usage system_test.py DATAPLANE STEERING ORDERS [NAME].

Raises three network namespaces of its own, gives orders by hand, and checks: connections through AF_XDP, TAP and PCAP
ports, with one and with two workers; probes from the box itself; a port that leaves and returns; sessions that go on
after kill -9, after a clean stop, after an upgrade (to the build that UPGRADE_TO names, if it does), and while links,
neighbours and routes change; a full table; a generation that can't be stored; neighbours that go stale, fail and
return; a clean stop that leaves no XDP program, interface, socket or folder. Needs root.
"""

import contextlib
import ctypes
import os
import pathlib
import re
import shutil
import signal
import socket
import struct
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
  service {{ virt: 1 vip: "\\x0a\\x4d\\x01\\x64" vport: 80 protocol: 6 group: 1 metric: ROUNDROBIN
    member {{ real: 1 rip: "\\x0a\\x4d\\x02\\x0b" rport: 8080 weight: 1 idle_seconds: 600
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

    def start(self, *options, program=DATAPLANE):
        with open(self.root / "log", "w") as log:
            self.process = subprocess.Popen(
                ["nsenter", f"--net=/run/netns/{SWITCH}", program, "--run-dir", self.root / "run", "--state-dir",
                 self.root / "state", "--session-dir", self.root / "sessions", "--steering", STEERING,
                 "--file-prefix", PREFIX, "--sessions", "65536", "--memory", "128", *options], stderr=log)
        await_that(lambda: "ready" in self.log() or self.process.poll() is not None, "ready")
        self.assertIsNone(self.process.poll(), self.log())

    def log(self):
        return (self.root / "log").read_text()

    def await_ports(self, count=2):
        """Nothing guards the addresses here: until the ports are open, the kernel answers with resets."""
        await_that(lambda: self.order("stats {}").count("kernel_interface:") == count, f"{count} ports to be open")

    def stop(self, how=signal.SIGTERM):
        process, self.process = self.process, None
        if process is None:
            return None
        process.send_signal(how)
        try:
            return process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            raise

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

    def give_address(self, namespace, device, *addresses):
        for address in addresses:
            ip(namespace, "addr", "add", address, "dev", device)
        ip(namespace, "link", "set", device, "up")

    def give_switch_addresses(self, port1, port2):
        self.give_address(SWITCH, port1, "10.77.1.5/24", "10.77.1.100/32")
        self.give_address(SWITCH, port2, "10.77.2.5/24")

    def give_ends_addresses(self, client_side, server_side):
        self.give_address(CLIENT, client_side, "10.77.1.10/24")
        self.give_address(SERVER, server_side, "10.77.2.11/24")
        ip(SERVER, "route", "add", "default", "via", "10.77.2.5")
        for namespace, device in ((CLIENT, client_side), (SERVER, server_side)):
            subprocess.run(["ip", "netns", "exec", namespace, "ethtool", "-K", device, "tx", "off", "rx", "off", "tso",
                            "off", "gso", "off", "gro", "off"], check=False, capture_output=True)

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

    def raise_wires(self):
        for port, role in (("port1", CLIENT), ("port2", SERVER)):
            run("ip", "link", "add", port, "netns", SWITCH, "type", "veth", "peer", "name", "eth0", "netns", role)
            ip(SWITCH, "link", "set", port, "up")
        self.give_ends_addresses("eth0", "eth0")

    def raise_veths(self):
        self.raise_wires()
        self.give_switch_addresses("port1", "port2")

    def fetch_often(self, times=20):
        for _ in range(times):
            self.assertEqual(within(CLIENT, lambda: fetch("10.77.1.100", 80)), BODY)

    def program_on(self, device):
        return "prog/xdp" in ip(SWITCH, "link", "show", device)

    def check_af_xdp(self, workers):
        self.raise_veths()
        self.serve()
        self.start("--workers", workers)
        self.publish(1, "XDP_SOCKET", ["port1", "port2"])
        self.await_ports()
        self.fetch_often()
        self.assertEqual(within(SWITCH, lambda: fetch("10.77.2.11", 8080)), BODY, "a probe of the box itself")
        run("ip", "netns", "exec", CLIENT, "ping", "-c1", "-W2", "10.77.1.100")

        self.publish(2, "XDP_SOCKET", ["port1"])
        self.assertFalse(self.program_on("port2"))
        self.publish(3, "XDP_SOCKET", ["port1", "port2"])
        self.await_ports()
        self.fetch_often(2)

        self.stop(signal.SIGKILL)
        self.assertTrue(self.program_on("port1"), "without it, the kernel would answer")
        self.start("--workers", workers)
        self.await_ports()
        self.fetch_often()
        self.assertIn("generation: 3", self.order("hello {}"))

        self.assertEqual(self.stop(), 0)
        self.assertFalse(self.program_on("port1") or self.program_on("port2"))
        self.assertFalse((self.root / "run" / "dataplane.sock").exists())
        self.assertFalse(pathlib.Path(f"/var/run/dpdk/{PREFIX}").exists())

    def test_af_xdp_ports_carry_tcp_survive_a_kill_and_leave_nothing(self):
        self.check_af_xdp("1")

    def test_two_workers_share_af_xdp_ports(self):
        self.check_af_xdp("2")

    def open_session(self, source=None):
        """A connection through the switch to a server that says back what it hears."""
        listener = within(SERVER, lambda: socket.create_server(("10.77.2.11", 8080)))
        self.addCleanup(listener.close)
        client = within(CLIENT, lambda: socket.create_connection(("10.77.1.100", 80), 5, source))
        self.addCleanup(client.close)
        server, _ = listener.accept()

        def echo():
            with server, contextlib.suppress(OSError):
                while data := server.recv(1 << 16):
                    server.sendall(data)

        def hang_up():  # wakes the thread, which closes
            with contextlib.suppress(OSError):
                server.shutdown(socket.SHUT_RDWR)
            thread.join()
        thread = threading.Thread(target=echo, daemon=True)
        thread.start()
        self.addCleanup(hang_up)
        return client

    def say(self, session, word=b"x"):
        session.sendall(word)
        self.assertEqual(session.recv(100), word)

    def start_with_a_session(self):
        self.raise_veths()
        self.start()
        self.publish(1, "XDP_SOCKET", ["port1", "port2"])
        self.await_ports()
        return self.open_session()

    def number(self, name, text):
        """The sum of a field over a report."""
        return sum(int(value) for value in re.findall(rf"\b{name}: (\d+)", text))

    def counts(self):
        return self.order("stats {}").partition("group {")[0]

    def rows(self):
        """Each number of all counters by the way to it; rows of one kind are numbered."""
        numbers, way, seen = {}, [], {}
        for line in self.order("stats {}").splitlines():
            if line.endswith("{"):
                kind = ".".join([*way, line[:-1].strip()])
                seen[kind] = seen.get(kind, 0) + 1
                way.append(f"{line[:-1].strip()} {seen[kind]}")
            elif line.endswith("}"):
                way.pop()
            elif match := re.fullmatch(r"\s*(\w+): (\d+)", line):
                numbers[".".join([*way, match[1]])] = int(match[2])
        return numbers

    def assert_no_total_fell(self, before, after):
        now = re.compile(r"\b(current|current_sessions|half_open_sessions|fragmented_current|bound_clients)$")
        self.assertTrue({"stats 1.virt 1.counts 1.packets", "stats 1.port 2.tx_bytes"} <= before.keys(), before)
        fell = {name: (count, after.get(name)) for name, count in before.items()
                if not now.search(name) and after.get(name, 0) < count}
        self.assertEqual(fell, {})

    def test_sessions_of_two_workers_outlive_a_kill(self):
        self.raise_veths()
        self.start("--workers", "2")
        self.publish(1, "XDP_SOCKET", ["port1", "port2"])
        self.await_ports()
        session = self.open_session()
        self.stop(signal.SIGKILL)
        self.start("--workers", "2")
        session.settimeout(20)
        self.say(session, b"after")

    def test_sessions_outlive_kills_and_what_counts_them_is_exact(self):
        session = self.start_with_a_session()
        for total in (1, 0, 0):  # it was cleared
            self.say(session, b"before")
            before = self.rows()
            self.stop(signal.SIGKILL)
            began = time.monotonic()
            self.start()
            self.assertIn("going on with 1 sessions of before", self.log())
            session.settimeout(20)
            self.say(session, b"after")
            print(f"killed: an answer {time.monotonic() - began:.3f} s after the next start began", flush=True)
            after = self.rows()
            self.assert_no_total_fell(before, after)
            self.assertEqual(after.get("stats 1.real 1.counts 1.total", 0), total)
            self.assertEqual(self.number("current_sessions", self.counts()), 1)
            self.order("restart_stats {}")
        self.assertEqual(self.stop(), 0)
        self.start()
        self.say(session, b"after a clean stop")

    def another_build(self):
        """What UPGRADE_TO names, a build of the same layout; else this build in another place."""
        return os.environ.get("UPGRADE_TO") or shutil.copy(DATAPLANE, self.root / "headgate-dataplane")

    def test_sessions_outlive_an_upgrade(self):
        session = self.start_with_a_session()
        session.settimeout(20)
        self.say(session, b"before")
        before, volume = self.rows(), self.order("sessions {}")
        for how, program in ((signal.SIGKILL, self.another_build()), (signal.SIGTERM, DATAPLANE)):
            self.stop(how)
            self.start(program=program)
            self.assertIn("going on with 1 sessions of before", self.log())
            self.say(session, b"after")
            self.assert_no_total_fell(before, self.rows())
            volume, of_before = self.order("sessions {}"), volume
            for name in ("packets_from_client", "packets_from_server", "octets_from_client", "octets_from_server"):
                self.assertGreater(self.number(name, volume), self.number(name, of_before), name)

    def test_sessions_of_another_layout_are_refused_and_said_so(self):
        session = self.start_with_a_session()
        self.stop(signal.SIGKILL)
        self.start("--sessions", "4096")
        self.assertIn("the sessions of before are lost", self.log())
        self.assertIn("not of 1 with 4096", self.log())
        self.assertEqual(self.number("current_sessions", self.counts()), 0)
        self.await_ports()
        session.close()

    def test_a_generation_that_cannot_be_stored_is_refused_and_ends_no_session(self):
        session = self.start_with_a_session()
        state = self.root / "state"
        state.rename(self.root / "aside")
        state.write_text("no folder")
        with self.assertRaises(subprocess.CalledProcessError):
            self.order("publish { number: 2 }")
        self.say(session)
        self.assertIn("generation: 1", self.order("hello {}"))

    def state_of_neighbour(self, device, address):
        return (ip(SWITCH, "neigh", "show", address, "dev", device).split() or ["none"])[-1]

    def test_neighbours_in_use_are_renewed_and_sessions_outlive_those_that_fail(self):
        session = self.start_with_a_session()
        ends = (("port1", "10.77.1.10"), ("port2", "10.77.2.11"))
        for device, address in ends:  # the kernel forgot that it ever heard of them; nothing but the switch uses them
            mac = ip(CLIENT if device == "port1" else SERVER, "link", "show", "eth0").split("link/ether ")[1].split()[0]
            ip(SWITCH, "neigh", "replace", address, "lladdr", mac, "dev", device, "nud", "stale")
        self.say(session)
        deadline = time.monotonic() + 20
        while not all(self.state_of_neighbour(*end) == "REACHABLE" for end in ends):
            self.assertLess(time.monotonic(), deadline, "stale neighbours in use are not renewed")
            self.say(session)
            time.sleep(0.05)  # a lively session, no flood

        for device, address in ends:
            ip(SWITCH, "neigh", "del", address, "dev", device)
            self.say(session)
        ip(SERVER, "link", "set", "eth0", "arp", "off")
        ip(SWITCH, "neigh", "del", "10.77.2.11", "dev", "port2")
        session.sendall(b"held")
        await_that(lambda: self.state_of_neighbour("port2", "10.77.2.11") in ("FAILED", "INCOMPLETE"), "a failure")
        ip(SERVER, "link", "set", "eth0", "arp", "on")
        session.settimeout(20)
        self.assertEqual(session.recv(100), b"held")
        self.say(session)

    def knock(self, hosts):
        """Begins connections in the name of clients that are not there."""
        def body():
            with socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_RAW) as raw:
                for host in hosts:
                    addresses = socket.inet_aton(f"10.77.1.{host}") + socket.inet_aton("10.77.1.100")
                    header = struct.pack("!BBHHHBBH", 0x45, 0, 40, 0, 0, 64, socket.IPPROTO_TCP, 0) + addresses
                    syn = struct.pack("!HHIIBBHHH", 40000, 80, 1, 0, 0x50, 0x02, 1024, 0, 0)
                    raw.sendto(header + syn, ("10.77.1.100", 0))
        within(CLIENT, body)

    def test_sessions_go_on_while_neighbours_that_never_answer_are_forgotten(self):
        session = self.start_with_a_session()
        self.knock(range(50, 90))
        deadline = time.monotonic() + 40
        while "40 neighbours that do not answer are forgotten" not in self.log():
            self.assertLess(time.monotonic(), deadline, self.log())
            self.say(session)
            time.sleep(0.05)  # a lively session, no flood
        self.knock(range(90, 130))
        for _ in range(20):
            self.say(session)

    def flood(self, count):
        """Begins so many connections in the client's name, as quickly as it can."""
        def body():
            with socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_RAW) as raw:
                for number in range(count):
                    addresses = socket.inet_aton("10.77.1.10") + socket.inet_aton("10.77.1.100")
                    header = struct.pack("!BBHHHBBH", 0x45, 0, 40, 0, 0, 64, socket.IPPROTO_TCP, 0) + addresses
                    syn = struct.pack("!HHIIBBHHH", 1024 + number, 80, 1, 0, 0x50, 0x02, 1024, 0, 0)
                    raw.sendto(header + syn, ("10.77.1.100", 0))
        within(CLIENT, body)

    def test_a_full_table_keeps_its_sessions_and_is_told_once_a_second(self):
        self.raise_veths()
        # The client's kernel knows none of these connections, and would end each with a reset.
        rules = ("add table ip t; add chain ip t o { type filter hook output priority 0; };"
                 " add rule ip t o tcp sport 1024-9999 tcp flags rst drop")
        run("ip", "netns", "exec", CLIENT, "nft", rules)
        self.start("--sessions", "1024")
        self.publish(1, "XDP_SOCKET", ["port1", "port2"])
        self.await_ports()
        session = self.open_session()
        began = time.monotonic()
        for _ in range(4):
            self.flood(4000)
            self.say(session)
        await_that(lambda: "the table of sessions is full" in self.log(), "a word about it")
        self.say(session)
        lines = self.log().count("the table of sessions is full")
        self.assertLessEqual(lines, time.monotonic() - began + 1)
        self.assertEqual(self.number("current_sessions", self.counts()), 1024)

    def check_changes(self, workers):
        self.raise_veths()
        for namespace, device, address in ((CLIENT, "eth0", "10.77.1.11/24"), (CLIENT, "lo", "10.88.0.1/32")):
            ip(namespace, "addr", "add", address, "dev", device)
        ip(SWITCH, "route", "add", "10.88.0.0/24", "via", "10.77.1.10")
        run("ip", "netns", "exec", SERVER, "sysctl", "-qw", "net.ipv4.conf.eth0.arp_notify=1")
        self.start("--workers", workers)
        self.publish(1, "XDP_SOCKET", ["port1", "port2"])
        self.await_ports()
        session = self.open_session(source=("10.88.0.1", 0))
        session.settimeout(20)
        for number, device in ((1, "port1"), (2, "port2")):
            ip(SWITCH, "link", "set", device, "down")
            await_that(lambda n=number, d=device: f"port {n} ({d}) is down" in self.log(), f"{device} to be seen down")
            ip(SWITCH, "link", "set", device, "up")
            # The kernel took the route away with its link.
            ip(SWITCH, "route", "replace", "10.88.0.0/24", "via", "10.77.1.10")
            self.say(session, b"after a link was down")
        ip(SERVER, "link", "set", "eth0", "address", "02:00:00:00:77:99")
        self.say(session, b"after the server's address changed")
        self.assertIn("02:00:00:00:77:99", ip(SWITCH, "neigh", "show", "10.77.2.11", "dev", "port2"))
        ip(SWITCH, "route", "replace", "10.88.0.0/24", "via", "10.77.1.11")
        self.say(session, b"after a route changed")
        await_that(lambda: self.state_of_neighbour("port1", "10.77.1.11") == "REACHABLE", "the new gateway in use")
        self.assertEqual(self.number("current_sessions", self.counts()), 1)

    def test_sessions_outlive_links_neighbours_and_routes(self):
        self.check_changes("1")

    def test_sessions_of_two_workers_outlive_links_neighbours_and_routes(self):
        self.check_changes("2")

    def test_pcap_ports_carry_tcp(self):
        self.raise_wires()
        self.serve()
        self.start()
        # The kernel's share comes and goes by the twins; what else it sees of the wire is none of its business.
        run("ip", "netns", "exec", SWITCH, "sysctl", "-qw", "net.ipv4.conf.all.arp_ignore=1")
        self.publish(1, "PCAP", ["port1", "port2"])
        self.give_switch_addresses("hg1", "hg2")
        self.await_ports()
        self.fetch_often()
        self.assertEqual(within(SWITCH, lambda: fetch("10.77.2.11", 8080)), BODY, "a probe of the box itself")
        run("ip", "netns", "exec", CLIENT, "ping", "-c1", "-W2", "10.77.1.100")
        self.assertEqual(self.stop(), 0)

    def test_tap_ports_carry_tcp_and_their_twins_the_kernels_share(self):
        self.start()
        self.publish(1, "TAP", ["tap1", "tap2"])
        for n, namespace in ((1, CLIENT), (2, SERVER)):
            ip(SWITCH, "link", "set", f"tap{n}", "netns", namespace)
            ip(namespace, "link", "set", f"tap{n}", "address", f"02:00:00:00:77:0{n}")
        self.give_ends_addresses("tap1", "tap2")
        self.give_switch_addresses("hg1", "hg2")
        self.serve()
        self.await_ports()
        self.fetch_often()
        self.assertEqual(within(SWITCH, lambda: fetch("10.77.2.11", 8080)), BODY, "a probe of the box itself")
        run("ip", "netns", "exec", CLIENT, "ping", "-c1", "-W2", "10.77.1.5")
        self.assertEqual(self.stop(), 0)
        self.assertNotIn("hg1", ip(SWITCH, "link"))


if __name__ == "__main__":
    if os.geteuid() != 0:
        sys.exit(77)
    unittest.main(argv=sys.argv[:1] + sys.argv[4:], verbosity=2)
