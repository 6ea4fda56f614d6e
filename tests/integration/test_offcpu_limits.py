# SPDX-License-Identifier: Apache-2.0
"""Off-CPU profiles of targets that are hard to follow: more context switches than could be copied, 10,000 threads,
more threads than there is room for, threads that live less than a millisecond, processes whose first thread has
exited, members of a cgroup that wait before the capture. Every interval is accounted for."""
import json
import os
import re
import subprocess

from harness import PROGS, cgroup2_mount, done, end, need_root, note, ok, prog, skip, wait_for, workdir
from pprof import Profile

SECONDS = 3
NR_THREADS = 10000
PAUSE = "pause" if os.uname().machine == "x86_64" else "ppoll"


def section(summary):
    return next(s for s in summary["sections"] if s["name"] == "off-cpu")


def counts(s):
    return {c["name"]: c["count"] for c in s["counts"] + s["losses"]}


def check_account(s, profile, what):
    ok(s["due"] == s["samples"] + s["lost"] + sum(c["count"] for c in s["counts"]) and s["unexplained"] == 0,
       f"{what}: all of {s['due']} intervals are accounted for")
    ok(s["lost"] == sum(c["count"] for c in s["losses"]), f"{what}: every loss has a name")
    ok(s["samples"] == profile.total(), f"{what}: {s['samples']} of them are in the profile")


