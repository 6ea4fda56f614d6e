# SPDX-License-Identifier: Apache-2.0
"""--inject-python: captures show the functions of Python programs that run already, and leave them as they were."""
import glob
import json
import os
import random
import shutil
import signal
import subprocess
import time

from harness import AGENT, PROGS, agent, done, end, finish_agent, need_root, no_mount_namespace, note, ok, prog, skip
from harness import start_agent, stop, wait_for, wait_for_sampling, workdir
from hostile_fuse import Hostile, fuse_device, make_user
from pythons import BLOCKED, BUSY, HERE, TRACER, checksums, finish, new, python, pythons, remove_maps, state, undisturbed
from pythons import unharmed

INTERPLAY = os.path.join(HERE, "interplay.py")
LONG = os.environ.get("LONG_INJECT") == "1"  # the suite "long"
KILLS = 200 if LONG else 8

need_root()
if not new:
    skip("needs CPython 3.12 or later, as python3.12 or in pyenv")
    done()
tmp = workdir()


def counts(run):
    return {c["name"]: c["count"] for c in run.summary["python"] if c["count"]}


def share(samples, condition):
    return sum(s.count for s in samples if condition(s)) / max(1, sum(s.count for s in samples))


def interplay(exe, *options, **kwargs):
    p = python(*options, INTERPLAY, exe=exe, **kwargs)
    p.stdout.readline()
    return p


def answers_of(p):
    said, status, err = finish(p)
    ok(status == 0 and not err, f"PID {p.pid} ends as if nothing had happened")
    return said


def check_stacks(run, version):
    samples = run.profile.samples
    mine = [s for s in samples if "one_round" in s.names()]
    in_weigh = [s for s in mine if "weigh" in s.names()]
    in_read = [s for s in mine if "read_zeros" in s.names() and any(f.path == "[kernel]" for f in s.frames)]
    ok(share(samples, lambda s: "one_round" in s.names()) > 0.9,
       f"{version}: {share(samples, lambda s: 'one_round' in s.names()):.1%} of the samples are below a function of the script")
    ok(all(f.filename == INTERPLAY for s in mine for f in s.frames if f.name in ("one_round", "weigh", "read_zeros")),
       f"{version}: functions of the script have its path")
    order = ["weigh", "list_sort_impl", "sort_by_weight", "one_round"]
    ok(in_weigh and share(in_weigh, lambda s: [n for n in s.names() if n in order] == order) > 0.95,
       f"{version}: Python functions on both sides of the C function that sorts")
    ok(in_read and all(s.names().index("read_zeros") > max(i for i, f in enumerate(s.frames) if f.path == "[kernel]")
                       for s in in_read), f"{version}: kernel frames above the function that reads")
    complete = run.summary["stacks_complete"] / max(1, run.summary["samples"])
    ok(complete > 0.98, f"{version}: {complete:.1%} of the stacks are complete")


def test_one_process():
    for exe in new:
        version = os.path.basename(os.path.dirname(os.path.dirname(exe)))
        p = interplay(exe)
        run = agent(tmp, "--inject-python", "--kernel-stacks", "--pid", p.pid, "-F", 499, "-d", "3s")
        ok(run.status == 0 and counts(run) == {"switched_on": 1, "switched_off": 1},
           f"{version}: switched on in one process, and off")
        ok("functions switched on in 1 process" in run.stderr, f"{version}: the report says so")
        check_stacks(run, version)
        ok(answers_of(p) == [False, True, False], f"{version}: the program itself saw it go on, and off")
        p = interplay(exe, "-X", "perf")
        run = agent(tmp, "--inject-python", "--pid", p.pid, "-d", "500ms")
        ok(counts(run) == {"already_on": 1} and answers_of(p) == [True], f"{version}: with -X perf it stays on")


