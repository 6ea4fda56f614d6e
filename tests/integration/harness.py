# SPDX-License-Identifier: Apache-2.0
"""What the integration tests share: TAP, running the agent, waiting for conditions."""
import glob
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time

from pprof import Profile

AGENT = os.environ["PERF_AGENT"]
PROGS = os.environ["TEST_PROGS"]

os.environ.pop("DEBUGINFOD_URLS", None)  # no test asks the network, whatever the login shell says

_nr = _failed = 0


def ok(condition, text):
    global _nr, _failed
    _nr += 1
    if not condition:
        _failed += 1
    print(f"{'ok' if condition else 'not ok'} {_nr} - {text}", flush=True)
    return bool(condition)


def skip(why):
    global _nr
    _nr += 1
    print(f"ok {_nr} # SKIP {why}", flush=True)


def note(text):
    for line in str(text).splitlines():
        print(f"# {line}", flush=True)


def done():
    print(f"1..{_nr}")
    sys.exit(1 if _failed else 0)


def cgroup2_mount():
    """Where cgroup v2 is mounted, or None."""
    with open("/proc/self/mounts") as f:
        return next((line.split()[1] for line in f if line.split()[2] == "cgroup2"), None)


def need_root():
    """Ends the test, skipped, where BPF cannot be loaded."""
    if os.geteuid() != 0:
        skip("needs root to load BPF programs")
        done()


def no_mount_namespace():
    """Why there can be no mount namespace of our own; empty where there can be one."""
    r = subprocess.run(["unshare", "-m", "true"], capture_output=True, text=True)
    if r.returncode == 0:
        return ""
    why = r.stderr.strip() or f"unshare -m ends with {r.returncode}"
    if "root filesystem propagation" in why:
        why += " (/ is not a mount point here, as in a chroot)"
    return f"needs a mount namespace: {why}"


def private_cache():
    """What the agent keeps between runs lies in a directory of this test's own from now on."""
    path = workdir()
    os.environ["XDG_CACHE_HOME"] = path
    return os.path.join(path, "perf-agent")


def workdir():
    path = tempfile.mkdtemp(prefix="perf-agent-test.")
    import atexit
    atexit.register(shutil.rmtree, path, True)
    return path


def prog(name, *args, **kwargs):
    """A test program, started. Ended with the test if need be."""
    kwargs.setdefault("stdout", subprocess.DEVNULL)
    p = subprocess.Popen([os.path.join(PROGS, name), *map(str, args)], **kwargs)
    import atexit
    atexit.register(end, p)
    return p


def end(p):
    if p.poll() is None:
        p.kill()
    p.wait()


def wait_for(condition, what, seconds=20):
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            print(f"Bail out! waited {seconds} s for {what}")
            sys.exit(99)
        time.sleep(0.01)


def links(pid):
    """What the descriptors of a process lead to."""
    found = []
    for x in glob.glob(f"/proc/{pid}/fd/*"):
        try:
            found.append(os.readlink(x))
        except OSError:  # closed meanwhile
            pass
    return found


def cpu_s(pid):
    """CPU time that a process has used, with threads that are gone, user and system."""
    with open(f"/proc/{pid}/stat") as f:
        fields = f.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def wait_for_cpu(seconds, *pids):
    """Until the processes have used so much more CPU time: what a sampler sees of them goes by that, and
    not by the clock on the wall."""
    before = sum(map(cpu_s, pids))
    wait_for(lambda: sum(map(cpu_s, pids)) - before >= seconds, f"{seconds} s of CPU time", 120)


def wait_for_sampling(p, *pids, seconds=0.2):
    """Until the agent has its events, and the processes have run for a while since."""
    wait_for(lambda: any("perf_event" in x for x in links(p.pid)) and len(os.listdir(f"/proc/{p.pid}/task")) > 1,
             "the agent to sample", 60)
    if pids:
        wait_for_cpu(seconds, *pids)


