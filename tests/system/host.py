# SPDX-License-Identifier: Apache-2.0
"""What the lab does to the host itself: commands, the lock, hugepages, mounts. Each change can be undone."""

import json
import os
import shutil
import socket
import subprocess
import time
from pathlib import Path

ROOT = Path("/run/hg-lab")  # all that the lab keeps, removed at its end
STATE = ROOT / "state.json"
HUGE = ROOT / "huge"
NR_HUGEPAGES = Path("/proc/sys/vm/nr_hugepages")
NETNS = Path("/run/netns")


class LabError(Exception):
    """One sentence for the person who called `run`."""


class _Interrupts:
    """A command that is just being started is nobody's child yet: an interruption waits until it can be ended."""

    starting = False
    late = None  # raises what came meanwhile

    @classmethod
    def hold(cls):
        cls.starting = True

    @classmethod
    def release(cls):
        cls.starting = False
        if cls.late:
            late, cls.late = cls.late, None
            late()


def interrupt(raise_it):
    """For handlers of signals: raises, at once or as soon as no command is just being started."""
    if _Interrupts.starting:
        _Interrupts.late = raise_it
    else:
        raise_it()


def _run(argv, timeout, **kwargs):
    """As subprocess.run; a command is over before an interruption goes on, so that whoever cleans up finds all that it did."""
    text = kwargs.pop("input", None)
    if text is not None:
        kwargs["stdin"] = subprocess.PIPE
    _Interrupts.hold()
    try:
        process = subprocess.Popen(argv, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **kwargs)
    except BaseException:
        _Interrupts.release()
        raise
    try:
        _Interrupts.release()
        output, errors = process.communicate(text, timeout)
    except BaseException as failure:
        try:
            process.wait(0 if isinstance(failure, subprocess.TimeoutExpired) else 5)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        raise
    return subprocess.CompletedProcess(argv, process.returncode, output, errors)


def sh(*argv, check=True, timeout=60, **kwargs):
    """Runs a command; on failure raises LabError with what it said."""
    if "input" not in kwargs:
        kwargs["stdin"] = subprocess.DEVNULL
    done = _run([str(a) for a in argv], timeout, **kwargs)
    if check and done.returncode != 0:
        said = " | ".join((done.stderr.strip() or done.stdout.strip() or "nothing").splitlines()[:5])
        raise LabError(f"`{' '.join(str(a) for a in argv)}` failed with status {done.returncode}: {said}")
    return done


def inside(namespace, *argv):
    """The command line that runs `argv` in a network namespace."""
    return ["nsenter", f"--net={NETNS / namespace}", "--", *[str(a) for a in argv]]


def wait_until(condition, what, seconds=20.0, every=0.1):
    """Polls until `condition()` is true and returns its value; LabError names `what` when it never is."""
    deadline = time.monotonic() + seconds
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > deadline:
            raise LabError(f"waited {seconds:g} s for {what}, in vain")
        time.sleep(every)


def start_time(pid):
    """When a process started, in clock ticks since boot; tells a pid from its later re-use. None: no such process."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return None
    fields = stat.rpartition(")")[2].split()
    return None if fields[0] == "Z" else int(fields[19])


class Lock:
    """Held by the one runner that may build, use or remove the lab; the kernel frees it when the holder dies.

    An abstract socket address: exclusive, atomic, and no file is left behind.
    """

    NAME = "\0headgate-lab"

    def __enter__(self):
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        try:
            self._socket.bind(self.NAME)
        except OSError:
            self._socket.close()
            raise LabError("another demo, test, bench or lab command is at work in the lab; wait for its end") from None
        return self

    def __exit__(self, *_):
        self._socket.close()


def is_mount(path):
    return any(line.split()[1] == str(path) for line in Path("/proc/mounts").read_text().splitlines())


def hugetlbfs_mounts():
    lines = (line.split() for line in Path("/proc/mounts").read_text().splitlines())
    return [Path(fields[1]) for fields in lines if fields[2] == "hugetlbfs"]


def free_hugepages():
    for line in Path("/proc/meminfo").read_text().splitlines():
        if line.startswith("HugePages_Free:"):
            return int(line.split()[1])
    return 0


def take_hugepages(wanted):
    """Makes `wanted` 2 MiB pages free and a hugetlbfs mount available; false when this machine has not got them."""
    if not NR_HUGEPAGES.exists():
        return False
    missing = wanted - free_hugepages()
    if missing > 0:
        try:
            NR_HUGEPAGES.write_text(str(int(NR_HUGEPAGES.read_text()) + missing))
        except OSError:
            return False
    if not hugetlbfs_mounts():
        HUGE.mkdir(exist_ok=True)
        if sh("mount", "-t", "hugetlbfs", "nodev", HUGE, check=False).returncode != 0:
            return False
    return free_hugepages() >= wanted


def give_hugepages_back(before, file_prefix):
    """Undoes take_hugepages(), also what a killed DPDK program left in the file system."""
    for mount in hugetlbfs_mounts():
        for leftover in mount.glob(f"{file_prefix}*"):
            leftover.unlink(missing_ok=True)
    while is_mount(HUGE):
        if sh("umount", HUGE, check=False).returncode != 0:
            sh("umount", "-l", HUGE)
    if before is not None and NR_HUGEPAGES.exists() and int(NR_HUGEPAGES.read_text()) != before:
        NR_HUGEPAGES.write_text(str(before))


def remove_netns_mount():
    """`ip netns add` turns /run/netns into a mount of itself, and leaves it; undone when nobody uses it."""
    if NETNS.is_dir() and not any(NETNS.iterdir()):
        while is_mount(NETNS):
            sh("umount", NETNS)
        NETNS.rmdir()


def read_state():
    try:
        return json.loads(STATE.read_text())
    except (FileNotFoundError, json.JSONDecodeError):
        return {}


def write_state(state):
    fresh = STATE.with_suffix(".new")
    fresh.write_text(json.dumps(state))
    os.replace(fresh, STATE)


def remove_root():
    shutil.rmtree(ROOT, ignore_errors=True)
    if ROOT.exists():
        raise LabError(f"could not remove {ROOT}")
