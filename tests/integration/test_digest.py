# SPDX-License-Identifier: Apache-2.0
"""What --json says about a capture of several commands, compared with the profile of the same run, as read by this
test's own reader and by pprof."""
import collections
import os
import re
import shutil

from go_pprof import has_pprof, pprof
from harness import PROGS, agent, done, end, need_root, note, ok, prog, skip, workdir

# Two processes that compute, one that is in the kernel, and a shell that waits for them.
SCRIPT = f"{PROGS}/spin 2 & {PROGS}/spin 2 & dd if=/dev/zero of=/dev/null bs=256k count=150000 2>/dev/null; wait"


def counts(profile, *labels):
    found = collections.Counter()
    for s in profile.samples:
        found[tuple(s.labels[label] for label in labels)] += s.count
    return dict(found)


def below(rows, i):
    """The sum of a row's callees."""
    if i + 1 < len(rows) and rows[i + 1]["continues"]:
        return rows[i + 1]["nr_samples"]
    deeper = []
    for row in rows[i + 1:]:
        if row["depth"] <= rows[i]["depth"]:
            break
        deeper.append(row)
    return sum(r["nr_samples"] for r in deeper if r["depth"] == rows[i]["depth"] + 1 and not r["continues"])


def prefixes(profile):
    """Samples by the functions that lead there, outermost first, with direct recursion merged. Each program, and the
    loader, has a _start of its own."""
    found = collections.Counter()
    for s in profile.samples:
        functions = [(name, frame.path) for frame in s.frames for name in frame.names][::-1]
        functions = [f for i, f in enumerate(functions) if i == 0 or f != functions[i - 1]]
        for end in range(1, len(functions) + 1):
            found[tuple(functions[:end])] += s.count
    return found


def tags(path, key):
    text = pprof("-sample_index=samples", "-tags", path)
    block = re.search(rf"^ *{key}: Total.*\n((?: +[\d.]+ \(.*\n)*)", text, re.M)
    return {name: float(count) for count, name in re.findall(r"^ +([\d.]+) \([^)]*\): (.*)$", block[1], re.M)}


def peek(path, function, callee):
    """Self and total samples of a function, and those of one of its callees, as printed by pprof -peek."""
    text = pprof("-sample_index=samples", f"-peek=^{function}$", path)
    own = re.search(rf"^ *([\d.]+) +[\d.]+% +[\d.]+% +([\d.]+) +[\d.]+% +\| {function}$", text, re.M)
    called = re.search(rf"^ +([\d.]+) +[\d.]+% \| +{callee}(?: \(inline\))?$", text[own.end():], re.M)
    return float(own[1]), float(own[2]), float(called[1])


def check_processes(run):
    s, p = run.summary, run.profile
    processes = {(x["pid"], x["comm"]): x["nr_samples"] for x in s["processes"]}
    ok(processes == counts(p, "pid", "comm"), f"processes: {len(processes)} are those of the profile")
    ok(s["processes_unlisted"] == [], "processes: where all are listed there are no others")
    ok(sum(processes.values()) == s["samples"] == s["processes_samples"] == p.total(),
       "processes: their samples are all samples")
    ok(sum(x["nr_in_kernel"] for x in s["processes"]) == s["samples_in_kernel"],
       "processes: their samples in the kernel are all of those")
    commands = {x["comm"]: x for x in s["commands"]}
    ok({(c,): x["nr_samples"] for c, x in commands.items()} == counts(p, "comm"),
       f"commands: {', '.join(commands)} are those of the profile")
    ok(commands["spin"]["nr_processes"] == 2 and commands["dd"]["nr_processes"] == 1,
       "commands: processes of one name are counted")
    share = commands["dd"]["nr_in_kernel"] / commands["dd"]["nr_samples"]
    ok(share > 0.5 and not s["kernel_stacks"], f"commands: {share:.2f} of dd is in the kernel, without kernel stacks")
    if has_pprof():
        ok({c: x["nr_samples"] for c, x in commands.items()} == tags(run.profile_path, "comm"),
           "commands: those of pprof -tags")
        pids = collections.Counter()
        for (pid, _), nr in processes.items():
            pids[str(pid)] += nr
        ok(pids == tags(run.profile_path, "pid"), f"processes: those of pprof -tags: {len(pids)}")
    else:
        skip("needs go")