class Run:
    """One run of the agent that has ended: status, output, summary, profile."""

    def __init__(self, status, stdout, stderr, json_path, profile_path):
        self.status, self.stdout, self.stderr = status, stdout, stderr
        self.profile_path = profile_path
        self.summary = None
        if os.path.exists(json_path):
            with open(json_path) as f:
                self.summary = json.load(f)
        self.profile = Profile(profile_path) if os.path.exists(profile_path) else None


def start_agent(directory, *args, command=None, agent=AGENT, before=(), **kwargs):
    out, summary = os.path.join(directory, "out.pb.gz"), os.path.join(directory, "summary.json")
    for path in (out, summary):
        if os.path.exists(path):
            os.unlink(path)
    argv = [*before, agent, "--profile", *map(str, args), "-o", out, f"--json={summary}"]
    if command:
        argv += ["--", *map(str, command)]
    p = subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                         errors="replace", **kwargs)
    p.paths = (summary, out)
    return p


def finish_agent(p, timeout=120):
    stdout, stderr = p.communicate(timeout=timeout)
    run = Run(p.returncode, stdout, stderr, *p.paths)
    run.pid = p.pid
    return run


def agent_until(samples, directory, *args, seconds=3, **kwargs):
    """A run with at least that many samples: on a busy machine the target gets less of its CPUs, and
    the run is made again for longer."""
    for _ in range(4):
        run = agent(directory, *args, "-d", f"{seconds}s", **kwargs)
        if run.profile and run.profile.total() >= samples:
            break
        seconds *= 3
    return run


def agent(directory, *args, **kwargs):
    timeout = kwargs.pop("timeout", 120)
    run = finish_agent(start_agent(directory, *args, **kwargs), timeout)
    if run.status not in (0, 3):
        note(run.stderr)
    return run


def is_spin_named(profile, pid=None):
    """Whether all of the program spin's own frames have their functions, in one process or in all."""
    frames = [(f, s.labels) for s in profile.samples for f in s.frames
              if f.path.endswith("/spin") and pid in (None, s.labels["pid"])]
    unnamed = [f"{f.name} at {f.address:#x} of {f.path}, {labels}" for f, labels in frames if not f.is_named]
    note("\n".join(unnamed[:10]))
    return not unnamed and any("spin_inner" in f.names for f, _ in frames)


def stop(p, sig=signal.SIGINT):
    p.send_signal(sig)


def due_by_clock(summary, away_s=0):
    """Whether as many ticks were due as the clock on the wall says: one each period on every CPU, from when it
    was switched on to when it was switched off, less only by what the CPUs were away. That is not our own
    sum: the kernel counts the time of the event."""
    cpus, per_s = summary["nr_cpus"], 1e9 / summary["period_ns"]
    least = cpus * (summary["sampling_least_ns"] / 1e9 * per_s - 1) - per_s * away_s
    most = cpus * (summary["sampling_most_ns"] / 1e9 * per_s + 1)
    if least <= summary["ticks_due"] <= most:
        return True
    note(f"{summary['ticks_due']} ticks are due where the clock says {least:.0f} to {most:.0f}")
    return False


def adds_up(summary, away_s=0):
    """ticks due = idle + other + outside + samples + losses, from the summary's own numbers, and as many
    as the time that has passed."""
    return due_by_clock(summary, away_s) and summary["ticks_due"] == (
        summary["ticks_idle"] + summary["ticks_other"] + summary["ticks_outside"]
        + summary["samples"] + sum(x["count"] for x in summary["losses"]))


class Stranger:
    """A user without privileges, who has no account: a number that nobody else uses. Needs root."""

    def __init__(self):
        import pwd
        taken = {u.pw_uid for u in pwd.getpwall()}
        self.uid = next(n for n in range(64000, 65000) if n not in taken)

    def start(self, script, *args, **kwargs):
        """A shell script of theirs, started."""
        return subprocess.Popen(["/bin/sh", "-ec", script, "sh", *map(str, args)], user=self.uid, group=self.uid,
                                extra_groups=[], text=True, errors="replace", **kwargs)

    def run(self, script, *args):
        """The script's output; None if it failed."""
        p = self.start(script, *args, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        stdout, stderr = p.communicate()
        if p.returncode:
            note(stderr)
        return stdout if p.returncode == 0 else None
