# SPDX-License-Identifier: Apache-2.0
"""Programs that are killed, storms on the configuration, command lines that drop off."""

import random
import socket
import time
from pathlib import Path

import clients
import host
import network
import servers
import story
from host import wait_until
from lab_case import LabCase
from supervisor import QUICK
from switch import FILE_PREFIX, RUN


class Killed(LabCase):
    LOOPS = 4

    def test_headgated_killed_again_and_again_costs_no_request(self):
        with story.load() as load:
            for _ in range(self.LOOPS):
                self.switch.kill("headgated")
                wait_until(self.switch.dataplane_connected, "headgated to be back")
            result = load.finish()
        self.assert_no_failures(result)
        self.switch.wait_all_up()

    def test_the_dataplane_killed_again_and_again_is_silent_and_comes_back(self):
        for loop in range(self.LOOPS):
            with self.subTest(loop=loop), story.load() as load:
                self.switch.kill("headgate-dataplane")
                result = load.finish(60)
                wrong = [f for f in result["failures"] if not f.startswith("silence")]
                self.assertEqual(wrong, [], "clients of the gap may see silence, never a reset")
            wait_until(lambda: not clients.http(4, 4)["failures"], "requests to pass again", 20)
        wait_until(self.switch.dataplane_connected, "headgated to have the dataplane back")
        self.switch.wait_all_up()
        self.assert_no_failures(clients.http(60, 6))

    def test_downloads_go_on_byte_for_byte_through_kills_of_the_dataplane(self):
        with (story.download_through(1) as first, story.download_through(2) as second,
              clients.Client("download", network.VIP6, "/download") as third):
            third.hear()
            for _ in range(self.LOOPS):
                self.switch.kill("headgate-dataplane")
                wait_until(self.switch.dataplane_connected, "headgated to have the dataplane back")
            for client in (first, second, third):
                client.tell("go")
            for client in (first, second, third):
                self.assertEqual(client.hear(90), {"event": "done", "sha256": story.download_sum()})
        self.switch.wait_all_up()

    def test_sessions_lie_on_huge_pages_if_there_are_some(self):
        maps = Path(f"/proc/{self.switch.pid('headgate-dataplane')}/maps").read_text().splitlines()
        folders = {Path(line.split()[5]).parent for line in maps if line.endswith(f"/{FILE_PREFIX}.sessions")}
        self.assertEqual(len(folders), 1, folders)
        self.assertLessEqual(folders, set(host.hugetlbfs_mounts()) if self.switch.huge else {host.ROOT / "sessions"})

    def test_a_session_of_datagrams_goes_on_through_a_kill_of_the_dataplane(self):
        wait_until(lambda: self.switch.runs_for("headgate-dataplane") > QUICK, "a restart at once to be due", 2 * QUICK)
        self.assert_no_failures(clients.udp(3))  # so that sums begun anew are seen
        with clients.Client("stream", network.VIP, servers.UDP_PORT, 0.002) as stream:
            wait_until(lambda: stream.ask("count")["answers"] > 100, "the stream to run")
            opened = self.switch.sessions_opened(1)
            self.switch.kill("headgate-dataplane")
            before = stream.ask("count")["answers"]
            wait_until(lambda: stream.ask("count")["answers"] > before + 100, "the stream to go on")
            self.switch.wait_all_up()
            result = stream.finish()
        print(f"gap: {result['gap_ms']} ms", flush=True)  # to watch; how fast this machine is says nothing of the product
        self.assertEqual(self.switch.sessions_opened(1), opened, "the session is the one of before")
        self.assertEqual(len(result["servers"]), 1, result)

    def test_both_killed_come_back_on_what_was_applied_though_never_saved(self):
        self.switch.change('/cfg/slb/real 3/name "applied only"')
        for name in ("headgated", "headgate-dataplane"):
            self.switch.kill(name)
        self.switch.wait_for_cli()
        self.switch.wait_all_up()
        self.assertIn("applied only", self.switch.running())
        self.assert_no_failures(clients.http(30, 6))


