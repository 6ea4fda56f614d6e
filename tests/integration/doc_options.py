# SPDX-License-Identifier: Apache-2.0
"""doc_options.py PERF_AGENT SOURCE_DIR: the documents and --help list the same options."""
import pathlib
import re
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(sys.argv[2]) / "tests/oracle"))
from tap import done, ok  # noqa: E402

OPTION = re.compile(r"(?<![\w-])--[a-z][a-z-]*[a-z]")
# options of other programs that the documents mention
FOREIGN = {"--call-graph", "--perf-basic-prof", "--prefix", "--system", "--fix", "--suite", "--verbose", "--all",
           "--vm", "--bare", "--cross-file", "--buildtype", "--use-largepages", "--jit", "--max-stack", "--no-inline",
           "--use", "--benchmark", "--own", "--packages", "--libs", "--static",
           "--cflags"}
SUBCOMMANDS = ["", "report", "convert", "diff", "doctor"]


def options_of(text):
    return set(OPTION.findall(text))


def own_lines(text):
    """The text without the command lines of other programs."""
    return "\n".join(line for line in text.splitlines()
                     if not re.match(r"\s*(sudo )?(apt-get|sha256sum|tar|meson|ninja|groupadd|usermod|scripts/|\./check|jcmd|go |objcopy|curl )", line))


def main():
    agent, source = sys.argv[1], pathlib.Path(sys.argv[2])
    listed = {name: options_of(subprocess.run([agent, *name.split(), "--help"], capture_output=True, text=True,
                                              check=True).stdout) for name in SUBCOMMANDS}
    known = set().union(*listed.values())
    ok("--pid" in listed[""] and "--fail-over" in listed["diff"], "--help lists options")
    for name in ["README.md", *(str(p.relative_to(source)) for p in sorted(source.glob("docs/**/*.md"))),
                 "docs/perf-agent.1.scd"]:
        strange = options_of(own_lines((source / name).read_text())) - known - FOREIGN
        ok(not strange, f"{name} names options of --help only{''.join(' ' + x for x in sorted(strange))}")
    missing = known - options_of((source / "docs/perf-agent.1.scd").read_text())
    ok(not missing, f"docs/perf-agent.1.scd explains every option of --help{''.join(' ' + x for x in sorted(missing))}")
    done()


main()
