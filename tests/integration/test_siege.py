# SPDX-License-Identifier: Apache-2.0
"""All attacks of one unprivileged user at once: debug information and unwind tables that cost too much, a file system
that does not answer and one that answers late. A capture of the whole machine ends as usual, and resolves everybody
else's code."""
import atexit
import os
import platform
import resource
import shutil
import subprocess
import sys
import time

import hostile_elf as hostile
from harness import PROGS, done, end, finish_agent, need_root, note, ok, prog, skip, start_agent, workdir
from hostile_fuse import Hostile, fuse_device, make_user

HERE = os.path.dirname(os.path.abspath(__file__))
MAX_CPU_S = 20  # of the agent and its readers, for whatever else has to be resolved on the machine
MAX_WALL_S = 400  # otherwise it hangs; other processes may use the CPUs


def run_files(name, make, nr, *args):
    """A process that runs the code of such files."""
    paths = [os.path.join(tmp, f"{name}{i}") for i in range(nr)]
    for path in paths:
        make(path, *args)
    p = subprocess.Popen(["setpriv", f"--reuid={UID}", f"--regid={UID}", "--clear-groups", sys.executable,
                          os.path.join(tmp, "run_files.py"), *paths], stdout=subprocess.PIPE, text=True)
    atexit.register(end, p)
    ok(p.stdout.readline() == "ready\n", f"{name}: the hostile process runs")
    return p


def fuse(mode):
    h = Hostile(tmp, device, mode, UID)
    if h.why:
        skip(f"{mode}: {h.why}")
        return None
    return h


def usage():
    u = resource.getrusage(resource.RUSAGE_CHILDREN)
    return u.ru_utime + u.ru_stime


def capture():
    before, started = usage(), time.monotonic()
    p = start_agent(tmp, "-a", "-d", "2s", "-F", 99)
    try:
        run = finish_agent(p, MAX_WALL_S)
    except subprocess.TimeoutExpired:
        p.kill()
        run = finish_agent(p)
    return run, usage() - before, time.monotonic() - started


def share_named(run, pid, name):
    samples = [s for s in run.profile.samples if s.labels["pid"] == pid]
    nr = sum(s.count for s in samples)
    return sum(s.count for s in samples if name in s.names()) / nr if nr else 0


need_root()
if platform.machine() != "x86_64":
    skip("makes code for x86-64")
    done()
if not shutil.which("setpriv"):
    skip("needs setpriv")
    done()
UID = make_user()
tmp = workdir()
os.chmod(tmp, 0o755)
for path in (os.path.join(HERE, "run_files.py"), os.path.join(HERE, "hostile_elf.py"),
             os.path.join(PROGS, "silent_fuse"), os.path.join(PROGS, "static_spin")):
    shutil.copy(path, tmp)
device = fuse_device(tmp)
innocent = prog("spin", 300)
run_files("abbrevs", hostile.shared_abbrevs, 1, 100000, 1000000)
run_files("ranges", hostile.shared_ranges, 1, 100000, 2000000)
run_files("sparse", hostile.sparse_code, 32)
hostiles = [h for h in map(fuse, ("overlay", "tmp", "lock", "slow")) if h]
run, cpu_s, wall_s = capture()
note(run.stderr)
ok(run.status == 0 and run.profile is not None, "the capture ends with status 0")
ok(cpu_s < MAX_CPU_S, f"the capture ends after {cpu_s:.1f} s of CPU time")
note(f"{wall_s:.1f} s by the clock")
share = share_named(run, innocent.pid, "spin_inner") if run.profile else 0
ok(share > 0.9, f"an ordinary process has symbols: {share:.2f}")
ok(run.summary and (not hostiles or run.summary["unanswered"]), "the summary names processes that did not answer")
ok(run.summary and run.summary["limits"], "the summary names files over the limits")
for h in hostiles:
    h.end()
done()
