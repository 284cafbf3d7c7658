# SPDX-License-Identifier: Apache-2.0
"""`./run bench [--filter REGEX]`: the micro-benchmarks; medians printed, everything in BUILD/bench/results.json."""

import argparse
import json
import subprocess
import sys
from pathlib import Path

COUNTERS = ("ns_per_packet", "new_per_second", "bytes_per_session")


def show(results):
    """One line for each benchmark's median."""
    rows = [b for b in results["benchmarks"] if b.get("aggregate_name") == "median"]
    for row in rows:
        counters = "  ".join(f"{name} {row[name]:,.1f}" for name in COUNTERS if name in row)
        print(f"{row['run_name']:40} {row['real_time']:12,.1f} {row['time_unit']}  {counters}")
    return len(rows)


def main():
    parser = argparse.ArgumentParser(prog="run bench")
    parser.add_argument("build")
    parser.add_argument("--filter", default=".", help="regular expression over names")
    parser.add_argument("--repetitions", type=int, default=5)
    options = parser.parse_args()
    program, output = Path(options.build) / "tests/bench/bench", Path(options.build) / "bench/results.json"
    if not program.exists():
        sys.exit(f"bench failed: {program} is missing")
    output.parent.mkdir(parents=True, exist_ok=True)
    print(f"measuring, {options.repetitions} repetitions each; the large tables take a minute or two", flush=True)
    status = subprocess.run([program, f"--benchmark_filter={options.filter}", f"--benchmark_out={output}",
                             f"--benchmark_repetitions={options.repetitions}", "--benchmark_out_format=json",
                             "--benchmark_report_aggregates_only=true"],
                            stdout=subprocess.DEVNULL, check=False).returncode
    if status != 0:
        sys.exit(f"bench failed: the program ended with status {status}")
    shown = show(json.loads(output.read_text()))
    if not shown:
        sys.exit(f"bench failed: no benchmark matches '{options.filter}'")
    print(f"bench: done, {shown} benchmarks, all figures in {output}")


if __name__ == "__main__":
    main()
