# SPDX-License-Identifier: Apache-2.0
"""A file system whose server stops answering delays nobody but its own processes: captures end, with symbols for
everybody else. The attacks are those of an unprivileged user."""
import atexit
import os
import shutil
import signal
import subprocess
import time

from harness import PROGS, done, finish_agent, need_root, note, ok, prog, skip, start_agent, workdir
from hostile_fuse import Hostile, fuse_device, make_user

SILENT = ("overlay", "tmp", "lock")  # no further files are requested in these modes
LONGEST_S = 10  # including two seconds of sampling


def capture(tmp, *args, seconds=2):
    p = start_agent(tmp, *args, "-d", f"{seconds}s", "-F", 99)
    started = time.monotonic()
    try:
        run = finish_agent(p, 60)
        run.took = time.monotonic() - started
        return run
    except subprocess.TimeoutExpired:
        return stuck(p)


def stuck(p):
    p.kill()  # otherwise the agent may wait until the hostile process is gone
    atexit.register(p.wait)
    return None


def system_wide(tmp, mode, hostile):
    run = capture(tmp, "-a")
    if not ok(run is not None, f"{mode}: a capture of the whole system ends"):
        return
    note(run.stderr)
    note(f"it took {run.took:.1f} s")  # mostly for symbols of other processes
    ok(run.status == 0, f"{mode}: with status 0")
    if mode in SILENT:
        ok(hostile.pid in [u["pid"] for u in run.summary["unanswered"]], f"{mode}: who did not answer is named")
    spins = [s for s in run.profile.samples if s.labels["pid"] == spin.pid]
    named = sum(s.count for s in spins if "spin_inner" in s.names())
    ok(spins and named >= 0.9 * sum(s.count for s in spins), f"{mode}: others are named: {named}")
    return run


def of_one(tmp, mode, hostile):
    run = capture(tmp, "--pid", hostile.pid)
    if ok(run is not None, f"{mode}: a capture of the process itself ends"):
        note(run.stderr)
        ok(run.status == 0 and run.took < LONGEST_S * SLACK, f"{mode}: with status 0, in {run.took:.1f} s")


def interrupted(tmp, mode):
    p = start_agent(tmp, "-a", "-d", "60s", "-F", 99)
    time.sleep(1.5)
    p.send_signal(signal.SIGINT)
    started = time.monotonic()
    try:
        run = finish_agent(p, 30)
    except subprocess.TimeoutExpired:
        run = stuck(p)
    took = time.monotonic() - started
    ok(run and run.status == 0 and took < 5 * SLACK, f"{mode}: an interrupt ends it, in {took:.1f} s")


def attack(tmp, device, mode):
    hostile = Hostile(tmp, device, mode, UID)
    if hostile.why:
        skip(f"{mode}: {hostile.why}")
        return
    of_one(tmp, mode, hostile)
    system_wide(tmp, mode, hostile)
    interrupted(tmp, mode)
    hostile.end()


def scan_interrupted(tmp, hostile):
    """The user asks to finish while the mappings of one process are read."""
    p = start_agent(tmp, "--pid", hostile.pid, "-d", "60s", "-F", 99)
    time.sleep(0.5)
    p.send_signal(signal.SIGINT)
    started = time.monotonic()
    try:
        run = finish_agent(p, 60)
    except subprocess.TimeoutExpired:
        run = stuck(p)
    took = time.monotonic() - started
    ok(run and took < 2 * SLACK, f"slow: an interrupt ends the scan of the process, in {took:.1f} s")


def slow(tmp, device):
    """Every request is answered, but late: hundreds of them are as bad as silence."""
    hostile = Hostile(tmp, device, "slow", UID)
    if hostile.why:
        skip(f"slow: {hostile.why}")
        return
    scan_interrupted(tmp, hostile)
    of_one(tmp, "slow", hostile)
    run = system_wide(tmp, "slow", hostile)
    ok(run and hostile.pid in [u["pid"] for u in run.summary["unanswered"]], "slow: who it was is named")
    interrupted(tmp, "slow")
    hostile.end()


need_root()
SLACK = 2  # allowance for a busy machine
UID = make_user()
tmp = workdir()
os.chmod(tmp, 0o755)
for name in ("silent_fuse", "static_spin"):
    shutil.copy(os.path.join(PROGS, name), tmp)
spin = prog("spin", 300)
device = fuse_device(tmp)
for mode in ("overlay", "random", "sysv", "tmp", "lock", "plain"):
    attack(tmp, device, mode)
slow(tmp, device)
done()
