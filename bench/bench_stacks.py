#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""bench_stacks.py PERF_AGENT [NAME…]: complete stacks and cost, beside perf, one after the other on the
same programs (tests/integration/shipped.py). As CSV: who, program, samples, share of stacks that reach
their outermost frame, frames per stack, CPU seconds of the profiler without naming, bytes written; of the agent also its memory at most before
it names.

perf's stacks are judged by the name of their outermost frame, the agent's by its own count (which
integration_unwind holds against a second reader). Needs root and perf.
"""
import json
import os
import re
import resource
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../tests/integration"))
import shipped  # noqa: E402
from pprof import Profile  # noqa: E402

AGENT = os.path.abspath(sys.argv[1])
RATE_HZ = 999
SECONDS = 3
ROOTS = re.compile(r"^(_start|__?clone3?|clone3?|start_thread|thread_start|runtime\.(goexit|mstart|rt0_go|mcall|"
                   r"morestack)(\.abi0)?|_rt0_\w+|ret_from_fork\w*)$")


def cpu_of(argv):
    """CPU seconds of a program and of what it waited for."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(argv, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def by_agent(command, tmp):
    out, summary = os.path.join(tmp, "p.pb.gz"), os.path.join(tmp, "s.json")
    cpu_of([AGENT, "--profile", "-q", "-F", str(RATE_HZ), "-o", out, f"--json={summary}", "--", *command])
    with open(summary, encoding="utf-8") as f:
        s = json.load(f)
    frames = sum(len(x.frames) * x.count for x in Profile(out).samples)
    return (s["samples"], s["stacks_complete"], frames, s["agent_sampling_cpu_ns"] / 1e9, os.path.getsize(out),
            f"{s['agent_sampling_rss_bytes'] / 2**20:.1f}")


def stacks_of(data):
    """Of perf.data: a list of names per sample, leaf first."""
    text = subprocess.run(["perf", "script", "--no-inline", "-F", "ip,sym", "-i", data],
                          capture_output=True, text=True, errors="replace", check=False).stdout
    for block in text.split("\n\n"):
        names = [line.split(None, 1)[-1] for line in block.splitlines() if line.strip()]
        if names:
            yield names


def by_perf(mode, command, tmp):
    data = os.path.join(tmp, "perf.data")
    argv = ["perf", "record", "-q", "-e", "cpu-clock:u", "-F", str(RATE_HZ), "--call-graph", mode, "-o", data,
            "--", *command]
    with_perf, alone = cpu_of(argv), cpu_of(command)
    stacks = list(stacks_of(data))
    complete = sum(bool(ROOTS.match(names[-1])) for names in stacks)
    return (len(stacks), complete, sum(map(len, stacks)), max(with_perf - alone, 0), os.path.getsize(data), "")


def line(who, name, result):
    n, complete, frames, cpu_s, size, rss_mib = result
    if not n:  # perf 6.1 on Linux 6.18 may fail an assertion of its own (util/build-id.c:1010)
        print(f"# {who}, {name}: cannot read what it wrote")
        return
    print(f"{who},{name},{n},{complete / max(n, 1):.4f},{frames / max(n, 1):.1f},{cpu_s:.2f},{size},{rss_mib}",
          flush=True)


def main():
    print("who,program,samples,complete,frames_per_stack,cpu_s,bytes,rss_mib")
    with tempfile.TemporaryDirectory() as tmp:
        for name in sys.argv[2:] or shipped.ALL:
            command = shipped.ALL[name](tmp, SECONDS)
            if isinstance(command, str):
                print(f"# {name}: {command}")
                continue
            command = [str(word) for word in command]
            line("perf-agent", name, by_agent(command, tmp))
            line("perf fp", name, by_perf("fp", command, tmp))
            line("perf dwarf", name, by_perf("dwarf,16384", command, tmp))


main()
