# SPDX-License-Identifier: Apache-2.0
"""The program is one file: a copy runs anywhere, and with file capabilities a copy run by any user does what root's
does."""
import fcntl
import os
import pwd
import shutil
import struct
import subprocess
import tempfile
import termios

from harness import AGENT, PROGS, adds_up, agent, agent_until, done, end, need_root, note, ok, skip
from harness import wait_for, workdir

CAPS = "cap_bpf,cap_perfmon,cap_sys_ptrace,cap_checkpoint_restore,cap_dac_read_search,cap_syslog"
NR_CAPS = (39, 38, 19, 40, 2, 34)


def why_not(copy):
    """Why file capabilities cannot be tested here; None: they can."""
    for tool in ("setcap", "setpriv"):
        if not shutil.which(tool, path=os.environ["PATH"] + ":/usr/sbin:/sbin"):
            return f"needs {tool}"
    if os.statvfs(copy).f_flag & os.ST_NOSUID:
        return "the temporary directory is mounted nosuid: the kernel ignores file capabilities there"
    with open("/proc/self/status") as f:
        status = dict(line.split(":\t", 1) for line in f if ":\t" in line)
    if status["NoNewPrivs"].strip() != "0":
        return "no_new_privs is set: the kernel ignores file capabilities"
    bound = int(status["CapBnd"], 16)
    if not all(bound >> nr & 1 for nr in NR_CAPS):
        return "not all of the capabilities are in the bounding set"
    r = subprocess.run(["setcap", CAPS + "+ep", copy], capture_output=True, text=True,
                       env={**os.environ, "PATH": os.environ["PATH"] + ":/usr/sbin:/sbin"})
    return f"setcap: {r.stderr.strip()}" if r.returncode else None


def nr_unread(pipe):
    """Bytes that nobody has read yet."""
    return struct.unpack("i", fcntl.ioctl(pipe, termios.FIONREAD, bytes(4)))[0]


def as_nobody(user):
    return ["setpriv", f"--reuid={user.pw_uid}", f"--regid={user.pw_gid}", "--clear-groups"]


def started(spin, *before):
    p = subprocess.Popen([*before, spin, "60"], stdout=subprocess.PIPE, text=True)
    p.stdout.readline()  # wait until setpriv has executed it
    return p


def profiles(tmp, copy, user, target, whose):
    run = agent_until(50, tmp, "--pid", target.pid, "-F", 499, seconds=1, agent=copy, before=as_nobody(user))
    note(run.stderr)
    ok(run.status == 0 and run.profile and adds_up(run.summary), f"profiles a process of {whose}")
    named = sum(s.count for s in run.profile.samples if "spin_inner" in s.names()) if run.profile else 0
    ok(run.profile and named > 0.9 * run.profile.total(), f"the functions in a process of {whose} are resolved")
    end(target)


need_root()
tmp = workdir()
user = pwd.getpwnam("nobody")
copy, spin = os.path.join(tmp, "a copy"), os.path.join(tmp, "spin")
for source, to in ((AGENT, copy), (os.path.join(PROGS, "spin"), spin)):
    shutil.copy(source, to)  # where no other user has access
    os.chmod(to, 0o755)
os.chown(tmp, user.pw_uid, user.pw_gid)
r = subprocess.run([copy, "--version"], capture_output=True, text=True, cwd="/")
ok(r.returncode == 0 and r.stdout.startswith("perf-agent "), "a copy of the program runs")

r = subprocess.run([*as_nobody(user), copy, "doctor"], capture_output=True, text=True)
ok(r.returncode == 1 and f"setcap {CAPS}+ep '{copy}'" in r.stdout,
   "without privileges, doctor gives the setcap line")
reason = why_not(copy)
if reason:
    skip(reason)
    done()
r = subprocess.run([*as_nobody(user), copy, "doctor"], capture_output=True, text=True)
note(r.stdout)
ok(r.returncode == 0 and "[FAILED]" not in r.stdout, "with file capabilities, doctor finds nothing failed")
ok(all(f"[ok]      {name.upper()}: " in r.stdout for name in CAPS.split(",")), "with file capabilities, doctor finds every capability")
profiles(tmp, copy, user, started(spin, *as_nobody(user)), "its own user")
profiles(tmp, copy, user, started(spin), "root")

