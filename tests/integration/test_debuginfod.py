# SPDX-License-Identifier: Apache-2.0
"""Stripped programs resolved by debug files, found on this machine or fetched from a real debuginfod server; and
servers, caches and debug files that are broken or hostile."""
import os
import re
import shutil
import signal
import socket
import subprocess
import time
import urllib.request

from bad_debuginfod import BadServer
from harness import (agent, done, end, finish_agent, need_root, no_mount_namespace, note, ok, private_cache,
                     skip, start_agent, wait_for, wait_for_sampling, workdir)

HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "workloads")
PAD_BYTES = 300_000


def sh(*argv, **kwargs):
    subprocess.run([str(a) for a in argv], check=True, capture_output=True, **kwargs)


class Target:
    """A stripped program, its separate debug file, and its hottest stack."""

    def __init__(self, tmp, name, built, outer, inner, inlined, source):
        self.name, self.outer, self.inner, self.inlined, self.source = (name, outer, inner, inlined,
                                                                        source)
        self.folder = os.path.join(tmp, name)
        self.path = os.path.join(self.folder, name)
        self.debug = os.path.join(tmp, "served", name + ".debug")
        for folder in (self.folder, os.path.dirname(self.debug)):
            os.makedirs(folder, exist_ok=True)
        sh("objcopy", "--only-keep-debug", built, self.debug)
        sh("strip", "-o", self.path, built)
        text = subprocess.run(["readelf", "-nSW", self.path], capture_output=True, text=True).stdout
        self.build_id = re.search(r"Build ID: (\w+)", text).group(1)
        self.stubs = [(int(at, 16), int(size, 16))
                      for at, size in re.findall(r"\.plt\S* +PROGBITS +\w+ (\w+) (\w+)", text)]

    def start(self, seconds=60):
        """Running, with its file deleted."""
        copy = os.path.join(self.folder, "run")
        shutil.copy(self.path, copy)
        p = subprocess.Popen([copy, str(seconds)])
        wait_for(lambda: os.path.exists(f"/proc/{p.pid}/exe")
                 and os.readlink(f"/proc/{p.pid}/exe") == copy, "the program to run")
        os.unlink(copy)
        return p

    def entry(self, cache):
        return os.path.join(cache, ".build-id", self.build_id[:2], self.build_id[2:] + ".debug")

    def lines(self, mark):
        with open(self.source) as f:
            return {i for i, text in enumerate(f, 1) if f"// {mark}" in text}


def build_c(tmp, name="c_prog", flags=(), pad=0):
    source = os.path.join(HERE, "stripped.c")
    built = os.path.join(tmp, name + ".built")
    sh("gcc", "-g", "-O2", "-Wl,--build-id", *flags, "-o", built, source)
    t = Target(tmp, name, built, "stripped_outer", "stripped_inner", "stripped_inlined", source)
    if pad:
        with open(os.path.join(tmp, "pad"), "wb") as f:
            f.write(os.urandom(pad))
        sh("objcopy", "--add-section", f".pad={tmp}/pad", t.debug)
    return t


def build_rust(tmp):
    if not shutil.which("rustc"):
        return "rustc is not installed"
    source, built = os.path.join(HERE, "stripped.rs"), os.path.join(tmp, "rust.built")
    sh("rustc", "-g", "-O", "-C", "link-arg=-Wl,--build-id", "-o", built, source)
    return Target(tmp, "rust_prog", built, "main", "stripped_inner", "stripped_inlined", source)


def build_go(tmp):
    if not shutil.which("go"):
        return "go is not installed"
    source, built = os.path.join(HERE, "busy.go"), os.path.join(tmp, "go.built")
    sh("go", "build", "-ldflags=-compressdwarf=false -B 0x" + os.urandom(20).hex(), "-o", built,
       source, env=dict(os.environ, GO111MODULE="off",
                        GOCACHE=os.environ.get("GOCACHE", os.path.join(tmp, "gocache"))))
    return Target(tmp, "go_prog", built, "main.main", "main.fib", None, source)


