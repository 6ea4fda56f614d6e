# SPDX-License-Identifier: Apache-2.0
"""Every command of README.md, of docs/ and of the manual page does what it should: blocks of code are run line by
line in a directory that has what they name, each different line once.

A block is fenced or indented. Its language says what it is: sh, or none, are commands; c is compiled; text is neither. A
number that stands for a PID becomes that of a busy process in a cgroup like a pod's, times become short, servers
unreachable. Commands that change the machine or need a cluster, and those whose program is missing, are skipped with
the reason, each by its name.
"""
import atexit
import glob
import os
import pathlib
import re
import shlex
import shutil
import stat
import subprocess
import sys

from harness import (AGENT, PROGS, cgroup2_mount, done, end, need_root, note, ok, private_cache, skip, wait_for,
                     wait_for_cpu, workdir)
from pythons import new as pythons_with_trampoline

SOURCE = pathlib.Path(__file__).resolve().parent.parent.parent

# The first words of commands that are not run, and why.
NOT_RUN = {
    "./demo": "installs packages; scripts/bare_debian runs it",
    "apt-get": "installs packages; scripts/bare_debian installs the list of README.md",
    "meson": "builds or installs the program; this test runs what was built",
    "ninja": "builds or removes the program; this test runs what was built",
    "ldconfig": "changes this machine",
    "groupadd": "changes this machine; test_capabilities.py does the same with a copy",
    "usermod": "changes this machine; test_capabilities.py does the same with a copy",
    "chown": "changes this machine; test_capabilities.py does the same with a copy",
    "chmod": "changes this machine; test_capabilities.py does the same with a copy",
    "setcap": "changes this machine; test_capabilities.py does the same with a copy",
    "scripts/build_deb": "compiles everything; ./check --packages runs it",
    "scripts/release_tarball": "compiles everything; ./check --packages runs it",
    "sha256sum": "needs a tarball; tests/packages/test_tarball.sh checks one",
    "tar": "needs a tarball; tests/packages/test_tarball.sh unpacks one",
    "adduser": "changes this machine; tests/packages does the same in a new Debian",
    "dpkg-reconfigure": "changes this machine; tests/packages does the same in a new Debian",
    "sysctl": "changes this machine; tests/vm/package_tests does the same in a virtual one",
    "curl": "needs a capture that runs; test_metrics.py asks one",
    "man": "needs the program installed; scripts/check_manual formats the page",
    "systemctl": "needs a machine that systemd has booted, with that service",
    "podman": "downloads, builds and publishes an image",
    "kubectl": "needs a cluster; scripts/check_kubernetes checks the manifests",
    "trap": "the command of a container, which never ends",
    "while": "the command of a container, which never ends",
}
# Programs that are not first in a line of a pipeline, but that it needs.
NEEDED = ("node", "make", "python3.12", "jcmd")
POD_UID = "6f2c1d34-8a5e-4b7f-9c01-23456789abcd"  # as in docs/kubernetes.md

JAVA = """
public class Busy {
    static long x = 1;
    public static void main(String[] args) {
        System.out.println("ready");
        for (long i = 0; ; i++) x = x * 31 + i;
    }
}
"""

# What the documents call nginx, or 1234: it runs for half of the time and waits for the other.
SERVICE = """
import threading, time
def work():
    while True:
        end = time.monotonic() + 0.002
        while time.monotonic() < end: pass
        time.sleep(0.004)
threading.Thread(target=work, daemon=True).start()
work()
"""

FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
FENCE_MARK = re.compile(r"^\s*(?:```|~~~)", re.MULTILINE)
INDENTED = re.compile(r"(?:^|\n)\n((?:(?: {4}|\t)[^\n]*\n)+)")


def documents():
    for path in [SOURCE / "README.md", *sorted(SOURCE.glob("docs/**/*.md")), *sorted(SOURCE.glob("docs/*.scd"))]:
        yield str(path.relative_to(SOURCE)), path.read_text()


def blocks(name, text):
    """(language, text) of each block of code."""
    for language, block in FENCE.findall(text):
        yield language or ("c" if name.endswith(".3.scd") else "sh"), block
    if name.endswith(".md"):
        for block in INDENTED.findall(FENCE.sub("", text)):
            yield "sh", re.sub(r"(?m)^(?: {4}|\t)", "", block)


