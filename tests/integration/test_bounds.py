# SPDX-License-Identifier: Apache-2.0
"""Files of an unprivileged user that are made to be costly to read: a capture ends soon, names the code of
everybody else, and says which files went over a limit."""
import os
import platform
import pwd
import resource
import shutil
import signal
import subprocess
import sys
import time

import hostile_elf as hostile
from harness import PROGS, done, end, finish_agent, need_root, note, ok, prog, skip, start_agent, wait_for, workdir

HERE = os.path.dirname(os.path.abspath(__file__))
MAX_CPU_S = 10  # of the agent; the files took it minutes to days
MAX_RSS_KIB = 700 << 10


def started(files):
    """A process of the unprivileged user that runs the code of these files."""
    p = subprocess.Popen(["setpriv", f"--reuid={user.pw_uid}", f"--regid={user.pw_gid}", "--clear-groups",
                          sys.executable, os.path.join(tmp, "run_files.py"), *files], stdout=subprocess.PIPE, text=True)
    if p.stdout.readline() != "ready\n":
        note("the hostile process did not start")
    return p


def usage():
    u = resource.getrusage(resource.RUSAGE_CHILDREN)
    return u.ru_utime + u.ru_stime


def capture(what, files, *args):
    """Profiles the machine while these files run."""
    p = started(files)
    before = usage()
    agent = start_agent(tmp, "-a", "-d", "1s", *args)
    try:
        run = finish_agent(agent, 100)
    except subprocess.TimeoutExpired:
        agent.kill()
        run = finish_agent(agent)
    cpu_s = usage() - before
    end(p)
    if not ok(run.status == 0 and run.profile is not None and cpu_s < MAX_CPU_S,
              f"{what}: the capture ends, after {cpu_s:.1f} s of CPU time"):
        note(f"exit {run.status}: {run.stderr[-2000:]}")
    ok(run.profile and any("spin_inner" in s.names() for s in run.profile.samples), f"{what}: others are named")
    return run


def made(name, make, *args):
    path = os.path.join(tmp, name)
    make(path, *args)
    return path


def test_sparse_code():
    files = [made(f"sparse{i}", hostile.sparse_code) for i in range(64)]
    capture("64 sparse programs", files)
    capture("64 sparse programs, compiled first", files, "--unwind", "dwarf")


need_root()
if platform.machine() != "x86_64":
    skip("makes code for x86-64")
    done()
if not shutil.which("setpriv"):
    skip("needs setpriv")
    done()
user = pwd.getpwnam("nobody")
tmp = workdir()
os.chmod(tmp, 0o755)
for script in ("run_files.py", "hostile_elf.py"):
    shutil.copy(os.path.join(HERE, script), tmp)
neighbour = prog("spin", 600)
test_sparse_code()
done()
