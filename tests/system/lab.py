# SPDX-License-Identifier: Apache-2.0
"""The lab: raises and removes clients, switch and servers in network namespaces of this machine.

    lab.py up BUILD     leaves it running, configured, for whoever wants to play
    lab.py down         removes all of it, also what a killed run left
    lab.py fail N [http|ftp]   ends the services of real server N, or one of them
    lab.py heal N [http|ftp]   starts them again
"""

import contextlib
import os
import signal
import sys

import host
import network
import processes
import servers
from host import LabError, Lock
from switch import FILE_PREFIX, HUGEPAGES, RUN, Switch

HINT = """
The lab is up: client 10.10.1.10, VIPs {vip} and {vip6} (http 80, UDP echo 5300; ftp 21 on the first),
servers 10.10.2.11 to .13 and 2001:db8:2::11 to ::13.
  the CLI:         {cli} --run-dir {run}
  as the client:   nsenter --net=/run/netns/hg-client curl http://{vip}/
  a failure:       ./run lab fail 1       and its end: ./run lab heal 1
  a server's side: nsenter --net=/run/netns/hg-s1 ss -tn
  logs:            {root}/*.log, {root}/s1/access.log
  its end:         ./run lab down
"""


class Interrupted(BaseException):
    """SIGTERM or SIGINT, as an exception, so that every `finally` runs. Not an Exception: nobody swallows it."""


def _interrupt(number, _frame):
    for again in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(again, signal.SIG_IGN)  # the clean-up is not to be interrupted

    def raise_it():
        raise Interrupted(signal.Signals(number).name)
    host.interrupt(raise_it)


def interruptible():
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, _interrupt)


def state_of_lab():
    """"none", "busy" (its runner lives), "kept" (`lab up`), or "stale" (its runner was killed)."""
    if not host.ROOT.exists():
        return "none"
    state = host.read_state()
    if state.get("kept"):
        return "kept"
    owner = state.get("owner")
    return "busy" if owner and host.start_time(owner[0]) == owner[1] else "stale"


def claim(namespaces=tuple(network.ALL)):
    """Makes sure that there is no lab, removing a stale one, and marks a new one, of these namespaces, as ours."""
    found = state_of_lab()
    if found in ("kept", "busy"):
        raise LabError("the lab is up already; `./run lab down` removes it")
    if found == "stale":
        print("removing what a killed run left in the lab")
        remove()
    host.ROOT.mkdir(mode=0o755)
    nr = host.NR_HUGEPAGES
    host.write_state({"owner": [os.getpid(), host.start_time(os.getpid())], "namespaces": list(namespaces),
                      "hugepages": int(nr.read_text()) if nr.exists() else None})


def raise_switch(build):
    """Network, servers, and the two programs, not yet configured."""
    network.build()
    servers.start_all()
    switch = Switch(build)
    switch.start(no_huge=not host.take_hugepages(HUGEPAGES))
    return switch


def remove():
    """Removes everything, whatever state it is in; can be repeated."""
    state = host.read_state()
    processes.stop_all(first=["supervisor"])
    network.remove(state.get("namespaces", network.ALL))
    host.give_hugepages_back(state.get("hugepages"), FILE_PREFIX)
    host.remove_netns_mount()
    host.remove_root()


@contextlib.contextmanager
def running(build, configured=True):
    """A lab for the time of a `with`: gone afterwards, however that ends."""
    with Lock():
        claim()
        try:
            switch = raise_switch(build)
            if configured:
                switch.configure()
                switch.wait_all_up()
            yield switch
        finally:
            remove()


def up(build):
    with Lock():
        claim()
        try:
            print("raising namespaces, servers and the switch ...", flush=True)
            switch = raise_switch(build)
            switch.configure()
            switch.wait_all_up()
            host.write_state({**host.read_state(), "kept": True})
        except BaseException:
            remove()
            raise
    print(HINT.format(vip=network.VIP, vip6=network.VIP6, cli=switch.cli_program, run=RUN, root=host.ROOT))
    print("lab up: done")


def down():
    with Lock():
        if state_of_lab() == "none":
            print("lab down: there was no lab")
            return
        remove()
    print("lab down: everything removed")


def services_of(arguments):
    """The real server and its services that `fail` and `heal` are about."""
    number, names = arguments[:1], arguments[1:] or ["http", "ftp"]
    known = [str(server) for server in network.SERVERS]
    if not number or number[0] not in known or not set(names) <= {"http", "ftp"}:
        raise LabError(f"a real server is needed ({', '.join(known)}), then http or ftp, or nothing for both")
    if state_of_lab() != "kept":
        raise LabError("there is no lab; `./run lab up` raises one")
    return int(number[0]), names


def fail(*arguments):
    number, names = services_of(arguments)
    for name in names:
        {"http": servers.quit_http, "ftp": servers.stop_ftp}[name](number)
    print(f"lab fail: {' and '.join(names)} of real server {number} ended")


def heal(*arguments):
    number, names = services_of(arguments)
    start = {"http": (servers.stop_http, servers.start_http), "ftp": (servers.stop_ftp, servers.start_ftp)}
    for name in names:
        for step in start[name]:
            step(number)
    print(f"lab heal: {' and '.join(names)} of real server {number} started")


def guarded(action, name):
    """Runs an entry point: one closing line when it fails, and the exit status."""
    interruptible()
    try:
        action()
        return 0
    except LabError as error:
        print(f"{name} failed: {error}")
    except Interrupted as signal_name:
        print(f"{name} was interrupted by {signal_name}; the lab is removed")
    return 1


if __name__ == "__main__":
    actions = {"up": lambda: up(sys.argv[2]), "down": down, "fail": lambda: fail(*sys.argv[2:]),
               "heal": lambda: heal(*sys.argv[2:])}
    sys.exit(guarded(actions[sys.argv[1]], f"lab {sys.argv[1]}"))
