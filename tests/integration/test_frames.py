# SPDX-License-Identifier: Apache-2.0
"""Exact frames, case by case: programs without frame pointers, each in a state that is hard to unwind. exact_frames.py
defines what is exact."""
import copy
import os
import re
import shutil
import struct
import subprocess

from collections import Counter

from exact_frames import (CASES, HANDLER_CALLERS, LIBC, LOADER, MAIN, STUB, Case, file_token,
                          handler_stacks)
from judge import is_instruction
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
        """Name and link-time address of the function at an offset of the file's code."""
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


def token(frame, here=HERE):
    if frame.path.startswith(here) and os.path.basename(frame.path) != "word32":
        if frame.function.startswith("__libc_start"):
            return LIBC  # in a static program
        return STUB if place(frame)[0].startswith(".plt") else frame.function
    return file_token(frame.path)


def tokens(sample, here=HERE):
    return [token(f, here) for f in sample.frames]


def kind(case, sample, here=HERE):
    """The verdict of the case. The leaf of a sample in a caller must be the sampled instruction; if the callee's frame
    had been lost, it would be a return address less 1, inside a call."""
    found = case.judge(tokens(sample, here),
                       sample.labels.get("truncated", sample.labels.get("no_user_stack")))
    if found != "caller":
        return found
    leaf = copy.copy(sample.frames[0])
    leaf.path = leaf.path.replace(here, HERE)  # its symbols are those of the copy that still exists
    return found if is_instruction(leaf) else None


def is_exact(case, sample):
    return kind(case, sample) in ("whole", "caller", "library")


def start(case, here=None):
    path = os.path.join("frames", case.argv[0]) if not here else os.path.join(here, case.argv[0])
    p = prog(path, *case.argv[1:], stdout=subprocess.PIPE, env={**os.environ, **case.env})
    p.stdout.readline()
    return p


def print_wrong(case, samples, here):
    for s in samples[:5]:
        note(f"{case.what}: {s.count} × [{s.labels.get('truncated', '')}] {';'.join(tokens(s, here))}")


def count_kinds(case, profile, here=HERE):
    kinds = Counter()
    for s in profile.samples:
        kinds[kind(case, s, here)] += s.count
    print_wrong(case, sorted((s for s in profile.samples if kind(case, s, here) is None),
                            key=lambda s: -s.count), here)
    return kinds


def check_kinds(case, what, run, least, share, here=HERE):
    """That many samples, that share of them exact, and none of the kinds more frequent than possible."""
    n, kinds = run.profile.total(), count_kinds(case, run.profile, here)
    late = kinds["outdated"] + kinds["exiting"]
    good = n - kinds[None] - late
    many = {k: nr for k, nr in kinds.items() if k and nr > case.bound(k, n)}
    ok(run.status == 0 and n >= least and good >= share * (n - late) and not many,
       f"{what}: {good} of {n} samples are exact ({good / max(n, 1):.4f}; {print_kinds(kinds)})"
       + "".join(f"; no more than {case.bound(k, n):.0f} can be {k}" for k in many))


def print_kinds(kinds):
    return ", ".join(f"{nr} {k or 'wrong'}" for k, nr in kinds.most_common())


def count_leaf(case, profile, leaf):
    return sum(s.count for s in profile.samples if is_exact(case, s) and token(s.frames[0]) == leaf)


def check_first(case, directory):
    """A process that is new to the agent, and whose unwind tables are not compiled yet."""
    for ms in (100, 400, 2000):  # until it has run at all
        target = start(case)
        run = agent(directory, "--pid", target.pid, "-F", 999, "-d", f"{ms}ms")
        end(target)
        if run.profile and run.profile.total():
            break
    check_kinds(case, f"{case.what}, the first samples", run, 1, 1.0)


def check_mode(case, directory, how):
    target = start(case)
    run = agent_until(SAMPLES, directory, "--pid", target.pid, "-F", 999, *ARGS[how], seconds=1)
    end(target)
    check_kinds(case, f"{case.what}, {how}", run, SAMPLES, case.share)
    p, n, leaf = run.profile, run.profile.total(), case.expected[0][0]
    caught = count_leaf(case, p, leaf)
    ok(caught >= 0.2 * n, f"{case.what}, {how}: {caught} samples are in {leaf}")
    if case.what in ALSO:
        ALSO[case.what](case, p, how)


def some_in_stub(case, profile, how):
    caught = count_leaf(case, profile, STUB)
    ok(caught > 0, f"{case.what}, {how}: {caught} samples are in the stub")


