# SPDX-License-Identifier: Apache-2.0
"""A second trigger, which only this test has, together with on-CPU in one session: two profiles, both right, two
accounts that add up, one set of unwind tables, and one set of symbols."""
import os
import subprocess

from harness import PROGS, done, end, need_root, note, ok, prog, workdir
from pprof import Profile

SECONDS = 4
MIN_SAMPLES = 300
SLACK = 0.02  # for the exact shares of the program: pages that the loader or the C library uses


def share(profile, leaf):
    return sum(s.count for s in profile.samples if s.names()[:1] == [leaf]) / profile.total()


def is_whole(sample):
    return sample.names()[-1] == "_start" and "main" in sample.names()


need_root()
tmp = workdir()
target = prog("faults", stdout=subprocess.PIPE)
target.stdout.readline()
r = subprocess.run([os.path.join(PROGS, "second_trigger"), str(SECONDS), "out.pb.gz", str(target.pid)],
                   cwd=tmp, capture_output=True, text=True)
note(r.stdout + r.stderr)
ok(r.returncode == 0, "a session has two triggers")
lines = [x.split() for x in r.stdout.splitlines()]
sections = {x[1]: {x[i]: int(x[i + 1]) for i in range(2, len(x), 2)} for x in lines if x[0] == "section"}
ok(list(sections) == ["on-cpu", "page-faults"], "each has its section")
for name, s in sections.items():
    ok(s["due"] == s["sum"] and s["samples"] > MIN_SAMPLES, f"{name}: {s['due']} events are all accounted for")
paths = [x[2] for x in lines if x[0] == "output"]
ok(paths == ["out.pb.gz", "out-page-faults.pb.gz", "stacks.folded", "stacks-page-faults.folded"],
   "each has its files, in every format")

ticks, faults = (Profile(os.path.join(tmp, x)) for x in ("out.pb.gz", "out-page-faults.pb.gz"))
ok(ticks.sample_types == [("samples", "count"), ("cpu", "nanoseconds")]
   and faults.sample_types == [("faults", "count"), ("memory", "bytes")], "each has values of its own")
ok(ticks.total() == sections["on-cpu"]["samples"] and faults.total() == sections["page-faults"]["samples"],
   "each profile has the samples of its section, and no others")
ok(faults.total(1) == 4096 * faults.total(), "a fault is worth a page")
burnt = sum(s.count for s in ticks.samples if "faults_burn" in s.names()) / ticks.total()
ok(burnt > 0.8, f"{burnt:.3f} of the ticks burn CPU time")
many, few = share(faults, "faults_many"), share(faults, "faults_few")
ok(abs(many - 0.75) < SLACK and abs(few - 0.25) < SLACK, f"{many:.3f} and {few:.3f} of the faults are where they are")
for name, p in ("on-cpu", ticks), ("page-faults", faults):
    whole = sum(s.count for s in p.samples if is_whole(s)) / p.total()
    ok(whole > 0.98, f"{name}: {whole:.3f} of the stacks are complete")
with open(os.path.join(tmp, "stacks-page-faults.folded")) as f:
    shown = sum(int(x.rsplit(" ", 1)[1]) for x in f)
ok(shown == faults.total(1), "folded stacks show the value that the trigger wants")
tables = next(int(x[1]) for x in lines if x[0] == "tables")
ok(1 <= tables <= 4, f"{tables} files' tables were compiled, once for both")
names = next({x[i]: int(x[i + 1]) for i in range(1, len(x), 2)} for x in lines if x[0] == "names")
ok(names["shared"] == names["common"] > 0 and names["addresses"] - names["shared"] == names["places"],
   f"{names['places']} places in code were resolved, each once, though {names['common']} are in both profiles")
spin = prog("spin", 300)
r = subprocess.run([os.path.join(PROGS, "failing_trigger"), str(spin.pid)], capture_output=True, text=True, check=False)
end(spin)
ok(r.returncode == 0, f"a trigger that cannot be attached fails the start, twice, and leaves nothing: {r.stdout.strip()}")
done()
