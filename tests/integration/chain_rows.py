# SPDX-License-Identifier: Apache-2.0
"""Programs in many languages (chains/) whose chain of calls is known, and what their stacks must be. Each row builds a
command, or says what this machine lacks for it."""
import glob
import os
import shutil
import subprocess

from truth import GLIBC_MAIN, GLIBC_THREAD, Chain, Missing

HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "chains")
C_LEVELS = ["main", "alpha", "beta", "work", "spin"]
TOOLS = os.environ.get("TRUTH_TOOLS", "")  # where `npm install --prefix` has put deno and node


class Row:
    """make(tmp): returns the command. judge: a Chain, or "stopped" for libdw's answer. thread: only threads with this
    name. warm_s: how long the program runs before it is judged. flush: gdb writes out what the program has buffered of
    its map. jcmd: jcmd requests the map. ends: functions without a caller that libdw cannot unwind. share: of its
    samples, how many must be complete and right; unsure: how many may have no verdict."""

    def __init__(self, name, make, judge, *, thread=None, by_nm=False, warm_s=0.3, flush=False, jcmd=False,
                 env=None, ends=(), share=0.0, unsure=0.05):
        self.name, self.make, self.judge, self.thread = name, make, judge, thread
        self.by_nm, self.warm_s, self.flush, self.jcmd = by_nm, warm_s, flush, jcmd
        self.env, self.ends, self.share, self.unsure = env or {}, ends, share, unsure


def source(name):
    return os.path.join(HERE, name)


def need(*names):
    for name in names:
        path = os.path.join(TOOLS, "node_modules/.bin", name) if TOOLS else ""
        path = path if os.path.exists(path) else shutil.which(name)
        if path:
            return path
    raise Missing(f"{' or '.join(names)} is not installed")


def run(argv, **kwargs):
    r = subprocess.run(argv, capture_output=True, text=True, check=False, **kwargs)
    if r.returncode != 0:
        raise Missing(f"{os.path.basename(argv[0])} failed: {(r.stderr.strip().splitlines() or ['?'])[-1][:100]}")


def compiled(tmp, what, compiler, files, *args, libs=()):
    out = os.path.join(tmp, what)
    if not os.path.exists(out):
        run([need(compiler), *args, "-o", out, *map(source, files), *libs], cwd=tmp)
    return [out]


def c_program(what, files, *args, compiler="gcc", libs=()):
    return lambda tmp: compiled(tmp, what, compiler, files, *args, libs=libs)


def chain_c(what, *args, compiler="gcc"):
    return c_program(what, ["chain.c"], "-O2", *args, compiler=compiler)


def leaf(what, asm, *args):
    def make(tmp):
        if asm.endswith(".asm"):
            obj = os.path.join(tmp, "leaf_nasm.o")
            run([need("nasm"), "-f", "elf64", "-o", obj, source(asm)])
            return compiled(tmp, what, "gcc", ["leaf.c"], *args, libs=[obj])
        return compiled(tmp, what, "gcc", ["leaf.c", asm], *args)
    return make


def rust(tmp):
    return compiled(tmp, "chain_rs", "rustc", ["chain.rs"], "-O")


def go_program(what, name, tool="go"):
    """tool: a command, or the path of another version in Debian."""
    def make(tmp):
        out = os.path.join(tmp, what)
        env = dict(os.environ, GO111MODULE="off", GOCACHE=os.path.join(tmp, "gocache"), CGO_ENABLED="1")
        if not os.path.exists(out):
            run([need(tool), "build", "-o", out, source(name)], env=env)
        return [out]
    return make


def java(*options):
    def make(tmp):
        run([need("javac"), "-d", tmp, source("Chain.java")])
        return [need("java"), *options, "-XX:CompileCommand=quiet", "-XX:CompileCommand=dontinline,Chain.*",
                "-cp", tmp, "Chain"]
    return make


def mono(tmp):
    out = os.path.join(tmp, "chain.exe")
    need("mono")
    run([need("mcs"), "-optimize+", f"-out:{out}", source("chain.cs")])
    return [need("mono"), "--jitmap", out]


