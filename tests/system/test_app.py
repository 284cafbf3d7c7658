# SPDX-License-Identifier: Apache-2.0
"""Application checks against nginx over both families: what fails of it as a whole and in part, and what is done then."""

import app_servers as app
from check_case import ADDRESSES, CheckCase
from host import wait_until

CHECK = f"{app.PORT} tcp, health app"
HEALTH = "/c/slb/advhc/health shop"
SHOWN = {real: f"[{address}]" if ":" in address else address for real, address in ADDRESSES.items()}
CALL = f'"http://10.10.2.61:{app.CALLS_PORT}/failover"'


class App(CheckCase):
    CHECKS = {CHECK: (app.PORT, "health shop")}
    OBJECTS = (f'{HEALTH} app/content "/ping"/ports "{app.PORT}"/inter 2/timeout 1/restr 1/window 60',)
    OBJECTS_GONE = (f"{HEALTH}/del",)

    def serve(self):
        self.addCleanup(app.stop)
        app.start()

    def fails(self, *wanted):
        """The check of both families, for this reason; `{}` in it is the address."""
        said = self.wait_for(CHECK, "FAILED")
        for address in SHOWN.values():
            for text in wanted:
                self.assertIn(text.format(address), said)

    def health(self):
        return [self.switch.show(f"/info/slb/health {real}") for real in ADDRESSES]

    def wait_for_health(self, text):
        """Until the screens of both families have it."""
        wait_until(lambda: all(text in screen for screen in self.health()), f"{text!r} on both screens", 30)

    def log_has(self, text):
        self.assertIn(text, self.switch.show("/info/sys/log"))

    def test_a_server_that_is_stopped_is_restarted_by_its_command(self):
        self.switch.change(f'{HEALTH}/restart "{app.RESTART} \'of the shop\' now"')
        app.stop_nginx()
        wait_until(lambda: any("restart done in" in screen for screen in self.health()), "nginx to be restarted", 20)
        self.wait_for(CHECK, "up")
        restarted = [real for real, screen in zip(ADDRESSES, self.health()) if "restart done in" in screen]
        self.assertNotEqual(restarted, [], "that of one family may have found it restarted by that of the other")
        for real in restarted:
            service = f"{SHOWN[real]}:{app.PORT}"
            self.assertIn(f"restart of real server {real}, {ADDRESSES[real]} port {app.PORT}: {service} connect: refused "
                          "(of the shop now)", app.lines_of(app.RESTARTS))
            for line in (f" fails its check: {service} connect: refused", f": restart begun: {service} connect: refused", ": restart done in "):
                self.log_has(f"slb: real service {service}{line}")

    def test_any_status_is_an_answer_but_500(self):
        self.switch.change(f'{HEALTH}/content "/ping /absent /gone"')
        self.wait_for(CHECK, "up")
        self.switch.change(f'{HEALTH}/content "/ping /broken"')
        self.fails(f"{{}}:{app.PORT} GET /broken: status 500")

    def test_what_is_not_done_in_time_fails_in_part(self):
        self.switch.change(f'{HEALTH}/content "/slow"')
        self.wait_for_health("failures that count: 0.5 complete")
        self.fails(f"{{}}:{app.PORT} GET /slow: not done in 1.0 s")
        self.switch.change(f'{HEALTH}/content "/ping"')
        self.wait_for(CHECK, "up")
        self.switch.change(f'{HEALTH}/content none/ports "{app.PORT} {app.HELD_PORT}"')
        self.wait_for_health("failures that count: 0.5 complete")
        self.fails(f"{{}}:{app.HELD_PORT} disconnect: not done in 1.0 s")
        self.log_has(f"fails its check in part, 50 of 100: 10.10.2.61:{app.HELD_PORT} disconnect: not done in 1.0 s")

    def test_restarts_that_do_not_help_are_followed_by_one_failover(self):
        self.switch.change(f'{HEALTH}/content "/broken"/restart "{app.USELESS}"/rcount 2/failover {CALL}')
        self.wait_for_health("failover done in")
        for screen in self.health():
            self.assertEqual(screen.count(f"restart failed: {app.USELESS}: ended with status 3"), 2, screen)
            self.assertEqual(screen.count("failover done in"), 1, screen)
        told = sorted(app.calls(), key=lambda call: call["real"])
        self.assertEqual([(call["action"], call["real"], call["address"], call["port"]) for call in told],
                         [("failover", real, address, app.PORT) for real, address in ADDRESSES.items()])
        self.assertIn("GET /broken: status 500", told[0]["reason"])

    def test_some_statuses_demand_failover_at_once_and_the_history_lasts(self):
        self.switch.change(f'{HEALTH}/content "/gone"/failnow 503/restart "{app.RESTART}"/failover {CALL}')
        self.wait_for_health("failover done in")
        self.assertEqual(app.lines_of(app.RESTARTS), [])
        self.assertEqual(len(app.calls()), len(ADDRESSES))
        self.switch.change("/c/slb/real 61/name shop")
        self.assertIn("failover done in", self.health()[0])
        self.switch.kill("headgated")
        self.switch.wait_for_cli()
        wait_until(lambda: all("none yet" not in screen for screen in self.health()), "a check after the restart", 20)
        self.wait_for_health("failover done in")
        self.fails("GET /gone: status 503")
        self.assertEqual(len(app.calls()), len(ADDRESSES))

    def test_an_action_that_cannot_be_done_is_a_line(self):
        self.switch.change(f'{HEALTH}/content "/broken"/restart "/no/such/program"')
        self.wait_for_health("restart failed: /no/such/program: No such file or directory")
        self.log_has("restart failed: /no/such/program: No such file or directory")
