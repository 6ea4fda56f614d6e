# SPDX-License-Identifier: Apache-2.0
"""Random addresses, and what we, eu-addr2line and llvm-symbolizer say of them: lists of frames,
innermost first, each (function, file, line)."""
import bisect
import collections
import random
import re
import shutil
import subprocess

UNKNOWN = [("??", "??", 0)]


def run(command, text=""):
    return subprocess.run(command, input=text, capture_output=True, check=True,
                          encoding="utf-8", errors="replace").stdout


def function_symbols(path):
    """(start, size, name) of every symbol of a function with a size."""
    for line in run(["readelf", "-sW", path]).splitlines():
        f = line.split()
        if len(f) > 7 and f[3] == "FUNC" and f[6] != "UND" and int(f[2], 0) > 0:
            yield int(f[1], 16), int(f[2], 0), f[7].split("@")[0]


def functions_of(path):
    """Each function once."""
    found = {(start, size): name for start, size, name in function_symbols(path)}
    return sorted((start, size, name) for (start, size), name in found.items())


def random_addresses(path, nr, seed=1):
    """Inside of functions, each byte as likely as any other: what lies between them never runs."""
    functions = functions_of(path)
    ends, total = [], 0
    for _, size, _ in functions:
        total += size
        ends.append(total)
    rng = random.Random(seed)
    found = []
    for _ in range(nr):
        at = rng.randrange(total)
        i = bisect.bisect_right(ends, at)
        found.append(functions[i][0] + at - (ends[i] - functions[i][1]))
    return found


def split_source(text):
    m = re.match(r"(.*?):(\d+)(?::\d+)?$", re.sub(r" \(discriminator \d+\)$", "", text))
    return (m[1], int(m[2])) if m else (text, 0)


def pair_up(lines):
    return [(re.sub(r" inlined at .*$", "", lines[i]), *split_source(lines[i + 1]))
            for i in range(0, len(lines) - 1, 2)]


def hexes(addresses, prefix="0x"):
    return "".join(f"{prefix}{a:x}\n" for a in addresses)


def ask_eu(path, addresses):
    answers = []
    out = run(["eu-addr2line", "-a", "-i", "-f", "-e", path], hexes(addresses))
    for line in out.splitlines():
        if re.fullmatch(r"0x[0-9a-f]+", line):
            answers.append([])
        else:
            answers[-1].append(line)
    return [pair_up(a) for a in answers]


def ask_llvm(path, addresses):
    out = run(["llvm-symbolizer", "--inlines", "--no-demangle", "-f=linkage", "-e", path],
              hexes(addresses))
    return [pair_up(block.splitlines()) for block in out.split("\n\n") if block]


def ask_us(helper, path, addresses, options=()):
    answers = []
    for line in run([helper, *options, path], hexes(addresses, "")).split("\n")[:-1]:
        frames = []
        for text in line.split("\t") if line else []:
            m = re.match(r"(.*) (\S.*):(\d+) \d+$", text)
            frames.append(("??" if m[1] == "?" else m[1], "??" if m[2] == "?" else m[2], int(m[3])))
        answers.append(frames or UNKNOWN)
    return answers


def without_outermost_name(frames):
    return frames[:-1] + [frames[-1][1:]]


def one_structor(symbol):
    """C1 and C2, D0 to D4: constructors and destructors that are aliases of each other."""
    return re.sub(r"[CD]\dE", "*E", symbol)


def is_short_form(name, symbol):
    """Whether a name of DWARF can be that of a symbol: "make" of "_ZL4makei", "f" of "f.isra.0"."""
    word = re.match(r"[~\w]+", name)
    if one_structor(name) == one_structor(symbol):
        return True
    return not word or word[0] in ("operator", "_FUN") or word[0] in symbol


