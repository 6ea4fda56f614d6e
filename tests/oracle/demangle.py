# SPDX-License-Identifier: Apache-2.0
"""Mangled names of real libraries read as c++filt reads them."""
import re
import subprocess

from names_common import Tap, ask, binaries, compare, need, output_of


def mangled_names(path):
    names = set()
    for line in output_of("readelf", "-sW", path).splitlines():
        m = re.search(r" (_Z[^ @]+)", line)
        if m and len(m.group(1)) <= 1024:  # c++filt gives up on longer ones
            names.add(m.group(1))
    return sorted(names)


def check(tap, path):
    names = mangled_names(path)
    if not names:
        return
    run = subprocess.run(["c++filt", "--no-verbose"], input="\n".join(names) + "\n",
                         capture_output=True, check=True, encoding="latin-1")
    compare(tap, path.rsplit("/", 1)[-1], names, ask(["demangle"], names),
            run.stdout.split("\n")[:-1])


def main():
    tap = Tap()
    need(tap, "readelf")
    need(tap, "c++filt")
    for path in binaries():
        check(tap, path)
    if tap.nr == 0:
        tap.skip("needs a library with C++ names")
    tap.done()


main()
