# SPDX-License-Identifier: Apache-2.0
"""perf reads our perf.data: each sample has the thread, the files and the functions of the pprof file of the same
capture, frame by frame."""
import collections
import functools
import glob
import itertools
import operator
import os
import re
import shutil
import subprocess
import tempfile

import perf_script
from harness import (AGENT, PROGS, agent, agent_until, done, end, finish_agent, need_root, note, ok, prog, skip,
                     start_agent, stop, wait_for_sampling, workdir)

MIN_SAMPLES = 100


def kernel_places():
    """Kernel functions by address: perf and the agent may choose different names for the same address."""
    addresses = collections.defaultdict(set)
    with open("/proc/kallsyms") as f:
        for line in f:
            address, _, name = line.split()[:3]
            addresses[name].add(address)
    return {name: next(iter(a)) for name, a in addresses.items() if len(a) == 1}


def dso_of(path):
    """The common name of a file, or of memory without one."""
    path = path.removesuffix(" (deleted)")
    if path.startswith("[kernel"):
        return "kernel"
    if path in ("[jit]", "//anon") or re.fullmatch(r"/tmp/perf-\d+\.map", path):
        return "jit"
    return path if path not in ("", "[unknown]") else "none"


def files_with_symbols(path):
    """The file and, if it is installed, its separate debug file."""
    notes = subprocess.run(["readelf", "-n", path], capture_output=True, text=True).stdout
    build_id = re.search(r"Build ID: (\w\w)(\w+)", notes)
    debug = f"/usr/lib/debug/.build-id/{build_id[1]}/{build_id[2]}.debug" if build_id else ""
    return [path, *([debug] if os.path.exists(debug) else [])]


@functools.cache
def symbols(path):
    """Where a file's functions begin and end; and the address of each name that is unambiguous."""
    addresses, ends = collections.defaultdict(set), set()
    for options, file in itertools.product(([], ["-D"]), files_with_symbols(path)):
        text = subprocess.run(["nm", "-S", *options, file], capture_output=True, text=True).stdout
        for address, size, name in re.findall(r"^([0-9a-f]+) ([0-9a-f]+ )?[tTwWiu] ([^@\s]+)", text, re.MULTILINE):
            addresses[name].add(int(address, 16))
            ends.add(int(address, 16) + int(size or "0", 16))
    first = {name: next(iter(a)) for name, a in addresses.items() if len(a) == 1}
    return set().union(*addresses.values()), ends, first


@functools.cache
def segments(path):
    text = subprocess.run(["readelf", "-lW", path], capture_output=True, text=True).stdout
    return [[int(x, 16) for x in m] for m in re.findall(r"^ +LOAD +(0x\w+) (0x\w+) 0x\w+ (0x\w+)", text, re.MULTILINE)]


def address_after(frame):
    """The function after the call, by the file's symbols: perf looks up a caller there."""
    offset = frame.address + 1 - frame.mapping.memory_start + frame.mapping.file_offset
    return next((offset - at + address for at, address, size in segments(frame.path) if at <= offset < at + size), None)


def place(name, dso):
    """Where a function begins: any of its names is right. perf cannot read a file that is gone, and has names of stubs
    for some linkers only."""
    if dso == "kernel":
        return KERNEL.get(name.split(" [")[0], name)
    if dso.startswith("/"):
        return symbols(dso)[2].get(name, name) if os.path.isfile(dso) and not name.endswith("@plt") else ""
    return name


def raw_name(profile, frame):
    """The linker's name of the function that the frame is in; perf treats inlined functions in its own way."""
    if not frame.functions or frame.function.startswith("0x") or "+0x" in frame.function:
        return ""
    function = profile.functions[frame.functions[-1]]
    return profile.str(function.system_name) or frame.function


def place_for_perf(profile, frame, is_leaf):
    """perf looks up the return address itself: after a call that does not return, that is in the next function, or
    between two functions."""
    dso = dso_of(frame.path)
    if not is_leaf and os.path.isfile(dso):
        starts, ends, _ = symbols(dso)
        after = address_after(frame)
        if after in starts or after in ends:
            return after if after in starts else ""
    return place(raw_name(profile, frame), dso)


