# SPDX-License-Identifier: Apache-2.0
"""Judges of stacks that share no heuristic with the walker. One knows the program: its chain of calls, from the
outermost frame to the running function. The other stops the program at many moments and asks libdw's unwinder
(eu-stack). Both resolve generated code with the program's own map."""
import bisect
import collections
import functools
import os
import re
import shutil
import struct
import subprocess
import time

from judge import loads
from pprof import Profile

VERIFIED, WRONG, UNSURE, TRUNCATED = "verified", "wrong", "unsure", "truncated"

# From the outermost frame to main: if glibc is stripped, its two functions have no symbols.
GLIBC_MAIN = r"_start;(?:libc:[^;]*;){2}"
GLIBC_THREAD = r"(?:libc:[^;]*;){2}"


class Missing(Exception):
    """What this machine lacks for a program or a judge."""


class CodeMap:
    """Names of generated code, from a perf map or a jitdump; of two entries the later one counts."""

    def __init__(self, pid, directory="/tmp"):
        self.ranges = []
        for read, path in ((self._read_map, f"/tmp/perf-{pid}.map"), (self._read_dump, f"/tmp/jit-{pid}.dump"),
                           (self._read_dump, os.path.join(directory, f"jit-{pid}.dump"))):
            if os.path.exists(path):
                read(path)
        self.ranges.sort()
        self.starts = [start for start, _, _ in self.ranges]

    def _read_map(self, path):
        with open(path, encoding="utf-8", errors="replace") as f:
            for line in f:
                words = line.rstrip("\n").split(" ", 2)
                if len(words) == 3:
                    self.ranges.append((int(words[0], 16), int(words[1], 16), words[2]))

    def _read_dump(self, path):
        with open(path, "rb") as f:
            data = f.read()
        at = struct.unpack_from("<I", data, 8)[0]
        while at + 16 <= len(data):
            kind, size = struct.unpack_from("<II", data, at)
            if kind == 0:  # JIT_CODE_LOAD: pid, tid, vma, address, size, index, name, code
                start, length = struct.unpack_from("<QQ", data, at + 32)
                name = data[at + 56:data.index(b"\0", at + 56)]
                self.ranges.append((start, length, name.decode("utf-8", "replace")))
            at += max(size, 16)

    def name(self, address):
        i = bisect.bisect_right(self.starts, address) - 1
        while i >= 0 and i >= bisect.bisect_right(self.starts, address) - 8:
            start, size, name = self.ranges[i]
            if address < start + size:
                return name
            i -= 1
        return "?"


@functools.lru_cache(None)
def _symbols(path):
    """Addresses and names of a file's functions, each reaching up to the next one."""
    out = subprocess.run(["nm", "-n", "--defined-only", path], capture_output=True, text=True).stdout
    if not out:
        out = subprocess.run(["nm", "-nD", "--defined-only", path], capture_output=True, text=True).stdout
    found = re.findall(r"^(\w+) [tTwWi] (\S+)$", out, re.M)
    # Labels inside a function, as in assembly, are not functions.
    found = [(int(a, 16), name) for a, name in found if "." not in name.lstrip(".") or "@" in name]
    return [a for a, _ in found], [name for _, name in found]


@functools.lru_cache(None)
def _stubs(path):
    """Addresses of the sections that have stubs."""
    out = subprocess.run(["readelf", "-SW", path], capture_output=True, text=True).stdout
    return [(int(a, 16), int(n, 16)) for a, n in re.findall(r"\.plt[\w.]*\s+PROGBITS\s+(\w+) \w+ (\w+)", out)]


def symbol(path, offset):
    """The function at an offset of a file according to nm, whatever the agent calls it."""
    for start, vaddr, size in loads(path):
        if start <= offset < start + size:
            at = offset - start + vaddr
            if any(first <= at < first + length for first, length in _stubs(path)):
                return "<stub>"
            addresses, names = _symbols(path)
            i = bisect.bisect_right(addresses, at) - 1
            return names[i] if i >= 0 else "?"
    return "?"


def own_name(frame):
    return symbol(frame.path, frame.address - frame.mapping.memory_start + frame.mapping.file_offset)


