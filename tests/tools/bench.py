# SPDX-License-Identifier: Apache-2.0
"""`./run bench [--filter REGEX]`: the micro-benchmarks; medians printed, everything in BUILD/bench/results.json.

They run on explicit huge pages, reserved for the time they take; what pages each one got stands in its row.
"""

import argparse
import ctypes
import json
import re
import signal
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "system"))

import host  # noqa: E402
import huge_pages  # noqa: E402
import lab  # noqa: E402
from host import LabError  # noqa: E402

COUNTERS = ("ns_per_packet", "new_per_second", "packets_per_second", "bytes_per_session", "core_share",
            "worst_burst_us", "quiet_burst_us", "bare_core_share", "worst_slot_share", "probes_per_second",
            "verdict_us", "verdict_p99_us", "verdict_worst_us")
PROGRAMS = ("bench", "bench_shell", "bench_probes")
# The table of 10 Mi sessions; the smaller tables, and DPDK's packet buffers.
PAGES = {"1G": 2, "2M": 512}
ITERATIONS = re.compile(r"/iterations:\d+")  # what the library adds to a name when a benchmark sets how often it runs
PR_SET_PDEATHSIG = 1


def die_with_parent():
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def names(program, pattern):
    """The benchmarks of a program that match."""
    done = subprocess.run([program, f"--benchmark_filter={pattern}", "--benchmark_list_tests=true"], text=True,
                          capture_output=True, check=False)
    return [line for line in done.stdout.splitlines() if "/" in line]


def measure(program, output, options):
    """Runs what matches of one program; its rows."""
    if not program.exists():
        raise LabError(f"{program} is missing; `./run build` makes it")
    if not names(program, options.filter):
        return []
    output.unlink(missing_ok=True)
    with subprocess.Popen([program, f"--benchmark_filter={options.filter}", f"--benchmark_out={output}",
                           f"--benchmark_repetitions={options.repetitions}", "--benchmark_out_format=json"],
                          stdout=subprocess.DEVNULL, preexec_fn=die_with_parent) as running:
        status = running.wait()
    if status != 0:
        raise LabError(f"{program.name} ended with status {status}")
    rows = json.loads(ITERATIONS.sub("", output.read_text()))["benchmarks"]
    broken = [f"{row['name']}: {row['error_message']}" for row in rows if row.get("error_occurred")]
    if broken:
        raise LabError("; ".join(broken))
    return rows


def figure(value):
    return f"{value:,.4g}" if value < 100 else f"{value:,.0f}"


def show(rows):
    """One line for each benchmark's median; the least time, too, which a busy machine distorts less."""
    medians = [row for row in rows if row.get("aggregate_name") == "median"] or rows  # one repetition has no median
    for row in medians:
        counters = [f"{name} {figure(row[name])}" for name in COUNTERS if name in row]
        times = [one["ns_per_packet"] for one in rows if one["run_name"] == row["run_name"]
                 and one["run_type"] == "iteration" and "ns_per_packet" in one]
        if times:
            counters.insert(1, f"(least {figure(min(times))})")
        print(f"{row['run_name']:36} {row.get('label', ''):12} {'  '.join(counters)}")
    return len(medians)


def main():
    parser = argparse.ArgumentParser(prog="run bench")
    parser.add_argument("build")
    parser.add_argument("--filter", default=".", help="regular expression over names")
    parser.add_argument("--repetitions", type=int, default=5)
    options = parser.parse_args()
    folder = Path(options.build)
    output = folder / "bench"
    output.mkdir(parents=True, exist_ok=True)
    with host.Lock(), huge_pages.reserved(PAGES) as got:
        print("huge pages: " + ", ".join(f"{got[size]} of {PAGES[size]} of {size}" for size in PAGES))
        print(f"measuring, {options.repetitions} repetitions each; the large tables take some minutes", flush=True)
        rows = [row for name in PROGRAMS
                for row in measure(folder / "tests/bench" / name, output / f"{name}.json", options)]
    if not rows:
        raise LabError(f"no benchmark matches '{options.filter}'")
    (output / "results.json").write_text(json.dumps({"huge_pages": got, "benchmarks": rows}, indent=2) + "\n")
    print(f"bench: done, {show(rows)} benchmarks, all figures in {output / 'results.json'}")


if __name__ == "__main__":
    sys.exit(lab.guarded(main, "bench"))
