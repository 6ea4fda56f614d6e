# SPDX-License-Identifier: Apache-2.0
"""Programs whose symbols, tables or code are not where they are in most programs: their functions have
names, and their stacks are complete."""
import os

from harness import PROGS, agent_until, done, need_root, note, ok, prog, skip, workdir

need_root()
tmp = workdir()


def is_built(name):
    if os.path.exists(os.path.join(PROGS, name)):
        return True
    skip(f"{name} is built for x86-64 only")
    return False


def capture(name, *args, samples=200):
    p = prog(name, *args)
    run = agent_until(samples, tmp, "--pid", p.pid, "-F", 499, seconds=2)
    p.kill()
    return run


def leafs(run):
    """Samples by the name of the running function, user code alone."""
    found = {}
    for s in run.profile.samples:
        found[s.frames[0].name] = found.get(s.frames[0].name, 0) + s.count
    return found


def check_big_frame():
    run = capture("big_frame")
    n, whole = run.summary["samples"], run.summary["stacks_complete"]
    ok(whole > 0.9 * n, f"a frame larger than the copy of a stack: {whole} of {n} are complete")
    # Copies end with the table that was missing.
    again = run.summary["walks_again"]
    ok(again < 0.1 * n, f"a frame larger than the copy of a stack: {again} of {n} stacks are copied")


def check_unsized():
    run = capture("unsized")
    found, n = leafs(run), run.profile.total()
    note(f"unsized: {found}")
    named = found.get("label_spin", 0) + found.get("cfi_spin", 0)
    ok(named > 0.95 * n, f"symbols without a size: {named} of {n} samples are in the two functions")
    ok(found.get("label_spin", 0) > 0.3 * n, "symbols without a size: a label with a dot is its function's")
    ok(found.get("cfi_spin", 0) > 0.3 * n, "symbols without a size: so is a local label in an FDE")


check_big_frame()
if is_built("unsized"):
    check_unsized()
done()
