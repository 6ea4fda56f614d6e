# SPDX-License-Identifier: Apache-2.0
"""Scheduler statistics of programs with known behavior: compared with the kernel's own counters, and with every single
event."""
import json
import math
import os
import signal
import struct
import subprocess
import sys
import threading
import time

from harness import AGENT, PROGS, cgroup2_mount, cpu_s, done, end, links, need_root, note, ok, prog, skip, wait_for, workdir

SECONDS = 3
MAX_PROCESSES = 2048  # that are listed individually
MAX_THREADS = 256  # that are listed individually
MAX_RUNS = 4
MAX_GAPS = 0.01  # share of events that the kernel has not delivered
MAX_ERROR = 0.03  # relative error of the histogram
CLOCKS_NS = 1000  # two programs at one tracepoint read the clock one after the other
SWITCH_NS = 10000  # a context switch itself, which the kernel counts for one of the two tasks
EDGE_EVENTS = 2  # events that one of the two saw before the other began, or after it ended

SLEEPER = """
import sys, time
print("ready", flush=True)
sys.stdin.readline()
for _ in range({nr}):
    time.sleep({seconds})
    until = time.thread_time() + {busy}
    while time.thread_time() < until:
        pass
print("done", flush=True)
sys.stdin.readline()
"""
IDLE = """
import sys
print("ready", flush=True)
sys.stdin.readline()
"""
SHORT_THREADS = """
import sys, threading, time
def run(*args):
    thread = threading.Thread(target=time.sleep, args=args)
    thread.start()
    thread.join()
    return thread.native_id
print("ready", flush=True)
sys.stdin.readline()
for _ in range(5000):
    run(0)
print(run(1), flush=True)
sys.stdin.readline()
"""
PING_PONG = """
import os
r1, w1 = os.pipe()
r2, w2 = os.pipe()
if os.fork() == 0:
    while os.read(r1, 1):
        os.write(w2, b"x")
while True:
    os.write(w1, b"x")
    os.read(r2, 1)
"""