def dotnet(tmp):
    """The runtime from PyPI (dotnetcore2), unpacked below TRUTH_TOOLS; compiled by mono's compiler."""
    host = next(iter(glob.glob(os.path.join(TOOLS or "/nowhere", "dotnetcore2/bin/dotnet"))), shutil.which("dotnet"))
    if not host:
        raise Missing("dotnet is not installed")
    out = os.path.join(tmp, "chain_net.exe")
    run([need("mcs"), "-optimize+", f"-out:{out}", source("chain.cs")])
    version = sorted(os.listdir(os.path.join(os.path.dirname(host), "shared/Microsoft.NETCore.App")))[-1]
    config = os.path.join(tmp, "chain_net.runtimeconfig.json")
    with open(config, "w", encoding="utf-8") as f:
        f.write('{"runtimeOptions": {"framework": {"name": "Microsoft.NETCore.App", "version": "%s"}}}' % version)
    return [host, "exec", "--runtimeconfig", config, out]


def script(interpreter, name, *options, args=()):
    return lambda _tmp: [need(*interpreter), *options, source(name), *args]


def python313(*options):
    def make(_tmp):
        found = sorted(glob.glob(os.path.expanduser("~/.pyenv/versions/3.13*/bin/python3.13")))
        path = found[0] if found else shutil.which("python3.13")
        if not path or subprocess.run([path, "--version"], capture_output=True, check=False).returncode:
            raise Missing("CPython 3.13 is not installed")
        return [path, *options, source("chain.py")]
    return make


def node24(*options):
    def make(_tmp):
        path = need("node")
        text = subprocess.run([path, "--version"], capture_output=True, text=True, check=False).stdout
        if not text.startswith("v24"):
            raise Missing("Node 24 is not installed (npm install --prefix $TRUTH_TOOLS node@24)")
        return [path, *options, source("chain.js")]
    return make


def node20(*options):
    def make(_tmp):
        path = shutil.which("node")
        if not path:
            raise Missing("node is not installed")
        return [path, *options, source("chain.js")]
    return make


def deno(tmp):
    flags = "--perf-basic-prof,--no-turbo-inlining,--no-maglev,--interpreted-frames-native-stack"
    return [need("deno"), "run", f"--v8-flags={flags}", source("chain.js")]


def sbcl(_tmp):
    return [need("sbcl"), "--noinform", "--eval", "(require :sb-posix)", "--load", source("chain.lisp"), "--eval",
            "(progn (mapc #'compile '(spin work beta alpha main)) (gc :full t) (write-map) (main))"]


V8_GLUE = r"(?:node|libnode|deno):[^;]*|(?:JS|Builtin|BytecodeHandler|Bytecode|Stub|Script|Eval|LazyCompile|Function|RegExp)\b[^;]*"
V8_OPTIONS = ["--perf-basic-prof", "--no-turbo-inlining", "--interpreted-frames-native-stack"]
V8_LEVELS = [rf"JS:[*~^+'o]*{n} [^;]*" for n in ("main", "alpha", "beta", "work", "spin")]
JVM = r"libjvm:[^;]*"
JAVA_BELOW = GLIBC_THREAD + rf"(?:{JVM};)+StubRoutines[^;]*;"
JAVA_OUTER = [r"Interpreter|void java\.lang\.Thread\.run\(\)", r"Interpreter|void Chain\.run\(\)"]
# On a busy machine a method may not be compiled yet.
JAVA_LEVELS = JAVA_OUTER + [rf"Interpreter|long Chain\.{n}\(long\)" for n in ("alpha", "beta", "work", "spin")]
JAVA_ABOVE = rf"{JVM}|libc:[^;]*|\[vdso\]:[^;]*|[^;]*(?:Stub|Blob|stub|adapter|Runtime)[^;]*"


# Before its first call: when a method is compiled otherwise depends on what else the machine does.
COMPILED = ["-Xcomp", "-XX:CompileOnly=Chain"]


def java_row(name, *options, warm_s=4.0, **kwargs):
    return Row(name, java(*options), Chain(JAVA_BELOW, JAVA_LEVELS, above=JAVA_ABOVE), thread="chain", jcmd=True,
               warm_s=warm_s, **kwargs)


