# SPDX-License-Identifier: Apache-2.0
"""Programs whose symbols, tables or code are in unusual places: their functions have names, and their stacks are
complete."""
import os
import platform
import shutil
import subprocess

from harness import PROGS, agent_until, done, end, need_root, note, ok, prog, skip, workdir

HERE = os.path.dirname(os.path.abspath(__file__))

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
    """Samples by the name of the running function, user code only."""
    found = {}
    for s in run.profile.samples:
        name = s.frames[0].function  # whatever was inlined into it
        found[name] = found.get(name, 0) + s.count
    return found


def check_big_frame():
    run = capture("big_frame")
    n, whole = run.summary["samples"], run.summary["stacks_complete"]
    ok(whole > 0.9 * n, f"a frame larger than the copy of a stack: {whole} of {n} are complete")
    # Stacks that are copied end with the table that was missing.
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


def build_32():
    """A 32-bit program, built with only the assembler and linker; or why there is none."""
    for tool in ("as", "ld"):
        if not shutil.which(tool):
            return None, f"{tool} is not installed"
    obj, exe = os.path.join(tmp, "word32.o"), os.path.join(tmp, "spin32")
    for command in (["as", "--32", os.path.join(HERE, "progs", "word32.S"), "-o", obj],
                    ["ld", "-m", "elf_i386", obj, "-o", exe]):
        if subprocess.run(command, capture_output=True).returncode:
            return None, f"{command[0]} makes no 32-bit programs here"
    try:
        subprocess.Popen([exe]).kill()
    except OSError as e:
        return None, f"the kernel runs no 32-bit programs: {e.strerror}"
    return exe, None


def check_32():
    exe, why = build_32()
    if why:
        skip(why)
        return
    p = subprocess.Popen([exe])
    run = agent_until(200, tmp, "--pid", p.pid, "-F", 499, seconds=2)
    end(p)
    found, n = leafs(run), run.profile.total()
    ok(found.get("spin32", 0) > 0.95 * n, f"a 32-bit program: {found} of {n}")
    ok(all(s.labels.get("truncated") == "compat_task" for s in run.profile.samples),
       "a 32-bit program: its stacks say why they are truncated")


def check_moved(what, run):
    found, n = leafs(run), run.profile.total()
    whole = run.summary["stacks_complete"]
    ok(found.get("moved_burn", 0) > 0.95 * n, f"{what}: {found} of {n} samples")
    ok(whole > 0.9 * n, f"{what}: {whole} of {n} stacks are complete, by the file's table")
    callers = {s.frames[1].function for s in run.profile.samples if s.frames[0].function == "moved_burn"}
    ok(callers == {"main"}, f"{what}: its callers are {callers}")


def check_moved_text():
    command = [os.path.join(PROGS, "moved_text")]
    check_moved("code moved to anonymous memory", capture("moved_text", "same"))
    run = agent_until(200, tmp, "-F", 499, command=[*command, "same", 20])
    check_moved("code that moves while it is watched", run)
    run = capture("moved_text", "other")
    found = leafs(run)
    ok("moved_burn" not in found, f"other code in the place of a file's does not have its names: {found}")


check_big_frame()
if is_built("moved_text"):
    check_moved_text()
if is_built("unsized"):
    check_unsized()
if platform.machine() == "x86_64":
    check_32()
else:
    skip("32-bit programs of x86-64 only")
done()
