# SPDX-License-Identifier: Apache-2.0
"""What doctor says where something is missing: each line names it and what to do."""
import os
import shutil
import subprocess

from harness import AGENT, done, need_root, note, ok, prog, skip, end, workdir


def doctor(*args, before=()):
    r = subprocess.run([*before, AGENT, "doctor", *map(str, args)], capture_output=True, text=True)
    r.lines = r.stdout.splitlines()
    return r


def fix_of(r, start):
    """The fix below the first line that begins like this, or ''."""
    for line, after in zip(r.lines, r.lines[1:] + [""]):
        if line.startswith(start) and after.lstrip().startswith("fix: "):
            return after.lstrip()[len("fix: "):]
    return ""


def without(mount):
    """A mount namespace in which this directory is empty."""
    return ["unshare", "-m", "sh", "-c", f"mount -t tmpfs none {mount} && exec \"$@\"", "sh"]


def test_all_there():
    target = prog("spin", 60)
    r = doctor("--pid", target.pid)
    end(target)
    note(r.stdout)
    ok(r.returncode == 0 and "[FAILED]" not in r.stdout, "root can do all")
    ok(f"[ok]      PID {target.pid}: 'spin', its mappings can be read" in r.lines, "also of this process")
    subjects = [line[10:].split(": ")[0] for line in r.lines if line.startswith("[")]
    ok(all(line.count(s + ": ") == 1 for s, line in zip(subjects, [x for x in r.lines if x.startswith("[")])),
       "no line says its subject twice")
    ok(len(subjects) == len(set(subjects)), "nothing is checked twice")


def test_debuginfod(tmp):
    """A libdebuginfod that cannot be loaded stands for one that is not installed."""
    with open(os.path.join(tmp, "libdebuginfod.so.1"), "w") as f:
        f.write("no library")
    r = doctor(before=["env", f"LD_LIBRARY_PATH={tmp}"])
    ok(r.returncode == 0 and "stripped binaries" in r.stdout
       and fix_of(r, "[limited] debuginfod: ") == "apt install libdebuginfod1",
       "without libdebuginfod doctor says what is missing, and the cure")
    if any(x.startswith("[limited] debuginfod") for x in doctor().lines):
        skip("libdebuginfod is not installed")
    else:
        ok("[ok]      debuginfod: libdebuginfod is there" in doctor().stdout, "with it, that it is there")


def test_missing_mounts():
    r = doctor(before=without("/sys"))
    note(r.stdout + r.stderr)
    ok(r.returncode == 1, "without /sys doctor fails")
    ok("[FAILED]  CPUs: cannot read /sys/devices/system/cpu/online: No such file or directory" in r.lines,
       "... names what it cannot read")
    ok("mount -t sysfs" in fix_of(r, "[FAILED]  CPUs"), "... and the cure")
    ok("[ok]      CAP_BPF" in r.stdout, "... and checks the rest")
    r = doctor("--pid", 1, before=without("/proc"))
    note(r.stdout + r.stderr)
    ok(r.returncode == 1 and "mount -t proc proc /proc" in fix_of(r, "[FAILED]  processes: /proc is not mounted"),
       "without /proc doctor says how to mount it")
    r = doctor(before=["unshare", "-m", "sh", "-c", "mount -t tmpfs none /sys/kernel/btf && "
                       "echo garbage >/sys/kernel/btf/vmlinux && exec \"$@\"", "sh"])
    ok(r.returncode == 1 and "intact kernel" in fix_of(r, "[FAILED]  type information: "), "garbage is not taken for BTF")
    r = doctor(before=["unshare", "-p", "-f"])
    ok(r.returncode == 1 and "another PID namespace" in r.stdout, "the /proc of another namespace is told")


def test_bounding_set():
    if not shutil.which("setpriv"):
        skip("needs setpriv")
        return
    r = doctor(before=["setpriv", "--bounding-set=-perfmon,-sys_admin"])
    note(r.stdout)
    ok("bounding set" in fix_of(r, "[FAILED]  CAP_PERFMON"), "what no file can grant is told apart")
    ok("setcap" not in r.stdout, "... and no setcap is advised")


need_root()
test_all_there()
test_debuginfod(workdir())
if subprocess.run(["unshare", "-m", "true"], capture_output=True).returncode == 0:
    test_missing_mounts()
else:
    skip("needs a mount namespace")
test_bounding_set()
done()
