# SPDX-License-Identifier: Apache-2.0
"""What packets meet on their way: narrow links, hops that run out, and their own size."""

import clients
import network
import servers
import story
from host import ROOT, inside, sh
from lab_case import LabCase

VIPS = {1: network.VIP, 6: network.VIP6}


class NarrowLinks(LabCase):
    """Large transfers of packets that must not be cut: who sends too large ones has to learn of it."""

    PORT = 9001

    def setUp(self):
        super().setUp()
        self.forget()
        self.addCleanup(self.forget)

    def forget(self):
        for name in (network.CLIENT, *network.SERVERS.values()):
            network.forget_path_mtus(name)

    def add_far(self, name, router, subnet, gateways):
        self.addCleanup(network.remove, [name])
        network.add_far(name, router, subnet)
        routes = [f"10.10.{subnet}.0 255.255.255.0 {gateways[0]}", f"2001:db8:{subnet}:: 64 {gateways[1]}"]
        self.switch.change(*[f"/c/l3/route/add {route}" for route in routes])
        self.addCleanup(self.switch.change, *[f"/c/l3/route/rem {route}" for route in routes])

    def assert_only_its_server_learns(self, vip, client, namespace):
        with clients.Client("download", vip, "/download", namespace=namespace) as download:
            server = download.hear()["server"]
            self.assertEqual(download.ask("go", 60), {"event": "done", "sha256": story.download_sum()})
        learnt = {f"server-{n}": network.path_mtu(name, client) for n, name in network.SERVERS.items()}
        self.assertEqual(learnt, {name: network.NARROW if name == server else None for name in learnt})

    def test_the_very_server_learns_of_a_narrow_link_behind_a_router_of_the_client(self):
        self.add_far(network.FAR_CLIENT, network.CLIENT, 3, ("10.10.1.10", "2001:db8:1::10"))
        for vip, client in ((network.VIP, "10.10.3.10"), (network.VIP6, "2001:db8:3::10")):
            with self.subTest(vip=vip):
                self.assert_only_its_server_learns(vip, client, network.FAR_CLIENT)

    def test_the_very_server_learns_of_a_narrow_port_of_the_switch(self):
        self.addCleanup(network.set_mtu, network.SWITCH, "port1", 1500)
        network.set_mtu(network.SWITCH, "port1", network.NARROW)
        for vip, client in ((network.VIP, "10.10.1.10"), (network.VIP6, "2001:db8:1::10")):
            with self.subTest(vip=vip):
                self.assert_only_its_server_learns(vip, client, network.CLIENT)

    def test_the_client_learns_of_a_narrow_link_before_its_server(self):
        self.add_far(network.FAR_SERVER, network.SERVERS[1], 4,
                     (network.server_address(1), network.server_address6(1)))
        self.switch.change(*[line for virt, rip in ((1, "10.10.4.10"), (6, "2001:db8:4::10")) for line in (
            f"/c/slb/real 4{virt}/rip {rip}/inter 1/retry 2/restr 2/ena",
            f"/c/slb/group 4{virt}/health icmp/add 4{virt}",
            f"/c/slb/virt {virt}/service {self.PORT}/group 4{virt}")])
        self.addCleanup(self.switch.change, *[line for virt in VIPS for line in (
            f"/c/slb/virt {virt}/service {self.PORT}/del", f"/c/slb/group 4{virt}/del", f"/c/slb/real 4{virt}/del")])
        with clients.Client("serve-upload", self.PORT, namespace=network.FAR_SERVER) as server:
            server.hear()
            for virt, vip in VIPS.items():
                with self.subTest(vip=vip):
                    self.switch.wait_service(str(self.PORT), int(f"4{virt}"), "up", virt=virt)
                    self.assertIsNone(network.path_mtu(network.CLIENT, vip))
                    self.assertEqual(clients.once("upload", vip, self.PORT, ROOT / "download"), {"sha256": story.download_sum()})
                    self.assertEqual(network.path_mtu(network.CLIENT, vip), network.NARROW)


class Hops(LabCase):
    TIME_EXCEEDED = {network.VIP: 11, network.VIP6: 3}

    def test_a_packet_whose_hops_run_out_at_the_switch_is_answered_by_the_vip(self):
        for vip, icmp_type in self.TIME_EXCEEDED.items():
            for kind, port in (("udp", servers.UDP_PORT), ("tcp", 80)):
                with self.subTest(vip=vip, kind=kind):
                    before = self.switch.counter("Time to live ran out")
                    self.assertEqual(clients.once("one-hop", kind, vip, port), {"type": icmp_type, "code": 0, "sender": vip})
                    self.assertGreater(self.switch.counter("Time to live ran out"), before)


class Fragments(LabCase):
    def test_an_echo_larger_than_a_packet_is_answered(self):
        for vip in VIPS.values():
            with self.subTest(vip=vip):
                said = sh(*inside(network.CLIENT, "ping", "-c3", "-i0.2", "-W2", "-s4000", vip)).stdout
                self.assertIn("3 received", said)

    def test_datagrams_larger_than_a_packet_are_echoed_whole(self):
        for vip in VIPS.values():
            with self.subTest(vip=vip):
                result = clients.udp(60, vip, size=4000)
                self.assert_no_failures(result)
                self.assertTrue(all(19 <= n <= 21 for n in clients.spread(result).values()), clients.spread(result))
