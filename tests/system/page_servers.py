# SPDX-License-Identifier: Apache-2.0
"""Web servers on real server 1 beside nginx: apache2 and haproxy, each in the clear and over TLS, with a page /health."""

import stream_servers
import processes
from stream_servers import HOME, NAME, NAMESPACE, await_ports

APACHE, APACHE_TLS, HAPROXY, HAPROXY_TLS = 8181, 8543, 8182, 8544
MODULES = "/usr/lib/apache2/modules"

APACHE_CONFIGURATION = f"""
ServerRoot {HOME}
PidFile {HOME}/apache.pid
ServerName {NAME}
User www-data
Group www-data
LoadModule mpm_event_module {MODULES}/mod_mpm_event.so
LoadModule authz_core_module {MODULES}/mod_authz_core.so
LoadModule ssl_module {MODULES}/mod_ssl.so
Listen {APACHE}
Listen {APACHE_TLS}
ErrorLog {HOME}/apache.error
LogFormat "%{{Host}}i %r" asked
CustomLog {HOME}/apache.asked asked
DocumentRoot {HOME}/pages
<VirtualHost *:{APACHE_TLS}>
  SSLEngine on
  SSLCertificateFile {HOME}/valid.pem
  SSLCertificateKeyFile {HOME}/valid.key
</VirtualHost>
"""

HAPROXY_CONFIGURATION = f"""
defaults
  mode http
  timeout client 5s
frontend pages
  bind :::{HAPROXY} v4v6
  bind :::{HAPROXY_TLS} v4v6 ssl crt {HOME}/both.pem
  http-request return status 200 content-type text/plain string "all is well" if {{ path /health }}
  http-request return status 503 content-type text/plain string "all is well, but not here"
"""


def prepare():
    (HOME / "pages").mkdir(parents=True, exist_ok=True)
    stream_servers.make_authority()
    stream_servers.make_certificate("valid", NAME, -1, 20)
    (HOME / "both.pem").write_text((HOME / "valid.pem").read_text() + (HOME / "valid.key").read_text())
    (HOME / "pages/health").write_text("all is well")
    (HOME / "apache.conf").write_text(APACHE_CONFIGURATION)
    (HOME / "haproxy.cfg").write_text(HAPROXY_CONFIGURATION)


def start_apache():
    processes.start("apache", ["apache2", "-f", HOME / "apache.conf", "-D", "FOREGROUND"], NAMESPACE)
    await_ports("apache2", APACHE, APACHE_TLS)


def start_haproxy():
    processes.start("haproxy", ["haproxy", "-q", "-f", HOME / "haproxy.cfg"], NAMESPACE)
    await_ports("haproxy", HAPROXY, HAPROXY_TLS)


def start():
    prepare()
    start_apache()
    start_haproxy()


def stop():
    for name in ("apache", "haproxy"):
        processes.stop(name)
    stream_servers.stop()


def asked():
    """The Host header and the request line of what apache2 was asked in the clear."""
    return set((HOME / "apache.asked").read_text().splitlines())