def is_whole(text):
    """Whether every mark of a fence belongs to a block that blocks() finds: none is indented, or has another form."""
    return len(FENCE_MARK.findall(text)) == 2 * len(FENCE.findall(text))


def lines_of(block):
    return [line for line in block.replace("\\\n", " ").splitlines() if line.strip()]


def write_program(path, text):
    path.write_text(text)
    path.chmod(path.stat().st_mode | stat.S_IXUSR)


def write_tools(to):
    # As a user types it, but short: options from the document come later, and override these.
    write_program(to / "perf-agent",
                  "#!/bin/sh\ncase $1 in doctor | report | convert | diff) ;; *) set -- -d 500ms \"$@\" ;; esac\n"
                  f"exec {shlex.quote(AGENT)} \"$@\"\n")
    write_program(to / "sudo", "#!/bin/sh\n[ \"$1\" != -u ] || shift 2\nexec \"$@\"\n")
    # Of a cluster there is only what runs in a pod.
    write_program(to / "kubectl", "#!/bin/sh\nwhile [ \"$1\" != -- ]; do shift || exit; done\nshift\nexec \"$@\"\n")
    perfs = glob.glob(os.path.join(os.environ.get("PERF_CACHE", ""), "*", "perf"))
    if perfs and not shutil.which("perf"):
        os.symlink(perfs[0], to / "perf")


def sandbox():
    """A directory with the programs that the documents profile, and fake tools in bin/."""
    top = pathlib.Path(workdir())
    spin = shlex.quote(os.path.join(PROGS, "spin"))
    (top / "bin").mkdir()
    write_tools(top / "bin")
    (top / "Makefile").write_text(f"all test:\n\t{spin} 1\n")
    for name in ["bench-old", "bench-new"]:
        write_program(top / name, f"#!/bin/sh\nexec {spin} 1\n")
    (top / "app.py").write_text("import time\nend = time.process_time() + 1\nwhile time.process_time() < end: pass\n")
    (top / "app.js").write_text("const end = Date.now() + 1000; while (Date.now() < end);\n")
    (top / "Busy.java").write_text(JAVA)
    shutil.copy(os.path.join(PROGS, "spin"), top / "app")
    (top / "service.py").write_text(SERVICE)
    os.symlink(os.path.realpath(pythons_with_trampoline[0] if pythons_with_trampoline else sys.executable), top / "nginx")
    return top


def start_java(top):
    with open(top / "java.out", "w") as out:
        p = subprocess.Popen(["java", str(top / "Busy.java")], stdout=out, stderr=out)
    wait_for(lambda: "ready" in (top / "java.out").read_text(), "Java to start", 120)
    return p


def start_service(top):
    p = subprocess.Popen([top / "nginx", top / "service.py"])
    atexit.register(end, p)
    wait_for_cpu(0.1, p.pid)
    return p


def remove_cgroups(paths):
    for path in paths:
        wait_for(lambda path=path: not os.path.exists(path) or os.rmdir(path) is None, f"{path} to be removable")


def move_to_pod(pid):
    """Into a cgroup as a kubelet and containerd make it; False where there is no cgroup v2."""
    mount = cgroup2_mount()
    if not mount:
        return False
    uid = POD_UID.replace("-", "_")
    at, made = mount, []
    for name in [f"perf-agent-test-{os.getpid()}", "kubepods.slice", f"kubepods-pod{uid}.slice",
                 f"cri-containerd-{'5e' * 32}.scope"]:
        at = os.path.join(at, name)
        os.mkdir(at)
        made.insert(0, at)
    atexit.register(remove_cgroups, made)
    pathlib.Path(at, "cgroup.procs").write_text(str(pid))
    return True


def adapted(command, pid):
    """The command with replacements for what exists only on the reader's machine."""
    with open(f"/proc/{pid}/cgroup") as f:
        cgroup = next((line.strip()[3:] for line in f if line.startswith("0::")), "/")
    for pattern, to in [(r"\b1234\b", str(pid)), (r"(-d|--duration) 30s", r"\1 500ms"), (r"\bsleep 25\b", "sleep 0.2"),
                        (r"-http=:\d*", "-top"),  # a server would not end
                        (r"https://debuginfod\.(elfutils\.org|debian\.net)", "http://127.0.0.1:9"),
                        (r"/system\.slice/nginx\.service", cgroup)]:
        command = re.sub(pattern, to, command)
    return command


