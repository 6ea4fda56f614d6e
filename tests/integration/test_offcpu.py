# SPDX-License-Identifier: Apache-2.0
"""Off-CPU time: known waits are measured with their length and place, with state, system call and complete stack; every
interval is accounted for."""
import glob
import json
import os
import subprocess
import time

from harness import PROGS, adds_up, agent, done, end, need_root, note, ok, prog, skip, workdir
from pprof import Profile

SECONDS = 3
MAX_RUNS = 6
IS_X86 = os.uname().machine == "x86_64"
CALLS = {
    "wait_nanosleep": ("clock_nanosleep", "sleep"),
    "wait_renamed": ("clock_nanosleep", "sleep"),
    "wait_futex": ("futex", "sleep"),
    "wait_pipe": ("read", "sleep"),
    "wait_epoll": ("epoll_wait" if IS_X86 else "epoll_pwait", "sleep"),
    "wait_fsync": ("fsync", "disk"),
    "wait_vfork": ("vfork" if IS_X86 else "clone", "disk"),
}
IO_SLEEPS = {"io_schedule", "io_schedule_timeout", "mutex_lock_io"}
CREATING = {"clone", "clone3", "fork", "vfork"}
BLOCKED, RUNNABLE = ("sleep", "disk"), ("runqueue", "preempted")
ALL_STATES = "sleep,disk,runqueue,preempted"


def section(summary, name="off-cpu"):
    return next((s for s in summary["sections"] if s["name"] == name), None)


def counts(s):
    return {c["name"]: c["count"] for c in s["counts"]}


def is_exact(s):
    return s["due"] == s["samples"] + s["lost"] + sum(c["count"] for c in s["counts"]) and s["unexplained"] == 0


def off_cpu(directory, *args, **kwargs):
    """A run, with its off-CPU profile as run.off."""
    path = os.path.join(directory, "off.pb.gz")
    run = agent(directory, "--offcpu", "--offcpu-output", path, *args, **kwargs)
    note(run.stderr)
    run.off = Profile(path)
    return run


def ns_of(samples, states):
    return sum(s.values[1] for s in samples if s.labels["state"] in states)


def waits_command(directory):
    """The shell sends the program the line that it waits for."""
    return ["sh", "-c", f"echo | exec {PROGS}/waits {SECONDS} {directory}"]


def check_time(t):
    """Compares the profile of one thread with its own clock. The scheduler knows how long it waited for a CPU. Its time
    on a CPU is its CPU time plus what the hypervisor took away, which the time of threads includes."""
    blocked, runnable = ns_of(t.samples, BLOCKED), ns_of(t.samples, RUNNABLE)
    slack = 0.02 * t.elapsed
    note(f"{t.name}: {t.on_cpu / 1e6:.1f} ms on a CPU, of which {t.cpu / 1e6:.1f} ms are its CPU time")
    ok(t.cpu - slack < t.on_cpu < t.cpu + t.stolen + slack and abs(t.on_cpu + blocked + runnable - t.elapsed) < slack,
       f"{t.name}: {(blocked + runnable) / 1e6:.1f} ms off the CPU of {t.elapsed / 1e6:.1f} ms by its own clock")
    ok(abs(runnable - t.delay) < slack,
       f"{t.name}: {runnable / 1e6:.1f} ms of that without a CPU, {t.delay / 1e6:.1f} ms by the scheduler's account")


def check_place(t):
    """Where and how a thread waits."""
    call, state = CALLS[t.name]
    waits = [s for s in t.samples if s.labels["state"] in BLOCKED]
    right = [s for s in waits if t.name in s.names() and s.labels.get("syscall") == call and s.labels["state"] == state]
    share = ns_of(right, BLOCKED) / ns_of(waits, BLOCKED)
    ok(share > 0.98, f"{t.name}: {share:.3f} of the time is in {call}, in state {state}")
    seen = sum(s.count for s in waits)
    ok(0.98 * t.nr_waits <= seen <= t.nr_waits, f"{t.name}: {seen} waits, {t.nr_waits} by the scheduler's account")
    ok(all(s.names()[-2] == "start_thread" and "truncated" not in s.labels for s in t.samples),
       f"{t.name}: all stacks are complete")


def check_names(t):
    """The thread has another name each time, with the same stack."""
    naps = [s for s in t.samples if s.labels.get("syscall") == "clock_nanosleep" and s.labels["state"] == "sleep"]
    by_name = {name: sum(s.count for s in naps if s.labels["thread"] == name) for name in ("even", "odd")}
    ok(sum(by_name.values()) == sum(s.count for s in naps) and all(n > 0.48 * t.nr for n in by_name.values()),
       f"{t.nr} waits have the name that the thread had then: {by_name}")


