#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What bash, zsh and fish complete: options, subcommands, values and files. Each shell is a real one: bash and zsh
are interactive on a terminal of their own, and fish answers as it would there.

test_completion.py PERF_AGENT DIRECTORY_OF_COMPLETIONS
"""
import os
import pty
import re
import select
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, os.pardir, "oracle"))
from tap import done, ok, skip

AGENT, COMPLETIONS = (os.path.abspath(path) for path in sys.argv[1:3])
ZSH_MATCHES = os.path.join(HERE, "zsh_matches.zsh")
TIMEOUT_S = 60
FILES = {"one.folded", "one.pb.gz"}
DIRECTORY = "one.directory"
# All commands that the shells can find: this machine's commands might have the names of subcommands.
COMMANDS = ("printf", "ps", "getent", "bash", "zsh", "fish", "mkfifo", "awk", "cat", "cut", "grep", "head", "ls", "sed", "sort",
            "tail", "tr", "uname")
STATES = {"sleep", "disk", "runqueue", "preempted"}

# The words after "perf-agent ", and all completions of the last one; values are listed without the option or list
# before them.
EXACTLY = {
    "--so": {"--sort"},
    "-p 1 --no-p": {"--no-profile-output"},
    "-a --pmu --per-p": {"--per-pid"},
    "doct": {"doctor"},
    "repo": {"report"},
    "conv": {"convert"},
    "dif": {"diff"},
    "--sort ": {"self", "total"},
    "--sort=": {"self", "total"},
    "--sort=t": {"total"},
    "--event ": {"cpu-clock", "cycles"},
    "--event=cy": {"cycles"},
    "--unwind ": {"fp", "dwarf", "auto"},
    "--unwind=d": {"dwarf"},
    "--offcpu --offcpu-states ": STATES,
    "--offcpu --offcpu-states r": {"runqueue"},
    "--offcpu --offcpu-states sleep,d": {"disk"},
    "--user roo": {"root"},
    "--top ": set(),
    "-d ": set(),
    "--symbol-cache-dir one": {DIRECTORY},
    "--cgroup one": {DIRECTORY},
    "-o one": FILES | {DIRECTORY},
    "-qo one.p": {"one.pb.gz"},
    "--profile-output=one": FILES | {DIRECTORY},
    "--offcpu-output one.p": {"one.pb.gz"},
    "--folded-output one.f": {"one.folded"},
    "--perf-data-output one.p": {"one.pb.gz"},
    "--flamegraph-output one.p": {"one.pb.gz"},
    "--pmu-output one.p": {"one.pb.gz"},
    "--json=one": FILES | {DIRECTORY},
    "report one": FILES | {DIRECTORY},
    "report one.pb.gz --sort=": {"self", "total"},
    "convert one.p": {"one.pb.gz"},
    "convert one.pb.gz -o one.f": {"one.folded"},
    "convert one.pb.gz --format ": {"html", "folded", "json"},
    "diff one.pb.gz one.p": {"one.pb.gz"},
    "diff one.pb.gz one.pb.gz --fa": {"--fail-over"},
    "diff one.pb.gz one.pb.gz --sort ": {"self", "total"},
    # options of a command are not ours
    "printf --so": set(),
    "-F 99 printf --so": set(),
    "--event=cycles printf --so": set(),
    "-qo one.folded printf --so": set(),
    "-- printf --so": set(),
}

PID = str(os.getpid())
with open("/proc/self/comm", encoding="utf-8") as f:
    NAME = f.read().rstrip("\n")

# Lines whose last word commands or other processes complete as well.
AMONG_OTHERS = {
    "print": "printf",
    "-F 99 print": "printf",
    "-- print": "printf",
    f"-p {PID[:-1]}": PID,
    f"--pid 1,{PID[:-1]}": PID,
    f"-p {NAME[:-1]}": NAME,
    f"-p 1,{NAME[:-1]}": NAME,
    f"doctor -p {PID[:-1]}": PID,
}

# Users choose the names of processes: no shell may execute them.
HOSTILE_NAME = "`>run`"


def options_of(subcommand):
    """The options that its --help lists."""
    text = subprocess.run([AGENT, *subcommand.split(), "--help"], stdout=subprocess.PIPE, text=True, check=True).stdout
    return set(re.findall(r"^ +(?:-\w, )?(--[a-z-]+)", text, flags=re.MULTILINE))


class Bash:
    """readline inserts all matches into the line, and a key binding reports the line."""

    SETUP = r"""
    PS1=
    . "$1"
    bind 'set enable-bracketed-paste off'
    bind '"\C-o": insert-completions'
    show_line() { printf '%s\n' "$READLINE_LINE" >lines; READLINE_LINE=; }
    bind -x '"\C-t": show_line'
    printf 'ready\n' >lines
    """
    NEEDS = "bash"

    def __init__(self, tmp, env):
        with open(os.path.join(tmp, "setup"), "w", encoding="utf-8") as f:
            f.write(self.SETUP)
        os.mkfifo(os.path.join(tmp, "lines"))
        self.lines = os.open(os.path.join(tmp, "lines"), os.O_RDWR)
        self.keys, terminal = pty.openpty()
        self.shell = subprocess.Popen(["bash", "--norc", "--noprofile", "-i"], stdin=terminal, stdout=terminal,
                                      stderr=terminal, cwd=tmp, env={**env, "INPUTRC": "/dev/null"},
                                      start_new_session=True)
        os.close(terminal)
        os.write(self.keys, f". ./setup '{COMPLETIONS}/perf-agent.bash'\r".encode())
        self.answer()

    def answer(self):
        """Completes one line; the terminal is read at the same time, since bash would wait for that."""
        text = b""
        while not text.endswith(b"\n"):
            ready = select.select([self.lines, self.keys], [], [], TIMEOUT_S)[0]
            if not ready:
                raise RuntimeError("bash does not answer")
            if self.keys in ready:
                os.read(self.keys, 65536)
            if self.lines in ready:
                text += os.read(self.lines, 65536)
        return text.decode().rstrip("\n")

    def matches(self, lines):
        for line in lines:
            os.write(self.keys, line.encode() + b"\x0f\x14")
            head = re.match(r"(.* )?(?:[^ ]*=)?", line).group()
            full = self.answer()
            # a word without completions stays as it is
            yield set() if full == line else set(full[len(head):].split())

    def close(self):
        self.shell.kill()
        self.shell.wait()
        os.close(self.keys)
        os.close(self.lines)


class Zsh:
    NEEDS = "zsh"

    def __init__(self, tmp, env):
        self.tmp, self.env = tmp, env

    def matches(self, lines):
        text = subprocess.run(["zsh", "-f", ZSH_MATCHES, COMPLETIONS], cwd=self.tmp, env=self.env,
                              input="".join(line + "\n" for line in lines), stdout=subprocess.PIPE, text=True,
                              timeout=TIMEOUT_S, check=True).stdout
        for part in text.split("--end--\n")[:-1]:
            yield set(part.split("\n")) - {""}

    def close(self):
        pass


class Fish:
    NEEDS = "fish"

    def __init__(self, tmp, env):
        self.tmp, self.env = tmp, env

    def matches(self, lines):
        program = f"source '{COMPLETIONS}/perf-agent.fish'\nwhile read -l line\ncomplete -C $line\necho --end--\nend"
        text = subprocess.run(["fish", "-N", "-c", program], cwd=self.tmp, env=self.env,
                              input="".join(line + "\n" for line in lines), stdout=subprocess.PIPE, text=True,
                              timeout=TIMEOUT_S, check=True).stdout
        for part in text.split("--end--\n")[:-1]:
            yield {line.split("\t")[0] for line in part.split("\n")} - {""}

    def close(self):
        pass



def value_of(match):
    """The value without its option or list, and without the slash of a directory."""
    return re.sub(r".*[=,]", "", match).rstrip("/") or match


def run_hostile_process():
    p = subprocess.Popen([sys.executable, "-c", "import ctypes, sys, time\n"
                          "ctypes.CDLL(None).prctl(15, sys.argv[1].encode(), 0, 0, 0)\n"
                          "print(flush=True)\ntime.sleep(1000)", HOSTILE_NAME], stdout=subprocess.PIPE)
    p.stdout.readline()
    return p


def make_world(directory):
    """A directory with files to complete, and the environment of the shells."""
    for name in FILES:
        open(os.path.join(directory, name), "wb").close()
    for name in (DIRECTORY, "bin"):
        os.mkdir(os.path.join(directory, name))
    for path in filter(None, map(shutil.which, COMMANDS)):
        os.symlink(path, os.path.join(directory, "bin", os.path.basename(path)))
    return {"HOME": directory, "XDG_CONFIG_HOME": directory, "PATH": os.path.join(directory, "bin"), "TERM": "dumb",
            "LC_ALL": "C.UTF-8"}


def check_shell(shell, name):
    helps = {f"{word}--": options_of(word) for word in ("", "report ", "convert ", "diff ", "doctor ")}
    tails = [*EXACTLY, *AMONG_OTHERS, *helps]
    found = dict(zip(tails, shell.matches([f"perf-agent {tail}" for tail in tails])))
    for tail, wanted in EXACTLY.items():
        got = {value_of(match) for match in found[tail]}
        ok(got == wanted, f"{name}: 'perf-agent {tail}' is completed by {' '.join(sorted(wanted)) or 'nothing'}"
           + ("" if got == wanted else f", not by {' '.join(sorted(got)) or 'nothing'}"))
    for tail, wanted in AMONG_OTHERS.items():
        ok(wanted in {value_of(match) for match in found[tail]}, f"{name}: 'perf-agent {tail}' is completed by {wanted}")
    for tail, wanted in helps.items():
        got = {match.rstrip("=") for match in found[tail]} - {"--"}
        ok(got == wanted, f"{name}: 'perf-agent {tail}' is completed by the options of --help"
           + ("" if got == wanted else f", but {' '.join(sorted(got ^ wanted))}"))


def main():
    hostile = run_hostile_process()
    for kind in (Bash, Zsh, Fish):
        if not shutil.which(kind.NEEDS):
            skip(f"completion in {kind.NEEDS}: {kind.NEEDS} is not installed")
            continue
        with tempfile.TemporaryDirectory() as tmp:
            shell = kind(tmp, make_world(tmp))
            try:
                check_shell(shell, kind.NEEDS)
            finally:
                shell.close()
            ok(not os.path.exists(os.path.join(tmp, "run")),
               f"{kind.NEEDS}: the name of a process is not run when it is completed")
    hostile.kill()
    hostile.wait()
    done()


main()
