#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""bench_start.py PERF_AGENT PROGS_DIR [OTHER_PERF_AGENT...]: from the start of the program to the first sample, in
ms, with the CPU time and the most memory of the agent, of one process, of a machine on which 500 more
processes wait, and of that machine for 5 s. Least and middle of some runs. Several builds take turns. CPU time
and memory are the kernel's count for the process. The budgets are those of docs/sampling.md. Needs root.
"""
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

AGENTS, PROGS = [os.path.abspath(a) for a in (sys.argv[1], *sys.argv[3:])], os.path.abspath(sys.argv[2])
RUNS = 7
NR_PROCESSES = 500
BUDGET_MS = {"--pid": 50, "-a, 500 processes": 150}


def run(agent, tmp, duration, *target):
    """(ms to the first sample, ms of CPU time, MiB at most) of one capture."""
    summary = os.path.join(tmp, "s.json")
    begin_ns = time.time_ns()
    p = subprocess.Popen([agent, "--profile", "-q", "-F", "999", "-d", duration, "-o", os.path.join(tmp, "p.pb.gz"),
                          f"--json={summary}", *target], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, used = os.wait4(p.pid, 0)
    p.returncode = os.waitstatus_to_exitcode(status)
    if p.returncode:
        sys.exit(f"{agent}: exit status {p.returncode}")
    with open(summary, encoding="utf-8") as f:
        s = json.load(f)
    return ((s["start_time_ns"] + s["first_sample_ns"] - begin_ns) / 1e6, (used.ru_utime + used.ru_stime) * 1e3,
            used.ru_maxrss / 1024)


def report(tmp, what, duration, *target):
    runs = {agent: [] for agent in AGENTS}
    for _ in range(RUNS):
        for agent in AGENTS:
            runs[agent].append(run(agent, tmp, duration, *target))
    budget = f" (budget {BUDGET_MS[what]})" if what in BUDGET_MS else ""
    for agent in AGENTS:
        first, cpu, memory = [f"{min(x):.1f} / {statistics.median(x):.1f}" for x in zip(*runs[agent])]
        print(f"{what}, {agent}: first sample {first} ms{budget}, CPU time {cpu} ms, memory {memory} MiB", flush=True)


def main():
    busy = subprocess.Popen([os.path.join(PROGS, "spin"), "600"], stdout=subprocess.DEVNULL)
    waiting = []
    try:
        with tempfile.TemporaryDirectory() as tmp:
            report(tmp, "--pid", "200ms", "--pid", str(busy.pid))
            waiting = [subprocess.Popen(["sleep", "600"]) for _ in range(NR_PROCESSES)]
            report(tmp, "-a, 500 processes", "200ms", "-a")
            report(tmp, "-a, 500 processes, 5 s", "5s", "-a")
    finally:
        for process in [busy, *waiting]:
            process.kill()
            process.wait()


main()
