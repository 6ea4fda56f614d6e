# SPDX-License-Identifier: Apache-2.0
"""The exact-frames programs and the stacks they have, for all who walk them. A frame counts by its
name if it lies in the program or a library of its own, else by the file it lies in. A stack that says
that nothing is missing is exact if it is one of the expected ones, frame for frame from the leaf to the
outermost one. A mere end of one is exact only where it can be: its leaf is a function that the case
names among its callers, caught between two calls, or a library was caught at work. Such stacks are
counted apart, and each case says how many there may be."""
import os

SHARE = 0.995
MAX_FRAMES = 512  # of a walk: bpf/abi.h
LIBC, LOADER, VDSO, STUB = "libc", "ld.so", "[vdso]", "<stub>"
MAIN = ["main", LIBC, LIBC, "_start"]
THREAD = [LIBC, LIBC]
MODES = ("auto", "dwarf")
MAX_LATE_MS = 5  # until the agent has heard of new code, also where others want the CPUs


def file_token(path):
    """What a frame counts by in a file that is not ours."""
    base = os.path.basename(path)
    if base.startswith("libc.so") or base.startswith("libc-"):
        return LIBC
    return LOADER if base.startswith("ld-") or base.startswith("ld.so") else base


def is_end_of(stack, expected):
    return 0 < len(stack) < len(expected) and stack == expected[len(expected) - len(stack):]


def below_library(stack):
    """Without what lies above the first frame of neither the loader nor the C library: theirs, or
    the stub on the way there."""
    if stack[:1] == [STUB]:
        return stack[1:]
    while stack and stack[0] in (LIBC, LOADER):
        stack = stack[1:]
    return stack


DATA_POINTER = "a caller that has data where others have a frame pointer"


class Case:
    """expected: whole stacks, the first of them where most of the time goes; callers: functions on them
    that are caught themselves, between two calls, and in what share of the samples at most; library: in
    what share at most a library is caught at work, at any depth, from its stub on; stop: why every walk
    ends; modes: those it is checked in; share: of samples that must be exact; changes_ms: code is
    replaced by other code that often, and walks that come before anybody knows are truncated; exiting:
    the share of processes that have left their stack."""

    def __init__(self, what, argv, *expected, stop=None, modes=MODES, callers=(), caller_share=0.0,
                 library=0.0, env=None, share=SHARE, changes_ms=None, exiting=0.0):
        self.what, self.argv, self.expected = what, argv, expected
        self.stop, self.modes, self.env, self.share = stop, modes, env or {}, share
        self.callers, self.changes_ms = callers, changes_ms
        self.most = {"whole": 1.0, "caller": caller_share, "library": library, "exiting": exiting}

    def _is_in_library(self, stack):
        """Of ours, whoever called the library is there: which function that is, is its affair."""
        own = below_library(stack)
        return (len(own) < len(stack) and own[:1] not in ([], ["_start"])
                and any(own == x or is_end_of(own, x) for x in self.expected))

    def judge(self, stack, stop):
        """whole, caller or library: how the stack is exact; outdated, exiting: truncated, and rightly so;
        None: it is neither."""
        if self.most["exiting"] and stop == "exiting":
            return stop
        if self.changes_ms and stop == "outdated" and stack in [x[:1] for x in self.expected]:
            return "outdated"
        if stop != self.stop:
            return None
        if stack in self.expected:
            return "whole"
        if stack and stack[0] in self.callers and any(is_end_of(stack, x) for x in self.expected):
            return "caller"
        return "library" if self.most["library"] and self._is_in_library(stack) else None

    def bound(self, kind, n, rate_hz=999):
        """At most so many of n samples: four standard deviations above the share, as the hits of a clock
        on what is there for that share of the time scatter. Outdated, the walker may be for MAX_LATE_MS
        after every change of the code."""
        if kind == "outdated":
            changes = n * 1000 / rate_hz / self.changes_ms + 1
            return changes * MAX_LATE_MS * rate_hz / 1000
        share = self.most[kind]
        return share * n + 4 * (share * (1 - share) * n) ** 0.5


