# SPDX-License-Identifier: Apache-2.0
"""The account of off-CPU time without room: more stacks than the kernel sums up, a ring of one page. Threads that
waited before the capture, with the kernel's part of their stack; and the text of --pmu compared with --json, block by
block."""
import json
import os
import subprocess
import time

from harness import AGENT, PROGS, end, done, need_root, note, ok, prog, wait_for, workdir
from pprof import Profile

NR_STACKS = 70000
NR_THREADS = 10000
PAUSE = "pause" if os.uname().machine == "x86_64" else "ppoll"


def section(summary):
    return next(s for s in summary["sections"] if s["name"] == "off-cpu")


def check_account(s, profile, what):
    ok(s["due"] == s["samples"] + s["lost"] + sum(c["count"] for c in s["counts"]) and s["unexplained"] == 0
       and s["lost"] == sum(c["count"] for c in s["losses"]), f"{what}: all of {s['due']} intervals are accounted for")
    ok(s["samples"] == profile.total(), f"{what}: {s['samples']} of them are in the profile")


class Capture:
    """The agent, and a target that waits for a line."""

    def __init__(self, tmp, *args):
        self.path, self.summary_path = os.path.join(tmp, "off.pb.gz"), os.path.join(tmp, "off.json")
        self.process = subprocess.Popen([AGENT, *args, f"--json={self.summary_path}"], stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, text=True, cwd=tmp)
        note(self.process.stderr.readline())  # the capture has begun

    def finish(self):
        self.text, err = self.process.communicate()
        note(err)
        with open(self.summary_path, encoding="utf-8") as f:
            self.summary = json.load(f)
        return self


