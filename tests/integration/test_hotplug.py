# SPDX-License-Identifier: Apache-2.0
"""A CPU that goes offline and comes back within a moment is sampled and followed again, and its context switches are
recorded."""
import os
import subprocess
import time

from harness import PROGS, adds_up, done, end, finish_agent, need_root, note, ok, skip, start_agent, stop
from harness import wait_for_cpu, wait_for_sampling, workdir
from pprof import Profile

SWITCH = "/sys/devices/system/cpu/cpu1/online"
FOUND_S = 2  # the agent looks for CPUs once a second, and may have to wait for a CPU itself


def set_online(value):
    with open(SWITCH, "w") as f:
        f.write(value)


need_root()
try:
    set_online("1")
except OSError as e:
    skip(f"no CPU can be taken offline: {SWITCH}: {e.strerror}")
    done()
tmp = workdir()
off = os.path.join(tmp, "off.pb.gz")
p = start_agent(tmp, "-a", "--offcpu", "--offcpu-output", off, "-F", 499, "-d", "300s")
wait_for_sampling(p)
away = time.monotonic()
set_online("0")
time.sleep(0.2)  # the CPU is offline for that long
set_online("1")
away = time.monotonic() - away
# From now on only the CPU that was offline runs this. The agent looks for it once a second.
spin = subprocess.Popen(["taskset", "-c", "1", os.path.join(PROGS, "spin"), "600"], stdout=subprocess.DEVNULL)
naps = subprocess.Popen(["taskset", "-c", "1", os.path.join(PROGS, "crowd"), "4", "600"], stdin=subprocess.PIPE,
                        stdout=subprocess.DEVNULL)
wait_for_cpu(3, spin.pid)
stop(p)
run = finish_agent(p)
end(spin)
end(naps)
own = [s for s in run.profile.samples if s.labels["pid"] == spin.pid and "spin_inner" in s.names()]
note(f"{sum(s.count for s in own)} samples on the CPU that was away")
ok(run.status == 0 and adds_up(run.summary, away + FOUND_S), "the run ends well and adds up")
ok(run.summary["nr_cpus"] == len(os.sched_getaffinity(0)), "every CPU counts once")
ok(sum(s.count for s in own) > 100, "the CPU that was away is sampled again, and what runs there is named")
ok(run.summary["sideband_lost"] >= 1, "events that may have been missed meanwhile are reported")
s = next(s for s in run.summary["sections"] if s["name"] == "off-cpu")
ok(s["due"] == s["samples"] + s["lost"] + sum(c["count"] for c in s["counts"]),
   f"all of {s['due']} intervals off the CPU are accounted for, {s['lost']} are lost")
waits = [x for x in Profile(off).samples if x.labels["pid"] == naps.pid and "nap" in x.names()]
ok(sum(x.count for x in waits) > 20, f"{sum(x.count for x in waits)} waits of threads on the CPU that was away")
done()