class Thread:
    """A thread of the program: what it prints about itself, and what the profile of that run has of it."""

    def __init__(self, run, line):
        self.name, *numbers = line.split()
        self.tid, self.elapsed, self.cpu, self.delay, self.nr, self.nr_waits = map(int, numbers)
        self.stolen = run.summary["steal_ns"] or 0
        self.on_cpu = next(t["on_cpu_ns"] for t in run.summary["threads"] if t["tid"] == self.tid)
        self.samples = [s for s in run.off.samples if s.labels["tid"] == self.tid and "wait_again" in s.names()]
        # Kernels do not deliver every event. A missing switch to the thread costs the interval, a missing wake-up its
        # state.
        self.nr_missing = 2 * self.nr_waits - sum(s.count for s in self.samples if s.labels["state"] != "preempted")


def threads_of(run):
    return {t.name: t for t in (Thread(run, x) for x in run.stdout.splitlines() if x.startswith("wait_"))}


def whole_threads(run):
    """For each thread, of a few runs, the run in which most of its events were delivered: that one must be right."""
    best = threads_of(run)
    for _ in range(MAX_RUNS - 1):
        if not any(t.nr_missing for t in best.values()):
            break
        again = threads_of(off_cpu(tmp, "--offcpu-states", ALL_STATES, command=waits_command(tmp)))
        best = {name: min(t, again[name], key=lambda x: x.nr_missing) for name, t in best.items()}
    return best


def check_truth(run):
    """The waits that could be compared with the truth."""
    checked = []
    threads = whole_threads(run)
    ok(list(threads) == list(CALLS), f"the program has waited in {len(threads)} ways")
    for name, t in threads.items():
        if not t.nr_waits:
            skip(f"{name}: needs a file system that waits for a disk in {tmp}")
            continue
        note(f"{name}: {t.nr_missing} of {2 * t.nr_waits} events are missing")
        check_time(t)
        check_place(t)
        if name == "wait_renamed":
            check_names(t)
        checked.append(name)
    return checked


def descendants(pid):
    """Its descendants that exist now."""
    found = set()
    for path in glob.glob(f"/proc/{pid}/task/*/children"):
        try:
            with open(path, encoding="ascii") as f:
                children = {int(x) for x in f.read().split()}
        except OSError:  # it is gone
            continue
        found |= children.union(*(descendants(x) for x in children))
    return found


def check_readers(directory):
    path = os.path.join(directory, "readers.pb.gz")
    run = subprocess.Popen([os.environ["PERF_AGENT"], "--offcpu", "-a", "-d", "2s", "--offcpu-output", path],
                           stderr=subprocess.DEVNULL)
    readers = set()
    while run.poll() is None:
        readers |= descendants(run.pid)
        time.sleep(0.02)
    seen = {s.labels["pid"] for s in Profile(path).samples}
    ok(readers and not seen & readers,
       f"{len(readers)} reader processes of the agent are not in the profile: {seen & readers}")


def check_starving():
    """A thread that waits for a CPU when the capture begins, and mostly until it ends: its competitors have 700 times
    its weight."""
    cpu = min(os.sched_getaffinity(0))
    starving, *rivals = [prog("spin", 600) for _ in range(3)]
    os.sched_setscheduler(starving.pid, os.SCHED_IDLE, os.sched_param(0))
    for p in starving, *rivals:
        os.sched_setaffinity(p.pid, {cpu})
    time.sleep(0.5)
    run = off_cpu(tmp, "-d", "1s", "--offcpu-states", "runqueue,preempted", "--pmu", "--pmu-output",
                  os.path.join(tmp, "pmu.txt"), "-p", starving.pid)
    for p in starving, *rivals:
        end(p)
    waited, thread = ns_of(run.off.samples, RUNNABLE), run.summary["threads"][0]
    ok(abs(waited + thread["on_cpu_ns"] - thread["elapsed_ns"]) < 0.02 * thread["elapsed_ns"]
       and waited > 0.9 * thread["elapsed_ns"],
       f"a thread that starves waits for a CPU for {waited / 1e6:.1f} ms of {thread['elapsed_ns'] / 1e6:.1f} ms")
    longest = max(run.off.samples, key=lambda x: x.values[1], default=None)
    ok(is_exact(section(run.summary)) and longest and "main" in longest.names() and longest.labels["state"] == "preempted",
       "where it was when it lost its CPU")
    gaps = {x["name"]: x["count"] for x in run.summary["pmu_gaps"]}
    ok(gaps["waits_open"] == 1, f"{gaps['waits_open']} wait for a CPU is not over at the end, say scheduler statistics")


