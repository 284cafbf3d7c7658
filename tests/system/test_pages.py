# SPDX-License-Identifier: Apache-2.0
"""Health checks by HTTP and HTTPS against apache2 and haproxy, over both families; test_streams.py has nginx."""

import page_servers as servers
import processes
from check_case import CheckCase
from host import wait_until

HEALTH = "/c/slb/advhc/health"
TRUSTED = f'verify ena/ca "{servers.HOME}/ca.pem"/content "//{servers.NAME}/health"/expect "all is well"'
APACHE, APACHE_TLS = f"{servers.APACHE} tcp, health httphead", f"{servers.APACHE_TLS} tcp, health https"
HAPROXY, HAPROXY_TLS = f"{servers.HAPROXY} tcp, health http", f"{servers.HAPROXY_TLS} tcp, health https"


class Pages(CheckCase):
    CHECKS = {APACHE: (servers.APACHE, "health head"), APACHE_TLS: (servers.APACHE_TLS, "health trusted"),
              HAPROXY: (servers.HAPROXY, "health page"), HAPROXY_TLS: (servers.HAPROXY_TLS, "health trusted")}
    OBJECTS = (f'{HEALTH} head httphead/content "/health"', f"{HEALTH} trusted https", f"{HEALTH} trusted/{TRUSTED}",
               f'{HEALTH} page http/content "/health"/expect "all is well"')
    OBJECTS_GONE = tuple(f"{HEALTH} {name}/del" for name in ("head", "trusted", "page"))

    def serve(self):
        self.addCleanup(servers.stop)
        servers.start()

    def fails(self, check, wanted):
        self.assertIn(wanted, self.wait_for(check, "FAILED"))

    def test_a_page_is_asked_for_by_address_and_port_where_no_host_is_known(self):
        wanted = {f"10.10.2.61:{servers.APACHE} HEAD /health HTTP/1.0", f"[2001:db8:2::61]:{servers.APACHE} HEAD /health HTTP/1.0"}
        wait_until(lambda: wanted <= servers.asked(), f"apache2 to be asked {wanted}")

    def test_a_server_that_ends_and_starts_again(self):
        for name, start, checks in (("apache", servers.start_apache, (APACHE, APACHE_TLS)),
                                    ("haproxy", servers.start_haproxy, (HAPROXY, HAPROXY_TLS))):
            processes.stop(name)
            for check in checks:
                self.fails(check, "refused")
            start()
            for check in checks:
                self.wait_for(check, "up")

    def test_a_text_on_an_error_page_passes_nothing(self):
        self.switch.change(f'{HEALTH} page/content "/elsewhere"')
        self.fails(HAPROXY, "status 503, wanted 200")
        self.switch.change(f'{HEALTH} page/status 503')
        self.wait_for(HAPROXY, "up")
        self.switch.change(f'{HEALTH} page/status none/content "/health"')
        self.wait_for(HAPROXY, "up")

    def test_a_page_that_is_not_there(self):
        self.switch.change(f'{HEALTH} head/content "/absent"')
        self.fails(APACHE, "status 404, wanted 200")
        self.switch.change(f'{HEALTH} trusted/content "//{servers.NAME}/absent"')
        self.fails(APACHE_TLS, "status 404, wanted 200")
        self.fails(HAPROXY_TLS, "status 503, wanted 200")
