# SPDX-License-Identifier: Apache-2.0
"""Nothing is left behind: by `lab down`, by an interrupted demo, by a run that was killed."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import host
import lab
import snapshot
from host import wait_until
from lab_case import BUILD, NoLabCase

FOLDER = Path(__file__).parent


def program(name, *arguments):
    return subprocess.Popen([sys.executable, FOLDER / name, *arguments], stdin=subprocess.DEVNULL,
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def finish(process, seconds=120):
    output, _ = process.communicate(timeout=seconds)
    return process.returncode, output.strip().splitlines()


class CleanUp(NoLabCase):
    def setUp(self):
        super().setUp()
        self.before = snapshot.take()

    def tearDown(self):
        finish(program("lab.py", "down"))

    def assert_nothing_left(self):
        self.assertEqual(snapshot.difference(self.before, snapshot.take()), {})

    def test_lab_up_then_down_leaves_nothing(self):
        status, lines = finish(program("lab.py", "up", str(BUILD)))
        self.assertEqual((status, lines[-1]), (0, "lab up: done"))
        self.assertNotEqual(snapshot.difference(self.before, snapshot.take()), {}, "the comparison sees a lab")
        status, lines = finish(program("lab.py", "up", str(BUILD)))
        self.assertEqual((status, lines), (1, ["lab up failed: the lab is up already; `./run lab down` removes it"]))
        status, lines = finish(program("lab.py", "down"))
        self.assertEqual((status, lines[-1]), (0, "lab down: everything removed"))
        self.assert_nothing_left()

    def interrupted_demo(self, number, under_way):
        demo = program("demo.py", str(BUILD))
        wait_until(lambda: host.read_state().get("owner"), "the demo to raise its lab", 20, 0.02)
        if under_way:
            wait_until(lambda: (host.ROOT / "lab.cfg").exists(), "the demo to be under way", 30, 0.02)
        os.kill(demo.pid, number)
        status, lines = finish(demo)
        self.assertNotEqual(status, 0)
        return lines

    def test_a_demo_interrupted_while_it_raises_the_lab_leaves_nothing(self):
        lines = self.interrupted_demo(signal.SIGINT, under_way=False)
        self.assertEqual(lines[-1], "demo was interrupted by SIGINT; the lab is removed")
        self.assert_nothing_left()

    def test_a_demo_terminated_under_way_leaves_nothing(self):
        lines = self.interrupted_demo(signal.SIGTERM, under_way=True)
        self.assertEqual(lines[-1], "demo was interrupted by SIGTERM; the lab is removed")
        self.assert_nothing_left()

    def test_what_a_killed_demo_leaves_is_removed_by_lab_down(self):
        self.interrupted_demo(signal.SIGKILL, under_way=True)
        self.assertEqual(lab.state_of_lab(), "stale")
        status, lines = finish(program("lab.py", "down"))
        self.assertEqual((status, lines[-1]), (0, "lab down: everything removed"))
        self.assert_nothing_left()

    def test_a_lab_that_cannot_be_raised_leaves_nothing(self):
        status, lines = finish(program("lab.py", "up", "/nonexistent"))
        self.assertEqual(status, 1)
        self.assertIn("/nonexistent/dataplane/shell/headgate-dataplane is missing", lines[-1])
        self.assert_nothing_left()