class Debuginfod:
    """The real server, with a directory of debug files."""

    def __init__(self, folder, targets):
        with socket.socket() as s:
            s.bind(("127.0.0.1", 0))
            port = s.getsockname()[1]
        self.url = f"http://127.0.0.1:{port}"
        env = {k: v for k, v in os.environ.items() if k != "DEBUGINFOD_URLS"}
        self.process = subprocess.Popen(
            ["debuginfod", "-p", str(port), "-d", ":memory:", "-F", folder],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=env)
        self.looked = time.monotonic()
        for t in targets:
            wait_for(lambda t=t: self.has(t) or self.look_again(), f"debuginfod to know {t.name}", 60)

    def look_again(self):
        """A scan of the directory that ended early is completed only by the next one, an hour later: requests one."""
        time.sleep(0.2)
        if time.monotonic() - self.looked > 5:
            self.looked = time.monotonic()
            self.process.send_signal(signal.SIGUSR1)
        return False

    def has(self, t):
        try:
            with urllib.request.urlopen(f"{self.url}/buildid/{t.build_id}/debuginfo") as r:
                return r.status == 200
        except OSError:
            return False

    def stop(self):
        end(self.process)


def counts(run):
    return {x["name"]: x["count"] for x in run.summary["fetches"]}


def frames_of(run, p):
    """Frames of the samples of a process in its own program, the running one first."""
    return [[f for f in s.frames if f.path.endswith(("/run", "_prog"))]
            for s in run.profile.samples if s.labels.get("pid") == p.pid]


def is_stub(f, t):
    """Whether a frame lies in the PLT, which no symbol covers."""
    at = f.address - f.mapping.memory_start + f.mapping.file_offset
    return any(start <= at < start + size for start, size in t.stubs)


def is_named(run, p, t):
    """Whether all code of the program has symbols, including the functions of its hottest stack."""
    stacks = frames_of(run, p)
    unnamed = {f.name for frames in stacks for f in frames if not f.is_named and not is_stub(f, t)}
    hot = [s for s in ([n for f in frames for n in f.names] for frames in stacks)
           if any(t.inner in n for n in s) and any(t.outer in n for n in s)]
    if unnamed or not hot:
        note(f"{t.name}: {len(stacks)} stacks, {len(hot)} as expected, without names: {unnamed}")
    return hot and not unnamed


def is_raw(run, p, t):
    names = [n for frames in frames_of(run, p) for f in frames for n in f.names]
    return names and not any(t.inner in n or t.outer in n for n in names)


def check_lines(run, p, t):
    """Lines and inlined functions of the innermost frames."""
    inner = [f for frames in frames_of(run, p) for f in frames if t.inner in f.names[-1]]
    leaves = [f for f in inner if (t.inlined or t.inner) in f.names[0]]
    if t.inlined:
        ok(leaves, f"{t.name}: the inlined function is there, in the one that it was inlined into")
    wrong = [f for f in leaves if f.line not in t.lines("inlined line" if t.inlined else "fib line")]
    ok(leaves and len(wrong) <= 0.1 * len(leaves),
       f"{t.name}: its lines are those of the source"
       + (f", but {wrong[0].line}" if wrong else ""))
    filename = {run.profile.str(run.profile.functions[f.functions[0]].filename) for f in leaves}
    ok(filename and all(x.endswith(os.path.basename(t.source)) for x in filename),
       f"{t.name}: its file is that of the source: {filename}")


def profile(tmp, processes, *args, seconds=1, **kwargs):
    """A run over these processes with samples of each: a busy machine may need longer."""
    for _ in range(3):
        run = agent(tmp, "-F", 499, "-d", f"{seconds}s", "-p",
                    ",".join(str(p.pid) for p in processes), *args, **kwargs)
        if run.profile and all(frames_of(run, p) for p in processes):
            break
        seconds *= 3
    return run


