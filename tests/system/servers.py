# SPDX-License-Identifier: Apache-2.0
"""The real servers: nginx on 8080, vsftpd on 21 and a UDP echo on 5300 in each server namespace, every one telling who it is."""

import random
import signal
import sys
from pathlib import Path

import network
import processes
from host import ROOT, inside, sh, wait_until

DOWNLOAD_BYTES = 24 << 20
UDP_PORT = 5300

NGINX = """
user root; worker_processes 1; daemon off; pid {folder}/nginx.pid; error_log {folder}/error.log warn;
events {{ worker_connections 4096; }}
http {{
  access_log {folder}/access.log; keepalive_requests 1000000; default_type text/plain; sendfile on;
  add_header X-Server server-{number};
  client_body_temp_path {folder}/tmp; proxy_temp_path {folder}/tmp; fastcgi_temp_path {folder}/tmp;
  uwsgi_temp_path {folder}/tmp; scgi_temp_path {folder}/tmp;
  server {{
    listen 8080 reuseport backlog=4096; listen [::]:8080 ipv6only=on reuseport backlog=4096; root {folder}/www;
    location = /health {{ access_log off; return 200 "healthy\\n"; }}
    location = /small {{ access_log off; return 200 "server-{number}\\n"; }}
    location = /download {{ alias {shared}/download; }}
  }}
}}
"""

VSFTPD = """listen=NO
listen_ipv6=YES
background=NO
anonymous_enable=YES
local_enable=NO
no_anon_password=YES
anon_root={folder}/ftp
secure_chroot_dir={folder}/empty
ftpd_banner=server-{number}
seccomp_sandbox=NO
isolate=NO
isolate_network=NO
xferlog_enable=NO
"""


def folder(number):
    return ROOT / f"s{number}"


def prepare(number):
    """Writes pages and configuration of one server."""
    home = folder(number)
    for name in ("www", "tmp", "ftp", "empty"):
        (home / name).mkdir(parents=True, exist_ok=True)
    (home / "ftp/who").write_text(f"server-{number}\n")
    for name in ("ftp", "empty"):
        (home / name).chmod(0o555)  # vsftpd refuses a writable root
    (home / "www/index.html").write_text(f"server-{number}\n")
    (home / "nginx.conf").write_text(NGINX.format(folder=home, number=number, shared=ROOT))
    (home / "vsftpd.conf").write_text(VSFTPD.format(folder=home, number=number))


def write_download():
    """The large file, the same for every server and every run, so that each byte of it can be checked."""
    (ROOT / "download").write_bytes(random.Random(1).randbytes(DOWNLOAD_BYTES))


def listens(namespace, port, kind="t"):
    return f":{port} " in sh(*inside(namespace, "ss", f"-Hln{kind}")).stdout


def start_http(number):
    name = f"http{number}"
    processes.start(name, ["nginx", "-e", folder(number) / "error.log", "-c", folder(number) / "nginx.conf"],
                    network.SERVERS[number])
    wait_until(lambda: listens(network.SERVERS[number], 8080), f"nginx of server {number}", 10, 0.05)


def start_ftp(number):
    processes.start(f"ftp{number}", ["vsftpd", folder(number) / "vsftpd.conf"], network.SERVERS[number])
    wait_until(lambda: listens(network.SERVERS[number], 21), f"vsftpd of server {number}", 10, 0.05)


def start_udp(number):
    program = Path(__file__).with_name("client.py")
    processes.start(f"udp{number}", [sys.executable, program, "serve-udp", f"server-{number}", UDP_PORT],
                    network.SERVERS[number])
    wait_until(lambda: listens(network.SERVERS[number], UDP_PORT, "u"), f"the UDP echo of server {number}", 10, 0.05)


def quit_http(number):
    """Closes the listeners at once; running downloads go on until they are done (nginx `quit`)."""
    processes.tell(f"http{number}", signal.SIGQUIT)
    wait_until(lambda: not listens(network.SERVERS[number], 8080), f"nginx of server {number} to stop listening", 10, 0.02)


def stop_http(number):
    processes.stop(f"http{number}")


def stop_ftp(number):
    processes.stop(f"ftp{number}")


def requests_logged(number):
    """How many requests a server has answered, by its own access log; probes and /small are not in it."""
    log = Path(folder(number) / "access.log")
    return len(log.read_text().splitlines()) if log.exists() else 0


def start_all():
    write_download()
    for number in network.SERVERS:
        prepare(number)
        start_http(number)
        start_ftp(number)
        start_udp(number)
