# SPDX-License-Identifier: Apache-2.0
"""Exact frames, case by case: programs without frame pointers, each in a state that is hard to
unwind. What is exact: exact_frames.py."""
import os
import re
import shutil
import struct
import subprocess

from exact_frames import (CASES, LIBC, LOADER, MAIN, STUB, Case, file_token, handler_stacks,
                          is_tail_of)
from harness import PROGS, agent, agent_until, done, end, need_root, note, ok, prog, skip, workdir

SAMPLES = 500
HERE = os.path.join(os.path.realpath(PROGS), "frames")
ARGS = {"auto": [], "dwarf": ["--unwind", "dwarf"]}


class Elf:
    """Section headers of a 64-bit file, and its functions."""

    def __init__(self, path):
        with open(path, "rb") as f:
            data = f.read()
        at, = struct.unpack_from("<Q", data, 0x28)
        size, nr, names = struct.unpack_from("<HHH", data, 0x3A)
        raw = [struct.unpack_from("<IIQQQQ", data, at + i * size) for i in range(nr)]
        base = raw[names][4]
        self.sections = [(data[base + r[0]:data.index(b"\0", base + r[0])].decode(), *r[3:])
                         for r in raw]
        self.path = path

    def section_at(self, offset):
        """Name and link-time address of what lies at an offset of the file's code."""
        for name, addr, start, size in self.sections:
            if addr and start <= offset < start + size:
                return name, addr + offset - start
        return "", 0

    def function_end(self, function):
        out = subprocess.run(["nm", "-S", self.path], capture_output=True, text=True).stdout
        start, size = re.search(rf"^(\w+) (\w+) \w {function}$", out, re.M).groups()
        return int(start, 16) + int(size, 16)


_elves = {}


def place(frame):
    """Section and link-time address of a frame in a file of our own."""
    elf = _elves.setdefault(frame.path, Elf(frame.path))
    m = frame.mapping
    return elf.section_at(frame.address - m.memory_start + m.file_offset)


def token(frame):
    if frame.path.startswith(HERE) and os.path.basename(frame.path) != "word32":
        if frame.function.startswith("__libc_start"):
            return LIBC  # of a static program
        return STUB if place(frame)[0].startswith(".plt") else frame.function
    return file_token(frame.path)


def tokens(sample):
    return [token(f) for f in sample.frames]


def is_exact(case, sample):
    return case.is_exact(tokens(sample), sample.labels.get("truncated"))


def start(case):
    p = prog(os.path.join("frames", case.argv[0]), *case.argv[1:], stdout=subprocess.PIPE,
             env={**os.environ, **case.env})
    p.stdout.readline()
    return p


def tell_wrong(case, samples):
    for s in samples[:5]:
        note(f"{case.what}: {s.count} × [{s.labels.get('truncated', '')}] {';'.join(tokens(s))}")


def exact(case, profile):
    wrong = [s for s in profile.samples if not is_exact(case, s)]
    tell_wrong(case, sorted(wrong, key=lambda s: -s.count))
    return profile.total() - sum(s.count for s in wrong)


def count_leaf(case, profile, leaf):
    return sum(s.count for s in profile.samples if is_exact(case, s) and token(s.frames[0]) == leaf)


def check_first(case, directory):
    """A process nobody has told the agent of, and tables that nobody has compiled."""
    target = start(case)
    run = agent(directory, "--pid", target.pid, "-F", 999, "-d", "100ms")
    end(target)
    n = run.profile.total()
    good = exact(case, run.profile)
    ok(run.status == 0 and n > 0 and good == n,
       f"{case.what}: {good} of the first {n} samples are exact")


def check_mode(case, directory, how):
    target = start(case)
    run = agent_until(SAMPLES, directory, "--pid", target.pid, "-F", 999, *ARGS[how], seconds=1)
    end(target)
    p, n = run.profile, run.profile.total()
    good, leaf = exact(case, p), case.expected[0][0]
    ok(run.status == 0 and n >= SAMPLES and good >= case.share * n,
       f"{case.what}, {how}: {good} of {n} samples are exact ({good / n:.4f})")
    caught = count_leaf(case, p, leaf)
    ok(caught >= 0.2 * n, f"{case.what}, {how}: {caught} samples are in {leaf}")
    if case.what in ALSO:
        ALSO[case.what](case, p, how)


def some_in_stub(case, profile, how):
    caught = count_leaf(case, profile, STUB)
    ok(caught > 0, f"{case.what}, {how}: {caught} samples are in the stub")


def some_behind_register(case, profile, how):
    """Callees of the loader's code that keeps the CFA in a register, which no walk in the kernel
    follows that far."""
    deep = sum(s.count for s in profile.samples
               if is_exact(case, s) and tokens(s)[:2] == [LOADER, LOADER])
    ok(deep > 0, f"{case.what}, {how}: {deep} samples are below the loader's entry")


