# SPDX-License-Identifier: Apache-2.0
"""Targets selected by process name, thread, user or cgroup: the samples are exactly theirs."""
import atexit
import os
import shutil
import subprocess
import sys

from harness import AGENT, PROGS, Stranger, adds_up, agent, agent_until, cgroup2_mount, done, end
from harness import finish_agent, is_spin_named, need_root, no_mount_namespace, ok, prog, skip, start_agent, stop
from harness import wait_for, wait_for_cpu, wait_for_sampling, workdir

SPIN = os.path.join(PROGS, "spin")
NAME = f"s{os.getpid()}"  # another run of this test has processes of its own
LONG_NAME = NAME + "-and-much-more"

# Busy in three phases, each with a name of its own: before, inside and after the selection. During a transition it has
# a name that is not checked.
PHASES = """
import ctypes, os, select
libc = ctypes.CDLL(None)
def name(text):
    libc.prctl(15, text.encode(), 0, 0, 0)  # PR_SET_NAME
def burn():
    print(flush=True)
    while not select.select([0], [], [], 0)[0]:
        for _ in range(100000):
            pass
    os.read(0, 1)
"""


def started(p):
    """Ends with the test, if necessary."""
    atexit.register(end, p)
    return p


class Phases:
    """join and leave are Python statements."""

    def __init__(self, join, leave):
        script = PHASES + f"""
name("before")
burn()
name("changing")
{join}
name("inside")
burn()
name("changing")
{leave}
name("after")
burn()
"""
        self.p = started(subprocess.Popen([sys.executable, "-c", script], stdin=subprocess.PIPE,
                                          stdout=subprocess.PIPE))
        self.pid = self.p.pid
        self.p.stdout.readline()

    def next(self):
        self.p.stdin.write(b"\n")
        self.p.stdin.flush()
        self.p.stdout.readline()

    def end(self):
        end(self.p)


def nr_of(profile, **labels):
    return sum(s.count for s in profile.samples if all(s.labels.get(k) == v for k, v in labels.items()))


def pids_of(profile):
    return {s.labels["pid"] for s in profile.samples}


def is_whole(run):
    """Whether nearly all stacks are complete: a process may be sampled where it begins or ends."""
    s = run.summary
    return s["stacks_complete"] + s.get("no_user_stack", 0) >= 0.9 * s["samples"]


def start_named(tmp, name, *args, program=SPIN):
    path = os.path.join(tmp, name)
    if not os.path.exists(path):
        shutil.copy(program, path)
    return started(subprocess.Popen([path, *map(str, args)], stdout=subprocess.DEVNULL))


def wait_for_name(name, nr):
    def count():
        r = subprocess.run(["pgrep", "-c", "-x", name[:15]], capture_output=True, text=True)
        return int(r.stdout or 0) == nr
    wait_for(count, f"{nr} processes named {name}")


def test_names(tmp):
    ours = [start_named(tmp, NAME, 600) for _ in range(2)]
    longer = start_named(tmp, LONG_NAME, 600)
    other = prog("spin", 600)
    wait_for_name(NAME, 2)
    wait_for_name(LONG_NAME, 1)
    run = agent_until(100, tmp, "-p", NAME, "-F", 499)
    ok(run.status == 0 and pids_of(run.profile) == {p.pid for p in ours},
       "-p NAME: all processes of exactly this name have samples, and no others")
    ok(adds_up(run.summary) and run.summary["ticks_other"] > 0, "-p NAME: ticks of all others are accounted for")
    ok(run.summary["target"] == f"2 processes named '{NAME}'",
       "-p NAME: the summary says how many processes were found")
    run = agent_until(50, tmp, "-p", LONG_NAME, "-F", 499)
    ok(run.status == 0 and pids_of(run.profile) == {longer.pid},
       "-p NAME: a name over 15 bytes is compared by what the kernel keeps of it")
    run = agent_until(150, tmp, "-p", f"{other.pid},{NAME},", "-F", 499)
    ok(run.status == 0 and pids_of(run.profile) == {other.pid, *(p.pid for p in ours)},
       "-p: PIDs and names can be mixed")
    run = agent(tmp, "-p", f"{NAME}-n", "-d", "1s")
    ok(run.status == 1 and f"--pid '{NAME}-n': no process has this name; see" in run.stderr and not run.profile,
       "-p NAME: a name that no process has is an error")
    for p in (*ours, longer, other):
        end(p)
    run = agent(tmp, "-p", NAME, "-d", "1s")
    ok(run.status == 1, "-p NAME: processes that have ended are not found")


