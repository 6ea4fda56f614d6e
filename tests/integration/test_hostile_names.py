# SPDX-License-Identifier: Apache-2.0
"""Names chosen by a target with terminal escape sequences: in comm, path, ELF symbol, perf map and tag. None reaches a
reader of the outputs unchanged, and all outputs show the same; a file cannot pass for the kernel."""
import os
import re
import shutil
import subprocess
import unicodedata

from harness import (AGENT, PROGS, agent_until, done, end, finish_agent, need_root, note, ok, prog, skip, start_agent,
                     workdir)
from stack_readers import folded_of, functions_of, labels_of, read_folded, read_functions

ESC, BEL, CSI, RTL = "\x1b", "\x07", "\x9b", "\u202e"
SYMBOL = (ESC + "[5m" + BEL + CSI + "\n").encode() + b"\xff!"  # as long as the name that it replaces
FILE = f"a{ESC}]0;x{BEL}{RTL}{CSI}\nb"
MAP_NAME = f"h{ESC}]52;c;aGk={BEL}{CSI}{RTL}\x7f".encode() + b"\xfe"
TAG = f"who={ESC}]52;c;aGk={BEL}{CSI}{RTL}\r\nroot"


# Names that a perf map can have, with the form that every output shows. Longer ones are truncated after 4,096 bytes,
# and a partial character at the end is removed.
SHOWN = [
    (b"<script>alert(1)</script>", "<script>alert(1)</script>"),
    (b"a;b c; 7", "a;b c; 7"),
    (b'"\\u0041" &amp; %s ${x}', '"\\u0041" &amp; %s ${x}'),
    (b"fn_[k]", "fn_[k]"),
    (b"before\0after", "before"),
    (b"tab\there\r\x7f", "tab?here??"),
    (b"\xff\xfe\xc3(", "\ufffd\ufffd\ufffd("),
    ("\u2028\u202eZ\u00e9\U0001f600\x85".encode(), "??Z\u00e9\U0001f600?"),
    (b"<b>" * 21846, ("<b>" * 21846)[:4096]),
    (b"x" + "\u00e9".encode() * 32768, "x" + "\u00e9" * 2047 + "\ufffd"),
]


def is_clean(text):
    return not any(unicodedata.category(c) in ("Cc", "Cf", "Cs", "Zl", "Zp") for c in text)


def check(what, run, folded, words):
    """Checks every string of each output, and that the names are there in their harmless form."""
    strings = run.profile.strings
    dirty = [s for s in strings if not is_clean(s)]
    note(dirty)
    ok(run.status == 0 and len(strings) > 10 and not dirty, f"{what}: every string in the pprof file is clean")
    with open(folded, encoding="utf-8") as f:
        lines = f.read().split("\n")[:-1]
    ok(lines and all(is_clean(s) and re.search(r" \d+$", s) for s in lines), f"{what}: every line of the folded stacks is clean")
    check_same(what, run, folded)
    ok(is_clean(run.stderr.replace("\n", "")), f"{what}: every line of the report is clean")
    with open(os.path.join(tmp, "summary.json"), "rb") as f:
        ok(re.search(rb"[^\n -~\x7f]", f.read()) is None, f"{what}: every byte of the summary is clean")
    for word in words:
        ok(any(word in s for s in strings), f"{what}: '{word}' is in the profile")
    ok(all(any(word in s for s in lines) for word in words[:1]), f"{what}: the function is in the folded stacks")
    if not shutil.which("go"):
        skip("go tool pprof prints nothing else: needs go")
        return
    for view in ("-top", "-comments", "-traces"):
        r = subprocess.run(["go", "tool", "pprof", view, run.profile_path], capture_output=True, text=True,
                           env={**os.environ, "GOTOOLCHAIN": "local", "PPROF_TMPDIR": tmp})
        if r.returncode:
            note(r.stderr)
        ok(r.returncode == 0 and is_clean(re.sub("[\n\t]", "", r.stdout)), f"{what}: go tool pprof {view} prints no control character")


