# SPDX-License-Identifier: Apache-2.0
"""Less room for unwind tables than the targets need, which run in turns: tables are dropped and compiled again, others
replace them in the kernel, no frame is wrong, and stacks stay complete. All binaries of the targets claim the same
build-id, and none gets another one's table. Copies of one binary, as in containers, share one table."""
import glob
import os
import shutil
import signal
import subprocess
import time

from harness import PROGS, agent, done, end, need_root, note, ok, prog, workdir
from pprof import Profile

PHASES = [0, 1, 2, 1]  # which group runs
PHASE_SECONDS = 3
GROUP = 3
SHARE = 0.99
# With the first group alone it would be a quarter, if no table ever replaced another.
IN_KERNEL = 0.35
MIN_SAMPLES = 300
COPIES = 20
FORGED = "0123456789abcdef0123456789abcdef01234567"


def start(tmp, room, seconds, targets):
    out = os.path.join(tmp, f"{room}.pb.gz")
    p = subprocess.Popen([os.path.join(PROGS, "small_tables"), str(room), str(seconds), out,
                          *(str(t.pid) for t in targets)], stdout=subprocess.PIPE, text=True)
    p.out = out
    return p


def finish(p):
    text = p.communicate()[0]
    note(text.replace("\n", ", "))
    return {x.split()[0]: int(x.split()[1]) for x in text.splitlines()}, Profile(p.out)


def let_run(targets, group):
    for i, t in enumerate(targets):
        t.send_signal(signal.SIGCONT if group is None or i // GROUP == group else signal.SIGSTOP)


def is_wrong(sample, variant):
    """A function that the process does not have, or not in the order of its calls."""
    names = [n for n in sample.names() if n.startswith("storm_") or n in ("main", "_start")]
    truth = [f"storm_leaf_{variant}", f"storm_fn_{variant}", "main", "_start"]
    return names != [n for n in truth if n in names] or ("main" in names) != ("_start" in names)


def wrong_ones(profile):
    wrong = [s for s in profile.samples if is_wrong(s, variants[s.labels["pid"]])]
    for s in wrong[:5]:
        note(f"wrong: {s.labels} {';'.join(s.names())}")
    return wrong


def damage(path):
    """Puts an invalid instruction into the first FDE that has any instruction."""
    sections = subprocess.run(["readelf", "-SW", path], capture_output=True, text=True, check=True).stdout
    row = next(x.split("]")[1].split() for x in sections.splitlines() if " .eh_frame " in x)
    at, end = int(row[3], 16), int(row[3], 16) + int(row[4], 16)
    with open(path, "r+b") as f:
        data = f.read()
        while at < end:
            size, cie = (int.from_bytes(data[at + i:at + i + 4], "little") for i in (0, 4))
            if cie and data[at + 16] == 0 and size > 14:
                f.seek(at + 17)
                f.write(b"\x3f")
                return
            at += 4 + size


def test_damaged(tmp):
    """A copy of a program that differs in one byte is counted separately."""
    found = []
    for name in "whole", "damaged":
        path = shutil.copy(os.path.join(PROGS, "spin"), os.path.join(tmp, name))
        if name == "damaged":
            damage(path)
        run = agent(tmp, "-d", "1s", "--unwind", "dwarf", command=[path, "3"])
        gaps = {x["name"]: x["count"] for x in run.summary["gaps"]}
        found.append((gaps["bad_cfi"], run.summary["nr_tables"], run.summary["cfi_unused"]))
    note(f"malformed entries, tables, entries about no code: {found}")
    ok(found[1][0] == found[0][0] + 1 and found[1][1] == found[0][1], "an entry of a file that is damaged is counted")


def run_copies(tmp, binary, nr):
    """nr targets, each with a file of its own that is a copy of the binary."""
    paths = [os.path.join(tmp, f"copy{i}") for i in range(nr)]
    for path in paths:
        shutil.copy(binary, path)
    copies = [prog(path, 1000000) for path in paths]
    result, profile = finish(start(tmp, 1 << 28, 3, copies))
    for c in copies:
        end(c)
    shown = {f.path for s in profile.samples for f in s.frames}
    return result, [x for x in paths if x in shown]


need_root()
tmp = workdir()
binaries = sorted(x for x in glob.glob(os.path.join(PROGS, "static_child_*")) if not x.endswith(".p"))
binaries = binaries[:GROUP * (max(PHASES) + 1)]
targets = [prog(os.path.basename(x), 1000000) for x in binaries]
variants = {t.pid: x.rsplit("_", 1)[1] for t, x in zip(targets, binaries)}

roomy, profile = finish(start(tmp, 1 << 28, 2, targets))
ok({f.build_id for s in profile.samples for f in s.frames if f.path.startswith("/")} == {FORGED},
   f"{len(binaries)} binaries have one forged build-id")
ok(roomy["tables"] >= len(binaries), f"{roomy['tables']} files have tables")
wrong = wrong_ones(profile)
ok(not wrong and roomy["complete"] >= SHARE * roomy["samples"] > 0,
   f"no file was walked by another one's table: {len(wrong)} stacks are wrong, "
   f"{roomy['complete']} of {roomy['samples']} complete")
ok(roomy["evicted"] == 0 and roomy["refused"] == 0, "with room for all, none is dropped")

let_run(targets, PHASES[0])
run = start(tmp, roomy["peak"] * 4 // 9, PHASE_SECONDS * len(PHASES), targets)
for phase in PHASES:
    let_run(targets, phase)
    time.sleep(PHASE_SECONDS)
tight, profile = finish(run)
let_run(targets, None)
for t in targets:
    end(t)
n = tight["samples"]
wrong = wrong_ones(profile)
ok(n >= MIN_SAMPLES, f"with room for less than half: {n} samples")
ok(tight["evicted"] > GROUP, f"{tight['evicted']} times a table was dropped")
ok(tight["complete"] >= SHARE * n, f"{tight['complete'] / n:.4f} of the stacks are complete")
ok(not wrong, f"{len(wrong)} stacks are wrong")
in_kernel = 1 - tight["finished"] / n
ok(in_kernel > IN_KERNEL, f"{in_kernel:.2f} of the walks were made in the kernel")

one, shown = run_copies(tmp, binaries[0], 1)
many, shown = run_copies(tmp, binaries[0], COPIES)
ok(len(shown) == COPIES and many["tables"] >= COPIES and many["complete"] >= SHARE * many["samples"],
   f"{len(shown)} copies of a binary were walked, {many['complete']} of {many['samples']} complete")
ok(many["peak"] <= one["peak"], f"their tables take {many['peak']} bytes; that of one {one['peak']}")
test_damaged(tmp)
done()
