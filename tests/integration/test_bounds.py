# SPDX-License-Identifier: Apache-2.0
"""Files of an unprivileged user that are built to be costly to read: a capture still ends soon, resolves everybody
else's code, and reports which files exceeded a limit."""
import os
import platform
import pwd
import resource
import shutil
import signal
import subprocess
import sys
import time

import hostile_elf as hostile
from harness import AGENT, done, end, finish_agent, need_root, note, ok, prog, skip, start_agent, wait_for_cpu, workdir

HERE = os.path.dirname(os.path.abspath(__file__))
MAX_CPU_S = 10  # of the agent; before the limits, these files took it minutes to days
MAX_OWNER_CPU_S = 20  # including 5 for symbols from the files of one user, and what is in progress by then
# After an interrupt, of an agent that has one CPU: a second for names, a quarter for unwind tables, and what has to be
# done. 0.5 to 1.3 s were seen; before, up to 67 s for files of root.
MAX_END_CPU_S = 2
MAX_ABORT_CPU_S = 0.3  # after a second interrupt
MAX_ABORT_MANY_CPU_S = 1.5  # with 250 MB of stacks, which have to be given back
HANGS_S = 120
MAX_RSS_MIB = 768  # 512 for lines of hostile files; the rest for symbols of other processes on the machine


def started(files, script="run_files.py", is_ours=False):
    """A process of the unprivileged user, or of our own, that runs the code of these files, or the script."""
    before = [] if is_ours else ["setpriv", f"--reuid={user.pw_uid}", f"--regid={user.pw_gid}", "--clear-groups"]
    p = subprocess.Popen([*before, sys.executable, os.path.join(tmp, script), *files], stdout=subprocess.PIPE, text=True)
    if p.stdout.readline() != "ready\n":
        note("the hostile process did not start")
    return p


def usage():
    u = resource.getrusage(resource.RUSAGE_CHILDREN)
    return u.ru_utime + u.ru_stime


def capture(what, files, *args, max_cpu_s=MAX_CPU_S, script="run_files.py"):
    """Profiles the machine while these files run."""
    p = started(files, script)
    before = usage()
    agent = start_agent(tmp, "-a", "-d", "1s", *args)
    try:
        run = finish_agent(agent, 100)
    except subprocess.TimeoutExpired:
        agent.kill()
        run = finish_agent(agent)
    cpu_s = usage() - before
    end(p)
    if not ok(run.status == 0 and run.profile is not None and cpu_s < max_cpu_s,
              f"{what}: the capture ends, after {cpu_s:.1f} s of CPU time"):
        note(f"exit {run.status}: {run.stderr[-2000:]}")
    names = {name for s in run.profile.samples for name in s.names()} if run.profile else set()
    ok("spin_inner" in names, f"{what}: others are named")
    rss_mib = run.summary["agent_peak_rss_bytes"] >> 20 if run.summary else -1
    ok(0 < rss_mib < MAX_RSS_MIB, f"{what}: {rss_mib} MiB of memory")
    return run, names


def limited(run, what):
    """Our files that are reported as over a limit, if the text report agrees; the machine may have others."""
    limits = run.summary["limits"] if run.summary else []
    found = {os.path.basename(x["file"]) for x in limits if x["what"] == what and x["file"].startswith(tmp)}
    return found if any(name in run.stderr for name in found) else set()


def capture_dwarf(what, path):
    """The symbol table still resolves what debug information does not."""
    run, names = capture(what, [path])
    ok("hostile_function" in names, f"{what}: its symbols are kept")
    ok(limited(run, "names") == {os.path.basename(path)}, f"{what}: the report names the file")


def made(name, make, *args):
    path = os.path.join(tmp, name)
    make(path, *args)
    return path


def test_sparse_code():
    files = [made(f"sparse{i}", hostile.sparse_code) for i in range(64)]
    run, _ = capture("64 sparse programs", files)
    ok(limited(run, "unwind_table") and run.summary["limits_seen"] >= len(limited(run, "unwind_table")),
       "64 sparse programs: the report names them")
    capture("64 sparse programs, compiled first", files, "--unwind", "dwarf")


def test_debug_information():
    capture_dwarf("100,000 units and one table of 1,000,000 abbreviations",
                  made("abbrevs", hostile.shared_abbrevs, 100000, 1000000))
    capture_dwarf("100,000 units and tables within one another",
                  made("overlapping", hostile.shared_abbrevs, 100000, 1000000, 6))
    capture_dwarf("100,000 units and one list of 2,000,000 ranges",
                  made("ranges", hostile.shared_ranges, 100000, 2000000))
    capture_dwarf("strings of 8 TB that are not there", made("strings", hostile.sparse_strings, 1000, 1000000, 8 << 40))
    capture_dwarf("1,000 skeletons and a sparse .dwo of 1000 MiB",
                  made("split", hostile.split_units, os.path.join(tmp, "sparse.dwo"), 1000, 1000 << 20))
    for mib, times, noise in ((768, 150, 0), (768, 25, 2200), (430, 25, 2200)):
        capture_dwarf(f"{mib} MiB that are packed to one part in about {times}",
                      made(f"packed{mib}_{times}", hostile.zlib_bomb, mib << 20, noise))