def python(script, cpu=None):
    before = ["taskset", "-c", str(cpu)] if cpu is not None else []
    return subprocess.Popen([*before, sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                            text=True, start_new_session=True)


def end_all(*processes):
    for p in processes:
        try:
            os.killpg(p.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        p.wait()


def start_pmu(*args):
    path = os.path.join(tmp, "summary.json")
    if os.path.exists(path):
        os.unlink(path)
    p = subprocess.Popen([AGENT, "--pmu", *map(str, args), f"--json={path}"], cwd=tmp, stdout=subprocess.PIPE,
                         stderr=subprocess.PIPE, text=True)
    p.summary_path = path
    return p


def wait_for_start(p):
    """Waits until the agent reports that it has counted everything."""
    line = p.stderr.readline()
    ok(line.startswith("perf-agent: profiling "), f"the capture has begun: {line.strip()}")


def finish_pmu(p):
    stdout, stderr = p.communicate(timeout=120)
    if p.returncode:
        note(stderr)
    p.text, p.report = stdout, stderr
    with open(p.summary_path) as f:
        p.summary = json.load(f)
    return p


def pmu(*args):
    return finish_pmu(start_pmu(*args))


def status(pid, field):
    with open(f"/proc/{pid}/status") as f:
        return next(int(line.split()[1]) for line in f if line.startswith(field + ":"))


def schedstat(pid):
    """CPU time and run queue time of the first thread, as counted by the kernel; None: the kernel does not count it."""
    try:
        with open(f"/proc/{pid}/schedstat") as f:
            run, wait, _ = map(int, f.read().split())
    except OSError:
        return None
    return (run, wait) if run else None


def gap(summary, name):
    return next(x["count"] for x in summary["pmu_gaps"] if x["name"] == name)


def adds_up(summary):
    s = next(x for x in summary["sections"] if x["name"] == "sched")
    return s["due"] == sum(x["count"] for x in s["counts"]) + s["samples"] and s["lost"] == 0


def test_counts():
    """A process that sleeps a known number of times between two moments at which it waits for input."""
    nr = 1000
    target = python(SLEEPER.format(nr=nr, seconds=0.0002, busy=0.0005))
    target.stdout.readline()
    wait_for(lambda: status_line(target.pid).startswith("S"), "the program to wait for input")
    p = start_pmu("-p", target.pid, "-d", "0")
    wait_for_start(p)
    before = [status(target.pid, x) for x in ("voluntary_ctxt_switches", "nonvoluntary_ctxt_switches")]
    stat_before = schedstat(target.pid)
    target.stdin.write("go\n")
    target.stdin.flush()
    target.stdout.readline()
    wait_for(lambda: status_line(target.pid).startswith("S"), "the program to sleep again")
    after = [status(target.pid, x) for x in ("voluntary_ctxt_switches", "nonvoluntary_ctxt_switches")]
    stat_after = schedstat(target.pid)
    p.send_signal(signal.SIGINT)
    finish_pmu(p)
    end_all(target)
    s = p.summary["pmu"][0]
    voluntary, preempted = after[0] - before[0], after[1] - before[1]
    note(f"the kernel counts {voluntary} voluntary and {preempted} involuntary switches: {s}")
    # a timer that fires before the program has left its CPU wakes up nobody
    ok(p.returncode == 0 and voluntary > 0.9 * nr, "the program slept about as often as it should")
    ok(s["nr_voluntary"] + s["nr_io_wait"] == voluntary and s["nr_preempted"] == preempted,
       "switches by reason are those that the kernel counts for the process, exactly")
    unseen = gap(p.summary, "unseen")
    ok(s["nr_switches"] == voluntary + preempted == s["on_cpu_count"] + unseen,
       f"each switch ends a slice that was measured, or whose begin the kernel did not report ({unseen})")
    lost = gap(p.summary, "waits_lost")
    ok(s["run_queue_count"] + unseen + lost == s["nr_switches"],
       f"each slice follows a wait that was measured, or whose begin the kernel did not report ({lost})")
    ok(adds_up(p.summary), "every context switch of the machine is accounted for")
    if stat_before and stat_after:
        run, wait = (b - a for a, b in zip(stat_before, stat_after))
        note(f"the kernel counts {run} ns on a CPU and {wait} ns of waiting")
        slack = s["nr_switches"] * SWITCH_NS + unseen * run / nr * 10
        stolen = p.summary["steal_ns"] or 0  # by the hypervisor: the kernel does not count it as the program's
        note(f"{stolen} ns were stolen by the host")
        ok(0.97 * run - slack < s["on_cpu_sum_ns"] < 1.03 * run + slack + stolen,
           "the sum of slices is the CPU time of the kernel, and what the host took")
        ok(abs(s["run_queue_sum_ns"] - wait) < 0.03 * wait + slack + stolen,
           "the sum of waits is the kernel's own run-queue delay")


def status_line(pid):
    with open(f"/proc/{pid}/status") as f:
        return next(line.split()[1] for line in f if line.startswith("State:"))


def test_hogs():
    """Two busy loops share a CPU: each is preempted, and waits for as long as the other runs."""
    cpu = max(os.sched_getaffinity(0))
    hogs = [prog("spin", 600) for _ in range(2)]
    for h in hogs:
        os.sched_setaffinity(h.pid, {cpu})
    p = pmu("-p", hogs[0].pid, "-d", f"{SECONDS}s")
    for h in hogs:
        end(h)
    s = p.summary["pmu"][0]
    note(s)
    ok(s["nr_preempted"] > 50 and s["nr_preempted"] >= 0.95 * s["nr_switches"], "a busy loop is preempted")
    # most waits are shorter if other processes keep waking up
    ok(s["run_queue_max_ns"] > 1e6, f"one busy loop waits for the other: up to {s['run_queue_max_ns'] / 1e6} ms")
    share = s["run_queue_sum_ns"] / p.summary["duration_ns"]
    ok(share > 0.3, f"one of two busy loops waits for much of the capture: {share:.2f}")
    ok(max(s["on_cpu_max_ns"], s["run_queue_max_ns"]) <= p.summary["duration_ns"] * (1 + MAX_ERROR),
       "nothing is longer than the capture: neither the first slice nor the first wait is invented")
    used = s["on_cpu_total_ns"] + s["run_queue_sum_ns"]
    # an event that the kernel did not report leaves a slice or a wait without a length
    missing = (gap(p.summary, "unseen") + gap(p.summary, "waits_lost")) * (s["on_cpu_max_ns"] + s["run_queue_max_ns"])
    ok(0.9 * p.summary["duration_ns"] - missing < used < 1.03 * p.summary["duration_ns"],
       f"a busy loop runs or waits for a CPU all the time: {used / p.summary['duration_ns']:.3f}")


def test_ping_pong():
    pair = python(PING_PONG)
    p = pmu("-p", pair.pid, "-d", f"{SECONDS}s")
    end_all(pair)
    s = p.summary["pmu"][0]
    numbers = [s[f"run_queue_{x}_ns"] for x in ("min", "p50", "p95", "p99", "p999", "max", "mean")]
    ok(s["run_queue_count"] > 1000 and all(x > 0 for x in numbers) and numbers[:6] == sorted(numbers[:6]),
       f"every wake-up is followed by a wait: {s['run_queue_count']} of them, {numbers} ns")
    ok(s["nr_switches"] == s["nr_preempted"] + s["nr_voluntary"] + s["nr_io_wait"] + s["nr_stopped"] + s["nr_exited"],
       "switches are the sum of their reasons")


class Recorder:
    """Records every event of some processes, or of all, until it is stopped."""

    def __init__(self, *pids):
        self.path = os.path.join(tmp, "events")
        with open(self.path, "wb") as out:
            self.p = subprocess.Popen([os.path.join(PROGS, "sched_events"), *map(str, pids)], stdin=subprocess.PIPE,
                                      stdout=out, stderr=subprocess.PIPE, text=True)
        self.is_ready = self.p.stderr.readline() == "ready\n"

    def stop(self):
        self.p.stdin.close()
        self.p.wait()
        with open(self.path, "rb") as f:
            # at a switch, one time for both
            return sorted(struct.iter_unpack("=QIIII", f.read()), key=lambda e: (e[0], e[3] == RUNS))


RUNS, LEFT, PREEMPTED, WOKEN = range(4)


def distributions(events, p):
    """Slices and waits that are completely within the capture, of all processes but the agent. An event that was not
    delivered is missing for both programs: a slice ends on the CPU on which it has begun, or has no length."""
    start = p.summary["start_time_ns"] + time.clock_gettime_ns(time.CLOCK_MONOTONIC) - time.time_ns()
    slices, waits, running, waiting = [], [], {}, {}
    for now, tid, pid, kind, cpu in events:
        if pid == p.pid or not start <= now <= start + p.summary["duration_ns"]:
            continue
        if kind == RUNS:
            running[cpu] = tid, now, waiting.pop(tid, None)
        elif kind == WOKEN:
            waiting.setdefault(tid, now)
        else:
            runs, since, waited = running.pop(cpu, (None, None, None))
            if runs == tid:
                slices.append(now - since)
                waits += [since - waited] if waited else []
            waiting.pop(tid, None)
            if kind == PREEMPTED:
                waiting[tid] = now
    waits += [since - waited for _, since, waited in running.values() if waited]
    return sorted(slices), sorted(waits)


def is_near(shown, values, share, off):
    """Whether the value has the requested rank. Ranks are shifted by the events that only one of the two saw."""
    rank = math.ceil(share * len(values))
    low, high = values[max(rank - off, 1) - 1], values[min(rank + off, len(values)) - 1]
    good = low * (1 - MAX_ERROR) - CLOCKS_NS <= shown <= high * (1 + MAX_ERROR) + CLOCKS_NS
    if not good:
        note(f"{share}: {shown} is not between {low} and {high}")
    return good


class Comparison:
    """One run of the agent, and what a second program has recorded at the same time."""

    def __init__(self, pids, *target):
        recorder = Recorder(*pids)
        self.p = pmu(*target, "-d", f"{SECONDS}s")
        events = recorder.stop()
        self.is_recorded, self.nr_events = recorder.is_ready and recorder.p.returncode == 0, len(events)
        self.values = dict(zip(("on_cpu", "run_queue"), distributions(events, self.p)))
        self.gaps = gap(self.p.summary, "unseen") + gap(self.p.summary, "waits_lost")
        note(", ".join(f"{name}: {len(x)} recorded, {self.aside(name)} aside" for name, x in self.values.items())
             + f"; {self.gaps} gaps")

    def shown(self, name):
        return self.p.summary["pmu"][0][name]

    def aside(self, name):
        """How many events only one of the two has."""
        return abs(len(self.values[name]) - self.shown(name + "_count"))

    def has_same_events(self, name):
        return (self.gaps <= MAX_GAPS * len(self.values[name]) and
                self.aside(name) <= EDGE_EVENTS * self.p.summary["nr_cpus"] + self.gaps)

    def has_same_percentiles(self, name):
        return all([is_near(self.shown(f"{name}_{x}_ns"), self.values[name], share, EDGE_EVENTS + self.aside(name))
                    for x, share in (("p50", 0.5), ("p95", 0.95), ("p99", 0.99), ("p999", 0.999))])

    def agrees(self):
        return all([self.has_same_events(name) and self.has_same_percentiles(name) for name in self.values])


def check_percentiles(what, pids, *target):
    """Of a few runs one has to agree: the agent may lose its CPU between reading the clock and counting, and the work
    of other tracers at a switch comes between the two readings of the clock."""
    for _ in range(MAX_RUNS):
        c = Comparison(pids, *target)
        if c.agrees():
            break
    ok(c.is_recorded, f"{what}: a second program records {c.nr_events} events, none is lost")
    for name in c.values:
        ok(c.has_same_events(name), f"{what}, {name}: both programs saw the same events, {c.aside(name)} aside")
        ok(c.has_same_percentiles(name), f"{what}: percentiles of {name} are those of all recorded events, within 3 %")
    slices = c.values["on_cpu"]
    ok(slices[-1] > 50 * slices[len(slices) // 2], f"{what}: some slices are very different from others")


def test_mix():
    """A process with many short slices and one with few long ones: percentiles are those of both together, and those of
    the machine cover everything that runs."""
    cpu = max(os.sched_getaffinity(0))
    hog, rival = prog("spin", 600), prog("spin", 600)
    for h in hog, rival:
        os.sched_setaffinity(h.pid, {cpu})
    quick = python(SLEEPER.format(nr=100000000, seconds=0.0001, busy=0), min(os.sched_getaffinity(0)))
    quick.stdin.write("go\n")
    quick.stdin.flush()
    check_percentiles("both processes", (hog.pid, quick.pid), "-p", f"{hog.pid},{quick.pid}")
    check_percentiles("the machine", (), "-a")
    check_percentiles("the machine by process", (), "-a", "--per-pid")
    end_all(quick)
    end(hog)
    end(rival)


def test_machine():
    """The whole machine: processes add up to the sum, and the agent is not among them."""
    hog = prog("spin", 600)
    p = start_pmu("-a", "--per-pid", "-d", "2s", "--pmu-output", "auto")
    finish_pmu(p)
    end(hog)
    total, processes = p.summary["pmu"][0], p.summary["pmu"][1:]
    unlisted = gap(p.summary, "unlisted")
    ok(p.returncode == 0 and len(processes) > 3, f"{len(processes)} processes are listed")
    for field in "nr_switches", "on_cpu_count", "on_cpu_sum_ns", "run_queue_count", "run_queue_sum_ns":
        ok(sum(x[field] for x in processes) == total[field] or unlisted,
           f"{field} of all processes is that of the machine")
    ok(max(x["run_queue_max_ns"] for x in processes) == total["run_queue_max_ns"], "the longest wait is one process's")
    waits = [x["run_queue_sum_ns"] for x in processes]
    ok(waits == sorted(waits, reverse=True), "the longest total wait comes first")
    ok(all(x["pid"] not in (0, p.pid) for x in processes), "neither the agent nor idle time is a process")
    mine = [x for x in processes if x["pid"] == hog.pid]
    ok(len(mine) == 1 and mine[0]["comm"] == "spin", "a process has its name")
    ok(adds_up(p.summary), "every context switch is accounted for")
    path = p.summary["outputs"][0]["path"]
    ok(path.endswith("-pmu.txt") and p.text == "", f"the text is in a file with a name of its own: {path}")
    with open(os.path.join(tmp, path)) as f:
        text = f.read()
    ok(text.startswith("=== PMU Metrics (System-Wide, Per-PID) ===\n\n--- PID ")
       and f"--- PID {hog.pid} (spin) ---\n" in text, "the text has a block for each process")


def test_text():
    """The numbers of the text are those of the summary; nothing but the statistics is started."""
    hog = prog("spin", 600)
    p = start_pmu("-p", hog.pid, "-d", "2s")
    wait_for_start(p)
    names = links(p.pid)
    threads = len(os.listdir(f"/proc/{p.pid}/task"))
    finish_pmu(p)
    end(hog)
    s = p.summary["pmu"][0]
    if p.summary["no_hw_counters"]:
        ok(not any("perf_event" in x for x in names), "no perf event is opened: nothing is sampled or followed")
        ok(f"Hardware Counters: not available ({p.summary['no_hw_counters']})\n" in p.text
           and s["cycles"] is None, "missing hardware counters have a reason")
    else:
        ok(s["cycles"] > 0 and s["instructions"] > 0, "hardware counters count")
    ok(threads == 2 and p.summary["nr_tables"] == 0 and p.summary["kernel_symbols"] is None,
       f"no table is compiled and no symbol read: {threads} threads")
    lines = p.text.splitlines()
    ok(lines[0] == f"=== PMU Metrics (PID: {hog.pid}) ===" and lines[1] == f"Samples: {s['nr_switches']}",
       "the text begins with its target")
    if s["on_cpu_count"]:
        at = lines.index("On-CPU Time (time slice per context switch):")
        ok(lines[at + 1:at + 8] == [f"  {k + ':':8}{s['on_cpu_' + v + '_ns'] / 1e6:.3f} ms" for k, v in (
            ("Min", "min"), ("Max", "max"), ("Mean", "mean"), ("P50", "p50"), ("P95", "p95"), ("P99", "p99"),
            ("P99.9", "p999"))], "text and summary have the same numbers")
    ok(p.summary["samples"] == 0 and not any(x["kind"] == "pprof" for x in p.summary["outputs"]),
       "without --profile there is no profile")


def test_command():
    """A command that exits: its children and threads are counted, and its exit status is returned."""
    p = subprocess.run([AGENT, "--pmu", "--profile", "-o", "command.pb.gz", "-q", "--", "sh", "-c",
                        "sleep 0.1; (sleep 0.1; exit 0); exit 7"], cwd=tmp, capture_output=True, text=True)
    ok(p.returncode == 7, "the exit status is the command's")
    exited = [x for x in p.stdout.splitlines() if x.startswith("  Exited:")]
    ok(len(exited) == 1 and int(exited[0].split("(")[1].split()[0]) >= 2, f"processes that exit are counted: {exited}")
    ok(os.path.exists(os.path.join(tmp, "command.pb.gz")), "a profile is written beside the statistics")
    p = subprocess.run([AGENT, "--pmu", "-q", "--json", "--", "true"], cwd=tmp, capture_output=True, text=True)
    ok(len(json.loads(p.stdout)["pmu"]) == 1, "a summary on standard output is not mixed with text")


def test_exec():
    """A program that is executed again and again, each time by its second thread, which takes over the first one's TID."""
    nr = 200
    path = os.path.join(tmp, "exec.json")
    p = subprocess.run([AGENT, "--pmu", "-q", f"--json={path}", "--", os.path.join(PROGS, "exec_threads"), str(nr)], cwd=tmp,
                       stdout=subprocess.DEVNULL)
    with open(path) as f:
        summary = json.load(f)
    s, threads = summary["pmu"][0], summary["threads"][0]
    unseen = gap(summary, "unseen")
    ok(p.returncode == 0 and s["nr_exited"] >= nr, f"{s['nr_exited']} threads exited")
    ok(unseen < 0.1 * nr and s["on_cpu_count"] + unseen == s["nr_switches"],
       f"time slices in which execve() changes the TID are measured ({unseen} of {s['nr_switches']} are not)")
    ok(0.9 * threads["on_cpu_ns"] < s["on_cpu_sum_ns"] < 1.1 * threads["on_cpu_ns"],
       f"the sum of slices is the threads' time on a CPU: {s['on_cpu_sum_ns']} and {threads['on_cpu_ns']} ns")


def test_cgroup():
    """Members of a cgroup that sleep before the capture begins, and until it ends."""
    mount = cgroup2_mount()
    if not mount:
        skip("members of a cgroup that sleep all the time: cgroup v2 is not mounted")
        return
    top = os.path.join(mount, f"perf-agent-pmu-{os.getpid()}")
    below = os.path.join(top, "below")
    os.makedirs(below)
    members, stranger = [python(IDLE) for _ in range(2)], python(IDLE)
    try:
        for process in *members, stranger:
            process.stdout.readline()
            wait_for(lambda: status_line(process.pid).startswith("S"), "the program to wait for input")
        for path, process in zip((top, below), members):
            with open(os.path.join(path, "cgroup.procs"), "w", encoding="utf-8") as f:
                f.write(str(process.pid))
        p = pmu("--cgroup", top, "-d", "1s")
    finally:
        end_all(*members, stranger)
        os.rmdir(below)
        os.rmdir(top)
    threads = p.summary["threads"][1:]
    note(threads)
    ok(sorted(x["tid"] for x in threads) == sorted(x.pid for x in members) and p.summary["threads_seen"] == 2,
       "threads that sleep all the time are in the ledger of their cgroup and of the one above; no other is")
    ok(threads and all(x["blocked_ns"] == x["elapsed_ns"] > 0.9e9 for x in threads),
       "threads that sleep all the time are blocked for all of their time")


def test_threads():
    """Threads that begin and end within a millisecond."""
    stop = threading.Event()

    def churn():
        while not stop.is_set():
            t = threading.Thread(target=lambda: None)
            t.start()
            t.join()

    worker = threading.Thread(target=churn)
    worker.start()
    p = pmu("-p", os.getpid(), "-d", "1s")
    stop.set()
    worker.join()
    s = p.summary["pmu"][0]
    ok(p.returncode == 0 and s["nr_exited"] > 10, f"{s['nr_exited']} threads exited")
    ok(s["run_queue_count"] >= 0.99 * s["nr_exited"], "each of them waited for a CPU at least once")
    ok(gap(p.summary, "waits_lost") <= 0.01 * s["nr_switches"], "hardly a wait is missing")


def test_ended_threads():
    """Thousands of short-lived threads, then one that lives longer: that one is listed, the others are summed up."""
    target = python(SHORT_THREADS)
    target.stdout.readline()
    p = start_pmu("-p", target.pid, "-d", "0")
    wait_for_start(p)
    target.stdin.write("go\n")
    target.stdin.flush()
    tid = int(target.stdout.readline())
    p.send_signal(signal.SIGINT)
    finish_pmu(p)
    end_all(target)
    total, *threads = p.summary["threads"]
    others = p.summary["threads_unlisted"]
    ok(len(threads) == MAX_THREADS and len(others) == 1 and p.summary["threads_seen"] > 5000,
       f"{len(threads)} of {p.summary['threads_seen']} threads are listed one by one")
    ok(tid in [x["tid"] for x in threads], "the one that existed longest is, though it ended last")
    for field in "elapsed_ns", "on_cpu_ns", "runnable_ns", "blocked_ns", "unaccounted_ns", "nr_missed":
        ok(sum(x[field] for x in (*threads, *others)) == total[field],
           f"{field}: the threads that are listed and all others are the sum, exactly")
    idle = python(IDLE)
    idle.stdout.readline()
    p = pmu("-p", idle.pid, "-d", "1s")
    end_all(idle)
    ok(len(p.summary["threads"]) == 2 and p.summary["threads_unlisted"] == [], "where all are listed there are no others")


def test_one_capture():
    """The statistics begin and end with the capture, as the threads' times do; one CPU is shared, so that it switches."""
    others = [prog("spin", 60) for _ in range(2 * os.cpu_count())]
    off_ns = []
    for _ in range(7):
        s = pmu("--pid", others[0].pid, "-d", "300ms").summary
        off_ns.append(abs(s["pmu"][0]["on_cpu_total_ns"] - sum(x["on_cpu_ns"] for x in s["threads"] if x["pid"])))
    for p in others:
        end(p)
    ok(sorted(off_ns)[3] < 1000000, f"the time on a CPU is that of the threads, but for {sorted(off_ns)} ns")


def test_many_processes():
    """More processes than are listed, one after the other: those with the longest waits are listed, even if they start
    last."""
    p = start_pmu("-a", "--per-pid", "-d", "0", "--pmu-output", os.path.join(tmp, "many.txt"))
    wait_for_start(p)
    script = f"i=0; while [ $i -lt {MAX_PROCESSES + 500} ]; do (:) & wait; i=$((i+1)); done"
    subprocess.run(["sh", "-c", script], check=True)
    cpu = max(os.sched_getaffinity(0))
    last = [prog("spin", 600) for _ in range(2)]
    for x in last:
        os.sched_setaffinity(x.pid, {cpu})
    wait_for(lambda: all(cpu_s(x.pid) > 0.2 for x in last), "two programs to have waited for each other")
    end(last[0])
    p.send_signal(signal.SIGINT)
    finish_pmu(p)
    total, processes = p.summary["pmu"][0], p.summary["pmu"][1:]
    unlisted = gap(p.summary, "unlisted")
    ok(p.returncode == 0 and len(processes) == MAX_PROCESSES and unlisted > 0,
       f"{len(processes)} processes are listed, {unlisted} context switches are of others")
    end(last[1])
    found = [[y for y in processes if y["pid"] == x.pid] for x in last]
    ok(all(len(x) == 1 and x[0]["comm"] == "spin" and x[0]["on_cpu_total_ns"] > 0.1e9 for x in found),
       "one that starts after all others is listed, once, whether it lives or has ended")
    ok(found[0][0]["nr_exited"] == 1 and found[1][0]["nr_exited"] == 0 if all(found) else False,
       "the one that has ended is listed with its last context switch")
    # One slice that goes on at the end may be counted, on each CPU.
    more = sum(x["nr_switches"] for x in processes) + unlisted - total["nr_switches"]
    ok(0 <= more <= p.summary["nr_cpus"], f"the sum has all of them, and {more} that are under way")
    ok(f"{unlisted} context switches of processes that had no room" in p.report.replace("\n         ", " "),
       "the report says how many")


need_root()
tmp = workdir()
test_counts()
test_hogs()
test_ping_pong()
test_mix()
test_machine()
test_many_processes()
test_text()
test_command()
test_exec()
test_cgroup()
test_threads()
test_ended_threads()
test_one_capture()
done()
