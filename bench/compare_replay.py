#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""compare_replay.py OLD_BUILD NEW_BUILD: the same records through two builds give the same profile, byte for byte.

Both build directories need bench/replay_profile (ninja -C BUILD bench/replay_profile). Exits 1 where they differ.
"""
import gzip
import os
import subprocess
import sys
import tempfile


def replay(build, path):
    # Without address space randomization the libraries lie in the same place in both.
    out = subprocess.run(["setarch", "-R", os.path.join(build, "bench/replay_profile"), path], check=True,
                         capture_output=True, text=True).stdout
    with gzip.open(path + ".pb.gz") as pprof, open(path + ".folded", "rb") as folded:
        return out.strip(), pprof.read(), folded.read()


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    with tempfile.TemporaryDirectory() as tmp:
        old, new = (replay(build, os.path.join(tmp, name)) for build, name in zip(sys.argv[1:], ("old", "new")))
    print(f"old: {old[0]}, {len(old[1])} bytes of pprof\nnew: {new[0]}, {len(new[1])} bytes of pprof")
    same = old[1] == new[1] and old[2] == new[2]
    print("the same, byte for byte" if same else "they differ")
    return 0 if same else 1


sys.exit(main())
