# SPDX-License-Identifier: Apache-2.0
"""report, convert and diff: files of this program, of Go's runtime/pprof, handcrafted ones, and hostile ones."""
import fcntl
import gzip
import json
import os
import re
import struct
import subprocess
import termios

import go_pprof
from harness import AGENT, done, note, ok, skip, workdir
from stack_readers import read_flame_page, read_folded

MAX_KIB = 100 << 10  # memory for files that are rejected
GO_PROGRAM = """package main

import (
	"os"
	"runtime"
	"runtime/pprof"
	"time"
)

//go:noinline
func hot(n int) (s int) {
	for i := 0; i < n; i++ {
		s += i * i % 7
	}
	return
}

//go:noinline
func warm(n int) int { return hot(n/3) + 1 }

var keep [][]byte

func main() {
	f, _ := os.Create(os.Args[1])
	pprof.StartCPUProfile(f)
	for end := time.Now().Add(time.Second); time.Now().Before(end); {
		hot(300000)
		warm(300000)
	}
	pprof.StopCPUProfile()
	f.Close()
	for i := 0; i < 64; i++ {
		keep = append(keep, make([]byte, 1<<20))
	}
	runtime.GC()
	f, _ = os.Create(os.Args[2])
	pprof.WriteHeapProfile(f)
	f.Close()
}
"""


def path(name):
    return os.path.join(tmp, name)


def run(*args, **kwargs):
    return subprocess.run([AGENT, *args], capture_output=True, text=True, cwd=tmp, **kwargs)


def on_terminal(columns, *args):
    """The lines that a terminal of that width gets."""
    terminal, side = os.openpty()
    fcntl.ioctl(side, termios.TIOCSWINSZ, struct.pack("4H", 24, columns, 0, 0))
    with subprocess.Popen([AGENT, *args], stdout=side, stderr=subprocess.DEVNULL, cwd=tmp):
        os.close(side)
        with os.fdopen(terminal, "rb") as f:
            out = bytearray()
            try:
                while part := f.raw.read(4096):
                    out += part
            except OSError:  # EIO: the program has ended
                pass
    return out.decode().split("\r\n")


def converted(name, *args):
    """The summary of a file."""
    r = run("convert", name, "-o", "converted.json", *args)
    if r.returncode:
        raise RuntimeError(r.stderr)
    with open(path("converted.json")) as f:
        return json.load(f)


def tables(text):
    """The rows of functions and hot paths of a report, with their headings."""
    part = re.search(r"^[^\n]*functions by.*?^(?=wrote|stacks|symbols)", text, re.M | re.S)
    return re.findall(r"^ +(?:[\d.]+ +)?<?[\d.]+%.*$|^.*functions by.*$|^.*hot paths.*$", part.group(), re.M)


def command_rows(text):
    """Seconds, share and name of each command, and the number of all processes; a capture has additional columns."""
    table = re.search(r"share .*command\n((?: .*\n)+)", text)
    rows = re.findall(r"^ +([\d.]+) +(<?[\d.]+%)(?: +<?[\d.]+% +\d+)?  (\S.*)$", table.group(1), re.M) if table else []
    return rows + re.findall(r"\d+ processes", text)


def quality(text):
    """How complete stacks and symbols are."""
    return re.findall(r"^(?:stacks|symbols) .*$|^ +.*% truncated in .*$", text, re.M)


def varint(n):
    n &= (1 << 64) - 1
    out = bytearray()
    while n >= 0x80:
        out.append(n & 0x7f | 0x80)
        n >>= 7
    return bytes(out) + bytes([n])


def number(field, n):
    return varint(field << 3) + varint(n)


def message(field, *parts):
    data = b"".join(parts)
    return varint(field << 3 | 2) + varint(len(data)) + data


