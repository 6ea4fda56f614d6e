# SPDX-License-Identifier: Apache-2.0
"""Stubs are named as objdump labels them: in files of this machine, and as other linkers write them. Where it
knows only the address of a function that chooses another one, by what readelf finds there."""
import os
import re
import shutil
import subprocess
import sys
import tempfile

from names_common import Tap, ask, binaries, compare, need, output_of

SECTIONS = (".plt", ".plt.sec", ".plt.got", ".iplt")
PLT_PROG = sys.argv[2]
INSTALLED = ("/bin/bash", "/usr/bin/python3", PLT_PROG)
SOURCE = r"""
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
int (*volatile address)(const char *) = puts;
int main(int argc, char **argv)
{
    void *p = malloc(argc);
    free(p);
    return address(argv[0]) + puts("x") + (int)strtol(argv[0], 0, 10) + atexit(abort);
}
"""
# How it is built, and what that needs beside gcc.
X86 = "gcc"
ARM64 = "aarch64-linux-gnu-gcc"
BUILDS = [
    ("lazy", X86, ["-Wl,-z,lazy"], "gcc"),
    ("with landing pads", X86, ["-fcf-protection", "-Wl,-z,ibtplt", "-Wl,-z,lazy"], "gcc"),
    ("with landing pads, bound at once", X86, ["-fcf-protection", "-Wl,-z,ibtplt", "-Wl,-z,now"], "gcc"),
    ("not through lazy stubs", X86, ["-fno-plt", "-Wl,-z,now"], "gcc"),
    ("by lld", X86, ["-fuse-ld=lld", "-Wl,-z,lazy"], "ld.lld"),
    ("by mold", X86, ["-fuse-ld=mold", "-Wl,-z,lazy"], "mold"),
    ("AArch64", ARM64, ["-Wl,-z,lazy"], ARM64),
    ("AArch64, with landing pads", ARM64, ["-mbranch-protection=standard", "-no-pie", "-Wl,-z,force-bti"], ARM64),
    ("AArch64, signed", ARM64, ["-mbranch-protection=standard", "-Wl,-z,pac-plt"], ARM64),
]
CHOSEN = re.compile(r"\*ABS\*\+0x([0-9a-f]+)@plt$")


def chosen_in(path, labels):
    """For a stub of a function that is chosen when the program is loaded, by the address of the one that
    chooses: the names of both. Of several the first by the alphabet stands for all."""
    found = {int(m[1], 16): set() for _, name in labels if (m := CHOSEN.match(name))}
    for line in output_of("readelf", "-W", "--syms", path).splitlines():
        m = re.match(r" *\d+: ([0-9a-f]+) +\S+ I?FUNC +\S+ +\S+ +(?!UND)\S+ ([^@ ]+)", line)
        if m and int(m[1], 16) in found:
            found[int(m[1], 16)].add(m[2])
    labelled = {f"*ABS*+0x{at:x}@plt": f"{min(names)}@plt" if names else "-" for at, names in found.items()}
    return labelled, {f"{name}@plt": f"{min(names)}@plt" for names in found.values() for name in names}


def labels_of(path, objdump):
    """The address of each stub and its name; the head of a table, which is of no symbol, has none."""
    options = [f"-j{s}" for s in SECTIONS if f" {s} " in output_of("readelf", "-SW", path)]
    if not options:
        return []
    text = output_of(objdump, "-d", *options, path)
    return [(int(at, 16), "-" if offset else name)
            for at, name, offset in re.findall(r"^([0-9a-f]+) <(.*@plt)(-0x[0-9a-f]+)?>:$", text, re.M)]


def ends_of(labels):
    """The last byte of each stub that another follows."""
    starts = sorted(at for at, _ in labels)
    return {a: b - 1 for a, b in zip(starts, starts[1:]) if b - a in (8, 16, 24, 32)}


def check(tap, what, path, objdump="objdump"):
    labels = labels_of(path, objdump)
    if not labels:
        tap.skip(f"{what}: objdump knows no stubs in it")
        return
    ends = ends_of(labels)
    labelled, alias = chosen_in(path, labels)
    questions, theirs = [], []
    for at, name in labels:
        for addr in {at, at + 5, ends.get(at, at)}:
            questions.append(f"{addr:x}")
            theirs.append(labelled.get(name, alias.get(name, name)))
    ours = [alias.get(name, name) for name in ask(["symbols", path], questions)]
    compare(tap, f"{what}, {len(labels)} stubs", questions, ours, theirs)


def check_built(tap, tmp, what, compiler, options, tool):
    source, to = os.path.join(tmp, "prog.c"), os.path.join(tmp, "prog")
    objdump = compiler.replace("gcc", "objdump")
    with open(source, "w") as f:
        f.write(SOURCE)
    missing = [t for t in (compiler, objdump, tool) if not shutil.which(t)]
    if missing:
        tap.skip(f"{what}: needs {missing[0]}")
        return
    run = subprocess.run([compiler, "-O1", *options, "-o", to, source], capture_output=True, text=True)
    if run.returncode:
        tap.skip(f"{what}: {compiler} fails: {run.stderr.strip().splitlines()[-1:]}")
        return
    check(tap, what, to, objdump)


def main():
    tap = Tap()
    need(tap, "objdump")
    need(tap, "readelf")
    for path in [p for p in INSTALLED if os.path.exists(p)] + binaries():
        check(tap, os.path.basename(path), path)
    with tempfile.TemporaryDirectory() as tmp:
        for build in BUILDS:
            if build[1] == X86 and os.uname().machine != "x86_64":
                tap.skip(f"{build[0]}: for x86-64")
            else:
                check_built(tap, tmp, *build)
    tap.done()


main()
