# SPDX-License-Identifier: Apache-2.0
"""Health checks over UDP against bind, net-snmp, freeradius, tftpd, chrony and kamailio, over both families."""

import datagram_servers as servers
import processes
from check_case import ADDRESSES, CheckCase


class Datagrams(CheckCase):
    CHECKS = {
        "dns": ("53", f'health dns/content "{servers.DOMAIN}"'),
        "tftp": ("69", f'health tftp/content "{servers.SMALL_FILE}"'),
        "ntp": ("123", "health ntp"),
        "radius": ("1812/protocol udp", f'health radius/content "{servers.USER}:{servers.PASSWORD}"'),
        "radiusacs": ("1813/protocol udp", f'health radiusacs/content "{servers.USER}:{servers.PASSWORD}"'),
        "sipoptions": ("5060/protocol udp", "health sipoptions"),
        "snmp": ("161/protocol udp", "health snmp1"),
        "udp": ("5353/protocol udp", "health quiet"),
    }
    OBJECTS = (f"/c/slb/secret {servers.SECRET}",
               f'/c/slb/advhc/snmphc 1/oid {servers.NAME_OID}/rcvcnt "{servers.NAME}"',
               f"/c/slb/advhc/snmphc 2/oid {servers.NUMBER_OID}/rcvcnt \"{servers.NUMBER + 1}\"",
               "/c/slb/advhc/health quiet udp/dport 53/reply dis")
    OBJECTS_GONE = ("/c/slb/secret none", "/c/slb/advhc/snmphc 1/del", "/c/slb/advhc/snmphc 2/del",
                    "/c/slb/advhc/health quiet/del")

    def serve(self):
        self.addCleanup(servers.stop)
        servers.start((*servers.ADDRESSES, *ADDRESSES.values()))

    def fails(self, word, settings, *wanted):
        self.set(word, settings)
        reason = self.wait_for(word, "FAILED")
        for text in wanted:
            self.assertIn(text, reason)

    def test_a_server_that_answers_otherwise_fails_with_its_answer(self):
        self.fails("dns", f'content "absent.{servers.DOMAIN}"', "dns answered NXDOMAIN, wanted NOERROR")
        self.fails("tftp", 'content "absent"', "error 1")
        self.fails("radius", f'content "{servers.USER}:wrong"', "Access-Reject")
        self.fails("snmp", "health snmp2", f"value {servers.NUMBER}, wanted {servers.NUMBER + 1}")
        self.set("dns", f'content "{servers.DOMAIN}"')
        self.wait_for("dns", "up")

    def test_servers_that_are_ended_fail_and_come_back(self):
        """How many refusals a kernel sends in a second is limited: some ports are just silent."""
        servers.stop()
        for word in set(self.CHECKS) - {"udp"}:
            self.assertRegex(self.wait_for(word, "FAILED"), "refused|no answer in 4.0 s", word)
        self.serve()
        for word in self.CHECKS:
            self.wait_for(word, "up")

    def test_a_port_that_is_asked_for_nothing_fails_by_its_refusal_alone(self):
        self.assertIn("not refused", self.wait_for("udp", "up"))
        processes.stop("named")
        self.assertIn("refused", self.wait_for("udp", "FAILED"))

    def test_a_clock_that_is_not_synchronised_fails(self):
        processes.stop("chronyd")
        servers.start_ntp(synchronised=False)
        self.assertIn("not synchronised", self.wait_for("ntp", "FAILED"))

    def test_a_phone_switch_that_takes_no_calls_fails(self):
        processes.stop("kamailio")
        servers.start_sip((*servers.ADDRESSES, *ADDRESSES.values()), 503, "Maintenance")
        self.assertIn("503", self.wait_for("sipoptions", "FAILED"))
