#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""bench_start.py PERF_AGENT PROGS_DIR: from the start of the program to the first sample, in ms: of one
process, and of a machine on which 500 more processes wait. Least and middle of some runs; the budgets are
those of docs/sampling.md. Needs root.
"""
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

AGENT, PROGS = map(os.path.abspath, sys.argv[1:3])
RUNS = 7
NR_PROCESSES = 500
BUDGET_MS = {"--pid": 50, "-a, 500 processes": 150}


def first_sample_ms(tmp, *target):
    summary = os.path.join(tmp, "s.json")
    begin_ns = time.time_ns()
    subprocess.run([AGENT, "--profile", "-q", "-F", "999", "-d", "200ms", "-o", os.path.join(tmp, "p.pb.gz"),
                    f"--json={summary}", *target], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
    with open(summary, encoding="utf-8") as f:
        s = json.load(f)
    return (s["start_time_ns"] + s["first_sample_ns"] - begin_ns) / 1e6, s["agent_cpu_ns"] / 1e6


def report(tmp, what, *target):
    runs = [first_sample_ms(tmp, *target) for _ in range(RUNS)]
    ms, cpu_ms = zip(*runs)
    print(f"{what}: {min(ms):.1f} ms at least, {statistics.median(ms):.1f} in the middle (budget {BUDGET_MS[what]}); "
          f"{statistics.median(cpu_ms):.0f} ms of CPU time over a run of 200 ms", flush=True)


def main():
    busy = subprocess.Popen([os.path.join(PROGS, "spin"), "600"], stdout=subprocess.DEVNULL)
    waiting = []
    try:
        with tempfile.TemporaryDirectory() as tmp:
            report(tmp, "--pid", "--pid", str(busy.pid))
            waiting = [subprocess.Popen(["sleep", "600"]) for _ in range(NR_PROCESSES)]
            report(tmp, "-a, 500 processes", "-a")
    finally:
        for process in [busy, *waiting]:
            process.kill()
            process.wait()


main()
