# SPDX-License-Identifier: Apache-2.0
"""Targets that start, fork, exec, exit, move and multiply; runs that end early or by themselves."""
import ctypes
import fcntl
import glob
import json
import os
import pty
import re
import shutil
import signal
import struct
import subprocess
import time

from harness import AGENT, PROGS, adds_up, agent, agent_until, done, end, finish_agent, need_root
from harness import no_mount_namespace, note, ok, prog, skip, start_agent, wait_for, wait_for_sampling, workdir

SPIN = os.path.join(PROGS, "spin")
TYPES = "/sys/kernel/btf/vmlinux"
PTRACE_SEIZE = 0x4206  # include/uapi/linux/ptrace.h
WALL = 0x40000000      # include/uapi/linux/wait.h: __WALL
OWN = ["spin_inner", "spin_outer", "main"]
MIN_CHILDREN = 40


def share(profile, condition):
    return sum(s.count for s in profile.samples if condition(s)) / max(profile.total(), 1)


def is_spin(sample):
    return [f.function for f in sample.frames[:3]] == OWN


def test_command(tmp):
    run = agent(tmp, "-F", 999, command=[SPIN, 1])
    ok(run.status == 0 and share(run.profile, is_spin) > 0.9, "a command is profiled")
    ok(all(s.labels["comm"] == "spin" for s in run.profile.samples),
       "from its first instruction, and nothing before")
    ok(run.summary["targets_exited"], "the run ends with it")
    ballast = bytearray(300 << 20)  # of the process that starts the agent, not of the agent
    run = agent(tmp, command=["sh", "-c", "exit 0"])
    peak = run.summary["agent_peak_rss_bytes"]
    ok(0 < peak < len(ballast) // 2, f"the agent reports its own memory: {peak >> 20} MiB")
    del ballast
    ok(agent(tmp, command=["sh", "-c", "exit 7"]).status == 7, "the exit status of the command is passed on")
    ok(agent(tmp, command=["sh", "-c", "kill -9 $$"]).status == 137, "a command that a signal killed gives 128 + the number of the signal")
    begin = time.monotonic()
    run = agent(tmp, "-d", "500ms", command=[SPIN, 2])
    ok(run.status == 0 and run.summary["duration_ns"] < 1.5e9 and time.monotonic() - begin > 1.9,
       "--duration ends the capture, and the command is waited for")
    ok(run.summary["end_reason"] == "duration" and run.summary["end_signal"] is None
       and ": for 5" in run.stderr, "the reason for the end is the --duration")
    run = agent(tmp, command=["sh", "-c", "sleep 20 >/dev/null 2>&1 & exit 0"])
    killed = agent(tmp, command=["sh", "-c", "kill -SEGV $$"])
    ok(killed.summary["end_signal"] == "SIGSEGV" and ", until it was killed by SIGSEGV, on" in killed.stderr
       and "# end signal: SIGSEGV" in killed.profile.comments and run.summary["end_signal"] is None,
       f"the signal that killed a command is in report, JSON and profile: {killed.stderr.splitlines()[:2]}")
    ok(run.status == 0 and run.summary["end_reason"] == "command_exited" and not run.summary["targets_exited"]
       and "until it exited (its children run on)" in run.stderr,
       f"a command that leaves a process behind has ended: {run.summary['end_reason']}")


def on_terminal(*argv):
    """All that a program and its children write to their own terminal."""
    ours, theirs = pty.openpty()
    child = subprocess.Popen(argv, stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True)
    os.close(theirs)
    written = b""
    try:
        while True:
            written += os.read(ours, 4096)
    except OSError:  # EIO: no process has it open any more
        os.close(ours)
    child.wait()
    return written


def test_terminal(tmp):
    command = ["sh", "-c", "for i in 1 2; do printf 'line '; sleep 0.5; echo $i; done; echo complaint >&2; "
               "printf 'password: '; sleep 0.5; echo; printf '50%%\\r100%%\\n'"]
    plain = on_terminal(*command)
    ok(b"line 2" in plain and b"password: \r\n50%\r100%" in plain, "a command writes to a terminal")
    output = os.path.join(tmp, "terminal.pb.gz")
    ok(on_terminal(AGENT, "-q", "-o", output, *command) == plain,
       "what a command writes to a terminal is byte for byte the same under the agent with -q")
    reported = on_terminal(AGENT, "-o", output, *command)
    ok(reported.startswith(plain) and output.encode() in reported[len(plain):],
       "without -q it is followed by the report, and by nothing before that")
    warned = on_terminal("env", "XDG_CACHE_HOME=/proc", AGENT, "--debuginfod-url", "http://127.0.0.1:1", "-o", output,
                         *command)
    ok(warned.startswith(plain) and warned[len(plain):].startswith(b"perf-agent: warning: debuginfod: "),
       "messages of the agent wait until the command's terminal is free, and precede the report")


def test_live_losses(tmp):
    """The agent is stopped until sampling is over, so that it notices no loss before the end; then its output has no
    reader, so that the status line stays."""
    fifo, summary = os.path.join(tmp, "fifo"), os.path.join(tmp, "summary.json")
    os.mkfifo(fifo)
    reader = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)
    fcntl.fcntl(reader, fcntl.F_SETPIPE_SZ, 4096)
    ours, theirs = pty.openpty()
    spinners = [prog("spin", 60) for _ in range(os.cpu_count())]
    p = subprocess.Popen([AGENT, "-a", "-F", "9999", "-d", "2s", "--kernel-stacks", "--no-profile-output",
                          "--folded-output", fifo, f"--json={summary}"], stdout=theirs, stderr=theirs)
    os.close(theirs)
    wait_for_sampling(p)
    p.send_signal(signal.SIGSTOP)
    time.sleep(3)  # wait until the duration of the capture is over
    p.send_signal(signal.SIGCONT)
    shown = b""
    while not (live := re.search(rb"\rwriting, .*, (\d+) lost", shown)):
        shown += os.read(ours, 4096)
    os.set_blocking(reader, True)
    while os.read(reader, 65536):
        pass
    p.wait()
    for spinner in spinners:
        end(spinner)
    os.close(ours)
    os.close(reader)
    with open(summary) as f:
        lost = json.load(f)["sections"][0]["lost"]
    ok(lost > 0 and int(live[1]) == lost, f"{int(live[1])} lost samples are shown at the end, and {lost} were lost")


