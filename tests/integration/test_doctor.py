# SPDX-License-Identifier: Apache-2.0
"""The output of doctor if something is missing: each line names it, and says how to fix it."""
import os
import shutil
import subprocess

from harness import AGENT, done, need_root, note, ok, prog, skip, end, workdir


def doctor(*args, before=()):
    r = subprocess.run([*before, AGENT, "doctor", *map(str, args)], capture_output=True, text=True)
    r.lines = r.stdout.splitlines()
    return r


def fix_of(r, start):
    """The fix of the first line that begins with this text, or ''. Consecutive lines with the same fix share it."""
    found = False
    for line in r.lines:
        found |= line.startswith(start)
        if found and line.startswith("[ok]"):
            break
        if found and line.lstrip().startswith("fix: "):
            return line.lstrip()[len("fix: "):]
    return ""


def without(mount):
    """A mount namespace in which this directory is empty."""
    return ["unshare", "-m", "sh", "-c", f"mount -t tmpfs none {mount} && exec \"$@\"", "sh"]


def test_all_there():
    target = prog("spin", 60)
    r = doctor("--pid", target.pid)
    end(target)
    note(r.stdout)
    ok(r.returncode == 0 and "[FAILED]" not in r.stdout, "as root no check of doctor fails")
    ok(r.lines[-1].startswith("ready to profile"), "the last line of doctor says that root can profile")
    path = f"'{os.path.realpath(AGENT)}'"
    setcap = [line for line in r.lines if "sudo setcap cap_bpf," in line]
    ok(len(setcap) == 1 and setcap[0].endswith(path), "doctor prints the setcap line to root, too")
    ok(f"[ok]      PID {target.pid}: 'spin', its mappings can be read" in r.lines, "doctor checks the process of --pid")
    subjects = [line[10:].split(": ")[0] for line in r.lines if line.startswith("[")]
    ok(all(line.count(s + ": ") == 1 for s, line in zip(subjects, [x for x in r.lines if x.startswith("[")])),
       "no line says its subject twice")
    ok(len(subjects) == len(set(subjects)), "nothing is checked twice")


def setcap_of(program):
    r = subprocess.run([program, "doctor"], capture_output=True, text=True)
    return [line.strip() for line in r.stdout.splitlines() if "sudo setcap cap_bpf," in line]


def test_setcap(tmp):
    """Whoever may execute a file with capabilities may profile everyone."""
    copy, other = os.path.join(tmp, "perf-agent"), os.path.join(tmp, "another program")
    for path in (copy, other):
        shutil.copy(AGENT, path)
        os.chmod(path, 0o755)
    lines = setcap_of(copy)
    note(lines)
    ok(len(lines) == 1 and lines[0].startswith("sudo groupadd -rf perf-agent && sudo chown root:perf-agent ")
       and f" && sudo chmod 0750 '{copy}' && sudo setcap " in lines[0],
       "a program that everybody may execute is left to a group before it gets capabilities")
    ok(setcap_of(other)[0].startswith("sudo setcap "), "another program than perf-agent is not taken from everybody")
    os.chmod(copy, 0o750)
    ok(setcap_of(copy)[0].startswith("sudo setcap "), "a program that is left to a group gets capabilities alone")


def test_debuginfod(tmp):
    """A libdebuginfod that cannot be loaded has the same effect as one that is not installed."""
    with open(os.path.join(tmp, "libdebuginfod.so.1"), "w") as f:
        f.write("no library")
    r = doctor(before=["env", f"LD_LIBRARY_PATH={tmp}"])
    ok(r.returncode == 0 and "stripped binaries" in r.stdout
       and fix_of(r, "[limited] debuginfod: ") == "apt install libdebuginfod1",
       "without libdebuginfod doctor says what is missing, and the fix")
    if any(x.startswith("[limited] debuginfod") for x in doctor().lines):
        skip("libdebuginfod is not installed")
    else:
        ok("[ok]      debuginfod: libdebuginfod is installed" in doctor().stdout, "with libdebuginfod doctor says that it is installed")


def test_missing_mounts():
    r = doctor(before=without("/sys"))
    note(r.stdout + r.stderr)
    ok(r.returncode == 1, "without /sys doctor fails")
    ok("[FAILED]  CPUs: cannot read /sys/devices/system/cpu/online: No such file or directory" in r.lines,
       "without /sys doctor names the file that it cannot read")
    ok("mount -t sysfs" in fix_of(r, "[FAILED]  CPUs"), "without /sys doctor says how to mount it")
    ok("[ok]      CAP_BPF" in r.stdout, "without /sys doctor makes the other checks")
    r = doctor("--pid", 1, before=without("/proc"))
    note(r.stdout + r.stderr)
    ok(r.returncode == 1 and "mount -t proc proc /proc" in fix_of(r, "[FAILED]  processes: /proc is not mounted"),
       "without /proc doctor says how to mount it")
    r = doctor(before=["unshare", "-m", "sh", "-c", "mount -t tmpfs none /sys/kernel/btf && "
                       "echo garbage >/sys/kernel/btf/vmlinux && exec \"$@\"", "sh"])
    ok(r.returncode == 1 and "intact kernel" in fix_of(r, "[FAILED]  BTF: "), "garbage is not taken for BTF")
    r = doctor(before=["unshare", "-p", "-f"])
    ok(r.returncode == 1 and "another PID namespace" in r.stdout, "the /proc of another namespace is reported")


def test_bounding_set():
    if not shutil.which("setpriv"):
        skip("needs setpriv")
        return
    r = doctor(before=["setpriv", "--bounding-set=-perfmon,-sys_admin"])
    note(r.stdout)
    ok("bounding set" in fix_of(r, "[FAILED]  CAP_PERFMON"),
       "a capability outside of the bounding set is distinguished")
    ok("setcap" not in r.stdout, "no setcap is advised for a capability outside of the bounding set")


def test_without_privileges():
    if not shutil.which("setpriv"):
        skip("needs setpriv")
        return
    nobody = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
    r = doctor(before=nobody)
    note(r.stdout)
    if r.returncode == 126 or r.returncode == 127:
        skip("needs a program file that another user may execute")
        return
    ok(r.stdout.count("fix: run as root (sudo), or use the setcap command below") == 1,
       "the fix that capabilities share is printed once")
    nr_failed = r.stdout.count("[FAILED]")
    ok(r.lines[-1] == f"cannot profile: {nr_failed} problems", "the last line counts the problems")
    hidden = ["unshare", "-m", "sh", "-c", 'mount -t proc -o hidepid=2 proc /proc && exec "$@"', "sh", *nobody]
    r = doctor("--pid", os.getpid(), before=hidden)
    ok(f"[FAILED]  PID {os.getpid()}: hidden from this user: /proc is mounted with hidepid" in r.lines,
       "a process that hidepid hides is not said to be gone")
    r = doctor("--pid", 4194304, before=hidden)
    ok("[FAILED]  PID 4194304: No such process" in r.lines, "under hidepid, a process that does not exist is said not to exist")


need_root()
test_all_there()
test_setcap(workdir())
test_debuginfod(workdir())
if subprocess.run(["unshare", "-m", "true"], capture_output=True).returncode == 0:
    test_missing_mounts()
else:
    skip("needs a mount namespace")
test_bounding_set()
test_without_privileges()
done()
