# SPDX-License-Identifier: Apache-2.0
"""test_recorded.py ARCH: stacks of the exact-frames programs, recorded at any instruction, through
the host build of the walker: every one is exact, and the walk with all registers finds the same
frames. $EMULATOR runs the programs if it is set."""
import ctypes
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter

from exact_frames import CASES, DATA_POINTER, LIBC, MAIN, STUB, Case, file_token
from harness import done, end, note, ok, skip, wait_for, workdir

RECORDINGS = 40
MAX_RECORDINGS = 400  # until a rare state has been caught
ARCH = sys.argv[1]
HERE = os.path.realpath(os.environ["FRAMES_PROGS"])
RECORDER = os.path.realpath(os.environ["RECORDER"])
WALK, EMULATOR = os.environ["WALK_RECORDING"], os.environ["EMULATOR"]
SYSROOT = "/usr/aarch64-linux-gnu"
# The emulator has no vDSO: the C library asks the kernel.
NO_VDSO = Case("the vDSO (there is none)", ["vdso"], [LIBC, "vdso_ask", *MAIN],
               [STUB, "vdso_ask", *MAIN], callers=("vdso_ask", "main"))
NOT_X86 = {
    **({"the vDSO": NO_VDSO} if EMULATOR else {}),
    DATA_POINTER: Case(DATA_POINTER, ["data_pointer"], ["data_burn", "data_caller"],
                       stop="frame_pointer_end", callers=("data_caller",)),
}
# What must be among the leaves, too.
ALSO = {"a stub": STUB}


class Walked:
    """One recording as it was walked."""

    def __init__(self, head):
        self.path, stop, full, plain = head.split("\t")
        self.stop = None if stop == "complete" else stop
        self.is_full, self.nr_plain, self.frames, self.tokens = full == "1", int(plain), [], []

    def add(self, line):
        path, addr, name = line.split("\t")[1:]
        self.frames.append((path, addr))
        if path == RECORDER:  # its one function on a stack stands for the vDSO's trampoline
            self.tokens.append(LIBC)
        else:
            self.tokens.append(name if path.startswith(HERE) else file_token(path))


def walk(how, paths):
    out = subprocess.run([WALK, how, *paths], capture_output=True, text=True)
    walked = []
    for line in out.stdout.splitlines():
        if line.startswith("\t"):
            walked[-1].add(line)
        else:
            walked.append(Walked(line))
    if out.returncode or len(walked) != len(paths):
        note(f"{WALK} ends with {out.returncode}: {out.stdout[-200:]} {out.stderr}")
    return walked


def end_with_us():
    """Also when the test is killed."""
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG


def start(case, directory):
    env = {**case.env, "LD_PRELOAD": RECORDER, "RECORD_DIR": directory}
    argv = [os.path.join(HERE, case.argv[0]), *map(str, case.argv[1:])]
    if EMULATOR:
        argv = [EMULATOR, "-L", SYSROOT,
                *(a for k, v in env.items() for a in ("-E", f"{k}={v}")), *argv]
        # One instruction at a time, or signals would come at the ends of blocks alone; the second
        # is the name since 8.1.
        env = {"QEMU_SINGLESTEP": "1", "QEMU_ONE_INSN_PER_TB": "1"}
    p = subprocess.Popen(argv, stdout=subprocess.PIPE, env={**os.environ, **env},
                         preexec_fn=end_with_us)
    p.stdout.readline()
    time.sleep(0.1)  # what says "ready" is on its way back
    return p


def tasks(pid):
    return [int(t) for t in os.listdir(f"/proc/{pid}/task")]


def cpu_ticks(pid, tid):
    with open(f"/proc/{pid}/task/{tid}/stat") as f:
        fields = f.read().rsplit(")", 1)[1].split()
    return int(fields[11]) + int(fields[12])


def child_of(pid):
    for other in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{other}/stat") as f:
                if int(f.read().rsplit(")", 1)[1].split()[1]) == pid:
                    return int(other)
        except (OSError, ValueError):
            pass
    return None


