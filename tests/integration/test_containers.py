# SPDX-License-Identifier: Apache-2.0
"""Labels of containers and pods: processes in real cgroups of the forms that runtimes make, seen by the host, from a
cgroup namespace, after they moved and after they ended."""
import atexit
import contextlib
import os
import shutil
import subprocess
import sys

from harness import AGENT, PROGS, agent, agent_until, cgroup2_mount, done, end, finish_agent, need_root, note, ok, prog
from harness import skip, start_agent, wait_for, wait_for_cpu, wait_for_sampling, workdir

SPIN = os.path.join(PROGS, "spin")
TOP = f"/perf-agent-test-{os.getpid()}"
UID = "6f2c1d34-8a5e-4b7f-9c01-23456789abcd"
OTHER_UID = "7a3d2e45-9b6f-4c80-8d12-3456789abcde"
STATIC = "0b1c2d3e4f5061728394a5b6c7d8e9f0"
BURSTABLE = "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod"


def container_id(nr):
    return f"{nr:02x}" * 32


def v1_mounts():
    """{controllers: mount point} of cgroup v1."""
    with open("/proc/self/mounts", encoding="utf-8") as f:
        return {line.split()[3].split(",")[-1]: line.split()[1] for line in f if line.split()[2] == "cgroup"}


def make(mount, path):
    """A cgroup that is removed at the end, with those above it."""
    at = mount + TOP
    for name in ["", *path.strip("/").split("/")]:
        at = os.path.join(at, name) if name else at
        with contextlib.suppress(FileExistsError):
            os.mkdir(at)
            atexit.register(remove, at)
    return at


def remove(at):
    """Once its last process is gone, which takes a moment after its end."""
    def is_gone():
        with contextlib.suppress(OSError):
            os.rmdir(at)
        return not os.path.exists(at)
    wait_for(is_gone, f"{at} to be removable")


def spin_in(*cgroups, seconds=100, before=(), **kwargs):
    """spin, there from its first instruction on."""
    script = 'for at in $CGROUPS; do echo $$ > $at/cgroup.procs || exit 99; done; exec "$@"'
    p = subprocess.Popen(["sh", "-c", script, "sh", *before, SPIN, str(seconds)], stdout=subprocess.DEVNULL,
                         env={**os.environ, "CGROUPS": " ".join(cgroups)}, **kwargs)
    atexit.register(end, p)
    # a sample of the shell would be in the cgroup that it came from
    if not before:
        wait_for(lambda: comm_of(p.pid) == "spin", "spin to run", 60)
    return p


def comm_of(pid):
    with open(f"/proc/{pid}/comm", encoding="utf-8") as f:
        return f.read().strip()


def labels(profile, pid):
    """The sets of labels that samples of the process have, without those of threads."""
    keys = ("pod_uid", "container_id", "cgroup_path", "pod_name", "namespace", "container_name", "ns_pid")
    return {tuple((k, s.labels[k]) for k in keys if k in s.labels) for s in profile.samples if s.labels["pid"] == pid}


def wanted(path, uid=None, container=None, **others):
    found = {"pod_uid": uid, "container_id": container, "cgroup_path": path, **others}
    return {tuple((k, v) for k, v in found.items() if v is not None)}


def check(found, expected, text):
    if not ok(found == expected, text):
        note(f"found {found}\nwanted {expected}")


def has_samples(run, pids):
    return run.profile and all(any(s.labels["pid"] == p for s in run.profile.samples) for p in pids)


def all_of(pids, tmp, *args):
    """A run over all processes, with samples of each of these."""
    for seconds in (2, 8, 32):
        run = agent(tmp, "-a", "-F", 499, "-d", f"{seconds}s", *args)
        if has_samples(run, pids):
            break
    return run


# (what, path, pod, number of its container)
SHAPES = [
    ("containerd, systemd", BURSTABLE + UID.replace("-", "_") + ".slice/cri-containerd-{}.scope", UID, 1),
    ("containerd, cgroupfs", "/kubepods/besteffort/pod" + UID + "/{}", UID, 2),
    ("CRI-O, systemd, a scope inside", BURSTABLE + UID.replace("-", "_") + ".slice/crio-{}.scope/container", UID, 3),
    ("CRI-O, a static pod", BURSTABLE + STATIC + ".slice/crio-{}.scope", STATIC, 4),
    ("docker, systemd", "/system.slice/docker-{}.scope", None, 5),
    ("docker, cgroupfs", "/docker/{}", None, 6),
    ("podman", "/machine.slice/libpod-{}.scope/container", None, 7),
    ("a service", "/system.slice/web.service", None, None),
]