def at(dso, name):
    """perf has no symbol for kernel code that is in no table: BPF programs that are no longer loaded, trampolines."""
    if dso == "none" or (dso == "kernel" and (not name or "[bpf]" in str(name))):
        return "none", ""
    return dso, name


def without_names(frames):
    """The program of another process may be replaced before perf reads it, and entries of the kernel's list may be
    gone."""
    return tuple(("none" if dso == "kernel" else dso, "*") for dso, _ in frames)


def of_pprof(profile, own):
    stacks = collections.Counter()
    for s in profile.samples:
        frames = tuple(at(dso_of(f.path), place_for_perf(profile, f, i == 0)) for i, f in enumerate(s.frames))
        comm = s.labels["thread"]
        stacks[(comm, s.labels["pid"], s.labels["tid"], frames if not own or comm in own else without_names(frames))] += s.count
    return stacks


def of_perf(samples, own):
    stacks = collections.Counter()
    for s in samples:
        frames = tuple(at(dso_of(f.dso), place(f.name, dso_of(f.dso))) for f in s.frames)
        stacks[(s.comm, s.pid, s.tid, frames if not own or s.comm in own else without_names(frames))] += 1
    return stacks


def note_differences(ours, theirs):
    """For stacks that only perf has, the frames that differ from the most similar stack that only the pprof file has.
    """
    for *task, frames in ours[:4]:
        like = [x for *t, x in theirs if t == task and len(x) == len(frames)]
        best = max(like, key=lambda x: sum(map(operator.eq, x, frames)), default=())
        note(f"{task}, {len(frames)} frames: {[pair for pair in zip(frames, best) if pair[0] != pair[1]] or 'only perf has them'}")


def agrees_by(perf, what, run, own):
    samples = perf_script.read(perf, data)
    ours, theirs = of_perf(samples, own), of_pprof(run.profile, own)
    note_differences(list((ours - theirs).elements()), list((theirs - ours).elements()))
    ok(ours == theirs, f"{what}: {PERFS[perf]}: perf script has the {run.profile.total()} samples and {len(theirs)} stacks of the"
       f" pprof file (perf: {len(samples)}, {len(ours)})")
    ok([s.time for s in samples] == sorted(s.time for s in samples), f"{what}: samples are in the order of time")
    check_values(perf, what, run.profile)
    return samples


def agrees(what, run, *own):
    """Each perf has the stacks of the pprof file. own: commands of this test; none: all commands."""
    if not ok(run.status == 0 and run.profile and run.profile.total() and os.path.exists(data), f"{what}: captured"):
        note(run.stderr)
        return []
    return [agrees_by(perf, what, run, own) for perf in PERFS][0]


def test_native():
    """It has no frame pointers, and is gone when perf reads the file."""
    path = os.path.join(PROGS, "demo_workload")
    if not os.path.exists(path):
        skip("C++ without frame pointers: needs a C++ compiler")
        return
    run = agent(tmp, "-F", 499, "--perf-data-output", data, "--folded-output", folded, command=[path, "1"])
    agrees("C++ without frame pointers, exited", run)
    for perf in PERFS if run.profile else ():
        check_report(perf, run)
        check_folded(perf)
        check_tools(perf)


def readable(name):
    """perf looks up the return address of ld.so's first call, which is after another label."""
    if name == "_dl_start_user":
        return "_start"
    return subprocess.run(["c++filt", name], capture_output=True, text=True).stdout.strip().replace(";", ":")


def without_inlined(stack):
    """perf.data has no inlined functions, and perf shows addresses without a name as [unknown]."""
    comm, *frames = stack.split(";")
    frames = ["[unknown]" if re.search(r"^0x|\+0x", f) else re.sub(r"_\[[kj]\]$", "", f) for f in frames
              if not f.endswith("_[i]")]
    return ";".join([comm, *frames])