# The capabilities are the agent's, not those of a command that it runs.
closed = os.path.join(tmp, "closed")
os.mkdir(closed, 0o700)
shutil.copy(spin, closed)
run = agent(tmp, command=[os.path.join(closed, "spin"), "1"], agent=copy, before=as_nobody(user))
note(run.stderr)
ok(run.status == 126 and "Permission denied" in run.stderr, "a command where its user may not come is not run")
run = agent(tmp, command=["grep", "CapEff", "/proc/self/status"], agent=copy, before=as_nobody(user))
ok(run.status == 0 and int(run.stdout.split()[-1], 16) == 0, "a command has none of the file capabilities")


def fetch_as_nobody(source):
    """What the program's own fetch command returns to a user who calls it; None: nothing."""
    folder = tempfile.mkdtemp(dir=tmp)
    os.makedirs(os.path.join(folder, "server/buildid/abcdef12"))
    os.symlink(source, os.path.join(folder, "server/buildid/abcdef12/debuginfo"))
    for path, _, _ in os.walk(folder):
        os.chown(path, user.pw_uid, user.pw_gid)
    subprocess.run([*as_nobody(user), copy, "fetch-debuginfo", "abcdef12", str(os.getpid())], cwd=folder,
                   env={"DEBUGINFOD_URLS": f"file://{folder}/server", "DEBUGINFOD_CACHE_PATH": f"{folder}/cache"})
    try:
        with open(os.path.join(folder, "result")) as f:
            return f.read()
    except FileNotFoundError:
        return None


# Nor can a user get them by calling the program's internal helper directly.
public, secret = os.path.join(tmp, "public"), os.path.join(closed, "secret")
for path, mode in ((public, 0o644), (secret, 0o600)):
    with open(path, "w") as f:
        f.write("what is in it")
    os.chmod(path, mode)
if fetch_as_nobody(public) != "what is in it":
    skip("a fetch by hand reads no secret: needs libdebuginfod1")
else:
    ok(True, "a fetch by hand gives what its caller may read")
    ok(fetch_as_nobody(secret) is None, "a fetch by hand gives nothing that its caller may not read")



def capabilities_of(pid):
    """All capabilities that a process has or could regain."""
    with open(f"/proc/{pid}/status") as f:
        sets = dict(line.split(":\t", 1) for line in f if ":\t" in line)
    return [int(sets[name], 16) for name in ("CapInh", "CapPrm", "CapEff", "CapAmb")]


# Processes that only read files, possibly hostile ones, have no capabilities while they do so.
for args in (["report", "-"], ["convert", "-", "-o", "x.json"], ["diff", "-", "new.pb"]):
    p = subprocess.Popen([*as_nobody(user), copy, *args], stdin=subprocess.PIPE, stderr=subprocess.PIPE, cwd=tmp)
    p.stdin.write(b"\x0a")
    p.stdin.flush()
    wait_for(lambda: nr_unread(p.stdin) == 0, "the file to be read")
    held = capabilities_of(p.pid)
    ok(p.poll() is None and not any(held), f"{args[0]} reads its file without capabilities: {held}")
    p.communicate()

# A path given by the caller is looked up with the caller's own privileges: no message reveals what is there.
for option in ("--profile-output", "--folded-output", "--json", "--symbol-cache-dir"):
    said = []
    for name in ("spin", "not-there"):
        path = os.path.join(closed, name, "x")
        r = subprocess.run([*as_nobody(user), copy, "--profile", "--no-follow-children", "-d", "100ms",
                            "--debuginfod-url", "http://127.0.0.1:9", f"{option}={path}", "--pid", str(os.getpid())],
                           capture_output=True, text=True, cwd=tmp)
        said.append((r.returncode, r.stderr.replace(path, "PATH").replace(os.path.dirname(path), "DIR")))
    note(str(said))
    ok(said[0] == said[1] and said[0][0] == 1, f"{option} says the same of a file and of nothing behind a closed door")
done()