def place(mount, path):
    """A process there, and what its labels are."""
    return spin_in(make(mount, path)), TOP + path


def check_shapes(tmp, mount, version):
    for first in range(0, len(SHAPES), 4):  # few at a time: they share the CPUs
        targets = []
        for what, path, uid, nr in SHAPES[first:first + 4]:
            container = container_id(nr) if nr else None
            targets.append((what, *place(mount, path.format(container)), uid, container))
        pids = [t[1].pid for t in targets]
        run = all_of(pids, tmp)
        for what, p, path, uid, container in targets:
            check(labels(run.profile, p.pid), wanted(path, uid, container), f"{version}, {what}: labels in -a")
            end(p)
    return run


def check_pid(tmp, mount):
    p, path = place(mount, "/docker/" + container_id(8))
    run = agent_until(50, tmp, "--pid", p.pid, "-F", 499)
    check(labels(run.profile, p.pid), wanted(path, None, container_id(8)), "labels with --pid")
    out = subprocess.run([AGENT, "report", run.profile_path, "--by", "container_id"], capture_output=True, text=True)
    ok(container_id(8) in out.stdout, "report --by container_id lists it")
    run = agent_until(50, tmp, "--pid", p.pid, "--offcpu", "--offcpu-states", "preempted,runqueue,sleep",
                      "--offcpu-output", os.path.join(tmp, "off.pb.gz"), "-F", 499)
    check(labels(run.profile, p.pid), wanted(path, None, container_id(8)), "labels beside an off-CPU profile")
    end(p)


def check_offcpu(tmp, mount):
    """A process that is off the CPU from before the capture until its end, and one that goes to sleep in it."""
    at = make(mount, "/docker/" + container_id(9))
    script = 'echo $$ > "$0"/cgroup.procs; exec "$@"'
    still = subprocess.Popen(["sh", "-c", script, at, "sleep", "100"])
    often = subprocess.Popen(["sh", "-c", script, at, sys.executable, "-c",
                              "import time\nwhile True: time.sleep(0.01)"])
    atexit.register(end, still)
    atexit.register(end, often)
    for p in (still, often):
        wait_for(lambda: open(f"/proc/{p.pid}/comm").read().strip() != "sh", "its exec")
    out = os.path.join(tmp, "off.pb.gz")
    with contextlib.suppress(FileNotFoundError):
        os.unlink(out)
    r = subprocess.run([AGENT, "--offcpu", "-q", "--pid", f"{still.pid},{often.pid}", "-d", "2s", "--offcpu-output", out],
                       capture_output=True, text=True, timeout=120)
    note(r.stderr)
    from pprof import Profile
    profile = Profile(out)
    expected = wanted(TOP + "/docker/" + container_id(9), None, container_id(9))
    check(labels(profile, often.pid), expected, "off-CPU time has the labels")
    check(labels(profile, still.pid), expected, "a wait that began before the capture has the labels")
    end(still)
    end(often)


def check_ended(tmp, mount):
    """A process that ends during the capture, and its cgroup with it."""
    steady = prog("spin", 100)
    at = make(mount, "/docker/" + container_id(10))
    a = start_agent(tmp, "-a", "-F", 499, "-d", "200s")
    wait_for_sampling(a, steady.pid)
    p = spin_in(at)
    wait_for_cpu(0.2, p.pid)
    end(p)
    remove(at)
    wait_for_cpu(0.5, steady.pid)
    a.terminate()
    run = finish_agent(a)
    found = {s for s in labels(run.profile, p.pid) if ("container_id", container_id(10)) in s}
    check(found, wanted(TOP + "/docker/" + container_id(10), None, container_id(10)),
          "a process that ended during -a keeps its labels, also when its cgroup was removed")
    end(steady)


def check_moved(tmp, mount):
    first, second = make(mount, "/docker/" + container_id(11)), make(mount, "/docker/" + container_id(12))
    p = spin_in(first)
    a = start_agent(tmp, "--pid", p.pid, "-F", 499, "-d", "200s")
    wait_for_sampling(a, p.pid)
    with open(f"{second}/cgroup.procs", "w", encoding="utf-8") as f:
        f.write(str(p.pid))
    wait_for_cpu(0.2, p.pid)
    a.terminate()
    run = finish_agent(a)
    check(labels(run.profile, p.pid),
          wanted(TOP + "/docker/" + container_id(11), None, container_id(11))
          | wanted(TOP + "/docker/" + container_id(12), None, container_id(12)),
          "a process that moves has the labels of where it was at each sample")
    end(p)


