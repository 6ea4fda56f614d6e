# SPDX-License-Identifier: Apache-2.0
"""What cannot work is reported in one line that names the flag or file and the fix; no file is left behind."""
import json
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import threading
import time

from harness import AGENT, PROGS, done, end, need_root, no_mount_namespace, note, ok, prog, skip, wait_for
from harness import workdir

SPIN = os.path.join(PROGS, "spin")


def refuse(tmp, what, args, status, pattern, before=()):
    out = os.path.join(tmp, "out.pb.gz")
    r = subprocess.run([*before, AGENT, *map(str, args)], capture_output=True, text=True, cwd=tmp, timeout=60)
    lines = r.stderr.strip().splitlines()
    passed = ok(r.returncode == status and lines and re.search(pattern, lines[-1]) is not None,
                f"{what}: exit {status} and a line that says why")
    if not passed:
        note(f"exit {r.returncode}: {r.stderr}")
    ok(not os.path.exists(out) and not [x for x in os.listdir(tmp) if x.endswith(".pb.gz")],
       f"{what}: no file is left")


def refuse_mounted(tmp, what, args, status, pattern, script):
    """Runs in a mount namespace of its own, so that what the script hides is hidden only there."""
    if no_namespace:
        skip(f"{what}: {no_namespace}")
        return
    refuse(tmp, what, args, status, pattern, ["unshare", "-m", "sh", "-c", script + ' && exec "$@"', "sh"])


need_root()
no_namespace = no_mount_namespace()
tmp = workdir()
target = prog("spin", 120)
O = ["-o", "out.pb.gz"]

gone = subprocess.Popen(["true"])
gone.wait()
refuse(tmp, "a PID that does not exist", ["--profile", "--pid", gone.pid, *O], 1, rf"--pid {gone.pid}: no such process")
zombie = subprocess.Popen(["true"])
wait_for(lambda: " Z " in open(f"/proc/{zombie.pid}/stat").read(), "a zombie")
refuse(tmp, "a PID that has exited", ["--profile", "--pid", zombie.pid, *O], 1, "already exited")
zombie.wait()

hold = threading.Event()
thread = threading.Thread(target=hold.wait)
thread.start()
tid = next(int(x) for x in os.listdir("/proc/self/task") if int(x) != os.getpid())
refuse(tmp, "a thread's number", ["--profile", "--pid", tid, *O], 1, "thread.*process")
hold.set()

limit = int(open("/proc/sys/kernel/perf_event_max_sample_rate").read())
refuse(tmp, "a rate above the limit", ["--profile", "--pid", target.pid, "-F", limit + 1, *O], 2,
       rf"sample-rate.*{limit}.*kernel.perf_event_max_sample_rate")
refuse(tmp, "a negative duration", ["--profile", "--pid", target.pid, "-d", "-1s", *O], 2, "duration")
refuse(tmp, "no target", ["--profile", *O], 2, "required")
refuse(tmp, "two targets", ["--profile", "-a", "--pid", target.pid, *O], 2, "mutually exclusive")
refuse(tmp, "a directory that is not there", ["--profile", "--pid", target.pid, "-o", "no/such/out.pb.gz"], 1,
       "no/such")
refuse_mounted(tmp, "a read-only file system", ["--profile", "--pid", target.pid, "-o", f"{tmp}/ro/out.pb.gz"], 1,
               "ro/out.pb.gz.*[Rr]ead-only", f"mkdir -p {tmp}/ro && mount -t tmpfs -o ro t {tmp}/ro")
FETCH = ["--debuginfod-url", "http://127.0.0.1:1"]
refuse(tmp, "a cache that is a file", ["--profile", "--pid", target.pid, *FETCH, "--symbol-cache-dir", SPIN, *O], 1,
       "--symbol-cache-dir: .*spin' cannot be used: Not a directory; give a folder")
refuse_mounted(tmp, "a cache that cannot be written to",
               ["--profile", "--pid", target.pid, *FETCH, "--symbol-cache-dir", f"{tmp}/ro/cache", *O], 1,
               "--symbol-cache-dir: .*Read-only.*give a folder", f"mkdir -p {tmp}/ro && mount -t tmpfs -o ro t {tmp}/ro")
os.mkdir(f"{tmp}/others", 0o700)
os.chown(f"{tmp}/others", 65534, 65534)
refuse(tmp, "another's cache, and names that must come from servers",
       ["--profile", "--pid", target.pid, *FETCH, "--symbol-cache-dir", f"{tmp}/others", "--symbol-fail-closed", *O], 1,
       "--symbol-cache-dir: .*belongs to another user")
