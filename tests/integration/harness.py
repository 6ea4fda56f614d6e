# SPDX-License-Identifier: Apache-2.0
"""What the integration tests share: TAP, running the agent, waiting for conditions."""
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
        why += " (/ is no mount point here, as in a chroot)"
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
    return Run(p.returncode, stdout, stderr, *p.paths)


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


def stop(p, sig=signal.SIGINT):
    p.send_signal(sig)


def adds_up(summary):
    """ticks due = idle + other + outside + samples + losses, from the summary's own numbers."""
    return summary["ticks_due"] == (
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