def test_many(tmp):
    name, busy = f"{NAME}-many"[:15], os.path.join(tmp, "busy")
    many = [start_named(tmp, name, 600, program="/bin/sleep") for _ in range(297)]
    os.mkdir(busy)
    spinning = [start_named(busy, name, 600) for _ in range(3)]
    many += spinning
    wait_for_name(name, 300)
    run = agent_until(300, tmp, "-p", name, "-F", 499)
    s = run.summary
    ok(run.status == 0 and adds_up(s) and set(s["pids"]) == {p.pid for p in many} and len(s["pids"]) == 300,
       f"-p NAME: 300 processes of one name are targets: {len(s['pids'])}")
    ok(s["target"] == f"300 processes named '{name}'", f"-p NAME: the target says how many: {s['target']}")
    ok(pids_of(run.profile) == {p.pid for p in spinning} and all("spin_inner" in x.names() for x in run.profile.samples
       if x.frames[0].path.endswith(name)), "-p NAME: of 300, those that compute have samples, with their functions")
    for p in many:
        p.kill()
    for p in many:
        p.wait()


def threads_named(pid, name):
    found = []
    for tid in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{tid}/comm") as f:
            if f.read().strip() == name:
                found.append(int(tid))
    return found


def test_threads(tmp):
    p = prog("threads", 1, 3, 600)
    wait_for(lambda: len(threads_named(p.pid, "burner")) == 3, "three busy threads")
    first, second, _ = threads_named(p.pid, "burner")
    run = agent_until(100, tmp, "--tid", first, "-F", 499)
    ok(run.status == 0 and {s.labels["tid"] for s in run.profile.samples} == {first},
       "--tid: the thread has samples, and no other of its process")
    ok(pids_of(run.profile) == {p.pid} and all(s.labels["comm"] == "threads" for s in run.profile.samples),
       "--tid: samples have the PID and the name of the process")
    ok(is_whole(run) and adds_up(run.summary), "--tid: stacks are complete, and the account adds up")
    run = agent_until(200, tmp, "--tid", f"{second},{first}", "-F", 499)
    ok({s.labels["tid"] for s in run.profile.samples} == {first, second}, "--tid: two threads of three")
    end(p)
    run = agent(tmp, "--tid", first, "-d", "1s")
    ok(run.status == 1 and f"--tid {first}: no such thread" in run.stderr, "--tid: a thread that is gone is an error")


ONE_WORKER = """
import sys, threading
stop = False
def work():
    print(threading.get_native_id(), flush=True)
    while not stop:
        pass
t = threading.Thread(target=work)
t.start()
sys.stdin.readline()
stop = True
t.join()
print("joined", flush=True)
sys.stdin.readline()
"""


def test_thread_ends(tmp):
    p = started(subprocess.Popen([sys.executable, "-c", ONE_WORKER], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                 text=True))
    tid = int(p.stdout.readline())
    a = start_agent(tmp, "--tid", tid, "-d", "100s", "-F", 499)
    wait_for_sampling(a, p.pid)
    p.stdin.write("\n")
    p.stdin.flush()
    p.stdout.readline()
    run = finish_agent(a)
    ok(run.status == 0 and run.summary["targets_exited"] and run.summary["duration_ns"] < 90e9 and p.poll() is None,
       "--tid: the capture ends with the thread, though its process lives on")
    ok(run.profile.total() > 0 and {s.labels["tid"] for s in run.profile.samples} == {tid},
       "--tid: what the thread did is in the profile")
    end(p)


EXEC_IN_THREAD = """
import os, sys, threading
def work():
    print(threading.get_native_id(), flush=True)
    sys.stdin.readline()
    os.execv(sys.argv[1], sys.argv[1:])
threading.Thread(target=work).start()
while True:
    pass
"""


def test_thread_execs(tmp):
    p = started(subprocess.Popen([sys.executable, "-c", EXEC_IN_THREAD, SPIN, "600"], stdin=subprocess.PIPE,
                                 stdout=subprocess.PIPE, text=True))
    tid = int(p.stdout.readline())
    a = start_agent(tmp, "--tid", tid, "-d", "100s")
    wait_for_sampling(a, p.pid)
    p.stdin.write("\n")
    p.stdin.flush()
    run = finish_agent(a)
    ok(run.status == 0 and run.summary["targets_exited"] and nr_of(run.profile, comm="spin") == 0,
       "--tid: an execve() that takes the TID away ends the capture")
    end(p)


