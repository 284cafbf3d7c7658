# SPDX-License-Identifier: Apache-2.0
"""Health checks of mail against postfix and dovecot, over both families."""

import mail
from check_case import CheckCase

LOGIN = f"joe:{mail.PASSWORD}"


class Mail(CheckCase):
    CHECKS = {"smtp": ("25", 'health smtp/content "postmaster"'),
              "pop3": ("110", f'health pop3/content "{LOGIN}"'),
              "imap": ("143", f'health imap/content "{LOGIN}"')}

    def serve(self):
        mail.start()
        self.addCleanup(mail.stop)

    def content(self, word, text):
        self.set(word, f'content "{text}"')

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
        for word in self.CHECKS:
            self.assertIn("refused", self.wait_for(word, "FAILED"))
        mail.start()
        for word in self.CHECKS:
            self.wait_for(word, "up")
