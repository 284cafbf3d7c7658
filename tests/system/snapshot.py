# SPDX-License-Identifier: Apache-2.0
"""What a clean-up must leave as it was: taken before and after, compared whole."""

import ctypes
import os
import struct
from pathlib import Path

from host import NR_HUGEPAGES, sh

SYS_BPF = {"x86_64": 321, "aarch64": 280}[os.uname().machine]
PROG_GET_NEXT_ID, PROG_GET_FD_BY_ID, OBJ_GET_INFO_BY_FD = 11, 13, 15
XDP = 6  # BPF_PROG_TYPE_XDP
NAMES = ("headgate", "headgated", "headgate-datapl", "nginx", "vsftpd", "haproxy", "dpdk-testpmd")


def _bpf(command, attributes):
    buffer = ctypes.create_string_buffer(attributes, 128)
    result = ctypes.CDLL(None, use_errno=True).syscall(SYS_BPF, command, buffer, 128)
    return result, buffer.raw


def _is_xdp(program):
    fd, _ = _bpf(PROG_GET_FD_BY_ID, struct.pack("II", program, 0))
    if fd < 0:
        return False
    try:
        info = ctypes.create_string_buffer(256)
        _bpf(OBJ_GET_INFO_BY_FD, struct.pack("IIQ", fd, 256, ctypes.addressof(info)))
        return struct.unpack_from("I", info.raw)[0] == XDP
    finally:
        os.close(fd)


def xdp_programs():
    """Ids of all XDP programs of the kernel, attached anywhere or only held."""
    found, program = set(), 0
    while True:
        result, raw = _bpf(PROG_GET_NEXT_ID, struct.pack("II", program, 0))
        if result != 0:
            return found
        program = struct.unpack_from("I", raw, 4)[0]
        if _is_xdp(program):
            found.add(program)


def processes():
    """Pids of programs that a lab runs, and of Python programs out of this folder's supervisor and clients."""
    found = set()
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            name = (entry / "comm").read_text().strip()
            arguments = (entry / "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        scripts = any(Path(a.decode(errors="replace")).name in ("supervisor.py", "client.py") for a in arguments[:3])
        if arguments != [b""] and (name in NAMES or scripts):
            found.add(f"{entry.name} {name}")
    return found


def listing(*command):
    return set(sh(*command, check=False).stdout.splitlines())


def mounts():
    return {" ".join(line.split()[1:3]) for line in Path("/proc/mounts").read_text().splitlines()}


def host_files():
    """Names in the folders of the host where a lab or DPDK might leave something."""
    folders = [Path("/run"), Path("/run/dpdk"), Path("/run/lock"), Path("/dev/hugepages"), Path("/sys/fs/bpf"),
               Path("/dev/shm"), Path("/var/lib"), Path("/run/netns")]
    names = {str(path) for folder in folders if folder.is_dir() for path in folder.iterdir()}
    return names - {"/run/netns"}  # iproute2 makes it with the first namespace and keeps it; a lab's end removes it empty


def take():
    """Everything by name; equal before and after."""
    return {
        "processes": processes(),
        "namespaces": listing("ip", "netns", "list"),
        "interfaces": listing("ip", "-br", "link"),
        "addresses": listing("ip", "-br", "addr"),
        "routes": listing("ip", "route"),
        "nftables": listing("nft", "list", "ruleset"),
        "mounts": mounts(),
        "files": host_files(),
        "xdp": xdp_programs(),
        "hugepages": NR_HUGEPAGES.read_text().strip() if NR_HUGEPAGES.exists() else "",
        "ip_forward": Path("/proc/sys/net/ipv4/ip_forward").read_text().strip(),
    }


# Of these, what ended meanwhile may have been anybody's, as the empty /run/netns that iproute2 mounts for good: only
# what is new counts.
GROWING = ("processes", "xdp", "mounts")


def difference(before, after):
    """What is not as it was, for a message; empty when nothing is."""
    def same(key):
        return after[key] <= before[key] if key in GROWING else after[key] == before[key]
    def shown(key):
        if not isinstance(before[key], set):
            return {"before": before[key], "after": after[key]}
        return {"gone": before[key] - after[key], "new": after[key] - before[key]}
    return {key: shown(key) for key in before if not same(key)}