def test_checksums():
    """Two sparse files of 2040 MiB that 32 libraries without a build-id refer to."""
    os.mkdir(os.path.join(tmp, ".debug"))
    for path in ("linked.debug", ".debug/linked.debug"):
        made(path, hostile.write_elf, [(".debug_info", hostile.SHT_PROGBITS, 0, hostile.Hole(1000 << 20)),
                                       (".filler", hostile.SHT_PROGBITS, 0, hostile.Hole(1039 << 20))])
    capture("checksums of 2040 MiB that are not there",
            [made(f"linked{i}", hostile.linked, "linked.debug") for i in range(32)])


def cpu_s(pid):
    """CPU time of a process and of the children it has waited for; 0 if it has ended."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8") as f:
            fields = f.read().rsplit(")", 1)[1].split()
    except OSError:
        return 0
    return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")


def ended_cpu_s():
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def use_one_cpu():
    os.sched_setaffinity(0, [min(os.sched_getaffinity(0))])


def interrupt(what, files, args, moments, status, is_sampling=True, is_ours=False):
    """Sends an interrupt at each of these times, in seconds; within 0.1 s they would count as one. What is measured is the
    CPU time from the last one on. Profiles these processes only, because others have symbols, too. Returns the run."""
    p = started(files, is_ours=is_ours)
    others_s = ended_cpu_s()
    whom = ("--pid", f"{p.pid},{neighbour.pid}") if is_ours else ("--user", user.pw_name)
    agent = start_agent(tmp, *whom, *args, preexec_fn=use_one_cpu)
    if is_sampling:
        agent.stderr.readline()  # reports that it is sampling
    for moment in moments:
        time.sleep(moment)
        agent.send_signal(signal.SIGINT)
    used_s = cpu_s(agent.pid)
    try:
        run = finish_agent(agent, HANGS_S)
    except subprocess.TimeoutExpired:
        agent.kill()
        run = finish_agent(agent)
    used_s = ended_cpu_s() - others_s - used_s
    end(p)
    if len(moments) > 1 and run.status == 0:
        status = 0  # the first interrupt was enough
    max_s = MAX_ABORT_CPU_S if status else MAX_END_CPU_S
    if not ok(run.status == status and used_s < max_s, f"{what}: it ends after {used_s:.2f} s of CPU time"):
        note(f"exit {run.status}: {run.stderr[-1000:]}")
    ok((run.profile is not None and run.summary is not None) == (status == 0),
       f"{what}: {'all is written' if status == 0 else 'nothing is left'}")
    return run


def check_left_out(what, run):
    """What an interrupt has left out is counted, and the report says so. The names of what costs little are there."""
    failures = {x["name"]: x["count"] for x in run.summary["naming_failures"]}
    nr, nr_lines = failures["interrupted"], run.summary["naming_lines_interrupted"]
    said = f"the names of {nr} address{'' if nr == 1 else 'es'}, the lines of {nr_lines}"
    if not ok(nr + nr_lines > 0 and f"left out because of the interrupt: {said}" in " ".join(run.stderr.split()),
              f"{what}: the report says what was left out: {said}"):
        note(run.stderr)
    names = {name for s in run.profile.samples for name in s.names()}
    ok("spin_inner" in names, f"{what}: another program in the same capture has its names")


def test_our_signals(sparse, costly, packed):
    """Files of our own have no limits for all files together: 42 of them took 67 s of CPU time after an interrupt. And where
    no duration was given, an interrupt is the usual end."""
    for path in sparse + costly + packed:
        os.chown(path, 0, 0)
    for args in (("-d", "60s"), ("-d", "0")):
        what = f"an interrupt, our own files, {' '.join(args)}"
        check_left_out(what, interrupt(what, packed, args, (2,), 0, is_ours=True))
    what = "an interrupt, our own files with costly lines"
    check_left_out(what, interrupt(what, costly, ("-d", "0"), (2,), 0, is_ours=True))
    interrupt("an interrupt while names are resolved, our own files", packed, ("-d", "1s"), (1.6,), 0, is_ours=True)
    interrupt("two interrupts, our own files", packed, ("-d", "0"), (2, 0.15), 128 + signal.SIGINT, is_ours=True)


def test_abort_with_many_stacks():
    """A second interrupt while 100,000 stacks are taken over from the kernel, merged and written; before, it had no effect
    for up to 4 s of CPU time."""
    folder = os.path.join(tmp, "aborted")
    os.mkdir(folder)
    for name, share in (("--offcpu-output", 0.1), ("--offcpu-output", 0.5), ("--folded-output", 0.7),
                        ("--flamegraph-output", 0.7)):
        p = prog("many_stacks", 10000000, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        p.stdout.readline()
        others_s = ended_cpu_s()
        agent = subprocess.Popen([AGENT, "--offcpu", "--pid", str(p.pid), "-d", "0", "--no-profile-output", name,
                                  os.path.join(folder, "out")], stderr=subprocess.PIPE, text=True, preexec_fn=use_one_cpu)
        agent.stderr.readline()
        p.stdin.write("\n")
        p.stdin.flush()
        wait_for_cpu(1.5, p.pid)
        agent.send_signal(signal.SIGINT)
        began_s = cpu_s(agent.pid)
        time.sleep(0.12)
        while agent.poll() is None and cpu_s(agent.pid) - began_s < share:
            time.sleep(0.01)
        used_s = cpu_s(agent.pid)
        agent.send_signal(signal.SIGINT)
        agent.communicate()
        used_s = ended_cpu_s() - others_s - used_s
        what = f"two interrupts, the second {share} s later, {name}"
        if agent.returncode == 0:
            note(f"{what}: it had ended")
        ok(agent.returncode in (0, 128 + signal.SIGINT) and used_s < MAX_ABORT_MANY_CPU_S,
           f"{what}: it ends after {used_s:.2f} s of CPU time")
        left = [x for x in os.listdir(folder) if x != "out"]
        ok(not left, f"{what}: no incomplete file is left: {left}")
        end(p)


def test_signals():
    sparse = [os.path.join(tmp, f"sparse{i}") for i in range(64)]
    costly = [os.path.join(tmp, name) for name in ("abbrevs", "ranges", "packed430_25")]
    for path in sparse + costly:  # files of root keep their limits
        os.chown(path, user.pw_uid, user.pw_gid)
    interrupt("an interrupt while tables are compiled first", sparse, ("-d", "60s", "--unwind", "dwarf"), (0.4,), 0,
              is_sampling=False)
    interrupt("an interrupt while sampling", sparse + costly, ("-d", "60s"), (2,), 0)
    packed = [os.path.join(tmp, f"packed{i}-{k}") for i in range(3) for k in range(14)]
    interrupt("an interrupt while sampling symbols that are slow to unpack", packed, ("-d", "60s"), (2,), 0)
    interrupt("an interrupt at the end", sparse + costly, ("-d", "1s"), (1.3,), 0)
    interrupt("two interrupts while tables are compiled first", sparse, ("-d", "60s", "--unwind", "dwarf"), (0.4, 0.15),
              128 + signal.SIGINT, is_sampling=False)
    interrupt("two interrupts while sampling", sparse + costly, ("-d", "60s"), (2, 0.15), 128 + signal.SIGINT)
    test_our_signals(sparse, costly, packed)


def test_symbols():
    capture("32 million symbols that are not there", [made("symbols", hostile.sparse_symbols, 32 << 20)])


def test_packed_symbols():
    """Each file is within the limits, and there are so few that each has samples."""
    first = made("packed", hostile.slow_symbols, 24 << 20)
    files = []
    for i in range(3):
        copy = shutil.copy(first, os.path.join(tmp, f"packed{i}"))
        os.chown(copy, user.pw_uid, user.pw_gid)
        files += [f"{copy}-{k}" for k in range(14)]
        for link in files[-14:]:
            os.link(copy, link)
    run, _ = capture("42 files with symbols that are slow to unpack", files, max_cpu_s=MAX_OWNER_CPU_S)
    ok(limited(run, "names"), "42 files with symbols that are slow to unpack: the report names some")


def test_mappings():
    """70 MB of text each. In earlier versions the map of each process was read to the end."""
    what = "6 processes with 20,000 mappings each"
    for attempt in range(5):
        folder = os.path.join(tmp, f"deep{attempt}")
        os.mkdir(folder)
        os.chown(folder, user.pw_uid, user.pw_gid)
        run, _ = capture(what, [folder, "20000", "6"], script="run_mapped.py")
        unread = [x["what"] for x in run.summary["unanswered"]] if run.summary else []
        is_said = any("too many for one user" in x for x in unread)
        note(f"{what}: not read: {unread}")
        # On a busy machine the time limit for a list may be reached first: then nothing is known of the other limit.
        if is_said or "maps" not in unread:
            break
    ok(is_said, f"{what}: the summary says that not all mappings are read")


need_root()
os.environ["MALLOC_PERTURB_"] = "0"  # it would fill unused memory, and this test measures memory and time
if platform.machine() != "x86_64":
    skip("makes code for x86-64")
    done()
if not shutil.which("setpriv"):
    skip("needs setpriv")
    done()
user = pwd.getpwnam("nobody")
tmp = workdir()
os.chmod(tmp, 0o755)
for script in ("run_files.py", "run_mapped.py", "hostile_elf.py"):
    shutil.copy(os.path.join(HERE, script), tmp)
neighbour = prog("spin", 600)
test_sparse_code()
test_debug_information()
test_checksums()
test_symbols()
test_packed_symbols()
test_mappings()
test_signals()
test_abort_with_many_stacks()
done()
