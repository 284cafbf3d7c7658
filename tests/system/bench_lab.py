# SPDX-License-Identifier: Apache-2.0
"""`./run bench lab`: Headgate, direct routing, nftables DNAT, HAProxy and testpmd side by side in one run.

    bench_lab.py BUILD [--only NAME,...] [--rounds N] [--seconds N]

Every round measures every contender, so that a slow spell of the machine hits all alike; the table shows medians.
"""

import argparse
import json
import re
import statistics
import sys
from pathlib import Path

import contenders
import host
import lab
from host import LabError, inside, sh

BINARY = {"": 1.0, "K": 2.0**10, "M": 2.0**20, "G": 2.0**30}
TIME_MS = {"us": 1e-3, "ms": 1.0, "s": 1e3}


def wrk(contender, path, connections, seconds, *more):
    """Runs wrk in the client's namespace; (requests/s, bytes/s, p99 in ms, failed requests)."""
    url = f"http://{contender.target}{path}"
    text = sh(*inside(contender.client, "wrk", "-t1", f"-c{connections}", f"-d{seconds}s", "--latency", *more, url),
              timeout=seconds + 60).stdout
    rate = re.search(r"Requests/sec: +([\d.]+)", text)
    size = re.search(r"Transfer/sec: +([\d.]+)([KMG]?)B", text)
    tail = re.search(r"99% +([\d.]+)(us|ms|s)", text)
    if not (rate and size and tail):
        raise LabError(f"wrk through {contender.name} told no result: {text[-300:]}")
    bad = sum(int(n) for n in re.findall(r"(?:connect|read|write|timeout|responses:) (\d+)", text))
    return (float(rate[1]), float(size[1]) * BINARY[size[2]], float(tail[1]) * TIME_MS[tail[2]], bad)


def measure(contender, seconds):
    """One round of one contender."""
    contender.wake()
    try:
        connects = wrk(contender, "/", 64, seconds, "-H", "Connection: close")
        requests = wrk(contender, "/", 64, seconds)
        bulk = wrk(contender, "/bulk", 2, seconds)
    finally:
        contender.sleep()
    return {"connections_per_second": connects[0], "requests_per_second": requests[0], "p99_ms": requests[2],
            "bulk_megabytes_per_second": bulk[1] / 1e6, "failed": connects[3] + requests[3] + bulk[3]}


def medians(rounds):
    return {key: statistics.median(r[key] for r in rounds) for key in rounds[0]}


def print_table(results):
    print(f"\n{'':10} {'conn/s':>9} {'req/s':>9} {'p99 ms':>8} {'bulk MB/s':>10} {'failed':>7}")
    for name, row in results.items():
        print(f"{name:10} {row['connections_per_second']:9.0f} {row['requests_per_second']:9.0f} {row['p99_ms']:8.2f} "
              f"{row['bulk_megabytes_per_second']:10.0f} {row['failed']:7.0f}")


def compare(options):
    field = [c(options.build) for c in contenders.ALL if not options.only or c.name in options.only.split(",")]
    rounds = {c.name: [] for c in field}
    with host.Lock():
        lab.claim([name for c in field for name in c.namespaces()])
        try:
            contenders.write_bulk()
            for contender in field:
                print(f"raising {contender.name}", flush=True)
                contender.raise_all()
                contender.sleep()
            for number in range(options.rounds):
                print(f"round {number + 1} of {options.rounds}, {3 * options.seconds} s for each contender", flush=True)
                for contender in field:
                    rounds[contender.name].append(measure(contender, options.seconds))
        finally:
            lab.remove()
    return {"medians": {name: medians(r) for name, r in rounds.items()}, "rounds": rounds}


def main():
    parser = argparse.ArgumentParser(prog="run bench lab")
    parser.add_argument("build")
    parser.add_argument("--only", help="contenders, separated by commas: " + ", ".join(c.name for c in contenders.ALL))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=int, default=3)
    options = parser.parse_args()
    results = compare(options)
    file = Path(options.build) / "bench/lab.json"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(results, indent=2) + "\n")
    print_table(results["medians"])
    print(f"bench lab: done, medians of {options.rounds} rounds, all of them in {file}")


if __name__ == "__main__":
    sys.exit(lab.guarded(main, "bench lab"))
