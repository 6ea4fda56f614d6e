# SPDX-License-Identifier: Apache-2.0
"""Names, lines, paths and unwind rules of a process come from its own root: no other user can choose those of root's
code by mounting, writing or mapping anything."""
import os
import re
import shutil
import subprocess
import sys

from harness import AGENT, agent, done, end, need_root, no_mount_namespace, note, ok, skip, workdir

HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "progs")
MALLORY = 61234  # a user without an account
DEBUG = "/usr/lib/debug"
AS_MALLORY = ["setpriv", f"--reuid={MALLORY}", f"--regid={MALLORY}", "--clear-groups"]
BARE = ["-g", "-fomit-frame-pointer", "-fno-asynchronous-unwind-tables", "-fno-unwind-tables", "-fcf-protection=none"]

need_root()
CC = next((c for c in (os.environ.get("CC"), "cc", "gcc", "clang") if c and shutil.which(c)), None)
missing = [x for x in ("setpriv", "unshare", "objcopy") if not shutil.which(x)]
if not CC or missing:
    skip(f"needs {'a C compiler' if not CC else ', '.join(missing)}")
    done()
tmp = workdir()
os.chmod(tmp, 0o755)
his = os.path.join(tmp, "his")  # mallory's folder
os.mkdir(his)
os.chown(his, MALLORY, MALLORY)
maps = []  # left behind by `tell`


def build(name, nr, *flags, source="worlds.c"):
    """A program with a chosen build-id: any user can create another file that has it."""
    path = os.path.join(tmp, name)
    subprocess.run([CC, "-O1", "-fno-optimize-sibling-calls", "-I", HERE, *flags, os.path.join(HERE, source), "-o", path,
                    f"-Wl,--build-id=0xabcdef{nr:034x}"], check=True)
    return path


def forge(name, nr, *flags):
    """A debug file of mallory's for that build-id, in a directory for /usr/lib/debug."""
    folder = os.path.join(his, f"debug-{name}")
    os.makedirs(f"{folder}/.build-id/ab")
    shutil.copy(build(f"forged-{name}", nr, "-DLEAF=FORGED_BY_MALLORY", "-g", *flags),
                f"{folder}/.build-id/ab/cdef{nr:034x}.debug")
    return folder


def start(argv, before=()):
    p = subprocess.Popen([*before, *argv], stdout=subprocess.PIPE, text=True, cwd="/")
    maps.append(f"/tmp/perf-{p.pid}.map")
    if p.stdout.readline() != "ready\n":
        end(p)
        return None
    return p


def mallorys(script, *argv):
    """A process of his in namespaces of its own, in which the script may mount."""
    return start([*AS_MALLORY, "unshare", "-Urm", "sh", "-c", script + ' && exec "$@"', "sh", *argv])


def capture(*processes, everything=False, **kwargs):
    """A run over these processes; for each, its own samples without kernel frames."""
    target = ["-a"] if everything else ["--pid", ",".join(str(p.pid) for p in processes)]
    for seconds in (1, 3, 9):
        run = agent(tmp, *target, "-F", 499, "-d", f"{seconds}s", **kwargs)
        found = [[s for s in run.profile.samples if s.labels["pid"] == p.pid] for p in processes] if run.profile else []
        if found and all(sum(s.count for s in x) >= 50 for x in found):
            break
    else:
        note(run.stderr)
    return run, *found


def share(samples, condition):
    total = sum(s.count for s in samples)
    return sum(s.count for s in samples if condition(s)) / total if total else 0.0


def leaf_is(name):
    return lambda s: bool(s.frames) and s.frames[0].function == name


def is_forged(s):
    return any("FORGED" in name for name in s.names())


def shown(samples):
    return sorted({(f.name, f.path) for s in samples for f in s.frames})[:12]


def paths(samples):
    return {f.path for s in samples for f in s.frames if "miner" in f.path or "victim" in f.path}


def forged_debug_file(victim, folder, everything):
    """His process is seen first: it has the lower PID."""
    attacker = mallorys(f"mount --bind {folder} {DEBUG}", victim, "spin", "100")
    own = start([victim, "spin", "100"])
    how = "-a" if everything else "--pid"
    run, his_samples, roots = capture(attacker, own, everything=everything)
    ok(share(roots, leaf_is("leaf")) > 0.9 and not share(roots, is_forged),
       f"{how}: a debug file of another root does not name our code")
    ok(share(his_samples, leaf_is("FORGED_BY_MALLORY")) > 0.9, f"{how}: it names the code of who lives there")
    if share(roots, is_forged):
        note(shown(roots))
    end(attacker)
    end(own)


