# SPDX-License-Identifier: Apache-2.0
"""Generated code has symbols: from perf maps and jitdumps, wherever the process lives."""
import glob
import os
import re
import shutil
import subprocess
import tempfile

from bad_debuginfod import BadServer
from harness import PROGS, agent, done, end, need_root, no_mount_namespace, note, ok, prog, skip
from harness import wait_for, workdir

HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "workloads")
JIT = os.path.join(PROGS, "jit")
NOBODY = 65534

need_root()
tmp = workdir()
# perf takes a file whose path begins with /tmp/perf- for a map, so dumps are written elsewhere.
dumps = tempfile.TemporaryDirectory(prefix="jit-test.")
made = []  # maps that the programs leave behind


def jit_frames(run):
    return [f for s in run.profile.samples for f in s.frames if f.path == "[jit]"]


def counts(run):
    return {c["name"]: c["count"] for c in run.summary["jit"]}


def why(run):
    return [u["why"] for u in run.summary["unnamed"] if u["file"] == "[jit]"]


def shares(run, name):
    """Share of samples whose running function is this one."""
    return sum(s.count for s in run.profile.samples if s.frames[0].name == name) / run.profile.total()


def jit(mode, **kwargs):
    p = prog("jit", mode, 60, stdout=subprocess.PIPE, cwd=dumps.name, **kwargs)
    p.stdout.readline()
    made.append(f"/tmp/perf-{p.pid}.map")
    return p


def capture(pid, seconds=1):
    return agent(tmp, "--pid", pid, "-F", 499, "-d", f"{seconds}s")


def perf_names(pid, from_dump):
    """The names that perf has for the code of a process, by address."""
    data = os.path.join(dumps.name, "perf.data")
    args = ["perf", "record", "-q", "-k", "mono", "-e", "cpu-clock", "-F", "299", "-p", str(pid), "-o", data]
    subprocess.run([*args, "--", "sleep", "1"], check=True, capture_output=True, cwd=dumps.name)
    if from_dump:
        subprocess.run(["perf", "inject", "--jit", "-i", data, "-o", data + ".jit"], check=True,
                       capture_output=True, cwd=dumps.name)
        data += ".jit"
    text = subprocess.run(["perf", "script", "-i", data, "-F", "ip,sym"], check=True, capture_output=True,
                          text=True, cwd=dumps.name).stdout
    lines = [line.split(None, 1) for line in text.splitlines() if line.strip()]
    return {int(ip, 16): name for ip, name in lines}


def check_against_perf(run, pid, from_dump=False):
    if not shutil.which("perf"):
        skip("perf is not installed")
        return
    theirs = perf_names(pid, from_dump)
    ours = {f.address: f.system_name for f in jit_frames(run)}
    both = theirs.keys() & ours.keys()
    ok(both and all(theirs[a] == ours[a] for a in both),
       f"{'jitdump' if from_dump else 'map'}: the same names as perf's at {len(both)} addresses")


def check_callers(run, what):
    """The generated code calls nothing, so its direct caller is run, whatever instruction was sampled."""
    own = [s for s in run.profile.samples if s.frames[0].path == "[jit]"]
    others = [s for s in own if s.names()[1:3] != ["run", "main"]]
    for s in others[:5]:
        note(f"{s.count} at {s.frames[0].address:#x}: {s.names()} {s.labels}")
    good = 1 - sum(s.count for s in others) / max(1, sum(s.count for s in own))
    ok(own and good >= 0.99, f"{what}: {good:.1%} of the samples")


# A program of our own, whose functions are known.
p = jit("map")
run = capture(p.pid)
frames = jit_frames(run)
ok(frames and {f.name for f in frames} == {"hot", "cold"}, "a perf map names all generated code")
ok(all((f.filename, f.line, f.system_name) == ("/srv/app.js", 12, "JS:*hot /srv/app.js:12:3")
       for f in frames if f.name == "hot"), "with file and line, and the text of the map as system name")
