# SPDX-License-Identifier: Apache-2.0
"""The time of threads: on a CPU, waiting for one and blocked add up to the lifetime of each thread, and each part
agrees with the thread itself and the scheduler."""
import os
import signal
import subprocess
import time

from harness import PROGS, adds_up, agent, done, end, finish_agent, need_root, note, ok, prog, skip, start_agent, wait_for, workdir

SECONDS = 3
SWITCH_NS = 1000  # half of that was measured
STATES = ("on_cpu_ns", "runnable_ns", "blocked_ns")


def sums_up(t):
    """Within 1 %; if the kernel does not report an event of a short-lived thread, within 10 ms."""
    slack = 10e6 if t["nr_missed"] and t["elapsed_ns"] < 1e9 else 0
    return abs(t["elapsed_ns"] - sum(t[s] for s in STATES)) <= max(0.01 * t["elapsed_ns"], slack)


def is_exact(t):
    return t["elapsed_ns"] == sum(t[s] for s in STATES) + t["unaccounted_ns"]


def shares(t):
    return ", ".join(f"{t[s] / 1e6:.1f} ms {s[:-3]}" for s in STATES) + f" of {t['elapsed_ns'] / 1e6:.1f} ms"


def check_threads(run):
    threads = run.summary["threads"]
    wrong = [t for t in threads if not sums_up(t)]
    note("\n".join(map(str, wrong)))
    ok(len(threads) > 12 and not wrong, f"of {len(threads) - 1} threads, the states of each are its elapsed time within 1 %")
    ok(all(map(is_exact, threads)), "the states and the unaccounted time of each thread are its elapsed time")
    ok(all(t["unaccounted_ns"] == 0 or t["nr_missed"] for t in threads), "only threads with a missed event have unaccounted time")


def check_truth(run):
    """What each thread prints about itself."""
    by_tid = {t["tid"]: t for t in run.summary["threads"][1:]}
    lines = [line.split() for line in run.stdout.splitlines()]
    stolen = run.summary["steal_ns"] or 0
    note(f"the host took {stolen / 1e6:.0f} ms")
    for name, tid, *numbers in (x for x in lines if len(x) == 6):
        elapsed, cpu, delay, slices = map(int, numbers)
        t = by_tid[int(tid)]
        if name == "waits":
            blocked = elapsed - cpu - delay
            ok(elapsed > SECONDS * 1e9 and abs(t["blocked_ns"] - blocked) < 0.01 * elapsed,
               f"{name}: blocked for {blocked / 1e6:.1f} ms by its own clocks; {shares(t)}")
            continue
        slack = 0.02 * elapsed
        # It reads its clock when it has got a CPU.
        ok(-slack < t["elapsed_ns"] - elapsed < 5 * slack, f"{name}: existed {elapsed / 1e6:.1f} ms by its own clock; {shares(t)}")
        ok(-slack < t["on_cpu_ns"] - cpu < slack + stolen, f"{name}: {cpu / 1e6:.1f} ms on a CPU by its own clock")
        # The scheduler reads its clock shortly before the agent's programs run, at every switch.
        note(f"{name}: {(t['runnable_ns'] - delay) / max(slices, 1):.0f} ns more at each of {slices} switches")
        ok(not delay or -slack < t["runnable_ns"] - delay < slack + slices * SWITCH_NS + stolen,
           f"{name}: {delay / 1e6:.1f} ms runnable by the scheduler")
    created = next(int(x[1]) for x in lines if x[0] == "created")
    ok(run.summary["threads_seen"] == created + 12,
       f"{created} threads that are gone at once, and 12 others, are {run.summary['threads_seen']} threads")


def sections(run):
    return {s["name"]: s for s in run.summary["sections"]}


need_root()
tmp = workdir()
off = ("--offcpu-output", os.path.join(tmp, "off.pb.gz"))
command = [f"{PROGS}/mixed", SECONDS]
with open(os.path.join(tmp, "lines"), "w") as f:
    f.write("\n\n")
with open(f.name) as lines:
    run = agent(tmp, "--offcpu", "--pmu", "--pmu-output", f"{tmp}/pmu.txt", *off, command=command, stdin=lines)
note(run.stderr)
ok(run.status == 0, "profiles on and off the CPU and scheduler statistics are taken together")
check_threads(run)
check_truth(run)
ok(" on CPU + " in run.stderr and " unaccounted (" in run.stderr, "the report says it in a line")
ok(set(sections(run)) == {"on-cpu", "off-cpu", "sched"} and adds_up(run.summary)
   and all(s["due"] == s["samples"] + s["lost"] + sum(c["count"] for c in s["counts"]) for s in sections(run).values()),
   "each of the three has its account")
