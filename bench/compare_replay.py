#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""compare_replay.py OLD_BUILD NEW_BUILD: the same records through two builds give the same profile, byte for byte.

Both build directories need bench/replay_profile (ninja -C BUILD bench/replay_profile). Exits 1 where they differ, and says
in what: samples (addresses, labels, values), names, strings. A tree from before the pipe has no such program, but the same records
(tests/replay.h): copy bench/replay_profile.c to it, and add to its bench/meson.build

    executable('replay_profile', 'replay_profile.c', build_by_default: false, c_args: '-DOLD_CAPTURE',
      dependencies: [core_dep, dependency('zlib')], include_directories: tests_inc)
"""
import collections
import gzip
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../tests/integration"))
from pprof import Profile


def replay(build, path):
    # Without address space randomization the libraries lie in the same place in both.
    out = subprocess.run(["setarch", "-R", os.path.join(build, "bench/replay_profile"), path], check=True,
                         capture_output=True, text=True).stdout
    with gzip.open(path + ".pb.gz") as pprof, open(path + ".folded", "rb") as folded:
        return out.strip(), pprof.read(), folded.read()


def samples(profile):
    """What was sampled, by places in the code instead of names."""
    found = collections.Counter()
    for s in profile.samples:
        stack = tuple((f.path, f.address) for f in s.frames)
        found[stack, tuple(sorted(s.labels.items())), tuple(s.values)] += 1
    return found


def names(profile):
    return {(f.path, f.address): tuple(f.names) for s in profile.samples for f in s.frames}


def explain(old_path, new_path):
    old, new = Profile(old_path), Profile(new_path)
    a, b = samples(old), samples(new)
    print(f"{sum((a & b).values())} of {len(old.samples)} old and {len(new.samples)} new samples have the same "
          "addresses, labels and values")
    a, b = names(old), names(new)
    for place in sorted(a.keys() & b.keys()):
        if a[place] != b[place]:
            print(f"name of {place[0]} {place[1]:#x}: {a[place]} is now {b[place]}")
    print(f"strings: {sorted(set(old.strings) - set(new.strings))} are gone, "
          f"{sorted(set(new.strings) - set(old.strings))} are new")


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    with tempfile.TemporaryDirectory() as tmp:
        paths = [os.path.join(tmp, name) for name in ("old", "new")]
        old, new = [replay(build, path) for build, path in zip(sys.argv[1:], paths)]
        print(f"old: {old[0]}, {len(old[1])} bytes of pprof\nnew: {new[0]}, {len(new[1])} bytes of pprof")
        same = old[1] == new[1] and old[2] == new[2]
        print("the same, byte for byte" if same else "they differ")
        if not same:
            explain(*[path + ".pb.gz" for path in paths])
    return 0 if same else 1


sys.exit(main())
