# SPDX-License-Identifier: Apache-2.0
"""Outputs of root in directories that others can write, where an attacker has prepared files; outputs that cannot be
written; no file left behind."""
import os
import resource
import signal
import stat
import subprocess
import time

from harness import AGENT, PROGS, Stranger, done, need_root, note, ok, skip, wait_for, workdir

OPTIONS = ("--profile-output", "--folded-output", "--json", "--perf-data-output", "--flamegraph-output")
MAKE_LINK = 'ln -s "$1" "$2"'
MAKE_FILE = ': >"$1"; chmod 666 "$1"'
# A FIFO that its creator reads; prints at the end how many bytes came.
LISTEN = """
mkfifo "$1"
chmod 666 "$1"
exec 3<>"$1"
echo ready
read -r line || :
dd bs=65536 count=1 iflag=nonblock <&3 2>/dev/null | wc -c
"""
SWAP = 'mv "$1" "$1.moved"; ln -s "$2" "$1"'


def capture(*args, command=("true",), cwd=None, **kwargs):
    r = subprocess.run([AGENT, "-q", *args, "--", *command], cwd=cwd, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                       stdin=subprocess.DEVNULL, text=True, timeout=120, **kwargs)
    note(r.stderr)
    return r


def to(option, path):
    """Only this output."""
    return [f"{option}={path}", *([] if option == OPTIONS[0] else ["-o", "/dev/null"])]


def write(path, text):
    with open(path, "w") as f:
        f.write(text)


def read(path):
    with open(path) as f:
        return f.read()


def leftovers(directory):
    return [name for name in os.listdir(directory) if name.startswith(".perf-agent")]


def refuses(r, what, kind):
    ok(r.returncode == 1 and f"is a {kind} of user {mallory.uid}" in r.stderr and "permission" not in r.stderr, what)


def test_links(option):
    victim, link = os.path.join(tmp, "victim"), os.path.join(shared, "link")
    write(victim, "precious")
    for target, what in ((victim, "a file"), (os.path.join(tmp, "new"), "nothing"), ("/dev/full", "a device")):
        mallory.run(MAKE_LINK, target, link)
        refuses(capture(*to(option, link)), f"{option}: a stranger's link to {what} is refused", "symbolic link")
        os.unlink(link)
    ok(read(victim) == "precious" and not os.path.exists(os.path.join(tmp, "new")), f"{option}: nothing is written where a stranger's link leads")
    mallory.run(MAKE_LINK, tmp, link)
    refuses(capture(*to(option, os.path.join(link, "new"))), f"{option}: a stranger's link in the middle of the path is refused",
            "symbolic link")
    ok(not os.path.exists(os.path.join(tmp, "new")), f"{option}: nothing is written behind a stranger's link")
    os.unlink(link)


