# SPDX-License-Identifier: Apache-2.0
"""The exact-frames programs and the stacks they have, for every test that walks them. A frame is identified by its name
if it lies in the program or in one of our libraries, otherwise by its file. A stack without a truncation label is exact
if it is one of the expected ones, frame for frame from the leaf to the outermost one. A stack that is only the outer
end of an expected one is exact only if its leaf is a function that the case lists among its callers (sampled between
two calls), or if a library function was sampled. Such stacks are counted separately, and each case limits their
number."""
import os

SHARE = 0.995
MAX_FRAMES = 512  # frames of a walk: bpf/abi.h
LIBC, LOADER, VDSO, STUB = "libc", "ld.so", "[vdso]", "<stub>"
MAIN = ["main", LIBC, LIBC, "_start"]
THREAD = [LIBC, LIBC]
MODES = ("auto", "dwarf")
MAX_LATE_MS = 5  # until the agent has learned of new code, even if other processes compete for the CPUs


def file_token(path):
    """How a frame in a file that is not ours is identified."""
    base = os.path.basename(path)
    if base.startswith("libc.so") or base.startswith("libc-"):
        return LIBC
    return LOADER if base.startswith("ld-") or base.startswith("ld.so") else base


def is_end_of(stack, expected):
    return 0 < len(stack) < len(expected) and stack == expected[len(expected) - len(stack):]


def below_library(stack):
    """The stack without the frames above the first one that is neither the loader's nor the C library's: their own
    frames, or the stub that leads there."""
    if stack[:1] == [STUB]:
        return stack[1:]
    while stack and stack[0] in (LIBC, LOADER):
        stack = stack[1:]
    return stack


DATA_POINTER = "a caller that has data where others have a frame pointer"


class Case:
    """expected: whole stacks, beginning with the one in which most of the time is spent; callers: functions on them
    that are sampled themselves, between two calls, and the highest share of samples in which that happens; library: the
    highest share of samples in a library, at any depth, from its stub on; stop: why every walk ends; modes: those in
    which it is checked; share: of samples that must be exact; changes_ms: how often code is replaced by other code, so
    that walks right after that are truncated; exiting: the share of samples of processes that have released their
    stack."""

    def __init__(self, what, argv, *expected, stop=None, modes=MODES, callers=(), caller_share=0.0,
                 library=0.0, env=None, share=SHARE, changes_ms=None, exiting=0.0):
        self.what, self.argv, self.expected = what, argv, expected
        self.stop, self.modes, self.env, self.share = stop, modes, env or {}, share
        self.callers, self.changes_ms = callers, changes_ms
        self.most = {"whole": 1.0, "caller": caller_share, "library": library, "exiting": exiting}

    def _is_in_library(self, stack):
        """Whether our part of the stack is the outer end of an expected one, whichever of our functions called the
        library."""
        own = below_library(stack)
        return (len(own) < len(stack) and own[:1] not in ([], ["_start"])
                and any(own == x or is_end_of(own, x) for x in self.expected))

    def judge(self, stack, stop):
        """whole, caller or library: how the stack is exact; outdated, exiting: truncated for a valid reason; None:
        neither."""
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
        """The highest number among n samples: four standard deviations above the share, because samples by a clock
        scatter around the true share. After every change of the code the walker may be outdated for MAX_LATE_MS."""
        if kind == "outdated":
            changes = n * 1000 / rate_hz / self.changes_ms + 1
            return changes * MAX_LATE_MS * rate_hz / 1000
        share = self.most[kind]
        return share * n + 4 * (share * (1 - share) * n) ** 0.5


def handler_stacks(returns_to=LIBC):
    """Stacks in the handler, on return from it, or without it."""
    victim = ["victim_leaf", "victim", *MAIN]
    above = ["handler_burn", "on_timer", returns_to]
    return [above[at:] + victim[of:] for at in (0, 2) for of in (0, 1, 2)] + [victim]


HANDLER_CALLERS = {"callers": ("on_timer", "victim", "main"), "caller_share": 0.2}

# The shares of callers and libraries are twice the measured ones: how time is divided between a function and its caller
# also depends on the processor.
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
    # Only its own code describes it; following code to its return is implemented for x86-64 only.
    Case(DATA_POINTER, ["data_pointer"], ["data_burn", "data_caller", *MAIN],
         callers=("data_caller", "main"), caller_share=0.005),
    Case("deeper than a walk", ["too_deep"], ["deep_bottom"] + ["deep_call"] * (MAX_FRAMES - 1),
         stop="too_deep"),
]
