# SPDX-License-Identifier: Apache-2.0
"""IPv6 beside IPv4, and UDP on both, through the real programs."""

import re

import clients
import network
import servers
import story
from host import inside, sh, wait_until
from lab_case import LabCase

VIPS = {1: network.VIP, 6: network.VIP6}


class Ipv6(LabCase):
    def test_tcp_sessions_reach_all_servers(self):
        result = clients.http(90, 6, vip=network.VIP6)
        self.assert_no_failures(result)
        self.assertTrue(all(clients.spread(result).values()), clients.spread(result))

    def test_a_large_download_is_whole(self):
        with clients.Client("download", network.VIP6, "/download") as download:
            download.hear()
            self.assertEqual(download.ask("go", 60)["sha256"], story.download_sum())

    def test_a_failed_server_is_left_out_and_comes_back(self):
        servers.stop_http(1)
        self.switch.wait_service("http", 11, "FAILED", virt=6)
        result = clients.http(30, 6, vip=network.VIP6)
        self.assert_no_failures(result)
        self.assertEqual(clients.spread(result)[1], 0)
        servers.start_http(1)
        self.switch.wait_service("http", 11, "up", virt=6)

    def test_the_kernel_answers_echo_and_neighbour_solicitations_for_the_vip(self):
        sh("ip", "-6", "-n", network.CLIENT, "neigh", "flush", "dev", "eth0")
        done = sh(*inside(network.CLIENT, "ping", "-6", "-c", "3", "-i", "0.2", "-W", "1", network.VIP6), check=False)
        self.assertEqual(done.returncode, 0, done.stdout)

    def test_probes_never_come_from_a_vip(self):
        """The kernel would choose it by RFC 6724, were it not deprecated; answers to it are the dataplane's."""
        route = sh("ip", "-6", "-n", network.SWITCH, "route", "get", "2001:db8:1::77").stdout
        self.assertIn("src 2001:db8:1::5", route)

    def test_a_new_vip_is_announced_at_apply(self):
        new = "2001:db8:1::77"
        port1 = sh("ip", "-n", network.SWITCH, "-br", "link", "show", "port1").stdout.split()[2]
        sh("ip", "-6", "-n", network.CLIENT, "neigh", "replace", new, "lladdr", "02:00:00:00:00:99", "nud", "stale",
           "dev", "eth0")
        self.switch.change(f"/c/slb/virt 7/vip {new}/ena", "/c/slb/virt 7/service http/group 11/rport 8080")
        self.addCleanup(self.switch.change, "/c/slb/virt 7/del")
        known = lambda: sh("ip", "-6", "-n", network.CLIENT, "neigh", "show", new).stdout
        wait_until(lambda: f"lladdr {port1}" in known(), "the client to have learnt the new VIP's address", 3, 0.05)
        self.assert_no_failures(clients.http(10, vip=new))

    def test_sessions_are_listed_with_their_addresses(self):
        with clients.Client("hold", network.VIP6, 1, 5) as held:
            held.hear()
            listed = self.switch.show("/info/slb/sess/cip 2001:db8:1::10")
        self.assertRegex(listed, r"(?m)^1,01: 2001:db8:1::10 \d+, 2001:db8:1::100 http -> 2001:db8:2::1[123] 8080 age ")
        self.assertNotIn("10.10.1.10", listed)


class Udp(LabCase):
    def test_requests_are_answered_by_all_servers_in_turn(self):
        for vip in VIPS.values():
            with self.subTest(vip=vip):
                result = clients.udp(30, vip)
                self.assert_no_failures(result)
                self.assertTrue(all(9 <= n <= 11 for n in clients.spread(result).values()), clients.spread(result))

    def test_a_session_stays_with_its_server(self):
        for vip in VIPS.values():
            with self.subTest(vip=vip), clients.Client("udp-hold", vip, servers.UDP_PORT, 5) as session:
                first = session.hear()["answer"]
                self.assertEqual([session.ask("ask")["answer"] for _ in range(20)], [first] * 20)

    def test_a_session_moves_at_once_when_its_server_has_failed(self):
        for virt, vip in VIPS.items():
            with self.subTest(vip=vip), clients.Client("udp-hold", vip, servers.UDP_PORT, 5) as session:
                first = session.hear()["answer"]
                number = int(re.fullmatch(r"server-(\d)", first)[1])
                self.addCleanup(network.set_link, number, "up")
                network.set_link(number, "down")
                self.switch.wait_service(str(servers.UDP_PORT), number + (10 if virt == 6 else 0), "FAILED", virt=virt)
                answers = [session.ask("ask")["answer"] for _ in range(5)]
                self.assertEqual(answers, answers[:1] * 5)
                self.assertRegex(answers[0], r"^server-\d$")
                self.assertNotEqual(answers[0], first)
                network.set_link(number, "up")
                self.switch.wait_all_up()

    def test_udp_sessions_are_told_from_tcp(self):
        with clients.Client("udp-hold", network.VIP, servers.UDP_PORT, 5) as session:
            session.hear()
            listed = self.switch.show(f"/info/slb/sess/dport {servers.UDP_PORT}")
        self.assertRegex(listed, r"(?m)^1,01: 10\.10\.1\.10 \d+, 10\.10\.1\.100 5300 -> 10\.10\.2\.1[123] 5300 udp age ")
