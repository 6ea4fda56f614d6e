# SPDX-License-Identifier: Apache-2.0
"""Installed interpreters of Python, and programs in it that tell whether they were harmed."""
import atexit
import glob
import json
import os
import subprocess
import time

from harness import end, note, ok

HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "workloads")
CHECKSUMS = os.path.join(HERE, "checksums.py")
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


TRACER = "import ctypes, sys\nlibc = ctypes.CDLL(None)\nlibc.ptrace(0x4206, int(sys.argv[1]), 0, 0)\n" \
    "print('traces', flush=True)\nsys.stdin.read()"
BUSY = "import select, sys\nprint('runs', flush=True)\nwhile not select.select([0], [], [], 0)[0]: pass\n" \
    "print(sys.is_stack_trampoline_active())"
# Is ended by the kernel if it makes a system call that it does not make by itself (mprotect).
FILTERED = """
import ctypes, platform, select, struct, sys
libc = ctypes.CDLL(None, use_errno=True)
nr = 226 if platform.machine() == "aarch64" else 10
code = b"".join(struct.pack("HBBI", *x) for x in ((32, 0, 0, 0), (21, 0, 1, nr), (6, 0, 0, 1 << 31), (6, 0, 0, 0x7fff0000)))
room = ctypes.create_string_buffer(code)
program = struct.pack("HxxxxxxQ", len(code) // 8, ctypes.addressof(room))
assert libc.prctl(38, 1, 0, 0, 0) == 0 and libc.prctl(22, 2, program) == 0
print("runs", flush=True)
while not select.select([0], [], [], 0)[0]: pass
print(sys.is_stack_trampoline_active())
"""
# Runs for a moment once it may, and ends when its input does.
BLOCKED = "import os, sys\nprint('runs', flush=True)\nos.read(0, 1)\nfor i in range(100000): pass\nos.read(0, 1)\n" \
    "print(sys.is_stack_trampoline_active())"


def remove_maps():
    """The perf maps that the programs have left behind."""
    for path in made:
        if os.path.exists(path):
            os.unlink(path)