def busy_task(case, pid):
    """Process and thread that do the work."""
    if case.argv[0] == "vfork_child":
        wait_for(lambda: child_of(pid), "a child")
        pid = child_of(pid)
        wait_for(lambda: cpu_ticks(pid, pid) > 20, "a busy child")
    if case.argv[0] != "thread":
        return pid, pid
    wait_for(lambda: any(cpu_ticks(pid, t) > 20 for t in tasks(pid) if t != pid), "a busy thread")
    return pid, max((t for t in tasks(pid) if t != pid), key=lambda t: cpu_ticks(pid, t))


def finished(directory):
    return sorted(os.path.join(directory, f) for f in os.listdir(directory)
                  if not f.endswith(".part"))


def record(directory, pid, tid, count):
    """Interrupts the thread at moments that are nobody's choice."""
    tgkill = 234 if os.uname().machine == "x86_64" else 131
    libc = ctypes.CDLL(None, use_errno=True)
    for _ in range(count):
        before = len(finished(directory))
        time.sleep(random.random() / 200)
        if libc.syscall(tgkill, pid, tid, signal.SIGUSR2):
            raise OSError(ctypes.get_errno(), "tgkill")
        while len(finished(directory)) == before:
            time.sleep(0.001)  # the test's own time limit ends it
    return finished(directory)


def leaves(case):
    return {case.expected[0][0], ALSO.get(case.what, case.expected[0][0])}


def recordings(case, directory):
    """Walked, until every leaf that is meant has been caught."""
    p = start(case, directory)
    pid, tid = busy_task(case, p.pid)
    light, seen = [], set()
    while len(light) < MAX_RECORDINGS and not leaves(case) <= {w.tokens[0] for w in light}:
        paths = [f for f in record(directory, pid, tid, RECORDINGS) if f not in seen]
        seen.update(paths)
        light += walk("light", paths)
    os.kill(pid, signal.SIGKILL)
    end(p)
    return light


def check(case, directory):
    os.mkdir(directory)
    light = recordings(case, directory)
    kinds = Counter(case.judge(w.tokens, w.stop) for w in light)
    wrong = [w for w in light if not case.judge(w.tokens, w.stop)]
    # The emulator takes as long for every instruction: its shares are not those of the cases.
    many = [k for k, n in kinds.items() if k and not EMULATOR and n > case.bound(k, len(light))]
    for w in wrong[:5]:
        note(f"{case.what}: [{w.stop}] {';'.join(w.tokens)}")
    caught = {leaf: sum(w.tokens[0] == leaf for w in light) for leaf in leaves(case)}
    needed = sum(w.is_full for w in light)
    ok(not wrong and not many and all(caught.values()),
       f"{case.what}: {len(light) - len(wrong)} of {len(light)} stacks are exact, "
       f"{kinds['caller']} of them in a caller{', too many' if many else ''}, "
       f"{', '.join(f'{n} in {leaf}' for leaf, n in caught.items())}; "
       f"{needed} needed all registers")
    single = walk("single", [w.path for w in light])
    same = sum((a.frames, a.stop, a.is_full) == (b.frames, b.stop, b.is_full) for a, b in zip(light, single))
    ok(same == len(light) and not sum(w.nr_plain for w in single),
       f"{case.what}: frame by frame, {same} are the same")
    nr_plain.append(sum(w.nr_plain for w in light))
    full = walk("full", [w.path for w in light])
    same = sum((a.frames, a.stop) == (b.frames, b.stop) for a, b in zip(light, full))
    ok(same == len(light), f"{case.what}: with all registers, {same} are the same")


if ARCH == "arm64" and os.uname().machine != "aarch64" and not EMULATOR:
    skip("the stacks of AArch64: needs qemu-aarch64")
elif not os.path.exists(RECORDER):
    skip("the stacks of AArch64: needs aarch64-linux-gnu-gcc and its C library")
else:
    tmp = workdir()
    cases = [NOT_X86.get(c.what, c) if ARCH != "x86" else c for c in CASES
             if c.what != "many children of vfork()"]
    random.seed(1)
    nr_plain = []
    for nr, one in enumerate(cases):
        check(one, os.path.join(tmp, str(nr)))
    note(f"plain frames: {nr_plain}")
    if ARCH == "x86":  # compilers for AArch64 put the return address beside the frame pointer
        ok(all(nr_plain), "plain frames are taken many at once, in every case")
done()
