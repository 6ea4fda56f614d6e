# SPDX-License-Identifier: Apache-2.0
"""go tool pprof and our files: each of its views agrees with this test's own reader, and two runs of one program cancel
out although the kernel loads it at different addresses."""
import collections
import os
import re
import socket
import subprocess
import urllib.parse
import urllib.request

from go_pprof import has_pprof, pprof, pprof_command, rows_of
from harness import PROGS, agent, agent_until, done, end, need_root, note, ok, prog, skip, wait_for, workdir
from pprof import Profile

SAMPLES = "-sample_index=samples"
SIGMAS = 5
MIN_SAMPLES = 800


def own_and_all(profile):
    """Samples by function: self, and total with its callees."""
    own, total = collections.Counter(), collections.Counter()
    for s in profile.samples:
        names = s.names()
        own[names[0]] += s.count
        total.update({name: s.count for name in set(names)})
    return {name: (own[name], total[name]) for name in total}


def test_top(run):
    text = pprof("-top", "-nodecount=100000", "-nodefraction=0", SAMPLES, run.profile_path)
    ours, theirs = own_and_all(run.profile), rows_of(text)
    for name in [n for n in ours.keys() | theirs.keys() if ours.get(n) != theirs.get(n)][:5]:
        note(f"{name}: {ours.get(name)} by the reader, {theirs.get(name)} by pprof")
    ok(ours == theirs, f"-top: {len(ours)} functions, with the samples that this test's reader counts")


def test_peek(run):
    """Who calls spin_inner, and what it calls."""
    text = pprof("-peek=^spin_inner$", SAMPLES, run.profile_path)
    note(text)
    edges = collections.Counter()
    for s in run.profile.samples:
        names = s.names()
        edges.update((caller, callee) for callee, caller in zip(names, names[1:]) for _ in range(s.count))
    shown = re.findall(r"^ +(\d+) +[\d.]+% \| +(\S+)", text, re.M)
    wanted = [(str(n), caller) for (caller, callee), n in edges.items() if callee == "spin_inner"]
    wanted += [(str(n), callee) for (caller, callee), n in edges.items() if caller == "spin_inner"]
    ok(wanted and sorted(shown) == sorted(wanted), f"-peek: callers and callees of spin_inner: {sorted(wanted)}")


def test_tags(run):
    counts = collections.Counter()
    for s in run.profile.samples:
        counts.update({("comm", s.labels["comm"]): s.count, ("pid", s.labels["pid"]): s.count})
    wanted = [("comm", "spin")] + [("pid", pid) for key, pid in counts if key == "pid"][:3]
    for key, value in wanted:
        focus = pprof("-top", SAMPLES, "-relative_percentages", f"-tagfocus={key}={value}", run.profile_path)
        ignore = pprof("-top", SAMPLES, "-relative_percentages", f"-tagignore={key}={value}", run.profile_path)
        found = counts[key, value]
        shown = [int(re.search(r"of (\d+) total$", text, re.M)[1]) for text in (focus, ignore)]
        ok(shown == [found, run.profile.total() - found],
           f"-tagfocus={key}={value} shows {found} of {run.profile.total()} samples, -tagignore the others")


def test_list(run):
    with open(source) as f:
        nr, hot = next((i, line.strip()) for i, line in enumerate(f, 1) if "stirred here" in line)
    leaves = [(s.frames[0], s.count) for s in run.profile.samples if s.frames[0].name == "stir"]
    # The compiler may have been given the source with another path than its present one.
    text = pprof("-list=^stir$", SAMPLES, f"-source_path={os.path.dirname(source)}",
                 f"-trim_path={os.path.dirname(leaves[0][0].filename)}", run.profile_path)
    line = next((x for x in text.splitlines() if hot in x), "")
    note(line)
    count = sum(n for leaf, n in leaves if leaf.line == nr)
    ok(line.split()[:1] == [str(count)], f"-list: {count} samples stand beside the line that does the work")