def profile_of(tmp, target, *args, how=()):
    """The profile, the summary and the account of a running target, which gets a line when the capture has begun."""
    path, summary = os.path.join(tmp, "off.pb.gz"), os.path.join(tmp, "off.json")
    agent = subprocess.Popen([os.environ["PERF_AGENT"], "--offcpu", "-v", *(how or ("-p", str(target.pid))),
                              "--offcpu-output", path, f"--json={summary}", *args], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    note(agent.stderr.readline())  # the capture has begun
    target.stdin.write(b"\n")
    target.stdin.flush()
    note(agent.communicate()[1])
    with open(summary, encoding="utf-8") as f:
        s = json.load(f)
    return Profile(path), s, section(s)


def in_function(profile, name):
    return [x for x in profile.samples if name in x.names()]


def is_whole(sample):
    return "truncated" not in sample.labels


def check_fast(tmp):
    target = prog("pingpong", 0, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    target.stdout.readline()
    p, _, s = profile_of(tmp, target, "-d", f"{SECONDS}s")
    end(target)
    check_account(s, p, "two threads that only switch")
    turns = in_function(p, "take_turn")
    note(f"{sum(x.count for x in turns) / SECONDS:.0f} waits per second")
    ok(turns and all(is_whole(x) and len(x.frames) == 27 for x in turns),
       f"all stacks have 27 frames, from the first on: {sorted({len(x.frames) for x in turns})}")
    ok(sum(x.count for x in turns) == sum(x.count for x in p.samples if is_whole(x) and "pass_ball" in x.names()),
       "all waits in pass_ball are in take_turn")
    lost = {x["name"] for x in s["losses"] if x["count"]}
    ok(lost <= {"not_delivered", "no_end"}, f"nothing is lost but what the kernel does not deliver: {lost or 'nothing'}")


def state_of(pid):
    with open(f"/proc/{pid}/stat", encoding="ascii") as f:
        return f.read().rsplit(")", 1)[1].split()[0]


def check_first_thread_gone(tmp, *selection):
    """Threads that waited before the capture, and some that are created during it."""
    target = prog("threads", 3, 1, 120, 2, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    target.stdout.readline()
    wait_for(lambda: state_of(target.pid) == "Z", "the first thread's exit")
    on_path, what = os.path.join(tmp, "on.pb.gz"), " ".join(selection) or "-p"
    p, _, s = profile_of(tmp, target, "-d", "3s", "--profile", "-o", on_path, "-F", "499", how=selection)
    end(target)
    check_account(s, p, f"a process without its first thread, {what}")
    waits = [x for x in in_function(p, "sleeper_main") if x.labels["pid"] == target.pid]
    ok(len(waits) == 3 and all(is_whole(x) and x.names()[-2] == "start_thread" and x.labels.get("syscall") == PAUSE
                               for x in waits), f"{what}: those that waited before are in the system call, with their stack")
    burnt = [x for x in Profile(on_path).samples if x.labels["pid"] == target.pid]
    right = sum(x.count for x in burnt if is_whole(x) and x.names()[-3:-1] == ["burner_main", "start_thread"])
    ok(right > 0.99 * sum(x.count for x in burnt) > 0, f"{what}: one that was created later has its stack: {right}")


def check_deep_before(tmp, depth, is_short):
    """Stacks of threads that waited before the capture: of 44 KiB, and larger than what is read of a stack."""
    target = prog("deep_wait", depth, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    target.stdout.readline()
    wait_for(lambda: all(state_of(f"{target.pid}/task/{tid}") == "S" for tid in os.listdir(f"/proc/{target.pid}/task")),
             "both threads to wait")
    p, _, s = profile_of(tmp, target, "-d", "1s")
    end(target)
    check_account(s, p, f"{depth} deep calls")
    waits = in_function(p, "deep_call")
    if is_short:
        ok(len(waits) == 2 and all(is_whole(x) and x.names().count("deep_call") == depth for x in waits),
           f"both stacks of {depth} calls are whole: {[len(x.frames) for x in waits]} frames")
    else:
        ok(len(waits) == 2 and all(x.labels.get("truncated") == "big_stack" for x in waits),
           f"stacks of {depth} calls are too big: {[x.labels.get('truncated') for x in waits]}")


def check_one_window(tmp, *more):
    """Threads that only sleep: the off-CPU profile and the time of threads cover the same time."""
    target = prog("threads", 1000, 0, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    target.stdout.readline()
    p, summary, s = profile_of(tmp, target, "-d", "700ms", "--profile", "-o", os.path.join(tmp, "on.pb.gz"), *more)
    end(target)
    what = f"1,000 threads that sleep, {' '.join(more) or 'without --pmu'}"
    check_account(s, p, what)
    waited, blocked = sum(x.values[1] for x in p.samples), summary["threads"][0]["blocked_ns"]
    note(f"{waited / 1e9:.6f} s off the CPU, {blocked / 1e9:.6f} s blocked")
    ok(blocked and abs(waited / blocked - 1) < 1e-5, f"{what}: time off the CPU is the time they were blocked")


def was_gone(sample):
    """Whether a thread that waited before the capture was woken before its stack could be read: once at most."""
    return sample.labels["truncated"] == "woken" and sample.count == 1


def check_many(tmp, what, *how):
    target = prog("crowd", NR_THREADS, SECONDS, *how, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    target.stdout.readline()
    p, _, s = profile_of(tmp, target, "-d", f"{SECONDS}s")
    target.kill()
    target.wait()
    check_account(s, p, what)
    naps = in_function(p, "nap")
    seen = {x.labels["tid"] for x in naps}
    ok(len(seen) == NR_THREADS, f"{what}: {len(seen)} are in the profile")
    truncated = [x for x in p.samples if not is_whole(x) and ("long" in how or not was_gone(x))]
    note("\n".join(f"{x.labels['truncated']}: {x.names()}" for x in truncated[:5]))
    ok(not truncated, f"{what}: no stack is truncated: {len(truncated)} are")
    ok(counts(s)["threads_full"] == 0, f"{what}: there is room for all of them")


def check_full(tmp):
    """More threads than the kernel's map has room for."""
    room, nr = 20, 30
    target = prog("threads", nr, 0, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    target.stdout.readline()
    path = os.path.join(tmp, "full.pb.gz")
    r = subprocess.run([os.path.join(PROGS, "full_threads"), "1", path, str(target.pid), str(room)], capture_output=True,
                       text=True, check=False)
    end(target)
    note(r.stdout + r.stderr)
    words = r.stdout.split()
    s = dict(zip(words[2:10:2], map(int, words[3:10:2])))
    losses = {a[1]: int(a[2]) for a in (line.split() for line in r.stdout.splitlines()) if a[0] == "#"}
    ok(r.returncode == 0 and s["due"] == s["sum"] and s["lost"] == sum(losses.values()),
       "a full map of threads: all intervals are accounted for")
    ok(losses["threads_full"] == nr + 1 - room, f"a full map of threads: {losses['threads_full']} intervals found no room")
    p = Profile(path)
    ok(len({x.labels["tid"] for x in p.samples}) == p.total() == s["samples"] == room,
       f"a full map of threads: those that have room are in the profile: {p.total()}")


def check_brief(tmp):
    target = prog("crowd", 20, SECONDS, "brief", stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    target.stdout.readline()
    p, _, s = profile_of(tmp, target, "-d", "0")  # until the target exits
    nr_naps, nr_threads = map(int, re.findall(rb"\d+", target.stdout.read()))
    end(target)
    check_account(s, p, f"{nr_threads} threads that end after 0.2 ms")
    naps = in_function(p, "nap")
    seen = sum(x.count for x in naps)
    lost = s["lost"]
    # A thread may be woken before it has left its CPU: then it does not wait. Lost intervals may belong to any thread.
    ok(0.95 * nr_naps - lost <= seen <= nr_naps, f"{seen} of {nr_naps} naps are in the profile, {lost} are lost")
    ok(len({x.labels["tid"] for x in naps}) > 0.9 * min(nr_threads, 1000), "of as many threads")


def check_cgroup(tmp):
    mount = cgroup2_mount()
    if not mount:
        skip("members of a cgroup that wait before the capture begins: cgroup v2 is not mounted")
        return
    top = os.path.join(mount, f"perf-agent-offcpu-{os.getpid()}")
    below = os.path.join(top, "below")
    os.makedirs(below)
    target, other = (prog("waits", 60, tmp, stdin=subprocess.PIPE, stdout=subprocess.PIPE) for _ in range(2))
    for waits in target, other:
        waits.stdout.readline()
    try:
        with open(os.path.join(below, "cgroup.procs"), "w", encoding="utf-8") as f:
            f.write(str(target.pid))
        path, summary = os.path.join(tmp, "cgroup.pb.gz"), os.path.join(tmp, "cgroup.json")
        run = subprocess.run([os.environ["PERF_AGENT"], "--offcpu", "-v", "--cgroup", top, "-d", "1s", "--offcpu-output",
                              path, f"--json={summary}"], stderr=subprocess.PIPE, text=True, check=False)
        note(run.stderr)
        p = Profile(path)
        with open(summary, encoding="utf-8") as f:
            check_account(section(json.load(f)), p, "a cgroup")
        for name in "wait_long", "wait_forever":
            found = in_function(p, name)
            ok([x.labels["pid"] for x in found] == [target.pid] and is_whole(found[0])
               and found[0].values[1] > 0.9 * p.duration_nanos,
               f"a member of a cgroup below that waits all the time is in the profile, in {name}; no other process is")
    finally:
        end(target)
        end(other)
        os.rmdir(below)
        os.rmdir(top)


need_root()
directory = workdir()
check_fast(directory)
check_many(directory, f"{NR_THREADS} threads")
check_many(directory, f"{NR_THREADS} threads that wait all the time", "long")
check_full(directory)
check_brief(directory)
check_first_thread_gone(directory)
check_first_thread_gone(directory, "-a")
check_deep_before(directory, 70, True)
check_deep_before(directory, 400, False)
check_one_window(directory)
check_one_window(directory, "--pmu")
check_cgroup(directory)
done()
