# SPDX-License-Identifier: Apache-2.0
"""dwarf.py HELPER CORRUPT PROG_DIR [--all]: lines and inline chains as eu-addr2line -i -f and
llvm-symbolizer give them, for a C++ program built in many ways, a Rust one, and libpython.

Without --all some of the ways and 300 addresses each; with it all of them and 2,000."""
import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile

from dwarf_common import REASONS, Comparison, ask_eu, ask_llvm, ask_us, random_addresses, run
import tap

HELPER, CORRUPT, PROG_DIR = sys.argv[1:4]
IS_ALL = "--all" in sys.argv
ADDRESSES = 2000 if IS_ALL else 300
DAMAGED = 10000 if IS_ALL else 2000
MAX_DIFFERENT = 0.005
# Of a few addresses those that eu-addr2line gets wrong may be more. GCC's split units and link-time
# optimization are left out where they are asked: DWARF names the outermost function there.
LIMITED = [kind for kind in REASONS if IS_ALL or kind != "eu"]

# Those that are built each time; the others are like them.
QUICK = ("g++ DWARF 5", "g++ DWARF 4", "g++ LTO", "g++ split DWARF 4", "clang++ DWARF 4",
         "clang++ split DWARF 5")

# name, compiler, flags, what answers: eu-addr2line needs .debug_aranges, so for clang's output, split
# units and link-time optimization llvm-symbolizer is the reference.
VARIANTS = [
    ("g++ DWARF 5", "g++", ["-gdwarf-5"], "eu"),
    ("g++ DWARF 4", "g++", ["-gdwarf-4"], "eu"),
    ("g++ DWARF 3", "g++", ["-gdwarf-3"], "eu"),
    ("g++ DWARF 2", "g++", ["-gdwarf-2"], "eu"),
    ("g++ fixed address", "g++", ["-no-pie"], "eu"),
    ("g++ sections dropped", "g++", ["-ffunction-sections", "-Wl,--gc-sections"], "eu"),
    ("g++ zlib", "g++", ["-gz=zlib"], "eu"),
    ("g++ zstd", "g++", ["-gz=zstd"], "eu"),
    ("g++ .zdebug", "g++", ["-gz=zlib-gnu"], "eu"),
    ("g++ type units", "g++", ["-fdebug-types-section"], "eu"),
    ("g++ LTO", "g++", ["-flto"], "llvm"),
    ("g++ split DWARF 5", "g++", ["-gdwarf-5", "-gsplit-dwarf"], "llvm"),
    ("g++ split DWARF 4", "g++", ["-gdwarf-4", "-gsplit-dwarf"], "llvm"),
    ("clang++ DWARF 5", "clang++", ["-gdwarf-5"], "llvm"),
    ("clang++ DWARF 4", "clang++", ["-gdwarf-4"], "llvm"),
    ("clang++ lines only", "clang++", ["-gline-tables-only"], "llvm"),
    ("clang++ -O0", "clang++", ["-O0"], "llvm"),
    ("clang++ sections dropped", "clang++", ["-ffunction-sections", "-Wl,--gc-sections"], "llvm"),
    ("clang++ split DWARF 5", "clang++", ["-gdwarf-5", "-gsplit-dwarf"], "llvm"),
    ("clang++ split DWARF 4", "clang++", ["-gdwarf-4", "-gsplit-dwarf"], "llvm"),
]


def build(compiler, flags, directory):
    """In the directory, so that split units are named relative to it. False: not with this compiler."""
    os.makedirs(directory)
    common = [compiler, "-O2", "-g", "-std=c++17", *flags]
    objects = []
    for name in ("main", "shapes"):
        objects.append(f"{name}.o")
        if subprocess.run([*common, "-c", f"{PROG_DIR}/{name}.cc", "-o", objects[-1]], cwd=directory,
                          stderr=subprocess.PIPE).returncode:
            return False
    return subprocess.run([*common, *objects, "-o", "prog"], cwd=directory,
                          stderr=subprocess.PIPE).returncode == 0


def check(name, path, reference="eu", options=(), of=None, limited=LIMITED,
          is_by_both=False):
    """of: the file that the others are asked about, when ours is split over two. limited: classes of
    differences that must be rare. is_by_both: eu-addr2line is asked although it is not the reference."""
    asked = random_addresses(of or path, ADDRESSES)
    # llvm-symbolizer prefers symbols for the outermost function, where our symbolizer does, too.
    ours = ask_us(HELPER, path, asked, [*options, *(["-s"] if reference == "llvm" else [])])
    eu = ask_eu(of or path, asked) if reference == "eu" or is_by_both else [None] * len(asked)
    llvm = ask_llvm(of or path, asked)
    found = Comparison(of or path, reference)
    for answer in zip(asked, ours, eu, llvm, strict=True):
        found.add(*answer)
    known = sum(len(frames) > 1 for frames in ours)
    tap.ok(found.share(*limited) <= MAX_DIFFERENT and known > 0,
           f"{name}: {dict(found.classes)}, {known} of {len(asked)} with inlined functions")
    if IS_ALL or found.classes["DIFFERS"]:
        found.show()


