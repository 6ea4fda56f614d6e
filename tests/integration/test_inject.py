# SPDX-License-Identifier: Apache-2.0
"""Python's perf trampoline is switched in running interpreters, which come to no harm."""
import glob
import json
import os
import random
import re
import signal
import subprocess
import time

from harness import PROGS, done, end, need_root, note, ok, prog, skip, wait_for

HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "workloads")
CHECKSUMS = os.path.join(HERE, "checksums.py")
DRIVER = os.path.join(PROGS, "inject_driver")
ROUNDS_OF_ONE = 20  # CPython has room for 254 activations in the life of a process
KILLS_OF_ONE = 15
made = []


def interpreters():
    """Installed CPythons by version: those of pyenv and of the system."""
    found = {}
    root = os.environ.get("PYENV_ROOT") or os.path.expanduser("~/.pyenv")
    for path in sorted(glob.glob(f"{root}/versions/3.*/bin/python3")) + \
            [f"/usr/bin/python3.{n}" for n in range(8, 16)]:
        if os.path.exists(path):
            out = subprocess.run([path, "-c", "import sys; print(sys.version_info[1])"], capture_output=True, text=True)
            if out.returncode == 0:
                found.setdefault(int(out.stdout), path)
    return found


pythons = interpreters()
new = [path for minor, path in pythons.items() if minor >= 12]


def python(*args, exe=None, **kwargs):
    p = subprocess.Popen([exe or new[0], *map(str, args)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                         stderr=subprocess.PIPE, text=True, **kwargs)
    import atexit
    atexit.register(end, p)
    made.append(f"/tmp/perf-{p.pid}.map")
    return p


def checksums(exe=None, *options):
    p = python(*options, CHECKSUMS, exe=exe)
    p.stdout.readline()
    return p


def finish(p):
    """What a workload says at its end, and its exit status."""
    out, err = p.communicate(timeout=120)
    if err:
        note(err)
    return (json.loads(out) if out.strip() else None), p.returncode, err


def state(pid):
    with open(f"/proc/{pid}/stat") as f:
        return f.read().rsplit(")", 1)[1].split()[0]


def undisturbed():
    p = checksums()
    time.sleep(0.3)
    said, _, _ = finish(p)
    return said["results"]


def unharmed(p, expected, what):
    said, status, err = finish(p)
    ok(status == 0 and said and said["results"] == expected and said["signals"] > 0 and not err,
       f"{what}: the program's results are those of an undisturbed run")
    return said["answers"] if said else []


def driver(pid, rounds):
    return subprocess.Popen([DRIVER, str(pid), str(rounds)], stdout=subprocess.PIPE, text=True)


TRACER = "import ctypes, sys\nlibc = ctypes.CDLL(None)\nlibc.ptrace(0x4206, int(sys.argv[1]), 0, 0)\n" \
    "print('traces', flush=True)\nsys.stdin.read()"
BUSY = "import select, sys\nprint('runs', flush=True)\nwhile not select.select([0], [], [], 0)[0]: pass\n" \
    "print(sys.is_stack_trampoline_active())"
BLOCKED = "import os, sys\nprint('runs', flush=True)\nos.read(0, 1)\nfor i in range(100000): pass\n" \
    "print(sys.is_stack_trampoline_active())"


def outcome(pid):
    """What became of one attempt."""
    out, _ = driver(pid, 1).communicate(timeout=120)
    found = re.match(r"round 0: (\w+)", out)
    return found.group(1) if found else "both"


def test_rounds(expected):
    nr_both = 0
    for exe in new:
        p = checksums(exe)
        out, _ = driver(p.pid, ROUNDS_OF_ONE).communicate(timeout=600)
        nr_both += int(re.search(r"both=(\d+)", out).group(1))
        answers = unharmed(p, expected, f"{ROUNDS_OF_ONE} rounds in {exe}")
        ok(True in answers and answers[-1] is False, f"the program saw it go on and off ({answers.count(True)} times)")
    note(f"{nr_both} of {ROUNDS_OF_ONE * len(new)} rounds found a safe point in time, both times")
    ok(nr_both >= ROUNDS_OF_ONE * len(new) / 2, "rounds switch on and off")


def test_killed_drivers(expected):
    random.seed(15)
    for exe in new:
        p = checksums(exe)
        for _ in range(KILLS_OF_ONE):
            d = driver(p.pid, 1000)
            time.sleep(random.uniform(0, 0.2))
            d.kill()
            d.communicate()
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


def test_blocked():
    p = python("-c", BLOCKED)
    p.stdout.readline()
    wait_for(lambda: state(p.pid) == "S", "the program to read")
    ok(outcome(p.pid) == "blocked", "a program that reads for ever never makes the call")
    out, err = p.communicate("x", timeout=60)
    ok(p.returncode == 0 and out.strip() == "False" and not err,
       "the call that was left behind does nothing when the program runs again")


need_root()
if not new:
    skip("needs CPython 3.12 or later, as python3.12 or in pyenv")
    done()
expected = undisturbed()
test_others(expected)
test_traced()
test_blocked()
test_rounds(expected)
test_killed_drivers(expected)
for path in made:
    if os.path.exists(path):
        os.unlink(path)
done()
