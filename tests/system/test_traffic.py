# SPDX-License-Identifier: Apache-2.0
"""Sessions on live traffic: the choice of servers, half-closed sessions, resets, announcements of a VIP."""

import hashlib
import re
import time

import clients
import network
import servers
from host import ROOT, inside, sh, wait_until
from lab_case import LabCase


class Spread(LabCase):
    def test_roundrobin_gives_each_server_the_same_number_of_log_ins(self):
        result = clients.ftp(30)
        self.assert_no_failures(result)
        self.assertTrue(all(9 <= n <= 11 for n in clients.spread(result).values()), clients.spread(result))

    def test_leastconns_gives_a_new_session_to_the_server_with_the_fewest(self):
        def held_by_server():
            with clients.Client("hold", network.VIP, 30, 5) as held:
                answers = held.hear()["answers"]
            return {n: answers.count(f"server-{n}") for n in network.SERVERS}

        # A server that was down for an earlier test comes back to its share within 30 s.
        wait_until(lambda: held_by_server() == {1: 10, 2: 10, 3: 10}, "30 sessions that stay open to be spread evenly", 45)

    def test_every_request_is_in_exactly_one_servers_log(self):
        before = sum(servers.requests_logged(n) for n in network.SERVERS)
        self.assert_no_failures(clients.http(90, 6))
        self.assertEqual(sum(servers.requests_logged(n) for n in network.SERVERS) - before, 90)


class Sessions(LabCase):
    PORT = 9000

    def test_a_download_goes_on_after_the_client_closed_its_direction(self):
        self.switch.change("/c/slb/group 9/health icmp/add 1", f"/c/slb/virt 1/service {self.PORT}/group 9")
        self.addCleanup(self.switch.change, f"/c/slb/virt 1/service {self.PORT}/del", "/c/slb/group 9/del")
        with clients.Client("serve-half-close", self.PORT, ROOT / "download", 4, namespace=network.SERVERS[1]) as server:
            server.hear()
            wait_until(lambda: self.switch.service_states(str(self.PORT)).get(1) == "up", "the service to be up", 10)
            seen = clients.once("half-close", network.VIP, self.PORT)
        expected = hashlib.sha256((ROOT / "download").read_bytes()).hexdigest()
        self.assertEqual(seen, {"bytes": servers.DOWNLOAD_BYTES, "sha256": expected, "ended": "closed"})

    def test_a_connection_to_a_service_without_servers_is_reset_within_milliseconds(self):
        for number in network.SERVERS:
            servers.stop_http(number)
        wait_until(lambda: set(self.switch.service_states("http").values()) == {"FAILED"}, "http to be FAILED")
        before = self.switch.counter("No available real server")
        result = clients.dial(80, 10)
        self.assertEqual(result["outcomes"], {"refused": 10})
        self.assertLess(result["longest_ms"], 50)
        self.assertEqual(self.switch.counter("No available real server") - before, 10)

    def test_a_port_that_is_no_service_is_counted(self):
        before = self.switch.counter("Incorrect Vports")
        clients.dial(4444, 3, 0.3)
        self.assertGreaterEqual(self.switch.counter("Incorrect Vports") - before, 3)


class Announcement(LabCase):
    NEW = "10.10.1.77"

    def neighbour(self):
        text = sh("ip", "-n", network.CLIENT, "neigh", "show", self.NEW).stdout
        found = re.search(r"lladdr (\S+)", text)
        return found[1] if found else None

    def test_a_new_vip_is_announced_at_apply(self):
        port1 = sh("ip", "-n", network.SWITCH, "-br", "link", "show", "port1").stdout.split()[2]
        sh("ip", "-n", network.CLIENT, "neigh", "replace", self.NEW, "lladdr", "02:00:00:00:00:99", "nud", "stale", "dev", "eth0")
        self.switch.change(f"/c/slb/virt 7/vip {self.NEW}/ena", "/c/slb/virt 7/service http/group 1/rport 8080")
        try:
            wait_until(lambda: self.neighbour() == port1, "the client to have learnt the new VIP's address", 3, 0.05)
            result = clients.http(10, vip=self.NEW)
            self.assert_no_failures(result)
        finally:
            self.switch.change("/c/slb/virt 7/del")

    def test_the_kernel_answers_echo_to_the_vip(self):
        done = sh(*inside(network.CLIENT, "ping", "-c", "3", "-i", "0.2", "-W", "1", network.VIP), check=False)
        self.assertEqual(done.returncode, 0, done.stdout)

    def test_arp_for_a_removed_vip_is_not_answered(self):
        self.switch.change(f"/c/slb/virt 7/vip {self.NEW}/ena", "/c/slb/virt 7/service http/group 1/rport 8080")
        self.switch.change("/c/slb/virt 7/del")
        sh("ip", "-n", network.CLIENT, "neigh", "flush", "all")
        began = time.monotonic()
        done = sh(*inside(network.CLIENT, "ping", "-c", "1", "-W", "1", self.NEW), check=False)
        self.assertNotEqual(done.returncode, 0)
        self.assertLess(time.monotonic() - began, 5)
        self.assertIsNone(self.neighbour())
