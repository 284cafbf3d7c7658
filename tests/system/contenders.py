# SPDX-License-Identifier: Apache-2.0
"""What is measured side by side: five ways from a client to the same kind of server, each in namespaces of its own.

Headgate, direct routing, nftables DNAT, and HAProxy in TCP mode join two subnets. testpmd only moves frames from one port to the
other, so that its client sits in the servers' subnet: the ceiling for a DPDK program on these ports.
"""

import os
import signal
import time

import host
import network
import processes
from host import ROOT, LabError, inside, sh, wait_until
from switch import HUGEPAGES, Switch

BULK_BYTES = 64 << 20

NGINX = """
user root; worker_processes 1; daemon off; pid {folder}/nginx.pid; error_log {folder}/error.log crit;
events {{ worker_connections 8192; }}
http {{
  access_log off; keepalive_requests 100000000; sendfile on; default_type text/plain;
  client_body_temp_path {folder}/tmp; proxy_temp_path {folder}/tmp; fastcgi_temp_path {folder}/tmp;
  uwsgi_temp_path {folder}/tmp; scgi_temp_path {folder}/tmp;
  server {{ listen {port} backlog=8192; location = /health {{ return 200; }} location = / {{ return 200 "ok\\n"; }}
           location = /bulk {{ alias {root}/bulk; }} }}
}}
"""

HAPROXY = """
global
  nbthread 1
  maxconn 8000
defaults
  mode tcp
  timeout connect 5s
  timeout client 30s
  timeout server 30s
listen web
  bind 10.10.1.100:80
  server s1 10.10.2.11:8080
"""

DNAT = """
table ip lab {
  chain pre {
    type nat hook prerouting priority dstnat;
    ip daddr 10.10.1.100 tcp dport 80 dnat to 10.10.2.11:8080
  }
}
"""

HEADGATE = """\
/c/port 1/device port1/pvid 1
/c/port 2/device port2/pvid 2
/c/l2/vlan 1/add 1
/c/l2/vlan 2/add 2
/c/l3/if 1/addr 10.10.1.5/mask 255.255.255.0/vlan 1/ena
/c/l3/if 2/addr 10.10.2.5/mask 255.255.255.0/vlan 2/ena
/c/slb/port 1/client ena
/c/slb/port 2/server ena
/c/slb/real 1/rip 10.10.2.11/ena
/c/slb/group 1/health tcp/add 1
/c/slb/virt 1/vip 10.10.1.100/ena
/c/slb/virt 1/service http/group 1/rport 8080
/cfg/slb/on
"""


class Contender:
    """A client, something in the middle, and one server; `target` is what the client asks."""

    name, target, port = "", "10.10.1.100:80", 8080
    client_prefix, gateway = "10.10.1.10/24", "10.10.1.5"

    def __init__(self, build):
        self.build = build
        self.client, self.middle, self.server = (f"hg-b-{self.name}-{role}" for role in "cms")

    def namespaces(self):
        return [self.client, self.middle, self.server]

    def raise_all(self):
        for name in self.namespaces():
            network.add_namespace(name)
        network.join((self.client, "eth0"), (self.middle, "port1"))
        network.join((self.server, "eth0"), (self.middle, "port2"))
        network.address(self.client, "eth0", self.client_prefix, self.gateway)
        network.address(self.server, "eth0", "10.10.2.11/24", "10.10.2.5" if self.gateway else None)
        self.serve()
        self.start()
        try:
            wait_until(self.answers, f"{self.name} to carry a request", 15)
        except LabError as error:
            raise LabError(f"{error}; its log: {processes.log_of(self.name, 8)}") from None

    def serve(self):
        folder = ROOT / f"bench-{self.name}"
        (folder / "tmp").mkdir(parents=True)
        (folder / "nginx.conf").write_text(NGINX.format(folder=folder, root=ROOT, port=self.port))
        processes.start(f"http-{self.name}", ["nginx", "-e", folder / "error.log", "-c", folder / "nginx.conf"], self.server)

    def answers(self):
        ask = inside(self.client, "curl", "-s", "-m", "1", f"http://{self.target}/")
        return sh(*ask, check=False).stdout == "ok\n"

    def route(self):
        """Addresses of a kernel that forwards."""
        network.address(self.middle, "port1", "10.10.1.5/24")
        network.address(self.middle, "port1", "10.10.1.100/32")
        network.address(self.middle, "port2", "10.10.2.5/24")

    def start(self):
        raise NotImplementedError

    def wake(self):
        """Called before a measurement; sleep() after it, so that nobody takes time from another."""

    def sleep(self):
        pass


class Routed(Contender):
    """The kernel's forwarding, to the server's own address: no balancing at all."""

    name, target = "routing", "10.10.2.11:8080"

    def start(self):
        self.route()
        network.set_sysctl(self.middle, "net.ipv4.ip_forward", 1)


class Dnat(Routed):
    name, target = "nft-dnat", Contender.target

    def start(self):
        super().start()
        sh(*inside(self.middle, "nft", "-f", "-"), input=DNAT)


class Haproxy(Contender):
    name = "haproxy"

    def start(self):
        self.route()
        network.set_sysctl(self.middle, "net.ipv4.ip_local_port_range", "1024 65535")
        network.set_sysctl(self.middle, "net.ipv4.tcp_tw_reuse", 1)
        file = ROOT / "haproxy.cfg"
        file.write_text(HAPROXY)
        processes.start("haproxy", ["haproxy", "-db", "-f", file], self.middle)


class Testpmd(Contender):
    name, target = "testpmd", "10.10.2.11:8080"
    client_prefix, gateway = "10.10.2.10/24", None

    def start(self):
        host.take_hugepages(HUGEPAGES)
        ports = [f"--vdev=net_af_xdp{n},iface=port{n + 1},busy_budget=0" for n in (0, 1)]
        processes.start("testpmd", ["dpdk-testpmd", "-l", "0-1", "--no-pci", "--file-prefix", "hg-lab-testpmd", *ports,
                                    "--", "--forward-mode=io", "--auto-start", "--nb-cores=1", "--total-num-mbufs=32768",
                                    "--stats-period=3600"], self.middle, {"RUNTIME_DIRECTORY": str(ROOT)})

    def wake(self):
        processes.tell("testpmd", signal.SIGCONT)
        time.sleep(0.2)  # let it empty the queues that filled meanwhile

    def sleep(self):
        processes.tell("testpmd", signal.SIGSTOP)  # it polls without pause


class Headgate(Contender):
    name = "headgate"

    def start(self):
        switch = Switch(self.build, self.middle)
        switch.start(no_huge=not host.take_hugepages(HUGEPAGES))
        switch.configure(HEADGATE)


ALL = [Headgate, Routed, Dnat, Haproxy, Testpmd]


def write_bulk():
    (ROOT / "bulk").write_bytes(os.urandom(1 << 20) * (BULK_BYTES >> 20))
