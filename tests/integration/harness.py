# SPDX-License-Identifier: Apache-2.0
"""Shared by the integration tests: TAP, running the agent, waiting for conditions."""
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

os.environ.pop("DEBUGINFOD_URLS", None)  # no test uses the network, whatever the login shell's environment is

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
    """Ends the test, skipped, if BPF cannot be loaded."""
    if os.geteuid() != 0:
        skip("needs root to load BPF programs")
        done()


def no_mount_namespace():
    """Why we cannot have a mount namespace of our own; empty if we can."""
    r = subprocess.run(["unshare", "-m", "true"], capture_output=True, text=True)
    if r.returncode == 0:
        return ""
    why = r.stderr.strip() or f"unshare -m ends with {r.returncode}"
    if "root filesystem propagation" in why:
        why += " (/ is not a mount point here, as in a chroot)"
    return f"needs a mount namespace: {why}"


def private_cache():
    """From now on the agent's caches are in a directory of this test's own."""
    path = workdir()
    os.environ["XDG_CACHE_HOME"] = path
    return os.path.join(path, "perf-agent")


def workdir():
    path = tempfile.mkdtemp(prefix="perf-agent-test.")
    import atexit
    atexit.register(shutil.rmtree, path, True)
    return path


def prog(name, *args, **kwargs):
    """Starts a test program, which is ended with the test if necessary."""
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
    """The targets of a process's descriptors."""
    found = []
    for x in glob.glob(f"/proc/{pid}/fd/*"):
        try:
            found.append(os.readlink(x))
        except OSError:  # closed in the meantime
            pass
    return found


def cpu_s(pid):
    """CPU time that a process has used, including threads that are gone, user and system."""
    with open(f"/proc/{pid}/stat") as f:
        fields = f.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def wait_for_cpu(seconds, *pids):
    """Waits until the processes have used that much more CPU time: what a sampler sees of them depends on CPU time, not
    on wall time."""
    before = sum(map(cpu_s, pids))
    wait_for(lambda: sum(map(cpu_s, pids)) - before >= seconds, f"{seconds} s of CPU time", 120)


def wait_for_sampling(p, *pids, seconds=0.2):
    """Waits until the agent has its events, and the processes have run for a while since then."""
    wait_for(lambda: any("perf_event" in x for x in links(p.pid)) and len(os.listdir(f"/proc/{p.pid}/task")) > 1,
             "the agent to sample", 60)
    if pids:
        wait_for_cpu(seconds, *pids)


class Run:
    """A completed run of the agent: status, output, summary, profile."""

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
    """A run with at least that many samples: on a busy machine the target gets less CPU time, and the run is repeated
    with a longer duration."""
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
    """Whether the number of ticks due agrees with the wall clock: one per period on every CPU, from when it was switched
    on to when it was switched off, and fewer only for the time in which CPUs were offline. This number is not ours: the
    kernel counts the time of the event."""
    cpus, per_s = summary["nr_cpus"], 1e9 / summary["period_ns"]
    least = cpus * (summary["sampling_least_ns"] / 1e9 * per_s - 1) - per_s * away_s
    most = cpus * (summary["sampling_most_ns"] / 1e9 * per_s + 1)
    if least <= summary["ticks_due"] <= most:
        return True
    note(f"{summary['ticks_due']} ticks are due where the clock says {least:.0f} to {most:.0f}")
    return False


def adds_up(summary, away_s=0):
    """ticks due = idle + other + outside + samples + losses, from the summary's own numbers, and the number agrees with
    the elapsed time."""
    return due_by_clock(summary, away_s) and summary["ticks_due"] == (
        summary["ticks_idle"] + summary["ticks_other"] + summary["ticks_outside"]
        + summary["samples"] + sum(x["count"] for x in summary["losses"]))


class Stranger:
    """An unprivileged user without an account: a number that nobody else uses. Needs root."""

    def __init__(self):
        import pwd
        taken = {u.pw_uid for u in pwd.getpwall()}
        self.uid = next(n for n in range(64000, 65000) if n not in taken)

    def start(self, script, *args, **kwargs):
        """Starts a shell script as that user."""
        return subprocess.Popen(["/bin/sh", "-ec", script, "sh", *map(str, args)], user=self.uid, group=self.uid,
                                extra_groups=[], text=True, errors="replace", **kwargs)

    def run(self, script, *args):
        """The script's output; None if it failed."""
        p = self.start(script, *args, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        stdout, stderr = p.communicate()
        if p.returncode:
            note(stderr)
        return stdout if p.returncode == 0 else None