def make(name, shares, unit="nanoseconds", where="/bin/prog"):
    """A profile without gzip, labels and lines: {function: value}, each called by main."""
    strings = ["", "time", unit, where, "main", *(name for name in shares if name)]
    names = ["main", *shares]
    data = message(1, number(1, 1), number(2, 2)) + message(3, number(1, 1), number(5, 3))
    for i, function in enumerate(names, 1):
        data += message(5, number(1, i), number(2, strings.index(function or "")))
        data += message(4, number(1, i), number(2, 1), number(3, 0x1000 + i), message(4, number(1, i)))
    for i, function in enumerate(names, 1):
        if function in shares:
            data += message(2, message(1, varint(i), varint(1)), message(2, varint(shares[function])))
    for s in strings:
        data += message(6, s if isinstance(s, bytes) else s.encode())
    with open(path(name), "wb") as f:
        f.write(data)


# Names that a file can have, with the form in which every output shows them.
SHOWN = {
    b"": "[unknown]",
    b"<script>alert(1)</script>": "<script>alert(1)</script>",
    b"</script><!--": "</script><!--",
    b"two\nlines": "two?lines",
    b"before\0after": "before?after",
    b"\x1b]52;c;aGk=\x07": "?]52;c;aGk=?",
    b"\xff\xfe\xc3(": "\ufffd\ufffd\ufffd(",
    "\u202eZ\u00e9\U0001f600".encode(): "?Z\u00e9\U0001f600",
    b"n" * 65536: "n" * 65536,
}


def test_names():
    """Whatever names a file has, all outputs show the same ones."""
    make("names.pb", {name: 1 << i for i, name in enumerate(SHOWN)})
    expected = {(SHOWN[name], 1 << i) for i, name in enumerate(SHOWN)}
    listed = {(f["name"], f["nr_self"]) for f in converted("names.pb")["functions"] if f["nr_self"]}
    ok(listed == expected, "convert: names of functions in JSON")
    run("convert", "names.pb", "-o", "names.folded")
    folded = {(name.replace(";", ":"), value) for name, value in expected}
    stacks = {(frames[-1], value) for frames, value in read_folded(path("names.folded")).items()}
    ok(stacks == folded, "convert: names of functions in folded stacks")
    run("convert", "names.pb", "-o", "names.html")
    nodes = {(frames[-1][0], value) for (_, frames), value in read_flame_page(path("names.html"), "time").items()}
    ok(nodes == expected, "convert: names of functions in the page")
    with open(path("names.html"), encoding="utf-8") as f:
        own = len(re.sub(r'(<script[^>]* id="?data"?[^>]*>).*?</script>', "", f.read(), flags=re.S).encode())
    ok(10_000 < own <= 250_000, f"convert: the page has {own} bytes beside its data")
    for got, wanted in ((listed, expected), (stacks, folded), (nodes, expected)):
        for name, value in sorted(got - wanted):
            note(f"{value} {ascii(name[:40])}")


def make_stripped():
    """A program that spends its time in a function without a symbol, in a library with a version."""
    with open(path("lib.c"), "w") as f:
        f.write("__attribute__((noinline)) static unsigned hot(unsigned n) { unsigned s = 0;"
                "for (unsigned i = 0; i < n; i++) s += i * i % 7; return s; }"
                "unsigned work(unsigned n) { return hot(n) + hot(n / 2); }")
    with open(path("main.c"), "w") as f:
        f.write("unsigned work(unsigned); int main(void)"
                "{ unsigned s = 0; for (int i = 0; i < 150; i++) s += work(1000000); return s == 1; }")
    library = path("libstripped.so.1.2")
    for argv in (["gcc", "-O1", "-shared", "-fPIC", "-s", "-o", library, path("lib.c")],
                 ["gcc", "-O1", "-o", path("stripped"), path("main.c"), library]):
        subprocess.run(argv, check=True)


