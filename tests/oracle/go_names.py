# SPDX-License-Identifier: Apache-2.0
"""A stripped program of Go has the names that go tool nm finds in the same one with symbols."""
import os
import re
import shutil
import subprocess
import tempfile

from go_common import gos
from names_common import Tap, ask, compare, need, output_of

HERE = os.path.dirname(os.path.abspath(__file__))
SOURCE = os.path.join(HERE, "../integration/workloads/busy.go")
WITH_C = os.path.join(HERE, "go_prog/with_c.go")
# Marks of the linker, not functions.
MARKS = {"runtime.text", "runtime.etext"}


def functions_of(go, path):
    """(address, size, name) of all that the symbol table has in Go's code."""
    found, marks = [], {}
    for line in output_of(go, "tool", "nm", "-size", path).splitlines():
        m = re.match(r" *([0-9a-f]+) +(\d+) ([Tt]) (.*)", line)
        if m and m[4] in MARKS:
            marks[m[4]] = int(m[1], 16)
        elif m and int(m[2]):
            found.append((int(m[1], 16), int(m[2]), m[4]))
    return [f for f in found if marks["runtime.text"] <= f[0] < marks["runtime.etext"]]


def plain(name):
    """The runtime's table does not tell what a generic function was made for, and how it is called; nm
    writes a middle dot as another one."""
    name = name.encode("latin-1").decode().replace("\u00b7", ".")
    return re.sub(r"\[.*\]", "[...]", re.sub(r"\.abi(0|internal)$", "", name))


def check(tap, tmp, go, what, *options, source=SOURCE):
    whole, bare = os.path.join(tmp, "whole"), os.path.join(tmp, "bare")
    env = {**os.environ, "CGO_ENABLED": "1" if source == WITH_C else "0", "GOFLAGS": ""}
    run = subprocess.run([go, "build", *options, "-o", whole, source], env=env, capture_output=True, text=True)
    if run.returncode:
        tap.skip(f"{what}: go build fails: {run.stderr.strip().splitlines()[-1:]}")
        return
    subprocess.run(["objcopy", "--strip-all", whole, bare], check=True)
    functions = functions_of(go, whole)
    questions, theirs = [], []
    for start, size, name in functions:
        questions += [f"{start:x}", f"{start + size - 1:x}"]
        theirs += [plain(name)] * 2
    ours = [plain(n) for n in ask(["symbols", bare], questions)]
    tap.ok(len(functions) > 1000, f"{what}: {len(functions)} functions")
    compare(tap, what, questions, ours, theirs)


tap = Tap()
need(tap, "go")
need(tap, "objcopy")
for go in gos():
    version = output_of(go, "env", "GOVERSION").strip()
    with tempfile.TemporaryDirectory() as tmp:
        check(tap, tmp, go, f"{version}: stripped")
        check(tap, tmp, go, f"{version}: stripped, position-independent", "-buildmode=pie")
        check(tap, tmp, go, f"{version}: stripped, with C", source=WITH_C)
        # Here ld has left the table no section of its own, but for the newest versions.
        check(tap, tmp, go, f"{version}: stripped, with C, position-independent", "-buildmode=pie", source=WITH_C)
        what = f"{version}: stripped, with C, position-independent, by lld"
        if shutil.which("ld.lld"):  # it leaves zeros where addresses are filled in
            check(tap, tmp, go, what, "-buildmode=pie", "-ldflags=-extldflags=-fuse-ld=lld", source=WITH_C)
        else:
            tap.skip(f"{what}: needs ld.lld")
tap.done()
