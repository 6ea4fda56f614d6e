# SPDX-License-Identifier: Apache-2.0
"""Programs as they are shipped, without frame pointers: how many of their stacks are complete, by
the agent's own count and by a reader that looks at the written profile and the binaries alone."""
import os
import platform
import shutil
import subprocess

import judge
from harness import agent, done, need_root, note, ok, skip, workdir

HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "workloads")
SHARE = 0.995
MIN_SAMPLES = 2000


def build_go(go, name, tmp):
    binary = os.path.join(tmp, name + ".bin")
    if not os.path.exists(binary):
        subprocess.run([go, "build", "-o", binary, os.path.join(HERE, name + ".go")], check=True,
                       env=dict(os.environ, GOCACHE=os.path.join(tmp, "gocache"), GO111MODULE="off"))


def workloads(tmp, seconds):
    """name → command, or the reason why there is none. CPU time grows with seconds."""
    lines = os.path.join(tmp, "lines")
    if not os.path.exists(lines):
        subprocess.run(f"seq 1500000 | shuf > {lines}", shell=True, check=True)
    again = f"i=0; while [ $i -lt {seconds} ]; do i=$((i+1)); "
    node, go, clang = shutil.which("node"), shutil.which("go"), shutil.which("clang++")
    for name in ("busy", "signals", "gc") if go else ():
        build_go(go, name, tmp)
    return {
        "python": ["/usr/bin/python3", os.path.join(HERE, "busy.py"), seconds],
        "sort": ["sh", "-c", f"{again} LC_ALL=C sort -n {lines} -o /dev/null; done"],
        "gzip": ["sh", "-c", f"{again} gzip -9 -c {lines} > /dev/null; done"],
        "clang": ["sh", "-c", f"{again} {clang} -std=c++17 -O2 -c {HERE}/busy.cc -o /dev/null; done"]
        if clang else "clang++ is not installed",
        "node": [node, os.path.join(HERE, "busy.js"), seconds] if node else "node is not installed",
        "go": [os.path.join(tmp, "busy.bin"), seconds] if go else "go is not installed",
        "go_signals": [os.path.join(tmp, "signals.bin"), seconds] if go else "go is not installed",
        "go_gc": [os.path.join(tmp, "gc.bin"), seconds] if go else "go is not installed",
    }


def run_long_enough(tmp, name):
    for seconds in (3, 8, 20):
        command = workloads(tmp, seconds)[name]
        if isinstance(command, str):
            return command
        run = agent(tmp, "-F", 999, command=command, timeout=300)
        if run.profile and run.profile.total() >= MIN_SAMPLES:
            break
    return run


def check_signals(name, run):
    """Who was interrupted is in the stack: the running function, not only its caller."""
    interrupted = [s for s in run.profile.samples if any(map(judge.is_trampoline, s.frames))]
    nr = sum(s.count for s in interrupted)
    names = {b.name for s in interrupted for a, b in zip(s.frames, s.frames[1:])
             if judge.is_trampoline(a)}
    ok(nr >= 20, f"{name}: {nr} samples in a signal handler")
    ok("main.fib" in names, f"{name}: the functions that were interrupted: {sorted(names)[:5]}")


def check(name, run):
    p, n = run.profile, run.profile.total()
    own = run.summary["stacks_complete"]
    judged = sum(s.count for s in p.samples if "truncated" not in s.labels and judge.is_complete(s))
    astray = [f for s in p.samples for f in judge.astray(s)]
    note(f"{name}: {n} samples, complete {own / n:.4f} (agent) {judged / n:.4f} (judge), "
         f"{ {x['name']: x['count'] for x in run.summary['stops'] if x['name'] != 'complete'} }")
    ok(n >= MIN_SAMPLES, f"{name}: {n} samples")
    ok(own >= SHARE * n, f"{name}: {own / n:.4f} of the stacks are complete")
    ok(judged == own, f"{name}: a second reader finds {judged} complete, the agent {own}")
    ok(not astray, f"{name}: every caller follows a call, or was interrupted"
       + (f", but {astray[0].name} {astray[0].path} {astray[0].address:#x}" if astray else ""))


need_root()
if platform.machine() != "x86_64":
    skip("the judge knows the calls of x86-64 only")
    done()
tmp = workdir()
for name in ("python", "sort", "gzip", "clang", "node", "go", "go_signals", "go_gc"):
    run = run_long_enough(tmp, name)
    if isinstance(run, str):
        skip(run)
        continue
    check(name, run)
    if name == "go_signals":
        check_signals(name, run)
done()
