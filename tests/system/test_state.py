# SPDX-License-Identifier: Apache-2.0
"""What the switch says over HTTP of its virtual servers."""

import network
from host import inside, sh, wait_until
from lab_case import LabCase

PORT = 8088


class State(LabCase):
    def setUp(self):
        super().setUp()
        self.addCleanup(self.switch.change, "/c/sys/state/dis/addr 127.0.0.1")
        self.switch.change("/c/sys/state/ena")

    def ask(self, path, address="127.0.0.1"):
        """Status and text, asked on the switch itself; status 0 when nobody answers."""
        said = sh(*inside(network.SWITCH, "curl", "-s", "-m", "5", "-w", "%{http_code}", f"http://{address}:{PORT}{path}"),
                  check=False)
        return int(said.stdout[-3:]), said.stdout[:-3].strip()

    def wait_for(self, status, text):
        wait_until(lambda: self.ask("/virt/1/available") == (status, text), f"{status} {text}", 20)

    def test_a_virtual_server_serves_as_long_as_one_of_its_servers_does(self):
        self.wait_for(200, "available")
        for number in network.SERVERS:
            network.set_link(number, "down")
        self.wait_for(503, "unavailable")
        network.set_link(1, "up")
        self.wait_for(200, "available")

    def test_without_a_dataplane_nothing_serves(self):
        self.wait_for(200, "available")
        self.addCleanup(self.switch.resume, "headgate-dataplane")
        self.switch.pause("headgate-dataplane")
        self.switch.kill("headgate-dataplane")
        self.wait_for(503, "unavailable")
        self.switch.resume("headgate-dataplane")
        self.wait_for(200, "available")

    def test_it_is_asked_where_the_configuration_says(self):
        self.assertEqual(self.ask("/virt/77/available"), (404, "there is no virtual server 77"))
        self.switch.change("/c/sys/state/addr 10.10.2.5")
        wait_until(lambda: self.ask("/virt/1/available", "10.10.2.5") == (200, "available"), "the new address to answer")
        self.assertEqual(self.ask("/virt/1/available")[0], 0)
        self.switch.change("/c/sys/state/dis")
        wait_until(lambda: self.ask("/virt/1/available", "10.10.2.5")[0] == 0, "nobody to answer")