def test_fifo(option):
    fifo = os.path.join(shared, "fifo")
    reader = mallory.start(LISTEN, fifo, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    reader.stdout.readline()
    refuses(capture(*to(option, fifo)), f"{option}: a stranger's FIFO is refused", "FIFO")
    ok(reader.communicate("")[0] == "0\n", f"{option}: the reader of a stranger's FIFO gets nothing")
    os.unlink(fifo)


def test_made_before(option):
    path = os.path.join(shared, "made")
    mallory.run(MAKE_FILE, path)
    r = capture(*to(option, path))
    st = os.stat(path)
    ok(r.returncode == 0 and st.st_uid == 0 and stat.S_IMODE(st.st_mode) == 0o600,
       f"{option}: a file that a stranger made before is replaced, with a mode of our own")
    ok(mallory.run('cat "$1"', path) is None, f"{option}: the stranger cannot read the file that replaced his")
    os.unlink(path)


def test_hard_link(option):
    victim, path = os.path.join(tmp, "victim"), os.path.join(shared, "hard")
    write(victim, "precious")
    os.chmod(victim, 0o644)
    os.link(victim, path)  # as any user may if fs.protected_hardlinks is 0
    r = capture(*to(option, path))
    ok(r.returncode == 0 and read(victim) == "precious" and stat.S_IMODE(os.stat(path).st_mode) == 0o600,
       f"{option}: a hard link lends neither bytes nor mode")
    os.unlink(path)


def test_swapped_directory():
    """All outputs, into a directory of another user, who replaces it by a link to ours in the meantime."""
    theirs, ours, go = os.path.join(shared, "theirs"), os.path.join(tmp, "ours"), os.path.join(tmp, "go")
    os.mkdir(ours)
    mallory.run('mkdir "$1"', theirs)
    started = os.path.join(tmp, "started")
    names = ("a", "b", "c", "d", "e")
    p = subprocess.Popen([AGENT, "-q", *(f"{o}={os.path.join(theirs, n)}" for o, n in zip(OPTIONS, names)), "--",
                          "sh", "-c", f": >{started}; while [ ! -e {go} ]; do sleep 0.02; done"])
    wait_for(lambda: os.path.exists(started), "the command to start")
    ok(mallory.run(SWAP, theirs, ours) is not None, "a directory is replaced by a link during the capture")
    write(go, "")
    ok(p.wait(60) == 0 and os.listdir(ours) == [], "nothing is written where a link leads that replaced a directory")
    ok(sorted(os.listdir(theirs + ".moved")) == sorted(names), "outputs are written in a directory although a link replaced it during the capture")


def test_strangers_directory(option):
    """The directory is not sticky, and nobody else can write to it, but its owner puts there what he likes."""
    victim, theirs = os.path.join(tmp, "victim"), os.path.join(shared, "his")
    link, fifo = os.path.join(theirs, "link"), os.path.join(theirs, "fifo")
    write(victim, "precious")
    mallory.run('mkdir -p -m 755 "$1"', theirs)
    mallory.run(MAKE_LINK, victim, link)
    refuses(capture(*to(option, link)), f"{option}: a link in a stranger's directory is refused", "symbolic link")
    ok(read(victim) == "precious", f"{option}: nothing is written where the link in a stranger's directory leads")
    mallory.run('mkfifo -m 666 "$1"', fifo)
    refuses(capture(*to(option, fifo)), f"{option}: a FIFO in a stranger's directory is refused", "FIFO")
    os.unlink(link)
    os.unlink(fifo)


def test_cache():
    """Another user's link to a directory of ours, whose files are not a cache."""
    ours, link = os.path.join(tmp, "precious"), os.path.join(shared, "cache")
    os.makedirs(os.path.join(ours, ".tmp", "old"))
    mallory.run(MAKE_LINK, ours, link)
    r = subprocess.run([AGENT, "-o", "/dev/null", "--debuginfod-url=http://127.0.0.1:1", f"--symbol-cache-dir={link}",
                        "--", "true"], capture_output=True, text=True, timeout=120)
    note(r.stderr)
    ok(r.returncode == 1 and f"is a symbolic link of user {mallory.uid}" in r.stderr,
       "a cache behind a stranger's link is refused")
    ok(os.listdir(ours) == [".tmp"] and os.listdir(os.path.join(ours, ".tmp")) == ["old"], "a cache behind a stranger's link is not cleaned up")


def test_automatic_name():
    """The automatic names of this minute and the next ones exist already."""
    victim, folder = os.path.join(tmp, "victim"), os.path.join(shared, "auto")
    os.mkdir(folder)
    os.chmod(folder, 0o1777)
    write(victim, "precious")
    names = [time.strftime("true-%Y%m%d%H%M-on-cpu.pb.gz", time.localtime(time.time() + 60 * i)) for i in range(3)]
    for name in names:
        mallory.run(MAKE_LINK, victim, os.path.join(folder, name))
    r = capture(cwd=folder)
    made = [name for name in os.listdir(folder) if name not in names]
    ok(r.returncode == 0 and len(made) == 1 and read(victim) == "precious", "an automatic name does not use the path of an existing link")
    ok(stat.S_IMODE(os.stat(os.path.join(folder, made[0])).st_mode) == 0o600, "a file of an automatic name has mode 0600")


def test_own_things():
    """Our own files and directories are used as usual."""
    link, target = os.path.join(shared, "own-link"), os.path.join(tmp, "own")
    os.symlink(target, link)
    ok(capture(*to("--json", link)).returncode == 0 and os.path.getsize(target) > 0, "a link of our own is followed")
    fifo = os.path.join(shared, "own-fifo")
    os.mkfifo(fifo)
    reader = subprocess.Popen(["cat", fifo], stdout=subprocess.PIPE)
    ok(capture(*to("--json", fifo)).returncode == 0 and b'"schema"' in reader.communicate()[0],
       "a FIFO of our own is written")


def test_needs_regular_file():
    fifo, ran = os.path.join(tmp, "no-reader"), os.path.join(tmp, "ran")
    os.mkfifo(fifo)
    for path in (fifo, "/dev/null", "-"):
        r = capture(*to("--perf-data-output", path), command=("touch", ran))
        ok(r.returncode == 1 and "needs a regular file" in r.stderr and not os.path.exists(ran),
           f"--perf-data-output {os.path.basename(path)} is refused before anything starts, also without a reader")


def test_closed_stdout():
    for args in (["-o", "-"], ["-o", "/dev/stdout"], to("--folded-output", "-"), to("--json", "-"),
                 to("--json", "/dev/stdout")):
        r = subprocess.run(["sh", "-c", '"$@" >&-', "-", AGENT, "-q", *args, "--", "true"], stderr=subprocess.PIPE,
                           text=True, timeout=120)
        note(r.stderr)
        ok(r.returncode == 1 and "cannot write" in r.stderr, f"{args[0]} {args[1]} with closed stdout is an error")


def test_file_size_limit(option):
    path = os.path.join(tmp, "limited")
    for limit in (0, 10):
        r = capture(*to(option, path), "-F", "999", command=("timeout", "0.3", os.path.join(PROGS, "spin"), "5"),
                    preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)))
        ok(r.returncode == 1 and "file size limit" in r.stderr and not os.path.exists(path) and not leftovers(tmp),
           f"{option}: a file size limit of {limit} bytes is an error that leaves nothing")


