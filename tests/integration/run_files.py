# SPDX-License-Identifier: Apache-2.0
"""Maps the code of each file of the command line and calls it, in turn, until it is killed."""
import ctypes
import mmap
import sys

from hostile_elf import CODE_AT

functions, kept = [], []
for path in sys.argv[1:]:
    with open(path, "rb") as f:
        m = mmap.mmap(f.fileno(), 4096, mmap.MAP_PRIVATE, mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC, offset=CODE_AT)
    kept.append(m)
    functions.append(ctypes.CFUNCTYPE(None)(ctypes.addressof(ctypes.c_char.from_buffer(m))))
print("ready", flush=True)
while True:
    for function in functions:
        function()
