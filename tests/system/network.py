# SPDX-License-Identifier: Apache-2.0
"""The lab's network: namespaces joined by veth pairs.

    hg-client ---- port1 [hg-switch] port2 ---- bridge [hg-lan] ---- hg-s1, hg-s2, hg-s3
    10.10.1.10     .1.5          .2.5                               10.10.2.11, .12, .13
    2001:db8:1::10 ::5           2001:db8:2::5                      2001:db8:2::11, ::12, ::13
"""

from pathlib import Path

import processes
from host import NETNS, inside, sh

CLIENT, SWITCH, LAN = "hg-client", "hg-switch", "hg-lan"
SERVERS = {1: "hg-s1", 2: "hg-s2", 3: "hg-s3"}
ALL = [CLIENT, SWITCH, LAN, *SERVERS.values()]
VIP, VIP6 = "10.10.1.100", "2001:db8:1::100"


def server_address(number):
    return f"10.10.2.{10 + number}"


def server_address6(number):
    return f"2001:db8:2::{10 + number}"


def set_sysctl(namespace, key, value):
    sh(*inside(namespace, "sysctl", "-qw", f"{key}={value}"))


def add_namespace(name):
    sh("ip", "netns", "add", name)
    sh("ip", "-n", name, "link", "set", "lo", "up")
    for key in ("accept_ra", "autoconf", "accept_dad", "router_solicitations"):  # addresses are those given, at once
        set_sysctl(name, f"net.ipv6.conf.default.{key}", 0)


def offloads_off(namespace, device):
    """An AF_XDP peer never completes a checksum and never splits a large segment: the sender must."""
    sh(*inside(namespace, "ethtool", "-K", device, "rx", "off", "tx", "off", "tso", "off", "gso", "off", "gro", "off"))


def join(left, right, mtu=1500):
    """A veth pair; each end is (namespace, device)."""
    sh("ip", "link", "add", "name", left[1], "netns", left[0], "mtu", mtu, "type", "veth",
       "peer", "name", right[1], "netns", right[0], "mtu", mtu)
    for namespace, device in (left, right):
        offloads_off(namespace, device)
        sh("ip", "-n", namespace, "link", "set", device, "up")


def address(namespace, device, prefix, gateway=None):
    """An address of either family with its prefix length."""
    sh("ip", "-n", namespace, "addr", "add", prefix, "dev", device)
    if gateway:
        family = "-6" if ":" in gateway else "-4"
        sh("ip", family, "-n", namespace, "route", "add", "default", "via", gateway)


def add_bridge(namespace, name, ports):
    """A bridge over devices that are already in the namespace."""
    sh("ip", "-n", namespace, "link", "add", name, "type", "bridge")
    for port in ports:
        sh("ip", "-n", namespace, "link", "set", port, "master", name, "up")
    sh("ip", "-n", namespace, "link", "set", name, "up")


def exists(namespace, device):
    return sh("ip", "-n", namespace, "link", "show", device, check=False).returncode == 0


def set_link(number, state):
    """Pulls the cable of a server, or plugs it in again: "down", "up"."""
    sh("ip", "-n", LAN, "link", "set", f"s{number}", state)


def build():
    """Everything but the switch's own addresses, which headgated sets from its configuration."""
    for name in ALL:
        add_namespace(name)
    join((CLIENT, "eth0"), (SWITCH, "port1"))
    join((LAN, "switch"), (SWITCH, "port2"))
    address(CLIENT, "eth0", "10.10.1.10/24", "10.10.1.5")
    address(CLIENT, "eth0", "2001:db8:1::10/64", "2001:db8:1::5")
    for number, name in SERVERS.items():
        join((name, "eth0"), (LAN, f"s{number}"))
        address(name, "eth0", f"{server_address(number)}/24", "10.10.2.5")
        address(name, "eth0", f"{server_address6(number)}/64", "2001:db8:2::5")
    add_bridge(LAN, "br0", ["switch", *[f"s{n}" for n in SERVERS]])


def remove(names=tuple(ALL)):
    """Removes the namespaces, and with them interfaces, addresses, XDP programs, and nftables rules."""
    for name in names:
        if Path(NETNS / name).exists():
            processes.clear_namespace(name)
            sh("ip", "netns", "delete", name)