ok(all((f.filename, f.line) == ("/srv/app.py", 0) for f in frames if f.name == "cold"),
   "without a line where the map has none")
check_callers(run, "on top of the native frames that called it")
ok(0.6 < shares(run, "hot") / (shares(run, "hot") + shares(run, "cold")) < 0.9, "three quarters in hot")
ok(all(m.has_functions and m.has_filenames and m.has_line_numbers for m in run.profile.mapping_list
       if run.profile.str(m.filename) == "[jit]"), "the mapping says what it has")
ok(counts(run)["maps_read"] == 1 and counts(run)["map_lines"] == 2 and not counts(run)["map_bad_lines"],
   "one map of two lines was read")
check_against_perf(run, p.pid)

path = f"/tmp/perf-{p.pid}.map"
with open(path, "a") as f:
    f.write("garbage\n\n1 2\n")
run = capture(p.pid)
ok(counts(run)["map_bad_lines"] == 3 and "hot" in {f.name for f in jit_frames(run)},
   "garbage is counted, and costs nothing else")

os.chown(path, NOBODY, NOBODY)
run = capture(p.pid)
ok(counts(run)["maps_foreign"] == 1 and not any(f.is_named for f in jit_frames(run)),
   "a map of another user is ignored")
ok("its perf map belongs to another user and is ignored" in run.stderr, "the report says so")
os.chown(path, 0, 0)
os.rename(path, path + ".moved")
os.symlink(path + ".moved", path)
made.append(path + ".moved")
run = capture(p.pid)
ok(counts(run)["maps_link"] == 1 and not any(f.is_named for f in jit_frames(run)),
   "a map that is a link is refused")
os.unlink(path)
os.rename(path + ".moved", path)
os.utime(path, (1e9, 1e9))
run = capture(p.pid)
ok(counts(run)["maps_stale"] == 1 and not any(f.is_named for f in jit_frames(run)),
   "a map older than the process is another one's")
os.unlink(path)
run = capture(p.pid)
ok(counts(run)["maps_missing"] == 1 and why(run) == ["code generated at run time, without a perf map"]
   and not any(u["fix"] for u in run.summary["unnamed"] if u["file"] == "[jit]"),
   "without a map the report says so, and has no hint for an unknown runtime")
ok(jit_frames(run) and all(f.name == f"0x{f.address:x}" for f in jit_frames(run)), "no frame is lost")
end(p)

p = jit("map", user=NOBODY, group=NOBODY)
run = capture(p.pid)
ok({f.name for f in jit_frames(run)} == {"hot", "cold"}, "the map of a process of another user than ours")
end(p)

# In its first and last instructions a function has no frame record; here they are most of the function.
p = jit("short")
run = capture(p.pid)
hit = {f.address & 15 for f in jit_frames(run)}
note(f"sampled instructions: {sorted(hit)}")
check_callers(run, "from the first to the last instruction on top of the caller")
end(p)

p = jit("memfd")
run = capture(p.pid)
ok({f.name for f in jit_frames(run)} == {"hot", "cold"}, "code in a memory file that is not an ELF file")
end(p)

# Code in a file that has no symbol for it.
p = jit("file")
run = capture(p.pid)
code = os.path.join(dumps.name, f"code-{p.pid}")
in_file = [f for s in run.profile.samples for f in s.frames if f.path == code]
ok(in_file and all((f.name, f.is_named, f.filename, f.line) == ("hot", True, "/srv/app.js", 12) for f in in_file),
   f"code in a file that cannot name it is named by the map, {len(in_file)} frames, and stays in its file")
ok({f.name for f in jit_frames(run)} == {"cold"}, "next to code without a file")
ok(all("not_run" not in s.names() for s in run.profile.samples)
   and any("run" in s.names() for s in run.profile.samples), "what the file itself names keeps that name")
ok(counts(run)["maps_read"] == 1 and counts(run)["map_lines"] == 3, "the map is counted once")
ok(not any(u["file"] == code for u in run.summary["unnamed"]), "no address in that file is without a symbol")
end(p)