def test_real_server(tmp, targets):
    cache = os.path.join(tmp, "cache")
    server = Debuginfod(os.path.join(tmp, "served"), targets)
    processes = [t.start() for t in targets]
    run = profile(tmp, processes, "-v", "--debuginfod-url", server.url, "--symbol-cache-dir", cache)
    ok(run.status == 0 and counts(run).get("fetched") == len(targets),
       f"every debug file is fetched: {counts(run)}")
    for t, p in zip(targets, processes):
        ok(is_named(run, p, t), f"{t.name}: stripped and deleted, its functions are named")
        check_lines(run, p, t)
        ok(os.path.exists(t.entry(cache)), f"{t.name}: its debug file is in the cache")
    ok(run.summary["fetched_bytes"] > 0 and "fetched from a server" in run.stderr
       and "asking for its debug information" in run.stderr, "the report and the messages say so")
    mine = os.path.join(private_cache(), "debuginfo")
    run = profile(tmp, processes[:1], seconds=0.5, env=os.environ | {"DEBUGINFOD_URLS": server.url})
    ok(counts(run).get("fetched") == 1 and os.path.exists(targets[0].entry(mine)),
       "by default fetched files are kept in the user's cache directory")
    server.stop()
    run = profile(tmp, processes, "--debuginfod-url", server.url, "--symbol-cache-dir", cache)
    ok(run.status == 0 and counts(run).get("cached") == len(targets)
       and not run.summary["fetched_bytes"], f"without the server, from the cache: {counts(run)}")
    for t, p in zip(targets, processes):
        ok(is_named(run, p, t), f"{t.name}: named from the cache")
    run = profile(tmp, processes[:1])
    ok(run.status == 0 and not run.summary["fetches"] and is_raw(run, processes[0], targets[0]),
       "without a server in arguments or environment, neither servers nor cache are used")
    ok("--debuginfod-url" in str(run.summary["unnamed"]), "without a server, the advice is --debuginfod-url")
    for p in processes:
        end(p)


def size_of(folder):
    return sum(os.path.getsize(os.path.join(d, f)) for d, _, files in os.walk(folder) for f in files)


def test_cap_and_two_agents(tmp, targets):
    """Three files of 300 kB, of which two fit into the cache."""
    cache = os.path.join(tmp, "small")
    server = Debuginfod(os.path.join(tmp, "served"), targets)
    processes = [t.start() for t in targets]
    args = ["--debuginfod-url", server.url]
    run = profile(tmp, processes, *args, "--symbol-cache-dir", cache, "--symbol-cache-max", "700000")
    ok(counts(run).get("fetched") == 3 and run.summary["nr_cache_evicted"] == 1,
       f"one of three leaves a cache for two: {counts(run)}")
    ok(size_of(cache) <= 700000, f"the cache keeps its size ({size_of(cache)} bytes)")
    ok(all(is_named(run, p, t) for t, p in zip(targets, processes)),
       "all programs have symbols although one file was evicted")
    cache = os.path.join(tmp, "shared")
    folders = [os.path.join(tmp, x) for x in "ab"]
    for folder in folders:
        os.mkdir(folder)
    pids = ",".join(str(p.pid) for p in processes)
    runs = [start_agent(f, "-F", 499, "-d", "3s", "-p", pids, *args, "--symbol-cache-dir", cache)
            for f in folders]
    runs = [finish_agent(r) for r in runs]
    fetched = [counts(r).get("fetched", 0) for r in runs]
    ok(sum(fetched) == 3 and all(sum(counts(r).values()) == 3 for r in runs),
       f"two agents at once fetch each file once ({[counts(r) for r in runs]})")
    ok(all(is_named(r, p, t) for r in runs for t, p in zip(targets, processes)
           if frames_of(r, p)), "two agents at once both resolve all symbols")
    ok(not os.listdir(os.path.join(cache, ".tmp")), "two agents at once leave no temporary files in the cache")
    server.stop()
    for p in processes:
        end(p)


