#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""bench_sample.py PERF_AGENT PROGS_DIR LEAVE_OUT [LEAVE_OUT...]: where the time of a sample goes, as CSV: for a program
of six frames and the one of 66 that has a budget, the parts of a sample, how often each is called, what a sample costs
without it, and the memory that a sample writes (leave_out.c). Each LEAVE_OUT may be of another build with the same maps;
they take turns.

The program runs alone on the last CPU, with real-time priority, so that a busy machine disturbs it less. Samples come
at 999 Hz, between which the program itself runs, and at 9,999 Hz, where what samples use is still in the caches. Needs
root.
"""
import os
import signal
import subprocess
import sys
import tempfile
import time

AGENT, PROGS, TOOLS = sys.argv[1], sys.argv[2], sys.argv[3:]
PROGRAMS = {"6 frames": "spin", "66 frames": "frames/ring"}
RATES_HZ = 999, 9999
ROUNDS, TURNS = 5, 4


def start_target(name):
    cpu = max(os.sched_getaffinity(0))
    target = subprocess.Popen(["taskset", "-c", str(cpu), "chrt", "-r", "1", os.path.join(PROGS, PROGRAMS[name]), "0"],
                              stdout=subprocess.PIPE)
    target.stdout.readline()  # "ready"
    return target


def start_agent(target, tmp):
    """An agent that knows the target's mappings and has compiled its tables."""
    agent = subprocess.Popen([AGENT, "--profile", "-q", "-F", "49", "-d", "0", "-p", str(target.pid), "-o",
                              os.path.join(tmp, "p.pb.gz")])
    time.sleep(2)
    return agent


def measure(name, tmp):
    target = start_target(name)
    agent = start_agent(target, tmp)
    try:
        for rate_hz in RATES_HZ:
            for turn in range(TURNS):
                for nr, tool in enumerate(TOOLS):
                    rows = subprocess.run([tool, str(agent.pid), str(target.pid), str(rate_hz), str(ROUNDS)], check=True,
                                          stdout=subprocess.PIPE, text=True).stdout
                    for row in rows.splitlines()[1:]:
                        print(f"{nr},{turn},{name},{rate_hz},{row}", flush=True)
    finally:
        agent.send_signal(signal.SIGINT)
        agent.wait()
        target.kill()
        target.wait()


def main():
    print("build,turn,program,rate_hz,part,calls_per_sample,ns_least,ns_middle,ns_less_least,ns_less_middle")
    with tempfile.TemporaryDirectory() as tmp:
        for name in PROGRAMS:
            measure(name, tmp)


main()
