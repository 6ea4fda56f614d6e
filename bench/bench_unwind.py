#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""bench_unwind.py BENCH_UNWIND [FILE…]: what the CFI compiler costs beside libdw, as CSV.

Instructions are counted by callgrind, inside the compiler and inside the loop over libdw only. Without
FILE: libc, node, libLLVM, libpython (3.11 and 3.12) and libjvm, those of them that this machine has.
The budgets are for each file.
"""
import csv
import glob
import os
import re
import shutil
import subprocess
import sys

BENCH = sys.argv[1]
BUDGET_INSTRUCTIONS_PER_FDE = 2000
BUDGET_BYTES_PER_ROW = 4.5


def first_of(*patterns):
    for pattern in patterns:
        for hit in sorted(glob.glob(os.path.expanduser(pattern))):
            return hit
    return None


def default_files():
    found = {
        "libc": first_of("/lib/*-linux-gnu/libc.so.6", "/lib64/libc.so.6"),
        "node": shutil.which("node"),
        "libLLVM": first_of("/usr/lib/llvm-*/lib/libLLVM*.so.1", "/usr/lib/*/libLLVM-*.so.1"),
        "libpython3.11": first_of("/usr/lib/*-linux-gnu/libpython3.11.so.1.0",
                                  "~/.pyenv/versions/3.11*/lib/libpython3.11.so.1.0"),
        "libpython3.12": first_of("/usr/lib/*-linux-gnu/libpython3.12.so.1.0",
                                  "~/.pyenv/versions/3.12*/lib/libpython3.12.so.1.0"),
        "libjvm": first_of("/usr/lib/jvm/*/lib/server/libjvm.so"),
    }
    for name, path in found.items():
        if not path:
            print(f"# {name}: not on this machine")
    return [path for path in found.values() if path]


def instructions(who, path):
    """Counted inside the two functions that are named here; None without valgrind."""
    if not shutil.which("valgrind"):
        return None
    run = subprocess.run(
        ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", "--collect-atstart=no",
         "--toggle-collect=compile_once", "--toggle-collect=ask_libdw", BENCH, who, path],
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=True)
    return int(re.search(r"Collected : (\d+)", run.stderr)[1])


def per_fde(who, path, nr_fdes):
    count = instructions(who, path)
    return "" if count is None else count // nr_fdes


def measure(path):
    run = subprocess.run([BENCH, path], stdout=subprocess.PIPE, text=True, check=True)
    row = next(csv.DictReader(run.stdout.splitlines()))
    nr_fdes = int(row["fdes"])
    row["instructions_per_fde"] = per_fde("ours", path, nr_fdes)
    row["libdw_instructions_per_fde"] = per_fde("libdw", path, nr_fdes)
    return row


def main():
    rows = [measure(path) for path in sys.argv[2:] or default_files()]
    if not rows:
        return
    out = csv.DictWriter(sys.stdout, rows[0].keys(), lineterminator="\n")
    out.writeheader()
    out.writerows(rows)
    counted = [row["instructions_per_fde"] for row in rows if row["instructions_per_fde"] != ""]
    if counted:
        print(f"# at most {max(counted)} instructions per FDE"
              f" (budget {BUDGET_INSTRUCTIONS_PER_FDE})")
    print(f"# at most {max(float(row['bytes_per_row']) for row in rows)} bytes per row"
          f" (budget {BUDGET_BYTES_PER_ROW})")


main()
