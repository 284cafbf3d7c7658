# SPDX-License-Identifier: Apache-2.0
"""Health checks of mail against postfix and dovecot, over both families."""

import re

import mail
import network
from host import sh, wait_until
from lab_case import LabCase

ADDRESSES = {61: "10.10.2.61/24", 62: "2001:db8:2::61/64"}  # of server 1 too, by real server
LOGIN = f"joe:{mail.PASSWORD}"
CHECKS = {"smtp": (25, 61, "postmaster"), "pop3": (110, 62, LOGIN), "imap": (143, 63, LOGIN)}


class Mail(LabCase):
    def setUp(self):
        super().setUp()
        mail.start()
        self.addCleanup(mail.stop)
        for address in ADDRESSES.values():
            network.address(mail.NAMESPACE, "eth0", address)
            self.addCleanup(sh, "ip", "-n", mail.NAMESPACE, "addr", "del", address, "dev", "eth0")
        lines = [*[f"/c/slb/real {real}/rip {address.split('/')[0]}/inter 4/retry 1/restr 1/ena"
                   for real, address in ADDRESSES.items()],
                 "/c/slb/virt 8/vip 10.10.1.108/ena", "/c/slb/virt 9/vip 2001:db8:1::108/ena"]
        for word, (port, group, content) in CHECKS.items():
            lines += [f'/c/slb/group {group}/health {word}/content "{content}"/add 61',
                      f'/c/slb/group {group + 10}/health {word}/content "{content}"/add 62',
                      f"/c/slb/virt 8/service {port}/group {group}",
                      f"/c/slb/virt 9/service {port}/group {group + 10}"]
        self.switch.change(*lines)
        self.addCleanup(self.switch.change, "/c/slb/virt 8/del", "/c/slb/virt 9/del",
                        *[f"/c/slb/group {g + more}/del" for _, g, _ in CHECKS.values() for more in (0, 10)],
                        "/c/slb/real 61/del", "/c/slb/real 62/del")
        for word in CHECKS:
            self.wait_for(word, "up")

    def wait_for(self, word, state):
        """One check of both families; what the screen says of it."""
        def said():
            lines = [line for real in ADDRESSES
                     for line in self.switch.show(f"/info/slb/real {real}").splitlines()
                     if re.search(rf"\b{word}, {state}\b", line)]
            return lines if len(lines) == 2 else []
        wait_until(said, f"{word} of both families to be {state}", 20)
        return "\n".join(said())

    def content(self, word, text):
        _port, group, _content = CHECKS[word]
        self.switch.change(f'/c/slb/group {group}/content "{text}"', f'/c/slb/group {group + 10}/content "{text}"')

    def test_a_user_that_is_not_there_fails_with_the_answer_of_postfix(self):
        self.content("smtp", "nobody")
        self.assertIn('VRFY nobody: "550 5.1.1 <nobody>', self.wait_for("smtp", "FAILED"))
        self.content("smtp", "postmaster")
        self.wait_for("smtp", "up")

    def test_a_password_that_is_wrong_fails_with_the_answer_of_dovecot(self):
        for word, wanted in (("pop3", 'login: "-ERR [AUTH]'), ("imap", 'login: "hg1 NO [AUTHENTICATIONFAILED]')):
            with self.subTest(check=word):
                self.content(word, "joe:wrong")
                self.assertIn(wanted, self.wait_for(word, "FAILED"))
                self.content(word, LOGIN)
                self.wait_for(word, "up")

    def test_what_is_not_there_is_refused_and_comes_back(self):
        mail.stop()
        for word in CHECKS:
            self.assertIn("refused", self.wait_for(word, "FAILED"))
        mail.start()
        for word in CHECKS:
            self.wait_for(word, "up")
