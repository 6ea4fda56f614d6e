# SPDX-License-Identifier: Apache-2.0
"""Lines and inlined functions are in the profile, and readers show them."""
import os

from go_pprof import has_pprof, pprof
from harness import PROGS, agent_until, done, end, need_root, note, ok, prog, skip, workdir

SOURCE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "progs", "lines.c")
MIN_SAMPLES = 200


def line_of(text):
    with open(SOURCE) as f:
        return next(i for i, line in enumerate(f, 1) if text in line)


def check_location(p, frame):
    """Whether a frame is the chain of stir() in fold() in hot(), each with its lines."""
    lines = p.locations[frame].line
    functions = [p.functions[line.function_id] for line in lines]
    starts = [line_of(f"{name}() begins here") for name in ("stir", "fold", "hot")]
    return ([p.str(f.name) for f in functions] == ["stir", "fold", "hot"]
            and all(p.str(f.filename).endswith("progs/lines.c") for f in functions)
            and [f.start_line for f in functions] == starts
            and [line.line for line in lines[1:]] == [line_of("stir() called here"),
                                                      line_of("fold() called here")]
            and starts[0] <= lines[0].line <= line_of("return v;"))


need_root()
tmp = workdir()
folded = os.path.join(tmp, "out.folded")
target = prog("lines", 300)
run = agent_until(MIN_SAMPLES, tmp, "--pid", target.pid, "-F", 499, "--folded-output", folded)
end(target)
p = run.profile
chains = {i for i in p.locations if check_location(p, i)}
counts = {True: 0, False: 0}
for s in p.samples:
    leaf = next(i for i in p.locations if p.frame(i) is s.frames[0])
    counts[leaf in chains] += s.count
share = counts[True] / max(1, p.total())
ok(share > 0.9, f"{share:.3f} of the samples are in stir(), inlined into fold(), inlined into hot()")
hottest = {line.line for i in chains for line in p.locations[i].line[:1]}
ok(line_of("stirred here") in hottest, "on the line that does the work")
mapping = next(m for m in p.mapping_list if p.str(m.filename) == os.path.join(PROGS, "lines"))
ok(mapping.has_functions and mapping.has_filenames and mapping.has_line_numbers
   and mapping.has_inline_frames, "the mapping says that it has all of that")
with open(folded) as f:
    stacks = f.read().splitlines()
inlined = sum(int(s.rsplit(" ", 1)[1]) for s in stacks if ";main;hot;fold_[i];stir_[i] " in s)
ok(inlined > 0.8 * p.total(), f"folded stacks show inlined functions as frames with _[i] ({inlined})")
if not has_pprof():
    skip("go tool pprof is not installed")
else:
    listing = pprof("-list=^stir$", run.profile_path)
    hot = [line for line in listing.splitlines() if "stirred here" in line]
    ok(hot and not hot[0].lstrip().startswith(". "), "go tool pprof -list counts on the source line")
    ok("stir (inline)" in pprof("-peek=^fold$", run.profile_path), "go tool pprof -peek shows inlined functions")
    note("\n".join(hot))
done()