os.rmdir(f"{tmp}/others")
refuse(tmp, "a server without a host", ["--profile", "--pid", target.pid, "--debuginfod-url", "https://", *O], 2,
       "--debuginfod-url: 'https://' is not the URL of a server")
refuse_mounted(tmp, "a full disk",
               ["--profile", "--pid", target.pid, "-d", "300ms", "-q", "-o", f"{tmp}/full/out.pb.gz"], 1, "full",
               f"mkdir -p {tmp}/full && mount -t tmpfs -o size=64k t {tmp}/full && "
               f"dd if=/dev/zero of={tmp}/full/junk bs=1k count=64 2>/dev/null")
refuse(tmp, "no privileges", ["--profile", "--pid", target.pid, *O], 1,
       "CAP_BPF.*CAP_PERFMON.*CAP_SYS_PTRACE.*CAP_CHECKPOINT_RESTORE.*CAP_DAC_READ_SEARCH.*CAP_SYSLOG.*(root|sudo)",
       ["setpriv", "--bounding-set=-all", "--inh-caps=-all"])
refuse_mounted(tmp, "a kernel without BTF", ["--profile", "--pid", target.pid, *O], 1, "CONFIG_DEBUG_INFO_BTF",
               "mount -t tmpfs t /sys/kernel/btf")
for what, make in (("garbage", "head -c 100000 /dev/urandom"), ("half", "head -c 200000 /sys/kernel/btf/vmlinux"),
                   ("nothing", ":")):
    refuse_mounted(tmp, f"a kernel whose BTF is {what}", ["--profile", "--pid", target.pid, *O], 1,
                   "type information .*/sys/kernel/btf/vmlinux.* is not valid BTF",
                   f"{make} >{tmp}/btf && mount --bind {tmp}/btf /sys/kernel/btf/vmlinux")
if os.path.exists(f"{tmp}/btf"):
    os.unlink(f"{tmp}/btf")
for nr in (16, 24, 64):
    refuse(tmp, f"{nr} open files", ["--profile", "--pid", target.pid, *O], 1,
           rf"limit of open files is {nr}, .* needs \d+: raise it \(ulimit -n \d+",
           ["sh", "-c", f'ulimit -n {nr} && exec "$@"', "sh"])
refuse(tmp, "a foreign /proc", ["--profile", "--pid", target.pid, *O], 1, "namespace.*mount",
       ["unshare", "-p", "-f"])
refuse(tmp, "no cycle counter", ["--profile", "--pid", target.pid, "--event", "cycles", *O], 1,
       "cycles.*cpu-clock") if not os.path.exists("/sys/bus/event_source/devices/cpu") else None
refuse(tmp, "a command that is not there", [*O, "--", "/no/such/command"], 127, "/no/such/command.*No such file")
refuse(tmp, "a command that is not a program", [*O, "--", "/etc/passwd"], 126, "/etc/passwd.*[Pp]ermission")

r = subprocess.run([AGENT, *O, "-q", "--", "false"], cwd=tmp)
ok(r.returncode == 1 and os.path.exists(os.path.join(tmp, "out.pb.gz")),
   "a command that fails at once gives its status and a profile")
os.unlink(os.path.join(tmp, "out.pb.gz"))

def one_of_two_outputs_fails():
    """Only the output that was written is reported."""
    summary = os.path.join(tmp, "summary.json")
    script = (f"mkdir -p {tmp}/full && mount -t tmpfs -o size=4k t {tmp}/full && "
              f"dd if=/dev/zero of={tmp}/full/junk bs=1k count=4 2>/dev/null && exec \"$@\"")
    r = subprocess.run(["unshare", "-m", "sh", "-c", script, "sh", AGENT, "--profile", "--pid", str(target.pid),
                        "-d", "300ms", "-o", f"{tmp}/full/out.pb.gz", f"--folded-output={tmp}/out.folded",
                        f"--json={summary}"], cwd=tmp, capture_output=True, text=True)
    outputs = [x["path"] for x in json.load(open(summary))["outputs"]]
    ok(r.returncode == 1 and outputs == [f"{tmp}/out.folded"],
       f"the summary lists only the output that was written: {outputs}")
    ok("wrote" not in "".join(x for x in r.stderr.splitlines() if "full/out" in x),
       "an output that failed is not reported as written")
    os.unlink(summary)
    os.unlink(f"{tmp}/out.folded")


