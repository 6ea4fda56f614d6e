# SPDX-License-Identifier: Apache-2.0
"""A user who keeps mapping new files with long paths bears the cost: the agent's memory does not grow with them, and
other users' code keeps its symbols."""
import os
import shutil

from harness import (PROGS, Stranger, adds_up, done, end, finish_agent, is_spin_named, need_root, note, ok, prog, start_agent,
                     stop, wait_for, wait_for_cpu, wait_for_sampling, workdir)

WARM_UP, MORE = 5000, 12000
# If each were kept, it would take 3,990 bytes, or twice that with and without " (deleted)". One user may use 32 MiB,
# which is 2,800 bytes each, and an agent that gets little CPU time comes near that.
MOST_BYTES_PER_FILE = 3500


def peak_bytes(pid):
    """The peak memory of a process."""
    with open(f"/proc/{pid}/status") as f:
        return next(int(line.split()[1]) << 10 for line in f if line.startswith("VmHWM"))


def capture(addresses):
    folder = os.path.join(tmp, addresses)
    os.mkdir(folder)
    os.chown(folder, mallory.uid, mallory.uid)
    count = os.path.join(folder, "count")
    mapper = mallory.start('exec "$@"', shutil.copy(os.path.join(PROGS, "new_files"), folder), folder, addresses, count)
    spin = prog("spin")

    def nr_files():
        try:
            with open(count) as f:
                return int(f.read() or 0)
        except FileNotFoundError:
            return 0

    def wait_for_files(nr):
        goal = nr_files() + nr
        wait_for(lambda: nr_files() >= goal, f"{nr} more files", 300)

    try:
        wait_for_files(100)
        p = start_agent(tmp, "-a", "-F", 99, "-d", 0)
        wait_for_sampling(p, spin.pid)
        wait_for_files(WARM_UP)
        before = peak_bytes(p.pid)
        wait_for_files(MORE)
        grown = peak_bytes(p.pid) - before
        wait_for_cpu(0.5, spin.pid)
        stop(p)
        run = finish_agent(p)
    finally:
        end(mapper)
        end(spin)
    refused = [x["count"] for x in run.summary["gaps"] if x["name"] == "files_refused"]
    note(f"{before >> 20} MiB, {grown / MORE:+.0f} bytes for each of {MORE} more files; refused: {refused}; "
         f"events lost: {run.summary.get('events_lost')}; {run.summary['samples']} samples")
    ok(grown < MORE * MOST_BYTES_PER_FILE, f"ever new files at {addresses} addresses: the agent does not keep them")
    ok(run.status == 0 and adds_up(run.summary), f"ever new files at {addresses} addresses: the capture is complete")
    ok(is_spin_named(run.profile, spin.pid),
       f"ever new files at {addresses} addresses: another user's code has its names")


need_root()
tmp = workdir()
os.chmod(tmp, 0o755)
mallory = Stranger()
capture("same")
capture("new")
done()
