# SPDX-License-Identifier: Apache-2.0
"""PIDs are the caller's: in the PID namespace of a sidecar, and on the host for processes in a container."""
import os
import subprocess

from harness import AGENT, PROGS, Run, adds_up, agent, agent_until, done, end, need_root, no_mount_namespace, note, ok
from harness import is_spin_named, prog, skip, wait_for, workdir

SPIN = os.path.join(PROGS, "spin")


def inside(tmp, script):
    """Runs a script as the first process of a new PID namespace with its own /proc."""
    for name in ("out.pb.gz", "summary.json"):
        if os.path.exists(os.path.join(tmp, name)):
            os.unlink(os.path.join(tmp, name))
    r = subprocess.run(["unshare", "-p", "-f", "--mount-proc", "sh", "-c", script],
                       capture_output=True, text=True, timeout=60)
    note(r.stderr)
    return Run(r.returncode, r.stdout, r.stderr, os.path.join(tmp, "summary.json"),
               os.path.join(tmp, "out.pb.gz"))


def capture(tmp, target, rate=499):
    return f"{AGENT} --profile {target} -F {rate} -d 5s -o {tmp}/out.pb.gz --json={tmp}/summary.json"


need_root()
if no_mount_namespace():  # for its own /proc
    skip(no_mount_namespace())
    done()
tmp = workdir()

outer = prog("spin", 60)
run = inside(tmp, f"{SPIN} >/dev/null & pid=$!; echo inner $pid; {capture(tmp, '--pid $pid')}; s=$?; kill $pid; exit $s")
inner_pid = int(run.stdout.split()[1])
p = run.profile
ok(run.status == 0 and inner_pid < 100, f"a sidecar profiles its PID {inner_pid}")
ok(p.total() > 100 and all(s.labels["pid"] == inner_pid and s.labels["comm"] == "spin" for s in p.samples),
   "all samples are of that process, under the PID the caller sees")
ok(is_spin_named(p), "with its functions named")
ok(adds_up(run.summary) and run.summary["ticks_outside"] > 50,
   f"{run.summary['ticks_outside']} ticks of tasks outside are counted")

run = inside(tmp, f"{SPIN} >/dev/null & pid=$!; {capture(tmp, '-a')}; s=$?; kill $pid; exit $s")
p = run.profile
ok(run.status == 0 and adds_up(run.summary), "-a in a PID namespace: counts add up")
ok("profiling the processes of this PID namespace" in run.stderr,
   "-a in a PID namespace: it says that it sees only this namespace")
ok(p.total() > 100 and all(s.labels["pid"] < 100 for s in p.samples),
   "-a in a PID namespace: tasks outside are not sampled")
ok(run.summary["ticks_outside"] > 50,
   f"-a in a PID namespace: ticks outside are counted: {run.summary['ticks_outside']}")
end(outer)

# From the host: a process of an inner namespace, selected by the PID that it has on the host.
container = subprocess.Popen(["unshare", "-p", "-f", "--mount-proc", SPIN, "60"],
                             stdout=subprocess.DEVNULL)


def child_of(pid):
    try:
        with open(f"/proc/{pid}/task/{pid}/children") as f:
            return [int(x) for x in f.read().split()]
    except OSError:
        return []


wait_for(lambda: child_of(container.pid), "the container's process")
host_pid = child_of(container.pid)[0]
wait_for(lambda: open(f"/proc/{host_pid}/comm").read().strip() == "spin", "its exec")
run = agent_until(101, tmp, "--pid", host_pid, "-F", 499, seconds=2)
p = run.profile
ok(run.status == 0 and p.total() > 100 and all(s.labels["pid"] == host_pid for s in p.samples),
   "--pid from the host covers a container's process")
# It may have been sampled where it begins.
ok(all(f.is_named for s in p.samples for f in s.frames if f.path.endswith("/spin"))
   and sum(s.count for s in p.samples if "spin_inner" in s.names()) > 0.9 * p.total(), "named")
for seconds in (2, 8, 32):
    p = agent(tmp, "-a", "-F", 499, "-d", f"{seconds}s").profile
    nr = sum(s.count for s in p.samples if s.labels["pid"] == host_pid)
    if nr > 100:
        break
ok(nr > 100, "-a outside samples a process of an inner PID namespace by its outer PID")
ok(run.summary["ticks_outside"] == 0 and adds_up(run.summary), "nothing is outside of the host")
subprocess.run(["kill", "-9", str(host_pid)], check=True)
container.wait()
done()
