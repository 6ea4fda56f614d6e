# SPDX-License-Identifier: Apache-2.0
"""Time inside system calls: the user stack is present, with and without the kernel's."""
from harness import adds_up, agent_until, done, end, need_root, note, ok, prog, workdir

MAIN = ["alternate_loop", "level_c", "level_b", "level_a", "main"]
THREAD = ["zero_loop", "worker_b", "worker_a", "thread_main"]
SHARE = 0.99


def user_frames(sample):
    return [f for f in sample.frames if f.path != "[kernel]"]


def own_names(sample):
    """The function that others are inlined into: the one that contains the instruction."""
    return [f.function for f in user_frames(sample) if f.path.endswith("/syscalls")]


def is_whole(sample):
    """Every frame of ours up to main or the thread's function, leaf first, and nothing in between."""
    names = own_names(sample)
    return names[:len(MAIN)] == MAIN or names[:len(THREAD)] == THREAD


def check(run, what):
    p, n = run.profile, run.profile.total()
    whole = sum(s.count for s in p.samples if is_whole(s))
    note(f"{what}: {whole} of {n} stacks are whole")
    ok(run.status == 0 and adds_up(run.summary), f"{what}: the run ends well and adds up")
    ok(n >= 1000, f"{what}: {n} samples")
    ok(whole >= SHARE * n, f"{what}: {whole / n:.4f} of the stacks have every own frame")
    ok(all("truncated" in s.labels for s in p.samples),
       f"{what}: what lies beyond is marked truncated, since libc has no frame pointers")
    return p


need_root()
tmp = workdir()
target = prog("syscalls", 300)
plain = check(agent_until(1000, tmp, "--pid", target.pid, "-F", 999, "--unwind", "fp"), "without kernel stacks")
ok(not any(f.path == "[kernel]" for s in plain.samples for f in s.frames),
   "no kernel frame appears unasked")
kernel = check(agent_until(1000, tmp, "--pid", target.pid, "-F", 999, "--unwind", "fp", "--kernel-stacks"), "with them")
end(target)

in_kernel = [s for s in kernel.samples if s.frames[0].path == "[kernel]"]
share = sum(s.count for s in in_kernel) / kernel.total()
ok(share > 0.9, f"{share:.3f} of the time is spent in the kernel")
ok(all(f.path == "[kernel]" or all(g.path != "[kernel]" for g in s.frames[i:])
       for s in in_kernel for i, f in enumerate(s.frames)), "kernel frames stand above user frames")
named = sum(s.count for s in in_kernel if s.frames[0].is_named)
ok(named >= SHARE * sum(s.count for s in in_kernel), "kernel frames have names")

# One user stack (same addresses), with two kernel paths above it.
paths = {}
for s in in_kernel:
    user = tuple(f.address for f in user_frames(s))
    names = {f.name for f in s.frames if f.path == "[kernel]"}
    kind = ("random" if any("random" in x for x in names) else
            "zero" if any("read_zero" in x or "read_iter_zero" in x for x in names) else None)
    if kind and own_names(s)[:1] == MAIN[:1]:
        paths.setdefault(user, set()).add(kind)
ok(any(kinds == {"random", "zero"} for kinds in paths.values()),
   "two kernel paths under one user stack stay two")
done()
