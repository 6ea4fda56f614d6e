# SPDX-License-Identifier: Apache-2.0
"""2,000 processes that live 5 to 50 ms, of 20 binaries, a quarter unlinked as soon as they run:
each sample must carry the right name, path and build-id, and have its functions named."""
import functools
import glob
import os
import signal
import subprocess

from harness import PROGS, adds_up, done, finish_agent, need_root, note, ok, prog, start_agent, stop
from harness import wait_for, workdir

COUNT = int(os.environ.get("STORM_COUNT", "2000"))
PARALLEL = 4
SHARE = 0.99


def read_truth(path):
    """pid → list of lives; a PID may come back."""
    truth = {}
    with open(path) as f:
        for line in f:
            pid, exe, build_id, variant, start, running, end_ns, state = line.split()
            truth.setdefault(int(pid), []).append((exe, build_id, variant, state))
    return truth


@functools.lru_cache(None)
def has_symbols(path):
    """Whether a file has a full symbol table; the storm's own binaries and copies of them do."""
    if "storm_child" in os.path.basename(path) or path.startswith(tmp):
        return True
    out = subprocess.run(["readelf", "-SW", path], capture_output=True, text=True).stdout
    return " .symtab " in out


need_root()
tmp = workdir()
truth_path = os.path.join(tmp, "truth")
binaries = sorted(x for x in glob.glob(os.path.join(PROGS, "storm_child_*")) if not x.endswith(".p"))
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

total = right = wrong = frames = named = unnamed_unlinked = 0
unplaced = {}
for s in p.samples:
    if s.labels["pid"] not in truth or not s.labels["comm"].startswith("storm_child"):
        continue
    lives = truth[s.labels["pid"]]
    own = [f for f in s.frames if "storm_child" in os.path.basename(f.path) or f.path.startswith(tmp)]
    total += s.count
    if not own:
        # In ld.so or libc before main, or cut there: no frame of the binary to check.
        known = [f for f in s.frames if f.path.startswith("/") and f.build_id]
        right += s.count if known else 0
        if not known:
            why = (s.labels.get("truncated"), s.frames[0].path if s.frames else "")
            unplaced[why] = unplaced.get(why, 0) + s.count
    elif any(own[0].path == exe and own[0].build_id == bid and s.labels["comm"] == os.path.basename(exe)[:15]
             for exe, bid, _, _ in lives):
        right += s.count
    else:
        wrong += s.count
        note(f"wrong: pid {s.labels['pid']} {s.labels['comm']} {own[0].path} {own[0].build_id} {lives}")
    for f in s.frames:
        if f.path.startswith("/") and has_symbols(f.path):
            frames += s.count
            named += s.count if f.is_named else 0
            if not f.is_named and f.path.startswith(tmp):
                unnamed_unlinked += s.count
    for f in own:
        variant = {v for _, _, v, _ in lives}
        if f.is_named and "storm_fn_" in f.name and not any(f.name == f"storm_fn_{v}" for v in variant):
            wrong += s.count
            note(f"wrong function {f.name} in {f.path}")
note(f"{total} samples: {right} right, {wrong} wrong, {unplaced} unplaced; {named} of {frames} frames named; "
     f"{unnamed_unlinked} unnamed in unlinked copies")
ok(total >= COUNT, f"{total} samples of {COUNT} processes")
ok(wrong == 0, f"{wrong} samples carry something wrong")
ok(right >= SHARE * total, f"{right / total:.4f} carry the right name, path and build-id")
ok(named >= SHARE * frames, f"{named / frames:.4f} of the frames in files with symbols are named")
done()
