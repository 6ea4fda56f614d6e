# SPDX-License-Identifier: Apache-2.0
"""A second reader of perf.data: reads the records themselves, without perf. It shares no code with the agent, only the
format (perf.data-file-format.txt of the kernel)."""
import bisect
import collections
import struct

MMAP2, SAMPLE = 10, 9
IP, TID, TIME, CALLCHAIN, ID, CPU, PERIOD, IDENTIFIER = 1, 2, 4, 32, 64, 128, 256, 1 << 16
BEFORE_CHAIN = (IDENTIFIER, IP, TID, TIME, 8, ID, 512, CPU, PERIOD)  # eight bytes each, in this order
FIRST_KERNEL = 1 << 63
FIRST_CONTEXT = (1 << 64) - 4095  # markers between kernel and user frames, not addresses


def _records(data):
    assert data[:8] == b"PERFILE2"
    attrs_at, _attrs_size, at, size = struct.unpack_from("<4Q", data, 24)
    sample_type = struct.unpack_from("<Q", data, attrs_at + 24)[0]
    end = at + size
    while at < end:
        kind, _misc, length = struct.unpack_from("<IHH", data, at)
        yield kind, sample_type, data[at + 8:at + length]
        at += length


def _sample(sample_type, body):
    fields, at = {}, 0
    for bit in BEFORE_CHAIN:
        if sample_type & bit:
            fields[bit] = struct.unpack_from("<Q", body, at)[0]
            at += 8
    count = struct.unpack_from("<Q", body, at)[0]
    chain = [ip for ip in struct.unpack_from(f"<{count}Q", body, at + 8) if ip < FIRST_CONTEXT]
    return fields[TID] & 0xffffffff, fields[TID] >> 32, fields[TIME], chain


def _mapping(sample_type, body):
    pid, _tid, start, size, offset = struct.unpack_from("<IIQQQ", body, 0)
    path = body[64:].split(b"\0", 1)[0].decode().removesuffix(" (deleted)")
    time = struct.unpack_from("<Q", body, len(body) - 8 * _nr_behind(sample_type) + 8)[0]
    return pid, time, start, start + size, offset, path


def _nr_behind(sample_type):
    """Words of the sample ID that ends each record: TID and TIME come first."""
    return sum(bool(sample_type & bit) for bit in (TID, TIME, ID, 512, CPU, IDENTIFIER))


def place(ip, mappings):
    """(file, offset) of an address; of several mappings the last one counts."""
    for start, end, offset, path in mappings:
        if start <= ip < end and path.startswith("/") and not path.startswith("//"):
            return path, ip - start + offset
    return "", ip


def _by_rest(stacks):
    """Offsets of innermost user frames by everything else in their stacks, sorted."""
    found = collections.defaultdict(list)
    for (pid, tid, chain), count in stacks.items():
        user = next((i for i, (_, at) in enumerate(chain) if at < FIRST_KERNEL), len(chain))
        where, at = chain[user] if user < len(chain) else (None, 0)
        found[pid, tid, chain[:user], where, chain[user + 1:]] += [at] * count
    return {rest: sorted(offsets) for rest, offsets in found.items()}


def settled(theirs, ours):
    """The stacks of a pprof profile with the innermost user addresses of the perf.data file if those are the same or
    one more. The files do not say which of the two is right: exact, as after an interrupt, or not, as after a system
    call."""
    ours, found = _by_rest(ours), collections.Counter()
    for rest, offsets in _by_rest(theirs).items():
        raw = ours.get(rest, [])
        if len(raw) == len(offsets) and all(a - b in (0, 1) for a, b in zip(raw, offsets)):
            offsets = raw
        pid, tid, head, where, tail = rest
        for at in offsets:
            found[pid, tid, head if where is None else (*head, (where, at), *tail)] += 1
    return found


def read_perf_data(path, _kind=None):
    """Number of samples by (pid, tid, places from the leaf on)."""
    with open(path, "rb") as f:
        data = f.read()
    samples, mappings = [], collections.defaultdict(list)
    for kind, sample_type, body in _records(data):
        if kind == SAMPLE:
            samples.append(_sample(sample_type, body))
        elif kind == MMAP2:
            pid, time, *mapping = _mapping(sample_type, body)
            bisect.insort(mappings[pid], (time, *mapping))
    found = collections.Counter()
    for pid, tid, time, chain in samples:
        known = [m[1:] for m in reversed(mappings[pid]) if m[0] <= time]
        found[pid, tid, tuple(place(ip, known) for ip in chain)] += 1
    return found


def perf_data_of(profile, _value):
    """Number of samples of a pprof profile, in which the address of a caller is inside the call: one less than the
    return address. The innermost user frame is left as it is, for settled()."""
    found = collections.Counter()
    for s in profile.samples:
        chain, innermost = [], next((i for i, f in enumerate(s.frames) if f.path != "[kernel]"), 0)
        for i, frame in enumerate(s.frames):
            base = frame.mapping.memory_start - frame.mapping.file_offset if frame.path.startswith("/") else 0
            chain.append((frame.path.removesuffix(" (deleted)") if base else "", frame.address + (i not in (0, innermost)) - base))
        found[s.labels["pid"], s.labels["tid"], tuple(chain)] += s.count
    return found
