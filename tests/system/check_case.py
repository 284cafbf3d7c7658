# SPDX-License-Identifier: Apache-2.0
"""What tests of health checks against real servers share: real servers 61 and 62 are server 1 of the lab by addresses of its
own, one of each family; virtual servers 8 and 9 offer what is checked."""

import re

import network
from host import sh, wait_until
from lab_case import LabCase

NAMESPACE = network.SERVERS[1]
ADDRESSES = {61: "10.10.2.61", 62: "2001:db8:2::61"}
LENGTHS = {61: 24, 62: 64}
FIRST_GROUP = 61


class CheckCase(LabCase):
    #: By how the lines of screens about it end before its state ("dns", "8443 tcp, health https"): its service's port and
    #: settings, and those of the groups that it has.
    CHECKS = {}
    #: Other lines of the configuration, and those that take them away.
    OBJECTS = ()
    OBJECTS_GONE = ()

    def serve(self):
        """Starts what is checked."""

    def setUp(self):
        super().setUp()
        for real, address in ADDRESSES.items():
            prefix = f"{address}/{LENGTHS[real]}"
            network.address(NAMESPACE, "eth0", prefix)
            self.addCleanup(sh, "ip", "-n", NAMESPACE, "addr", "del", prefix, "dev", "eth0")
        self.serve()
        self.addCleanup(self.switch.change, "/c/slb/virt 8/del", "/c/slb/virt 9/del",
                        *[f"/c/slb/group {group}/del" for word in self.CHECKS for group in self.groups(word)],
                        "/c/slb/real 61/del", "/c/slb/real 62/del", *self.OBJECTS_GONE)
        self.switch.change(*self.lines())
        for word in self.CHECKS:
            self.wait_for(word, "up")

    def groups(self, word):
        """Of both families."""
        first = FIRST_GROUP + 2 * list(self.CHECKS).index(word)
        return first, first + 1

    def lines(self):
        yield from self.OBJECTS
        for real, address in ADDRESSES.items():
            yield f"/c/slb/real {real}/rip {address}/inter 4/retry 1/restr 1/ena"
        yield from ("/c/slb/virt 8/vip 10.10.1.108/ena", "/c/slb/virt 9/vip 2001:db8:1::108/ena")
        for word, (service, settings) in self.CHECKS.items():
            for group, real, virt in zip(self.groups(word), ADDRESSES, (8, 9)):
                yield f"/c/slb/group {group}/{settings}/add {real}"
                yield f"/c/slb/virt {virt}/service {service}/group {group}"

    def set(self, word, settings):
        """Changes the groups of a check."""
        self.switch.change(*[f"/c/slb/group {group}/{settings}" for group in self.groups(word)])

    def wait_for(self, word, state):
        """One check of both families; what the screens say of it."""
        def said():
            screens = [self.switch.show(f"/info/slb/real {real}") for real in ADDRESSES]
            lines = [[line for line in screen.splitlines() if re.search(rf"\b{word}, {state}\b", line)]
                     for screen in screens]
            return [line for of_real in lines for line in of_real] if all(lines) else []
        wait_until(said, f"{word} of both families to be {state}", 20)
        return "\n".join(said())