def test_diff(tmp):
    """The same program twice, with randomized addresses."""
    runs = []
    for i in range(2):
        directory = os.path.join(tmp, f"run{i}")
        os.mkdir(directory)
        target = prog("demo_workload", 300)
        runs.append(agent_until(MIN_SAMPLES, directory, "--pid", target.pid, "-F", 999))
        end(target)
    old, new = runs
    files = [{p.str(m.filename): m.memory_start for m in p.mapping_list if m.memory_start}
             for p in (old.profile, new.profile)]
    program = os.path.join(PROGS, "demo_workload")
    with open("/proc/sys/kernel/randomize_va_space") as f:
        if f.read().strip() == "0":
            skip("two runs at different addresses: needs address space randomization")
        else:
            ok(files[0][program] != files[1][program], "two runs of one program are at different addresses")
    diff_path = os.path.join(tmp, "diff.pb.gz")
    pprof("-proto", f"-output={diff_path}", f"-diff_base={old.profile_path}", new.profile_path)
    diff = Profile(diff_path)
    paths = collections.Counter(diff.str(m.filename) for m in diff.mapping_list)
    ok(set(paths.values()) == {1}, f"-diff_base: each of {len(paths)} files is one mapping, not two")
    places = [{(f.path, f.address - f.mapping.memory_start) for s in p.samples for f in s.frames if f.mapping}
              for p in (old.profile, new.profile, diff)]
    ok(places[2] == places[0] | places[1] and len(places[0] & places[1]) > 3,
       f"-diff_base: {len(places[0] & places[1])} addresses of the two runs are the same ones, none is there twice")
    text = pprof("-top", "-normalize", SAMPLES, f"-diff_base={old.profile_path}", new.profile_path)
    note(text)
    ours, n = own_and_all(new.profile), min(old.profile.total(), new.profile.total())
    differing = {name: flat for name, (flat, _) in rows_of(text).items()
                 if abs(flat) > SIGMAS * noise(ours.get(name, (0, 0))[0], new.profile.total(), n)}
    ok(not differing and rows_of(text), f"-diff_base: what is left of each function is noise {differing or ''}")


def noise(count, total, smaller):
    """One standard deviation of the difference of two counts with the same true share, of profiles with at least that
    many samples."""
    share = max(count, 3) / total
    return total * (share * 2 / smaller) ** 0.5


def answers(url):
    """Whether a server listens at the URL: pprof prints it before it does."""
    place = urllib.parse.urlsplit(url)
    try:
        socket.create_connection((place.hostname, place.port), timeout=10).close()
    except ConnectionRefusedError:
        return False
    return True


def test_server(path):
    """The web interface, except its graph, which needs another program."""
    server = subprocess.Popen(**pprof_command("-http=localhost:", "-no_browser", path), stdout=subprocess.DEVNULL,
                              stderr=subprocess.PIPE, text=True, start_new_session=True)
    lines = []
    while not (found := re.search(r"http://\S+", lines[-1] if lines else "")) and (line := server.stderr.readline()):
        lines.append(line)
    if not ok(found, "-http serves"):
        note("".join(lines))
        return
    wait_for(lambda: server.poll() is not None or answers(found[0]), "pprof to listen", 60)
    for page in ("top", "flamegraph", "peek?f=spin_inner"):
        with urllib.request.urlopen(f"{found[0].rstrip('/')}/{page}", timeout=60) as answer:
            text = answer.read().decode()
        ok(answer.status == 200 and "burn_steps" in text, f"-http: /{page} shows burn_steps")
    os.killpg(server.pid, 15)  # go, and the pprof that it has started
    server.wait()


need_root()
if not has_pprof():
    skip("needs go tool pprof")
    done()
work = workdir()
source = os.path.join(os.path.dirname(os.path.abspath(__file__)), "progs", "lines.c")
two = agent(work, "-F", 499, command=["sh", "-c", f"{PROGS}/spin 1 & {PROGS}/spin 1 & {PROGS}/deep 30 1; wait"])
note(two.stderr)
test_top(two)
test_peek(two)
test_tags(two)
test_server(two.profile_path)
test_list(agent(work, "-F", 499, command=[f"{PROGS}/lines", "1"]))
test_diff(work)
done()