def check_new_threads():
    """Short-lived threads that share a CPU: the profile has all the time they wait for it, from their creation on."""
    run = off_cpu(tmp, "--offcpu-states", ALL_STATES,
                  command=["taskset", "-c", "0", "sh", "-c", f"echo | {PROGS}/crowd 30 2 brief; (exit); (exit); exit"])
    waited, runnable, s = ns_of(run.off.samples, RUNNABLE), run.summary["threads"][0]["runnable_ns"], section(run.summary)
    ok(is_exact(s) and abs(waited - runnable) < (0.03 + s["lost"] / s["due"]) * runnable,
       f"{run.summary['threads_seen']} threads wait for a CPU for {waited / 1e6:.1f} ms, {runnable / 1e6:.1f} ms by the ledger")
    first = [x for x in run.off.samples if x.labels["state"] == "runqueue" and x.labels.get("syscall") in CREATING]
    new = [x for x in first if x.labels["comm"] == "crowd" and x.labels["pid"] != x.labels["tid"]]
    ok(sum(x.count for x in new) > 0.9 * (run.summary["threads_seen"] - 10) and
       all(len(x.names()) == 1 and "clone" in x.names()[0] and "truncated" not in x.labels for x in new),
       f"{len(new)} threads have waited in the system call that created them, on a stack of their own")
    forked = [x for x in first if x.labels["comm"] == "sh" and len(x.names()) > 3 and "truncated" not in x.labels]
    ok(len({x.labels["pid"] for x in forked}) >= 2, f"{len(forked)} processes have, in the stack that they have inherited")


def check_io_waits():
    """What scheduler statistics call a wait for I/O is, by the kernel stack, a sleep for I/O."""
    run = off_cpu(tmp, "--kernel-stacks", "--pmu", "--pmu-output", os.path.join(tmp, "pmu.txt"), command=waits_command(tmp))
    disk = [s for s in run.off.samples if s.labels["state"] == "disk"]
    for_io = sum(s.count for s in disk if IO_SLEEPS & set(s.names()))
    vfork = [s for s in disk if "wait_vfork" in s.names()]
    counted, slack = run.summary["pmu"][0]["nr_io_wait"], 2 + section(run.summary)["lost"]
    note(f"{sum(s.count for s in disk)} uninterruptible sleeps, {for_io} of them for I/O")
    if for_io < 20:
        skip(f"{for_io} waits for I/O: needs a file system that waits for a disk in {tmp}")
    else:
        ok(abs(counted - for_io) <= slack, f"{counted} context switches begin a wait for I/O, {for_io} stacks wait for I/O")
    nr = sum(s.count for s in vfork)
    ok(nr > 50 and not any(IO_SLEEPS & set(s.names()) for s in vfork) and counted <= for_io + slack,
       f"{nr} uninterruptible waits for a child are none of them")


need_root()
tmp = workdir()
run = off_cpu(tmp, "--offcpu-states", ALL_STATES, "--top", "40", command=waits_command(tmp))
ok(run.status == 0, "a command is profiled on and off the CPU")
ok(run.off.sample_types == [("intervals", "count"), ("offcpu", "nanoseconds")]
   and run.off.default_sample_type == "offcpu", "the values are intervals and nanoseconds")
ok(all(s.labels.get("state") in ALL_STATES.split(",") for s in run.off.samples), "every sample has its state")
checked = check_truth(run)
s = section(run.summary)
ok(is_exact(s), f"{s['due']} intervals are all accounted for")
ok(s["samples"] == run.off.total(), "the profile has as many intervals as the account says")
ok(adds_up(run.summary), "the ticks of the on-CPU profile are all accounted for")
rows = {(w["functions"].removeprefix("nap < ").split(" < ")[0], w["syscall"], w["state"]): w for w in run.summary["waits"]}
waits = [rows.get((name, *CALLS[name])) for name in checked]
ok(all(w and 0 < w["total_ns"] / w["nr_intervals"] <= w["longest_ns"] <= w["total_ns"] for w in waits),
   f"the summary lists {len(waits)} waits, with the longest interval of each")
ok("wait_futex < wait_again" in run.stderr and "off the CPU in" in run.stderr, "the report lists the waits")

