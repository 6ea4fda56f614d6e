# SPDX-License-Identifier: Apache-2.0
"""Judges stacks of javac, whose chain of calls is unknown. A method can only have called another one if its bytecode
contains such a call: two adjacent frames of compiled methods are wrong if it does not."""
import os
import re
import subprocess

import chain_rows
import truth
from pprof import Profile

# Code stays at its address until the map is written. Nothing is inlined, so that every caller is a frame.
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
    """The stacks of one run that have Java code, as lists of words from the outermost frame."""
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


def split(word):
    """Class and name of a method, from its line in the map: result class.name(arguments)."""
    return word.split("(")[0].split(" ")[-1].rsplit(".", 1)


def calls_of(text):
    """The names that each method of a class calls, by method, according to javap."""
    calls, method = {}, ""
    for line in text.splitlines():
        header = re.match(r"  \S.*?([\w$.]+)\(.*\).*;$", line)
        called = re.search(r"// (?:Interface)?Method (?:.*\.)?\"?([\w$<>]+)\"?:\(", line)
        if header:
            method = "<init>" if "." in header[1] else header[1]
        elif called:
            calls.setdefault(method, set()).add(called[1])
    return calls


def read_classes(names):
    """What the methods of these classes call. Classes generated at run time are not included."""
    out = subprocess.run([chain_rows.need("javap"), "-c", "-p", *sorted(names)], capture_output=True, text=True,
                         check=False).stdout
    classes = {}
    for text in re.split(r"^Compiled from .*$", out, flags=re.M)[1:]:
        head = re.search(r"^.*?(?:class|interface) ([\w$.]+)", text, re.M)
        classes[head[1]] = calls_of(text)
    return classes


def is_known(class_name):
    """Method handles are bound to other methods at run time."""
    return not re.search(r"\$\$Lambda|/0x|^java\.lang\.invoke\.", class_name)


def impossible(stack_pairs, classes):
    for caller, callee in stack_pairs:
        class_name, method = split(caller)
        if not is_known(split(callee)[0]):
            continue
        if class_name in classes and split(callee)[1] not in classes[class_name].get(method, ()):
            yield caller, callee


def pairs(words):
    return {(a, b) for a, b in zip(words, words[1:]) if is_method(a) and is_method(b)}


def kind_of(bad, words):
    """A compiled method's code is followed by its stubs, under its own name, which pass calls on to interpreted
    methods: what runs there was called by the method."""
    if bad == [(words[-1], words[-1])] and words[-1] not in words[:-2]:
        return truth.UNSURE
    return truth.WRONG if bad else truth.VERIFIED


def judge(stacks):
    v = truth.Verdict()
    callers = {split(a)[0] for words, _ in stacks for a, _ in pairs(words)}
    classes = read_classes(filter(is_known, callers))
    for words, s in stacks:
        text = ";".join(words) + ";"
        if "truncated" in s.labels:
            v.add(truth.TRUNCATED, f"[{s.labels['truncated']}] {text}", s.count)
        else:
            bad = sorted(impossible(pairs(words), classes))
            v.add(kind_of(bad, words), f"{bad[:1]} in {text}", s.count)
    return v


class JavacRow:
    def __init__(self, name, *options):
        self.name, self.options = name, options

    def run(self, agents, tmp):
        return [judge(capture(agent, tmp, *self.options)) for agent in agents]


ROWS = [JavacRow("javac"), JavacRow("javac +PreserveFramePointer", "-J-XX:+PreserveFramePointer")]