def test_command():
    run = agent(tmp, "--inject-python", "-F", 499, command=[new[0], "-c", "import sys, time\nend = time.time() + 60\n"
                "def busy():\n    return sum(range(500))\n"
                "while time.time() < end and not sys.is_stack_trampoline_active(): busy()\n"
                "end = time.time() + 3\nwhile time.time() < end: busy()\nraise SystemExit(7)"])
    ok(run.status == 7, "the exit status of a traced command is passed on")
    ok(counts(run).get("switched_on") == 1 and any("busy" in s.names() for s in run.profile.samples),
       "a command is switched on once it is up")
    run = agent(tmp, "--inject-python", command=["sleep", "0.5"])
    ok(run.status == 0 and "switched_on" not in counts(run), "a command that is not Python runs as without the option")


def refused(pid, why, what, *args):
    run = agent(tmp, "--inject-python", "--pid", pid, "-d", "1s", *args)
    ok(run.status == 1 and f"--inject-python: PID {pid}: {why}" in run.stderr and not run.profile,
       f"{what}: an error before profiling, with the reason")


def test_refusals(expected):
    refused(prog("spin", 60).pid, "not a Python interpreter", "a program that is not Python")
    for minor, exe in pythons.items():
        if minor == 11:
            p = checksums(exe)
            refused(p.pid, "Python before 3.12", "Python 3.11")
            unharmed(p, expected, "Python 3.11")
    p = checksums()
    p.send_signal(signal.SIGSTOP)
    wait_for(lambda: state(p.pid) == "T", "the program to stop")
    refused(p.pid, "the process is stopped by a signal", "a stopped program")
    ok(state(p.pid) == "T", "a program that is refused stays stopped")
    p.send_signal(signal.SIGCONT)
    unharmed(p, expected, "a program that was stopped")


def test_traced():
    p = python("-c", BUSY)
    p.stdout.readline()
    tracer = python("-c", TRACER, p.pid)
    tracer.stdout.readline()
    refused(p.pid, "another tracer, such as a debugger, is attached", "a traced program")
    tracer.communicate(timeout=60)
    ok(p.communicate(timeout=60)[0].strip() == "False", "a traced program is not changed")


def test_blocked():
    p = python("-c", BLOCKED)
    p.stdout.readline()
    wait_for(lambda: state(p.pid) == "S", "the program to read")
    refused(p.pid, "it ran no Python code until the deadline", "a program that reads for ever")
    out, err = p.communicate("x", timeout=60)
    ok(out.strip() == "False" and not err, "a program that is refused because it reads does not change when it goes on")


def test_vfork():
    """The parent of a vfork() is in uninterruptible sleep until its child executes or ends."""
    p = python("-c", "import ctypes, sys\nprint('runs', flush=True)\npid = ctypes.CDLL(None).syscall(58)\n"
               "if pid == 0:\n    ctypes.CDLL(None).usleep(8000000)\n    ctypes.CDLL(None)._exit(0)\nprint('over')")
    p.stdout.readline()
    wait_for(lambda: state(p.pid) == "D", "the program to sleep")
    refused(p.pid, "the process is in uninterruptible sleep", "a program in uninterruptible sleep", "--no-follow-children")
    ok("over" in p.communicate(timeout=60)[0] and p.returncode == 0, "a program in uninterruptible sleep goes on")


def test_small_stack():
    threads = "import select, sys, threading\nthreading.stack_size(32768)\nover = threading.Event()\n" \
        "def busy():\n    n = 0\n    while not over.is_set(): n += 1\n" \
        "t = [threading.Thread(target=busy) for _ in range(3)]\n[x.start() for x in t]\nprint('runs', flush=True)\n" \
        "sys.stdin.read()\nover.set()\n[x.join() for x in t]\nprint('over', sys.is_stack_trampoline_active())"
    p = python("-c", threads)
    p.stdout.readline()
    run = agent(tmp, "--inject-python", "-a", "-d", "1500ms")
    note(counts(run))
    out, err = p.communicate(timeout=60)
    ok(out.strip() == "over False" and not err and p.returncode == 0, "threads with stacks of 32 KiB are not harmed")


