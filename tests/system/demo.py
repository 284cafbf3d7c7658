# SPDX-License-Identifier: Apache-2.0
"""`./run demo`: service failure, server failure and graceful failure on live TCP traffic, each point checked."""

import sys
import time

import clients
import lab
import network
import servers
from host import LabError, wait_until
from story import Story, download_sum, download_through, load, logged, restore, seconds_until

INTER, RETRY, RESTR = 1, 2, 2  # as lab configuration has it
DETECTION = INTER * RETRY + INTER + 0.5  # the failure falls anywhere within an interval; half a second to see it


def set_grace(switch, value):
    switch.change(f"/cfg/slb/adv/grace {value}")


def traffic(story, switch):
    story.point("1. Requests through the VIP are spread as the metric says")
    result, at_first = logged(1, lambda: clients.http(300, 6))
    seen = clients.spread(result)
    story.check(not result["failures"] and sum(seen.values()) == 300, "300 HTTP requests, none fails",
                f"{sum(seen.values())} answered, failures: {result['failures'][:3]}")
    story.check(all(70 <= n <= 130 for n in seen.values()), "leastconns: 70 to 130 for each server", seen)
    story.check(at_first == seen[1], "server 1 logged as many as the clients say", at_first)
    result = clients.ftp(60)
    seen = clients.spread(result)
    story.check(not result["failures"] and sum(seen.values()) == 60, "60 FTP log-ins, none fails",
                f"{sum(seen.values())} logged in, failures: {result['failures'][:3]}")
    story.check(all(19 <= n <= 21 for n in seen.values()), "roundrobin: 19 to 21 for each server", seen)


def fail_http_of_server_1(story, switch):
    """nginx of server 1 closes its listener; what runs goes on. Returns when the switch has seen it."""
    def told():
        return [l.strip() for l in switch.log().splitlines() if "cannot contact real service 10.10.2.11:8080" in l]

    before = told()
    servers.quit_http(1)
    took = seconds_until(lambda: switch.service_states("http").get(1) == "FAILED", "http of server 1 to be FAILED", 15)
    story.check(took <= DETECTION, f"FAILED on /info/slb/dump within {DETECTION:g} s", f"{took:.1f} s")
    now = told()
    story.check(bool(now) and now[-1:] != before[-1:], "the failure is in /info/sys/log, with its reason",
                now[-1] if now else "no such line")


def service_failure(story, switch):
    story.point("2. HTTP of server 1 stops accepting (grace ena)")
    set_grace(switch, "ena")
    with download_through(1) as download:
        fail_http_of_server_1(story, switch)
        result, at_first = logged(1, lambda: clients.http(200, 6))
        story.check(not result["failures"] and sum(clients.spread(result).values()) == 200,
                    "200 new HTTP requests, none fails", f"{clients.spread(result)}, failures: {result['failures'][:3]}")
        story.check(clients.spread(result)[1] == 0 and at_first == 0, "none reaches server 1", f"{at_first} in its log")
        result = clients.ftp(30)
        story.check(not result["failures"] and clients.spread(result)[1] >= 9, "FTP log-ins still reach server 1",
                    f"{clients.spread(result)}, failures: {result['failures'][:3]}")
        story.check(switch.server_state(1) == "up", "server 1 is still up as a server", switch.server_state(1))
        story.point("3a. grace ena: the download through server 1 runs to its end")
        download.tell("go")
        end = download.hear(60)
        story.check(end.get("sha256") == download_sum(), "complete, byte for byte", end)


def service_recovery(story, switch):
    story.point("4. HTTP of server 1 starts again")
    servers.start_http(1)
    limit = INTER * RESTR + INTER + 1.0
    took = seconds_until(lambda: switch.service_states("http").get(1) == "up", "http of server 1 to be up", 20)
    story.check(INTER * (RESTR - 1) - 0.3 <= took <= limit, f"up after {RESTR} successes, within {limit:g} s", f"{took:.1f} s")
    result, at_first = logged(1, lambda: clients.http(60, 6))
    story.check(not result["failures"] and at_first >= 1, "it takes requests again, slowly at first", f"{at_first} of 60")


def service_failure_without_grace(story, switch):
    story.point("3b. grace dis, second pass: the session is terminated, its client told at once, and it is counted")
    set_grace(switch, "dis")
    before = switch.counter("Terminated sessions")
    with download_through(1) as download:
        fail_http_of_server_1(story, switch)
        detected = time.time()
        end = download.hear(20)
    story.check(end["event"] == "reset", "the client sees a reset, not a time-out", end)
    story.check(end.get("gap_ms", 9999) < 1000 and end.get("at", detected + 99) - detected < 1.0,
                "at once: within 1 s of its last data, and of the verdict", f"{end.get('gap_ms')} ms after its last data")
    counted = switch.counter("Terminated sessions") - before
    story.check(counted >= 1, "Terminated sessions counts it", f"+{counted}")
    servers.start_http(1)
    switch.wait_service("http", 1, "up")