def has_nameless_files(directory):
    try:
        os.close(os.open(directory, os.O_TMPFILE | os.O_WRONLY))
        return True
    except OSError:
        return False


def test_killed():
    folder = os.path.join(tmp, "killed")
    os.mkdir(folder)
    if not has_nameless_files(folder):
        skip("a killed agent leaves nothing: needs a file system with O_TMPFILE")
        return
    p = subprocess.Popen([AGENT, "--profile", "-a", "-d", "60s", *(f"{o}={os.path.join(folder, o)}" for o in OPTIONS)],
                         stderr=subprocess.PIPE, text=True)
    while "rofiling" not in (line := p.stderr.readline()) and line:
        note(line)
    p.send_signal(signal.SIGKILL)
    ok(line and p.wait() == -signal.SIGKILL and os.listdir(folder) == [], "a killed agent leaves nothing behind")


def test_every_failure_is_reported():
    full = os.path.join(tmp, "also-full")
    os.symlink("/dev/full", full)
    busy = ("sh", "-c", "i=0; while [ $i -lt 99999 ]; do i=$((i+1)); done")  # without samples, folded stacks are empty
    r = capture("-F", "999", "-o", "/dev/full", f"--folded-output={full}", command=busy)
    ok(r.returncode == 1 and "'/dev/full'" in r.stderr and f"'{full}'" in r.stderr,
       "each output that could not be written has its own error message")


def test_same_file():
    """Two outputs of one path would leave the last alone."""
    folder = os.path.join(tmp, "folder")
    os.mkdir(folder)
    os.symlink(".", os.path.join(folder, "here"))
    for args, what in ((("-o", "x", "--folded-output", os.path.join(folder, "x")), "two spellings of one path"),
                       (("-o", "x", "--flamegraph-output", "here/x"), "a link to the directory"),
                       (("--profile", "--offcpu", "-o", "a-off-cpu.x", "--folded-output", "a.x"),
                        "the name of a second profile")):
        r = capture(*args, cwd=folder)
        ok(r.returncode == 1 and "is the same file as" in r.stderr and os.listdir(folder) == ["here"],
           f"two outputs to one file are refused before the capture: {what}")


def test_no_dev_null():
    script = 'umount -l /dev 2>/dev/null; mount -t tmpfs none /dev && exec "$@"'
    if subprocess.run(["unshare", "-m", "sh", "-c", script, "-", "true"], capture_output=True).returncode:
        skip("works without /dev/null: needs a mount namespace")
        return
    r = subprocess.run(["unshare", "-m", "sh", "-c", script, "-", AGENT, "-q", "-o", os.path.join(tmp, "bare"), "--",
                        "true"], stderr=subprocess.PIPE, text=True)
    note(r.stderr)
    ok(r.returncode == 0 and os.path.exists(os.path.join(tmp, "bare")), "works without /dev/null")
    r = subprocess.run(["unshare", "-m", "sh", "-c", script, "-", AGENT, "doctor"], capture_output=True, text=True)
    ok("cannot run" not in r.stdout, "without /dev/null doctor can still ask for libdebuginfod")


def test_profile_on_stdout():
    """Standard output belongs to the command, unless the profile is written there."""
    for option, path in ((OPTIONS[0], "-"), (OPTIONS[0], "/dev/stdout"), (OPTIONS[1], "-")):
        r = subprocess.run([AGENT, "-q", *to(option, path), "--", "sh", "-c", "i=0; while [ $i -lt 99999 ]; do "
                            "i=$((i+1)); done; echo from the command"], capture_output=True, timeout=120)
        ok(r.returncode == 0 and b"from the command" not in r.stdout and r.stderr == b"from the command\n",
           f"{option} {path}: the text of the command goes to standard error")
        ok(r.stdout.startswith(b"\x1f\x8b" if option == OPTIONS[0] else b"sh;"), f"{option} {path}: the profile on standard output is complete")
    r = subprocess.run([AGENT, "-q", "-o", "/dev/null", "--", "echo", "text"], capture_output=True, timeout=120)
    ok(r.stdout == b"text\n" and r.stderr == b"", "else standard output is the command's")


need_root()
tmp = workdir()
os.chmod(tmp, 0o755)
os.umask(0o077)
mallory = Stranger()
shared = os.path.join(tmp, "shared")
os.mkdir(shared)
os.chmod(shared, 0o1777)
for option in OPTIONS:
    test_links(option)
    test_fifo(option)
    test_made_before(option)
    test_hard_link(option)
    test_strangers_directory(option)
    test_file_size_limit(option)
test_swapped_directory()
test_cache()
test_automatic_name()
test_own_things()
test_needs_regular_file()
test_closed_stdout()
test_killed()
test_every_failure_is_reported()
test_same_file()
test_no_dev_null()
test_profile_on_stdout()
ok(not leftovers(tmp) and not leftovers(shared), "nothing is left beside the files")
done()