def test_interpreters():
    """Several interpreters in one process."""
    script = "import sys, threading, time\ntry:\n    import _interpreters as i\nexcept ImportError:\n" \
        "    import _xxsubinterpreters as i\n" \
        "end = time.time() + 6\ncode = f'import time\\nwhile time.time() < {end}: sum(range(100))'\n" \
        "t = [threading.Thread(target=i.run_string, args=(i.create(), code)) for _ in range(2)]\n" \
        "[x.start() for x in t]\nprint('runs', flush=True)\nseen = set()\n" \
        "while time.time() < end: seen.add(sys.is_stack_trampoline_active())\n[x.join() for x in t]\n" \
        "print(sorted(seen), sys.is_stack_trampoline_active())"
    for exe in new:
        p = python("-c", script, exe=exe)
        p.stdout.readline()
        run = agent(tmp, "--inject-python", "-a", "-d", "1s")
        out, err = p.communicate(timeout=60)
        note(f"{counts(run)} {out.strip()} {err}")
        ok(p.returncode == 0 and out.strip().endswith("] False") and not err,
           f"{exe}: a process with several interpreters is not harmed, and off at the end")


def test_stripped_static():
    """A copy of the interpreter without its symbol table keeps the dynamic symbols that are needed."""
    copy = os.path.join(tmp, "python3")
    shutil.copy(os.path.realpath(new[0]), copy)
    if not shutil.which("strip"):
        skip("needs strip")
        return
    subprocess.run(["strip", copy], check=True)
    p = interplay(copy, env=dict(os.environ, PYTHONHOME=os.path.dirname(os.path.dirname(os.path.realpath(new[0]))),
                                 LD_LIBRARY_PATH=os.path.join(os.path.dirname(os.path.dirname(new[0])), "lib")))
    run = agent(tmp, "--inject-python", "--pid", p.pid, "-d", "1s")
    ok(run.status == 0 and counts(run) == {"switched_on": 1, "switched_off": 1} and answers_of(p) == [False, True, False],
       "a stripped interpreter is switched on, and off")


def test_other_builds():
    """Interpreters that no package has: linked statically as a whole, and with musl."""
    if "OTHER_PYTHONS" not in os.environ:
        skip("static and musl builds of CPython: OTHER_PYTHONS names none; scripts/build_static_pythons makes them")
        return
    for exe in os.environ["OTHER_PYTHONS"].split(":"):
        p = python("-c", BUSY, exe=exe, env=dict(os.environ, PYTHONHOME="/usr", PYTHONPATH=os.environ["OTHER_PYTHONS_LIB"]))
        p.stdout.readline()
        refused(p.pid, "this Python does not export the functions that are needed", exe)
        run = agent(tmp, "--inject-python", "-a", "-d", "1s")
        ok(counts(run).get("no_symbols", 0) >= 1, f"{exe}: skipped where every Python is meant ({counts(run)})")
        out, err = p.communicate(timeout=60)
        ok(out.strip() == "False" and not err and p.returncode == 0, f"{exe}: ends as if nothing had happened")


