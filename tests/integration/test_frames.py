# SPDX-License-Identifier: Apache-2.0
"""Exact frames, case by case: programs without frame pointers, each in a state that is hard to
unwind. A frame counts by its name if it lies in the program or a library of its own, else by the
file it lies in; a sample is exact if it is one of the expected stacks, frame for frame up to the
outermost one, from the leaf on or from a caller on (which then is the leaf), and says that nothing
is missing."""
import os
import re
import struct
import subprocess

from harness import PROGS, agent, agent_until, done, end, need_root, note, ok, prog, skip, workdir

SHARE = 0.995
SAMPLES = 500
MAX_FRAMES = 512  # of a walk: bpf/abi.h
HERE = os.path.join(os.path.realpath(PROGS), "frames")
LIBC, LOADER, VDSO, STUB = "libc", "ld.so", "[vdso]", "<stub>"
MAIN = ["main", LIBC, LIBC, "_start"]
THREAD = [LIBC, LIBC]
MODES = {"auto": [], "dwarf": ["--unwind", "dwarf"]}


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
        return STUB if place(frame)[0].startswith(".plt") else frame.function
    base = os.path.basename(frame.path)
    if base.startswith("libc.so") or base.startswith("libc-"):
        return LIBC
    return LOADER if base.startswith("ld-") or base.startswith("ld.so") else base


def tokens(sample):
    return [token(f) for f in sample.frames]


def is_tail_of(stack, expected):
    return 0 < len(stack) <= len(expected) and stack == expected[len(expected) - len(stack):]


def below_library(stack):
    """Without the loader's and the C library's frames above the first other one."""
    while len(stack) > 1 and stack[0] in (LIBC, LOADER):
        stack = stack[1:]
    return stack


class Case:
    """stop: why every walk ends; modes: those it is checked in; any_library_leaf: a call into a
    library is caught at any depth; share: of samples that must be exact."""

    def __init__(self, what, argv, *expected, stop=None, modes=MODES, any_library_leaf=False,
                 env=None, also=None, share=SHARE):
        self.what, self.argv, self.expected = what, argv, expected
        self.stop, self.modes, self.env, self.also = stop, modes, env, also
        self.any_library_leaf, self.share = any_library_leaf, share

    def is_exact(self, sample):
        stack = tokens(sample)
        if sample.labels.get("truncated") != self.stop:
            return False
        if self.stop:
            return stack in self.expected
        if any(is_tail_of(stack, x) for x in self.expected):
            return True
        # In the middle of a call into a library: how many frames deep is the library's affair.
        return (self.any_library_leaf and stack[0] in (LIBC, LOADER)
                and any(is_tail_of(below_library(stack), x) for x in self.expected))

    def start(self):
        p = prog(os.path.join("frames", self.argv[0]), *self.argv[1:], stdout=subprocess.PIPE,
                 env={**os.environ, **(self.env or {})})
        p.stdout.readline()
        return p


def tell_wrong(case, samples):
    for s in samples[:5]:
        note(f"{case.what}: {s.count} × [{s.labels.get('truncated', '')}] {';'.join(tokens(s))}")


def exact(case, profile):
    wrong = [s for s in profile.samples if not case.is_exact(s)]
    tell_wrong(case, sorted(wrong, key=lambda s: -s.count))
    return profile.total() - sum(s.count for s in wrong)


def count_leaf(case, profile, leaf):
    return sum(s.count for s in profile.samples if case.is_exact(s) and token(s.frames[0]) == leaf)


def check_first(case, directory):
    """A process nobody has told the agent of, and tables that nobody has compiled."""
    target = case.start()
    run = agent(directory, "--pid", target.pid, "-F", 999, "-d", "100ms")
    end(target)
    n = run.profile.total()
    good = exact(case, run.profile)
    ok(run.status == 0 and n > 0 and good == n,
       f"{case.what}: {good} of the first {n} samples are exact")


def check_mode(case, directory, how):
    target = case.start()
    run = agent_until(SAMPLES, directory, "--pid", target.pid, "-F", 999, *MODES[how], seconds=1)
    end(target)
    p, n = run.profile, run.profile.total()
    good, leaf = exact(case, p), case.expected[0][0]
    ok(run.status == 0 and n >= SAMPLES and good >= case.share * n,
       f"{case.what}, {how}: {good} of {n} samples are exact ({good / n:.4f})")
    caught = count_leaf(case, p, leaf)
    ok(caught >= 0.2 * n, f"{case.what}, {how}: {caught} samples are in {leaf}")
    if case.also:
        case.also(case, p, how)