def is_in_exit(sample):
    return "do_exit" in sample.names()


def test_time_to_exit(tmp):
    """The same program twice: as the target, and as one of all processes."""
    big = [os.path.join(PROGS, "big_exit"), "600"]
    run = agent(tmp, "-F", 999, "--kernel-stacks", command=big)
    of_target = share(run.profile, is_in_exit)
    late = [s for s in run.profile.samples if s.labels.get("no_user_stack") == "exiting"]
    n = sum(s.count for s in late)
    ok(n > 0 and not any(is_user(f) for s in late for f in s.frames)
       and not any(s.labels.get("truncated") == "exiting" for s in run.profile.samples),
       f"{n} samples hit its exit after its memory was gone: without user frames, and not truncated")
    ok(run.summary["no_user_stack"] >= n, "samples after the end of the address space are counted as without a user stack")
    later = subprocess.Popen(["sh", "-c", "sleep 1; exec " + " ".join(big)])
    profile = agent(tmp, "-a", "-F", 999, "--kernel-stacks", "-d", "5s").profile
    later.wait()
    profile.samples = [s for s in profile.samples if s.labels["comm"] == "big_exit"]
    of_all = share(profile, is_in_exit)
    ok(of_all > 0.02 and of_target > of_all / 2,
       f"the time to exit is the target's: {of_target:.3f} of it, {of_all:.3f} among all processes")


def is_exiting(pid):
    with open(f"/proc/{pid}/stat") as f:
        return int(f.read().rsplit(")", 1)[1].split()[6]) & 4  # PF_EXITING


def child_of(pid):
    with open(f"/proc/{pid}/task/{pid}/children") as f:
        return int((f.read().split() or [0])[0])


