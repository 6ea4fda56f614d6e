# SPDX-License-Identifier: Apache-2.0
"""A second reader of pprof files: it shares no code with the agent, only the published format."""
import gzip


def _varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if not byte & 0x80:
            return value, at
        shift += 7


def _fields(data):
    """(number, value) pairs of one message: ints for varints, bytes for the rest."""
    at = 0
    while at < len(data):
        key, at = _varint(data, at)
        if key & 7 == 0:
            value, at = _varint(data, at)
        elif key & 7 == 2:
            size, at = _varint(data, at)
            value, at = data[at:at + size], at + size
            assert len(value) == size, "a field ends after its message"
        else:
            raise ValueError(f"wire type {key & 7} is not used by profile.proto")
        yield key >> 3, value


def _ints(value):
    """A repeated integer: packed or single."""
    if isinstance(value, int):
        return [value]
    out, at = [], 0
    while at < len(value):
        one, at = _varint(value, at)
        out.append(one)
    return out


def _signed(value):
    return value - (1 << 64) if value >> 63 else value


class Message:
    """A message with its fields as attributes; repeated ones are lists."""

    def __init__(self, data, singles, ints=(), messages=()):
        names = dict(singles)
        int_names, message_names = dict(ints), {n: (a, c) for n, a, c in messages}
        for name in names.values():
            setattr(self, name, 0)
        for name in int_names.values():
            setattr(self, name, [])
        for name, _ in message_names.values():
            setattr(self, name, [])
        for number, value in _fields(data):
            if number in names:
                setattr(self, names[number], value)
            elif number in int_names:
                getattr(self, int_names[number]).extend(_ints(value))
            elif number in message_names:
                name, make = message_names[number]
                getattr(self, name).append(make(value))


def _value_type(data):
    return Message(data, {1: "type", 2: "unit"})


def _label(data):
    return Message(data, {1: "key", 2: "str", 3: "num", 4: "num_unit"})


def _sample(data):
    return Message(data, {}, {1: "location_id", 2: "value"}, [(3, "label", _label)])


def _mapping(data):
    return Message(data, {1: "id", 2: "memory_start", 3: "memory_limit", 4: "file_offset",
                          5: "filename", 6: "build_id", 7: "has_functions", 8: "has_filenames",
                          9: "has_line_numbers", 10: "has_inline_frames"})


def _line(data):
    return Message(data, {1: "function_id", 2: "line"})


def _location(data):
    return Message(data, {1: "id", 2: "mapping_id", 3: "address", 5: "is_folded"}, {},
                   [(4, "line", _line)])


def _function(data):
    return Message(data, {1: "id", 2: "name", 3: "system_name", 4: "filename", 5: "start_line"})


class Frame:
    def __init__(self, profile, location):
        mapping = profile.mappings.get(location.mapping_id)
        self.address = location.address
        self.mapping = mapping
        self.path = profile.str(mapping.filename) if mapping else ""
        self.build_id = profile.str(mapping.build_id) if mapping else ""
        functions = [profile.functions[line.function_id] for line in location.line]
        self.functions = [f.id for f in functions]  # innermost first
        self.names = [profile.str(f.name) for f in functions]
        self.name = self.names[0] if self.names else ""
        self.function = self.names[-1] if self.names else ""  # the function that the others are inlined into
        self.system_name = profile.str(functions[0].system_name) if functions else ""
        self.filename = profile.str(functions[0].filename) if functions else ""
        self.start_line = functions[0].start_line if functions else 0
        self.line = location.line[0].line if location.line else 0
        # A name that is just an address: 0x…, or file+0x…
        self.is_named = bool(self.name) and not self.name.startswith("0x") and "+0x" not in self.name


class Sample:
    def __init__(self, profile, sample):
        self.frames = [profile.frame(i) for i in sample.location_id]  # leaf first
        self.values = [_signed(v) for v in sample.value]
        self.count = self.values[0]
        self.labels = {profile.str(l.key): profile.str(l.str) if l.str else _signed(l.num)
                       for l in sample.label}

    def names(self):
        """Function names, leaf first, inlined ones included."""
        return [name for frame in self.frames for name in frame.names]


class Profile:
    def __init__(self, path):
        with gzip.open(path) as f:
            data = f.read()
        m = Message(data, {7: "drop_frames", 8: "keep_frames", 9: "time_nanos", 10: "duration_nanos",
                           12: "period", 14: "default_sample_type"},
                    {13: "comment"},
                    [(1, "sample_type", _value_type), (2, "sample", _sample),
                     (3, "mapping", _mapping), (4, "location", _location),
                     (5, "function", _function), (6, "string", bytes), (11, "period_type", _value_type)])
        self.strings = [s.decode("utf-8", "surrogateescape") for s in m.string]
        self.sample_types = [(self.str(t.type), self.str(t.unit)) for t in m.sample_type]
        self.default_sample_type = self.str(m.default_sample_type)
        self.period = m.period
        self.period_type = [(self.str(t.type), self.str(t.unit)) for t in m.period_type]
        self.time_nanos, self.duration_nanos = m.time_nanos, m.duration_nanos
        self.comments = [self.str(c) for c in m.comment]
        self.mapping_list = m.mapping
        self.mappings = {x.id: x for x in m.mapping}
        self.locations = {x.id: x for x in m.location}
        self.functions = {x.id: x for x in m.function}
        self._frames = {}
        self.samples = [Sample(self, s) for s in m.sample]

    def str(self, index):
        return self.strings[index]

    def frame(self, location_id):
        if location_id not in self._frames:
            self._frames[location_id] = Frame(self, self.locations[location_id])
        return self._frames[location_id]

    def total(self, value=0):
        return sum(s.values[value] for s in self.samples)