# It ends, and removes its map, before the capture does.
run = agent(tmp, "-F", 499, command=["sh", "-c", f"{JIT} map 1 & p=$!; echo $p; wait $p; rm /tmp/perf-$p.map; sleep 0.5"])
ok({f.name for f in jit_frames(run)} == {"hot", "cold"}, "a process that has ended is named, its map removed")

# The PID is the same, but the program is another.
lie = "echo 0 ffffffffffffffff lie >/tmp/perf-$$.map; echo $$ >pid; sleep 0.3"
run = agent(tmp, "-F", 499, command=["sh", "-c", f"{lie}; exec {JIT} none 1"], cwd=dumps.name)
made.append(f"/tmp/perf-{open(os.path.join(dumps.name, 'pid')).read().strip()}.map")
ok(jit_frames(run) and not any(f.is_named for f in jit_frames(run)) and counts(run)["maps_stale"] == 1,
   "a map from before an exec of the process is another program's")

p = jit("dump")
run = capture(p.pid)
frames = jit_frames(run)
ok(frames and {f.name for f in frames} == {"hot", "cold"}, "a jitdump names all generated code")
places = {(f.filename, f.line) for f in frames}  # line 10 is before the loop, and seldom sampled
ok(("/srv/app.x", 11) in places and places <= {("/srv/app.x", 10), ("/srv/app.x", 11)},
   "with the line of each address")
ok(counts(run)["dumps_read"] == 1 and counts(run)["dump_records"] == 4, "one dump of four records was read")
check_against_perf(run, p.pid, from_dump=True)
end(p)

# Code that replaces other code, and is reported when it is over.
run = agent(tmp, "-F", 999, command=[JIT, "replace", 3], cwd=dumps.name)
hot_ns, cold_ns = [int(n) for n in run.stdout.split()[-2:]]
own = [s for s in run.profile.samples if s.frames[0].path == "[jit]"]
n = sum(s.count for s in own)
seen = {name: sum(s.count for s in own if s.frames[0].name == name) for name in ("hot", "cold")}
share = cold_ns / (hot_ns + cold_ns)
sigma = (share * (1 - share) / n) ** 0.5
note(f"{n} samples at {len({s.frames[0].address for s in own})} addresses, {counts(run)['dump_records'] // 2} "
     f"replacements: {seen}")
ok(sum(seen.values()) == n and abs(seen["cold"] / n - share) <= 4 * sigma,
   f"replaced code: {share:.3f} in cold is reported as {seen['cold'] / n:.3f}, within 4 sigma")
wrong = sum(s.count for s in own if s.names()[1] != {"hot": "run_hot", "cold": "run_cold"}.get(s.frames[0].name))
ok(n and wrong == 0, f"each is called by its own caller, in {n} samples but {wrong}")
ok(counts(run)["dump_untimed"] == 0, "every sample had its time")

# A child that continues to run inherited code has the parent's symbols.
def forked(*command):
    p = prog("jit", *command, stdout=subprocess.PIPE, cwd=dumps.name)
    made.append(f"/tmp/perf-{p.pid}.map")
    return p, int(next(line for line in p.stdout if line.strip().isdigit()))


def child_names(run, pid):
    frames = [f for s in run.profile.samples if s.labels["pid"] == pid for f in s.frames if f.path == "[jit]"]
    return {f.name if f.is_named else None for f in frames}


def check_forked(mode):
    p, pid = forked(mode, 60)
    run = capture(pid)
    ok(child_names(run, pid) == {"hot", "cold"}, f"jit {mode}: a child that was forked before, its parent unknown")
    hot, cold = shares(run, "hot"), shares(run, "cold")
    ok(0.6 < hot / (hot + cold) < 0.9, f"jit {mode}: three quarters in hot, whatever is announced after the fork")
    run = agent(tmp, "-a", "-F", 499, "-d", "1s")
    ok(child_names(run, pid) == {"hot", "cold"}, f"jit {mode}: with -a too")
    end(p)
    run = agent(tmp, "-F", 499, command=[JIT, mode, 1], cwd=dumps.name)
    pid = int(next(line for line in run.stdout.split() if line.isdigit()))
    ok(child_names(run, pid) == {"hot", "cold"}, f"jit {mode}: a child that was seen to be forked")
    hot, cold = shares(run, "hot"), shares(run, "cold")
    ok(0.6 < hot / (hot + cold) < 0.9, f"jit {mode}: three quarters in hot")