def check_folded(perf):
    """The samples of perf script, folded like by FlameGraph's stackcollapse-perf.pl."""
    names = functools.cache(readable)
    theirs, ours = collections.Counter(), collections.Counter()
    for s in perf_script.read(perf, data):
        theirs[";".join([s.comm, *(names(f.name) or "[unknown]" for f in reversed(s.frames))])] += 1
    with open(folded) as f:
        for stack, count in (line.rsplit(" ", 1) for line in f):
            ours[without_inlined(stack)] += int(count)
    for stack in [*(theirs - ours), *(ours - theirs)][:4]:
        note(f"perf has {theirs[stack]}, the folded file {ours[stack]}: {stack}")
    ok(theirs and theirs == ours, f"{PERFS[perf]}: perf script folded is --folded-output ({len(theirs)} stacks)")


def check_values(perf, what, profile):
    """The periods of each process add up to its time, and each sample has a CPU of this machine."""
    text = perf_script.run(perf, "script", "-i", data, "-F", "pid,cpu,period", "-G").stdout
    found = re.findall(r"^ *(\d+) +\[(\d+)\] +(\d+) *$", text, re.MULTILINE)
    theirs, ours = collections.Counter(), collections.Counter()
    for pid, _, period in found:
        theirs[int(pid)] += int(period)
    for s in profile.samples:
        ours[s.labels["pid"]] += s.values[1]
    ok(len(found) == profile.total() and theirs == ours, f"{what}: {PERFS[perf]}: the periods of {len(ours)} processes are"
       f" their time on the CPU {'' if theirs == ours else (theirs, ours)}")
    ok(found and {int(cpu) for _, cpu, _ in found} <= CPUS, f"{what}: {PERFS[perf]}: samples are of CPUs that there are")


def check_report(perf, run):
    """Shares of functions by self time."""
    text = perf_script.run(perf, "report", "-i", data, "--stdio", "--no-children", "--no-inline", "--no-demangle",
                           "-g", "none", "-F", "overhead,sym", "--percent-limit", 0).stdout
    shares = {m[2]: float(m[1]) for m in re.finditer(r"^\s*([\d.]+)%\s+\[\.\] (\S+)\s*$", text, re.MULTILINE)}
    counts = collections.Counter()
    for s in run.profile.samples:
        if s.frames and os.path.basename(s.frames[0].path) == "demo_workload":
            counts[raw_name(run.profile, s.frames[0])] += s.count
    wrong = {name: (100 * n / run.profile.total(), shares.get(name)) for name, n in counts.items()
             if abs(100 * n / run.profile.total() - shares.get(name, -1)) > 0.011}
    ok(counts and not wrong, f"{PERFS[perf]}: perf report has the shares of {len(counts)} functions {wrong or ''}")


def check_tools(perf):
    version = PERFS[perf]
    text = perf_script.run(perf, "evlist", "-v", "-i", data).stdout
    ok(re.search(r"^cpu-clock: .*size: 112.*sample_id_all: 1", text), f"{version}: perf evlist has the event")
    text = perf_script.run(perf, "report", "--header-only", "-i", data).stdout
    wanted = ("hostname", "os release", "perf version : perf-agent", "arch", "nrcpus online", "cmdline", "time of first sample")
    ok(all(f"# {x}" in text for x in wanted), f"{version}: the header says who recorded what, where and when")
    perf_script.run(perf, "inject", "-b", "-i", data, "-o", data + ".injected")
    ok(perf_script.read(perf, data + ".injected") == perf_script.read(perf, data),
       f"{version}: perf inject -b writes the same samples")
    text = perf_script.run(perf, "buildid-list", "-i", data).stdout
    path = os.path.join(PROGS, "demo_workload")
    build_id = re.search(r"Build ID: (\w+)", subprocess.run(["readelf", "-n", path], capture_output=True, text=True).stdout)
    ok(build_id and f"{build_id[1]} {path}" in text, f"{version}: perf buildid-list has the program's, as readelf does")