def function_at(profile, address):
    """The function at an address, according to nm; the file, if it has no symbols."""
    for m in profile.mapping_list:
        if m.memory_start <= address < m.memory_limit:
            path = profile.str(m.filename)
            return path, symbol(path, address - m.memory_start + m.file_offset)
    return None


def is_made(frame):
    """Whether the frame lies in generated code, or in no file at all."""
    return not frame.path.startswith("/") and not frame.path.startswith("[v")


def file_label(path):
    base = os.path.basename(path)
    return re.sub(r"(\.so.*|-\d[\d.]*(\.so)?.*)$", "", base) if ".so" in base else base


def tokens(sample, code, by_nm=""):
    """The stack from its outermost frame: a word for each frame, ended by a semicolon. In files other than by_nm, the
    program itself, the file's name comes before that of the function."""
    words = []
    for frame in reversed(sample.frames):
        if is_made(frame):
            name = code.name(frame.address)
        elif frame.path == by_nm:
            name = own_name(frame)
        else:
            name = f"{file_label(frame.path)}:{frame.function}"
        words.append(name.replace(";", ",").replace("\n", " ") + ";")
    return "".join(words)


class Chain:
    """What a stack of a program must be: `below` leads from the outermost frame to the first level; levels are regular
    expressions of one frame each. `between` may stand between two levels, `above` after the last one. A stack whose
    running function is a level ends at that level. On a stack that ends in `above` before the last level, a frame may
    be missing or not: unsure, unless that level is one of those that may call it (callers). also: other whole stacks,
    of the runtime's threads."""

    def __init__(self, below, levels, between="", above="", least=1, callers=(), also=""):
        glue = f"(?:(?:{between});)*" if between else ""
        self.part, self.shallow = [re.compile(also)] if also else [], []
        text = below
        for nr, level in enumerate(levels, 1):
            text += (glue if nr > 1 else "") + f"(?:{level});"
            is_last = nr == len(levels)
            if nr >= least or is_last:
                top = f"(?:(?:{above});)*" if above and (is_last or nr - 1 in callers) else ""
                self.part.append(re.compile(text + top))
                if above and not is_last:
                    self.shallow.append(re.compile(text + f"(?:(?:{above});)+"))

    def judge(self, stack):
        if any(p.fullmatch(stack) for p in self.part):
            return VERIFIED
        if any(p.fullmatch(stack) for p in self.shallow):
            return UNSURE
        return WRONG


class Verdict:
    """Samples by verdict, and for each verdict some of its stacks."""

    def __init__(self):
        self.counts = collections.Counter()
        self.stacks = collections.defaultdict(collections.Counter)

    def add(self, kind, stack, count):
        self.counts[kind] += count
        self.stacks[kind][stack] += count

    @property
    def samples(self):
        return sum(self.counts.values())

    @property
    def complete(self):
        return self.samples - self.counts[TRUNCATED]

    def share(self, count):
        return count / max(self.samples, 1)


def has_stack(sample):
    """Samples of tasks that no longer have a user stack cannot be judged."""
    return sample.frames and not any(f.path == "[kernel]" for f in sample.frames[-1:])


def judge_profile(profile, code, row, by_nm, stopped):
    v = Verdict()
    for s in profile.samples:
        if row.thread and not re.match(row.thread, str(s.labels.get("thread"))) or not has_stack(s):
            continue
        stack = tokens(s, code, by_nm)
        if "truncated" in s.labels:
            v.add(TRUNCATED, f"[{s.labels['truncated']}] {stack}", s.count)
        else:
            v.add(stopped.judge(profile, s) if stopped else row.judge.judge(stack), stack, s.count)
    return v


# A stopped program, judged by libdw.

def stopped_stack(pid, ends):
    """According to libdw, of the process's main thread: program counters, the running one first. None if libdw does not
    get to the end, which is one of these functions if libdw reports that it cannot go on."""
    r = subprocess.run(["eu-stack", "-1", "-n", "0", "-p", str(pid)], capture_output=True, text=True)
    frames = re.findall(r"^#\d+\s+(0x[0-9a-f]+)(?: - 1)?(?: (\S+))?", r.stdout, re.M)
    if r.returncode != 0 and (not frames or frames[-1][1] not in ends):
        return None
    return [int(pc, 16) for pc, _ in frames]


