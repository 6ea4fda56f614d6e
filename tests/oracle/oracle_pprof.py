#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""oracle_pprof.py WRITE_MODEL PROFILE_PROTO: asks protoc, pprof and gzip what our file says."""
import gzip
import os
import re
import shutil
import subprocess
import sys
import tempfile

from tap import done, ok, skip

WRITE_MODEL, PROTO = sys.argv[1:3]


def run(*command, data=None):
    return subprocess.run(command, input=data, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          check=False)


def write(what, folder):
    """Writes a model; gives the uncompressed profile, checked by another gzip than ours."""
    subprocess.run([WRITE_MODEL, what, folder], check=True)
    with gzip.open(f"{folder}/model.pb.gz") as f:
        return f.read()


def check_protoc(what, folder):
    data = write(what, folder)
    if not shutil.which("protoc"):
        skip("needs protoc")
        return
    result = run("protoc", "--decode=pprof.Profile", f"--proto_path={os.path.dirname(PROTO)}",
                 os.path.basename(PROTO), data=data)
    with open(f"{folder}/model.txt", "rb") as f:
        expected = f.read()
    ok(result.returncode == 0, f"{what}: protoc decodes it {result.stderr.decode()[:200]}")
    ok(result.stdout == expected, f"{what}: every field is as in the model")


def pprof(folder, *flags):
    env = dict(os.environ, GOTOOLCHAIN="local", GOFLAGS="", PPROF_TMPDIR=folder)
    result = subprocess.run(["go", "tool", "pprof", *flags, f"{folder}/model.pb.gz"], env=env,
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    return result.stdout.decode()


def check_pprof_top(folder):
    top = pprof(folder, "-top", "-sample_index=samples")
    ok(re.search(r"^ +70 +66\.67% +66\.67% +70 +66\.67%  spin$", top, re.M),
       "pprof -top: spin has 70 samples of its own")
    ok(re.search(r"^ +0 +0% +\S+ +100 +95\.24%  main$", top, re.M),
       "pprof -top: main has 100 in all")
    ok(re.search(r"^ +0 +0% +\S+ +70 +66\.67%  inner \(inline\)$", top, re.M),
       "pprof -top: inner is inlined")
    ok(re.search(r"^Duration: 2s, Total samples = 105", top, re.M), "pprof -top: 2 s, 105 samples")
    ok(re.search(r"^Type: cpu$", pprof(folder, "-top"), re.M),
       "pprof -top: cpu is the type shown first")


def check_pprof_raw(folder):
    raw = pprof(folder, "-raw")
    ok("samples/count cpu/nanoseconds[dflt]" in raw, "pprof -raw: types and the default one")
    ok("PeriodType: cpu nanoseconds" in raw and "Period: 10000000" in raw, "pprof -raw: period")
    ok("Comment: team=perf" in raw or "team=perf" in pprof(folder, "-comments"),
       "pprof -comments: the tag")
    ok(re.search(r"^1: 0x400000/0x410000/0x1000 /usr/bin/app 0123456789abcdef \[FN\]\[FL\]\[LN\]"
                 r"\[IN\]$", raw, re.M), "pprof -raw: mapping 1 with offset, build-id and flags")
    ok(re.search(r"^2: 0x7f0000000000/0x7f0000008000/0x1000 /usr/lib/libspin.so  \[FN\]$", raw,
                 re.M), "pprof -raw: mapping 2 has functions only")
    ok(re.search(r"0x404000 M=1 inner /src/app.c:12(:0)? s=10(\(\S+\))?\n +work /src/app.c:40"
                 r"(:0)? s=10", raw), "pprof -raw: inlined lines, innermost first")
    ok(re.search(r"0xdead $", raw, re.M), "pprof -raw: an address without mapping and name")
    # Older versions of pprof renumber locations.
    sample = re.search(r"^ +70 +700000000: (\d+) \d+ (\d+) *\n +comm:\[app\]\n +pid:\[41\]", raw, re.M)
    ok(sample and re.search(rf"^ +{sample[1]}: 0x\w+ M=\d+ spin ", raw, re.M)
       and re.search(rf"^ +{sample[2]}: 0x\w+ M=\d+ main ", raw, re.M),
       "pprof -raw: a sample leaf first, with labels")


def check_pprof_others(folder):
    traces = pprof(folder, "-traces", "-sample_index=samples")
    ok(re.search(r"70 +spin\n +inner( \(inline\))?\n +work\n +main\n", traces),
       "pprof -traces: leaf to root")
    peek = pprof(folder, "-peek", "^work$", "-sample_index=samples")
    ok(re.search(r"70 +100% \| +main\n.*\| +work\n +70 +100% \| +inner", peek),
       "pprof -peek: caller and callee of work")
    tags = pprof(folder, "-tags", "-sample_index=samples")
    ok(re.search(r"comm: Total 105.*\n +100(\.0)? \(95\.24%\): app\n +5(\.0)? \( ?4\.76%\): other", tags),
       "pprof -tags: comm")
    diff = pprof(folder, "-top", "-sample_index=samples", f"-diff_base={folder}/model.pb.gz")
    ok("Total samples = 0" in diff or re.search(r"Showing nodes accounting for 0,", diff),
       "pprof -diff_base: a profile less itself is nothing")


def check_folded(what, folder):
    write(what, folder)
    with open(f"{folder}/model.folded", encoding="utf-8") as f:
        stacks = [line.rstrip("\n").rsplit(" ", 1) for line in f]
    names = [stack.encode() for stack, _ in stacks]
    ok(names == sorted(set(names)), f"{what}: folded lines are sorted and each is there once")
    with open(f"{folder}/model.txt", encoding="utf-8") as f:
        values = [int(v) for v in re.findall(r"^  value: (-?\d+)$", f.read(), re.M)]
    ok(sum(int(n) for _, n in stacks) == sum(values[::2]), f"{what}: no folded sample is missing")


def main():
    with tempfile.TemporaryDirectory() as folder:
        for what in ("empty", "example", "1", "2"):
            check_protoc(what, folder)
        for what in ("example", "1"):
            check_folded(what, folder)
        write("example", folder)
        if shutil.which("go"):
            check_pprof_top(folder)
            check_pprof_raw(folder)
            check_pprof_others(folder)
        else:
            skip("needs go")
    done()


main()
