# SPDX-License-Identifier: Apache-2.0
"""What lies below and above the checks of services: neighbours that answer and links that stand; formulas of groups and buddies
of servers, on live traffic."""

import contextlib
import re
import sys

import clients
import network
import servers
import story
from check_case import ADDRESSES, LENGTHS, NAMESPACE, CheckCase
from host import inside, sh, wait_until
from lab_case import LabCase

#: Tells all that 10.10.2.61 has the address given, in answer to a host that nobody has: fifty times a second, until it is ended. The
#: pause is the pace of the sender; nobody waits for it.
REPLIES = """
import socket, sys, time
mac = bytes.fromhex(sys.argv[1].replace(":", ""))
packet = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
packet.bind(("eth0", 0))
reply = bytes.fromhex("0001080006040002") + mac + bytes([10, 10, 2, 61]) + bytes.fromhex("020000000099") + bytes([10, 10, 2, 99])
while True:
    packet.send(bytes.fromhex("ffffffffffff") + mac + bytes.fromhex("0806") + reply)
    time.sleep(0.02)
"""


class Arp(CheckCase):
    CHECKS = {"8080 tcp, health arp": ("8080", "health arp"),
              "5300 udp, health arp": ("5300/protocol udp", "health neighbour"),
              "4444 tcp, health arp": ("4444", "health arp")}
    OBJECTS = ("/c/slb/advhc/health neighbour arp/inter 1",)
    OBJECTS_GONE = ("/c/slb/advhc/health neighbour/del",)

    def test_who_has_lost_its_address_answers_no_more(self):
        for real, address in ADDRESSES.items():
            sh("ip", "-n", NAMESPACE, "addr", "del", f"{address}/{LENGTHS[real]}", "dev", "eth0")
        for word in self.CHECKS:
            self.assertIn("no answer in", self.wait_for(word, "FAILED"))
        for real, address in ADDRESSES.items():
            network.address(NAMESPACE, "eth0", f"{address}/{LENGTHS[real]}")
        for word in self.CHECKS:
            self.wait_for(word, "up")

    def test_a_server_without_cable_answers_no_more(self):
        network.set_link(1, "down")
        self.wait_for("8080 tcp, health arp", "FAILED")
        network.set_link(1, "up")
        self.wait_for("8080 tcp, health arp", "up")

    def test_a_server_with_arp_off_fails_though_the_kernel_knows_it(self):
        def says(state):
            wait_until(lambda: f"health arp, {state}" in self.switch.show("/info/slb/real 61"), f"ARP to be {state}")

        known = ("ip", "-n", network.SWITCH, "neigh", "replace", ADDRESSES[61], "lladdr", self.server_mac(), "dev", "port2")
        self.addCleanup(sh, "ip", "-n", network.SWITCH, "neigh", "del", ADDRESSES[61], "dev", "port2")
        sh(*known, "nud", "permanent")
        self.addCleanup(sh, "ip", "-n", NAMESPACE, "link", "set", "eth0", "arp", "on")
        sh("ip", "-n", NAMESPACE, "link", "set", "eth0", "arp", "off")
        says("FAILED")
        self.assertIn("PERMANENT", sh("ip", "-n", network.SWITCH, "neigh", "show", ADDRESSES[61]).stdout)
        sh("ip", "-n", NAMESPACE, "link", "set", "eth0", "arp", "on")
        says("up")

    def test_who_is_behind_a_gateway_is_no_neighbour(self):
        self.addCleanup(self.switch.change, "/c/l3/route/rem 10.10.77.0 255.255.255.0 10.10.2.11",
                        "/c/slb/virt 8/service 4445/del", "/c/slb/group 79/del", "/c/slb/real 63/del")
        self.switch.change("/c/l3/route/add 10.10.77.0 255.255.255.0 10.10.2.11",
                           "/c/slb/real 63/rip 10.10.77.1/inter 1/retry 1/ena", "/c/slb/group 79/health arp/add 63",
                           "/c/slb/virt 8/service 4445/group 79")
        wait_until(lambda: "not on a connected network" in self.switch.show("/info/slb/real 63"), "the reason to be told")

    def test_what_is_told_to_others_is_no_answer(self):
        """Reports 12: an ARP reply for the server that is none to the switch, sent again and again."""
        sh("ip", "-n", NAMESPACE, "addr", "del", f"{ADDRESSES[61]}/24", "dev", "eth0")
        wait_until(lambda: self.failures() > 0, "ARP to fail")
        failed = self.failures()
        with clients.background(*inside(NAMESPACE, sys.executable, "-c", REPLIES, self.server_mac())):
            wait_until(lambda: self.failures() >= failed + 4, "four more checks to fail")
        network.address(NAMESPACE, "eth0", f"{ADDRESSES[61]}/24")
        self.wait_for("8080 tcp, health arp", "up")

    def failures(self):
        """In a row, of the check that is made each second."""
        return int(re.search(r"5300 udp, health arp.*?in a row: (\d+) failed", self.switch.show("/info/slb/health 61"),
                             re.DOTALL)[1])

    def server_mac(self):
        return sh("ip", "-n", NAMESPACE, "-br", "link", "show", "eth0").stdout.split()[2]


class Link(LabCase):
    PORT = 9000

    def test_the_cable_of_the_port_with_the_servers_number_decides(self):
        """Real server 1 belongs to port 1, which leads to the clients; real server 2 to port 2."""
        self.addCleanup(self.switch.change, f"/c/slb/virt 1/service {self.PORT}/del", "/c/slb/group 9/del")
        self.addCleanup(self.cable, "up")
        self.switch.change("/c/slb/group 9/health link/add 1/add 2", f"/c/slb/virt 1/service {self.PORT}/group 9")
        self.wait_for({1: "up", 2: "up"})
        self.cable("down")
        self.wait_for({1: "up", 2: "FAILED"})
        self.assertIn("link of port 2 is down", self.switch.show("/info/slb/real 2"))
        self.cable("up")
        self.wait_for({1: "up", 2: "up"})

    def cable(self, state):
        """The far end of port 2."""
        sh("ip", "-n", network.LAN, "link", "set", "switch", state)

    def wait_for(self, states):
        wait_until(lambda: self.switch.service_states(str(self.PORT)) == states, f"the links to be {states}")


