# SPDX-License-Identifier: Apache-2.0
"""Our unwind tables and libdw's answers are the same, for every byte of every FDE.

unwind.py PERF_AGENT_UNWIND CORRUPT_CFI: real binaries of this machine, small ones built for AArch64,
and damaged ones. What is not on this machine is skipped by name.
"""
import glob
import os
import shutil
import subprocess
import sys
import tempfile

import tap

TOOL, CORRUPT = sys.argv[1:]
LIBRARIES = ("/lib/*-linux-gnu", "/usr/lib/*-linux-gnu", "/lib64", "/usr/lib64")
CORRUPT_CASES = "10000"
CORRUPT_MAX_BYTES = 2 << 20

# A frame of each kind: leaf, small, alloca, larger than a page, larger than a megabyte, realigned,
# variable arguments, no return.
SOURCE = """
#include <stdarg.h>
extern int use(char *, int);
extern void never(void) __attribute__((noreturn));
int leaf(int a) { return a * 3; }
int small(int a) { char b[40]; return use(b, a) + 1; }
int variable(int a) { return use(__builtin_alloca(a), a) + 1; }
int page(int a) { char b[100000]; return use(b, a) + use(b + 1, a); }
int mega(int a) { char b[3 << 20]; return use(b, a) + use(b + 1, a); }
int aligned(int a) { char b[64] __attribute__((aligned(256))); return use(b, a) + 1; }
int many(int n, ...) { va_list l; va_start(l, n); return use((char *)&n, va_arg(l, int)); }
void last(int a) { if (a) never(); use(0, a); never(); }
"""


def first_of(*patterns):
    for pattern in patterns:
        for hit in sorted(glob.glob(os.path.expanduser(pattern))):
            return os.path.realpath(hit)
    return None


def library(name):
    return first_of(*(f"{directory}/{name}" for directory in LIBRARIES))


def rust_program(directory):
    """A release build of the distribution's or the user's own Rust."""
    rustc = shutil.which("rustc") or first_of("~/.cargo/bin/rustc")
    if not rustc:
        return None
    source = os.path.join(directory, "main.rs")
    with open(source, "w", encoding="ascii") as f:
        f.write('fn main() { println!("{:?}", std::env::args().collect::<Vec<_>>()); }\n')
    program = os.path.join(directory, "rust_program")
    run = subprocess.run([rustc, "-O", "-o", program, source], stderr=subprocess.DEVNULL,
                         check=False)
    return program if run.returncode == 0 else None


def binaries(directory):
    """(name, path or None)"""
    yield "libc", library("libc.so.6")
    yield "libstdc++", library("libstdc++.so.6")
    yield "ld.so", first_of("/lib64/ld-linux-x86-64.so.2", "/lib/ld-linux-aarch64.so.1")
    yield "libcrypto", library("libcrypto.so.3")
    yield "node", shutil.which("node")
    yield "libpython", (library("libpython3.12.so.1.0") or library("libpython3.11.so.1.0")
                        or first_of("~/.pyenv/versions/3.1[12]*/lib/libpython3.1?.so.1.0"))
    yield "a Rust program", rust_program(directory)
    yield "libjvm", first_of("/usr/lib/jvm/*/lib/server/libjvm.so")
    yield "libLLVM", first_of("/usr/lib/llvm-*/lib/libLLVM*.so.1", "/usr/lib/*/libLLVM-*.so.1")
    yield "libc of AArch64", first_of("/usr/aarch64-linux-gnu/lib/libc.so.6")


def check(name, path):
    run = subprocess.run([TOOL, "check", path], stdout=subprocess.PIPE, text=True, check=False)
    lines = run.stdout.splitlines()
    tap.ok(run.returncode == 0 and ": agrees: " in run.stdout, f"{name}: libdw agrees")
    for line in lines[-12:]:
        print("#", line.removeprefix(path + ": "))


def check_arm64(directory):
    compiler = shutil.which("aarch64-linux-gnu-gcc")
    if not compiler:
        tap.skip("AArch64 objects: no aarch64-linux-gnu-gcc")
        return
    source = os.path.join(directory, "frames.c")
    with open(source, "w", encoding="ascii") as f:
        f.write(SOURCE)
    for flags in ("-O0", "-O2", "-O2 -fomit-frame-pointer", "-Os -fstack-clash-protection",
                  "-O2 -mbranch-protection=standard",
                  "-O2 -fno-asynchronous-unwind-tables -fno-unwind-tables -g"):
        program = os.path.join(directory, "frames.so")
        subprocess.run([compiler, "-w", "-shared", "-fPIC", "-nostdlib", *flags.split(), source,
                        "-o", program], check=True)
        check(f"AArch64, {flags}", program)


def check_damaged():
    names = ("ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1", "libz.so.1", "libgcc_s.so.1",
             "libm.so.6", "libresolv.so.2", "libcap.so.2")
    small = [path for path in map(library, names)
             if path and os.path.getsize(path) <= CORRUPT_MAX_BYTES][:5]
    if len(small) < 5:
        tap.skip("damaged files: fewer than five small libraries here")
        return
    run = subprocess.run([CORRUPT, CORRUPT_CASES, *small], stdout=subprocess.PIPE, text=True,
                         check=False)
    for line in run.stdout.splitlines():
        if line.startswith(("ok ", "not ok ")):
            tap.ok(line.startswith("ok"), line.split(" - ", 1)[-1])
        elif line.startswith("#"):
            print(line)
    tap.ok(run.returncode == 0, "damaged files: the program came to its end")


def main():
    with tempfile.TemporaryDirectory() as directory:
        for name, path in binaries(directory):
            if path:
                check(name, path)
            else:
                tap.skip(f"{name}: not on this machine")
        check_arm64(directory)
    check_damaged()
    tap.done()


main()
