# SPDX-License-Identifier: Apache-2.0
"""Stacks reported as complete are complete: judges that share no heuristic with the walker (truth.py) find no frame too
many or too few in any stack without the label `truncated`."""
import os
import platform

import chain_rows
import truth
from harness import AGENT, PROGS, done, need_root, note, ok, skip, workdir

MIN_SAMPLES = 60
# Exact-frames programs that run until they are stopped, judged by libdw.
STOPPED = ["ring", "variable", "realigned", "tail", "no_return"]


def check_judge():
    """A judge that accepts every stack would pass all tests below."""
    chain = chain_rows.ROWS[0].judge
    start = "_start;libc:a;libc:b;"
    for stack, expected in ((start + "main;alpha;beta;work;spin;", truth.VERIFIED),
                            (start + "main;alpha;beta;work;", truth.VERIFIED),
                            (start + "main;alpha;beta;spin;", truth.WRONG),
                            (start + "main;alpha;beta;work;work;spin;", truth.WRONG),
                            ("libc:a;libc:b;main;alpha;beta;work;spin;", truth.WRONG),
                            ("_start;", truth.WRONG), (start + "main;alpha;beta;work;spin;other;", truth.WRONG)):
        ok(chain.judge(stack) == expected, f"{stack} is {expected}")


def judged(row, tmp):
    for seconds in (1, 3, 9):
        v = truth.run_row(row, [AGENT], tmp, seconds)[0]
        if v.samples >= MIN_SAMPLES:
            break
    return v


def check(row, tmp):
    try:
        v = judged(row, tmp)
    except truth.Missing as why:
        skip(f"{row.name}: {why}")
        return
    c = v.counts
    for kind in (truth.WRONG, truth.UNSURE, truth.TRUNCATED):
        for stack, count in v.stacks[kind].most_common(2):
            note(f"{kind} {count}: {stack}")
    ok(v.samples >= MIN_SAMPLES and not c[truth.WRONG],
       f"{row.name}: of {v.samples} samples {v.complete} are called complete, {c[truth.WRONG]} of them are wrong")
    ok(c[truth.UNSURE] <= row.unsure * v.samples, f"{row.name}: {c[truth.UNSURE]} cannot be judged")
    if row.share:
        ok(c[truth.VERIFIED] >= row.share * v.samples, f"{row.name}: {c[truth.VERIFIED]} are complete and right")


need_root()
check_judge()
if platform.machine() != "x86_64":
    skip("the programs that are judged are x86-64's")
    done()
tmp = workdir()
os.chmod(tmp, 0o755)
for row in chain_rows.ROWS:
    check(row, tmp)
for name in STOPPED:
    check(chain_rows.Row(f"{name}, judged by libdw", lambda _tmp, path=os.path.join(PROGS, "frames", name): [path],
                         "stopped", share=0.95), tmp)
done()