total, pmu = run.summary["threads"][0], run.summary["pmu"][0]
ok(abs(total["on_cpu_ns"] - pmu["on_cpu_total_ns"]) < 0.02 * total["elapsed_ns"],
   f"{total['on_cpu_ns'] / 1e6:.1f} ms on a CPU are {pmu['on_cpu_total_ns'] / 1e6:.1f} ms in scheduler statistics")
ok(0 < run.summary["off_cpu_ns"] <= 1.03 * total["blocked_ns"],
   f"{run.summary['off_cpu_ns'] / 1e6:.1f} ms of {total['blocked_ns'] / 1e6:.1f} ms blocked are in the off-CPU profile")

with open(f.name) as lines:
    run = agent(tmp, "--offcpu", *off, command=command, stdin=lines)
ok(run.status == 0, "without scheduler statistics")
check_threads(run)

# Threads that existed before the capture: some have no event at all.
target = prog("mixed", 60, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
target.stdout.readline()
stopped = prog("spin", 60)
stopped.send_signal(signal.SIGSTOP)
spinning = prog("spin", 60)
p = start_agent(tmp, "--offcpu", *off, "-p", f"{target.pid},{stopped.pid},{spinning.pid}", "-d", f"{SECONDS}s")
wait_for(lambda: "profiling" in p.stderr.readline(), "the agent to begin")
time.sleep(0.5)
target.stdin.write(b"\n")
target.stdin.flush()
run = finish_agent(p)
for x in target, stopped, spinning:
    end(x)
threads, window = run.summary["threads"], run.summary["duration_ns"]
check_threads(run)
of_stopped = [t for t in threads if t["pid"] == stopped.pid]
ok(len(of_stopped) == 1 and of_stopped[0]["blocked_ns"] == of_stopped[0]["elapsed_ns"],
   f"a process that is stopped is blocked: {list(map(shares, of_stopped))}")
longest = max(t["elapsed_ns"] for t in threads[1:])
whole = [t for t in threads[1:] if t["elapsed_ns"] == longest]
ok(len(whole) == 4 and 0.5 * window < longest <= window,
   f"{len(whole)} of 4 threads that exist before have existed for {longest / 1e6:.0f} ms of {window / 1e6:.0f} ms")
of_spinning = [t for t in threads if t["pid"] == spinning.pid]
ok(len(of_spinning) == 1 and of_spinning[0]["blocked_ns"] < 0.01 * window,
   f"one that spins is not blocked: {list(map(shares, of_spinning))}")

# The whole machine: includes threads that leave their CPU without an event.
run = agent(tmp, "-a", "--pmu", "--pmu-output", f"{tmp}/pmu.txt", "-d", "3s")
total, pmu, threads = run.summary["threads"][0], run.summary["pmu"][0], run.summary["threads"]
most = run.summary["nr_cpus"] * run.summary["duration_ns"]
note(f"{total['nr_missed']} events are missing, {next(x['count'] for x in run.summary['pmu_gaps'] if x['name'] == 'unseen')} "
     f"slices have no length")
ok(total["on_cpu_ns"] <= 1.005 * most, f"threads are on {run.summary['nr_cpus']} CPUs for {shares(total)}, "
   f"no more than there is: {most / 1e6:.1f} ms")
ok(-total["unaccounted_ns"] - 0.02 * most < total["on_cpu_ns"] - pmu["on_cpu_total_ns"],
   f"of {pmu['on_cpu_total_ns'] / 1e6:.1f} ms in scheduler statistics none is missing that is not said to be")
ok(all(map(is_exact, [*threads, *run.summary["threads_unlisted"]]))
   and all(t["unaccounted_ns"] == 0 or t["nr_missed"] for t in threads), "what is missing is said, and why")

run = agent(tmp, "-d", "1s", "-a")
ok(run.summary["threads"] == [] and run.summary["threads_seen"] == 0 and "unaccounted" not in run.stderr,
   "a profile of CPU time alone counts no time of threads")

# A thread whose last context switch was not reported, and later ones of which one gets the address of its task.
reused, nr, missed = map(int, subprocess.run([os.path.join(PROGS, "reused_task")], check=True, capture_output=True,
                                             text=True).stdout.split())
if reused:
    ok(nr == 2 and missed == 1, f"a thread whose end was not reported stays in the list ({nr} rows), and says so ({missed})")
else:
    skip("no other thread got the address of the task")
done()
