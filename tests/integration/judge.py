# SPDX-License-Identifier: Apache-2.0
"""A second opinion on stacks: from nothing but the written profile and the binaries, with readelf."""
import functools
import re
import subprocess


@functools.lru_cache(None)
def _contents(path):
    with open(path, "rb") as f:
        return f.read()


@functools.lru_cache(None)
def loads(path):
    """(offset, vaddr, size) of every loaded segment."""
    out = subprocess.run(["readelf", "-lW", path], capture_output=True, text=True).stdout
    return [(int(o, 16), int(v, 16), int(s, 16))
            for o, v, s in re.findall(r"LOAD\s+(0x\w+) (0x\w+) 0x\w+ (0x\w+)", out)]


@functools.lru_cache(None)
def _entry(path):
    out = subprocess.run(["readelf", "-hW", path], capture_output=True, text=True).stdout
    return int(re.search(r"Entry point address:\s+(0x\w+)", out)[1], 16)


@functools.lru_cache(None)
def _ends(path):
    """Address ranges whose return address is undefined, by the file's call frame information."""
    out = subprocess.run(["readelf", "-wF", path], capture_output=True, text=True, errors="replace").stdout
    ranges, fde, rows = [], None, []
    for line in out.splitlines() + [""]:
        head = re.match(r"^\w+ \w+ \w+ FDE .*pc=(\w+)\.\.(\w+)", line)
        row = re.match(r"^([0-9a-f]{16}) .* (\S+)\s*$", line)
        if head:
            fde, rows = (int(head[1], 16), int(head[2], 16)), []
        elif row and fde:
            rows.append((int(row[1], 16), row[2]))
        elif not line and fde:
            for i, (start, ra) in enumerate(rows):
                if ra == "u":
                    ranges.append((start, rows[i + 1][0] if i + 1 < len(rows) else fde[1]))
            fde = None
    return ranges


def offset_of(frame):
    return frame.address - frame.mapping.memory_start + frame.mapping.file_offset


def vaddr_of(frame):
    offset = offset_of(frame)
    for start, vaddr, size in loads(frame.path):
        if start <= offset < start + size:
            return offset - start + vaddr
    return None


def is_root(frame):
    """Functions without a caller: a program's entry, a thread's first code, Go's end of a stack."""
    if re.match(r"(runtime\.(goexit|mstart|rt0_go|clone)|gogo)(\.abi0)?$|_rt0_amd64", frame.name):
        return True
    if not frame.path.startswith("/"):
        return False
    vaddr = vaddr_of(frame)
    if vaddr is None:
        return False
    if 0 <= vaddr - _entry(frame.path) < 256:
        return True
    return any(start <= vaddr < end for start, end in _ends(frame.path))


def follows_a_call(frame):
    """Whether the bytes before a caller's return address are an x86-64 call."""
    if not frame.path.startswith("/"):
        return True  # the file cannot be examined
    at = offset_of(frame) + 1
    code = _contents(frame.path)[max(at - 8, 0):at]
    if code[-5:-4] == b"\xe8":
        return True
    for n in range(2, 8):
        if len(code) >= n and code[-n] == 0xFF and (code[-n + 1] >> 3) & 7 == 2:
            return True
    return False


# The code that signal handlers return to: rt_sigreturn, in x86-64 code.
_TRAMPOLINES = (b"\x48\xc7\xc0\x0f\0\0\0\x0f\x05", b"\xb8\x0f\0\0\0\x0f\x05")


def is_trampoline(frame):
    """Whether the frame stands at the first byte of such code, between its two instructions, in the system call of the
    second one, or after them."""
    if not frame.path.startswith("/"):
        return False
    at, code = offset_of(frame), _contents(frame.path)
    return any(at >= n and code[at - n:at - n + len(t)] == t
               for t in _TRAMPOLINES for n in (0, len(t) - 2, len(t) - 1, len(t)))


@functools.lru_cache(None)
def _functions(path):
    out = subprocess.run(["nm", "-S", "--defined-only", path], capture_output=True, text=True).stdout
    return [(int(a, 16), int(n, 16)) for a, n in re.findall(r"^(\w+) (\w+) [tTwW] ", out, re.M)]


@functools.lru_cache(None)
def _instructions(path, start, end):
    out = subprocess.run(["objdump", "-d", f"--start-address={start}", f"--stop-address={end}", path],
                         capture_output=True, text=True).stdout
    return {int(a, 16) for a in re.findall(r"^ *([0-9a-f]+):\t", out, re.M)}


def is_instruction(frame):
    """Whether an instruction begins at the frame's address, as it does where a signal has interrupted it. A return
    address, which the profile has less 1, lies inside a call."""
    if not frame.path.startswith("/"):
        return True  # the file cannot be examined
    vaddr = vaddr_of(frame)
    for start, size in _functions(frame.path):
        if start <= vaddr < start + size:
            return vaddr in _instructions(frame.path, start, start + size)
    return not follows_a_call(frame)


def callers_without_call(sample):
    """Frames at which there is neither a call nor a possible interruption by a signal."""
    for callee, frame in zip(sample.frames, sample.frames[1:]):
        if is_trampoline(callee) or re.match(r"runtime\.asyncPreempt(\.abi0)?$", callee.name):
            if not is_instruction(frame):
                yield frame
        elif not (is_trampoline(frame) or follows_a_call(frame) or is_root(frame)):
            yield frame


# Here Go's scheduler leaves a goroutine: from then on the stack has no caller.
_LEAVES = r"runtime\.(schedule|goschedImpl|park_m|goexit0|gdestroy|exitsyscall0|preemptPark)$"


# These two functions, into which goschedImpl is inlined, leave theirs before they take the scheduler's lock.
_YIELDS, _AFTER = r"runtime\.(gosched_m|gopreempt_m)$", r"runtime\.(lockWithRank|unlockWithRank|globrunqput|wakep)$"


def has_function(pattern, frame):
    """Whether a function of that name, or one inlined into it, runs there."""
    return any(re.match(pattern, name) for name in frame.names)


def is_scheduler(sample):
    pairs = zip(sample.frames, sample.frames[1:])
    return (re.match(r"runtime\.(mcall|morestack)(\.abi0)?$", sample.frames[-1].name) is not None and
            (any(has_function(_LEAVES, f) for f in sample.frames) or
             any(has_function(_AFTER, callee) and has_function(_YIELDS, f) for callee, f in pairs)))


def is_complete(sample):
    return bool(sample.frames) and (is_root(sample.frames[-1]) or is_scheduler(sample))