def some_interrupted(case, profile, how):
    stacks = {tuple(tokens(s)[3:]) for s in profile.samples
              if is_exact(case, s) and token(s.frames[0]) == "handler_burn"}
    ok(len(stacks) >= 2, f"{case.what}, {how}: {len(stacks)} different stacks were interrupted")


def call_is_last(case, profile, how):
    """pprof has return address - 1: the last byte of the function, or the case is none."""
    frame = next(f for s in profile.samples for f in s.frames if f.function == "ends_with_call")
    _, addr = place(frame)
    ok(addr + 1 == Elf(frame.path).function_end("ends_with_call"),
       f"{case.what}, {how}: the return address is the first byte behind the function")


# Copies that a process gets whose walks end in no code (MAX_ASTRAY in bpf/finish.bpf.h), for each list of its
# mappings: one at first, one when the C library's table is there, and one to spare.
MAX_ASTRAY = 3 * 256


def check_astray(directory):
    """Walks that nobody can finish must not go on to take what there is for all processes' stacks."""
    target = prog(os.path.join("frames", "astray"), stdout=subprocess.PIPE)
    target.stdout.readline()
    run = agent_until(4 * SAMPLES, directory, "--pid", target.pid, "-F", 999, seconds=3)
    end(target)
    n = run.profile.total()
    cut = sum(s.count for s in run.profile.samples if s.labels.get("truncated") == "no_mapping")
    ok(run.status == 0 and n >= SAMPLES and cut >= 0.99 * n, f"astray: {cut} of {n} samples end in no code")
    nr = run.summary["walks_again"]
    ok(0 < nr <= MAX_ASTRAY, f"astray: {nr} of {n} stacks were copied")
    ok(run.summary["walks_finished"] < nr // 4, "astray: what is copied in vain is not called finished")


def split_debug(name, directory):
    """The program without what debuggers need, and beside it a file with only that; empty, or what
    is missing here."""
    whole, alone = os.path.join(HERE, name), os.path.join(directory, name)
    debug = alone + ".debug"
    if not shutil.which("objcopy"):
        return "objcopy is not installed"
    for args in (["--only-keep-debug", whole, debug],
                 ["--strip-all", "--add-gnu-debuglink=" + debug, whole, alone]):
        subprocess.run(["objcopy", *args], check=True)
    return ""


def check_separate(directory):
    """A program that has its unwind information in a separate debug file."""
    why = split_debug("tail_bare", directory)
    if why:
        skip(f"a separate debug file: {why}")
        return
    path = os.path.join(directory, "tail_bare")
    expected = [["tail_burn", "tail_top", *MAIN], ["tail_middle", "tail_top", *MAIN]]
    for how, args in ARGS.items():
        target = subprocess.Popen([path], stdout=subprocess.PIPE)
        target.stdout.readline()
        run = agent_until(SAMPLES, directory, "--pid", target.pid, "-F", 999, *args, seconds=1)
        end(target)
        n = run.profile.total()
        good = sum(s.count for s in run.profile.samples if not s.labels.get("truncated") and any(
            is_tail_of([f.function if f.path == path else file_token(f.path) for f in s.frames], x)
            for x in expected))
        ok(run.status == 0 and n >= SAMPLES and good >= 0.995 * n,
           f"a separate debug file, {how}: {good} of {n} samples are exact ({good / n:.4f})")


ALSO = {
    "a stub": some_in_stub,
    "a stub without a table": some_in_stub,
    "lazy binding": some_behind_register,
    "a signal handler": some_interrupted,
    "a signal handler on its own stack": some_interrupted,
    "a signal handler that returns to bare code": some_interrupted,
    "a last call that does not return": call_is_last,
}

need_root()
tmp = workdir()
for one in CASES:
    if "auto" in one.modes:
        check_first(one, tmp)
    for mode in one.modes:
        check_mode(one, tmp, mode)

check_astray(tmp)
check_separate(tmp)

if os.path.exists(os.path.join(HERE, "handler_bare")):
    bare = Case("a signal handler that returns to bare code", ["handler_bare", 0, 1],
                *handler_stacks("bare_return"))
    check_first(bare, tmp)
    check_mode(bare, tmp, "auto")
    stub = Case("a stub without a table", ["plt_bare"], ["plt_loop", *MAIN],
                ["plt_target_chosen", "plt_loop", *MAIN], [STUB, "plt_loop", *MAIN])
    check_first(stub, tmp)
    check_mode(stub, tmp, "auto")
    check_mode(stub, tmp, "dwarf")
else:
    skip("a signal handler that returns to bare code: the compiler links no static program here")

if os.path.exists(os.path.join(HERE, "word32")):
    word32 = Case("a 32-bit program", ["word32"], ["word32"], stop="compat_task")
    check_first(word32, tmp)
    check_mode(word32, tmp, "auto")
else:
    skip("a 32-bit program: the compiler makes none here")
done()
