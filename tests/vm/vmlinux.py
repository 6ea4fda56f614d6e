# SPDX-License-Identifier: Apache-2.0
"""vmlinux.py VMLINUZ VMLINUX: takes the ELF file out of an x86 boot image, so that the emulator need not
unpack it by emulated instructions. Any other file is copied. The boot protocol's header tells
where the payload lies, the payload's first bytes how it was compressed."""
import os
import struct
import subprocess
import sys

UNPACK = {b"\xfd7zXZ": (["xz", "-dc", "--single-stream"], 0),
          b"\x28\xb5\x2f\xfd": (["zstd", "-dc"], 4),
          b"\x02\x21\x4c\x18": (["lz4", "-dc"], 4)}


def payload(image):
    offset, size = struct.unpack_from("<II", image, 0x248)
    start = ((image[0x1f1] or 4) + 1) * 512 + offset
    return image[start:start + size]


def vmlinux(image):
    if image[0x202:0x206] != b"HdrS":
        return image
    data = payload(image)
    for magic, (command, trailer) in UNPACK.items():
        if data.startswith(magic):
            return subprocess.run(command, input=data[:len(data) - trailer], stdout=subprocess.PIPE,
                                  check=True).stdout
    return image


with open(sys.argv[1], "rb") as f:
    data = vmlinux(f.read())
with open(sys.argv[2] + ".new", "wb") as f:
    f.write(data)
os.rename(sys.argv[2] + ".new", sys.argv[2])
