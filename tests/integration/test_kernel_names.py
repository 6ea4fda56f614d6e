# SPDX-License-Identifier: Apache-2.0
"""Names of the kernel's code: right according to the kernel's own list, and cached between runs. If that list is
hidden, they come from the kernel's iterator; frames survive even without any."""
import bisect
import os
import re
import shutil
import struct
import subprocess

from bad_debuginfod import BadServer
from harness import (agent, done, end, finish_agent, need_root, no_mount_namespace, note, ok, prog,
                     private_cache, skip, start_agent, workdir)

RESTRICT = "/proc/sys/kernel/kptr_restrict"
CODE = set("tTwW")
SLIDE = 0x200000  # how far the kernel was moved, according to the file
UD2_BYTES = 2
ENOUGH = 30  # frames, on a busy machine


def read(path):
    with open(path) as f:
        return f.read()


class Truth:
    """/proc/kallsyms with a separate reader: every name that an address may have."""

    def __init__(self):
        names = {}
        for line in read("/proc/kallsyms").splitlines():
            addr, kind, name = line.split(None, 2)
            if kind in CODE and int(addr, 16):
                names.setdefault(int(addr, 16), set()).add(name.replace("\t", " "))
        self.starts = sorted(names)
        self.names = [names[a] for a in self.starts]

    def at(self, addr):
        i = bisect.bisect_right(self.starts, addr) - 1
        return self.names[i] if i >= 0 else set()


def kernel_frames(run):
    return [f for s in run.profile.samples for f in s.frames if f.path == "[kernel]"]


def capture(*args, **kwargs):
    """One run, whatever it finds: the next one finds its cache."""
    run = agent(tmp, "--pid", target.pid, "-F", 999, "--kernel-stacks", "-d", "1s", *args, **kwargs)
    note(run.summary["kernel_symbols"])
    return run


def check_names(run, what):
    frames = kernel_frames(run)
    wrong = [(hex(f.address), f.name) for f in frames
             if "[bpf]" not in f.name and f.name not in truth.at(f.address)]
    if wrong:
        note(wrong[:5])
    ok(len(frames) > ENOUGH and not wrong, f"{what}: {len(frames)} kernel frames are named as /proc/kallsyms has them")


def check_counters(run, what, no_list=False):
    s = run.summary
    failures = {x["name"]: x["count"] for x in s["naming_failures"]}
    ok(s["naming_addresses"] == s["nr_locations"]
       == s["nr_locations_named"] + sum(failures.values()), f"{what}: every address has one outcome")
    ok(0 < s["naming_p50_ns"] <= s["naming_p99_ns"] <= s["naming_max_ns"] and s["naming_batches"] > 1,
       f"{what}: {s['naming_batches']} batches, the longest took {s['naming_max_ns'] / 1e6:.1f} ms")
    ok((failures["no_kernel_list"] > 0) == no_list, f"{what}: {failures['no_kernel_list']} kernel addresses without a list")


def has_iterator():
    try:
        return "bpf_iter__ksym" in subprocess.run(
            ["bpftool", "btf", "dump", "file", "/sys/kernel/btf/vmlinux"], capture_output=True, text=True).stdout
    except OSError:
        release = tuple(int(x) for x in os.uname().release.split(".")[:2])
        return release >= (6, 0)


def test_cache():
    run = capture()
    ok(run.status == 0 and run.summary["kernel_symbols"] == "/proc/kallsyms", "the first run reads the list")
    check_names(run, "fresh")
    check_counters(run, "fresh")
    file = os.path.join(cache, "kernel-symbols")
    ok(os.stat(cache).st_mode & 0o777 == 0o700 and os.stat(file).st_mode & 0o777 == 0o600, "its cache is private")
    ok(b"[bpf]" not in open(file, "rb").read(), "no BPF program is in it")
    run = capture()
    ok(run.summary["kernel_symbols"] == "/proc/kallsyms (cached)", "the second run reads the cache")
    check_names(run, "cached")
    with open(file, "r+b") as f:
        f.seek(5000)
        f.write(b"\xff" * 64)
    run = capture()
    ok(run.summary["kernel_symbols"] == "/proc/kallsyms", "a damaged cache of kernel symbols is replaced")
    check_names(run, "damaged")
    ok(capture().summary["kernel_symbols"] == "/proc/kallsyms (cached)",
       "the cache of kernel symbols is used again after it was replaced")