def some_in_stub(case, profile, how):
    caught = count_leaf(case, profile, STUB)
    ok(caught > 0, f"{case.what}, {how}: {caught} samples are in the stub")


def some_behind_register(case, profile, how):
    """Callees of the loader's code that keeps the CFA in a register, which no walk in the kernel
    follows that far."""
    deep = sum(s.count for s in profile.samples
               if case.is_exact(s) and tokens(s)[:2] == [LOADER, LOADER])
    ok(deep > 0, f"{case.what}, {how}: {deep} samples are below the loader's entry")


def some_interrupted(case, profile, how):
    stacks = {tuple(tokens(s)[3:]) for s in profile.samples
              if case.is_exact(s) and token(s.frames[0]) == "handler_burn"}
    ok(len(stacks) >= 2, f"{case.what}, {how}: {len(stacks)} different stacks were interrupted")


def call_is_last(case, profile, how):
    """pprof has return address - 1: the last byte of the function, or the case is none."""
    frame = next(f for s in profile.samples for f in s.frames if f.function == "ends_with_call")
    _, addr = place(frame)
    ok(addr + 1 == Elf(frame.path).function_end("ends_with_call"),
       f"{case.what}, {how}: the return address is the first byte behind the function")


def handler_stacks():
    victim = ["victim_leaf", "victim", *MAIN]
    above = ["handler_burn", "on_timer", LIBC]
    return [above + victim, above + victim[1:], above + victim[2:]]


CASES = [
    Case("65 calls over three libraries", ["ring"],
         ["ring_bottom"] + ["hop_b", "hop_c", "hop_a"] * 21 + ["hop_b", "hop_c"] + MAIN),
    Case("alloca", ["variable"], ["variable_burn", "variable_hold", *MAIN]),
    Case("realigned stacks", ["realigned"],
         ["realigned_burn", "realigned_args", "realigned_plain", *MAIN]),
    Case("a stub", ["plt"], ["plt_loop", *MAIN], ["plt_target", "plt_loop", *MAIN],
         [STUB, "plt_loop", *MAIN], also=some_in_stub),
    Case("lazy binding", ["plt"], [LOADER, "plt_loop", *MAIN], ["plt_target", "plt_loop", *MAIN],
         [STUB, "plt_loop", *MAIN], any_library_leaf=True, env={"LD_BIND_NOT": "1"}, share=1.0,
         also=some_behind_register),
    Case("a signal handler", ["handler", 0], *handler_stacks(), also=some_interrupted),
    Case("a signal handler on its own stack", ["handler", 0, 1], *handler_stacks(),
         also=some_interrupted),
    Case("the vDSO", ["vdso"], [VDSO, LIBC, "vdso_ask", *MAIN],
         [VDSO, VDSO, LIBC, "vdso_ask", *MAIN], [STUB, "vdso_ask", *MAIN]),
    Case("in a system call", ["in_syscall"], [LIBC, "syscall_read", *MAIN],
         [LIBC, "syscall_ask", *MAIN], [STUB, "syscall_read", *MAIN], [STUB, "syscall_ask", *MAIN]),
    Case("a last call that does not return", ["no_return"],
         ["no_return_burn", "ends_with_call", *MAIN], also=call_is_last),
    Case("tail calls", ["tail"], ["tail_burn", "tail_top", *MAIN],
         ["tail_middle", "tail_top", *MAIN]),
    Case("a child of vfork()", ["vfork_child", 0, 1000000], ["vfork_burn", "vfork_run", *MAIN]),
    Case("many children of vfork()", ["vfork_child"], ["vfork_burn", "vfork_run", *MAIN],
         any_library_leaf=True),
    Case("a thread", ["thread"], ["thread_burn", "thread_begin", *THREAD]),
    Case("libraries that take each other's place", ["dlopened"],
         ["plug_one_burn", "plug_one_hold", "plug_enter", "use_one", *MAIN],
         ["plug_two_burn", "plug_two_hold", "plug_enter", "use_two", *MAIN],
         any_library_leaf=True),
    Case("deeper than a walk", ["too_deep"], ["deep_bottom"] + ["deep_call"] * (MAX_FRAMES - 1),
         stop="too_deep"),
]

need_root()
tmp = workdir()
for one in CASES:
    if "auto" in one.modes:
        check_first(one, tmp)
    for mode in one.modes:
        check_mode(one, tmp, mode)

if os.path.exists(os.path.join(HERE, "word32")):
    word32 = Case("a 32-bit program", ["word32"], ["word32"], stop="compat_task")
    check_first(word32, tmp)
    check_mode(word32, tmp, "auto")
else:
    skip("a 32-bit program: the compiler makes none here")
done()