# A thread that never returns from its wait.
target = prog("waits", 60, tmp, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
target.stdout.readline()
agents = subprocess.Popen([os.environ["PERF_AGENT"], "--offcpu", "-p", str(target.pid), "-d", "3s",
                           "--offcpu-output", os.path.join(tmp, "open.pb.gz"), f"--json={tmp}/open.json"],
                          stderr=subprocess.PIPE, text=True)
note(agents.stderr.readline())  # the capture has begun
target.stdin.write(b"\n")
target.stdin.flush()
note(agents.communicate()[1])
end(target)
p = Profile(os.path.join(tmp, "open.pb.gz"))
longest = max((x.values[1] for x in p.samples if "usleep" in x.names() and "main" in x.names()), default=0)
ok(1.5e9 < longest <= p.duration_nanos, f"a wait that is not over at the end counts until then: {longest / 1e9:.3f} s")
for name, call in ("wait_long", "clock_nanosleep"), ("wait_forever", "read"):
    found = [x for x in p.samples if name in x.names()]
    ok(len(found) == 1 and abs(found[0].values[1] / p.duration_nanos - 1) < 0.02 and found[0].count == 1
       and found[0].names()[-2] == "start_thread" and found[0].labels.get("syscall") == call,
       f"a thread that waited before and after is there for the whole capture: {[x.values[1] / 1e9 for x in found]} s")
first = [x for x in p.samples if "getchar" in x.names() and x.names()[-1] == "_start"]
ok(len(first) == 1 and 0 < first[0].values[1] < p.duration_nanos,
   "a wait that ends during the capture is there until its end")
with open(f"{tmp}/open.json") as f:
    s = section(json.load(f))
ok(is_exact(s) and s["samples"] == p.total(), "waits that the capture did not see begin are in the account")

# Two threads that share a CPU.
run = off_cpu(tmp, "-d", "2s", "--offcpu-states", "preempted",
              command=["taskset", "-c", "0", "sh", "-c", f"{PROGS}/spin 2 & {PROGS}/spin 2; wait"])
preempted = sum(x.values[1] for x in run.off.samples if x.labels["comm"] == "spin")
ok(preempted > 1e9 and {x.labels["state"] for x in run.off.samples} == {"preempted"},
   f"programs that share a CPU wait for it {preempted / 1e9:.1f} s")
run = off_cpu(tmp, "-d", "2s", command=["taskset", "-c", "0", "sh", "-c", f"{PROGS}/spin 2 & {PROGS}/spin 2; wait"])
spun = sum(x.values[1] for x in run.off.samples if x.labels["comm"] == "spin")
s = section(run.summary)
ok(spun < 0.1e9 and counts(s)["other_states"] > 0,
   f"by default that is not time off the CPU: {counts(s)['other_states']} intervals in other states")
ok(is_exact(s), "intervals in other states are accounted for")

# Short intervals.
run = off_cpu(tmp, "--min-block", "4ms", command=waits_command(tmp))
s = section(run.summary)
ok(counts(s)["too_short"] > 0 and is_exact(s), f"{counts(s)['too_short']} intervals shorter than 4 ms are only counted")
ok(all(x.values[1] >= 4e6 * x.count for x in run.off.samples), "no interval shorter than --min-block is in the profile")

# What is lost.
run = off_cpu(tmp, "-a", "-d", "2s", "--strict")
s, lost = section(run.summary), sum(x["lost"] for x in run.summary["sections"]) + run.summary["sideband_lost"]
ok(run.status == (3 if lost else 0) and (not s["lost"] or f"{s['lost']} of {s['due']} intervals (" in run.stderr),
   f"--strict: {s['lost']} intervals of {lost} losses end with {run.status}")
run = off_cpu(tmp, "-a", "-d", "1s", "--max-lost", "90")
ok(run.status == 0, "--max-lost: as many may be lost as it says")

# The whole machine, with kernel stacks.
run = off_cpu(tmp, "-a", "-d", "2s", "--kernel-stacks")
s = section(run.summary)
ok(is_exact(s) and counts(s)["other"] == 0, f"the whole machine: {s['due']} intervals are all accounted for")
leaves = {x.names()[0] for x in run.off.samples if x.names()}
ok("__schedule" in leaves and not [n for n in leaves if n.startswith(("bpf_", "__bpf_", "__traceiter_"))],
   f"kernel stacks begin in the scheduler, not in the agent's program: {sorted(leaves)[:5]}")
ok(counts(s)["agent"] > 0 and not [x for x in run.off.samples if x.labels["pid"] == run.pid],
   f"{counts(s)['agent']} intervals of the agent, process {run.pid}, are left out")
innermost = {w["functions"].split(" < ")[0] for w in run.summary["waits"]}
ok(innermost and not [n for n in innermost if n.startswith(("__schedule", "schedule"))],
   f"waits are listed by what called the scheduler: {sorted(innermost)[:5]}")
check_readers(tmp)
check_io_waits()
check_new_threads()
check_starving()
done()
