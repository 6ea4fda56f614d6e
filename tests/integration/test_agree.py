# SPDX-License-Identifier: Apache-2.0
"""All outputs of one capture have the same stacks with the same values: several workloads, each captured once with
every output, and read by readers that share no code with the writers."""
import collections
import glob
import os
import re
import shutil
import subprocess

from harness import PROGS, agent, done, end, need_root, note, ok, prog, skip, workdir
from json_schema import problems
from perf_data_reader import perf_data_of, read_perf_data, settled
from pprof import Profile
from stack_readers import (SHOWN, flame_page_of, folded_of, functions_of, labels_of, read_flame_page, read_folded,
                           read_functions)

HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "workloads")
SCHEMA = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../docs/json-schema.md")

# A format that is written in addition to the pprof file: its option, its file for each profile, its reader, and the
# conversion of the pprof file to what it must contain.
Format = collections.namedtuple("Format", "option files read expected")
FORMATS = [
    Format("--folded-output", {"on-cpu": "stacks.folded", "off-cpu": "stacks-off-cpu.folded"}, read_folded, folded_of),
    Format("--flamegraph-output", {"on-cpu": "page.html", "off-cpu": "page.html"}, read_flame_page, flame_page_of),
    Format("--perf-data-output", {"on-cpu": "perf.data"}, read_perf_data, perf_data_of),
]


def same(what, ours, theirs):
    """Keys with value 0 count as missing: a function that only calls others has no samples of its own."""
    ours, theirs = +collections.Counter(ours), +collections.Counter(theirs)
    for key in [k for k in ours.keys() | theirs.keys() if ours[k] != theirs[k]][:3]:
        note(f"{ours[key]} where the pprof file has {theirs[key]}: {key}")
    ok(ours == theirs, f"{what}: {len(theirs)}, with {sum(theirs.values())} in all, as in the pprof file")


def same_listed(what, ours, theirs, seen):
    """As same(), for a list that has only the first of all items."""
    ok(seen == len(theirs), f"{what}: {seen} were seen, as in the pprof file")
    same(what, ours, theirs if len(ours) == seen else {key: theirs[key] for key in ours})


def check_formats(what, profile, kind, own):
    for f in FORMATS:
        if kind not in f.files:
            continue
        ours, theirs = f.read(os.path.join(tmp, f.files[kind]), kind), f.expected(profile, SHOWN[kind])
        if f.read is read_perf_data:
            theirs = settled(theirs, ours)
        if own and f.read is read_perf_data:
            # Other processes may have been sampled in a signal handler, whose caller has its exact address in the pprof
            # file.
            ok(ours.total() == theirs.total(), f"{what}: {f.option} has {ours.total()} samples, as the pprof file")
            ours, theirs = ({k: n for k, n in x.items() if k[0] in own} for x in (ours, theirs))
        same(f"{what}: {f.option}, stacks {kind}", ours, theirs)


def check_schema(what, summary):
    with open(SCHEMA) as f:
        found = list(problems(summary, f.read()))
    note("\n".join(found))
    ok(not found, f"{what}: --json has the fields that docs/json-schema.md describes, of the types given there")


# Members of a section that --json also has at the top level, from the first section.
QUALITY = ("stacks_complete", "no_user_stack", "stops", "truncations", "truncations_seen", "truncations_samples",
           "unnamed", "unnamed_seen", "unnamed_samples")


def check_stacks(what, section, p):
    """Compares what --json says about the stacks of one kind of event with the labels of its profile."""
    truncated = collections.Counter()
    for x in p.samples:
        truncated[x.labels.get("truncated")] += x.count
    del truncated[None]
    nr, name = sum(truncated.values()), section["name"]
    ok(section["stacks_complete"] + section["no_user_stack"] + nr == section["samples"] == p.total(),
       f"{what}, {name}: --json and the labels agree on {nr} truncated stacks")
    ok(section["truncations_samples"] == nr and sum(x["count"] for x in section["stops"]) == section["samples"]
       and all(x["count"] == truncated[x["name"]] for x in section["stops"] if x["name"] in truncated),
       f"{what}, {name}: ... and on the reasons")


def check_summary(what, run):
    s, p = run.summary, run.profile
    check_schema(what, s)
    ok(s["samples"] == p.total(), f"{what}: --json counts {s['samples']} samples, as many as the pprof file has")
    ok(p.total(1) == p.total() * s["period_ns"], f"{what}: each sample of the pprof file stands for one period")
    ok(s["functions_seen"] == len(s["functions"]), f"{what}: --json lists every function")
    same(f"{what}: --json, functions with their samples", read_functions(s), functions_of(p))
    same_listed(f"{what}: --json, processes", {(x["pid"], x["comm"]): x["nr_samples"] for x in s["processes"]},
                labels_of(p, "pid", "comm"), s["processes_seen"])
    same_listed(f"{what}: --json, commands", {(x["comm"],): x["nr_samples"] for x in s["commands"]},
                labels_of(p, "comm"), s["commands_seen"])
    check_stacks(what, s["sections"][0], p)
    ok(all(s[key] == s["sections"][0][key] for key in QUALITY), f"{what}: --json says the same of the first section")