def program_of(words):
    """The word that is run, behind assignments and sudo."""
    words = [word for word in words if not re.match(r"[A-Z_]+=", word)]
    return words[1] if words[0] == "sudo" else words[0]


def is_there(program, path):
    found = shutil.which(program, path=path)
    return found and subprocess.run([found, "--version"], stdin=subprocess.DEVNULL, capture_output=True,
                                    env={**os.environ, "PATH": path}).returncode != 127


def why_not(command, path):
    words = shlex.split(command, comments=True)
    first = program_of(words)
    if first in NOT_RUN and not (first == "kubectl" and "exec" in words):
        return NOT_RUN[first]
    if "--inject-python" in words and not pythons_with_trampoline:
        return "needs CPython 3.12 or later, for the service"
    starts = [i for i in range(len(words)) if i == 0 or words[i - 1] == "|"]
    # the command that perf-agent itself runs
    for program in [*(program_of(words[i:]) for i in starts), *(word for word in words if word in NEEDED)]:
        if not os.path.exists(os.path.join(path.split(":")[0], program)) and not is_there(program, path):
            return f"needs {program}"
    return ""


def files_of(command):
    return re.findall(r"[\w-]+\.(?:pb\.gz|json|folded|data)\b", command)


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
    # on a busy machine ticks are lost, and few samples differ by chance
    allowed = {0, 3} if re.search(r"--strict|--max-lost|--fail-over", command) else {0}
    if not ok(r.returncode in allowed, f"{document}: {shown}"):
        note(f"status {r.returncode}")
        note(r.stdout[-2000:] + r.stderr[-2000:])


def compile_program(document, text, nr):
    """A program, or the statements of a function that has a PID."""
    if "#include" not in text:
        text = ("#include <perfagent/perfagent.h>\n#include <stdio.h>\nvoid use(const struct pa_summary *);\n"
                f"void statements(pid_t pid);\nvoid statements(pid_t pid)\n{{\n{text}}}\n")
    r = subprocess.run(["cc", "-fsyntax-only", "-Wall", "-Werror", "-I", str(SOURCE / "include"), "-xc", "-"],
                       input=text, capture_output=True, text=True)
    if not ok(r.returncode == 0, f"{document}: the C of block {nr} compiles"):
        note(r.stderr)


class Runner:
    def __init__(self):
        self.top = sandbox()
        self.env = {**os.environ, "PATH": f"{self.top / 'bin'}:{os.environ['PATH']}", "BROWSER": "true",
                    "USER": os.environ.get("USER", "root")}
        self.service = start_service(self.top)
        self.is_pod = move_to_pod(self.service.pid)
        self.java = None
        self.lines = set()
        self.not_written = {}

    def pid_for(self, lines):
        """Java for a block that asks it for a map."""
        if not any("jcmd" in shlex.split(line, comments=True) for line in lines):
            return self.service.pid
        if not self.java and shutil.which("jcmd") and shutil.which("java"):
            self.java = start_java(self.top)
        return self.java.pid if self.java else self.service.pid

    def run_block(self, document, block):
        lines = lines_of(block)
        pid = self.pid_for(lines)
        for line in lines:
            if (line, pid) in self.lines:
                continue
            self.lines.add((line, pid))
            if "pod_uid" in line and not self.is_pod:
                skip(f"{document}: {line}: needs cgroup v2, for the cgroup of a pod")
            else:
                run_line(document, line, pid, self.top, self.env, self.not_written)

    def finish(self):
        for p in [self.service, self.java]:
            if p:
                end(p)


def main():
    need_root()
    if shutil.which("go"):  # it would rebuild its tools in a private cache
        os.environ["GOCACHE"] = subprocess.run(["go", "env", "GOCACHE"], capture_output=True, text=True).stdout.strip()
    private_cache()
    runner = Runner()
    for document, text in documents():
        ok(is_whole(text), f"{document}: every fenced block is found")
        for nr, (language, block) in enumerate(blocks(document, text), 1):
            if language == "sh":
                runner.run_block(document, block)
            elif language == "c":
                compile_program(document, block, nr)
            elif language != "text":
                ok(False, f"{document}: block {nr} is sh, c or text, but not {language}")
    ok(len(runner.lines) > 80, f"the documents have commands: {len(runner.lines)} different ones")
    runner.finish()
    done()


main()
