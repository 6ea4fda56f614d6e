#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""targets_cpu_ns is what the scheduler has counted for the targets, and steal_ns what the host took."""
import os

from harness import cgroup2_mount, cpu_s, done, end, finish_agent, need_root, no_mount_namespace, ok, prog, skip
from harness import start_agent, wait_for, wait_for_cpu, wait_for_sampling, workdir

# Short children, waited for at once; one that nobody waits for; threads that exit; then work of its own. At the end it
# prints the CPU time that the kernel has charged to it and its children.
FAMILY = r"""
import os, resource, subprocess, threading, time
def burn(s):
    until = time.thread_time() + s
    while time.thread_time() < until:
        pass
for _ in range(15):
    subprocess.run(["/bin/sh", "-c", "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done"], check=True)
for _ in range(3):
    t = threading.Thread(target=burn, args=(0.05,))
    t.start()
    t.join()
zombie = os.fork()
if zombie == 0:
    burn(0.2)
    os._exit(0)
os.waitid(os.P_PID, zombie, os.WEXITED | os.WNOWAIT)
burn(0.3)
own, waited = (resource.getrusage(w) for w in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
with open(f"/proc/{zombie}/schedstat") as f:
    left = int(f.read().split()[0]) / 1e9
print(own.ru_utime + own.ru_stime + waited.ru_utime + waited.ru_stime + left, flush=True)
"""


def steal_s():
    with open("/proc/stat") as f:
        return int(f.readline().split()[8]) / os.sysconf("SC_CLK_TCK")


def thread_s(tid):
    with open(f"/proc/{tid}/schedstat") as f:
        return int(f.read().split()[0]) / 1e9


def capture(tmp, *args, **kwargs):
    return start_agent(tmp, "-F", 999, *args, **kwargs)


def check_command(tmp):
    steal = steal_s()
    run = finish_agent(capture(tmp, command=["/usr/bin/python3", "-c", FAMILY]))
    charged, counted = float(run.stdout), (run.summary["targets_cpu_ns"] or 0) / 1e9
    ok(0 <= counted - charged < 0.03 + 0.03 * charged,
       f"the CPU time of a command and all its children is what rusage says: {counted:.3f} s of {charged:.3f} s")
    stolen = run.summary["steal_ns"] / 1e9
    ok(0 <= stolen <= steal_s() - steal + 0.01, f"steal_ns is what /proc/stat says: {stolen:.2f} s")


def write_stat(path, steal_ticks):
    with open(path, "w") as f:
        f.write(f"cpu  5000 0 3000 90000 10 0 20 {steal_ticks} 0 0\n")


def check_steal(tmp):
    """A machine whose hypervisor takes exactly that much time during the capture."""
    if no_mount_namespace():
        skip(no_mount_namespace())
        return
    stat, target = os.path.join(tmp, "stat"), prog("spin", 60)
    write_stat(stat, 1000)
    p = capture(tmp, "--pid", target.pid, "-d", "60s",
                before=["unshare", "-m", "sh", "-c", 'mount --bind "$0" /proc/stat && exec "$@"', stat])
    wait_for_sampling(p, target.pid, seconds=0.5)
    write_stat(stat, 1234)
    p.terminate()
    run = finish_agent(p)
    end(target)
    expected = 234 * 10**9 // os.sysconf("SC_CLK_TCK")
    ok(run.summary["steal_ns"] == expected,
       f"steal_ns is what /proc/stat counted meanwhile: {run.summary['steal_ns']} of {expected}")


def check_pid(tmp):
    target = prog("threads", 4, 2, 60)
    wait_for_cpu(0.3, target.pid)  # this must not be counted
    before = cpu_s(target.pid)
    p = capture(tmp, "--pid", target.pid, "-d", "60s")
    wait_for_sampling(p, target.pid, seconds=1)
    p.terminate()
    run = finish_agent(p)
    used, counted = cpu_s(target.pid) - before, (run.summary["targets_cpu_ns"] or 0) / 1e9
    sampled = run.summary["samples"] * run.summary["period_ns"] / 1e9
    ok(0.9 * sampled < counted < used + 0.05,
       f"of a process that runs on: {counted:.3f} s counted, {sampled:.3f} s sampled, {used:.3f} s from start to end")
    end(target)


def check_thread(tmp):
    target = prog("threads", 4, 2, 60)
    wait_for_cpu(0.3, target.pid)
    tids = [int(tid) for tid in os.listdir(f"/proc/{target.pid}/task")]
    tid = max(tids, key=thread_s)
    before, all_before = thread_s(tid), cpu_s(target.pid)
    p = capture(tmp, "--tid", tid, "-d", "60s")
    wait_for_sampling(p, target.pid, seconds=1)
    p.terminate()
    run = finish_agent(p)
    used, of_all, counted = thread_s(tid) - before, cpu_s(target.pid) - all_before, run.summary["targets_cpu_ns"]
    sampled = run.summary["samples"] * run.summary["period_ns"] / 1e9
    ok(counted is not None and 0.9 * sampled < counted / 1e9 < used + 0.05 < of_all,
       f"of a thread: {(counted or 0) / 1e9:.3f} s counted, {sampled:.3f} s sampled, {used:.3f} s from start to end, "
       f"{of_all:.3f} s of its process")
    end(target)


def check_cgroup(tmp):
    mount = cgroup2_mount()
    if not mount:
        skip("needs cgroup v2, which is not mounted here")
        return
    path = os.path.join(mount, f"perf-agent-test-{os.getpid()}")
    os.mkdir(path)
    target = prog("spin", 60)
    with open(f"{path}/cgroup.procs", "w") as f:
        f.write(str(target.pid))
    wait_for_cpu(0.3, target.pid)  # this must not be counted
    before = cpu_s(target.pid)
    p = capture(tmp, "--cgroup", path, "-d", "60s")
    wait_for_sampling(p, target.pid, seconds=1)
    p.terminate()
    run = finish_agent(p)
    used, counted = cpu_s(target.pid) - before, run.summary["targets_cpu_ns"]
    sampled = run.summary["samples"] * run.summary["period_ns"] / 1e9
    end(target)
    wait_for(lambda: "populated 0" in open(f"{path}/cgroup.events").read(), f"{path} to be empty")
    os.rmdir(path)
    ok(counted is not None and 0.9 * sampled < counted / 1e9 < used + 0.05,
       f"of a cgroup: {(counted or 0) / 1e9:.3f} s counted, {sampled:.3f} s sampled, {used:.3f} s from start to end")


def check_user(tmp):
    run = finish_agent(capture(tmp, "--user", "0", "-d", "1s"))
    ok(run.summary["targets_cpu_ns"] is None, "of a user it is not known, and the summary says so")


def check_all(tmp):
    target = prog("spin", 60)
    run = finish_agent(capture(tmp, "-a", "-d", "1s"))
    s = run.summary
    sampled = s["samples"] * s["period_ns"] / 1e9
    counted = s["targets_cpu_ns"] / 1e9
    ok(0.5 < counted <= s["nr_cpus"] * s["duration_ns"] / 1e9 * 1.1,
       f"of the whole machine: {counted:.2f} s busy, {sampled:.2f} s sampled")
    end(target)


need_root()
tmp = workdir()
check_command(tmp)
check_steal(tmp)
check_pid(tmp)
check_thread(tmp)
check_cgroup(tmp)
check_user(tmp)
check_all(tmp)
done()
