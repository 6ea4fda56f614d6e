# SPDX-License-Identifier: Apache-2.0
"""Every command of README.md and of the manual page does what it should: the fenced blocks (in README.md those
marked sh) are run line by line in a directory that has what they name.

A number that stands for a PID becomes that of a busy process, times become short, servers unreachable. Commands
that change the machine, and those whose program is missing, are skipped with the reason.
"""
import os
import pathlib
import re
import shlex
import shutil
import stat
import subprocess

from harness import AGENT, PROGS, done, end, need_root, note, ok, private_cache, prog, skip, wait_for, workdir

SOURCE = pathlib.Path(__file__).resolve().parent.parent.parent

# The first words of commands that are not run, and why.
NOT_RUN = {
    "./demo": "installs packages; scripts/bare_debian runs it",
    "apt-get": "installs packages; scripts/bare_debian installs the same list",
    "meson": "builds or installs the program; this test runs what was built",
    "ninja": "builds or removes the program; this test runs what was built",
    "ldconfig": "changes this machine",
    "groupadd": "changes this machine; test_capabilities.py does the same with a copy",
    "usermod": "changes this machine; test_capabilities.py does the same with a copy",
    "chown": "changes this machine; test_capabilities.py does the same with a copy",
    "chmod": "changes this machine; test_capabilities.py does the same with a copy",
    "setcap": "changes this machine; test_capabilities.py does the same with a copy",
    "man": "needs the program installed; scripts/check_manual formats the page",
}

JAVA = """
public class Busy {
    static long x = 1;
    public static void main(String[] args) {
        System.out.println("ready");
        for (long i = 0; ; i++) x = x * 31 + i;
    }
}
"""


def blocks():
    """(document, [command lines]) of each fenced block."""
    for name, fence in [("README.md", r"```sh\n(.*?)```"), ("docs/perf-agent.1.scd", r"```\n(.*?)```")]:
        for text in re.findall(fence, (SOURCE / name).read_text(), flags=re.DOTALL):
            yield name, [line for line in text.splitlines() if line.strip()]


def write_program(path, text):
    path.write_text(text)
    path.chmod(path.stat().st_mode | stat.S_IXUSR)


def sandbox():
    """A directory with the programs that the documents profile, and fake tools in bin/."""
    top = pathlib.Path(workdir())
    spin = shlex.quote(os.path.join(PROGS, "spin"))
    (top / "bin").mkdir()
    # As a user types it, but short: options from the document come later, and override these.
    write_program(top / "bin/perf-agent",
                  "#!/bin/sh\ncase $1 in doctor | report | convert | diff) ;; *) set -- -d 1s \"$@\" ;; esac\n"
                  f"exec {shlex.quote(AGENT)} \"$@\"\n")
    write_program(top / "bin/sudo", "#!/bin/sh\nexec \"$@\"\n")
    (top / "Makefile").write_text(f"all test:\n\t{spin} 1\n")
    for name in ["bench-old", "bench-new"]:
        write_program(top / name, f"#!/bin/sh\nexec {spin} 1\n")
    (top / "app.py").write_text("import time\nend = time.process_time() + 1\nwhile time.process_time() < end: pass\n")
    (top / "app.js").write_text("const end = Date.now() + 1000; while (Date.now() < end);\n")
    (top / "Busy.java").write_text(JAVA)
    shutil.copy(os.path.join(PROGS, "spin"), top / "nginx")
    return top


def start_java(top):
    with open(top / "java.out", "w") as out:
        p = subprocess.Popen(["java", str(top / "Busy.java")], stdout=out, stderr=out)
    wait_for(lambda: "ready" in (top / "java.out").read_text(), "Java to start", 120)
    return p


def adapted(command, pid):
    """The command with replacements for what exists only on the reader's machine."""
    with open(f"/proc/{pid}/cgroup") as f:
        cgroup = next((line.strip()[3:] for line in f if line.startswith("0::")), "/")
    for pattern, to in [(r"\b1234\b", str(pid)), (r"(-d|--duration) 30s", r"\1 1s"),
                        (r"-http=:\d*", "-top"),  # a server would not end
                        (r"https://debuginfod\.elfutils\.org", "http://127.0.0.1:9"),
                        (r"/system\.slice/nginx\.service", cgroup)]:
        command = re.sub(pattern, to, command)
    return command


def program_of(command):
    words = shlex.split(command, comments=True)
    return words[1] if words[0] == "sudo" else words[0]


def why_not(command, path):
    program = program_of(command)
    if program in NOT_RUN:
        return NOT_RUN[program]
    words = shlex.split(command, comments=True)
    # the command that perf-agent itself runs
    for word in [program, *(w for w in words if w in ("node", "make", "python3.12"))]:
        found = shutil.which(word, path=path)
        if not found or subprocess.run([found, "--version"], stdin=subprocess.DEVNULL, capture_output=True,
                                       env={**os.environ, "PATH": path}).returncode == 127:
            return f"needs {word}"
    return ""


def files_of(command):
    return re.findall(r"[\w-]+\.(?:pb\.gz|json|folded)\b", command)


def run_line(document, command, pid, top, env, not_written):
    """not_written: the files of skipped commands, and why; a command that reads such a file is skipped too."""
    why = why_not(command, env["PATH"])
    absent = [f for f in files_of(command) if f in not_written and not (top / f).exists()]
    if not why and absent:
        why = f"reads {absent[0]}: {not_written[absent[0]]}"
    shown = command.split(" #")[0].strip()
    if why:
        for f in files_of(command):
            not_written.setdefault(f, why)
        skip(f"{document}: {shown}: {why}")
        return
    r = subprocess.run(["sh", "-c", adapted(command, pid)], cwd=top, env=env, capture_output=True, text=True,
                       stdin=subprocess.DEVNULL)
    # on a busy machine ticks are lost
    allowed = {0, 3} if re.search(r"--strict|--max-lost", command) else {0}
    if not ok(r.returncode in allowed, f"{document}: {shown}"):
        note(f"status {r.returncode}")
        note(r.stdout[-2000:] + r.stderr[-2000:])


def main():
    need_root()
    if shutil.which("go"):  # it would rebuild its tools in a private cache
        os.environ["GOCACHE"] = subprocess.run(["go", "env", "GOCACHE"], capture_output=True, text=True).stdout.strip()
    private_cache()
    top = sandbox()
    env = {**os.environ, "PATH": f"{top / 'bin'}:{os.environ['PATH']}", "BROWSER": "true"}
    busy = prog("spin", 600)
    nginx = subprocess.Popen([top / "nginx", "600"], stdout=subprocess.DEVNULL)
    java = None
    nr, not_written = 0, {}
    for document, lines in blocks():
        needs_java = any(program_of(line) == "jcmd" for line in lines)
        if needs_java and shutil.which("jcmd") and shutil.which("java"):
            java = java or start_java(top)
        pid = java.pid if needs_java and java else busy.pid
        for line in lines:
            nr += 1
            run_line(document, line, pid, top, env, not_written)
    ok(nr > 20, f"the documents have commands: {nr}")
    for p in [nginx, java]:
        if p:
            end(p)
    done()


main()