def check_variants(root):
    for name, compiler, flags, reference in VARIANTS:
        if not IS_ALL and name not in QUICK:
            continue
        directory = os.path.join(root, name.replace(" ", "_"))
        if not shutil.which(compiler):
            tap.skip(f"{name}: needs {compiler}")
        elif not build(compiler, flags, directory):
            tap.skip(f"{name}: {compiler} does not know {' '.join(flags)}")
        elif name == "clang++ -O0":
            check_flat(name, os.path.join(directory, "prog"))
        else:
            check(name, os.path.join(directory, "prog"), reference,
                  limited=["DIFFERS"] if (compiler, reference) == ("g++", "llvm") else LIMITED)


def check_flat(name, path):
    asked = random_addresses(path, ADDRESSES)
    same = sum(o == t for o, t in zip(ask_us(HELPER, path, asked), ask_llvm(path, asked)))
    tap.ok(same >= len(asked) * 0.97, f"{name}: {same} of {len(asked)} (start-up code has no DWARF)")


def check_dwp(root):
    for version in (4, 5) if IS_ALL else (5,):
        name, source = f"packed DWARF {version}", os.path.join(root, f"clang++_split_DWARF_{version}")
        if not shutil.which("llvm-dwp") or not os.path.exists(f"{source}/prog"):
            tap.skip(f"{name}: needs llvm-dwp and clang++")
            continue
        directory = source + "_packed"
        shutil.copytree(source, directory)
        subprocess.run(["llvm-dwp", "-e", "prog", "-o", "prog.dwp"], cwd=directory, check=True)
        # What is in the package must do; the others are asked where the .dwo files still are.
        asked = random_addresses(f"{source}/prog", ADDRESSES)
        reference = ask_us(HELPER, f"{source}/prog", asked)
        for dwo in glob.glob(f"{source}/*.dwo"):
            os.rename(dwo, dwo + ".away")
        tap.ok(ask_us(HELPER, f"{directory}/prog", asked) == reference,
               f"{name}: the same as from the .dwo files")
        tap.ok(ask_us(HELPER, f"{source}/prog", asked) != reference,
               f"{name}: which are what it was read from")


def check_other_dwo(root):
    """A .dwo file of another build: lines stay, which are the program's own, functions do not."""
    source = os.path.join(root, "clang++_split_DWARF_5")
    if not os.path.exists(f"{source}/prog"):
        tap.skip("split DWARF of another build: needs clang++")
        return
    asked, old, part = random_addresses(f"{source}/prog", 200), {}, os.path.join(root, "info.dwo")
    before = ask_us(HELPER, f"{source}/prog", asked)
    for dwo in glob.glob(f"{source}/*.dwo"):
        old[dwo] = open(dwo, "rb").read()
        subprocess.run(["objcopy", "--dump-section", f".debug_info.dwo={part}", dwo], check=True)
        info = bytearray(open(part, "rb").read())
        info[12] ^= 0xff  # of dwo_id: behind length, version, type, address size and abbreviations
        at = old[dwo].find(open(part, "rb").read())
        open(dwo, "wb").write(old[dwo][:at] + info + old[dwo][at + len(info):])
    after = ask_us(HELPER, f"{source}/prog", asked)
    tap.ok(any(len(a) > 1 for a in before) and all(len(a) < 2 for a in after)
           and sum(a[0][2] > 0 for a in after if a) > 100,
           "a .dwo file with another dwo_id is not believed, and lines are the program's")
    for dwo, content in old.items():
        open(dwo, "wb").write(content)


def check_separate(root):
    prog = os.path.join(root, "g++_DWARF_5", "prog")
    if not os.path.exists(prog):
        tap.skip("separate debug file: needs g++")
        return
    stripped = prog + ".stripped"
    subprocess.run(["objcopy", "--strip-all", prog, stripped], check=True)
    for compression in ("zlib", "zstd"):
        debug = f"{prog}.{compression}"
        if subprocess.run(["objcopy", "--only-keep-debug", f"--compress-debug-sections={compression}",
                           prog, debug], stderr=subprocess.PIPE).returncode:
            tap.skip(f"separate debug file: objcopy cannot do {compression}")
            continue
        check(f"separate debug file, {compression}", stripped, options=["-d", debug], of=prog)


