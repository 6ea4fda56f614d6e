# SPDX-License-Identifier: Apache-2.0
"""Programs that people run, built without frame pointers, each for a few seconds of CPU time."""
import glob
import math
import os
import shutil
import subprocess

HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "workloads")


def source(name):
    return os.path.join(HERE, name)


def first(*patterns):
    """The first file that exists."""
    return next((hit for p in patterns for hit in sorted(glob.glob(os.path.expanduser(p)))), None)


def again(seconds, command, once_s):
    """Repeats something that takes once_s of CPU time."""
    times = math.ceil(seconds / once_s)
    return ["sh", "-c", f"i=0; while [ $i -lt {times} ]; do i=$((i+1)); {command}; done"]


def lines(tmp):
    path = os.path.join(tmp, "lines")
    if not os.path.exists(path):
        subprocess.run(f"seq 1500000 | shuf > {path}", shell=True, check=True)
    return path


def built(tmp, name, command, **env):
    """Compiles a source once; the path of the result ends the command."""
    binary = os.path.join(tmp, name + ".bin")
    if not os.path.exists(binary):
        subprocess.run([*command, "-o", binary, source(name)], check=True,
                       env=dict(os.environ, **env))
    return binary


def go(tmp, seconds, name, compiler="go"):
    compiler = shutil.which(compiler)
    if not compiler:
        return "go is not installed"
    return [built(tmp, name, [compiler, "build"], GO111MODULE="off",
                  GOCACHE=os.path.join(tmp, "gocache")), seconds]


def python(tmp, seconds):
    return ["/usr/bin/python3", source("busy.py"), seconds]


def python312(tmp, seconds):
    path = first("/usr/bin/python3.12", "~/.pyenv/versions/3.12*/bin/python3.12")
    return [path, source("busy.py"), seconds] if path else "CPython 3.12 is not installed"


def sort(tmp, seconds):
    return again(seconds, f"LC_ALL=C sort -n {lines(tmp)} -o /dev/null", 1.8)


def gzip(tmp, seconds):
    return again(seconds, f"gzip -9 -c {lines(tmp)} > /dev/null", 1.7)


def clang(tmp, seconds):
    path = shutil.which("clang++")
    if not path:
        return "clang++ is not installed"
    return again(seconds, f"{path} -std=c++17 -O2 -c {source('busy.cc')} -o /dev/null", 6)


def node(tmp, seconds):
    path = shutil.which("node")
    return [path, source("busy.js"), seconds] if path else "node is not installed"


def rust(tmp, seconds):
    path = shutil.which("rustc")
    return ([built(tmp, "busy.rs", [path, "-O"]), seconds] if path
            else "rustc is not installed")


def java(tmp, seconds, *options):
    path = shutil.which("java")
    return [path, *options, source("Busy.java"), seconds] if path else "java is not installed"


def java_fp(tmp, seconds):
    return java(tmp, seconds, "-XX:+PreserveFramePointer")


def go_busy(tmp, seconds):
    return go(tmp, seconds, "busy.go")


def go_signals(tmp, seconds):
    return go(tmp, seconds, "signals.go")


def go_gc(tmp, seconds):
    return go(tmp, seconds, "gc.go")


# name → command for that many seconds, or the reason why there is none
ALL = {f.__name__: f for f in (python, python312, sort, gzip, clang, node, rust, java, java_fp,
                               go_busy, go_signals, go_gc)}