def test_other_thread_execs(tmp):
    """The thread that calls execve() takes over the TID of the first thread, which ends in the process."""
    sleeps_s = 9  # the agent would wait for 10 s
    p = started(subprocess.Popen([sys.executable, "-c", EXEC_IN_THREAD, shutil.which("sleep"), str(sleeps_s)],
                                 stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True))
    p.stdout.readline()
    a = start_agent(tmp, "--tid", p.pid, "-d", "100s")
    wait_for_sampling(a, p.pid)
    p.stdin.write("\n")
    p.stdin.flush()
    run = finish_agent(a)
    ok(p.poll() is None, "--tid: an execve() of another thread ends the capture of the first before the program ends")
    ok(run.status == 0 and run.summary["targets_exited"] and nr_of(run.profile, comm="sleep") == 0,
       "--tid: what another thread executes under the TID of the first is not sampled")
    end(p)


def test_thread_in_namespace(tmp):
    why = no_mount_namespace()
    if why:
        skip(why)
        return
    script = f"""{PROGS}/threads 0 1 60 >/dev/null & pid=$!
        while tid=$(ls /proc/$pid/task | grep -vx $pid); [ -z "$tid" ]; do :; done
        echo $pid $tid
        {AGENT} -q --tid $tid -F 499 -d 3s -o {tmp}/out.pb.gz --json={tmp}/summary.json; s=$?; kill $pid; exit $s"""
    p = subprocess.Popen(["unshare", "-p", "-f", "--mount-proc", "sh", "-c", script], stdout=subprocess.PIPE,
                         stderr=subprocess.PIPE, text=True)
    p.paths = (f"{tmp}/summary.json", f"{tmp}/out.pb.gz")
    run = finish_agent(p)
    pid, tid = map(int, run.stdout.split()[:2])
    ok(run.status == 0 and run.profile.total() > 0 and pids_of(run.profile) == {pid}
       and {s.labels["tid"] for s in run.profile.samples} == {tid},
       f"--tid: in a PID namespace the TID is the caller's ({tid})")


def check_phases(tmp, what, phases, *args):
    """A process that joins the cgroup during the capture, and leaves it again."""
    a = start_agent(tmp, *args, "-d", "200s", "-F", 499)
    wait_for_sampling(a, phases.pid, seconds=0.3)
    phases.next()
    wait_for_cpu(0.6, phases.pid)
    phases.next()
    wait_for_cpu(0.3, phases.pid)
    stop(a)
    run = finish_agent(a)
    inside = nr_of(run.profile, pid=phases.pid, comm="inside")
    ok(run.status == 0 and inside > 50, f"{what}: a process that joins is covered: {inside} samples")
    ok(nr_of(run.profile, comm="before") == 0 and nr_of(run.profile, comm="after") == 0,
       f"{what}: it is not covered before it joins, nor after it has left")
    ok(is_whole(run) and adds_up(run.summary), f"{what}: its stacks are complete, and the account adds up")
    phases.end()


def start_as(stranger, *args):
    return started(subprocess.Popen([SPIN, *map(str, args)], user=stranger.uid, group=stranger.uid, extra_groups=[],
                                    stdout=subprocess.DEVNULL))


def test_user(tmp):
    stranger = Stranger()
    theirs, ours = start_as(stranger, 600), prog("spin", 600)
    run = agent_until(100, tmp, "--user", stranger.uid, "-F", 499)
    ok(run.status == 0 and pids_of(run.profile) == {theirs.pid}, "--user: only processes of the user have samples")
    ok(is_whole(run) and adds_up(run.summary) and run.summary["ticks_other"] > 0,
       "--user: stacks are complete, and the account adds up")
    end(theirs)
    a = start_agent(tmp, "--user", stranger.uid, "-d", "200s", "-F", 499)
    wait_for_sampling(a, ours.pid)
    late = start_as(stranger, 600)
    wait_for_cpu(0.5, late.pid)
    end(late)
    wait_for_cpu(0.2, ours.pid)
    ok(a.poll() is None, "--user: the capture goes on when no process is left")
    stop(a)
    run = finish_agent(a)
    ok(run.status == 0 and pids_of(run.profile) == {late.pid} and is_whole(run)
       and is_spin_named(run.profile),
       "--user: a process that starts later is covered, with its functions named")
    run = agent_until(20, tmp, "--user", "root", "-F", 499)
    ok(run.status == 0 and ours.pid in pids_of(run.profile), "--user: a name of /etc/passwd is a user")
    end(ours)
    check_phases(tmp, "--user", Phases(f"os.seteuid({stranger.uid})", "os.seteuid(0)"), "--user", stranger.uid)


def start_in(directory, *args):
    """spin, in that cgroup from its first instruction on."""
    script = 'echo $$ >"$1"/cgroup.procs; shift; exec "$@"'
    return started(subprocess.Popen(["sh", "-c", script, "sh", directory, SPIN, *map(str, args)],
                                    stdout=subprocess.DEVNULL))


