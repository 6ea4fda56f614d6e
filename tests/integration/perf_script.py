# SPDX-License-Identifier: Apache-2.0
"""Reads a perf.data file with perf, which shares no code with the agent."""
import collections
import re
import subprocess

# "thread name  123/124  29256.670801:  cpu-clock: ", then frames "   1167 name (/path)", leaf first
HEAD = re.compile(r"^(?P<comm>\S.*?)\s+(?P<pid>-?\d+)/(?P<tid>-?\d+)\s+(?P<time>[\d.]+):\s*$")
FRAME = re.compile(r"^\s+(?P<ip>[0-9a-f]+) (?P<name>.*?) \((?P<dso>[/[].*)\)$")

Frame = collections.namedtuple("Frame", "name dso")
Sample = collections.namedtuple("Sample", "comm pid tid time frames")


def run(perf, *args):
    return subprocess.run([perf, *map(str, args)], capture_output=True, text=True, errors="replace", check=True)


def read(perf, path):
    """Samples by time; linker names; "" if perf has no name."""
    text = run(perf, "script", "-i", path, "--no-inline", "--no-demangle", "--max-stack", "1024", "-F",
               "comm,pid,tid,time,ip,sym,dso").stdout
    samples = []
    for line in text.splitlines():
        head, frame = HEAD.match(line), FRAME.match(line)
        if head:
            samples.append(Sample(head["comm"], int(head["pid"]), int(head["tid"]), float(head["time"]), []))
        elif frame:
            name = re.sub(r"@@?[A-Z].*", "", frame["name"])  # the version of a symbol
            samples[-1].frames.append(Frame("" if name == "[unknown]" else name, frame["dso"]))
        elif line.strip():
            raise ValueError(f"a line that perf script should not print: {line!r}")
    return samples