def test_capture():
    if os.geteuid() != 0:
        skip("a capture of our own: needs root to load BPF programs")
        return
    make_stripped()
    r = run("-F", "499", "--top", "8", "-o", "own.pb.gz", "--folded-output", "own.folded", "--json=own.json", "--", "sh", "-c",
            "python3 -c 'sum(i * i % 7 for i in range(6_000_000))'; awk 'BEGIN { while (i < 3000000) i++ }'; ./stripped")
    if not ok(r.returncode == 0, "a capture of our own is taken"):
        note(r.stderr)
        return
    with open(path("own.json")) as f:
        ours = json.load(f)
    theirs = converted("own.pb.gz")
    ok(ours["samples"] > 0, f"it has {ours['samples']} samples")
    ok(ours["unnamed_samples"] > 0, f"{ours['unnamed_samples']} of them are in code without a symbol")
    for key in ("samples", "period_ns", "event", "nr_stacks", "nr_locations", "nr_locations_named", "nr_processes",
                "functions", "functions_by_total", "functions_seen", "paths", "target", "host", "unnamed_samples",
                "stacks_complete", "no_user_stack", "truncations_samples"):
        ok(ours[key] == theirs[key], f"{key}: of the file as of the capture")
    ok([(c["comm"], c["nr_samples"]) for c in ours["commands"]] ==
       [(c["comm"], c["nr_samples"]) for c in theirs["commands"]], "commands: of the file as of the capture")
    report = run("report", "own.pb.gz", "--top", "8")  # without --top, the lists are as short as their page requires
    captured, read = tables(r.stderr), tables(report.stdout)
    ok(len(read) > 3 and set(read) <= set(captured), "report: every row is one of the capture's own report")
    captured, read = command_rows(r.stderr), command_rows(report.stdout)
    ok(len(captured) > 2 and set(captured) <= set(read), f"report: the commands are those of the capture: {captured}")
    captured, read = quality(r.stderr), quality(report.stdout)
    ok(len(read) > 1 and sorted(read) == sorted(captured), f"report: stacks are as complete as the capture says: {read}")
    run("convert", "own.pb.gz", "-o", "again.folded")
    with open(path("own.folded")) as a, open(path("again.folded")) as b:
        ok(a.read() == b.read(), "convert: folded stacks are those of the capture")
    by_pid = run("report", "own.pb.gz", "--by", "pid")
    ok(by_pid.returncode == 0 and re.search(r"share  pid\n( +[\d.]+ +<?[\d.]+%  \d+\n){2}", by_pid.stdout), "report: --by pid")
    same = run("diff", "own.pb.gz", "own.pb.gz", "--fail-over", "0")
    ok(same.returncode == 0 and "no function changed" in same.stdout, "diff: of a file to itself there is none")
    page = run("convert", "own.pb.gz", "-o", "own.html")
    with open(path("own.html")) as f:
        ok(page.returncode == 0 and "<html" in f.read(1000), "convert: a page for a browser is written")


def compare_with_go(name, index):
    rows = go_pprof.rows_of(go_pprof.pprof("-top", "-nodecount=100000", "-nodefraction=0", "-edgefraction=0",
                                           f"-sample_index={index}", path(name)))
    functions = {f["name"]: (f["nr_self"], f["nr_total"]) for f in converted(name, "--type", index)["functions"]
                 if f["nr_total"]}
    wrong = {f for f in rows.keys() | functions.keys() if rows.get(f) != functions.get(f)}
    for f in sorted(wrong):
        note(f"{f}: go tool pprof has {rows.get(f)}, we have {functions.get(f)}")
    ok(rows and not wrong, f"{name}: self and total of {len(rows)} functions are those of go tool pprof, in {index}")


