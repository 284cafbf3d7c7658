# SPDX-License-Identifier: Apache-2.0
"""Keeps headgate-dataplane and headgated running in the lab, as systemd does on an appliance.

    supervisor.py FOLDER     FOLDER/NAME.json: {"argv": [...]}, started in the order of their names

A program that ends is started again at once, and with growing pauses (to 1 s) when it ends soon after its start.
FOLDER/NAME.pid tells the current pid; while FOLDER/NAME.pause exists NAME is left dead.
"""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

QUICK = 5.0  # a program that ran for less than so many seconds has failed to start


class Program:
    def __init__(self, spec):
        self.name, self.folder = spec.stem, spec.parent
        self.argv = json.loads(spec.read_text())["argv"]
        self.child, self.started, self.pause, self.not_before = None, 0.0, 0.0, 0.0

    def paused(self):
        return (self.folder / f"{self.name}.pause").exists()

    def start(self):
        with open(self.folder.parent / f"{self.name}.log", "ab") as log:
            self.child = subprocess.Popen(self.argv, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        self.started = time.monotonic()
        fresh = self.folder / f"{self.name}.pid.new"
        fresh.write_text(str(self.child.pid))
        os.replace(fresh, self.folder / f"{self.name}.pid")

    def note_end(self):
        ran = time.monotonic() - self.started
        print(f"{self.name} ended with status {self.child.returncode} after {ran:.1f} s", flush=True)
        (self.folder / f"{self.name}.pid").unlink(missing_ok=True)
        self.child = None
        self.pause = 0.0 if ran > QUICK else min(1.0, self.pause * 2 or 0.1)
        self.not_before = time.monotonic() + self.pause

    def tend(self):
        if self.child and self.child.poll() is not None:
            self.note_end()
        if not self.child and not self.paused() and time.monotonic() >= self.not_before:
            self.start()

    def end(self, number):
        if self.child and self.child.poll() is None:
            self.child.send_signal(number)


def end_all(programs):
    for program in reversed(programs):
        program.end(signal.SIGTERM)
    deadline = time.monotonic() + 5
    while any(p.child and p.child.poll() is None for p in programs) and time.monotonic() < deadline:
        time.sleep(0.02)
    for program in programs:
        program.end(signal.SIGKILL)


def main(folder):
    programs = [Program(spec) for spec in sorted(Path(folder).glob("*.json"))]
    wanted = {signal.SIGTERM, signal.SIGINT}
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGCHLD})
    ending = []
    for number in wanted:
        signal.signal(number, lambda *_: ending.append(True))
    while not ending:
        for program in programs:
            program.tend()
        signal.sigtimedwait({signal.SIGCHLD}, 0.05)
    end_all(programs)


if __name__ == "__main__":
    main(sys.argv[1])
