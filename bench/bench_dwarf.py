#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""bench_dwarf.py HELPER PROG_DIR: lines and inline chains of 2,000 addresses, beside eu-addr2line and
llvm-symbolizer in the same run, as CSV; then how the answers compare.

Files: libpython 3.12 (pyenv), a C++ program, a Rust one, libjvm's debug file (openjdk-17-dbg): those
that this machine has."""
import glob
import os
import shutil
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../tests/oracle"))
from dwarf_common import (REASONS, Comparison, ask_eu, ask_llvm, ask_us, hexes,  # noqa: E402
                          random_addresses)

HELPER, PROG_DIR = sys.argv[1:3]
ADDRESSES = 2000
BUDGET_LIBPYTHON_S = 0.2
RUNS = 3


def timed(command, text):
    """Wall and CPU seconds and peak MB of a command, the best of some runs."""
    best = None
    for _ in range(RUNS):
        with tempfile.TemporaryFile("w+") as asked:
            asked.write(text)
            asked.seek(0)
            began = time.monotonic()
            child = subprocess.Popen(command, stdin=asked, stdout=subprocess.DEVNULL,
                                     stderr=subprocess.DEVNULL)
            _, _, used = os.wait4(child.pid, 0)
            result = (time.monotonic() - began, used.ru_utime + used.ru_stime, used.ru_maxrss // 1024)
        if best is None or result[1] < best[1]:
            best = result
        if result[0] > 10:
            break
    return best


def measure(name, path, debug=None, by_llvm=False):
    """Against eu-addr2line, or llvm-symbolizer where that is the reference."""
    asked = random_addresses(debug or path, ADDRESSES)
    options = ["-d", debug] if debug else []
    rows = {
        "ours": timed([HELPER, *options, path], hexes(asked, "")),
        "eu-addr2line": timed(["eu-addr2line", "-i", "-f", "-e", debug or path], hexes(asked)),
        "llvm-symbolizer": timed(["llvm-symbolizer", "--inlines", "-e", debug or path],
                                 hexes(asked)),
    }
    for who, (wall, cpu, memory) in rows.items():
        print(f"{name},{who},{wall:.3f},{cpu:.3f},{memory},{cpu / rows['ours'][1]:.1f}", flush=True)
    if name == "libpython" and rows["ours"][1] > BUDGET_LIBPYTHON_S:
        print(f"# over the budget of {BUDGET_LIBPYTHON_S} s")
    found = Comparison(debug or path, "llvm" if by_llvm else "eu")
    ours = ask_us(HELPER, path, asked, options + (["-s"] if by_llvm else []))
    for answer in zip(asked, ours, ask_eu(debug or path, asked), ask_llvm(debug or path, asked),
                      strict=True):
        found.add(*answer)
    print(f"# {name}: {dict(found.classes)}, {100 * found.share(*REASONS):.2f} % as neither has it")
    found.show(3)


def libjvm():
    for path in glob.glob("/usr/lib/jvm/*/lib/server/libjvm.so"):
        notes = subprocess.run(["readelf", "-n", path], capture_output=True, text=True).stdout
        for line in notes.splitlines():
            if "Build ID:" in line:
                hexa = line.split()[-1]
                debug = f"/usr/lib/debug/.build-id/{hexa[:2]}/{hexa[2:]}.debug"
                if os.path.exists(debug):
                    return path, debug
    return None


def built(root):
    cxx, rust = os.path.join(root, "cxx"), os.path.join(root, "rust")
    if shutil.which("g++"):
        subprocess.run(["g++", "-O2", "-g", "-std=c++17", f"{PROG_DIR}/main.cc",
                        f"{PROG_DIR}/shapes.cc", "-o", cxx], check=True)
        yield "C++", cxx
    if shutil.which("rustc"):
        subprocess.run(["rustc", "-O", "-g", "-o", rust, f"{PROG_DIR}/hot.rs"], check=True,
                       stderr=subprocess.DEVNULL)
        yield "Rust", rust


def main():
    print("file,program,wall_s,cpu_s,peak_mb,cpu_ratio")
    for path in glob.glob(os.path.expanduser("~/.pyenv/versions/3.12*/lib/libpython3.12.so.1.0"))[:1]:
        measure("libpython", path)
    with tempfile.TemporaryDirectory() as root:
        for name, path in built(root):
            measure(name, path, by_llvm=name == "Rust")
    jvm = libjvm()
    if jvm:
        measure("libjvm", *jvm)
    else:
        print("# libjvm: its debug file (openjdk-17-dbg) is not on this machine")


main()