def test_bad_servers(tmp, t, other):
    p = t.start()
    cases = [("hang", "timeout", "timed out"), ("404", "not_found", "unknown to the server"),
             ("500", "server_failed", "HTTP 500"),
             (other.debug, "wrong_file", "sent a file with another build-id"),
             ("garbage", "wrong_file", "sent a file with another build-id"),
             ("endless", "too_large", "larger than the cache may be"),
             ("half", "server_failed", "broke off")]
    for i, (how, result, reason) in enumerate(cases):
        cache = os.path.join(tmp, f"bad{i}")
        args = ("--symbol-cache-dir", cache, "--symbol-fetch-timeout",
                "1s" if how == "hang" else "30s", "--symbol-cache-max", "2M")
        with BadServer(how) as server:
            began = time.monotonic()
            run = profile(tmp, [p], "--debuginfod-url", server.url, *args, seconds=0.5)
            took = time.monotonic() - began
            how = os.path.basename(how)
            ok(run.status == 0 and counts(run) == {result: 1} and server.nr_requests,
               f"{how}: {counts(run)}, {took:.1f} s in all")
            check_blame(run, how, server.name, reason)
            ok(is_raw(run, p, t), f"{how}: the answer gives no symbols")
            ok(size_of(cache) < PAD_BYTES and not os.listdir(os.path.join(cache, ".tmp")),
               f"{how}: the cache keeps nothing of it")
            if result in ("not_found", "wrong_file"):
                asked = server.nr_requests
                run = profile(tmp, [p], "--debuginfod-url", server.url, *args, seconds=0.5)
                ok(counts(run) == {"remembered": 1} and server.nr_requests == asked,
                   f"{how}: the server is not asked again soon")
    run = profile(tmp, [p], "--debuginfod-url", "http://127.0.0.1:1", "--symbol-cache-dir",
                  os.path.join(tmp, "none"), seconds=0.5)
    ok(run.status == 0 and counts(run) == {"server_failed": 1}, f"no server: {counts(run)}")
    check_blame(run, "no server", "127.0.0.1:1", "connection refused")
    end(p)


def check_blame(run, how, server, reason):
    failures = [(f["server"], f["text"]) for f in run.summary["fetch_failures"]]
    ok(len(failures) == 1 and failures[0][0] == server and reason in failures[0][1],
       f"{how}: the summary has the server and the reason ({failures})")
    ok(f"{server}: 1 file: {failures[0][1] if failures else reason}" in run.stderr,
       f"{how}: the report has the server and the reason")


def test_tls(tmp, t):
    """A certificate without a trusted issuer, and a server that does not speak TLS."""
    p = t.start()
    pem = os.path.join(tmp, "own.pem")
    servers = [("no TLS", BadServer("404"))]
    if shutil.which("openssl"):
        sh("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", pem + ".key", "-out",
           pem, "-days", "2", "-subj", "/CN=localhost")
        with open(pem, "a") as to, open(pem + ".key") as key:
            to.write(key.read())
        servers.append(("own certificate", BadServer("404", pem)))
    else:
        skip("a server with a certificate of its own: openssl is not installed")
    for how, server in servers:
        with server:
            args = ("--symbol-cache-dir", os.path.join(tmp, f"tls {how}"), "--debuginfod-url",
                    server.url.replace("http:", "https:"))
            for attempt in ("", ", also when asked again"):
                run = profile(tmp, [p], *args, seconds=0.5)
                ok(run.status == 0 and counts(run) == {"server_failed": 1},
                   f"{how}: that is not 'unknown to the servers'{attempt}: {counts(run)}")
            check_blame(run, how, server.name, "TLS or certificate error")
    end(p)


