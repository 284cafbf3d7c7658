# SPDX-License-Identifier: Apache-2.0
"""Health checks over TCP against nginx (also over TLS), vsftpd, slapd, redis and an agent of one line, over both families."""

import processes
import stream_servers as servers
from check_case import CheckCase

TRUSTED = f'verify ena/ca "{servers.HOME}/ca.pem"/content "//{servers.NAME}/health"'
HEALTH = "/c/slb/advhc/health"


def https(port):
    return f"{port} tcp, health https"


def named(name, port, word):
    """A service of that port whose groups are checked by the named check, as CHECKS has it."""
    return {f"{port} tcp, health {word}": (port, f"health {name}")}


class Streams(CheckCase):
    CHECKS = {
        **named("trusted", servers.TLS12, "https"), **named("hello", servers.TLS13, "sslh"),
        **named("page", 8080, "http"),
        "ldap tcp, health ldap": ("389", f'health ldap/content "{servers.SUFFIX}"'),
        "ftp tcp, health ftp": ("21", 'health ftp/content "who"'),
        "6379 tcp, health script": ("6379", "health script1"),
        **named("load", servers.AGENT_PORT, "agent"),
        "8080 tcp, health logexp": ("8081/rport 8080", "health both"),
    }
    OBJECTS = (
        f"{HEALTH} trusted https", f"{HEALTH} trusted/{TRUSTED}",
        f"{HEALTH} hello sslh",
        f'{HEALTH} page http/content "/health"/status 200-299/expect "healthy"',
        f"{HEALTH} load agent",
        f'{HEALTH} both logexp/content "page & (trusted-elsewhere | !closed)"',
        f"{HEALTH} trusted-elsewhere https/dport {servers.EXPIRED}/{TRUSTED}", f"{HEALTH} closed tcp/dport 4444",
        r'/c/slb/advhc/script 1/open inherit/send "PING\r\n"/expect "+PONG"/send "QUIT\r\n"/expect "+OK"/close',
        r'/c/slb/advhc/script 1/open 8080/send "GET /health HTTP/1.0\r\n\r\n"/expect "healthy"/close')
    OBJECTS_GONE = tuple(f"{HEALTH} {name}/del" for name in ("trusted", "hello", "page", "load", "both",
                                                            "trusted-elsewhere", "closed")) + ("/c/slb/advhc/script 1/del",)

    def serve(self):
        self.addCleanup(servers.stop)
        servers.start()

    def fails(self, check, *wanted):
        reason = self.wait_for(check, "FAILED")
        for text in wanted:
            self.assertIn(text, reason)

    def test_certificates_are_judged_when_that_is_wanted(self):
        check = https(servers.TLS12)
        self.switch.change(f"{HEALTH} trusted/dport {servers.EXPIRED}")
        self.fails(check, "certificate expired 20")
        self.switch.change(f"{HEALTH} trusted/dport {servers.OTHER}")
        self.fails(check, f"certificate is for other.example, wanted {servers.NAME}")
        self.switch.change(f"{HEALTH} trusted/verify dis/ca none")
        self.wait_for(check, "up")
        self.switch.change(f"{HEALTH} trusted/{TRUSTED}/dport {servers.TLS13}")
        self.wait_for(check, "up")

    def test_status_and_body_decide_about_a_page(self):
        check = "8080 tcp, health http"
        self.switch.change(f"{HEALTH} page/status 301")
        self.fails(check, "status 200, wanted 301")
        self.switch.change(f'{HEALTH} page/status 200/expect "hale"')
        self.fails(check, 'body lacks "hale"')
        self.switch.change(f'{HEALTH} page/expect "healthy"/content "/absent"')
        self.fails(check, "status 404, wanted 200")

    def test_a_directory_is_asked_for_an_entry_and_what_it_says(self):
        check = "ldap tcp, health ldap"
        self.addCleanup(self.switch.change, f"{HEALTH} entry/del")
        self.switch.change(f'{HEALTH} entry ldap/content "{servers.SUFFIX}"/attr description/expect "17"/user '
                           f'"{servers.ADMIN}"/pass "{servers.ADMIN_PASSWORD}"')
        self.set(check, "health entry/content none")
        self.wait_for(check, "up")
        self.switch.change(f'{HEALTH} entry/expect "18"')
        self.fails(check, '"17"', '"18"')
        self.switch.change(f'{HEALTH} entry/pass "wrong"')
        self.fails(check, "invalidCredentials")
        self.set(check, f'health ldap/content "dc=absent,{servers.SUFFIX}"')
        self.fails(check, "noSuchObject")

    def test_a_file_that_is_not_there_fails_with_the_answer_of_vsftpd(self):
        self.set("ftp tcp, health ftp", 'content "absent"')
        self.fails("ftp tcp, health ftp", "550")

    def test_an_agent_takes_its_server_out(self):
        check = f"{servers.AGENT_PORT} tcp, health agent"
        servers.agent_says("down#disk full")
        self.fails(check, "disk full")
        servers.agent_says("drain")
        self.wait_for(check, "degraded")
        servers.agent_says("up")
        self.wait_for(check, "up")

    def test_a_script_says_what_it_waits_for(self):
        check = "6379 tcp, health script"
        self.switch.change('/c/slb/advhc/script 1/rem/rem/expect "hale"/wait 300/close')
        self.fails(check, 'connection 2, port 8080: expect "hale": no')

    def test_an_expression_needs_what_it_says(self):
        check = "8080 tcp, health logexp"
        self.wait_for(check, "up")
        self.switch.change(f'{HEALTH} both/content "page & trusted-elsewhere"')
        self.fails(check, "trusted-elsewhere: certificate expired")

    def test_servers_that_are_ended_fail_and_come_back(self):
        for name in ("tls", "ldap", "agent", "redis"):
            processes.stop(name)
        for check in (https(servers.TLS12), f"{servers.TLS13} tcp, health sslh", "ldap tcp, health ldap",
                      "6379 tcp, health script"):
            self.fails(check, "refused")
        servers.start_tls()
        servers.start_ldap()
        servers.start_redis()
        for check in (https(servers.TLS12), f"{servers.TLS13} tcp, health sslh", "ldap tcp, health ldap",
                      "6379 tcp, health script"):
            self.wait_for(check, "up")
