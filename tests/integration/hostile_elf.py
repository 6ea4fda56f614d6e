# SPDX-License-Identifier: Apache-2.0
"""ELF files for x86-64 that are small on disk but costly to read. Each has a function at the start of its code that
spins for a moment and returns (run_files.py calls it)."""
import base64
import functools
import lzma
import os
import struct
import zlib

CODE_AT = 0x1000
SPIN = bytes.fromhex("b900001000" "ffc9" "75fc" "c3")  # mov $0x100000, %ecx; 1: dec %ecx; jnz 1b; ret
SHT_PROGBITS, SHT_SYMTAB, SHT_STRTAB, SHT_DYNAMIC = 1, 2, 3, 6
SHF_COMPRESSED = 0x800
MIB = 1 << 20


class Hole:
    """Bytes of a hole, which are not stored."""

    def __init__(self, size, begin=b""):
        self.size, self.begin = size, begin


def write_elf(path, sections=(), code_bytes=4096, machine=62):
    """sections: (name, type, flags, bytes or Hole[, link, entsize]); a hole may begin with bytes."""
    names, headers, at = b"\0", [], CODE_AT + code_bytes
    with open(path, "wb") as f:
        f.seek(CODE_AT)
        f.write(SPIN)
        for name, kind, flags, data, *rest in [*sections, (".shstrtab", SHT_STRTAB, 0, None)]:
            at = (at + 4095) & ~4095
            name_at = len(names)
            names += name.encode() + b"\0"
            data = names if data is None else data
            size = data.size if isinstance(data, Hole) else len(data)
            link, entsize = (*rest, 0, 0)[:2]
            headers.append(struct.pack("<IIQQQQIIQQ", name_at, kind, flags, 0, at, size, link, 0, 1, entsize))
            f.seek(at)
            f.write(data.begin if isinstance(data, Hole) else data)
            at += size
        at = (at + 4095) & ~4095
        f.seek(at)
        f.write(bytes(64) + b"".join(headers))
        f.seek(0)
        f.write(b"\x7fELF\2\1\1" + bytes(9) + struct.pack("<HHIQQQIHHHHHH", 3, machine, 1, CODE_AT, 64, at, 0,
                                                          64, 56, 1, 64, len(headers) + 1, len(headers)))
        f.write(struct.pack("<IIQQQQQQ", 1, 5, CODE_AT, CODE_AT, CODE_AT, code_bytes, code_bytes, 4096))
    os.chmod(path, 0o755)


def uleb(n):
    out = b""
    while n >= 0x80:
        out += bytes([n & 0x7f | 0x80])
        n >>= 7
    return out + bytes([n])


def unit(die, abbrev_at=0):
    """DWARF 4: the header of a unit, and its only entry."""
    return struct.pack("<IHIB", 7 + len(die), 4, abbrev_at, 8) + die


def attrs(*pairs):
    return b"".join(uleb(name) + uleb(form) for name, form in pairs) + b"\0\0"


def symbols():
    """A symbol table that names the function, so that there are symbols even without lines."""
    strings = b"\0hostile_function\0"
    sym = bytes(24) + struct.pack("<IBBHQQ", 1, 0x12, 0, 0xfff1, CODE_AT, 64)
    return strings, sym


def write_dwarf(path, *sections):
    """Adds a symbol table in front of the debug sections."""
    strings, sym = symbols()
    sym = sym.replace(b"\xf1\xff", b"\x01\x00")  # in a section, instead of absolute
    write_elf(path, [(".strtab", SHT_STRTAB, 0, strings), (".symtab", SHT_SYMTAB, 0, sym, 1, 24), *sections])


NAME, STMT_LIST, LOW_PC, HIGH_PC, RANGES, DWO_NAME, DWO_ID = 0x03, 0x10, 0x11, 0x12, 0x55, 0x2130, 0x2131
F_ADDR, F_DATA4, F_DATA8, F_STRING, F_STRP, F_SEC = 0x01, 0x06, 0x07, 0x08, 0x0e, 0x17
UNIT_TAG = b"\x11\0"  # a compile unit without children


def sparse_code(path):
    """256 MiB of zeros each in the sections that are searched for instructions and for Go's table."""
    write_elf(path, [(".go.buildinfo", SHT_PROGBITS, 2, b"\xff Go buildinf:" + bytes(18)),
                     (".data.rel.ro", SHT_PROGBITS, 3, Hole(256 * MIB))], code_bytes=256 * MIB)


@functools.cache
def many_abbrevs(nr):
    """An abbreviation table, and an entry that uses the last abbreviation."""
    table = b"".join(uleb(i) + UNIT_TAG + b"\0\0" for i in range(1, nr))
    table += uleb(nr) + UNIT_TAG + attrs((LOW_PC, F_ADDR), (HIGH_PC, F_DATA4)) + b"\0"
    return table, uleb(nr) + struct.pack("<QI", CODE_AT, 64)


def shared_abbrevs(path, nr_units, nr_abbrevs, step=0):
    """Every unit uses the last abbreviation of one table; step: of overlapping tables."""
    table, die = many_abbrevs(nr_abbrevs)
    write_dwarf(path, (".debug_info", SHT_PROGBITS, 0, b"".join(unit(die, i * step) for i in range(nr_units))),
                (".debug_abbrev", SHT_PROGBITS, 0, table))


