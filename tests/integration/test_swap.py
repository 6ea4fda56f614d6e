# SPDX-License-Identifier: Apache-2.0
"""Models of time on and off the CPU that are swapped ten times while sampling goes on: the parts of each add up to the
whole, stack by stack, with their labels and values, to what the kernel has counted, and nothing is lost."""
import collections
import os
import re
import statistics
import subprocess

from harness import done, end, need_root, note, ok, PROGS, prog, workdir
from pprof import Profile

SWAPS = 10
EVERY_MS = 1000
# Per swap of both: for the models that are never taken out, and for what is known of processes; and for each stack that the
# kernel sums up, of which it keeps 65,536 at most, also of threads that have exited.
MAX_GROWTH_KIB = 120
MAX_WAIT_KIB = 1
COUNTS = {"on-cpu": ("samples", "count"), "off-cpu": ("intervals", "count")}
OFF_CPU_NS = ("offcpu", "nanoseconds")


def sums(path):
    """{(functions, labels, type): value}, all values other than 0."""
    found = collections.Counter()
    profile = Profile(path)
    for s in profile.samples:
        labels = tuple(sorted(s.labels.items()))
        for kind, value in zip(profile.sample_types, s.values):
            found[tuple(s.names()), labels, kind] += value
    return found


def total(found, kind, states=None):
    return sum(n for (_, labels, k), n in found.items() if k == kind and (not states or dict(labels)["state"] in states))


def is_same(text, a, b):
    if not ok(a == b, text):
        note("\n".join(map(str, sorted(set(a.items()) ^ set(b.items()), key=str)[:40])))


def check_parts(name, parts, whole, section):
    """What holds for the parts of any profile."""
    count = COUNTS[name]
    stacks = {stack for stack, _, _ in whole}
    labels = {key for _, pairs, _ in whole for key, _ in pairs}
    note(f"{name}: {total(whole, count)} in {len(stacks)} stacks, labels {labels}; "
         f"parts {[total(p, count) for p in parts]}")
    is_same(f"{name}: the {len(parts)} profiles together are the one that was never taken out: stacks, labels and values",
            sum(parts, collections.Counter()), whole)
    ok({"pid", "tid", "comm", "thread"} <= labels, f"{name}: samples have labels to compare")
    ok(section["lost"] == 0, f"{name}: no sample that the kernel delivered is lost: {section['lost']}")
    ok(section["unexplained"] == 0, f"{name}: every event is accounted for: {section['unexplained']} are not")
    ok(all(total(p, count) > 0 for p in parts[:SWAPS]), f"{name}: each profile that was taken out has samples")
    ok(total(whole, count) == section["samples"], f"{name}: the profiles have as many samples as the summary")
    ok(len(stacks) > 20, f"{name}: {len(stacks)} different stacks")


def check_long_wait(parts, tids):
    """A thread that waits all the time is in one part, that in which its wait ended: the kernel sent its stack ten models
    before."""
    found = [[i for i, part in enumerate(parts) for (stack, pairs, kind), n in part.items()
              if kind == COUNTS["off-cpu"] and dict(pairs)["tid"] == tid and "deep_call" in stack] for tid in tids]
    ok(found == [[SWAPS]] * len(tids), f"threads that wait all the time are in the last profile, once: {found}")


def check_times(found, threads):
    """The kernel's own account of the time of threads, by other programs."""
    for kind, states in (("blocked_ns", {"sleep", "disk"}), ("runnable_ns", {"runqueue", "preempted"})):
        ns = total(found, OFF_CPU_NS, states)
        ok(abs(ns - threads[kind]) <= threads[kind] // 50, f"{kind}: {ns} in the profiles, {threads[kind]} by the scheduler")


need_root()
tmp = workdir()
shop = prog("demo_workload", 300, 2)
churn = prog("churn", 300)
naps = prog("many_stacks", 6000, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
still = prog("deep_wait", 3, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
targets = [shop, churn, naps, still]
for waiting in (naps, still):
    waiting.stdout.readline()
still_tids = [int(tid) for tid in os.listdir(f"/proc/{still.pid}/task")]
swapping = subprocess.Popen([os.path.join(PROGS, "swap_models"), tmp, str(SWAPS), str(EVERY_MS),
                             *[str(t.pid) for t in targets]], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
note(swapping.stdout.readline())  # sampling has begun
naps.stdin.write(b"\n")
naps.stdin.flush()
printed = swapping.communicate()[0]
for target in targets:
    end(target)
note(printed)
ok(swapping.returncode == 0, "ten models of each are taken out, named and written while sampling goes on")
sections = {name: {k: int(n) for k, n in re.findall(r"(\w+) (-?\d+)", rest)}
            for name, rest in re.findall(r"^([\w-]+): (.*)", printed, re.M)}
parts = {name: [sums(os.path.join(tmp, f"{origin}-{i}.pb.gz")) for i in [*range(SWAPS), "last"]]
         for origin, name in enumerate(COUNTS)}
for origin, name in enumerate(COUNTS):
    check_parts(name, parts[name], sums(os.path.join(tmp, f"{origin}-whole.pb.gz")), sections[name])
off_cpu = parts["off-cpu"]
check_long_wait(off_cpu, still_tids)
check_times(sum(off_cpu, collections.Counter()), sections["threads"])
counts = dict(re.findall(r"^(addresses|accounted) (\d+)", printed, re.M))
ok(counts["addresses"] == counts["accounted"],
   f"the summary counts all {counts['addresses']} addresses that were resolved")
live = [(int(kib), int(nr)) for kib, nr in re.findall(r"live_kib (\d+) waits (\d+)", printed)]
growth = [b - a - MAX_WAIT_KIB * max(more - nr, 0) for (a, nr), (b, more) in zip(live, live[1:])][SWAPS // 3:]
ok(statistics.median(growth) < MAX_GROWTH_KIB, f"memory is flat: {live} KiB and stacks of waits")
done()