ASM_LEVELS = ["main", "alpha", "beta", "work", "call_leaf", "asm_leaf"]
FP = ["-O2", "-fno-omit-frame-pointer", "-mno-omit-leaf-frame-pointer"]
BARE = ["-fno-asynchronous-unwind-tables", "-fno-unwind-tables"]
MUSL_MAIN = r"(?:\w+:)?_start;(?:(?:\w+:)?_start_c;)?(?:(?:[\w-]+:)?\w*libc_start_main\w*;){0,2}"
# Each function but the last jumps to the next; if musl is a shared library, the last one has no symbol.
MUSL_LIB_MAIN = r"_start;libc:[^;]*;"
C_MAIN = Chain(GLIBC_MAIN, C_LEVELS)
ASM = Chain(GLIBC_MAIN, ASM_LEVELS)
PYTHON = r"(?:python[\d.]*|libpython[\d.]*):[^;]*"
PYTHON_CHAIN = Chain(r"python[\d.]*:" + GLIBC_MAIN + rf"(?:{PYTHON};)+(?:py::<module>:[^;]*;(?:{PYTHON};)+)?",
                     [rf"py::{n}:[^;]*" for n in ("main", "alpha", "beta", "work", "spin")],
                     between=PYTHON, above=PYTHON + "|(?:libc|ld-linux-x86):[^;]*")
# with what finds a thread's variables, which libruby calls
RUBY = r"(?:(?:ruby[\d.]*|libruby[\d.-]*):[^;]*|ld-linux[\w-]*:__tls_get_addr)"
MONO = r"mono[\w-]*:[^;]*"
NET = r"(?:libcoreclr|dotnet|libhostpolicy|libhostfxr|libstdc\+\+|libc):[^;]*"
PHP = r"php[\d.]*:[^;]*"
PHP_JIT = ["-d", "opcache.enable_cli=1", "-d", "opcache.jit=function", "-d", "opcache.jit_buffer_size=16M",
           "-d", "opcache.jit_debug=0x10"]
# Compiled functions run in the frame that execute_ex has set up for the first of them.
PHP_CHAIN = Chain(r"php[\d.]*:" + GLIBC_MAIN + rf"(?:{PHP};)+?", [r"php[\d.]*:execute_ex", r"(?!\w+[\w.]*:)[^;]*"],
                  above=PHP + "|opcache:[^;]*")
NET_ENV = {"COMPlus_PerfMapEnabled": "1", "DOTNET_SYSTEM_GLOBALIZATION_INVARIANT": "1"}
NET_CHAIN = Chain(r"dotnet:[^;]*;libc:[^;]*;libc:[^;]*;" + rf"(?:{NET};)+(?:[^;]*\[PreStub\][^;]*;|\?;)*",
                  [rf"[^;]*Chain::{n}\b[^;]*" for n in ("Main", "Alpha", "Beta", "Work", "Spin")], above=NET)

# What the runtime does for a goroutine, above its levels; and what it does without any goroutine.
GO_ABOVE = r"(?!{0}:(?:main\.|c_|again|crosscall2|_cgoexp))[^;]*|{0}:main\.deep"
GO_LEAVES = r"{0}:runtime\.(?:schedule|goschedImpl|park_m|goexit0|gdestroy|exitsyscall0|preemptPark)(?:\.abi0)?;"
GO_ALSO = (r"{0}:runtime\.goexit[^;]*;{0}:runtime\.main;{0}:main\.main;(?:(?!{0}:main\.)[^;]*;)*"
           r"|{0}:runtime\.goexit[^;]*;(?:{0}:main\.main\.\w+;)?(?:(?!{0}:main\.)[^;]*;)*"
           r"|(?:{0}:(?:runtime\.(?:mstart|rt0_go)|_rt0_)|libc:)[^;]*;(?:(?!{0}:main\.)[^;]*;)*"
           r"|{0}:runtime\.(?:mcall|morestack)(?:\.abi0)?;(?:{0}:runtime\.[^;]*;)*" + GO_LEAVES + r"(?:(?!{0}:main\.)[^;]*;)*")
GO_C = [rf"{{0}}:{name}(?:\.abi0)?" for name in (r"main\._Cfunc_c_outer", r"runtime\.cgocall", r"runtime\.asmcgocall(?:\.abi0;{0}:_cgo_\w+)?", "c_outer",
                                       "c_inner", "again", "crosscall2", r"runtime\.cgocallback",
                                       r"runtime\.cgocallbackg(?:\.abi0)?(?:;{0}:runtime\.cgocallbackg1?)*;{0}:_cgoexp_\w+_again", r"main\.again")]