class Meddling(LabCase):
    def test_a_port_whose_steering_program_is_taken_off_steers_again(self):
        with story.download_through(1) as download:
            host.sh("ip", "-n", network.SWITCH, "link", "set", "port1", "xdp", "off")
            wait_until(lambda: not clients.http(4, 4)["failures"], "requests to pass again", 20)
            self.assertEqual(download.ask("go", 90), {"event": "done", "sha256": story.download_sum()})
        self.switch.wait_all_up()


    def test_routes_and_addresses_that_were_flushed_come_back(self):
        for port in ("port1", "port2"):
            for what in ("route", "addr"):
                with self.subTest(port=port, flushed=what):
                    for family in ("-4", "-6"):
                        host.sh("ip", "-n", network.SWITCH, family, what, "flush", "dev", port)
                    wait_until(lambda: self.has_subnets(port), "subnets to be back", 20)
                    host.sh("ip", "-n", network.SWITCH, "-6", "neigh", "flush", "dev", port)
                    self.switch.wait_all_up()
                    wait_until(lambda: not clients.http(4, 4)["failures"], "requests to pass again", 20)
                    wait_until(lambda: not clients.http(4, 4, vip=network.VIP6)["failures"], "IPv6 to pass again", 20)

    def test_a_client_is_told_though_its_server_is_out_of_reach(self):
        def is_cut_off():
            """headgated puts the address back every five seconds, which is sooner than the servers fail, or later."""
            host.sh("ip", "-n", network.SWITCH, "addr", "del", "10.10.2.5/24", "dev", "port2", check=False)
            return self.switch.server_state(1) == "FAILED"
        with story.download_through(1) as download:
            wait_until(is_cut_off, "server 1 to fail", 30)
            self.assertEqual(download.hear(60)["event"], "reset")
        self.switch.wait_all_up()

    @staticmethod
    def has_subnets(port):
        """Both families' and the link-local one."""
        shown = "".join(host.sh("ip", "-n", network.SWITCH, family, "route", "show", "dev", port).stdout
                        for family in ("-4", "-6"))
        return all(subnet in shown for subnet in ("10.10.", "2001:db8:", "fe80::/64"))


class CommandLine(LabCase):
    def test_200_dropped_cli_connections_leave_room_for_the_next(self):
        for number in range(200):
            with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as peer:
                peer.connect(str(RUN / "control.sock"))
                peer.sendall([b"", b"\0", b"\0\0\0\xff part", b"\xff\xff\xff\xff"][number % 4])
        self.assertIn("Real server state", self.switch.show("/info/slb/dump"))

    def test_an_apply_of_many_changes_in_one_session_is_whole_or_nothing(self):
        before = self.switch.running()
        lines = [f"/c/slb/real {n}/rip 10.10.2.{n % 200 + 30}/name \"many {n}\"" for n in range(100, 300)]
        done = self.switch.cli(*lines, "/c/slb/virt 5/vip 10.10.1.105/ena", "/c/slb/virt 5/service 8000/group 900",
                               "apply", check=False)
        self.assertNotEqual(done.returncode, 0)
        self.assertEqual(self.switch.running(), before)
        self.switch.change(*lines)
        self.assertEqual(self.switch.running().count('"many '), 200)
        self.switch.change(*[f"/c/slb/real {n}/del" for n in range(100, 300)])
        self.assertEqual(self.switch.running(), before)


class Storm(LabCase):
    ROUNDS = 12

    def test_headgated_killed_during_save_has_the_old_or_the_new_configuration(self):
        chance = random.Random(116)
        for number in range(self.ROUNDS):
            name = f"storm {number}"
            self.switch.change(f'/cfg/slb/real 2/name "{name}"')
            with clients.background(self.switch.cli_program, "--run-dir", RUN, "-c", "save") as saving:
                time.sleep(chance.random() * 0.02)  # the point of the kill is what is drawn, not an event awaited
                self.switch.kill("headgated")
                saving.wait(20)
            self.switch.wait_for_cli()
            saved = (self.switch.state / "config.active").read_text()
            self.assertRegex(saved, r'name "storm (%d|%d)"|10\.10\.2\.12' % (number, number - 1))
            self.assertIn("10.10.1.100", saved, "the file is whole")
            self.assertIn(name, self.switch.running(), "what was applied still runs")
        self.switch.wait_all_up()
        self.assert_no_failures(clients.http(30, 6))
