# SPDX-License-Identifier: Apache-2.0
"""The examples run to their end, and each profile that they produce covers the hot function. The speedup of the
programs depends on the machine, and is not checked here."""
import os
import re
import shutil
import subprocess

from harness import AGENT, done, need_root, note, ok, skip, workdir
from pprof import Profile
from stack_readers import read_folded

EXAMPLES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../examples")
SKIPPED = 77


def run_example(name, **env):
    """The directory with its results; None if this machine lacks something."""
    directory = workdir()
    r = subprocess.run([os.path.join(EXAMPLES, name, "run")], capture_output=True, text=True, timeout=1500,
                       env={**os.environ, "PERF_AGENT": AGENT, "EXAMPLE_DIR": directory, "EXAMPLE_ROUNDS": "1", **env})
    note(r.stdout + r.stderr)
    if r.returncode == SKIPPED:
        skip(f"{name}: {r.stderr.strip()}")
        return None
    if not ok(r.returncode == 0, f"{name}: every step works"):
        return None
    ok(re.search(r"^before [\d.]+ s, after [\d.]+ s of CPU time \(best of 1\): (\d+ % less|no gain)", r.stdout, re.M),
       f"{name}: the speed before and after is printed")
    return directory


def share(counts, is_hot):
    return sum(n for key, n in counts.items() if is_hot(key)) / max(1, sum(counts.values()))


def test_autofdo(name):
    directory = run_example(name)
    if not directory:
        return
    with open(os.path.join(directory, "weigh.prof")) as f:
        samples = {function: int(n) for function, n in re.findall(r"^(\S+?):(\d+):\d+$", f.read(), re.M)}
    hot = share(samples, lambda function: "weigh" in function or "3sum" in function)
    ok(hot > 0.9 and any("weigh" in function for function in samples), f"{name}: {hot:.2f} of the profile is the hot loop")


def test_go():
    directory = run_example("pgo-go")
    if not directory:
        return
    profile = Profile(os.path.join(directory, "cpu.pb.gz"))
    hot = sum(s.count for s in profile.samples if "main.sum" in s.names()) / max(1, profile.total())
    ok(hot > 0.7, f"pgo-go: {hot:.2f} of the profile is the hot loop")
    ok(any("main.(*plane).at" in s.names() for s in profile.samples), "pgo-go: the method that is called is in it")


def test_folded():
    directory = run_example("folded")
    if not directory:
        return
    for build, least, most in (("before", 0.3, 1), ("after", 0, 0.1)):
        hot = share(read_folded(os.path.join(directory, f"{build}.folded")), lambda stack: "strlen" in stack[-1])
        ok(least <= hot <= most, f"folded: {hot:.2f} of the stacks are in strlen() {build} the change")


def test_missing_tool():
    """An example without its compiler, in a minimal environment."""
    tools = workdir()
    for tool in ("dirname", "mktemp", "rm"):
        os.symlink(shutil.which(tool), os.path.join(tools, tool))
    r = subprocess.run([os.path.join(EXAMPLES, "pgo-go/run")], capture_output=True, text=True, env={"PATH": tools})
    note(r.stderr)
    ok(r.returncode == SKIPPED and "needs go" in r.stderr, "an example says what it lacks, with a status of its own")


need_root()
test_folded()
test_autofdo("autofdo-cpp")
test_autofdo("autofdo-rust")
test_go()
test_missing_tool()
done()