def test_processes():
    """Many short-lived processes, some of which run another program by the time of the sample."""
    run = agent(tmp, "-F", 999, "--perf-data-output", data, command=[os.path.join(PROGS, "shortlived"), "1", "5"])
    agrees("short-lived processes", run)
    pids = {s.labels["pid"] for s in run.profile.samples}
    text = perf_script.run("perf", "script", "-i", data, "--show-task-events", "--show-mmap-events").stdout
    with_records = {int(x) for x in re.findall(r"PERF_RECORD_(?:MMAP2|FORK|COMM).*?[ (:](\d+)[/:]", text)}
    ok(with_records and with_records <= pids, f"perf.data has names and mappings of the {len(pids)} processes with samples only")
    run = agent(tmp, "-F", 999, "--kernel-stacks", "--perf-data-output", data,
                command=["sh", "-c", "i=0; while [ $i -lt 100 ]; do /bin/true; i=$((i + 1)); done"])
    agrees("programs that are over at once", run)
    samples = [s for s in run.profile.samples if s.labels["comm"] == "true"]
    pids = {s.labels["pid"] for s in samples}
    # the kernel reports an exec at its end, but the name has changed before
    later = {s.labels["pid"] for s in samples if not any(re.search("sys_execve(at)?$", f.name) for f in s.frames)}
    for perf in PERFS:
        text = perf_script.run(perf, "script", "-i", data, "--show-task-events").stdout
        with_exec = {int(x) for x in re.findall(r"PERF_RECORD_COMM exec: true:(\d+)/", text)}
        ok(later and later <= with_exec <= pids,
           f"{PERFS[perf]}: each of {len(later)} processes of /bin/true that have samples after execve() has its exec "
           f"(without: {sorted(later - with_exec)}, not a process: {sorted(with_exec - pids)})")


def test_all():
    spin = prog("spin", 60)
    dd = subprocess.Popen(["dd", "if=/dev/zero", "of=/dev/null", "bs=64k"], stderr=subprocess.DEVNULL)
    run = agent(tmp, "-a", "-d", "2s", "-F", 199, "--kernel-stacks", "--perf-data-output", data)
    samples = agrees("the whole machine, kernel stacks", run, "spin", "dd")
    ok(any(dso_of(f.dso) == "kernel" and f.name for s in samples for f in s.frames), "perf script shows kernel symbols")
    end(dd)
    end(spin)


def test_generated():
    p = prog("jit", "map", 60, stdout=subprocess.PIPE, cwd=tmp)
    p.stdout.readline()
    run = agent_until(MIN_SAMPLES, tmp, "--pid", p.pid, "-F", 499, "--perf-data-output", data, seconds=1)
    samples = agrees("generated code with a perf map", run)
    ok(any("hot" in f.name for s in samples for f in s.frames), "perf script shows the symbols of a perf map")
    end(p)
    path = f"/tmp/perf-{p.pid}.map"
    if os.path.exists(path):
        os.unlink(path)


def test_jitdump():
    """perf takes every file below /tmp/perf-* for a perf map, hence a directory with another name."""
    with tempfile.TemporaryDirectory(prefix="jitdump.") as folder:
        p = prog("jit", "dump", 60, stdout=subprocess.PIPE, cwd=folder)
        p.stdout.readline()
        run = agent_until(MIN_SAMPLES, tmp, "--pid", p.pid, "-F", 499, "--perf-data-output", data, seconds=1)
        end(p)
        expected = {f.name for s in run.profile.samples for f in s.frames if f.path == "[jit]"}
        for perf in PERFS:
            injected = os.path.join(folder, "with-code.data")
            perf_script.run(perf, "inject", "--jit", "-f", "-i", data, "-o", injected)
            found = {f.name for s in perf_script.read(perf, injected) for f in s.frames}
            ok(expected and expected <= found, f"{PERFS[perf]}: perf inject --jit finds the jitdump of {sorted(expected)}")


def test_ends():
    """However the capture ends, the file is complete or does not exist."""
    p = prog("threads", 60)
    a = start_agent(tmp, "--pid", p.pid, "-F", 499, "-d", 0, "--perf-data-output", data)
    wait_for_sampling(a, p.pid)
    stop(a)
    agrees("SIGINT", finish_agent(a))
    a = start_agent(tmp, "--pid", p.pid, "-F", 499, "-d", 0, "--perf-data-output", data)
    wait_for_sampling(a, p.pid)
    end(p)
    agrees("the target is killed", finish_agent(a))
    os.unlink(data)
    spin = prog("spin", 60)
    run = agent(tmp, "--pid", spin.pid, "-F", 4000, "-d", "3s", "--perf-data-output", data,
                before=["sh", "-c", 'ulimit -f 64; exec "$@"', "sh"])  # 32 KB
    ok(run.status == 1 and "file size limit" in run.stderr and not os.path.exists(data),
       "a file that cannot grow: exit status 1, the reason, and no file")
    ok(run.profile and run.profile.total(), "a perf.data file that cannot grow: the other outputs are written")
    r = subprocess.run([AGENT, "-p", str(spin.pid), "-d", "1s", "--no-profile-output", "--perf-data-output", "/dev/null"],
                       capture_output=True, text=True)
    ok(r.returncode == 1 and "regular file" in r.stderr, "a device is refused before the capture")
    end(spin)


