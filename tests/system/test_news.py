# SPDX-License-Identifier: Apache-2.0
"""The health check of news against INN, over both families."""

import news
from check_case import CheckCase

CHECK = f"{news.PORT} tcp, health nntp"


class News(CheckCase):
    CHECKS = {CHECK: (news.PORT, f'health nntp/content "{news.GROUP}"')}

    def serve(self):
        self.addCleanup(news.stop)
        news.start()

    def test_a_group_that_is_not_there_fails_with_the_answer_of_inn(self):
        self.set(CHECK, 'content "no.such"')
        self.assertIn('GROUP no.such: "411 No such group no.such"', self.wait_for(CHECK, "FAILED"))
        self.set(CHECK, f'content "{news.GROUP}"')
        self.wait_for(CHECK, "up")

    def test_what_is_not_there_is_refused_and_comes_back(self):
        news.end()
        self.assertIn("refused", self.wait_for(CHECK, "FAILED"))
        news.start()
        self.wait_for(CHECK, "up")
