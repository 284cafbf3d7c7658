# SPDX-License-Identifier: Apache-2.0
"""`./run test [SUITE...]`: meson's suites and the system tests, summed in one closing line.

    run_tests.py BUILD [unit|packet|scenario|fuzz|system ...]
"""

import json
import os
import subprocess
import sys
import unittest
from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(TESTS / "system"))

import lab  # noqa: E402
from host import LabError  # noqa: E402
from lab_case import SharedLab  # noqa: E402

MESON_SUITES = ("unit", "packet", "scenario")


class Count:
    """How many tests passed and failed; a skipped test counts as failed, for nothing may be skipped unseen."""

    def __init__(self):
        self.passed, self.failed = 0, 0

    def add(self, passed, failed):
        self.passed, self.failed = self.passed + passed, self.failed + failed


def registered(build, suites):
    """The meson tests in these suites."""
    listing = json.loads((build / "meson-info/intro-tests.json").read_text())
    return [t for t in listing if any(s.rpartition(":")[2] in suites for s in t["suite"])]


def gtest_counts(text, ok):
    """(passed, failed) test cases of one program: what GoogleTest printed, else the program itself is the case."""
    passed = [l for l in text.splitlines() if l.startswith("[       OK ]")]
    failed = [l for l in text.splitlines() if l.startswith("[  FAILED  ]") and l.endswith(")") and " (" in l]
    if not passed and not failed:
        return (1, 0) if ok else (0, 1)
    return len(passed), max(len(failed), 0 if ok else 1)


def run_meson(build, suites, count):
    """Runs the suites; prints a line for each program, and the output of those that failed."""
    if not registered(build, suites):
        print(f"no test is registered in {', '.join(suites)}")
        return
    log = build / "meson-logs/testlog.json"
    log.unlink(missing_ok=True)
    options = [option for suite in suites for option in ("--suite", suite)]
    done = subprocess.run(["meson", "test", "-C", build, "--no-rebuild", *options], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, text=True, check=False)
    results = [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []
    for result in results:
        ok = result["result"] in ("OK", "EXPECTEDFAIL")
        passed, failed = gtest_counts(result.get("stdout", ""), ok)
        count.add(passed, failed)
        print(f"{'ok  ' if ok else 'FAIL'} {result['name']}: {passed} passed, {failed} failed, {result['duration']:.1f} s")
        if not ok:
            print("\n".join((result.get("stdout", "") + result.get("stderr", "")).splitlines()[-60:]))
    if not results or (done.returncode != 0 and count.failed == 0):
        count.add(0, 1)
        print(f"FAIL meson test: {done.stdout.strip().splitlines()[-1:]}")


def run_system(build, count):
    """The unittest modules of tests/system, on one lab where they can share it."""
    os.environ["HEADGATE_BUILD"] = str(build)
    suite = unittest.defaultTestLoader.discover(str(TESTS / "system"), "test_*.py")
    print("system tests: they raise the lab a few times, and take some minutes", flush=True)
    try:
        result = unittest.TextTestRunner(stream=sys.stdout, verbosity=2).run(suite)
    finally:
        SharedLab.remove()
    failed = len(result.failures) + len(result.errors) + len(result.skipped) + len(result.unexpectedSuccesses)
    count.add(result.testsRun - failed, failed)


def main():
    build, asked = Path(sys.argv[1]).resolve(), sys.argv[2:]
    unknown = [s for s in asked if s not in (*MESON_SUITES, "fuzz", "system")]
    if unknown:
        raise LabError(f"there is no suite '{unknown[0]}'; unit, packet, scenario, system and fuzz are")
    count = Count()
    suites = [s for s in MESON_SUITES if not asked or s in asked]
    if suites:
        run_meson(build, suites, count)
    if not asked or "fuzz" in asked:
        run_meson(build.with_name(build.name + "-fuzz"), ["fuzz"], count)
    if not asked or "system" in asked:
        run_meson(build, ["system"], count)
        run_system(build, count)
    if count.passed == 0 and count.failed == 0:
        count.add(0, 1)  # that nothing ran is no success
    print(f"{count.passed} passed, {count.failed} failed")
    if count.failed:
        sys.exit(1)


if __name__ == "__main__":
    sys.exit(lab.guarded(main, "test"))
