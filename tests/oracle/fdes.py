# SPDX-License-Identifier: Apache-2.0
"""Every FDE that eu-readelf (libdw) sees begins and ends where we say."""
import os
import struct
import tempfile

from names_common import Tap, ask, binaries, compare, fdes_of, need


def without_header(path, directory):
    """A copy whose .eh_frame_hdr cannot be found, as in a static binary."""
    elf = bytearray(open(path, "rb").read())
    phoff, shoff = struct.unpack_from("<QQ", elf, 0x20)
    nr_phdrs, = struct.unpack_from("<H", elf, 0x38)
    nr_sections, names = struct.unpack_from("<HH", elf, 0x3c)
    names_at, = struct.unpack_from("<Q", elf, shoff + 64 * names + 24)
    for at in range(phoff, phoff + 56 * nr_phdrs, 56):
        if struct.unpack_from("<I", elf, at)[0] == 0x6474e550:  # PT_GNU_EH_FRAME
            struct.pack_into("<I", elf, at, 0)
    for at in range(shoff, shoff + 64 * nr_sections, 64):
        name = names_at + struct.unpack_from("<I", elf, at)[0]
        if elf[name:name + 14] == b".eh_frame_hdr\0":
            struct.pack_into("<I", elf, at, 0)
    copy = os.path.join(directory, os.path.basename(path))
    with open(copy, "wb") as f:
        f.write(elf)
    return copy


def check(tap, path, directory):
    fdes = fdes_of(path)
    questions, theirs = [], []
    for i, (start, end) in enumerate(fdes):
        follows = fdes[i + 1] if i + 1 < len(fdes) and fdes[i + 1][0] == end else None
        questions += [f"{start:x}", f"{end - 1:x}", f"{end:x}"]
        theirs += [f"{start:x} {end:x}"] * 2
        theirs += [f"{follows[0]:x} {follows[1]:x}" if follows else "-"]
    name = os.path.basename(path)
    compare(tap, name, questions, ask(["fdes", path], questions), theirs)
    bare = without_header(path, directory)
    compare(tap, f"{name} without .eh_frame_hdr", questions, ask(["fdes", bare], questions), theirs)


def main():
    tap = Tap()
    need(tap, "eu-readelf")
    with tempfile.TemporaryDirectory() as directory:
        for path in binaries():
            check(tap, path, directory)
    tap.done()


main()
