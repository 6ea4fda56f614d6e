# SPDX-License-Identifier: Apache-2.0
"""Metrics by HTTP: a real Prometheus scrapes a capture, go tool pprof opens the agent's profile of itself, and clients
that misbehave cost bounded memory and time while others are served."""
import atexit
import json
import os
import pathlib
import re
import resource
import shutil
import signal
import socket
import subprocess
import time
import urllib.error
import urllib.parse
import urllib.request

from harness import AGENT, PROGS, Stranger, cpu_s, done, end, links, need_root, note, ok, prog, skip, wait_for, wait_for_cpu, workdir

SOURCE = pathlib.Path(__file__).resolve().parent.parent.parent
SPIN = os.path.join(PROGS, "spin")
LINE = re.compile(r'^(perf_agent_[a-z0-9_]+)(\{[^}]*\})? (\S+)$')


class Served:
    """A capture that serves metrics, and how it is asked."""

    def __init__(self, *args, listen="127.0.0.1:0", command=None):
        self.dir = pathlib.Path(workdir())
        self.log = open(self.dir / "log", "w")
        self.p = subprocess.Popen([AGENT, "--no-profile-output", *map(str, args), f"--metrics-listen={listen}",
                                   *(["--", *map(str, command)] if command else [])],
                                  stdout=self.log, stderr=self.log, cwd=self.dir)
        atexit.register(end, self.p)
        wait_for(lambda: "metrics at" in self.text() or self.p.poll() is not None, "the message with the port")
        found = re.search(r"http://127\.0\.0\.1:(\d+)/metrics", self.text())
        self.port = int(found[1]) if found else None
        self.url = f"http://127.0.0.1:{self.port}"

    def text(self):
        return (self.dir / "log").read_text()

    def get(self, path, **kwargs):
        """(status, body) of a request."""
        try:
            with urllib.request.urlopen(urllib.request.Request(self.url + path, **kwargs), timeout=60) as r:
                return r.status, r.read()
        except urllib.error.HTTPError as e:
            return e.code, e.read()

    def metrics(self):
        return parse(self.get("/metrics")[1].decode())

    def phase(self):
        return self.get("/healthz")[1].decode().split()[-1]

    def connect(self):
        return socket.create_connection(("127.0.0.1", self.port), timeout=30)

    def raw(self, text):
        """The answer to these bytes."""
        with self.connect() as s:
            try:
                s.sendall(text)
            except OSError:
                pass  # refused before it was all sent; the answer has come
            answer = b""
            try:
                while part := s.recv(65536):
                    answer += part
            except OSError:
                pass
            return answer

    def rss_kib(self):
        return int(re.search(r"VmRSS:\s+(\d+)", pathlib.Path(f"/proc/{self.p.pid}/status").read_text())[1])


def parse(text):
    """{name with labels: value}; a line of another form is an error."""
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    found = [LINE.match(line) for line in lines]
    assert all(found), f"not a metric: {lines[found.index(None)]}"
    return {m[1] + (m[2] or ""): float(m[3]) for m in found}


# ---- Prometheus ----

