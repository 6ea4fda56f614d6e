#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""bench_offcpu.py PERF_AGENT PROGS_DIR [--hooks SWITCH_HOOKS] [OTHER_PERF_AGENT...]: what a context switch costs while somebody watches
them, as CSV: tool, switches per second, µs of CPU time per switch that the tool adds (the least and the
middle of several rounds), what it lost in all rounds, and for the agent the time of its programs per switch by the kernel's
own count (kernel.bpf_stats_enabled, in a run of its own, because counting costs time too).

Two threads pass a byte back and forth on one CPU (progs/pingpong.c), each in a stack of 27 frames without frame
pointers. All tools watch the same process, in turns, so that what else the machine does meets all of them. Of
each round the CPU time and the context switches of the two threads are read from /proc: time in which others run
on that CPU does not count. `none` is the round without a tool, which all others are compared with. Other builds
of the agent are compared by their `--offcpu` alone. SWITCH_HOOKS (switch_hooks.c) shows what the ways to be
called at a context switch cost by themselves.

Exits 1 if the least that `--offcpu` adds is above 2 us per switch, or if it loses what the kernel delivers.

perf and bpftrace need tracefs, which is mounted in a mount namespace of their own. Needs root.
"""
import collections
import glob
import json
import os
import re
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

PATHS = [os.path.abspath(a) for a in sys.argv[1:] if a != "--hooks"]
HOOKS = PATHS.pop(2) if "--hooks" in sys.argv else None
AGENTS, PROGS = [PATHS[0], *PATHS[2:]], PATHS[1]
SECONDS = float(os.environ.get("BENCH_SECONDS", 1.5))
ROUNDS = int(os.environ.get("BENCH_ROUNDS", 9))
TOOLS = os.environ.get("BENCH_TOOLS", "")  # a regular expression
SETTLE_S = 0.5  # until tables are there, and caches are warm
GOAL_US = 2  # --offcpu without kernel stacks
UNDELIVERED = {"not_delivered", "no_end"}  # switches that the kernel keeps from every tracepoint
STATS = "/proc/sys/kernel/bpf_stats_enabled"
TRACEFS = ["unshare", "-m", "sh", "-c",
           "mount -t tracefs none /sys/kernel/tracing && mount -t debugfs none /sys/kernel/debug && exec \"$@\"", "sh"]


class Target:
    """The process that all tools watch."""

    def __init__(self):
        self.process = subprocess.Popen([os.path.join(PROGS, "pingpong"), "0"], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True)
        self.process.stdout.readline()
        self.pid = self.process.pid
        self.players = [int(t) for t in os.listdir(f"/proc/{self.pid}/task") if int(t) != self.pid]

    def counters(self):
        """(context switches, ns of CPU time) of both players since they began."""
        switches = ns = 0
        for tid in self.players:
            with open(f"/proc/{self.pid}/task/{tid}/status", encoding="utf-8") as f:
                switches += sum(map(int, re.findall(r"ctxt_switches:\s+(\d+)", f.read())))
            with open(f"/proc/{self.pid}/task/{tid}/schedstat", encoding="utf-8") as f:
                ns += int(f.read().split()[0])
        return switches, ns

    def end(self):
        self.process.stdin.close()
        self.process.wait()


def wait_for(process, is_ready):
    """Until a tool runs; its standard error is a file."""
    end = time.monotonic() + 60
    while process.poll() is None and time.monotonic() < end:
        if is_ready():
            return
        time.sleep(0.05)
    raise RuntimeError(f"{process.args}: has not begun")


class Nothing:
    name = "none"

    def begin(self, target, tmp):
        pass

    def end(self):
        return {}


class Agent:
    def __init__(self, name, path, *options):
        self.name, self.path, self.options = name, path, options

    def begin(self, target, tmp):
        self.summary, self.err = os.path.join(tmp, "agent.json"), os.path.join(tmp, "agent.err")
        with open(self.err, "wb") as err:
            self.process = subprocess.Popen(
                [self.path, *self.options, "-p", str(target.pid), "-d", "0", "-v", f"--json={self.summary}"],
                stdout=subprocess.DEVNULL, stderr=err, cwd=tmp)
        wait_for(self.process, self.is_attached)

    def is_attached(self):
        return any(nr for _, nr in program_stats(self.process.pid, False))

    def end(self):
        self.process.send_signal(signal.SIGINT)
        self.process.wait()
        with open(self.summary, encoding="utf-8") as f:
            s = json.load(f)
        lost = {g["name"]: g["count"] for g in s.get("pmu_gaps", [])}
        for x in s["sections"]:
            lost.update({f"{x['units']} {loss['name']}": loss["count"] for loss in x["losses"] if loss["count"]})
            lost[x["units"]] = x["due"]
        return lost


class Hook:
    """A program of switch_hooks.bpf.c."""

    def __init__(self, name):
        self.name = name

    def begin(self, target, tmp):
        self.process = subprocess.Popen([HOOKS, self.name], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        if self.process.stdout.readline() != "ready\n":
            raise RuntimeError(f"{self.name}: cannot be attached")

    def end(self):
        self.process.communicate("")
        return {}


class Perf:
    name = "perf record -g"

    def begin(self, target, tmp):
        self.data, self.err = os.path.join(tmp, "perf.data"), os.path.join(tmp, "perf.err")
        with open(self.err, "wb") as err:
            self.process = subprocess.Popen([*TRACEFS, "perf", "record", "-e", "sched:sched_switch", "-g", "-p",
                                             str(target.pid), "-o", self.data], stdout=subprocess.DEVNULL, stderr=err)
        wait_for(self.process, lambda: os.path.exists(self.data) and os.path.getsize(self.data) > 1 << 20)

    def end(self):
        self.process.send_signal(signal.SIGINT)
        self.process.wait()
        stats = subprocess.run(["perf", "report", "--stats", "-i", self.data], capture_output=True, text=True,
                               check=False).stdout
        os.remove(self.data)
        lost = re.search(r"LOST_SAMPLES events:\s+(\d+)", stats)
        with open(self.err, encoding="utf-8") as f:
            chunks = re.search(r"lost (\d+) chunks", f.read())
        samples = re.search(r"SAMPLE events:\s+(\d+)", stats)
        return {"lost samples": int(lost[1]) if lost else 0, "lost chunks": int(chunks[1]) if chunks else 0,
                "samples": int(samples[1]) if samples else 0}


class Bpftrace:
    name = "bpftrace ustack"

    def begin(self, target, tmp):
        self.err, self.out = os.path.join(tmp, "bpftrace.err"), os.path.join(tmp, "bpftrace.out")
        program = f"tracepoint:sched:sched_switch /pid == {target.pid}/ {{ @[ustack] = count(); }}"
        with open(self.err, "wb") as err, open(self.out, "wb") as out:
            self.process = subprocess.Popen([*TRACEFS, "bpftrace", "-e", program], stdout=out, stderr=err)
        wait_for(self.process, self.is_attached)

    def is_attached(self):
        with open(self.out, encoding="utf-8") as f:
            return "Attaching" in f.read()

    def end(self):
        self.process.send_signal(signal.SIGINT)
        self.process.wait()
        with open(self.err, encoding="utf-8") as f, open(self.out, encoding="utf-8") as out:
            lost, counts = re.findall(r"Lost (\d+) events", f.read()), re.findall(r"\]: (\d+)", out.read())
        return {"lost": sum(map(int, lost)), "counted": sum(map(int, counts))}


def program_stats(pid, has_stats=True):
    """(ns, runs) of each tracing program that a process holds. Without statistics runs is 1."""
    found = []
    for path in glob.glob(f"/proc/{pid}/fdinfo/*"):
        try:
            with open(path, encoding="utf-8") as f:
                info = dict(line.split(":\t", 1) for line in f.read().splitlines() if ":\t" in line)
        except OSError:
            continue
        if not has_stats and info.get("link_type") == "raw_tracepoint":
            found.append((0, 1))
        if has_stats and "prog_type" in info and int(info["run_cnt"]):
            found.append((int(info["run_time_ns"]), int(info["run_cnt"])))
    return found


def tools():
    """All there are; prints which are missing."""
    yield Nothing()
    yield Agent("--offcpu", AGENTS[0], "--offcpu")
    for nr, path in enumerate(AGENTS[1:], 1):
        yield Agent(f"--offcpu of build {nr}", path, "--offcpu")
    yield Agent("--offcpu --kernel-stacks", AGENTS[0], "--offcpu", "--kernel-stacks")
    yield Agent("--profile --offcpu", AGENTS[0], "--profile", "--offcpu")
    yield Agent("--pmu", AGENTS[0], "--pmu")
    if HOOKS:
        yield from map(Hook, ("raw_empty", "btf_empty", "raw_hash", "btf_hash", "btf_storage"))
    for tool, command in (Bpftrace(), "bpftrace"), (Perf(), "perf"):
        if shutil.which(command):
            yield tool
        else:
            print(f"# {tool.name}: {command} is not installed")


def measure(tool, target, tmp):
    """(switches per second, µs of CPU time per switch, what was lost) of one round."""
    tool.begin(target, tmp)
    time.sleep(SETTLE_S)
    begin, switches, ns = time.monotonic(), *target.counters()
    time.sleep(SECONDS)
    more, more_ns = target.counters()
    rate = (more - switches) / (time.monotonic() - begin)
    return rate, (more_ns - ns) / (more - switches) / 1000, tool.end()


def all_losses(runs):
    """Of all rounds, by name."""
    total = collections.Counter()
    for _, _, lost in runs:
        total.update(lost)
    return total


def sum_of_losses(runs):
    return " ".join(f"{nr} {name}" for name, nr in all_losses(runs).items()) or "-"


def misses(name, added, losses):
    """What the goal is and the run has not reached."""
    if name != "--offcpu":
        return []
    names = {k.removeprefix("intervals ") for k, nr in losses.items() if k.startswith("intervals ") and nr}
    found = [f"lost: {', '.join(sorted(names - UNDELIVERED))}"] if names - UNDELIVERED else []
    return found + ([f"{added:.2f} us are added, more than {GOAL_US}"] if added > GOAL_US else [])


def compare(target, tmp):
    """What was missed of the goal."""
    missed = []
    all_tools = [tool for tool in tools() if re.search(TOOLS, tool.name) or tool.name == "none"]
    rounds = {tool.name: [] for tool in all_tools}
    for _ in range(ROUNDS):
        for tool in all_tools:
            rounds[tool.name].append(measure(tool, target, tmp))
    bare = [us for _, us, _ in rounds["none"]]
    print("tool,switches_per_s,us_per_switch,us_added_least,us_added_middle,lost")
    for name, runs in rounds.items():
        us = [run[1] for run in runs]
        added = [one - other for one, other in zip(us, bare)]
        print(f"{name},{max(run[0] for run in runs):.0f},{min(us):.2f},{min(us) - min(bare):.2f},"
              f"{statistics.median(added):.2f},{sum_of_losses(runs)}", flush=True)
        missed += misses(name, min(us) - min(bare), all_losses(runs))
    return missed


def ns_per_switch(agent, target, tmp):
    """The time of all programs that a tool holds per context switch of the players."""
    agent.begin(target, tmp)
    time.sleep(SETTLE_S)
    before, (switches, _) = program_stats(agent.process.pid), target.counters()
    time.sleep(SECONDS)
    after, (more, _) = program_stats(agent.process.pid), target.counters()
    agent.end()
    return (sum(ns for ns, _ in after) - sum(ns for ns, _ in before)) / (more - switches)


def count_in_kernel(target, tmp):
    agents = [tool for tool in tools() if isinstance(tool, (Agent, Hook)) and re.search(TOOLS, tool.name)]
    runs = {agent.name: [] for agent in agents}
    with open(STATS, encoding="utf-8") as f:
        before = f.read()
    with open(STATS, "w", encoding="utf-8") as f:
        f.write("1")
    try:
        for _ in range(ROUNDS):
            for agent in agents:
                runs[agent.name].append(ns_per_switch(agent, target, tmp))
    finally:
        with open(STATS, "w", encoding="utf-8") as f:
            f.write(before)
    print("tool,program_ns_least,program_ns_middle")
    for name, ns in runs.items():
        print(f"{name},{min(ns):.0f},{statistics.median(ns):.0f}", flush=True)


def main():
    target = Target()
    try:
        with tempfile.TemporaryDirectory() as tmp:
            missed = compare(target, tmp)
            count_in_kernel(target, tmp)
    finally:
        target.end()
    print(f"# goal: at most {GOAL_US} us per switch for --offcpu, and nothing lost that the kernel delivers")
    for line in missed:
        print(f"# missed: {line}")
    return 1 if missed else 0


sys.exit(main())