def test_attach_to_exiting(tmp):
    """No event reports its exit, which had begun before it became a target. The first process of a namespace waits
    during its exit until all others are gone; one of them waits for us, its tracer."""
    outer = subprocess.Popen(["unshare", "-p", "-f", "sh", "-c", "sleep 1000 & wait"])
    wait_for(lambda: child_of(outer.pid), "the first process")
    first = child_of(outer.pid)
    wait_for(lambda: child_of(first), "its child")
    traced = child_of(first)
    if ctypes.CDLL(None, use_errno=True).ptrace(PTRACE_SEIZE, traced, None, None):
        raise OSError(ctypes.get_errno(), "PTRACE_SEIZE")
    os.kill(first, signal.SIGKILL)
    wait_for(lambda: is_exiting(first), "its exit")
    p = start_agent(tmp, "--pid", first, "-F", 99, "-d", "30s")
    time.sleep(2)
    os.waitpid(traced, WALL)
    run = finish_agent(p)
    outer.wait()
    ok(run.status == 0 and run.summary["targets_exited"] and run.summary["duration_ns"] < 20e9,
       f"a process that exits already ends the capture: {run.summary['duration_ns'] / 1e9:.1f} s")


def test_children(tmp):
    for seconds in (2, 6, 18, 54):  # on a busy machine fewer of them get to run
        run = agent(tmp, "-F", 1999, command=[os.path.join(PROGS, "shortlived"), seconds, 5])
        nr_children = int(re.search(r"^children (\d+)$", run.stdout, re.MULTILINE)[1])
        if nr_children >= MIN_CHILDREN:
            break
    pids = {s.labels["pid"] for s in run.profile.samples if "child_life" in s.names()}
    ok(nr_children >= MIN_CHILDREN and len(pids) > 0.8 * nr_children,
       f"{len(pids)} of {nr_children} children of 5 ms each have samples")
    ok(share(run.profile, lambda s: "child_life" in s.names()) > 0.7, "children of 5 ms each have most of the samples")
    parent = subprocess.Popen(["sh", "-c", f"{SPIN} 60 & {SPIN} 60 & wait"], stdout=subprocess.DEVNULL)
    kids = f"/proc/{parent.pid}/task/{parent.pid}/children"
    wait_for(lambda: len(open(kids).read().split()) == 2, "two children")
    pids = {int(x) for x in open(kids).read().split()}
    run = agent_until(100, tmp, "--pid", parent.pid, "-F", 499, seconds=1)
    ok({s.labels["pid"] for s in run.profile.samples} == pids, "children that exist at start are covered")
    run = agent(tmp, "--pid", parent.pid, "-F", 499, "-d", "1s", "--no-follow-children")
    ok(run.profile.total() == 0 and adds_up(run.summary), "--no-follow-children leaves them out")
    for pid in pids:
        os.kill(pid, signal.SIGKILL)
    parent.wait()


def test_exit(tmp):
    target = prog("spin", 2)
    begin = time.monotonic()
    run = agent(tmp, "--pid", target.pid, "-F", 4999, "-d", "60s")
    ok(run.status == 0 and time.monotonic() - begin < 15, "a run ends when its target does")
    ok(run.profile.total() > 50 and share(run.profile, is_spin) > 0.9, "what was seen is named")
    s = run.summary
    ok(s["agent_cpu_ns"] < 1e9, "the agent does not spin")
    ok(0 < s["agent_sampling_cpu_ns"] < s["agent_cpu_ns"]
       and 0 < s["agent_sampling_rss_bytes"] <= s["agent_peak_rss_bytes"],
       "what sampling cost is part of what all cost")
    ok(0 < s["agent_sampling_wakeups"] < s["agent_wakeups"] < 5000, "wake-ups are counted, and few")
    ok(not s["programs"] and s["programs_ns"] == 0 and s["no_program_times"] is None,
       "run times of BPF programs are not measured unless asked for")


