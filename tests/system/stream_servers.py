# SPDX-License-Identifier: Apache-2.0
"""Servers on real server 1 for the checks over TCP: nginx over TLS, slapd on 389, redis, and a server that says one line, as agents do.

Run as a program, it is that last one: `stream_servers.py PORT FILE` says to each client what the file holds at that moment.
"""

import shutil
import socket
import socketserver
import sys
from datetime import datetime, timedelta, timezone
from pathlib import Path

import network
import processes
from host import ROOT, inside, sh, wait_until

NAMESPACE = network.SERVERS[1]
HOME = ROOT / "streams"
NAME = "www.example.com"
TLS12, TLS13, EXPIRED, OTHER = TLS_PORTS = range(8443, 8447)  # versions; certificates out of their time, for another name
LDAP_PORT, AGENT_PORT, REDIS_PORT = 389, 8900, 6379
SUFFIX, ADMIN, ADMIN_PASSWORD = "dc=example,dc=com", "cn=admin,dc=example,dc=com", "let-me-in"

AUTHORITY = f"""
[ca]
default_ca = own
[own]
database = {HOME}/index
new_certs_dir = {HOME}
certificate = {HOME}/ca.pem
private_key = {HOME}/ca.key
rand_serial = yes
default_md = sha256
unique_subject = no
policy = any
copy_extensions = copy
[any]
commonName = supplied
"""

TLS_SERVER = """
  server {{
    listen {port} ssl; listen [::]:{port} ssl ipv6only=on; ssl_protocols {versions};
    ssl_certificate {home}/{certificate}.pem; ssl_certificate_key {home}/{certificate}.key;
    location = /health {{ return 200 "all is well\\n"; }}
  }}
"""

NGINX = f"""
user root; worker_processes 1; daemon off; pid {HOME}/nginx.pid; error_log {HOME}/error.log info;
events {{ worker_connections 1024; }}
http {{
  access_log off; default_type text/plain;
  client_body_temp_path {HOME}/tmp; proxy_temp_path {HOME}/tmp; fastcgi_temp_path {HOME}/tmp;
  uwsgi_temp_path {HOME}/tmp; scgi_temp_path {HOME}/tmp;
""" + "".join(TLS_SERVER.format(home=HOME, port=port, versions=versions, certificate=certificate)
              for port, versions, certificate in ((TLS12, "TLSv1.2", "valid"), (TLS13, "TLSv1.3", "valid"),
                                                  (EXPIRED, "TLSv1.3", "expired"), (OTHER, "TLSv1.3", "other"))) + "}\n"

SLAPD = f"""
include /etc/ldap/schema/core.schema
modulepath /usr/lib/ldap
moduleload back_mdb
moduleload back_monitor
pidfile {HOME}/slapd.pid
argsfile {HOME}/slapd.args
database mdb
suffix "{SUFFIX}"
rootdn "{ADMIN}"
rootpw {ADMIN_PASSWORD}
directory {HOME}/directory
database monitor
access to * by * read
"""

ENTRIES = f"""dn: {SUFFIX}
objectClass: dcObject
objectClass: organization
dc: example
o: Example
description: 17
"""


def listens(port):
    return f":{port} " in sh(*inside(NAMESPACE, "ss", "-Hltn")).stdout


def await_ports(what, *ports):
    wait_until(lambda: all(listens(port) for port in ports), what, 10, 0.05)


def make_authority():
    (HOME / "index").write_text("")
    (HOME / "ca.cnf").write_text(AUTHORITY)
    sh("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj", "/CN=Lab CA",
       "-days", "30", "-keyout", HOME / "ca.key", "-out", HOME / "ca.pem")


def make_certificate(stem, name, first_day, last_day):
    """A certificate for `name`, from one day to another, counted from today; written to `stem`.pem and .key."""
    request = HOME / f"{stem}.csr"
    sh("openssl", "req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj", f"/CN={name}",
       "-addext", f"subjectAltName=DNS:{name}", "-keyout", HOME / f"{stem}.key", "-out", request)
    first, last = (f"{datetime.now(timezone.utc) + timedelta(days):%Y%m%d%H%M%SZ}" for days in (first_day, last_day))
    sh("openssl", "ca", "-batch", "-notext", "-config", HOME / "ca.cnf", "-startdate", first, "-enddate", last,
       "-in", request, "-out", HOME / f"{stem}.pem")


def prepare():
    for name in ("tmp", "directory"):
        (HOME / name).mkdir(parents=True, exist_ok=True)
    make_authority()
    make_certificate("valid", NAME, -1, 20)
    make_certificate("expired", NAME, -20, -2)
    make_certificate("other", "other.example", -1, 20)
    (HOME / "nginx.conf").write_text(NGINX)
    (HOME / "slapd.conf").write_text(SLAPD)
    (HOME / "entries.ldif").write_text(ENTRIES)
    sh("slapadd", "-f", HOME / "slapd.conf", "-l", HOME / "entries.ldif")
    agent_says("up")


def agent_says(line):
    """What the agent says from now on."""
    (HOME / "agent").write_text(line + "\n")


def start_tls():
    processes.start("tls", ["nginx", "-e", HOME / "error.log", "-c", HOME / "nginx.conf"], NAMESPACE)
    await_ports("nginx over TLS", *TLS_PORTS)


def start_ldap():
    urls = f"ldap://0.0.0.0:{LDAP_PORT} ldap://[::]:{LDAP_PORT}"
    processes.start("ldap", ["slapd", "-d", "0", "-f", HOME / "slapd.conf", "-h", urls], NAMESPACE)
    await_ports("slapd", LDAP_PORT)


def start_redis():
    processes.start("redis", ["redis-server", "--port", REDIS_PORT, "--bind", "0.0.0.0", "::", "--protected-mode", "no", "--save", "",
                              "--appendonly", "no", "--dir", HOME], NAMESPACE)
    await_ports("redis", REDIS_PORT)


def start_agent():
    processes.start("agent", [sys.executable, Path(__file__), AGENT_PORT, HOME / "agent"], NAMESPACE)
    await_ports("the agent", AGENT_PORT)


def start():
    prepare()
    start_tls()
    start_ldap()
    start_redis()
    start_agent()


def stop():
    for name in ("tls", "ldap", "redis", "agent"):
        processes.stop(name)
    shutil.rmtree(HOME, ignore_errors=True)


class OneLine(socketserver.StreamRequestHandler):
    def handle(self):
        self.wfile.write(Path(sys.argv[2]).read_bytes())


class LineServer(socketserver.ThreadingTCPServer):
    address_family = socket.AF_INET6  # and IPv4 with it
    allow_reuse_address = True


if __name__ == "__main__":
    with LineServer(("::", int(sys.argv[1])), OneLine) as server:
        server.serve_forever()