class Cadence(LabCase):
    def in_a_row(self, real, target):
        """How many checks of a service ("8080 tcp, health http") have failed and passed in a row."""
        screen = self.switch.show(f"/info/slb/health {real}")
        found = re.search(rf"^    {target},.*?in a row: (\d+) failed, (\d+) passed", screen, re.MULTILINE | re.DOTALL)
        self.assertIsNotNone(found, screen)
        return int(found[1]), int(found[2])

    def test_servers_that_cannot_be_reached_fail_as_often_as_others_pass(self):
        """Reports 7: errors that come at once, or only when ARP has given up, are failures like others."""
        http = "8080 tcp, health http"
        self.addCleanup(sh, "ip", "-n", network.SWITCH, "route", "del", "unreachable", network.server_address(2))
        sh("ip", "-n", network.SWITCH, "route", "add", "unreachable", network.server_address(2))
        network.set_link(1, "down")
        for real in (1, 2):
            self.switch.wait_service("http", real, "FAILED")
        before = {real: self.in_a_row(real, http) for real in network.SERVERS}
        wait_until(lambda: self.in_a_row(3, http)[1] >= before[3][1] + 8, "eight more checks of server 3 to pass")
        for real in (1, 2):
            more = self.in_a_row(real, http)[0] - before[real][0]
            self.assertTrue(6 <= more <= 10, f"server {real}: {more} failures")

    def test_a_check_that_passes_lifts_no_other_of_its_server(self):
        """Reports 11: HTTP decides about the groups that it checks, ICMP about others."""
        servers.stop_http(1)
        self.switch.wait_service("http", 1, "FAILED")
        passed = self.in_a_row(1, "5300 udp, health icmp")[1]
        wait_until(lambda: self.in_a_row(1, "5300 udp, health icmp")[1] >= passed + 4, "four more echoes to be answered")
        self.assertEqual(self.switch.service_states("http")[1], "FAILED")
        self.assertEqual(self.switch.service_states("5300")[1], "up")


class Above(LabCase):
    """Formulas and buddies: new sessions go elsewhere or nowhere, those that run go on. By turns: sessions of datagrams that
    other tests have left would decide otherwise."""

    def setUp(self):
        super().setUp()
        self.addCleanup(self.switch.change, "/c/slb/group 1/metric leastconns")
        self.switch.change("/c/slb/group 1/metric roundrobin")

    @contextlib.contextmanager
    def download_goes_on(self, number):
        with story.download_through(number) as download:
            yield
            self.assertEqual(download.ask("go", 60)["sha256"], story.download_sum())

    def test_a_group_whose_formula_is_false_takes_no_new_session(self):
        self.addCleanup(self.switch.change, "/c/slb/group 1/advhlth none")
        self.switch.change("/c/slb/group 1/advhlth (1|2)&3")
        servers.stop_http(2)
        self.switch.wait_service("http", 2, "FAILED")
        self.assert_no_failures(clients.http(20))
        with self.download_goes_on(1):
            servers.stop_http(3)
            self.switch.wait_service("http", 1, "BLOCKED")
            self.assertEqual(clients.dial(80, 5)["outcomes"], {"refused": 5})
        self.assertIn("real server group 1: health formula (1|2)&3 is false", self.switch.log())
        servers.start_http(3)
        self.switch.wait_service("http", 1, "up")
        self.assert_no_failures(clients.http(20))
        self.assertIn("real server group 1: health formula (1|2)&3 is true again", self.switch.log())

    def test_the_backup_group_steps_in_for_a_false_formula(self):
        self.addCleanup(self.switch.change, "/c/slb/group 1/advhlth none/backup none", "/c/slb/group 9/del")
        self.switch.change("/c/slb/group 9/health tcp/add 3", "/c/slb/group 1/advhlth 1&2/backup g9")
        servers.stop_http(2)
        self.switch.wait_service("http", 1, "BLOCKED")
        result = clients.http(20)
        self.assert_no_failures(result)
        self.assertEqual(clients.spread(result), {1: 0, 2: 0, 3: 20})

    def test_a_server_whose_buddy_is_down_serves_only_the_sessions_it_has(self):
        self.addCleanup(self.switch.change, "/c/slb/real 1/buddyhc/rembd 2 2 ftp")
        self.switch.change("/c/slb/real 1/buddyhc/addbd 2 2 ftp")
        self.assertGreater(clients.spread(clients.http(30))[1], 0)
        with self.download_goes_on(1):
            servers.stop_ftp(2)
            self.switch.wait_service("http", 1, "BLOCKED")
            result = clients.http(30)
            self.assert_no_failures(result)
            self.assertEqual(clients.spread(result)[1], 0)
        self.assertIn("its buddy real server 2 port 21 is not up", self.switch.show("/info/slb/health 1"))
        self.switch.kill("headgated")
        self.switch.wait_for_cli()
        self.assertEqual(clients.spread(clients.http(30))[1], 0, "a restart changes nothing")
        servers.start_ftp(2)
        self.switch.wait_service("http", 1, "up")
        wait_until(lambda: clients.spread(clients.http(30))[1] > 0, "server 1 to have new sessions", 10)
        self.assertIn("buddies of real server 10.10.2.11 are up again", self.switch.log())