check_forked("fork")
check_forked("fork-dump")
# Without address randomization the child's code is at the address of its parent's.
if shutil.which("setarch"):
    run = agent(tmp, "-F", 499, command=["setarch", "-R", JIT, "fork-exec", 1], cwd=dumps.name)
    pid = int(next(line for line in run.stdout.split() if line.isdigit()))
    ok(child_names(run, pid) == {None}, "after an exec nothing is inherited")
else:
    skip("setarch is not installed")


# In namespaces of its own: another /tmp, another PID.
def contained(*command):
    """A process in its own mount and PID namespaces with its own /tmp, by its PID outside."""
    # What the command needs may itself lie below /tmp, which is a different one from then on.
    script = ('mount --bind /tmp /mnt && mount -t tmpfs tmpfs /tmp && for f; do case $f in /tmp/*) '
              'mkdir -p "${f%/*}" && cp -p "/mnt/${f#/tmp/}" "$f";; esac; done; '
              'umount /mnt && cd /tmp && exec "$@"')
    p = subprocess.Popen(["unshare", "-m", "-p", "-f", "--mount-proc", "sh", "-c", script, "sh", *command],
                         stdout=subprocess.DEVNULL)
    import atexit
    atexit.register(end, p)
    children = f"/proc/{p.pid}/task/{p.pid}/children"
    name = os.path.basename(command[0])[:15]
    wait_for(lambda: open(children).read().split(), "the container's process")
    pid = int(open(children).read().split()[0])
    wait_for(lambda: open(f"/proc/{pid}/comm").read().strip() == name, "its exec")
    wait_for(lambda: glob.glob(f"/proc/{pid}/root/tmp/perf-*.map"), "its map")
    return p, pid


def end_contained(p, pid):
    os.kill(pid, 9)
    p.wait()


if no_mount_namespace():
    skip(no_mount_namespace())
else:
    p, pid = contained(JIT, "map", "60")
    for decoy in (pid, 1):  # what the file of another process would say
        with open(f"/tmp/perf-{decoy}.map", "w") as f:
            f.write("0 ffffffffffffffff decoy\n")
        made.append(f"/tmp/perf-{decoy}.map")
    run = capture(pid)
    ok({f.name for f in jit_frames(run)} == {"hot", "cold"},
       "a process in its own mount and PID namespaces is named by its own map")
    run = agent(tmp, "-a", "-F", 499, "-d", "1s")
    ok({f.name for s in run.profile.samples if s.labels["pid"] == pid for f in s.frames
        if f.path == "[jit]"} == {"hot", "cold"}, "with -a too")
    end_contained(p, pid)

# Node.
node = shutil.which("node")


def check_script(run, what, name, file, line, native):
    """The script's own function has its name, file and line, and native frames around it."""
    own = [s for s in run.profile.samples if any(f.name == name and f.path == "[jit]" for f in s.frames)]
    share = sum(s.count for s in own) / max(1, run.profile.total())
    whole = run.summary["stacks_complete"] / run.summary["samples"]
    named = [f for f in jit_frames(run) if f.is_named]
    note(f"{what}: {run.profile.total()} samples, {share:.0%} with {name}, {whole:.1%} complete, "
         f"{len(named)} of {len(jit_frames(run))} frames of generated code resolved")
    ok(own, f"{what}: the script's {name} is named in {share:.0%} of the samples")
    ok(all((f.filename, line is None or f.start_line) == (file, line is None or line)
           for s in own for f in s.frames if f.name == name), f"{what}: with its file{' and line' if line else ''}")
    ok(any(native in n for s in own for n in s.names()), f"{what}: next to native frames ({native})")
    ok(len(named) >= 0.95 * len(jit_frames(run)), f"{what}: {len(named)} of {len(jit_frames(run))} frames are named")