def check_namespace(tmp, mount):
    """The agent in a container that has a cgroup namespace: another container of its pod, another pod, the host."""
    pod = BURSTABLE + UID.replace("-", "_") + ".slice"
    own = make(mount, f"{pod}/crio-{container_id(13)}.scope")
    beside = spin_in(make(mount, f"{pod}/crio-{container_id(14)}.scope"))
    other = spin_in(make(mount, BURSTABLE + OTHER_UID.replace("-", "_") + f".slice/crio-{container_id(15)}.scope"))
    host = spin_in(make(mount, "/system.slice/web.service"))
    script = 'echo $$ > "$0"/cgroup.procs; exec unshare -C "$@"'
    names = {"POD_NAME": "web-0", "POD_NAMESPACE": "shop", "CONTAINER_NAME": "agent"}
    command = f"{SPIN} 100 & pid=$!; echo $pid > {tmp}/own; \"$@\"; s=$?; kill $pid; exit $s"
    for seconds in (2, 8, 32):
        run = agent(tmp, "-a", "-F", 499, "-d", f"{seconds}s", before=["sh", "-c", script, own, "sh", "-c", command, "sh"],
                    env={**os.environ, **names})
        with open(f"{tmp}/own", encoding="utf-8") as f:
            inside = int(f.read())
        if has_samples(run, [inside, beside.pid, other.pid, host.pid]):
            break
    pod_names = {"pod_name": "web-0", "namespace": "shop"}
    check(labels(run.profile, inside), wanted("/", **pod_names, container_name="agent"),
          "in a cgroup namespace: the agent's container")
    check(labels(run.profile, beside.pid),
          wanted(f"/../crio-{container_id(14)}.scope", None, container_id(14), **pod_names),
          "in a cgroup namespace: a container beside it has the pod's names, and not the container's")
    check(labels(run.profile, other.pid),
          wanted(f"/../../kubepods-burstable-pod{OTHER_UID.replace('-', '_')}.slice/crio-{container_id(15)}.scope",
                 OTHER_UID, container_id(15)), "in a cgroup namespace: another pod")
    found = labels(run.profile, host.pid)
    ok(len(found) == 1 and all(dict(s)["cgroup_path"].startswith("/../../../")
                               and dict(s)["cgroup_path"].endswith("/system.slice/web.service")
                               and len(s) == 1 for s in found), f"in a cgroup namespace: the host: {found}")
    for p in (beside, other, host):
        end(p)


def child_of(pid):
    with contextlib.suppress(OSError), open(f"/proc/{pid}/task/{pid}/children", encoding="utf-8") as f:
        return [int(x) for x in f.read().split()]
    return []


def check_pid_namespace(tmp, mount):
    at = make(mount, "/docker/" + container_id(16))
    outer = spin_in(at, before=["unshare", "-p", "-f"], stderr=subprocess.DEVNULL)
    wait_for(lambda: child_of(outer.pid), "the container's process")
    inner = child_of(outer.pid)[0]
    wait_for(lambda: open(f"/proc/{inner}/comm").read().strip() == "spin", "its exec")
    run = agent_until(50, tmp, "--pid", inner, "-F", 499)
    found = {s for s in labels(run.profile, inner)}
    check(found, wanted(TOP + "/docker/" + container_id(16), None, container_id(16), ns_pid=1),
          "a process in a PID namespace has its own PID there as ns_pid")
    subprocess.run(["kill", "-KILL", str(inner)])
    end(outer)


need_root()
tmp = workdir()
mount = cgroup2_mount()
if not mount:
    skip("needs cgroup v2, which is not mounted here")
    done()
try:
    make(mount, "/")
except OSError as e:
    skip(f"needs cgroups that can be created in {mount}: {e}")
    done()
check_shapes(tmp, mount, "v2")
check_pid(tmp, mount)
check_offcpu(tmp, mount)
check_ended(tmp, mount)
check_moved(tmp, mount)
if shutil.which("unshare"):
    check_namespace(tmp, mount)
    check_pid_namespace(tmp, mount)
else:
    skip("needs unshare")
v1 = v1_mounts()
if "pids" in v1:
    check_shapes(tmp, v1["pids"], "v1")
else:
    skip("cgroups of v1: no hierarchy with the controller pids is mounted here")
done()