def check_dwz(root):
    if not shutil.which("dwz"):
        tap.skip("dwz: needs dwz")
        return
    sources = [os.path.join(root, f"g++_DWARF_{v}", "prog") for v in (4, 5)]
    copies = [s + ".dwz" for s in sources]
    for version, source, copy in zip((4, 5), sources, copies):
        shutil.copy(source, copy)
        subprocess.run(["dwz", copy], check=True)
        check(f"dwz DWARF {version}", copy)
    # Two files that share what dwz moves into a third.
    for version, source in ((4, sources[0]), (5, sources[1])):
        pair = [f"{source}.{i}" for i in "ab"]
        alt = f"{source}.alt"
        for p in pair:
            shutil.copy(source, p)
        subprocess.run(["dwz", "-m", alt, *pair], check=True)
        check(f"dwz with a common file, DWARF {version}", pair[0], options=["-a", alt], of=source)


def enclosing(names):
    """The functions in which lambdas stand; "" for none, where GCC has the variable that holds it. Not
    templates of which a lambda is an argument."""
    found = (re.match(r"(?:auto )?(?:([^<]*?)::)?(?:\{lambda|\$_\d)", name) for name in names)
    return {(m[1] or "").replace("global_lambda", "") for m in found if m}


def check_lambdas(root):
    """Where every lambda has a symbol, it says where it stands; inlined ones must say the same."""
    for compiler in ("g++", "clang++"):
        if not shutil.which(compiler):
            tap.skip(f"lambdas: needs {compiler}")
            continue
        for options in (["-O0"], ["-O2", "-g"]):
            subprocess.run([compiler, *options, "-std=c++17", f"{PROG_DIR}/lambdas.cc", "-o", f"{root}/lambdas{options[0]}"],
                           check=True)
        symbols = run(["nm", "-C", f"{root}/lambdas-O0"]).splitlines()
        expected = enclosing(line.split(" ", 2)[2] for line in symbols if "::operator()" in line)
        prog = f"{root}/lambdas-O2"
        names = {frame[0] for frames in ask_us(HELPER, prog, random_addresses(prog, 4000), ["-r"]) for frame in frames}
        found = enclosing(name for name in names if "::operator()" in name)
        tap.ok(found == expected and len(expected) >= 4, f"{compiler}: lambdas stand in {found}, and should in {expected}")
        bare = [name for name in names if re.match(r"operator\(\)|_FUN|~?<lambda", name)]
        tap.ok(not bare, f"{compiler}: none is just {bare[:3] or 'operator()'}")


def check_damaged(root):
    files = [f"{root}/{name}/prog" for name in ("g++_DWARF_5", "g++_DWARF_4", "clang++_DWARF_4")]
    files = [f for f in files if os.path.exists(f)]
    if not files:
        tap.skip("damaged files: needs g++ or clang++")
        return
    run = subprocess.run([CORRUPT, str(DAMAGED), *files], stdout=subprocess.PIPE, encoding="utf-8")
    print("".join(f"# {line}\n" for line in run.stdout.splitlines()), end="")
    tap.ok(run.returncode == 0, f"{DAMAGED} damaged files")


def check_rust(root):
    source = os.path.join(root, "hot.rs")
    if not shutil.which("rustc"):
        tap.skip("Rust: needs rustc")
        return
    shutil.copy(os.path.join(PROG_DIR, "hot.rs"), source)
    prog = os.path.join(root, "rust")
    if subprocess.run(["rustc", "-O", "-g", "-o", prog, source], stderr=subprocess.PIPE).returncode:
        tap.skip("Rust: rustc cannot build here")
        return
    check("Rust", prog, "llvm", is_by_both=True)


def check_python():
    paths = glob.glob(os.path.expanduser("~/.pyenv/versions/3.12*/lib/libpython3.12.so.1.0"))
    if not paths:
        tap.skip("libpython: needs one of 3.12 with debug information (pyenv)")
        return
    check("libpython", paths[0])


def main():
    for tool in ("eu-addr2line", "llvm-symbolizer", "readelf", "objcopy"):
        if not shutil.which(tool):
            tap.skip(f"needs {tool}")
            tap.done()
    with tempfile.TemporaryDirectory() as root:
        check_variants(root)
        check_separate(root)
        check_dwz(root)
        check_rust(root)
        check_other_dwo(root)
        check_dwp(root)
        check_lambdas(root)
        check_damaged(root)
    check_python()
    tap.done()


main()