def test_go():
    if not go_pprof.has_pprof():
        skip("profiles of Go's runtime/pprof: needs go")
        return
    os.mkdir(path("go"))
    with open(path("go/main.go"), "w") as f:
        f.write(GO_PROGRAM)
    env = {**go_pprof.pprof_command()["env"], "GOCACHE": path("cache"), "GO111MODULE": "off", "GOPATH": path("gopath")}
    built = subprocess.run(["go", "build", "-o", path("goprog"), path("go/main.go")], env=env, capture_output=True,
                           text=True)
    if built.returncode:
        skip(f"profiles of Go's runtime/pprof: needs a go that builds: {built.stderr.strip()[:200]}")
        return
    subprocess.run([path("goprog"), path("cpu.pb.gz"), path("heap.pb.gz")], check=True)
    cpu = converted("cpu.pb.gz")
    if cpu["samples"]:
        compare_with_go("cpu.pb.gz", "samples")
        ok(cpu["value_type"] is None and cpu["period_ns"] == 10_000_000, "cpu.pb.gz: counted in samples of 10 ms")
    else:
        skip("CPU profile of Go: needs a machine on which its timer fires within a second")
    compare_with_go("heap.pb.gz", "alloc_objects")
    heap = converted("heap.pb.gz")
    ok((heap["value_type"], heap["value_unit"]) == ("inuse_space", "bytes"), "heap.pb.gz: inuse_space is the default")
    report = run("report", "heap.pb.gz").stdout
    ok(re.search(r"MiB of inuse_space; also has alloc_objects/count", report), "heap.pb.gz: the report names its types")
    with gzip.open(path("heap.pb.gz")) as f, open(path("heap.pb"), "wb") as out:
        out.write(f.read())
    ok(run("report", "heap.pb").stdout.split("\n", 1)[1] == report.split("\n", 1)[1], "heap.pb.gz: the same without gzip")


def test_diff():
    make("base.pb", {"fast": 100, "slow": 300})
    make("new.pb", {"fast": 1000, "slow": 500, "extra": 500}, where="/elsewhere/prog")
    r = run("diff", "base.pb", "new.pb")
    rows = re.findall(r"^ *([\d.]+)% +([+-][\d.]+) +([\d.]+)% +([+-][\d.]+)  (\w+) \[prog\]$", r.stdout, re.M)
    ok(rows == [("25.0", "-50.0", "25.0", "-50.0", "slow"), ("50.0", "+25.0", "50.0", "+25.0", "fast"),
                ("25.0", "+25.0", "25.0", "+25.0", "extra")] or
       rows == [("25.0", "-50.0", "25.0", "-50.0", "slow"), ("25.0", "+25.0", "25.0", "+25.0", "extra"),
                ("50.0", "+25.0", "50.0", "+25.0", "fast")], "diff: shares of their own totals, the largest change first")
    ok(re.search(r"^change +in percentage points: ", r.stdout, re.M), "diff: the unit of changes is printed")
    ok("base.pb: 0.00s of time" in r.stdout and "new.pb: 0.00s of time" in r.stdout, "diff: both totals are printed")
    ok(run("diff", "base.pb", "new.pb", "--fail-over", "25").returncode == 0, "diff: --fail-over allows as much as it says")
    r = run("diff", "base.pb", "new.pb", "--fail-over", "24.9")
    ok(r.returncode == 3 and re.search(r"(extra|fast) grew by 25\.0% of the total \(self\), more than 24\.9%", r.stderr),
       "diff: --fail-over exits with 3 and names the function")
    make("bytes.pb", {"fast": 1}, unit="bytes")
    r = run("diff", "base.pb", "bytes.pb")
    ok(r.returncode == 1 and "time/nanoseconds, the other time/bytes" in r.stderr, "diff: two units are refused")
    ok("; give two files that have a type in common\n" in r.stderr, f"diff: no type is suggested where none fits: {r.stderr!r}")
    make("count.pb", {"fast": 7}, unit="count")
    r = run("diff", "count.pb", "count.pb")
    ok("base     count.pb: 7 time\n" in r.stdout, f"diff: a number is a number of its type: {r.stdout!r}")
    r = run("report", "count.pb")
    ok("\n7 time" in r.stdout, f"report: a number is a number of its type: {r.stdout!r}")
    test_diff_of_scripts()
    test_diff_of_nothing()
    test_diff_width()
    r = run("diff", "base.pb", "new.pb", "-o", "diff.html")
    with open(path("diff.html")) as f:
        ok(r.returncode == 0 and "<html" in f.read(1000), "diff: a page of the differences is written")


