# SPDX-License-Identifier: Apache-2.0
"""Runs go tool pprof as users do: without network, other toolchains, or binaries besides the profile."""
import os
import re
import shutil
import subprocess

_PATH = os.pathsep.join([os.environ.get("PATH", ""), "/usr/local/go/bin", "/usr/bin", "/bin"])
_ENV = {"PATH": _PATH, "HOME": os.environ.get("HOME", "/tmp"), "GOTOOLCHAIN": "local", "GOFLAGS": "",
        "PPROF_BINARY_PATH": "/nonexistent"}


def has_pprof():
    return shutil.which("go", path=_PATH) is not None


def pprof_command(*args):
    """The arguments and the environment of a call."""
    return {"args": ["go", "tool", "pprof", *args], "env": {**_ENV, "PPROF_TMPDIR": os.environ.get("TMPDIR", "/tmp")}}


def pprof(*args):
    """The output; an error raises an exception."""
    r = subprocess.run(**pprof_command(*args), capture_output=True, text=True)
    if r.returncode:
        raise RuntimeError(f"go tool pprof {' '.join(args)}: {r.stderr}")
    return r.stdout


def rows_of(text):
    """(flat, cumulative) by function, from -top; without units, as with -sample_index=samples."""
    rows = re.findall(r"^ *(-?[\d.]+) +[\d.]+% +[\d.]+% +(-?[\d.]+) +[\d.]+%  (.*?)(?: \(inline\)| \(partial-inline\))?$",
                      text, re.M)
    return {name: (float(flat), float(cum)) for flat, cum, name in rows}
