# SPDX-License-Identifier: Apache-2.0
"""Every FDE that eu-readelf (libdw) sees begins and ends where we say."""
import re

from names_common import Tap, ask, binaries, compare, need, output_of


def fdes_of(path):
    text = output_of("eu-readelf", "--debug-dump=frames", path)
    # Only .eh_frame has a search table; a .debug_frame is not asked for.
    sections = [s for s in text.split("\nCall frame ") if re.match(r"information.*'\.eh_frame'", s)]
    entry = r"initial_location: +\+?0x([0-9a-f]+).*\n +address_range: +0x([0-9a-f]+)"
    found = set()
    for start, size in re.findall(entry, sections[0] if sections else ""):
        if int(size, 16):
            found.add((int(start, 16), int(start, 16) + int(size, 16)))
    return sorted(found)


def check(tap, path):
    fdes = fdes_of(path)
    questions, theirs = [], []
    for i, (start, end) in enumerate(fdes):
        follows = fdes[i + 1] if i + 1 < len(fdes) and fdes[i + 1][0] == end else None
        questions += [f"{start:x}", f"{end - 1:x}", f"{end:x}"]
        theirs += [f"{start:x} {end:x}"] * 2
        theirs += [f"{follows[0]:x} {follows[1]:x}" if follows else "-"]
    compare(tap, path.rsplit("/", 1)[-1], questions, ask(["fdes", path], questions), theirs)


def main():
    tap = Tap()
    need(tap, "eu-readelf")
    for path in binaries():
        check(tap, path)
    tap.done()


main()