def test_program_times(tmp):
    target = prog("spin", 60)
    run = agent(tmp, "--pid", target.pid, "-F", 499, "-d", "1s", "-v")
    end(target)
    s = run.summary
    ticks = next(x for x in s["sections"] if x["name"] == "on-cpu")
    missed = next(x["count"] for x in ticks["losses"] if x["name"] == "not_delivered")
    oncpu = next(x for x in s["programs"] if x["name"] == "pa_oncpu")
    ok(oncpu["nr_runs"] == ticks["due"] - missed > 100, f"the program ran once per tick: {oncpu}, {ticks}")
    ok(s["programs_ns"] == sum(x["run_ns"] for x in s["programs"]) > oncpu["nr_runs"] * 20,
       f"BPF programs took time: {s['programs']}")
    ok(" in BPF programs: " in run.stderr and "woken up " in run.stderr, f"-v shows it: {run.stderr}")


def test_signals(tmp):
    target = prog("spin", 60)
    for sig in (signal.SIGINT, signal.SIGTERM):
        p = start_agent(tmp, "--pid", target.pid, "-F", 499, "-d", "60s")
        wait_for_sampling(p, target.pid)
        p.send_signal(sig)
        run = finish_agent(p)
        ok(run.status == 0 and run.profile.total() > 10, f"{sig.name} ends early and writes everything")
        ok(run.summary["end_signal"] == sig.name and f" of 1m, until {sig.name}, on" in run.stderr
           and f"# end signal: {sig.name}" in run.profile.comments,
           f"{sig.name} is why it ended in report, JSON and profile: {run.stderr.splitlines()[:2]}")
    end(target)


def test_copied_signal(tmp):
    """As of 'timeout 30 sudo perf-agent': what timeout sends to all is passed on by sudo, too."""
    target = prog("spin", 60)
    p = start_agent(tmp, "--pid", target.pid, "-F", 499, "-d", "60s")
    other = subprocess.Popen(["sh", "-c", f"read go; kill -TERM {p.pid}"], stdin=subprocess.PIPE)
    wait_for_sampling(p, target.pid)
    p.send_signal(signal.SIGTERM)
    time.sleep(0.02)  # else the kernel makes one of them
    other.communicate(b"\n")
    run = finish_agent(p)
    ok(run.status == 0 and run.profile and run.profile.total() > 10,
       f"a signal that comes from two processes is one: {run.status}")
    end(target)


def test_exec(tmp):
    run = agent(tmp, "-F", 999, command=["sh", "-c", f"i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done; exec {SPIN} 1"])
    comms = {s.labels["comm"] for s in run.profile.samples}
    ok(comms == {"sh", "spin"}, f"an exec changes who it is: {sorted(comms)}")
    wrong = [s for s in run.profile.samples
             if (s.labels["comm"] == "spin") and any("/sh" in f.path or "/dash" in f.path for f in s.frames)]
    ok(not wrong, "no frame of the old program appears under the new name")


def is_user(frame):
    return frame.path != "[kernel]"


def test_midst_of_exec(tmp):
    """In the middle of execve() the registers belong to an image that is gone: they are not used for walking."""
    command = [os.path.join(PROGS, "exec_again"), 80, 64]
    run = agent(tmp, "-F", 999, "--kernel-stacks", command=command)
    inside = [s for s in run.profile.samples if s.labels.get("no_user_stack") == "exec"]
    n = sum(s.count for s in inside)
    ok(run.status == 0 and n >= 50, f"execve: {n} samples hit a process in the middle of it")
    ok(not any(is_user(f) for s in inside for f in s.frames), "execve: samples in the middle of it have no user frames")
    late = [s for s in run.profile.samples
            if {"begin_new_exec", "load_elf_binary"} & set(s.names()) and s not in inside]
    ok(not late, f"{len(late)} stacks in the midst of execve() are not marked so")
    ok(run.summary["no_user_stack"] >= n and not any("exec" == c["reason"] for c in run.summary["truncations"]),
       f"{run.summary['no_user_stack']} samples are counted as without a user stack, none of these as truncated")
    ok(share(run.profile, lambda s: "fill_memory" in s.names()) > 0.5, "what runs before is walked")
    run = agent(tmp, "-F", 999, command=command)
    inside = [s for s in run.profile.samples if s.labels.get("no_user_stack") == "exec"]
    ok(inside and all(len(s.frames) == 1 and not is_user(s.frames[0]) for s in inside),
       "without kernel stacks each has the one kernel address it was at")