def check_same(what, run, folded):
    """Whether all outputs have the same text for each name."""
    ok(read_folded(folded) == folded_of(run.profile, 0), f"{what}: the folded stacks have the names of the pprof file")
    ok(read_functions(run.summary) == functions_of(run.profile), f"{what}: the functions of the summary have the names of the pprof file")
    ok({(x["pid"], x["comm"]): x["nr_samples"] for x in run.summary["processes"]} == labels_of(run.profile, "pid", "comm"),
       f"{what}: the processes of the summary have the names of the pprof file")


def capture(pid):
    folded = os.path.join(tmp, "folded")
    run = finish_agent(start_agent(tmp, "--pid", pid, "-d", "1s", "-F", 499, "--tag", TAG, "--top", 10000,
                                   "--folded-output", folded))
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
        text = f.read()
    with open(path, "wb") as f:
        f.write(text.replace(b"hot", MAP_NAME))
    run, folded = capture(p.pid)
    check("a perf map", run, folded, ["h?]52"])
    end(p)
    if os.path.exists(path):
        os.unlink(path)


def test_same_everywhere():
    """Two names at a time: one for each of the two functions that the program generates."""
    p = prog("jit", "map", 120, stdout=subprocess.PIPE, cwd=tmp)
    p.stdout.readline()
    path, folded = f"/tmp/perf-{p.pid}.map", os.path.join(tmp, "folded")
    with open(path, "rb") as f:
        places = [line.rsplit(b" ", 2 if b".js" in line else 1)[0] for line in f.read().splitlines()]
    for pair in zip(SHOWN[::2], SHOWN[1::2]):
        with open(path, "wb") as f:
            f.writelines(b" ".join([place, name]) + b"\n" for place, (name, _) in zip(places, pair))
        run = agent_until(100, tmp, "--pid", p.pid, "-F", 499, "--top", 10000, "--folded-output", folded, seconds=0.5)
        names = {f.name for s in run.profile.samples for f in s.frames if f.path == "[jit]"}
        shown = " and ".join(ascii(text if len(text) < 40 else text[:12] + "..." + text[-2:]) for _, text in pair)
        ok(names == {text for _, text in pair}, f"a perf map's names are {shown} in the pprof file")
        check_same("names of a perf map", run, folded)
    end(p)
    os.unlink(path)


def test_marks():
    """A program with the name of code that is in no file."""
    for name in ("kernel", "[kernel]", "[jit]", "[vdso]"):
        path = os.path.join(tmp, name)
        shutil.copy(os.path.join(PROGS, "spin"), path)
        p = prog(path, 60, stdout=subprocess.PIPE)
        p.stdout.readline()
        run, _ = capture(p.pid)
        end(p)
        rows = [line for line in run.stderr.splitlines() if "burn_steps [" in line]  # the line about what ran
        note("\n".join(rows))
        ok(rows and all(f"[{tmp[:10]}" in line for line in rows), f"a file called {name} is shown with its path")
        files = [f["file"] for f in run.summary["functions"] if f["name"] == "spin_inner"]
        ok(files == [path], f"a file called {name} has its path in the summary")
        paths = {run.profile.str(m.filename) for m in run.profile.mapping_list}
        ok(path in paths, f"a file called {name} has its path in the profile")


def test_automatic_name():
    folder = os.path.join(tmp, "auto")
    os.mkdir(folder)
    r = subprocess.run([AGENT, "-q", "--pid", str(os.getpid()), "--profile", "-d", "100ms"], cwd=folder)
    made = os.listdir(folder)
    note(made)
    ok(r.returncode == 0 and len(made) == 1 and re.fullmatch(r"a_{8}b-[0-9]+-on-cpu\.pb\.gz", made[0]),
       "an automatic name has nothing that a terminal or a shell would act on")


need_root()
tmp = workdir()
test_elf()
test_perf_map()
test_same_everywhere()
test_marks()
with open("/proc/self/comm", "wb") as f:
    f.write(f"a{ESC}{CSI}{RTL}?/$(;b".encode())
test_automatic_name()
done()