def test_two_at_once():
    os.unlink(os.path.join(cache, "kernel-symbols"))
    dirs = [workdir(), workdir()]
    both = [start_agent(d, "--pid", target.pid, "-F", 499, "--kernel-stacks", "-d", "1s") for d in dirs]
    runs = [finish_agent(p) for p in both]
    ok(all(r.status == 0 for r in runs), "two agents at once end with status 0")
    for r in runs:
        check_names(r, "at once")
    ok(capture().summary["kernel_symbols"] == "/proc/kallsyms (cached)", "two agents at once leave one good cache")


def test_foreign_directory():
    os.rename(cache, cache + ".own")
    os.mkdir(cache, 0o700)
    os.chown(cache, 12345, 12345)
    run = capture()
    ok(run.status == 0 and run.summary["kernel_symbols"].startswith("/proc/kallsyms; not cached: ")
       and "belongs to user 12345" in run.summary["kernel_symbols"], "a directory of somebody else is refused, by name")
    ok(not os.listdir(cache), "nothing is written to a cache directory of another user")
    check_names(run, "refused")
    os.rmdir(cache)
    os.rename(cache + ".own", cache)


def check_hidden(why, **kwargs):
    """The list exists, but is useless."""
    os.unlink(os.path.join(cache, "kernel-symbols"))
    run = capture(**kwargs)
    text = run.summary["kernel_symbols"]
    ok(run.status == 0, f"{why}: the run ends well")
    if has_iterator():
        ok(text == f"the kernel's symbol iterator; /proc/kallsyms: {why}",
           f"{why}: the symbol iterator is used and reported")
        check_names(run, why)
        ok(run.summary["naming_fallbacks"] >= 1, f"{why}: counted as a fallback")
        ok(capture(**kwargs).summary["kernel_symbols"] == "the kernel's symbol iterator (cached)",
           f"{why}: the symbols are cached")
    else:
        skip("needs a kernel with an iterator over symbols (6.0)")
    env = dict(os.environ, PERFAGENT_FORCE_KERNEL_FALLBACK="1")
    run = capture(env=env, **kwargs)
    frames = kernel_frames(run)
    ok(run.summary["kernel_symbols"] == f"none: /proc/kallsyms: {why}", f"{why}: forced off the iterator there is none")
    ok(len(frames) > ENOUGH and all(f.name == hex(f.address) for f in frames),
       f"{why}: all {len(frames)} kernel frames are there, by address")
    ok(all(truth.at(f.address) for f in frames), f"{why}: the addresses are the kernel's")
    check_counters(run, why, no_list=True)
    if os.path.exists(os.path.join(cache, "kernel-symbols")):
        os.unlink(os.path.join(cache, "kernel-symbols"))
    capture()


def test_restricted():
    before = read(RESTRICT)
    try:
        with open(RESTRICT, "w") as f:
            f.write("2")
    except OSError as e:
        skip(f"needs to write {RESTRICT}: {e.strerror}")
        return
    try:
        check_hidden("it shows zeroes (kptr_restrict, or CAP_SYSLOG is missing)")
    finally:
        with open(RESTRICT, "w") as f:
            f.write(before)


def test_unreadable():
    why = no_mount_namespace()
    if why:
        skip(why)
        return
    cover = ["unshare", "-m", "sh", "-c", 'mount --bind /dev/null /proc/kallsyms && exec "$@"', "sh"]
    check_hidden("it lists no functions", before=cover)


