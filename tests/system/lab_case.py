# SPDX-License-Identifier: Apache-2.0
"""What the system tests share: one lab for all of them, all servers up before each test."""

import os
import unittest
from pathlib import Path

import host
import lab
import story

BUILD = Path(os.environ.get("HEADGATE_BUILD", Path(__file__).parents[2] / "build"))


class SharedLab:
    """Raised by the first test that needs it, removed by the runner at the end (or by a test that wants none)."""

    _context = _switch = None

    @classmethod
    def switch(cls):
        if cls._switch is None:
            cls._context = lab.running(BUILD)
            cls._switch = cls._context.__enter__()
        return cls._switch

    @classmethod
    def remove(cls):
        if cls._context is not None:
            context, cls._context, cls._switch = cls._context, None, None
            context.__exit__(None, None, None)


class LabCase(unittest.TestCase):
    """A test on the shared lab, with the configuration of the lab and everything up."""

    longMessage = True

    def setUp(self):
        self.switch = SharedLab.switch()
        story.restore(self.switch)

    def assert_no_failures(self, result, message=""):
        self.assertEqual(result["failures"], [], message)


class NoLabCase(unittest.TestCase):
    """A test that raises and removes labs itself."""

    def setUp(self):
        SharedLab.remove()
        self.assertFalse(host.ROOT.exists())