# What our answer differs in where neither reference gives it whole, and why our answer is right.
REASONS = {
    "symbol": "DWARF has nothing there; llvm-symbolizer takes the file from the symbol table (STT_FILE),"
              " which is not a path",
    "outer": "llvm-symbolizer and our symbolizer name the outermost function after the symbol table (f.isra.0);"
             " DWARF has one function there",
    "folded": "the outermost function is one of several whose code was kept once: the symbol table has"
              " both names at that address",
    "eu": "eu-addr2line has another chain than the entry's call_file and call_line, which"
          " llvm-symbolizer and we follow; the outermost name is DWARF's, as eu-addr2line's is",
    "DIFFERS": "not explained",
}


def dwarf_at(path, address):
    """The entry that DWARF has for an address, in short: what justifies an answer."""
    if not shutil.which("llvm-dwarfdump"):
        return ["needs llvm-dwarfdump"]
    entry = []
    for line in run(["llvm-dwarfdump", f"--lookup={address:#x}", path]).splitlines():
        if re.match(r"0x[0-9a-f]+: +DW_TAG", line):
            entry = [line.strip()]
        elif re.search(r"DW_AT_(name|linkage_name|abstract_origin|call_file|call_line)\b", line):
            entry.append(" ".join(line.split()))
        elif (m := re.search(r"\[(0x[0-9a-f]+), (0x[0-9a-f]+)\)", line)):
            if int(m[1], 16) <= address < int(m[2], 16):
                entry.append(m[0])
        elif line.startswith("Line info"):
            entry.append(line)
    return entry or ["no unit covers it"]


def first_difference(answers):
    at = 0
    while all(at < len(a) and a[at] == answers[0][at] for a in answers):
        at += 1
    return at


class Comparison:
    """Sorts answers into classes. "same": the reference's, string for string; "other": that of the
    other of the two, where the reference is wrong: eu-addr2line asks .debug_aranges (which clang and
    rustc do not write), reads the ranges of a unit as if they had no holes, takes an inlined
    function's concrete parent for the caller in split units, or passes over an inlined function in
    another section (.text.unlikely). The rest has REASONS."""

    def __init__(self, path, reference):
        self.path = path
        self.is_by_eu = reference == "eu"
        self.start_of = {name: start for start, _, name in function_symbols(path)}
        self.classes = collections.Counter()
        self.examples = collections.defaultdict(list)

    def add(self, address, ours, eu, llvm):
        kind = self.classify(ours, eu, llvm)
        self.classes[kind] += 1
        if kind not in ("same", "other"):
            self.examples[kind].append((address, ours, eu, llvm))

    def is_folded(self, name, other):
        return name != other and name in self.start_of and self.start_of[name] == self.start_of.get(other)

    def classify(self, ours, eu, llvm):
        if ours in (eu, llvm):
            return "same" if ours == (eu if self.is_by_eu else llvm) else "other"
        if len(ours) == len(llvm) == 1 and ours[0] == (llvm[0][0], "??", 0) and llvm[0][2] == 0:
            return "symbol"
        if without_outermost_name(ours) != without_outermost_name(llvm):
            return "DIFFERS"
        if self.is_folded(ours[-1][0], llvm[-1][0]):
            return "folded"
        if not is_short_form(ours[-1][0], llvm[-1][0]):
            return "DIFFERS"
        return "eu" if self.is_by_eu else "outer"

    def share(self, *kinds):
        return sum(self.classes[k] for k in kinds) / max(1, sum(self.classes.values()))

    def show(self, nr=1):
        """By class, each with what DWARF says, and the first frame that is not the same."""
        for kind, examples in self.examples.items():
            print(f"# {kind}, {len(examples)}: {REASONS[kind]}")
            for address, *answers in examples[:nr]:
                print(f"#   {address:#x}: {'; '.join(dwarf_at(self.path, address))}"[:400])
                at = first_difference([a for a in answers if a])
                for who, frames in zip(("ours", "eu", "llvm"), answers):
                    text = frames[at] if frames and at < len(frames) else "none"
                    print(f"#     frame {at} of {len(frames or [])}, {who}: {text}"[:300])