def test_no_client(tmp, t):
    """A libdebuginfod that cannot be loaded has the same effect as one that is not installed."""
    p = t.start()
    libs = os.path.join(tmp, "libs")
    os.mkdir(libs)
    with open(os.path.join(libs, "libdebuginfod.so.1"), "w") as f:
        f.write("no library")
    run = profile(tmp, [p], "--debuginfod-url", "http://127.0.0.1:1", "--symbol-cache-dir",
                  os.path.join(tmp, "unasked"), seconds=0.5,
                  env=dict(os.environ, LD_LIBRARY_PATH=libs))
    ok(run.status == 0 and counts(run) == {"no_client": 1}, f"no libdebuginfod: {counts(run)}")
    ok("apt install libdebuginfod1" in run.stderr, "no libdebuginfod: the report says what to install")
    said = [i for i, x in enumerate(run.stderr.splitlines()) if "libdebuginfod is not installed" in x]
    began = [i for i, x in enumerate(run.stderr.splitlines()) if "profiling " in x]
    ok(said and began and said[0] < began[0], "no libdebuginfod: a warning before the capture says what to install")
    end(p)


def finish_soon(p):
    """An agent that should end now; otherwise it would go on fetching for an hour."""
    try:
        return finish_agent(p, 30)
    except subprocess.TimeoutExpired:
        p.kill()
        raise


def test_interrupt(tmp, t):
    """A server that never answers, with a timeout far longer than this test."""
    p = t.start()
    with BadServer("hang") as server:
        args = ("-F", 499, "-d", "1s", "-p", p.pid, "--debuginfod-url", server.url,
                "--symbol-fetch-timeout", "1h")
        for sig, more, status in ((signal.SIGINT, (), 0), (signal.SIGTERM, (), 0),
                                  (signal.SIGINT, ("--symbol-fail-closed",), 3)):
            cache = os.path.join(tmp, "interrupted")
            asked = server.nr_requests
            run = start_agent(tmp, *args, *more, "--symbol-cache-dir", cache)
            wait_for(lambda: server.nr_requests > asked, "the server to be asked")
            run.send_signal(sig)
            run = finish_soon(run)
            ok(run.status == status and counts(run) == {"interrupted": 1} and frames_of(run, p),
               f"{sig.name} {more}: what is fetched is not waited for, and all is written "
               f"({run.status}, {counts(run)})")
            ok("not waited for" in str(run.summary["unnamed"]) and not run.summary["fetch_failures"],
               f"{sig.name}: the report says why names are missing, and blames no server")
            ok(not os.listdir(os.path.join(cache, ".tmp")), f"{sig.name}: two agents at once leave no temporary files in the cache")
        for duration in ("60s", "0"):
            asked = server.nr_requests
            run = start_agent(tmp, "-F", 499, "-d", duration, *args[4:], "--symbol-cache-dir", cache)
            wait_for_sampling(run, p.pid)
            run.send_signal(signal.SIGINT)
            run = finish_soon(run)
            ok(run.status == 0 and server.nr_requests > asked and counts(run) == {"interrupted": 1} and frames_of(run, p),
               f"an interrupt ends a capture of {duration}: servers are asked, but not waited for, and all is written "
               f"({run.status}, {counts(run)})")
    end(p)


def test_fail_closed(tmp, t):
    p = t.start()
    with BadServer("404") as server:
        args = ("--symbol-cache-dir", os.path.join(tmp, "closed"), "--debuginfod-url", server.url)
        run = profile(tmp, [p], *args, "--symbol-fail-closed", seconds=0.5)
    ok(run.status == 3 and run.summary["nr_unnamed_by_rule"] >= 1,
       f"fail closed: a file that could not be fetched gives status 3 ({run.status})")
    names = [n for frames in frames_of(run, p) for f in frames for n in f.names]
    ok(names and all(n.startswith("0x") for n in names), "fail closed: code of that file stays raw addresses")
    ok("--symbol-fail-closed" in run.stderr, "fail closed: the report names the option")
    end(p)


