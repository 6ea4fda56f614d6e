# SPDX-License-Identifier: Apache-2.0
"""run_mapped.py DIR MAPPINGS PROCESSES: starts that many processes, each with that many executable mappings whose path
is as long as possible."""
import ctypes
import os
import signal
import sys

PAGE = 4096
PROT_READ, PROT_EXEC, MAP_SHARED = 1, 4, 1
PR_SET_PDEATHSIG = 1

libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long)
os.chdir(sys.argv[1])
for _ in range(14):
    os.mkdir("d" * 250)
    os.chdir("d" * 250)
fd = os.open("f", os.O_RDWR | os.O_CREAT, 0o755)
os.ftruncate(fd, 8 * PAGE)
for i in range(int(sys.argv[2])):
    # Adjacent mappings whose offsets are not consecutive are not merged.
    if libc.mmap(None, PAGE, PROT_READ | PROT_EXEC, MAP_SHARED, fd, i * 7 % 3 * 2 * PAGE) == ctypes.c_void_p(-1).value:
        sys.exit(os.strerror(ctypes.get_errno()))
for _ in range(int(sys.argv[3]) - 1):
    if os.fork() == 0:
        libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        signal.pause()
print("ready", flush=True)
signal.pause()