def hidden_path(victim):
    """The same inode under another path, in another mount namespace."""
    other = os.path.join(his, "cryptominer")
    open(other, "w").close()
    attacker = mallorys(f"mount --bind {victim} {other}", other, "spin", "100")
    own = start([victim, "spin", "100"])
    run, his_samples, roots = capture(attacker, own, everything=True)
    ok(paths(roots) == {victim}, f"code of root has the path that root runs it by: {paths(roots)}")
    ok(paths(his_samples) == {other}, f"code of another user has the path that he runs it by: {paths(his_samples)}")
    end(attacker)
    end(own)


def planted_debug_file():
    """Any user may put a file next to a program in /tmp."""
    place = os.path.join(tmp, "shared")
    os.makedirs(f"{place}/.debug")
    os.chmod(place, 0o1777)
    os.chmod(f"{place}/.debug", 0o1777)
    linked = os.path.join(place, "planted-victim")
    shutil.copy(build("planted-victim", 4), linked)
    forged = build("linked.debug", 4, "-DLEAF=FORGED_BY_MALLORY", "-g")
    subprocess.run(["objcopy", f"--add-gnu-debuglink={forged}", linked], check=True)
    for to in (f"{place}/linked.debug", f"{place}/.debug/linked.debug"):
        shutil.copy(forged, to)
        os.chown(to, MALLORY, MALLORY)
    own = start([linked, "spin", "100"])
    run, roots = capture(own)
    ok(share(roots, leaf_is("leaf")) > 0.9, "a debug file that another user put next to a program is not used")
    for to in (f"{place}/linked.debug", f"{place}/.debug/linked.debug"):
        os.chown(to, 0, 0)
    run, roots = capture(own)
    ok(share(roots, leaf_is("FORGED_BY_MALLORY")) > 0.9, "a debug file of the program's own user next to it is used")
    end(own)


def one_root(victim):
    """Namespaces of services, and mappings from before a chroot, are not separate worlds."""
    inside = start(["unshare", "-m", "sh", "-c", 'mount -t tmpfs none /mnt && exec "$@"', "sh", victim, "spin", "100"])
    empty = os.path.join(tmp, "empty")
    os.mkdir(empty)
    burn = f"import os; os.chroot('{empty}'); print('ready', flush=True)\nwhile True: sum(range(1000))"
    jailed, free = start([sys.executable, "-c", burn]), start([sys.executable, "-c", burn.replace(empty, "/")])
    own = start([victim, "spin", "100"])
    run, a, b, c, d = capture(inside, own, jailed, free, everything=True)
    ids = lambda samples: {f.mapping.id for s in samples for f in s.frames if f.mapping and f.path[:1] == "/"}
    ok(paths(a) == {victim} and ids(a) == ids(b), "a mount namespace of root's is not another root")
    ok(ids(c) & ids(d),
       f"what was mapped before a chroot is where it was: {ids(c)}, {ids(d)}")
    for p in (inside, jailed, free, own):
        end(p)


def hard_link(victim):
    """The same inode under another path, in the same root."""
    other = os.path.join(tmp, "linked-victim")
    os.link(victim, other)
    first, own = start([other, "spin", "100"]), start([victim, "spin", "100"])
    run, a, b = capture(first, own)
    ok(paths(a) == {other} and paths(b) == {victim}, f"a hard link too: {paths(a)}, {paths(b)}")
    end(first)
    end(own)


def one_mapping(victim):
    """Users who run the same file in the same root share what is known of it."""
    a, b = start([victim, "spin", "100"], AS_MALLORY), start([victim, "spin", "100"])
    run, his_samples, roots = capture(a, b)
    mappings = {f.mapping.id for s in his_samples + roots for f in s.frames if f.path == victim}
    locations = [l for l in run.profile.locations.values() if l.mapping_id in mappings]
    ok(len(mappings) == 1 and len({l.address for l in locations}) == len(locations),
       f"two users of one file have one mapping, and one location per address: {len(mappings)}")
    end(a)
    end(b)


def forged_perf_map(stripped):
    teller, own = start([stripped, "tell", "100"], AS_MALLORY), start([stripped, "spin", "100"])
    run, his_samples, roots = capture(teller, own)
    is_raw = lambda s: bool(s.frames) and "+0x" in s.frames[0].name
    ok(share(roots, is_raw) > 0.9 and not share(roots, is_forged),
       "a perf map of another user gives no symbols to our code")
    ok(0.1 < share(his_samples, leaf_is("FORGED")) < 0.9, "a perf map gives symbols to code of its own user")
    if share(roots, is_forged):
        note(shown(roots))
    fellow = start([stripped, "spin", "100"], AS_MALLORY)
    run, his_samples, fellows, roots = capture(teller, fellow, own)
    ok(share(fellows, leaf_is("FORGED")) > 0.9, "a perf map gives symbols to another process of its own user")
    ok(not share(roots, is_forged), "a perf map gives no symbols to the same code of another user")
    for p in (teller, fellow):
        end(p)
    teller = start([stripped, "tell", "100"])
    run, a, b = capture(teller, own)
    ok(share(b, leaf_is("FORGED")) > 0.9, "our own lists name our code, where the file has no names")
    end(teller)
    end(own)


