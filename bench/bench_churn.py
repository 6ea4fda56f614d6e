#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""bench_churn.py PERF_AGENT PROGS_DIR [--seconds N] [--rate HZ] [--processes N] [--files N] [--own]: what a
long capture of the whole machine (--own: of these processes alone) costs in memory while processes come
and go: so many a second, of which some run a file that is new and gone again when they end. Prints how
fast the agent's memory and descriptors grow (least squares, without the first tenth), in all and for
each process. Needs root.
"""
import argparse
import itertools
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time

SHELL = ["sh", "-c", "i=0; while [ $i -lt 200 ]; do i=$((i + 1)); done"]


def arguments():
    p = argparse.ArgumentParser(description="memory of a long capture with process churn")
    p.add_argument("agent", type=os.path.abspath)
    p.add_argument("progs", type=os.path.abspath)
    p.add_argument("--seconds", type=float, default=600)
    p.add_argument("--rate", type=int, default=999, help="samples a second on each CPU")
    p.add_argument("--processes", type=float, default=70, help="started a second")
    p.add_argument("--files", type=float, default=4, help="of them, with a file of their own")
    p.add_argument("--own", action="store_true", help="sample no other processes, where the machine is not ours alone")
    return p.parse_args()


class Churn:
    """Starts processes by the clock and collects them. What is late because the machine is busy is started
    late, not left out: every run has the same number of them."""

    def __init__(self, args, directory):
        self.args, self.directory = args, directory
        self.names = (os.path.join(directory, f"new-{i}") for i in itertools.count())
        self.running, self.nr, self.nr_files = [], 0, 0
        self.began = time.monotonic()

    def start(self, argv, path=None):
        p = subprocess.Popen(argv, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.running.append((p, path))
        self.nr += 1

    def start_file(self):
        path = next(self.names)
        shutil.copy(os.path.join(self.args.progs, f"storm_child_{self.nr_files % 20}"), path)
        self.start([path, "2"], path)
        self.nr_files += 1

    def collect(self):
        for p, path in [x for x in self.running if x[0].poll() is not None]:
            self.running.remove((p, path))
            if path:
                os.unlink(path)

    def step(self):
        passed = time.monotonic() - self.began
        while self.nr_files < passed * self.args.files:
            self.start_file()
        if self.nr < passed * self.args.processes:
            self.start(SHELL)
        self.collect()


def memory(pid):
    """Bytes of resident memory and number of descriptors."""
    with open(f"/proc/{pid}/status", encoding="utf-8") as f:
        kib = next(int(x.split()[1]) for x in f if x.startswith("VmRSS:"))
    return kib << 10, len(os.listdir(f"/proc/{pid}/fd"))


def slope(points):
    """Least squares: (per x)."""
    n = len(points)
    x, y = sum(p[0] for p in points) / n, sum(p[1] for p in points) / n
    return sum((p[0] - x) * (p[1] - y) for p in points) / sum((p[0] - x) ** 2 for p in points)


def watch(agent, churn, seconds):
    """(seconds, bytes, descriptors, processes started) once a second."""
    seen = []
    while agent.poll() is None and time.monotonic() - churn.began < seconds:
        churn.step()
        passed = time.monotonic() - churn.began
        if passed >= len(seen) + 1:
            seen.append((passed, *memory(agent.pid), churn.nr))
        time.sleep(0.002)
    return seen


def report(args, churn, seen, s):
    late = seen[len(seen) // 10:]
    per_s = slope([(x[0], x[1]) for x in late])
    per_process = slope([(x[3], x[1]) for x in late])
    print(f"{late[-1][0]:.0f} s at {args.rate} Hz: {churn.nr} processes started, {churn.nr_files} files of their own; "
          f"{s['samples']} samples, {s['nr_processes']} processes with samples, {s['nr_stacks']} stacks, "
          f"{s['nr_locations']} locations, {s['sideband_lost']} side-band records lost")
    print(f"memory {late[0][1] >> 10} KiB at {late[0][0]:.0f} s, {late[-1][1] >> 10} KiB at {late[-1][0]:.0f} s: "
          f"{per_s / 1024:.1f} KiB a second, {per_process:.0f} bytes a process, "
          f"{per_s * late[-1][0] / max(s['nr_stacks'], 1):.0f} bytes a stack; {s['agent_peak_rss_bytes'] >> 10} KiB at most")
    print(f"descriptors {late[0][2]} to {late[-1][2]}, {max(x[2] for x in late)} at most; "
          f"{s['agent_sampling_cpu_ns'] / 1e9:.1f} s of CPU time while sampling")


def main():
    args = arguments()
    with tempfile.TemporaryDirectory() as tmp:
        summary = os.path.join(tmp, "s.json")
        target = ["--pid", str(os.getpid())] if args.own else ["-a"]
        agent = subprocess.Popen([args.agent, "--profile", "-q", *target, "-F", str(args.rate),
                                  "-d", f"{args.seconds + 5}s", "-o", os.path.join(tmp, "p.pb.gz"), f"--json={summary}"],
                                 stdout=subprocess.DEVNULL)
        churn = Churn(args, tmp)
        try:
            seen = watch(agent, churn, args.seconds)
        finally:
            for p, _ in churn.running:
                p.kill()
                p.wait()
        if agent.wait() != 0 or len(seen) < 10:
            sys.exit("the capture failed, or was too short to measure")
        with open(summary, encoding="utf-8") as f:
            report(args, churn, seen, json.load(f))


main()
