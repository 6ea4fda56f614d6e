# SPDX-License-Identifier: Apache-2.0
"""The examples of the library, in C, C++ and Python, run and show where a known program spends its time."""
import os
import re
import subprocess

from harness import done, end, need_root, ok, prog, skip

EXAMPLES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../examples/library")
LIBRARY = os.environ["LIBPERFAGENT"]
BUILT = os.environ["LIBRARY_EXAMPLES"]


def run(*command):
    r = subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=120)
    ok(r.returncode == 0, f"{os.path.basename(command[0])} ends with success: {r.returncode} {r.stderr.strip()}")
    return r.stdout


need_root()
target = prog("spin", 300)
out = run(os.path.join(BUILT, "example_capture"), target.pid, 2)
ok(re.match(r"\d+ samples\n +\d+ .*\[.*/spin\]", out), f"C: the hottest function is spin's: {out!r}")
if os.path.exists(os.path.join(BUILT, "example_processes")):
    out = run(os.path.join(BUILT, "example_processes"), 2)
    times = {comm: int(ms) for ms, comm in re.findall(r"^(\d+) ms (.*)$", out, re.M)}
    ok(times.get("spin", 0) > 50, f"C++: spin has CPU time: {times}")
    for word in ("x", "-1", "0", "601", "2 "):
        r = subprocess.run([os.path.join(BUILT, "example_processes"), word], capture_output=True, text=True)
        ok(r.returncode == 1 and r.stderr.startswith("usage: processes [SECONDS]"),
           f"C++: {word!r} is not taken for a number of seconds")
else:
    skip("C++: there was no C++ compiler")
out = run(os.path.join(EXAMPLES, "folded.py"), target.pid, 2)
lines = out.splitlines()
ok(lines and all(re.match(r"spin;.* \d+$", line) for line in lines), f"Python: folded stacks of spin: {out[:300]!r}")
r = subprocess.run([os.path.join(BUILT, "example_capture"), "999999999"], capture_output=True, text=True)
ok(r.returncode == 1 and re.match(r"capture: pa_options.pids 999999999: .*no such process", r.stderr),
   f"C: an error says what is wrong: {r.stderr.strip()}")
r = subprocess.run([os.path.join(EXAMPLES, "folded.py"), "999999999"], capture_output=True, text=True)
ok(r.returncode == 1 and "no such process" in r.stderr, f"Python: an error says what is wrong: {r.stderr.strip()}")
end(target)
done()
