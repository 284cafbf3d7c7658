# SPDX-License-Identifier: Apache-2.0
"""What keeps sessions off a server, or on it: limits with backups, and clients that stay."""

import clients
import network
import servers
from host import sh, wait_until
from lab_case import LabCase

NEW_VIP = "10.10.1.77"


class Case(LabCase):
    def add_address(self, namespace, address):
        network.address(namespace, "eth0", f"{address}/24")
        self.addCleanup(sh, "ip", "-n", namespace, "addr", "del", f"{address}/24", "dev", "eth0")


class Backup(Case):
    """Server 1 with room for two sessions and server 2 behind it, under addresses of which nothing else holds sessions."""

    def setUp(self):
        super().setUp()
        for number in (1, 2):
            self.add_address(network.SERVERS[number], f"10.10.2.2{number}")
        self.switch.change("/c/slb/real 51/rip 10.10.2.21/inter 1/retry 2/restr 2/maxcon 2/overflow ena/backup 52/ena",
                           "/c/slb/real 52/rip 10.10.2.22/inter 1/retry 2/restr 2/ena",
                           "/c/slb/group 51/health tcp/add 51", f"/c/slb/virt 7/vip {NEW_VIP}/ena",
                           "/c/slb/virt 7/service http/group 51/rport 8080")
        self.addCleanup(self.switch.change, "/c/slb/virt 7/del", "/c/slb/group 51/del", "/c/slb/real 51/del",
                        "/c/slb/real 52/del")
        self.wait_state("up")

    def wait_state(self, state):
        self.switch.wait_service("http", 51, state, virt=7)

    def open(self, count):
        """Sessions that stay, and who serves them."""
        client = clients.Client("hold", NEW_VIP, count, 5)
        self.addCleanup(client.close)
        return client, client.hear()["answers"]

    def serves_next(self):
        with clients.Client("hold", NEW_VIP, 1, 5) as client:
            return client.hear()["answers"]

    def test_a_backup_takes_what_is_more_than_maxcon_and_gives_back(self):
        activations = self.switch.counter("Overflow server activations")
        first, answers = self.open(2)
        self.assertEqual(answers, ["server-1"] * 2)
        self.wait_state("OVERFLOW")
        second, answers = self.open(3)
        self.assertEqual(answers, ["server-2"] * 3)
        self.assertEqual(self.switch.counter("Overflow server activations"), activations + 1)
        first.close()
        self.wait_state("up")
        self.assertEqual(self.serves_next(), ["server-1"])
        self.assertEqual(second.ask("ask")["answers"], ["server-2"] * 3, "what the backup has it keeps")

    def test_without_overflow_what_is_more_than_maxcon_is_refused(self):
        self.switch.change("/c/slb/real 51/overflow dis")
        self.assertEqual(self.open(2)[1], ["server-1"] * 2)
        self.assertEqual(clients.dial(80, 3, vip=NEW_VIP)["outcomes"], {"refused": 3})

    def test_a_backup_stands_in_for_a_failed_server_until_it_is_back(self):
        activations = self.switch.counter("Backup server activations")
        servers.stop_http(1)
        self.wait_state("FAILED")
        self.assertEqual(self.open(3)[1], ["server-2"] * 3)
        self.assertEqual(self.switch.counter("Backup server activations"), activations + 1)
        servers.start_http(1)
        self.wait_state("up")
        self.assertEqual(self.open(2)[1], ["server-1"] * 2)


class Persistence(Case):
    SECOND = "10.10.1.11"  # another address of the client

    def setUp(self):
        super().setUp()
        self.switch.change(f"/c/slb/virt 7/vip {NEW_VIP}/ena", "/c/slb/virt 7/service http/group 2/rport 8080",
                           "/c/slb/virt 7/service ftp/group 2")
        self.addCleanup(self.switch.change, "/c/slb/virt 7/del")
        for service in ("http", "ftp"):
            wait_until(lambda s=service: set(self.switch.service_states(s, 7).values()) == {"up"}, f"{service} to be up")

    def come_from(self, address):
        self.add_address(network.CLIENT, address)
        sh("ip", "-n", network.CLIENT, "route", "add", NEW_VIP, "dev", "eth0", "src", address)
        self.addCleanup(sh, "ip", "-n", network.CLIENT, "route", "del", NEW_VIP)

    def who_serves(self):
        """The servers that a client meets in two services, one request after another."""
        served = set()
        for result in (clients.http(9, 1, NEW_VIP), clients.ftp(9, 1, NEW_VIP)):
            self.assert_no_failures(result)
            served |= set(result["servers"])
        return served

    def test_a_client_keeps_its_server_over_two_services(self):
        self.assertEqual(self.who_serves(), {"server-1", "server-2", "server-3"}, "nothing binds a client yet")
        self.switch.change("/c/slb/virt 7/service http/pbind clientip", "/c/slb/virt 7/service ftp/pbind clientip")
        first = self.who_serves()
        self.assertEqual(len(first), 1, first)
        self.come_from(self.SECOND)
        second = self.who_serves()
        self.assertEqual(len(second), 1, second)
        self.assertNotEqual(first, second, "the turn was another server's")
