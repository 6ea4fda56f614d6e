# SPDX-License-Identifier: Apache-2.0
"""A model that is swapped ten times while sampling goes on: the parts add up to the whole, sample for sample, with
their labels and values, and no sample is lost."""
import collections
import os
import re
import statistics
import subprocess

from harness import done, end, need_root, note, ok, PROGS, prog, workdir
from pprof import Profile

SWAPS = 10
EVERY_MS = 1000
COUNT = ("samples", "count")
MAX_GROWTH_KIB = 60  # per swap: for the model that is never taken out, and for what is known of processes


def sums(path):
    """{(functions, labels): values}, all values other than 0."""
    found = collections.Counter()
    profile = Profile(path)
    for s in profile.samples:
        labels = tuple(sorted(s.labels.items()))
        for kind, value in zip(profile.sample_types, s.values):
            found[tuple(s.names()), labels, kind] += value
    return found


def total(found, kind):
    return sum(n for (_, _, k), n in found.items() if k == kind)


def is_same(text, a, b):
    if not ok(a == b, text):
        note("\n".join(map(str, (set(a.items()) ^ set(b.items())))))


need_root()
tmp = workdir()
shop = prog("demo_workload", 300, 2)
churn = prog("churn", 300)
r = subprocess.run([os.path.join(PROGS, "swap_models"), tmp, str(SWAPS), str(EVERY_MS), str(shop.pid), str(churn.pid)],
                   capture_output=True, text=True, check=False)
end(shop)
end(churn)
note(r.stdout + r.stderr)
ok(r.returncode == 0, "ten models are taken out, named and written while sampling goes on")
parts = [sums(os.path.join(tmp, f"{i}.pb.gz")) for i in [*range(SWAPS), "last"]]
whole = sums(os.path.join(tmp, "whole.pb.gz"))
together = sum(parts, collections.Counter())
counts = dict(re.findall(r"^(samples|lost|addresses|accounted) (\d+)", r.stdout, re.M))
stacks = {stack for stack, _, _ in whole}
labels = {key for _, pairs, _ in whole for key, _ in pairs}
note(f"{total(whole, COUNT)} samples in {len(stacks)} stacks, labels {labels}; "
     f"parts {[total(p, COUNT) for p in parts]}")
is_same(f"the {len(parts)} profiles together are the one that was never taken out: stacks, labels and values",
        together, whole)
ok({"pid", "tid", "comm", "thread"} <= labels, "samples have labels to compare")
ok(counts["lost"] == "0", f"no sample that the kernel delivered is lost: {counts['lost']}")
ok(all(total(p, COUNT) > 100 for p in parts[:SWAPS]), "each profile that was taken out has samples")
ok(total(whole, COUNT) == int(counts["samples"]), "the profiles have as many samples as the summary")
ok(counts["addresses"] == counts["accounted"],
   f"the summary counts all {counts['addresses']} addresses that were resolved")
ok(len(stacks) > 20, f"{len(stacks)} different stacks")
live = [int(kib) for kib in re.findall(r"live_kib (\d+)", r.stdout)]
growth = [b - a for a, b in zip(live, live[1:])][SWAPS // 3:]
ok(statistics.median(growth) < MAX_GROWTH_KIB, f"memory is flat: {live} KiB")
done()
