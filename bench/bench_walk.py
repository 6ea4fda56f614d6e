#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""bench_walk.py PERF_AGENT PROGS_DIR [OTHER_PERF_AGENT...]: what a sample costs in the kernel, by the kernel's
own count (kernel.bpf_stats_enabled), as CSV: build, program, rate, samples of one run, frames per sample, µs
per sample (the least and the middle of several runs), ns per frame (of the middle).

The time of all runs of the sampling program, those that met an idle CPU or another task included, is
divided by the samples. The first program is the one of the budget: 65 calls over three libraries without
frame pointers. Several builds take turns, so that what else the machine does meets all of them. Needs root.
"""
import glob
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../tests/integration"))
import shipped  # noqa: E402
from pprof import Profile  # noqa: E402

AGENTS, PROGS = [os.path.abspath(a) for a in (sys.argv[1], *sys.argv[3:])], os.path.abspath(sys.argv[2])
SECONDS = 2
ROUNDS = 5
BUDGET_US = 5  # at 999 Hz, the first program
STATS = "/proc/sys/kernel/bpf_stats_enabled"
PERF_EVENT = "7"  # BPF_PROG_TYPE_PERF_EVENT


def ring(tmp, seconds):
    return [os.path.join(PROGS, "frames/ring"), seconds]


def program_stats(pid):
    """(run time in ns, runs) of the agent's sampling program, as long as it holds it."""
    for path in glob.glob(f"/proc/{pid}/fdinfo/*"):
        try:
            with open(path, encoding="utf-8") as f:
                info = dict(line.split(":\t", 1) for line in f.read().splitlines() if ":\t" in line)
        except OSError:
            continue
        if info.get("prog_type", "").strip() == PERF_EVENT and int(info["run_cnt"]):
            return int(info["run_time_ns"]), int(info["run_cnt"])
    return None


def measure(agent, command, rate_hz, tmp):
    """(samples, frames per sample, µs per sample) of one run."""
    out, summary = os.path.join(tmp, "p.pb.gz"), os.path.join(tmp, "s.json")
    agent = subprocess.Popen([agent, "--profile", "-q", "-F", str(rate_hz), "-o", out, f"--json={summary}", "--",
                              *map(str, command)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    last = None
    while agent.poll() is None:
        last = program_stats(agent.pid) or last
        time.sleep(0.1)
    with open(summary, encoding="utf-8") as f:
        s = json.load(f)
    frames = sum(len(x.frames) * x.count for x in Profile(out).samples)
    runs = s["ticks_due"] - next(x["count"] for x in s["losses"] if x["name"] == "not_delivered")
    return s["samples"], frames / s["samples"], last[0] / last[1] * runs / s["samples"] / 1000


def compare(name, command, rate_hz, tmp):
    runs = {agent: [] for agent in AGENTS}
    for _ in range(ROUNDS):
        for agent in AGENTS:
            runs[agent].append(measure(agent, command, rate_hz, tmp))
    for nr, agent in enumerate(AGENTS):
        samples, frames, us = map(statistics.median, zip(*runs[agent]))
        least = min(run[2] for run in runs[agent])
        print(f"{nr},{name},{rate_hz},{samples:.0f},{frames:.1f},{least:.2f},{us:.2f},{us * 1000 / frames:.0f}",
              flush=True)


def compare_all(tmp):
    for name, make in {"ring65": ring, **{n: shipped.ALL[n] for n in ("python", "node", "clang")}}.items():
        command = make(tmp, SECONDS)
        if isinstance(command, str):
            print(f"# {name}: {command}")
            continue
        for rate_hz in (99, 999):
            compare(name, command, rate_hz, tmp)


def main():
    with open(STATS, encoding="utf-8") as f:
        before = f.read()
    with open(STATS, "w", encoding="utf-8") as f:
        f.write("1")
    print("build,program,rate_hz,samples,frames,us_least,us_middle,ns_per_frame")
    try:
        with tempfile.TemporaryDirectory() as tmp:
            compare_all(tmp)
        print(f"# budget: {BUDGET_US} us per sample for ring65 at 999 Hz")
    finally:
        with open(STATS, "w", encoding="utf-8") as f:
            f.write(before)


main()
