# SPDX-License-Identifier: Apache-2.0
"""Python's perf trampoline is switched in running interpreters, which come to no harm."""
import os
import random
import re
import shutil
import signal
import subprocess
import tempfile
import time

import hostile_fuse
from hostile_fuse import Hostile, fuse_device, make_user
from harness import PROGS, done, need_root, note, ok, prog, skip, wait_for
from pythons import BLOCKED, BUSY, FILTERED, TRACER, checksums, finish, new, python, pythons, remove_maps, state, undisturbed, unharmed

DRIVER = os.path.join(PROGS, "inject_driver")
LONG = os.environ.get("LONG_INJECT") == "1"  # the suite "long"
PROGRAMS, ROUNDS_OF_ONE = (5, 100) if LONG else (1, 20)  # 254 activations are possible in the life of a process
KILLS_OF_ONE = 100 if LONG else 15


def driver(pid, rounds):
    return subprocess.Popen([DRIVER, str(pid), str(rounds)], stdout=subprocess.PIPE, text=True)


def outcome(pid):
    """What became of one attempt."""
    out, _ = driver(pid, 1).communicate(timeout=120)
    found = re.match(r"round 0: (\w+)", out)
    return found.group(1) if found else "both"


def test_rounds(expected):
    nr_both = 0
    for i, exe in enumerate(new * PROGRAMS):
        p = checksums(exe)
        out, _ = driver(p.pid, ROUNDS_OF_ONE).communicate(timeout=600)
        nr_both += int(re.search(r"both=(\d+)", out).group(1))
        answers = unharmed(p, expected, f"{ROUNDS_OF_ONE} rounds in program {i} of {exe}")
        ok(True in answers and answers[-1] is False, f"program {i} saw it go on and off ({answers.count(True)} times)")
    nr = ROUNDS_OF_ONE * len(new) * PROGRAMS
    note(f"{nr_both} of {nr} rounds found a safe point in time, both times")
    ok(nr_both >= nr / 2, "rounds switch on and off")


def test_killed_drivers(expected):
    random.seed(15)
    for exe in new:
        p = checksums(exe)
        for _ in range(KILLS_OF_ONE):
            d = driver(p.pid, 1000)
            time.sleep(random.uniform(0, 0.2))
            d.kill()
            d.communicate()
            p.send_signal(signal.SIGUSR1)  # it switches itself off, so that there is something to do the next time
        unharmed(p, expected, f"{KILLS_OF_ONE} tracers killed at random moments in {exe}")


def test_others(expected):
    ok(outcome(prog("spin", 60).pid) == "not_python", "a program that is not Python is left alone")
    old = next((path for minor, path in pythons.items() if minor < 12), None)
    if old:
        p = checksums(old)
        ok(outcome(p.pid) == "too_old", "an old Python is left alone")
        finish(p)
    else:
        skip("needs a Python before 3.12")
    p = checksums(None, "-X", "perf")
    ok(outcome(p.pid) == "already_on", "what is on already is found to be")
    ok(unharmed(p, expected, "-X perf") == [True], "what was on already stays on")
    p = checksums()
    p.send_signal(signal.SIGSTOP)
    wait_for(lambda: state(p.pid) == "T", "the program to stop")
    ok(outcome(p.pid) == "stopped" and state(p.pid) == "T", "a stopped program stays stopped")
    p.send_signal(signal.SIGCONT)
    unharmed(p, expected, "stopped")


def test_traced():
    p = python("-c", BUSY)
    p.stdout.readline()
    tracer = python("-c", TRACER, p.pid)
    tracer.stdout.readline()
    ok(outcome(p.pid) == "traced", "a program with a debugger is left to it")
    tracer.communicate(timeout=60)
    out, err = p.communicate(timeout=60)
    ok(p.returncode == 0 and out.strip() == "False" and not err, "a program with a debugger is not changed")


def test_filtered():
    p = python("-c", FILTERED)
    p.stdout.readline()
    ok(outcome(p.pid) == "seccomp", "a program with a seccomp filter is left alone")
    out, err = p.communicate(timeout=60)
    ok(p.returncode == 0 and out.strip() == "False" and not err, "a program with a seccomp filter is not ended by it")


def test_blocked():
    p = python("-c", BLOCKED)
    p.stdout.readline()
    wait_for(lambda: state(p.pid) == "S", "the program to read")
    ok(outcome(p.pid) == "blocked", "a program that reads for ever never makes the call")
    out, err = p.communicate("x", timeout=60)
    ok(p.returncode == 0 and out.strip() == "False" and not err,
       "the call that was left behind does nothing when the program runs again")


