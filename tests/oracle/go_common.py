# SPDX-License-Identifier: Apache-2.0
"""The Go compilers of this machine, for the oracles of Go's tables."""
import os
import shutil


def gos():
    """The go of the path, and Debian's where that is another one."""
    found = {}
    for path in (shutil.which("go"), "/usr/bin/go"):
        if path and os.path.exists(path):
            found.setdefault(os.path.realpath(path), path)
    return found.values()