def test_bad_caches(tmp, t, server):
    p = t.start()
    cache = os.path.join(tmp, "others")
    os.mkdir(cache, 0o700)
    os.chown(cache, 65534, 65534)
    run = profile(tmp, [p], "--debuginfod-url", server.url, "--symbol-cache-dir", cache, seconds=0.5)
    ok(run.status == 0 and not run.summary["fetches"] and is_raw(run, p, t),
       "a cache of another user is not used")
    ok("belongs to another user" in (run.summary["fetch_problem"] or "")
       and "belongs to another user" in run.stderr, "a cache of another user is refused with the reason")
    why = no_mount_namespace()
    if why:
        skip(f"a full disk {why}")
    else:
        full = os.path.join(tmp, "full")
        os.mkdir(full, 0o700)
        mount = f"mount -t tmpfs -o size=100k,mode=700 none {full} && exec \"$0\" \"$@\""
        run = profile(tmp, [p], "--debuginfod-url", server.url, "--symbol-cache-dir", full, seconds=0.5,
                      before=("unshare", "-m", "sh", "-c", mount))
        ok(run.status == 0 and counts(run) == {"no_space": 1} and is_raw(run, p, t),
           f"a full disk costs the names and no more: {counts(run)}")
    end(p)


def test_local(tmp, t, other):
    """A debug file next to the program; then one of another build in its place."""
    folder = os.path.join(tmp, "local")
    os.makedirs(os.path.join(folder, ".debug"))
    path = os.path.join(folder, "c_prog")
    debug = os.path.join(folder, ".debug", os.path.basename(t.debug))
    shutil.copy(t.debug, debug)
    sh("objcopy", "--add-gnu-debuglink=" + debug, t.path, path)
    p = subprocess.Popen([path, "60"])
    run = profile(tmp, [p], seconds=0.5)
    ok(is_named(run, p, t) and not run.summary["fetches"], "a debuglink names without any server")
    check_lines(run, p, t)
    shutil.copy(other.debug, debug)
    run = profile(tmp, [p], seconds=0.5)
    ok(is_raw(run, p, t) and run.summary["nr_debug_mismatches"] >= 1,
       "a debug file of another build is not believed, and counted")
    end(p)


def test_other_root(tmp):
    """A program in a root of its own, which is gone before symbols are resolved."""
    t = build_c(tmp, "root_prog", flags=("-static",))
    root = os.path.join(tmp, "root")
    place = os.path.join(root, "usr/lib/debug/.build-id", t.build_id[:2])
    os.makedirs(place)
    shutil.copy(t.path, os.path.join(root, "root_prog"))
    shutil.copy(t.debug, os.path.join(place, t.build_id[2:] + ".debug"))
    run = agent(tmp, "-F", 499, command=["chroot", root, "/root_prog", "2"])
    names = {n for s in run.profile.samples for f in s.frames for n in f.names
             if f.path.endswith("root_prog")}
    ok({"stripped_inner", "stripped_outer"} <= names,
       "a process in another root that has exited is named by the debug file of that root")


need_root()
for tool in ("gcc", "objcopy", "readelf"):
    if not shutil.which(tool):
        skip(f"{tool} is not installed")
        done()
tmp = workdir()
c = build_c(tmp)
fat = [build_c(tmp, f"fat{i}_prog", flags=(f"-DWHICH={i + 1}",), pad=PAD_BYTES) for i in range(3)]
test_local(tmp, c, fat[0])
test_other_root(tmp)
test_bad_servers(tmp, c, fat[0])
test_tls(tmp, c)
test_no_client(tmp, c)
test_interrupt(tmp, c)
test_fail_closed(tmp, c)
if not shutil.which("debuginfod"):
    skip("debuginfod is not installed")
    done()
targets = [c]
for made in (build_rust(tmp), build_go(tmp)):
    if isinstance(made, str):
        skip(made)
    else:
        targets.append(made)
test_real_server(tmp, targets)
test_cap_and_two_agents(tmp, fat)
server = Debuginfod(os.path.join(tmp, "served"), fat[:1])
test_bad_caches(tmp, fat[0], server)
server.stop()
done()