def go_rows(version, tool):
    def row(name, what, levels, callers, share):
        words = [text.replace("{0}", what + version) for text in (r"{0}:runtime\.goexit(?:\.abi0)?;", *levels, GO_ABOVE, GO_ALSO)]
        return Row(f"Go{version.replace('_', ' ')}{name}", go_program(what + version, what + ".go", tool),
                   Chain(words[0], words[1:-2], above=words[-2], also=words[-1], callers=callers),
                   share=share)

    return [
        row("", "chain", [r"{0}:runtime\.main", *[rf"{{0}}:main\.{n}" for n in ("main", "alpha", "beta", "work", "spin")]], (), 0.95),
        row(", stacks that grow", "grow", [r"(?:{0}:main\.main\.\w+;)?{0}:main\.alpha", r"{0}:main\.rec(?:;{0}:main\.rec)*"], (0,), 0.6),
        row(", callbacks from C", "callback", [r"{0}:main\.main\.func1;{0}:main\.alpha", *GO_C, *GO_C, r"{0}:main\.spin"], (10, 20), 0.8),
    ]


GO_TOOLS = [("", "go"), ("_1.19", "/usr/lib/go-1.19/bin/go")]

ROWS = [
    Row("C", chain_c("c"), C_MAIN, by_nm=True, share=0.95),
    Row("C, judged by libdw", chain_c("c"), "stopped", by_nm=True, share=0.95),
    Row("C, a thread", chain_c("c_thread", "-DIN_THREAD", "-pthread"),
        Chain(GLIBC_THREAD, ["begin", *C_LEVELS[1:]]), by_nm=True, share=0.95),
    Row("C in libc (memset)", chain_c("c_libc", "-DIN_LIBC"),
        Chain(GLIBC_MAIN, C_LEVELS[:4], above="libc:[^;]*"), by_nm=True, share=0.95),
    Row("C, a frame of 140 KB", chain_c("c_big", "-DBIG_FRAME=140000"), C_MAIN, by_nm=True, share=0.9),
    Row("C, short calls", chain_c("c_short", "-DTURNS=3"), C_MAIN, by_nm=True, share=0.95),
    Row("C without tables, frame pointers", chain_c("c_bare_fp", *BARE, *FP), C_MAIN, by_nm=True, share=0.9),
    Row("C without tables, frame pointers, short calls", chain_c("c_bare_fp_short", "-DTURNS=3", *BARE, *FP), C_MAIN,
        by_nm=True, share=0.9),
    Row("C without tables, no frame pointers", chain_c("c_bare", *BARE), C_MAIN, by_nm=True, share=0.9),
    Row("C without tables, no frame pointers, short calls", chain_c("c_bare_short", "-DTURNS=3", *BARE), C_MAIN,
        by_nm=True, share=0.9),
    Row("C without tables, stale return addresses", chain_c("c_bare_stale", "-DSTALE", "-DTURNS=2000", *BARE),
        Chain(GLIBC_MAIN, ["main", "endless", *C_LEVELS[1:]]), by_nm=True),
    Row("C++ with exceptions", c_program("cc", ["chain.cc"], "-O2", compiler="g++"),
        Chain("cc:" + GLIBC_MAIN, ["cc:main", *[rf"cc:(?:level::)?{n}\([^;]*" for n in C_LEVELS[1:]]],
              above=r"(?:libstdc\+\+|libgcc_s|libc|ld-linux-x86):[^;]*", callers=(2, 3, 4)), share=0.95),
    Row("Rust", rust, Chain("chain_rs:" + GLIBC_MAIN + r"chain_rs:main;(?:chain_rs:std::[^;]*;)+",
                            [rf"chain_rs:chain::{n}" for n in ("main", "alpha", "beta", "work", "spin")]), share=0.95),
    *[row for version, tool in GO_TOOLS for row in go_rows(version, tool)],
    Row("asm leaf, frame pointers", leaf("leaf_fp", "leaf_gas.S", *FP), ASM, by_nm=True, share=0.9),
    Row("asm leaf that pushes, frame pointers", leaf("leaf_fp_push", "leaf_gas.S", "-DPUSHES", *FP), ASM,
        by_nm=True, share=0.9),
    Row("asm leaf, no frame pointers", leaf("leaf_nofp", "leaf_gas.S", "-O2"), ASM, by_nm=True, share=0.9),
    Row("asm leaf with stale return addresses, frame pointers", leaf("leaf_fp_stale", "leaf_gas.S", "-DSTALE", *FP), ASM,
        by_nm=True, share=0.9),
    Row("asm leaf with stale return addresses, no frame pointers", leaf("leaf_nofp_stale", "leaf_gas.S", "-DSTALE", "-O2"),
        ASM, by_nm=True, share=0.9),
    Row("nasm leaf", leaf("leaf_nasm", "leaf.asm", "-O2"), ASM, by_nm=True, share=0.9),
    Row("JIT of our own, frame pointers", c_program("jit_fp", ["jit.c"], *FP),
        Chain(GLIBC_MAIN, ["main", "alpha", "beta", "work", "hop", "jit_outer", "jit_leaf"]), by_nm=True, share=0.9),
    Row("JIT of our own, no frame pointers", c_program("jit_nofp", ["jit.c"], "-O2"),
        Chain(GLIBC_MAIN, ["main", "alpha", "beta", "work", "hop", "jit_outer", "jit_leaf"]), by_nm=True, share=0.9),
    Row("gmp", c_program("gmp", ["gmp.c"], "-O2", libs=["-lgmp"]),
        Chain(GLIBC_MAIN, ["main", "alpha", "work", "<stub>|libgmp:__gmpz_(?:mul|add)"], above="<stub>|libgmp:[^;]*|libc:[^;]*"),
        by_nm=True, share=0.9),
    Row("musl static", chain_c("musl_static", "-static", compiler="musl-gcc"), Chain(MUSL_MAIN, C_LEVELS), by_nm=True,
        share=0.9),
    Row("musl dynamic", chain_c("musl_dynamic", compiler="musl-gcc"), Chain(MUSL_LIB_MAIN, C_LEVELS), by_nm=True,
        share=0.9),
    Row("musl static in libc (memset)", chain_c("musl_static_libc", "-static", "-DIN_LIBC", compiler="musl-gcc"),
        Chain(MUSL_MAIN, C_LEVELS[:4] + ["memset"]), by_nm=True, share=0.9),
    Row("musl dynamic in libc (memset)", chain_c("musl_dynamic_libc", "-DIN_LIBC", compiler="musl-gcc"),
        Chain(MUSL_LIB_MAIN, C_LEVELS[:4], above=r"(?:ld-musl[^:]*|libc):[^;]*"), by_nm=True, share=0.9),
    # Its assertions are hlt instructions in the middle of functions, which must not be taken for the end of a stack.
    Row("musl static in libc (malloc)", chain_c("musl_static_malloc", "-static", "-DIN_MALLOC", compiler="musl-gcc"),
        Chain(MUSL_MAIN, C_LEVELS[:4], above=r"(?!(?:main|alpha|beta|work|spin);)\w+"),
        by_nm=True, share=0.9),
    Row("musl static, a thread", chain_c("musl_thread", "-static", "-DIN_THREAD", "-pthread", compiler="musl-gcc"),
        Chain(r"__clone;start;", ["begin", *C_LEVELS[1:]]), by_nm=True, share=0.9),
    Row("Fortran, a frame of 200 KB", c_program("fortran", ["big.f90"], "-O2", "-fno-inline", compiler="gfortran"),
        Chain(GLIBC_MAIN + "main;", ["MAIN__", *[f"__levels_MOD_{n}" for n in ("alpha", "beta", "work", "spin")]]),
        by_nm=True, share=0.9),
    Row("ucontext fibers", c_program("fibers_c", ["fibers.c"], "-O2"),
        Chain(r"libc:[^;]*;", ["begin", *C_LEVELS[1:]],  # or on its way from one fiber to the next
              also=GLIBC_MAIN + r"main;(?:libc:_*(?:get|make|swap)context;)?"),
        by_nm=True, share=0.9),
    Row("boost.context fibers", c_program("fibers_cc", ["fibers.cc"], "-O2", compiler="g++",
                                          libs=["-lboost_context"]),
        Chain(r"libboost_context:(?:make_fcontext|trampoline|finish)[^;]*;(?:fibers_cc:[^;]*boost::context::[^;]*;)+",
              [rf"fibers_cc:{n}\(.*\)" for n in ("alpha", "beta", "work", "spin")],  # or main makes or frees one
              also="fibers_cc:" + GLIBC_MAIN + r"fibers_cc:main;(?:(?!fibers_cc:(?:alpha|beta|work|spin)\()[^;]*;)*"),
        share=0.9),
    Row("PHP", script(["php"], "chain.php"), "stopped", share=0.9),
    Row("PHP JIT", script(["php"], "chain.php", *PHP_JIT), PHP_CHAIN, warm_s=1),
    Row("PHP fibers", script(["php"], "chain.php", args=["fiber"]), "stopped", ends=["make_fcontext"], share=0.9),
    Row("Ruby", script(["ruby"], "chain.rb"), "stopped", warm_s=1, share=0.9),
    Row("Ruby fibers", script(["ruby"], "chain.rb", args=["fiber"]), "stopped", warm_s=1, share=0.9),
    Row("Ruby --yjit", script(["ruby"], "chain.rb", "--yjit"),
        Chain(r"ruby[\d.]*:" + GLIBC_MAIN + rf"(?:{RUBY};)+?", [r"libruby:rb_vm_exec", r"\?"], above=RUBY), warm_s=2, share=0.9),
    Row("SBCL", sbcl, Chain("sbcl:" + GLIBC_MAIN + r"(?:sbcl:[^;]*;)+(?:(?:\?|sbcl.core:[^;]*);)*",
                            ["main", "alpha", "beta", "work", "spin"], above=r"\?|sbcl(?:.core)?:[^;]*"), warm_s=3,
        share=0.8),
    Row("Mono", mono, Chain(r"mono[\w-]*:" + GLIBC_MAIN + rf"(?:{MONO};)+(?:[^;]*wrapper[^;]*;)*",
                            [rf"[^;]*Chain:{n}\b[^;]*" for n in ("Main", "Alpha", "Beta", "Work", "Spin")],
                            above=MONO), warm_s=1, flush=True, share=0.9),
    Row(".NET Core", dotnet, NET_CHAIN, warm_s=2, thread="dotnet", env=NET_ENV, share=0.9),
    Row(".NET Core, optimized", dotnet, NET_CHAIN, warm_s=2, thread="dotnet",
        env=dict(NET_ENV, COMPlus_TieredCompilation="0"), share=0.9),
    java_row("Java C1", *COMPILED, "-XX:TieredStopAtLevel=1", share=0.9),
    java_row("Java C2", *COMPILED, "-XX:-TieredCompilation", share=0.9),
    # All its frames have the same name. If a stack never returns, each missing frame shows; if it returns, it has fewer
    # frames at times.
    Row("Java -Xint", java("-Xint", "-Dturns=1000000000000"), Chain(JAVA_BELOW, ["Interpreter"] * 6, above=JAVA_ABOVE, least=6),
        thread="chain", jcmd=True, warm_s=1.0, share=0.9),
    Row("Java -Xint, short calls", java("-Xint", "-Dturns=3"), Chain(JAVA_BELOW, ["Interpreter"] * 6, above=JAVA_ABOVE, least=2),
        thread="chain", jcmd=True, warm_s=1.0),
    java_row("Java +PreserveFramePointer", "-XX:+PreserveFramePointer", share=0.95),
    java_row("Java +PreserveFramePointer, short calls", "-XX:+PreserveFramePointer", "-Dturns=3",
             share=0.9),
    java_row("Java C1, short calls", "-XX:TieredStopAtLevel=1", "-Dturns=3"),
    java_row("Java C2, short calls", "-Dturns=3", warm_s=8.0),
    java_row("Java C1 +PreserveFramePointer", "-XX:+PreserveFramePointer", "-XX:TieredStopAtLevel=1",
             share=0.9),
    Row("Node 20", node20(*V8_OPTIONS), Chain(rf"node:_start;(?:libc:[^;]*;){{2}}(?:(?:{V8_GLUE});)+?", V8_LEVELS,
                                              between=r"node:Builtins_[^;]*|Builtin:[^;]*", above=V8_GLUE + "|libc:[^;]*"), warm_s=2, share=0.9),
    Row("Node 24", node24(*V8_OPTIONS, "--no-maglev"),
        Chain(rf"node:_start;(?:libc:[^;]*;){{2}}(?:(?:{V8_GLUE});)+?", V8_LEVELS,
              between=r"node:Builtins_[^;]*|Builtin:[^;]*", above=V8_GLUE + "|libc:[^;]*"), warm_s=2, share=0.9),
    Row("Deno", deno, Chain(rf"(?:deno:[^;]*;)?(?:libc:[^;]*;){{2}}(?:(?:{V8_GLUE});)+?", V8_LEVELS,
                            between=r"deno:[^;]*|Builtin:[^;]*", above=V8_GLUE + "|libc:[^;]*"), warm_s=3, thread="deno", share=0.9),
    Row("Python 3.13 -X perf", python313("-X", "perf"), PYTHON_CHAIN, warm_s=1, share=0.9),
    Row("Python 3.13 -X perf_jit", python313("-X", "perf_jit"), PYTHON_CHAIN, warm_s=1, flush=True, share=0.9),
    # libdw sees too few moments to observe every path through the interpreter.
    Row("Python 3.13", python313(), "stopped", warm_s=1, share=0.8, unsure=0.2),
]
