# SPDX-License-Identifier: Apache-2.0
"""Processes of an unprivileged user with files on a file system that stops answering, or is slow."""
import atexit
import glob
import os
import pwd
import signal
import stat
import subprocess
import time

from harness import wait_for

FUSE = os.makedev(10, 229)
MOUNTED_FOR_USER = ("random", "sysv", "taken")  # modes that mount for the user, as fusermount3 does, which few machines have


def make_user():
    """The ID of an unprivileged user; it is in no file, so that nothing has to be restored."""
    taken = {p.pw_uid for p in pwd.getpwall()}
    return next(uid for uid in range(61184, 65000) if uid not in taken)


def fuse_device(tmp):
    """/dev/fuse with the permissions that distributions give it: open for all."""
    if os.path.exists("/dev/fuse") and os.stat("/dev/fuse").st_mode & 0o006 == 0o006:
        return "/dev/fuse"
    path = os.path.join(tmp, "fuse")
    os.mknod(path, 0o666 | stat.S_IFCHR, FUSE)
    os.chmod(path, 0o666)
    return path


class Hostile:
    """Starts silent_fuse as an unprivileged user; it is ready, and no longer answers."""

    def __init__(self, tmp, device, mode, uid):
        self.uid = uid
        argv = [os.path.join(tmp, "silent_fuse"), device, mode, os.path.join(tmp, "static_spin")]
        user = {"user": uid, "group": uid, "extra_groups": []}
        if mode in MOUNTED_FOR_USER:  # silent_fuse itself becomes that user
            argv, user = [*argv, str(uid)], {}
        self.p = subprocess.Popen(argv, stdout=subprocess.PIPE, text=True, cwd="/", **user)
        atexit.register(self.end)
        first = self.p.stdout.readline().strip()
        self.why = first
        if not first.isdigit():
            self.end()
            return
        self.why, self.pid = None, int(first)
        self.p.stdout.readline()
        if mode in ("plain", "taken", "overlay"):
            wait_for(lambda: os.readlink(f"/proc/{self.pid}/exe").endswith("/f"), "the program on FUSE", 10)
        self.p.send_signal(signal.SIGUSR1)
        time.sleep(0.6)  # until nothing is answered any more

    def end(self):
        """The PIDs of all three processes; the server first, which ends every wait."""
        if self.p.poll() is None:
            self.p.terminate()
            try:
                self.p.wait(10)
            except subprocess.TimeoutExpired:
                self.p.kill()
        self.p.wait()
        for path in glob.glob("/tmp/silent_fuse.*"):
            if os.stat(path).st_uid == self.uid:
                os.rmdir(path)  # it was mounted there in a namespace that is gone
