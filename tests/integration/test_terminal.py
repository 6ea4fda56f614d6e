#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Reports of recorded captures on real terminals (tmux) of several widths: exactly the recorded reports, no line
wrapped by the terminal, no escape sequence.

test_terminal.py PERF_AGENT_FAKE RECORDINGS
"""
import os
import shutil
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, "oracle"))
from tap import done, ok, skip

FAKE, RECORDINGS = (os.path.abspath(path) for path in sys.argv[1:3])
ROWS = 200
TIMEOUT_S = 30
MARK = "-- end --"


def names():
    return sorted(name[:-len(".json")] for name in os.listdir(RECORDINGS) if name.endswith(".json"))


def recorded(name, columns):
    with open(os.path.join(RECORDINGS, f"{name}.{columns}.txt"), encoding="utf-8") as f:
        return f.read().splitlines()


def read_bytes(path):
    """Nothing, if tmux has not made the file yet."""
    if not os.path.exists(path):
        return b""
    with open(path, "rb") as f:
        return f.read()


def wait_for(condition):
    end = time.monotonic() + TIMEOUT_S
    while not condition():
        if time.monotonic() > end:
            raise RuntimeError("the program does not end")
        time.sleep(0.05)


class Terminal:
    """A tmux server of its own, whose one window runs a command."""

    nr = 0

    def __init__(self, tmp, columns):
        Terminal.nr += 1  # a server that was asked to end may still have its socket open
        self.tmp, self.columns = tmp, columns
        self.socket, self.go, self.raw = (os.path.join(tmp, f"{name}-{Terminal.nr}") for name in ("tmux", "go", "raw"))

    def tmux(self, *args):
        r = subprocess.run(["tmux", "-u", "-f", "/dev/null", "-S", self.socket, *args], stdout=subprocess.PIPE,
                           stderr=subprocess.STDOUT, text=True, check=False)
        if r.returncode:
            raise RuntimeError(f"tmux: {r.stdout.strip()}")
        return r.stdout

    def lines(self):
        return [line.rstrip() for line in self.tmux("capture-pane", "-p", "-t", "report").splitlines()]

    def run(self, name, env):
        """The contents of the screen when the program has ended, and all bytes that it wrote."""
        settings = " ".join(f"{key}='{value}'" for key, value in env.items())
        program = f"env FAKE_SUMMARY='{os.path.join(RECORDINGS, name)}.json' {settings} '{FAKE}' -a -o /dev/null"
        os.mkfifo(self.go)
        self.tmux("new-session", "-d", "-x", str(self.columns), "-y", str(ROWS), "-s", "report",
                  f"read _ <'{self.go}'; cd '{self.tmp}'; {program}; echo {MARK}; sleep 60")
        try:
            self.tmux("pipe-pane", "-t", "report", f"cat >'{self.raw}'")
            with open(self.go, "w", encoding="utf-8") as f:
                f.write("go\n")
            wait_for(lambda: MARK in self.lines() and MARK.encode() in read_bytes(self.raw))
            screen = self.lines()
            return screen[:screen.index(MARK)], read_bytes(self.raw).split(MARK.encode())[0]
        finally:
            self.tmux("kill-server")


def check_screen(tmp, name, columns):
    screen, _ = Terminal(tmp, columns).run(name, {"LC_ALL": "C.UTF-8"})
    expected = recorded(name, columns)
    if not ok(screen == expected, f"{name}: the screen of {columns} columns is the recorded report"):
        for shown, wanted in zip(screen, expected):
            if shown != wanted:
                print(f"# shows     '{shown}'\n# should be '{wanted}'")
                break


def check_bytes(tmp, name, columns, env, what):
    _, out = Terminal(tmp, columns).run(name, env)
    clean = all(byte in b"\r\n" or 0x20 <= byte <= 0x7e for byte in out)
    ok(out and clean, f"{os.path.basename(name)}, {what}, {columns} columns: ASCII, and no escape sequence")


def check_locale(tmp):
    """A recording with non-ASCII function names, in both kinds of locale."""
    with open(f"{RECORDINGS}/python_perf.json", encoding="utf-8") as f:
        text = f.read().replace('"slow_parse"', '"größe_解析"').replace('"sub"', '"ersätze"')
    name = os.path.join(tmp, "utf8_names")
    with open(f"{name}.json", "w", encoding="utf-8") as f:
        f.write(text)
    screen, _ = Terminal(tmp, 80).run(name, {"LC_ALL": "C.UTF-8"})
    ok(any("größe_解析 [words.py]" in line for line in screen), "LC_ALL=C.UTF-8: names beyond ASCII are whole")
    check_bytes(tmp, name, 80, {"LC_ALL": "C"}, "LC_ALL=C")
    screen, _ = Terminal(tmp, 80).run(name, {"LC_ALL": "C"})
    ok(any("gr????e_?????? [words.py]" in line for line in screen), "LC_ALL=C: each byte beyond ASCII is shown as '?'")


def check_narrow(tmp, name, columns):
    """A line is wider than the terminal only if a single word is."""
    _, out = Terminal(tmp, columns).run(name, {"LC_ALL": "C.UTF-8"})
    report = [line.rstrip("\r").split("\r")[-1] for line in out.decode().split("\n")]
    long = [line for line in report if len(line) > columns and len(line.split()) > 1 and not line.startswith("wrote")]
    ok(not long, f"{name}: lines fit {columns} columns {long[:1]}")


def check_message(tmp, name, columns):
    """A message with a path chosen by another user, so long that the text after it would begin a line."""
    forged = "perf-agent: run this"
    error = '"/x'.ljust(columns - len("perf-agent: ")) + forged + '"'
    screen, _ = Terminal(tmp, columns).run(name, {"LC_ALL": "C.UTF-8", "FAKE_STOP_ERROR": error})
    ok(any(forged in line for line in screen) and not any(line.startswith(forged) for line in screen),
       f"a message of more than {columns} columns goes on behind its prefix")


def main():
    if not shutil.which("tmux"):
        skip("needs tmux")
        done()
    with tempfile.TemporaryDirectory(prefix="perf-agent-terminal-") as tmp:
        for name in names():
            for columns in (80, 200):
                check_screen(tmp, name, columns)
        check_narrow(tmp, "make_j2", 20)
        check_narrow(tmp, "make_j2", 400)
        check_bytes(tmp, "make_j2", 80, {"TERM": "dumb", "LC_ALL": "C.UTF-8"}, "TERM=dumb")
        check_bytes(tmp, "make_j2", 80, {"NO_COLOR": "1", "LC_ALL": "C.UTF-8"}, "NO_COLOR=1")
        check_locale(tmp)
        check_message(tmp, "one_process", 80)
    done()


main()