def cpu_ns(pid):
    """CPU time of a process's first thread."""
    with open(f"/proc/{pid}/task/{pid}/schedstat") as f:
        return int(f.read().split()[0])


def test_churn(tmp):
    """Threads that end while their process lives do not end the capture."""
    target = prog("churn", 120, stdout=subprocess.PIPE, text=True)
    ok("ready" in target.stdout.readline(), "a process whose threads come and go runs")
    for seconds in (3, 6, 12, 24):  # on a busy machine the process gets less CPU time
        begin, used = time.monotonic(), cpu_ns(target.pid)
        run = agent(tmp, "--pid", target.pid, "-F", 499, "-d", f"{seconds}s")
        on_cpu = (cpu_ns(target.pid) - used) / (time.monotonic() - begin) / 1e9
        if on_cpu * seconds > 0.4:
            break
    end(target)
    t = run.summary
    ok(run.status == 0 and adds_up(t), "churn of threads: the capture succeeds and its counts add up")
    ok(seconds - 0.01 <= t["duration_ns"] / 1e9 < seconds + 7 and not t["targets_exited"],
       f"churn of threads: the capture lasts to its end: {t['duration_ns'] / 1e9:.2f} of {seconds} s")
    main = sum(s.count for s in run.profile.samples
               if s.labels["tid"] == target.pid and "churn_main" in s.names())
    expected = on_cpu * t["duration_ns"] / 1e9 * 499
    # Half of it: on a busy machine its share of the CPUs is different while the agent starts and ends.
    ok(main >= 0.5 * expected > 50,
       f"the main thread is sampled to the end: {main} times where {expected:.0f} are its share")
    passers = {s.labels["tid"] for s in run.profile.samples if "churn_thread" in s.names()}
    ok(len(passers) >= 50 and target.pid not in passers, f"{len(passers)} passing threads have samples")


def test_many_threads(tmp):
    target = prog("threads", 10000, 2, 120, stdout=subprocess.PIPE, text=True)
    ok("ready" in target.stdout.readline(), "10,000 threads are there")
    run = agent_until(300, tmp, "--pid", target.pid, "-F", 499, seconds=2)
    ok(run.status == 0 and share(run.profile, lambda s: "burn_loop" in s.names()) > 0.95,
       "the burners are found among 10,000 sleepers")
    ok({s.labels["thread"] for s in run.profile.samples} == {"burner"}, "by their thread's name")
    end(target)


def state_of(pid):
    with open(f"/proc/{pid}/stat") as f:
        return f.read().rsplit(")", 1)[1].split()[0]


def test_first_thread_gone(tmp):
    target = prog("threads", 0, 2, 120, 1, stdout=subprocess.PIPE, text=True)
    target.stdout.readline()
    wait_for(lambda: state_of(target.pid) == "Z", "the first thread's exit")
    run = agent_until(300, tmp, "--pid", target.pid, "-F", 499, seconds=1)
    ok(run.status == 0 and share(run.profile, lambda s: "burner_main" in s.names()) > 0.95,
       "a process whose main thread has exited has symbols")
    ok(run.summary["stacks_complete"] >= 0.99 * run.profile.total(),
       "a process whose main thread has exited has complete stacks")
    end(target)


def test_deep(tmp):
    target = prog("deep", 600, 60, stdout=subprocess.PIPE, text=True)
    ok("ready" in target.stdout.readline(), "a deep recursion runs")
    run = agent_until(100, tmp, "--pid", target.pid, "-F", 499, seconds=1)
    deep = [s for s in run.profile.samples if "deep_call" in s.names()]
    ok(deep and all(s.labels.get("truncated") == "too_deep" and len(s.frames) == 512 for s in deep),
       "a stack of 600 frames is truncated at 512, with the reason")
    end(target)
    target = prog("deep", 400, 60, stdout=subprocess.PIPE, text=True)
    target.stdout.readline()
    run = agent_until(100, tmp, "--pid", target.pid, "-F", 499, seconds=1)
    ok(all(s.names().count("deep_call") == 400 for s in run.profile.samples if "deep_bottom" in s.names()),
       "400 frames are all there")
    end(target)


