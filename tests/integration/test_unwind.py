# SPDX-License-Identifier: Apache-2.0
"""Programs as they are shipped, without frame pointers: how many of their stacks are complete, by the agent's own count
and by a reader that uses only the written profile and the binaries."""
import platform

import judge
import shipped
from harness import agent, done, need_root, note, ok, skip, workdir

SHARE = 0.995
SHARES = {"java_fp": 0.99}  # it begins with compiling its source: stubs and adapters are sampled where they jump on
MIN_SAMPLES = 2000
FIRST = 50
FOR_LACK_OF_RECORDS = ("frame_pointer_end", "no_frame_pointer")

MIN_INTERRUPTED = 20


def interrupted(profile):
    return [s for s in profile.samples if any(map(judge.is_trampoline, s.frames))]


def interrupted_names(profile):
    """The functions that a signal has interrupted."""
    return {b.name for s in interrupted(profile) for a, b in zip(s.frames, s.frames[1:]) if judge.is_trampoline(a)}


def is_enough(name, profile):
    """How often Go interrupts its threads on a busy machine is up to Go."""
    if name == "go_signals" and (sum(s.count for s in interrupted(profile)) < MIN_INTERRUPTED
                                 or "main.fib" not in interrupted_names(profile)):
        return False
    return profile.total() >= MIN_SAMPLES


# These take 30 to 60 ms to release their memory, and have no stack during that time: the capture ends before.
WITHOUT_EXIT = {"java_fp"}


def run_long_enough(tmp, name, make):
    for seconds in (3, 8, 20):
        command = make(tmp, seconds)
        if isinstance(command, str):
            return command
        limit = ("-d", f"{seconds}s") if name in WITHOUT_EXIT else ()
        run = agent(tmp, "-F", 999, *limit, command=command, timeout=1500)
        if run.profile and is_enough(name, run.profile):
            break
    return run


def check_signals(name, run):
    """The interrupted function is in the stack, not only its caller."""
    samples = interrupted(run.profile)
    nr = sum(s.count for s in samples)
    names = interrupted_names(run.profile)
    ok(nr >= MIN_INTERRUPTED, f"{name}: {nr} samples in a signal handler")
    ok("main.fib" in names, f"{name}: the functions that were interrupted: {sorted(names)[:5]}")


def judged(profile):
    return sum(s.count for s in profile.samples
               if "truncated" not in s.labels and judge.is_complete(s))


def print_run(name, run):
    n = run.profile.total()
    note(f"{name}: {n} samples, complete {run.summary['stacks_complete'] / n:.4f} (agent) "
         f"{judged(run.profile) / n:.4f} (judge)")
    for row in run.summary["truncations"]:
        note(f"  {row['nr_samples']} truncated in {row['file']}: {row['reason']}")


def check_first(name, tmp):
    """A process that the agent has not seen, with files that are not compiled yet."""
    for ms in (60, 150, 400):
        # no longer than needed: the agent waits for the command's end
        run = agent(tmp, "-F", 999, "-d", f"{ms}ms", command=shipped.ALL[name](tmp, 1))
        n = run.profile.total()
        if n >= FIRST:
            break
    note(f"{name}: of the first {n} samples {run.summary['stacks_complete']} are complete "
         f"(agent), {judged(run.profile)} (judge)")
    ok(n > 0 and judged(run.profile) == run.summary["stacks_complete"],
       f"{name}: both find the same of the first {n}")


def check_truth(name, run):
    p, own = run.profile, run.summary["stacks_complete"]
    not_called = [f for s in p.samples for f in judge.callers_without_call(s)]
    ok(p.total() >= MIN_SAMPLES, f"{name}: {p.total()} samples")
    ok(judged(p) == own, f"{name}: a second reader finds {judged(p)} complete, the agent {own}")
    ok(not not_called, f"{name}: every caller follows a call, or was interrupted"
       + (f", but {not_called[0].name} {not_called[0].path} {not_called[0].address:#x}" if not_called else ""))


def check(name, run):
    n, own = run.profile.total(), run.summary["stacks_complete"]
    check_truth(name, run)
    if name == "java":  # compiled without frame pointers: only the code itself describes its frames
        in_jit = [row for row in run.summary["truncations"] if row["file"] == "[jit]"]
        for_lack = [row for row in in_jit if row["reason"] in FOR_LACK_OF_RECORDS]
        ok(bool(for_lack) == bool(in_jit) and all("PreserveFramePointer" in (row["fix"] or "") for row in for_lack),
           f"{name}: {own / n:.4f} complete, and the report has a hint for the others")
    else:
        ok(own >= SHARES.get(name, SHARE) * n, f"{name}: {own / n:.4f} of the stacks are complete")
        ok(not any("PreserveFramePointer" in (row["fix"] or "") for row in run.summary["truncations"]),
           f"{name}: nobody is asked for what is there")
    if name == "go_signals":
        check_signals(name, run)


need_root()
if platform.machine() != "x86_64":
    skip("the judge knows the calls of x86-64 only")
    done()
tmp = workdir()
for name, make in shipped.ALL.items():
    run = run_long_enough(tmp, name, make)
    if isinstance(run, str):
        skip(run)
        continue
    print_run(name, run)
    check(name, run)
    check_first(name, tmp)
done()
