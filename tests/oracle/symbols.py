# SPDX-License-Identifier: Apache-2.0
"""Random addresses are named as a plain search through the output of readelf names them."""
import bisect
import os
import random
import re
import subprocess
import sys
import tempfile

from names_common import Tap, ask, binaries, compare, fdes_of, need, output_of

ADDRESSES = 4000
RUST = re.compile(r"_R[A-Z0-9]|_ZN.*17h[0-9a-f]{16}E")
BINDING = {"GLOBAL": 2, "UNIQUE": 2, "LOCAL": 1, "WEAK": 0}  # as perf prefers them


def code_sections(path):
    """Number: (address, end)."""
    found = {}
    for line in output_of("readelf", "-SW", path).splitlines():
        m = re.match(r" *\[ *(\d+)\] \S+ +\S+ +([0-9a-f]+) [0-9a-f]+ ([0-9a-f]+) \S+ +([A-Z]*) ", line)
        if m and "X" in m.group(4):
            found[m.group(1)] = (int(m.group(2), 16), int(m.group(2), 16) + int(m.group(3), 16))
    return found


def symbols_of(path):
    """(address, size, preference, name, end of its section), the preferred alias with the greatest
    preference."""
    code = code_sections(path)
    found = set()
    for line in output_of("readelf", "-sW", path).splitlines():
        f = line.split()
        if len(f) < 8 or not f[0].endswith(":") or not re.fullmatch(r"[0-9a-f]{16}", f[1]):
            continue
        _, addr, size, kind, bind, _, section, name = f[:8]
        if kind not in ("FUNC", "IFUNC") and not (kind == "NOTYPE" and section in code):
            continue
        if not section.isdigit():
            continue
        name = name.split("@")[0]
        underscores = len(name) - len(name.lstrip("_"))
        by_look = (-underscores, len(name), -len(found))
        if RUST.match(name):  # one of several folded into one: the last of the table
            by_look = (-sys.maxsize, len(found))
        preference = (BINDING[bind], kind != "NOTYPE", *by_look)
        start, limit = code.get(section, (0, 0))
        if not start <= int(addr, 16) < limit:
            limit = int(addr, 16) + 1
        found.add((int(addr, 16), int(size, 0), preference, name, limit))
    return sorted(found)


def name_at(symbols, starts, longest, addr):
    """The slow way: look at every symbol that could reach the address."""
    best = None
    for i in range(bisect.bisect_right(starts, addr) - 1, -1, -1):
        start, size, preference, name, _ = symbols[i]
        if addr - start > longest or (best and start < best[0]):
            break
        key = (start, preference)
        if addr < start + size and (best is None or key > best[:2]):
            best = (*key, name)
    return best[2] if best else None


def label_at(symbols, starts, fdes, addr):
    """The symbol without a size that reaches to the address; a name with a dot is part of another."""
    i = bisect.bisect_right(starts, addr) - 1
    while i >= 0 and symbols[i][1] == 0 and "." in symbols[i][3]:
        i -= 1
    same = [s for s in symbols[bisect.bisect_left(starts, starts[i]):i + 1]] if i >= 0 else []
    if not same or any(s[1] for s in same) or addr >= same[-1][4]:
        return "-"
    start, _, preference, name, _ = max(same, key=lambda s: s[2])
    at = bisect.bisect_right(fdes, (addr, sys.maxsize)) - 1
    if at >= 0 and fdes[at][0] > start:
        return "-"
    at = bisect.bisect_right(fdes, (start, sys.maxsize)) - 1
    if preference[:2] == (BINDING["LOCAL"], False) and at >= 0 and start < fdes[at][1]:
        outer = [s for s in symbols if s[0] == fdes[at][0]]
        return max(outer, key=lambda s: (s[1] > 0, s[2]))[3] if outer else name
    return name


def stubs_of(path):
    """Where stubs are, which have no symbols: oracle_plt_names asks for those."""
    text = output_of("readelf", "-SW", path)
    return [range(int(at, 16), int(at, 16) + int(size, 16))
            for at, size in re.findall(r" \.i?plt\S* +PROGBITS +(\w+) \w+ (\w+)", text)]


def check(tap, path, tmp):
    """Of a copy without debug information, which would name functions before the symbol table does."""
    bare = os.path.join(tmp, os.path.basename(path))
    subprocess.run(["objcopy", "--strip-debug", path, bare], check=True)
    symbols = symbols_of(bare)
    if not symbols:
        return
    starts = [s[0] for s in symbols]
    fdes = fdes_of(bare)
    longest = max(s[1] for s in symbols)
    rng = random.Random(1)
    low, high = starts[0], symbols[-1][0] + symbols[-1][1] + 64
    addresses = [rng.randrange(max(low - 64, 0), high) for _ in range(ADDRESSES)]
    for start, size, _, _, _ in rng.sample(symbols, min(len(symbols), ADDRESSES)):
        addresses += [start, start + max(size, 1) - 1, start + size]
    for start, size, _, _, _ in symbols:
        addresses += [] if size else [start + rng.randrange(64)]
    stubs = stubs_of(bare)
    addresses = [a for a in addresses if not any(a in s for s in stubs)]
    theirs = [name_at(symbols, starts, longest, a) or label_at(symbols, starts, fdes, a) for a in addresses]
    questions = [f"{a:x}" for a in addresses]
    compare(tap, path.rsplit("/", 1)[-1], questions, ask(["symbols", bare], questions), theirs)


def main():
    tap = Tap()
    need(tap, "readelf")
    need(tap, "objcopy")
    need(tap, "eu-readelf")
    with tempfile.TemporaryDirectory() as tmp:
        for path in binaries():
            check(tap, path, tmp)
    tap.done()


main()