class Stopped:
    """libdw's answers about a process at many moments."""

    def __init__(self, pid, moments, ends=(), pause_s=0.02):
        self.leaves = collections.defaultdict(set)  # return addresses of the callers → program counters
        for _ in range(moments):
            stack = stopped_stack(pid, ends)
            if stack:
                self.leaves[tuple(stack[1:])].add(stack[0])
            time.sleep(pause_s)

    def judge(self, profile, sample):
        """Verified: libdw saw the same return addresses, up to the outermost one, and the same function running. What
        it has not seen may be right."""
        callers = tuple(f.address + 1 for f in sample.frames[1:])
        if callers not in self.leaves:  # the function that begins a stack may be at an address without a call
            callers = callers[:-1] + tuple(pc - 1 for pc in callers[-1:])
        if callers not in self.leaves:
            return UNSURE
        ours = function_at(profile, sample.frames[0].address)
        return VERIFIED if any(function_at(profile, pc) == ours for pc in self.leaves[callers]) else UNSURE


# Running a row of chain_rows.

def capture(agent, pid, tmp, seconds):
    out = os.path.join(tmp, "truth.pb.gz")
    if os.path.exists(out):
        os.unlink(out)
    r = subprocess.run([agent, "--profile", "-q", "--pid", str(pid), "-F", "499", "-d", f"{seconds}s", "-o", out],
                       capture_output=True, text=True, check=False, cwd=tmp)
    if not os.path.exists(out):
        raise RuntimeError(f"{agent}: {r.stderr.strip()}")
    return Profile(out)


def ask_for_map(row, pid):
    """Makes a runtime write down what it has compiled so far."""
    if row.jcmd:
        subprocess.run(["jcmd", str(pid), "Compiler.perfmap"], capture_output=True, check=False)
    if row.flush:
        subprocess.run(["gdb", "-batch", "-nx", "-p", str(pid), "-ex", "call (int)fflush(0)"], capture_output=True,
                       check=False)


def warm_up(p, seconds):
    """Lets a program run; longer on a machine that has no CPU for it."""
    time.sleep(seconds)
    for _ in range(600):
        with open(f"/proc/{p.pid}/stat", encoding="utf-8") as f:
            fields = f.read().rsplit(")", 1)[1].split()
        if fields[0] == "Z" or int(fields[11]) + int(fields[12]) >= seconds / 2 * os.sysconf("SC_CLK_TCK"):
            return
        time.sleep(0.1)


def run_row(row, agents, tmp, seconds, moments=150):
    """The verdicts on each agent's captures of the same process, one after the other."""
    if hasattr(row, "run"):
        return row.run(agents, tmp)
    if row.judge == "stopped" and not shutil.which("eu-stack"):
        raise Missing("eu-stack (elfutils) is not installed")
    argv = row.make(tmp)
    env = dict(os.environ, **row.env)
    env.pop("MALLOC_PERTURB_", None)  # fills all that the program allocates
    p = subprocess.Popen(argv, cwd=tmp, env=env, stdin=subprocess.DEVNULL,
                         stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        warm_up(p, row.warm_s)
        ask_for_map(row, p.pid)
        if p.poll() is not None:
            raise RuntimeError(f"{row.name}: the program ended with {p.returncode}")
        profiles = [capture(agent, p.pid, tmp, seconds) for agent in agents]
        ask_for_map(row, p.pid)
        code = CodeMap(p.pid, tmp)
        stopped = Stopped(p.pid, moments, row.ends) if row.judge == "stopped" else None
        return [judge_profile(profile, code, row, argv[0] if row.by_nm else "", stopped) for profile in profiles]
    finally:
        p.kill()
        p.wait()
        for path in (f"/tmp/perf-{p.pid}.map", os.path.join(tmp, f"jit-{p.pid}.dump"), f"/tmp/jit-{p.pid}.dump"):
            if os.path.exists(path):
                os.unlink(path)
