#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""oracle_digest.py WRITE_MODEL: asks pprof for what the digest says of the same profile."""
import collections
import os
import re
import shutil
import subprocess
import sys
import tempfile

from tap import done, ok, skip

WRITE_MODEL = sys.argv[1]
ALL_NODES = ("-nodecount=100000", "-nodefraction=0", "-edgefraction=0")


def pprof(folder, *flags):
    env = dict(os.environ, GOTOOLCHAIN="local", GOFLAGS="", PPROF_TMPDIR=folder)
    return subprocess.run(["go", "tool", "pprof", "-sample_index=samples", *flags, f"{folder}/model.pb.gz"], env=env,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=True).stdout.decode()


def digest(folder, kind, nr_numbers):
    """Lines of a kind: numbers, then a name."""
    rows = []
    with open(f"{folder}/model.digest", encoding="utf-8") as f:
        for line in f:
            words = line.rstrip("\n").split(" ", nr_numbers + 1)
            if words[0] == kind:
                rows.append(([int(n) for n in words[1:-1]], words[-1]))
    return rows


def tags(text, key):
    block = re.search(rf"^ *{key}: Total.*\n((?: +[\d.]+ \(.*\n)*)", text, re.M)
    return {name: float(count) for count, name in re.findall(r"^ +([\d.]+) \([^)]*\): (.*)$", block[1], re.M)}


def check_tags(what, folder):
    text = pprof(folder, "-tags")
    commands = {name: count for (count, _), name in digest(folder, "command", 2)}
    processes = collections.Counter()
    for (count, pid), _ in digest(folder, "process", 2):
        processes[str(pid)] += count
    ok(commands == tags(text, "comm") and commands, f"{what}: commands are those of pprof -tags")
    ok(dict(processes) == tags(text, "pid"), f"{what}: processes are those of pprof -tags")


def check_top(what, folder):
    text = pprof(folder, "-top", "-cum", *ALL_NODES)
    found = {name: (int(flat), int(cum)) for flat, cum, name in
             re.findall(r"^ +(\d+) +\S+% +\S+% +(\d+) +\S+%  (\w+)(?: \((?:partial-)?inline\))?$", text, re.M)}
    ours = {name: (self, total) for (self, total), name in digest(folder, "function", 2) if name[0] != "["}
    ok(ours == found and ours, f"{what}: self and total of {len(ours)} functions are those of pprof -top -cum")


def traces(folder):
    """Stacks as pprof tells them, outermost first, with direct recursion taken together."""
    stacks = collections.Counter()
    for block in pprof(folder, "-traces").split("-----------+")[1:]:
        match = re.search(r"^ +(\d+)   (.*(?:\n {12,}.*)*)", block, re.M)
        if match:
            names = [re.sub(r" \((?:partial-)?inline\)$", "", n.strip()) for n in match[2].split("\n")][::-1]
            stacks[tuple(n for i, n in enumerate(names) if i == 0 or n != names[i - 1])] += int(match[1])
    return stacks


def paths(folder):
    """Each row with the functions that lead to it; None for those behind functions that were left out."""
    rows, ends = [], {}
    for (depth, continues, value, self, rest, nr_skipped), name in digest(folder, "path", 6):
        caller = ends.get(depth) if continues else ends.get(depth - 1, ())
        path = None if caller is None or nr_skipped else (*caller, name)
        ends[depth] = path
        ends = {d: p for d, p in ends.items() if d <= depth}
        rows.append((path, value, self, rest))
    return rows


def check_paths(what, folder):
    stacks = traces(folder)
    values, selves = collections.Counter(), collections.Counter()
    for stack, value in stacks.items():
        selves[stack] += value
        for end in range(1, len(stack) + 1):
            values[stack[:end]] += value
    rows = [row for row in paths(folder) if row[0]]
    bad = [row for row in rows if row[0][-1][0] != "[" and (values[row[0]], selves[row[0]]) != row[1:3]]
    ok(len(rows) > 3 and not bad, f"{what}: {len(rows)} rows of the paths are in pprof -traces {bad[:2]}")


def check_peek(what, folder, name):
    """The callees of a function that is called from one place: the first rows."""
    text = pprof(folder, "-peek", f"^{name}$", *ALL_NODES)
    after = re.search(rf"\| {name}\n((?:.*\|   .*\n)*)", text)[1]
    peek = {callee: int(value) for value, callee in re.findall(r"^ +(\d+) +\S+% \|   (\w+)", after, re.M)}
    rows = paths(folder)
    ours = {path[-1]: value for path, value, _, _ in rows if path and len(path) == 2 and path[0] == name
            and path[1][0] != "["}
    rest = [row[3] for row in rows if row[0] == (name,)][0]
    ok(ours and all(peek[callee] == value for callee, value in ours.items()),
       f"{what}: the callees of {name} are those of pprof -peek")
    ok(sum(v for c, v in peek.items() if c not in ours and c != name) == rest,
       f"{what}: the rest of {name} is what pprof -peek has besides")


def main():
    if not shutil.which("go"):
        skip("needs go")
        done()
        return
    with tempfile.TemporaryDirectory() as folder:
        for what in ("example", "calls"):
            subprocess.run([WRITE_MODEL, what, folder], check=True)
            check_tags(what, folder)
            check_top(what, folder)
            check_paths(what, folder)
        subprocess.run([WRITE_MODEL, "example", folder], check=True)
        check_peek("example", folder, "main")
    done()


main()