def test_late_fifo():
    """Anyone can lay a FIFO where the interpreter will write to, while it waits to make the call."""
    p = python("-c", BLOCKED)
    path = f"/tmp/perf-{p.pid}.map"
    p.stdout.readline()
    wait_for(lambda: state(p.pid) == "S", "the program to read")
    d = driver(p.pid, 1)
    wait_for(lambda: mapped(p.pid), "the call to be queued")
    time.sleep(0.2)
    os.mkfifo(path, 0o666)
    p.stdin.write("x")
    p.stdin.flush()
    out, _ = d.communicate(timeout=120)
    p.stdin.close()
    ended = finishes(p, 20)
    if not ended:  # let it go on
        os.close(os.open(path, os.O_RDONLY))
    out_of_it, err = p.stdout.read(), p.stderr.read()
    ok(ended, "a FIFO in place of the perf map does not stop the program")
    ok("foreign_map" in out and out_of_it.strip() == "False" and not err, "it is refused")
    note(out + out_of_it + err)


def mapped(pid):
    """Whether there is memory of no file with code in it."""
    with open(f"/proc/{pid}/maps") as f:
        return any(re.search(r" r-xp 00000000 00:00 0\s*$", line) for line in f)


def finishes(p, seconds):
    try:
        p.wait(seconds)
    except subprocess.TimeoutExpired:
        return False
    return True


def test_exec_setuid():
    """A program that is looked at, and then becomes one with the rights of root."""
    uid = make_user()
    tmp = tempfile.mkdtemp()
    os.chmod(tmp, 0o755)
    program, mine = os.path.join(tmp, "exec_setuid"), os.path.join(tmp, "user")
    shutil.copy(os.path.join(PROGS, "exec_setuid"), program)
    os.chmod(program, 0o4755)
    os.mkdir(mine)
    os.chown(mine, uid, uid)
    nr, ran, outcomes, end_s = 0, [], set(), time.monotonic() + 5
    while time.monotonic() < end_s:
        p = subprocess.Popen([os.path.join(PROGS, "exec_setuid"), os.path.join(mine, "libc.trap"), str(100 + nr % 4 * 20), program],
                             stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, user=uid, group=uid, extra_groups=[])
        outcomes.add(outcome(p.pid))
        ran.append(p.communicate("x", timeout=60)[0])
        nr += 1
    shutil.rmtree(tmp)
    note(f"{nr} tries, {nr - ran.count('')} of them made it run what it should not: {sorted(outcomes)}")
    ok(not any(ran), "a program with more rights than its caller runs nothing of the caller's")


def test_silent_memory():
    """A page that is read from a file system which does not answer."""
    tmp = tempfile.mkdtemp()
    os.chmod(tmp, 0o755)
    for name, source in ("silent_fuse", "silent_fuse"), ("static_spin", "far_runtime"):
        shutil.copy(os.path.join(PROGS, source), os.path.join(tmp, name))
    hostile_fuse.MOUNTED_FOR_USER += ("plain",)  # so that others can read its memory
    h = Hostile(tmp, fuse_device(tmp), "plain", make_user())
    if h.why:
        shutil.rmtree(tmp)
        skip(h.why)
        return
    d = driver(h.pid, 1)
    try:
        out, _ = d.communicate(timeout=30)
    except subprocess.TimeoutExpired:
        out = None
        h.end()  # ends every wait
        d.communicate()
    ok(out is not None, "memory that does not answer does not keep the tracer")
    note(out)
    h.end()
    shutil.rmtree(tmp)


def test_endless_call():
    """A program in which every call that it is made to make lasts for ever, in each of its threads."""
    tmp, found = tempfile.mkdtemp(), []
    while "failed" not in found and len(found) < 5:  # it may be looked at too late
        p = prog("endless_call", os.path.join(tmp, "libc.code"))
        found.append(outcome(p.pid))
        p.kill()
        p.wait()
    shutil.rmtree(tmp)
    ok("failed" in found, "a program in which one call does not end is left alone from then on")
    note(found)


need_root()
if not new:
    skip("needs CPython 3.12 or later, as python3.12 or in pyenv")
    done()
expected = undisturbed()
test_others(expected)
test_exec_setuid()
test_silent_memory()
test_endless_call()
test_late_fifo()
test_traced()
test_filtered()
test_blocked()
test_rounds(expected)
test_killed_drivers(expected)
remove_maps()
done()