def handler_stacks(returns_to=LIBC):
    """In the handler, on the way back from it, or without it."""
    victim = ["victim_leaf", "victim", *MAIN]
    above = ["handler_burn", "on_timer", returns_to]
    return [above[at:] + victim[of:] for at in (0, 2) for of in (0, 1, 2)] + [victim]


HANDLER_CALLERS = {"callers": ("on_timer", "victim", "main"), "caller_share": 0.2}

# The shares of callers and libraries are twice what was measured: how the time of a program is split
# between a function and its caller is the processor's affair as well.
CASES = [
    Case("65 calls over three libraries", ["ring"],
         ["ring_bottom"] + ["hop_b", "hop_c", "hop_a"] * 21 + ["hop_b", "hop_c"] + MAIN),
    Case("alloca", ["variable"], ["variable_burn", "variable_hold", *MAIN],
         callers=("variable_hold", "main"), caller_share=0.22),
    Case("realigned stacks", ["realigned"],
         ["realigned_burn", "realigned_args", "realigned_plain", *MAIN],
         callers=("realigned_args", "realigned_plain", "main"), caller_share=0.4),
    Case("a stub", ["plt"], ["plt_loop", *MAIN], ["plt_target", "plt_loop", *MAIN],
         [STUB, "plt_loop", *MAIN]),
    Case("lazy binding", ["plt"], [LOADER, "plt_loop", *MAIN], ["plt_target", "plt_loop", *MAIN],
         [STUB, "plt_loop", *MAIN], callers=("plt_loop",), caller_share=0.02, library=1.0,
         env={"LD_BIND_NOT": "1"}, share=1.0),
    Case("a signal handler", ["handler", 0], *handler_stacks(), **HANDLER_CALLERS),
    Case("a signal handler on its own stack", ["handler", 0, 1], *handler_stacks(), **HANDLER_CALLERS),
    Case("the vDSO", ["vdso"], [VDSO, LIBC, "vdso_ask", *MAIN],
         [VDSO, VDSO, LIBC, "vdso_ask", *MAIN], [LIBC, "vdso_ask", *MAIN], [STUB, "vdso_ask", *MAIN],
         callers=("vdso_ask", "main"), caller_share=0.6),
    Case("in a system call", ["in_syscall"], [LIBC, "syscall_read", *MAIN],
         [LIBC, "syscall_ask", *MAIN], [STUB, "syscall_read", *MAIN], [STUB, "syscall_ask", *MAIN],
         callers=("syscall_read", "syscall_ask", "main"), caller_share=0.2),
    Case("a last call that does not return", ["no_return"],
         ["no_return_burn", "ends_with_call", *MAIN]),
    Case("tail calls", ["tail"], ["tail_burn", "tail_top", *MAIN],
         ["tail_middle", "tail_top", *MAIN], callers=("tail_top", "main"), caller_share=0.02),
    Case("a child of vfork()", ["vfork_child", 0, 1000000], ["vfork_burn", "vfork_run", *MAIN]),
    Case("many children of vfork()", ["vfork_child"], ["vfork_burn", "vfork_run", *MAIN],
         callers=("vfork_run", "main"), caller_share=0.01, library=0.02, exiting=0.02),
    Case("a thread", ["thread"], ["thread_burn", "thread_begin", *THREAD]),
    Case("libraries that take each other's place", ["dlopened"],
         ["plug_one_burn", "plug_one_hold", "plug_enter", "use_one", *MAIN],
         ["plug_two_burn", "plug_two_hold", "plug_enter", "use_two", *MAIN],
         callers=("use_one", "use_two", "main"), caller_share=0.002, library=0.02, changes_ms=100),
    # Nothing describes it but its own code, which is followed to where it returns on x86-64 alone.
    Case(DATA_POINTER, ["data_pointer"], ["data_burn", "data_caller", *MAIN],
         callers=("data_caller", "main"), caller_share=0.005),
    Case("deeper than a walk", ["too_deep"], ["deep_bottom"] + ["deep_call"] * (MAX_FRAMES - 1),
         stop="too_deep"),
]