def exe_of(pid):
    try:
        return os.readlink(f"/proc/{pid}/exe")
    except OSError:
        return ""


def run_copy(tmp, path):
    shutil.copy(SPIN, path)
    return subprocess.Popen([path, "60"], stdout=subprocess.DEVNULL)


def test_files(tmp):
    path = os.path.join(tmp, "a b (deleted) spin")
    target = run_copy(tmp, path)
    run = agent_until(100, tmp, "--pid", target.pid, "-F", 499, seconds=1)
    ok(share(run.profile, lambda s: s.frames[0].path == path and is_spin(s)) > 0.9,
       "a path with spaces and a misleading end is kept as it is")
    os.unlink(path)
    run = agent_until(100, tmp, "--pid", target.pid, "-F", 499, seconds=1)
    ok(share(run.profile, lambda s: s.frames[0].path == path and is_spin(s)) > 0.9,
       "a deleted binary is named")
    end(target)

    path = os.path.join(tmp, "replaced")
    target = run_copy(tmp, path)
    p = start_agent(tmp, "--pid", target.pid, "-F", 499, "-d", "3s")
    time.sleep(1)
    shutil.copy("/bin/ls", path + ".new")
    os.rename(path + ".new", path)
    run = finish_agent(p)
    ok(share(run.profile, is_spin) > 0.9, "a binary replaced during the run keeps its own names")
    end(target)

    code = (f"import os; fd = os.memfd_create('hidden'); os.write(fd, open('{SPIN}', 'rb').read()); "
            "os.execv(f'/proc/self/fd/{fd}', ['hidden', '60'])")
    target = subprocess.Popen(["python3", "-c", code], stdout=subprocess.DEVNULL)
    wait_for(lambda: "memfd" in exe_of(target.pid), "the memfd's exec")
    run = agent_until(100, tmp, "--pid", target.pid, "-F", 499, seconds=1)
    ok(share(run.profile, lambda s: "memfd:hidden" in s.frames[0].path and is_spin(s)) > 0.9,
       "a program without a file is named")
    end(target)


def test_other_mounts(tmp):
    if no_mount_namespace():
        skip(no_mount_namespace())
        return
    hidden = os.path.join(tmp, "hidden")
    os.mkdir(hidden)
    script = f"mount -t tmpfs t {hidden} && cp {SPIN} {hidden}/inner && exec {hidden}/inner 60"
    target = subprocess.Popen(["unshare", "-m", "sh", "-c", script], stdout=subprocess.DEVNULL)
    wait_for(lambda: exe_of(target.pid).endswith("inner"), "the other namespace's exec")
    # The path that the kernel shows us: in a chroot, the executed path follows that of the root.
    shown = exe_of(target.pid)
    run = agent_until(100, tmp, "--pid", target.pid, "-F", 499, seconds=1)
    ok(shown.endswith(f"{hidden}/inner"), f"the kernel shows {shown}")
    ok(share(run.profile, lambda s: s.frames[0].path == shown and is_spin(s)) > 0.9,
       "a binary of another mount namespace is named")
    end(target)