def shared_ranges(path, nr_units, nr_ranges):
    table = uleb(1) + UNIT_TAG + attrs((RANGES, F_SEC)) + b"\0"
    ranges = struct.pack("<QQ", CODE_AT, CODE_AT + 64) * nr_ranges + bytes(16)
    write_dwarf(path, (".debug_info", SHT_PROGBITS, 0, unit(uleb(1) + struct.pack("<I", 0)) * nr_units),
                (".debug_abbrev", SHT_PROGBITS, 0, table), (".debug_ranges", SHT_PROGBITS, 0, ranges))


def sparse_strings(path, nr_units, nr_abbrevs, size):
    """A section without bytes, as large as the file system allows, and a table that overlaps."""
    table, die = many_abbrevs(nr_abbrevs)
    info = b"".join(unit(die, i * 6) for i in range(nr_units))
    sections = [(".debug_info", SHT_PROGBITS, 0, info), (".debug_abbrev", SHT_PROGBITS, 0, table)]
    while True:
        try:
            write_dwarf(path, *sections, (".debug_str", SHT_PROGBITS, 0, Hole(size)))
            return size
        except OSError:  # larger than this file system allows
            size //= 2


def split_units(path, dwo, nr_units, size):
    """Skeleton units, all of whose split units are in one sparse .dwo."""
    table = uleb(1) + UNIT_TAG + attrs((DWO_NAME, F_STRING), (DWO_ID, F_DATA8), (STMT_LIST, F_SEC), (LOW_PC, F_ADDR))
    dies = (uleb(1) + dwo.encode() + b"\0" + struct.pack("<QIQ", i + 1, 0, CODE_AT) for i in range(nr_units))
    write_dwarf(path, (".debug_info", SHT_PROGBITS, 0, b"".join(unit(die) for die in dies)),
                (".debug_abbrev", SHT_PROGBITS, 0, table + b"\0"), (".debug_addr", SHT_PROGBITS, 0, bytes(64)),
                (".debug_line", SHT_PROGBITS, 0, bytes(64)))
    write_elf(dwo, [(".debug_info.dwo", SHT_PROGBITS, 0, Hole(size, unit(uleb(1)))),
                    (".debug_abbrev.dwo", SHT_PROGBITS, 0, uleb(1) + UNIT_TAG + b"\0\0\0")])


def packed(data, size):
    return struct.pack("<IIQQ", 1, 0, size, 1) + data


def zlib_repeated(block, times):
    """A zlib stream that unpacks to nr copies of the block; packed only once, since no copy refers back to another."""
    z = zlib.compressobj(1, zlib.DEFLATED, -15)
    one = z.compress(block) + z.flush(zlib.Z_FULL_FLUSH)
    checksum = 1
    for _ in range(times):
        checksum = zlib.adler32(block, checksum)
    return b"\x78\x01" + one * times + z.flush() + struct.pack(">I", checksum)


def zlib_bomb(path, size, noise_bytes):
    """.debug_info that unpacks to many times its size: small units, and one of noise in every 64 KiB, which is further
    than zlib looks back."""
    table = uleb(1) + UNIT_TAG + attrs((LOW_PC, F_ADDR), (HIGH_PC, F_DATA4)) + b"\0"
    die = uleb(1) + struct.pack("<QI", CODE_AT, 64)
    block = unit(die) * (65536 // len(unit(die)))
    if noise_bytes:
        block += unit(die + os.urandom(noise_bytes))
    nr = size // len(block)
    out = zlib_repeated(block, nr)
    write_dwarf(path, (".debug_info", SHT_PROGBITS, SHF_COMPRESSED, packed(out, nr * len(block))),
                (".debug_abbrev", SHT_PROGBITS, 0, table))


def linked(path, name):
    """Without a build-id, so that only the checksum connects the debug file to the program."""
    section = name.encode() + b"\0"
    section += bytes(-len(section) % 4) + struct.pack("<I", 0x12345678)
    write_elf(path, [(".gnu_debuglink", SHT_PROGBITS, 0, section)])


def with_crc(data):
    return data + struct.pack("<I", zlib.crc32(data))


def xz_repeated(data, times):
    """An .xz file of one block that unpacks to nr copies of data; packed only once, since every copy begins with an
    empty dictionary."""
    lzma2 = {"id": lzma.FILTER_LZMA2, "preset": 0}
    chunks = lzma.compress(data, lzma.FORMAT_RAW, filters=[lzma2])[:-1] * times + b"\0"
    flags = b"\0\0"  # no checksum of the bytes
    header = with_crc(b"\x02\0" + b"\x21\x01\x18" + bytes(3))  # 12 bytes: LZMA2 with a dictionary of 16 MiB
    index = b"\0" + uleb(1) + uleb(len(header) + len(chunks)) + uleb(times * len(data))
    index = with_crc(index + bytes(-len(index) % 4))
    footer = struct.pack("<I", len(index) // 4 - 1) + flags
    return (b"\xfd7zXZ\0" + flags + struct.pack("<I", zlib.crc32(flags)) + header + chunks
            + bytes(-len(chunks) % 4) + index + struct.pack("<I", zlib.crc32(footer)) + footer + b"YZ")


def slow_symbols(path, size):
    """Symbols that a stripped file has kept, packed: six random bits in each byte are slow to unpack."""
    packed_bytes = xz_repeated(base64.b64encode(os.urandom(3 * MIB // 4)), size // MIB)
    write_elf(path, [(".gnu_debugdata", SHT_PROGBITS, 0, packed_bytes)])


def sparse_symbols(path, nr):
    write_elf(path, [(".strtab", SHT_STRTAB, 0, b"\0f\0"), (".symtab", SHT_SYMTAB, 0, Hole(24 * nr), 1, 24)])
