# SPDX-License-Identifier: Apache-2.0
"""Mangled names of real libraries read as c++filt reads them."""
import random
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


def d_names():
    """Made-up names of D: c++filt prints parameters and template arguments besides, which we leave out."""
    parts = ["4demo", "3fib", "1S", "5inner", "9__lambda1"]
    types = ["FZv", "FiZi", "MFZAya", "MxFNaNbNiNfZi", "FAyaPG4iDFiZvZv", "FS4demo1SZi", "FC4demo1SKmZb"]
    rng = random.Random(1)
    for _ in range(2000):
        name = "_D" + "".join(rng.choices(parts, k=rng.randrange(1, 5)))
        if rng.randrange(3) == 0:
            name += rng.choice(["FZ", "MFiZ", "FAyaZ"]) + rng.choice(parts)
        yield name + rng.choice(types)


def without_arguments(name):
    while "(" in name:
        name = re.sub(r"\([^()]*\)", "", name)
    return name.removesuffix(" const")


def check_d(tap):
    names = sorted(set(d_names()))
    run = subprocess.run(["c++filt", "-s", "dlang"], input="\n".join(names) + "\n", capture_output=True,
                         check=True, encoding="latin-1")
    compare(tap, "names of D", names, ask(["demangle"], names),
            [without_arguments(n) for n in run.stdout.split("\n")[:-1]])


def main():
    tap = Tap()
    need(tap, "readelf")
    need(tap, "c++filt")
    check_d(tap)
    for path in binaries():
        check(tap, path)
    if tap.nr == 1:
        tap.skip("needs a library with C++ names")
    tap.done()


main()