def check_with_servers(what, name, file, *command):
    """With a debuginfod server that has no files: maps are not requested from it."""
    with BadServer("404") as server:
        cache = os.path.join(tmp, "debuginfo")
        run = agent(tmp, "-F", 499, "--debuginfod-url", server.url, "--symbol-cache-dir", cache, command=command,
                    cwd=dumps.name)
    named = [f for f in jit_frames(run) if f.is_named]
    ok(run.status == 0 and any((f.name, f.filename) == (name, file) for f in named)
       and len(named) >= 0.95 * len(jit_frames(run)),
       f"{what}: with debuginfod configured {len(named)} of {len(jit_frames(run))} frames are named")


def check_builtins(node):
    """Debian's node has V8 and its builtins in a library without symbols for them."""
    linked = subprocess.run(["ldd", node], capture_output=True, text=True).stdout
    if "libnode" not in linked:
        skip("node's builtins in a file: needs a node that is linked with libnode, as Debian's is")
        return
    run = agent(tmp, "-F", 499, command=[node, "--perf-basic-prof", "--no-opt", busy, 2], cwd=dumps.name)
    own = {f.system_name for s in run.profile.samples for f in s.frames if "libnode" in f.path}
    ok(any(name.startswith("Builtin:") for name in own), "node's builtins have the names of its map")


busy = os.path.join(HERE, "calls.js")
if node:
    check_with_servers("node --perf-basic-prof", "work", busy, node, "--perf-basic-prof", busy, 1)
    run = agent(tmp, "-F", 499, command=[node, "--perf-basic-prof", busy, 1], cwd=dumps.name)
    check_script(run, "node --perf-basic-prof", "work", busy, 5, "node::")
    run = agent(tmp, "-F", 499, command=[node, "--perf-prof", busy, 1], cwd=dumps.name)
    check_script(run, "node --perf-prof", "work", busy, 5, "node::")
    ok(counts(run)["dumps_read"] == 1, "node --perf-prof: from its jitdump")
    check_builtins(node)
    if not no_mount_namespace():
        p, pid = contained(node, "--perf-basic-prof", busy, "60")
        run = capture(pid, 2)
        check_script(run, "node in its own namespaces", "work", busy, 5, "node::")
        end_contained(p, pid)
    run = agent(tmp, "-F", 499, command=[node, busy, 1], cwd=dumps.name)
    ok(any(u["file"] == "[jit]" and u["fix"] == "start node with --perf-basic-prof"
           for u in run.summary["unnamed"]), "node without a map: the hint is its option")
    ok([h for h in run.summary["hints"] if h["runtime"] == "node" and h["problem"] == "no_symbols"
        and re.fullmatch(r"node \(PID \d+\): .*; start node with --perf-basic-prof", h["text"])],
       f"node without a map: one hint, with its PID ({run.summary['hints']})")
else:
    skip("node is not installed")


# A Java program without a perf map: the advice is for Java, with its own PID.
if shutil.which("java") and shutil.which("javac"):
    source = os.path.join(tmp, "Busy.java")
    with open(source, "w") as f:
        f.write("public class Busy { static long spin(long x) { for (int i = 0; i < 1000; i++) x = x * 31 + i;"
                " return x; } public static void main(String[] a) { long x = 1, end = System.nanoTime()"
                " + Long.parseLong(a[0]) * 1000000000L; while (System.nanoTime() < end) x = spin(x);"
                " System.out.println(x); } }")
    subprocess.run(["javac", "-d", tmp, source], check=True)
    p = subprocess.Popen(["java", "-cp", tmp, "Busy", "60"], stdout=subprocess.DEVNULL)
    wait_for(lambda: "libjvm.so" in open(f"/proc/{p.pid}/maps").read(), "the virtual machine")
    run = capture(p.pid, 2)
    end(p)
    advice = [u["fix"] for u in run.summary["unnamed"] if u["file"] == "[jit]"]
    ok(any(f"jcmd {p.pid} Compiler.perfmap" in (c or "") for c in advice),
       f"java without a map: the hint is jcmd with its PID ({advice})")
    ok(any(h["text"].startswith(f"java (PID {p.pid}): ") and f"run jcmd {p.pid} Compiler.perfmap" in h["text"]
           for h in run.summary["hints"]), f"java without a map: the hint says so too ({run.summary['hints']})")