def check_waits(what, run, off):
    s = run.summary
    ok((s["off_cpu_intervals"], s["off_cpu_ns"]) == (off.total(0), off.total(1)),
       f"{what}: --json has the intervals and the time off the CPU of the pprof file")
    ok(s["waits_seen"] == len(s["waits"]), f"{what}: --json lists every wait")
    for title, field, value in (("intervals", "nr_intervals", 0), ("nanoseconds", "total_ns", 1)):
        ours, theirs = collections.Counter(), collections.Counter()
        for w in s["waits"]:
            ours[w["state"], w["syscall"]] += w[field]
        for x in off.samples:
            theirs[x.labels["state"], x.labels.get("syscall")] += x.values[value]
        same(f"{what}: --json, {title} off the CPU by state and system call", ours, theirs)


def capture(what, *args, hot=None, command=None, own=(), **kwargs):
    """One capture with every output. hot is in the stacks if the workload has run at all; own are our processes, if
    there are others."""
    for path in glob.glob(os.path.join(tmp, "*")):
        os.unlink(path)
    off_path = os.path.join(tmp, "off.pb.gz")
    is_off = "--offcpu" in args
    outputs = [x for f in FORMATS for x in (f.option, os.path.join(tmp, f.files["on-cpu"]))]
    run = agent(tmp, "-F", 499, "--top", 10000, *outputs, *args, *(["--offcpu-output", off_path] if is_off else []),
                command=command, cwd=tmp, **kwargs)  # node writes a log into its working directory
    if not ok(run.status == 0 and run.profile and run.profile.samples, f"{what}: captured"):
        note(run.stderr)
        return None
    if hot:
        ok(any(hot in name for s in run.profile.samples for name in s.names()), f"{what}: {hot} is in the profile")
    check_formats(what, run.profile, "on-cpu", own)
    check_summary(what, run)
    if is_off:
        off = Profile(off_path)
        check_formats(what, off, "off-cpu", own)
        check_waits(what, run, off)
        check_stacks(what, next(x for x in run.summary["sections"] if x["name"] == "off-cpu"), off)
    return run


def test_all():
    """A program that computes, one that is in the kernel, and everything else that runs."""
    spin = prog("spin", 60)
    dd = subprocess.Popen(["dd", "if=/dev/zero", "of=/dev/null", "bs=64k"], stderr=subprocess.DEVNULL)
    capture("the whole machine", "-a", "-d", "2s", hot="spin_inner", own=(spin.pid, dd.pid))
    capture("kernel stacks", "-a", "-d", "2s", "--kernel-stacks", "--pmu", "--per-pid", "--pmu-output",
            os.path.join(tmp, "pmu.txt"), hot="ksys_read", own=(spin.pid, dd.pid))
    end(dd)
    end(spin)


def python_with_trampoline():
    """A CPython that can write a perf map, or None."""
    check = "import sys; sys.exit(not sys.is_stack_trampoline_active())"
    for path in ["python3", *sorted(glob.glob("/usr/bin/python3.1[2-9]")),
                 *sorted(glob.glob(os.path.expanduser("~/.pyenv/versions/3.1[2-9]*/bin/python3")))]:
        if subprocess.run([path, "-X", "perf", "-c", check], capture_output=True).returncode == 0:
            return path
    return None


def capture_generated(what, *args, **kwargs):
    run = capture(what, *args, **kwargs)
    for path in [f"/tmp/perf-{pid}.map" for pid in run.summary["pids"]] if run else []:
        if os.path.exists(path):
            os.unlink(path)


def test_generated():
    """Code that is in no file: ours, V8's and CPython's."""
    p = prog("jit", "map", 60, stdout=subprocess.PIPE, cwd=tmp)
    p.stdout.readline()
    capture_generated("generated code", "--pid", p.pid, "-d", "1s", hot="hot")
    end(p)
    node, python = shutil.which("node"), python_with_trampoline()
    if node:
        capture_generated("V8", hot="fib", command=[node, "--perf-basic-prof", f"{HERE}/busy.js", "1"])
    else:
        skip("V8: needs node")
    if python:
        capture_generated("CPython", hot="fib", command=[python, "-X", "perf", f"{HERE}/busy.py", "1"])
    else:
        skip("CPython: needs Python 3.12 or newer, built with its perf trampoline")


need_root()
tmp = workdir()
if os.path.exists(os.path.join(PROGS, "demo_workload")):
    capture("C++ without frame pointers", hot="shop::price_basket", command=[os.path.join(PROGS, "demo_workload"), "1"])
else:
    skip("C++ without frame pointers: needs a C++ compiler")
capture("short-lived processes", hot="child_life", command=[os.path.join(PROGS, "shortlived"), "1", "5"])
hundred = os.path.join(workdir(), "hundred")
with open(hundred, "w") as f:
    f.write("x\n" * 100)
# not a shell: it has a handler for SIGCHLD, whose caller has its exact address in the pprof file
capture("programs that are over at once", "--kernel-stacks", command=["xargs", "-n", "1", "-a", hundred, "/bin/true"])
test_all()
test_generated()
waits = ["sh", "-c", f"echo | exec {PROGS}/waits 1 {tmp}"]
capture("on and off the CPU", "--offcpu", "--offcpu-states", "sleep,disk,runqueue,preempted", command=waits)
run = capture("on and off the CPU, without unwind tables", "--offcpu", "--unwind", "fp", command=waits)
ok(run and re.search(r"(?m)^(stacks  |  ) +off-cpu: [\d.]+% complete\n +[\d.]+% truncated in ", run.stderr),
   "the report says how many stacks of waits are truncated")
capture("on and off the CPU, kernel stacks", "--offcpu", "--kernel-stacks", command=waits)
done()
