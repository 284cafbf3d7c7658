# SPDX-License-Identifier: Apache-2.0
"""Graded checks of directories: numbers with bounds, and alerts, against 389 Directory Server and slapd, over both families."""

import directory_servers as directory
import stream_servers as servers
from check_case import CheckCase
from host import wait_until

HEALTH = "/c/slb/advhc/health"
NUMBERS = f"{directory.PORT} tcp, health ldap"
#: Longer than any wait for a state: what comes before it was brought forward.
RARELY = 60


class Directory(CheckCase):
    CHECK, SETTINGS = "", ""

    @classmethod
    def setUpClass(cls):
        cls.CHECKS = {NUMBERS: (directory.PORT, f"health {cls.CHECK}")}
        cls.OBJECTS = (f"{HEALTH} {cls.CHECK} ldap/{cls.SETTINGS}",)
        cls.OBJECTS_GONE = (f"{HEALTH} {cls.CHECK}/del",)

    def serve(self):
        self.addCleanup(directory.stop)
        directory.start()
        directory.set_value(directory.REPLICA, "missing-changes", 0)

    def wait_reason(self, state, text):
        wait_until(lambda: self.wait_for(NUMBERS, state).count(text) == 2, f"both to be {state} with \"{text}\"", 20)


class Backlog(Directory):
    CHECK, SETTINGS = "backlog", f'content "{directory.REPLICA}"/addbound missing-changes 1000 500 5000'

    def tells(self, missing):
        directory.set_value(directory.REPLICA, "missing-changes", missing)

    def test_a_backlog_degrades_and_only_a_smaller_one_restores(self):
        self.tells(1200)
        self.wait_reason("degraded", "missing-changes 1200, more than 1000")
        self.tells(700)
        self.wait_reason("degraded", "missing-changes 700, not yet less than 500")
        self.tells(499)
        self.wait_for(NUMBERS, "up")
        self.tells(5001)
        self.wait_reason("FAILED", "missing-changes 5001, more than 5000")

    def test_what_is_no_number_or_not_there_fails(self):
        self.tells("many")
        self.wait_reason("FAILED", 'missing-changes is "many", no number')
        self.tells(0)
        self.wait_for(NUMBERS, "up")
        self.tells(None)
        self.wait_reason("FAILED", "no missing-changes")

    def test_a_value_may_be_bounded(self):
        self.switch.change(f'{HEALTH} backlog/attr missing-changes/expect "<=10"')
        self.wait_for(NUMBERS, "up")
        self.tells(11)
        self.wait_reason("FAILED", 'missing-changes is "11", wanted at most 10')


class Alerts(Directory):
    CHECK, SETTINGS = "watched", f"alerts ena/inter {RARELY}"

    def test_an_alert_is_looked_into_at_once(self):
        directory.await_watches(2)
        directory.set_value(directory.MONITOR, "unavailable-alert-type", "replication-backlogged")
        self.assertIn("up", self.wait_for(NUMBERS, "up"))
        directory.raise_alert(1)
        self.wait_reason("FAILED", "unavailable-alert-type replication-backlogged")
        directory.set_value(directory.MONITOR, "unavailable-alert-type", None)
        self.switch.change(f"{HEALTH} watched/inter 4")
        self.wait_for(NUMBERS, "up")

    def test_an_alert_that_degrades_is_named(self):
        directory.await_watches(2)
        directory.set_value(directory.MONITOR, "degraded-alert-type", "low-disk-space")
        directory.raise_alert(1)
        self.wait_reason("degraded", "degraded-alert-type low-disk-space")

    def test_a_watch_that_is_lost_is_begun_again_and_ends_with_its_check(self):
        directory.await_watches(2)
        self.switch.change(f"{HEALTH} watched/inter 2")
        directory.stop_directory()
        wait_until(lambda: self.switch.log().count("are not watched") == 2, "both watches to be missed", 20)
        directory.start_directory()
        directory.await_watches(2)
        self.wait_for(NUMBERS, "up")
        self.switch.change(f"{HEALTH} watched/alerts dis")
        directory.await_watches(0)


class Unwatched(CheckCase):
    """slapd has a cn=monitor, and no alerts to be watched."""

    CHECK = "ldap tcp, health ldap"
    CHECKS = {CHECK: ("389", "health unwatched")}
    OBJECTS = (f"{HEALTH} unwatched ldap/alerts ena/content \"{servers.SUFFIX}\"/addbound description 20 10",)
    OBJECTS_GONE = (f"{HEALTH} unwatched/del",)

    def serve(self):
        self.addCleanup(servers.stop)
        servers.prepare()
        servers.start_ldap()

    def test_a_watch_that_is_refused_decides_nothing_and_is_told_once(self):
        wait_until(lambda: self.switch.log().count("are not watched") == 2, "both refusals", 20)
        self.wait_for(self.CHECK, "up")
        opened = self.checks()
        wait_until(lambda: self.checks() >= opened + 3, "three more checks", 30)
        self.assertEqual(self.switch.log().count("are not watched"), 2)

    def checks(self):
        """In a row, of the server of the first family."""
        screen = self.switch.show("/info/slb/health 61")
        return int(screen.split(" passed")[0].split()[-1])

    def test_a_plain_entry_has_bounds(self):
        self.switch.change(f"{HEALTH} unwatched/rembound description 20 10", f"{HEALTH} unwatched/addbound description 16 10")
        wait_until(lambda: self.wait_for(self.CHECK, "degraded").count("description 17, more than 16") == 2,
                   "both to be degraded", 20)
