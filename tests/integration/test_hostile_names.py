# SPDX-License-Identifier: Apache-2.0
"""Names that a target chooses, made for terminals: in comm, path, ELF symbol, perf map and tag, they reach
no reader of the outputs as they are; a file cannot be taken for the kernel."""
import os
import re
import shutil
import subprocess
import unicodedata

from harness import AGENT, PROGS, done, end, finish_agent, need_root, note, ok, prog, skip, start_agent, workdir

ESC, BEL, CSI, RTL = "\x1b", "\x07", "\x9b", "\u202e"
SYMBOL = (ESC + "[5m" + BEL + CSI + "\n").encode() + b"\xff!"  # as long as the name that it replaces
FILE = f"a{ESC}]0;x{BEL}{RTL}{CSI}\nb"
MAP_NAME = f"h{ESC}]52;c;aGk={BEL}{CSI}{RTL}\x7f".encode() + b"\xfe"
TAG = f"who={ESC}]52;c;aGk={BEL}{CSI}{RTL}\r\nroot"


def is_clean(text):
    return not any(unicodedata.category(c) in ("Cc", "Cf", "Cs", "Zl", "Zp") for c in text)


def check(what, run, folded, words):
    """Every string of each output, and that what was to be hidden is there in its harmless form."""
    strings = run.profile.strings
    dirty = [s for s in strings if not is_clean(s)]
    note(dirty)
    ok(run.status == 0 and len(strings) > 10 and not dirty, f"{what}: every string in the pprof file is clean")
    with open(folded, encoding="utf-8") as f:
        lines = f.read().split("\n")[:-1]
    ok(lines and all(is_clean(s) and re.search(r" \d+$", s) for s in lines), "... and every line of folded stacks")
    ok(is_clean(run.stderr.replace("\n", "")), "... and of the report")
    with open(os.path.join(tmp, "summary.json"), "rb") as f:
        ok(re.search(rb"[^\n -~\x7f]", f.read()) is None, "... and of the summary")
    for word in words:
        ok(any(word in s for s in strings), f"... '{word}' is in the profile")
    ok(all(any(word in s for s in lines) for word in words[:1]), "... and the function in the stacks")
    if not shutil.which("go"):
        skip("go tool pprof prints nothing else: needs go")
        return
    for view in ("-top", "-comments", "-traces"):
        r = subprocess.run(["go", "tool", "pprof", view, run.profile_path], capture_output=True, text=True,
                           env={**os.environ, "GOTOOLCHAIN": "local", "PPROF_TMPDIR": tmp})
        if r.returncode:
            note(r.stderr)
        ok(r.returncode == 0 and is_clean(re.sub("[\n\t]", "", r.stdout)), f"... go tool pprof {view} prints no control")


def capture(pid):
    folded = os.path.join(tmp, "folded")
    run = finish_agent(start_agent(tmp, "--pid", pid, "-d", "1s", "-F", 499, "--tag", TAG, "--folded-output", folded))
    return run, folded


def test_elf():
    path = os.path.join(tmp, FILE)
    with open(os.path.join(PROGS, "spin"), "rb") as f:
        code = f.read()
    old = b"spin_inner"
    assert len(SYMBOL) == len(old) and old in code
    with open(path, "wb") as f:
        f.write(code.replace(old, SYMBOL))
    os.chmod(path, 0o755)
    p = prog(path, 60, stdout=subprocess.PIPE)
    p.stdout.readline()
    run, folded = capture(p.pid)
    check("an ELF symbol, a path and a comm", run, folded, ["?[5m???\ufffd!", "a?]0;x???", "who=?]52;c;aGk="])
    end(p)


def test_perf_map():
    p = prog("jit", "map", 60, stdout=subprocess.PIPE, cwd=tmp)
    p.stdout.readline()
    path = f"/tmp/perf-{p.pid}.map"
    with open(path, "rb") as f:
        told = f.read()
    with open(path, "wb") as f:
        f.write(told.replace(b"hot", MAP_NAME))
    run, folded = capture(p.pid)
    check("a perf map", run, folded, ["h?]52"])
    end(p)
    if os.path.exists(path):
        os.unlink(path)


def test_marks():
    """A program called like what is in no file."""
    for name in ("kernel", "[kernel]", "[jit]", "[vdso]"):
        path = os.path.join(tmp, name)
        shutil.copy(os.path.join(PROGS, "spin"), path)
        p = prog(path, 60, stdout=subprocess.PIPE)
        p.stdout.readline()
        run, _ = capture(p.pid)
        end(p)
        rows = [line for line in run.stderr.splitlines() if "spin_inner" in line]
        note("\n".join(rows))
        ok(rows and all(f"[{tmp[:10]}" in line for line in rows), f"a file called {name} is shown with its path")
        files = [f["file"] for f in run.summary["functions"] if f["name"] == "spin_inner"]
        ok(files == [path], "... in the summary too")
        paths = {run.profile.str(m.filename) for m in run.profile.mapping_list}
        ok(path in paths, "... and in the profile")


def test_automatic_name():
    folder = os.path.join(tmp, "auto")
    os.mkdir(folder)
    r = subprocess.run([AGENT, "-q", "--pid", str(os.getpid()), "--profile", "-d", "100ms"], cwd=folder)
    made = os.listdir(folder)
    note(made)
    ok(r.returncode == 0 and len(made) == 1 and is_clean(made[0]) and "?" not in made[0] and made[0].startswith("a_"),
       "an automatic name is clean")


need_root()
tmp = workdir()
test_elf()
test_perf_map()
test_marks()
with open("/proc/self/comm", "wb") as f:
    f.write(f"a{ESC}{CSI}{RTL}?/".encode())
test_automatic_name()
done()