def test_whole_machine(expected):
    first = [interplay(exe) for exe in new]
    on = interplay(new[0], "-X", "perf")
    old = checksums(pythons[11]) if 11 in pythons else None
    other = prog("spin", 60)
    a = start_agent(tmp, "-a", "--inject-python", "-F", 199, "-d", "6s")
    wait_for_sampling(a, *(p.pid for p in first))
    late = interplay(new[-1])
    changed = subprocess.Popen(["sh", "-c", f"sleep 1; exec {new[0]} {INTERPLAY}"], stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    run = finish_agent(a)
    note(counts(run))
    found = counts(run)
    ok(found.get("switched_on", 0) >= len(first) + 2 and found.get("already_on", 0) >= 1 and found.get("not_python", 0) > 3,
       "-a: processes are counted by outcome")
    ok(old is None or found.get("too_old", 0) >= 1, "-a: an old Python is counted as too old")
    changed.stdout.readline()
    for p, what in [(p, "one that ran before") for p in first] + [(late, "one that started late"), (changed, "an exec")]:
        mine = [s for s in run.profile.samples if s.labels["pid"] == p.pid]
        said, status, err = finish(p)
        seen = [False, True, False] if p in first else said and [False, True, False][-len(said):]
        ok(status == 0 and said == seen and True in seen and not err,  # the first round of a new one may be on already
           f"-a: {what} (PID {p.pid}) went on, and off")
        ok(any("one_round" in s.names() for s in mine), f"-a: functions of {what} (PID {p.pid}) are named")
    ok(answers_of(on) == [True], "-a: what was on already stays on")
    if old:
        unharmed(old, expected, "-a")
    end(other)


def test_forks():
    """Children of a process that was switched on are switched off with it."""
    script = "import json, os, select, sys\nprint('runs', flush=True)\nchildren = []\ndef spin():\n    return sum(range(300))\n" \
        "while not select.select([0], [], [], 0)[0]:\n    spin()\n" \
        "    if sys.is_stack_trampoline_active() and len(children) < 3:\n        r, w = os.pipe()\n        pid = os.fork()\n" \
        "        if pid == 0:\n            seen = sys.is_stack_trampoline_active()\n" \
        "            while not select.select([0], [], [], 0)[0]: spin()\n" \
        "            os.write(w, json.dumps([seen, sys.is_stack_trampoline_active()]).encode())\n            os._exit(0)\n" \
        "        children.append((pid, r))\nprint([(os.waitpid(pid, 0)[1], os.read(r, 99)) for pid, r in children])"
    p = python("-c", script)
    p.stdout.readline()
    run = agent(tmp, "--inject-python", "--pid", p.pid, "-d", "2s")
    time.sleep(0.5)
    out, err = p.communicate(timeout=60)
    note(f"{counts(run)} {out.strip()}")
    ok(out.count("(0, b'[true, false]')") == 3 and not err and counts(run).get("switched_on") == 4, "children that were forked meanwhile are on, and off at the end")


def remove_stale(pid):
    """The perf map of a former process with this PID."""
    if os.path.exists(f"/tmp/perf-{pid}.map"):
        os.unlink(f"/tmp/perf-{pid}.map")


def fake(*args, **kwargs):
    p = prog("fake_python", *args, stdout=subprocess.PIPE, text=True, **kwargs)
    remove_stale(p.pid)
    return p if p.stdout.readline() == "runs\n" else None


def balance(run, what):
    """Each process that was switched on has one end."""
    c = counts(run)
    ok(c.get("switched_on", 0) == sum(c.get(n, 0) for n in ("switched_off", "off_queued", "left_on", "ended")),
       f"{what}: the processes that were switched on are off, queued, left on or ended")


def test_silent(expected):
    """A target that never answers keeps the tracer waiting, but neither the agent nor other targets."""
    script = os.path.join(tmp, "script")
    with open(script, "w") as f:
        f.write("#!/mnt/f\n")
    os.chmod(script, 0o755)
    silent = fake("silent", script)
    if not silent:
        skip("cannot mount a file system that never answers: no /dev/fuse, or not permitted")
        return
    p = interplay(new[0])
    began = time.monotonic()
    run = agent(tmp, "--inject-python", "-a", "-d", "12s", timeout=60)
    note(f"{counts(run)} {time.monotonic() - began:.1f} s")
    ok(run.status == 0, "-a ends though a target never answers")
    ok(counts(run).get("unanswered") == 1, "a target that never answers is counted")
    balance(run, "a target that never answers")
    ok(answers_of(p) == [False, True, False], "another program is switched on and off though the tracer hangs in a target")
    refused(silent.pid, "it does not answer", "a target that never answers")
    a = start_agent(tmp, "--inject-python", "-a", "-d", "60s")
    wait_for_sampling(a)
    time.sleep(2)
    began = time.monotonic()
    stop(a)
    time.sleep(0.2)
    stop(a)
    finish_agent(a, 30)
    note(f"{time.monotonic() - began:.1f} s from the first SIGINT")
    ok(time.monotonic() - began < 15, "two SIGINTs end an agent whose tracer hangs")
    end(silent)


def tracers():
    """The processes that trace for agents, and those that start them, but for zombies. Other files of /proc could hang."""
    found = set()
    for path in glob.glob("/proc/[0-9]*/comm"):
        pid = int(path.split("/")[2])
        try:
            with open(path) as f:
                if f.read() == "perf-agent-call\n" and state(pid) != "Z":
                    found.add(pid)
        except OSError:  # it has ended
            pass
    return found


def children(pid):
    with open(f"/proc/{pid}/task/{pid}/children") as f:
        return {int(x) for x in f.read().split()}


def late_stack():
    """A program that has its stack on a file system that does not answer as soon as a thread of it is stopped."""
    directory = workdir()
    os.chmod(directory, 0o755)
    for name, source in ("silent_fuse", "silent_fuse"), ("static_spin", "late_stack"):
        shutil.copy(os.path.join(PROGS, source), os.path.join(directory, name))
    hostile = Hostile(directory, fuse_device(directory), "taken", make_user())
    if not hostile.why:
        remove_stale(hostile.pid)
    return hostile


def try_silent_stack(before):
    """Whether it was quick enough: a stack that is replaced too late is just a call that fails."""
    hostile = late_stack()
    if hostile.why:
        skip(hostile.why)
        return True
    p = interplay(new[0])
    a = start_agent(tmp, "--inject-python", "-a", "-d", "4s")
    began = time.monotonic()
    try:
        run = finish_agent(a, 40)
    except subprocess.TimeoutExpired:
        run = None
        a.kill()
    left = tracers() - before
    note(f"{time.monotonic() - began:.1f} s, left: {left}, {counts(run) if run else None}")
    hostile.end()
    if not run:
        a.communicate(timeout=60)
    elif "unanswered" not in counts(run):
        finish(p)
        return False
    if not ok(run and run.status == 0 and run.profile, "a stack that does not answer: the agent ends, with a profile"):
        return True
    ok(counts(run)["unanswered"] == 1, "a stack that does not answer is counted")
    balance(run, "a stack that does not answer")
    ok(len(left) == 1 and run.pid not in left, "a stack that does not answer: one process is left waiting for it")
    wait_for(lambda: not tracers() - before, "the process that waits to end with the file system")
    ok(answers_of(p) == [False, True, False], "a stack that does not answer: another program is switched on, and off")
    return True


def test_silent_stack():
    """A target that makes the write to its stack wait for ever keeps the process that writes, and nothing else: also the
    agent's standard output is closed."""
    before = tracers()
    ok(any(try_silent_stack(before) for _ in range(5)), "a stack that does not answer was written to")


def kill_tracers(agent_pid):
    """The number of processes that were killed."""
    nr = 0
    for spawner in tracers() & children(agent_pid):
        for pid in children(spawner):
            os.kill(pid, signal.SIGKILL)
            nr += 1
    return nr


def test_killed_tracers(expected):
    random.seed(17)
    for exe in new:
        p, nr = checksums(exe), 0
        for i in range(max(1, KILLS // 8)):
            a = start_agent(tmp, "--inject-python", "--pid", p.pid, "-d", "2s")
            wait_for(lambda a=a: a.poll() is not None or tracers() & children(a.pid), "the agent to have a tracer")
            end_s = time.monotonic() + 1.5
            while time.monotonic() < end_s and a.poll() is None:
                time.sleep(random.uniform(0, 0.05))
                nr += kill_tracers(a.pid)
            run = finish_agent(a)
            note(f"{run.status} {counts(run) if run.summary else run.stderr}")
            ok(run.status == 0 or "--inject-python: PID" in run.stderr,
               f"{exe}, agent {i}: it goes on, or says why it does not begin, though what traces is killed again and again")
            ok("the process that traces was killed" in run.stderr, f"{exe}, agent {i}: it says that it was killed")
            p.send_signal(signal.SIGUSR1)
        ok(nr > 4, f"{exe}: {nr} processes that trace were killed")
        unharmed(p, expected, f"{nr} processes that trace killed at random moments, {exe}")


def test_begun():
    """Calls that have begun and never end take no time from others."""
    script = "import select, sys\nprint('runs', flush=True)\nwhile not select.select([0], [], [], 0)[0]: sum(range(300))\n" \
        "print(sys.is_stack_trampoline_active())"
    begun = [fake("begun", user=65534) for _ in range(24)]
    p = python("-c", script)
    p.stdout.readline()
    began = time.monotonic()
    run = agent(tmp, "--inject-python", "-a", "-d", "5s", timeout=60)
    note(f"{counts(run)} {time.monotonic() - began:.1f} s")
    ok(counts(run).get("blocked", 0) >= 12, "calls that have begun and never end are counted as blocked")
    balance(run, "24 processes with calls that never end")
    time.sleep(0.2)
    ok(p.communicate(timeout=60)[0] == "False\n", "calls of others that never end leave a program not switched on")
    for b in begun:
        end(b)


FORK = "import json, os, select, sys, time\nprint('runs', flush=True)\ndef spin():\n    return sum(range(300))\n" \
    "end = time.time() + WAIT\nwhile time.time() < end: spin()\nr, w = os.pipe()\npid = os.fork()\n" \
    "if pid == 0:\n    if DAEMON:\n        os.setsid()\n        if os.fork(): os._exit(0)\n" \
    "    seen = sys.is_stack_trampoline_active()\n    while not select.select([0], [], [], 0)[0]: spin()\n" \
    "    os.write(w, json.dumps([seen, sys.is_stack_trampoline_active()]).encode())\n    os._exit(0)\n" \
    "while not select.select([0], [], [], 0)[0]: spin()\nos.close(w)\nprint(json.loads(os.read(r, 99)), sys.is_stack_trampoline_active())"


def fork_late(wait, daemon, *options):
    p = python(*options, "-c", FORK.replace("WAIT", str(wait)).replace("DAEMON", str(daemon)))
    p.stdout.readline()
    return p


def test_children_of_others():
    """Children that are not targets, and those of a program that the user has switched on."""
    for daemon, what in ((False, "a child that is not followed"), (True, "a daemon that is not followed")):
        p = fork_late(2, daemon)
        run = agent(tmp, "--inject-python", "--pid", p.pid, "--no-follow-children", "-d", "4s")
        time.sleep(0.5)
        out, err = p.communicate(timeout=60)
        note(f"{what}: {counts(run)} {out.strip()}")
        ok(out == "[True, False] False\n" and not err, f"{what} inherits the trampoline and is switched off")
        balance(run, what)
    for wait in (0, 1):
        p = fork_late(wait, False, "-X", "perf")
        run = agent(tmp, "--inject-python", "--pid", p.pid, "-d", "3s")
        out, err = p.communicate(timeout=60)
        note(f"-X perf: {counts(run)} {out.strip()}")
        ok(out == "[True, True] True\n" and not err,
           f"-X perf stays on in a child that is forked after {wait} s")
        ok("switched_on" not in counts(run), f"-X perf with a fork after {wait} s is not counted as switched on")


def test_late_starters():
    """Programs of half a second or more, which start during the capture."""
    script = "import sys, time\nend = time.monotonic() + 1.5\nseen = False\nwhile time.monotonic() < end:\n" \
        "    sum(range(50))\n    seen = seen or sys.is_stack_trampoline_active()\nprint(seen)"
    run = agent(tmp, "--inject-python", command=["sh", "-c", f"for i in 1 2 3 4; do {new[0]} -c '{script}'; done"])
    note(f"{counts(run)} {run.stdout.split()}")
    ok(run.stdout.split().count("True") >= 3, "programs that a command runs for 1.5 s each are switched on")
    balance(run, "programs that a command runs")


def test_interrupts(expected):
    for nr, what in ((1, "SIGINT"), (2, "a second SIGINT")):
        p = interplay(new[0])
        remove_stale(p.pid)
        a = start_agent(tmp, "--inject-python", "--pid", p.pid, "-d", "60s")
        wait_for(lambda p=p: os.path.exists(f"/tmp/perf-{p.pid}.map"), "the program to be switched on", 60)
        wait_for_sampling(a, p.pid)
        for _ in range(nr):
            stop(a)
        finish_agent(a)
        answers = answers_of(p)
        note(f"{what}: {answers}")
        ok(answers == [False, True, False], f"{what} during the capture: the program runs on, and is off")


def test_killed_agents(expected):
    random.seed(16)
    nr_started, before = 0, tracers()
    for exe in new:
        p = checksums(exe)
        for _ in range(KILLS // len(new)):
            a = subprocess.Popen([AGENT, "--profile", "--inject-python", "-q", "--no-profile-output", "--pid", str(p.pid),
                                  "-d", "60s"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            time.sleep(random.uniform(0.05, 1.0))
            a.kill()
            a.wait()
            p.send_signal(signal.SIGUSR1)  # it switches itself off, so that there is something to do the next time
            nr_started += 1
        answers = unharmed(p, expected, f"{nr_started} agents killed at random moments, {exe}")
        note(f"the program saw {len(answers)} changes")
    wait_for(lambda: not tracers() - before, "the processes of the killed agents to end")
    ok(True, "no process of a killed agent is left that traces")


def test_exiting():
    """Processes that end while they are switched on."""
    script = "import time\nend = time.monotonic() + 0.05\nwhile time.monotonic() < end: sum(range(50))\nprint(\"over\")"
    shell = f"for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do {new[0]} -c '{script}' || echo failed; done"
    a = start_agent(tmp, "-a", "--inject-python", "-d", "8s")
    wait_for_sampling(a)
    r = subprocess.run(["sh", "-c", shell], capture_output=True, text=True, timeout=120)
    ok(r.stdout == "over\n" * 20 and not r.stderr, "programs that end at that moment end as usual")
    run = finish_agent(a)
    ok(run.status == 0, "-a: no failure comes from processes that end meanwhile")


def test_namespaces():
    """The interpreter, its library and the perf map are in a private mount namespace, and PIDs in another one."""
    if no_mount_namespace():
        skip(no_mount_namespace())
        return
    home = os.path.dirname(os.path.dirname(os.path.realpath(new[0])))
    script = "mount -t tmpfs none /mnt && mkdir /mnt/py && cp -r $0/bin /mnt/py && mkdir /mnt/py/lib && " \
        "cp -r $0/lib/libpython* /mnt/py/lib && ln -s $0/lib/python3* /mnt/py/lib/ && cp $1 /mnt/s.py && " \
        "mount -t tmpfs none /tmp && LD_LIBRARY_PATH=/mnt/py/lib exec /mnt/py/bin/python3 /mnt/s.py"
    p = subprocess.Popen(["unshare", "-m", "-p", "-f", "--mount-proc", "sh", "-c", script, home, INTERPLAY],
                         stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if p.stdout.readline() != "runs\n":
        skip(f"cannot run python in a private mount namespace: {p.stderr.read()}")
        return
    with open(f"/proc/{p.pid}/task/{p.pid}/children") as f:
        pid = int(f.read().split()[0])
    run = agent(tmp, "--inject-python", "--pid", pid, "-F", 299, "-d", "2s")
    mine = [s for s in run.profile.samples if "one_round" in s.names()] if run.profile else []
    ok(run.status == 0 and counts(run) == {"switched_on": 1, "switched_off": 1},
       "a process in a mount and a PID namespace of its own is switched on, and off")
    ok(share(run.profile.samples, lambda s: "one_round" in s.names()) > 0.8 and
       all(f.filename == "/mnt/s.py" for s in mine for f in s.frames if f.name == "one_round"),
       "its functions are named by the perf map that only its own mount namespace has")
    ok(all(s.labels["ns_pid"] == 1 for s in mine), "its samples have the PID that it sees itself")
    ok(finish(p)[0] == [False, True, False], "the program in namespaces saw it go on, and off")


expected = undisturbed()
test_one_process()
test_command()
test_refusals(expected)
test_traced()
test_blocked()
test_vfork()
test_small_stack()
test_interpreters()
test_stripped_static()
test_whole_machine(expected)
test_forks()
test_exiting()
test_children_of_others()
test_late_starters()
test_silent(expected)
test_silent_stack()
test_begun()
test_interrupts(expected)
test_killed_agents(expected)
test_killed_tracers(expected)
test_namespaces()
test_other_builds()
remove_maps()
done()
