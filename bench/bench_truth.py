#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""bench_truth.py --new PERF_AGENT [--old PERF_AGENT] [--seconds N] [--stacks FILE] [NAME…]: how many stacks
each binary calls complete, and how many of those are, by judges that know the program's chain of
calls or ask libdw about the stopped process (tests/integration/truth.py). As a table in Markdown. The
stacks that are wrong, unsure or truncated go to FILE.

Deno, Node 24 and .NET Core are looked for below $TRUTH_TOOLS:
    npm install --prefix $TRUTH_TOOLS deno node@24
    pip download --no-deps dotnetcore2, unpacked there
Needs root. gdb writes out maps that runtimes keep buffered.
"""
import argparse
import os
import re
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../tests/integration"))
import chain_rows  # noqa: E402
import javac_truth  # noqa: E402
import truth  # noqa: E402

KINDS = ((truth.WRONG, "wrong"), (truth.UNSURE, "unsure"), (truth.TRUNCATED, "truncated"))


def report(out, name, which, v):
    for kind, text in KINDS:
        for stack, count in v.stacks[kind].most_common(4):
            print(f"{name} [{which}] {text} {count}: {stack}", file=out, flush=True)


def cells(v):
    if v is None:
        return ["–"] * 4
    c = v.counts
    return [f"{v.share(v.complete):.1%}", f"{v.share(c[truth.VERIFIED]):.1%}", str(c[truth.WRONG]),
            str(c[truth.UNSURE])]


def line(name, verdicts):
    samples = "/".join(str(v.samples) for v in verdicts)
    print("| " + " | ".join([name, samples, *[x for v in verdicts for x in cells(v)]]) + " |", flush=True)


def one_row(row, agents, args, tmp, out):
    try:
        verdicts = truth.run_row(row, [path for _, path in agents], tmp, args.seconds)
    except truth.Missing as why:
        print(f"| {row.name} | skipped: {why} |" + " |" * 4 * len(agents), flush=True)
        return
    line(row.name, verdicts)
    for (which, _), v in zip(agents, verdicts):
        report(out, row.name, which, v)


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--old")
    p.add_argument("--new", required=True)
    p.add_argument("--seconds", type=float, default=3)
    p.add_argument("--stacks", default="/dev/null")
    p.add_argument("names", nargs="*")
    args = p.parse_args()
    agents = [(which, os.path.abspath(path)) for which, path in (("old", args.old), ("new", args.new)) if path]
    head = [f"{x}, {which}" for which, _ in agents for x in ("complete", "verified", "wrong", "unsure")]
    print("| " + " | ".join(["program", "samples", *head]) + " |")
    print("|---|" + "---|" * (len(head) + 1))
    rows = [r for r in [*chain_rows.ROWS, *javac_truth.ROWS]
            if not args.names or any(re.search(n, r.name) for n in args.names)]
    with tempfile.TemporaryDirectory(prefix="truth.") as tmp, open(args.stacks, "w", encoding="utf-8") as out:
        os.chmod(tmp, 0o755)
        for row in rows:
            one_row(row, agents, args, tmp, out)


main()