def kernel_build_id():
    """The build-id from /sys/kernel/notes, or '' if there is none."""
    try:
        with open("/sys/kernel/notes", "rb") as f:
            notes = f.read()
    except OSError:
        return ""
    at = 0
    while at + 12 <= len(notes):
        name, desc, kind = struct.unpack_from("<III", notes, at)
        start = at + 12 + (name + 3 & ~3)
        if kind == 3 and notes[at + 12:at + 12 + name] == b"GNU\0":
            return notes[start:start + desc].hex()
        at = start + (desc + 3 & ~3)
    return ""


def make_vmlinux(directory, functions, build_id):
    """A file whose functions are at the kernel's addresses, moved by SLIDE, each with a line of its own; {name: line}.
    gcc ends a naked function with ud2: without room for it, the first bytes of the next function would belong to it."""
    source, lines, flags = os.path.join(directory, "fake_vmlinux.c"), {}, []
    with open(source, "w") as f:
        for i, (name, (start, size)) in enumerate(functions.items()):
            f.write(f"__attribute__((section(\".k{i}\"), naked)) void {name}(void) "
                    f"{{ __asm__(\".skip {size - UD2_BYTES}\"); }}\n")
            lines[name] = i + 1
            flags.append(f"-Wl,--section-start=.k{i}={start - SLIDE:#x}")
    out = os.path.join(directory, "vmlinux")
    r = subprocess.run(["gcc", "-g", "-O1", "-w", "-static", "-nostdlib", "-mcmodel=kernel", "-fno-pie", "-no-pie",
                        "-fno-asynchronous-unwind-tables", f"-Wl,--build-id=0x{build_id}", "-Wl,-e,0", *flags,
                        source, "-o", out], capture_output=True, text=True)
    return (out, lines) if r.returncode == 0 else (r.stderr, None)


def hottest(run):
    """{name: (start, size)} of functions to be put into the file, including the agent's landmarks."""
    names = {f.name for f in kernel_frames(run) if re.fullmatch(r"[a-z]\w*", f.name)}
    found = {}
    for i, start in enumerate(truth.starts[:-1]):
        for name in truth.names[i] & (names | {"vfs_read", "do_exit", "kfree", "schedule_timeout"}):
            size = truth.starts[i + 1] - start
            if UD2_BYTES < size < 65536 and name not in found:
                found[name] = (start, size)
    return found


def test_lines():
    build_id, why = kernel_build_id(), no_mount_namespace()
    if os.uname().machine != "x86_64" or not build_id or not shutil.which("gcc") or why:
        skip(why or "needs x86-64, gcc and a kernel with a build-id")
        return
    functions = hottest(capture())
    out, lines = make_vmlinux(tmp, functions, build_id)
    if not ok(lines, f"a file like the kernel's with {len(functions)} functions is made"):
        note(out)
        return
    place = f"/usr/lib/debug/boot/vmlinux-{os.uname().release}"
    cover = ["unshare", "-m", "sh", "-c", f"mount -t tmpfs none /usr/lib/debug && mkdir /usr/lib/debug/boot && "
             f"cp {out} {place} && exec \"$@\"", "sh"]
    if not os.path.isdir("/usr/lib/debug"):
        skip("needs a directory /usr/lib/debug to mount over")
        return
    run = capture(before=cover)
    ok(run.summary["kernel_symbols"].endswith(f"; lines: {place}"), "vmlinux: the local file is found and reported")
    frames = [f for f in kernel_frames(run) if f.name in lines]
    wrong = [(f.name, f.line) for f in frames
             if f.line != lines[f.name] or not f.filename.endswith("fake_vmlinux.c")]
    note(wrong[:5])
    ok(len(frames) > ENOUGH and not wrong, f"all {len(frames)} frames of its functions have their lines")
    check_names(run, "with lines")
    run = capture(before=cover, env=dict(os.environ, PERFAGENT_FORCE_KERNEL_FALLBACK="1"))
    ok("lines" not in run.summary["kernel_symbols"] and not any(f.line for f in kernel_frames(run)),
       "forced to kallsyms there are no lines")
    with BadServer(out) as server:
        run = capture("--debuginfod-url", server.url)
        ok(run.summary["kernel_symbols"].endswith("; lines: debuginfod")
           and any(f.line == lines.get(f.name) for f in kernel_frames(run)),
           "vmlinux: fetched if it is not on this machine")
    nr_requests = server.nr_requests
    run = capture("--debuginfod-url", server.url)
    ok(run.summary["kernel_symbols"].endswith("; lines: debuginfod") and server.nr_requests == nr_requests,
       "vmlinux: the fetched file is cached")
    other, _ = make_vmlinux(tmp, functions, "00" + build_id[2:])
    run = capture(before=cover)
    ok("lines" not in run.summary["kernel_symbols"], "vmlinux: a local file of another build is not used")
    with BadServer(other) as server:
        run = capture("--debuginfod-url", server.url, "--symbol-cache-dir", os.path.join(tmp, "other"))
        ok("lines" not in run.summary["kernel_symbols"] and run.status == 0,
           "vmlinux: a fetched file of another build is not used")


