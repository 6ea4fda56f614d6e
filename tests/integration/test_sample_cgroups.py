# SPDX-License-Identifier: Apache-2.0
"""Samples have the ID of their task's cgroup, if the session was asked for it."""
import collections
import os
import subprocess
import time

from harness import PROGS, cgroup2_mount, done, end, need_root, note, ok, prog, skip, wait_for

SECONDS = 2


class Cgroup:
    def __init__(self, mount, name):
        self.path = os.path.join(mount, f"perf-agent-test-{os.getpid()}-{name}")
        os.mkdir(self.path)
        self.id = os.stat(self.path).st_ino

    def take(self, pid):
        with open(f"{self.path}/cgroup.procs", "w", encoding="utf-8") as f:
            f.write(str(pid))

    def is_empty(self):
        with open(f"{self.path}/cgroup.events", encoding="utf-8") as f:
            return "populated 0" in f.read()

    def remove(self):
        wait_for(self.is_empty, f"{self.path} to be empty")
        os.rmdir(self.path)


def samples(asked, pids, meanwhile=lambda: None):
    """{(pid, cgroup): samples}."""
    p = subprocess.Popen([os.path.join(PROGS, "sample_cgroups"), asked, str(SECONDS), *map(str, pids)],
                         stdout=subprocess.PIPE, text=True)
    p.stdout.readline()
    time.sleep(SECONDS / 2)
    meanwhile()
    out = p.communicate()[0]
    found = collections.Counter()
    for line in out.splitlines():
        pid, cgroup, nr = map(int, line.split())
        found[pid, cgroup] += nr
    note(dict(found))
    ok(p.returncode == 0 and found, f"samples are taken, cgroup IDs: {asked}")
    return found


def check(mount):
    first, second = Cgroup(mount, "first"), Cgroup(mount, "second")
    one, other = prog("spin", 60), prog("spin", 60)
    first.take(one.pid)
    second.take(other.pid)
    pids = [one.pid, other.pid]
    found = samples("yes", pids)
    ok(set(found) == {(one.pid, first.id), (other.pid, second.id)},
       "each sample has the ID of its process's cgroup, which is the inode of its directory")
    found = samples("yes", pids, lambda: second.take(one.pid))
    ok(set(found) == {(one.pid, first.id), (one.pid, second.id), (other.pid, second.id)},
       "a process that moves has the ID of where it is at that moment")
    found = samples("no", pids)
    ok(set(found) == {(one.pid, 0), (other.pid, 0)}, "no sample has one if nobody asks")
    end(one)
    end(other)
    first.remove()
    second.remove()


need_root()
root = cgroup2_mount()
if root:
    check(root)
else:
    skip("needs cgroup v2, which is not mounted here")
done()