def make_scripts(name, *values, directory="/srv"):
    """A profile of generated code: functions of one name in several scripts."""
    strings = ["", "time", "nanoseconds", "[jit]", "run"]
    strings += [f"{directory}/m{i}.py" for i in range(1, len(values) + 1)]
    data = message(1, number(1, 1), number(2, 2)) + message(3, number(1, 1), number(5, 3))
    for i, value in enumerate(values, 1):
        data += message(5, number(1, i), number(2, 4), number(4, 4 + i))
        data += message(4, number(1, i), number(2, 1), number(3, 0x1000 + i), message(4, number(1, i)))
        data += message(2, message(1, varint(i)), message(2, varint(value)))
    for s in strings:
        data += message(6, s.encode())
    with open(path(name), "wb") as f:
        f.write(data)


def test_diff_of_scripts():
    """Work that moves from one script to another, in functions of the same name."""
    make_scripts("swap1.pb", 10, 90)
    make_scripts("swap2.pb", 90, 10, directory="/elsewhere")
    r = run("diff", "swap1.pb", "swap2.pb", "--fail-over", "5")
    rows = re.findall(r"^ *([\d.]+)% +([+-][\d.]+) .*  (\S.*)$", r.stdout, re.M)
    ok(rows == [("90.0", "+80.0", "run [m1.py]"), ("10.0", "-80.0", "run [m2.py]")],
       f"diff: functions of one name in two scripts are two rows {rows}")
    ok(r.returncode == 3 and "run [m1.py] grew by 80.0%" in r.stderr, f"diff: --fail-over names the script {r.stderr!r}")
    ok([(f["name"], f["source"]) for f in converted("swap1.pb")["functions"]] == [("run", "/srv/m2.py"), ("run", "/srv/m1.py")],
       "convert: the JSON summary has the source file of generated code")
    run("convert", "swap1.pb", "-o", "swap1.folded")
    ok(sorted(read_folded(path("swap1.folded"))) == [("[unknown]", "run (m1.py)_[j]"), ("[unknown]", "run (m2.py)_[j]")],
       "convert: folded stacks have the script of generated code")


def test_diff_of_nothing():
    """A gate must not be passed by a profile without values, nor blame functions for one."""
    make("zero.pb", {"fast": 0})
    for files in (("base.pb", "zero.pb"), ("zero.pb", "base.pb"), ("zero.pb", "zero.pb")):
        r = run("diff", *files, "--fail-over", "1", "-o", "zero.html")
        ok(r.returncode == 1 and "'zero.pb' cannot be compared: the sum of its time is 0" in r.stderr and not r.stdout
           and not os.path.exists(path("zero.html")), f"diff {' '.join(files)}: a profile without values is an error")


def test_diff_width():
    """Names of functions and files are shortened to the width of the terminal, as in report."""
    where = "/opt/" + "a-long-name-of-a-program" * 3
    make("wide1.pb", {"very_long_name_of_a_function" * 3: 100, "f": 300, "": 3}, where=where)
    make("wide2.pb", {"very_long_name_of_a_function" * 3: 300, "f": 100, "": 300}, where=where)
    for columns in (20, 40, 80, 400):
        for args in ((), ("--sort", "total"), ("--top", "1"), ("wide1.pb",)):
            files = ("wide1.pb", *args) if args == ("wide1.pb",) else ("wide1.pb", "wide2.pb", *args)
            lines = on_terminal(columns, "diff", *files)
            long = [line for line in lines if len(line) > columns]
            ok(len(lines) > 3 and not long, f"diff {' '.join(files)}: lines fit {columns} columns {long[:1]}")
    lines = on_terminal(20, "diff", "wide1.pb", "wide2.pb")
    ok("  change  function" in lines and any(re.fullmatch(r" +-60\.2  f", line) for line in lines),
       f"diff: a narrow terminal shows by how much each function changed {lines}")


