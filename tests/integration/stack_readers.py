# SPDX-License-Identifier: Apache-2.0
"""Reads the stacks of each output format, and converts those of a pprof profile of the same capture to what the format
must contain. Shares no code with the agent, only the published formats."""
import collections
import json
import re

SHOWN = {"on-cpu": 0, "off-cpu": 1}  # the value shown by formats with one value per stack: samples, nanoseconds
MARKS = {"[kernel]": "_[k]", "[jit]": "_[j]"}


def folded_line(line):
    """(elements, count) of one line: the count follows the last space, and names have no ';'."""
    text, count = line.rsplit(" ", 1)
    return tuple(text.split(";")), int(count)


def read_folded(path, _kind=None):
    """Values by (comm, outermost frame, …, leaf)."""
    with open(path, encoding="utf-8", newline="\n") as f:
        text = f.read()
    if text and not text.endswith("\n"):
        raise ValueError("the last line is not complete")
    rows = [folded_line(line) for line in text.split("\n")[:-1]]
    texts = [";".join(stack).encode() for stack, _ in rows]
    if texts != sorted(texts):
        raise ValueError("the lines are not sorted by their bytes")
    stacks = collections.Counter()
    for stack, count in rows:
        if stack in stacks:
            raise ValueError(f"two lines of one stack: {stack}")
        stacks[stack] = count
    return stacks


def folded_name(profile, frame, function):
    """Generated code is followed by the file of its script."""
    name = profile.str(function.name)
    script = profile.str(function.filename).rsplit("/", 1)[-1] if frame.path == "[jit]" else ""
    return f"{name or '[unknown]'}{'' if script in name else f' ({script})'}".replace(";", ":")


def folded_frames(profile, frame):
    """How one location appears in folded stacks, outermost function first."""
    mark = MARKS.get(frame.path, "")
    if not frame.functions:
        return [f"0x{frame.address:x}{mark}"]
    *inlined, outermost = [folded_name(profile, frame, profile.functions[i]) for i in frame.functions]
    return [outermost + mark, *(name + "_[i]" for name in reversed(inlined))]


def folded_of(profile, value):
    stacks = collections.Counter()
    for s in profile.samples:
        frames = [name for frame in reversed(s.frames) for name in folded_frames(profile, frame)]
        stacks[(str(s.labels.get("comm", "[unknown]")).replace(";", ":"), *frames)] += s.values[value]
    return stacks


def flame_stacks(data, profile):
    """The frames of each node of the page's tree, outermost first: (name, kind of code, is inlined)."""
    functions = [data["functions"][i:i + 5] for i in range(0, len(data["functions"]), 5)]
    frames = [data["frames"][i:i + 3] for i in range(0, len(data["frames"]), 3)]
    stacks, path = [()], [()]
    for step in profile["tree"]:
        if step < 0:
            del path[step:]
            continue
        function, _line, is_inlined = frames[step]
        name, _file, _module, _start, kind = functions[function]
        path.append((*path[-1], (data["strings"][name], kind, bool(is_inlined))))
        stacks.append(path[-1])
    return stacks


def read_flame_page(path, kind):
    """Values by (labels, frames) of one profile of the page."""
    with open(path, encoding="utf-8") as f:
        data = json.loads(re.search(r'<script[^>]* id="?data"?[^>]*>(.*?)</script>', f.read(), re.S)[1])
    profile = next(v["profile"] for v in data["views"] if data["strings"][v["name"]] == kind)
    if profile["left_out"]["samples"]:
        raise ValueError("stacks are left out")
    stacks, values, node = flame_stacks(data, profile), profile["values"][SHOWN.get(kind, 0)], 0
    if not isinstance(values, list):
        values = [values * x for x in profile["values"][0]]
    found = collections.Counter()
    for step, labels, value in zip(profile["nodes"], profile["sets"], values, strict=True):
        node += step
        words = [data["strings"][i] for i in profile["labels"][labels]]
        found[frozenset(zip(words[::2], words[1::2])), stacks[node]] += value
    return found


def flame_kind(path, name, source):
    """0 user, 1 kernel, 2 generated, 3 Python, as numbered in docs/flame-graph.md."""
    if path != "[kernel]" and (name.startswith("py::") or source.endswith(".py")):
        return 3
    return {"[kernel]": 1, "[jit]": 2}.get(path, 0)


def flame_frames(profile, frame):
    """The functions at one location, outermost first."""
    functions = [profile.functions[i] for i in frame.functions]
    found = [(profile.str(f.name), profile.str(f.filename)) for f in functions] or [(f"0x{frame.address:x}", "")]
    return [(name, flame_kind(frame.path, name, source), i > 0) for i, (name, source) in enumerate(reversed(found))]


def flame_page_of(profile, value):
    found = collections.Counter()
    for s in profile.samples:
        frames = tuple(f for frame in reversed(s.frames) for f in flame_frames(profile, frame))
        found[frozenset((key, str(x)) for key, x in s.labels.items()), frames] += s.values[value]
    return found


def identities_of(profile, frame):
    """What identifies the functions at one location, innermost first: (name, file, has no symbol, …). Code of a file
    without symbols is one function; generated code is identified by its place in the source."""
    for function in [profile.functions[i] for i in frame.functions] or [None]:
        name = profile.str(function.name) if function else ""
        if not name or re.fullmatch(r"0x[0-9a-f]+", name):
            path = frame.path or "[unknown]"
            yield "[no symbol]" if path.startswith("/") else path, path, True, None
        elif frame.path == "[jit]":
            yield name, frame.path, False, profile.str(function.filename) or None, function.start_line
        else:
            yield name, frame.path or "[unknown]", False, None, function.system_name


def functions_of(profile):
    """How many functions have this name, file and source, and these numbers of samples, self and total. Two functions of
    the same name may be different."""
    own, total = collections.Counter(), collections.Counter()
    for s in profile.samples:
        functions = [identity for frame in s.frames for identity in identities_of(profile, frame)]
        own.update({function: s.count for function in functions[:1]})
        total.update({function: s.count for function in set(functions)})
    return collections.Counter((*identity[:4], own[identity], total[identity]) for identity in total)


def read_functions(summary):
    return collections.Counter((f["name"], f["file"], f["is_unnamed"], f["source"], f["nr_self"], f["nr_total"])
                               for f in summary["functions"])


def labels_of(profile, *labels):
    counts = collections.Counter()
    for s in profile.samples:
        counts[tuple(s.labels.get(label, "[unknown]") for label in labels)] += s.count
    return counts
