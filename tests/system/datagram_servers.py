# SPDX-License-Identifier: Apache-2.0
"""Servers of datagrams on real server 1, of both families: named on 53 (TCP too), snmpd on 161, freeradius on 1812 and 1813,
tftpd on 69, chronyd on 123, kamailio on 5060."""

import network
import processes
from host import ROOT, inside, sh, wait_until

HOME = ROOT / "datagrams"
NAMESPACE = network.SERVERS[1]
ADDRESSES = (network.server_address(1), network.server_address6(1))

DOMAIN = "www.lab.test"  # with an address of either family
BROKEN_DOMAIN = "www.broken.test"  # SERVFAIL
ELSEWHERE = "www.elsewhere.test"  # REFUSED
COMMUNITY = "public"
NAME_OID, NAME = "1.3.6.1.2.1.1.5.0", "server-1"
NUMBER_OID, NUMBER = "1.3.6.1.2.1.1.7.0", 72  # 0 to 127
USER, PASSWORD, SECRET = "joe", "let-me-in", "s3cret"
SMALL_FILE, LARGE_FILE = "small", "large"  # of less than a block of TFTP, of several

ZONE = """$TTL 60
@ IN SOA ns.lab.test. root.lab.test. 1 60 60 60 60
@ IN NS ns.lab.test.
ns IN A 10.10.2.11
www IN A 10.10.2.11
www IN AAAA 2001:db8:2::11
"""

NAMED = f"""
options {{
  directory "{HOME}"; managed-keys-directory "{HOME}"; pid-file none; session-keyfile none;
  listen-on {{ any; }}; listen-on-v6 {{ any; }}; recursion no; dnssec-validation no;
}};
controls {{ }};
zone "lab.test" {{ type primary; file "{HOME}/zone"; }};
zone "broken.test" {{ type primary; file "{HOME}/absent"; }};
"""

SNMPD = """
agentAddress udp:161,udp6:161
rocommunity {community}
rocommunity6 {community}
sysName {name}
sysServices {number}
"""

RADIUSD = """
prefix = /usr
libdir = /usr/lib/freeradius
logdir = {home}
run_dir = {home}
raddbdir = {home}
pidfile = {home}/radiusd.pid
security {{
  reject_delay = 0
  status_server = no
}}
client everybody {{
  ipaddr = 0.0.0.0/0
  secret = {secret}
  require_message_authenticator = yes
}}
client everybody_of_ipv6 {{
  ipv6addr = ::/0
  secret = {secret}
  require_message_authenticator = yes
}}
modules {{
  pap {{
  }}
  always ok {{
    rcode = ok
  }}
}}
server lab {{
  listen {{
    type = auth
    ipaddr = *
    port = 1812
  }}
  listen {{
    type = auth
    ipv6addr = ::
    port = 1812
  }}
  listen {{
    type = acct
    ipaddr = *
    port = 1813
  }}
  listen {{
    type = acct
    ipv6addr = ::
    port = 1813
  }}
  authorize {{
    if (&User-Name == "{user}") {{
      update control {{
        Cleartext-Password := "{password}"
      }}
    }}
    pap
  }}
  authenticate {{
    Auth-Type PAP {{
      pap
    }}
  }}
  accounting {{
    ok
  }}
}}
"""

CHRONYD = f"""
port 123
cmdport 0
bindcmdaddress /
allow all
driftfile {HOME}/drift
pidfile {HOME}/chronyd.pid
"""

KAMAILIO = """
debug=1
log_stderror=yes
children=1
auto_aliases=no
mpath="/usr/lib/x86_64-linux-gnu/kamailio/modules/"
{listen}
loadmodule "sl.so"
loadmodule "textops.so"
request_route {{
  if (is_method("OPTIONS")) {{
    sl_send_reply("100", "Trying");
    sl_send_reply("{status}", "{phrase}");
  }}
}}
"""


def listens(port):
    return f":{port} " in sh(*inside(NAMESPACE, "ss", "-Hlntu")).stdout


def run(name, argv, *ports, env=None):
    """Starts a server and waits until it listens; returns its pid."""
    pid = processes.start(name, argv, NAMESPACE, env)
    wait_until(lambda: all(listens(port) for port in ports), name, 10, 0.05)
    return pid


def write(name, text):
    """A file of configuration, which nobody else may change: freeradius insists."""
    HOME.mkdir(parents=True, exist_ok=True)
    path = HOME / name
    path.write_text(text)
    path.chmod(0o644)
    return path


def start_dns():
    write("zone", ZONE)
    return run("named", ["named", "-g", "-c", write("named.conf", NAMED)], 53)


def start_snmp(number=NUMBER):
    text = SNMPD.format(community=COMMUNITY, name=NAME, number=number)
    argv = ["snmpd", "-f", "-Lo", "-C", "-c", write("snmpd.conf", text), "-p", HOME / "snmpd.pid", "-I", "-smux"]
    return run("snmpd", argv, 161, env={"SNMP_PERSISTENT_DIR": str(HOME / "snmp")})


def start_radius(password=PASSWORD, secret=SECRET):
    write("radiusd.conf", RADIUSD.format(home=HOME, user=USER, password=password, secret=secret))
    return run("freeradius", ["freeradius", "-f", "-l", "stdout", "-d", HOME, "-n", "radiusd"], 1812, 1813)


def start_tftp():
    files = HOME / "tftp"
    files.mkdir(parents=True, exist_ok=True)
    for name, size in ((SMALL_FILE, 100), (LARGE_FILE, 2000)):
        (files / name).write_bytes(b"x" * size)
        (files / name).chmod(0o644)
    # One for each family: over a socket of both it answers IPv4 from the first address of the server, whichever was asked.
    for name, family in (("tftpd", "-4"), ("tftpd6", "-6")):
        run(name, ["in.tftpd", "-L", family, "--address", ":69", "--user", "nobody", "-s", files], 69)


def start_ntp(synchronised=True):
    """Its clock is the one of this machine, which it leaves alone."""
    config = write("chronyd.conf", CHRONYD + ("local stratum 8\n" if synchronised else ""))
    return run("chronyd", ["chronyd", "-d", "-x", "-u", "root", "-f", config], 123)


def start_sip(addresses=ADDRESSES, status=200, phrase="OK"):
    """On addresses that the server has: from the one that is asked, it answers."""
    listen = "\n".join(f"listen=udp:{f'[{address}]' if ':' in address else address}:5060" for address in addresses)
    config = write("kamailio.cfg", KAMAILIO.format(listen=listen, status=status, phrase=phrase))
    return run("kamailio", ["kamailio", "-DD", "-E", "-f", config, "-m", "32", "-M", "8", "-Y", HOME], 5060)


NAMES = ("named", "snmpd", "freeradius", "tftpd", "tftpd6", "chronyd", "kamailio")


def start(addresses=ADDRESSES):
    """All of them; a phone switch answers on the addresses that it is told alone."""
    for starter in (start_dns, start_snmp, start_radius, start_tftp, start_ntp):
        starter()
    start_sip(addresses)


def stop():
    for name in NAMES:
        processes.stop(name)