def test_refused():
    make("one.pb", {"f": 7})
    make("negative.pb", {"f": 7, "g": -3})
    for args, words in ((("report", "negative.pb"), "has negative values"),
                        (("report", "one.pb", "--type", "space"), "has no values of type 'space'; it has time"),
                        (("report", "one.pb", "--by", "pid"), "has no label 'pid': its samples have no labels"),
                        (("report", "."), "is a directory"), (("report", "missing.pb"), "No such file")):
        r = run(*args)
        ok(r.returncode == 1 and words in r.stderr and not r.stdout, f"{' '.join(args)}: {words}")
    with open(path("kept.json"), "w") as f:
        f.write("kept")
    run("convert", "negative.pb", "-o", "kept.json")
    with open(path("kept.json")) as f:
        ok(f.read() == "kept" and not [n for n in os.listdir(tmp) if n.startswith(".")],
           "convert: a failure leaves the file that was there, and no other one")
    with open(path("one.pb"), "rb") as f:
        r = subprocess.run([AGENT, "report", "-"], stdin=f, capture_output=True, text=True)
    ok(r.returncode == 0 and " f [prog]" in r.stdout, "report: - is standard input")


def refuses(name, words, max_kib=MAX_KIB):
    """Rejected with a clear message, and without much memory."""
    p = subprocess.Popen([AGENT, "report", path(name)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    text = p.stderr.read()
    p.stdout.read()
    _, status, usage = os.wait4(p.pid, 0)
    p.returncode = os.waitstatus_to_exitcode(status)
    good = p.returncode == 1 and words in text and usage.ru_maxrss < max_kib
    ok(good, f"{name} is refused: {words}")
    if not good:
        note(f"exit status {p.returncode}, {usage.ru_maxrss} KiB: {text}")


def test_hostile():
    make("valid.pb", {f"function_{i}": i + 1 for i in range(200)})
    with open(path("valid.pb"), "rb") as f:
        valid = f.read()
    packed = gzip.compress(valid)
    files = {
        "truncated.pb.gz": (packed[:len(packed) // 2], "gzip data ends early"),
        "truncated.pb": (valid[:len(valid) // 2], "last field is incomplete"),
        "damaged.pb.gz": (packed[:40] + bytes(8) + packed[48:], "damaged"),
        "text": (b"main;work 12\n" * 1000, "is not a pprof file"),
        "location": (valid + message(2, message(1, varint(9999)), message(2, varint(1))), "refers to location 9999"),
        "string": (valid + message(5, number(1, 9999), number(2, 123456)), "refers to string 123456"),
        "long": (varint(6 << 3 | 2) + varint(1 << 62), "more than 512 MiB"),
    }
    for name, (data, words) in files.items():
        with open(path(name), "wb") as f:
            f.write(data)
        refuses(name, words)
    # Read in small pieces: the peak memory of this process is counted for the programs that it starts.
    with gzip.open(path("zeros.gz"), "wb", 1) as f:
        for _ in range(256):
            f.write(bytes(1 << 20))
    refuses("zeros.gz", "is not a pprof file: byte 0")
    with gzip.open(path("fields.gz"), "wb", 1) as f:
        for _ in range(33):
            f.write(message(6) * (1 << 19))
    refuses("fields.gz", "more than 16777216 fields")
    with gzip.open(path("strings.gz"), "wb", 1) as f:
        for _ in range(520):
            f.write(message(6, bytes(1 << 16)) * 16)
    refuses("strings.gz", "more than 512 MiB", (512 + 64) << 10)
    with open(path("sparse"), "wb") as f:
        f.truncate(2 << 30)
    refuses("sparse", "is not a pprof file: byte 0")
    crashed = []
    for i in range(0, len(valid), max(1, len(valid) // 30)):
        with open(path("flipped"), "wb") as f:
            f.write(valid[:i] + bytes([valid[i] ^ 0x41]) + valid[i + 1:])
        for args in (["report"], ["convert", "-o", "flipped.html"], ["convert", "-o", "flipped.folded"],
                     ["convert", "-o", "flipped.json"], ["diff", "flipped", "-o", "flipped.html"]):
            if run(*args, "flipped").returncode not in (0, 1):
                crashed.append((i, args))
    ok(not crashed, f"no changed byte of a file crashes report, convert or diff: {crashed}")


tmp = workdir()
test_diff()
test_refused()
test_hostile()
test_names()
test_go()
test_capture()
done()