def waiting(name, *args):
    target = prog(name, *args, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    target.stdout.readline()
    return target


def go(target):
    target.stdin.write(b"\n")
    target.stdin.flush()


def check_many_stacks(tmp):
    """Intervals for which the map has no room are sent one by one."""
    target = waiting("many_stacks", NR_STACKS)
    capture = Capture(tmp, "--offcpu", "-v", "-p", str(target.pid), "-d", "0", "--offcpu-output", f"{tmp}/off.pb.gz")
    go(target)
    nr_naps = int(target.stdout.readline())
    end(target)
    capture.finish()
    s, p = section(capture.summary), Profile(capture.path)
    full = next(g["count"] for g in capture.summary["gaps"] if g["name"] == "waits_full")
    ok(nr_naps > NR_STACKS * 0.9, f"{nr_naps} of {NR_STACKS} naps")
    check_account(s, p, f"{nr_naps} stacks")
    naps = [x for x in p.samples if x.labels.get("syscall") == "clock_nanosleep"]
    seen, nr_stacks = sum(x.count for x in naps), len({tuple(x.frames) for x in naps})
    lost = {x["name"] for x in s["losses"] if x["count"]}
    ok(lost <= {"not_delivered", "no_end", "ring_full"}, f"{nr_naps} stacks: what left the kernel has come: {lost}")
    ok(full > 0, f"{nr_naps} stacks: {full} intervals were not summed up in the kernel")
    ok(nr_naps - s["lost"] <= seen <= nr_naps and nr_stacks <= seen,
       f"{nr_naps} stacks: {seen} naps in {nr_stacks} of them, {s['lost']} intervals lost")


def check_full_ring():
    target = waiting("many_stacks", NR_STACKS)
    run = subprocess.Popen([os.path.join(PROGS, "tiny_ring"), str(target.pid), "off-cpu"], stdout=subprocess.PIPE,
                           stderr=subprocess.STDOUT, text=True)
    time.sleep(0.5)
    go(target)
    note(run.communicate()[0])
    end(target)
    ok(run.returncode == 0, "a ring of one page: intervals add up, and it says that it was full")


def state_of(path):
    with open(f"{path}/stat", encoding="ascii") as f:
        return f.read().rsplit(")", 1)[1].split()[0]


def check_kernel_stacks(tmp):
    target = waiting("deep_wait", 3)
    wait_for(lambda: all(state_of(f"/proc/{target.pid}/task/{tid}") == "S"
                         for tid in os.listdir(f"/proc/{target.pid}/task")), "both threads to wait")
    capture = Capture(tmp, "--offcpu", "--kernel-stacks", "-p", str(target.pid), "-d", "1s", "--offcpu-output",
                      f"{tmp}/off.pb.gz").finish()
    end(target)
    p = Profile(capture.path)
    names = [x.names() for x in p.samples]
    note(names)
    ok(len(names) == 2 and all(x.labels.get("syscall") == PAUSE for x in p.samples),
       "threads that waited before are in the system call " + PAUSE)
    ok(all(any(n.endswith("sys_" + PAUSE) for n in x[:x.index("deep_call")]) and x.count("deep_call") == 3 for x in names),
       "their stacks begin in the kernel and go on in the program")
    rows = capture.summary["waits"]
    ok(len(rows) == 1 and rows[0]["functions"] == "deep_call < deep_call < deep_call" and rows[0]["nr_intervals"] == 2,
       "they are listed as one wait, from the program's own function on")


def rows_of(lines, title):
    """"label value" below a title."""
    if title not in lines:
        return {}
    block = {}
    for line in lines[lines.index(title) + 1:]:
        if not line.startswith("  "):
            break
        label, _, value = line.strip().partition(":")
        block[label] = value.strip()
    return block


def check_distribution(lines, s, title, prefix):
    fields = {"Min": "min", "Max": "max", "Mean": "mean", "P50": "p50", "P95": "p95", "P99": "p99", "P99.9": "p999"}
    expected = {k: f"{s[f'{prefix}_{v}_ns'] / 1e6:.3f} ms" for k, v in fields.items()} if s[f"{prefix}_count"] else {}
    ok(rows_of(lines, title) == expected, f"{prefix}: text and summary have the same {len(expected)} numbers")


def check_text(tmp):
    target = waiting("pingpong", 0)
    capture = Capture(tmp, "--pmu", "-p", str(target.pid), "-d", "1s")
    go(target)
    capture.finish()
    end(target)
    lines, s = capture.text.splitlines(), capture.summary["pmu"][0]
    ok(s["on_cpu_count"] and s["run_queue_count"], "the target has time slices and waits for a CPU")
    check_distribution(lines, s, "On-CPU Time (time slice per context switch):", "on_cpu")
    check_distribution(lines, s, "Runqueue Latency (time waiting for CPU):", "run_queue")
    reasons = {"Preempted (running)": "preempted", "Voluntary (sleep/mutex)": "voluntary", "I/O Wait (D state)": "io_wait",
               "Stopped (signal/trace)": "stopped", "Exited": "exited"}
    expected = {k: f"{100 * s[f'nr_{v}'] / s['nr_switches']:.1f}%  ({s[f'nr_{v}']} times)" for k, v in reasons.items()
                if s[f"nr_{v}"] or v not in ("stopped", "exited")}
    ok(rows_of(lines, "Context Switch Reasons:") == expected, f"switch reasons: text and summary have the same: {expected}")
    counters = {"Total Cycles": s["cycles"], "Total Instructions": s["instructions"],
                "Total Cache Misses": s["cache_misses"]}
    shown = rows_of(lines, "Hardware Counters:")
    ok({k: v for k, v in shown.items() if k in counters} == {k: str(v) for k, v in counters.items() if v is not None},
       "hardware counters: text and summary have the same")
    ok(any(v is not None for v in counters.values()) != any(
        x == f"Hardware Counters: not available ({capture.summary['no_hw_counters']})" for x in lines),
       "or both say why there are none")


def check_ledger(tmp):
    target = waiting("crowd", NR_THREADS, 3)
    capture = Capture(tmp, "--pmu", "-p", str(target.pid), "-d", "2s")
    go(target)
    capture.finish()
    end(target)
    all_of_them, *threads = capture.summary["threads"]
    parts = ("on_cpu_ns", "runnable_ns", "blocked_ns", "unaccounted_ns")
    ok(capture.summary["threads_seen"] >= NR_THREADS, f"{capture.summary['threads_seen']} threads are seen")
    ok(all_of_them["elapsed_ns"] == sum(all_of_them[x] for x in parts), "their time is the sum of its parts")
    rows = threads + capture.summary["threads_unlisted"]
    ok(all(sum(t[x] for t in rows) == all_of_them[x] for x in ("elapsed_ns", *parts)), "the time of all threads is the sum of all rows")
    ok(all_of_them["unaccounted_ns"] < 0.01 * all_of_them["elapsed_ns"],
       f"{all_of_them['unaccounted_ns'] / all_of_them['elapsed_ns']:.4f} of it is unaccounted")
    length = capture.summary["duration_ns"] * (NR_THREADS + 1)
    ok(abs(all_of_them["elapsed_ns"] / length - 1) < 0.01, "each exists during the whole capture")


need_root()
directory = workdir()
check_many_stacks(directory)
check_full_ring()
check_kernel_stacks(directory)
check_text(directory)
check_ledger(directory)
done()
