# SPDX-License-Identifier: Apache-2.0
"""TAP, and the programs on both sides of the comparison."""
import glob
import os
import re
import shutil
import subprocess
import sys

HELPER = sys.argv[1]


class Tap:
    def __init__(self):
        self.nr = 0
        self.failed = 0

    def ok(self, passed, what):
        self.nr += 1
        self.failed += not passed
        print(f"{'ok' if passed else 'not ok'} {self.nr} - {what}", flush=True)

    def skip(self, why):
        self.nr += 1
        print(f"ok {self.nr} # SKIP {why}", flush=True)

    def done(self):
        print(f"1..{self.nr}")
        sys.exit(1 if self.failed else 0)


def need(tap, tool):
    if not shutil.which(tool):
        tap.skip(f"needs {tool}")
        tap.done()


def output_of(*command):
    return subprocess.run(command, capture_output=True, check=True, encoding="latin-1").stdout


def ask(args, questions):
    """Our answers, one for each question."""
    text = "".join(f"{q}\n" for q in questions)
    run = subprocess.run([HELPER, *args], input=text, capture_output=True, check=True,
                         encoding="latin-1")
    answers = run.stdout.split("\n")[:-1]
    assert len(answers) == len(questions)
    return answers


def binaries():
    """Libraries of this machine that are there, and a program of our own with full symbols."""
    found = [HELPER]
    for name in ("libc.so.6", "libstdc++.so.6", "libpython3*.so.1.0", "libcrypto.so.3"):
        for directory in ("/lib64", "/usr/lib64", "/lib/*-linux-gnu", "/usr/lib/*-linux-gnu"):
            hits = sorted(glob.glob(f"{directory}/{name}"))
            if hits:
                found.append(hits[0])
                break
    return [os.path.realpath(f) for f in found]


def compare(tap, what, questions, ours, theirs):
    wrong = [(q, o, t) for q, o, t in zip(questions, ours, theirs) if o != t]
    tap.ok(not wrong and len(questions) > 0, f"{what}: {len(questions)} answers agree")
    for q, o, t in wrong[:10]:
        print(f"# {q}: ours {o}, theirs {t}")


def fdes_of(path):
    """(start, end) of each FDE of .eh_frame, sorted, as eu-readelf (libdw) has them."""
    text = output_of("eu-readelf", "--debug-dump=frames", path)
    # Only .eh_frame has a search table; a .debug_frame is not asked for.
    sections = [s for s in text.split("\nCall frame ") if re.match(r"information.*'\.eh_frame'", s)]
    entry = r"initial_location: +\+?0x([0-9a-f]+).*\n +address_range: +0x([0-9a-f]+)"
    found = set()
    for start, size in re.findall(entry, sections[0] if sections else ""):
        if int(size, 16):
            found.add((int(start, 16), int(start, 16) + int(size, 16)))
    return sorted(found)