def check_paths(run):
    rows, found, ends = run.summary["paths"], prefixes(run.profile), {}
    bad = [i for i, r in enumerate(rows) if r["nr_samples"] != r["nr_self"] + r["nr_rest"] + below(rows, i)]
    ok(rows and not bad, f"paths: {len(rows)} rows add up {bad}")
    wrong = []
    for r in rows:
        caller = ends.get(r["depth"]) if r["continues"] else ends.get(r["depth"] - 1, ())
        # If functions are left out, or addresses of a file are merged, the path cannot be followed by name.
        path = None if caller is None or r["nr_skipped"] or r["is_unnamed"] else (*caller, (r["name"], r["file"]))
        ends[r["depth"]] = path
        if path and found[path] != r["nr_samples"]:
            wrong.append((path, found[path], r["nr_samples"]))
    ok(not wrong, f"paths: each row has the samples of the profile that came this way {wrong[:2]}")
    ok("spin_inner" in {r["name"] for r in rows}, "paths: the function that computes is in them")
    if has_pprof():
        ours = {f["name"]: f for f in run.summary["functions"] if f["file"].endswith("/spin")}["spin_outer"]
        callees = sum(r["nr_samples"] for r in rows if r["name"] == "spin_inner")
        flat, total, inner = peek(run.profile_path, "spin_outer", "spin_inner")
        ok((flat, total) == (ours["nr_self"], ours["nr_total"]),
           f"functions: self and total are those of pprof -peek: {flat:.0f} and {total:.0f}")
        ok(inner == callees > 0, f"paths: what a caller spends in its callee is what pprof -peek says: {inner:.0f}")
    else:
        skip("needs go")


def check_description(run):
    s, p = run.summary, run.profile
    uname = os.uname()
    ok(s["host"] == uname.nodename and s["kernel_release"] == uname.release and s["machine"] == uname.machine,
       "the summary names host and kernel")
    ok(s["target"] == f"sh -c {SCRIPT}"[:255] and s["end_reason"] == "targets_exited" and s["tags"] == ["team=x"],
       "the summary names the command, its end and the tags")
    ok(p.comments[0] == "team=x" and {f"# host: {uname.nodename}", f"# kernel: {uname.release} {uname.machine}",
                                      f"target: {s['target']}", "# end: targets_exited"} <= set(p.comments),
       "the profile has the same as comments")
    if has_pprof():
        head = pprof("-top", run.profile_path).split("flat%")[0]
        ok("target: sh -c" in head and "team=x" in head and not {"host:", "kernel:", "sampling:"} & set(head.split()),
           "pprof's reports begin with target and tags, and with no other comment")
        ok(f"# host: {uname.nodename}" in pprof("-comments", run.profile_path), "pprof -comments shows all of them")
    else:
        skip("needs go")
    ok(p.str(p.mapping_list[0].filename) == os.path.realpath(shutil.which("sh")),
       f"the first mapping is the command's program: {p.str(p.mapping_list[0].filename)}")


def check_functions(run):
    s = run.summary
    totals = [(f["nr_total"], f["nr_self"]) for f in s["functions_by_total"]]
    ok(totals == sorted(totals, reverse=True) and totals, "functions by total are in that order")
    starts = {f["name"] for f in s["functions_by_total"] if f["file"].endswith("/spin") and f["is_start"]}
    ok({"_start", "main"} <= starts and "burn_steps" not in starts, "functions by total mark those of each stack of a program")


need_root()
tmp = workdir()
captured = agent(tmp, "-F", 499, "--tag", "team=x", command=["sh", "-c", SCRIPT])
note(captured.stderr)
check_processes(captured)
check_paths(captured)
check_description(captured)
check_functions(captured)
spin = prog("spin", 60)
everything = agent(tmp, "-a", "-d", "1s")
end(spin)
ok(everything.profile.str(everything.profile.mapping_list[0].filename) == f"[{os.uname().nodename}]",
   "the first mapping of a whole machine is its name")
ok(everything.summary["all"] and everything.summary["end_reason"] == "duration" and
   everything.summary["processes_samples"] == everything.summary["samples"],
   "a capture of the whole machine ends by its duration, and its processes have all samples")
done()