def server_failure(story, switch):
    story.point("5. All services of server 2 stop")
    # The lab's UDP service is checked by icmp, which a server answers as long as it is there at all.
    switch.change("/c/slb/virt 1/service 5300/del")
    servers.stop_http(2)
    servers.stop_ftp(2)
    took = seconds_until(lambda: switch.server_state(2) == "FAILED", "server 2 to be FAILED", 15)
    story.check(took <= DETECTION, "server 2 is FAILED as a server", f"after {took:.1f} s")
    story.check("cannot contact real server 10.10.2.12" in switch.log(), "and that is logged",
                [l.strip() for l in switch.log().splitlines() if "10.10.2.12" in l][-3:])
    servers.start_ftp(2)
    wait_until(lambda: switch.server_state(2) == "up", "server 2 to be up", 15)
    states = [switch.service_states(s).get(2) for s in ("ftp", "http")]
    story.check(states == ["up", "FAILED"], "back with the first service that answers, ftp; http still FAILED", states)
    result = clients.http(30)
    story.check(not result["failures"] and clients.spread(result)[2] == 0, "no HTTP request reaches it yet", clients.spread(result))
    servers.start_http(2)
    switch.wait_service("http", 2, "up")
    result = clients.http(60, 6)
    story.check(not result["failures"] and clients.spread(result)[2] >= 1, "http joins later", clients.spread(result))
    switch.change("/c/slb/virt 1/service 5300/protocol udp/group 3")


def no_server(story, switch):
    story.point("6. HTTP of all servers is down")
    for number in network.SERVERS:
        servers.stop_http(number)
    wait_until(lambda: set(switch.service_states("http").values()) == {"FAILED"}, "all of http to be FAILED", 15)
    before = switch.counter("No available real server")
    result = clients.dial(80, 20)
    story.check(result["outcomes"] == {"refused": 20}, "20 new connections get a reset, not a time-out", result["outcomes"])
    story.check(result["longest_ms"] < 100, "at once: within 100 ms", f"{result['longest_ms']} ms at most")
    counted = switch.counter("No available real server") - before
    story.check(counted == 20, "counted as No available real server", f"+{counted}")
    for number in network.SERVERS:
        servers.start_http(number)
    switch.wait_all_up()


def operator_disable(story, switch):
    story.point("7. /oper/slb/dis 3: its session goes on, no new one arrives")
    with download_through(3) as download:
        switch.cli("/oper/slb/dis 3")
        wait_until(lambda: switch.server_state(3) == "DISABLED", "server 3 to be DISABLED", 5)
        result, at_third = logged(3, lambda: clients.http(100, 6))
        story.check(not result["failures"] and at_third == 0, "100 requests: none fails, none reaches server 3",
                    clients.spread(result))
        download.tell("go")
        end = download.hear(60)
        story.check(end.get("sha256") == download_sum(), "its running download is complete, byte for byte", end)
    switch.cli("/oper/slb/ena 3")
    wait_until(lambda: switch.server_state(3) == "up", "server 3 to be up", 5)
    result = clients.http(60, 6)
    story.check(not result["failures"] and clients.spread(result)[3] >= 1, "ena brings it back, slowly at first",
                clients.spread(result))


def kill_controlplane(story, switch):
    story.point("8. kill -9 of headgated under load")
    failures_logged = switch.log().count("cannot contact")
    with load() as client:
        old = switch.kill("headgated")
        began = client.ask("count")["done"]
        new = wait_until(lambda: switch.pid("headgated"), "headgated to be started again")
        wait_until(switch.dataplane_connected, "headgated to be back")
        flaps = watch_states(switch, 3 * INTER)
        result = client.finish()
    story.check(not result["failures"], "not one request fails",
                f"{result['done'] - began} requests meanwhile, failures: {result['failures'][:3]}")
    story.check(old != new, "it restarts", f"pid {old}, then {new}")
    story.check(not flaps and switch.log().count("cannot contact") <= failures_logged, "nothing flaps",
                flaps or "all services up at every look")


def watch_states(switch, seconds):
    """The states other than up that the dump shows within so many seconds."""
    seen, deadline = set(), time.monotonic() + seconds
    while time.monotonic() < deadline:
        for service in ("http", "ftp"):
            states = switch.service_states(service)
            seen |= {f"{service} {n} {s}" for n, s in states.items() if s != "up"}
            seen |= set() if states else {f"{service} not shown"}
        time.sleep(0.1)
    return seen