if no_namespace:
    skip(no_namespace)
else:
    one_of_two_outputs_fails()

# A program whose name looks like an option.
shutil.copy(SPIN, f"{tmp}/-dash")
r = subprocess.run([AGENT, "-q", "--", f"{tmp}/-dash", "1"], cwd=tmp, capture_output=True)
names = [x for x in os.listdir(tmp) if x.endswith(".pb.gz")]
ok(r.returncode == 0 and len(names) == 1 and names[0].startswith("_dash-"),
   f"its automatic name does not look like one: {names}")
for name in [*names, "-dash"]:
    os.unlink(os.path.join(tmp, name))

# More files are mapped than descriptors are available.
many = os.path.join(tmp, "many")
os.mkdir(many)
for i in range(200):
    with open(f"{many}/{i}", "wb") as f:
        f.write(bytes(4096))
mapper = subprocess.Popen([sys.executable, "-c", f"""
import mmap, os, sys
flags = {{"flags": mmap.MAP_PRIVATE, "prot": mmap.PROT_READ | mmap.PROT_EXEC}}
maps = [mmap.mmap(os.open("{many}/" + x, os.O_RDONLY), 4096, **flags) for x in os.listdir("{many}")]
print("ready", flush=True)
sys.stdin.read()
"""], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
mapper.stdout.readline()
r = subprocess.run([AGENT, "--profile", "-a", *O], cwd=tmp, capture_output=True, text=True,
                   preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (24, 24)))
# The least that is accepted: the agent's own needs, and 16 for files.
few = int(re.search(r"needs (\d+):", r.stderr)[1])
for kind, limit in (("soft", (64, resource.getrlimit(resource.RLIMIT_NOFILE)[1])), ("hard", (few, few))):
    r = subprocess.run([AGENT, "--profile", "-a", "-d", "500ms", "-q", "-o", "many.pb.gz"], cwd=tmp, capture_output=True,
                       text=True, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, limit))
    ok(r.returncode == 0 and os.path.exists(f"{tmp}/many.pb.gz"), f"a {kind} limit of {limit[0]} descriptors costs names only")
    note(r.stderr)
mapper.stdin.close()
mapper.wait()
r = subprocess.run([AGENT, "-q", "-o", "many.pb.gz", "--", "sh", "-c", "ulimit -Sn"], cwd=tmp, capture_output=True,
                   text=True, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (64, few)))
ok(r.stdout == "64\n", f"a command has the limit that the agent was given: {r.stdout!r}")
os.unlink(f"{tmp}/many.pb.gz")
shutil.rmtree(many)

# Aborted during writing: a second signal leaves no file behind.
p = subprocess.Popen([AGENT, "--profile", "--pid", str(target.pid), "-d", "60s", *O], cwd=tmp, stderr=subprocess.DEVNULL)
time.sleep(1)
os.kill(p.pid, 15)
os.kill(p.pid, 15)
p.wait(30)
ok(p.returncode in (0, 143), f"two SIGTERM at once end the agent ({p.returncode})")
left = [x for x in os.listdir(tmp) if x not in ("ro", "full") and (p.returncode or x != "out.pb.gz")]
ok(not left, f"two SIGTERM at once leave no partial output: {left}")


# Aborted while waiting for a reader that does not read.
fifo = os.path.join(tmp, "fifo")
os.mkfifo(fifo)
reader = os.open(fifo, os.O_RDWR | os.O_NONBLOCK)
try:
    while True:
        os.write(reader, bytes(4096))
except BlockingIOError:
    pass
p = subprocess.Popen([AGENT, "--profile", "--pid", str(target.pid), "-d", "300ms", "-o", fifo], cwd=tmp,
                     stderr=subprocess.PIPE, text=True)
time.sleep(2)
ok(p.poll() is None, "an output whose reader is slow is waited for")
os.kill(p.pid, signal.SIGINT)
time.sleep(0.2)
os.kill(p.pid, signal.SIGINT)
began = time.monotonic()
try:
    p.wait(20)
except subprocess.TimeoutExpired:
    end(p)
took = time.monotonic() - began
ok(p.returncode == 130, f"a second signal ends that: exit {p.returncode} after {took:.1f} s")
os.close(reader)
os.unlink(fifo)
end(target)
done()
