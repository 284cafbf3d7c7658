# SPDX-License-Identifier: Apache-2.0
"""Ports that a DPDK driver owns: net_tap, each bridged to the wire, with the kernel behind a twin."""

from pathlib import Path

import clients
import lab
import network
from host import inside, sh, wait_until
from lab_case import BUILD, NoLabCase

TAPS = ("tap1", "tap2")


class TapPorts(NoLabCase):
    def setUp(self):
        super().setUp()
        context = lab.running(BUILD, configured=False)
        self.switch = context.__enter__()
        self.addCleanup(context.__exit__, None, None, None)
        if Path("/proc/sys/net/bridge").exists():  # else the switch's guard would see what only passes on the wire
            for family in ("iptables", "ip6tables"):
                network.set_sysctl(network.SWITCH, f"net.bridge.bridge-nf-call-{family}", 0)
        self.switch.configure(driver="tap", devices=TAPS)
        for number, tap in enumerate(TAPS, start=1):
            wait_until(lambda tap=tap: network.exists(network.SWITCH, tap), f"the dataplane to make {tap}", 20)
            # The kernel's end shows the port's own address, which a bridge would take for one of its own.
            sh("ip", "-n", network.SWITCH, "link", "set", tap, "address", f"02:00:00:00:01:0{number}")
            network.add_bridge(network.SWITCH, f"wire{number}", [f"port{number}", tap])
            sh("ip", "-n", network.SWITCH, "link", "set", f"wire{number}", "arp", "off")  # it is a wire, no interface
        self.switch.wait_all_up(40)

    def test_sessions_are_switched_and_the_rest_reaches_the_kernel(self):
        result = clients.http(100, 4)
        self.assertEqual(result["failures"], [])
        self.assertEqual(set(clients.spread(result)), {1, 2, 3}, "each takes its part, one that starts slowly a small one")
        result = clients.ftp(30)
        self.assertEqual(result["failures"], [])
        self.assertTrue(all(9 <= n <= 11 for n in clients.spread(result).values()), clients.spread(result))
        for address in (network.VIP, "10.10.1.5"):
            sh(*inside(network.CLIENT, "ping", "-c", "2", "-i", "0.2", "-W", "1", address))