def kill_dataplane(story, switch):
    story.point("9. kill -9 of headgate-dataplane, with headgated dead too")
    with clients.Client("hold", network.VIP, 4, 1) as held:
        held.hear()
        for name in ("headgated", "headgate-dataplane"):
            switch.pause(name)
            switch.kill(name)
        gap = clients.dial(80, 5, 0.3)
        story.check(gap["outcomes"] == {"silence": 5}, "new connections in the gap see silence, not resets", gap["outcomes"])
        answers = held.ask("ask")["answers"]
        story.check(set(answers) == {"silence"}, "so do sessions that were there before", answers)
        with clients.Client("dial", network.VIP, 80, 1, 20) as patient:
            switch.resume("headgate-dataplane")
            wait_until(lambda: switch.pid("headgate-dataplane"), "headgate-dataplane to be started again")
            took = seconds_until(lambda: not clients.http(1, 1)["failures"], "a request to be served", 20)
            end = patient.hear()
        story.check(took < 10, "it is back on its stored generation, headgated still dead", f"serves after {took:.1f} s")
        story.check(end["outcomes"] == {"connected": 1}, "a connection begun in the gap comes through", end)
        result = clients.http(60)
        story.check(not result["failures"], "new connections work at once: 60 requests, none fails", clients.spread(result))
        after = held.ask("ask")["answers"]
        story.check("reset" not in after and "refused" not in after, "old sessions still see no reset", after)
    switch.resume("headgated")
    switch.wait_for_cli()
    switch.wait_all_up()
    result = clients.http(30)
    story.check(not result["failures"], "headgated is back, too, and 30 requests pass",
                f"{clients.spread(result)}, failures: {result['failures'][:3]}")


def apply_under_load(story, switch):
    story.point("10. Ten unrelated changes are applied under load")
    with clients.Client("hold", network.VIP, 10, 5) as held, load() as client:
        before = held.hear()["answers"]
        for number in range(1, 11):
            switch.change(f'/cfg/slb/real {20 + number}/rip 10.10.2.{20 + number}/name "spare {number}"')
        after = held.ask("ask")["answers"]
        result = client.finish()
    story.check(not result["failures"], "not one request fails", f"{result['done']} requests, failures: {result['failures'][:3]}")
    story.check(after == before and all(a.startswith("server-") for a in after), "no session is lost", f"{len(after)} sessions kept")
    run = switch.running().count('name "spare')
    story.check(run == 10, "all ten changes run", f"{run} in /cfg/dump")


def one_error(switch, *lines):
    """What a CLI session prints about bad lines, and its exit status."""
    done = switch.cli(*lines, check=False)
    text = done.stdout + done.stderr
    return done.returncode, [l.strip() for l in text.splitlines() if "Error" in l]


BAD_LINES = [
    ("unknown word", "/cfg/slb/reel 1/ena", ["reel"]),
    ("value out of range", "/cfg/slb/real 1/weight 99", ["99", "1-48"]),
    ("address that is none", "/cfg/slb/real 1/rip 10.10.2.300", ["10.10.2.300"]),
]
DUPLICATE = ["/cfg/slb/virt 2/vip 10.10.1.100/ena", "/cfg/slb/virt 2/service http/group 1"]
NO_GROUP = ["/cfg/slb/virt 3/vip 10.10.1.103/ena", "/cfg/slb/virt 3/service 8000/group 77"]


def bad_input(story, switch):
    story.point("11. Bad input changes nothing, and is named")
    running = switch.running()
    for what, line, words in BAD_LINES:
        status, errors = one_error(switch, line)
        story.check(status != 0 and len(errors) == 1 and all(w in errors[0] for w in words), f"{what}: one clear line", errors)
    for what, lines in (("duplicate VIP and port", DUPLICATE), ("service without group", NO_GROUP)):
        status, errors = one_error(switch, *lines, "apply")
        story.check(status != 0 and len(errors) == 1, f"{what}: one clear line, apply refused", errors)
    status, errors = one_error(switch, "/cfg/slb/real 40/rip 10.10.2.40", *DUPLICATE, *NO_GROUP, "apply")
    story.check(status != 0 and len(errors) == 2, "apply refused whole, with all errors", errors)
    same = switch.running() == running
    story.check(same, "the running configuration is untouched", "the same dump as before" if same else switch.running())


POINTS = [traffic, service_failure, service_recovery, service_failure_without_grace, server_failure, no_server,
          operator_disable, kill_controlplane, kill_dataplane, apply_under_load, bad_input]


def tell(build):
    """Plays every point, also after one that failed; raises when any did."""
    story = Story()
    story.point("0. Raising the lab: client, switch, three servers; configuring the switch through its CLI")
    with lab.running(build) as switch:
        story.check(True, "all services of all servers come up", "http and ftp of servers 1, 2, 3 up")
        for point in POINTS:
            try:
                point(story, switch)
            except (LabError, KeyError) as error:
                story.broke(error)
                restore(switch)
    if story.failed:
        raise LabError("; ".join(story.failed))
    print(f"\ndemo: all {story.passed} checks held")


if __name__ == "__main__":
    sys.exit(lab.guarded(lambda: tell(sys.argv[1]), "demo"))