def has_all(s):
    names = [f.function for f in s.frames if f.path.endswith("/bare")]
    return names[:4] == ["leaf", "middle", "top", "main"]


def forged_frames():
    """Unwind rules that only a separate debug file has: our debug file is next to the program."""
    bare = build("bare", 3, *BARE)
    subprocess.run(["objcopy", "--only-keep-debug", bare, bare + ".debug"], check=True)
    subprocess.run(["objcopy", "--strip-all", f"--add-gnu-debuglink={bare}.debug", bare], check=True)
    folder = forge("bare", 3, *BARE, "-DROOM=40")
    own = start([bare, "spin", "100"])
    run, before = capture(own)
    end(own)
    if share(before, has_all) < 0.9:
        note(shown(before))
        skip("forged unwind rules: this compiler's .debug_frame does not describe the program")
        return
    attacker = mallorys(f"mount --bind {folder} {DEBUG}", bare, "spin", "100")
    own = start([bare, "spin", "100"])
    run, his_samples, roots = capture(attacker, own)
    note(f"complete: his {share(his_samples, has_all):.2f}, ours {share(roots, has_all):.2f}")
    ok(share(roots, has_all) > 0.9, f"forged unwind rules do not shape our stacks ({share(roots, has_all):.2f})")
    end(attacker)
    end(own)


def names_of_secrets():
    """Skeleton units that name files which their user may not read."""
    if not shutil.which("strace"):
        skip("files that a program names: needs strace")
        return
    secret = os.path.join(tmp, "secret.dwo")
    with open(secret, "w") as f:
        f.write("not for him")
    os.chmod(secret, 0o600)
    processes = []
    for nr, named in enumerate(("/etc/shadow", "/proc/kmsg", secret)):
        here = os.path.join(his, f"split{nr}")
        os.mkdir(here)
        dwo = "x" * (len(named) + 8)
        subprocess.run([CC, "-O1", "-g", "-gsplit-dwarf", "-I", HERE, "-c", os.path.join(HERE, "worlds.c"),
                        "-o", f"{dwo}.o"], check=True, cwd=here)
        subprocess.run([CC, f"{dwo}.o", "-o", "prog"], check=True, cwd=here)
        with open(f"{here}/prog", "rb") as f:
            data = f.read()
        old = f"{dwo}.dwo".encode()
        if old not in data:
            skip("files that a program names: this compiler names no .dwo file")
            return
        with open(f"{here}/prog", "wb") as f:
            f.write(data.replace(old, named.encode().ljust(len(old), b"\0")))
        os.chown(f"{here}/prog", MALLORY, MALLORY)
        processes.append(start([f"{here}/prog", "spin", "100"], AS_MALLORY))
    log = os.path.join(tmp, "strace.log")
    before = ["strace", "-f", "-s", "300", "-o", log, "-e", "trace=open,openat,openat2"]
    run, *found = capture(*processes, before=before)
    with open(log) as f:
        calls = f.read()
    opened = [x for x in calls.splitlines() if re.search(r'"[^"]*(shadow|kmsg)"', x)]
    ok(run.status == 0 and "openat2" in calls and not opened, f"files that no compiler names so are not looked up: {opened}")
    looked, read, held = 0, [], None
    for call in calls.splitlines():
        found_fd = re.search(r"= (\d+)$", call)
        if "secret.dwo" in call and found_fd:
            looked, held = looked + 1, found_fd[1]
        elif held and f'"/proc/self/fd/{held}"' in call:
            read.append(call)
        elif found_fd and found_fd[1] == held:
            held = None  # closed in the meantime
    ok(looked and not read, f"a .dwo that only root may read is found, but not read: {looked}, {read}")
    ok(all(share(x, lambda s: "leaf" in s.names()) > 0.9 for x in found),
       "programs with an unreadable .dwo still have symbols")
    for p in processes:
        end(p)


victim = build("victim", 1)
folder = forge("victim", 1)
why = no_mount_namespace()
if not why and subprocess.run([*AS_MALLORY, "unshare", "-Urm", "true"], capture_output=True).returncode:
    why = "a user may not make namespaces here"
if not why and not os.path.isdir(DEBUG):
    why = f"needs {DEBUG} to mount something over it"
if why:
    skip(why)
else:
    forged_debug_file(victim, folder, False)
    forged_debug_file(victim, folder, True)
    hidden_path(victim)
    forged_frames()
    one_root(victim)
planted_debug_file()
hard_link(victim)
one_mapping(victim)
stripped = build("stripped", 2, "-s")
forged_perf_map(stripped)
names_of_secrets()
for path in maps:
    if os.path.exists(path):
        os.unlink(path)
done()