def bpf_leaves(run, name="burn"):
    return sum(s.count for s in run.profile.samples
               if re.fullmatch(rf"bpf_prog_[0-9a-f]{{16}}_{name} \[bpf\]", s.frames[0].name))


def test_bpf_programs():
    burner = prog("bpf_burn", 60, stdout=subprocess.PIPE, text=True)
    if burner.stdout.readline() != "ready\n":
        skip(f"needs to load a BPF program (status {burner.wait()})")
        return
    capture()
    for what in ("cached", "fresh"):
        if what == "fresh":
            os.unlink(os.path.join(cache, "kernel-symbols"))
        run = agent(tmp, "--pid", burner.pid, "-F", 499, "--kernel-stacks", "-d", "1s")
        share = bpf_leaves(run) / run.profile.total()
        ok(share > 0.5 and ("cached" in run.summary["kernel_symbols"]) == (what == "cached"),
           f"{what}: a BPF program loaded before the capture has a symbol ({share:.2f} of the samples)")
    end(burner)
    capture()
    run = agent(tmp, "-F", 499, "--kernel-stacks", command=[burner.args[0], 2])
    share = bpf_leaves(run) / run.profile.total()
    ok(share > 0.5,
       f"a BPF program loaded during the capture has a symbol ({share:.2f}; {run.summary['kernel_symbols']})")


def test_bpf_memory_used_again():
    run = agent(tmp, "-F", 499, "--kernel-stacks", command=[os.path.join(os.environ["TEST_PROGS"], "bpf_burn"), 2, 2])
    if run.status == 77:
        skip("needs to load a BPF program")
        return
    first, second = bpf_leaves(run, "burn"), bpf_leaves(run, "next")
    raw = sum(s.count for s in run.profile.samples
              if s.frames[0].path == "[kernel]" and s.frames[0].name == hex(s.frames[0].address))
    reused = next(x["count"] for x in run.summary["naming_failures"] if x["name"] == "reused")
    total = run.profile.total()
    note(f"{first} burn, {second} next, {raw} raw of {total}; {reused} addresses were used again")
    ok(first + second + raw > 0.5 * total and max(first, second) < 0.9 * (first + second + raw),
       "of two programs, each for half of the time, none has the other's samples")
    ok(reused > 0 or raw < 0.1 * total, "where the second had the memory of the first, that is counted")


need_root()
tmp, cache = workdir(), private_cache()
truth = Truth()
if not truth.starts:
    skip("needs a /proc/kallsyms with addresses")
    done()
target = prog("syscalls", 300)
test_cache()
test_two_at_once()
test_foreign_directory()
test_restricted()
test_unreadable()
test_bpf_programs()
test_bpf_memory_used_again()
test_lines()
end(target)
done()
