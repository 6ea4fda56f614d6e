# SPDX-License-Identifier: Apache-2.0
"""javac, whose chain of calls nobody knows: who calls whom is taken from runs with frame pointers. One more
of those says how often that is mistaken: a pair that was not seen is not always wrong."""
import os
import subprocess

import chain_rows
import truth
from pprof import Profile

# All code keeps its place until the map is written. Nothing is inlined, or each run would have pairs of its own.
OPTIONS = ["-J-XX:+UnlockDiagnosticVMOptions", "-J-XX:+DumpPerfMapAtExit", "-J-XX:-UseCodeCacheFlushing",
           "-J-XX:-Inline", "-proc:none"]
NR_CLASSES = 300
CLASS = """
class C%d {
    interface Shape<T extends Comparable<T>> { T area(java.util.function.Function<T, T> f); }
    static <T extends Comparable<T>> T twice(Shape<T> s, T t) { return s.area(x -> s.area(y -> t)); }
    int sum(java.util.List<Integer> list) {
        int sum = 0;
        for (int x : list) { if (x > %d) sum += x * 3 + (x << 2) - (x %% 7); else sum -= x; }
        switch (sum & 3) { case 0: return sum + 1; case 1: return sum * 2; default: return -sum; }
    }
    String text(Object o) { return "c" + o + sum(java.util.Arrays.asList(1, 2, %d)) + twice(f -> f.apply(1), 2); }
}
"""


def sources(tmp):
    path = os.path.join(tmp, "Big.java")
    if not os.path.exists(path):
        with open(path, "w", encoding="utf-8") as f:
            f.write("".join(CLASS % (n, n % 50, n) for n in range(NR_CLASSES)))
    return path


def capture(agent, tmp, *options):
    """The stacks of one run that have Java code, as lists of words from the outermost frame on."""
    out, javac = os.path.join(tmp, "javac.pb.gz"), chain_rows.need("javac")
    argv = [agent, "-q", "-F", "499", "-o", out, "--", javac, *OPTIONS, *options, "-d", tmp, sources(tmp)]
    subprocess.run(argv, capture_output=True, check=False)
    profile = Profile(out)
    pid = next(s.labels["pid"] for s in profile.samples)
    code, stacks = truth.CodeMap(pid), []
    os.unlink(f"/tmp/perf-{pid}.map")
    for s in profile.samples:
        if any(truth.is_made(f) for f in s.frames):
            stacks.append((truth.tokens(s, code).split(";")[:-1], s))
    return stacks


def is_method(word):
    return "(" in word and "." in word.split("(")[0] and ":" not in word.split("(")[0]


def pairs(words):
    return {(a, b) for a, b in zip(words, words[1:]) if is_method(a) and is_method(b)}


def judge(stacks, known):
    v = truth.Verdict()
    for words, s in stacks:
        text = ";".join(words) + ";"
        if "truncated" in s.labels:
            v.add(truth.TRUNCATED, f"[{s.labels['truncated']}] {text}", s.count)
        else:
            bad = pairs(words) - known
            v.add(truth.WRONG if bad else truth.VERIFIED, f"{sorted(bad)[:2]} in {text}", s.count)
    return v


class JavacRow:
    def __init__(self, name, *options):
        self.name, self.options = name, options

    def run(self, agents, tmp):
        known = set()
        for _ in range(3):
            for words, s in capture(agents[-1], tmp, "-J-XX:+PreserveFramePointer"):
                if "truncated" not in s.labels:
                    known |= pairs(words)
        return [judge(capture(agent, tmp, *self.options), known) for agent in agents]


ROWS = [JavacRow("javac (pairs)"), JavacRow("javac +PreserveFramePointer (pairs)", "-J-XX:+PreserveFramePointer")]