def test_outputs(tmp):
    target = prog("spin", 60)
    folded = os.path.join(tmp, "out.folded")
    run = agent(tmp, "--pid", target.pid, "-F", 999, "-d", "1s", "--folded-output", folded)
    lines = {}
    for line in open(folded):
        stack, count = line.rsplit(" ", 1)
        lines[re.sub(r"_\[[kji]\]", "", stack)] = int(count)  # the name does not contain the kind of frame
    expected = {}
    for s in run.profile.samples:
        stack = ";".join([s.labels["comm"], *reversed(s.names())])
        expected[stack] = expected.get(stack, 0) + s.count
    ok(lines == expected, "folded stacks and pprof agree sample for sample")

    for _ in range(2):
        subprocess.run([AGENT, "--profile", "--pid", str(target.pid), "-d", "200ms", "-q"], cwd=tmp, check=True)
    names = sorted(os.path.basename(x) for x in glob.glob(os.path.join(tmp, "spin-*-on-cpu*.pb.gz")))
    ok(len(names) == 2 and all(re.fullmatch(r"spin-\d{12}-on-cpu(-1)?\.pb\.gz", x) for x in names),
       f"automatic names never overwrite: {names}")
    r = subprocess.run([AGENT, "--profile", "--pid", str(target.pid), "-d", "200ms", "-q", "-o", "-"],
                       capture_output=True)
    ok(r.returncode == 0 and r.stdout[:2] == b"\x1f\x8b", "-o - writes to standard output")
    fifo = os.path.join(tmp, "fifo")
    os.mkfifo(fifo)
    reader = subprocess.Popen(["head", "-c", "2", fifo], stdout=subprocess.PIPE)
    r = subprocess.run([AGENT, "--profile", "--pid", str(target.pid), "-d", "200ms", "-q", "-o", fifo])
    ok(reader.communicate()[0] == b"\x1f\x8b" and os.path.exists(fifo), "a FIFO is written in place")
    end(target)


def test_kernel_types(tmp):
    """A bit that no header defines yet, and that libbpf ignores: then libbpf gets all the types."""
    complaint = "not loaded with an extract of the kernel's types"
    target = prog("spin", 60)
    run = agent_until(1, tmp, "--pid", target.pid, "-vv", seconds=1)
    ok(run.status == 0 and complaint not in run.stderr, "an extract of the kernel's types is enough")
    if no_mount_namespace():
        skip(no_mount_namespace())
        end(target)
        return
    odd = os.path.join(tmp, "types")
    with open(TYPES, "rb") as f:
        types = bytearray(f.read())
    header_bytes, types_at = struct.unpack_from("<II", types, 4)
    types[header_bytes + types_at + 6] |= 1
    with open(odd, "wb") as f:
        f.write(types)
    run = agent_until(1, tmp, "--pid", target.pid, "-vv", seconds=1,
                      before=["unshare", "-m", "sh", "-c", 'mount --bind "$0" "$1" && shift && exec "$@"', odd, TYPES])
    ok(complaint in run.stderr, "odd types are not extracted")
    ok(run.status == 0 and run.profile.total(), "the capture works with types that are not extracted")
    end(target)


def test_machine(tmp):
    busy = prog("syscalls", 60)
    writer = subprocess.Popen(["sh", "-c", f"while :; do dd if=/dev/zero of={tmp}/junk bs=1M count=64 "
                               "conv=fsync 2>/dev/null; done"])
    run = agent(tmp, "-a", "-F", 1999, "-d", "4s")
    writer.kill()
    writer.wait()
    end(busy)
    p = run.profile
    # The stack of a kernel task is one named kernel address, complete, if kernel stacks were not requested.
    kernel = [s for s in p.samples if all(f.path == "[kernel]" for f in s.frames) and "truncated" not in s.labels]
    note(f"kernel tasks: {sorted({s.labels['comm'] for s in kernel})}")
    odd = [s for s in kernel if len(s.frames) != 1 or not s.frames[0].is_named]
    note("\n".join(f"{[f'{f.address:#x} {f.name}' for f in s.frames]} {s.labels}" for s in odd))
    ok(kernel and not odd, f"{sum(s.count for s in kernel)} samples of kernel threads, each with one named frame")
    ok(not any(s.labels["pid"] == 0 for s in p.samples), "idle is not in the profile")
    ok(adds_up(run.summary), "the ticks add up")


need_root()
for test in (test_command, test_terminal, test_live_losses, test_time_to_exit, test_attach_to_exiting, test_children,
             test_exit, test_program_times, test_signals, test_copied_signal, test_exec, test_midst_of_exec, test_churn, test_many_threads,
             test_first_thread_gone, test_deep, test_files, test_other_mounts, test_outputs, test_kernel_types,
             test_machine):
    test(workdir())
done()
