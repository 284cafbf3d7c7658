# SPDX-License-Identifier: Apache-2.0
"""The switch under test: its programs under the supervisor, and its CLI, read as an administrator reads it."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import network
import processes
from host import ROOT, LabError, sh, start_time, wait_until

RUN = ROOT / "run"  # --run-dir of the lab's switch
FILE_PREFIX = "hg-lab"
HUGEPAGES = 384

CONFIG = """\
/c/port 1/device {device1}/driver {driver}/pvid 1
/c/port 2/device {device2}/driver {driver}/pvid 2
/c/l2/vlan 1/add 1
/c/l2/vlan 2/add 2
/c/l3/if 1/addr 10.10.1.5/mask 255.255.255.0/vlan 1/ena
/c/l3/if 2/addr 10.10.2.5/mask 255.255.255.0/vlan 2/ena
/c/l3/if 3/addr 2001:db8:1::5/mask 64/vlan 1/ena
/c/l3/if 4/addr 2001:db8:2::5/mask 64/vlan 2/ena
/c/slb/port 1/client ena
/c/slb/port 2/server ena
/c/slb/real 1/rip 10.10.2.11/inter 1/retry 2/restr 2/ena
/c/slb/real 2/rip 10.10.2.12/inter 1/retry 2/restr 2/ena
/c/slb/real 3/rip 10.10.2.13/inter 1/retry 2/restr 2/ena
/c/slb/real 11/rip 2001:db8:2::11/inter 1/retry 2/restr 2/ena
/c/slb/real 12/rip 2001:db8:2::12/inter 1/retry 2/restr 2/ena
/c/slb/real 13/rip 2001:db8:2::13/inter 1/retry 2/restr 2/ena
/c/slb/group 1/metric leastconns/health http/content "/health"/add 1/add 2/add 3
/c/slb/group 2/metric roundrobin/health tcp/add 1/add 2/add 3
/c/slb/group 3/metric roundrobin/health icmp/add 1/add 2/add 3
/c/slb/group 11/metric leastconns/health http/content "/health"/add 11/add 12/add 13
/c/slb/group 13/metric roundrobin/health icmp/add 11/add 12/add 13
/c/slb/virt 1/vip 10.10.1.100/ena
/c/slb/virt 1/service http/group 1/rport 8080
/c/slb/virt 1/service ftp/group 2
/c/slb/virt 1/service 5300/protocol udp/group 3
/c/slb/virt 6/vip 2001:db8:1::100/ena
/c/slb/virt 6/service http/group 11/rport 8080
/c/slb/virt 6/service 5300/protocol udp/group 13
/cfg/slb/on
"""


SERVICES = [(1, "http"), (1, "ftp"), (1, "5300"), (6, "http"), (6, "5300")]  # virtual server and service


class Switch:
    """Drives the programs of one build folder inside a namespace."""

    def __init__(self, build, namespace=network.SWITCH, sessions=262144):
        self.build, self.namespace, self.sessions = Path(build), namespace, sessions
        self.cli_program = self.build / "cli/headgate"
        self.programs, self.state = ROOT / "programs", ROOT / "state"
        self.huge = False  # whether there are huge pages for its sessions

    # ---- the programs

    def argv(self, no_huge):
        common = ["--run-dir", str(RUN), "--state-dir", str(self.state)]
        dataplane = [str(self.build / "dataplane/shell/headgate-dataplane"), *common, "--workers", "1",
                     "--sessions", str(self.sessions), "--file-prefix", FILE_PREFIX,
                     "--steering", str(self.build / "dataplane/shell/steering.o")]
        controlplane = [str(self.build / "controlplane/headgated"), *common]
        normal = ["--no-huge", "--session-dir", str(ROOT / "sessions")]
        return {"headgate-dataplane": dataplane + (normal if no_huge else []), "headgated": controlplane}

    def start(self, no_huge=False):
        self.huge = not no_huge
        for folder in (self.programs, RUN, self.state):
            folder.mkdir(parents=True, exist_ok=True)
        for name, argv in self.argv(no_huge).items():
            if not os.access(argv[0], os.X_OK):
                raise LabError(f"{argv[0]} is missing; `./run build` makes it")
            (self.programs / f"{name}.json").write_text(json.dumps({"argv": argv}))
        environment = {"RUNTIME_DIRECTORY": str(ROOT)}  # where DPDK keeps its run-time files
        processes.start("supervisor", [sys.executable, Path(__file__).with_name("supervisor.py"), self.programs],
                        self.namespace, environment)
        self.wait_for_cli()

    def wait_for_cli(self, seconds=20.0):
        def answers():
            return self.cli("/info/sys/log", check=False).returncode == 0
        try:
            wait_until(answers, "headgated to answer the CLI", seconds)
        except LabError as error:
            raise LabError(f"{error}; headgated: {processes.log_of('headgated')}; "
                           f"headgate-dataplane: {processes.log_of('headgate-dataplane')}") from None

    def stop(self):
        processes.stop("supervisor", seconds=8.0)

    def pid(self, name):
        try:
            pid = int((self.programs / f"{name}.pid").read_text())
        except (FileNotFoundError, ValueError):
            return None
        return pid if start_time(pid) else None

    def runs_for(self, name):
        """Seconds since a program was started; 0 while it does not run."""
        started = start_time(self.pid(name)) if self.pid(name) else None
        return time.clock_gettime(time.CLOCK_BOOTTIME) - started / os.sysconf("SC_CLK_TCK") if started else 0.0

    def kill(self, name):
        """kill -9; returns after the process is gone."""
        pid = wait_until(lambda: self.pid(name), f"{name} to run")
        os.kill(pid, signal.SIGKILL)
        wait_until(lambda: self.pid(name) != pid, f"{name} to die", 5, 0.01)
        return pid

    def pause(self, name):
        (self.programs / f"{name}.pause").touch()

    def resume(self, name):
        (self.programs / f"{name}.pause").unlink(missing_ok=True)

    # ---- the CLI

    def cli(self, *commands, check=True, timeout=30):
        """Feeds lines to one CLI session and returns what it did and printed."""
        try:
            done = subprocess.run([self.cli_program, "--run-dir", RUN], input="\n".join(commands) + "\n", text=True,
                                  capture_output=True, timeout=timeout, check=False)
        except OSError as error:
            raise LabError(f"the CLI can't be started: {error}") from None
        if check and done.returncode != 0:
            raise LabError(f"the CLI refused {list(commands)}: {(done.stdout + done.stderr).strip()}")
        return done

    def show(self, command):
        return self.cli(command).stdout

    def configure(self, text=None, driver="af_xdp", devices=("port1", "port2")):
        """Loads a configuration from a file, as an administrator would, applies and saves it."""
        text = text or CONFIG.format(driver=driver, device1=devices[0], device2=devices[1])
        file = ROOT / "lab.cfg"
        file.write_text(text + "apply\nsave\n")
        sh(self.cli_program, "--run-dir", RUN, file)

    def change(self, *lines):
        """Applies a few changes in one go; LabError when a line or the apply is refused."""
        return self.cli(*lines, "apply").stdout

    # ---- what the screens say

    def log(self):
        return self.show("/info/sys/log")

    def server_state(self, real):
        """State of a real server on /info/slb/dump: "up", "FAILED", "DISABLED", ..."""
        section = sections(self.show("/info/slb/dump")).get("Real server state", "")
        match = re.search(rf"^ *{real}: [\da-f.:]+,.*, ([^,\n]+)$", section, re.MULTILINE)
        return match.group(1).strip() if match else "absent"

    def service_states(self, service, virt=1):
        """{real: state} of one service ("http") of a virtual server on /info/slb/dump."""
        states, current = {}, (0, "")
        for line in sections(self.show("/info/slb/dump")).get("Virtual server state", "").splitlines():
            if server := re.match(r"^ *(\d+): IP[46] ", line):
                current = (int(server.group(1)), "")
            elif head := re.match(r"^\s+(\S+): rport ", line):
                current = (current[0], head.group(1))
            elif current == (virt, service) and (row := re.match(r"^\s+(\d+): [\da-f.:]+,.*, ([^,]+)$", line)):
                states[int(row.group(1))] = row.group(2).strip()
        return states

    def counter(self, row):
        """One number of /stats/slb/maint."""
        match = re.search(rf"{re.escape(row)}\D*?(\d+)\s*$", self.show("/stats/slb/maint"), re.MULTILINE)
        if not match:
            raise LabError(f"/stats/slb/maint has no row '{row}'")
        return int(match.group(1))

    def sessions_opened(self, virt):
        """How many sessions a virtual server has had in all, as /stats/slb/virt says."""
        _address, _current, total, _highest, _octets = self.show(f"/stats/slb/virt {virt}").splitlines()[-1].split()
        return int(total)

    def dataplane_connected(self):
        """True when headgated and the dataplane talk to each other."""
        done = self.cli("/info/slb/dump", check=False)
        return done.returncode == 0 and "Real server state" in done.stdout and "not connected" not in done.stdout

    def running(self):
        """The running configuration, as /cfg/dump prints it, without the line that tells the time."""
        return "\n".join(line for line in self.show("/cfg/dump").splitlines() if "taken" not in line)

    def wait_service(self, service, real, state, seconds=15.0, virt=1):
        wait_until(lambda: self.service_states(service, virt).get(real) == state,
                   f"{service} of real server {real} to be {state}", seconds)

    def wait_all_up(self, seconds=20.0):
        """Everything works: both programs joined, both ports up, every service of every server up."""
        def up():
            screen = self.show("/info/slb/dump")
            states = [self.service_states(s, v) for v, s in SERVICES]
            ports = sections(screen).get("Port state", "").splitlines()
            return ("not connected" not in screen and ports and all(p.endswith(" up") for p in ports if p)
                    and all(len(s) == len(network.SERVERS) and set(s.values()) == {"up"} for s in states))
        wait_until(up, "the dataplane, its ports, and all services of all servers to be up", seconds)


def sections(screen):
    """Splits /info/slb/dump at its unindented headings."""
    parts, title = {}, ""
    for line in screen.splitlines():
        if line.endswith(":") and not line.startswith(" "):
            title = line[:-1]
        else:
            parts[title] = parts.get(title, "") + line + "\n"
    return parts
