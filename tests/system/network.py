# SPDX-License-Identifier: Apache-2.0
"""The lab's network: namespaces joined by veth pairs.

    hg-client ---- port1 [hg-switch] port2 ---- bridge [hg-lan] ---- hg-s1, hg-s2, hg-s3
    10.10.1.10     .1.5          .2.5                               10.10.2.11, .12, .13
    2001:db8:1::10 ::5           2001:db8:2::5                      2001:db8:2::11, ::12, ::13

and, when a test asks for them, hosts behind narrow links, with the client and server 1 as their routers:

    hg-far-client 10.10.3.10 and 2001:db8:3::10, hg-far-server 10.10.4.10 and 2001:db8:4::10
"""

import re
from pathlib import Path

import processes
from host import NETNS, inside, sh

CLIENT, SWITCH, LAN = "hg-client", "hg-switch", "hg-lan"
SERVERS = {1: "hg-s1", 2: "hg-s2", 3: "hg-s3"}
FAR_CLIENT, FAR_SERVER = "hg-far-client", "hg-far-server"
ALL = [CLIENT, SWITCH, LAN, *SERVERS.values(), FAR_CLIENT, FAR_SERVER]
VIP, VIP6 = "10.10.1.100", "2001:db8:1::100"
NARROW = 1400  # bytes of a packet that a narrow link takes


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


def set_mtu(namespace, device, mtu):
    sh("ip", "-n", namespace, "link", "set", device, "mtu", mtu)


def add_far(name, router, subnet):
    """A host that knows nothing of the narrow link on its router's way to it."""
    add_namespace(name)
    join((router, "far"), (name, "eth0"))
    address(router, "far", f"10.10.{subnet}.1/24")
    address(router, "far", f"2001:db8:{subnet}::1/64")
    address(name, "eth0", f"10.10.{subnet}.10/24", f"10.10.{subnet}.1")
    address(name, "eth0", f"2001:db8:{subnet}::10/64", f"2001:db8:{subnet}::1")
    set_mtu(router, "far", NARROW)
    for key in ("net.ipv4.ip_forward", "net.ipv6.conf.all.forwarding"):
        set_sysctl(router, key, 1)


def path_mtu(namespace, destination):
    """What a host has learnt of the way to an address: bytes of a packet, None when nothing."""
    learnt = re.search(r"\bmtu (\d+)", sh("ip", "-n", namespace, "route", "get", destination).stdout)
    return int(learnt[1]) if learnt else None


def forget_path_mtus(namespace):
    for family in ("-4", "-6"):
        sh("ip", family, "-n", namespace, "route", "flush", "cache")


def build():
    """Everything but the switch's own addresses, which headgated sets from its configuration."""
    for name in (CLIENT, SWITCH, LAN, *SERVERS.values()):
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