def some_behind_register(case, profile, how):
    """Callees of the loader's code that keeps the CFA in a register, through which no walk in the kernel gets that far.
    """
    deep = sum(s.count for s in profile.samples
               if is_exact(case, s) and tokens(s)[:2] == [LOADER, LOADER])
    ok(deep > 0, f"{case.what}, {how}: {deep} samples are below the loader's entry")


def some_interrupted(case, profile, how):
    stacks = {tuple(tokens(s)[3:]) for s in profile.samples
              if is_exact(case, s) and token(s.frames[0]) == "handler_burn"}
    ok(len(stacks) >= 2, f"{case.what}, {how}: {len(stacks)} different stacks were interrupted")


def call_is_last(case, profile, how):
    """pprof has return address - 1: the last byte of the function, otherwise the case tests nothing."""
    frame = next(f for s in profile.samples for f in s.frames if f.function == "ends_with_call")
    _, addr = place(frame)
    ok(addr + 1 == Elf(frame.path).function_end("ends_with_call"),
       f"{case.what}, {how}: the return address is the first byte behind the function")


# The stack copies of a process whose walks end in code without rules (MAX_MISSES in bpf/copy_stack.bpf.h), for each
# list of its mappings: one at first, one when the C library's table is ready, and one spare.
MAX_MISSES = 3 * 256


def check_wild_frame(directory):
    """Walks that cannot be finished must not use up the budget for copies of stacks."""
    target = prog(os.path.join("frames", "wild_frame"), stdout=subprocess.PIPE)
    target.stdout.readline()
    run = agent_until(4 * SAMPLES, directory, "--pid", target.pid, "-F", 999, seconds=3)
    end(target)
    n = run.profile.total()
    truncated = sum(s.count for s in run.profile.samples
              if s.labels.get("truncated") in ("no_mapping", "no_frame_pointer"))
    ok(run.status == 0 and n >= SAMPLES and truncated >= 0.99 * n,
       f"no frame pointers: {truncated} of {n} samples are truncated in JIT code")
    nr = run.summary["walks_again"]
    ok(0 < nr <= MAX_MISSES, f"no frame pointers: {nr} of {n} stacks were copied")
    ok(run.summary["walks_finished"] < nr // 4,
       "no frame pointers: walks on copies that fail are not counted as finished")


def split_debug(name, directory):
    """Splits the program's debug information into a separate file; empty, or what this machine lacks."""
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
    case = next(c for c in CASES if c.argv == ["tail"])
    case = Case("a separate debug file", ["tail_bare"], *case.expected, callers=case.callers,
                caller_share=case.most["caller"])
    for how, args in ARGS.items():
        target = start(case, directory)
        run = agent_until(SAMPLES, directory, "--pid", target.pid, "-F", 999, *args, seconds=1)
        end(target)
        check_kinds(case, f"{case.what}, {how}", run, SAMPLES, case.share, directory)


ALSO = {
    "a stub": some_in_stub,
    "a stub without a table": some_in_stub,
    "lazy binding": some_behind_register,
    "a signal handler": some_interrupted,
    "a signal handler on its own stack": some_interrupted,
    "a signal handler that returns to bare code": some_interrupted,
    "a last call that does not return": call_is_last,
}

def check_judge():
    """Tests the judge itself: a stack that has lost its innermost frames is not exact."""
    for case in CASES:
        ends = [x[at:] for x in case.expected for at in range(1, len(x))]
        lost = [x for x in ends if x[0] not in case.callers and x not in case.expected
                and not (case.most["library"] and x[0] in (LOADER, STUB))]
        passed = [x for x in [[], ["_start"], [LIBC, "_start"], *lost] if case.judge(x, case.stop)]
        for x in passed:
            note(f"{case.what}: passes for exact: {';'.join(x)}")
        ok(not passed, f"{case.what}: none of {len(lost) + 3} stacks without their leaf is exact")


check_judge()
need_root()
tmp = workdir()
for one in CASES:
    if "auto" in one.modes:
        check_first(one, tmp)
    for mode in one.modes:
        check_mode(one, tmp, mode)

check_wild_frame(tmp)
check_separate(tmp)

if os.path.exists(os.path.join(HERE, "handler_bare")):
    bare = Case("a signal handler that returns to bare code", ["handler_bare", 0, 1],
                *handler_stacks("bare_return"), **HANDLER_CALLERS)
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
