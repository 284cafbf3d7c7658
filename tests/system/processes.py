# SPDX-License-Identifier: Apache-2.0
"""Processes of the lab: started in a namespace, recorded with their start time, ended by that record alone."""

import json
import os
import signal
import subprocess
import time

from host import NETNS, ROOT, LabError, inside, sh, start_time, wait_until

RECORDS = ROOT / "processes"
_children = {}  # name -> Popen of those this runner started, so that they are reaped


def start(name, argv, namespace, env=None):
    """Starts `argv` in a namespace, output to a log of its name; returns its pid."""
    RECORDS.mkdir(parents=True, exist_ok=True)
    with open(ROOT / f"{name}.log", "ab") as log:
        child = subprocess.Popen(inside(namespace, *argv), stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                 start_new_session=True, env={**os.environ, **(env or {})})
    record = {"pid": child.pid, "start": start_time(child.pid)}
    (RECORDS / f"{name}.json").write_text(json.dumps(record))
    _children[name] = child
    return child.pid


def pid_of(name):
    """The pid of a recorded process that still runs as the one it was; None otherwise."""
    if name in _children and _children[name].poll() is not None:
        return None
    try:
        record = json.loads((RECORDS / f"{name}.json").read_text())
    except (FileNotFoundError, json.JSONDecodeError):
        return None
    return record["pid"] if start_time(record["pid"]) == record["start"] and record["start"] else None


def tell(name, number):
    """Sends a signal to a recorded process; nothing when it is gone."""
    pid = pid_of(name)
    if pid:
        os.kill(pid, number)
    return pid


def stop(name, number=signal.SIGTERM, seconds=5.0):
    """Ends a recorded process, with SIGKILL when it does not follow in time, and forgets it."""
    if tell(name, number):
        try:
            wait_until(lambda: pid_of(name) is None, f"the end of {name}", seconds, 0.02)
        except LabError:
            tell(name, signal.SIGKILL)
            wait_until(lambda: pid_of(name) is None, f"the end of {name} after SIGKILL", seconds, 0.02)
    (RECORDS / f"{name}.json").unlink(missing_ok=True)


def log_of(name, lines=5):
    """The last lines that a process wrote, for error messages."""
    try:
        return " | ".join((ROOT / f"{name}.log").read_text(errors="replace").splitlines()[-lines:]) or "(wrote nothing)"
    except FileNotFoundError:
        return "(no log)"


def stop_all(first=()):
    """Ends every recorded process: those named in `first` before the rest, which end together."""
    names = [path.stem for path in RECORDS.glob("*.json")] if RECORDS.exists() else []
    for name in [n for n in first if n in names]:
        stop(name)
    for name in names:
        tell(name, signal.SIGTERM)
    for name in names:
        stop(name)


def in_namespace(namespace):
    if not (NETNS / namespace).exists():
        return []
    return [int(pid) for pid in sh("ip", "netns", "pids", namespace, check=False).stdout.split()]


def clear_namespace(namespace, seconds=5.0):
    """Ends whatever still runs in a namespace of ours: children of recorded processes, shells of a visitor."""
    deadline = time.monotonic() + seconds
    while pids := [pid for pid in in_namespace(namespace) if start_time(pid)]:
        for pid in pids:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        if time.monotonic() > deadline:
            raise LabError(f"processes {pids} in namespace {namespace} do not end")
        time.sleep(0.02)