class Prometheus:
    """The real one, on a free port."""

    def __init__(self, target):
        self.dir = pathlib.Path(workdir())
        (self.dir / "config.yml").write_text(
            "global:\n  scrape_interval: 1s\n  scrape_timeout: 1s\nscrape_configs:\n  - job_name: perf-agent\n"
            f"    static_configs:\n      - targets: ['{target}']\n")
        with socket.create_server(("127.0.0.1", 0)) as s:
            self.port = s.getsockname()[1]
        self.p = subprocess.Popen(["prometheus", f"--config.file={self.dir}/config.yml", f"--storage.tsdb.path={self.dir}/db",
                                   f"--web.listen-address=127.0.0.1:{self.port}"],
                                  stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        atexit.register(end, self.p)

    def query(self, expression):
        """[(labels, value)]; empty while it starts."""
        url = f"http://127.0.0.1:{self.port}/api/v1/query?" + urllib.parse.urlencode({"query": expression})
        try:
            with urllib.request.urlopen(url, timeout=10) as r:
                return [(x["metric"], float(x["value"][1])) for x in json.load(r)["data"]["result"]]
        except OSError:
            return []

    def value(self, expression):
        found = self.query(expression)
        return found[0][1] if len(found) == 1 else None


def with_labels(name, labels):
    inner = ",".join(f'{k}="{v}"' for k, v in labels.items())
    return f"{name}{{{inner}}}" if inner else name


def counts_of(metrics):
    """Those that do not change any more after the capture: all but the agent's own use and this server."""
    own = ("cpu_seconds_total", "resident_memory", "wakeups_total", "http_")
    return {k: v for k, v in metrics.items() if not k.startswith(tuple("perf_agent_" + x for x in own))}


def matches_report(metrics, report):
    """The differences between the last metrics and the summary."""
    pairs = {
        'perf_agent_events_due_total{kind="on-cpu"}': report["ticks_due"],
        'perf_agent_samples_total{kind="on-cpu"}': report["samples"],
        'perf_agent_samples_total{kind="off-cpu"}': report["sections"][1]["samples"],
        "perf_agent_stacks": report["nr_stacks"],
        "perf_agent_processes": report["nr_processes"],
        "perf_agent_unwind_tables_compiled_total": report["nr_tables"],
        "perf_agent_symbolize_batches_total": report["naming_batches"],
        "perf_agent_symbolize_input_ips_total": report["naming_addresses"],
        "perf_agent_symbolize_raw_addr_frames_total": report["naming_raw"],
    }
    for section in report["sections"]:
        for x in section["losses"]:
            pairs[f'perf_agent_lost_total{{reason="{x["name"]}",kind="{section["name"]}"}}'] = x["count"]
        for x in section["stops"]:
            pairs[f'perf_agent_unwind_stops_total{{reason="{x["name"]}",kind="{section["name"]}"}}'] = x["count"]
    for x in report["programs"]:
        pairs[f'perf_agent_bpf_runs_total{{program="{x["name"]}"}}'] = x["nr_runs"]
    return [f"{k}: {metrics.get(k)}, but {v} in the report" for k, v in pairs.items() if metrics.get(k) != v]


def check_documented(names):
    text = (SOURCE / "docs/metrics.md").read_text()
    known = {"perf_agent_" + x for x in re.findall(r"`([a-z0-9_]+)`", text)}
    missing = sorted(names - known)
    ok(not missing, f"docs/metrics.md has every metric that was served {' '.join(missing)}")


def check_promtool(text):
    r = subprocess.run(["promtool", "check", "metrics"], input=text, capture_output=True, text=True)
    if not ok(r.returncode == 0 and not r.stdout and not r.stderr, "promtool check metrics finds nothing"):
        note(r.stdout + r.stderr)


def check_last_scrape(prometheus, metrics):
    """What Prometheus has scraped last is what /metrics says."""
    counts = counts_of(metrics)
    names = {k.split("{")[0] for k in counts}
    base = ("__name__", "instance", "job")

    def differing():
        scraped = {}
        for labels, value in prometheus.query('{__name__=~"perf_agent_.*"}'):
            scraped[frozenset({(k, v) for k, v in labels.items() if k not in base} | {("", labels["__name__"])})] = value
        wanted = {}
        for key, value in counts.items():
            labels = re.findall(r'(\w+)="([^"]*)"', key)
            wanted[frozenset({*labels, ("", key.split("{")[0])})] = value
        return [k for k in wanted if scraped.get(k) != wanted[k]]

    wait_for(lambda: prometheus.query("up"), "Prometheus to answer")
    for _ in range(100):
        left = differing()
        if not left:
            break
        time.sleep(0.1)
    if not ok(not left, f"Prometheus has the values of /metrics: {len(counts)} series of {len(names)} metrics"):
        note(left)


def test_prometheus():
    """The command outlives the capture, so the last counts are served after the report."""
    if not shutil.which("prometheus") or not shutil.which("promtool"):
        skip("needs prometheus and promtool")
        return
    spin = prog("spin")
    served = Served("--profile", "--kernel-stacks", "--offcpu", "--pmu", "--pmu-output", "/dev/null", "-d", "6s", "--json=report.json",
                    command=["sh", "-c", f"{SPIN} 2; exec sleep 1000"])
    prometheus = Prometheus(f"127.0.0.1:{served.port}")
    wait_for(lambda: prometheus.value("up") == 1, "Prometheus to scrape", 60)
    ok(served.phase() in ("sampling", "starting"), "Prometheus finds the target up while it samples")
    report = served.dir / "report.json"
    wait_for(lambda: report.exists() and served.phase() == "done", "the report", 60)
    end(spin)
    status, text = served.get("/metrics")
    metrics = parse(text.decode())
    check_promtool(text.decode())
    check_documented({k.split("{")[0] for k in metrics})
    ok(status == 200 and metrics['perf_agent_samples_total{kind="on-cpu"}'] > 20, "the capture has samples")
    ok(metrics["perf_agent_symbolize_kernel_batches_total"] > 0
       and metrics["perf_agent_symbolize_kernel_input_ips_total"] > 0, "kernel addresses are counted by themselves")
    ok(metrics.get('perf_agent_symbolize_kernel_info{source="/proc/kallsyms"}') == 1, "the list of kernel symbols that was used is named")
    by_source = {k: v for k, v in metrics.items() if k.startswith("perf_agent_symbolize_named_total{source=")}
    unnamed = sum(v for k, v in metrics.items() if k.startswith("perf_agent_symbolize_failures_total"))
    note(by_source)
    ok(sum(by_source.values()) + unnamed == metrics["perf_agent_symbolize_input_ips_total"]
       and by_source['perf_agent_symbolize_named_total{source="kernel"}'] > 0
       and by_source['perf_agent_symbolize_named_total{source="file"}'] > 0,
       "every address has a symbol from a source, or a reason why it has none")
    ok(metrics["perf_agent_known_mappings"] >= metrics["perf_agent_known_processes"] > 0, "processes and mappings that are known are counted")
    wrong = matches_report(metrics, json.loads(report.read_text()))
    if not ok(not wrong, "the last metrics equal the JSON summary"):
        note("\n".join(wrong))
    check_last_scrape(prometheus, metrics)
    ok(prometheus.value('max_over_time(perf_agent_sampling[1h])') == 1 and metrics["perf_agent_sampling"] == 0,
       "Prometheus has seen the end of sampling")
    end(prometheus.p)
    served.p.send_signal(signal.SIGTERM)
    ok(served.p.wait(20) == 128 + signal.SIGTERM, "the status is still that of the command")


# ---- the agent's own profile ----

def check_profile(path):
    if not shutil.which("go"):
        skip("needs go, for go tool pprof")
        return
    r = subprocess.run(["go", "tool", "pprof", "-top", "-nodecount=1000", path], capture_output=True, text=True)
    ok(r.returncode == 0 and "File: perf-agent" in r.stdout, "go tool pprof opens the agent's profile of itself")
    # its session's thread turns in session_turn() or session_thread(), whatever was sampled below
    if not ok("session_thread" in r.stdout, "the profile names functions of this program"):
        note(r.stdout + r.stderr)


def test_self_profile(served):
    path = served.dir / "agent.pb.gz"
    r = subprocess.run(["curl", "-sS", "-f", "-o", path, f"{served.url}/debug/pprof/profile?seconds=3"])
    ok(r.returncode == 0, "curl gets a profile of three seconds")
    check_profile(path)
    for query in ["seconds=999999", "seconds=0", "seconds=-1", "seconds=301", "seconds=", "seconds=3x", "second=3",
                  "seconds=" + "9" * 1000]:
        status, body = served.get(f"/debug/pprof/profile?{query}")
        ok(status == 400 and b"from 1 to 300" in body, f"a profile with {query[:20]} is refused, with a reason")


ENDLESS = b"GET /debug/pprof/profile?seconds=300 HTTP/1.1\r\n\r\n"


def begin_profile(served):
    """A connection whose profile of the agent runs, once those before are over and their pauses."""
    while True:
        s = served.connect()
        s.sendall(ENDLESS)
        s.settimeout(2)
        try:
            answer = s.recv(65536)
        except TimeoutError:
            return s
        s.close()
        after = re.search(rb"Retry-After: (\d+)", answer)
        time.sleep(int(after[1]) if after else 0.2)


def test_pause(served):
    """A client that begins a profile and leaves, again and again."""
    begun, refused, bad = 0, 0, []
    before, start = cpu_s(served.p.pid), time.monotonic()
    while time.monotonic() - start < 6:
        with served.connect() as s:
            s.sendall(ENDLESS)
            s.settimeout(0.1)
            try:
                answer = s.recv(65536)
            except TimeoutError:
                begun += 1
                continue
        refused += 1
        time.sleep(0.02)
        if b"one at a time" not in answer and not re.search(rb" 503 .*\r\nRetry-After: [1-9]\d*\r\n.*ask again in ", answer, re.S):
            bad.append(answer)
    used = cpu_s(served.p.pid) - before
    note(f"{begun} profiles begun and {refused} refused in 6 s, for {used:.2f} s of CPU time")
    ok(0 < begun <= 6 and refused > begun, "profiles that are begun and left begin a second apart at most often")
    if not ok(not bad, "the refusal of a profile that comes too early says when to ask again"):
        note(bad[0])


def test_one_profile(served):
    """A second one is refused until the first has ended; a client that leaves ends it."""
    events = sum("perf_event" in x for x in links(served.p.pid))
    with begin_profile(served):
        wait_for(lambda: sum("perf_event" in x for x in links(served.p.pid)) > events, "the agent to sample itself")
        wait_for_cpu(0.1, served.p.pid)
        wait_for(lambda: served.get("/debug/pprof/profile?seconds=1")[0] == 503, "a second profile to be refused", 10)
        ok(served.get("/metrics")[0] == 200, "metrics are served while the agent profiles itself")
    start = time.monotonic()
    wait_for(lambda: served.get("/debug/pprof/profile?seconds=1")[0] == 200, "a profile after the first client left", 60)
    note(f"a profile of 1 s came {time.monotonic() - start:.1f} s after the client of one of 300 s had left")
    ok(True, "a client that leaves ends its profile, and the next one gets one")


# ---- bad clients ----

def test_answers(served):
    for what, request, expected in [
            ("garbage", bytes(range(256)) * 8 + b"\n\n", b"400"),
            ("a TLS greeting", b"\x16\x03\x01\x02\x00\x01\x00\n\r\n", b"400"),
            ("a path out of the root", b"GET /../../etc/passwd HTTP/1.1\r\n\r\n", b"404"),
            ("an encoded path out of the root", b"GET /%2e%2e/%2e%2e/etc/passwd HTTP/1.1\r\n\r\n", b"404"),
            ("a path behind a page", b"GET /metrics/../../etc/passwd HTTP/1.1\r\n\r\n", b"404"),
            ("POST", b"POST /metrics HTTP/1.1\r\nContent-Length: 1\r\n\r\nx", b"405"),
            ("a body", b"GET /metrics HTTP/1.1\r\nContent-Length: 1\r\n\r\nx", b"413"),
            ("the name of another host", b"GET /metrics HTTP/1.1\r\nHost: example.org\r\n\r\n", b"403"),
            ("a head of 1 MB", b"GET /metrics HTTP/1.1\r\nX: " + b"a" * (1 << 20) + b"\r\n\r\n", b"431"),
            ("a first line of 1 MB", b"GET /" + b"a" * (1 << 20) + b" HTTP/1.1\r\n\r\n", b"431")]:
        answer = served.raw(request)
        head, _, body = answer.partition(b"\r\n\r\n")
        if not ok(head.startswith(b"HTTP/1.1 " + expected) and len(body.splitlines()) == 1,
                  f"{what} gets status {expected.decode()} and one sentence"):
            note(answer[:300])
    head, _, body = served.raw(b"HEAD /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n").partition(b"\r\n\r\n")
    length = int(re.search(rb"Content-Length: (\d+)", head)[1])
    ok(b" 200 OK" in head and length > 1000 and not body, "HEAD gets the length of the metrics and no body")


def test_slow(served):
    """More of them than there may be connections: others are still served, and each one ends in ten seconds."""
    slow = [served.connect() for _ in range(100)]
    start, times = time.monotonic(), []
    while slow and time.monotonic() - start < 40:
        for s in slow[:]:
            try:
                s.sendall(b"G" if time.monotonic() - start < 1 else b"E")
                s.settimeout(0.001)
                if not s.recv(65536):
                    raise OSError
            except TimeoutError:
                continue
            except OSError:
                slow.remove(s)
        before = time.monotonic()
        ok_now = served.get("/healthz")[0] == 200
        times.append(time.monotonic() - before if ok_now else 1e9)
        time.sleep(0.5)
    ok(not slow, "clients that send a byte at a time are closed")
    ok(max(times) < 5, f"others are served meanwhile, in {max(times) * 1000:.0f} ms at most")


def status_at_last(served):
    """Of /metrics, at the third try at most: one that does not get to run gives way between connecting and asking."""
    for _ in range(3):
        try:
            return served.get("/metrics")[0]
        except OSError as e:
            note(e)
    return 0


def test_many(served):
    """10,000 connections, up to 2,000 of them open at a time."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, max(soft, 4096)), hard))
    at_once = min(2000, resource.getrlimit(resource.RLIMIT_NOFILE)[0] - 100)
    before_kib, before_cpu, answered, most = served.rss_kib(), cpu_s(served.p.pid), [], 0
    for start in range(0, 10000, at_once):
        opened = []
        for i in range(start, min(start + at_once, 10000)):
            s = socket.socket()
            s.setblocking(False)
            s.connect_ex(("127.0.0.1", served.port))
            opened.append(s)
            if i % 500 == 0:
                most = max(most, len(os.listdir(f"/proc/{served.p.pid}/fd")))
        answered.append(status_at_last(served))
        for s in opened:
            s.close()
    grown = served.rss_kib() - before_kib
    note(f"{grown} KiB more memory, {cpu_s(served.p.pid) - before_cpu:.2f} s of CPU time, {most} descriptors at most")
    ok(answered == [200] * len(answered), "10,000 connections that say nothing do not keep others from being served")
    ok(grown < 16 << 10, "10,000 connections cost less than 16 MiB of memory")
    metrics = served.metrics()
    closed = sum(v for k, v in metrics.items() if k.startswith("perf_agent_http_connections_closed_total"))
    ok(closed > 100 and metrics["perf_agent_http_connections"] <= 64,
       f"connections are 64 at most, and {closed:.0f} that gave way are counted")


def test_stop(served):
    """A signal ends everything at once, whoever is connected."""
    idle, half, profile = served.connect(), served.connect(), begin_profile(served)
    half.sendall(b"GET /met")
    wait_for(lambda: served.get("/debug/pprof/profile?seconds=1")[0] == 503, "the profile to run", 10)
    cpu, start = cpu_s(served.p.pid), time.monotonic()
    served.p.send_signal(signal.SIGINT)
    status, wall = None, 0
    while status is None and wall < 60:
        try:
            cpu_now = cpu_s(served.p.pid)
            status = served.p.poll()
        except OSError:
            status = served.p.wait(10)
        wall = time.monotonic() - start
        time.sleep(0.01)
    note(f"it ended {wall:.2f} s after SIGINT, with {cpu_now - cpu:.2f} s of CPU time")
    ok(status == 0 and cpu_now - cpu < 2 and wall < 20, "SIGINT ends the capture while clients are connected")
    ok(b" 503 " in profile.recv(65536), "the client of the profile is answered that the capture has ended")
    for s in (idle, half, profile):
        s.close()


# ---- Unix sockets ----

def ask_unix(path):
    with socket.socket(socket.AF_UNIX) as s:
        s.settimeout(20)
        s.connect(str(path))
        s.sendall(b"GET /healthz HTTP/1.1\r\nHost: anything\r\n\r\n")
        answer = b""
        while part := s.recv(4096):
            answer += part
        return answer


def test_unix(spin):
    folder = pathlib.Path(workdir())
    path = folder / "agent.sock"
    folder.chmod(0o755)
    with socket.socket(socket.AF_UNIX) as left:
        left.bind(str(path))  # as a run that was killed leaves it
    served = Served("-p", spin.pid, "-d", "60s", listen=f"unix:{path}")
    ok(b"\r\n\r\nok " in ask_unix(path), "a socket file that was left behind is replaced, and answers")
    ok(path.stat().st_mode & 0o777 == 0o600, "the socket file is private")
    r = Stranger().run(f"curl -sS --unix-socket {path} http://localhost/healthz || echo refused")
    ok(r is not None and "refused" in r, "another user cannot connect to it")
    second = subprocess.run([AGENT, "-p", str(spin.pid), "-d", "1s", "--no-profile-output", f"--metrics-listen={path}"],
                            capture_output=True, text=True)
    ok(second.returncode == 1 and "--metrics-listen: cannot listen at" in second.stderr
       and "another program listens there" in second.stderr, "a socket file that is in use is an error")
    served.p.send_signal(signal.SIGINT)
    ok(served.p.wait(30) == 0 and not path.exists(), "the socket file is removed in the end")


def test_quiet(spin):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        r = subprocess.run([AGENT, "-p", str(spin.pid), "-d", "1s", "--no-profile-output", f"--metrics-listen={port}"],
                           capture_output=True, text=True)
    ok(r.returncode == 1 and f"127.0.0.1:{port}" in r.stderr and "give another port" in r.stderr,
       "a port that is taken is an error, with the fix")
    r = subprocess.run([AGENT, "-p", str(spin.pid), "-d", "1s", "--no-profile-output", "-q", "--metrics-listen=0"],
                       capture_output=True, text=True)
    ok(r.returncode == 0 and not r.stderr, "with --quiet there is no message")


def thread_capabilities(pid):
    """The effective and permitted capabilities of each thread."""
    found = []
    for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
        text = (task / "status").read_text()
        found.append(tuple(int(re.search(rf"{key}:\s+([0-9a-f]+)", text)[1], 16) for key in ("CapEff", "CapPrm")))
    return found


def main():
    need_root()
    test_prometheus()
    spin = prog("spin")
    test_quiet(spin)
    test_unix(spin)
    served = Served("-a", "-F", "999", "-d", "0")
    wait_for(lambda: served.phase() == "sampling", "sampling", 60)
    ok(thread_capabilities(served.p.pid).count((0, 0)) == 1, "one thread of the agent, which serves, has no capabilities")
    test_self_profile(served)
    test_one_profile(served)
    test_pause(served)
    test_answers(served)
    test_slow(served)
    test_many(served)
    test_stop(served)
    done()


main()
