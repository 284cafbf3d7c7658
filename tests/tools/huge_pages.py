# SPDX-License-Identifier: Apache-2.0
"""Explicit huge pages for the time of a measurement.

    huge_pages.py give-back SIZE COUNT ...   waits for the end of its standard input, then gives pages back

What is taken is given back by a process of its own, which waits for the taker's end: so also when that is killed.
"""

import contextlib
import subprocess
import sys
from pathlib import Path

SIZES = {"1G": 1048576, "2M": 2048}  # kB


def pool(size):
    return Path(f"/sys/kernel/mm/hugepages/hugepages-{SIZES[size]}kB/nr_hugepages")


def free(size):
    try:
        return int(pool(size).with_name("free_hugepages").read_text())
    except OSError:
        return 0


def add(size, count):
    """Has the kernel reserve `count` more (or fewer) pages of a size; returns how many more (or fewer) it has."""
    try:
        before = int(pool(size).read_text())
        pool(size).write_text(str(max(before + count, 0)))
        return int(pool(size).read_text()) - before
    except OSError:
        return 0


@contextlib.contextmanager
def reserved(wanted):
    """`wanted` ({size: pages}) free pages, or as many as there are to be had, for the time of a `with`. Its value
    tells how many of each size are free."""
    missing = {size: count - free(size) for size, count in wanted.items() if count > free(size)}
    arguments = [str(word) for size, count in missing.items() for word in (size, int(pool(size).read_text()))
                 if pool(size).exists()]
    guard = subprocess.Popen([sys.executable, __file__, "give-back", *arguments], stdin=subprocess.PIPE,
                             start_new_session=True)
    try:
        for size, count in missing.items():
            add(size, count)
        yield {size: min(free(size), count) for size, count in wanted.items()}
    finally:
        guard.stdin.close()
        guard.wait()


def give_back(arguments):
    """To what was there before, page sizes and counts in turn. Pages still in use go when they are let go of."""
    sys.stdin.buffer.read()
    for size, before in zip(arguments[::2], arguments[1::2]):
        with contextlib.suppress(OSError):
            pool(size).write_text(before)


if __name__ == "__main__" and sys.argv[1:2] == ["give-back"]:
    give_back(sys.argv[2:])
