# SPDX-License-Identifier: Apache-2.0
"""The exact-frames programs and the stacks they have, for all who walk them. A frame counts by its
name if it lies in the program or a library of its own, else by the file it lies in; a stack is exact
if it is one of the expected ones, frame for frame up to the outermost one, from the leaf on or from
a caller on (which then is the leaf), and says that nothing is missing."""
import os

SHARE = 0.995
MAX_FRAMES = 512  # of a walk: bpf/abi.h
LIBC, LOADER, VDSO, STUB = "libc", "ld.so", "[vdso]", "<stub>"
MAIN = ["main", LIBC, LIBC, "_start"]
THREAD = [LIBC, LIBC]
MODES = ("auto", "dwarf")


def file_token(path):
    """What a frame counts by in a file that is not ours."""
    base = os.path.basename(path)
    if base.startswith("libc.so") or base.startswith("libc-"):
        return LIBC
    return LOADER if base.startswith("ld-") or base.startswith("ld.so") else base


def is_tail_of(stack, expected):
    return 0 < len(stack) <= len(expected) and stack == expected[len(expected) - len(stack):]


def below_library(stack):
    """Without what lies above the first frame of neither the loader nor the C library: theirs, or
    the stub on the way there."""
    if stack[0] == STUB:
        return stack[1:]
    while len(stack) > 1 and stack[0] in (LIBC, LOADER):
        stack = stack[1:]
    return stack


class Case:
    """stop: why every walk ends; modes: those it is checked in; any_library_leaf: a call into a
    library is caught at any depth, from its stub on; share: of samples that must be exact."""

    def __init__(self, what, argv, *expected, stop=None, modes=MODES, any_library_leaf=False,
                 env=None, share=SHARE):
        self.what, self.argv, self.expected = what, argv, expected
        self.stop, self.modes, self.env, self.share = stop, modes, env or {}, share
        self.any_library_leaf = any_library_leaf

    def is_exact(self, stack, stop):
        if stop != self.stop:
            return False
        if self.stop:
            return stack in self.expected
        if any(is_tail_of(stack, x) for x in self.expected):
            return True
        # In the middle of a call into a library: how many frames deep is the library's affair.
        return (self.any_library_leaf and stack[0] in (LIBC, LOADER, STUB)
                and any(is_tail_of(below_library(stack), x) for x in self.expected))


def handler_stacks(returns_to=LIBC):
    victim = ["victim_leaf", "victim", *MAIN]
    above = ["handler_burn", "on_timer", returns_to]
    return [above + victim, above + victim[1:], above + victim[2:]]


CASES = [
    Case("65 calls over three libraries", ["ring"],
         ["ring_bottom"] + ["hop_b", "hop_c", "hop_a"] * 21 + ["hop_b", "hop_c"] + MAIN),
    Case("alloca", ["variable"], ["variable_burn", "variable_hold", *MAIN]),
    Case("realigned stacks", ["realigned"],
         ["realigned_burn", "realigned_args", "realigned_plain", *MAIN]),
    Case("a stub", ["plt"], ["plt_loop", *MAIN], ["plt_target", "plt_loop", *MAIN],
         [STUB, "plt_loop", *MAIN]),
    Case("lazy binding", ["plt"], [LOADER, "plt_loop", *MAIN], ["plt_target", "plt_loop", *MAIN],
         [STUB, "plt_loop", *MAIN], any_library_leaf=True, env={"LD_BIND_NOT": "1"}, share=1.0),
    Case("a signal handler", ["handler", 0], *handler_stacks()),
    Case("a signal handler on its own stack", ["handler", 0, 1], *handler_stacks()),
    Case("the vDSO", ["vdso"], [VDSO, LIBC, "vdso_ask", *MAIN],
         [VDSO, VDSO, LIBC, "vdso_ask", *MAIN], [STUB, "vdso_ask", *MAIN]),
    Case("in a system call", ["in_syscall"], [LIBC, "syscall_read", *MAIN],
         [LIBC, "syscall_ask", *MAIN], [STUB, "syscall_read", *MAIN], [STUB, "syscall_ask", *MAIN]),
    Case("a last call that does not return", ["no_return"],
         ["no_return_burn", "ends_with_call", *MAIN]),
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
    Case("a caller that has data where others have a frame pointer", ["data_pointer"],
         ["data_burn", "data_caller"], stop="frame_pointer_end"),
    Case("deeper than a walk", ["too_deep"], ["deep_bottom"] + ["deep_call"] * (MAX_FRAMES - 1),
         stop="too_deep"),
]
