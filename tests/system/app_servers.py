# SPDX-License-Identifier: Apache-2.0
"""An application on real server 1 for the checks of type app: nginx, the command that restarts it, a port whose connections nobody ends, and a
listener that is told of failovers.

Run as a program, it is one of the last two: `app_servers.py hold PORT` takes connections and never ends them, `app_servers.py calls PORT FILE`
adds the body of each POST to the file.
"""

import http.server
import json
import shutil
import socket
import sys
from pathlib import Path

import network
import processes
from host import NETNS, ROOT, inside, sh, wait_until

NAMESPACE = network.SERVERS[1]
HOME = ROOT / "app"
PORT, HELD_PORT, CALLS_PORT = 8700, 8701, 8702
RESTART, USELESS = HOME / "restart", HOME / "useless"
RESTARTS, CALLS = HOME / "restarts", HOME / "calls"

NGINX = f"""
user root; worker_processes 1; pid {HOME}/nginx.pid; error_log {HOME}/error.log;
events {{ worker_connections 256; }}
http {{
  access_log off; default_type text/plain;
  client_body_temp_path {HOME}/tmp; proxy_temp_path {HOME}/tmp; fastcgi_temp_path {HOME}/tmp;
  uwsgi_temp_path {HOME}/tmp; scgi_temp_path {HOME}/tmp;
  server {{
    listen {PORT}; listen [::]:{PORT} ipv6only=on; root {HOME}/pages;
    location = /broken {{ return 500 "broken\\n"; }}
    location = /gone {{ return 503 "gone\\n"; }}
    location = /slow {{ limit_rate 1; }}
  }}
}}
"""

#: Both addresses of the server fail at once: one of them restarts it, and the other finds it there.
SCRIPT = f"""#!/bin/sh
exec 9>{HOME}/lock
flock 9
echo "$HEADGATE_ACTION of real server $HEADGATE_REAL, $HEADGATE_ADDRESS port $HEADGATE_PORT: $HEADGATE_REASON ($*)" >> {RESTARTS}
nsenter --net={NETNS / NAMESPACE} ss -Hltn | grep -q ':{PORT} ' && exit 0
exec nsenter --net={NETNS / NAMESPACE} nginx -e {HOME}/error.log -c {HOME}/nginx.conf 9>&-
"""


def listens(port):
    return f":{port} " in sh(*inside(NAMESPACE, "ss", "-Hltn")).stdout


def nginx(*more, check=True):
    sh(*inside(NAMESPACE, "nginx", "-e", HOME / "error.log", "-c", HOME / "nginx.conf", *more), check=check)


def stop_nginx():
    nginx("-s", "stop", check=False)
    wait_until(lambda: not listens(PORT), "the end of nginx", 10, 0.05)


def lines_of(file):
    return file.read_text().splitlines() if file.exists() else []


def calls():
    """The bodies of the POSTs that have come."""
    return [json.loads(line) for line in lines_of(CALLS)]


def start():
    for name in ("tmp", "pages"):
        (HOME / name).mkdir(parents=True, exist_ok=True)
    for page in ("ping", "slow"):
        (HOME / "pages" / page).write_text("all is well and has been for a long time\n")
    (HOME / "nginx.conf").write_text(NGINX)
    for path, script in ((RESTART, SCRIPT), (USELESS, "#!/bin/sh\nexit 3\n")):
        path.write_text(script)
        path.chmod(0o755)
    nginx()
    processes.start("held", [sys.executable, Path(__file__), "hold", HELD_PORT], NAMESPACE)
    processes.start("calls", [sys.executable, Path(__file__), "calls", CALLS_PORT, CALLS], NAMESPACE)
    wait_until(lambda: all(map(listens, (PORT, HELD_PORT, CALLS_PORT))), "the application", 10, 0.05)


def stop():
    for name in ("held", "calls"):
        processes.stop(name)
    stop_nginx()
    shutil.rmtree(HOME, ignore_errors=True)


def hold(port):
    kept = []
    with socket.create_server(("::", port), family=socket.AF_INET6, dualstack_ipv6=True) as server:
        while True:
            kept.append(server.accept())


class Calls(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        with open(sys.argv[3], "ab") as file:
            file.write(self.rfile.read(int(self.headers["Content-Length"])) + b"\n")
        self.send_response(204)
        self.end_headers()


class CallServer(http.server.ThreadingHTTPServer):
    address_family = socket.AF_INET6  # and IPv4 with it


if __name__ == "__main__":
    if sys.argv[1] == "hold":
        hold(int(sys.argv[2]))
    else:
        CallServer(("::", int(sys.argv[2])), Calls).serve_forever()