def wait_for_exec(p, name):
    def has_name():
        with open(f"/proc/{p.pid}/comm") as f:
            return f.read().strip() == name
    wait_for(has_name, f"process {p.pid} to become {name}")


def test_cgroup(tmp, mount, top, below, beside):
    inside, outside = start_in(below, 600), start_in(beside, 600)
    wait_for_exec(inside, "spin")
    wait_for_exec(outside, "spin")
    for path in (top, below, top[len(mount):], top[len(mount) + 1:]):
        run = agent_until(50, tmp, "--cgroup", path, "-F", 499)
        ok(run.status == 0 and pids_of(run.profile) == {inside.pid},
           f"--cgroup {path}: only processes in it and below have samples")
    ok(is_whole(run) and adds_up(run.summary) and run.summary["ticks_other"] > 0,
       "--cgroup: stacks are complete, and the account adds up")
    end(inside)
    a = start_agent(tmp, "--cgroup", top, "-d", "200s", "-F", 499)
    wait_for_sampling(a, outside.pid)
    late = start_in(below, 600)
    wait_for_exec(late, "spin")
    wait_for_cpu(0.5, late.pid)
    end(late)
    wait_for_cpu(0.2, outside.pid)
    ok(a.poll() is None, "--cgroup: the capture goes on when no process is left")
    stop(a)
    run = finish_agent(a)
    ok(run.status == 0 and pids_of(run.profile) == {late.pid} and is_whole(run)
       and is_spin_named(run.profile),
       "--cgroup: a process that starts later is covered, with its functions named")
    end(outside)
    check_phases(tmp, "--cgroup", Phases(f"open('{below}/cgroup.procs', 'w').write('0')",
                                         f"open('{beside}/cgroup.procs', 'w').write('0')"), "--cgroup", top)


def test_removed_cgroup(tmp, top):
    gone = os.path.join(top, "gone")
    os.mkdir(gone)
    busy = prog("spin", 600)
    a = start_agent(tmp, "--cgroup", gone, "-d", "200s")
    wait_for_sampling(a, busy.pid)
    os.rmdir(gone)
    os.mkdir(gone)
    p = start_in(gone, 600)
    wait_for_exec(p, "spin")
    wait_for_cpu(0.3, p.pid)
    ok(a.poll() is None, "--cgroup: a capture goes on when the cgroup is removed")
    stop(a)
    run = finish_agent(a)
    ok(run.status == 0 and run.profile.total() == 0,
       "--cgroup: a cgroup that gets the name of a removed one is another")
    for x in (busy, p):
        end(x)
    os.rmdir(gone)
    run = agent(tmp, "--cgroup", gone, "-d", "1s")
    ok(run.status == 1 and "no such cgroup; give a directory of cgroup v2, below" in run.stderr,
       "--cgroup: a path that does not exist is an error")


def test_cgroup_v1(tmp):
    with open("/proc/self/mounts") as f:
        v1 = next((line.split()[1] for line in f if line.split()[2] == "cgroup"), None)
    if not v1:
        skip("--cgroup: a directory of cgroup v1 is refused: none is mounted here")
        return
    run = agent(tmp, "--cgroup", v1, "-d", "1s")
    ok(run.status == 1 and "it is of cgroup v1; give a directory of cgroup v2" in run.stderr,
       "--cgroup: a directory of cgroup v1 is refused, and the message says what to give")


def test_cgroups(tmp):
    mount = cgroup2_mount()
    if not mount:
        skip("--cgroup needs cgroup v2, which is not mounted here")
        return
    top, beside = (os.path.join(mount, f"perf-agent-test-{os.getpid()}-{x}") for x in "ab")
    below = os.path.join(top, "below")
    try:
        os.mkdir(top)
        os.mkdir(below)
        os.mkdir(beside)
    except OSError as e:
        skip(f"--cgroup needs cgroups that can be created in {mount}: {e}")
        return
    try:
        test_cgroup(tmp, mount, top, below, beside)
        test_removed_cgroup(tmp, top)
    finally:
        for path in (below, top, beside):
            wait_for(lambda: "populated 0" in open(os.path.join(path, "cgroup.events")).read(), f"{path} to be empty")
            os.rmdir(path)
    test_cgroup_v1(tmp)


need_root()
tmp = workdir()
test_names(tmp)
test_many(tmp)
test_threads(tmp)
test_thread_ends(tmp)
test_thread_execs(tmp)
test_other_thread_execs(tmp)
test_thread_in_namespace(tmp)
test_user(tmp)
test_cgroups(tmp)
done()
