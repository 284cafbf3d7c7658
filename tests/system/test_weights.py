# SPDX-License-Identifier: Apache-2.0
"""Weights that servers tell of themselves: new sessions follow what server 1 says, through its agent or by SNMP."""

import clients
import datagram_servers as datagrams
import network
import processes
import stream_servers as servers
from host import sh, wait_until
from lab_case import LabCase

VIP = "10.10.1.78"


class Weights(LabCase):
    """Server 1, checked by what tells its weight, and server 2, under addresses of which nothing else holds sessions."""

    def setUp(self):
        super().setUp()
        for number in (1, 2):
            address = f"10.10.2.5{number}/24"
            network.address(network.SERVERS[number], "eth0", address)
            self.addCleanup(sh, "ip", "-n", network.SERVERS[number], "addr", "del", address, "dev", "eth0")
        self.addCleanup(servers.stop)
        servers.HOME.mkdir(exist_ok=True)
        servers.agent_says("up")
        servers.start_agent()
        self.addCleanup(self.switch.change, "/c/slb/virt 7/del", "/c/slb/group 51/del",
                        "/c/slb/real 51/del", "/c/slb/real 52/del", "/c/slb/advhc/health load/del",
                        "/c/slb/advhc/snmphc 1/del")
        self.switch.change(f"/c/slb/advhc/snmphc 1/oid {datagrams.NUMBER_OID}/comm {datagrams.COMMUNITY}/weight ena",
                           f"/c/slb/advhc/health load agent/dport {servers.AGENT_PORT}/inter 1",
                           "/c/slb/real 51/rip 10.10.2.51/inter 1/retry 2/restr 1/health load/ena",
                           "/c/slb/real 52/rip 10.10.2.52/inter 1/retry 2/restr 1/ena",
                           "/c/slb/group 51/metric roundrobin/health tcp/add 51/add 52",
                           f"/c/slb/virt 7/vip {VIP}/ena", "/c/slb/virt 7/service http/group 51/rport 8080")
        for real in (51, 52):
            self.switch.wait_service("http", real, "up", virt=7)

    def split(self, count):
        result = clients.http(count, threads=1, vip=VIP)
        self.assert_no_failures(result)
        return clients.spread(result)[1]

    def test_new_sessions_follow_what_the_agent_says(self):
        self.assertAlmostEqual(self.split(300), 150, delta=2)
        for says, share in (("50%", 100), ("up 200%", 200), ("25%", 60)):
            servers.agent_says(says)
            wait_until(lambda: abs(self.split(30) - share / 10) <= 1, f"a share of {share} in 300", 30)
            self.assertAlmostEqual(self.split(300), share, delta=3, msg=says)
        servers.agent_says("0%")
        self.switch.wait_service("http", 51, "degraded", virt=7)
        self.assertEqual(self.split(30), 0)

    def test_new_sessions_follow_the_weight_that_snmp_tells(self):
        self.addCleanup(processes.stop, "snmpd")
        datagrams.start_snmp(3)
        self.switch.change("/c/slb/real 51/health snmp1")
        wait_until(lambda: abs(self.split(40) - 30) <= 1, "a share of 30 in 40", 30)
        self.assertAlmostEqual(self.split(300), 225, delta=3)
        self.assertIn("weight 300 %", self.switch.show("/info/slb/health 51"))
        processes.stop("snmpd")
        datagrams.start_snmp(49)
        self.switch.wait_service("http", 51, "FAILED", virt=7)
        self.assertIn("value 49 is no weight from 1 to 48", self.switch.show("/info/slb/health 51"))