def test_memory():
    """The file is written during the capture: a longer capture takes no more memory."""
    spin, rss, size = prog("spin", 120), [], []
    for seconds in (1, 7):
        run = agent(tmp, "--pid", spin.pid, "-F", 4999, "-d", f"{seconds}s", "--perf-data-output", data)
        rss.append(run.summary["agent_sampling_rss_bytes"])
        size.append(os.path.getsize(data))
    end(spin)
    note(f"{rss} bytes of memory, {size} bytes of perf.data")
    ok(size[1] - size[0] > 1 << 20 and rss[1] - rss[0] < (size[1] - size[0]) / 2,
       f"perf.data grows by {(size[1] - size[0]) >> 10} KiB in six seconds, memory by {(rss[1] - rss[0]) >> 10} KiB")


def test_lost():
    """A ring of one page loses most samples, which tiny_ring counts by reason."""
    spin = prog("spin", 60)
    r = subprocess.run([os.path.join(PROGS, "tiny_ring"), str(spin.pid), "on-cpu", data], capture_output=True, text=True)
    end(spin)
    lost = dict(re.findall(r"^(\w+) (\d+)$", r.stdout, re.MULTILINE))
    expected = sum(int(n) for name, n in lost.items() if name != "not_delivered")
    note(lost)
    for perf in PERFS:
        text = perf_script.run(perf, "script", "-i", data, "--show-lost-events", "-F", "time").stdout
        found = re.findall(r"([\d.]+):.*PERF_RECORD_LOST lost (\d+)", text)
        ok(r.returncode == 0 and expected and sum(int(n) for _, n in found) == expected,
           f"{PERFS[perf]}: LOST records of all {expected} samples that were lost")
        ok(len({time for time, _ in found}) > 1, f"{PERFS[perf]}: LOST records at {len(found)} times, where samples were lost")


def version_of(perf):
    """Its version; empty if it does not run."""
    if not shutil.which(perf):
        return ""
    r = subprocess.run([perf, "--version"], capture_output=True, text=True)
    return r.stdout.strip().replace(" version", "") if r.returncode == 0 else ""


def find_perfs():
    """This machine's perf, and the oldest and the newest of Debian: programs and versions."""
    found = {}
    if version_of("perf"):
        found["perf"] = version_of("perf")
    else:
        skip("this machine's perf: not installed (package linux-perf), or not for this kernel")
    for which, suites, package in (("oldest", "bullseye-security,bullseye", "linux-perf-5.10"),
                                   ("newest", "sid,trixie", "linux-perf")):
        r = subprocess.run([os.path.join(os.path.dirname(__file__), "fetch_perf"), os.environ["PERF_CACHE"], suites, package],
                           capture_output=True, text=True)
        if r.returncode == 0:
            found[r.stdout.strip()] = version_of(r.stdout.strip())
        else:
            skip(f"the {which} perf of Debian ({package} of {suites}): {r.stderr.strip()}")
    return found


need_root()
PERFS = find_perfs()
if not PERFS:
    done()
tmp = workdir()
data = os.path.join(tmp, "perf.data")
folded = os.path.join(tmp, "out.folded")
KERNEL = kernel_places()
CPUS = {int(path[len("/sys/devices/system/cpu/cpu"):]) for path in glob.glob("/sys/devices/system/cpu/cpu[0-9]*")}
test_native()
test_processes()
test_all()
test_generated()
test_jitdump()
test_ends()
test_memory()
test_lost()
done()