else:
    skip("no JDK is installed")


# CPython 3.12 or later.
def find_python(switch, version):
    root = os.environ.get("PYENV_ROOT", os.path.expanduser("~/.pyenv"))
    for path in ["python3", "python3.12", "python3.13", *sorted(glob.glob(f"{root}/versions/3.1[2-9]*/bin/python3"))]:
        path = shutil.which(path)
        test = f"import sys; sys.exit(not hasattr(sys, 'activate_stack_trampoline') or sys.version_info < {version})"
        if path and subprocess.run([path, "-X", switch, "-c", test], capture_output=True).returncode == 0:
            return path
    return None


run = agent(tmp, "-F", 499, command=["/usr/bin/python3", "-c", "import time\nwhile time.process_time() < 1: pass"])
version = ".".join(subprocess.run(["/usr/bin/python3", "-V"], capture_output=True, text=True, check=True)
                   .stdout.split()[1].split(".")[:2])
hints = [h["text"] for h in run.summary["hints"] if h["problem"] == "no_script_functions"]
ok(len(hints) == 1 and re.match(rf"python {version} \(PID \d+\): .*-X perf", hints[0]),
   f"python without -X perf: a hint names its version ({hints})")

python = find_python("perf", (3, 12))
busy = os.path.join(HERE, "calls.py")
if python:
    check_with_servers("python -X perf", "work", busy, python, "-X", "perf", busy, 1)
    run = agent(tmp, "-F", 499, command=[python, "-X", "perf", busy, 1])
    check_script(run, "python -X perf", "work", busy, None, "_PyEval_EvalFrameDefault")
    ok(not run.summary["hints"], f"python -X perf: there is no hint ({run.summary['hints']})")
    whole = run.summary["stacks_complete"] / run.summary["samples"]
    ok(whole > 0.95, f"python -X perf: {whole:.1%} of the stacks are complete, through all trampolines")
    own = [[f.name for f in s.frames if f.path == "[jit]" and f.filename == busy] for s in run.profile.samples]
    own = [names for names in own if names[:1] == ["work"]]
    ok(own and sum(names == ["work", "drive", "main", "<module>"] for names in own) > 0.95 * len(own),
       "python -X perf: work's callers are drive, main and the module")
    if not no_mount_namespace():
        p, pid = contained(python, "-X", "perf", busy, "60")
        run = capture(pid, 2)
        check_script(run, "python in its own namespaces", "work", busy, None, "_PyEval_EvalFrameDefault")
        end_contained(p, pid)
else:
    skip("no CPython 3.12 or later is installed")

python = find_python("perf_jit", (3, 13))
if python:
    # CPython writes the entries of its newest code only when there are more of them.
    run = agent(tmp, "-F", 499, command=[python, "-X", "perf_jit", busy, 1], cwd=dumps.name)
    whole = run.summary["stacks_complete"] / run.summary["samples"]
    ok(whole > 0.95, f"python -X perf_jit: {whole:.1%} of the stacks are complete, through all trampolines")
    check_script(run, "python -X perf_jit", "work", busy, None, "_PyEval_EvalFrameDefault")
    made += glob.glob("/tmp/jit-*.dump")
else:
    skip("no CPython 3.13 or later is installed")

for path in made:
    if os.path.exists(path):
        os.unlink(path)
done()
