# SPDX-License-Identifier: Apache-2.0
"""2,000 processes that live 5 to 50 ms, of 20 binaries without frame pointers, a quarter unlinked as
soon as they run: each sample must carry the right name, path and build-id, have its functions named,
and a complete stack."""
import copy
import functools
import glob
import os
import re
import signal
import subprocess
from collections import Counter, namedtuple

import judge as stacks
from harness import PROGS, adds_up, done, finish_agent, need_root, note, ok, prog, start_agent, stop
from harness import wait_for, workdir

COUNT = int(os.environ.get("STORM_COUNT", "2000"))
PARALLEL = 4
SHARE = 0.99
COMPLETE = 0.98
MIN_UNLINKED = 200 * COUNT // 2000
STORM = os.path.realpath(os.path.join(PROGS, "storm"))
# What every process runs in addition to its own program, by name.
COMMON = re.compile(r"\[(kernel|vdso)\]|/.*/(ld-linux[^/]*|libc|libpthread)[-.][^/]*")

Life = namedtuple("Life", "exe build_id variant state")


def read_truth(path):
    """pid → list of lives; a PID may be reused. Samples have no time in pprof, so one may be of any life of its PID; a
    foreign process gets the PID only after all others were used."""
    truth = {}
    with open(path) as f:
        for line in f:
            pid, exe, build_id, variant, _, _, _, state = line.split()
            truth.setdefault(int(pid), []).append(Life(exe, build_id, variant, state))
    return truth


def is_own(frame, life, comm):
    """A frame of what the process runs; before its exec, under its parent's name, that is the storm itself."""
    if comm == "storm":
        return frame.path == STORM
    return frame.path == life.exe and frame.build_id == life.build_id


def is_foreign(frame, life, comm):
    """Code that this process never had mapped, or a function that its file does not have."""
    if not frame.path.startswith("/") or is_common(frame):
        return False
    if frame.path == life.exe and not frame.build_id:
        return False  # gone before it could be read: unknown, which is not wrong
    if not is_own(frame, life, comm):
        return True
    return frame.function.startswith("storm_fn_") and frame.function != f"storm_fn_{life.variant}"


def is_common(frame):
    return COMMON.fullmatch(frame.path) and (frame.build_id or frame.path.startswith("["))


def judge(sample, life):
    """own: with a frame of its own program; common: only code that every process has; both are right. wrong: the name,
    file, build-id or function of another process. unplaced: neither."""
    comm = sample.labels["comm"]
    if comm not in ("storm", os.path.basename(life.exe)[:15]):
        return "wrong"
    if any(is_foreign(f, life, comm) for f in sample.frames):
        return "wrong"
    if any(is_own(f, life, comm) for f in sample.frames):
        return "own"
    return "common" if sample.frames and all(map(is_common, sample.frames)) else "unplaced"


def best(sample, lives):
    """The life that fits the sample best, with the verdict."""
    order = ["own", "common", "unplaced", "wrong"]
    return min(((judge(sample, x), x) for x in lives), key=lambda v: order.index(v[0]))


def show(sample):
    frames = "; ".join(f"{f.path or '?'} {f.build_id[:8]} {f.name}" for f in sample.frames[:6])
    return f"pid {sample.labels['pid']} {sample.labels['comm']} {sample.labels.get('truncated', '')}: {frames}"


@functools.lru_cache(None)
def has_symbols(path):
    """Whether a file has a full symbol table; the storm's own binaries and copies of them do."""
    if "storm_child" in os.path.basename(path) or path.startswith(tmp):
        return True
    out = subprocess.run(["readelf", "-SW", path], capture_output=True, text=True).stdout
    return " .symtab " in out


_roots = {}


def is_complete(sample, life):
    """From the files alone; a copy that is gone is read from its original."""
    if not sample.frames or "truncated" in sample.labels:
        return False
    root = copy.copy(sample.frames[-1])
    if root.path.startswith(tmp):
        root.path = next(x for x in binaries if x.endswith(f"_{life.variant}"))
    key = root.path, root.address - root.mapping.memory_start if root.mapping else root.address
    if key not in _roots:
        _roots[key] = stacks.is_root(root)
    return _roots[key]


def check(verdicts, what, least):
    total = sum(verdicts.values())
    right = verdicts["own"] + verdicts["common"]
    ok(total >= least, f"{what}: {total} samples")
    ok(verdicts["wrong"] == 0, f"{what}: {verdicts['wrong']} samples carry something wrong")
    ok(right >= SHARE * total > 0, f"{what}: {right / max(total, 1):.4f} carry the right name, path and build-id")
    note(f"{what}: {dict(verdicts)}; {verdicts['own'] / max(total, 1):.4f} have a frame of their own program")


need_root()
tmp = workdir()
truth_path = os.path.join(tmp, "truth")
binaries = sorted(os.path.realpath(x) for x in glob.glob(os.path.join(PROGS, "storm_child_*")) if not x.endswith(".p"))
ok(len(binaries) >= 20, f"{len(binaries)} different binaries")
run = start_agent(tmp, "-a", "-F", 999, "-d", "300s")
wait_for(lambda: any("perf_event" in os.readlink(x) or "bpf" in os.readlink(x)
                     for x in glob.glob(f"/proc/{run.pid}/fd/*") if os.path.islink(x)), "the agent")
storm = prog("storm", COUNT, PARALLEL, truth_path, *binaries)
ok(storm.wait(240) == 0, "every process of the storm ended well")
stop(run, signal.SIGINT)
run = finish_agent(run)
truth = read_truth(truth_path)
p = run.profile
ok(run.status == 0 and adds_up(run.summary), "the agent ends well and adds up")
ok(run.summary["sideband_lost"] == 0, "no side-band record was lost")
ok(sum(len(x) for x in truth.values()) == COUNT, f"{COUNT} processes are in the driver's list")

groups = {"forked": Counter(), "kept": Counter(), "unlinked": Counter()}
named = Counter()
complete = Counter()
shown = 0
for s in p.samples:
    if s.labels["pid"] not in truth:
        continue
    verdict, life = best(s, truth[s.labels["pid"]])
    groups["forked" if s.labels["comm"] == "storm" else life.state][verdict] += s.count
    if verdict in ("wrong", "unplaced") and shown < 20:
        shown += 1
        note(f"{verdict}: {show(s)}; {life}")
    if "no_user_stack" not in s.labels:
        complete[is_complete(s, life), s.labels.get("truncated")] += s.count
    for f in s.frames:
        if f.path.startswith("/") and has_symbols(f.path):
            named[f.is_named, f.path.startswith(tmp)] += s.count
check(groups["forked"], "processes before their exec", 1)
check(groups["kept"], "processes of files that stay", COUNT)
check(groups["unlinked"], "processes of unlinked files", MIN_UNLINKED)
good, total = complete[True, None], sum(complete.values())
note(f"stacks by completeness and reason: {dict(complete)}")
ok(good >= COMPLETE * total > 0, f"{good} of {total} stacks are complete ({good / max(total, 1):.4f})")
for is_copy, what in ((False, "files with symbols"), (True, "unlinked files")):
    frames = named[True, is_copy] + named[False, is_copy]
    ok(named[True, is_copy] >= SHARE * frames > 0,
       f"{named[True, is_copy]} of {frames} frames in {what} are named")
done()
